"""Word documents, where python-docx is installed."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

from .._tools.extras import need
from .._tools.provenance import now


def new_document(what: str) -> Any:
    """Return an empty document; `what` needs it, where python-docx is missing."""
    document = need("docx", what, "word").Document()
    made: datetime = now().replace(tzinfo=None)
    document.core_properties.created = document.core_properties.modified = made
    document.core_properties.author = "survgauge"
    return document


def saved(document: Any) -> bytes:
    """Return the bytes of a document."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def legible(text: str) -> str:
    r"""Put a mark in place of control characters, which a Word document must not have.

    >>> legible("a\x00b\tc")
    'a\ufffdb\tc'
    """
    return "".join(c if c >= " " or c in "\t\n\r" else "\ufffd" for c in text)
