"""Contributions of the subjects are derivatives: what a little more of a subject changes."""

from __future__ import annotations

import math

import numpy as np

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

from .engine import UNDEFINED, demand, same
from .kinds import kind
from .probability_checks import covering

#: How much more of a subject; the error of the difference is its square.
STEP = 1e-5
PRECISION = 1e-5
#: Of pairs a share is counted: one of 0 has contributions that are rounding errors of 1.
PAIRS = ("harrell", "uno", "antolini", "auc")


def _measures(case, rng, g):
    """(name, function of outcomes that gives details) of a metric with contributions."""
    curves, risk = case.curves(), case.risk
    last = max(case.time)
    time = last * rng.uniform(0.2, 0.9)
    times = sorted({last * rng.uniform(0.05, 0.9) for _ in range(3)})
    fixed = {"censoring": g}
    return rng.choice(
        (
            ("harrell", lambda y: sg.concordance_index(y, risk)),
            ("uno", lambda y: sg.concordance_index(y, risk, method="uno", **fixed)),
            ("antolini", lambda y: sg.concordance_td(y, curves)),
            ("auc", lambda y: cumulative_dynamic_auc_details(y, risk, [time], **fixed)),
            ("brier", lambda y: sg.brier_score(y, curves, [time], **fixed).details),
            ("brier, own G", lambda y: sg.brier_score(y, curves, [time]).details),
            ("ibs", lambda y: sg.integrated_brier_score(y, curves, times, **fixed)),
            ("ibs, own G", lambda y: sg.integrated_brier_score(y, curves, times)),
            ("crps", lambda y: sg.crps(y, curves)),
            ("log-likelihood", lambda y: sg.log_likelihood(y, curves)),
            ("coverage", lambda y: sg.coverage(y, curves, 0.8)),
            ("hinge", lambda y: _time_error(case, y, "hinge", "absolute")),
            ("uncensored", lambda y: _time_error(case, y, "uncensored", "squared")),
            ("ipcw_d", lambda y: _time_error(case, y, "ipcw_d", "absolute", **fixed)),
            (
                "ipcw_d by weights",
                lambda y: _time_error(case, y, "ipcw_d", "log", normalize="weights", **fixed),
            ),
            ("margin", lambda y: _time_error(case, y, "margin", "absolute", y_train=_others(case))),
            ("po", lambda y: _time_error(case, y, "po", "squared", y_train=_others(case))),
        )
    )


def _time_error(case, y, method, loss, y_train=None, **settings):
    options = {"method": method, "loss": loss, "y_train": y_train}
    return sg.time_error(y, case.predicted, convention=sg.Convention(**settings), **options)


def _others(case):
    """A reference set of its own: the test outcomes do not change it."""
    return [t * 1.1 for t in case.time], [True, *case.event[1:]]


@kind(covering)
def contributions(case, rng, call):
    n = len(case)
    if n < 2 or not max(case.time) > 0:
        return
    whole = sg.Outcomes(case.time, case.event)
    g = call.name(call(sg.KaplanMeier.fit_censoring, whole), "sg.KaplanMeier.fit_censoring(y)")
    name, measure = _measures(case, rng, g)
    measure.__name__ = name
    weight = np.array([1.0 + rng.randint(0, 3) for _ in range(n)])
    if rng.random() < 0.5:
        weight = np.ones(n)
    details = call(measure, sg.Outcomes(case.time, case.event, weight))
    if details is UNDEFINED or details.contributions is None or not math.isfinite(details.value):
        return
    slopes = []
    for i in range(n):
        values = []
        for sign in (1, -1):
            moved = weight.copy()
            moved[i] += sign * STEP
            values.append(call(measure, sg.Outcomes(case.time, case.event, moved)).value)
        slopes.append((values[0] - values[1]) / (2 * STEP))
    # A row of weight w is w subjects with one w-th of its contribution each.
    expected = np.array(slopes) * weight
    size = max(float(np.abs(expected).max()), abs(details.value) * 1e-3)
    if name in PAIRS:
        size = max(size, 1e-6)
    same(f"contributions to {name}", details.contributions, expected, PRECISION, size)
    total = weight.sum()
    spread = math.sqrt(math.fsum(details.contributions**2 / weight) * total / (total - 1))
    same(f"standard error of {name}", details.stderr, spread, 1e-9, 1e-12)
    demand(
        f"contributions to {name} add up", abs(details.contributions.sum()) <= PRECISION * size * n
    )
