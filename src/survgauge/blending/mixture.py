"""Weights of a mixture of laws, by the likelihood of outcomes that no member has seen."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from .grid import Grid

#: Spans of time in which the likelihood looks for events: fewer, so that a law with a step where
#: another has none is not punished for it.
BINS = 20
#: Weights are drawn to equal ones as if by this share of further subjects.
PRIOR = 0.02
_LEAST = 1e-5
_STEPS = 500
_CLOSE = 1e-7


def likelihoods(grid: Grid, survival: Floats, y: Outcomes) -> Floats:
    """Likelihood of each subject's outcome under its own law: (n,).

    An event counts with the probability of its bin, a censoring with the probability of being
    event-free then.
    """
    m = grid.edges.size
    ends = np.unique(np.linspace(0, m, min(BINS, m) + 1).round().astype(np.intp)[1:] - 1)
    rows = np.arange(len(y))
    bin_of = np.minimum(grid.edges[ends].searchsorted(y.time), ends.size - 1)
    after = survival[rows, ends[bin_of]]
    before = np.where(bin_of > 0, survival[rows, ends[bin_of - 1]], 1.0)
    seen = grid.edges.searchsorted(y.time, "right") - 1
    alive = np.where(seen >= 0, survival[rows, seen], 1.0)
    return np.maximum(np.where(y.event, before - after, alive), _LEAST)


def mixture_weights(likelihood: Floats, frequency: Floats, prior: float = PRIOR) -> Floats:
    r"""Weights of the members of a mixture: (k,), not negative, with sum 1.

    They maximise :math:`\sum_i f_i \log \sum_k w_k L_{ik} + \frac{\alpha n}{K} \sum_k \log w_k`
    by expectation and maximisation: each step gives a member the mean probability that a subject
    belongs to it. The objective is concave and rises with every step.

    `likelihood` has a row per subject and a column per member; `frequency` says how many times a
    subject counts. With `prior` alpha = 0 it is the maximum of the likelihood, with much of it
    weights are equal.
    """
    members = likelihood.shape[1]
    weights = np.full(members, 1.0 / members)
    total = frequency.sum()
    for _ in range(_STEPS):
        shares = likelihood * weights
        shares *= (frequency / shares.sum(axis=1))[:, None]
        latest = (shares.sum(axis=0) / total + prior / members) / (1.0 + prior)
        moved = float(np.abs(latest - weights).max())
        weights = latest
        if moved < _CLOSE:
            break
    return weights / weights.sum()
