"""Doubly robust losses by the definition, one subject at a time: what the fast code must equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

#: Integrals of smooth functions over the tail.
EXACT = {"epsabs": 1e-13, "epsrel": 1e-12, "limit": 200}

LOSS = {
    "absolute": lambda t, p: abs(t - p),
    "squared": lambda t, p: (t - p) ** 2,
    "relative": lambda t, p: abs(t - p) / t,
    "log": lambda t, p: abs(np.log(t) - np.log(p)),
    "normalised": lambda t, p: abs(t - p),
}


@dataclass
class Distribution:
    """A distribution with atoms, and a tail from `last` on where they leave something over."""

    atoms: list
    survival: list
    last: float
    tail: str = "linear"
    tau: float = np.inf

    @property
    def points(self):
        """Atoms with their weights, those past the horizon at the horizon."""
        before, found = 1.0, []
        for t, s in zip(self.atoms, self.survival, strict=True):
            found.append((min(t, self.tau), before - s))
            before = s
        left = self.survival[-1] if len(self.survival) else 1.0
        if left > 0 and (self.tail == "hold" or self.last >= self.tau):
            found.append((min(self.last, self.tau), left))
        elif left > 0 and np.isfinite(self.tau):
            found.append((self.tau, self.tail_survival(self.tau)))
        return found

    def tail_survival(self, t):
        """Survival past the last time."""
        left = self.survival[-1] if len(self.survival) else 1.0
        if self.tail == "linear":
            return max(0.0, 1 - t / self.last * (1 - left))
        return left ** (t / self.last)

    def expected(self, f, u, kinks=()):
        """E[f(T) given T > u], f(u) where nothing is later."""
        total = sum(weight * f(t) for t, weight in self.points if t > u)
        alive = sum(weight for t, weight in self.points if t > u)
        left = self.survival[-1] if len(self.survival) else 1.0
        if left > 0 and self.tail != "hold" and self.last < self.tau:
            start = max(u, self.last)
            if self.tail == "linear":
                end = min(self.last / (1 - left) if left < 1 else np.inf, self.tau)
                density = lambda t: (1 - left) / self.last  # noqa: E731
            else:
                rate = -np.log(left) / self.last
                end = min(60 / rate + self.last, self.tau)
                density = lambda t: rate * np.exp(-rate * t)  # noqa: E731
            cuts = sorted({start, end, *(k for k in kinks if start < k < end)})
            for a, b in zip(cuts, cuts[1:], strict=False):
                if a >= start and b <= end:
                    total += quad(lambda t: f(t) * density(t), a, b, **EXACT)[0]
                    alive += quad(density, a, b, **EXACT)[0]
        return total / alive if alive > 1e-9 else f(u)


def floored(times, values, floor):
    """Jumps of G until the first that would take it below the floor."""
    kept, before = [], 1.0
    for t, value in zip(times, values, strict=True):
        if value < floor:
            break
        if value < before:
            kept.append((t, before, value))
        before = value
    return kept


def phi(loss, y, event, p, distribution, jumps):
    """Doubly robust loss of one subject; `jumps` of G are (time, before, after)."""
    f = lambda t: LOSS[loss](t, p)  # noqa: E731
    return phi_of(f, y, event, distribution, jumps, kinks=(p,))


def phi_of(f, y, event, distribution, jumps, kinks=()):
    """Doubly robust value of any function of the event time."""
    m = lambda u: distribution.expected(f, u, kinks)  # noqa: E731
    before = after = 1.0
    spent = 0.0
    for v, left, right in jumps:
        if v < y or (v == y and not event):
            spent += m(v) * (1 / right - 1 / left)
        before = right if v < y else before
        after = right if v <= y else after
    return (f(y) / before if event else m(y) / after) - spent


def phi_by_residuals(loss, y, event, p, distribution, jumps):
    """The other form, for distributions of atoms alone: a plug-in plus residuals."""
    f = lambda t: LOSS[loss](t, p)  # noqa: E731
    total, alive = distribution.expected(f, -1.0), 1.0
    for t, weight in distribution.points:
        if t > y or alive <= 1e-12:
            break
        before = 1.0
        for v, _, right in jumps:
            before = right if v < t else before
        residual = f(t) - distribution.expected(f, t)
        total += residual / before * ((event and t == y) - weight / alive)
        alive -= weight
    return total
