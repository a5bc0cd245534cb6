"""Tables and texts for a paper: made once, printed as text, Markdown, LaTeX, HTML or Word."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ..._tools.extras import need
from ..._tools.text import columns, escaped, tabular
from ..._tools.writing import now, write_atomically
from ...errors import InputError
from ..page import Markup, asset, join, tag

#: How a text cites: [@key] or [@key; @other].
_CITATION = re.compile(r"\[(@[\w; @-]+)\]")
_ENTRY = re.compile(r"@\w+\{(\w+),\n.*?\n\}", re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{+(.*?)\}+,$", re.MULTILINE)
#: Rows of a table that fits on one page of LaTeX.
_PAGE = 42
#: Small letters, so that five columns fit on a page, with a little air between rows.
_STYLE = r"\centering\footnotesize\setlength{\tabcolsep}{4pt}\renewcommand{\arraystretch}{1.1}"


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
        Cells; a row of a single cell is a heading of the rows that follow.
    notes : tuple of str
        Sentences below the table.
    left : int
        Number of leading columns that are text; the others are numbers.
    name : str
        Before the title, such as "Table 2"; LaTeX numbers tables by itself.

    Examples
    --------
    >>> table = PrintedTable("Models", ("Metric", "cox"), (("C-index", "0.71"),), ("n = 90.",))
    >>> print(table.markdown())
    **Models**
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
    name: str = ""

    @property
    def heading(self) -> str:
        """Name and title."""
        return f"{self.name}. {self.title}" if self.name else self.title

    def _cells(self, head: str = "{}") -> list[list[str]]:
        """Rows of equal length; the single cell of a heading is put into `head`."""
        rest = [""] * (len(self.header) - 1)
        return [[head.format(row[0]), *rest] if len(row) == 1 else list(row) for row in self.rows]

    def text(self, width: int | None = None) -> str:
        """Return the columns as text without title and notes, within `width` if given."""
        return columns(list(self.header), self._cells(), left=self.left, width=width)

    def __str__(self) -> str:
        return "\n".join(
            [self.heading, "", self.text(), *(["", *self.notes] if self.notes else [])]
        )

    def markdown(self) -> str:
        """Return the table in Markdown (pipe tables)."""
        marks = [":--" if k < self.left else "--:" for k in range(len(self.header))]
        body = map(_pipes, self._cells("**{}**"))
        lines = [_pipes(list(self.header)), "|" + "|".join(marks) + "|", *body]
        parts = [f"**{self.heading}**", "\n".join(lines), *self.notes]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        """Return a table environment with caption and notes, with booktabs where it is loaded.

        What is longer than a page has one for each page.
        """
        notes = [rf"\par\smallskip\footnotesize {escaped(note)}" for note in self.notes]
        label = self.name.replace(" ", "").lower()
        parts, made = self._pages(), []
        for k, rows in enumerate(parts):
            caption = rf"\caption{{{escaped(self.title)}}}"
            if k:
                caption = rf"\textbf{{{escaped(self.title)} (continued)}}\par\smallskip"
            made += [r"\begin{table}[htbp]", _STYLE, caption]
            made += [rf"\label{{tab:{label}}}"] if label and not k else []
            made += [
                tabular(list(self.header), [list(row) for row in rows], self.left).rstrip("\n")
            ]
            made += notes if k == len(parts) - 1 else []
            made += [r"\end{table}"]
        return "\n".join(made) + "\n"

    def _pages(self) -> list[list[tuple[str, ...]]]:
        """Cut rows into pages, before a heading or a row that has a name of its own."""
        pages: list[list[tuple[str, ...]]] = [[]]
        blocks: list[list[tuple[str, ...]]] = []
        for row in self.rows:
            joins = blocks and (not row[0] or len(blocks[-1][-1]) == 1)
            blocks[-1].append(row) if joins else blocks.append([row])
        for block in blocks:
            if pages[-1] and len(pages[-1]) + len(block) > _PAGE:
                pages.append([])
            pages[-1] += block
        return pages

    def html(self) -> Markup:
        """Return the table as a fragment of HTML without styles but the sides of its columns."""

        def cell(k: int, text: str) -> Markup:
            if k >= self.left:
                return tag("td", text, style="text-align:right")
            return tag("th", text, scope="row", style="text-align:left;font-weight:normal")

        sides = ["left"] * self.left + ["right"] * (len(self.header) - self.left)
        head = [
            tag("th", text, scope="col", style=f"text-align:{side}")
            for side, text in zip(sides, self.header, strict=True)
        ]
        across = {"colspan": len(self.header), "scope": "rowgroup", "style": "text-align:left"}
        body = [
            tag("tr", tag("th", row[0], **across))
            if len(row) == 1
            else tag("tr", *(cell(k, text) for k, text in enumerate(row)))
            for row in self.rows
        ]
        return join(
            tag("table", tag("caption", self.heading), tag("thead", tag("tr", *head)),
                tag("tbody", *body)),
            *(tag("p", tag("small", note)) for note in self.notes),
        )  # fmt: skip

    def _page(self) -> str:
        """Return a page of its own, to open and to copy from."""
        title, look = tag("title", self.heading), tag("style", Markup(asset("table.css")))
        head = tag("head", tag("meta", charset="utf-8"), title, look)
        page = tag("html", head, tag("body", self.html()), lang="en")
        return f"<!DOCTYPE html>\n{page}\n"

    def word(self) -> bytes:
        """Return a Word document (.docx) that holds the table."""
        return table_document(self)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table; the ending says how: .md, .tex, .html, .docx (Word) or .txt."""
        suffix = Path(path).suffix.lower()
        forms: dict[str, Callable[[], str | bytes]] = {
            ".md": self.markdown, ".tex": self.latex, ".html": self._page, ".docx": self.word,
            ".txt": self.__str__,
        }  # fmt: skip
        if suffix not in forms:
            raise InputError(
                f"path must end in one of {', '.join(forms)}, which says how the table is written; "
                f"got {os.fspath(path)!r}"
            )
        return write_atomically(Path(path), forms[suffix]())

    def to_dict(self) -> dict[str, Any]:
        """Return title, columns, rows and notes as plain data."""
        return {
            "title": self.title,
            "columns": list(self.header),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }


def _pipes(cells: list[str]) -> str:
    told = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
    return "| " + " | ".join(told) + " |"


@dataclass(frozen=True)
class Citation:
    """A publication: its entry for BibTeX, and the fields of that."""

    bibtex: str
    fields: dict[str, str]

    def text(self) -> str:
        """Return the entry of a numbered list."""
        known = {"volume": "", "pages": "", "year": "", "doi": "", **self.fields}
        place = next(known[name] for name in ("journal", "booktitle", "note") if name in known)
        where, pages = f"{place} {known['volume']}".strip(), known["pages"].replace("--", "-")
        if pages:
            where = f"{where}:{pages}" if known["volume"] else f"{where}, pp. {pages}"
        names = known["author"].split(" and ")
        shown = ", ".join(names[:6]) + (", et al." if len(names) > 6 or "others" in names else "")
        title = f"{known['title']} ({known['year']})" if known["year"] else known["title"]
        parts = [shown.replace(", others", ""), title, where]
        told = ". ".join(part.rstrip(".") for part in parts)
        return f"{told}. doi:{known['doi']}" if known["doi"] else f"{told}."


#: Publications by their key.
REFERENCES = {
    entry[1]: Citation(entry[0], dict(_FIELD.findall(entry[0])))
    for entry in _ENTRY.finditer(asset("references.bib").replace("VERSION", __version__))
}


def keys_of(text: str) -> list[str]:
    """Keys of the publications that the record of a metric names, by first author and year.

    >>> keys_of("Uno et al. (2011), Statistics in Medicine 30"), keys_of("this package")
    (['uno2011'], ['survgauge'])
    """
    found = ["survgauge"] if "this package" in text else []
    for key, entry in REFERENCES.items():
        first = entry.fields["author"].partition(",")[0]
        if "year" in entry.fields and first in text and entry.fields["year"] in text:
            found.append(key)
    return found


def parts_of(text: str) -> list[str | list[str]]:
    """Split a text into texts and lists of the keys that it cites.

    >>> parts_of("By C [@uno2011], not [@nobody].")
    ['By C ', ['uno2011'], ', not [@nobody].']
    """
    found: list[str | list[str]] = []
    rest = ""
    for k, part in enumerate(_CITATION.split(text)):
        keys = [word.strip().lstrip("@") for word in part.split(";")]
        if k % 2 and all(key in REFERENCES for key in keys):
            found += [rest, keys]
            rest = ""
        else:  # a name may look like a citation
            rest += f"[{part}]" if k % 2 else part
    return [*found, rest]


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
        """Keys of what is cited, in the order of their first citation."""
        parts = [part for text in self.paragraphs for part in parts_of(text)]
        return list(dict.fromkeys(key for part in parts if isinstance(part, list) for key in part))

    def plain(self) -> list[str]:
        """Return the paragraphs with numbers in brackets for citations."""
        number = {key: str(k) for k, key in enumerate(self.keys, start=1)}
        return [
            "".join(
                part if isinstance(part, str) else f"[{', '.join(number[key] for key in part)}]"
                for part in parts_of(text)
            )
            for text in self.paragraphs
        ]

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
            told = ""
            for part in parts_of(text):
                if isinstance(part, list):
                    told += rf"\cite{{{','.join(part)}}}"
                else:  # `escaped` takes the spaces at the ends away
                    told += f"{' ' * part.startswith(' ')}{escaped(part)}"
                    told += " " * (part.endswith(" ") and part.strip() != "")
            lines += [told, ""]
        return "\n".join(lines).rstrip("\n") + "\n"

    def bibtex(self) -> str:
        """Return the entries of what is cited, for BibTeX."""
        return "\n\n".join(REFERENCES[key].bibtex for key in self.keys) + "\n"

    def word(self) -> bytes:
        """Return a Word document (.docx)."""
        return text_document(self)


def table_document(table: PrintedTable) -> bytes:
    """Return a document with heading, table and notes."""
    document = _empty("a table as a Word document")
    from docx.enum.text import WD_ALIGN_PARAGRAPH  # the package is there, or _empty had refused

    document.add_paragraph(legible(table.heading), style="Caption")
    lines = (table.header, *table.rows)
    grid = document.add_table(rows=len(lines), cols=len(table.header), style="Light List")
    section = document.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    whole = (line for line in lines if len(line) > 1)
    sizes = [min(40, max(6, *map(len, cells))) for cells in zip(*whole, strict=True)]
    widths = [int(room * size / sum(sizes)) for size in sizes]  # by the longest text
    for place, line in zip(grid.rows, lines, strict=True):
        for k, (cell, width) in enumerate(zip(place.cells, widths, strict=True)):
            cell.width = width
            if k < len(line):
                paragraph = cell.paragraphs[0]
                run = paragraph.add_run(legible(line[k]))
                run.bold = line is table.header or len(line) == 1
                if k >= table.left:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for note in table.notes:
        document.add_paragraph(legible(note))
    return _saved(document)


def text_document(text: Prose) -> bytes:
    """Return a document with title, paragraphs and the list of references."""
    document = _empty("a text as a Word document")
    document.add_heading(text.title, level=1)
    for paragraph in text.plain():
        document.add_paragraph(legible(paragraph))
    document.add_heading("References", level=1)
    for entry in text.references():
        document.add_paragraph(entry)
    return _saved(document)


def _empty(what: str) -> Any:
    """Return an empty document, or say that `what` needs the extra."""
    document = need("docx", what, "word").Document()
    facts = document.core_properties
    facts.created = facts.modified = now().replace(tzinfo=None)
    facts.author = "survgauge"
    return document


def _saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def legible(text: str) -> str:
    r"""Put a mark in place of control characters, with which Word does not open a document.

    >>> legible("a\x00b\tc")
    'a\ufffdb\tc'
    """
    return "".join(c if c >= " " or c in "\t\n\r" else "\ufffd" for c in text)
