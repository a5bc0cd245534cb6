"""What warnings look at of predictions: typical times and their unit, and entries they deny."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.incidence import CauseCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..estimators.kaplan_meier import KaplanMeier
from ..metrics.task import Task
from .reading import joined
from .warnings import EvaluationWarning, warned

#: Times this many times as long as others are suspicious: months are 12 to the year.
FAR = 5.0
#: Fewer subjects do not tell what is typical.
_FEWEST = 10
#: The times of about so many subjects are looked at.
_LOOKED_AT = 2000
#: What a model says of somebody who was event-free at entry, if that denies it.
_DENIED = {
    "curves": "a probability of 0 of being event-free at their entry",
    "times": "a time before their entry",
}


class Seen:
    """What warnings look at of predictions; chunks add up, in their order."""

    def __init__(self) -> None:
        #: How many late entries each model denies, see `check_entry`.
        self.denied: Counter[str] = Counter()
        #: Outcomes of some subjects, and what each model predicts for them, by chunk.
        self.outcomes: list[Outcomes] = []
        self.times: dict[str, list[Floats]] = {}

    @classmethod
    def of(cls, task: Task, predictions: Mapping[str, Prediction], subjects: int) -> Seen:
        """Look at a chunk of so many subjects in all, whose rows begin at ``task.start``.

        Every k-th of them is looked at, however they come in chunks; rows of weight 0 are left out.
        """
        found, y, step = cls(), task.first, max(1, -(-subjects // _LOOKED_AT))
        found.denied.update({n: denied_entries(task.y, p) for n, p in predictions.items()})
        rows = np.arange(-task.start % step, len(y), step)
        rows = rows[y.weight[rows] > 0]
        if rows.size:
            found.outcomes.append(y[rows])
            for name, prediction in predictions.items():
                if prediction.has("times"):
                    found.times[name] = [_median_times(prediction[rows])]
        return found

    def merge(self, other: Seen) -> None:
        """Add what was seen of further subjects."""
        self.denied.update(other.denied)
        self.outcomes += other.outcomes
        for name, times in other.times.items():
            self.times.setdefault(name, []).extend(times)


def check_units(task: Task, seen: Seen) -> list[EvaluationWarning]:
    """Warn about predicted times and training times far from all that was observed."""
    y = joined(seen.outcomes) if seen.outcomes else task.y[:0]
    if len(y) < _FEWEST:
        return []
    shortest, longest = _median(y), _longest(y)
    found = []
    for name, parts in seen.times.items():
        times = np.concatenate(parts)
        times = times[np.isfinite(times) & (times > 0)]
        typical = float(np.median(times)) if times.size else np.nan
        if typical * FAR < shortest or typical > FAR * longest:
            numbers: dict[str, Any] = {"typical": typical, "observed": shortest}
            found.append(warned("time-units", name, form="predicted", **numbers))
    if task.reference is not None:
        trained = _median(task.reference.y.present())
        if trained * FAR < shortest or trained > FAR * shortest:
            found.append(warned("time-units", form="training", typical=trained, observed=shortest))
    return found


def _median(y: Outcomes) -> float:
    """Return the median observed time; training outcomes may be counts at distinct times."""
    if not y.weighted:
        return float(np.median(y.time))
    order = np.argsort(y.time, kind="stable")
    time, reached = y.time[order], np.cumsum(y.weight[order])
    half = reached[-1] / 2
    middle = [int(reached.searchsorted(half, side)) for side in ("left", "right")]
    return float(time[np.minimum(middle, time.size - 1)].mean())


def _longest(y: Outcomes) -> float:
    """Return the time by which half of the subjects have the event.

    Past the follow-up it is that of a constant hazard, and without events nobody knows it.
    """
    km, last = KaplanMeier.fit(y), float(y.time.max())
    left = float(km.at(last))
    if left <= 0.5:
        return float(km.median())
    return float("inf") if left == 1 else last * float(np.log(0.5) / np.log(left))


def _median_times(prediction: Prediction) -> Floats:
    """Return predicted (median) times."""
    incidence = prediction.incidence
    curves = prediction.curves if incidence is None else incidence.survival()
    times: Floats = prediction.times if curves is None else curves.quantile(0.5)
    return times


# -- delayed entry -------------------------------------------------------------------------------


def denied_entries(y: Outcomes, prediction: Prediction) -> int:
    """Count who enters late and event-free although the model excludes that.

    >>> y = Outcomes([5, 8, 9], [1, 0, 1], entry=[0, 2, 3])
    >>> denied_entries(y, Prediction.of([1.0, 1.0, 8.0], 3))
    1
    """
    if y.entry is None or prediction.kind not in _DENIED:
        return 0
    late = (y.entry > 0) & (y.weight > 0)
    curves = prediction.curves
    if curves is None:
        return int(np.count_nonzero(late & (prediction.median <= y.entry)))
    incidence = curves.incidence if isinstance(curves, CauseCurves) else None
    free = curves.at_own(y.entry) if incidence is None else incidence.free_at_own(y.entry)
    return int(np.count_nonzero(late & (free <= 0)))


def check_entry(
    task: Task, denied: dict[str, tuple[str, int]], min_at_risk: float
) -> list[EvaluationWarning]:
    """Say how thin the first risk sets are, and who was there although a model excluded it.

    `denied` has for each model the kind of its predictions and how many entries they deny.
    """
    y, since, reference, found = task.y, task.since, task.reference, []
    if reference is not None and (y.entry is None) != (reference.given.entry is None):
        late, other = ("y_train", "y_test") if y.entry is None else ("y_test", "y_train")
        found.append(warned("entry-on-one-side", late=late, other=other))
    if y.entry is None:
        return found
    early = (y.weight > 0) & (y.time < (np.inf if since is None else since))
    if early.any():
        until = "at any time" if since is None else f"before {since:g}"
        counts = {"subjects": early.sum(), "events": (early & y.event).sum()}
        found.append(warned("thin-first-risk-sets", least=min_at_risk, until=until, **counts))
    entered = int(np.count_nonzero((y.entry > 0) & (y.weight > 0)))
    return found + [
        warned("denies-entry", name, denied=_DENIED[kind], count=gone, late=entered)
        for name, (kind, gone) in denied.items()
        if gone
    ]
