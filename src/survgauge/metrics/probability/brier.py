"""Scores of predicted probabilities at given times: Brier and binomial log-likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._old_names import takes_old_arguments
from ..._tools.arrays import Floats, positive
from ...data.curves import SurvivalCurves
from ...data.outcomes import IntervalOutcomes
from ...errors import InputError, UndefinedMetricError
from ...estimators.reference import Reference, reference_curves
from ..checks import given_entry_of
from ..conventions import Convention
from ..grids import equal_steps
from ..intervals import refuse_options
from ..score import CurveResult, Score, standard_error
from ._status import Status, make_status
from .interval_scores import interval_brier_score, interval_integrated_brier_score
from .status_scores import Logarithmic, by_columns, clip_of, integral, score_curve, squared


@takes_old_arguments
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
    cause: int | str | None = None,
    distribution: Any = None,
) -> CurveResult:
    """Brier score at given times: squared error of the predicted probability of being event-free.

    With inverse probability of censoring weights (Graf et al. 1999),

        BS(t) = 1/N sum_i w_i(t) (1(t_i > t) - S_i(t))^2,

    w_i(t) = 1/G(t_i-) for events with t_i <= t, 1/G(t) where t_i > t, and 0 for subjects censored
    at or before t.
    A loss: 0 is perfect, predicting 1/2 gives about 1/4. Without censoring it is the mean of
    (1(t_i > t) - S_i(t))^2.

    Of interval-censored outcomes it is the expected loss given the interval,
    pi_i(t) S_i(t)^2 + (1 - pi_i(t)) (1 - S_i(t))^2, where pi_i(t) is the probability that the event
    has happened by t: 0 for t <= lower, 1 for t >= upper, and in between
    (S(l_i) - S(t)) / (S(l_i) - S(u_i)) under a distribution S of the event time, `distribution`.
    Its mean is that of the loss of the true status where `distribution` is right.

    Parameters
    ----------
    y_true : outcomes or IntervalOutcomes
        Test outcomes; anything that `Outcomes.of` reads. Interval-censored ones take no further
        option than `distribution`, `y_train` and `sample_weight`.
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
        frequencies. Subjects of weight 0 are left out.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted; `curves` are then
        `IncidenceCurves`. The status is an event of this cause by t: a subject with an event of
        another cause is known not to have it, and weighs 1/G(t_i-) as well.
    distribution : Turnbull, curves or Conditional, optional
        For interval-censored outcomes: distribution of the event time, one for all or one per
        subject; by default Turnbull's of `y_train` (interval-censored, or right-censored), or of
        the test outcomes themselves. One for all says nothing about the single subject: the more
        intervals contain t, the more it favours predictions near the average. Standard errors take
        one of other subjects as given; the estimation from the test outcomes is part of them.

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
    >>> from survgauge import IntervalOutcomes, SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> result = brier_score(([2, 5, 8], [1, 0, 1]), curves, [4, 6])
    >>> result.values.round(4)
    array([0.1   , 0.0183])

    >>> curves = SurvivalCurves([0, 10], [[1, 0], [1, 0], [1, 0]])
    >>> found = brier_score(IntervalOutcomes([0, 4, 6], [4, 6, 9]), curves, [5])
    >>> round(float(found.values[0]), 6), found.support["known_share"]
    (0.25, 0.6666666666666666)
    """
    asked = dict(locals())
    given = _of_intervals(asked)
    if given is not None:
        return interval_brier_score(y_true, curves, times, **given)
    status, checked = make_status(**asked)
    return score_curve(status, checked, squared, "squared")


def _of_intervals(asked: dict[str, Any]) -> dict[str, Any] | None:
    """Options for interval-censored outcomes, which take no others; None: `asked` has the rest."""
    distribution = asked.pop("distribution")
    if isinstance(asked["y_true"], IntervalOutcomes):
        method = None if asked["method"] == "ipcw" else asked["method"]
        others = ("censoring_times", "convention", "censoring", "cause")
        refuse_options({"method": method, **{name: asked[name] for name in others}})
        known = {name: asked[name] for name in ("y_train", "sample_weight")}
        return {"distribution": distribution, **known}
    if distribution is not None:
        raise InputError(
            "distribution goes with IntervalOutcomes; leave it out, or pass such outcomes"
        )
    return None


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
    cause
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
    asked = dict(locals())  # of `make_status`
    del asked["clip"]
    status, checked = make_status(**asked)
    return score_curve(status, checked, Logarithmic(clip_of(status, clip)), "log")


@takes_old_arguments
def integrated_brier_score(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    tau: float | None = None,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    cause: int | str | None = None,
    distribution: Any = None,
) -> Score:
    """Integrated Brier score: the trapezoid of `brier_score` over `times`, divided by its length.

    Parameters
    ----------
    y_true, curves
        As for `brier_score`.
    times : array-like of shape (k,), optional
        At least two times. None: 100 equal steps from 0 to the last time at which the score is
        identified.
    tau : float, optional
        Where the equal steps end, if no times are given.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.
    cause, distribution
        As for `brier_score`.

    Returns
    -------
    Score

    Examples
    --------
    >>> from survgauge import IntervalOutcomes, SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = integrated_brier_score(([2, 5, 8], [1, 0, 1]), curves)
    >>> round(found, 4), round(found.stderr, 4), found.convention["grid"]
    (0.0572, 0.0218, '100 equal steps')
    >>> found = integrated_brier_score(IntervalOutcomes([0, 4, 6], [4, 6, 9]), curves)
    >>> found.convention["distribution"]
    "Turnbull's, test outcomes in sample"
    """
    asked = dict(locals())
    given = _of_intervals(asked)
    if given is not None:
        return interval_integrated_brier_score(y_true, curves, times, tau=tau, **given)
    del asked["tau"]
    if times is None and tau is not None:
        asked |= {"times": equal_steps(positive(tau, "tau")), "snap": True}
    status, checked = make_status(**asked)
    return integral(status, checked, squared, "squared")


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
    cause: int | str | None = None,
    clip: float | None = None,
) -> Score:
    """Integral of `binomial_log_likelihood` over `times`, divided by its length: a loss.

    Parameters
    ----------
    y_true, curves, times
        As for `integrated_brier_score`.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.
    cause
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
    >>> curves = SurvivalCurves([0, 4], [[1, 0.0], [1, 0.9]])  # the first lives to 9
    >>> found = integrated_binomial_log_likelihood(([9, 2], [1, 1]), curves, [2, 4])
    >>> found.support["infinite_losses"]
    1
    """
    asked = dict(locals())  # of `make_status`
    del asked["clip"]
    status, checked = make_status(**asked)
    return integral(status, checked, Logarithmic(clip_of(status, clip)), "log")


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

    NaN where Kaplan-Meier makes no error. With `cause` Aalen-Johansen replaces Kaplan-Meier.

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
    status, checked = make_status(**locals())
    if cause is None:
        return _skill(status, checked)
    reference = Reference.of(y_true if y_train is None else y_train, causes=True, entry=True)
    # Past its end the incidence keeps its value.
    base = reference.incidence.curves(len(status.y)).only(cause, tail="hold")
    return _skill(status, checked, base)


def skill_at(
    y_true: Any, curves: Any, time: float, base: SurvivalCurves | None = None, **options: Any
) -> Score:
    """`brier_skill` at one time; `options` are those of `brier_score`.

    `base` is the baseline's prediction; None: Kaplan-Meier.

    >>> curves = SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
    >>> round(skill_at(([2, 5, 8, 9], [1, 0, 1, 1]), curves, 4.0).value, 3)
    0.29
    """
    found = _skill(*make_status(y_true, curves, [time], **options), base).details
    if found.support["baseline_loss"] == 0:
        raise UndefinedMetricError(
            "the baseline makes no error at the time, so the index is undefined"
        )
    return found


def _skill(
    status: Status, checked: SurvivalCurves, base: SurvivalCurves | None = None
) -> CurveResult:
    """Both losses at each time, with the contributions to their ratio; `base`: Kaplan-Meier."""
    if base is None:
        base = reference_curves(status.weights.reference, len(status.y))
    base = given_entry_of(base, status.y)
    losses, stderr = np.empty((2, status.times.size)), np.empty(status.times.size)
    contributions = np.zeros((2, len(status.y)))
    columns = (by_columns(status, model, squared) for model in (checked, base))
    for ours, theirs in zip(*columns, strict=True):
        losses[:, ours.k] = ours.value, theirs.value
        skill = _ratio_contributions(
            ours.value, theirs.value, ours.contributions, theirs.contributions
        )
        stderr[ours.k] = standard_error(skill, status.y.frequency)
        contributions += status.share[ours.k] * np.stack((ours.contributions, theirs.contributions))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1.0 - losses[0] / losses[1]
    values[losses[1] == 0] = np.nan
    integrals = losses @ status.share
    mean = float(1.0 - integrals[0] / integrals[1]) if integrals[1] > 0 else float("nan")
    times = status.times
    if status.undefined:
        times = np.concatenate((times, status.left_out))
        gap = np.full(status.left_out.size, np.nan)
        values, stderr, mean = np.append(values, gap), np.append(stderr, gap), float("nan")
    reference = "test" if status.weights.in_sample else "training"
    estimate = "Kaplan-Meier" if status.cause is None else "Aalen-Johansen"
    convention = status.describe(checked) | {
        "loss": "squared",
        "baseline": f"{estimate} of the {reference} outcomes",
    }
    support = status.support(checked).result()
    support |= {"loss": float(integrals[0]), "baseline_loss": float(integrals[1])}
    own = _ratio_contributions(
        float(integrals[0]), float(integrals[1]), contributions[0], contributions[1]
    )
    details = Score(
        mean, convention, support, own if np.isfinite(mean) else None, status.y.frequency
    )
    return CurveResult(times, values, mean, stderr, details)


def _ratio_contributions(
    ours: float, theirs: float, contributions: Floats, their_contributions: Floats
) -> Floats:
    """Contributions to 1 - ours / theirs, by the delta method."""
    if theirs == 0:
        return np.full(contributions.size, np.nan)
    return (ours / theirs * their_contributions - contributions) / theirs
