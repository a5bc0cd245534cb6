"""The learners that a blend is made of: each gives survival probabilities on a shared grid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints
from ..._tools.extras import installed
from ..._tools.random import stream
from ...data.outcomes import Outcomes
from ...errors import InputError, as_names, one_of
from ..cox import CoxModel
from ..kaplan_meier import KaplanMeier
from ..learners import FitWarning, ModelError

#: Most times of a distribution, besides the end of follow-up.
MOST_TIMES = 100


@dataclass(frozen=True)
class Grid:
    """Spans of time that hold about equally many events.

    A step curve on few times moves the events of a span to one time. Were it the end of the span,
    all events would come late; the mean event time of the span keeps the mean of the distribution.

    Examples
    --------
    >>> grid = Grid.of(Outcomes([1, 2, 3, 4, 6], [1, 1, 1, 1, 0]), most=2)
    >>> grid.edges, grid.jumps
    (array([2., 4., 6.]), array([1.5, 3.5, 6. ]))
    """

    #: Last time of each span; members give their survival probability there. The last one is the
    #: end of follow-up; of shape (m,).
    edges: Floats
    #: Mean event time of each span, where the curves that are given back have their steps; of shape
    #: (m,).
    jumps: Floats

    @classmethod
    def of(cls, y: Outcomes, real: Floats | None = None, most: int = MOST_TIMES) -> Grid:
        """Grid of the event times of `y`; every event time where there are at most `most`.

        `real` has the times where those of `y` stand for their order only: spans are cut by
        order, and steps come at real times.
        """
        real = y.time if real is None else real
        times = y.time[y.event]
        edges = np.unique(times)
        if edges.size > most:
            levels = np.arange(1, most + 1) / most
            edges = np.unique(np.quantile(times, levels, method="inverted_cdf"))
        span = edges.searchsorted(times)
        jumps = np.bincount(span, real[y.event], edges.size) / np.bincount(span)
        if not edges.size or y.time.max() > edges[-1]:
            edges, jumps = np.append(edges, y.time.max()), np.append(jumps, real.max())
        # Rounding of a mean may carry it past its neighbour's.
        return cls(edges, np.maximum.accumulate(jumps))

    def rounded(self, y: Outcomes) -> Outcomes:
        """Outcomes with times rounded to edges, for learners whose work grows with the times.

        Events go to the end of their span and censored subjects to the nearest edge, so that half
        of those who leave inside a span are at risk in it.
        """
        between = (self.edges[1:] + self.edges[:-1]) / 2
        nearest = self.edges[between.searchsorted(y.time)]
        # Those past the last edge count to the last span.
        span = np.minimum(self.edges.searchsorted(y.time), self.edges.size - 1)
        time = np.where(y.event, self.edges[span], nearest)
        return Outcomes(time, y.event, y.frequency)


#: Survival probabilities of rows at the edges of the grid: (n, m).
Predict = Callable[[Floats], Floats]

#: What a learner raises on data that it cannot be fitted on: it is then left out of the blend.
UNFIT = (InputError, ModelError)


@dataclass(frozen=True)
class Member:
    """A learner of the blend."""

    #: Name in `members=`, and words for people.
    name: str
    title: str
    #: (X, y, grid, seed) to a function of rows.
    fit: Callable[[Floats, Outcomes, Grid, int], Predict]
    #: Packages without which it is left out.
    needs: tuple[str, ...] = ()
    #: Extra of this package that brings them.
    extra: str = ""
    #: Whether it reads the features.
    features: bool = True

    @property
    def is_here(self) -> bool:
        """Whether the packages that it needs are installed."""
        return all(map(installed, self.needs))


#: l2 penalty on standardised coefficients, per column and event, and the least: hardly felt with
#: hundreds of events and few columns, and steady with few events or many columns.
COX_PENALTY, LEAST_PENALTY = 20.0, 1.0
FOREST = {"n_estimators": 50, "min_samples_leaf": 15, "memory": None}
BOOSTING = {"n_estimators": 50, "learning_rate": 0.1, "max_depth": 3, "min_samples_leaf": 10}
#: Quantiles between which trees cannot tell the values of a feature apart.
_LEVELS = np.arange(1, 16) / 16


def _kaplan_meier(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    survival = KaplanMeier.fit(y).at(grid.edges)
    return lambda rows: np.broadcast_to(survival, (rows.shape[0], survival.size))


def _cox(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    columns_per_event = X.shape[1] / max(float(y.weight[y.event].sum()), 1.0)
    model = CoxModel.fit(X, y, max(LEAST_PENALTY, COX_PENALTY * columns_per_event))
    return lambda rows: model.survival(rows, grid.edges)


def _trees(name: str, settings: dict[str, Any]) -> Callable[..., Predict]:
    """Fit a learner of trees, on features and times of few levels: a tree tries every one."""

    def fit(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
        cuts = [np.unique(np.quantile(column, _LEVELS, method="lower")) for column in X.T]

        def levels(rows: Floats) -> Floats:
            columns = [cut.searchsorted(c) for cut, c in zip(cuts, rows.T, strict=True)]
            return np.stack(columns, axis=1).astype(np.float64)

        from ..learners import trees  # needs scikit-learn

        model = getattr(trees, name)(random_state=seed % 2**31, **settings)
        model.fit(levels(X), grid.rounded(y))
        return lambda rows: model.predict_curves(levels(rows)).at(grid.edges)

    return fit


#: All members by name, in the order in which they are told.
MEMBERS = {
    member.name: member
    for member in (
        Member("km", "Kaplan-Meier", _kaplan_meier, features=False),
        Member("cox", "ridge Cox", _cox),
        Member(
            "forest", "random survival forest", _trees("SurvivalForest", FOREST),
            needs=("sklearn", "sksurv"), extra="sksurv",
        ),
        Member(
            "boosting", "boosted trees", _trees("TreeBoosting", BOOSTING),
            needs=("sklearn",), extra="sklearn",
        ),
    )
}  # fmt: skip


def chosen_members(names: Iterable[str] | None) -> tuple[list[Member], dict[str, str]]:
    """Members by name, or all that are installed; and what was left out, with the reason."""
    if names is None:
        here = [member for member in MEMBERS.values() if member.is_here]
        missing = [member for member in MEMBERS.values() if not member.is_here]
        return here, {m.name: f"needs the extra {m.extra!r}" for m in missing}
    given = as_names([names] if isinstance(names, str) else names, "members")
    for name in given:
        one_of("members", name, MEMBERS)
    if not given:
        raise InputError(f"members must name at least one of {', '.join(MEMBERS)}; got none")
    unusable = [name for name in given if not MEMBERS[name].is_here]
    if unusable:
        member = MEMBERS[unusable[0]]
        raise InputError(
            f"members: {member.name!r} needs an extra: pip install 'survgauge[{member.extra}]'"
        )
    return [MEMBERS[name] for name in dict.fromkeys(given)], {}


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
