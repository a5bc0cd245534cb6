"""Distribution of the event time given that it is later than c, under a survival function.

The survival function is Kaplan-Meier of the reference set, one for all subjects, or one curve per
subject: tables then have a row per subject, and are read at the subject's own place.

Under competing risks it is the distribution of the time free of one cause up to a horizon tau: T if
the event is of the cause and T < tau, and tau for everybody else, because after a competing event
that of the cause never comes. With S the probability of no event of any cause and F the incidence
of the cause,

    E[L given T > u] = L(tau) + (integral over (u, tau) of L(t) - L(tau) dF(t)) / S(u),

so that the integrals are those of a distribution whose steps are the steps of F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import exp1

from .._tools.arrays import Bools, Floats, Ints, look_up
from ..data.curves import SurvivalCurves
from ..data.incidence import IncidenceCurves
from ..data.interpolation import tail_survival
from ..errors import UndefinedMetricError
from .reference import Reference


@dataclass(frozen=True)
class Loss:
    """A loss, how to compute it, and the point of a curve that it is proper for."""

    name: str
    point: str  # "median" or "mean"
    of: Callable[[Floats, Floats], Floats]
    #: (name of f, g): the loss is sum f(t) g(p), times sign(t - p) if `signed`.
    terms: tuple[tuple[str, Callable[[Floats], Floats]], ...]
    signed: bool = True
    #: Which pairs (t, p) it is defined for; None: all.
    domain: Callable[[Floats, Floats], Bools] | None = None
    normalised: bool = False

    def defined(self, t: Floats, p: Floats) -> Bools:
        """Whether the loss has a value."""
        if self.domain is None:
            return np.ones(np.broadcast(t, p).shape, dtype=bool)
        return self.domain(t, p)


def _distance(t: Floats, p: Floats) -> Floats:
    gap = np.subtract(t, p)
    return np.abs(gap, out=gap)


def _squared(t: Floats, p: Floats) -> Floats:
    gap = np.subtract(t, p)
    return np.multiply(gap, gap, out=gap)


_ABSOLUTE_TERMS = (("t", np.ones_like), ("1", np.negative))

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("absolute", "median", _distance, _ABSOLUTE_TERMS),
        Loss(
            "squared",
            "mean",
            _squared,
            (("t2", np.ones_like), ("t", lambda p: -2 * p), ("1", np.square)),
            signed=False,
        ),
        Loss(
            "relative",
            "median",
            lambda t, p: _distance(t, p) / t,
            (("1", np.ones_like), ("1/t", np.negative)),
            domain=lambda t, p: np.broadcast_to(t > 0, np.broadcast(t, p).shape),
        ),
        Loss(
            "log",
            "median",
            lambda t, p: np.abs(np.log(t) - np.log(p)),
            (("log t", np.ones_like), ("1", lambda p: -np.log(p))),
            domain=lambda t, p: (t > 0) & (p > 0),
        ),
        Loss(
            "normalised",
            "median",
            _distance,
            _ABSOLUTE_TERMS,
            normalised=True,
        ),
    )
}
LOSSES["normalized"] = LOSSES["normalised"]


# f(t), and its antiderivative for the even density of the linear tail.
_FUNCTIONS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "1": (np.ones_like, lambda t: t),
    "t": (lambda t: t, lambda t: t * t / 2),
    "t2": (np.square, lambda t: t**3 / 3),
    "1/t": (lambda t: 1 / t, np.log),
    "log t": (np.log, lambda t: t * np.log(t) - t),
}


def value_of(name: str, t: Floats) -> Floats:
    """Return f(t) of a term of a loss; times of zero count as the least positive number."""
    return _FUNCTIONS[name][0](np.maximum(t, np.finfo(float).tiny))


def _exponential_moment(name: str, x: Floats, rate: Floats) -> Floats:
    """Integral of f(t) rate exp(-rate t) from x to infinity."""
    keep = np.exp(-rate * x)
    if name == "1":
        return keep
    if name == "t":
        return (x + 1 / rate) * keep
    if name == "t2":
        return (x * x + 2 * x / rate + 2 / rate**2) * keep
    if name == "1/t":
        return rate * exp1(rate * x)
    return np.log(x) * keep + exp1(rate * x)


def read(table: Floats, place: Ints) -> Floats:
    """Entries of a table at one place per subject; a table with rows is read row by row."""
    if table.ndim == 1:
        return table[place]
    return table[np.arange(table.shape[0]), place]


def _columns(table: Floats, places: Ints) -> Floats:
    """Some columns of a table; neighbours without copying them."""
    first = int(places[0]) if places.size else 0
    if np.array_equal(places, np.arange(first, first + places.size)):
        return table[..., first : first + places.size]
    return table[..., places]


class ResidualDistribution:
    """Expected losses given T > c, by partial sums: two look-ups a subject, no loop.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Times at which events happen before the tail begins, rising; those past `stop` count as it.
    survival : ndarray of shape (K + 1,) or (n, K + 1)
        Probability of being event-free before the first of them and after each; of all subjects,
        or of each.
    last : float
        Where the tail begins.
    tail : str
        How the distribution goes on; see `survgauge.data.interpolation`.
    stop : float
        The horizon (`tau`); nothing is later.
    own : ndarray of shape (K,) or (n, K), optional
        With competing risks, the probability of an event of the cause at each of the atoms, which
        are then the times of events of any cause. None: there is one kind of event.
    """

    def __init__(
        self,
        atoms: Floats,
        survival: Floats,
        last: float,
        tail: str,
        stop: float = np.inf,
        own: Floats | None = None,
    ) -> None:
        self.atoms = atoms
        self._survival = survival
        #: Whether it is one distribution for all subjects.
        self.shared = survival.ndim == 1
        #: Whether only some of the events are of the cause that is asked for, and their share.
        self.by_cause, self.share = own is not None, np.ones(())
        if own is not None:
            own = np.where(self.atoms < stop, own, 0.0)
            self.share = np.minimum(own.sum(axis=-1), 1.0)
        self._own = own
        # Where the horizon comes before the tail begins, what is left waits at the horizon.
        self._last, self._tail = np.float64(min(last, stop)), tail if last < stop else "hold"
        self.stop = stop
        self._sums: dict[str, Floats] = {}
        self._left = left = np.asarray(survival[..., -1], dtype=np.float64)
        #: Where the tail ends, and the probability that waits there.
        self._end, self._end_mass = np.full(left.shape, self._last), left
        self._has_tail = bool((left > 0).any())
        # From time zero it falls at once.
        if self._tail in ("linear", "exponential") and self._has_tail and last > 0:
            reach = np.full(left.shape, np.inf)
            if tail == "linear":
                with np.errstate(divide="ignore"):
                    reach = self._last / (1 - left)
            self._end = np.where(left > 0, np.minimum(reach, stop), self._last)
            self._end_mass = np.zeros(left.shape)
            if np.isfinite(stop):
                at_stop = tail_survival(np.float64(stop), self._last, left, tail)
                self._end_mass = np.where((left > 0) & (self._end == stop), at_stop, 0.0)

    @classmethod
    def of_reference(
        cls, reference: Reference, tail: str, code: int | None = None
    ) -> ResidualDistribution:
        """Return Kaplan-Meier of the reference set for all subjects, made once.

        With the code of a cause Aalen-Johansen, which has no tail.
        """

        def build() -> ResidualDistribution:
            atoms, survival = reference.distribution()
            if code is None:
                return cls(atoms, survival, reference.last_time, tail, reference.stop)
            check_follow_up(reference)
            own = own_hazards(reference, code) * survival[:-1]
            return cls(atoms, survival, np.inf, "hold", reference.stop, own)

        key = ResidualDistribution, tail if code is None else "", code
        found: ResidualDistribution = reference.cached(key, build)
        return found

    @classmethod
    def of_curves(
        cls, curves: SurvivalCurves | CauseIncidence, stop: float | None
    ) -> ResidualDistribution:
        """Return distributions of subjects on their common grid, with the tail of the curves.

        Steps are atoms where they are. What lies between two points of curves that are not steps
        is one atom in the middle of the two. What would come past the horizon happens at it.
        """
        every = curves if isinstance(curves, SurvivalCurves) else curves.curves
        times, end = every.times, np.inf if stop is None else stop
        atoms = times
        if every.interpolation != "step":
            atoms = (np.concatenate(([0.0], times[:-1])) + times) / 2
        survival = np.ones((len(every), times.size + 1))
        if isinstance(curves, SurvivalCurves):
            survival[:, 1:] = curves.survival
            return cls(np.minimum(atoms, end), survival, float(times[-1]), curves.tail, end)
        free = 1.0 - curves.curves.values.sum(axis=1, dtype=np.float64)
        # A horizon just past the end of the curves is met by them.
        if np.nextafter(times[-1], np.inf) < end and (free[:, -1] > 1e-9).any():
            raise UndefinedMetricError(
                f"conditional: the incidence ends at {times[-1]:g}, before the horizon tau "
                f"({end:g}); give incidence curves up to tau, or an earlier tau"
            )
        # Sums of several causes round: what is left of a distribution that is over would be noise.
        survival[:, 1:] = np.where(free > 1e-12, free, 0.0)
        own = np.diff(
            curves.curves.values[:, curves.code - 1].astype(np.float64), axis=1, prepend=0.0
        )
        return cls(np.minimum(atoms, end), survival, np.inf, "hold", end, own)

    @property
    def observed_until(self) -> float:
        """Where atoms of the distribution end: infinite where the horizon comes before."""
        return np.inf if self._last >= self.stop else self.last_atom

    @property
    def last_atom(self) -> float:
        """Last of the atoms; zero where there are none."""
        return float(self.atoms[-1]) if self.atoms.size else 0.0

    @property
    def unknown(self) -> Bools:
        """Whether the tail says nothing although there is one, or never falls."""
        if self._tail == "nan":
            return self._left > 0
        falls = self._tail == "hold" or self._last <= 0 or self.stop < np.inf
        return (self._left >= 1) & (not falls)

    def places(self, x: Floats) -> Ints:
        """For each time, the number of atoms at or before it."""
        found = look_up(self.atoms, x)
        return found if self.stop == np.inf else np.where(x >= self.stop, self.atoms.size, found)

    def _ahead(self, name: str) -> Floats:
        """Integrals of f over the events (of the cause) past u_j, j = 0..K."""
        known = self._survival if name == "1" and self._own is None else self._sums.get(name)
        if known is None:
            own = self._own
            if own is None:
                own = self._survival[..., :-1] - self._survival[..., 1:]
            # Nobody censored at c >= 0 has an event at 0 ahead, so f(0) is never used.
            f = value_of(name, np.minimum(self.atoms, self.stop)) * own
            known = np.zeros(self._survival.shape)
            np.cumsum(f[..., ::-1], axis=-1, out=known[..., -2::-1])
            if self._own is None:
                known += self._tail_above(name, np.float64(-1.0))[..., None]
            self._sums[name] = known  # complete: other threads may share the distribution
        return known

    def above(self, name: str, x: Floats, j: Ints) -> Floats:
        """Integral of f over (x, infinity) with respect to the distribution, one x and j a subject.

        j is the number of atoms at or before x.
        """
        total = read(self._ahead(name), j)
        late = x >= self._last
        if late.any():
            if self.shared:
                total[late] = self._tail_above(name, x[late])
            else:
                np.copyto(total, self._tail_above(name, x), where=late)
        return total

    def table(self, name: str, x: Floats) -> Floats:
        """Integral of f over (x, infinity) for common times x: (V,), or (n, V) by subject."""
        total = _columns(self._ahead(name), self.places(x))
        late = x >= self._last
        if late.any():
            total = total.copy()
            total[..., late] = self._tail_above(name, x[late], wide=not self.shared)
        return total

    def alive(self, x: Floats, j: Ints) -> Floats:
        """Probability of no event (of any cause) by x, one x and j a subject."""
        return self.above("1", x, j) if self._own is None else read(self._survival, j)

    def alive_table(self, x: Floats) -> Floats:
        """Probability of no event (of any cause) by common times x: (V,), or (n, V) by subject."""
        if self._own is None:
            return self.table("1", x)
        return _columns(self._survival, self.places(x))

    def _tail_above(self, name: str, x: float | Floats, wide: bool = False) -> Floats:
        """Integral of f over what lies past x and past the last atom, one x per subject.

        `wide`: all x for each subject.
        """
        f, primitive = _FUNCTIONS[name]
        left, end, point = (
            part[:, None] if wide else part for part in (self._left, self._end, self._end_mass)
        )
        waits = np.where(point > 0, end, 1.0)
        total = np.where(x < end, point * f(waits), 0.0)
        long = end > self._last
        if self._tail not in ("linear", "exponential") or not long.any():
            return total
        start = np.clip(x, self._last, end)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._tail == "linear":
                part = (1 - left) / self._last * (primitive(end) - primitive(start))
            else:
                rate = -np.log(left) / self._last
                part = _exponential_moment(name, start, rate)
                if np.isfinite(self.stop):
                    part = part - _exponential_moment(name, end, rate)
        return total + np.where(long, part, 0.0)

    def over(self, c: Floats, alive: Floats) -> Bools:
        """Whether nothing of the distribution lies past c (one, or one per subject)."""
        end = self._end if self._end.ndim == 0 or alive.ndim == 1 else self._end[:, None]
        # So close to the end that the rest would be made of rounding errors.
        return (alive <= 0) | (c >= end * (1 - 1e-8))

    def expected(
        self,
        loss: Loss,
        c: Floats,
        p: Floats,
        j: Ints,
        known: dict[str, Floats] | None = None,
        places: Ints | None = None,
    ) -> Floats:
        """E[loss(T, p) given T > c]; where nothing lies past c, T = c.

        Where the distribution is over by c, an event at c is of the cause with the probability of
        this cause at the end. `known` keeps what depends on c alone, for other predictions of the
        same subjects; `places` are those of p, where they are known.
        """
        known = {} if known is None else known
        for name in ("1", *(name for name, _ in loss.terms)):
            if name not in known:
                known[name] = self.above(name, c, j)
        if "alive" not in known:
            known["alive"] = known["1"] if self._own is None else self.alive(c, j)
        alive, total = known["alive"], np.zeros_like(c)
        split, beyond = np.maximum(c, p), j
        if loss.signed:
            beyond = np.maximum(j, self.places(p) if places is None else places)
        for name, g in loss.terms:
            part = known[name]
            if loss.signed:
                part = 2 * self.above(name, split, beyond) - part
            total += g(p) * part
        at_stop = loss.of(np.asarray(self.stop), p) if self.by_cause else np.zeros(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            total -= at_stop * known["1"]
            total /= alive
        total += at_stop
        # Rounding may leave a hair below zero where the loss is zero.
        np.maximum(total, 0.0, out=total)
        over = self.over(c, alive)
        if over.any():
            rest, share = (np.broadcast_to(x, c.shape)[over] for x in (at_stop, self.share))
            total[over] = rest + share * (loss.of(c[over], p[over]) - rest)
        return self._known(total)

    def mean(self, c: Floats, j: Ints) -> Floats:
        """E[T given T > c]."""
        alive, ahead, at_once = self.alive(c, j), self.above("t", c, j), c
        if self.by_cause:
            ahead = ahead + self.stop * (alive - self.above("1", c, j))
            at_once = self.stop - self.share * (self.stop - c)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = ahead / alive
        return self._known(np.where(self.over(c, alive), at_once, np.maximum(value, c)))

    def _known(self, values: Floats) -> Floats:
        unknown = self.unknown
        return np.where(unknown, np.nan, values) if np.any(unknown) else values


@dataclass(frozen=True)
class CauseIncidence:
    """Incidence curves of each subject, and the cause that counts."""

    curves: IncidenceCurves
    code: int

    def __getitem__(self, rows: slice | Ints) -> CauseIncidence:
        return replace(self, curves=self.curves[rows])

    @property
    def times(self) -> Floats:
        """The grid."""
        return self.curves.times


def check_follow_up(reference: Reference) -> None:
    """Refuse a reference set that ends before the horizon: nothing says which cause comes then."""
    end, tau = reference.whole.last_time, reference.stop
    if end < tau and reference.whole.last_survival > 0:
        raise UndefinedMetricError(
            f"the reference set is followed up to {end:g} only, and tau is {tau:g}: which cause "
            f"comes in between is not known; give a tau of at most {end:g}"
        )


def own_hazards(reference: Reference, code: int) -> Floats:
    """d/n of a cause at the event times of any cause, up to the last of the set."""
    events, y = reference.distribution()[0], reference.going_on
    mine = y.cause == code
    weight = y.weight[mine] if y.frequency is not None else None
    if not events.size:
        return np.empty(0)
    count = np.bincount(look_up(events, y.time[mine], "left"), weight, events.size)
    hazards: Floats = count / reference.whole.at_events()[0]
    return hazards
