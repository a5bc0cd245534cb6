"""Tables as plain text, for terminals and logs."""

from __future__ import annotations

import math


def number(value: float | None, digits: int = 4) -> str:
    """Four significant digits, without exponents where people would not write one.

    >>> number(1234.5678), number(0.012345), number(float("nan"))
    ('1235', '0.01235', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value) or value == 0:
        return str(value) if value else "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -5:
        return f"{value:.3g}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


def columns(header: list[str], rows: list[list[str]], left: int | tuple[int, ...] = 1) -> str:
    """Align columns: the first `left`, or those at the places `left`, to the left, others right.

    >>> print(columns(["a", "b"], [["x", "10"], ["yy", "7"]]))
    a    b
    --  --
    x   10
    yy   7
    """
    # A name with a line break must not break the table.
    table = [[" ".join(cell.split()) or cell for cell in row] for row in [header, *rows]]
    header, rows = table[0], table[1:]
    width = [max(len(row[k]) for row in table) for k in range(len(header))]

    places = range(left) if isinstance(left, int) else left

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(width[k]) if k in places else cell.rjust(width[k])
            for k, cell in enumerate(row)
        ]
        return "  ".join(cells).rstrip()

    rule = ["-" * w for w in width]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def p_text(p: float | None) -> str:
    """p-values as people print them.

    >>> p_text(0.0004), p_text(0.0321), p_text(None)
    ('<0.001', '0.032', '-')
    """
    return "-" if p is None or math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def percent(share: float) -> str:
    """A share in whole percent, without calling a small one nothing.

    >>> percent(0.123), percent(0.004), percent(0.0)
    ('12 %', '<1 %', '0 %')
    """
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def relation(p: float | None) -> str:
    """The same after the letter p: "= 0.032", "< 0.001"."""
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"
