"""Curves: reading them, times and areas, other forms of the same curves, whole-curve scores."""

from __future__ import annotations

import math

import numpy as np

import survgauge as sg

from . import oracles
from .data import draw
from .engine import UNDEFINED, demand, same
from .kinds import kind


@kind(draw)
def reading_curves(case, rng, call):
    curves = call(case.curves)
    last = max(case.time) or case.scale
    points = [0.0, rng.choice(case.time), last * rng.random(), last * 2.5]
    values = call(curves.at, points)
    own = call(curves.at_own, case.time)
    demand(
        "survival in [0, 1]",
        np.nanmin(values, initial=0) >= 0 and np.nanmax(values, initial=0) <= 1,
    )
    if case.interpolation != "pchip":
        read = lambda i, t: oracles.curve_at(case.curve(i), t, case.interpolation, case.tail)  # noqa: E731
        expected = [[read(i, t) for t in points] for i in range(len(case))]
        same("S(t)", values, expected, 1e-9, 1e-3)
        same("S at the own time", own, [read(i, t) for i, t in enumerate(case.time)], 1e-9, 1e-3)
        q = rng.choice((0.1, 0.5, 0.5, 0.9))
        times = [
            oracles.curve_quantile(case.curve(i), 1 - q, case.interpolation, case.tail)
            for i in range(len(case))
        ]
        same(f"quantile {q}", call(curves.quantile, q), times, 1e-9)
        areas = []
        for i in range(len(case)):
            nodes = oracles.nodes_of(case.curve(i))
            area = oracles.curve_area(nodes, math.inf, case.interpolation, case.tail)
            areas.append(area + oracles.tail_area(*nodes[-1], case.tail))
        same("mean", call(curves.mean), areas, 1e-9)
        tau = last * rng.uniform(0.2, 1.5)
        areas = []
        for i in range(len(case)):
            nodes = oracles.nodes_of(case.curve(i))
            area = oracles.curve_area(nodes, tau, case.interpolation, case.tail)
            areas.append(area + oracles.tail_area(*nodes[-1], case.tail, tau))
        same("rmst", call(curves.rmst, tau), areas, 1e-9)
    else:
        nodes = [oracles.nodes_of(case.curve(i)) for i in range(len(case))]
        for i, curve in enumerate(nodes):
            at = call(curves.at, [t for t, _ in curve])[i]
            same("pchip goes through its nodes", at, [s for _, s in curve], 1e-9, 1e-3)
    order = rng.sample(range(len(case)), len(case))
    same("order", call(case.take(order).curves().at, points), values[order], 1e-12)
    same("median", call(curves.median), call(curves.quantile, 0.5), 0)


@kind(draw)
def other_forms(case, rng, call):
    """A pair, a frame, step functions, unsorted times, a repair: the same curves."""
    curves = case.curves()
    points = [*case.time, max(case.time) * 2]
    grid, survival = np.array(case.grid), np.array(case.survival)
    tail = {"tail": case.tail}
    if case.interpolation == "linear":
        pair = call(sg.as_curves, (grid, survival), **tail)
        same("pair", pair.at(points), curves.at(points), 1e-6 if case.single else 1e-12, 1.0)
    order = rng.sample(range(grid.shape[-1]), grid.shape[-1])
    mixed = call(
        sg.SurvivalCurves, grid[..., order], survival[:, order], case.interpolation, case.tail
    )
    same("unsorted times", mixed.at(points), curves.at(points), 1e-6 if case.single else 1e-12, 1.0)
    for repair in ("running_minimum", "isotonic"):
        mended = call(sg.SurvivalCurves, grid, survival, case.interpolation, case.tail, repair)
        same(
            "nothing to mend",
            mended.at(points),
            curves.at(points),
            1e-6 if case.single else 1e-12,
            1.0,
        )
    rows = [rng.randrange(len(case)) for _ in range(3)]
    same("rows", curves[rows].at(points), curves.at(points)[rows], 1e-12, 1.0)


def _tail_squares(start, last, s, tail):
    """Integrals of (1 - S)^2 from last to start, and of S^2 from start on, under the tail."""
    if tail == "hold":
        return 0.0, 0.0
    if s <= 0:
        return max(start - last, 0.0), 0.0
    if s >= 1:
        return 0.0, math.inf
    if last <= 0:
        return max(start - last, 0.0), 0.0
    if tail == "linear":
        end = last / (1 - s)
        at = lambda t: max(0.0, 1 - t / last * (1 - s))  # noqa: E731
        stop = min(start, end)
        f0, f1 = 1 - s, 1 - at(stop)
        before = (stop - last) * (f0 * f0 + f0 * f1 + f1 * f1) / 3 + max(start - end, 0.0)
        return before, max(end - start, 0.0) * at(start) ** 2 / 3
    rate = -math.log(s) / last
    survival = lambda t: math.exp(-rate * t)  # noqa: E731
    a, b = survival(last), survival(start)
    before = (start - last) - 2 * (a - b) / rate + (a * a - b * b) / (2 * rate)
    return before, b * b / (2 * rate)


@kind(draw)
def crps(case, rng, call):
    options = {} if case.sample_weight is None else {"sample_weight": case.sample_weight}
    curves = case.curves()
    found = call(sg.crps, case.y(), curves, **options)
    order = rng.sample(range(len(case)), len(case))
    other = case.take(order)
    again = {} if other.sample_weight is None else {"sample_weight": other.sample_weight}
    turned = call(sg.crps, other.y(), other.curves(), **again)
    same("order of the subjects", turned, found, 1e-9)
    if case.interpolation == "pchip":
        return
    weight, total, size = case.subject_weight(), 0.0, 0.0
    for i, ((t, e, _), m) in enumerate(zip(case.rows(), weight, strict=True)):
        if m == 0:
            continue
        nodes = oracles.nodes_of(case.curve(i))
        last, s = nodes[-1]
        if case.tail == "nan" and s > 0 and (e or t > last):
            total = UNDEFINED
            break
        tail = "linear" if case.tail == "nan" else case.tail
        value = oracles.curve_area(nodes, t, case.interpolation, tail, 2, one_minus=True)
        if e:
            value += oracles.curve_area(nodes, math.inf, case.interpolation, tail, 2, start=t)
        before, after = _tail_squares(max(t, last), last, s, tail)
        value += before if t > last else 0.0
        value += after if e else 0.0
        total += m * value
        size += m * (t + last)
    if total is UNDEFINED:
        same("crps", found, UNDEFINED)
    else:
        same("crps", found, total / math.fsum(weight), 1e-9, size / math.fsum(weight))


@kind(draw)
def log_likelihood(case, rng, call):
    options = {} if case.sample_weight is None else {"sample_weight": case.sample_weight}
    found = call(sg.log_likelihood, case.y(), case.curves(), **options)
    details = call(sg.log_likelihood, case.y(), case.curves(), **options)
    same("details", UNDEFINED if details is UNDEFINED else details.value, found, 1e-12)
    if case.interpolation == "pchip":
        return
    weight, total = case.subject_weight(), 0.0
    for i, ((t, e, _), m) in enumerate(zip(case.rows(), weight, strict=True)):
        if m == 0:
            continue
        nodes = oracles.nodes_of(case.curve(i))
        last, s = nodes[-1]
        if t > last and case.tail == "nan" and s > 0:
            total = UNDEFINED
            break
        tail = "linear" if case.tail == "nan" else case.tail
        if not e:
            p = oracles.curve_at(nodes, t, case.interpolation, tail)
        elif case.interpolation == "step":
            p = math.nan
        elif t > last:
            p = _tail_density(t, last, s, tail)
        else:
            p = 0.0
            for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
                if t0 < t <= t1 or (t == 0 == t0):
                    p = (s0 - s1) / (t1 - t0)
                    break
        total += m * (math.nan if math.isnan(p) else math.log(p) if p > 0 else -math.inf)
    if total is UNDEFINED:
        same("log-likelihood", found, UNDEFINED)
    else:
        same("log-likelihood", found, total / math.fsum(weight), 1e-9, 1.0)


def _tail_density(t, last, s, tail):
    if tail == "hold" or s >= 1 or s <= 0 or last <= 0:
        return 0.0
    if tail == "linear":
        return (1 - s) / last if t <= last / (1 - s) else 0.0
    rate = -math.log(s) / last
    return rate * math.exp(-rate * t)


@kind(draw)
def residuals(case, rng, call):
    curves = case.curves()
    kinds = {
        "cox_snell": sg.cox_snell_residuals,
        "martingale": sg.martingale_residuals,
        "deviance": sg.deviance_residuals,
    }
    name = rng.choice(list(kinds))
    found = call(kinds[name], case.y(), curves)
    values = curves.at_own(case.time)
    here = [i for i, (_, _, w) in enumerate(case.rows()) if w > 0]
    if np.isnan(values[here]).any():
        same(name, found, UNDEFINED)
        return
    expected = []
    for s, e in zip(values.tolist(), case.event, strict=True):
        hazard = -math.log(s) if s > 0 else math.inf
        m = float(e) - hazard
        if name == "cox_snell":
            expected.append(hazard)
        elif name == "martingale":
            expected.append(m)
        elif math.isinf(hazard):
            expected.append(-math.inf)
        elif e and hazard == 0:
            expected.append(math.inf)
        else:
            inside = -2 * (m + (math.log(hazard) if e else 0.0))
            expected.append(math.copysign(math.sqrt(max(inside, 0.0)), m))
    same(name, found[here], [expected[i] for i in here], 1e-6, 1.0)
    details = call(sg.residual_details, case.y(), curves, kind=name)
    same("details", details.residuals[here], found[here], 0)


@kind(draw)
def made_curves(case, rng, call):
    """Curves from quantiles, from accelerated failure times, and of the reference set."""
    n = len(case)
    levels = sorted({rng.randint(1, 9) / 10 for _ in range(3)})
    quantiles = [sorted(rng.uniform(0.1, 9) * case.scale for _ in levels) for _ in range(n)]
    curves = call(sg.curves_from_quantiles, levels, quantiles)
    for level, column in zip(levels, np.transpose(quantiles), strict=True):
        same("quantiles come back", curves.quantile(level), column, 1e-9)
    grid = sorted({rng.uniform(0.1, 20) * case.scale for _ in range(4)})
    aft = call(
        sg.curves_from_aft,
        [case.scale * rng.uniform(0.5, 5) for _ in range(n)],
        rng.uniform(0.2, 2),
        grid,
        distribution=rng.choice(("normal", "logistic", "extreme")),
    )
    values = aft.at(grid)
    demand("curves fall", (np.diff(values, axis=1) <= 0).all() and (values >= 0).all())
    y = [row for row in case.rows() if row[2] > 0]
    base = call(sg.reference_curves, case.y(), 3)
    steps, points = oracles.km_steps(y), sorted({0.0, *(t for t, _, _ in y)})
    same("reference curves", base.at(points), [[oracles.read(steps, t) for t in points]] * 3)
