"""Errors in time units: by censoring status, and over the observed time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.details import standard_error
from ..metrics.problem import Problem
from ..metrics.time.terms import TimeErrorDetails
from ..metrics.time.time_errors import time_error_details
from . import _style as style
from ._base import FromPredictions, Source, band, measure_each, members


class Estimate(NamedTuple):
    """A mean with its interval and the number of subjects behind it."""

    mean: float
    low: float
    high: float
    n: int


def _details(problem: Problem, prediction: Prediction, method: str) -> TimeErrorDetails:
    return time_error_details(
        problem.y,
        prediction.times,
        method=method,
        y_train=problem.reference,
        tau=problem.tau,
        censoring=problem.censoring,
        **problem.options,
    )


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
        problem = ev.problem
        status = (~problem.y.restricted(problem.tau).event).astype(np.intp)
        parts: tuple[dict[str, Estimate], dict[str, Estimate]] = ({}, {})
        weight = {}
        found = measure_each(usable, left_out, what, lambda p: _details(problem, p, method))
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
        """One row a model and status."""
        return [
            {"model": model, "status": name, **part[model]._asdict(),
             "weight": self.weight[model][k]}
            for model in self.event
            for k, (name, part) in enumerate((("event", self.event), ("censored", self.censored)))
        ]  # fmt: skip

    def _figure(self) -> list[Any]:
        return style.grid(1, 1, (3.6, 1.2 + 0.33 * len(self.event)))

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, look = axes[0], style.Models(self.models)
        kinds: tuple[tuple[dict[str, Estimate], float, dict[str, Any]], ...] = (
            (self.event, -0.13, {"color": style.EVENT, "marker": "o"}),
            (self.censored, 0.13, {"color": style.CENSORED, "marker": "D", "face": "white"}),
        )
        for part, shift, kind in kinds:
            for k, estimate in enumerate(part.values()):
                style.whiskers(ax, *estimate[:3], k + shift, **kind)
        style.names_on_rows(ax, [look.names[model] for model in self.event])
        ax.set_xlim(left=0)
        ax.set_xlabel(style.time_label(self.unit, "mean absolute error"))
        first = next(iter(self.event))
        known = "event" if self.tau is None else "known time"
        entries = [
            style.handle(f"{known} ({self.event[first].n:,})", marker="o", color=style.EVENT),
            style.handle(
                f"censored ({self.censored[first].n:,}), {self.method}",
                marker="D",
                color=style.CENSORED,
                markerfacecolor="white",
            ),
        ]
        style.legend(axes, own, entries, self.left_out, look.names)


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
        problem = ev.problem
        y = problem.y.restricted(problem.tau)
        edges, label = _time_bins(y, int(bins))
        size = edges.size - 1
        mean, low, high, count = {}, {}, {}, {}
        found = measure_each(usable, left_out, what, lambda p: _details(problem, p, method))
        for model, details in found.items():
            mean[model], stderr, count[model] = group_means(details, label, size)
            low[model], high[model] = band(mean[model], stderr, ev.confidence)
        events, subjects = sums(label, y.weight * y.event, size), sums(label, y.weight, size)
        order = tuple(ev.predictions)
        return cls(
            edges, mean, low, high, count, events, subjects, order, ev.unit, method, left_out
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a model and bin."""
        return [
            {
                "model": model,
                "start": float(self.edges[k]),
                "end": float(self.edges[k + 1]),
                "mean": float(mean[k]),
                "low": float(self.low[model][k]),
                "high": float(self.high[model][k]),
                "count": float(self.count[model][k]),
                "events": float(self.events[k]),
                "subjects": float(self.subjects[k]),
            }
            for model, mean in self.mean.items()
            for k in range(mean.size)
        ]

    def _panels(self) -> int:
        return 2

    def _figure(self) -> list[Any]:
        return style.stack((3, 1), (3.6, 3.3))

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, look = axes[0], style.Models(self.models)
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        remarks = look.shade(ax, middle, self.low, self.high)
        for model, mean in self.mean.items():
            ax.plot(middle, mean, **{**look.marker(model), **look.line(model)})
        ax.set_ylim(bottom=0)
        ax.set_ylabel(style.time_label(self.unit, f"mean absolute\nerror, {self.method}"))
        left, width = self.edges[:-1], np.diff(self.edges)
        if not width.any():  # everybody at the same time
            width = np.full(1, 0.1 * float(left[0]) or 0.1)
            left = left - width / 2
        bars = {"width": width, "align": "edge", "edgecolor": "white", "linewidth": 0.5}
        axes[1].bar(left, self.events, color=style.EVENT, **bars)
        rest = self.subjects - self.events
        hollow = bars | {"edgecolor": style.CENSORED, "hatch": "//////"}
        axes[1].bar(left, rest, bottom=self.events, color="white", **hollow)
        axes[1].set_ylabel("subjects")
        axes[1].set_xlabel(style.time_label(self.unit, "observed time"))
        entries = [
            style.handle(look.names[m], **{**look.marker(m), **look.line(m)}) for m in self.mean
        ]
        entries += [
            style.bar_handle("events", color=style.EVENT),
            style.bar_handle("censored", facecolor="white", edgecolor=style.CENSORED, hatch="////"),
        ]
        style.legend(axes, own, entries, {**self.left_out, **remarks}, look.names)


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
