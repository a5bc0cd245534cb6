"""The two best models of an audit, and which dependence makes them change places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.predictions import Prediction
from ..errors import UndefinedMetricError
from ..metrics.problem import Problem
from ..metrics.time.quick import mean_errors
from ..metrics.time.terms import predicted_times
from ..reference.losses import LOSSES
from ..reference.surrogates import METHODS, Method
from .scoring import AuditQuestion
from .tipping import TippingPoint, tipping_point


@dataclass(frozen=True)
class Pair:
    """The two best models on the real data, by one method within one horizon.

    Attributes
    ----------
    first, second : str
        The best model and the next one.
    method : str
        What censored subjects count as; one that can be computed under dependent censoring.
    horizon : float or None
        Horizon of the errors.
    point : TippingPoint
        Which dependence turns the comparison.
    """

    first: str
    second: str
    method: str
    horizon: float | None
    point: TippingPoint

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "method": self.method,
            "horizon": self.horizon,
            "difference": self.point.difference,
            "kendall_tau": self.point.kendall_tau,
            "copula": self.point.copula,
            "by_copula": dict(self.point.by_copula),
            "largest": self.point.largest,
        }


def best_pair(
    problem: Problem,
    predictions: Mapping[str, Prediction],
    question: AuditQuestion | None,
    horizon: float | None,
) -> Pair | None:
    """Compare the two best models under dependent censoring; None where there is nothing to turn.

    `question` is what was recommended. Where its method knows no dependent censoring, events
    weighted by 1/G take its place.
    """
    if question is None or not question.by_times or len(predictions) < 2:
        return None
    method = _method(question)
    asked = replace(problem, tau=horizon, conditional=None)
    rule, names = LOSSES[question.metric.loss], list(predictions)
    try:
        times = np.stack(
            [
                predicted_times(p.times, len(problem.y), rule.point, horizon)[0]
                for p in predictions.values()
            ]
        )
        errors = mean_errors(asked.setting, method, rule, times, asked.options["normalize"])
        if not np.isfinite(errors).all():
            return None
        first, second = (int(k) for k in np.argsort(errors, kind="stable")[:2])
        censoring = problem.censoring if isinstance(problem.censoring, str) else None
        point = tipping_point(
            times[first],
            times[second],
            problem.y,
            problem.reference,
            method=method.name,
            loss=rule.name,
            tau=horizon,
            sample_weight=problem.sample_weight,
            tail=problem.options["tail"],
            censoring=censoring,
        )
    except UndefinedMetricError:
        return None
    return Pair(names[first], names[second], method.name, horizon, point)


def _method(question: AuditQuestion) -> Method:
    """Return the method of a question, or the usual one that takes dependent censoring."""
    if question.method.takes_dependence:
        return question.method
    return next(m for m in METHODS.values() if m.takes_dependence and m.weights_by_g)
