"""Scores of predicted probabilities at given times: Brier and binomial log-likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, one_number, shown
from ...data.curves import SurvivalCurves
from ...errors import InputError, UndefinedMetricError
from ...reference.estimated_g import Pulls
from ..conventions import Convention
from ..details import CurveResult, Details, below_zero, standard_error
from ..grids import weighted_mean
from ._brier import Integral, by_columns, by_rows, integrals_with_influence
from ._status import Status, make_status
from ._status_losses import Logarithmic, Rule, Squared


def brier_score(
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
    dependence: Any = None,
    cause: int | str | None = None,
) -> CurveResult:
    """Brier score at given times: squared error of the predicted probability of being event-free.

    With inverse probability of censoring weights (Graf et al. 1999),

        BS(t) = 1/N sum_i w_i(t) (1(t_i > t) - S_i(t))^2,

    w_i(t) = 1/G(t_i-) for events with t_i <= t, 1/G(t) where t_i > t, and 0 for subjects censored
    at or before t.
    A loss: 0 is perfect, predicting 1/2 gives about 1/4. Without censoring it is the mean of
    (1(t_i > t) - S_i(t))^2.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves or IncidenceCurves
        One curve per subject; with `cause` incidence of each cause.
    times : array-like of shape (k,)
        Distinct times in any order; the result has them sorted.
    y_train : outcomes or Reference, optional
        Training outcomes: where G comes from under ``censoring="train"``.
    method : {"ipcw", "unweighted", "administrative"}
        Weights 1/G; or an average over the subjects of known status; or one over the subjects whose
        follow-up was not bound to end before t (Kvamme and Borgan 2023), for purely administrative
        censoring.
    convention : str or Convention, optional
        Another package's source of G, ties, limits and divisors: sksurv, pycox, survivaleval,
        torchsurv, hazardous, riskregression; or paper, which is ours with the training set's G.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G comes from. By default from the test subjects, whose censoring it describes; its
        estimation is then part of the standard errors. "train": from `y_train`. A function
        G(t, side) of one time per subject may depend on the subject.
    censoring_times : array-like of shape (n,), optional
        Administrative censoring times of all subjects, for that method.
    on_unsupported : {"truncate", "raise", "nan"}
        What to do with times past the follow-up, or where G = 0.
    sample_weight : array-like of shape (n,), optional
        Weights of the average, and of the test subjects' G; multiplied with the outcomes'
        frequencies. 0 means absent.
    dependence : float or Dependence, optional
        Dependence of event and censoring time to assume: Kendall's tau, or `Dependence` with a
        copula. An event at t then weighs 1/P(C >= t | T = t) by copula-graphic estimates, and
        who is event-free is known by difference: everybody less the weighted events. By default
        none.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted; `curves` are then
        `IncidenceCurves`. The status is an event of this cause by t: who had an event of another
        cause is known not to have it, and weighs 1/G(t_i-) as well.

    Returns
    -------
    CurveResult
        `times`, `values`, `stderr`; `mean` is the integral divided by the length of the grid.

    References
    ----------
    Graf, Schmoor, Sauerbrei, Schumacher (1999), Statistics in Medicine 18. Kvamme, Borgan (2023),
    JMLR 24.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> result = brier_score(([2, 5, 8], [1, 0, 1]), curves, [4, 6])
    >>> result.values.round(4)
    array([0.1   , 0.0183])
    """
    return brier_curve(
        y_true,
        curves,
        times,
        y_train=y_train,
        method=method,
        convention=convention,
        censoring=censoring,
        censoring_times=censoring_times,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )


def binomial_log_likelihood(
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
    dependence: Any = None,
    cause: int | str | None = None,
    clip: float | None = None,
) -> CurveResult:
    """Logarithmic counterpart of `brier_score`, a loss: -log of the probability of what happened.

    Squares (1 - S)^2 and S^2 become -log S and -log(1 - S). A probability of exactly 0 for what
    happened is an infinite loss: nothing is clipped unless `clip` is given.

    Parameters
    ----------
    y_true, curves, times
        As for `brier_score`.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.
    dependence, cause
        As for `brier_score`.
    clip : float, optional
        Keep probabilities within [clip, 1 - clip]; what was changed is counted in the support.

    Returns
    -------
    CurveResult
        As for `brier_score`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> binomial_log_likelihood(([2, 5, 8], [1, 0, 1]), curves, [4]).values.round(4)
    array([0.3406])
    """
    status, checked = make_status(
        y_true,
        curves,
        times,
        y_train=y_train,
        method=method,
        convention=convention,
        censoring=censoring,
        censoring_times=censoring_times,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )
    return score_curve(status, checked, _logarithmic(status, clip), "log")


def integrated_brier_score(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
) -> float:
    """Integrated Brier score: the trapezoid of `brier_score` over `times`, divided by its length.

    Parameters
    ----------
    y_true, curves
        As for `brier_score`.
    times : array-like of shape (k,), optional
        At least two times. None: 100 equal steps from 0 to the last time at which the score is
        identified.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.
    dependence, cause
        As for `brier_score`.

    Returns
    -------
    float
        `integrated_brier_score_details` gives the same with convention, support and contributions.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> round(integrated_brier_score(([2, 5, 8], [1, 0, 1]), curves), 4)
    0.0572
    """
    status, checked = make_status(
        y_true,
        curves,
        times,
        y_train=y_train,
        method=method,
        convention=convention,
        censoring=censoring,
        censoring_times=censoring_times,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )
    return _integral(status, checked, Squared())


def integrated_brier_score_details(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
) -> Details:
    """`integrated_brier_score` with what lies behind it.

    Parameters
    ----------
    y_true, curves, times, y_train, method, convention, censoring, censoring_times
        As for `integrated_brier_score`.
    on_unsupported, sample_weight, dependence, cause
        As for `integrated_brier_score`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> details = integrated_brier_score_details(([2, 5, 8], [1, 0, 1]), curves)
    >>> round(details.stderr, 4), details.convention["grid"]
    (0.0218, '100 equal steps')
    """
    status, checked = make_status(
        y_true, curves, times, y_train=y_train, method=method, convention=convention,
        censoring=censoring, censoring_times=censoring_times, on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )  # fmt: skip
    return _integral_details(status, checked, Squared(), "squared")


def integrated_binomial_log_likelihood(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
    clip: float | None = None,
) -> float:
    """Integral of `binomial_log_likelihood` over `times`, divided by its length: a loss.

    Parameters
    ----------
    y_true, curves, times
        As for `integrated_brier_score`.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.
    dependence, cause
        As for `brier_score`.
    clip
        As for `binomial_log_likelihood`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> y = ([2, 5, 8], [1, 0, 1])
    >>> round(integrated_binomial_log_likelihood(y, curves, [1, 3, 5, 7]), 4)
    0.2108
    """
    status, checked = make_status(
        y_true,
        curves,
        times,
        y_train=y_train,
        method=method,
        convention=convention,
        censoring=censoring,
        censoring_times=censoring_times,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )
    return _integral(status, checked, _logarithmic(status, clip))


def integrated_binomial_log_likelihood_details(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
    clip: float | None = None,
) -> Details:
    """`integrated_binomial_log_likelihood` with what lies behind it.

    Parameters
    ----------
    y_true, curves, times, y_train, method, convention, censoring, censoring_times
        As for `integrated_binomial_log_likelihood`.
    on_unsupported, sample_weight, dependence, cause, clip
        As for `integrated_binomial_log_likelihood`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 4], [[1, 0.0], [1, 0.9]])  # the first lives to 9
    >>> y = ([9, 2], [1, 1])
    >>> integrated_binomial_log_likelihood_details(y, curves, [2, 4]).support["infinite_losses"]
    1
    """
    status, checked = make_status(
        y_true, curves, times, y_train=y_train, method=method, convention=convention,
        censoring=censoring, censoring_times=censoring_times, on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        dependence=dependence,
        cause=cause,
    )  # fmt: skip
    return _integral_details(status, checked, _logarithmic(status, clip), "log")


def _logarithmic(status: Status, clip: float | None) -> Logarithmic:
    bound = status.convention.clip if clip is None else one_number(clip)
    if not 0 <= bound < 0.5:
        raise InputError(f"clip must lie in [0, 0.5); got {shown(clip)}")
    return Logarithmic(bound)


def score_curve(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> CurveResult:
    """All times one by one, with their standard errors."""
    frequency = status.y.weight if status.y.weighted else None
    values, stderr = np.empty(status.times.size), np.empty(status.times.size)
    psi, event, survivors = np.zeros(len(status.y)), np.zeros(len(status.y)), np.zeros(values.size)
    through = status.through_g
    part = through is not None and through.estimated is None  # G is that of more subjects
    for column in by_columns(status.scheme, curves, rule, through):
        k, share = column.k, status.share[column.k]
        values[k] = column.value
        stderr[k] = standard_error(column.psi, frequency)
        np.multiply(column.psi, share, out=column.psi)
        psi += column.psi
        if column.pulls is not None and part:
            event += share * column.pulls.event
            survivors[k] = share * column.pulls.survivors[0]
    pulls = Pulls(event, survivors, status.times) if part else None
    mean = weighted_mean(values, status.share)
    times = status.times
    if status.on_unsupported == "nan" and status.left_out.size:
        times = np.concatenate((times, status.left_out))
        values, stderr = _padded(values, times.size), _padded(stderr, times.size)
        mean = float("nan")
    details = _details(status, curves, rule, loss, mean, psi, pulls)
    return CurveResult(times, values, mean, stderr, details)


def _padded(values: Floats, size: int) -> Floats:
    return np.concatenate((values, np.full(size - values.size, np.nan)))


def _check_integrable(status: Status) -> None:
    if status.times.size + status.left_out.size < 2:
        raise InputError("times must have at least two times to integrate over; got one")
    if status.times.size < 2 and not status.undefined:
        raise UndefinedMetricError(
            f"only one of the times ({status.times[0]:g}) can be scored, so there is nothing to "
            f"integrate over; the score is identified until {status.horizon:g}"
        )


def _integral(status: Status, curves: SurvivalCurves, rule: Rule) -> float:
    """Value alone: one walk over the rows, unless the weights depend on the subject."""
    _check_integrable(status)
    if status.undefined:
        return float("nan")
    if not status.common_g:
        columns = by_columns(status.scheme, curves, rule)
        return float(sum(status.share[column.k] * column.value for column in columns))
    total = by_rows(status.scheme, curves, rule)
    return float((total / status.scheme.divisor()) @ status.share)


def _integral_details(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> Details:
    return _all_integrals(status, curves, {loss: rule})[loss]


def _all_integrals(
    status: Status, curves: SurvivalCurves, rules: dict[str, Rule]
) -> dict[str, Details]:
    """Integrals of several losses: in one pass over the rows unless G depends on the subject."""
    _check_integrable(status)
    if not status.common_g:
        return {
            loss: score_curve(status, curves, rule, loss).details for loss, rule in rules.items()
        }
    given = status.scheme, curves, list(rules.values()), status.share, status.through_g
    found: list[Integral] = integrals_with_influence(*given)
    details = {}
    for (loss, rule), (values, psi, pulls) in zip(rules.items(), found, strict=True):
        mean = float("nan") if status.undefined else weighted_mean(values, status.share)
        details[loss] = _details(status, curves, rule, loss, mean, psi, pulls)
    return details


def brier_curve(y_true: Any, curves: Any, times: Any, **options: Any) -> CurveResult:
    """`brier_score`, for a chunk of the subjects too, whose weights may be known.

    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> round(brier_curve(([2, 5, 8], [1, 0, 1]), curves, [4.0]).mean, 4)
    0.1
    """
    status, checked = make_status(y_true, curves, times, **options)
    return score_curve(status, checked, Squared(), "squared")


def integrated_scores(
    y_true: Any, curves: Any, times: Any, losses: Sequence[str], **options: Any
) -> dict[str, Details]:
    """Integrals of several losses ("squared", "log") in one pass over the curves.

    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = integrated_scores(([2, 5, 8], [1, 0, 1]), curves, [1, 3, 5, 7], ("squared", "log"))
    >>> [round(details.value, 4) for details in found.values()]
    [0.0467, 0.2108]
    """
    status, checked = make_status(y_true, curves, times, **options)
    rules: dict[str, Rule] = {
        loss: Squared() if loss == "squared" else _logarithmic(status, None) for loss in losses
    }
    return _all_integrals(status, checked, rules)


def _details(
    status: Status,
    curves: SurvivalCurves,
    rule: Rule,
    loss: str,
    value: float,
    psi: Floats,
    pulls: Pulls | None = None,
) -> Details:
    convention = status.describe(curves) | {"loss": loss}
    counted = status.support(curves)
    if isinstance(rule, Logarithmic):
        convention["clip"] = rule.clip
        counted.counts |= {"clipped": rule.clipped, "infinite_losses": rule.infinite}
    support = counted.result()
    if value < 0:
        support["negative_score"] = below_zero(value)
    frequency = status.y.weight if status.y.weighted else None
    finite = np.isfinite(value)
    return Details(
        value,
        convention,
        support,
        psi if finite else None,
        frequency,
        pulls=pulls if finite else None,
        counted=counted,
    )
