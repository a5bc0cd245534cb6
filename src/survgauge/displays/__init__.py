"""Figures as objects: `frame()` gives the table behind a figure, `plot()` draws it.

Each is built with ``from_evaluation(ev)`` and holds its numbers as plain fields; `rows()` gives
them without pandas. ``Evaluation.plot(kind)`` builds and draws one of `DISPLAYS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import InputError, one_of
from ._base import Display, Given, Source, about
from .audit import AuditDisplay
from .calibration import DCalibrationDisplay, OneCalibrationDisplay
from .calibration_panel import CalibrationPanelDisplay
from .decision_curve import SCALES, DecisionCurveDisplay
from .differences import DifferencesDisplay
from .groups import GroupsDisplay
from .incidence import IncidenceDisplay
from .landmarks import LandmarksDisplay
from .mae_variants import MAEVariantsDisplay
from .mean_curves import MeanCurveDisplay, MeanIncidenceDisplay
from .predicted_actual import PredictedActualDisplay
from .risk_groups import RiskGroupsDisplay
from .risk_incidence import RiskIncidenceDisplay
from .scores import MetricsDisplay
from .semisynthetic import SemiSyntheticDisplay
from .six_metrics import SixMetricsDisplay
from .stacked_incidence import StackedIncidenceDisplay
from .subject_curves import SubjectCurvesDisplay
from .support import SupportDisplay, SurrogatesDisplay
from .time_curves import TimeCurveDisplay
from .time_errors import ErrorByStatusDisplay, ErrorOverTimeDisplay

__all__ = [
    "DISPLAYS",
    "SCALES",
    "AuditDisplay",
    "CalibrationPanelDisplay",
    "DCalibrationDisplay",
    "DecisionCurveDisplay",
    "DifferencesDisplay",
    "Display",
    "ErrorByStatusDisplay",
    "ErrorOverTimeDisplay",
    "GroupsDisplay",
    "IncidenceDisplay",
    "LandmarksDisplay",
    "MAEVariantsDisplay",
    "MeanCurveDisplay",
    "MeanIncidenceDisplay",
    "MetricsDisplay",
    "OneCalibrationDisplay",
    "PredictedActualDisplay",
    "RiskGroupsDisplay",
    "RiskIncidenceDisplay",
    "SemiSyntheticDisplay",
    "SixMetricsDisplay",
    "StackedIncidenceDisplay",
    "SubjectCurvesDisplay",
    "SupportDisplay",
    "SurrogatesDisplay",
    "TimeCurveDisplay",
    "display",
]


def _or_of_cause(plain: type[Display], of_cause: type[Display]) -> Callable[..., Display]:
    """Build one display of one kind of event (Kaplan-Meier), another of a cause among several."""

    def build(ev: Any, **options: Any) -> Display:
        return (plain if ev.problem.cause is None else of_cause).from_evaluation(ev, **options)

    return build


#: Kinds of figures of an evaluation, and what builds them.
DISPLAYS: dict[str, Callable[..., Display]] = {
    "metrics": MetricsDisplay.from_evaluation,
    "differences": DifferencesDisplay.from_evaluation,
    "groups": GroupsDisplay.from_evaluation,
    "subjects": SubjectCurvesDisplay.from_evaluation,
    "predicted_actual": PredictedActualDisplay.from_evaluation,
    "error_by_status": ErrorByStatusDisplay.from_evaluation,
    "error_over_time": ErrorOverTimeDisplay.from_evaluation,
    "brier": partial(TimeCurveDisplay.from_evaluation, kind="brier"),
    "auc": partial(TimeCurveDisplay.from_evaluation, kind="auc"),
    "d_calibration": DCalibrationDisplay.from_evaluation,
    "one_calibration": OneCalibrationDisplay.from_evaluation,
    "calibration_panel": CalibrationPanelDisplay.from_evaluation,
    "mean_curve": _or_of_cause(MeanCurveDisplay, MeanIncidenceDisplay),
    "incidence": IncidenceDisplay.from_evaluation,
    "stacked_incidence": StackedIncidenceDisplay.from_evaluation,
    "decision_curve": DecisionCurveDisplay.from_evaluation,
    "risk_groups": _or_of_cause(RiskGroupsDisplay, RiskIncidenceDisplay),
    "support": SupportDisplay.from_evaluation,
    "surrogates": SurrogatesDisplay.from_evaluation,
    "six_metrics": SixMetricsDisplay.from_evaluation,
    "mae_variants": MAEVariantsDisplay.from_evaluation,
}


#: Kinds that know interval-censored outcomes too.
OF_INTERVALS = ("metrics", "differences", "groups", "mean_curve")


def display(ev: Any, kind: str = "metrics", **options: Any) -> Display:
    """Build the display of that kind from an evaluation; `options` are those of its builder.

    >>> from survgauge import evaluate
    >>> ev = evaluate({"a": [3, 5, 6, 9]}, ([2, 5, 7, 8], [1, 0, 1, 1]), metrics=["mae_po"])
    >>> display(ev, "error_by_status").event["a"].n
    3
    """
    one_of("kind", kind, DISPLAYS)
    if ev.problem.outcomes == "interval" and kind not in OF_INTERVALS:
        raise InputError(
            f"kind {kind!r} draws right-censored outcomes; of interval-censored ones there are "
            f"{', '.join(map(repr, OF_INTERVALS))}"
        )
    return replace(DISPLAYS[kind](ev, **options), about=about(ev))


def sample(ev: Source, most: int) -> Source:
    """Return a seeded sample of the subjects of an evaluation; all of them where they are few."""
    n = len(ev.problem.y)
    if n <= most or not ev.predictions:
        return ev
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    parts = {name: prediction[rows] for name, prediction in ev.predictions.items()}
    return Given(ev.problem.subset(rows), parts, ev.unit, ev.confidence)
