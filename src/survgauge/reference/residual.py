"""The law of the event time given that it is later than c, under a survival function and its tail.

The survival function is Kaplan-Meier of the reference set, one for all subjects, or one curve per
subject: tables then have a row per subject, and are read at the subject's own place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import exp1

from .._tools.arrays import Bools, Floats, Ints
from .._tools.places import Places
from ..data.curves import SurvivalCurves
from ..data.tails import tail_survival
from .losses import Loss
from .reference import Reference

# f(t), and its antiderivative for the uniform mass of the linear tail.
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


def columns(table: Floats, places: Ints) -> Floats:
    """Some columns of a table; neighbours without copying them."""
    first = int(places[0]) if places.size else 0
    if np.array_equal(places, np.arange(first, first + places.size)):
        return table[..., first : first + places.size]
    return table[..., places]


class ResidualLaw:
    """Expected losses given T > c, by partial sums: two look-ups a subject, no loop.

    Parameters
    ----------
    atoms : ndarray of shape (K,) or Places
        Times at which events happen before the tail begins, rising; those past `stop` count as it.
    survival : ndarray of shape (K + 1,) or (n, K + 1)
        Probability of being event-free before the first of them and after each; of all subjects,
        or of each.
    last : float
        Where the tail begins.
    tail : str
        How the law goes on; see `survgauge.data.tails`.
    stop : float
        Where the clock stops (`tau`); nothing is later.
    """

    #: Whether only some of the events are of the cause that is asked for; see `CauseLaw`.
    by_cause = False
    #: Share of the events that is of this cause.
    share: Floats = np.ones(())

    def __init__(
        self,
        atoms: Floats | Places,
        survival: Floats,
        last: float,
        tail: str,
        stop: float = np.inf,
    ) -> None:
        self._places = atoms if isinstance(atoms, Places) else Places(atoms)
        self.atoms = self._places.table
        self._survival = survival
        # Where the clock stops before the tail begins, what is left waits at the stop.
        self._last, self._tail = np.float64(min(last, stop)), tail if last < stop else "hold"
        self.stop = stop
        self._sums: dict[str, Floats] = {}
        self._left = left = np.asarray(survival[..., -1], dtype=np.float64)
        #: Where the tail's mass ends, and the point mass that waits there.
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
    def of_reference(cls, reference: Reference, tail: str) -> ResidualLaw:
        """Return Kaplan-Meier of the reference set as the law of all subjects, made once."""
        given = *reference.law(), reference.last_time, tail, reference.stop
        found: ResidualLaw = reference.cached((ResidualLaw, tail), lambda: cls(*given))
        return found

    @classmethod
    def of_curves(cls, curves: SurvivalCurves, stop: float | None) -> ResidualLaw:
        """Return a law per subject on the grid that they share, with the tail of the curves.

        Steps are atoms where they are. What lies between two points of curves that are not steps
        is one atom in the middle of the two.
        """
        times, end = curves.times, np.inf if stop is None else stop
        if curves.interpolation != "step":
            times = (np.concatenate(([0.0], times[:-1])) + times) / 2
        values = np.ones((len(curves), times.size + 1))
        values[:, 1:] = curves.survival
        # What would come past the horizon happens at it.
        return cls(np.minimum(times, end), values, float(curves.times[-1]), curves.tail, end)

    @property
    def shared(self) -> bool:
        """Whether it is one law for all subjects."""
        return self._survival.ndim == 1

    @property
    def observed_until(self) -> float:
        """Where the law is no longer known by its atoms: infinite where the clock stops before."""
        return np.inf if self._last >= self.stop else self.last_atom

    @property
    def last_atom(self) -> float:
        """Last of the atoms; zero where there are none."""
        return float(self.atoms[-1]) if self.atoms.size else 0.0

    @property
    def unknown(self) -> Bools:
        """Whether the tail says nothing although there is one, or never falls."""
        return (self._left > 0) & ((self._tail == "nan") | self._never_falls)

    @property
    def _never_falls(self) -> Bools:
        linear, exponential = self._tail == "linear", self._tail == "exponential"
        return (linear | exponential) & (self._left >= 1) & (self._last > 0) & np.isinf(self.stop)

    def places(self, x: Floats) -> Ints:
        """For each time, the number of atoms at or before it."""
        found = self.passed(x)
        return found if self.stop == np.inf else np.where(x >= self.stop, self.atoms.size, found)

    def passed(self, x: Floats, side: str = "right") -> Ints:
        """Return the number of atoms before each time, wherever the clock stops; or also at it."""
        return self._places.of(x, side)

    def _ahead(self, name: str) -> Floats:
        """Integrals of f over what lies past u_j, j = 0..K, before the tail begins."""
        known = self._survival if name == "1" else self._sums.get(name)
        if known is None:
            # Nobody censored at c >= 0 has an event at 0 ahead, so f(0) is never used.
            f = value_of(name, np.minimum(self.atoms, self.stop))
            f = f * (self._survival[..., :-1] - self._survival[..., 1:])  # the mass of the steps
            known = np.zeros(self._survival.shape)
            np.cumsum(f[..., ::-1], axis=-1, out=known[..., -2::-1])
            known += self._tail_above(name, np.float64(-1.0))[..., None]
            self._sums[name] = known  # complete: other threads may share the law
        return known

    def above(self, name: str, x: Floats, j: Ints) -> Floats:
        """Integral of f over (x, infinity) with respect to the law, one x and j a subject.

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
        total = columns(self._ahead(name), self.places(x))
        late = x >= self._last
        if late.any():
            total = total.copy()
            total[..., late] = self._tail_above(name, x[late], wide=not self.shared)
        return total

    def alive(self, x: Floats, j: Ints) -> Floats:
        """Probability of being event-free at x, one x and j a subject."""
        return self.above("1", x, j)

    def alive_table(self, x: Floats) -> Floats:
        """Probability of being event-free at common times x: (V,), or (n, V) by subject."""
        return self.table("1", x)

    def _tail_above(self, name: str, x: Floats, wide: bool = False) -> Floats:
        """Integral of f over what lies past x and past the last atom, one x per subject.

        `wide`: all x for each subject.
        """
        f, primitive = _FUNCTIONS[name]
        left, end, mass = (
            part[:, None] if wide else part for part in (self._left, self._end, self._end_mass)
        )
        waits = np.where(mass > 0, end, 1.0)
        total = np.where(x < end, mass * f(waits), 0.0)
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
        """Whether nothing of the law lies past c, one c per subject or the same for all."""
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

        `known` keeps what depends on c alone, for other predictions of the same subjects; `places`
        are those of p, where they are known.
        """
        known = {} if known is None else known
        total = self._integral(loss, c, p, j, known, places)
        alive = known["1"]
        with np.errstate(divide="ignore", invalid="ignore"):
            total /= alive
        # Rounding may leave a hair below zero where the loss is zero.
        np.maximum(total, 0.0, out=total)
        over = self.over(c, alive)
        if over.any():
            total[over] = loss.of(c[over], p[over])
        return self._known(total)

    def _integral(
        self,
        loss: Loss,
        c: Floats,
        p: Floats,
        j: Ints,
        known: dict[str, Floats],
        places: Ints | None,
    ) -> Floats:
        """Integral of the loss over (c, infinity) with respect to the law."""
        for name in ("1", *(name for name, _ in loss.terms)):
            if name not in known:
                known[name] = self.above(name, c, j)
        split = np.maximum(c, p)
        beyond = j
        if loss.signed:
            beyond = np.maximum(j, self.places(p) if places is None else places)
        total = np.zeros_like(c)
        for name, g in loss.terms:
            part = known[name]
            if loss.signed:
                part = 2 * self.above(name, split, beyond) - part
            total += g(p) * part
        return total

    def mean(self, c: Floats, j: Ints) -> Floats:
        """E[T given T > c]."""
        alive = self.above("1", c, j)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.above("t", c, j) / alive
        return self._known(np.where(self.over(c, alive), c, np.maximum(value, c)))

    def _known(self, values: Floats) -> Floats:
        unknown = self.unknown
        return np.where(unknown, np.nan, values) if np.any(unknown) else values
