"""Tables as plain text, for terminals and logs."""

from __future__ import annotations

import math
import textwrap


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


#: A last column of text is not wrapped to fewer characters than this.
_LEAST_TEXT = 24
_GAP = "  "


def columns(
    header: list[str],
    rows: list[list[str]],
    left: int | tuple[int, ...] = 1,
    width: int | None = None,
    under: list[str] | None = None,
) -> str:
    """Align columns: the first `left`, or those at the places `left`, to the left, others right.

    `under` is a second line of the header. What is wider than `width` is wrapped, if the last
    column is one of text; other tables are printed part by part, each with the columns of text
    that come first.

    >>> print(columns(["a", "b"], [["x", "10"], ["yy", "7"]]))
    a    b
    --  --
    x   10
    yy   7
    >>> print(columns(["a", "b", "c"], [["x", "10", "11"]], width=6))
    a   b
    -  --
    x  10
    <BLANKLINE>
    a   c
    -  --
    x  11
    """
    # A name with a line break must not break the table.
    heads = [header] if under is None else [header, under]
    table = [[" ".join(cell.split()) or cell for cell in row] for row in [*heads, *rows]]
    places = tuple(range(left)) if isinstance(left, int) else left
    size = [max(len(row[k]) for row in table) for k in range(len(header))]
    if width is None or sum(size) + len(_GAP) * (len(size) - 1) <= width:
        return _aligned(table, places, size, len(heads))
    last = len(header) - 1
    room = width - sum(size[:-1]) - len(_GAP) * last
    if last in places and room >= _LEAST_TEXT:
        return _aligned(_wrapped(table, room), places, [*size[:-1], room], len(heads))
    lead = next((k for k in range(len(header)) if k not in places), last)
    parts, part = [], list(range(lead))
    taken = sum(size[:lead]) + len(_GAP) * lead
    used = taken
    for k in range(lead, len(header)):
        if k > lead and len(part) > lead and used + size[k] > width:
            parts.append(part)
            part, used = list(range(lead)), taken
        part.append(k)
        used += size[k] + len(_GAP)
    return "\n\n".join(
        _aligned(
            [[row[k] for k in part] for row in table],
            tuple(place for place, k in enumerate(part) if k in places),
            [size[k] for k in part],
            len(heads),
        )
        for part in [*parts, part]
    )


def _wrapped(table: list[list[str]], room: int) -> list[list[str]]:
    """Break the last cell of a row into several rows."""
    found = []
    for *cells, text in table:
        first, *more = textwrap.wrap(text, room) or [""]
        found += [[*cells, first], *([""] * len(cells) + [line] for line in more)]
    return found


def _aligned(table: list[list[str]], places: tuple[int, ...], size: list[int], heads: int) -> str:
    """Join the cells of a header and its rows, with a rule below the header of `heads` lines."""

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(size[k]) if k in places else cell.rjust(size[k])
            for k, cell in enumerate(row)
        ]
        return _GAP.join(cells).rstrip()

    rows = [*table[:heads], ["-" * w for w in size], *table[heads:]]
    return "\n".join(map(line, rows))


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
