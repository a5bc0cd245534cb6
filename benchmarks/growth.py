"""How time grows with the number of subjects."""

from __future__ import annotations

import math

from targets import Cells


def slope(points: list[tuple[int, float]]) -> float | None:
    """Growth exponent: log-log slope between the last two sizes."""
    if len(points) < 2:
        return None
    (n0, t0), (n1, t1) = points[-2:]
    return math.log(t1 / t0) / math.log(n1 / n0)


def measured(cells: Cells, who: str) -> list[tuple[int, float]]:
    """Sizes and seconds of one, smallest first, without extrapolations."""
    found = [
        (n, cell.seconds)
        for (name, n), cell in cells.items()
        if name == who and cell.seconds and not cell.extrapolated
    ]
    return sorted(found)
