"""Drawn entries: known outcomes are seen from some time on, and some not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, frozen, one_number, positive, shown, vector
from .._tools.random import check_seed, stream
from ..data.outcomes import Outcomes
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Entries:
    """Who was seen once entry was delayed, and the truth beside it.

    Attributes
    ----------
    y : Outcomes
        With `entry`: the subjects who were event-free and uncensored when they would have entered.
    rows : ndarray
        Rows of the outcomes that came in, for features, predictions and true times.
    dropped : int
        How many were never seen, because they had the event or were censored before.
    random_state : int
        The seed; the same one gives the same data.
    """

    y: Outcomes
    rows: Ints
    dropped: int
    random_state: int

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Entries({self.y!r}, dropped {self.dropped})"


def delayed_entry(
    y: Any, latest: float | None = None, *, late: float = 0.8, entry: Any = None,
    random_state: int | None = 0,
) -> Entries:  # fmt: skip
    """Draw times of entry for outcomes that were observed from the beginning.

    A share `late` of the subjects would enter at a time that is uniform between 0 and `latest`, the
    others enter at 0. Who has the event or is censored before never enters and is dropped: this is
    left truncation, and ignoring it makes the rest look healthier than everybody was.

    Parameters
    ----------
    y : outcomes
        Observed from the beginning, such as the `y` of `semisynthetic`.
    latest : float, optional
        Latest entry; by default the median time of `y`.
    late : float
        Share of the subjects who would enter late.
    entry : array-like of shape (n,), optional
        Entries to take instead of drawn ones; they may depend on features.
    random_state : int or None
        Seed; None draws one and records it.

    Returns
    -------
    Entries
        `y` with `entry`, and `rows`.

    Examples
    --------
    >>> seen = delayed_entry(([2, 4, 6, 8], [1, 1, 0, 1]), entry=[0, 5, 3, 1])
    >>> seen.y.entry, seen.rows, seen.dropped
    (array([0., 3., 1.]), array([0, 2, 3]), 1)
    """
    known = Outcomes.of(y, causes=True)
    seed, n = check_seed(random_state), len(known)
    if not 0 <= one_number(late) <= 1:
        raise InputError(f"late must be a share from 0 to 1; got {shown(late)}")
    if entry is None:
        rng = stream(seed, "entry")
        end = float(np.median(known.time)) if latest is None else positive(latest, "latest")
        entries: Floats = np.where(rng.random(n) < float(late), end * rng.random(n), 0.0)
    else:
        entries = vector(entry, "entry", length=n, like="y", minimum=0.0)
    rows = np.flatnonzero((known.time > entries) | (entries == 0))
    if not rows.size:
        raise InputError("nobody is observed after the entry; choose earlier entries")
    part = known[rows]
    weight = part.weight if part.weighted else None
    event = part.event if part.cause is None else part.cause
    seen = Outcomes(part.time, event, weight, part.causes, entries[rows])
    return Entries(seen, frozen(rows), n - rows.size, seed)
