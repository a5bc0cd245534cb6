"""Word documents (.docx) of tables and texts; they need the extra `word`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ..._tools.extras import need
from ..._tools.writing import now

if TYPE_CHECKING:
    from .printed import PrintedTable, Prose


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
