"""A table for a paper: made once, printed as text, Markdown, LaTeX, HTML or Word."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from .._tools.latex import escaped, tabular
from .._tools.text_tables import columns
from .._tools.writing import write_atomically
from ..errors import InputError
from .word import legible, new_document, saved

#: Rows of a table that fits on one page of LaTeX.
_PAGE = 42
#: Small letters, so that five columns fit on a page, with a little air between rows.
_STYLE = r"\centering\footnotesize\setlength{\tabcolsep}{4pt}\renewcommand{\arraystretch}{1.1}"
#: Of a table on a page of its own.
_LOOK = """<style>
body { font: 15px/1.5 sans-serif; margin: 2em; }
caption { text-align: left; font-weight: bold; margin-bottom: 0.5em; }
table { border-collapse: collapse; border-block: 2px solid; }
thead { border-bottom: 1px solid; }
th, td { padding: 0.15em 1.2em 0.15em 0; vertical-align: top; }
</style>
"""


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

    def _cells(self, head: Callable[[str], str] = str) -> list[list[str]]:
        """Rows of equal length; the single cell of a heading goes through `head`."""
        size = len(self.header)
        return [
            [head(row[0]), *[""] * (size - 1)] if len(row) == 1 else list(row) for row in self.rows
        ]

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
        body = map(_pipes, self._cells(lambda text: f"**{text}**"))
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

    def html(self) -> str:
        """Return the table as a fragment of HTML without styles of its own."""
        sides = ["left" if k < self.left else "right" for k in range(len(self.header))]
        head = "".join(
            f'<th scope="col" style="text-align:{side}">{escape(cell)}</th>'
            for side, cell in zip(sides, self.header, strict=True)
        )
        body = "".join(self._html_row(row) for row in self.rows)
        notes = "".join(f"<p><small>{escape(note)}</small></p>\n" for note in self.notes)
        return (
            f"<table>\n<caption>{escape(self.heading)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}</tbody>\n</table>\n{notes}"
        )

    def _page(self) -> str:
        """Return a page of its own, to open and to copy from."""
        head = f'<meta charset="utf-8">\n<title>{escape(self.heading)}</title>\n{_LOOK}'
        body = f"<body>\n{self.html()}</body>\n</html>\n"
        return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}</head>\n{body}'

    def _html_row(self, row: tuple[str, ...]) -> str:
        if len(row) == 1:
            span = f'colspan="{len(self.header)}" scope="rowgroup" style="text-align:left"'
            return f"<tr><th {span}>{escape(row[0])}</th></tr>\n"
        cells = [
            f'<th scope="row" style="text-align:left;font-weight:normal">{escape(cell)}</th>'
            if k < self.left
            else f'<td style="text-align:right">{escape(cell)}</td>'
            for k, cell in enumerate(row)
        ]
        return f"<tr>{''.join(cells)}</tr>\n"

    def word(self) -> bytes:
        """Return a Word document (.docx) that holds the table."""
        document = new_document("a table as a Word document")
        self.add_to(document)
        return saved(document)

    def add_to(self, document: Any) -> None:
        """Append the table to a document of python-docx."""
        from docx.enum.text import WD_ALIGN_PARAGRAPH

        document.add_paragraph(legible(self.heading), style="Caption")
        table = document.add_table(rows=len(self.rows) + 1, cols=len(self.header))
        table.style = "Light List"
        section = document.sections[0]
        room = section.page_width - section.left_margin - section.right_margin
        for column, share in zip(table.columns, self._shares(), strict=True):
            column.width = int(room * share)
        for place, row in zip(table.rows, (self.header, *self.rows), strict=True):
            for cell, column in zip(place.cells, table.columns, strict=True):
                cell.width = column.width
            for k, (cell, text) in enumerate(zip(place.cells, row, strict=False)):
                paragraph = cell.paragraphs[0]
                paragraph.add_run(legible(text)).bold = row is self.header or len(row) == 1
                if k >= self.left:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        for note in self.notes:
            document.add_paragraph(legible(note))

    def _shares(self) -> list[float]:
        """Share of the width of a page for each column, by its longest text."""
        rows = [self.header, *(row for row in self.rows if len(row) > 1)]
        sizes = [min(40, max(6, *map(len, cells))) for cells in zip(*rows, strict=True)]
        return [size / sum(sizes) for size in sizes]

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table; the ending says how: .md, .tex, .html, .docx or .txt."""
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
