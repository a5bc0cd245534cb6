"""Calibration against loops written from the formulas, on tied and awkward data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import km_at
from scipy import stats
from strategies import outcomes, pair, tails

from survgauge import InputError, KaplanMeier, Outcomes, SurvivalCurves, UndefinedMetricError
from survgauge.metrics.calibration import curve_gap as _mean_curve
from survgauge.metrics.calibration.d_calibration import bridge_tail, d_calibration
from survgauge.metrics.calibration.ici import weighted_quantile
from survgauge.metrics.calibration.km_calibration import km_calibration
from survgauge.metrics.calibration.one_calibration import one_calibration
from survgauge.metrics.calibration.residuals import coverage
from survgauge.metrics.calibration.weak_calibration import (
    calibration_slope_cox,
)

GRID = [1.0, 2.0, 4.0, 7.0]


@st.composite
def problems(draw, min_size=1):
    """Outcomes with a curve each: values on tenths (edges of bins), zeros and ones included."""
    y = draw(outcomes.filter(lambda y: len(y) >= min_size))
    level = st.integers(0, 10)
    rows = [sorted(draw(st.tuples(*[level] * 4)), reverse=True) for _ in y]
    interpolation = draw(st.sampled_from(["linear", "step"]))
    survival = np.array(rows) / 10
    return y, SurvivalCurves(GRID, survival, interpolation=interpolation, tail=draw(tails))


def own(y, curves):
    """S_i(t_i) through the public reader, one subject at a time."""
    return [float(curves[[i]].at(float(t))[0]) for i, (t, _) in enumerate(y)]


# -- D-calibration ----------------------------------------------------------------------------


def naive_weights(s, event, bins):
    row = [0.0] * bins
    edges = [k / bins for k in range(bins + 1)]
    s = next((edge for edge in edges if abs(s - edge) <= 1e-12), s)  # as its convention says
    b = max(k for k in range(bins) if s >= edges[k])
    if event or s == 0:
        row[b] = 1.0
        return row
    row[b] = (s - edges[b]) / s
    for k in range(b):
        row[k] = (1 / bins) / s
    return row


@given(problems(), st.integers(2, 12))
def test_d_calibration_weights_follow_the_definition(problem, bins):
    y, curves = problem
    rows = [naive_weights(s, e, bins) for s, (_, e) in zip(own(y, curves), y, strict=True)]
    result = d_calibration(pair(y), curves, bins=bins, method="chi2")
    np.testing.assert_allclose(result.observed, np.sum(rows, axis=0), atol=1e-12)
    np.testing.assert_allclose(result.weights(), rows, atol=1e-12)
    np.testing.assert_allclose(result.weights().sum(axis=1), 1.0)
    assert result.observed.sum() == pytest.approx(len(y))
    want = stats.chisquare(np.sum(rows, axis=0))
    assert result.statistic == pytest.approx(want.statistic, abs=1e-10)
    assert result.p_value == pytest.approx(want.pvalue, abs=1e-10)
    assert result.degrees_of_freedom == bins - 1


def test_bins_are_closed_below_and_the_top_bin_above():
    grid = np.arange(11)
    curves = SurvivalCurves(grid, np.tile((10 - grid) / 10, (11, 1)))
    result = d_calibration((grid, np.ones(11)), curves, method="chi2")
    # s = 1, .9, ..., 0: 1 and 0.9 share the top bin, 0 is alone with nothing below 0.1.
    assert result.observed.tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
    assert result.edges[0] == 0
    assert result.edges[-1] == 1


def test_an_edge_that_a_product_rounds_over_stays_in_its_bin():
    # 0.57 * 100 is 56.99999999999999 in floating point.
    curves = SurvivalCurves([1.0], [[0.57]], interpolation="step")
    result = d_calibration(([1], [1]), curves, bins=100)
    assert result.observed[57] == 1


def test_subject_beyond_the_curve_is_in_the_lowest_bin_and_counted():
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 2)
    result = d_calibration(([12, 15], [0, 1]), curves, bins=4, method="chi2")
    assert result.observed.tolist() == [2, 0, 0, 0]
    assert result.support["survival_zero"] == 2
    assert result.support["past_curves"] == 2


def test_underflowing_survival_gives_finite_weights():
    curves = SurvivalCurves([0, 1, 2], [[1.0, 1e-310, 5e-324]] * 3)
    result = d_calibration(([1, 2, 2], [0, 0, 1]), curves, bins=5, method="chi2")
    assert result.observed.tolist() == [3, 0, 0, 0, 0]


def test_the_result_says_when_it_is_conservative():
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 2)
    for event, expected in ((0, True), (1, False)):
        found = d_calibration(([2, 5], [1, event]), curves, method="chi2")
        assert ("conservative" in found.convention["p_value"]) is expected


def test_bins_of_kaplan_meier_on_its_own_data_hold_one_subject_each():
    # Products of (1 - 1/n) miss the edges 0.9, 0.8, ... by rounding.
    time = np.arange(1.0, 11.0)
    km = KaplanMeier.fit((time, np.ones(10)))
    curves = SurvivalCurves(km.times, np.tile(km.survival, (10, 1)), "step", "hold")
    for method in ("chi2", "ks"):
        found = d_calibration((time, np.ones(10)), curves, method=method)
        np.testing.assert_allclose(found.observed, 1.0)
    np.testing.assert_allclose(found.weights().sum(axis=0), 1.0)


def test_kaplan_meier_is_calibrated_on_its_own_data():
    rng = np.random.default_rng(3)
    time, event = rng.exponential(5, 400), rng.random(400) < 0.6
    km = KaplanMeier.fit((time, event))
    curves = SurvivalCurves(km.times, np.tile(km.survival, (400, 1)), "step", "hold")
    y = (time, event)
    assert d_calibration(y, curves, method="chi2").p_value > 0.999
    assert d_calibration(y, curves, method="ks").p_value > 0.999
    assert km_calibration(y, curves) == pytest.approx(0, abs=1e-15)


def simulated(n, seed, distort=1.0, censor=0.1):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(size=n) * 0.7) / 5
    event_time = rng.exponential(1 / rate)
    censoring = rng.exponential(1 / censor, n) if censor else np.full(n, np.inf)
    y = Outcomes(np.minimum(event_time, censoring), event_time <= censoring)
    grid = np.concatenate((np.linspace(0, 30, 301), np.linspace(31, 400, 120)))
    return y, SurvivalCurves(grid, np.exp(-np.outer(rate * distort, grid)), tail="exponential")


def test_bins_of_the_true_model_are_uniform_on_average():
    total = np.zeros(10)
    for seed in range(40):
        y, curves = simulated(500, seed)
        total += d_calibration(y, curves).observed
    # Each mean bin count is 50 with standard error below sqrt(500 * .09 / 40), about 1.1.
    np.testing.assert_allclose(total / 40, 50, atol=4)


def test_a_wrong_model_fails_every_test():
    y, curves = simulated(2000, 1, distort=2.0)
    assert d_calibration(y, curves).p_value < 1e-10
    assert d_calibration(y, curves, method="ks").p_value < 1e-10
    assert one_calibration(y, curves, 3.0).p_value < 1e-10
    assert coverage(y, curves, 0.9) < 0.87


# -- Kolmogorov-Smirnov form --------------------------------------------------------------------


def test_ks_without_censoring_is_the_textbook_test():
    rng = np.random.default_rng(0)
    time = rng.uniform(0, 10, 60) ** 1.1
    curves = SurvivalCurves([0, 13], [[1.0, 0.0]] * 60)
    result = d_calibration((time, np.ones(60)), curves, method="ks")
    want = stats.kstest(time / 13, "uniform")
    assert result.statistic == pytest.approx(want.statistic, abs=1e-14)
    assert result.support["distance"] == result.statistic
    assert result.p_value == pytest.approx(want.pvalue, rel=0.02)
    assert result.support["bridge_time"] == pytest.approx(time.max() / 13)


def naive_ks(u, event, pieces=4000):
    """Weighted distance with C(u) by the midpoint rule."""
    y = list(zip(u, event, strict=True))
    best = 0.0
    for point in u:
        grid = (np.arange(pieces) + 0.5) * point / pieces
        # G of u just before v, events leaving first.
        g = np.ones(pieces)
        for c in sorted({v for v, e in y if not e}):
            n = sum(1 for v, _ in y if v >= c)
            d = sum(1 for v, e in y if e and v == c)
            k = sum(1 for v, e in y if not e and v == c)
            g[grid > c] *= 1 - k / (n - d)
        clock = np.mean(1 / ((1 - grid) ** 2 * g)) * point
        weight = 1 / ((1 - point) * (1 + clock))
        for left in (False, True):
            f = 1 - float(km_at(y, point, left=left))
            best = max(best, abs(f - point) * weight)
    return best


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=8))
def test_ks_statistic_under_censoring(y):
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * len(y))
    result = d_calibration(pair(y), curves, method="ks")
    want = naive_ks([t / 10 for t, _ in y], [e for _, e in y])
    assert result.statistic == pytest.approx(want, abs=2e-4)
    jumps = result.observed.sum() + result.support["open_weight"]
    assert jumps == pytest.approx(len(y))


def test_ks_at_the_end_of_the_curve():
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    result = d_calibration(([5, 10, 12], [1, 1, 0]), curves, method="ks")
    assert result.support["bridge_time"] == 1
    assert math.isfinite(result.statistic)


def test_bridge_tail_is_a_probability_distribution():
    assert bridge_tail(0.9, 0.0) == 1.0
    for a in (0.2, 0.6, 0.999999):
        values = [bridge_tail(d, a) for d in np.linspace(0.05, 3, 40)]
        assert all(np.diff(values) <= 1e-12)
        assert min(values) >= 0
        assert max(values) <= 1
    # Nearly the whole bridge: Kolmogorov's distribution; a short piece: reflection of Brownian
    # motion.
    assert bridge_tail(1.1, 1 - 1e-9) == pytest.approx(stats.kstwobign.sf(1.1), rel=1e-3)
    assert bridge_tail(0.03, 1e-4) == pytest.approx(4 * stats.norm.sf(3), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("censoring", ["none", "heavy", "administrative"])
def test_ks_keeps_its_level(censoring):
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(3000):
        u = rng.random(60)
        limit = {"none": 2.0, "heavy": rng.random(60) ** 2, "administrative": 0.6}[censoring]
        time = np.minimum(u, limit) * 10
        curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 60)
        rejected += d_calibration((time, u <= limit), curves, method="ks").p_value < 0.05
    assert 0.035 < rejected / 3000 < 0.065


# -- 1-calibration --------------------------------------------------------------------------------


def naive_one_calibration(y, survival, time, groups):
    """D'Agostino-Nam with ties kept together, for unit weights."""
    n = len(y)
    labels = []
    for s in survival:
        lower = sum(1 for other in survival if other > s)
        same = sum(1 for other in survival if other == s)
        labels.append(min(int(groups * (lower + same / 2) / n), groups - 1))
    table = []
    for label in sorted(set(labels)):
        members = [i for i in range(n) if labels[i] == label]
        rate = 1 - float(km_at([y[i] for i in members], time))
        table.append((len(members), rate, sum(1 - survival[i] for i in members) / len(members)))
    return table


@given(problems(min_size=2), st.integers(2, 5), st.integers(0, 8))
def test_one_calibration_follows_the_definition(problem, groups, time):
    y, curves = problem
    assume(time <= max(t for t, _ in y))
    survival = curves.at(float(time)).tolist()
    table = naive_one_calibration(y, survival, time, groups)
    if len(table) < 2:
        with pytest.raises(UndefinedMetricError, match="group"):
            one_calibration(pair(y), curves, time, groups=groups, method="dn")
        return
    result = one_calibration(pair(y), curves, time, groups=groups, method="dn")
    size, observed, expected = np.array(table).T
    np.testing.assert_allclose(result.size, size)
    np.testing.assert_allclose(result.observed, observed, atol=1e-12)
    np.testing.assert_allclose(result.expected, expected, atol=1e-12)
    assert result.degrees_of_freedom == len(table) - 1
    variance = result.expected * (1 - result.expected) / size
    gap = (result.observed - result.expected) ** 2
    if ((variance == 0) & (gap > 0)).any():
        assert result.statistic == np.inf
        assert result.p_value == 0
    else:
        want = sum(g / v for g, v in zip(gap, variance, strict=True) if g > 0)
        assert result.statistic == pytest.approx(want, rel=1e-9, abs=1e-12)
        assert result.p_value == pytest.approx(stats.chi2.sf(want, len(table) - 1), abs=1e-10)


def naive_predicted(y, curves, time, groups, steps=32):
    """Gap and variance of each group, the integral summed over small steps."""
    n, survival = len(y), curves.at(float(time)).tolist()
    labels = []
    for s in survival:
        lower = sum(1 for other in survival if other > s)
        same = sum(1 for other in survival if other == s)
        labels.append(min(int(groups * (lower + same / 2) / n), groups - 1))
    found = []
    for label in sorted(set(labels)):
        members = [i for i in range(n) if labels[i] == label]
        stop = min(time, max(y[i][0] for i in members))
        grid = [0.0, *(k / steps for k in range(1, stop * steps + 1))]
        mean = [sum(curves.at(u)[i] for i in members) / len(members) for u in grid]
        if mean[-1] == 0:
            found.append((float(km_at([y[i] for i in members], stop)), 0.0))
            continue
        variance = -math.log(mean[0]) / len(members)
        for k in range(1, len(grid)):
            at_risk = sum(1 for i in members if y[i][0] >= grid[k])
            variance += (math.log(mean[k - 1]) - math.log(mean[k])) / at_risk
        gap = float(km_at([y[i] for i in members], stop)) - mean[-1]
        found.append((gap, mean[-1] ** 2 * variance))
    return found


@settings(max_examples=40, deadline=None)
@given(
    problems(min_size=2), st.integers(1, 5), st.integers(0, 7), st.sampled_from(["linear", "step"])
)
def test_the_variance_under_the_prediction_follows_the_definition(problem, groups, time, rule):
    y, curves = problem
    assume(time <= max(t for t, _ in y))
    curves = SurvivalCurves(curves.times, curves.survival, rule, curves.tail)
    table = naive_predicted(y, curves, time, groups)
    result = one_calibration(pair(y), curves, time, groups=groups)
    assert result.method == "predicted"
    assert result.degrees_of_freedom == sum(v > 0 for _, v in table)
    gaps = [gap for gap, v in table if v == 0]
    if any(abs(gap) > 1e-9 for gap in gaps):
        assert (result.statistic, result.p_value) == (np.inf, 0)
        return
    want = sum(gap**2 / v for gap, v in table if v > 0)
    assert result.statistic == pytest.approx(want, rel=1e-9, abs=1e-12)
    freedom = result.degrees_of_freedom
    p = stats.chi2.sf(want, freedom) if freedom else 1.0
    assert result.p_value == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    ("interpolation", "rel"), [("linear", 2e-3), ("step", 2e-2), ("pchip", 2e-3)]
)
def test_long_grids_are_read_at_even_steps(interpolation, rel):
    # The 32 steps give what the curve's own grid would, up to where between them it falls.
    y, curves = simulated(400, 5)
    fine = SurvivalCurves(curves.times, curves.survival, interpolation, curves.tail)
    grid = np.linspace(0, 4, 31)
    few = SurvivalCurves(grid, curves.at(grid), "linear", "exponential")
    long, short = (one_calibration(y, c, 4.0, groups=5) for c in (fine, few))
    assert long.statistic == pytest.approx(short.statistic, rel=rel)
    np.testing.assert_allclose(long.expected, short.expected, atol=1e-12)


def test_a_group_is_compared_where_its_last_subject_left():
    # The group of high risk ends at 2: Kaplan-Meier 1/2 there, the mean curve 1 - 2/5.
    curves = SurvivalCurves([0, 5, 20], [[1, 0, 0]] * 2 + [[1, 0.9, 0.8]] * 2)
    result = one_calibration(([1, 2, 9, 9], [1, 0, 0, 0]), curves, 4.0, groups=2)
    assert result.support["groups_past_follow_up"] == 1
    np.testing.assert_allclose(result.observed, [0, 0.5])
    np.testing.assert_allclose(result.expected, [0.08, 0.4])
    hazard = [-math.log(s) for s in (0.8, 0.6)]
    high = 0.6**2 * (hazard[0] / 2 + (hazard[1] - hazard[0]) / 1)
    low = 0.92**2 * -math.log(0.92) / 2
    want = 0.1**2 / high + 0.08**2 / low
    assert result.statistic == pytest.approx(want, rel=1e-12)
    assert result.degrees_of_freedom == 2


def distinct(n, seed=0):
    rng = np.random.default_rng(seed)
    survival = rng.permutation(np.linspace(0.05, 0.95, n))
    event_time, censoring = rng.exponential(5, n), rng.exponential(9, n)
    return Outcomes(np.minimum(event_time, censoring), event_time <= censoring), survival


def test_groups_without_ties_are_of_equal_size():
    y, survival = distinct(100)
    result = one_calibration(y, survival, 3.0, groups=10)
    assert result.size.tolist() == [10.0] * 10
    assert (np.diff(result.expected) > 0).all()
    assert (result.edges[1:, 0] > result.edges[:-1, 1]).all()


def test_without_censoring_dn_and_uncensored_see_the_same_rates():
    rng = np.random.default_rng(4)
    survival = np.linspace(0.1, 0.9, 80)
    y = (rng.exponential(5, 80), np.ones(80))
    dn, plain = (
        one_calibration(y, survival, 3.0, groups=5, method=m) for m in ("dn", "uncensored")
    )
    np.testing.assert_allclose(dn.observed, plain.observed)
    assert dn.statistic == pytest.approx(plain.statistic)
    assert (dn.degrees_of_freedom, plain.degrees_of_freedom) == (4, 3)
    events = np.array([np.mean(y[0][rows] <= 3) for rows in np.array_split(np.arange(80), 5)])[::-1]
    np.testing.assert_allclose(plain.observed, events)


def test_uncensored_leaves_out_unknown_status_only():
    y, survival = distinct(90, 1)
    unknown = ~y.event & (y.time < 3.0)
    result = one_calibration(y, survival, 3.0, groups=4, method="uncensored")
    assert result.support["left_out"] == unknown.sum() > 0
    assert result.size.sum() == 90 - unknown.sum()
    again = one_calibration(y[~unknown], survival[~unknown], 3.0, groups=4, method="uncensored")
    assert result.statistic == again.statistic


def test_greenwood_variance():
    y, survival = distinct(120, 2)
    result = one_calibration(y, survival, 4.0, groups=3, method="gnd")
    order = np.argsort(-survival)
    total = 0.0
    for k, rows in enumerate(np.array_split(order, 3)):
        time, event = y.time[rows], y.event[rows]
        s, g = 1.0, 0.0
        for u in np.unique(time[event & (time <= 4.0)]):
            n, d = (time >= u).sum(), ((time == u) & event).sum()
            s *= 1 - d / n
            g += d / (n * (n - d))
        total += (1 - s - (1 - survival[rows]).mean()) ** 2 / (s * s * g)
        assert result.observed[k] == pytest.approx(1 - s)
    assert result.statistic == pytest.approx(total)
    assert result.p_value == pytest.approx(stats.chi2.sf(total, 2))
    with pytest.raises(UndefinedMetricError, match="Greenwood"):
        one_calibration(
            ([1, 2, 3, 4], [1, 0, 0, 0]), [0.9, 0.8, 0.2, 0.1], 2, groups=2, method="gnd"
        )


def test_probabilities_of_survival_or_of_the_event():
    y, survival = distinct(50)
    a = one_calibration(y, survival, 3.0, groups=5)
    b = one_calibration(y, 1 - survival, 3.0, groups=5, probability="event")
    np.testing.assert_allclose(a.expected, b.expected)
    assert a.p_value == pytest.approx(b.p_value)
    curves = SurvivalCurves([3.0], survival[:, None])
    for method in ("dn", "uncensored"):
        c, d = (one_calibration(y, p, 3.0, groups=5, method=method) for p in (curves, survival))
        assert c.p_value == d.p_value


def test_certain_and_wrong_is_refuted_certain_and_right_is_not():
    y = ([1, 2, 9, 9], [1, 1, 0, 0])
    right = one_calibration(y, [0.0, 0.0, 1.0, 1.0], 5, groups=2)
    assert (right.statistic, right.p_value) == (0, 1)
    wrong = one_calibration(y, [1.0, 1.0, 0.0, 0.0], 5, groups=2)
    assert (wrong.statistic, wrong.p_value) == (np.inf, 0)


def test_no_events_by_the_time_is_an_answer():
    result = one_calibration(([5, 6, 7, 8], [1, 1, 0, 1]), [0.9, 0.8, 0.4, 0.3], 2, groups=2)
    assert result.observed.tolist() == [0, 0]
    assert result.support["events_by_time"] == 0
    assert 0 < result.p_value < 1


def test_time_past_the_follow_up_is_undefined_and_a_short_group_is_counted():
    y, s = ([1, 2, 5, 6], [1, 0, 1, 1]), [0.1, 0.2, 0.8, 0.9]
    with pytest.raises(UndefinedMetricError, match="past the last test time 6"):
        one_calibration(y, s, 7, groups=2)
    assert one_calibration(y, s, 4, groups=2).support["groups_past_follow_up"] == 1


def test_survivaleval_groups_split_ties_and_have_k_degrees_of_freedom():
    y, _ = distinct(20, 5)
    tied = np.repeat([0.2, 0.8], 10)
    ours = one_calibration(y, tied, 3.0, groups=4)
    theirs = one_calibration(y, tied, 3.0, groups=4, convention="survivaleval")
    assert ours.size.tolist() == [10, 10]
    assert theirs.size.tolist() == [5, 5, 5, 5]
    assert theirs.degrees_of_freedom == 4
    assert theirs.convention["convention"] == "survivaleval"


@pytest.mark.parametrize("seed", range(4))
def test_a_group_without_survivors_has_no_variance_but_rounding(seed):
    rng = np.random.default_rng(seed)
    time, event = rng.exponential(1.0, 60), rng.random(60) < 0.7
    time[-1], event[-1] = 2.0 + time[:-1].max(), True  # the last one of the riskier half dies
    s = np.repeat([0.9, 0.2], 30)
    time[0] = 3.0 + time[-1]
    peer = one_calibration((time, event), s, time[-1], groups=2, convention="survivaleval")
    assert peer.observed[1] == 1.0
    assert np.isnan(peer.p_value)
    with pytest.raises(UndefinedMetricError, match="events and survivors in every group"):
        one_calibration((time, event), s, time[-1], groups=2, method="gnd")


# -- KM-calibration -------------------------------------------------------------------------------


def naive_km_calibration(y, curves, pieces=20_000):
    stop = float(max(t for t, _ in y))
    t = (np.arange(pieces) + 0.5) * stop / pieces
    mean = curves.at(t).mean(axis=0)
    km = np.ones(pieces)
    for u in sorted({u for u, e in y if e}):
        km[t >= u] = float(km_at(y, u))
    return float(np.mean((mean - km) ** 2))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_km_calibration_is_the_integral(problem):
    y, curves = problem
    assume(max(t for t, _ in y) > 0)
    got = km_calibration(pair(y), curves)
    assert got == pytest.approx(naive_km_calibration(y, curves), abs=3e-4)


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold"])
def test_km_calibration_of_own_grids_equals_the_shared_grid(interpolation, tail):
    rng = np.random.default_rng(2)
    survival = np.sort(rng.random((9, 4)), axis=1)[:, ::-1]
    y = (rng.exponential(6, 9), rng.random(9) < 0.7)
    shared = SurvivalCurves(GRID, survival, interpolation, tail)
    own_grids = SurvivalCurves(np.tile(GRID, (9, 1)), survival, interpolation, tail)
    pieces = 1000 if interpolation == "pchip" else 20_000
    naive = naive_km_calibration(list(zip(*y, strict=True)), shared, pieces)
    assert km_calibration(y, own_grids) == pytest.approx(naive, rel=5e-3)
    assert km_calibration(y, shared) == pytest.approx(naive, rel=5e-3)
    stderr = [km_calibration(y, curves).stderr for curves in (shared, own_grids)]
    assert stderr[0] == pytest.approx(stderr[1], rel=5e-3)


@pytest.mark.parametrize("own_grids", [False, True])
def test_km_calibration_until_a_horizon_is_that_of_a_shorter_follow_up(own_grids):
    rng = np.random.default_rng(5)
    survival = np.sort(rng.random((60, 4)), axis=1)[:, ::-1]
    grid = np.tile(GRID, (60, 1)) if own_grids else GRID
    curves = SurvivalCurves(grid, survival)
    time, event = rng.exponential(6, 60), rng.random(60) < 0.7
    for tau in (1.0, 5.0, 0.9 * time.max()):
        assert (time > tau).any()
        shorter = np.minimum(time, tau), event & (time <= tau)
        found = km_calibration((time, event), curves, tau=tau)
        want = km_calibration(shorter, curves)
        assert found.value == pytest.approx(want.value, rel=1e-12)
        assert found.contributions == pytest.approx(want.contributions, rel=1e-9, abs=1e-15)
        assert found.stderr == pytest.approx(want.stderr, rel=1e-9)
        assert found.distribution.limits(0.95) == pytest.approx(
            want.distribution.limits(0.95), rel=1e-9
        )
        assert km_calibration((time, event), curves, tau=tau) == found.value
        assert found.convention["tau"] == tau
    late = km_calibration((time, event), curves, tau=2 * time.max())
    assert late.value == km_calibration((time, event), curves)
    assert late.convention["tau"] == time.max()


def test_km_calibration_by_hand():
    # Mean curve 1 - t/10, Kaplan-Meier 1 on [0, 5) and 1/2 on [5, 10).
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 2)
    want = (125 / 300 + 125 / 300) / 10
    assert km_calibration(([5, 10], [1, 1]), curves) == pytest.approx(want, rel=1e-12)
    details = km_calibration(([5, 10], [1, 1]), curves)
    assert details.times.tolist() == [0, 5]
    assert details.kaplan_meier.tolist() == [1, 0.5]
    assert details.mean_survival.tolist() == [1, 0.5]


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("tail", ["linear", "exponential"])
@pytest.mark.parametrize("weighted", [False, True])
def test_km_calibration_in_pieces_is_the_same(interpolation, tail, weighted, monkeypatch):
    rng = np.random.default_rng(4)
    survival = np.sort(rng.random((90, 4)).round(1), axis=1)[:, ::-1]
    curves = SurvivalCurves(GRID, survival, interpolation, tail)
    time, event = rng.exponential(8, 90).round(1), rng.random(90) < 0.7
    y = Outcomes(time, event, rng.integers(0, 3, 90) if weighted else None)
    whole = km_calibration(y, curves)
    monkeypatch.setattr("survgauge._tools.running.CHUNK", 3)
    parts = km_calibration(y, curves)
    for name in ("value", "stderr", "contributions", "times", "mean_survival", "kaplan_meier"):
        value, want = getattr(parts, name), getattr(whole, name)
        np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [2, 1000])
def test_the_average_of_linear_tails_is_that_of_the_curves(weighted, size, monkeypatch):
    # Tied ends, curves that never fall, curves that ended, ends before and after the last time.
    monkeypatch.setattr("survgauge._tools.running.CHUNK", size)
    last = np.array([0.5, 0.5, 1.0, 0.0, 0.9, 0.2, 0.3, 0.0, 1.0, 0.75])
    curves = SurvivalCurves([0, 4], np.column_stack([np.ones(10), last]))
    weight = np.arange(10.0) if weighted else np.broadcast_to(1.0, 10)
    lines, how = _mean_curve.mean_curve(curves, weight, 12.0)
    assert how == "exact"
    ends = 4 / (1 - last[last < 1])
    assert lines.nodes.tolist() == sorted({0.0, 4.0, 12.0, *ends[(ends > 4) & (ends < 12)]})
    want = np.average(curves.at(lines.nodes), axis=0, weights=weight)
    np.testing.assert_allclose(lines.right, want, rtol=1e-13)
    np.testing.assert_allclose(lines.left, want, rtol=1e-13)


def test_the_average_of_curves_that_know_only_time_zero():
    curves = SurvivalCurves([0.0], [[1.0], [1.0]])
    lines, _ = _mean_curve.mean_curve(curves, np.ones(2), 3.0)
    assert lines.nodes.tolist() == [0, 3]
    assert lines.right.tolist() == [1, 1]


def test_survivaleval_km_calibration_sums_trapezoids_at_event_times():
    curves = SurvivalCurves([0, 10], [[1.0, 1.0]] * 2)
    value = km_calibration(([4, 8], [1, 0]), curves, convention="survivaleval")
    assert value == pytest.approx(0.125)  # (0 + 1/4)/2 over [0, 4], nothing past the last event


def test_km_calibration_contributions_are_derivatives():
    y, curves = simulated(60, 2, distort=1.4)
    contributions = km_calibration(y, curves).contributions
    for i in (0, 7, 31):
        sides = []
        for h in (1e-4, -1e-4):
            weight = np.ones(60)
            weight[i] += h
            sides.append(km_calibration(Outcomes(y.time, y.event, weight), curves))
        # Contributions live on 64 points, the value on all.
        assert contributions[i] == pytest.approx((sides[0] - sides[1]) / 2e-4, abs=3e-5)
    assert contributions.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("distort", [1.0, 1.5])
def test_km_calibration_standard_error_is_the_bootstrap_s(distort):
    y, curves = simulated(300, 5, distort=distort)
    rng = np.random.default_rng(1)
    values = []
    for _ in range(200):
        weight = np.bincount(rng.integers(0, 300, 300), minlength=300).astype(float)
        values.append(km_calibration(Outcomes(y.time, y.event, weight), curves))
    assert km_calibration(y, curves).stderr == pytest.approx(np.std(values), rel=0.25)


# -- coverage -------------------------------------------------------------------------------------


@given(problems(), st.sampled_from([0.5, 0.85, 0.95]))
def test_coverage_counts_events_and_shares_of_the_censored(problem, level):
    y, curves = problem
    low, high = (1 - level) / 2, (1 + level) / 2
    total = 0.0
    for s, (_, event) in zip(own(y, curves), y, strict=True):
        if event:
            total += low <= s <= high
        elif s > low:
            total += (min(s, high) - low) / s
    details = coverage(pair(y), curves, level)
    assert details.value == pytest.approx(total / len(y), abs=1e-12)
    assert details.contributions.sum() == pytest.approx(0, abs=1e-12)


def test_coverage_is_the_weight_of_inner_bins():
    y, curves = simulated(300, 9, distort=1.3)
    weights = d_calibration(y, curves, bins=20, method="chi2")
    inner = weights.observed[1:-1].sum() / 300
    assert coverage(y, curves, 0.9) == pytest.approx(inner, abs=1e-12)
    assert coverage(y, curves).stderr == pytest.approx(
        np.std(weights.weights()[:, 1:-1].sum(axis=1), ddof=1) / np.sqrt(300)
    )


def test_the_true_model_covers_its_level():
    values = [coverage(*simulated(500, seed), 0.8) for seed in range(30)]
    assert np.mean(values) == pytest.approx(0.8, abs=0.01)


# -- slope ----------------------------------------------------------------------------------------


def test_slope_of_the_true_model_is_one_and_scales():
    y, curves = simulated(3000, 0)
    details = calibration_slope_cox(y, curves, 4.0)
    assert details.value == pytest.approx(1, abs=3 * details.stderr)
    assert details.stderr == pytest.approx(details.support["model_stderr"], rel=0.2)
    x = np.log(-np.log(curves.at(4.0)))
    assert calibration_slope_cox(y, x) == pytest.approx(details.value, rel=1e-9)
    assert calibration_slope_cox(y, 2 * x + 5) == pytest.approx(details.value / 2, rel=1e-9)
    assert calibration_slope_cox(y, 1 - curves.at(4.0), 4.0, probability="event") == pytest.approx(
        details.value, rel=1e-9
    )


def test_slope_without_events_or_differences_is_undefined():
    with pytest.raises(UndefinedMetricError, match="event"):
        calibration_slope_cox(([1, 2], [0, 0]), [0.1, 0.2])
    with pytest.raises(UndefinedMetricError, match="equal"):
        calibration_slope_cox(([1, 2], [1, 0]), [0.1, 0.1])
    with pytest.raises(InputError, match="time"):
        calibration_slope_cox(([1, 2], [1, 0]), SurvivalCurves([0, 1], [[1, 0.5]] * 2))


@pytest.mark.parametrize(
    ("time", "event", "x"),
    [
        ([1, 2, 3], [0, 0, 1], [1.0, 2.0, 3.0]),  # the only event is alone at risk
        ([1, 2, 3, 4], [1, 1, 0, 0], [4.0, 3.0, 2.0, 1.0]),  # in perfect order
        ([1, 2, 3, 4], [1, 1, 0, 0], [1.0, 2.0, 3.0, 4.0]),
        ([3, 1, 4, 2], [0, 1, 0, 1], [2.0, 4.0, 1.0, 3.0]),
        ([1, 2, 3, 4], [0, 1, 1, 0], [0.1, 0.2, 0.2, 0.2]),
    ],
)
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_a_slope_that_the_outcomes_do_not_identify_is_undefined(time, event, x, ties):
    with pytest.raises(UndefinedMetricError, match="not identified"):
        calibration_slope_cox((time, event), x, ties=ties)
    p = np.exp(-np.exp(np.array(x) - 3))
    with pytest.raises(UndefinedMetricError, match="not identified"):
        calibration_slope_cox((time, event), p, 2.0, ties=ties)


def test_predictions_of_zero_and_one_are_moved_and_counted():
    details = calibration_slope_cox(
        ([1, 2, 3, 4, 5], [1, 1, 1, 0, 1]), [0.0, 0.3, 0.6, 1.0, 0.5], 3.0
    )
    assert np.isfinite(details.value)
    assert details.support["moved_from_0_or_1"] == 2


# -- what holds for all ---------------------------------------------------------------------------

METRICS = {
    "d": lambda y, c: d_calibration(y, c, method="chi2").statistic,
    "ks": lambda y, c: d_calibration(y, c, method="ks").p_value,
    "one": lambda y, c: one_calibration(y, c, 3.0, groups=3).statistic,
    "dn": lambda y, c: one_calibration(y, c, 3.0, groups=3, method="dn").statistic,
    "uncensored": lambda y, c: one_calibration(y, c, 3.0, groups=4, method="uncensored").statistic,
    "km": km_calibration,
    "km stderr": lambda y, c: km_calibration(y, c).stderr,
    "coverage": coverage,
    "coverage stderr": lambda y, c: coverage(y, c).stderr,
    "slope": lambda y, c: calibration_slope_cox(y, c, 3.0),
    "slope breslow": lambda y, c: calibration_slope_cox(y, c, 3.0, ties="breslow"),
    "slope stderr": lambda y, c: calibration_slope_cox(y, c, 3.0).stderr,
}


@pytest.mark.parametrize("name", METRICS)
def test_whole_frequencies_equal_replicated_rows(name):
    y, curves = simulated(40, 3)
    y = Outcomes(np.ceil(y.time), y.event)
    count = np.random.default_rng(6).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), count)
    weighted = METRICS[name](Outcomes(y.time, y.event, count), curves)
    assert weighted == pytest.approx(METRICS[name](y[rows], curves[rows]), rel=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_order_of_subjects_does_not_matter(name):
    y, curves = simulated(50, 4)
    y = Outcomes(np.ceil(y.time), y.event)
    order = np.random.default_rng(0).permutation(50)
    assert METRICS[name](y[order], curves[order]) == pytest.approx(
        METRICS[name](y, curves), rel=1e-9
    )


@pytest.mark.parametrize("name", METRICS)
def test_unknown_survival_and_wrong_lengths_are_refused(name):
    y, curves = simulated(20, 0)
    short = SurvivalCurves([0, 0.5], np.tile([1.0, 0.9], (20, 1)), tail="nan")
    with pytest.raises(UndefinedMetricError, match="tail"):
        METRICS[name](y, short)
    with pytest.raises(InputError, match="20"):
        METRICS[name](y, curves[:19])


@pytest.mark.parametrize("name", METRICS)
def test_single_precision_curves(name):
    y, curves = simulated(30, 0)
    rough = SurvivalCurves(curves.times, curves.survival.astype(np.float32), tail="exponential")
    assert METRICS[name](y, rough) == pytest.approx(METRICS[name](y, curves), rel=1e-2)


@pytest.mark.parametrize("name", METRICS)
def test_one_subject(name):
    y, curves = Outcomes([4.0], [True]), SurvivalCurves([0, 10], [[1.0, 0.0]])
    if name.startswith(("dn", "uncensored", "slope")):
        with pytest.raises(UndefinedMetricError, match="needs"):
            METRICS[name](y, curves)
    elif name == "coverage stderr":
        assert np.isnan(METRICS[name](y, curves))
    else:
        assert np.isfinite(METRICS[name](y, curves))


def test_arguments_are_checked():
    y, curves = simulated(20, 0)
    for call, match in (
        (lambda: d_calibration(y, curves, bins=1), "bins"),
        (lambda: d_calibration(y, curves, bins=2.5), "bins"),
        (lambda: d_calibration(y, curves, method="cvm"), "method"),
        (lambda: d_calibration(y, curves.survival), "curves must be SurvivalCurves"),
        (lambda: one_calibration(y, curves, 3.0, groups=0), "groups"),
        (lambda: one_calibration(y, curves, 3.0, groups=1, method="dn"), "groups"),
        (
            lambda: one_calibration(y, curves, 3.0, method="predicted", convention="survivaleval"),
            "survivaleval",
        ),
        (lambda: one_calibration(y, curves, 3.0, groups=2, method="uncensored"), "groups"),
        (lambda: one_calibration(y, curves, [1.0, 2.0]), "time"),
        (lambda: one_calibration(y, curves, np.nan), "time"),
        (lambda: one_calibration(y, np.full(20, 1.2), 3.0), "between 0 and 1"),
        (lambda: one_calibration(y, curves.survival, 3.0), "one per subject"),
        (lambda: one_calibration(y, curves, 3.0, convention="pycox"), "convention"),
        (lambda: coverage(y, curves, 1.0), "level"),
        (lambda: km_calibration(y, curves, convention="sksurv"), "convention"),
        (lambda: km_calibration(y, curves, tau=5, convention="survivaleval"), "tau is no part"),
        (lambda: km_calibration(y, curves, tau=-1), "tau must be finite and positive"),
        (lambda: one_calibration(y, curves, 3.0).weights(), "weights"),
    ):
        with pytest.raises(InputError, match=match):
            call()
    with pytest.raises(UndefinedMetricError, match="above zero"):
        km_calibration(([0, 0], [1, 0]), curves[:2])


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=10),
    st.data(),
    st.floats(0, 1),
)
def test_weighted_quantile_is_type_seven(values, data, q):
    count = data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values)))
    x, w = np.array(values, float), np.array(count, float)
    want = np.quantile(np.repeat(x, count), q)
    assert weighted_quantile(x, w, q) == pytest.approx(want, abs=1e-9)
    assert weighted_quantile(x, None, q) == pytest.approx(np.quantile(x, q))
