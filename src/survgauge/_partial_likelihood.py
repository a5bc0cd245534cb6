"""Cox's partial likelihood: its value, its slopes, its maximum, and each subject's part in it.

With risk r_i = w_i exp(x_i beta), event times u_1 < ... < u_J, d_j events at u_j, S0_j and S1_j the
sums of r and r x over everybody at risk there and D0_j, D1_j the same over the events, Efron's rule
takes m = d steps s = 0, 1/m, ..., (m-1)/m with S0 - s D0 at risk; Breslow's takes only s = 0.
Everything below is made of five sums over the steps of an event time:

    a = sum u/(S0 - s D0)    b = sum u (1-s)/(S0 - s D0)    c_k = sum u s^k (S0/(S0 - s D0))^2

with u = d/m, and of the means S1/S0, D1/S0. No p x p matrix is kept per time: sum_j S2_j a_j =
X' diag(r H) X, H the hazard that each subject lived through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._arrays import Bools, Floats, Ints
from ._sorting import sorting_order

TIES = ("efron", "breslow")
_MAX_STEPS = 60
_MAX_HALVINGS = 40
# Squared length of a Newton step in standard errors at which the step is the last one.
_SMALL = 1e-10
# Curvature left in the flattest direction, relative to that at the start; below it, columns
# are collinear or the likelihood rises for ever (separation).
_FLAT = 1e-8
# Relative sizes that cannot be told from rounding: of a curvature, of a column's spread.
_NO_CURVATURE = 1e-15
_NO_SPREAD = 1e-13


@dataclass(frozen=True)
class Point:
    """The likelihood at one beta, per standard deviation of the columns.

    Risks are w exp(x beta - shift), so that none overflows; `at_risk` holds S0 and `sums` a, b,
    c_0, c_1 and c_2, each (J,).
    """

    beta: Floats
    value: float
    risk: Floats
    shift: float
    at_risk: Floats
    sums: tuple[Floats, ...]

    @property
    def hazard_steps(self) -> Floats:
        """Steps of the baseline hazard, for subjects with x beta = shift."""
        return self.sums[0]


@dataclass(frozen=True)
class Slopes:
    """Gradient (p,) and negative Hessian (p, p), with S1/S0 and D1/S0 (p, J)."""

    gradient: Floats
    information: Floats
    means: Floats
    event_means: Floats


class PartialLikelihood:
    """The likelihood on standardised columns, sorted by time once, in O(n p) memory.

    Parameters
    ----------
    time, event, weight : ndarray of shape (n,)
        Outcomes with positive frequencies and at least one event.
    columns : ndarray of shape (p, n)
        Covariates; constant ones are left out.
    ties : {"efron", "breslow"}
        With frequencies, Efron's rule counts the sum of the events' frequencies as their number
        (to the nearest whole number), so that whole frequencies equal replicated rows.
    order : ndarray of shape (n,), optional
        Subjects by time, where they have been sorted already.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Column values at which the linear predictor is 0.
    used : ndarray of shape (p,)
        Which columns vary.
    times : ndarray of shape (J,)
        Distinct event times.
    """

    def __init__(
        self,
        time: Floats,
        event: Bools,
        weight: Floats,
        columns: Floats,
        ties: str,
        order: Ints | None = None,
    ):
        self._order: Ints = sorting_order(time) if order is None else order
        # Equal weights are one number, read over and over.
        self._weight = weight if weight.strides == (0,) else weight[self._order]
        self._standardise(columns)
        self._index_events(time[self._order], event[self._order])
        self._index_steps(ties)

    def _standardise(self, columns: Floats) -> None:
        x = columns.take(self._order, axis=-1)
        # Differences from one subject: the mean of a constant must not round.
        origin = x[:, :1].copy()
        x -= origin
        total = self._weight.sum()
        shift = (x @ self._weight) / total
        x -= shift[:, None]
        self.mean: Floats = origin[:, 0] + shift
        spread = np.sqrt(np.einsum("ij,ij,j->i", x, x, self._weight) / total)
        self.used: Bools = spread > _NO_SPREAD * np.abs(self.mean)
        self.scale: Floats = spread[self.used]
        self._x = x if self.used.all() else x[self.used]
        self._x /= self.scale[:, None]

    def _index_events(self, time: Floats, event: Bools) -> None:
        """Locate the event times in the sorted subjects."""
        self._died: NDArray[np.int32] = np.flatnonzero(event).astype(np.int32)
        when, weight = time[self._died], self._weight[self._died]
        new = np.diff(when, prepend=-np.inf) > 0
        self._event_start: NDArray[np.int32] = np.flatnonzero(new).astype(np.int32)
        self.times: Floats = when[self._event_start]
        self._start: Ints = time.searchsorted(self.times)
        begins = np.zeros(time.size, dtype=np.bool_)
        begins[self._start] = True
        #: Number of event times up to each subject's own time.
        self._lived: NDArray[np.int32] = np.cumsum(begins, dtype=np.int32)
        self._at: NDArray[np.int32] = self._lived[self._died] - np.int32(1)
        self._events: Floats = self._over_events(self._weight)
        self._event_sum = self._x[:, self._died] @ weight

    def _index_steps(self, ties: str) -> None:
        """Lay out Efron's steps one after the other."""
        steps = np.maximum(np.rint(self._events), 1.0).astype(np.intp)
        self._tied = ties == "efron" and bool((steps > 1).any())
        if self._tied:
            self._step_start = np.cumsum(steps) - steps
            self._expand = np.repeat(np.arange(steps.size), steps)
            position = np.arange(self._expand.size) - self._step_start[self._expand]
            self._share = position / steps[self._expand]
            self._unit = (self._events / steps)[self._expand]

    def unscaled(self, values: Floats) -> Floats:
        """Values per unit of all columns from those per standard deviation of the used ones."""
        out = np.zeros((self.used.size, *values.shape[1:]))
        out[self.used] = (values.T / self.scale).T
        return out

    def _over_risk_sets(self, values: Floats) -> Floats:
        """Sums over everybody at risk at each event time, (..., J)."""
        pieces = np.add.reduceat(values, self._start, axis=-1)
        return np.cumsum(pieces[..., ::-1], axis=-1)[..., ::-1]

    def _over_events(self, values: Floats) -> Floats:
        """Sums over those who have the event at each event time, (..., J)."""
        return np.add.reduceat(values.take(self._died, axis=-1), self._event_start, axis=-1)

    def _over_steps(self, risk: Floats, s0: Floats) -> tuple[tuple[Floats, ...], float]:
        """a, b, c_0, c_1, c_2, and the sum of u log(S0 - s D0)."""
        if not self._tied:
            a, zero = self._events / s0, np.broadcast_to(0.0, s0.shape)
            return (a, a, self._events, zero, zero), float(self._events @ np.log(s0))
        share, whole = self._share, s0[self._expand]
        left = whole - share * self._over_events(risk)[self._expand]
        first = self._unit / left
        second = first * whole * (whole / left)
        terms = (first, first * (1 - share), second, second * share, second * share**2)
        sums = tuple(np.add.reduceat(term, self._step_start) for term in terms)
        return sums, float(self._unit @ np.log(left))

    @np.errstate(all="ignore")
    def at(self, beta: Floats) -> Point:
        """Log-likelihood at beta: minus infinity where a risk set is numerically empty."""
        risk = beta @ self._x
        shift = float(risk.max())
        risk -= shift
        np.exp(risk, out=risk)
        risk *= self._weight
        s0 = self._over_risk_sets(risk)
        sums, logs = self._over_steps(risk, s0)
        value = float(beta @ self._event_sum) - logs - shift * float(self._events.sum())
        if not np.isfinite(value + sums[0].sum()):
            value = -np.inf
        return Point(beta, value, risk, shift, s0, sums)

    def slopes(self, point: Point) -> Slopes:
        """First and second derivatives by beta."""
        a, b, c0, c1, c2 = point.sums
        weighted = self._x * point.risk
        means = self._over_risk_sets(weighted) / point.at_risk
        event_means = np.broadcast_to(0.0, means.shape)
        if self._tied:
            event_means = self._over_events(weighted) / point.at_risk
        weighted *= self._cumulative(a, a - b)
        gradient = self._event_sum - weighted.sum(axis=1)
        information = weighted @ self._x.T - (means * c0) @ means.T
        if self._tied:
            cross = (means * c1) @ event_means.T
            information += cross + cross.T - (event_means * c2) @ event_means.T
        return Slopes(gradient, information, means, event_means)

    def _cumulative(self, steps: Floats, spared: Floats) -> Floats:
        """Sum of `steps` over the event times that each subject lived through, (..., n).

        Those who have the event are at risk in a part of its steps only: `spared` is the rest.
        """
        zero = np.zeros((*steps.shape[:-1], 1))
        sums = np.concatenate((zero, np.cumsum(steps, axis=-1)), axis=-1)
        total: Floats = sums.take(self._lived, axis=-1)
        if self._tied:
            total[..., self._died] -= spared[..., self._at]
        return total

    def relative_risk(self, point: Point) -> Floats:
        """exp(x beta - shift) of each subject, in the order in which they came."""
        return self._unsorted(self._relative(point))

    def _relative(self, point: Point) -> Floats:
        """exp(x beta - shift) by time; not to be written to."""
        alone = self._weight.strides == (0,) and self._weight[0] == 1.0
        return point.risk if alone else point.risk / self._weight

    def column_sums(self, values: Floats) -> Floats:
        """Sums over subjects of (column - mean) values, (p,); 0 for columns left out."""
        sums = np.zeros(self.used.size)
        sums[self.used] = (self._x @ values[self._order]) * self.scale
        return sums

    def _unsorted(self, values: Floats) -> Floats:
        out = np.empty_like(values)
        out[..., self._order] = values
        return out

    def gradient_influence(
        self, point: Point, slopes: Slopes, along: Floats | None = None
    ) -> Floats:
        """Derivative of the gradient with respect to each subject's frequency: (p, n).

        Given `along` (p,), only that combination of the rows: (n,).
        """
        a, b, c0, c1, c2 = point.sums
        lived, relative = self._cumulative(a, a - b), self._relative(point)
        change = np.empty_like(self._x) if along is None else np.zeros(lived.size)
        for k, x in enumerate(self._x):  # a few columns
            mean, event_mean = slopes.means[k], slopes.event_means[k]
            steps, spared, at_event = mean * c0, c1, mean * a
            if self._tied:
                steps -= event_mean * c1
                spared = (mean * c1 - event_mean * c2) / point.at_risk
                at_event -= event_mean * (a - b)
            steps /= point.at_risk
            row = self._cumulative(steps, spared)
            del steps, spared
            row -= x * lived
            row *= relative
            at_event *= point.at_risk / self._events
            row[self._died] += x[self._died] - at_event[self._at]
            if along is None:
                change[k, self._order] = row
            else:
                row *= along[k]
                change += row
        return change if along is None else self._unsorted(change)

    def hazard_influence(self, point: Point, slopes: Slopes, t: float) -> tuple[Floats, Floats]:
        """Derivatives of the sum of a up to t: by beta (p,), and by frequencies at fixed beta."""
        a, _, c0, c1, _ = point.sums
        known = self.times <= t
        rate = known / point.at_risk
        by_beta = -(slopes.means @ (c0 * rate))
        if self._tied:
            by_beta += slopes.event_means @ (c1 * rate)
        rate /= point.at_risk
        change = self._cumulative(c0 * rate, c1 * rate)
        change *= self._relative(point)
        np.negative(change, out=change)
        change[self._died] += np.where(known, a / self._events, 0.0)[self._at]
        return by_beta, self._unsorted(change)


def maximise(
    likelihood: PartialLikelihood, penalty: float = 0.0, *, single: bool = True
) -> tuple[Point, bool]:
    """Newton's method from zero, halving steps that lose; says whether a maximum was found.

    The objective is the likelihood minus penalty/2 times the squared length of beta. Where it is
    flat in a direction there is no finite or no single maximum: `single` gives up, otherwise beta
    stays put in that direction.
    """
    point = likelihood.at(np.zeros(likelihood.scale.size))
    scale: Floats | None = None
    for _ in range(_MAX_STEPS):
        slopes = likelihood.slopes(point)
        gradient = slopes.gradient - penalty * point.beta
        information = slopes.information + penalty * np.eye(gradient.size)
        if scale is None:
            scale = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
        curvature, basis = np.linalg.eigh(information / np.outer(scale, scale))
        if single and (curvature < _FLAT).any():
            return point, False
        along = basis.T @ (gradient / scale)
        curved = curvature > _NO_CURVATURE
        move = np.where(curved, along, 0.0) / np.where(curved, curvature, 1.0)
        following = _line_search(likelihood, point, (basis @ move) / scale, penalty)
        if following is None:
            return point, False
        point = following
        if along @ move < _SMALL:
            return point, True
    return point, False


def _line_search(
    likelihood: PartialLikelihood, start: Point, step: Floats, penalty: float
) -> Point | None:
    """Halve a step until it does not lose."""

    def objective(point: Point) -> float:
        return point.value - penalty / 2 * float(point.beta @ point.beta)

    least = objective(start) - 1e-12 * (1 + abs(start.value))
    for halving in range(_MAX_HALVINGS):
        point = likelihood.at(start.beta + step / 2**halving)
        if objective(point) >= least:
            return point
    return None
