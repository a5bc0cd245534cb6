"""The paper's illustration: what six metrics look at, for a handful of subjects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, positive
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..metrics.calibration.calibration import CalibrationResult, d_calibration, one_calibration
from ..metrics.probability.densities import log_likelihood
from ..metrics.probability.probability import integrated_brier_score
from ..metrics.problem import Problem
from ..metrics.ranking.discrimination import concordance_index
from . import _six_panels as panels
from ._base import FromPredictions, Source, check_one_kind, members, records, reference_of
from .description import Chart, short_name
from .mae_variants import subject_errors
from .subject_curves import checked_subjects

NAN = float("nan")
_POINTS = 301
_MOST = 8


@dataclass(frozen=True, eq=False)
class SixMetricsDisplay(FromPredictions):
    """Six metrics at a glance: what each of them looks at in the same few predictions.

    Attributes
    ----------
    subjects, time, event : ndarray of shape (k,)
        Row numbers in the test set, and what was observed.
    times, survival, density : ndarray of shape (m,), (k, m), (k, m - 1)
        Predicted curves, and their slopes between the times.
    predicted, surrogate, weight, error : ndarray of shape (k,)
        MAE: median time, what the subject counts as and how much (``method``), and the distance.
    pairs : list of dict
        C-index: first, second (positions in `subjects`; the first had the event first) and
        concordant (1, 0, or 0.5 for tied predictions), for all comparable pairs.
    own_survival, own_density : ndarray of shape (k,)
        D-calibration: S_i(t_i). Log-likelihood: density at the event time, for censored subjects
        S_i(t_i); NaN for step curves.
    at, groups : float, list of dict
        1-calibration: the time, and rows (positions), predicted and observed probability of the
        event of the two groups.
    bins : ndarray of shape (2,)
        D-calibration: subjects with S_i(t_i) below and above one half.
    values : dict of str to float
        The six metrics of these subjects: mae, harrell, ibs, log_likelihood, one_calibration,
        d_calibration; NaN where undefined.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = SixMetricsDisplay.from_predictions(curves, y, at=5)
    >>> {name: round(value, 3) for name, value in d.values.items()}
    {'mae': 4.487, 'harrell': 1.0, 'ibs': 0.076, 'log_likelihood': -2.013,
    'one_calibration': 0.41, 'd_calibration': 0.95}
    """

    model: str
    subjects: Ints
    time: Floats
    event: Bools
    times: Floats
    survival: Floats
    density: Floats
    predicted: Floats
    surrogate: Floats
    weight: Floats
    error: Floats
    pairs: list[dict[str, Any]]
    own_survival: Floats
    own_density: Floats
    at: float
    groups: list[dict[str, Any]]
    bins: Floats
    values: dict[str, float]
    method: str = "po"
    unit: str = ""

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        model: str | None = None,
        subjects: Any = None,
        at: float | None = None,
        method: str = "po",
    ) -> SixMetricsDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        model : str, optional
            By default the first that predicts curves.
        subjects : array-like of row numbers, optional
            Two to eight; by default four, early and late, with the event and censored.
        at : float, optional
            Time of 1-calibration; by default the median time of the subjects.
        method : str
            What a censored subject counts as in the MAE.
        """
        usable, _ = members(ev, "curves", "the illustration of six metrics", model)
        check_one_kind(ev, "the illustration of six metrics")
        name = next(iter(usable))
        problem, rows = ev.problem, checked_subjects(subjects, ev.problem.y)
        if not 2 <= rows.size <= _MOST:
            raise InputError(f"subjects must be two to {_MOST} indices; got {rows.size}")
        curves: Any = usable[name][rows].curves
        y, predicted = problem.y[rows], curves.median()
        errors = subject_errors(problem, usable[name].times, method, rows)
        when = float(np.median(y.time)) if at is None else positive(at, "at")
        grid = np.linspace(0.0, _end(y, np.append(predicted, errors[0]), when), _POINTS)
        survival = curves.at(grid)
        one = _defined(lambda: one_calibration(y, curves, when, groups=2), None)
        d = _defined(lambda: d_calibration(y, curves), None)
        halves = _defined(lambda: d_calibration(y, curves, bins=2, method="chi2"), None)
        return cls(
            name,
            rows,
            y.time,
            y.event,
            grid,
            survival,
            -np.diff(survival, axis=1) / np.diff(grid),
            predicted,
            *errors,
            _pairs(y, predicted),
            curves.at_own(y.time),
            np.array([_density(y[[k]], curves[[k]]) for k in range(len(y))]),
            when,
            _groups(one, 1 - curves.at(when)),
            np.full(2, NAN) if halves is None else halves.observed,
            _values(problem, y, curves, errors, one, d),
            method,
            ev.unit,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per subject; what the metrics are for all of them is in `values`."""
        group = [
            next((g + 1 for g, part in enumerate(self.groups) if k in part["rows"]), None)
            for k in range(self.subjects.size)
        ]
        return records(
            model=self.model, subject=self.subjects, time=self.time, event=self.event,
            predicted=self.predicted, surrogate=self.surrogate, weight=self.weight,
            error=self.error, own_survival=self.own_survival, own_density=self.own_density,
            group=np.array(group, dtype=object),
        )  # fmt: skip

    def describe(self) -> Chart:
        """One panel per metric, all of the same subjects."""
        return Chart(
            f"What six metrics look at: {short_name(self.model, 40)}",
            "Six metrics look at the same few predictions: at distances in time, the order of "
            "pairs, areas between curves, densities, and shares of subjects. Rows of the test data "
            "count from 1.",
            tuple(panel(self) for panel in panels.PANELS),
            3,
            width=7.2,
        )


def _end(y: Outcomes, times: Floats, when: float) -> float:
    """Where the axis ends: late enough for what is shown, but not for far-off tails."""
    last = max(float(y.time.max()), when)
    shown = times[np.isfinite(times) & (times <= 2 * last)]
    return 1.08 * max(last, float(shown.max(initial=0.0))) or 1.0


def _defined(compute: Callable[[], Any], otherwise: Any = NAN) -> Any:
    """Return what can be computed of so few subjects, or something in its place."""
    try:
        return compute()
    except UndefinedMetricError:
        return otherwise


def _density(y: Outcomes, curves: SurvivalCurves) -> float:
    """Likelihood of one subject."""
    return float(np.exp(_defined(lambda: log_likelihood(y, curves))))


def _pairs(y: Outcomes, predicted: Floats) -> list[dict[str, Any]]:
    """Comparable pairs among a handful of subjects."""
    pairs = []
    for i, j in combinations(range(len(y)), 2):
        a, b = (i, j) if (y.time[i], not y.event[i]) <= (y.time[j], not y.event[j]) else (j, i)
        tied = y.time[a] == y.time[b] and y.event[b]
        if not y.event[a] or tied:
            continue
        gap = predicted[b] - predicted[a]
        order = 0.5 if gap == 0 else float(gap > 0)
        pairs.append({"first": a, "second": b, "concordant": order})
    return pairs


def _groups(result: CalibrationResult | None, p: Floats) -> list[dict[str, Any]]:
    if result is None:
        return []
    return [
        {
            "rows": np.flatnonzero((p >= low) & (p <= high)).tolist(),
            "predicted": float(result.expected[k]),
            "observed": float(result.observed[k]),
        }
        for k, (low, high) in enumerate(result.edges)
    ]


def _values(
    problem: Problem,
    y: Outcomes,
    curves: SurvivalCurves,
    errors: tuple[Floats, Floats, Floats],
    one: CalibrationResult | None,
    d: CalibrationResult | None,
) -> dict[str, float]:
    """The six metrics of these subjects alone, with the reference of all."""
    _, weight, error = errors
    part = weight > 0
    reference = reference_of(problem)
    end = min(problem.until, float(y.time.max()))

    def ibs() -> float:
        if not end > 0:
            return NAN
        times = np.linspace(0.0, end, 101)
        # A function of all subjects cannot be asked about some of them.
        given = None if callable(problem.censoring) else problem.censoring
        options: dict[str, Any] = {"convention": problem.convention, "censoring": given}
        return integrated_brier_score(y, curves, times, y_train=reference, **options)

    return {
        "mae": float(np.average(error[part], weights=weight[part])) if part.any() else NAN,
        "harrell": float(_defined(lambda: concordance_index(y, -curves.median()))),
        "ibs": float(_defined(ibs)),
        "log_likelihood": float(_defined(lambda: log_likelihood(y, curves))),
        "one_calibration": NAN if one is None else one.p_value,
        "d_calibration": NAN if d is None else d.p_value,
    }
