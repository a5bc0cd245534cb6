"""Remark on times that seem to be counted in different units, such as years and days."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from ..reference.kaplan_meier import KaplanMeier
from .chunk import joined
from .warnings import EvaluationWarning

#: Times this many times as long as others are suspicious: months are 12 to the year.
FAR = 5.0
#: Fewer subjects do not tell what is typical.
_FEWEST = 10
#: At most so many subjects are looked at.
_LOOKED_AT = 2000


class SomeTimes:
    """Observed and predicted times of some subjects, the same ones however rows come in chunks.

    They are those whose number in the test set is a multiple of a power of two, the smallest that
    leaves few enough of them; rows of weight 0 are absent. A part looks at no fewer of its own.
    """

    def __init__(self) -> None:
        self._step, self._size = 1, 0
        #: Numbers of the subjects, their outcomes, and predicted times by model, by chunk.
        self._parts: list[tuple[Ints, Outcomes, dict[str, Floats]]] = []

    def update(self, problem: Problem, predictions: Mapping[str, Prediction]) -> None:
        """Add a chunk, whose rows have the numbers from `problem.start` on."""
        y, start = problem.first, problem.start
        if not self._parts and not y.weighted:
            while len(y) // self._step > _LOOKED_AT:  # these alone are too many
                self._step *= 2
        rows = np.arange(-start % self._step, len(y), self._step)
        rows = rows[y.weight[rows] > 0] if y.weighted else rows
        if self._size + rows.size > _LOOKED_AT:
            self._thin(rows + start)
            rows = rows[(rows + start) % self._step == 0]
        if rows.size:
            times = {n: _median_times(p[rows]) for n, p in predictions.items() if p.has("times")}
            self._parts.append((rows + start, y[rows], times))
            self._size += rows.size

    def merge(self, other: SomeTimes) -> None:
        """Add the subjects of another part, which stays as it is."""
        self._step = max(self._step, other._step)
        self._parts += other._parts
        self._thin(np.empty(0, dtype=np.intp))

    def _thin(self, more: Ints) -> None:
        """Make the step so large that few enough are left, together with the numbers `more`."""
        numbers = np.concatenate([*(own for own, _, _ in self._parts), more])
        numbers = numbers[numbers % self._step == 0]
        while numbers.size > _LOOKED_AT:
            self._step *= 2
            numbers = numbers[numbers & (self._step - 1) == 0]
        thinned = []
        for own, y, times in self._parts:
            kept = np.flatnonzero(own % self._step == 0)
            if kept.size == own.size:
                thinned.append((own, y, times))
            elif kept.size:
                thinned.append((own[kept], y[kept], {n: t[kept] for n, t in times.items()}))
        self._parts, self._size = thinned, sum(own.size for own, _, _ in thinned)

    def found(self) -> tuple[Outcomes | None, dict[str, Floats]]:
        """Return the outcomes and all models' predicted times; None: there is nobody."""
        if not self._parts:
            return None, {}
        parts = sorted(self._parts, key=lambda part: int(part[0][0]))
        names = parts[0][2]
        times = {name: np.concatenate([known[name] for _, _, known in parts]) for name in names}
        return joined(y for _, y, _ in parts), times


def check_units(problem: Problem, looked: SomeTimes) -> list[EvaluationWarning]:
    """Remark on predicted times and training times far from all that was observed."""
    y, predicted = looked.found()
    if y is None or len(y) < _FEWEST:
        return []
    shortest, longest = _median(y), _longest(y)
    found = []
    for name, times in predicted.items():
        known = times[np.isfinite(times) & (times > 0)]
        typical = float(np.median(known)) if known.size else np.nan
        if typical * FAR < shortest or typical > FAR * longest:
            message = (
                f"the predicted times are typically {typical:g}, the observed ones {shortest:g}: "
                "check that both are counted in the same unit (days, months, years)"
            )
            found.append(EvaluationWarning("time-units", message, name))
    if problem.reference is not None:
        trained = _median(problem.reference.y.present())
        if trained * FAR < shortest or trained > FAR * shortest:
            message = (
                f"the times of the training set are typically {trained:g}, those of the test "
                f"subjects {shortest:g}: check that both are counted in the same unit"
            )
            found.append(EvaluationWarning("time-units", message))
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
