"""What `evaluate` makes of features: laws given them, and who is a member of their blend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..blending import conditional as blended
from ..blending.features import numeric_columns
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..inference import Comparison, Withheld
from ..metrics.problem import Problem
from ..reference.conditional import Conditional
from ..reference.reference import Reference
from .censoring_remarks import check_dependence
from .score import NAN, Score
from .warnings import EvaluationWarning

#: A model is called a member of the blend where its median times lie this close to a member's, as
#: a share of their own mean deviation. On data bases with known truth a Cox model without penalty
#: lay at 0.04 (median; three quarters below 0.14), a Weibull regression at 0.3, boosted trees of
#: other settings at 0.33, a forest of other settings at 0.5, networks at 0.5 and more.
NEAR = 0.2


def laws_given(
    X_train: Any, y_train: Any, X_test: Any, y_test: Outcomes, conditional: Any, seed: int
) -> Any:
    """Return the laws that were given, or else those that features of both sets allow."""
    if X_train is None:
        return conditional
    if conditional is not None:
        raise InputError(
            "X_train and conditional cannot both be given: laws are fitted to the features, or "
            "they are given"
        )
    for name, given in (("X_test", X_test), ("y_train", y_train)):
        if given is None:
            raise InputError(f"{name} must be given together with X_train, to fit laws to features")
    train = y_train.y if isinstance(y_train, Reference) else y_train
    return blended(X_train, train, X_test, y_test=y_test, random_state=seed)


def check_features(X_train: Any, X_test: Any, y: Outcomes) -> list[EvaluationWarning]:
    """Remark on censoring that depends on features; text and gaps may come with `X_train` only."""
    if X_test is None:
        return []
    if X_train is None:
        return check_dependence(X_test, y)
    columns = numeric_columns(X_test, "X_test")
    if not len(columns):  # of text that does not vary
        return []
    found = check_dependence(columns, y)
    return [EvaluationWarning("dependence-modelled", warning.message) for warning in found]


def withhold_dependent(scores: list[Score], problem: Problem) -> list[Score]:
    """Take interval and tests from scores that assume censoring not to depend on the features."""
    learnt = problem.conditional is not None
    what_to_do = "" if learnt else "; X_train= gives metrics that allow for it"
    reason = (
        "censoring depends on the features, which this metric assumes it does not, so that it is "
        f"not valid here{what_to_do}"
    )
    withheld = Withheld(reason, NAN, NAN)
    return [
        score
        if score.metric.valid_under_dependence(problem)
        else replace(
            score,
            low=NAN,
            high=NAN,
            interval="none",
            withheld=withheld,
            against_baseline=_withheld(score.against_baseline, withheld),
        )
        for score in scores
    ]


def _withheld(found: Comparison | None, withheld: Withheld) -> Comparison | None:
    if found is None:
        return None
    return Comparison(found.difference, NAN, NAN, NAN, NAN, found.freedom, withheld)


def check_members(
    conditional: Conditional | None, predictions: Mapping[str, Prediction]
) -> list[EvaluationWarning]:
    """Remark on models that predict what a member of the blend predicts.

    Kaplan-Meier does not count: it knows no features, and favours nobody who does.
    """
    if conditional is None or conditional.law is None:
        return []
    end = float(conditional.law.last_time[0])
    found = []
    for name, prediction in predictions.items():
        times = _times(prediction)
        near = [
            member
            for member, medians in conditional.members.items()
            if member != "km" and times is not None and _alike(times, medians, end)
        ]
        if near:
            message = (
                f"its median times are nearly those of {near[0]!r}, a member of the law given the "
                "features, which favours it in doubly robust errors"
            )
            found.append(EvaluationWarning("member-of-blend", message, name))
    return found


def _times(prediction: Prediction) -> Floats | None:
    if prediction.curves is not None:
        return prediction.curves.kept_median()
    return prediction.times if prediction.kind == "times" else None


def _alike(times: Floats, medians: Floats, end: float) -> bool:
    """Whether two predictions are nearly the same within the follow-up."""
    a, b = np.minimum(times, end), np.minimum(medians, end)
    spread = float(np.abs(a - a.mean()).mean())
    return spread > 0 and float(np.abs(a - b).mean()) <= NEAR * spread
