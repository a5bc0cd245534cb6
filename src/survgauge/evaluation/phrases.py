"""Parts of sentences: lists, amounts, intervals and p-values."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number, relation

#: Digits of a number in a sentence.
DIGITS = 3


def listed(parts: list[str]) -> str:
    """Join parts of a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def amount(value: float, unit: str) -> str:
    """Return a number as sentences have it, with its unit."""
    return f"{number(value, DIGITS)} {unit}".strip()


def interval_text(data: dict[str, Any], low: float | None, high: float | None) -> str:
    """Say an interval; nothing where there is none."""
    if not (isinstance(low, float) and isinstance(high, float)):
        return ""
    level = f"{data['confidence'] * 100:g} % CI"
    return f"{level} {number(low, DIGITS)} to {number(high, DIGITS)}"


def in_brackets(*parts: str) -> str:
    """Join what is not empty, in brackets after a space; nothing where all of it is.

    >>> in_brackets("", "p = 0.5"), in_brackets("")
    (' (p = 0.5)', '')
    """
    told = ", ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def at_least(p: float | None, several: bool) -> str:
    """Say the least of several p-values; none is above 1.

    >>> at_least(0.2, True), at_least(1.0, True)
    ('p = 0.200 or more', 'p = 1.000')
    """
    return f"p {relation(p)}{' or more' * (several and p is not None and p < 0.9995)}"
