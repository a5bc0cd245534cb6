"""Time-dependent concordance: how often curves put the one who is first first, at that time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.curves import SurvivalCurves
from ...data.tails import tail_survival
from ...errors import InputError, UndefinedMetricError, one_of
from ..checks import check_curves
from ..conventions import Convention
from ..details import Details
from ..one_cause import one_cause
from ..past_curve import share_past
from ._antolini import count_exactly, lay_out
from ._antolini_bounds import STRETCHES, count_between_bounds
from ._competing_td import competing_td_tally
from ._concordance import METHODS_TD, Question, make_question
from ._pairs import PairCounts
from ._tally import Tally


def concordance_td_details(
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
    approximate: int | bool | None = None,
    cause: int | str | None = None,
) -> Details:
    """`concordance_td` with its convention, support and standard error.

    Where it is approximated, ``support["bound"]`` is the largest possible distance from the exact
    value.

    Parameters
    ----------
    y_true, curves, method, y_train, tau, ties, convention, censoring, sample_weight, approximate
        As for `concordance_td`.
    cause
        As for `concordance_td`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 0.5, 0.1], [1, 0.8, 0.4], [1, 0.7, 0.5]])
    >>> d = concordance_td_details(([2, 4, 6], [1, 1, 1]), curves)
    >>> round(d.value, 4), d.convention["interpolation"]
    (0.6667, 'linear')
    """
    one_of("method", method, METHODS_TD)
    question = make_question(
        y_true, method=method, y_train=y_train, tau=tau, ties=ties, convention=convention,
        censoring=censoring, sample_weight=sample_weight, cause=cause,
    )  # fmt: skip
    stretches = _stretches(approximate, question.ties)
    given = one_cause(y_true, curves, None, cause, entry=True).curves
    checked = check_curves(given, question.y, from_entry=False)
    if question.convention.td_curves == "steps":
        checked = _as_steps(checked)
    _refuse_nan_tail(question, checked)
    tally, left_open = _tally_td(question, checked, stretches)
    described = {"interpolation": checked.interpolation, "curve_tail": checked.tail}
    details = question.details(tally, **described)
    late = question.anchor & (question.y.time > checked.last_time)
    details.support["events_past_curves"] = int(late.sum())
    events = (question.anchor * question.y.weight).astype(np.float64)
    if events.any():
        details.support["past_curve"] = share_past(checked, question.y.time, events)
    if stretches is not None:
        details.convention["approximate"] = stretches
        details.support["open_pair_weight"] = left_open
        details.support["bound"] = left_open / (2 * details.support["pair_weight"])
    return details


def _stretches(approximate: Any, ties: str) -> int | None:
    """Into how many stretches of time the anchors are cut; None: count exactly."""
    if approximate is None or approximate is False:
        return None
    if ties != "risk":
        raise InputError(f"approximate knows only ties='risk'; got ties={ties!r}")
    if approximate is True:
        return STRETCHES
    if not isinstance(approximate, int | np.integer) or approximate < 1:
        raise InputError(
            f"approximate must be True, False or a whole number of stretches; got {approximate!r}"
        )
    return int(approximate)


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


def _tally_td(
    question: Question, curves: SurvivalCurves, stretches: int | None
) -> tuple[Tally, float]:
    """Sum up the pairs; the second is the weight of those that are left open."""
    y, left_open = question.y, 0.0

    def count(
        rows: Ints | None,
        time: Floats,
        anchor: Bools,
        anchor_weight: Floats | None,
        weight: Floats | None,
    ) -> PairCounts:
        nonlocal left_open
        options: dict[str, Any] = {"anchor_weight": anchor_weight, "weight": weight}
        options |= {"rows": rows, "tolerance": question.convention.risk_tolerance}
        counts, undecided = _counts_td(time, anchor, curves, stretches, options)
        left_open += undecided
        return counts

    if question.competes is not None:
        weight = question.weights.event_weight if question.weighted else None
        given = y.time, question.anchor, question.competes, weight, question.mass
        return competing_td_tally(count, *given), left_open
    if question.by_entry:
        return question.entered(count), left_open
    if question.subject_g:
        if stretches is not None:
            raise InputError(
                "approximate knows no G that depends on the subject; pass a KaplanMeier as "
                "censoring, or leave approximate out"
            )
        counts = question.subject_counts(
            lambda t: -curves.at(t), question.convention.risk_tolerance
        )
    else:
        counts = count(None, y.time, question.anchor, question.anchor_weight, question.mass)
    return question.tally(counts, lambda: -curves.at_own(y.time)), left_open


def _counts_td(
    time: Floats,
    anchor: Bools,
    curves: SurvivalCurves,
    stretches: int | None,
    options: dict[str, Any],
) -> tuple[PairCounts, float]:
    """Count the pairs, with curves as lines or steps on one grid where they are."""
    ends = curves.last_survival
    grid: Floats | None = curves.times
    survival: Any = curves.survival
    options["interpolation"] = curves.interpolation
    if not curves.shared_grid or curves.interpolation == "pchip":
        grid, survival = curves.times if curves.shared_grid else None, None
        options["at"] = lambda rows, t: curves[rows].at(t)
    elif curves.tail in ("linear", "exponential"):
        last = curves.times[-1:]
        options["at"] = lambda rows, t: tail_survival(t[None], last, ends[rows, None], curves.tail)
    laid, parts = lay_out(time, anchor, grid, survival, **options)
    left_open = 0.0
    for part in parts:
        if stretches is None:
            count_exactly(laid, *part)
        else:
            left_open += count_between_bounds(laid, *part, stretches)
    return laid.counts(options["anchor_weight"], options["weight"]), left_open


def _as_steps(curves: SurvivalCurves) -> SurvivalCurves:
    """Read curves as pycox does: right-continuous steps, the first and last values held."""
    times = curves.times.copy()
    times[..., 0] = 0.0
    return SurvivalCurves._trusted(times, curves.survival, "step", "hold")


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
    approximate: int | bool | None = None,
    cause: int | str | None = None,
) -> float:
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
    approximate : int or bool, optional
        Between bounds instead of exactly, for many subjects: see the notes. A whole number is that
        of stretches of time, True means 256.
    cause : int or str, optional
        With several causes, code or name of the one whose order is asked for: F_k(t_i | x_i) should
        be larger than F_k(t_i | x_j). Who had an event of another cause by t_i never has this
        one, and is compared too; such a pair weighs 1/(G(t_i-) G(t_j-)) under ``ipcw``.

    Returns
    -------
    float
        1 for a perfect order, 1/2 for a random one.

    Notes
    -----
    The exact count sorts the curves of everybody at risk once for every 1024 events and evaluates
    the pairs that this leaves open, so its cost grows like n^2: about 1.5 s for 100,000 subjects
    and 100 grid points, minutes for a million.

    `approximate` cuts the events into K stretches of time (at least one for each interval of the
    grid that has events), in O(K n + n log^2 n). As no curve rises, over a stretch it lies between
    its values at the two ends; if the value S_i(t_i) of an event in the stretch lies outside that
    range, the pair is decided. Let U be the weight of the pairs left open and D that of all pairs.
    An open pair counts 1/2 here and between 0 and 1 in the exact numerator, and the denominator is
    the same, so

    .. math:: |C_{approx} - C| \le U / (2 D),

    which `concordance_td_details` reports as ``support["bound"]``. The true distance is usually far
    smaller, as errors in both directions cancel.

    References
    ----------
    Antolini, Boracchi and Biganzoli (2005), Statistics in Medicine 24. Gerds et al. (2013),
    Statistics in Medicine 32 (weights).

    Examples
    --------
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 0.5, 0.1], [1, 0.8, 0.4], [1, 0.9, 0.2]])
    >>> concordance_td(([2, 4, 6], [1, 1, 1]), curves)
    1.0
    """
    return concordance_td_details(
        y_true,
        curves,
        method=method,
        y_train=y_train,
        tau=tau,
        ties=ties,
        convention=convention,
        censoring=censoring,
        sample_weight=sample_weight,
        approximate=approximate,
        cause=cause,
    ).value
