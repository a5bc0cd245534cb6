"""Remarks on censoring: whether G describes the test subjects, and what it cannot describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._tools.text_tables import percent
from ..errors import InputError, UndefinedMetricError
from ..metrics.censoring_tests import censoring_test, differing_follow_ups
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from .warnings import EvaluationWarning

#: Mean weights this far from 1 say that G does not describe the subjects.
MEAN_WEIGHT = 0.05
#: Standard errors that two estimates of one error may be apart.
APART = 1.96
#: p-value below which censoring is said to depend on features.
DEPENDENT_P = 0.01


def assumed_censoring(
    problem: Problem, events: int, subjects: int, features: bool, checkable: bool = True
) -> dict[str, str]:
    """Return what is assumed of censoring, and whether `features` were given to check it by.

    Nothing without censored subjects, under an assumed dependence, and of interval-censored
    outcomes.
    """
    if problem.dependence is not None or problem.outcomes != "right" or events >= subjects:
        return {}
    if problem.conditional is not None:
        return {
            "assumes": "Given the features, censoring is assumed to be independent of the event."
        }
    if features:
        return {}
    how = "; give features (X_test=, X_train=) to check it" * checkable
    return {
        "assumes": "Censoring is assumed not to depend on what the models know (covariates), which "
        f"was not checked{how}."
    }


def check_weights(scores: Iterable[Any]) -> list[EvaluationWarning]:
    """Remark once a metric (and group and time) on weights 1/G that are not 1 on average."""
    found: dict[tuple[Any, str, float | None], EvaluationWarning] = {}
    for score in scores:
        mean, cell = _off_weights(score), (score.group, score.metric.name, score.time)
        if mean is None or cell in found:
            continue
        message = f"the weights 1/G are {mean:.2f} on average instead of 1, "
        own = "test outcomes" in str(score.measured.convention.get("censoring"))
        if not own:
            message += "so G does not describe how the test subjects were censored"
        elif score.metric.method is not None and mean < 1:
            message += (
                f"because the events that were seen stand for {percent(mean)} of the subjects "
                "only; errors of the others, who live past the follow-up, are missing"
            )
        elif "entry" in score.measured.convention:
            message += (
                "because those who entered early are hardly followed until then, or few subjects "
                "are left late in the follow-up"
            )
        else:
            message += "because few subjects are left late in the follow-up"
        found[cell] = EvaluationWarning(
            "mean-weight",
            message,
            metric=score.metric.name,
            group=score.group,
            time=score.time,
            affected=abs(mean - 1.0),
        )
    return list(found.values())


def _off_weights(score: Any) -> float | None:
    """Return the mean of weights 1/G that is not 1; None where it is, or there are none."""
    support = {} if score.measured is None else score.measured.support
    mean = support.get("mean_weight")
    return mean if mean is not None and abs(mean - 1.0) > MEAN_WEIGHT else None


def check_agreement(scores: Iterable[Any]) -> list[EvaluationWarning]:
    """Remark on models whose doubly robust and weighted errors differ by more than chance.

    Both are right under censoring that is independent of the event; the weighted one leaves the law
    of the event time alone.
    """
    by_kind: dict[tuple[Any, str, str], dict[str, Any]] = {}
    for score in scores:
        method = score.metric.method
        if method is not None and score.metric.loss and (method.reads_g or method.weights_by_g):
            key = score.group, score.model, score.metric.name.removesuffix(f"_{method.name}")
            by_kind.setdefault(key, {})["dr" if method.reads_g else "weighted"] = score
    found = []
    for (group, model, _), pair in by_kind.items():
        if len(pair) < 2:
            continue
        robust, weighted = pair["dr"], pair["weighted"]
        if _off_weights(weighted):
            continue  # then `check_weights` says why they differ
        gap = robust.value - weighted.value
        if abs(gap) > APART * np.hypot(robust.stderr, weighted.stderr):
            message = (
                f"{robust.metric.name} is {robust.value:.4g} and {weighted.metric.name} "
                f"{weighted.value:.4g}; they differ by more than their intervals allow, so the law "
                "of the event time or G does not describe the test subjects"
            )
            share = abs(gap) / max(abs(robust.value), abs(weighted.value))
            found.append(
                EvaluationWarning(
                    "robust-differs", message, model, robust.metric.name, group, affected=share
                )
            )
    return found


def uses_reference(metrics: Iterable[Metric]) -> bool:
    """Whether a metric reads censored subjects' times off the reference set."""
    return any(metric.method is not None and metric.method.looks_up for metric in metrics)


def check_follow_up(
    test: Any, problem: Problem, metrics: Iterable[Metric], whole: bool = False
) -> list[EvaluationWarning]:
    """Remark on a training set that was followed otherwise than the test subjects.

    `whole` says that `problem` asks about all of them, so that it knows their G.
    """
    if problem.reference is None or not uses_reference(metrics):
        return []
    g = problem.observed_g if whole else None
    found = differing_follow_ups(test, problem.reference, g)
    if found is None:
        return []
    message = (
        f"up to {found.until:.4g} the test subjects were followed for {found.test:.3g} on average "
        f"and the training subjects for {found.train:.3g} (p < 0.001), so the estimated times of "
        "censored subjects (po, margin, ipcw_t, expected) come from a training set that was "
        "followed differently"
    )
    return [EvaluationWarning("follow-up-differs", message)]


def check_dependence(features: Any, y: Any) -> list[EvaluationWarning]:
    """Remark on censoring that depends on the features of the test subjects."""
    try:
        result = censoring_test(features, y)
    except UndefinedMetricError:
        return []
    except InputError as error:
        raise InputError(f"X_test: {error}") from error
    if not result.p_value < DEPENDENT_P:
        return []
    return [EvaluationWarning("dependent-censoring", str(result))]
