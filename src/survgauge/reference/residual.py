"""The law of the event time given that it is later than c, under Kaplan-Meier and its tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import exp1

from .._tools.arrays import Bools, Floats, Ints, look_up
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


def _exponential_moment(name: str, x: Floats, rate: float) -> Floats:
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


class ResidualLaw:
    """Expected losses given T > c, by partial sums: two look-ups a subject, no loop."""

    def __init__(self, reference: Reference, tail: str) -> None:
        self._tail = tail
        self._atoms = reference.event_times
        self._survival = reference.survival
        self._sums: dict[str, Floats] = {}
        self._last, self._left = reference.last_time, reference.last_survival
        stop = reference.stop
        #: Where the tail's mass ends, and the point mass that waits there.
        self._end, self._end_mass = self._last, 0.0
        if tail == "hold" or self._left == 0:
            self._end_mass = self._left
        elif tail == "linear":
            self._end = min(self._last / (1 - self._left), stop)
        elif tail == "exponential" and self._last > 0:  # from time zero it falls at once
            self._end = stop
        if tail in ("linear", "exponential") and self._left > 0 and np.isfinite(stop):
            ends = np.float64(self._last), np.float64(self._left)
            at_stop = tail_survival(np.float64(stop), *ends, tail)
            self._end_mass = float(at_stop) if self._end == stop else 0.0

    def _atoms_above(self, name: str) -> Floats:
        """Sum of f times mass over the event times past u_j, j = 0..K."""
        known = self._sums.get(name)
        if known is None:
            # Nobody censored at c >= 0 has an event at 0 ahead, so f(0) is never used.
            f = _FUNCTIONS[name][0](np.maximum(self._atoms, np.finfo(float).tiny))
            f = f * (self._survival[:-1] - self._survival[1:])  # the mass of the steps
            known = np.zeros(f.size + 1)
            np.cumsum(f[::-1], out=known[-2::-1])
            self._sums[name] = known  # complete: other threads may share the law
        return known

    def _above(self, name: str, x: Floats, j: Ints) -> Floats:
        """Integral of f over (x, infinity) with respect to the distribution, j atoms being <= x."""
        f, primitive = _FUNCTIONS[name]
        total = self._atoms_above(name)[j]
        if self._left == 0:
            return total
        if self._end_mass > 0:
            total += np.where(x < self._end, self._end_mass * f(np.float64(self._end)), 0.0)
        start = np.clip(x, self._last, self._end)
        if self._tail == "linear" and self._end > self._last:
            density = (1 - self._left) / self._last
            total += density * (primitive(np.float64(self._end)) - primitive(start))
        elif self._tail == "exponential" and self._end > self._last:
            rate = -np.log(self._left) / self._last
            total += _exponential_moment(name, start, rate)
            if np.isfinite(self._end):
                total -= _exponential_moment(name, np.float64(self._end), rate)
        return total

    def _over(self, c: Floats, alive: Floats) -> Bools:
        """Whether nothing of the law lies past c."""
        # So close to the end that the rest would be made of rounding errors.
        return (alive <= 0) | (c >= self._end * (1 - 1e-8))

    def expected(
        self, loss: Loss, c: Floats, p: Floats, j: Ints, known: dict[str, Floats] | None = None
    ) -> Floats:
        """E[loss(T, p) given T > c]; where nothing lies past c, T = c.

        `known` keeps what depends on c alone, for other predictions of the same subjects.
        """
        if self._tail == "nan" and self._left > 0:
            return np.full(c.shape, np.nan)
        known = {} if known is None else known
        for name in ("1", *(name for name, _ in loss.terms)):
            if name not in known:
                known[name] = self._above(name, c, j)
        alive = known["1"]
        split = np.maximum(c, p)
        beyond = np.maximum(j, look_up(self._atoms, p, "right")) if loss.signed else j
        total = np.zeros_like(c)
        for name, g in loss.terms:
            part = known[name]
            if loss.signed:
                part = 2 * self._above(name, split, beyond) - part
            total += g(p) * part
        with np.errstate(divide="ignore", invalid="ignore"):
            total /= alive
        # Rounding may leave a hair below zero where the loss is zero.
        np.maximum(total, 0.0, out=total)
        over = self._over(c, alive)
        if over.any():
            total[over] = loss.of(c[over], p[over])
        return total

    def mean(self, c: Floats, j: Ints) -> Floats:
        """E[T given T > c]."""
        if self._tail == "nan" and self._left > 0:
            return np.full(c.shape, np.nan)
        alive = self._above("1", c, j)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self._above("t", c, j) / alive
        return np.where(self._over(c, alive), c, np.maximum(value, c))
