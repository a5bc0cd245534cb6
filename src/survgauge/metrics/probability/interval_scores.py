"""Scores of predicted probabilities where the event lies between two visits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from ..._tools.arrays import Bools, Floats, positive
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError, numbered
from ...reference.law_pulls import EstimatedLaw, LawPulls, PullSums
from ...reference.turnbull import Turnbull
from ..checks import check_curves, check_times
from ..details import CurveResult, Details
from ..grids import equal_steps, grid_weights
from ..intervals import Inside, LawInside, Subjects
from ..support import Support
from .densities import log_scores, refuse_nan_tail


def interval_brier_score(
    y_true: Any,
    curves: Any,
    times: Any,
    *,
    law: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
) -> CurveResult:
    r"""Expected Brier score at times for interval-censored outcomes.

    .. math:: \frac1n \sum_i \pi_i(t)\, S_i(t)^2 + (1 - \pi_i(t))\,(1 - S_i(t))^2

    where :math:`\pi_i(t)` is the probability that the event of subject i has happened by t, given
    its interval: 0 for t <= lower, 1 for t >= upper, and in between
    :math:`(S(l_i) - S(t)) / (S(l_i) - S(u_i))` under a law S of the event time. It is the
    conditional expectation of the squared loss given what was seen, so its mean is the mean of the
    loss of the true status where the law is right.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    curves : SurvivalCurves
        One predicted curve per subject.
    times : array-like of shape (k,)
        When to score.
    law : Turnbull, curves or Conditional, optional
        Law of the event time, for everybody or one per subject; by default Turnbull's of `y_train`,
        or of the test outcomes themselves. One law for everybody knows nothing of the subjects: the
        more intervals contain t, the more it favours predictions near the average.
    y_train : outcomes, optional
        Reference set of the law: interval-censored, or right-censored `Outcomes`.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    CurveResult
        `values` at `times`, `stderr`, `mean` over the times. Standard errors take a law of other
        subjects as given; the estimation of Turnbull's law from the test outcomes is part of them.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0], [1, 0], [1, 0]])
    >>> found = interval_brier_score(([0, 4, 6], [4, 6, 9]), curves, [5])
    >>> round(float(found.values[0]), 6), found.support["known_share"]
    (0.25, 0.6666666666666666)
    """
    who = Subjects.of(y_true, sample_weight)
    checked = check_curves(curves, who.y)
    grid = check_times(times)
    inside = LawInside.given(law, who, y_train).inside(who.y)
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
    law: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean over time of `interval_brier_score`, by trapezoids.

    Parameters
    ----------
    y_true, curves, law, y_train, sample_weight
        As for `interval_brier_score`.
    times : array-like, optional
        Grid; by default 100 equal steps from 0 to `tau`.
    tau : float, optional
        End of the grid; by default the last finite bound of the outcomes.

    Returns
    -------
    float
        `interval_integrated_brier_score_details` gives the same with contributions.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0], [1, 0], [1, 0]])
    >>> round(interval_integrated_brier_score(([0, 4, 6], [4, 6, 9]), curves, tau=8), 4)
    0.1698
    """
    return interval_integrated_brier_score_details(
        y_true, curves, times, tau=tau, law=law, y_train=y_train, sample_weight=sample_weight
    ).value


def interval_integrated_brier_score_details(
    y_true: Any,
    curves: Any,
    times: Any = None,
    *,
    tau: float | None = None,
    law: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
) -> Details:
    """`interval_integrated_brier_score` with its convention, support and standard error.

    Parameters
    ----------
    y_true, curves, times, tau, law, y_train, sample_weight
        As for `interval_integrated_brier_score`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0], [1, 0], [1, 0]])
    >>> d = interval_integrated_brier_score_details(([0, 4, 6], [4, 6, 9]), curves, tau=8)
    >>> round(d.stderr, 4), d.convention["law"]
    (0.0362, "Turnbull's, test outcomes in sample")
    """
    who = Subjects.of(y_true, sample_weight)
    checked = check_curves(curves, who.y)
    if times is None:
        end = float(who.y.present().time.max()) if tau is None else positive(tau, "tau")
        if not end > 0:
            raise UndefinedMetricError("nobody was watched after time 0, so there is no grid")
        times = equal_steps(end)
    grid = check_times(times)
    inside = LawInside.given(law, who, y_train).inside(who.y)
    scores = _scores(who, checked, inside, grid)
    described = _described(inside, checked) | {"horizon": float(grid[-1]), "times": grid.size}
    return _mean(who, inside, grid, scores, described)


def _described(inside: Inside, curves: SurvivalCurves) -> dict[str, Any]:
    return {
        "score": "expected squared loss given the interval",
        "law": inside.law.of,
        "within": "uniform",
        "interpolation": curves.interpolation,
        "curve_tail": curves.tail,
    }


def _mean(
    who: Subjects, inside: Inside, grid: Floats, scores: _Scores, described: dict[str, Any]
) -> Details:
    """Mean over subjects of the scores over the grid."""
    support = inside.support(who.mass)
    support.shares["known_share"] = scores.known, float(who.mass.sum())
    by_mass = scores.by_mass
    pulls = None if by_mass is None else LawPulls(grid_weights(grid) @ by_mass)
    return who.mean(scores.mean, described, support, inside.law, pulls)


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
    """Read curves and law in blocks of rows."""
    law, y = inside.law.law, inside.y
    shared = law.at(grid) if isinstance(law, Turnbull) else None
    for rows in curves.blocks(grid.size):
        survival = shared if shared is not None else law.at_block(rows, grid)  # type: ignore[union-attr]
        happened = inside.happened(grid, survival, rows)
        unknown = (grid > y.lower[rows, None]) & (grid < y.upper[rows, None])
        yield _Block(rows, curves.at_block(rows, grid), happened, unknown)


class _Scores(NamedTuple):
    """Mean over the grid of each subject; values at each time; weight known; (k, cells) pulls."""

    mean: Floats
    values: Floats
    known: float
    by_mass: Floats | None


def _scores(who: Subjects, curves: SurvivalCurves, inside: Inside, grid: Floats) -> _Scores:
    """Score all subjects in one pass over their curves."""
    y, mass, weights = who.y, who.mass, grid_weights(grid)
    mean, known = np.empty(len(y)), 0.0
    values = np.zeros(grid.size)
    pulls = _Pulls(inside, mass, grid) if inside.law.moves else None
    for block in _blocks(curves, inside, grid):
        rows, loss = block.rows, block.loss
        loss[mass[rows] == 0] = 0.0  # absent, whatever is predicted for them
        mean[rows] = loss @ weights
        values += mass[rows] @ loss
        known += float(mass[rows] @ (~block.unknown @ weights))
        if pulls is not None:
            pulls.add(block)
    bad = np.flatnonzero(np.isnan(mean))
    if bad.size:
        raise UndefinedMetricError(
            "curves: this score needs them past their last grid time, where tail='nan' says "
            f"nothing, for {numbered(bad)}; choose another tail for the curves"
        )
    values /= float(mass.sum())
    return _Scores(mean, values, known, None if pulls is None else pulls.sums.by_mass())


class _Pulls:
    """What the sum of the losses at each time moves with the law S that was estimated.

    With D = S(l) - S(u), the probability p of the event by t is (S(l) - S(t)) / D: its derivatives
    are (1 - p) / D by S(l), p / D by S(u) and -1 / D by S(t).
    """

    def __init__(self, inside: Inside, mass: Floats, grid: Floats) -> None:
        self.sums = PullSums(cast(Turnbull, inside.law.law), grid.size)
        self._grid, self._y = grid, inside.y
        given = inside.at_lower - inside.at_upper
        known = inside.silent | inside.y.exact | (mass == 0)
        self._each = np.where(known, 0.0, mass / np.where(known, 1.0, given))

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
    y, mass, total = who.y, who.mass, float(who.mass.sum())
    law, by_mass, square = inside.law.law, scores.by_mass, np.zeros(grid.size)
    moved = np.zeros((grid.size, len(y)))
    if by_mass is not None and isinstance(law, Turnbull) and inside.law.here:
        moved = EstimatedLaw(law, np.arange(len(y)), y.weight).influences(by_mass / total)
    for block in _blocks(curves, inside, grid):
        rows = block.rows
        present = np.flatnonzero(mass[rows] > 0)
        gap = (block.loss[present] - scores.values) * mass[rows][present, None] / total
        square += (1 / y.weight[rows][present]) @ (gap + moved[:, rows].T[present]) ** 2
    n = float(y.weight.sum())
    return np.sqrt(square * (n / (n - 1) if n > 1 else np.nan))


def interval_log_likelihood(y_true: Any, curves: Any, *, sample_weight: Any = None) -> float:
    r"""Mean log-likelihood of interval-censored outcomes. Higher is better.

    .. math:: \frac1n \sum_i \log(S_i(l_i) - S_i(u_i)), \quad S_i(\infty) = 0

    and the log density :math:`\log f_i(t_i)`, f = -dS/dt, where the time is known exactly. It needs
    no law of the event time and no model of the visits, and the true curves have the largest mean
    as long as visits do not depend on the event: the one proper score without further assumptions.
    A curve that gives an interval no mass makes the mean -inf; the details count such subjects.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    curves : SurvivalCurves
        One predicted curve per subject. Step curves have no density: NaN where times are exact.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    float
        `interval_log_likelihood_details` gives the same with contributions.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0.5], [1, 0.5]])
    >>> round(interval_log_likelihood(([2, 4], [6, float("inf")]), curves), 4)  # of 0.2 and 0.8
    -0.9163
    """
    return interval_log_likelihood_details(y_true, curves, sample_weight=sample_weight).value


def interval_log_likelihood_details(
    y_true: Any, curves: Any, *, sample_weight: Any = None
) -> Details:
    """`interval_log_likelihood` with its convention, support and standard error.

    Parameters
    ----------
    y_true, curves, sample_weight
        As for `interval_log_likelihood`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 1, 0.5], [1, 0.5, 0.5]])
    >>> d = interval_log_likelihood_details(([2, 4], [5, 9]), curves)
    >>> d.value, d.support["infinite_losses"]  # the first curve is flat where the event happened
    (-inf, 1)
    """
    who = Subjects.of(y_true, sample_weight)
    y, checked = who.y, check_curves(curves, who.y)
    past = y.time > checked.last_time
    refuse_nan_tail(checked, (who.mass > 0) & past)
    between = y.event & ~y.exact
    score = log_scores(Outcomes(y.lower, y.exact), checked, y.lower > checked.last_time)
    chance = checked.at_own(y.lower) - checked.at_own(np.where(between, y.upper, y.lower))
    with np.errstate(divide="ignore"):
        score = np.where(between, np.log(np.maximum(chance, 0.0)), score)
    support = Support(counts={"times_past_curves": int((past & (y.weight > 0)).sum())})
    if checked.interpolation == "step" and y.exact.any():
        score[y.exact] = np.nan
        support.facts["note"] = "step curves have no density, and some event times are exact"
    infinite = np.flatnonzero(np.isneginf(score) & (who.mass > 0))
    support.counts["infinite_losses"] = int(infinite.size)
    support.name("infinite_for", infinite)
    described = {
        "score": "interval_log_likelihood", "direction": "higher",
        "interpolation": checked.interpolation, "curve_tail": checked.tail,
    }  # fmt: skip
    return who.mean(score, described, support)
