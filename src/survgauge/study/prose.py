"""Paragraphs with citations, printed as Markdown, LaTeX or Word."""

from __future__ import annotations

from dataclasses import dataclass

from .._tools.latex import escaped
from .references import REFERENCES, cited, parts_of, with_numbers
from .word import legible, new_document, saved


@dataclass(frozen=True)
class Prose:
    """A titled text: paragraphs that cite by ``[@key]``.

    Examples
    --------
    >>> text = Prose("Methods", ("Ranking was measured by Uno's C [@uno2011].",))
    >>> text.plain()[0]
    "Ranking was measured by Uno's C [1]."
    >>> text.latex().splitlines()[1]
    "Ranking was measured by Uno's C \\\\cite{uno2011}."
    """

    title: str
    paragraphs: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """Keys of what is cited, in order."""
        return cited(self.paragraphs)

    def plain(self) -> list[str]:
        """Return the paragraphs with numbers for citations."""
        return [with_numbers(text, self.keys) for text in self.paragraphs]

    def references(self) -> list[str]:
        """Return the numbered entries of what is cited."""
        return [f"{k}. {REFERENCES[key].text()}" for k, key in enumerate(self.keys, start=1)]

    def markdown(self) -> str:
        """Return title, paragraphs and the list of references."""
        parts = [f"## {self.title}", *self.plain(), "## References", "\n".join(self.references())]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        r"""Return a section that cites by \cite; `bibtex` has the entries."""
        lines = [rf"\section*{{{escaped(self.title)}}}"]
        for text in self.paragraphs:
            told = "".join(
                _spaced(part) if isinstance(part, str) else rf"\cite{{{','.join(part)}}}"
                for part in parts_of(text)
            )
            lines += [told, ""]
        return "\n".join(lines).rstrip("\n") + "\n"

    def bibtex(self) -> str:
        """Return the entries of what is cited, for BibTeX."""
        return "\n\n".join(REFERENCES[key].bibtex() for key in self.keys) + "\n"

    def word(self) -> bytes:
        """Return a Word document (.docx)."""
        document = new_document("a text as a Word document")
        document.add_heading(self.title, level=1)
        for text in self.plain():
            document.add_paragraph(legible(text))
        document.add_heading("References", level=1)
        for entry in self.references():
            document.add_paragraph(entry)
        return saved(document)


def _spaced(text: str) -> str:
    """Escape a text for LaTeX, with the spaces at its ends."""
    start, end = " " * text.startswith(" "), " " * (text.endswith(" ") and text.strip() != "")
    return f"{start}{escaped(text)}{end}"
