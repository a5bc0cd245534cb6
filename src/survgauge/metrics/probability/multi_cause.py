"""Scores of all causes at once: the state that a subject is in, against the predicted ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...data.curves import SurvivalCurves
from ...errors import one_of
from ..conventions import Convention
from ..details import CurveResult, Details
from ..one_cause import every_cause
from ._states import States
from ._status import Status, make_status
from ._status_losses import AsRead, LogarithmicOfState, Rule
from .status_scores import clip_of, integral, integral_details, score_curve

LOSSES = ("log", "squared")


def multi_cause_score(
    y_true: Any,
    incidence: Any,
    times: Any,
    *,
    loss: str = "log",
    y_train: Any = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    clip: float | None = None,
) -> CurveResult:
    r"""Score of the predicted probabilities of all causes at given times: a loss.

    At t a subject is in one state: 0 (event-free) or k (it had an event of cause k). With the
    predicted probabilities p_0 = 1 - F_1 - ... - F_K and p_k = F_k of the states,

    .. math:: L(t) = \frac1N \sum_i w_i(t)\, \ell(s_i(t), p_i(t)),

    where the loss of state s is -log p_s, or under ``loss="squared"`` the sum over all states r of
    (1(r = s) - p_r)^2. w_i(t) = 1/G(t_i-) for an event of any cause with t_i <= t, 1/G(t) where
    t_i > t, and 0 for subjects censored at or before t. Under independent censoring both are
    strictly proper: on average nothing but the true probabilities of all states has the least
    loss [1]_. The Brier score of a cause looks at one F_k alone.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes with several causes; anything that `Outcomes.of` reads.
    incidence : IncidenceCurves
        Incidence of every cause, one curve per subject.
    times : array-like of shape (k,)
        Distinct times in any order; the result has them sorted.
    loss : {"log", "squared"}
        A probability of exactly 0 for what happened is an infinite logarithmic loss: nothing is
        clipped unless `clip` is given. The squared loss is the sum of the Brier scores of all
        causes and of any event.
    y_train, convention, censoring, on_unsupported, sample_weight
        As for `brier_score`.
    clip : float, optional
        Keep probabilities within [clip, 1 - clip] under ``loss="log"``; what was changed is counted
        in the support.

    Returns
    -------
    CurveResult
        `times`, `values`, `stderr`; `mean` is the integral divided by the length of the grid.

    References
    ----------
    .. [1] Alberge et al. (2025), Survival models: proper
       scoring rule and stochastic optimization with competing risks, AISTATS.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([4], [[[0.5], [0.2]], [[0.1], [0.4]], [[0.1], [0.1]]])
    >>> multi_cause_score(y, curves, [4]).values.round(4)  # -(log 0.5 + log 0.4 + log 0.8) / 3
    array([0.6109])
    """
    status, ends = _status(
        y_true,
        incidence,
        times,
        loss,
        y_train=y_train,
        convention=convention,
        censoring=censoring,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
    )
    return score_curve(status, ends, _rule(status, loss, clip), _named(loss))


def integrated_multi_cause_score(
    y_true: Any,
    incidence: Any,
    times: Any = None,
    *,
    loss: str = "log",
    y_train: Any = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    clip: float | None = None,
) -> float:
    """Integral of `multi_cause_score` over `times`, divided by its length: a loss.

    Parameters
    ----------
    y_true, incidence
        As for `multi_cause_score`.
    times : array-like of shape (k,), optional
        At least two times. None: 100 equal steps from 0 to the last time at which the score is
        identified.
    loss, y_train, convention, censoring, on_unsupported, sample_weight, clip
        As for `multi_cause_score`.

    Returns
    -------
    float
        `integrated_multi_cause_score_details` gives the same with convention, support and
        contributions.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([9], [[[0.6], [0.3]], [[0.3], [0.6]], [[0.2], [0.1]]])
    >>> round(integrated_multi_cause_score(y, curves, [1, 4, 7]), 4)
    0.634
    """
    status, ends = _status(
        y_true,
        incidence,
        times,
        loss,
        y_train=y_train,
        convention=convention,
        censoring=censoring,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
    )
    return integral(status, ends, _rule(status, loss, clip))


def integrated_multi_cause_score_details(
    y_true: Any,
    incidence: Any,
    times: Any = None,
    *,
    loss: str = "log",
    y_train: Any = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    clip: float | None = None,
) -> Details:
    """`integrated_multi_cause_score` with what lies behind it.

    Parameters
    ----------
    y_true, incidence, times, loss, y_train, convention, censoring, on_unsupported, sample_weight
        As for `integrated_multi_cause_score`.
    clip
        As for `multi_cause_score`.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([9], [[[0.6], [0.3]], [[0.3], [0.6]], [[0.2], [0.1]]])
    >>> details = integrated_multi_cause_score_details(y, curves, [1, 4, 7], loss="squared")
    >>> round(details.value, 4), round(details.stderr, 4), details.convention["loss"]
    (0.3911, 0.1778, 'squared, all states')
    """
    options = {
        "y_train": y_train, "convention": convention, "censoring": censoring,
        "on_unsupported": on_unsupported, "sample_weight": sample_weight,
    }  # fmt: skip
    return integrated_states(y_true, incidence, times, loss, clip, **options)


def integrated_states(
    y_true: Any, incidence: Any, times: Any, loss: str, clip: float | None = None, **options: Any
) -> Details:
    """`integrated_multi_cause_score_details`, for a chunk of the subjects too.

    `options` are those of `make_status`: the weights of the subjects may be known.

    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([9], [[[0.6], [0.3]], [[0.3], [0.6]], [[0.2], [0.1]]])
    >>> round(integrated_states(y, curves, [1, 4, 7], "log").value, 4)
    0.634
    """
    status, ends = _status(y_true, incidence, times, loss, **options)
    return integral_details(status, ends, _rule(status, loss, clip), _named(loss))


def state_status(
    y_true: Any,
    incidence: Any,
    times: Any,
    reads: str,
    *,
    y_train: Any = None,
    tail: str = "nan",
    **options: Any,
) -> tuple[Status, SurvivalCurves]:
    """Question about the state at given times, and how far the predictions go.

    Past the grid nothing is known, unless `tail` says that the last values hold.
    """
    ipcw = options.get("method", "ipcw") == "ipcw"
    asked = every_cause(y_true, incidence, y_train, entry=ipcw)
    ends = asked.curves.ends(tail)
    status, checked = make_status(asked.y, ends, times, y_train=asked.y_train, **options)
    states = States(asked.curves, asked.codes, reads).given_entry(status.y)
    return replace(status, states=states), checked


def _status(
    y_true: Any, incidence: Any, times: Any, loss: str, **options: Any
) -> tuple[Status, SurvivalCurves]:
    one_of("loss", loss, LOSSES)
    reads = "probability" if loss == "log" else "squared"
    return state_status(y_true, incidence, times, reads, **options)


def _rule(status: Status, loss: str, clip: float | None) -> Rule:
    return LogarithmicOfState(clip_of(status, clip)) if loss == "log" else AsRead()


def _named(loss: str) -> str:
    return f"{loss}, all states"
