"""Remark on times that seem to be counted in different units, such as years and days."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from ..reference.kaplan_meier import KaplanMeier
from .warnings import EvaluationWarning

#: Times this many times as long as others are suspicious: months are 12 to the year.
FAR = 5.0
#: Fewer subjects do not tell what is typical.
_FEWEST = 10
#: As many subjects tell what is typical.
_LOOKED_AT = 1000


def check_units(problem: Problem, predictions: Mapping[str, Prediction]) -> list[EvaluationWarning]:
    """Remark on predicted times and training times far from all that was observed."""
    y = _some_outcomes(problem.first)
    if len(y) < _FEWEST:
        return []
    shortest, longest = float(np.median(y.time)), _longest(y)
    found = []
    for name, prediction in predictions.items():
        times = _some_times(prediction)
        typical = float(np.median(times)) if times.size else np.nan
        if typical * FAR < shortest or typical > FAR * longest:
            message = (
                f"the predicted times are typically {typical:g}, the observed ones {shortest:g}: "
                "check that both are counted in the same unit (days, months, years)"
            )
            found.append(EvaluationWarning("time-units", message, name))
    if problem.reference is not None:
        trained = float(np.median(_some_outcomes(problem.reference.y).time))
        if trained * FAR < shortest or trained > FAR * shortest:
            message = (
                f"the times of the training set are typically {trained:g}, those of the test "
                f"subjects {shortest:g}: check that both are counted in the same unit"
            )
            found.append(EvaluationWarning("time-units", message))
    return found


def _longest(y: Outcomes) -> float:
    """Return the time by which half of the subjects have the event.

    Past the follow-up it is that of a constant hazard, and without events nobody knows it.
    """
    km, last = KaplanMeier.fit(y), float(y.time.max())
    left = float(km.at(last))
    if left <= 0.5:
        return float(km.median())
    return float("inf") if left == 1 else last * float(np.log(0.5) / np.log(left))


def _some_outcomes(y: Outcomes) -> Outcomes:
    y = y.present()
    return y[:: max(1, len(y) // _LOOKED_AT)]


def _some_times(prediction: Prediction) -> Floats:
    """Return predicted (median) times of some subjects, without those that are not known."""
    if not prediction.has("times"):
        return np.array([])
    some = prediction[slice(None, None, max(1, len(prediction) // _LOOKED_AT))]
    curves = some.curves if some.incidence is None else some.incidence.survival()
    times: Floats = some.times if curves is None else curves.quantile(0.5)
    return times[np.isfinite(times) & (times > 0)]
