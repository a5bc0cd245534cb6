"""Single backticks in docstrings: a link where the name is documented, else plain code.

Docstrings put parameters, values and names alike in single backticks. Only explicit roles
(``:func:``) promise a link, so only those are an error where there is none.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx


def plain(app: Sphinx, env: Any, node: pending_xref, contnode: nodes.Element) -> Any:
    return contnode if node.get("reftype") == "obj" else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
