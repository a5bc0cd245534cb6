"""Time-dependent concordance: how often curves put the one who is first first, at that time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.curves import SurvivalCurves
from ...errors import UndefinedMetricError, one_of
from ..checks import check_curves
from ..conventions import Convention
from ..one_cause import one_cause
from ..past_curve import share_past
from ..score import Score
from ._concordance import METHODS_TD, Question, make_question


def concordance_td(
    y_true: Any,
    curves: Any,
    *,
    method: str = "antolini",
    y_train: Any = None,
    tau: float | None = None,
    ties: str | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    cause: int | str | None = None,
) -> Score:
    r"""Share of the comparable pairs that survival curves put in the right order at the time.

    .. math::
        C = \frac{\sum_{i,j} a_i\, [1(S_i(t_i) < S_j(t_i)) + \tfrac12 1(S_i(t_i) = S_j(t_i))]}
        {\sum_{i,j} a_i}

    over the pairs of `concordance_index`: curves that cross may order the same two subjects one way
    early and the other way late.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads. With delayed entry a pair was at risk
        together: j had entered before t_i. Curves are compared from the beginning, as they are.
    curves : SurvivalCurves or IncidenceCurves
        One curve per subject; `as_curves` reads other libraries' predictions. With `cause`
        incidence of each cause.
    method : {"antolini", "ipcw"}
        a = 1, or a = 1/G(t_i-)^2.
    y_train, tau, censoring, sample_weight
        As for `concordance_index`.
    ties : {"risk", "none", "time", "all", "strict", "adjusted"}, optional
        As for `concordance_index`, with survival at the event for the risk. "adjusted" counts pairs
        of equal times from both sides: two events 1 if their curves are equal there and 1/2
        otherwise; it has no standard error.
    convention : str or Convention, optional
        "pycox" reads curves as steps and takes ``ties="strict"``, which is its "antolini"; with
        ``ties="adjusted"`` it is its "adj_antolini". sksurv, torchsurv, survivaleval and
        hazardous tie probabilities closer than 1e-8; otherwise only equal ones are tied, and
        interpolated ones that are equal on paper may differ in the last digit.
    cause : int or str, optional
        With several causes, code or name of the one whose order is asked for: F_k(t_i | x_i) should
        be larger than F_k(t_i | x_j). Who had an event of another cause by t_i never has this
        one, and is compared too; such a pair weighs 1/(G(t_i-) G(t_j-)) under ``ipcw``.

    Returns
    -------
    Score
        1 for a perfect order, 1/2 for a random one.

    Notes
    -----
    Every pair is looked at, so the cost grows like n^2: about 0.4 s for 20,000 subjects and 100
    grid points, 10 s for 100,000.

    References
    ----------
    Antolini, Boracchi and Biganzoli (2005), Statistics in Medicine 24. Gerds et al. (2013),
    Statistics in Medicine 32 (weights).

    Examples
    --------
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 0.5, 0.1], [1, 0.8, 0.4], [1, 0.9, 0.2]])
    >>> found = concordance_td(([2, 4, 6], [1, 1, 1]), curves)
    >>> found, found.convention["interpolation"]
    (1.0, 'linear')
    """
    one_of("method", method, METHODS_TD)
    question = make_question(
        y_true, method=method, y_train=y_train, tau=tau, ties=ties, convention=convention,
        censoring=censoring, sample_weight=sample_weight, cause=cause,
    )  # fmt: skip
    given = one_cause(y_true, curves, None, cause, entry=True).curves
    checked = check_curves(given, question.y, from_entry=False)
    if question.convention.td_curves == "steps":
        checked = _as_steps(checked)
    _refuse_nan_tail(question, checked)
    sums = question.sums(checked, tolerance=question.convention.risk_tolerance)
    described = {"interpolation": checked.interpolation, "curve_tail": checked.tail}
    details = question.details(sums, **described)
    late = question.anchor & (question.y.time > checked.last_time)
    details.support["events_past_curves"] = int(late.sum())
    events = (question.anchor * question.y.weight).astype(np.float64)
    if events.any():
        details.support["past_curve"] = share_past(checked, question.y.time, events)
    return details


def _refuse_nan_tail(question: Question, curves: SurvivalCurves) -> None:
    """Refuse events past the end of curves that say nothing there."""
    if curves.tail != "nan":
        return
    y, ends = question.y, curves.last_survival
    # A pair needs both curves, so one open end is enough.
    until = float(np.min(curves.last_time, where=ends > 0, initial=np.inf))
    late = question.anchor & (y.time > until) & (y.weight > 0)
    if late.any():
        remedy = "choose another tail for the curves or a smaller tau"
        if question.cause is not None:
            remedy = "predict on a longer grid or choose a smaller tau"
        raise UndefinedMetricError(
            f"curves say nothing past {until:g} (tail 'nan'), where {int(late.sum())} events "
            f"lie; {remedy}"
        )


def _as_steps(curves: SurvivalCurves) -> SurvivalCurves:
    """Read curves as pycox does: right-continuous steps, the first and last values held."""
    times = curves.times.copy()
    times[..., 0] = 0.0
    return SurvivalCurves._trusted(times, curves.survival, "step", "hold")
