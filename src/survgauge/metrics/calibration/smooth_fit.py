"""The smoother of ICI: a regression of what was observed on a spline of the prediction."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..._tools.arrays import Floats, Ints, dot, repeated
from ..._tools.chunks import chunks
from ..._tools.sorting import sorting_order
from ...errors import UndefinedMetricError
from ...reference.risk_sets import combine, product
from ..cox import CoxRegression
from ..details import Clusters
from .distance_intervals import SmoothGap
from .inputs import log_log
from .kernels import weighted_quantile
from .pseudo_regression import PseudoRegression

# Where Harrell puts the knots: quantiles of the covariate.
KNOTS = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
}
#: Subjects among whom different predictions are looked for first.
_FIRST = 1_000
#: Subjects by which the law of the mean distance is told.
_POINTS = 64


#: A fit of what was observed to few columns of subjects.
Regress = Callable[[Floats], CoxRegression | PseudoRegression]


class SmoothFit:
    """The fitted smoother with its derivatives, so that replicates need no new fit.

    `rows` says where the subjects came from, `weights` how often each is there, and `gap` how the
    mean distance of such a fit varies.
    """

    def __init__(
        self, s: Floats, weights: Floats | None, rows: Ints, time: float, knots: int,
        regress: Regress, gap: type[SmoothGap],
    ) -> None:  # fmt: skip
        self._gap = gap
        self.s, self.rows, self.time = s, rows, time
        self.weight: Floats = repeated(1.0, s.size) if weights is None else weights
        self.weights = weights
        x, self.moved = log_log(s)
        self.terms, self.knots = _choose_knots(x, weights, knots)
        self.fit = regress(self._columns_to_change(x))
        if self.terms == "spline" and not self.fit.identified:
            self.terms, self.knots = "line", np.empty(0)
            self.fit = regress(self._columns_to_change(x))
        if not self.fit.identified:
            raise UndefinedMetricError(
                "the smooth calibration curve is not identified by these outcomes: observed on "
                "predicted probabilities has no best slope, as when the events are those of the "
                "highest predictions"
            )
        self.hazard = self.fit.hazard(time)

    def _columns_to_change(self, x: Floats) -> Floats:
        """Columns that a fit may standardise in place."""
        return self._columns(x.copy() if self.terms == "line" else x)

    def observed(self) -> Floats:
        """Smooth observed probability of each subject."""
        return self._probability(self.fit.relative_risk(), self.hazard)

    @staticmethod
    def _probability(relative: Floats, hazard: float) -> Floats:
        """1 - exp(-hazard relative), in place."""
        relative *= -hazard
        np.expm1(relative, out=relative)
        return np.negative(relative, out=relative)

    def mean(self, values: Floats) -> float:
        """Average over subjects."""
        if self.weights is None:
            return float(values.mean())
        return float(np.average(values, weights=self.weights))

    def _columns(self, x: Floats) -> Floats:
        if self.terms == "spline":
            return restricted_cubic_spline(x, self.knots)
        return x[None, :] if self.terms == "line" else np.zeros((1, x.size))

    def at(self, s: Floats) -> Floats:
        """Smooth observed probability for predicted survival `s`."""
        columns = self._columns(log_log(s)[0])
        return self._probability(np.exp(self.fit.log_risk(columns)), self.hazard)

    @cached_property
    def _changes(self) -> Floats:
        return self.fit.influences(self.time)

    def changes(self) -> tuple[Floats, Floats]:
        """Derivatives of (beta, hazard) with respect to each frequency."""
        return self._changes[:-1], self._changes[-1]

    def psi(self, observed: Floats, gap: Floats, ici: float, influence: Floats) -> Floats:
        """First-order contributions to the mean distance; `gap` is overwritten.

        `influence` holds the derivatives of (beta, hazard) by each frequency, (p + 1, n).
        """
        total = float(self.weight.sum())
        # d observed / d hazard and / d beta, averaged with the sign of the distance.
        pull = self.fit.relative_risk()
        for part in chunks(pull.size):
            pull[part] *= (1 - observed[part]) * np.sign(gap[part]) * (self.weight[part] / total)
        size, sums = float(pull.sum()), self.fit.column_sums(pull)
        del pull
        change = combine(np.append(self.fit.per_unit(sums * self.hazard), size), influence)
        np.abs(gap, out=gap)
        gap -= ici
        gap /= total
        change += gap
        change *= self.weight
        return change

    def law(
        self, ici: float, influence: Floats, clusters: Clusters | None = None, *,
        events: float = float("inf"), freedom: float = float("inf"),
    ) -> SmoothGap | None:  # fmt: skip
        """How the mean distance varies, from subjects at even ranks of the prediction."""
        if not self.hazard > 0 or (clusters is not None and clusters.number < 2):
            return None
        s, weight = self._at_even_ranks()
        x = log_log(s)[0]
        columns = self._columns(x.copy())
        gap = self.fit.log_risk(columns) + np.log(self.hazard) - x
        change = np.vstack((columns - self.fit.mean[:, None], np.full(x.size, 1 / self.hazard))).T
        total = float(self.weight.sum())
        # The coefficients fit the events that they are judged by.
        fitted = influence.shape[0]
        less = events / max(events - fitted, 1.0) if np.isfinite(events) else 1.0
        if clusters is not None:
            codes = clusters.codes[self.rows]
            sums = np.array([np.bincount(codes, weights=row * self.weight) for row in influence])
            less *= clusters.number / (clusters.number - 1)
            covariance = less * np.einsum("ag,bg->ab", sums, sums)
            apart = np.abs(self.observed() - (1 - self.s)) - ici
            inside = Clusters(codes, clusters.number).stderr(apart * self.weight / total)
            known = ici, x, gap, weight, change, covariance, inside
            return self._gap.of(*known, freedom=clusters.freedom)
        covariance = less * np.einsum("an,bn,n->ab", influence, influence, self.weight)
        size = np.abs(-np.expm1(-np.exp(x + gap)) - (1 - s))
        spread = np.sqrt(np.average((size - ici) ** 2, weights=weight) / total)
        return self._gap.of(ici, x, gap, weight, change, covariance, float(spread), freedom)

    def _at_even_ranks(self) -> tuple[Floats, Floats]:
        """Predictions of some subjects at even ranks, frequencies counted, and their weights."""
        if self.weights is None:
            s, end = np.sort(self.s), np.arange(1.0, self.s.size + 1)
            weight = np.ones(s.size)
        else:
            order = sorting_order(self.s)
            s, weight = self.s[order], self.weights[order]
            end = np.cumsum(weight)
        if end[-1] <= _POINTS:
            return s, weight
        ranks = (np.arange(_POINTS) + 0.5) * (end[-1] / _POINTS)
        return s[end.searchsorted(ranks)], np.ones(_POINTS)

    def resampled(self, counts: Floats) -> float:
        """Mean distance under other frequencies, by one Newton step."""
        drawn = counts[self.rows]
        *step, rise = product(self._changes, drawn - self.weight)
        # With very few events a step may leave every bound; such a replicate counts as undefined.
        with np.errstate(over="ignore", invalid="ignore"):
            relative = self.fit.relative_risk(np.array(step))
            gap = self._probability(relative, max(self.hazard + float(rise), 0.0))
            gap -= 1.0
            gap += self.s
            np.abs(gap, out=gap)
        return dot(gap, drawn) / float(drawn.sum())


def _choose_knots(x: Floats, weight: Floats | None, knots: int) -> tuple[str, Floats]:
    """Knots at Harrell's quantiles where predictions are varied enough, else fewer terms."""
    if not x.max() > x.min():
        return "constant", np.empty(0)
    where = np.atleast_1d(weighted_quantile(x, weight, list(KNOTS[knots])))
    # Quantiles between two values make distinct knots out of too few different predictions.
    if (np.diff(where) > 0).all() and _different(x, knots):
        return "spline", where
    return "line", np.empty(0)


def _different(x: Floats, least: int) -> bool:
    """Whether there are that many different values; the first ones usually tell."""
    return any(np.unique(some).size >= least for some in (x[:_FIRST], x))


def restricted_cubic_spline(x: Floats, knots: Floats) -> Floats:
    """Columns of a cubic spline that is linear outside its knots: (K - 1, n), x itself first.

    With knots k_1 < ... < k_K and (u)+ the positive part, column j is
    [(x-k_j)+^3 - (x-k_{K-1})+^3 (k_K-k_j)/(k_K-k_{K-1}) + (x-k_K)+^3 (k_{K-1}-k_j)/(k_K-k_{K-1})]
    over (k_K - k_1)^2.

    >>> restricted_cubic_spline(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    array([[0.  , 1.  , 3.  ],
           [0.  , 0.25, 3.  ]])
    """
    columns = np.empty((knots.size - 1, x.size))
    columns[0] = x
    last, previous = knots[-1], knots[-2]
    for part in chunks(x.size):  # so that the powers fit the cache
        past = [np.maximum(x[part] - knot, 0.0) for knot in knots]
        past = [u * u * u for u in past]  # a power takes ten times as long
        for column, knot, cube in zip(columns[1:], knots[:-2], past[:-2], strict=True):
            share = (last - knot) / (last - previous)
            bend = cube - past[-2] * share + past[-1] * (share - 1)
            column[part] = bend / (last - knots[0]) ** 2
    return columns
