"""Kaplan-Meier by group of predicted risk, with what was predicted and the numbers at risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.text_tables import number
from ..data.predictions import Prediction
from ..metrics.decision.risk_groups import RiskGroups, risk_groups
from ..metrics.problem import Problem
from ._bands import kaplan_meier_band
from ._base import (
    FromPredictions,
    Source,
    by_model,
    check_no_entry,
    check_one_kind,
    check_outcomes,
    measure_each,
    members,
    records,
)
from ._times import counted_axis, grid_until
from .calibration import time_of_interest
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Model,
    NumbersBelow,
    Panel,
    amount,
    p_relation,
    with_level,
)
from .mean_curves import mean_survival

#: What messages call it.
_FIGURE = "a figure of risk groups"


@dataclass(frozen=True, eq=False)
class RiskGroupsDisplay(FromPredictions):
    """Kaplan-Meier of the groups that each model's risks make, one panel per model.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the end of the axis.
    groups : dict of model to RiskGroups
        What `risk_groups` found: names, counts, log-rank test, restricted mean times.
    survival, low, high : dict of model to ndarray of shape (groups, k)
        Kaplan-Meier of each group with its pointwise band, up to the group's last time.
    predicted : dict of model to ndarray of shape (groups, k)
        Mean of the predicted curves of each group; NaN for models without curves.
    ticks : ndarray
        Times at which subjects at risk are counted.
    at_risk : dict of model to ndarray of shape (groups, ticks)
        Subjects at risk.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 1, 0, 1, 1, 0, 1])
    >>> d = RiskGroupsDisplay.from_predictions([1, 3, 2, 4, 6, 7, 8, 5], y, groups=2)
    >>> d.ticks, d.at_risk["model"]
    (array([0., 2., 4., 6., 8.]), array([[4., 4., 4., 3., 1.],
           [4., 3., 1., 0., 0.]]))
    """

    times: Floats
    groups: dict[str, RiskGroups]
    survival: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    predicted: dict[str, Floats]
    ticks: Floats
    at_risk: dict[str, Floats]
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        groups: int = 3,
        cuts: Any = None,
        time: float | None = None,
        tau: float | None = None,
        end: float | None = None,
        models: Iterable[str] | str | None = None,
    ) -> RiskGroupsDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        groups, cuts
            How many groups of about equal size, or risks at which groups begin; as for
            `risk_groups`.
        time : float, optional
            The risk of curves is 1 - S(time); by default at the evaluation's time of interest.
        tau : float, optional
            Where restricted mean times stop; by default at the evaluation's tau, or before it where
            follow-up of a group ends.
        end : float, optional
            Where the axis of time ends; by default at the last observed time.
        models : names, optional
            By default all.
        """
        usable, left_out = members(ev, "risk", _FIGURE, models)
        check_outcomes(ev, _FIGURE)
        check_one_kind(ev, "Kaplan-Meier by predicted risk")
        check_no_entry(ev.problem.y, "y_test", _FIGURE)
        grid, ticks = grid_until(ev.problem.y, end)

        def compute(prediction: Prediction) -> tuple[Any, ...]:
            at = None
            if prediction.curves is not None:
                at = time_of_interest(ev.problem, time)
            options = {"groups": groups, "cuts": cuts, "time": at}
            found = _grouped(ev.problem, prediction, tau, options)
            return found, *_curves(ev, prediction, found, grid), found.at_risk(ticks)

        parts = measure_each(usable, left_out, _FIGURE, compute)
        found, survival, low, high, predicted, at_risk = by_model(parts)
        return cls(
            grid, found, survival, low, high, predicted, ticks, at_risk,
            tuple(ev.predictions), ev.unit, ev.confidence, left_out,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model, group and time; `groups` has the counts, tests and means."""
        columns = ("survival", "low", "high", "predicted")
        return [
            row
            for model, found in self.groups.items()
            for k, name in enumerate(found.names)
            for row in records(
                model=model, group=name, time=self.times,
                **{c: getattr(self, c)[model][k] for c in columns},
            )
        ]  # fmt: skip

    def describe(self) -> Chart:
        """One panel per model, with the numbers at risk below it."""
        count = len(self.groups)
        columns = min(count, 2)
        return Chart(
            "Kaplan-Meier by predicted risk",
            "Steps are Kaplan-Meier of the groups of subjects that a model's risks make, dashed "
            "lines the mean of the curves predicted for the group. Groups that lie apart are told "
            "apart by the model; a dashed line close to its steps says that the group's risk is "
            "right. The log-rank test compares all groups of a panel.",
            tuple(self._panel(model) for model in self.groups),
            columns=columns,
            shared="y",
            width={1: 3.5, 2: 7.0}[columns],
            left_out=self.left_out,
            remarks=self._differences(),
        )

    def _panel(self, model: str) -> Panel:
        found, ticks = self.groups[model], tuple(self.ticks.tolist())
        marks: list[Mark] = []
        for k, name in enumerate(found.names):
            label = called(name)
            marked = tuple(t for t in ticks if t <= found.curves[k].last_time)
            marks.append(
                Line(self.times, self.survival[model][k], k, label, self.low[model][k],
                     self.high[model][k], step=True, marked=marked, dash="solid")
            )  # fmt: skip
            predicted = self.predicted[model][k]
            if np.isfinite(predicted).any():
                said = f"{label}, predicted"
                marks.append(Line(self.times, predicted, k, name=said, dash="dashed", width=1.1))
        level = with_level(self.confidence, "band")
        marks.append(Line([], [], "ink", f"Kaplan-Meier{level}", dash="solid"))
        if np.isfinite(self.predicted[model]).any():
            marks.append(Line([], [], "ink", "mean prediction", dash="dashed", width=1.1))
        at_risk = self.at_risk[model]
        return Panel(
            counted_axis(self.unit, float(self.times[-1])),
            Axis("Probability of no event", low=0, high=1.03),
            tuple(marks),
            (Model(model), f": log-rank p {p_relation(found.p_value)}"),
            counts=NumbersBelow(
                "Subjects at risk",
                tuple((k, name, tuple(at_risk[k].tolist())) for k, name in enumerate(found.names)),
            ),
        )

    def _differences(self) -> tuple[str, ...]:
        """Say how far the mean times of the outer groups lie apart, models of one tau together."""
        shared: dict[str, list[str]] = {}
        for model, found in self.groups.items():
            row = found.rmst_differences(self.confidence or 0.95)[-1]
            told = f"{model} {number(row['difference'], 3)}"
            told += f" {self.unit}".rstrip()
            if self.confidence is not None and np.isfinite(row["low"]):
                told += f" ({number(row['low'], 3)} to {number(row['high'], 3)})"
            what = (
                f"Restricted mean time up to {amount(found.tau, self.unit)}, "
                f"{called(row['group'])} less {called(found.names[0])}"
            )
            shared.setdefault(what, []).append(told)
        return tuple(f"{what}: {', '.join(told)}" for what, told in shared.items())


def called(name: str) -> str:
    """Name of a group by risk as labels have it."""
    return f"risk group {name}" if name.isdigit() else f"{name} risk"


def _grouped(
    problem: Problem, prediction: Prediction, tau: float | None, options: dict[str, Any]
) -> RiskGroups:
    """Groups of a model; the evaluation's tau holds where every group reaches it."""
    found = risk_groups(problem.y, prediction, tau=tau, **options)
    if tau is None and problem.tau is not None and problem.tau < found.tau:
        return risk_groups(problem.y, prediction, tau=problem.tau, **options)
    return found


def _curves(
    ev: Source, prediction: Prediction, found: RiskGroups, grid: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Kaplan-Meier of each group with its band, and the mean prediction."""
    parts = []
    for k, km in enumerate(found.curves):
        rows = np.flatnonzero(found.label == k)
        y = ev.problem.y[rows]
        # Past the last time of a group nothing is known of it, unless all had the event.
        seen = (grid <= km.last_time) | (km.last_survival == 0)
        observed = [np.where(seen, v, np.nan) for v in kaplan_meier_band(y, grid, ev.confidence)]
        parts.append((*observed, mean_survival(prediction[rows], y, grid)))
    survival, low, high, predicted = (np.array(part) for part in zip(*parts, strict=True))
    return survival, low, high, predicted
