"""Cumulative incidence of a cause by group of predicted risk, with what was predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..metrics.decision.risk_groups import group_names, rows_by_risk
from ._base import (
    FromPredictions,
    Source,
    by_model,
    check_no_entry,
    check_outcomes,
    measure_each,
    members,
    records,
)
from .calibration import time_of_interest
from .description import Chart, Line, Mark, Model, Panel, p_relation, probability_axis
from .incidence import IncidenceDisplay
from .mean_curves import mean_survival
from .risk_groups import called


@dataclass(frozen=True, eq=False)
class RiskIncidenceDisplay(FromPredictions):
    """Aalen-Johansen of a cause in the groups that each model's risks make, one panel per model.

    Attributes
    ----------
    groups : dict of model to IncidenceDisplay
        Incidence of the groups with bands, numbers at risk, and Gray's test between them.
    predicted : dict of model to ndarray of shape (groups, k)
        Mean of the predicted incidence of each group at ``groups[model].times``; NaN for models
        without curves.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> rising = [[[k / 20, k / 10], [0.1, 0.2]] for k in range(1, 9)]
    >>> y = Outcomes([1, 2, 3, 4, 5, 6, 7, 8], [2, 0, 1, 2, 1, 0, 1, 1])
    >>> d = RiskIncidenceDisplay.from_predictions(
    ...     IncidenceCurves([4, 8], rising), y, groups=2, time=4, settings={"cause": 1})
    >>> d.groups["model"].at_risk[:, 1], d.predicted["model"][:, -1]
    (array([3., 4.]), array([0.25, 0.65]))
    """

    groups: dict[str, IncidenceDisplay]
    predicted: dict[str, Floats]
    cause: str
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
        end: float | None = None,
        models: Iterable[str] | str | None = None,
    ) -> RiskIncidenceDisplay:
        """Build from an evaluation of a cause.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate(..., cause=...)`.
        groups, cuts
            How many groups of about equal size, or risks at which groups begin; as for
            `risk_groups`.
        time : float, optional
            The risk of curves is the incidence by then; by default the evaluation's time of
            interest.
        end : float, optional
            Where the axis of time ends; by default at the last observed time.
        models : names, optional
            By default all.
        """
        what = "a figure of risk groups"
        problem = ev.problem
        if problem.cause is None or problem.cause_name is None:
            raise InputError(
                f"{what} by incidence needs an evaluation of a cause: evaluate(..., cause=...)"
            )
        usable, left_out = members(ev, "risk", what, models)
        check_outcomes(ev, what)
        check_no_entry(problem.y, "y_test", what)
        y, cause = problem.y, problem.cause
        present = np.flatnonzero(y.weight > 0)

        def compute(prediction: Prediction) -> tuple[IncidenceDisplay, Floats]:
            curves = prediction.curves
            risk = prediction.risk
            if curves is not None:
                risk = 1.0 - curves.at(time_of_interest(problem, time))
            rows = rows_by_risk(y, risk, present, groups, cuts)
            if len(rows) < 2:
                raise UndefinedMetricError(f"{what} needs predictions that make two groups")
            label = np.repeat(np.arange(len(rows)), [part.size for part in rows])
            shown = IncidenceDisplay.from_outcomes(
                y[np.concatenate(rows)], by=label, causes=cause, end=end, unit=ev.unit,
                confidence=ev.confidence,
            )  # fmt: skip
            mean = [mean_survival(prediction[part], y[part], shown.times) for part in rows]
            names = tuple(called(name) for name in group_names(len(rows)))
            return replace(shown, groups=names), 1.0 - np.array(mean)

        found = measure_each(usable, left_out, what, compute)
        shown, predicted = by_model(found)
        return cls(
            shown, predicted, problem.cause_name, tuple(ev.predictions), ev.unit, ev.confidence,
            left_out,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model, group and time; `groups` has counts and tests."""
        table = []
        for model, shown in self.groups.items():
            for k, group in enumerate(shown.groups):
                columns = {c: getattr(shown, c)[k, 0] for c in ("incidence", "low", "high")}
                columns["predicted"] = self.predicted[model][k]
                table += records(model=model, group=group, time=shown.times, **columns)
        return table

    def describe(self) -> Chart:
        """One panel per model, with the numbers at risk below it."""
        words, columns = EventWords(self.cause), min(len(self.groups), 2)
        return Chart(
            f"Incidence of {words.event} by predicted risk",
            "Steps are Aalen-Johansen of the groups of subjects that a model's risks make, dashed "
            "lines the mean prediction of each group. The p-value is that of Gray's test between "
            "the groups.",
            tuple(self._panel(model, words) for model in self.groups),
            columns, "y", 3.8 if columns == 1 else 7.0, self.left_out,
        )  # fmt: skip

    def _panel(self, model: str, words: EventWords) -> Panel:
        shown, predicted = self.groups[model], self.predicted[model]
        panel = shown.describe().panels[0]
        marks: list[Mark] = list(panel.marks)
        if np.isfinite(predicted).any():
            marks += [
                Line(shown.times, predicted[k], k, name=f"{group}, predicted", dash="dashed",
                     width=1.1)
                for k, group in enumerate(shown.groups)
            ]  # fmt: skip
            marks.append(Line([], [], "ink", "mean prediction", dash="dashed", width=1.1))
        p = float(shown.p_value[0])
        title = (Model(model), f": Gray's p {p_relation(p)}" if np.isfinite(p) else "")
        drawn = [v for shown in self.groups.values() for v in (shown.incidence, shown.high)]
        axis = probability_axis(f"Incidence of {words.event}", *drawn, *self.predicted.values())
        return replace(panel, y=axis, marks=tuple(marks), title=title)
