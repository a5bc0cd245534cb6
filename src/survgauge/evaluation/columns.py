"""What needs all subjects at once, but only a number or two of each: kept as columns.

C-indices need (time, event, risk), AUC and ICI the probability at one time, and 1-calibration those
at a few times before it. Where subjects enter late, everybody's probabilities at its own entry and
at its own time are kept too, as these are what curves are conditioned on and read at. At the end
the metrics' own functions are called on these columns, as `evaluate` would call them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import UndefinedMetricError
from ..metrics.calibration.groups import curve_nodes
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from .chunk import Chunk, joined


class KeptPrediction(Prediction):
    """A model's risks and probabilities at each time of interest, in place of its curves.

    `curves` are those of the first time; `at_time` gives the others.
    """

    def __init__(
        self, by_time: dict[float, SurvivalCurves], risk: Floats | None, why: str | None
    ) -> None:
        curves = next(iter(by_time.values()), None)
        super().__init__(curves, None, None if curves is not None else risk)
        self._by_time, self._ranks, self._why = by_time, risk, why

    def at_time(self, time: float | None) -> KeptPrediction:
        """Return what was kept for one time of interest; None: what all times share."""
        if time not in self._by_time:
            return self
        return KeptPrediction({time: self._by_time[time]}, self._ranks, self._why)

    @property
    def risk(self) -> Floats:
        """The risk that was kept."""
        if self._why is not None or self._ranks is None:
            raise UndefinedMetricError(self._why or "no risk was kept")
        return self._ranks

    def __getitem__(self, rows: Any) -> KeptPrediction:
        return KeptPrediction(
            {time: curves[rows] for time, curves in self._by_time.items()},
            None if self._ranks is None else self._ranks[rows],
            self._why,
        )


class Columns:
    """Numbers of each subject that some metrics need in the end.

    Some metrics need risks, some probabilities at the times of interest; without metrics only the
    outcomes are kept. With `by_entry` some of the subjects enter late, perhaps not in every chunk.
    """

    def __init__(self, metrics: list[Metric], by_entry: bool = False) -> None:
        self._by_entry = by_entry
        keeps = {kept for metric in metrics for kept in metric.keeps}
        self.models: tuple[str, ...] = ()
        self._nothing = not keeps
        self.ranks, self.paths = "risk" in keeps, "path" in keeps
        self.at_time = self.paths or "at_time" in keeps
        self._kept: list[tuple[int, Outcomes, dict[str, dict[str, Any]]]] = []
        self.undefined: dict[str, str] = {}
        self.rows = 0

    def update(self, chunk: Chunk) -> None:
        """Keep the numbers of a chunk."""
        times = _times_of_interest(chunk.problem) if self.at_time else ()
        self.models = () if self._nothing else tuple(chunk.predictions)
        y = chunk.y
        kept = {m: self._numbers(m, chunk.predictions[m], times, y) for m in self.models}
        # A copy: a view would keep all that was read with it in memory.
        self._kept.append((chunk.problem.start, y[:], kept))
        self.rows += len(y)

    def _numbers(
        self, model: str, prediction: Prediction, times: tuple[float, ...], y: Outcomes
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        curves = prediction.curves
        if self.ranks or curves is None:
            try:
                found["risk"] = np.array(prediction.risk)
            except UndefinedMetricError as error:
                self.undefined.setdefault(model, str(error))
                found["risk"] = np.full(len(prediction), np.nan)
        if curves is not None:
            found["like"] = type(curves), curves.interpolation, curves.tail
            grids = {time: self._times(curves, time) for time in times}
            found["survival"] = {time: (grid, curves.at(grid)) for time, grid in grids.items()}
            if self._by_entry:
                found["own"] = {time: _at_own_times(curves, y, time) for time in times}
        return found

    def _times(self, curves: SurvivalCurves, time: float) -> Floats:
        """Where curves are read: at one time, and for 1-calibration on the way there."""
        last = float(curves.times[-1])
        times = curve_nodes(curves, time) if self.paths else np.array([time])
        # Where curves end matters: past it their tail is read, as from the whole curve. If that is
        # unknown it matters to AUC also if it lies later.
        ends = [last] if time > last or curves.tail == "nan" else []
        return np.union1d(times[times <= last], ends)

    def merge(self, other: Columns) -> None:
        """Add the subjects of another part."""
        self.models = self.models or other.models
        self._kept = self._kept + other._kept
        self.rows += other.rows
        for model, why in other.undefined.items():
            self.undefined.setdefault(model, why)

    def outcomes(self) -> Outcomes:
        """Return all outcomes, in order of their rows."""
        return joined(y for _, y, _ in self._ordered())

    def _ordered(self) -> list[tuple[int, Outcomes, dict[str, dict[str, Any]]]]:
        return sorted(self._kept, key=lambda part: part[0])

    def predictions(self) -> dict[str, Prediction]:
        """Return all models' numbers as predictions that the metrics can read."""
        ordered = self._ordered()
        return {model: self._prediction(model, ordered) for model in self.models}

    def _prediction(self, model: str, ordered: list[Any]) -> Prediction:
        parts = [kept[model] for _, _, kept in ordered]
        risk = np.concatenate([p["risk"] for p in parts]) if "risk" in parts[0] else None
        by_time: dict[float, SurvivalCurves] = {}
        if "like" in parts[0]:
            values = {
                time: (times, np.concatenate([p["survival"][time][1] for p in parts]))
                for time, (times, _) in parts[0]["survival"].items()
            }
            if any(y.entry is not None for _, y, _ in ordered):
                own = {time: [p["own"][time] for p in parts] for time in values}
                values = {time: _with_own(*values[time], own[time]) for time in values}
            if not values:  # it has curves, which nobody reads
                rows = sum(len(y) for _, y, _ in ordered)
                values[0.0] = np.ones(1), np.broadcast_to(np.ones(1), (rows, 1))
            kind, *rules = parts[0]["like"]
            by_time = {time: kind._trusted(*kept, *rules) for time, kept in values.items()}
        return KeptPrediction(by_time, risk, self.undefined.get(model))


def _at_own_times(curves: SurvivalCurves, y: Outcomes, time: float) -> tuple[Floats, Floats]:
    """Read curves at each subject's entry, and at its own time or `time` before it: (n, 2) each."""
    entry = np.zeros(len(y)) if y.entry is None else y.entry
    # Past the end of a curve its tail is read, as from the whole curve.
    own = np.minimum(np.stack((entry, y.time), axis=1), np.minimum(curves.last_time, time)[:, None])
    return own, np.stack([curves.at_own(t) for t in own.T], axis=1)


def _with_own(
    grid: Floats, survival: Floats, own: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Return a grid for each subject: the one that all share and times of its own, in order."""
    times = np.concatenate([t for t, _ in own])
    times = np.concatenate((np.broadcast_to(grid, survival.shape), times), axis=1)
    values = np.concatenate((survival, np.concatenate([s for _, s in own])), axis=1)
    order = times.argsort(axis=1, kind="stable")
    times, values = (np.take_along_axis(array, order, 1) for array in (times, values))
    for k in range(1, times.shape[1]):  # where two are the same, the next number stands for one
        np.maximum(times[:, k], np.nextafter(times[:, k - 1], np.inf), out=times[:, k])
    return times, values


def _times_of_interest(problem: Problem) -> tuple[float, ...]:
    """Times at which AUC, 1-calibration and ICI read the curves."""
    used = (at.time_used for at in problem.at_times)
    return tuple(time for time in used if np.isfinite(time) and time > 0)
