"""Calibration kernels at their edges, against loops and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.calibration import d_calibration as kernel
from survgauge.metrics.calibration import ici, inputs, risk_rates
from survgauge.metrics.checks import check_curves


def test_uniform_distance_without_censoring_is_kolmogorovs():
    s = np.array([0.9, 0.7, 0.4, 0.35, 0.1])
    found = kernel.uniform_distance(sg.Outcomes(np.arange(1.0, 6.0), [1] * 5), s)
    u = np.sort(1 - s)
    gaps = [max(abs((k + 1) / 5 - x), abs(k / 5 - x)) for k, x in enumerate(u)]
    assert found.distance == pytest.approx(max(gaps))
    # All five lie close to where they are expected: 0.9616 by scipy.stats.kstwo.
    assert found.p_value == pytest.approx(0.9616)
    assert found.last == pytest.approx(0.9)
    # With u_n = 0.9 observed and no censoring, the clock is u / (1 - u), the share u itself.
    assert found.coverage == pytest.approx(0.9)
    assert found.statistic == pytest.approx(max(gaps))


def test_uniform_distance_where_the_last_probability_is_zero():
    y = sg.Outcomes([1.0, 2.0, 3.0], [1, 1, 1])
    found = kernel.uniform_distance(y, np.array([0.5, 0.25, 0.0]))
    assert found.coverage == 1.0
    assert found.last == 1.0
    assert found.distance == pytest.approx(0.5)


def test_uniform_distance_with_censoring_by_a_loop():
    rng = np.random.default_rng(4)
    s, event = rng.uniform(0.05, 1, 12), rng.random(12) < 0.6
    y = sg.Outcomes(np.arange(1.0, 13.0), event)
    u, order = np.sort(1 - s), np.argsort(1 - s)
    event = y.event[order]
    f, g, clock, last, best, plain = 1.0, 1.0, 0.0, 0.0, 0.0, 0.0
    for k, (x, d) in enumerate(zip(u, event, strict=True)):
        clock += (1 / (1 - x) - 1 / (1 - last)) / g
        weight = 1 / (1 - x) / (1 + clock)
        before = f
        if d:
            f *= 1 - 1 / (12 - k)
        else:
            g *= 1 - 1 / (12 - k)
        gap = max(abs(1 - f - x), abs(1 - before - x))
        best, plain, last = max(best, gap * weight), max(plain, gap), x
    found = kernel.uniform_distance(y, s)
    assert found.statistic == pytest.approx(best)
    assert found.distance == pytest.approx(plain)
    assert found.coverage == pytest.approx(clock / (1 + clock))


def test_bridge_tail_at_its_ends():
    assert kernel.bridge_tail(1.0, 0.0) == 1.0
    assert kernel.bridge_tail(1.0, 1.0) == pytest.approx(
        2 * sum((-1) ** (k + 1) * math.exp(-2 * k * k) for k in range(1, 20))
    )
    # Nearly the whole bridge: next to Kolmogorov's distribution; a short piece: hardly ever
    # outside.
    assert kernel.bridge_tail(1.0, 1 - 1e-9) == pytest.approx(kernel.bridge_tail(1.0, 1.0), 1e-3)
    assert kernel.bridge_tail(1.0, 0.01) < 1e-15
    # A narrow band is left for sure; the series needs its many terms, with their signs.
    assert kernel.bridge_tail(0.05, 0.9) == pytest.approx(1.0)


def test_bridge_tail_is_the_sum_over_all_images():
    def normal(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    for d, a in ((1.2, 0.3), (0.8, 0.6), (0.4, 0.9), (1.5, 0.05), (0.3, 0.2)):
        edge, stays = d / math.sqrt(a * (1 - a)), 0.0
        for k in range(-60, 61):
            image = 2 * k * d * math.sqrt((1 - a) / a)
            inside = normal(edge - image) - normal(-edge - image)
            stays += (-1) ** k * math.exp(-2 * (k * d) ** 2) * inside
        assert kernel.bridge_tail(d, a) == pytest.approx(1 - stays, rel=1e-9, abs=1e-12)


def test_groups_of_risk_keep_ties_together():
    s = np.array([0.9, 0.5, 0.5, 0.1, 0.2, 0.5])
    found = [sorted(rows.tolist()) for rows in risk_rates.risk_groups(s, None, 3)]
    assert found == [[0], [1, 2, 5], [3, 4]]
    weight = np.array([1.0, 1, 1, 6, 1, 1])
    found = [sorted(rows.tolist()) for rows in risk_rates.risk_groups(s, weight, 2)]
    assert found == [[0, 1, 2, 4, 5], [3]]
    assert len(risk_rates.risk_groups(np.full(4, 0.5), None, 4)) == 1


def test_rates_of_groups_by_hand():
    y = sg.Outcomes([1.0, 2.0, 3.0, 4.0, 1.0, 2.0], [1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 2, 1])
    s = np.array([0.8, 0.6, 0.4, 0.2, 0.1, 0.4])
    rows = [np.arange(4), np.array([4, 5])]
    found = risk_rates.group_rates(y, s, rows, 3.0)
    assert found.size.tolist() == [4, 3]
    assert found.observed == pytest.approx([1 - 0.75 / 2, 1.0])
    assert found.expected == pytest.approx([0.5, 1 - 0.2])
    # Greenwood: S^2 sum d / (n (n - d)); where nobody is left there is nothing to spread.
    assert found.variance == pytest.approx([0.375**2 * (1 / 12 + 1 / 2), 0.0])
    assert found.events.tolist() == [2, 3]
    assert found.open_ended == 0
    late = risk_rates.group_rates(sg.Outcomes([1.0, 2.0], [1, 0]), s[:2], [np.arange(2)], 3.0)
    assert late.open_ended == 1
    at = risk_rates.group_rates(sg.Outcomes([1.0, 3.0], [1, 0]), s[:2], [np.arange(2)], 3.0)
    assert at.open_ended == 0


def test_weighted_quantiles_repeat_values():
    values, weight = np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 3.0])
    repeated = np.repeat(values, weight.astype(int))
    for q in (0.0, 0.1, 0.3, 0.5, 0.77, 1.0):
        assert ici.weighted_quantile(values, weight, q) == pytest.approx(np.quantile(repeated, q))
        assert ici.weighted_quantile(values, None, q) == pytest.approx(np.quantile(values, q))


def test_probabilities_that_round_past_their_ends_are_set_to_them():
    y = sg.Outcomes([1.0, 2.0, 3.0], [1, 0, 1])
    given = [-1e-12, 0.5, 1 + 1e-12]
    assert inputs.survival_at(y, given, 2.0, "survival").tolist() == [0.0, 0.5, 1.0]
    assert inputs.survival_at(y, given, 2.0, "event").tolist() == [1.0, 0.5, 0.0]
    for wrong in (-1e-3, 1.001):
        with pytest.raises(sg.InputError, match=r"between 0 and 1.*row 2 \(counting"):
            inputs.survival_at(y, [0.5, wrong, 0.5], 2.0, "survival")
    for time in (-1.0, np.inf, np.nan, [1.0, 2.0]):
        with pytest.raises(sg.InputError, match="time"):
            inputs.checked_time(time)
    assert inputs.checked_time(0) == 0.0


def test_a_smooth_curve_whose_errors_are_not_finite_has_a_value_and_no_interval():
    """Five subjects, found by the fuzz: LAPACK refuses a covariance that is not finite."""
    y = ([4.0, 3.0, 2.0, 4.0, 0.0], [1] * 5)
    start = [0.40318652776639785, 0.47220675763090836, 0.375, 0.4265598029075397]
    end = [0.1800712694519716, 0.06459423865520209, 0.25, 0.24221245864808272]
    rows = [*zip(start, end, strict=True), (0.8749623275893139, 0.6620995619062442)]
    curves = sg.SurvivalCurves([4.399999999999999, 4.8], [list(row) for row in rows])
    found = sg.integrated_calibration_index_cox(y, curves, 2.493414512180683)
    assert 0 < found.ici < 1
    assert math.isnan(found.expected_if_calibrated)


def test_knots_are_harrells_quantiles():
    s = np.linspace(0.95, 0.05, 41)
    y = (1.0 + np.random.default_rng(1).permutation(41), [1] * 41)
    wanted = {
        3: (0.1, 0.5, 0.9),
        4: (0.05, 0.35, 0.65, 0.95),
        5: (0.05, 0.275, 0.5, 0.725, 0.95),
    }
    for number, quantiles in wanted.items():
        found = sg.integrated_calibration_index(y, s, 20.0, knots=number)
        x = np.log(-np.log(s))
        assert found.convention["knots"] == pytest.approx(np.quantile(x, quantiles))
        low, high = found.interval(0.9)
        assert 0 <= low <= found.ici <= high <= 1
        wide = found.interval()
        assert wide[0] <= low
        assert high <= wide[1]
    same = sg.integrated_calibration_index(y, np.full(41, 0.5), 20.0)
    assert same.convention["knots"] == []


def test_km_calibration_says_what_a_perfect_model_would_have():
    y = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 1, 0, 1, 1, 0])
    curves = sg.SurvivalCurves([0.0, 8.0], [[1.0, 0.1]] * 6)
    found = sg.km_calibration(y, curves)
    assert 0 < found.expected_if_calibrated < 1
    assert found.support["past_curves"] == 0.0


def test_a_subject_of_hardly_any_weight_makes_no_group_of_its_own():
    # The middle of the last block rounds to the end of the last group.
    found = risk_rates.risk_groups(np.array([0.9, 0.1]), np.array([1.0, 1e-20]), 2)
    assert [rows.tolist() for rows in found] == [[0, 1]]


def test_which_distribution_a_distance_has():
    rng = np.random.default_rng(3)

    def distribution(events, censored):
        n = events + censored
        event = np.arange(n) < events
        return kernel.uniform_distance(
            sg.Outcomes(np.ones(n), event), rng.uniform(0.1, 1, n)
        ).distribution

    assert distribution(100, 0) == kernel.EXACT
    assert distribution(101, 0) == kernel.LIMIT
    assert distribution(5, 0) == kernel.EXACT
    assert distribution(9, 20) == kernel.DRAWN
    assert distribution(10, 20) == kernel.LIMIT
    assert distribution(9, 192) == kernel.LIMIT


def test_the_limit_distribution_has_stephens_factor():
    rng = np.random.default_rng(5)
    n = 36
    y = sg.Outcomes(np.ones(n), np.arange(n) % 3 > 0)
    found = kernel.uniform_distance(y, rng.uniform(0.05, 1, n))
    assert found.distribution == kernel.LIMIT
    factor = 6 + 0.12 + 0.11 / 6
    wanted = kernel.bridge_tail(factor * found.statistic, found.coverage)
    assert 0.001 < wanted < 0.999
    assert found.p_value == pytest.approx(wanted, rel=1e-12)


def test_what_is_predicted_for_absent_subjects_may_be_unknown():
    grid = [[0.0, 1.0, 9.0], [0.0, 1.0, 2.0], [0.0, 1.0, 9.0]]
    curves = sg.SurvivalCurves(grid, [[1.0, 0.8, 0.5]] * 3, tail="nan")
    time, event = [3.0, 4.0, 5.0], [1, 1, 0]
    y = sg.Outcomes(time, event, [1.0, 0.0, 2.0])
    found = inputs.survival_at(y, curves, 3.0, "survival")
    assert found[[0, 2]] == pytest.approx([0.725, 0.725])
    with pytest.raises(sg.UndefinedMetricError):
        inputs.survival_at(sg.Outcomes(time, event), curves, 3.0, "survival")
    assert inputs.own_survival(check_curves(curves, y), y.time)[[0, 2]] == pytest.approx(
        [0.725, 0.65]
    )
    with pytest.raises(sg.UndefinedMetricError):
        inputs.own_survival(check_curves(curves, sg.Outcomes(time, event)), time)
