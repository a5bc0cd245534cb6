"""Probability scores, time-dependent concordance and calibration."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.stats import chi2

import survgauge as sg

from . import oracles
from .data import draw
from .engine import UNDEFINED, demand, same
from .kinds import kind
from .metric_checks import TIES, a_tau, g_option


def covering(rng):
    """A case whose curves reach past every time."""
    for _ in range(100):
        case = draw(rng)
        ends = [case.curve(i)[-1][0] for i in range(len(case))]
        if min(ends) >= max(case.time):
            return case
    raise AssertionError("no curves that cover")


def some_times(rng, case):
    last = max(case.time) or case.scale
    return sorted({rng.choice(case.time), last * rng.random(), last * rng.random(), last * 1.1})


@kind(covering)
def brier(case, rng, call):
    given, g_set = g_option(rng, case, call)
    options = dict(given)
    if case.sample_weight is not None:
        options["sample_weight"] = case.sample_weight
    curves, times = case.curves(), some_times(rng, case)
    g = oracles.g_steps(g_set)
    until, closed = oracles.identified_until(case.rows(), case.subject_weight(), g_set)
    if not closed and until == 0:
        return
    scored = [t for t in times if t < until or (t == until and closed)]
    survival = {t: curves.at(t).tolist() for t in scored}
    rules = {
        oracles.squared: (sg.brier_score, sg.integrated_brier_score),
        oracles.logarithmic: (sg.binomial_log_likelihood, sg.integrated_binomial_log_likelihood),
    }
    for rule, (score, integral) in rules.items():
        values = [oracles.score_at(case, t, g, survival[t], rule) for t in scored]
        found = call(score, case.y(), curves, times, **options)
        whole = call(integral, case.y(), curves, times, **options)
        if not scored:
            for result in (found, whole):
                same("no time can be scored", result, UNDEFINED)
            continue
        demand(f"{score.__name__} is defined", found is not UNDEFINED)
        same(f"{score.__name__}: times", found.times, scored, 0)
        same(score.__name__, found.values, values, 1e-9, 1e-3)
        if len(scored) < 2:
            same("one time is nothing to integrate", whole, UNDEFINED)
            continue
        expected = (
            oracles.trapezoid(scored, values) if all(map(math.isfinite, values)) else math.inf
        )
        same(integral.__name__, whole, expected, 1e-9, 1e-3)


@kind(covering)
def brier_forms(case, rng, call):
    """Unweighted and default grids; order, units, replication, skill."""
    curves = case.curves()
    options = {} if case.sample_weight is None else {"sample_weight": case.sample_weight}
    last = max(t for (t, _, _), m in zip(case.rows(), case.subject_weight(), strict=True) if m > 0)
    if last > 0:
        t = last * rng.random()
        found = call(sg.brier_score, case.y(), curves, t, method="unweighted", **options)
        above = below = 0.0
        for (u, e, _), s, m in zip(
            case.rows(), curves.at(t).tolist(), case.subject_weight(), strict=True
        ):
            if u > t or e:
                above += m * oracles.squared(s, u > t)
                below += m
        if below > 0:
            same("unweighted Brier", found.values[0], above / below, 1e-9, 1e-3)
    value = call(sg.integrated_brier_score, case.y(), curves, **options)
    order = rng.sample(range(len(case)), len(case))
    other = case.take(order)
    more = {} if other.sample_weight is None else {"sample_weight": other.sample_weight}
    same(
        "order of the subjects",
        call(sg.integrated_brier_score, other.y(), other.curves(), **more),
        value,
        1e-9,
        1e-6,
    )
    factor = 8.0
    scaled = case.in_unit(factor)
    same(
        "unit of time",
        call(sg.integrated_brier_score, scaled.y(), scaled.curves(), **options),
        value,
        1e-9,
        1e-6,
    )
    if case.weight is not None and case.whole_weights:
        repeated = case.replicated()
        more = {}
        if repeated.sample_weight is not None:
            more["sample_weight"] = repeated.sample_weight
        again = call(sg.integrated_brier_score, repeated.y(), repeated.curves(), **more)
        same("replicated rows", again, value, 1e-9, 1e-6)
    if value is not UNDEFINED:
        base = call(sg.reference_curves, case.y(), len(case))
        theirs = call(sg.integrated_brier_score, case.y(), base, **options)
        skill = call(sg.skill, "ibs", case.y(), curves, **options)
        if theirs == 0:
            same("no skill", skill, UNDEFINED)
        else:
            same("skill", skill, 1 - value / theirs, 1e-7, 1.0)


@kind(covering)
def concordance_td(case, rng, call):
    curves, tau, ties = case.curves(), a_tau(rng, case), rng.choice(TIES)
    method = rng.choice(("antolini", "antolini", "ipcw"))
    given, g_set = g_option(rng, case, call)
    options = {"method": method, "tau": tau, "ties": ties}
    rows = [(t, e) for t, e, _ in case.rows()]
    weight = [1.0] * len(case)
    if method == "ipcw":
        options |= given
        g = oracles.g_steps(g_set)
        seen = [oracles.read(g, t, left=True) for t, _ in rows]
        weight = [1 / s**2 if s > 0 else 0.0 for s in seen]
    if case.sample_weight is not None:
        options["sample_weight"] = case.sample_weight
    anchor = [e and (tau is None or t < tau) for t, e in rows]
    at = curves.at([t for t, _ in rows])  # (subject, time)
    if np.isnan(at).any():
        return

    def ahead(i, j):
        a, b = at[i, i], at[j, i]
        return 1.0 if a < b else 0.5 if a == b else 0.0

    unit = case.sample_weight or [1.0] * len(case)
    expected = oracles.concordance(rows, ahead, case.subject_weight(), unit, anchor, weight, ties)
    found = call(sg.concordance_td, case.y(), curves, **options)
    same(f"{method}, ties {ties}", found, expected, 1e-9, 1.0)


@kind(covering)
def auc_of_curves(case, rng, call):
    curves, times = case.curves(), some_times(rng, case)
    found = call(sg.cumulative_dynamic_auc, case.y(), curves, times)
    if found is UNDEFINED:
        return
    column = -curves.at(times)
    if np.isnan(column).any():
        return
    again = call(sg.cumulative_dynamic_auc, case.y(), column, times)
    same("curves and their columns", again.values, found.values, 1e-12, 1.0)


@kind(covering)
def calibration(case, rng, call):
    curves, y = case.curves(), case.y()
    survival = curves.at_own(case.time).tolist()
    weights = [w for _, _, w in case.rows()]
    bins = rng.choice((2, 3, 5, 10))
    found = call(sg.d_calibration, y, curves, bins=bins, method="chi2")
    if any(math.isnan(s) for s in survival):
        same("unknown survival", found, UNDEFINED)
        return
    # Where S lies on an edge of a bin, rounding may put it on either side.
    edges = [
        abs(s * bins - round(s * bins)) < 1e-9 and s * bins != round(s * bins) for s in survival
    ]
    if not any(edges):
        counts = oracles.d_calibration_bins(survival, case.event, weights, bins)
        same("bins", found.observed, counts, 1e-9, 1.0)
        n = math.fsum(weights)
        statistic = math.fsum((c - n / bins) ** 2 for c in counts) / (n / bins)
        same("chi-squared", found.statistic, statistic, 1e-7, 1.0)
        same("p-value", found.p_value, chi2.sf(statistic, bins - 1), 1e-6, 1.0)
        shares = call(found.weights)
        here = np.flatnonzero(weights)  # absent subjects have none
        same("weights of the subjects", np.array(weights)[here] @ shares[here], counts, 1e-9, 1.0)
    ks = call(sg.d_calibration, y, curves, method="ks")
    if ks is not UNDEFINED:
        demand("p in [0, 1]", 0 <= ks.p_value <= 1)
    level = rng.choice((0.3, 0.75, 0.9))
    low, high = (1 - level) / 2, (1 + level) / 2
    if all(abs(s - low) > 1e-12 and abs(s - high) > 1e-12 for s in survival):
        value = call(sg.coverage, y, curves, level)
        same("coverage", value, oracles.coverage(survival, case.event, weights, level), 1e-9, 1.0)
    value = call(sg.km_calibration, y, curves)
    if case.shared and case.interpolation != "pchip":
        same("km_calibration", value, oracles.km_calibration(case), 1e-8, 1e-6)
    order = rng.sample(range(len(case)), len(case))
    other = case.take(order)
    for function in (sg.km_calibration, sg.d_calibration):
        a, b = call(function, y, curves), call(function, other.y(), other.curves())
        if a is not UNDEFINED and b is not UNDEFINED:
            a, b = float(a), float(b)
        same(f"{function.__name__}: order of the subjects", b, a, 1e-7, 1e-6)


@kind(covering)
def grouped_calibration(case, rng, call):
    """1-calibration by groups of risk, as its own bounds of the groups say."""
    curves, last = case.curves(), max(t for t, _, w in case.rows() if w > 0)
    time = last * rng.choice((rng.random(), 1.0))
    groups, method = rng.choice((3, 4, 10)), rng.choice(("dn", "gnd", "uncensored"))
    found = call(sg.one_calibration, case.y(), curves, time, groups=groups, method=method)
    if found is UNDEFINED:
        return
    s = curves.at(time).tolist()
    # Bounds tell predictions apart that differ by more than rounding.
    levels = sorted(set(s))
    if any(b - a < 1e-12 for a, b in itertools.pairwise(levels)):
        return
    known = lambda t, e: method != "uncensored" or e or t >= time  # noqa: E731
    rows = [
        (t, e, w, 1 - p)
        for (t, e, w), p in zip(case.rows(), s, strict=True)
        if w > 0 and known(t, e)
    ]
    statistic = 0.0
    for k, (low, high) in enumerate(found.edges.tolist()):
        members = [row for row in rows if low <= row[3] <= high]
        size = math.fsum(w for _, _, w, _ in members)
        expected = math.fsum(w * p for _, _, w, p in members) / size
        steps = oracles.km_steps([(t, e, w) for t, e, w, _ in members])
        observed = 1 - oracles.read(steps, time)
        if method == "uncensored":
            observed = math.fsum(w for t, e, w, _ in members if e and t <= time) / size
        same("size of a group", found.size[k], size)
        same("predicted rate of a group", found.expected[k], expected, 1e-9, 1.0)
        same("observed rate of a group", found.observed[k], observed, 1e-9, 1.0)
        variance = expected * (1 - expected) / size
        if method == "gnd":
            variance = _greenwood(members, time)
        gap = (found.observed[k] - found.expected[k]) ** 2
        if gap > 0:
            statistic += gap / variance if variance > 0 else math.inf
    same("statistic", found.statistic, statistic, 1e-6, 1e-6)


def _greenwood(members, time):
    total, s = 0.0, 1.0
    for u in sorted({t for t, e, _, _ in members if e and t <= time}):
        n = math.fsum(w for t, _, w, _ in members if t >= u)
        d = math.fsum(w for t, e, w, _ in members if e and t == u)
        if n > d:
            total += d / (n * (n - d))
        s *= (n - d) / n
    return s * s * total


@kind(covering)
def fitted_calibration(case, rng, call):
    """Slope and ICI are regressions: order and units change nothing, no warning leaks."""
    curves, last = case.curves(), max(t for t, _, w in case.rows() if w > 0)
    time = last * rng.uniform(0.3, 0.9)
    order = rng.sample(range(len(case)), len(case))
    other = case.take(order)
    for slope_by in (sg.calibration_slope, sg.calibration_slope_cox):
        slope = call(slope_by, case.y(), curves, time)
        again = call(slope_by, other.y(), other.curves(), time)
        same("slope: order of the subjects", again, slope, 1e-5, 1e-5)
    for index_by in (sg.integrated_calibration_index, sg.integrated_calibration_index_cox):
        index = call(index_by, case.y(), curves, time)
        again = call(index_by, other.y(), other.curves(), time)
        if index is UNDEFINED or again is UNDEFINED:
            same("ICI: order of the subjects", again, index)
        else:
            same("ICI: order of the subjects", again.ici, index.ici, 1e-5, 1e-5)
            demand("ICI in [0, 1]", 0 <= index.ici <= 1)
    linear = [rng.gauss(0, 1) for _ in range(len(case))]
    call(sg.calibration_slope_cox, case.y(), linear)
