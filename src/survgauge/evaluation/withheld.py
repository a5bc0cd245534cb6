"""Words for scores without interval and test because the assumed tail decides them.

Every display reads the columns `withheld`, `tail_low` and `tail_high` of a row by these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._tools.text_tables import number
from .phrases import listed


def tail_range(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return least and largest value over the assumed tails; None where the tail changes nothing.

    >>> tail_range({"withheld": "because", "tail_low": 1.0, "tail_high": 2.5})
    (1.0, 2.5)
    """
    low, high = row.get("tail_low"), row.get("tail_high")
    if not row.get("withheld") or not isinstance(low, float) or not isinstance(high, float):
        return None
    return (low, high) if low < high else None


def range_text(row: Mapping[str, Any], digits: int) -> str:
    """Write the range over the assumed tails, as tables have it; nothing where there is none.

    >>> range_text({"withheld": "because", "tail_low": 1.0, "tail_high": 2.5}, 3)
    '{1.00 to 2.50}'
    """
    ends = tail_range(row)
    return "" if ends is None else f"{{{' to '.join(number(end, digits) for end in ends)}}}"


def withheld_notes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say below a table of values which of them have no interval and test, and why.

    >>> row = {"metric": "mae_po", "withheld": "9 % are event-free", "tail_low": 1.0}
    >>> withheld_notes([row, {**row, "metric": "mae_dr", "tail_high": 2.0}, {"metric": "uno"}])[0]
    'No interval or test for mae_po and mae_dr, because 9 % are event-free.'
    """
    found: dict[str, list[str]] = {}
    ranges = False
    for row in rows:
        if row.get("withheld"):
            found.setdefault(row["withheld"], []).append(row["metric"])
            ranges = ranges or tail_range(row) is not None
    told = []
    for reason, metrics in found.items():
        named = listed(list(dict.fromkeys(metrics)))
        told.append(f"No interval or test for {named}, because {reason}.")
    if ranges:
        told.append(
            "{low to high}: range of the error over three assumptions about later times (the tails "
            "hold, linear and exponential)."
        )
    return told
