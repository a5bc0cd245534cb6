"""Delayed entry: from when on each subject was observed, checked where outcomes are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tools.arrays import LARGEST, Floats, vector
from ..errors import InputError, numbered


def read_entry(entry: Any, time: Floats, keep: Callable[[Any], Any]) -> Floats | None:
    """Return entries that come before the times; None where everybody is in from the beginning.

    >>> read_entry([0, 2], np.array([1.0, 3.0]), np.array)
    array([0., 2.])
    """
    if entry is None:
        return None
    entries = vector(entry, "entry", length=time.size, minimum=0.0, largest=LARGEST)
    late = np.flatnonzero((entries >= time) & (entries > 0))  # at 0 everybody is in
    if late.size:
        first = int(late[0])
        raise InputError(
            f"entry must come before time; it does not for {numbered(late)}: the first of them "
            f"enters at {entries[first]:g} and is observed until {time[first]:g}. A subject with "
            "no time at risk tells nothing: correct such rows, or leave them out"
        )
    found: Floats | None = some_entry(keep(entries))
    return found


def some_entry(entry: Floats | None) -> Floats | None:
    """Return entries; None where everybody is in from the beginning."""
    return entry if entry is not None and entry.any() else None


def joined_entry(parts: Sequence[Floats | None], sizes: Sequence[int]) -> Floats | None:
    """Return entries one after the other; parts without any are in from the beginning."""
    if all(entry is None for entry in parts):
        return None
    pairs = zip(parts, sizes, strict=True)
    return np.concatenate([np.zeros(n) if entry is None else entry for entry, n in pairs])


def refuse_entry(entry: Floats | None, argument: str, *, intervals: bool = False) -> None:
    """Refuse delayed entry: the one door of everything that does not know of it."""
    if entry is None:
        return
    found = (
        f"{argument} has delayed entry (left truncation) for {int(np.count_nonzero(entry))} of "
        f"{entry.size} subjects"
    )
    if intervals:
        raise InputError(
            f"{found}, which interval-censored outcomes cannot have: no metric knows both, and "
            "ignoring entry would bias the result. Entry goes with right-censored outcomes (time "
            "and event); leave entries out only if everybody was observed from the beginning"
        )
    raise InputError(
        f"{found}, which this function does not know of; ignoring it would bias the "
        "result. sg.evaluate, sg.landmarks, sg.KaplanMeier and most metrics know it (see the guide "
        "on delayed entry); y.from_landmark(s) counts time from s on for those at risk then"
    )
