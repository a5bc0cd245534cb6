"""Skill: how much of the reference set's Kaplan-Meier loss a model saves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._tools.arrays import Floats, whole_number
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.tails import check_tail
from ..errors import InputError, UndefinedMetricError, one_of
from ..reference.reference import Reference
from .conventions import Convention
from .details import CurveResult, Details, standard_error
from .probability._brier import by_columns
from .probability._status import Status, make_status
from .probability._status_losses import Squared
from .probability.densities import crps_details
from .probability.probability import (
    integrated_binomial_log_likelihood_details,
    integrated_brier_score_details,
)
from .time.time_errors import time_error_details


def _crps(y_true: Any, predicted: Any, *, y_train: Any = None, **options: Any) -> Details:
    """CRPS has no use for a reference set."""
    return crps_details(y_true, predicted, **options)


#: Losses that `skill` knows by name.
SKILLS: dict[str, Callable[..., Any]] = {
    "ibs": integrated_brier_score_details,
    "ibll": integrated_binomial_log_likelihood_details,
    "crps": _crps,
    "mae": partial(time_error_details, loss="absolute"),
    "mse": partial(time_error_details, loss="squared"),
}


def reference_curves(y_train: Any, n: int, tail: str = "linear") -> SurvivalCurves:
    """Kaplan-Meier of the reference set as the prediction for n subjects, stored once.

    Parameters
    ----------
    y_train : outcomes or Reference
        Reference set.
    n : int
        Number of subjects, all with the same curve.
    tail : str
        How curves go on past the last time; see `SurvivalCurves`.

    Examples
    --------
    >>> reference_curves(([1, 2, 3, 4], [1, 0, 1, 1]), 1000)
    SurvivalCurves(1000 subjects x 3 times, shared grid, step, tail linear)
    """
    check_tail(tail)
    n = whole_number(n, "n", 1, "a whole number of subjects")
    reference = Reference.of(y_train)
    if reference.table.jumps(censoring=False).any():
        times, survival = reference.steps()
    else:  # no event: it stays at one
        times, survival = np.array([reference.last_time]), np.ones(1)
    rows = np.broadcast_to(survival, (n, survival.size))
    return SurvivalCurves._trusted(times, rows, "step", tail)


def skill(
    metric: str | Callable[..., Any],
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    baseline: Any = None,
    **options: Any,
) -> float:
    """Skill score 1 - loss / loss of the baseline: 1 is perfect, 0 no better than the baseline.

    Parameters
    ----------
    metric : str or callable
        "ibs", "ibll", "crps", "mae", "mse", or a function like `integrated_brier_score_details`,
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
    float
        `skill_details` gives the same with contributions, convention and support.

    Examples
    --------
    >>> y = ([2, 5, 8, 9], [1, 0, 1, 1])
    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> round(skill("ibs", y, curves), 3)
    0.287
    """
    return skill_details(
        metric, y_true, predicted, y_train=y_train, baseline=baseline, **options
    ).value


def skill_details(
    metric: str | Callable[..., Any],
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    baseline: Any = None,
    **options: Any,
) -> Details:
    """`skill` with what lies behind it; both losses are in the support.

    Parameters
    ----------
    metric, y_true, predicted, y_train, baseline
        As for `skill`.
    **options
        Options of the metric.

    Examples
    --------
    >>> y = ([2, 5, 8, 9], [1, 0, 1, 1])
    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> details = skill_details("ibs", y, curves)
    >>> round(details.value, 3), details.convention["baseline"]
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
    try:
        theirs = measure(y, baseline, y_train=reference, **options)
    except InputError as error:
        raise InputError(f"baseline: {error}") from error
    if theirs.value == 0:
        raise UndefinedMetricError("the baseline's loss is zero, so there is no skill to speak of")
    ratio = ours.value / theirs.value
    value = 1.0 - ratio
    psi = None
    if np.isfinite(value) and ours.psi is not None and theirs.psi is not None:
        psi = (ratio * theirs.psi - ours.psi) / theirs.value
    support = {**ours.support, "loss": ours.value, "baseline_loss": theirs.value}
    return Details(value, {**ours.convention, "baseline": name}, support, psi, ours.frequency)


def brier_skill(
    y_true: Any,
    curves: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
) -> CurveResult:
    """Brier score against the reference set's Kaplan-Meier at each time (IPA, scaled Brier score).

        IPA(t) = 1 - BS(t) / BS_KM(t);  `mean` is 1 - IBS / IBS_KM over the same times.

    NaN where Kaplan-Meier makes no error.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves
        One curve per subject; anything that `as_curves` reads.
    times : array-like of shape (k,)
        Distinct times in any order; the result has them sorted.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.

    References
    ----------
    Kattan, Gerds (2018), The index of prediction accuracy, Diagnostic and Prognostic Research 2.

    Examples
    --------
    >>> y = ([2, 5, 8, 9], [1, 0, 1, 1])
    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> brier_skill(y, curves, [4, 8]).values.round(3)
    array([0.29 , 0.177])
    """
    status, checked = make_status(
        y_true, curves, times, y_train=y_train, method=method, convention=convention,
        censoring=censoring, censoring_times=censoring_times, on_unsupported=on_unsupported,
        sample_weight=sample_weight,
    )  # fmt: skip
    base = reference_curves(status.weights.reference, len(status.y))
    scheme, g = status.scheme, status.through_g
    frequency = status.y.weight if status.y.weighted else None
    losses, stderr = np.empty((2, status.times.size)), np.empty(status.times.size)
    psi = np.zeros((2, len(status.y)))
    columns = (by_columns(scheme, model, Squared(), g) for model in (checked, base))
    for ours, theirs in zip(*columns, strict=True):
        losses[:, ours.k] = ours.value, theirs.value
        stderr[ours.k] = standard_error(_ratio_psi(ours.value, theirs.value, ours.psi, theirs.psi),
                                        frequency)  # fmt: skip
        psi += status.share[ours.k] * np.stack((ours.psi, theirs.psi))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1.0 - losses[0] / losses[1]
    values[losses[1] == 0] = np.nan
    return _assembled(status, checked, values, stderr, losses @ status.share, psi, frequency)


def _ratio_psi(ours: float, theirs: float, psi: Floats, their_psi: Floats) -> Floats:
    """Contributions to 1 - ours / theirs, by the delta method."""
    if theirs == 0:
        return np.full(psi.size, np.nan)
    return (ours / theirs * their_psi - psi) / theirs


def _assembled(
    status: Status,
    curves: SurvivalCurves,
    values: Floats,
    stderr: Floats,
    integrals: Floats,
    psi: Floats,
    frequency: Floats | None,
) -> CurveResult:
    mean = float(1.0 - integrals[0] / integrals[1]) if integrals[1] > 0 else float("nan")
    times = status.times
    if status.undefined:
        times = np.concatenate((times, status.left_out))
        gap = np.full(status.left_out.size, np.nan)
        values, stderr, mean = np.append(values, gap), np.append(stderr, gap), float("nan")
    reference = "test" if status.weights.in_sample else "training"
    convention = status.describe(curves) | {
        "loss": "squared",
        "baseline": f"Kaplan-Meier of the {reference} outcomes",
    }
    support = status.support(curves).result()
    support |= {"loss": float(integrals[0]), "baseline_loss": float(integrals[1])}
    own = _ratio_psi(float(integrals[0]), float(integrals[1]), psi[0], psi[1])
    details = Details(mean, convention, support, own if np.isfinite(mean) else None, frequency)
    return CurveResult(times, values, mean, stderr, details)
