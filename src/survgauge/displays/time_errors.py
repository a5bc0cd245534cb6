"""Errors in time units: by censoring status, and over the observed time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..metrics.details import standard_error
from ..metrics.time.terms import TimeErrorDetails
from ..reference.surrogates import METHODS
from ._base import (
    FromPredictions,
    Source,
    band,
    check_one_kind,
    measure_each,
    members,
    records,
    time_errors,
)
from .description import Axis, Bars, Chart, Line, Model, Panel, Points, Row, positions


class Estimate(NamedTuple):
    """A mean with its interval and the number of subjects behind it."""

    mean: float
    low: float
    high: float
    n: int


def sums(label: Any, values: Floats, groups: int) -> Floats:
    """Sum of the values in each group."""
    return np.bincount(label, values, groups).astype(np.float64, copy=False)


def group_means(
    details: TimeErrorDetails, label: Any, groups: int
) -> tuple[Floats, Floats, Floats]:
    """Weighted mean loss in each group of subjects, its standard error, and who took part.

    With the weights of the metric the group means average back to it (but for ``ipcw_d``, which
    divides by all subjects).
    """
    weight, loss, frequency = details.weight, details.loss, details.frequency
    mass, total = sums(label, weight, groups), sums(label, weight * loss, groups)
    took_part = (weight > 0).astype(np.float64)
    if frequency is not None:
        took_part *= frequency
    count = sums(label, took_part, groups)
    mean = np.divide(total, mass, out=np.full(groups, np.nan), where=mass > 0)
    stderr = np.full(groups, np.nan)
    for k in np.flatnonzero(mass > 0):  # a handful of groups, never subjects
        rows = np.flatnonzero((label == k) & (weight > 0))
        psi = weight[rows] * (loss[rows] - mean[k]) / mass[k]
        stderr[k] = standard_error(psi, None if frequency is None else frequency[rows])
    return mean, stderr, count


@dataclass(frozen=True, eq=False)
class ErrorByStatusDisplay(FromPredictions):
    """Mean absolute error of subjects with the event and of censored ones, apart.

    Attributes
    ----------
    event, censored : dict of model to (mean, low, high, n)
        With `tau`, who gets there event-free has a known time and counts as "event". NaN where
        nobody takes part (``uncensored`` and ``ipcw_d`` leave the censored out).
    weight : dict of model to (event, censored)
        Share of the two in the metric's weights.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = ErrorByStatusDisplay.from_predictions({"a": [3, 5, 6, 6]}, y)
    >>> d.event["a"].mean, round(d.censored["a"].mean, 2)
    (1.0, 2.0)
    """

    models: tuple[str, ...]
    event: dict[str, Estimate]
    censored: dict[str, Estimate]
    weight: dict[str, tuple[float, float]]
    unit: str = ""
    method: str = "po"
    tau: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, method: str = "po", models: Iterable[str] | str | None = None
    ) -> ErrorByStatusDisplay:
        """Build from an evaluation, for a method of counting the censored."""
        what = "the error by censoring status"
        usable, left_out = members(ev, "times", what, models)
        check_one_kind(ev, what)
        problem = ev.problem
        status = (~problem.y.restricted(problem.tau).event).astype(np.intp)
        parts: tuple[dict[str, Estimate], dict[str, Estimate]] = ({}, {})
        weight = {}
        found = measure_each(
            usable, left_out, what, lambda p: time_errors(problem, p.times, method)
        )
        for model, details in found.items():
            mean, stderr, count = group_means(details, status, 2)
            low, high = band(mean, stderr, ev.confidence)
            for k in (0, 1):
                parts[k][model] = Estimate(
                    float(mean[k]), float(low[k]), float(high[k]), round(float(count[k]))
                )
            mass = sums(status, details.weight, 2) / details.weight.sum()
            weight[model] = float(mass[0]), float(mass[1])
        return cls(tuple(ev.predictions), *parts, weight, ev.unit, method, problem.tau, left_out)

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and status."""
        return [
            {"model": model, "status": name, **part[model]._asdict(),
             "weight": self.weight[model][k]}
            for model in self.event
            for k, (name, part) in enumerate((("event", self.event), ("censored", self.censored)))
        ]  # fmt: skip

    def describe(self) -> Chart:
        """One row per model, with the error of both statuses."""
        first, known = next(iter(self.event)), "event" if self.tau is None else "known time"
        marks = []
        for part, shift, role, label in (
            (self.event, -0.13, "event", f"{known} ({self.event[first].n:,})"),
            (self.censored, 0.13, "censored",
             f"censored ({self.censored[first].n:,}), {METHODS[self.method].title}"),
        ):  # fmt: skip
            mean, low, high, _ = zip(*part.values(), strict=True)
            marks.append(
                Points(
                    mean, np.arange(len(mean)) + shift, role, label, left=low, right=high,
                    names=tuple(f"{model}, {e.n:,} subjects" for model, e in part.items()),
                    hollow=role == "censored",
                )
            )  # fmt: skip
        rows = tuple(Row((Model(model),)) for model in self.event)
        panel = Panel(
            Axis.time(self.unit, "Mean absolute error", 0), Axis(), tuple(marks), rows=rows,
            height=0.85 + 0.33 * len(rows),
        )  # fmt: skip
        return Chart(
            "Error by censoring status",
            "Mean absolute error of the subjects whose event time is known, and of the censored "
            f"ones ({METHODS[self.method].title}).",
            (panel,),
            left_out=self.left_out,
        )


@dataclass(frozen=True, eq=False)
class ErrorOverTimeDisplay(FromPredictions):
    """Mean absolute error by observed time.

    Attributes
    ----------
    edges : ndarray of shape (bins + 1,)
        Quantiles of the observed times; bins are [a, b), the last one closed.
    mean, low, high, count : dict of model to ndarray of shape (bins,)
        Error of the subjects observed in a bin, and how many of them take part. NaN in empty bins.
    events, subjects : ndarray of shape (bins,)
        How many had the event there, of how many.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = ErrorOverTimeDisplay.from_predictions({"a": [3, 5, 6, 6]}, y, bins=2)
    >>> d.edges, d.mean["a"].round(2)
    (array([2., 6., 8.]), array([1.2, 1. ]))
    """

    edges: Floats
    mean: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    count: dict[str, Floats]
    events: Floats
    subjects: Floats
    models: tuple[str, ...]
    unit: str = ""
    method: str = "po"
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        bins: int = 8,
        method: str = "po",
        models: Iterable[str] | str | None = None,
    ) -> ErrorOverTimeDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        bins : int
            Number of bins with about equally many subjects; fewer where times are tied.
        method : str
            What a censored subject counts as.
        models : names, optional
            By default all.
        """
        if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1:
            raise InputError(f"bins must be a whole number, at least 1; got {bins!r}")
        what = "the error over time"
        usable, left_out = members(ev, "times", what, models)
        check_one_kind(ev, what)
        problem = ev.problem
        y = problem.y.restricted(problem.tau)
        edges, label = _time_bins(y, int(bins))
        size = edges.size - 1
        mean, low, high, count = {}, {}, {}, {}
        found = measure_each(
            usable, left_out, what, lambda p: time_errors(problem, p.times, method)
        )
        for model, details in found.items():
            mean[model], stderr, count[model] = group_means(details, label, size)
            low[model], high[model] = band(mean[model], stderr, ev.confidence)
        events, subjects = sums(label, y.weight * y.event, size), sums(label, y.weight, size)
        order = tuple(ev.predictions)
        return cls(
            edges, mean, low, high, count, events, subjects, order, ev.unit, method, left_out
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and bin."""
        start, end = self.edges[:-1], self.edges[1:]
        return [
            row
            for model, mean in self.mean.items()
            for row in records(
                model=model, start=start, end=end, mean=mean, low=self.low[model],
                high=self.high[model], count=self.count[model], events=self.events,
                subjects=self.subjects,
            )
        ]  # fmt: skip

    def describe(self) -> Chart:
        """Errors above, and below how many subjects they are the errors of."""
        edges = self.edges
        if edges[0] == edges[-1]:  # everybody at the same time
            edges = edges + np.array([-0.05, 0.05]) * (float(edges[0]) or 1.0)
        middle, place = (edges[:-1] + edges[1:]) / 2, positions(self.models)
        lines = [
            Line(middle, mean, place[model], (Model(model),), self.low[model], self.high[model],
                 marked=True)
            for model, mean in self.mean.items()
        ]  # fmt: skip
        below = Axis.time(self.unit, "Observed time")
        bars = (
            Bars(edges, 0.0, self.events, "event", "events"),
            Bars(edges, self.events, self.subjects, "censored", "censored", hollow=True),
        )
        return Chart(
            "Error over the observed time",
            "Mean absolute error by observed time (censored subjects: "
            f"{METHODS[self.method].title}). Errors depend on the time for good models too, "
            "because subjects with very early or late events were rightly predicted nearer to the "
            "middle.",
            (
                Panel(below, Axis.time(self.unit, "Mean absolute\nerror", 0),
                      tuple(lines), height=2.2),
                Panel(below, Axis("Subjects", low=0), bars, height=0.95),
            ),
            shared="x",
            left_out=self.left_out,
        )  # fmt: skip


def _time_bins(y: Outcomes, bins: int) -> tuple[Floats, Any]:
    """Edges at quantiles of the observed times, and each subject's bin."""
    order = np.argsort(y.time, kind="stable")
    reached = np.cumsum(y.weight[order])
    at = np.searchsorted(reached, reached[-1] * np.arange(1, bins) / bins, "right")
    present = y.present().time
    inner = y.time[order][np.minimum(at, len(y) - 1)]
    edges = np.unique(np.concatenate(([present.min()], inner, [present.max()])))
    if edges.size == 1:  # everybody at the same time
        edges = np.repeat(edges, 2)
    label = np.clip(edges.searchsorted(y.time, "right") - 1, 0, edges.size - 2)
    return edges, label
