"""Definitions as loops over subjects, with frequencies; nothing here is the package's."""

from __future__ import annotations

import math

from .engine import UNDEFINED

# -- Kaplan-Meier, G, areas; y is a list of (time, event, weight), weights above zero --------------


def km_steps(y):
    """[(event time, survival after it)]; events come before censorings."""
    steps, s = [], 1.0
    for u in sorted({t for t, e, _ in y if e}):
        n = math.fsum(w for t, _, w in y if t >= u)
        d = math.fsum(w for t, e, w in y if e and t == u)
        # What is left is counted, so that the last step is exactly zero.
        left = math.fsum(w for t, e, w in y if t > u or (t == u and not e))
        s *= left / n if d else 1.0
        steps.append((u, s))
    return steps


def g_steps(y):
    """The same for censoring: events leave the risk set first."""
    steps, s = [], 1.0
    for u in sorted({t for t, e, _ in y if not e}):
        n = math.fsum(w for t, e, w in y if t > u or (t == u and not e))
        s *= math.fsum(w for t, _, w in y if t > u) / n
        steps.append((u, s))
    return steps


def read(steps, t, left=False):
    """Value of a step function at t, or its left limit."""
    s = 1.0
    for u, value in steps:
        if u < t or (u == t and not left):
            s = value
    return s


def tail_at(t, last, s, tail):
    """Survival past the last known point."""
    if s >= 1:
        return math.nan if tail == "nan" else 1.0
    if s <= 0:
        return 0.0
    if tail == "hold":
        return s
    if tail == "nan":
        return math.nan
    if last <= 0:
        return 0.0
    return max(0.0, 1 - t / last * (1 - s)) if tail == "linear" else s ** (t / last)


def tail_area(last, s, tail, stop=math.inf):
    if s <= 0 or last >= stop or tail == "hold":
        return 0.0
    if tail == "nan":
        return math.nan
    if s >= 1:
        return stop - last
    if last <= 0:
        return 0.0
    if tail == "linear":
        end = last / (1 - s)
        if end <= stop:
            return 0.5 * s * (end - last)
        return 0.5 * (s + 1 - stop * (1 - s) / last) * (stop - last)
    at_stop = 0.0 if math.isinf(stop) else s ** (stop / last)
    return last * (s - at_stop) / -math.log(s)


def km_mean(y, area="step", tail="linear", stop=math.inf):
    steps, last = km_steps(y), max(t for t, _, _ in y)
    nodes = [(0.0, 1.0), *steps]
    if nodes[-1][0] < last:
        nodes.append((last, nodes[-1][1]))
    total = 0.0
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        total += (t1 - t0) * (s0 if area == "step" else (s0 + s1) / 2)
    return total + tail_area(last, nodes[-1][1], tail, stop)


def survival_of_reference(y, c, tail):
    last, steps = max(t for t, _, _ in y), km_steps(y)
    if c <= last:
        return read(steps, c)
    return tail_at(c, last, read(steps, last), tail)


# -- surrogates ------------------------------------------------------------------------------------


def margin(c, y, area="step", tail="linear", stop=math.inf):
    s_c = survival_of_reference(y, c, tail)
    if s_c == 0:
        return c
    last, steps = max(t for t, _, _ in y), km_steps(y)
    if c > last:
        return c + tail_area(c, s_c, tail, stop) / s_c
    if area == "step":
        times = [u for u, _ in steps if u > c]
        if not times or times[-1] < last:
            times.append(last)
    else:
        times = sorted({t for t, _, _ in y if t > c})
    total, before, height = 0.0, c, s_c
    for t in times:
        s = read(steps, t)
        total += (t - before) * (height if area == "step" else (height + s) / 2)
        before, height = t, s
    return c + (total + tail_area(last, read(steps, last), tail, stop)) / s_c


def ipcw_t(c, y):
    later = [(t, w) for t, e, w in y if e and t > c]
    return (
        math.fsum(t * w for t, w in later) / math.fsum(w for _, w in later) if later else math.nan
    )


def po(c, event, y, area, tail, stop):
    """(N+1) theta(D+i) - N theta(D), and how large its parts are."""
    n = math.fsum(w for _, _, w in y)
    joined, alone = km_mean([*y, (c, event, 1.0)], area, tail, stop), km_mean(y, area, tail, stop)
    return (n + 1) * joined - n * alone, (n + 1) * joined


def po_in_sample(c, event, y, area, tail, stop):
    """N theta(D) - (N-1) theta(D without one unit of i)."""
    n, others, gone = math.fsum(w for _, _, w in y), [], False
    for t, e, w in y:
        if not gone and (t, e) == (c, event):
            gone, w = True, w - 1.0
        if w > 0:
            others.append((t, e, w))
    whole = n * km_mean(y, area, tail, stop)
    if not others:
        return whole, whole
    return whole - (n - 1) * km_mean(others, area, tail, stop), whole


#: Methods that have nothing to say without an event in the reference set.
NEED_EVENTS = ("margin", "ipcw_t", "po", "pop_po", "expected")


def restrict(y, tau):
    return y if tau is None else [(min(t, tau), e or t >= tau, w) for t, e, w in y]


def loss_of(name, t, p, scale):
    """Loss, or None where it has none."""
    if name == "absolute":
        return abs(t - p)
    if name == "squared":
        return (t - p) ** 2
    if name == "relative":
        return abs(t - p) / t if t > 0 else None
    if name == "log":
        return abs(math.log(t) - math.log(p)) if t > 0 and p > 0 else None
    return abs(t - p) / scale


def time_error(
    case,
    method,
    loss,
    predicted,
    *,
    weighted=True,
    tau=None,
    area="step",
    tail="linear",
    normalize="n",
    g=None,
    true_time=None,
):
    """Value of a time error, and how large its parts are; all methods but `expected`."""
    y, ref = restrict(case.rows(), tau), restrict(case.sampled_reference(), tau)
    in_sample, stop = case.train is None, math.inf if tau is None else tau
    last = max(t for t, _, _ in ref)
    scale = tau or last
    if loss == "normalised" and not scale > 0:
        return UNDEFINED, 0.0
    if method in NEED_EVENTS and not any(e for _, e, _ in ref):
        return UNDEFINED, 0.0
    above = below = size = 0.0
    some = False
    for (t, e, _), p, m, i in zip(y, predicted, case.subject_weight(), range(len(y)), strict=True):
        p = p if tau is None else min(p, tau)
        target, weight, count, big = t, 1.0, True, t
        if method == "true":
            target = true_time[i] if tau is None else min(true_time[i], tau)
        elif e and method == "ipcw_d":
            seen = read(g, t, left=True)
            weight = 1 / seen if seen > 0 else 0.0
        elif not e:
            if method in ("uncensored", "ipcw_d"):
                weight, count = 0.0, method == "ipcw_d"
            elif method == "hinge":
                p = min(p, t)
            else:
                s = survival_of_reference(ref, t, tail)
                weight = 1 - s if weighted else 1.0
                if method == "margin":
                    target = margin(t, ref, area, tail, stop)
                elif method == "ipcw_t":
                    target = ipcw_t(t, ref)
                elif method == "po":
                    target, big = (po_in_sample if in_sample else po)(t, e, ref, area, tail, stop)
                else:
                    target = big = km_mean(ref, area, tail, stop)
                if method in ("po", "pop_po") and tau is not None and target > tau:
                    target = tau
                if math.isnan(target) or math.isnan(weight):
                    weight, count, target = 0.0, False, t
        value = loss_of(loss, target, p, scale)
        lost = value is None and weight > 0
        if value is None or m == 0:
            value, weight = 0.0, 0.0
        above += weight * m * value
        size += weight * m * (value + loss_size(loss, big, target, p, scale))
        if method == "ipcw_d" and normalize != "weights":
            if lost:
                continue
            below += m if normalize == "n" or weight > 0 else 0.0
        elif count:
            below += weight * m
        some = some or weight * m > 0
    if not (below > 0 and some):
        return UNDEFINED, 0.0
    return above / below, size / below


def loss_size(loss, big, target, p, scale):
    """How much rounding of a target of this size moves its loss."""
    if not math.isfinite(big):
        return 0.0
    if loss == "squared":
        return big * big + p * p
    if loss == "absolute":
        return abs(big) + abs(p)
    if loss == "normalised":
        return (abs(big) + abs(p)) / scale
    return (abs(big) + abs(p)) / abs(target) if target else 1.0


# -- curves ----------------------------------------------------------------------------------------


def nodes_of(curve):
    """The point (0, 1) comes first where a grid starts later."""
    return list(curve) if curve[0][0] == 0 else [(0.0, 1.0), *curve]


def curve_at(curve, t, interpolation, tail):
    """S(t) of a curve of lines or steps."""
    nodes = nodes_of(curve)
    if t > nodes[-1][0]:
        return tail_at(t, *nodes[-1], tail)
    if t == nodes[-1][0]:
        return nodes[-1][1]
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        if t0 <= t < t1:
            return s0 if interpolation == "step" else s0 + (s1 - s0) * ((t - t0) / (t1 - t0))
    raise AssertionError(t)


def curve_quantile(curve, p, interpolation, tail):
    """First time with S <= p."""
    nodes = nodes_of(curve)
    if nodes[0][1] <= p:
        return nodes[0][0]
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        if s1 <= p:
            return t1 if interpolation == "step" else t0 + (t1 - t0) * ((s0 - p) / (s0 - s1))
    last, s = nodes[-1]
    if tail == "hold":
        return last
    if tail == "nan":
        return math.nan
    if s >= 1:
        return math.inf
    if tail == "linear":
        return last * (1 - p) / (1 - s)
    return last * math.log(p) / math.log(s) if p > 0 else math.inf


def curve_area(curve, stop, interpolation, tail, power=1, one_minus=False, start=0.0):
    """Integral of S^power or (1 - S)^power from start to stop, without the tail."""
    total = 0.0
    nodes = nodes_of(curve)
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        a, b = max(t0, start), min(t1, stop)
        if b <= a:
            continue
        if interpolation == "step":
            values = (s0, s0, s0)
        else:
            values = tuple(s0 + (s1 - s0) * ((x - t0) / (t1 - t0)) for x in (a, (a + b) / 2, b))
        f = [(1 - v if one_minus else v) ** power for v in values]
        total += (b - a) * (f[0] + 4 * f[1] + f[2]) / 6
    return total


# -- pairs -----------------------------------------------------------------------------------------


def concordance(rows, ahead, subject_weight, unit, anchor, weight, ties):
    """C over pairs; `ahead(i, j)` is 1, 0 or 1/2 (tied) for anchor i and comparator j.

    rows are (time, event); two events at one time are a pair under some rules only.
    """
    good = total = 0.0
    n = len(rows)
    for i in range(n):
        if not anchor[i] or weight[i] == 0:
            continue
        t, _ = rows[i]
        for j in range(n):
            u, other = rows[j]
            if i == j or not (t < u or (t == u and not other)):
                continue
            pair, value = weight[i] * subject_weight[i] * subject_weight[j], ahead(i, j)
            if value == 0.5:
                if ties in ("none", "time"):
                    continue
                if ties == "strict":
                    value = 0.0
            good += pair * value
            total += pair
    if ties in ("time", "all"):
        for i in range(n):
            for j in range(n):
                if anchor[i] and anchor[j] and rows[i][0] == rows[j][0]:
                    copies = subject_weight[i] * subject_weight[j]
                    if i == j:  # other copies of the same row
                        copies = subject_weight[i] * max(subject_weight[i] - unit[i], 0.0)
                    good += 0.25 * weight[i] * copies
                    total += 0.5 * weight[i] * copies
    return good / total if total > 0 else UNDEFINED


def auc(rows, risk, t, copies, weight):
    """AUC at t, or None without cases or controls."""
    good = total = 0.0
    for i, (ti, e) in enumerate(rows):
        if not (e and ti <= t) or weight[i] == 0:
            continue
        for j, (tj, _) in enumerate(rows):
            if tj > t:
                pair = weight[i] * copies[i] * copies[j]
                total += pair
                good += pair * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return good / total if total > 0 else None


# -- probabilities ---------------------------------------------------------------------------------


def identified_until(rows, weight, g_set):
    """Last time inside both follow-ups with G > 0; and whether it belongs to the range."""
    end = max(t for (t, _, _), m in zip(rows, weight, strict=True) if m > 0)
    last = max(t for t, _, _ in g_set)
    if end >= last and read(g_steps(g_set), last) == 0:
        return last, False
    return min(end, last), True


def score_at(case, t, g, survival, rule):
    """Brier score (or another rule) at t with weights 1/G; `survival` are the curves' values."""
    total = 0.0
    weight = case.subject_weight()
    for (ti, e, _), s, m in zip(case.rows(), survival, weight, strict=True):
        if m == 0:
            continue
        if ti > t:
            total += m * rule(s, True) / read(g, t)
        elif e:
            seen = read(g, ti, left=True)
            if seen > 0:
                total += m * rule(s, False) / seen
    return total / math.fsum(weight)


def squared(s, alive):
    return (1 - s) ** 2 if alive else s * s


def logarithmic(s, alive):
    p = s if alive else 1 - s
    return -math.log(p) if p > 0 else math.inf


def trapezoid(times, values):
    """Mean of lines through the points."""
    total = 0.0
    for k in range(len(times) - 1):
        total += (times[k + 1] - times[k]) * (values[k] + values[k + 1]) / 2
    return total / (times[-1] - times[0])


# -- calibration -----------------------------------------------------------------------------------


def d_calibration_bins(survival, events, weights, bins):
    counts = [0.0] * bins
    for s, e, w in zip(survival, events, weights, strict=True):
        b = min(int(s * bins), bins - 1)
        if e:
            counts[b] += w
        elif s <= 0:
            counts[0] += w
        else:
            counts[b] += w * (s - b / bins) / s
            for k in range(b):
                counts[k] += w / bins / s
    return counts


def coverage(survival, events, weights, level):
    low, high = (1 - level) / 2, (1 + level) / 2
    total = 0.0
    for s, e, w in zip(survival, events, weights, strict=True):
        if e:
            total += w * (low <= s <= high)
        elif s > 0:
            total += w * max(0.0, min(s, high) - low) / s
    return total / math.fsum(weights)


def km_calibration(case):
    """Mean squared gap between the mean curve and Kaplan-Meier; shared grids of lines or steps."""
    rows = [(i, t, w) for i, (t, _, w) in enumerate(case.rows()) if w > 0]
    y = [row for row in case.rows() if row[2] > 0]
    stop, km, total = max(t for _, t, _ in rows), km_steps(y), math.fsum(w for _, _, w in rows)
    if not stop > 0:
        return UNDEFINED
    nodes = sorted({0.0, stop, *(u for u, _ in km if u < stop), *case.grid})
    nodes = [t for t in nodes if t <= stop]

    def mean(t, side):
        values = []
        for i, _, w in rows:
            curve = case.curve(i)
            if case.interpolation == "step" and side == "left":
                before = [u for u, _ in nodes_of(curve) if u < t]
                at = before[-1] if before else 0.0
            else:
                at = t
            values.append(w * curve_at(curve, at, case.interpolation, case.tail))
        return math.fsum(values) / total

    area = 0.0
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        k = read(km, a)
        left, right = mean(a, "right") - k, mean(b, "left") - k
        area += (b - a) * (left * left + left * right + right * right) / 3
    return area / stop


def log_rank(a, b):
    """Chi-squared of the log-rank test of two samples of (time, event, weight)."""
    both = [(*row, 0) for row in a] + [(*row, 1) for row in b]
    gap = variance = 0.0
    for u in sorted({t for t, e, _, _ in both if e}):
        n = sum(w for t, _, w, _ in both if t >= u)
        n1 = sum(w for t, _, w, k in both if t >= u and k == 0)
        d = sum(w for t, e, w, _ in both if e and t == u)
        d1 = sum(w for t, e, w, k in both if e and t == u and k == 0)
        gap += d1 - d * n1 / n
        if n > 1:
            variance += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    return gap, variance
