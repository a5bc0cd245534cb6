"""What a page packs away, as its script unpacks it."""

from __future__ import annotations

from typing import Any


def unpacked(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with long tables as lists of rows."""
    return {name: _rows(value) for name, value in record.items()}


def _rows(value: Any) -> Any:
    if not (isinstance(value, dict) and "levels" in value):
        return value
    columns, levels = value["columns"], value["levels"]
    return [
        {n: levels[n][cell] if n in levels else cell for n, cell in zip(columns, row, strict=True)}
        for row in value["rows"]
    ]
