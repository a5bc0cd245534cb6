"""Scores of predicted probabilities where the event lies between two visits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from ..._tools.arrays import Bools, Floats, positive
from ...data.curves import SurvivalCurves
from ...errors import UndefinedMetricError, numbered
from ...estimators.estimated_g import DerivativeSums, DistributionDerivative, EstimatedDistribution
from ...estimators.turnbull import Turnbull
from ..checks import check_curves, check_times
from ..grids import equal_steps, grid_weights
from ..intervals import DistributionInside, Inside, Subjects
from ..score import CurveResult, Score


def interval_brier_score(
    y_true: Any,
    curves: Any,
    times: Any,
    *,
    distribution: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
) -> CurveResult:
    """`brier_score` of anything that `IntervalOutcomes.of` reads."""
    who = Subjects.of(y_true, sample_weight)
    checked = check_curves(curves, who.y)
    grid = check_times(times)
    inside = DistributionInside.given(distribution, who, y_train).inside(who.y)
    scores = _scores(who, checked, inside, grid)
    details = _mean(who, inside, grid, scores, _described(inside, checked))
    if grid.size == 1:
        stderr = np.array([details.stderr])
    else:
        stderr = _stderr(who, checked, inside, grid, scores)
    return CurveResult(grid, scores.values, details.value, stderr, details)


def interval_integrated_brier_score(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    tau: float | None = None,
    distribution: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
) -> Score:
    """`integrated_brier_score` of anything that `IntervalOutcomes.of` reads.

    Without `times` the grid has 100 equal steps from 0 to `tau`, or to the last finite bound.
    """
    who = Subjects.of(y_true, sample_weight)
    checked = check_curves(curves, who.y)
    if times is None:
        end = float(who.y.present().time.max()) if tau is None else positive(tau, "tau")
        if not end > 0:
            raise UndefinedMetricError("no subject was observed after time 0, so there is no grid")
        times = equal_steps(end)
    grid = check_times(times)
    inside = DistributionInside.given(distribution, who, y_train).inside(who.y)
    scores = _scores(who, checked, inside, grid)
    described = _described(inside, checked) | {"horizon": float(grid[-1]), "times": grid.size}
    return _mean(who, inside, grid, scores, described)


def _described(inside: Inside, curves: SurvivalCurves) -> dict[str, Any]:
    return {
        "score": "expected squared loss given the interval",
        "distribution": inside.distribution.of,
        "within": "uniform",
        "interpolation": curves.interpolation,
        "curve_tail": curves.tail,
    }


def _mean(
    who: Subjects, inside: Inside, grid: Floats, scores: _Scores, described: dict[str, Any]
) -> Score:
    """Mean over subjects of the scores over the grid."""
    support = inside.support(who.weight)
    support.shares["known_share"] = scores.known, float(who.weight.sum())
    by_weight = scores.by_weight
    derivative = (
        None if by_weight is None else DistributionDerivative(grid_weights(grid) @ by_weight)
    )
    return who.mean(scores.mean, described, support, inside.distribution, derivative)


class _Block(NamedTuple):
    """Rows of subjects, and (rows, k): predicted, probability of the event, status unknown."""

    rows: slice
    predicted: Floats
    happened: Floats
    unknown: Bools

    @property
    def loss(self) -> Floats:
        """Expected squared loss."""
        return self.happened * self.predicted**2 + (1 - self.happened) * (1 - self.predicted) ** 2


def _blocks(curves: SurvivalCurves, inside: Inside, grid: Floats) -> Iterator[_Block]:
    """Read curves and distribution in blocks of rows."""
    distribution, y = inside.distribution.distribution, inside.y
    shared = distribution.at(grid) if isinstance(distribution, Turnbull) else None
    for rows in curves.blocks(grid.size):
        survival = shared if shared is not None else distribution.at_block(rows, grid)  # type: ignore[union-attr]
        happened = inside.happened(grid, survival, rows)
        unknown = (grid > y.lower[rows, None]) & (grid < y.upper[rows, None])
        yield _Block(rows, curves.at_block(rows, grid), happened, unknown)


class _Scores(NamedTuple):
    """Mean over the grid of each subject; values; weight known; (k, cells) derivative."""

    mean: Floats
    values: Floats
    known: float
    by_weight: Floats | None


def _scores(who: Subjects, curves: SurvivalCurves, inside: Inside, grid: Floats) -> _Scores:
    """Score all subjects in one pass over their curves."""
    y, weight, weights = who.y, who.weight, grid_weights(grid)
    mean, known = np.empty(len(y)), 0.0
    values = np.zeros(grid.size)
    derivative = _Derivative(inside, weight, grid) if inside.distribution.moves else None
    for block in _blocks(curves, inside, grid):
        rows, loss = block.rows, block.loss
        loss[weight[rows] == 0] = 0.0  # left out, whatever is predicted for them
        mean[rows] = loss @ weights
        values += weight[rows] @ loss
        known += float(weight[rows] @ (~block.unknown @ weights))
        if derivative is not None:
            derivative.add(block)
    bad = np.flatnonzero(np.isnan(mean))
    if bad.size:
        raise UndefinedMetricError(
            "curves: this score needs them past their last grid time, where tail='nan' says "
            f"nothing, for {numbered(bad)}; choose another tail for the curves"
        )
    values /= float(weight.sum())
    return _Scores(mean, values, known, None if derivative is None else derivative.sums.by_weight())


class _Derivative:
    """What the sum of the losses at each time moves with the distribution S that was estimated.

    With D = S(l) - S(u), the probability p of the event by t is (S(l) - S(t)) / D: its derivatives
    are (1 - p) / D by S(l), p / D by S(u) and -1 / D by S(t).
    """

    def __init__(self, inside: Inside, weight: Floats, grid: Floats) -> None:
        self.sums = DerivativeSums(cast(Turnbull, inside.distribution.distribution), grid.size)
        self._grid, self._y = grid, inside.y
        given = inside.at_lower - inside.at_upper
        fixed = inside.silent | inside.y.exact | (weight == 0)
        self._each = np.where(fixed, 0.0, weight / np.where(fixed, 1.0, given))

    def add(self, block: _Block) -> None:
        """Add rows of subjects."""
        rows, y = block.rows, self._y
        slope = (2 * block.predicted - 1) * block.unknown * self._each[rows, None]
        slope[self._each[rows] == 0] = 0.0
        self.sums.add(y.lower[rows], slope * (1 - block.happened))
        ends = np.isfinite(y.upper[rows])
        self.sums.add(y.upper[rows][ends], (slope * block.happened)[ends])
        self.sums.add(self._grid, np.diag(-slope.sum(axis=0)))


def _stderr(
    who: Subjects, curves: SurvivalCurves, inside: Inside, grid: Floats, scores: _Scores
) -> Floats:
    """Standard errors at each time, in a second pass over the curves."""
    y, weight, total = who.y, who.weight, float(who.weight.sum())
    distribution, by_weight, square = (
        inside.distribution.distribution,
        scores.by_weight,
        np.zeros(grid.size),
    )
    moved = np.zeros((grid.size, len(y)))
    if by_weight is not None and isinstance(distribution, Turnbull) and inside.distribution.here:
        moved = EstimatedDistribution(distribution, np.arange(len(y)), y.weight).influences(
            by_weight / total
        )
    for block in _blocks(curves, inside, grid):
        rows = block.rows
        present = np.flatnonzero(weight[rows] > 0)
        gap = (block.loss[present] - scores.values) * weight[rows][present, None] / total
        square += (1 / y.weight[rows][present]) @ (gap + moved[:, rows].T[present]) ** 2
    n = float(y.weight.sum())
    return np.sqrt(square * (n / (n - 1) if n > 1 else np.nan))
