"""Times counted from another time, and which of them are one time but for rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._tools.arrays import Floats

#: Times that differ by a smaller share than this are one time, written in two ways.
SAME = 1e-10


def since(times: Floats, start: float, asked: Sequence[float] = ()) -> Floats:
    """Return times counted from `start`; the one at ``start + u``, for an `asked` u, is exactly u.

    3.3 - 2.0 is not 1.3 in floating point, so that the last bit would decide whether an event at
    3.3 years comes by 1.3 years after 2.0, and results would depend on the unit of time. Times on
    the last axis that are equal stay equal, and different ones stay different and in order: of
    several that are ``start + u`` but for rounding, the nearest is taken.

    >>> since(np.array([2.5, 3.3, 4.0]), 2.0, [1.3]).tolist()
    [0.5, 1.3, 2.0]
    """
    found = times - start
    for u in asked if times.size else ():
        gap = np.abs(found - u)
        nearest = np.take_along_axis(found, gap.argmin(axis=-1, keepdims=True), axis=-1)
        found = np.where((found == nearest) & (gap <= SAME * (start + u)), u, found)
    return found


def on_known(value: float, known: Floats) -> float:
    """Return the known time that a value is but for rounding, else the value.

    >>> on_known(0.1 + 0.2, np.array([0.3, 0.5])), on_known(0.4, np.array([0.3, 0.5]))
    (0.3, 0.4)
    """
    if not known.size or not np.isfinite(value):
        return value
    nearest = float(known[np.abs(known - value).argmin()])
    return nearest if abs(nearest - value) <= SAME * abs(value) else value
