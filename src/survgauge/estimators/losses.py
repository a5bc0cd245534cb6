"""Losses between a time and a prediction. They have nothing to do with censoring.

Each loss is a sum of products f(t) g(p), with a sign where it is an absolute value, so that its
expectation over any distribution of t needs no more than partial sums of the f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Bools, Floats


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


def _one(p: Floats) -> Floats:
    return np.ones_like(p)


def _minus(p: Floats) -> Floats:
    return -p


_ABSOLUTE_TERMS = (("t", _one), ("1", _minus))

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("absolute", "median", _distance, _ABSOLUTE_TERMS),
        Loss(
            "squared",
            "mean",
            _squared,
            (("t2", _one), ("t", lambda p: -2 * p), ("1", np.square)),
            signed=False,
        ),
        Loss(
            "relative",
            "median",
            lambda t, p: _distance(t, p) / t,
            (("1", _one), ("1/t", _minus)),
            domain=lambda t, p: np.broadcast_to(t > 0, np.broadcast(t, p).shape),
        ),
        Loss(
            "log",
            "median",
            lambda t, p: np.abs(np.log(t) - np.log(p)),
            (("log t", _one), ("1", lambda p: -np.log(p))),
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
