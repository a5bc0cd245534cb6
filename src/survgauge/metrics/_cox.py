"""A small Cox regression for calibration: few columns, many subjects, Breslow's or Efron's ties.

With risk r_i = w_i exp(x_i beta), event times u_1 < ... < u_J, d_j events at u_j, S0_j and S1_j the
sums of r and r x over everybody at risk there and D0_j, D1_j the same over the events, Efron's rule
takes m = d steps s = 0, 1/m, ..., (m-1)/m with S0 - s D0 at risk; Breslow's takes only s = 0.
Everything below is made of five sums over the steps of an event time:

    a = sum u/(S0 - s D0)        b = sum u (1-s)/(S0 - s D0)        c_k = sum u s^k/(S0 - s D0)^2

with u = d/m. No p x p matrix is kept per time: sum_j S2_j a_j = X' diag(r H) X, H the hazard that
each subject lived through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Bools, Floats, Ints

TIES = ("efron", "breslow")
_MAX_STEPS = 50
_MAX_HALVINGS = 30
#: Squared length of a Newton step in standard errors at which the step is the last one.
_SMALL = 1e-10


@dataclass(frozen=True)
class _State:
    """The partial likelihood at one beta."""

    value: float
    score: Floats
    information: Floats
    risk: Floats
    shift: float
    #: S1 and D1, (p, J).
    sums: Floats
    event_sums: Floats
    #: a, b, c_0, c_1, c_2, each (J,).
    coefficients: tuple[Floats, ...]


class CoxRegression:
    """Cox's model on standardised columns, fitted by Newton's method.

    Parameters
    ----------
    time, event, weight : ndarray of shape (n,)
        Outcomes with positive frequencies and at least one event.
    columns : ndarray of shape (p, n)
        Covariates; constant ones get the coefficient 0.
    ties : {"efron", "breslow"}
        With frequencies, Efron's rule counts the sum of the events' frequencies as their number
        (to the nearest whole number), so that whole frequencies equal replicated rows.

    Attributes
    ----------
    beta : ndarray of shape (p,)
        Coefficients per unit of the columns.
    covariance : ndarray of shape (p, p)
        Inverse of the information.
    converged : bool
        False where the likelihood has no maximum that Newton's method finds.
    """

    def __init__(self, time: Floats, event: Bools, weight: Floats, columns: Floats, ties: str):
        order = time.argsort()
        self._order = order
        self._time, self._event, self._weight = time[order], event[order], weight[order]
        mean = (columns @ weight) / weight.sum()
        centred = columns - mean[:, None]
        spread = np.sqrt((centred**2 @ weight) / weight.sum())
        self._scale: Floats = np.where(spread > 0, spread, 1.0)
        self._mean = mean
        self._x = np.ascontiguousarray((centred / self._scale[:, None])[:, order])
        self._index_events(ties)
        self._beta, self._state, self.converged = self._newton()
        self.beta: Floats = self._beta / self._scale
        inverse = np.linalg.pinv(self._state.information, hermitian=True)
        self._inverse = inverse
        self.covariance: Floats = inverse / np.outer(self._scale, self._scale)

    def _index_events(self, ties: str) -> None:
        """Locate the event times in the sorted subjects."""
        time, event = self._time, self._event
        first = np.concatenate(([True], time[1:] != time[:-1]))
        start_of_time = np.flatnonzero(first)
        group = np.cumsum(first) - 1
        died = np.bincount(group[event], self._weight[event], minlength=start_of_time.size)
        events = died.astype(np.float64)
        happened = events > 0
        self.times: Floats = time[start_of_time[happened]]
        self._start: Ints = start_of_time[happened]
        self._events: Floats = events[happened]
        #: Number of event times up to each subject's own time.
        self._lived: Ints = np.cumsum(happened)[group]
        self._died: Ints = np.flatnonzero(event)
        self._at: Ints = self._lived[self._died] - 1
        self._event_sum = self._x[:, self._died] @ self._weight[self._died]
        rounded = np.maximum(np.rint(self._events), 1.0)
        steps = np.ones_like(rounded) if ties == "breslow" else rounded
        self._steps = steps.astype(np.intp)
        self._tied = bool((self._steps > 1).any())
        if self._tied:
            self._step_start = np.cumsum(self._steps) - self._steps
            self._expand = np.repeat(np.arange(steps.size), self._steps)
            position = np.arange(self._expand.size) - self._step_start[self._expand]
            self._share = position / steps[self._expand]

    def _at_risk(self, values: Floats) -> Floats:
        """Sums over everybody at risk at each event time, (..., J)."""
        pieces = np.add.reduceat(values, self._start, axis=-1)
        return np.cumsum(pieces[..., ::-1], axis=-1)[..., ::-1]

    def _among_events(self, values: Floats) -> Floats:
        """Sums over those who have the event, (J,)."""
        sums = np.bincount(self._at, values[self._died], minlength=self._start.size)
        return sums.astype(np.float64, copy=False)

    def _sums_over_steps(self, s0: Floats, d0: Floats) -> tuple[tuple[Floats, ...], float]:
        """a, b, c_0, c_1, c_2, and the sum of u log(S0 - s D0)."""
        if not self._tied:
            a = self._events / s0
            zero = np.zeros_like(a)
            return (a, a, a / s0, zero, zero), float(self._events @ np.log(s0))
        unit = (self._events / self._steps)[self._expand]
        share, left = self._share, s0[self._expand] - self._share * d0[self._expand]
        first, second = unit / left, unit / left**2
        terms = (first, first * (1 - share), second, second * share, second * share**2)
        sums = tuple(np.add.reduceat(term, self._step_start) for term in terms)
        return sums, float(unit @ np.log(left))

    def _evaluate(self, beta: Floats) -> _State:
        score = beta @ self._x
        shift = float(score.max())
        risk = self._weight * np.exp(score - shift)
        s0 = self._at_risk(risk)
        d0 = self._among_events(risk) if self._tied else np.zeros_like(s0)
        coefficients, logs = self._sums_over_steps(s0, d0)
        value = float(beta @ self._event_sum) - logs - shift * float(self._events.sum())
        if not np.isfinite(value):  # a risk set underflowed: too far
            value = -np.inf
        weighted = self._x * risk
        sums = self._at_risk(weighted)
        event_sums = np.zeros_like(sums)
        if self._tied:
            event_sums = np.stack([self._among_events(row) for row in weighted])
        a, b, c0, c1, c2 = coefficients
        lived = self._cumulative(a, a - b)
        gradient = self._event_sum - weighted @ lived
        information = (weighted * lived) @ self._x.T
        cross = (sums * c1) @ event_sums.T
        information -= (sums * c0) @ sums.T - cross - cross.T + (event_sums * c2) @ event_sums.T
        return _State(value, gradient, information, risk, shift, sums, event_sums, coefficients)

    def _cumulative(self, steps: Floats, spared: Floats) -> Floats:
        """Sum of `steps` over the event times that each subject lived through, (..., n).

        Those who have the event are at risk in a part of its steps only: `spared` is the rest.
        """
        zero = np.zeros((*steps.shape[:-1], 1))
        total: Floats = np.concatenate((zero, np.cumsum(steps, axis=-1)), axis=-1)[..., self._lived]
        if self._tied:
            total[..., self._died] -= spared[..., self._at]
        return total

    def _newton(self) -> tuple[Floats, _State, bool]:
        """Newton's method from zero, halving steps that lose."""
        beta = np.zeros(self._x.shape[0])
        state = self._evaluate(beta)
        for _ in range(_MAX_STEPS):
            step = np.linalg.pinv(state.information, hermitian=True) @ state.score
            length = float(step @ state.score)
            with np.errstate(all="ignore"):
                following = self._evaluate(beta + step)
                halvings = 0
                slack = 1e-11 * (1 + abs(state.value))
                while not following.value >= state.value - slack and halvings < _MAX_HALVINGS:
                    halvings += 1
                    following = self._evaluate(beta + step / 2**halvings)
            if not following.value >= state.value - slack:
                return beta, state, False
            beta, state = beta + step / 2**halvings, following
            if length < _SMALL:
                return beta, state, True
        return beta, state, False

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        standard = (columns - self._mean[:, None]) / self._scale[:, None]
        return self._beta @ standard - self._state.shift

    def hazard(self, t: float) -> float:
        """Baseline cumulative hazard at `t`."""
        return float(self._state.coefficients[0][self.times <= t].sum())

    def influence(self) -> Floats:
        """Derivative of `beta` with respect to each subject's frequency: (p, n)."""
        state = self._state
        a, b, c0, c1, c2 = state.coefficients
        steps = state.sums * c0 - state.event_sums * c1
        spared = steps - (state.sums * (c0 - c1) - state.event_sums * (c1 - c2))
        hazard_ratio = state.risk / self._weight
        lived = self._cumulative(a, a - b)
        score = hazard_ratio * (self._cumulative(steps, spared) - self._x * lived)
        mean = (state.sums * a - state.event_sums * (a - b)) / self._events
        score[:, self._died] += self._x[:, self._died] - mean[:, self._at]
        change = np.empty_like(score)
        change[:, self._order] = (self._inverse @ score) / self._scale[:, None]
        return change

    def hazard_influence(self, t: float, influence: Floats) -> tuple[Floats, Floats]:
        """Derivatives of `hazard(t)`: by beta (p,), and by each frequency (n,), in all."""
        state = self._state
        a, _, c0, c1, _ = state.coefficients
        known = self.times <= t
        by_beta = -((state.sums * c0 - state.event_sums * c1)[:, known].sum(axis=1)) * self._scale
        steps, spared = np.where(known, c0, 0.0), np.where(known, c1, 0.0)
        direct = -(state.risk / self._weight) * self._cumulative(steps, spared)
        direct[self._died] += np.where(known, a / self._events, 0.0)[self._at]
        change = np.empty_like(direct)
        change[self._order] = direct
        return by_beta, change + by_beta @ influence
