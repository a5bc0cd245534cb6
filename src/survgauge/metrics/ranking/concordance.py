"""Concordance: how often the one predicted to be first is first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, vector
from ..._tools.frames import refuse_other_order
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...data.predictions import RiskScores
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...estimators.kaplan_meier import RiskTable
from ...estimators.surrogates import make_setting, margin
from ..checks import check_curves, known_until, one_cause
from ..conventions import Convention
from ..intervals import Subjects, refuse_options
from ..past_curve import share_past
from ..score import Score
from ._concordance import METHODS, METHODS_TD, Question, as_close_as, make_question
from ._pairs import PairSums, counts_events, pair_counts, sum_events, sum_pairs


def checked_risk(risk: Any, n: int) -> Floats:
    """One risk per subject; infinite ones are ranks like others, NaN is none."""
    if isinstance(risk, SurvivalCurves):
        raise InputError(
            "risk must be one number per subject; got SurvivalCurves: pass -curves.median() or "
            "1 - curves.at(t) (concordance_td ranks whole curves)"
        )
    if isinstance(risk, IncidenceCurves):
        raise InputError(
            "risk must be one number per subject; got IncidenceCurves: pass curves.at(t, cause)"
        )
    given = risk.values if isinstance(risk, RiskScores) else risk
    values = vector(given, "risk", length=n, like="y_true", finite=False)
    unknown = np.isnan(values)
    if unknown.any():
        raise InputError(f"risk must not be NaN; it is for {numbered(np.flatnonzero(unknown))}")
    return values


def concordance_of(y_true: Any, risk: Any, method: str, comparators: bool, **options: Any) -> Score:
    """`concordance_index` of right-censored outcomes.

    Without `comparators` there are no contributions.
    """
    question, values = _asked(y_true, risk, method, options)
    if method == "margin":
        return _margin(question, values, comparators)
    return question.details(question.sums(values, comparators))


def _asked(y_true: Any, risk: Any, method: str, options: dict[str, Any]) -> tuple[Question, Floats]:
    refuse_other_order(y_true, "y_true", {"risk": risk})
    question = make_question(y_true, method=method, **options)
    values = checked_risk(risk, len(question.y))
    return question, as_close_as(question.convention.risk_tolerance, values)


def _margin(question: Question, risk: Floats, comparators: bool) -> Score:
    """Everybody is an event: at its time, or at its margin time with its confidence as weight."""
    y, reference, ties = question.y, question.weights.reference, question.ties
    if not reference.y.event.any():
        raise UndefinedMetricError("method 'margin' needs events in the reference set; it has none")
    convention = question.convention
    guess = margin(make_setting(y, reference, area=convention.margin_area))
    # Times that are equal on paper must not be ordered by rounding errors (trapezoids are).
    steps = convention.margin_area == "step"
    best = _twelve_digits(guess.time) if steps else guess.time
    # Somebody censored at t is later than an event at t, also where Kaplan-Meier has ended.
    time = np.where(y.event, y.time, np.maximum(best, np.nextafter(y.time, np.inf)))
    first = question.before_tau(time)
    weight = guess.weight if question.weight is None else guess.weight * question.weight
    sums = sum_pairs(pair_counts(time, first, risk, weight=weight, comparators=comparators), ties)
    if counts_events(ties):
        unit = guess.weight if question.unit is None else guess.weight * question.unit
        sums += sum_events(time, first, None, weight, unit)
    whole_pairs = convention.margin_pairs == "seen_whole"
    if whole_pairs:
        # Pairs whose order was seen are trusted fully, and the others weighted only.
        seen = (y.time, question.anchor, risk)
        whole = pair_counts(*seen, weight=question.weight, comparators=comparators)
        part = pair_counts(*seen, weight=weight, comparators=comparators)
        sums = sums + sum_pairs(whole, ties) - sum_pairs(part, ties)
    details = question.details(
        sums,
        area=convention.margin_area,
        tail="linear",
        reference="test outcomes" if question.weights.in_sample else "training outcomes",
        pairs="product of confidences" + (", 1 where the order was seen" if whole_pairs else ""),
    )
    details.support["censored"] = int((~y.event).sum())
    return details


def _twelve_digits(values: Floats) -> Floats:
    """Round positive numbers to twelve significant digits.

    >>> _twelve_digits(np.array([6 - 1e-15, 1 / 3, 0.0]))
    array([6.        , 0.33333333, 0.        ])
    """
    with np.errstate(divide="ignore", over="ignore"):
        scale = 10.0 ** (11.0 - np.floor(np.log10(values)))
    usable = np.isfinite(scale) & (scale > 0)
    scale = np.where(usable, scale, 1.0)
    return np.where(usable, np.rint(values * scale) / scale, values)


def concordance_index(
    y_true: Any,
    risk: Any,
    *,
    method: str = "harrell",
    y_train: Any = None,
    tau: float | None = None,
    ties: str | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    cause: int | str | None = None,
) -> Score:
    r"""Share of the comparable pairs that a risk puts in the right order.

    .. math::
        C = \frac{\sum_{i,j} a_i\, [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}{\sum_{i,j} a_i}

    over pairs of an event i before `tau` (the anchor) and somebody j observed longer: t_i < t_j, or
    t_i = t_j and j censored. Two events at one time are not comparable.

    Of interval-censored outcomes the pairs are those of known order: the event of i had been seen
    at a time at which j was still event-free, :math:`u_i \le l_j` (:math:`u_i < l_j` where j's own
    time is exact). Pairs whose intervals overlap do not count, so the value depends on the visits:
    compare models on the same subjects, not studies with each other.

    Parameters
    ----------
    y_true : outcomes or IntervalOutcomes
        Test outcomes; anything that `Outcomes.of` reads. Interval-censored ones take no further
        option than `sample_weight`.
    risk : array-like of shape (n,)
        Higher means earlier; for predicted times pass their negative. Infinite values are ranked
        like others. Only equal values are tied; under the presets of packages that tie values
        closer than 1e-8 (scikit-survival, torchsurv, SurvivalEVAL, hazardous) they are rounded.
    method : {"harrell", "uno", "margin"}
        a = 1; a = 1/G(t_i-)^2; or Harrell's with every censored subject an event at its margin time
        (`surrogate_times`), pairs weighing the product of the two confidences (1 for events).
        Where the reference's Kaplan-Meier has reached zero, a censored subject's margin time is its
        own censoring time and its confidence 1; it counts as later than an event at that time.
    y_train : outcomes, optional
        Reference set of the margin times, and of G under ``censoring="train"``; without it the test
        outcomes themselves.
    tau : float, optional
        Pairs must start strictly before it. Later subjects stay in as comparators.
    ties : {"risk", "none", "time", "all", "strict", "adjusted"}, optional
        "risk" (default): equal risks 1/2. "none": left out. "time": left out, two events at one
        time 1/2. "all": both 1/2. "strict": equal risks 0. "adjusted": see `concordance_td`.
    convention : str or Convention, optional
        Another package's limits of G, tau and weights of margin pairs: sksurv, torchsurv,
        survivaleval, hazardous (for a risk F(tau | x)), pycox.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G of ``uno`` comes from: by default the test subjects; "train": `y_train`; a function
        G(t, side) of one time per subject. Such a G may depend on the subject, so a pair then
        weighs 1/(G_i(t_i-) G_j(t_i-)) [1]_, and every pair is looked at: the function is called
        once for each event time, with that time for all, and time grows like n^2. Events
        with G = 0 are no anchors; the support counts them.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of its two weights; frequencies of the outcomes multiply. G of
        the test subjects is estimated with them. Subjects of weight 0 are left out.
    cause : int or str, optional
        With several causes, code or name of the one to be ordered. A subject with an event of
        another cause never has this one, and is later than every event of it: such a pair weighs
        1/(G(t_i-) G(t_j-)) under ``uno`` if j had the other event by t_i [2]_.

    Returns
    -------
    Score
        1 for a perfect order, 1/2 for a random one; the reversed risk gives 1 - C.

    Raises
    ------
    UndefinedMetricError
        If no pair is comparable.

    References
    ----------
    Harrell, Lee and Mark (1996), Statistics in Medicine 15. Uno et al. (2011), Statistics in
    Medicine 30. Kumar et al. (2022), Scientific Reports 12 (margin).

    .. [1] Gerds et al. (2013), Statistics in Medicine 32 (G that depends on the subject).
    .. [2] Wolbers et al. (2014), Concordance for prognostic models with competing risks,
       Biostatistics 15.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 1, 0, 1])
    >>> concordance_index(y, [4, 2, 3, 1])
    0.8
    >>> found = concordance_index(y, [4, 3, 1, 2], method="uno", y_train=([1, 3, 5], [0, 1, 1]))
    >>> found, found.convention["anchor_weight"], found.support["notes"]
    (1.0, '1/G^2', {})

    All pairs but 1-3 and 2-3 have a known order:

    >>> y = IntervalOutcomes([0, 4, 2, 9], [4, 9, 6, float("inf")])
    >>> round(concordance_index(y, [4, 2, 3, 2.5]), 4)
    0.75
    """
    one_of("method", method, METHODS)
    options = {
        "y_train": y_train,
        "tau": tau,
        "ties": ties,
        "convention": convention,
        "censoring": censoring,
        "cause": cause,
    }
    if isinstance(y_true, IntervalOutcomes):
        refuse_options(options | {"method": None if method == "harrell" else method})
        return interval_concordance(y_true, risk, sample_weight=sample_weight)
    options["sample_weight"] = sample_weight
    if method == "margin":
        return concordance_of(y_true, risk, method, True, **options)
    # Contributions take longer than the pairs themselves.
    question, values = _asked(y_true, risk, method, options)
    found = question.details(question.sums(values, False))
    if found.value < 0.5:  # whether by more than chance is asked at once
        return question.details(question.sums(values))
    return replace(
        found,
        influence=lambda: question.contributions(question.sums(values)),
    )


def interval_concordance(y_true: Any, risk: Any, *, sample_weight: Any = None) -> Score:
    """`concordance_index` of anything that `IntervalOutcomes.of` reads."""
    who = Subjects.of(y_true, sample_weight)
    y = who.y
    values = checked_risk(risk, len(y))
    weighted = y.frequency is not None or sample_weight is not None
    sums = _sums(y, values, who.weight if weighted else None)
    if not sums.pairs > 0:
        raise UndefinedMetricError(
            f"no pair of the {y.count} subjects has a known order: no event was seen by a "
            "time at which another was still event-free"
        )
    n = float(who.weight.sum())
    support = {
        "subjects": y.count,
        "events": y.event_count,
        "anchors": float(y.weight[y.event].sum()),
        "pair_weight": float(sums.pairs),
        "known_order_share": float(sums.pairs) / (n * (n - 1) / 2) if n > 1 else 0.0,
        "tied_share": float(sums.level / sums.pairs),
    }
    described = {"method": "pairs of known order", "ties": "risk"}
    return Score(sums.value, described, support, sums.influence, y.frequency, scale="logit")


def _sums(y: IntervalOutcomes, risk: Floats, weight: Floats | None) -> PairSums:
    """Sum up the pairs of known order, in O(n log n).

    Everybody stands twice: as somebody whose event had been seen by `upper`, and as somebody who
    was event-free until `lower`. Harrell's pairs of all these rows, without those of the first kind
    among themselves, are the pairs of known order.
    """
    seen = np.flatnonzero(y.event)
    order = np.unique(np.concatenate((y.lower, y.upper[seen])), return_inverse=True)[1].reshape(-1)
    # At one time an event comes before who is event-free until then, but not before an exact one.
    free = 3 * order[: len(y)] + np.where(y.exact, 0, 2)
    anchors = 3 * order[len(y) :] + 1
    rows = np.concatenate((seen, np.arange(len(y))))
    event = np.arange(rows.size) < seen.size
    both = _counted(np.concatenate((anchors, free)), event, risk[rows], weight, rows)
    alone = _counted(anchors, event[: seen.size], risk[seen], weight, seen)
    credit, total = (
        (np.bincount(rows, one, len(y)) - np.bincount(seen, other, len(y))).astype(np.float64)
        for one, other in ((both.credit, alone.credit), (both.total, alone.total))
    )
    ahead, behind = both.ahead - alone.ahead, both.behind - alone.behind
    return PairSums(ahead, behind, both.level - alone.level, credit, total)


def _counted(time: Ints, event: Bools, risk: Floats, each: Floats | None, rows: Ints) -> PairSums:
    weight = None if each is None else each[rows]
    return sum_pairs(pair_counts(time.astype(np.float64), event, risk, weight=weight), "risk")


@dataclass(frozen=True)
class ComparablePairs:
    """How many pairs of subjects have a known order.

    Attributes
    ----------
    number, total : float
        Comparable pairs and all pairs.
    event_rate : float
        Share a of subjects with an event.
    low, high : float
        Bounds of `share` for that rate where no two times are equal: all censored before the first
        event, or all after the last.
    """

    number: float
    total: float
    event_rate: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """Comparable pairs among all pairs."""
        return self.number / self.total


def comparable_pairs(y: Any) -> ComparablePairs:
    r"""Share r of the pairs whose order is known, and its bounds.

    .. math::
        \frac{a(na-1)}{n-1} \le r \le \frac{a(na-1)}{n-1} + \frac{2na(1-a)}{n-1}

    with a the share of events among n subjects. Two events at one time are no comparable pair, so
    equal times can take r below the bound.

    Parameters
    ----------
    y : outcomes
        Anything that `Outcomes.of` reads; frequencies count as that many subjects.

    References
    ----------
    Qi et al. (2023), An Effective Meaningful Way to Evaluate Survival Models, ICML, appendix C.

    Examples
    --------
    >>> found = comparable_pairs(([2, 4, 6, 8], [1, 1, 0, 1]))
    >>> found.number, round(found.share, 4), found.low, found.high
    (5.0, 0.8333, 0.5, 1.0)
    """
    table = RiskTable.of(Outcomes.of(y))
    n, events = float(table.at_risk[0]), float(table.events.sum())
    if not n > 1:
        raise UndefinedMetricError(f"y has no pair of subjects; got {n:g} subject(s)")
    a = events / n
    number = float((table.events * (table.at_risk - table.events)).sum())
    low = a * (events - 1) / (n - 1)
    return ComparablePairs(
        number, n * (n - 1) / 2, a, max(low, 0.0), low + 2 * events * (1 - a) / (n - 1)
    )


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
        With several causes, code or name of the one to be ordered: F_k(t_i | x_i) should
        be larger than F_k(t_i | x_j). A subject with an event of another cause by t_i never has
        this one, and is compared too; such a pair weighs 1/(G(t_i-) G(t_j-)) under ``ipcw``.

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
    y, until = question.y, known_until(curves)  # a pair needs both curves
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
