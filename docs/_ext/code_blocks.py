"""Code blocks without the empty line at their end, which doctests in Markdown need."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def strip(app: Sphinx, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # else it is marked up already
            block.rawsource = block.rawsource.rstrip()
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
