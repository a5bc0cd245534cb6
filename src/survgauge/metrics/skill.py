"""Skill: how much of the reference set's Kaplan-Meier loss a model saves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError, located, one_of
from ..estimators.reference import Reference, reference_curves
from .probability.brier import integrated_binomial_log_likelihood, integrated_brier_score
from .probability.crps import crps
from .score import Score
from .time.time_errors import time_error


def _crps(y_true: Any, predicted: Any, *, y_train: Any = None, **options: Any) -> Score:
    """CRPS has no use for a reference set."""
    return crps(y_true, predicted, **options)


#: Losses that `skill` takes by name.
SKILLS: dict[str, Callable[..., Any]] = {
    "ibs": integrated_brier_score,
    "ibll": integrated_binomial_log_likelihood,
    "crps": _crps,
    "mae": partial(time_error, loss="absolute"),
    "mse": partial(time_error, loss="squared"),
}


def skill(
    metric: str | Callable[..., Any],
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    baseline: Any = None,
    **options: Any,
) -> Score:
    """Skill score 1 - loss / loss of the baseline: 1 is perfect, 0 no better than the baseline.

    Parameters
    ----------
    metric : str or callable
        "ibs", "ibll", "crps", "mae", "mse", or a function like `integrated_brier_score`,
        called as ``metric(y_true, predicted, y_train=..., **options)``.
    y_true : outcomes
        Test outcomes.
    predicted : SurvivalCurves or array-like
        What the metric takes.
    y_train : outcomes or Reference, optional
        Reference set; without it the test outcomes are their own.
    baseline : SurvivalCurves or array-like, optional
        Another baseline than Kaplan-Meier of the reference set.
    **options
        Options of the metric.

    Returns
    -------
    Score
        Both losses are in its support.

    Examples
    --------
    >>> y = ([2, 5, 8, 9], [1, 0, 1, 1])
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> score = skill("ibs", y, curves)
    >>> round(score, 3), score.convention["baseline"]
    (0.287, 'Kaplan-Meier of the test outcomes')
    """
    if isinstance(metric, str):
        one_of("metric", metric, SKILLS)
        measure: Callable[..., Any] = SKILLS[metric]
    elif callable(metric):
        measure = metric
    else:
        raise InputError(f"metric must be a name or a function; got {type(metric).__name__}")
    y = Outcomes.of(y_true, "y_true")
    reference = None if y_train is None else Reference.of(y_train)
    name = "given by the caller"
    if baseline is None:
        baseline = reference_curves(Reference(y) if reference is None else reference, len(y))
        name = f"Kaplan-Meier of the {'test' if reference is None else 'training'} outcomes"
    ours = measure(y, predicted, y_train=reference, **options)
    with located("baseline"):
        theirs = measure(y, baseline, y_train=reference, **options)
    if theirs.value == 0:
        raise UndefinedMetricError("the baseline's loss is zero, so the skill is undefined")
    ratio = ours.value / theirs.value
    value = 1.0 - ratio
    contributions = None
    if np.isfinite(value) and ours.contributions is not None and theirs.contributions is not None:
        contributions = (ratio * theirs.contributions - ours.contributions) / theirs.value
    support = {**ours.support, "loss": ours.value, "baseline_loss": theirs.value}
    return Score(
        value, {**ours.convention, "baseline": name}, support, contributions, ours.frequency
    )
