"""A table for a paper: made once, printed as text, Markdown, LaTeX, HTML or Word."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .._tools.latex import escaped, tabular
from .._tools.text_tables import columns
from .._tools.writing import write_atomically
from ..errors import InputError, MissingExtraError


@dataclass(frozen=True)
class PrintedTable:
    """A table of texts with a title and notes.

    Attributes
    ----------
    title : str
        Above the table.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        Cells.
    notes : tuple of str
        Sentences below the table.
    left : int
        Number of leading columns that are text; the others are numbers.

    Examples
    --------
    >>> table = PrintedTable("Table 2", ("Metric", "cox"), (("C-index", "0.71"),), ("n = 90.",))
    >>> print(table.markdown())
    **Table 2**
    <BLANKLINE>
    | Metric | cox |
    |:--|--:|
    | C-index | 0.71 |
    <BLANKLINE>
    n = 90.
    <BLANKLINE>
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1

    def __str__(self) -> str:
        body = columns(list(self.header), [list(row) for row in self.rows], left=self.left)
        return "\n".join([self.title, "", body, *(["", *self.notes] if self.notes else [])])

    def markdown(self) -> str:
        """Return the table in Markdown (pipe tables)."""
        marks = [":--" if k < self.left else "--:" for k in range(len(self.header))]
        lines = [_pipes(self.header), "|" + "|".join(marks) + "|", *map(_pipes, self.rows)]
        parts = [f"**{self.title}**", "\n".join(lines), *self.notes]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        """Return a table environment with caption and notes, with booktabs where it is loaded."""
        body = tabular(list(self.header), [list(row) for row in self.rows], self.left)
        notes = [rf"\par\smallskip\footnotesize {escaped(note)}" for note in self.notes]
        start = [r"\begin{table}", r"\centering", rf"\caption{{{escaped(self.title)}}}"]
        return "\n".join([*start, body.rstrip("\n"), *notes, r"\end{table}"]) + "\n"

    def html(self) -> str:
        """Return the table as a fragment of HTML without styles of its own."""
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.header)
        body = "".join(
            "<tr>"
            + "".join(
                f'<th scope="row" style="text-align:left">{escape(cell)}</th>'
                if k < self.left
                else f'<td style="text-align:right">{escape(cell)}</td>'
                for k, cell in enumerate(row)
            )
            + "</tr>\n"
            for row in self.rows
        )
        notes = "".join(f"<p><small>{escape(note)}</small></p>\n" for note in self.notes)
        return (
            f"<table>\n<caption>{escape(self.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}</tbody>\n</table>\n{notes}"
        )

    def word(self) -> bytes:
        """Return a Word document (.docx) that holds the table."""
        try:
            from docx import Document
            from docx.enum.text import WD_ALIGN_PARAGRAPH
        except ImportError as error:
            raise MissingExtraError("a table as a Word document", "word") from error
        document = Document()
        document.add_paragraph(self.title, style="Caption")
        table = document.add_table(rows=0, cols=len(self.header))
        table.style = "Light List"
        for row in (self.header, *self.rows):
            cells = table.add_row().cells
            for k, text in enumerate(row):
                cells[k].text = text
                if k >= self.left:
                    cells[k].paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
        for note in self.notes:
            document.add_paragraph(note)
        buffer = io.BytesIO()
        document.save(buffer)
        return buffer.getvalue()

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table; the ending says how: .md, .tex, .html, .docx or .txt."""
        suffix = Path(path).suffix.lower()
        forms: dict[str, Callable[[], str | bytes]] = {
            ".md": self.markdown, ".tex": self.latex, ".html": self.html, ".docx": self.word,
            ".txt": self.__str__,
        }  # fmt: skip
        if suffix not in forms:
            raise InputError(
                f"path must end in one of {', '.join(forms)}, which says how the table is written; "
                f"got {os.fspath(path)!r}"
            )
        return write_atomically(Path(path), forms[suffix]())


def _pipes(cells: tuple[str, ...]) -> str:
    told = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
    return "| " + " | ".join(told) + " |"
