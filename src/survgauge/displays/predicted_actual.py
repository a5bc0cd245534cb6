"""Predicted against actual times, with censored subjects as arrows to what they count as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import one_of
from ..metrics.checks import given_entry_of
from ..metrics.problem import Problem
from ..metrics.time.terms import predicted_times
from ..metrics.time.time_errors import censored_methods
from ..reference.surrogates import METHODS, Setting, Surrogates, make_setting
from ._base import FromPredictions, Source, check_one_kind, first_of, members, records
from .description import Axis, Chart, Panel, Points, Rule, amount, short_name

#: Most arrows that can be told apart.
_ARROWS = 150


def surrogates_of(problem: Problem, method: str) -> tuple[Setting, Surrogates]:
    """What the subjects of a problem count as, as its time errors see it."""
    one_of("method", method, censored_methods())
    options = {k: v for k, v in problem.options.items() if k != "normalize"}
    setting = make_setting(
        problem.y,
        problem.reference,
        tau=problem.tau,
        censoring=problem.censoring,
        entry=True,
        **options,
    )
    return setting, METHODS[method](setting)


def medians_of(prediction: Prediction, y: Outcomes, tau: float | None) -> Floats:
    """Predicted times of subjects; of curves the median, given being event-free at entry."""
    predicted = prediction.times
    if isinstance(predicted, SurvivalCurves):
        predicted = given_entry_of(predicted, y)
    return predicted_times(predicted, len(y), "median", tau)[0]


@dataclass(frozen=True, eq=False)
class PredictedActualDisplay(FromPredictions):
    """One model's predicted times against what happened.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
        Predicted times; of curves the median (under delayed entry, given being event-free then).
    time, event : ndarray of shape (n,)
        What was observed (up to `tau`, where given: who gets there has a known time).
    surrogate : ndarray of shape (n,)
        What a subject counts as under `method`: the event time, or for censored subjects their
        surrogate (NaN where the method has none).
    weight : ndarray of shape (n,)
        How much it counts.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = PredictedActualDisplay.from_predictions([3, 5, 6, 6], y)
    >>> d.surrogate.round(2)
    array([2., 7., 8., 6.])
    """

    model: str
    predicted: Floats
    time: Floats
    event: Bools
    surrogate: Floats
    weight: Floats
    method: str
    unit: str = ""
    tau: float | None = None
    #: Row numbers in the test set, where the display has some of the subjects only.
    subjects: Ints | None = None

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, model: str | None = None, method: str = "po"
    ) -> PredictedActualDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        model : str, optional
            By default the first that predicts times or curves.
        method : str
            What a censored subject counts as; see `surrogate_times`.
        """
        what = "predicted against actual time"
        usable, _ = members(ev, "times", what, model)
        check_one_kind(ev, what)
        problem = ev.problem
        setting, found = surrogates_of(problem, method)
        name, times = first_of(usable, what, lambda p: medians_of(p, problem.y, problem.tau))
        counted = np.where(found.defined, found.time, np.nan)
        y = setting.y
        return cls(
            name, times, y.time, y.event, counted, found.weight, method, ev.unit, problem.tau,
            problem.rows,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per subject."""
        return records(
            model=self.model, subject=self._numbers(np.arange(self.time.size)),
            predicted=self.predicted,
            time=self.time, event=self.event, surrogate=self.surrogate, weight=self.weight,
        )  # fmt: skip

    def describe(self) -> Chart:
        """One point per subject; censored ones have an arrow to the time they count as."""
        end, beyond = self._end(self.event | np.isfinite(self.surrogate))
        shown = np.minimum(self.predicted, end)
        marks = (*self._known(shown), *self._censored(shown, end))
        low = 1.08 * min(0.0, float(shown.min()))
        capped = "" if self.tau is None else f", up to {amount(self.tau)}"
        said = f"{beyond:,} of {self.time.size:,} lie past the axes (drawn at the edge)"
        panel = Panel(
            Axis.time(self.unit, f"Actual time{capped}", 0, end * 1.02),
            Axis.time(self.unit, "Predicted time", low, end * 1.02),
            (Rule("diagonal", label="predicted = actual"), *marks),
            f"{short_name(self.model, 40)}\n{said}" if beyond else short_name(self.model, 40),
            height=3.35,
        )
        return Chart(
            "Predicted against actual",
            "Predictions on the dashed line are right. Each censored subject is an arrow from its "
            f"censoring time to the time that it is counted as ({METHODS[self.method].title}).",
            (panel,),
        )

    def _known(self, shown: Floats) -> list[Points]:
        """Subjects whose time is known: by their event, or because they reached tau."""
        late = self.event & (self.time >= (np.inf if self.tau is None else self.tau))
        found = []
        for label, chosen, hollow in (
            ("event", self.event & ~late, False),
            ("event-free at tau", late, True),
        ):
            rows = np.flatnonzero(chosen)
            if rows.size:
                found.append(
                    Points(
                        self.time[rows], shown[rows], "event", f"{label} ({rows.size:,})",
                        names=self._names(rows, label), hollow=hollow, marker="dot", size=3.2,
                    )
                )  # fmt: skip
        return found

    def _end(self, known: Bools) -> tuple[float, int]:
        """Where the axes end: not so far that a few tails squeeze the rest into a corner."""
        counted = np.where(known & np.isfinite(self.surrogate), self.surrogate, self.time)
        usual = (float(np.quantile(v, 0.97)) for v in (self.predicted, counted))
        end = max(1.05 * max(*usual, float(self.time.max())), 0.0) or 1.0
        return end, int(((self.predicted > end) | (counted > end)).sum())

    def _chosen(self) -> Any:
        """Censored subjects whose arrows are drawn: all, or some evenly over time."""
        rows = np.flatnonzero(~self.event & np.isfinite(self.surrogate))
        rows = rows[np.argsort(self.time[rows], kind="stable")]
        if rows.size <= _ARROWS:
            return rows
        return rows[np.linspace(0, rows.size - 1, _ARROWS).astype(np.intp)]

    def _censored(self, shown: Floats, end: float) -> list[Points]:
        """Censored subjects; the surer what they count as, the darker the arrow."""
        rows, arrows = np.flatnonzero(~self.event), self._chosen()
        if not rows.size:
            return []
        label = f"censored ({rows.size:,})"
        if arrows.size:
            label += ", arrow to estimated time"
            label += f", {arrows.size} drawn" if arrows.size < rows.size else ""
        stop = np.full(self.time.size, np.nan)
        stop[arrows] = np.minimum(self.surrogate[arrows], end)
        return [
            Points(
                self.time[rows], shown[rows], "censored", label, to=stop[rows],
                to_label=f"Counted as ({METHODS[self.method].title})",
                names=self._names(rows, "censored"), hollow=True, marker="dot", size=3.2,
                alpha=0.15 + 0.6 * np.clip(self.weight[rows], 0, 1),
            )
        ]  # fmt: skip

    def _numbers(self, rows: Ints) -> Ints:
        return rows if self.subjects is None else self.subjects[rows]

    def _names(self, rows: Ints, status: str) -> tuple[str, ...]:
        return tuple(f"row {row + 1}, {status}" for row in self._numbers(rows).tolist())
