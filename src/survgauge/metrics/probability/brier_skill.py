"""The Brier score against Kaplan-Meier of the reference set."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...errors import UndefinedMetricError
from ...reference.reference import Reference, reference_curves
from ..checks import given_entry_of
from ..conventions import Convention
from ..details import CurveResult, Details, standard_error
from ._brier import by_columns
from ._status import Status, make_status
from ._status_losses import Squared


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
    cause: int | str | None = None,
) -> CurveResult:
    """Brier score against the reference set's Kaplan-Meier at each time (IPA, scaled Brier score).

        IPA(t) = 1 - BS(t) / BS_KM(t);  `mean` is 1 - IBS / IBS_KM over the same times.

    NaN where Kaplan-Meier makes no error. With `cause` Aalen-Johansen stands for Kaplan-Meier.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves or IncidenceCurves
        One curve per subject; anything that `as_curves` reads. With `cause` incidence.
    times : array-like of shape (k,)
        Distinct times in any order; the result has them sorted.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight, cause
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
        sample_weight=sample_weight, cause=cause,
    )  # fmt: skip
    if cause is None:
        return _skill(status, checked)
    known = Reference.of(y_true if y_train is None else y_train, causes=True, entry=True)
    # Past its end the incidence keeps its value.
    base = known.incidence.curves(len(status.y)).only(cause, tail="hold")
    return _skill(status, checked, base)


def skill_at(
    y_true: Any, curves: Any, time: float, base: SurvivalCurves | None = None, **options: Any
) -> Details:
    """`brier_skill` at one time, whose weights may be known; `options` are those of `brier_curve`.

    `base` is the baseline's prediction; None: Kaplan-Meier.

    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> round(skill_at(([2, 5, 8, 9], [1, 0, 1, 1]), curves, 4.0).value, 3)
    0.29
    """
    found = _skill(*make_status(y_true, curves, [time], **options), base).details
    if found.support["baseline_loss"] == 0:
        raise UndefinedMetricError("the baseline makes no error at the time, so nothing is saved")
    return found


def _skill(
    status: Status, checked: SurvivalCurves, base: SurvivalCurves | None = None
) -> CurveResult:
    """Both losses at each time, with the contributions to their ratio; `base`: Kaplan-Meier."""
    if base is None:
        base = reference_curves(status.weights.reference, len(status.y))
    base = given_entry_of(base, status.y)
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
    estimate = "Kaplan-Meier" if status.cause is None else "Aalen-Johansen"
    convention = status.describe(curves) | {
        "loss": "squared",
        "baseline": f"{estimate} of the {reference} outcomes",
    }
    support = status.support(curves).result()
    support |= {"loss": float(integrals[0]), "baseline_loss": float(integrals[1])}
    own = _ratio_psi(float(integrals[0]), float(integrals[1]), psi[0], psi[1])
    details = Details(mean, convention, support, own if np.isfinite(mean) else None, frequency)
    return CurveResult(times, values, mean, stderr, details)
