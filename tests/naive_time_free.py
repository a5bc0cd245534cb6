"""Time free of one cause up to tau under competing risks, by the definition: plain loops."""

from __future__ import annotations

import numpy as np
from naive_robust import LOSS


def value(time, code, cause, tau):
    """T if the event is of the cause and before tau; tau after a competing event, and at tau."""
    return time if code == cause and time < tau else tau


def steps(times, codes, weights=None):
    """Aalen-Johansen as a list: time, incidence of each cause there, survival after it."""
    weights = np.ones(len(times)) if weights is None else weights
    found, alive = [], 1.0
    for u in sorted({t for t, k in zip(times, codes, strict=True) if k > 0}):
        at_risk = sum(w for t, w in zip(times, weights, strict=True) if t >= u)
        rises = {}
        for t, k, w in zip(times, codes, weights, strict=True):
            if t == u and k > 0:
                rises[k] = rises.get(k, 0.0) + alive * w / at_risk
        alive -= sum(rises.values())
        found.append((u, rises, max(alive, 0.0) if alive > 1e-14 else 0.0))
    return found


def time_free(distribution, cause, tau):
    """Mean time free of the cause: tau less the area under its incidence."""
    return tau - sum((tau - u) * rises.get(cause, 0.0) for u, rises, _ in distribution if u < tau)


def expected(f, distribution, cause, tau, u):
    """E[f(time free of the cause) given no event by u]."""
    alive, total, own = 1.0, 0.0, 0.0
    for t, rises, left in distribution:
        if t <= u:
            alive = left
        elif t < tau:
            own += rises.get(cause, 0.0)
            total += rises.get(cause, 0.0) * f(t)
    if alive <= 0:  # the event comes at once, of this cause as often as it is this one in the end
        share = sum(rises.get(cause, 0.0) for _, rises, _ in distribution)
        return share * f(u) + (1 - share) * f(tau)
    return (total + f(tau) * (alive - own)) / alive


def phi(loss, time, code, p, distribution, cause, tau, jumps):
    """Doubly robust loss of one subject; `jumps` of G are (time, before, after)."""
    f = lambda t: LOSS[loss](t, p)  # noqa: E731
    m = lambda u: expected(f, distribution, cause, tau, u)  # noqa: E731
    y, seen = min(time, tau), code > 0 or time >= tau
    before = after = 1.0
    spent = 0.0
    for v, left, right in jumps:
        if v < y or (v == y and not seen):
            spent += m(v) * (1 / right - 1 / left)
        before = right if v < y else before
        after = right if v <= y else after
    own = f(value(time, code, cause, tau)) / before if seen else m(y) / after
    return own - spent
