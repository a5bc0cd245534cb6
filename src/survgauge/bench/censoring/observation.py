"""What is seen of known outcomes: from a delayed entry on, or between visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, frozen, one_number, positive, shown, to_numpy, vector
from ..._tools.random import check_seed, stream
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...errors import InputError


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
    others enter at 0. Subjects with the event or censored before never enter and are dropped. This
    is left truncation, and ignoring it makes the rest look healthier than the whole sample.

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
        raise InputError("no subject is observed after its entry; choose earlier entries")
    part = known[rows]
    weight = part.frequency
    event = part.event if part.cause is None else part.cause
    seen = Outcomes(part.time, event, weight, part.causes, entries[rows])
    return Entries(seen, frozen(rows), n - rows.size, seed)


#: More visits than this of one subject are a mistake.
_MOST_VISITS = 100_000


@dataclass(frozen=True, eq=False)
class Visits:
    """What visits saw of known event times, and the truth beside it.

    Attributes
    ----------
    y : IntervalOutcomes
        What was seen: event-free until the visit `lower`, with the event at the visit `upper`.
    true_time : ndarray
        Event time of every subject.
    random_state : int
        The seed; the same one gives the same data.
    """

    y: IntervalOutcomes
    true_time: Floats
    random_state: int

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        wide = np.isfinite(self.y.upper)
        width = float(np.median((self.y.upper - self.y.lower)[wide])) if wide.any() else np.nan
        return (
            f"Visits(n={len(self)}, right-censored {float(1 - wide.mean()):.1%}, median interval "
            f"{width:g})"
        )


def visits(
    time: Any,
    every: float,
    *,
    jitter: float = 1.0,
    missed: float = 0.0,
    end: Any = None,
    random_state: int | None = 0,
) -> Visits:
    """Draw visits at which subjects are examined, so that only intervals of their times are known.

    Visit k of a subject is planned at k times `every` and takes place up to half of `jitter` times
    `every` earlier or later. Visits do not depend on the event, as metrics for interval-censored
    outcomes assume.

    Parameters
    ----------
    time : array-like of shape (n,)
        True event times, finite and positive.
    every : float
        Time between planned visits.
    jitter : float
        0: all subjects have the same visit times; 1: any time is as likely as another.
    missed : float
        Probability that a visit is missed, below 1.
    end : float or array-like of shape (n,), optional
        When a subject's follow-up ends: no visit comes later, and subjects without a visit after
        the event are right-censored. By default visits continue until every event is seen.
    random_state : int or None
        Seed; None draws one and records it.

    Returns
    -------
    Visits
        `y`, the `IntervalOutcomes`, and `true_time`.

    Examples
    --------
    >>> seen = visits([0.5, 2.2, 7.0], every=1, jitter=0, end=5)
    >>> seen.y.lower, seen.y.upper
    (array([0., 2., 5.]), array([ 1.,  3., inf]))
    """
    truth = vector(time, "time", minimum=0.0)
    if not truth.size or not truth.min() > 0:
        raise InputError("time must have positive event times, one per subject")
    step, seed = positive(every, "every"), check_seed(random_state)
    shift, gone = _share(jitter, "jitter", 1.0), _share(missed, "missed", 0.999)
    stop = _end(end, truth)
    if min(float(stop.max()), float(truth.max())) / step > _MOST_VISITS:
        raise InputError(f"every is {step:g}, which makes more than {_MOST_VISITS:,} visits")
    rng = stream(seed, "visits")
    lower, upper = np.zeros(truth.size), np.full(truth.size, np.inf)
    open_rows, number = np.arange(truth.size), 0
    while open_rows.size:
        number += 1
        at = (number + shift * (rng.random(open_rows.size) - 0.5)) * step
        came = (rng.random(open_rows.size) >= gone) & (at <= stop[open_rows])
        found = came & (at >= truth[open_rows])
        upper[open_rows[found]] = at[found]
        before = came & ~found
        lower[open_rows[before]] = at[before]
        # Half a step of jitter later the next visit may still come in time.
        open_rows = open_rows[~found & ((number + 0.5) * step <= stop[open_rows])]
    return Visits(IntervalOutcomes(lower, upper), frozen(truth), seed)


def _share(value: Any, name: str, most: float) -> float:
    number = one_number(value)
    if not 0 <= number <= most:
        raise InputError(f"{name} must be a number from 0 to {most:g}; got {shown(value)}")
    return number


def _end(end: Any, truth: Floats) -> Floats:
    """One end of follow-up per subject."""
    if end is None:
        return np.full(truth.size, np.inf)
    if to_numpy(end, "end").ndim == 0:
        return np.full(truth.size, positive(end, "end"))
    return vector(end, "end", length=truth.size, like="time", minimum=0.0, finite=False)
