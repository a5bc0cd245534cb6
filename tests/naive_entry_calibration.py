"""Calibration, Cox regression and Antolini's C under delayed entry once more as plain loops."""

from __future__ import annotations

import naive_entry as naive
import numpy as np
from scipy.optimize import brentq, least_squares

import survgauge as sg


class Steps:
    """`naive.between` with its factors made once."""

    def __init__(self, y: sg.Outcomes) -> None:
        self.times = np.unique(y.time)
        self.factors = {
            kind: np.array([naive.factor(y, u, kind) for u in self.times]) for kind in (False, True)
        }

    def __call__(self, a: float, t: float, *, left: bool, censoring: bool = True) -> float:
        passed = self.times < t if left else self.times <= t
        passed &= (self.times > a) | (a == 0)
        return float(np.prod(self.factors[censoring][passed]))

    def hazard(self, u: float) -> float:
        return 1 - float(self.factors[False][self.times == u][0])


def cox_score(y: sg.Outcomes, x: np.ndarray, beta: float, *, efron: bool) -> float:
    """Derivative of the partial log-likelihood of one column, risk sets by loops."""
    score = 0.0
    for t in np.unique(y.time[y.event]):
        dead = [i for i in range(len(y)) if y.event[i] and y.time[i] == t]
        there = [i for i in range(len(y)) if naive.at_risk(y, i, t)]
        risk, first = (sum(np.exp(beta * x[i]) * x[i] ** k for i in there) for k in (0, 1))
        tied, tied_first = (sum(np.exp(beta * x[i]) * x[i] ** k for i in dead) for k in (0, 1))
        for step, i in enumerate(dead):
            share = step / len(dead) if efron else 0.0
            score += x[i] - (first - share * tied_first) / (risk - share * tied)
    return score


def cox(y: sg.Outcomes, x: np.ndarray, *, efron: bool = True) -> float:
    """Coefficient of Cox's model of one column."""
    return float(brentq(lambda b: cox_score(y, x, b, efron=efron), -8.0, 8.0, xtol=1e-13))


def antolini(y: sg.Outcomes, curves: sg.SurvivalCurves, *, tau: float, weighted: bool) -> float:
    """Share of pairs at risk together whose curves are in the right order at the event."""
    above = below = 0.0
    between = Steps(y)
    for i in range(len(y)):
        t = float(y.time[i])
        if not y.event[i] or not t < tau:
            continue
        s = curves.at(t)
        for j in range(len(y)):
            later = y.time[j] > t or (y.time[j] == t and not y.event[j])
            if j == i or not later or not naive.at_risk(y, j, t):
                continue
            weight = 1.0
            if weighted:
                weight /= between(y.entry[i], t, left=True)
                weight /= between(y.entry[j], t, left=True)
            above += weight * ((s[i] < s[j]) + 0.5 * (s[i] == s[j]))
            below += weight
    return above / below


def pseudo_survival(y: sg.Outcomes, t: float, between: Steps | None = None) -> dict[int, float]:
    """Pseudo-observation of being event-free at t given entry, of each who entered before."""
    found = {}
    between = Steps(y) if between is None else between
    events = np.unique(y.time[y.event & (y.time <= t)])
    for i in range(len(y)):
        a = float(y.entry[i])
        if not (a < t or a == 0):
            continue
        value = between(a, t, left=False, censoring=False)
        for u in events:
            if not naive.at_risk(y, i, u):
                continue
            jump = float(y.event[i] and y.time[i] == u)
            ahead = between(u, t, left=False, censoring=False)
            value += ahead * (between.hazard(u) - jump) / between(a, u, left=True)
        found[i] = value
    return found


def least_squares_of(observed: np.ndarray, design: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Coefficients of 1 - exp(-exp(design @ b + offset)) for observed risks."""
    fit = least_squares(
        lambda b: 1 - np.exp(-np.exp(design @ b + offset)) - observed,
        np.zeros(design.shape[1]),
        xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    return np.asarray(fit.x)


def spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Columns 1, x and the bend of a restricted cubic spline with three knots."""
    low, middle, high = knots
    cube = [np.maximum(x - k, 0.0) ** 3 for k in knots]
    share = (high - low) / (high - middle)
    bend = (cube[0] - cube[1] * share + cube[2] * (share - 1)) / (high - low) ** 2
    return np.stack((np.ones(x.size), x, bend), axis=1)
