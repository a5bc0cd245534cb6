"""Scores of predicted probabilities at given times: Brier and binomial log-likelihood."""

from __future__ import annotations

from typing import Any

from ..conventions import Convention
from ..details import CurveResult, Details
from ._status import make_status
from ._status_losses import Squared
from .status_scores import brier_curve, integral, integral_details, logarithmic, score_curve


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
    >>> from survgauge import SurvivalCurves
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
    >>> from survgauge import SurvivalCurves
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
    return score_curve(status, checked, logarithmic(status, clip), "log")


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
    >>> from survgauge import SurvivalCurves
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
    return integral(status, checked, Squared())


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
    >>> from survgauge import SurvivalCurves
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
    return integral_details(status, checked, Squared(), "squared")


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
    >>> from survgauge import SurvivalCurves
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
    return integral(status, checked, logarithmic(status, clip))


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
    >>> from survgauge import SurvivalCurves
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
    return integral_details(status, checked, logarithmic(status, clip), "log")
