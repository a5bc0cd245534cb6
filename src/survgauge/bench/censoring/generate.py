"""From a censored dataset to one whose true event times are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, flag, frozen, probability, vector
from ..._tools.random import check_seed, stream
from ...data.causes import Codes
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.copulas import (
    check_copula,
    parameter,
    second_given_first,
    survival_ranks,
)
from ...estimators.kaplan_meier import KaplanMeier
from ...metrics.group_tests import log_rank_test
from .kinds import (
    DISTRIBUTIONS,
    KINDS,
    PARAMETRIC,
    BaseData,
    Distribution,
    as_features,
    refuse_leaks,
    take_rows,
)

UserCensoring = Callable[[Any, Floats, np.random.Generator], Any]


@dataclass(frozen=True)
class CensoringComparison:
    """Event-time distribution of D'' (drawn censoring) against D (as it came) and D' (the truth).

    D'' is made of D's events, so that a difference from D is expected where D's censored
    subjects live longer; the log-rank test treats the two as independent samples and is to be
    read as a measure of distance. A difference from D' beyond chance means that the censoring is
    informative: Kaplan-Meier on D'' no longer estimates the distribution it came from.

    Attributes
    ----------
    curves : dict
        Kaplan-Meier estimates of ``D``, ``D''`` and ``D'``.
    statistic, p_value : float
        Log-rank test of D and D''.
    distance, distance_from_truth : float
        Largest gap between the Kaplan-Meier curves of D and D'', and of D' and D''.
    """

    curves: dict[str, KaplanMeier]
    statistic: float
    p_value: float
    distance: float
    distance_from_truth: float


def _gap(a: KaplanMeier, b: KaplanMeier) -> float:
    """Largest gap between two curves up to the end of the shorter follow-up."""
    times = np.concatenate((a.times, b.times))
    times = times[times <= min(a.last_time, b.last_time)]
    return float(np.abs(a.at(times) - b.at(times)).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class SemiSynthetic:
    """A dataset with drawn censoring: what a model may see, and the truth beside it.

    Only `X` and `y` are for models; nothing that hangs on them leads to the true times.

    Attributes
    ----------
    X : frame or array
        Features of the kept subjects, in the type that came in; None without features.
    y : Outcomes
        What is observed: min(event time, censoring time), and which of them it is; with several
        causes, of which cause the event is.
    true_time : ndarray
        Event time of every subject.
    true_cause : ndarray or None
        With several causes the code of the event of every subject, from 1; None with one.
    censoring_time : ndarray
        Drawn censoring time of every subject, infinite where censoring never comes.
    rows : ndarray
        Where the subjects are in the data that came in.
    dropped : int
        Subjects left out because they were censored at time 0.
    censoring : str
        Kind of censoring; a user function goes by its name.
    random_state : int
        The seed; the same one gives the same data.
    parameters : dict
        Parameters of the censoring distribution.
    original : Outcomes
        The outcomes that came in, D.
    """

    X: Any
    y: Outcomes
    true_time: Floats
    true_cause: Codes | None
    censoring_time: Floats
    rows: Ints
    dropped: int
    censoring: str
    random_state: int
    parameters: dict[str, Any]
    original: Outcomes

    def __len__(self) -> int:
        return len(self.y)

    @property
    def censoring_rate(self) -> float:
        """Share of censored subjects, between 0 and 1."""
        return 1.0 - float(self.y.event.mean())

    @cached_property
    def comparison(self) -> CensoringComparison:
        """Log-rank test and Kaplan-Meier curves of D, D' and D'', of an event of any cause."""
        original, drawn = self.original.any_cause(), self.y.any_cause()
        curves = {
            "D": KaplanMeier.fit(original),
            "D''": KaplanMeier.fit(drawn),
            "D'": KaplanMeier.fit(original[original.event]),
        }
        test = log_rank_test(original, drawn)
        gaps = (_gap(curves[name], curves["D''"]) for name in ("D", "D'"))
        return CensoringComparison(curves, test.statistic, test.p_value, *gaps)

    def __repr__(self) -> str:
        return (
            f"SemiSynthetic({self.censoring}, n={len(self)}, censored {self.censoring_rate:.1%}, "
            f"dropped {self.dropped})"
        )


def semisynthetic(
    X: Any,
    y: Any,
    censoring: str | UserCensoring = "uniform",
    random_state: int | None = 0,
    external: Any = None,
    *,
    rate: float | None = None,
    kendall_tau: float = 0.0,
    copula: str = "clayton",
    whole_units: bool | None = None,
    fill: Mapping[str, Any] | None = None,
) -> SemiSynthetic:
    r"""Draw censoring for the events of a real dataset, so that every true event time is known.

    D, the data that came in, gives the censoring distribution; D', its subjects with an event,
    each get a drawn censoring time :math:`\tilde c_i`; in the result D'' subject i is censored at
    :math:`\tilde c_i` if and only if :math:`\tilde c_i < t_i`. Subjects censored at time 0 are
    dropped and counted. With several causes D' has the subjects with an event of any cause, and
    censoring is drawn as it would be without their causes.

    In whole-unit data (all times whole numbers) the drawn time is rounded down. For whole
    :math:`t_i` this changes no status, :math:`\lfloor c \rfloor < t \iff c < t`, and keeps
    exactly what was seen: a subject lost during day 3 was at risk for the events of day 3, not
    of day 4.

    Parameters
    ----------
    X : frame or array-like of shape (n, p), or None
        Features of all subjects. Only ``original_dependent`` and ``feature_dependent`` read them
        (filled and encoded inside); rows are passed on as they are.
    y : outcomes
        Anything that ``Outcomes.of(y, causes=True)`` reads, without weights.
    censoring : str or callable
        ``uniform``: U[0, t_max] with the largest event time; ``uniform_admin``: the same, cut at
        the median event time; ``exponential`` with the standard deviation of the event times as
        scale; ``original_independent``: G, the reverse Kaplan-Meier estimate of D;
        ``original_dependent``: a Cox model of D's censoring given the features;
        ``feature_dependent``: exponential, with a rate that rises by the factor e for each standard
        deviation of the log hazard ratio of the event given the features; ``external``: G of
        `external`, stretched so that its last time becomes t_max. What is left at the end of an
        estimate censors no subject. Or a function of (X of the events, event times, generator) that
        returns censoring times, infinite for never.
    random_state : int or None
        Seed; None draws one and records it.
    external : outcomes, optional
        Another dataset, for ``external``.
    rate : float, optional
        Expected share of censored subjects after dropping, for the parametric kinds: all
        censoring times are multiplied by the factor that reaches it (``parameters["factor"]``).
    kendall_tau : float
        Dependence between event and censoring time, 0 for none: the survival probabilities of the
        two times are tied by `copula`. Discrete times have this tau before ties.
    copula : {"clayton", "frank", "gumbel", "gaussian"}
        Clayton ties late times most, Gumbel early ones.
    whole_units : bool, optional
        Round censoring times down; by default where all times of `y` are whole numbers.
    fill : mapping, optional
        Values for gaps in X by column, such as `Dataset.fill`, for the kinds that read `X`; other
        gaps take the median or the most frequent level. `X` is passed on with its gaps.

    References
    ----------
    Qi et al., An Effective Meaningful Way to Evaluate Survival Models, ICML 2023, section 4.1.

    Examples
    --------
    >>> ss = semisynthetic(None, ([2, 4, 6, 8, 9], [1, 1, 1, 1, 0]), "uniform", random_state=1)
    >>> ss
    SemiSynthetic(uniform, n=4, censored 50.0%, dropped 0)
    >>> ss.true_time
    array([2., 4., 6., 8.])
    >>> ss.y.time, ss.y.event
    (array([2., 2., 6., 4.]), array([ True, False,  True, False]))

    The same with two causes, which stay known where the event is hidden:

    >>> y = Outcomes([2, 4, 6, 8, 9], [1, 2, 2, 1, 0], causes=["relapse", "death"])
    >>> ss = semisynthetic(None, y, "uniform", random_state=1)
    >>> ss.true_cause, ss.y.cause
    (array([1, 2, 2, 1], dtype=int32), array([1, 0, 2, 0], dtype=int32))
    """
    original = Outcomes.of(y, causes=True)
    if original.frequency is not None:
        raise InputError(
            "y must not have weights, because every subject gets its own censoring time; repeat "
            "the rows instead (numpy.repeat)"
        )
    base = _base_data(X, original.any_cause(), censoring, external, fill)
    seed, whole = check_seed(random_state), _whole(base.y, whole_units)
    time = base.event_time
    if callable(censoring):
        name = getattr(censoring, "__name__", type(censoring).__name__)
        if rate is not None or kendall_tau != 0:
            raise InputError(
                "rate and kendall_tau go with the built-in kinds of censoring; a censoring "
                "function has to see to them itself"
            )
        drawn, parameters = _call(censoring, base, seed), {}
    else:
        name, distribution = censoring, DISTRIBUTIONS[censoring](base)
        parameters = dict(distribution.parameters)
        tie = _dependence(time, seed, kendall_tau, copula, parameters)
        drawn = distribution.quantile(tie(stream(seed, "censoring", name).random(time.size)))
        if rate is not None:
            parameters["rate"] = rate
            parameters["factor"] = factor = _factor(distribution, tie, time, rate, name, whole)
            drawn = drawn * factor
    if whole:
        drawn = np.floor(drawn)
    censored = drawn < time
    kept = ~(censored & (drawn == 0))
    if not kept.any():
        raise InputError(
            f"censoring {name!r} censors all {time.size} events at time 0; no subject is left"
        )
    true, codes = None, ~censored[kept]
    if original.cause is not None:  # a cause that nobody has any more keeps its name
        true = original.cause[base.rows[kept]]
        codes = np.where(censored[kept], 0, true)
    return SemiSynthetic(
        X=take_rows(base.X, base.rows[kept]),
        y=Outcomes(np.minimum(drawn, time)[kept], codes, causes=original.causes),
        true_time=frozen(time[kept]),
        true_cause=None if true is None else frozen(true),
        censoring_time=frozen(drawn[kept]),
        rows=frozen(base.rows[kept]),
        dropped=int(time.size - kept.sum()),
        censoring=name,
        random_state=seed,
        parameters=parameters,
        original=original,
    )


def _base_data(
    X: Any, outcomes: Outcomes, censoring: Any, external: Any, fill: Mapping[str, Any] | None
) -> BaseData:
    """Check what came in."""
    if not callable(censoring):
        one_of("censoring", censoring, KINDS)
    if external is not None and censoring != "external":
        raise InputError(
            f"external is read by censoring='external' only; got censoring {censoring!r}: leave "
            "one of them out"
        )
    rows = np.flatnonzero(outcomes.event)
    if not rows.size:
        raise InputError(
            "y must have events, whose times are the truth; got censored subjects only"
        )
    features = as_features(X, len(outcomes))
    refuse_leaks(features, rows, outcomes.time[rows])
    other = None
    if external is not None:  # an event of any cause ends the follow-up that G describes
        other = Outcomes.of(external, "external", causes=True).any_cause()
    return BaseData(features, outcomes, rows, other, fill)


def _whole(y: Outcomes, whole_units: bool | None) -> bool:
    found = bool((y.time == np.floor(y.time)).all())
    whole_units = None if whole_units is None else flag(whole_units, "whole_units")
    if whole_units and not found:
        raise InputError(
            "whole_units=True needs whole-number times in y; some are fractions, so that rounding "
            "would change who is censored"
        )
    return found if whole_units is None else whole_units


def _call(distribution: UserCensoring, base: BaseData, seed: int) -> Floats:
    """Ask a user's function for censoring times."""
    time = base.event_time
    generator = stream(seed, "censoring", "function")
    answer = distribution(take_rows(base.X, base.rows), time.copy(), generator)
    drawn = vector(
        answer, "the result of censoring", length=time.size, like="the events", finite=False
    )
    if np.isnan(drawn).any() or (drawn < 0).any():
        raise InputError(
            "the result of censoring must be times, not negative and not NaN (infinite for never)"
        )
    return np.array(drawn)


def _dependence(
    time: Floats, seed: int, kendall_tau: float, copula: str, parameters: dict[str, Any]
) -> Callable[[Floats], Floats]:
    """Build the function that ties uniform numbers, (n,) or (n, k), to the event times."""
    check_copula(copula, kendall_tau)
    if kendall_tau == 0:
        return lambda u: u
    theta = parameter(copula, kendall_tau)
    parameters.update(copula=copula, kendall_tau=kendall_tau, copula_parameter=theta)
    # A stream of its own, so that the order of ties owes nothing to the censoring draw.
    ranks = survival_ranks(time, stream(seed, "censoring", "order of ties").random(time.size))

    def tie(u: Floats) -> Floats:
        first = ranks.reshape((-1,) + (1,) * (u.ndim - 1))
        # Survival probabilities are tied, hence 1 - ... ; 1 itself is no quantile's argument.
        late = second_given_first(copula, theta, first, 1.0 - u)
        early: Floats = np.minimum(1.0 - late, np.nextafter(1.0, 0.0))
        return early

    return tie


def _factor(
    distribution: Distribution,
    tie: Callable[[Floats], Floats],
    time: Floats,
    rate: float,
    name: str,
    whole: bool,
) -> float:
    """Find the factor on the censoring times at which the expected censoring rate is `rate`.

    The expectation is over a grid of evenly spread uniform numbers per subject, so that the factor
    depends on D alone and the drawn times stay independent of each other.
    """
    if name not in PARAMETRIC:
        raise InputError(
            f"rate goes with the parametric kinds {', '.join(PARAMETRIC)}; got censoring {name!r}"
        )
    rate = probability(rate, "rate")
    cells = int(np.clip(200_000 // time.size, 16, 2000))
    # Golden-ratio offsets fill the gaps of one subject's grid by those of the others.
    offsets = np.modf((np.arange(time.size) + 0.5) * 0.6180339887498949)[0]
    drawn = distribution.quantile(tie((np.arange(cells) + offsets[:, None]) / cells))

    def expected(factor: float) -> float:
        scaled = np.floor(drawn * factor) if whole else drawn * factor
        censored: Bools = scaled < time[:, None]
        at_zero = np.count_nonzero(censored & (scaled == 0))
        rest = drawn.size - at_zero
        return (np.count_nonzero(censored) - at_zero) / rest if rest else 0.0

    low, high = 1.0, 1.0
    for _ in range(60):
        if expected(low) >= rate:
            break
        low /= 2
    else:
        raise InputError(
            f"rate {rate} cannot be reached with censoring {name!r} on these times; shorter "
            "censoring times would all round to 0 or come after the event"
        )
    while expected(high) > rate:
        high *= 2
    for _ in range(30):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if expected(middle) >= rate else (low, middle)
    return low if abs(expected(low) - rate) <= abs(expected(high) - rate) else high
