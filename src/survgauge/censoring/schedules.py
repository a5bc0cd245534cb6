"""Visit schedules: known event times become intervals between visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, frozen, one_number, positive, shown, to_numpy, vector
from .._tools.random import check_seed, stream
from ..data.intervals import IntervalOutcomes
from ..errors import InputError

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
    """Draw visits at which subjects are looked at, so that only intervals of their times are known.

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
        0: everybody is seen at the same times; 1: any time is as likely as another.
    missed : float
        Probability that a visit is missed, below 1.
    end : float or array-like of shape (n,), optional
        When a subject's follow-up ends: no visit comes later, and who has had none with the event
        is right-censored. By default visits go on until every event is seen.
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
