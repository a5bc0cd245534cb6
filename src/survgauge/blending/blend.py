"""A mixture of members: fitted out of fold for its weights, then on all rows for its curves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, Ints
from .._tools.random import stream
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..models.errors import FitWarning
from .grid import Grid
from .members import UNFIT, Member, Predict

#: Folds of the cross-validation that the weights come from.
FOLDS = 3
#: Spans of time in which the likelihood looks for events: fewer, so that a law with a step where
#: another has none is not punished for it.
BINS = 20
#: Weights are drawn to equal ones as if by this share of further subjects.
PRIOR = 0.02
_LEAST = 1e-5
_STEPS = 500
_CLOSE = 1e-7


@dataclass(frozen=True)
class Blend:
    """A fitted mixture of members."""

    #: Times of the curves.
    grid: Grid
    #: Those that could be fitted.
    members: tuple[Member, ...]
    #: Survival probabilities of rows by each member.
    predict: tuple[Predict, ...]
    #: Of the members; their sum is 1; of shape (k,).
    weights: Floats
    #: Of each outcome under each member that was fitted without it; of shape (n, k).
    likelihood: Floats
    #: How many times each subject counts; of shape (n,).
    frequency: Floats
    #: Members that could not be fitted, with the reason.
    left_out: dict[str, str]

    @classmethod
    def fit(cls, X: Floats, y: Outcomes, grid: Grid, members: list[Member], seed: int) -> Blend:
        """Fit all members, leaving out those that the data do not allow."""
        fold = _folds(y, seed)
        kept, predict, columns = [], [], []
        left_out: dict[str, str] = {}
        for member in members:
            if member.features and not X.shape[1]:
                left_out[member.name] = "no feature varies"
                continue
            try:
                columns.append(_out_of_fold(member, X, y, grid, fold, seed))
                predict.append(_fit(member, X, y, grid, seed))
                kept.append(member)
            except UNFIT as error:
                left_out[member.name] = f"could not be fitted: {error}"
                columns = columns[: len(kept)]
        if not kept:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            raise InputError(f"members must include one that the data allow, such as km; {reasons}")
        likelihood = np.stack(columns, axis=1)
        weights = mixture_weights(likelihood, y.weight)
        return cls(
            grid, tuple(kept), tuple(predict), weights, likelihood, np.asarray(y.weight), left_out
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(member.name for member in self.members)

    def curves(self, X: Floats) -> tuple[Floats, list[Floats]]:
        """Survival probabilities of rows by the blend, and by each member: (n, m) each."""
        single = [predict(X) for predict in self.predict]
        mixed = np.zeros((X.shape[0], self.grid.edges.size))
        for weight, survival in zip(self.weights, single, strict=True):
            mixed += weight * survival
        return mixed, single

    def gain(self) -> tuple[float, float]:
        """Gain over Kaplan-Meier in mean log-likelihood out of fold, and its standard error."""
        if "km" not in self.names:
            return 0.0, 0.0
        alone = self.likelihood[:, self.names.index("km")]
        difference = np.log(self.likelihood @ self.weights) - np.log(alone)
        mean = float(np.average(difference, weights=self.frequency))
        spread = float(np.average((difference - mean) ** 2, weights=self.frequency))
        return mean, float(np.sqrt(spread / self.frequency.sum()))


def _folds(y: Outcomes, seed: int) -> Ints:
    """Fold of each subject; events and censored subjects are dealt out by themselves."""
    fold = np.empty(len(y), dtype=np.intp)
    draw = stream(seed, "blending", "weights")
    for rows in (np.flatnonzero(y.event), np.flatnonzero(~y.event)):
        fold[rows] = draw.permutation(rows.size) % FOLDS
    return fold


def _out_of_fold(
    member: Member, X: Floats, y: Outcomes, grid: Grid, fold: Ints, seed: int
) -> Floats:
    """Likelihood of each outcome under the member as fitted on the other folds: (n,)."""
    found = np.empty(len(y))
    for k in range(FOLDS):
        rest, rows = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if rows.size:
            survival = _fit(member, X[rest], y[rest], grid, seed)(X[rows])
            found[rows] = likelihoods(grid, survival, y[rows])
    return found


def _fit(member: Member, X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    with warnings.catch_warnings():
        # Of columns that are collinear or of outcomes that are separated: the blend weighs a
        # member by what it predicts, however it came to it.
        warnings.simplefilter("ignore", FitWarning)
        return member.fit(X, y, grid, seed)


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
