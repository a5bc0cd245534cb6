"""A mixture of learners, each fitted without the subjects that it predicts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats, Ints
from ..._tools.random import stream
from ...data.outcomes import Outcomes
from ...errors import InputError
from ..learners import FitWarning
from .members import UNFIT, Grid, Member, Predict

#: Folds of the subjects; learners predict each one after being fitted on the others.
FOLDS = 5
#: Spans of time in which the likelihood looks for events: fewer, so that a distribution with a step
#: where another has none is not punished for it.
BINS = 20
#: Least probability of an outcome under a learner.
_LEAST = 1e-5


@dataclass(frozen=True)
class LearningTask:
    """Whom learners are fitted on, and whom they predict."""

    #: Covariates and outcomes of the N subjects who are fitted on.
    X: Floats
    y: Outcomes
    #: Covariates of the n subjects for whom curves are wanted.
    wanted: Floats
    #: Row of each of them among those who are fitted on; -1: none; of shape (n,).
    place: Ints
    seed: int

    @property
    def folds(self) -> Ints:
        """Fold of each subject who is fitted on.

        Drawn without a look at the outcomes: otherwise a subject's own outcome would decide which
        distribution it gets.
        """
        return stream(self.seed, "blending", "folds").permutation(len(self.y)) % FOLDS

    def with_outcomes(self, y: Outcomes) -> LearningTask:
        """Return the same subjects with other outcomes."""
        return LearningTask(self.X, y, self.wanted, self.place, self.seed)


@dataclass(frozen=True)
class Blend:
    """A fitted mixture of learners."""

    #: Times of the curves.
    grid: Grid
    #: Names of the learners that could be fitted.
    names: tuple[str, ...]
    #: Their weights, with sum 1; of shape (k,).
    weights: Floats
    #: Survival probabilities of the subjects for whom curves are wanted, by each of them, fitted
    #: without the subject; of shape (n, m) each.
    members: tuple[Floats, ...]
    #: Likelihood of each outcome under each learner that was fitted without it; of shape (N, k).
    likelihood: Floats
    #: How many times each subject counts; of shape (N,).
    frequency: Floats
    #: Learners that could not be fitted, with the reason.
    left_out: dict[str, str]

    @classmethod
    def fit(cls, subjects: LearningTask, grid: Grid, members: list[Member]) -> Blend:
        """Fit all members, leaving out those that the data do not allow."""
        names, curves, columns = [], [], []
        left_out: dict[str, str] = {}
        for member in members:
            if member.features and not subjects.X.shape[1]:
                left_out[member.name] = "no feature varies"
                continue
            try:
                predicted, likelihood = _cross_fitted(member, subjects, grid)
            except UNFIT as error:
                left_out[member.name] = f"could not be fitted: {error}"
                continue
            names.append(member.name)
            curves.append(predicted)
            columns.append(likelihood)
        if not names:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            raise InputError(f"members must include one that the data allow, such as km; {reasons}")
        likelihood = np.stack(columns, axis=1)
        frequency = np.asarray(subjects.y.weight)
        weights = mixture_weights(likelihood, frequency)
        return cls(grid, tuple(names), weights, tuple(curves), likelihood, frequency, left_out)

    @property
    def curves(self) -> Floats:
        """Survival probabilities of the mixture at the edges of the grid: (n, m)."""
        mixed = np.zeros(self.members[0].shape)
        for weight, survival in zip(self.weights, self.members, strict=True):
            mixed += weight * survival
        return mixed

    def gain(self) -> tuple[float, float]:
        """Gain over Kaplan-Meier in mean log-likelihood out of fold, and its standard error."""
        if "km" not in self.names:
            return 0.0, 0.0
        alone = self.likelihood[:, self.names.index("km")]
        difference = np.log(self.likelihood @ self.weights) - np.log(alone)
        mean = float(np.average(difference, weights=self.frequency))
        spread = float(np.average((difference - mean) ** 2, weights=self.frequency))
        return mean, float(np.sqrt(spread / self.frequency.sum()))


def _cross_fitted(member: Member, subjects: LearningTask, grid: Grid) -> tuple[Floats, Floats]:
    """Curves of the subjects for whom they are wanted, and the likelihood of the outcomes.

    Subjects who are fitted on are predicted by a learner that was fitted on the other folds, all
    others by one that was fitted on everybody.
    """
    X, y, seed, fold = subjects.X, subjects.y, subjects.seed, subjects.folds
    inside = np.flatnonzero(subjects.place >= 0)
    wanted = np.empty((subjects.place.size, grid.edges.size))
    likelihood = np.empty(len(y))
    for k in range(FOLDS):
        rest, rows = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if not rows.size:
            continue
        survival = _fit(member, X[rest], y[rest], grid, seed)(X[rows])
        likelihood[rows] = likelihoods(grid, survival, y[rows])
        here = inside[fold[subjects.place[inside]] == k]
        wanted[here] = survival[rows.searchsorted(subjects.place[here])]
    if inside.size < subjects.place.size:
        outside = np.flatnonzero(subjects.place < 0)
        wanted[outside] = _fit(member, X, y, grid, seed)(subjects.wanted[outside])
    return wanted, likelihood


def _fit(member: Member, X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    with warnings.catch_warnings():
        # Of columns that are collinear or of outcomes that are separated: the blend weighs a
        # member by what it predicts, however it came to it.
        warnings.simplefilter("ignore", FitWarning)
        return member.fit(X, y, grid, seed)


def likelihoods(grid: Grid, survival: Floats, y: Outcomes) -> Floats:
    """Likelihood of each subject's outcome under its own distribution: (n,).

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


def mixture_weights(likelihood: Floats, frequency: Floats) -> Floats:
    r"""Weights of the members of a mixture: (k,), with sum 1.

    Each is proportional to the likelihood :math:`\prod_i L_{ik}^{f_i}` of all outcomes under the
    member. So members that predict about equally well share the weight, and one that is clearly
    worse gets none: a mixture with it would be blunter than the best member alone, where censoring
    leaves little to observe and the distribution decides.

    `likelihood` has a row per subject and a column per member; `frequency` says how many times a
    subject counts.

    >>> mixture_weights(np.array([[0.5, 0.25], [0.5, 0.5]]), np.array([1.0, 3.0])).round(3)
    array([0.667, 0.333])
    """
    total = frequency @ np.log(likelihood)
    weights: Floats = np.exp(total - total.max())
    return weights / weights.sum()
