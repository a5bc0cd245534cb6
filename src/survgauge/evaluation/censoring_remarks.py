"""Remarks on censoring: whether G describes the test subjects, and what it cannot describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import UndefinedMetricError
from ..metrics.censoring_tests import censoring_test, differing_follow_ups
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from ..reference.kaplan_meier import KaplanMeier
from .warnings import EvaluationWarning

#: Mean weights this far from 1 say that G does not describe the subjects.
MEAN_WEIGHT = 0.05
#: p-value below which censoring is said to depend on features.
DEPENDENT_P = 0.01


def check_weights(scores: Iterable[Any]) -> list[EvaluationWarning]:
    """Remark once a metric (and group) on weights 1/G that are not 1 on average."""
    found: dict[tuple[Any, str], EvaluationWarning] = {}
    for score in scores:
        support = {} if score.measured is None else score.measured.support
        mean, name = support.get("mean_weight"), score.metric.name
        if mean is None or not abs(mean - 1.0) > MEAN_WEIGHT or (score.group, name) in found:
            continue
        message = f"the weights 1/G are {mean:.2f} on average instead of 1: "
        own = "test outcomes" in str(score.measured.convention.get("censoring"))
        if not own:
            message += (
                "G does not describe how the test subjects were censored; take it from them "
                "(censoring='test')"
            )
        elif score.metric.method is not None and mean < 1:
            message += (
                f"the events that were seen stand for {mean:.0%} of the subjects, and errors of "
                "the others, who live past the follow-up, are missing: give tau"
            )
        else:
            message += "few subjects are left late in the follow-up; stop earlier"
        found[score.group, name] = EvaluationWarning(
            "mean-weight", message, metric=name, group=score.group
        )
    return list(found.values())


def uses_reference(metrics: Iterable[Metric]) -> bool:
    """Whether a metric reads censored subjects' times off the reference set."""
    return any(metric.method is not None and metric.method.looks_up for metric in metrics)


def check_follow_up(
    test: Any, problem: Problem, metrics: Iterable[Metric], g: KaplanMeier | None = None
) -> list[EvaluationWarning]:
    """Remark on a training set that was followed otherwise than the test subjects."""
    if problem.reference is None or not uses_reference(metrics):
        return []
    found = differing_follow_ups(test, problem.reference, g)
    if found is None:
        return []
    message = (
        f"up to {found.until:.4g} the test subjects were followed for {found.test:.3g} on average, "
        f"the training subjects for {found.train:.3g} (p < 0.001): what censored subjects count as "
        "(po, margin, ipcw_t, expected) comes from a training set that was followed differently"
    )
    return [EvaluationWarning("follow-up-differs", message)]


def check_dependence(features: Any, y: Any) -> list[EvaluationWarning]:
    """Remark on censoring that depends on the features of the test subjects."""
    try:
        result = censoring_test(features, y)
    except UndefinedMetricError:
        return []
    if not result.p_value < DEPENDENT_P:
        return []
    return [EvaluationWarning("dependent-censoring", str(result))]
