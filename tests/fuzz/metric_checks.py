"""Time errors, pseudo-observations, pairs and tests of outcomes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import chi2

import survgauge as sg
from survgauge.metrics.group_tests import log_rank_test
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

from . import oracles
from .data import TAILS, draw
from .engine import UNDEFINED, demand, same
from .kinds import kind

METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po")
LOSSES = ("absolute", "squared", "relative", "log", "normalised")
#: Differences of Kaplan-Meier's areas, multiplied by N, leave this much of them.
LOOSE = 1e-8


def a_tau(rng, case, share=0.3):
    """A horizon, sometimes exactly at a time."""
    if rng.random() > share:
        return None
    last = max(case.time) or case.scale
    return rng.choice((rng.choice(case.time) or last, last * rng.uniform(0.2, 1.3)))


def g_option(rng, case, call):
    """(options that say where G comes from, the set it comes from)."""
    y = [row for row in case.rows() if row[2] > 0]
    if case.train is None:
        return {}, case.sampled()
    which, known = case.y_train(), case.reference()
    if rng.random() < 0.5:
        which, known = sg.Outcomes(case.time, case.event, case.weight), y
        if rng.random() < 0.5:  # by name, which is the usual one
            return rng.choice(({}, {"censoring": "test"})), case.sampled()
    g = call.name(
        call(sg.KaplanMeier.fit_censoring, which),
        f"sg.KaplanMeier.fit_censoring({call.show(which)})",
    )
    return {"censoring": g}, known


def in_sample_needs_units(case, method):
    return method == "po" and case.train is None and not case.whole_weights


@kind(draw)
def time_errors(case, rng, call):
    tau, area, tail = a_tau(rng, case), rng.choice(("step", "trapezoid")), rng.choice(TAILS)
    given, g_set = g_option(rng, case, call)
    own = {"area": area, "tail": tail, "weighted": rng.random() < 0.8}
    options = {"tau": tau, "convention": sg.Convention(**own)}
    if case.train is not None:
        options["y_train"] = case.y_train()
    if case.sample_weight is not None:
        options["sample_weight"] = case.sample_weight
    loss, normalize = rng.choice(LOSSES), rng.choice(("n", "weights", "events"))
    g = oracles.g_steps(oracles.restrict(g_set, None))
    if not given:  # the reference's own, with the clock stopped
        g = oracles.g_steps(oracles.restrict(g_set, tau))
    methods = [m for m in METHODS if not in_sample_needs_units(case, m)]
    own["tau"] = tau
    for method in rng.sample(methods, 3):
        more = {"normalize": normalize, **(given if method == "ipcw_d" else {})}
        extra = {**options, "convention": replace(options["convention"], **more)}
        expected, size = oracles.time_error(
            case, method, loss, case.predicted, **own, normalize=normalize, g=g
        )
        arguments = (case.y(), case.predicted)
        found = call(sg.time_error, *arguments, method=method, loss=loss, **extra)
        same(f"time_error {method} {loss}", found, expected, LOOSE, size)
        details = call(sg.time_error, *arguments, method=method, loss=loss, **extra)
        if details is UNDEFINED:
            same(f"details of {method}", details, expected)
            continue
        same(f"details of {method}", details.value, found, 1e-12)
        same("loss and weight", details.weight @ details.loss / details.normalizer, found, 1e-9)
        demand(
            "contributions add up to nothing",
            abs(details.contributions.sum())
            <= 1e-7 * (np.abs(details.contributions).sum() + size) + 1e-300,
        )
        _invariances(case, rng, call, method, loss, extra, found, size)
    shorthand = rng.choice((sg.mae, sg.mse, sg.rmse))
    value = call(shorthand, case.y(), case.predicted, method="hinge", **options)
    of = "absolute" if shorthand is sg.mae else "squared"
    expected, size = oracles.time_error(case, "hinge", of, case.predicted, **own)
    root = math.sqrt if shorthand is sg.rmse else float
    same(
        shorthand.__name__,
        value,
        expected if expected is UNDEFINED else root(expected),
        1e-9,
        0 if expected is UNDEFINED else root(size),
    )


def _invariances(case, rng, call, method, loss, options, found, size):
    """Order, unit and replication."""
    settings = {**options, "method": method, "loss": loss}
    settings.pop("sample_weight", None)
    weights = lambda c: {} if c.sample_weight is None else {"sample_weight": c.sample_weight}  # noqa: E731
    which = rng.randrange(3)
    if which == 0:
        order = rng.sample(range(len(case)), len(case))
        turned = case.take(order)
        again = call(sg.time_error, turned.y(), turned.predicted, **settings, **weights(turned))
        same(f"{method}: order of the subjects", again, found, LOOSE, size)
    elif which == 1 and options["convention"].censoring is None:
        factor = 4.0
        other = case.in_unit(factor)
        if settings.get("tau") is not None:
            settings["tau"] = settings["tau"] * factor
        if "y_train" in settings:
            settings["y_train"] = other.y_train()
        again = call(sg.time_error, other.y(), other.predicted, **settings, **weights(other))
        power = {"absolute": 1, "squared": 2}.get(loss, 0)
        if again is not UNDEFINED and found is not UNDEFINED:
            again = again / factor**power
        same(f"{method}: unit of time", again, found, LOOSE, size)
    elif case.weight is not None and case.whole_weights:
        repeated = case.replicated()
        again = call(
            sg.time_error, repeated.y(), repeated.predicted, **settings, **weights(repeated)
        )
        same(f"{method}: frequencies and replicated rows", again, found, LOOSE, size)


@kind(draw)
def many_methods(case, rng, call):
    """One call for all methods gives what single calls give; `expected` against the atoms."""
    tau, tail, loss = a_tau(rng, case), rng.choice(TAILS), rng.choice(LOSSES)
    options = {"tau": tau, "loss": loss, "convention": sg.Convention(tail=tail)}
    if case.train is not None:
        options["y_train"] = case.y_train()
    methods = [m for m in (*METHODS, "expected") if not in_sample_needs_units(case, m)]
    together = call(sg.time_errors, case.y(), case.predicted, methods=methods, **options)
    single = {
        m: call(sg.time_error, case.y(), case.predicted, method=m, **options) for m in methods
    }
    if together is UNDEFINED:
        demand("one of the methods is undefined", UNDEFINED in single.values())
    else:
        for method in methods:
            same(f"time_errors {method}", together[method].value, single[method], 1e-12)
    if loss in ("absolute", "squared") and tail == "hold":
        expected, size = _expected_loss(case, loss, tau)
        if not any(e for _, e, _ in oracles.restrict(case.reference(), tau)):
            expected = UNDEFINED
        same("expected", single["expected"], expected, LOOSE, size)


def _expected_loss(case, loss, tau):
    """Mean of E[loss(T, p) | T > c], T at the jumps of Kaplan-Meier and (hold) its last time."""
    y, ref = oracles.restrict(case.rows(), tau), oracles.restrict(case.reference(), tau)
    last, before, atoms = max(t for t, _, _ in ref), 1.0, []
    for u, s in oracles.km_steps(ref):
        atoms.append((u, before - s))
        before = s
    if before > 0:
        atoms.append((last, before))
    above = size = 0.0
    for (t, e, w), p in zip(y, case.predicted, strict=True):
        p = p if tau is None else min(p, tau)
        ahead = [] if e else [(u, m) for u, m in atoms if u > t]
        total = math.fsum(m for _, m in ahead)
        value = oracles.loss_of(loss, t, p, 1.0)
        if total > 0:
            value = math.fsum(m * oracles.loss_of(loss, u, p, 1.0) for u, m in ahead) / total
        above += w * value
        size += w * oracles.loss_size(loss, max(last, t), t, p, 1.0)
    n = math.fsum(w for _, _, w in y)
    return above / n, size / n


@kind(draw)
def surrogates(case, rng, call):
    tau, area, tail = a_tau(rng, case), rng.choice(("step", "trapezoid")), rng.choice(TAILS)
    method = rng.choice(("margin", "ipcw_t", "po", "pop_po"))
    if in_sample_needs_units(case, method):
        method = "margin"
    found = call(
        sg.surrogate_times,
        case.y(),
        y_train=case.y_train(),
        method=method,
        area=area,
        tail=tail,
        tau=tau,
    )
    y, ref = oracles.restrict(case.rows(), tau), oracles.restrict(case.reference(), tau)
    stop = math.inf if tau is None else tau
    if found is UNDEFINED:
        demand("a reference with events", not any(e for _, e, _ in ref))
        return
    for i, (t, e, w) in enumerate(y):
        if e:
            same("an event's own time", found.time[i], t, 0)
            same("an event's weight", found.weight[i], 1.0, 0)
            continue
        if w == 0 and case.train is None and method == "po":
            continue  # nobody to leave out
        s, big = oracles.survival_of_reference(ref, t, tail), t
        if method == "margin":
            expected = oracles.margin(t, ref, area, tail, stop)
        elif method == "ipcw_t":
            expected = oracles.ipcw_t(t, ref)
        elif method == "po":
            of = oracles.po_in_sample if case.train is None else oracles.po
            expected, big = of(t, False, ref, area, tail, stop)
        else:
            expected = oracles.km_mean(ref, area, tail, stop)
        if method in ("po", "pop_po") and tau is not None and expected > tau:
            expected = tau
        known = not (math.isnan(expected) or math.isnan(s))
        demand(f"defined is {found.defined[i]} for subject {i}", bool(found.defined[i]) == known)
        if known:
            same(f"surrogate {method} of subject {i}", found.time[i], expected, LOOSE, big)
            same(f"confidence of subject {i}", found.weight[i], 1 - s, 1e-9, 1.0)


@kind(draw)
def pseudo(case, rng, call):
    """Pseudo-observations of everybody against refits; theorems of the paper."""
    tau, tail = a_tau(rng, case), rng.choice(TAILS)
    if case.train is None and (not case.whole_weights or (case.weight and min(case.weight) < 1)):
        return
    found = call(sg.pseudo_observations, case.y(), y_train=case.y_train(), tail=tail, tau=tau)
    y, ref = oracles.restrict(case.rows(), tau), oracles.restrict(case.reference(), tau)
    stop = math.inf if tau is None else tau
    of = oracles.po_in_sample if case.train is None else oracles.po
    if found is UNDEFINED:
        demand("a reference with events", not any(e for _, e, _ in ref))
        return
    for i, (t, e, _) in enumerate(y):
        expected, big = of(t, e, ref, "step", tail, stop)
        same(f"pseudo-observation of subject {i}", found[i], expected, LOOSE, big)
        if not e and not math.isnan(expected) and tail != "hold":
            demand("po >= c", found[i] >= t - LOOSE * (big + t))


@kind(draw)
def kaplan_meier(case, rng, call):
    y = [row for row in case.rows() if row[2] > 0]
    outcomes = case.y()
    km, g = call(sg.KaplanMeier.fit, outcomes), call(sg.KaplanMeier.fit_censoring, outcomes)
    steps, away = oracles.km_steps(y), oracles.g_steps(y)
    points = [*case.time, 0.0, max(case.time) * 1.5, rng.uniform(0, max(case.time) or 1)]
    for side in ("left", "right"):
        left = side == "left"
        same("Kaplan-Meier", km.at(points, side), [oracles.read(steps, t, left) for t in points])
        same("G", g.at(points, side), [oracles.read(away, t, left) for t in points])
    tail, area = rng.choice(TAILS), rng.choice(("step", "trapezoid"))
    same("mean", call(km.mean, area, tail), oracles.km_mean(y, area, tail))
    pairs = call(sg.comparable_pairs, outcomes)
    rows, number = case.rows(), 0.0
    for i, (t, e, w) in enumerate(rows):
        for j, (u, d, v) in enumerate(rows):
            if i != j and e and (t < u or (t == u and not d)):
                number += w * v
    if pairs is not UNDEFINED:
        same("comparable pairs", pairs.number, number)


@kind(draw)
def log_rank(case, rng, call):
    a = case.rows()
    b = [(p, True, w) for p, (_, _, w) in zip(case.predicted, a, strict=True)]
    others = call(sg.Outcomes, case.predicted, [1] * len(b), [w for _, _, w in b])
    if others is not UNDEFINED:
        found = call(log_rank_test, case.y(), others)
        _same_test("log_rank_test", found, [r for r in a if r[2] > 0], [r for r in b if r[2] > 0])


def _same_test(what, found, a, b):
    gap, variance = oracles.log_rank(a, b)
    if not variance > 1e-12:
        demand(
            f"{what} without variance",
            found is UNDEFINED or math.isnan(found.p_value) or found.covariance[0, 0] <= 1e-9,
        )
        return
    demand(f"{what} is defined", found is not UNDEFINED)
    same(f"{what}: variance", found.covariance[0, 0], variance)
    same(f"{what}: statistic", found.statistic, gap * gap / variance, 1e-8, 1e-6)
    same(f"{what}: p", found.p_value, chi2.sf(gap * gap / variance, 1), 1e-6, 1.0)


TIES = ("risk", "none", "time", "all", "strict")


@kind(draw)
def concordance(case, rng, call):
    tau, ties = a_tau(rng, case), rng.choice(TIES)
    method = rng.choice(("harrell", "harrell", "uno"))
    given, g_set = g_option(rng, case, call)
    options = {"method": method, "tau": tau, "ties": ties}
    rows = [(t, e) for t, e, _ in case.rows()]
    weight = [1.0] * len(case)
    if method == "uno":
        options |= given
        g = oracles.g_steps(g_set)
        seen = [oracles.read(g, t, left=True) for t, _ in rows]
        weight = [1 / s**2 if s > 0 else 0.0 for s in seen]
    if case.sample_weight is not None:
        options["sample_weight"] = case.sample_weight
    anchor = [e and (tau is None or t < tau) for t, e in rows]
    risk = case.risk

    def ahead(i, j):
        return 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0

    unit = case.sample_weight or [1.0] * len(case)
    expected = oracles.concordance(rows, ahead, case.subject_weight(), unit, anchor, weight, ties)
    found = call(sg.concordance_index, case.y(), risk, **options)
    same(f"{method}, ties {ties}", found, expected, 1e-9, 1.0)
    details = call(sg.concordance_index, case.y(), risk, **options)
    if details is UNDEFINED:
        same("details", details, expected)
        return
    same("details", details.value, found, 1e-12, 1.0)
    if ties == "risk":
        turned = call(sg.concordance_index, case.y(), [-r for r in risk], **options)
        same("reversed risks", turned, 1 - found, 1e-14, 1.0)
    order = rng.sample(range(len(case)), len(case))
    other = case.take(order)
    if other.sample_weight is not None:
        options["sample_weight"] = other.sample_weight
    again = call(sg.concordance_index, other.y(), other.risk, **options)
    same("order of the subjects", again, found, 1e-9, 1.0)
    if case.weight is not None and case.whole_weights:
        repeated = case.replicated()
        if repeated.sample_weight is not None:
            options["sample_weight"] = repeated.sample_weight
        again = call(sg.concordance_index, repeated.y(), repeated.risk, **options)
        same("replicated rows", again.value, found, 1e-9, 1.0)
        same("standard error of replicated rows", again.stderr, details.stderr, 1e-6, 1.0)


@kind(draw)
def auc(case, rng, call):
    given, g_set = g_option(rng, case, call)
    method = rng.choice(("ipcw", "ipcw", "unweighted"))
    options = {"method": method, **(given if method == "ipcw" else {})}
    if case.sample_weight is not None:
        options["sample_weight"] = case.sample_weight
    last = max(case.time) or case.scale
    times = sorted({rng.choice(case.time), last * rng.random(), last * rng.uniform(0, 1.2)})
    rows, copies = [(t, e) for t, e, _ in case.rows()], case.subject_weight()
    weight = [1.0] * len(case)
    until, closed = max(t for t, _, _ in case.sampled()), True
    if method == "ipcw":
        g = oracles.g_steps(g_set)
        seen = [oracles.read(g, t, left=True) for t, _ in rows]
        weight = [1 / s if s > 0 else 0.0 for s in seen]
        until, closed = oracles.identified_until(case.rows(), copies, g_set)
    scored, values = [], []
    for t in times:
        if t < until or (t == until and closed):
            value = oracles.auc(rows, case.risk, t, copies, weight)
            if value is not None:
                scored.append(t)
                values.append(value)
    found = call(sg.cumulative_dynamic_auc, case.y(), case.risk, times, stderr="fixed", **options)
    if not scored:
        same("auc", found, UNDEFINED)
        return
    demand("auc is defined", found is not UNDEFINED)
    same("times of the auc", found.times, scored, 0)
    same("auc", found.values, values, 1e-9, 1.0)
    km = oracles.km_steps(case.sampled())
    falls, before = [], 1.0
    for t in scored:
        s = oracles.read(km, t)
        falls.append(before - s)
        before = s
    mean = (
        values[0]
        if len(values) == 1
        else math.fsum(f * v for f, v in zip(falls, values, strict=True)) / math.fsum(falls)
    )
    same("mean of the auc", found.mean, mean, 1e-9, 1.0)
    by_column = [[r] * len(times) for r in case.risk]
    columns = call(sg.cumulative_dynamic_auc, case.y(), by_column, times, **options)
    same("auc of columns", columns.values, found.values, 1e-12, 1.0)
    details = call(cumulative_dynamic_auc_details, case.y(), case.risk, times, **options)
    same("auc details", details.value, found.mean, 1e-12, 1.0)
