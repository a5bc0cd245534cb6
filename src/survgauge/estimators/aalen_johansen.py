"""Aalen-Johansen: the probability of an event of each cause by each time, with its spread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, positive, probability, vector
from ..data.causes import Codes, cause_code
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from ..errors import one_of
from .kaplan_meier import KaplanMeier, RiskTable, asked_times, awaited, distinct_times

VARIANCES = ("jackknife", "aalen")


class CauseCounts:
    """Events of each cause and subjects at risk at the distinct observed times."""

    def __init__(self, y: Outcomes) -> None:
        #: Names of the causes; one kind of event is cause "1".
        self.causes = y.causes or ("1",)
        self.codes: Codes = y.event.astype(np.int32) if y.cause is None else y.cause
        #: Distinct times, and the place of each subject's time among them.
        self.times, self.place = distinct_times(y)
        self.weight = y.weight
        counted = [
            np.bincount(self.place, y.weight * (self.codes == k), self.times.size)
            for k in range(1, len(self.causes) + 1)
        ]
        #: Events of each cause at each time: (causes, times).
        self.events: Floats = np.stack(counted)
        total = np.bincount(self.place, y.weight).astype(np.float64)
        table = RiskTable(self.times, self.events.sum(axis=0), total, awaited(y, self.times))
        self.at_risk = table.at_risk
        #: Number of distinct times up to each subject's entry.
        self.entered: Ints = np.zeros(len(y), dtype=np.intp)
        if y.entry is not None:
            self.entered = np.where(y.entry > 0, self.times.searchsorted(y.entry, "right"), 0)

    def until_entry(self, cumulative: Floats) -> Floats:
        """What has accumulated when each subject enters, (n,)."""
        return np.append(0.0, cumulative)[self.entered]

    @cached_property
    def survival(self) -> Floats:
        """1, then Kaplan-Meier of any event at each time."""
        return np.concatenate(([1.0], np.cumprod(1.0 - self.events.sum(axis=0) / self.at_risk)))


class AalenJohansen:
    """Aalen-Johansen estimate of the cumulative incidence of each cause.

    Build it with `fit`. The incidence of cause k rises by S(t-) d_k/n at each time t with d_k
    events of it among n at risk, where S is Kaplan-Meier of any event. All causes and S add up to
    1. With one kind of event it is 1 - Kaplan-Meier. With delayed entry those at risk at t are
    those with entry < t <= time.

    Attributes
    ----------
    times : ndarray of shape (m,)
        Distinct observed times, event and censoring times alike.
    incidence : ndarray of shape (causes, m)
        Estimate at `times`; between them it keeps its value.
    survival : ndarray of shape (m,)
        Probability of no event of any cause.
    causes : tuple of str
        Names of the causes.
    at_risk, events : ndarray of shape (m,) and (causes, m)
        Counts at `times`; frequencies count as that many subjects.
    variance, stderr : ndarray of shape (causes, m)
        Of the incidence, see `fit`.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1], causes=["relapse", "death"])
    >>> aj = AalenJohansen.fit(y)
    >>> aj.incidence
    array([[0.25, 0.25, 0.25, 0.75],
           [0.  , 0.25, 0.25, 0.25]])
    >>> float(aj.at(2, "death")), float(aj.at(2, "death", side="left"))
    (0.25, 0.0)
    >>> aj.rmtl(4, "relapse")
    0.75
    """

    def __init__(self, counts: CauseCounts, how: str) -> None:
        self._counts, self._how = counts, how
        self.times, self.causes = counts.times, counts.causes
        self.at_risk, self.events = counts.at_risk, counts.events
        self.survival = counts.survival[1:]
        self._before = counts.survival[:-1]
        self.incidence: Floats = np.cumsum(self._before * self.events / self.at_risk, axis=1)

    @classmethod
    def fit(cls, y: Any, variance: str = "jackknife") -> AalenJohansen:
        """Estimate the incidence of every cause.

        Parameters
        ----------
        y : outcomes
            With several causes, or with one; anything that ``Outcomes.of(y, causes=True)`` reads.
            Weights are frequencies.
        variance : {"jackknife", "aalen"}
            The infinitesimal jackknife, the sum of squared contributions of the subjects, as
            ``survival::survfit`` of R; or Aalen's estimate by the delta method with the
            hypergeometric variance of tied events, as ``cmprsk::cuminc``. They differ little.
        """
        one_of("variance", variance, VARIANCES)
        return cls(CauseCounts(Outcomes.of(y, causes=True, entry=True).present()), variance)

    def at(self, t: Any, cause: int | str, side: str = "right") -> Floats:
        """Incidence of a cause at `t`, or just before it; past the end it keeps its value."""
        return self._read(self.incidence, t, cause, side)

    def stderr_at(self, t: Any, cause: int | str, side: str = "right") -> Floats:
        """Standard error of `at`."""
        return self._read(self.stderr, t, cause, side)

    def _read(self, table: Floats, t: Any, cause: int | str, side: str) -> Floats:
        one_of("side", side, ("right", "left"))
        padded = np.concatenate(([0.0], table[self._row(cause)]))
        places = np.searchsorted(self.times, asked_times(t), "right" if side == "right" else "left")
        return np.asarray(padded[places])

    def _row(self, cause: int | str) -> int:
        return cause_code(cause, self.causes) - 1

    def quantile(self, q: float, cause: int | str) -> float:
        """First time at which the incidence of a cause is `q` or more.

        Infinite where it ends below `q` with nobody left, NaN where follow-up ends before that.
        """
        level = probability(q, "q") * (1.0 - 1e-9)  # sums of many steps round
        reached = np.flatnonzero(self.incidence[self._row(cause)] >= level)
        if reached.size:
            return float(self.times[reached[0]])
        return float("inf") if self.survival[-1] <= 1e-12 else float("nan")

    def rmtl(self, tau: float, cause: int | str) -> float:
        """Restricted mean time lost to a cause up to `tau`: the area under its incidence.

        Past the last observed time the incidence keeps its value.
        """
        return float(self._later(positive(tau, "tau"), self._row(cause))[0])

    def rmtl_stderr(self, tau: float, cause: int | str) -> float:
        """Standard error of `rmtl` by the infinitesimal jackknife."""
        contributions = self.rmtl_contributions(tau, cause)
        return float(np.sqrt(np.dot(self._counts.weight, contributions**2)))

    def rmtl_contributions(self, tau: float, cause: int | str) -> Floats:
        """What one subject of each row adds to `rmtl`, to first order; with weights they add to 0.

        Rows are those of the outcomes that are present (of positive weight).
        """
        stop, row = positive(tau, "tau"), self._row(cause)
        own = self._before * np.maximum(stop - self.times, 0.0)
        beyond = self._later(stop, row)[1:]
        beyond = beyond - self.incidence[row] * np.maximum(stop - self.times, 0.0)
        return self._contributions(row, own, np.where(self.times < stop, beyond, 0.0))

    def contributions(self, t: float, cause: int | str) -> Floats:
        """What one subject of each row adds to the incidence at `t`; see `rmtl_contributions`."""
        time, row = positive(t, "t", zero=True), self._row(cause)
        known = self.times <= time
        beyond = float(self.at(time, cause)) - self.incidence[row]
        return self._contributions(row, self._before * known, np.where(known, beyond, 0.0))

    def curves(self, n: int) -> IncidenceCurves:
        """Return the same curves for each of `n` subjects, stored once."""
        shape = (n, *self.incidence.shape)
        values = np.broadcast_to(np.minimum(self.incidence, 1.0), shape)
        return IncidenceCurves._trusted(self.times, values, self.causes, "step")

    @cached_property
    def variance(self) -> Floats:
        """Variance of the incidence: (causes, times)."""
        of = self._aalen if self._how == "aalen" else self._jackknife
        return np.stack([np.maximum(of(row), 0.0) for row in range(len(self.causes))])

    @property
    def stderr(self) -> Floats:
        """Standard error of the incidence: (causes, times)."""
        return np.sqrt(self.variance)

    def _later(self, stop: float, row: int) -> Floats:
        """Area under the incidence of a cause up to `stop`: from 0 on, then from each time on."""
        ends = np.minimum(np.append(self.times, np.inf), stop)
        area = self.incidence[row] * np.diff(ends)
        later = np.append(np.cumsum(area[::-1])[::-1], 0.0)
        return np.concatenate((later[:1], later[:-1]))

    @cached_property
    def _ratio(self) -> Floats:
        """S(t-)/S(t); 0 where S(t) is 0, after which no incidence is to come."""
        ratio = np.zeros(self.times.size)
        np.divide(self._before, self.survival, out=ratio, where=self.survival > 1e-12)
        return ratio

    def _contributions(self, row: int, own: Floats, beyond: Floats) -> Floats:
        """First-order contributions to a functional of one incidence.

        An event of the cause at u adds `own` of u, and every event takes S(u-)/S(u) `beyond` away;
        both are 1/n each, and expected of all at risk.
        """
        n, total = self.at_risk, self.events.sum(axis=0)
        own, beyond = own / n, beyond * self._ratio / n
        expected = np.cumsum(own * self.events[row] / n - beyond * total / n)
        place, codes = self._counts.place, self._counts.codes
        contributions: Floats = self._counts.until_entry(expected) - expected[place]
        contributions -= beyond[place] * (codes > 0)
        contributions += own[place] * (codes == row + 1)
        return contributions

    def derivative(self, cause: int | str) -> tuple[Floats, Floats, Floats]:
        """How P and B of `contributions` = P - F(t) B come about, at each time: (2, times) each.

        What those have come to who are at risk up to a time, and what any event and one of the
        cause add at it.
        """
        row = self._row(cause)
        n, total, f = self.at_risk, self.events.sum(axis=0), self.incidence[row]
        own, b = self._before / n, self._ratio / n
        p_risk = np.cumsum(-own * self.events[row] / n - f * b * total / n)
        b_risk = np.cumsum(-b * total / n)
        added = np.stack((own, np.zeros_like(own)))
        return np.stack((p_risk, b_risk)), np.stack((f * b, b)), added

    def _jackknife(self, row: int) -> Floats:
        """Sum of squared contributions at every time, in one pass.

        The contribution of subject i to F(t) is P - F(t) B, where P and B stop at the subject's own
        time or at t: those at risk at t have the same, those who left keep theirs.
        """
        place, codes, weight = self._counts.place, self._counts.codes, self._counts.weight
        f, had, own = self.incidence[row], codes > 0, codes == row + 1
        (p_risk, b_risk), any_event, own_event = self.derivative(row + 1)
        since = self._counts.until_entry(p_risk), self._counts.until_entry(b_risk)
        p, q = p_risk[place] - since[0], b_risk[place] - since[1]
        p[had] += any_event[0, place[had]]
        q[had] += any_event[1, place[had]]
        p[own] += own_event[0, place[own]]
        size = self.times.size
        pp, pq, qq = (
            np.cumsum(np.bincount(place, weight * a, size)) for a in (p * p, p * q, q * q)
        )
        gone: Floats = pp - 2 * f * pq + f * f * qq

        def total(values: Floats) -> Floats:
            came = np.bincount(self._counts.entered, weight * values, size + 1)[:size]
            return np.cumsum(came - np.bincount(place, weight * values, size), dtype=np.float64)

        # Who is at risk after each time: x less what came before its entry.
        (a, b), x = since, p_risk - f * b_risk
        squares = total(a * a) - 2 * f * total(a * b) + f * f * total(b * b)
        return (
            gone + total(np.ones(weight.size)) * x * x - 2 * x * (total(a) - f * total(b)) + squares
        )

    def _aalen(self, row: int) -> Floats:
        """Delta method: increments of all causes as independent, with hypergeometric variances."""
        n, f = self.at_risk, self.incidence[row]
        spread = self.events * (n - self.events) / (np.maximum(n - 1.0, 1.0) * n * n)
        # The last subject's event has the variance of a Poisson count, as R's cmprsk has it.
        spread = np.where(n > 1, spread, self.events / (n * n))
        mine, others = spread[row], spread.sum(axis=0) - spread[row]
        a, c, r = self._before + f * self._ratio, f * self._ratio, self._ratio
        constant = np.cumsum(mine * a * a + others * c * c)
        linear = np.cumsum((mine * a + others * c) * r)
        squared = np.cumsum((mine + others) * r * r)
        variance: Floats = constant - 2 * f * linear + f * f * squared
        return variance

    def __repr__(self) -> str:
        ends = ", ".join(
            f"{name} {value:.4g}"
            for name, value in zip(self.causes, self.incidence[:, -1], strict=True)
        )
        return f"AalenJohansen({self.times.size} times, at {self.times[-1]:g}: {ends})"


def coded(y: Outcomes, competes: Bools) -> Outcomes:
    """Outcomes of two causes: the one that is asked about ("own") and all others ("other")."""
    return Outcomes(y.time, np.where(competes, 2, y.event), y.weight, ("own", "other"), y.entry)


@dataclass(frozen=True)
class FreeAt:
    """Probability of being free of an event at one time."""

    #: Past the last observed time its last value.
    value: float
    #: First-order contribution of each subject, all of them together 0: without subject i it is
    #: about value - contributions_i; of shape (n,).
    contributions: Floats
    stderr: float
    #: Whether nobody was observed up to the time although somebody is event-free at the end.
    open_ended: bool


def free_at(y: Outcomes, competes: Bools | None, time: float) -> FreeAt:
    """Kaplan-Meier at a time; where others compete, 1 - Aalen-Johansen of the cause.

    Examples
    --------
    >>> found = free_at(Outcomes([1, 2, 3], [1, 0, 1]), None, 2.5)
    >>> round(found.value, 3), found.contributions.round(3)
    (0.667, array([-0.222,  0.111,  0.111]))
    >>> y = Outcomes([1, 2, 3, 4], [1, 1, 0, 1])
    >>> free_at(y, np.array([False, True, False, False]), 3.0).value
    0.75
    """
    found = AalenJohansen.fit(y if competes is None else coded(y, competes))
    if competes is None:
        known = int(found.times.searchsorted(time, "right"))
        value = float(found.survival[known - 1]) if known else 1.0
    else:
        value = 1.0 - float(found.at(time, 1))
    one, present = found.contributions(time, 1), y.weight > 0
    if value == 0:  # nobody is free of the event, whoever is left out: no variance but rounding
        one = np.zeros_like(one)
    contributions = np.zeros(len(y))
    contributions[present] = -y.weight[present] * one
    stderr = float(np.sqrt(np.dot(y.weight[present], one**2)))
    open_ended = bool(found.times[-1] < time and found.survival[-1] > 0)
    return FreeAt(value, contributions, stderr, open_ended)


def subdistribution_weights(y: Any, times: Any, cause: int | str = 1) -> Floats:
    """Return the weight of each subject in the risk sets of Fine and Gray for a cause.

    A subject is at risk (1) up to its own time. After a competing event it stays at risk with the
    probability of not being censored meanwhile, G(t-)/G(T-), because without the event it might
    have been censored. After the event of the cause or censoring its weight is 0.

    Parameters
    ----------
    y : outcomes
        With several causes; anything that ``Outcomes.of(y, causes=True)`` reads.
    times : array-like of shape (k,)
        Times.
    cause : int or str
        Code or name of the cause.

    Returns
    -------
    ndarray of shape (n, k)

    References
    ----------
    Fine and Gray (1999), A proportional hazards model for the subdistribution of a competing risk,
    Journal of the American Statistical Association 94.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [2, 0, 1, 1])
    >>> subdistribution_weights(y, [1, 3, 4], cause=1).round(3)
    array([[1.   , 0.667, 0.667],
           [1.   , 0.   , 0.   ],
           [1.   , 1.   , 0.   ],
           [1.   , 1.   , 1.   ]])
    """
    outcomes = Outcomes.of(y, causes=True)
    grid = vector(times, "times", minimum=0.0)
    code = cause_code(cause, outcomes.causes or ("1",))
    g = KaplanMeier.fit_censoring(outcomes)
    weights = (outcomes.time[:, None] >= grid).astype(np.float64)
    if outcomes.cause is not None:
        rows = np.flatnonzero(outcomes.event & (outcomes.cause != code))
        stays = g.at(grid, "left") / g.at(outcomes.time[rows], "left")[:, None]
        weights[rows] = np.where(weights[rows] > 0, 1.0, stays)
    return weights
