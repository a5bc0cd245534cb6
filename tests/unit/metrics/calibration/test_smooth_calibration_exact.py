"""Smooth calibration: its distribution by hand, clusters, and subjects who are absent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import survgauge as sg
from survgauge._tools.random import stream
from survgauge.metrics.calibration.ici import smooth_hazards
from survgauge.metrics.score import Clusters, freedom

TIME = np.array([9.0, 4.0, 8.0, 6.0, 7.0, 3.0, 2.0, 1.0, 5.0, 4.0])
EVENT = np.array([0, 1, 1, 0, 1, 1, 1, 1, 0, 1], dtype=bool)
SURVIVAL = np.array([0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.65, 0.35])
WEIGHT = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0])
AGAIN = np.repeat(np.arange(10), WEIGHT.astype(int))
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 3, 3])


def nelson_aalen(weight, time):
    """H(time) by a loop; without ties Efron and Breslow agree."""
    return sum(
        w / weight[t <= TIME8].sum()
        for t, e, w in zip(TIME8, EVENT8, weight, strict=True)
        if e and t <= time
    )


TIME8, EVENT8 = np.arange(1.0, 9.0), np.array([1, 0, 1, 1, 1, 0, 1, 1], dtype=bool)


def test_equal_predictions_vary_as_nelson_aalen_does():
    s, time, ones = 0.4, 6.0, np.ones(8)
    found = sg.integrated_calibration_index_cox((TIME8, EVENT8), np.full(8, s), time)
    hazard = nelson_aalen(ones, time)
    assert found.convention["terms"] == "constant"
    assert found.ici == pytest.approx(abs((1 - math.exp(-hazard)) - (1 - s)))
    influence = []
    for i in range(8):
        more, less = ones.copy(), ones.copy()
        more[i] += 1e-5
        less[i] -= 1e-5
        influence.append((nelson_aalen(more, time) - nelson_aalen(less, time)) / 2e-5)
    events = 4  # by the time; two numbers are fitted, one of which is the coefficient
    variance = np.sum(np.square(influence)) * events / (events - 2)
    errors = stream(0, "smooth calibration").standard_normal((1000, 3))[:, 1]
    # log(-log S) varies by the relative error of the hazard.
    x = math.log(-math.log(s))
    drawn = np.exp(-np.exp(x + errors * math.sqrt(variance) / hazard))
    # The sign of a root is the eigensolver's.
    other = np.exp(-np.exp(x - errors * math.sqrt(variance) / hazard))
    wanted = [np.abs(part - s).mean() for part in (drawn, other)]
    assert min(abs(found.expected_if_calibrated - w) for w in wanted) < 1e-8
    np.testing.assert_allclose(found.distribution.weight, 1 / 8)
    # Every subject has the same distance: nothing varies between them.
    assert found.distribution.spread == pytest.approx(0.0, abs=1e-12)
    assert found.distribution.freedom == pytest.approx(freedom(found.contributions, ones))


def result(weighted=True, labels=None):
    clusters = None if labels is None else Clusters.of(labels)
    if weighted:
        y = sg.Outcomes(TIME, EVENT, WEIGHT)
        return smooth_hazards(y, SURVIVAL, 5.0, ties="breslow", clusters=clusters)
    y = TIME[AGAIN], EVENT[AGAIN]
    return smooth_hazards(y, SURVIVAL[AGAIN], 5.0, ties="breslow", clusters=clusters)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_distribution_of_frequencies_is_that_of_repeated_rows(clustered):
    one, two = result(), result(weighted=False)
    if clustered:
        one, two = result(labels=LABELS), result(weighted=False, labels=LABELS[AGAIN])
        assert one.distribution.freedom == 3.0
    assert one.distribution.spread == pytest.approx(two.distribution.spread, rel=1e-9)
    assert one.distribution.freedom == pytest.approx(two.distribution.freedom, rel=1e-6)
    assert one.expected_if_calibrated == pytest.approx(two.expected_if_calibrated, rel=1e-6)
    assert one.interval(0.9) == pytest.approx(two.interval(0.9), rel=1e-4)
    assert one.support["events_by_time"] == two.support["events_by_time"]


def test_clusters_of_the_smooth_curve_sum_what_their_subjects_move():
    plain, found = result(), result(labels=LABELS)
    smooth = found._smooth
    # Back to the rows as they were given.
    influence = np.empty((smooth.fit.beta.size + 1, 10))
    influence[:, smooth.rows] = smooth.fit.influences(5.0)
    sums = np.array([(influence * WEIGHT)[:, g == LABELS].sum(axis=1) for g in range(4)])
    events, fitted = found.support["events_by_time"], influence.shape[0]
    covariance = sums.T @ sums * 4 / 3 * events / (events - fitted)
    x = found.distribution.x
    columns = smooth._columns(x.copy()) - smooth.fit.mean[:, None]
    change = np.vstack((columns, np.full(x.size, 1 / smooth.hazard))).T
    np.testing.assert_allclose(
        found.distribution.basis @ found.distribution.basis.T,
        change @ covariance @ change.T,
        rtol=1e-9,
        atol=1e-12,
    )
    apart = (np.abs(found.observed - found.predicted) - found.ici) * WEIGHT / WEIGHT.sum()
    parts = np.array([apart[g == LABELS].sum() for g in range(4)])
    assert found.distribution.spread == pytest.approx(math.sqrt(4 / 3 * np.sum(parts**2)))
    assert found.distribution.value == plain.ici
    alone = result(labels=np.zeros(10))
    assert alone.distribution is None
    assert math.isnan(alone.expected_if_calibrated)
    assert np.isnan(alone.interval()).all()


def test_the_distribution_of_many_subjects_is_told_by_64_at_even_ranks():
    rng = np.random.default_rng(5)
    n = 200
    s, t, c = rng.uniform(0.1, 0.9, n), rng.exponential(2, n), rng.exponential(4, n)
    found = sg.integrated_calibration_index_cox((np.minimum(t, c), t <= c), s, 1.0)
    ranks = np.ceil((np.arange(64) + 0.5) * n / 64).astype(int) - 1
    np.testing.assert_allclose(found.distribution.x, np.log(-np.log(np.sort(s)[ranks])))
    np.testing.assert_allclose(found.distribution.weight, 1 / 64)
    few = sg.integrated_calibration_index_cox((np.minimum(t, c)[:64], (t <= c)[:64]), s[:64], 1.0)
    np.testing.assert_allclose(few.distribution.x, np.log(-np.log(np.sort(s[:64]))))


def test_the_gap_of_the_distribution_is_that_of_the_curves():
    found = result()
    order = np.argsort(SURVIVAL, kind="stable")
    distribution = found.distribution
    np.testing.assert_allclose(1 - np.exp(-np.exp(distribution.x)), found.predicted[order])
    np.testing.assert_allclose(
        1 - np.exp(-np.exp(distribution.x + distribution.gap)), found.observed[order]
    )
    assert float(distribution.distance(1.0)) == pytest.approx(found.ici)
    size = np.abs(found.observed - found.predicted)
    spread = math.sqrt(np.average((size - found.ici) ** 2, weights=WEIGHT) / WEIGHT.sum())
    assert distribution.spread == pytest.approx(spread)
    smooth = found._smooth
    influence = smooth.fit.influences(5.0)
    # By time 5 eight events are observed; the spline has two coefficients beside the hazard.
    events = found.support["events_by_time"]
    assert events == 7.0
    covariance = influence * WEIGHT[smooth.rows] @ influence.T * events / (events - 3)
    columns = smooth._columns(distribution.x.copy()) - smooth.fit.mean[:, None]
    change = np.vstack((columns, np.full(10, 1 / smooth.hazard))).T
    np.testing.assert_allclose(
        distribution.basis @ distribution.basis.T,
        change @ covariance @ change.T,
        rtol=1e-9,
        atol=1e-12,
    )


def test_absent_subjects_have_no_part_and_no_observed_probability():
    y = sg.Outcomes([*TIME, 2.5], [*EVENT, True], [*WEIGHT, 0.0])
    found = sg.integrated_calibration_index_cox(y, [*SURVIVAL, 0.99], 5.0, ties="breslow")
    alone = result()
    assert found.ici == pytest.approx(alone.ici, rel=1e-12)
    assert found.contributions[10] == 0.0
    assert math.isnan(found.observed[10])
    np.testing.assert_allclose(found.contributions[:10], alone.contributions, atol=1e-12)
    assert math.isnan(found.predicted[10])
    assert (found.e50, found.e90, found.emax) == pytest.approx((alone.e50, alone.e90, alone.emax))
    assert found.curve_predicted[[0, -1]] == pytest.approx([0.1, 0.7])


def test_what_was_observed_by_the_time_is_counted_to_the_moment():
    found = sg.integrated_calibration_index_cox((TIME, EVENT), SURVIVAL, 4.0)
    # Events at 1, 2, 3, 4 and 4; nobody was censored before.
    assert found.support["events_by_time"] == 5.0
    assert found.support["censored_before_time"] == 0
    later = sg.integrated_calibration_index_cox((TIME, EVENT), SURVIVAL, 6.0)
    # The censoring at 5 is before it, that at 6 is not.
    assert later.support["censored_before_time"] == 1
    frequencies = result()
    assert frequencies.support["events_by_time"] == 2 + 1 + 2 + 1 + 1


def test_knots_that_fall_together_make_a_line():
    rng = np.random.default_rng(6)
    s = np.array([0.5] * 20 + [0.3, 0.4, 0.7, 0.6])
    y = 1.0 + rng.permutation(24), np.ones(24)
    found = sg.integrated_calibration_index_cox(y, s, 12.0)
    assert found.convention["terms"] == "line"
    assert found.convention["knots"] == []
    spread = sg.integrated_calibration_index_cox(y, np.linspace(0.2, 0.8, 24), 12.0)
    assert spread.convention["terms"] == "spline"


def test_a_curve_that_is_read_past_its_end_is_counted():
    curves = sg.SurvivalCurves([0.0, 4.0], np.column_stack((np.ones(10), SURVIVAL)))
    found = sg.integrated_calibration_index_cox((TIME, EVENT), curves, 4.5)
    assert found.support["past_curve"] == sg.one_calibration(
        (TIME, EVENT), curves, 4.5
    ).support["past_curve"]  # fmt: skip


def test_events_in_the_order_of_their_predictions_identify_no_slope():
    with pytest.raises(sg.UndefinedMetricError, match="is not identified by these outcomes"):
        sg.integrated_calibration_index_cox(
            (np.arange(1.0, 9.0), [1] * 8), np.arange(1, 9) / 10, 5.0
        )


def test_a_line_is_fitted_where_outcomes_identify_no_spline():
    time = np.array([4.0, 2.0, 6.0, 1.0, 5.0, 3.0])
    s = np.array([0.75, 0.45, 0.8, 0.15, 0.85, 0.65])
    found = sg.integrated_calibration_index_cox((time, [1] * 6), s, 5.0)
    assert found.convention["terms"] == "line"
    assert found.convention["knots"] == []
    x = np.log(-np.log(s))
    at_risk = time <= time[:, None]  # rows: who; columns: at the time of whom

    def loss(slope):
        return np.sum(np.log(np.exp(slope * x) @ at_risk) - slope * x)

    relative = np.exp(minimize_scalar(loss, bounds=(0, 50), method="bounded").x * x)
    hazard = np.sum(1 / (relative @ at_risk)[time <= 5])
    wanted = np.mean(np.abs(1 - np.exp(-hazard * relative) - (1 - s)))
    assert found.ici == pytest.approx(wanted, rel=1e-4)
