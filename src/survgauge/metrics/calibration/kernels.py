"""Arithmetic of calibration tests on clean arrays: bins of S at the own time, groups of risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import kolmogorov, ndtr

from ..._tools.arrays import Bools, Floats, Ints
from ..._tools.sorting import sorting_order
from ...data.outcomes import Outcomes
from ...reference.kaplan_meier import KaplanMeier, RiskTable
from ._uniform_law import DRAWN_LAW, DRAWS, EXACT_LAW, FEW_EVENTS, drawn_tail, exact_tail

# -- D-calibration ---------------------------------------------------------------------------


#: Probabilities this close to the edge of a bin are the edge: a product of many factors, such as
#: Kaplan-Meier's, misses it by rounding.
EDGE = 1e-12


def on_edges(s: Floats, bins: int) -> Floats:
    """Probabilities with those next to an edge moved onto it.

    >>> on_edges(np.array([0.30000000000000004, 0.7 - 1e-13, 0.55]), 10)
    array([0.3 , 0.7 , 0.55])
    """
    nearest = np.rint(s * bins) / bins
    return np.where(np.abs(s - nearest) <= EDGE, nearest, s)


def bin_of(s: Floats, bins: int) -> Ints:
    """Bin [k/K, (k+1)/K) of each probability; the top bin is closed, edges are as `on_edges`."""
    s = on_edges(s, bins)
    edges = np.arange(bins + 1) / bins
    found = (s * bins).astype(np.intp)
    np.minimum(found, bins - 1, out=found)
    # The product may round across an edge: compare with the edges themselves.
    found -= s < edges[found]
    found += (s >= edges[found + 1]) & (found < bins - 1)
    return found


def bin_masses(s: Floats, event: Bools, weight: Floats | None, bins: int) -> Floats:
    """Sum of `subject_masses` over the subjects without an n x K matrix."""
    s = on_edges(s, bins)
    found = bin_of(s, bins)
    census = np.bincount(found[event], None if weight is None else weight[event], bins)
    masses = census.astype(np.float64)
    rows = np.flatnonzero(~event)
    if rows.size:
        at, s = found[rows], s[rows]
        w: Floats = np.ones(rows.size) if weight is None else weight[rows]
        # In the lowest bin everything stays there, also where S underflows to zero.
        per_survival = np.divide(w, s, out=np.zeros_like(w), where=at > 0)
        masses += np.bincount(at, w - per_survival * (at / bins), bins)
        spread = np.bincount(at, per_survival, bins) / bins
        masses[:-1] += np.cumsum(spread[:0:-1])[::-1]
    return masses


def subject_masses(s: Floats, event: Bools, bins: int) -> Floats:
    """Share of each subject in each bin, rows summing to one: (n, K)."""
    masses, s = np.zeros((s.size, bins)), on_edges(s, bins)
    certain = (event | (s == 0)) & ~np.isnan(s)
    masses[np.isnan(s)] = np.nan
    masses[certain, bin_of(s[certain], bins)] = 1.0
    rest = s[~certain][:, None]
    low = np.arange(bins) / bins
    high = np.append(low[1:], 1.0)
    masses[~certain] = (np.clip(rest, low, high) - low) / rest
    return masses


# -- Kolmogorov-Smirnov under censoring ------------------------------------------------------


@dataclass(frozen=True)
class UniformDistance:
    """How far Kaplan-Meier of u = 1 - S(t) lies from the uniform distribution."""

    statistic: float
    distance: float
    p_value: float
    #: Time scale of the Brownian bridge at the last u; 1 without censoring.
    coverage: float
    #: Largest u that was observed, and Kaplan-Meier's mass there.
    last: float
    km: KaplanMeier
    #: Where the p-value comes from.
    law: str


EXACT = "Kolmogorov's distribution for so many subjects, exact"
DRAWN = f"the larger of the law of {DRAWS} drawn samples with the censoring found and the exact law"
LIMIT = "Brownian bridge up to bridge_time, Stephens' factor"


def uniform_distance(y: Outcomes, s: Floats) -> UniformDistance:
    """Largest |F(u) - u|, weighted so that its limit is a Brownian bridge (Hall and Wellner)."""
    u = Outcomes._trusted(1.0 - s, y.event, y.weight if y.weighted else None)
    table = RiskTable.of(u)
    km = KaplanMeier.from_table(table)
    reverse = KaplanMeier.from_table(table, censoring=True)
    before_g = _shifted(reverse.survival, 1.0)
    # C(u) = integral of dv / ((1-v)^2 G(v-)); only the last u can be 1, where C is infinite.
    inside = int(table.times.searchsorted(1.0))
    growth = 1.0 / (1.0 - np.concatenate(([0.0], table.times[:inside])))
    clock = np.cumsum(np.diff(growth) / before_g[:inside])
    coverage = float(clock[-1] / (1.0 + clock[-1])) if inside == table.times.size else 1.0
    clock += 1.0
    before_g[:inside] = growth[1:] / clock
    del growth, clock  # of many subjects each is as large as the outcomes
    after = 1.0 - km.survival
    gap = np.maximum(np.abs(after - table.times), np.abs(_shifted(after, 0.0) - table.times))
    statistic = float((gap * before_g).max())
    p, law = _tail(table, reverse, statistic, coverage)
    last = float(table.times[-1])
    return UniformDistance(statistic, float(gap.max()), p, coverage, last, km, law)


def _tail(
    table: RiskTable, reverse: KaplanMeier, statistic: float, coverage: float
) -> tuple[float, str]:
    """Probability of such a distance if the model is right, and which law says so."""
    total, events = float(table.at_risk[0]), float(table.events.sum())
    whole = total.is_integer()  # no other number of subjects can be drawn
    if whole and events == total and total <= EXACT_LAW:
        return exact_tail(int(total), statistic), EXACT
    if whole and events < min(FEW_EVENTS, total) and total <= DRAWN_LAW:
        return drawn_tail(int(total), reverse, statistic), DRAWN
    # Stephens' factor makes the limit law good from a few subjects on.
    root = np.sqrt(total)
    return bridge_tail((root + 0.12 + 0.11 / root) * statistic, coverage), LIMIT


def _shifted(values: Floats, first: float) -> Floats:
    """Left limits of a step function at its jumps, from its values there."""
    return np.concatenate(([first], values[:-1]))


def jump_masses(km: KaplanMeier, bins: int) -> Floats:
    """Mass that Kaplan-Meier of u puts into each bin of S = 1 - u."""
    mass = _shifted(km.survival, 1.0) - km.survival
    found = bin_of(1.0 - km.times, bins)
    return np.bincount(found, mass, bins).astype(np.float64, copy=False)


def bridge_tail(d: float, a: float) -> float:
    """Probability that a Brownian bridge leaves (-d, d) before time `a`.

    With W(s) = (1+s) B(s/(1+s)) the band becomes the lines +-d(1+s), and the images of the start at
    2kd, of weight (-1)^k exp(-2 k^2 d^2), cancel W on both lines.

    >>> round(bridge_tail(1.358, 1.0), 3), round(bridge_tail(1.273, 0.5), 3)
    (0.05, 0.05)
    """
    if not a > 0:
        return 1.0
    if a >= 1:
        return float(kolmogorov(d))
    k = np.arange(1, 201)
    edge, image = d / np.sqrt(a * (1 - a)), 2 * k * d * np.sqrt((1 - a) / a)
    sign = np.where(k % 2 == 1, 1.0, -1.0)
    terms = sign * np.exp(-2.0 * (k * d) ** 2) * (ndtr(edge - image) - ndtr(-edge - image))
    return float(np.clip(2 * ndtr(-edge) + 2 * terms.sum(), 0.0, 1.0))


# -- groups of predicted risk ----------------------------------------------------------------


def risk_groups(s: Floats, weight: Floats | None, groups: int) -> list[Ints]:
    """Rows of about equally many subjects, from low to high risk; tied predictions stay together.

    A block of tied predictions goes where its middle lies, so neither the order of the subjects nor
    the way frequencies are written changes the groups. Groups that would be empty are left out.
    """
    order = sorting_order(-s)
    sorted_s = s[order]
    first = np.flatnonzero(np.concatenate(([True], sorted_s[1:] != sorted_s[:-1])))
    del sorted_s
    if weight is None:
        size = np.diff(first, append=s.size).astype(np.float64)
    else:
        size = np.add.reduceat(weight[order], first)
    middle = np.cumsum(size)
    total = middle[-1]
    middle -= size / 2
    middle /= total
    middle *= groups
    label = np.minimum(middle.astype(np.int32), groups - 1)
    return np.split(order, first[1:][label[1:] != label[:-1]])


@dataclass(frozen=True)
class GroupRates:
    """Predicted and observed probability of the event by a time, per group."""

    size: Floats
    observed: Floats
    expected: Floats
    #: Greenwood's variance of the observed rate.
    greenwood: Floats
    events: Floats
    #: Groups whose follow-up ends before the time with the rate still open.
    open_ended: int


def group_rates(y: Outcomes, s: Floats, rows: list[Ints], time: float) -> GroupRates:
    """Kaplan-Meier at `time` in each group."""
    columns: list[tuple[float, ...]] = []
    open_ended = 0
    for members in rows:  # a handful of groups, never subjects
        group = y[members]
        table = RiskTable.of(group)
        known = table.times <= time
        d, n = table.events[known], table.at_risk[known]
        survival = float(np.prod(1.0 - d / n))
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = survival**2 * float(np.sum(d / (n * (n - d)))) if survival > 0 else 0.0
        open_ended += bool(table.times[-1] < time and survival > 0)
        w = group.weight
        columns.append(
            (w.sum(), 1 - survival, 1 - np.average(s[members], weights=w), variance, d.sum())
        )
    size, observed, expected, greenwood, events = np.array(columns, dtype=np.float64).T
    return GroupRates(size, observed, expected, greenwood, events, open_ended)


def weighted_quantile(
    values: Floats, weight: Floats | None, q: Any, *, overwrite: bool = False
) -> Floats:
    """Quantiles with lines between order statistics (R's type 7), each repeated `weight` times."""
    if weight is None:
        return np.asarray(np.quantile(values, q, overwrite_input=overwrite))
    order = sorting_order(values)
    w, ordered = weight[order], values[order]
    # An order statistic holds its value over w places; where w < 1 it keeps a point of the scale.
    end = np.cumsum(w)
    centre, half = end - (1.0 + w) / 2, np.maximum(w - 1.0, 0.0) / 2
    places = np.stack((centre - half, centre + half), axis=1).ravel()
    return np.interp(np.asarray(q) * (end[-1] - 1.0), places, np.repeat(ordered, 2))
