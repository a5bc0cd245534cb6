"""KM-calibration, coverage and slope: what they refuse, what they say, and who is absent."""

from __future__ import annotations

import math

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.calibration import d_calibration as kernel
from survgauge.metrics.calibration import inputs
from survgauge.metrics.calibration import risk_rates as groups
from survgauge.metrics.calibration.km_calibration import km_distance
from survgauge.metrics.checks import check_curves
from survgauge.metrics.score import Clusters

Y = ([2.0, 4.0, 6.0, 9.0], [1, 0, 1, 1])
LINES = sg.SurvivalCurves([0.0, 10.0], [[1.0, 0.0], [1.0, 0.2], [1.0, 0.4], [1.0, 0.1]])


def test_km_calibration_says_how_it_was_made():
    own = sg.km_calibration(Y, LINES)
    assert own.convention["convention"] == "survgauge"
    assert own.convention["tau"] == 9.0
    assert isinstance(own.convention["mean_curve"], str)
    assert own.support["past_curves"] == 0.0
    assert own.frequency is None
    assert own.stderr > 0
    peer = sg.km_calibration(Y, LINES, convention="survivaleval")
    assert peer.convention["convention"] == "survivaleval"
    assert peer.convention["tau"] == 9.0
    assert peer.distribution is None
    assert math.isnan(peer.stderr)
    assert math.isnan(peer.expected_if_calibrated)
    ends = sg.SurvivalCurves([0.0, 5.0], [[1.0, 0.3]] * 4)
    assert sg.km_calibration(Y, ends).support["past_curves"] == 1.0


def test_km_calibration_of_survivaleval_ends_at_the_last_event():
    y = ([0.25, 0.5, 0.75], [1, 1, 0])
    curves = sg.SurvivalCurves([0.0, 1.0], [[1.0, 0.0]] * 3)
    found = sg.km_calibration(y, curves, convention="survivaleval")
    assert found.convention["tau"] == 0.5
    # Squared gaps at 0, 0.25 and 0.5, joined by lines.
    gaps = np.array([0.0, 0.75 - 2 / 3, 0.5 - 1 / 3]) ** 2
    assert found.value == pytest.approx(0.25 * (gaps[0] / 2 + gaps[1] + gaps[2] / 2) / 0.5)
    for times, events in (([0.0, 0.5, 0.75], [1, 0, 0]), ([0.25, 0.5, 0.75], [0, 0, 0])):
        with pytest.raises(sg.UndefinedMetricError, match="an event after time zero"):
            sg.km_calibration((times, events), curves, convention="survivaleval")
    assert sg.km_calibration(([0.25, 0.5, 0.75], [1, 1, 0]), curves) > 0
    with pytest.raises(sg.UndefinedMetricError, match="all are zero"):
        sg.km_calibration(([0.0, 0.0, 0.0], [1, 1, 0]), curves)


def test_absent_subjects_contribute_nothing_to_km_calibration():
    y = sg.Outcomes([*Y[0], 20.0], [*Y[1], 1], [1.0, 2.0, 1.0, 3.0, 0.0])
    curves = sg.SurvivalCurves([0.0, 10.0], [*LINES.survival, [1.0, 0.9]])
    labels = np.array([0, 1, 0, 1, 2])
    present = sg.Outcomes(*Y, [1.0, 2.0, 1.0, 3.0])
    for clusters in (None, Clusters.of(labels, y.weight)):
        found = km_distance(y, curves, clusters=clusters)
        kept = None if clusters is None else Clusters.of(labels[:4])
        alone = km_distance(present, LINES, clusters=kept)
        assert found.value == alone.value
        assert found.contributions[4] == 0.0
        np.testing.assert_array_equal(found.contributions[:4], alone.contributions)
        assert found.stderr == pytest.approx(alone.stderr, rel=1e-12)
        assert found.distribution.freedom == (math.inf if clusters is None else 1.0)
        np.testing.assert_array_equal(found.frequency, y.weight)
    single = km_distance(present, LINES, clusters=Clusters.of(np.zeros(4)))
    assert single.distribution is None
    assert math.isnan(single.stderr)


def test_coverage_counts_the_ends_of_its_interval_and_the_weight_past_c():
    # S = 0.75, 0.25 (the ends for a level of one half), 0.5 censored, 0 censored, and absent.
    curves = sg.SurvivalCurves([0.0, 8.0], [[1.0, 0.0]] * 5)
    y = sg.Outcomes([2.0, 6.0, 4.0, 8.0, 1.0], [1, 1, 0, 0, 1], [1.0, 1.0, 1.0, 1.0, 0.0])
    found = sg.coverage(y, curves, level=0.5)
    own = np.array([1.0, 1.0, (0.5 - 0.25) / 0.5, 0.0])
    assert found.value == pytest.approx(own.mean())
    np.testing.assert_allclose(found.contributions, [*((own - own.mean()) / 4), 0.0])
    assert found.support["share_from_censored"] == 0.5
    assert found.convention["level"] == 0.5
    early = sg.coverage(([1.0, 7.0], [0, 0]), curves[:2], level=0.5)
    # All of the interval lies past c, over S(c); or none of it does.
    assert early.value == pytest.approx((0.5 / 0.875 + 0.0) / 2)


def test_a_slope_says_what_its_covariate_is():
    y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1])
    x = np.array([1.0, 0.2, 0.6, -0.3, 0.1, -1.0])
    given = sg.calibration_slope_cox(y, x)
    assert given.convention["covariate"] == "given linear predictor"
    assert given.convention["time"] is None
    assert given.support["moved_from_0_or_1"] == 0
    s = np.exp(-np.exp(x))
    read = sg.calibration_slope_cox(y, s, 3.0)
    assert read.convention["covariate"] == "log(-log S)"
    assert read.convention["time"] == 3.0
    assert read.value == pytest.approx(given.value)
    other = sg.calibration_slope_cox(y, 1 - s, 3.0, probability="event", ties="breslow")
    assert other.convention["ties"] == "breslow"
    assert other.value == pytest.approx(given.value)  # there are no ties
    weighted = sg.Outcomes(*y, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    absent = sg.calibration_slope_cox(weighted, x)
    rest = sg.calibration_slope_cox(([1, 2, 3, 4, 5], [1, 1, 0, 1, 1]), x[:5])
    assert absent.value == pytest.approx(rest.value)
    assert absent.contributions[5] == 0.0
    np.testing.assert_allclose(absent.contributions[:5], rest.contributions)
    assert absent.support["model_stderr"] == pytest.approx(rest.support["model_stderr"])


# -- what calibration metrics are given ------------------------------------------------------------


def test_probabilities_may_pass_their_ends_by_exactly_the_rounding_error():
    y = sg.Outcomes([1.0, 2.0, 3.0], [1, 0, 1])
    edge = inputs.ROUNDING
    found = inputs.survival_at(y, [-edge, 1 + edge, 0.5], 2.0, "survival")
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.5])
    for low, high in ((np.nextafter(-edge, -1), 0.5), (0.5, np.nextafter(1 + edge, 2))):
        with pytest.raises(sg.InputError, match=r"between 0 and 1.*row [12] \(counting"):
            inputs.survival_at(y, [low, high, 0.5], 2.0, "survival")


def test_curves_that_say_nothing_are_named_by_their_subjects():
    curves = sg.SurvivalCurves(
        [[0.0, 5.0], [0.0, 1.0], [0.0, 5.0], [0.0, 1.0]], [[1.0, 0.4]] * 4, tail="nan"
    )
    time, event = [2.0, 2.0, 3.0, 4.0], [1, 1, 0, 1]
    words = r"rows 2 and 4 .counting from 1. say nothing about"
    y = sg.Outcomes(time, event)
    with pytest.raises(sg.UndefinedMetricError, match=words + " their own time"):
        inputs.own_survival(check_curves(curves, y), y.time)
    with pytest.raises(sg.UndefinedMetricError, match=words + " time 2.0"):
        inputs.survival_at(y, curves, 2.0, "survival")
    # Of those of weight zero nothing is asked; of a small weight as much as of a large one.
    absent = sg.Outcomes(time, event, [1.0, 0.0, 1.0, 0.0])
    wanted = [1 - 0.6 * 2 / 5, 1 - 0.6 * 3 / 5]
    np.testing.assert_allclose(
        inputs.own_survival(check_curves(curves, absent), absent.time)[[0, 2]], wanted
    )
    found = inputs.survival_at(absent, curves, 2.0, "survival")
    np.testing.assert_allclose(found[[0, 2]], wanted[0])
    little = sg.Outcomes(time, event, [1.0, 0.5, 1.0, 0.5])
    own = lambda y, c: inputs.own_survival(check_curves(c, y), y.time)  # noqa: E731
    for read in (own, lambda y, c: inputs.survival_at(y, c, 2.0, "survival")):
        with pytest.raises(sg.UndefinedMetricError, match=words):
            read(little, curves)


def test_log_log_moves_what_is_certain_and_counts_it():
    certain = inputs.CERTAIN
    s = np.array([0.0, certain / 2, certain, 0.5, 1 - certain, 1 - certain / 2, 1.0])
    x, moved = inputs.log_log(s)
    assert moved == 4
    np.testing.assert_array_equal(x[[0, 1, 2]], [math.log(-math.log(certain))] * 3)
    np.testing.assert_allclose(x[4:], np.log(-np.log(1 - certain)))
    assert x[3] == pytest.approx(math.log(math.log(2)))


def test_times_up_to_the_last_observed_one_are_taken():
    y = sg.Outcomes([1.0, 3.0], [1, 0])
    inputs.refuse_past_follow_up(y, 3.0)
    with pytest.raises(sg.UndefinedMetricError, match=r"time 3\.5 lies past the last test time 3"):
        inputs.refuse_past_follow_up(y, 3.5)


def test_what_every_result_says():
    y = sg.Outcomes([1.0, 2.0, 3.0], [1, 0, 1], [1.0, 2.0, 3.0])
    convention, support = inputs.description(y, LINES)
    assert convention == {
        "convention": "survgauge",
        "reference": "test outcomes",
        "interpolation": "linear",
        "curve_tail": "linear",
    }
    assert support == {"subjects": 3, "events": 2, "censored": 1}
    assert inputs.description(y, [0.1, 0.2, 0.3])[0].keys() == {"convention", "reference"}
    assert inputs.read_past(y, [0.1, 0.2, 0.3], 2.0) == {}
    ends = sg.SurvivalCurves([[0.0, 1.0], [0.0, 9.0], [0.0, 9.0]], [[1.0, 0.5]] * 3)
    assert inputs.read_past(y, ends, 2.0) == {"past_curve": pytest.approx(1 / 6)}
    assert inputs.read_past(y.present(), ends, 0.5) == {"past_curve": 0.0}


# -- groups ----------------------------------------------------------------------------------------


def test_hazards_of_a_curve_between_its_nodes():
    nodes, mean = np.array([0.0, 2.0, 4.0]), np.array([1.0, 0.5, 0.2])
    t = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    wanted = {
        "step": -np.log([1.0, 1.0, 0.5, 0.5, 0.2]),
        "linear": -np.log([1.0, 0.75, 0.5, 0.35, 0.2]),
        "exponential": [0.0, math.log(2) / 2, math.log(2), (math.log(2) + math.log(5)) / 2,
                        math.log(5)],
    }  # fmt: skip
    for between, hazards in wanted.items():
        found = groups._hazard(nodes, mean, between)(t)
        np.testing.assert_allclose(found, hazards, atol=1e-15)
        # Not -0.0 where curves say that nothing has happened.
        assert between == "exponential" or not np.signbit(found).any()


def test_too_few_known_subjects_are_no_groups():
    y = ([1.0, 2.0, 3.0], [0, 0, 0])
    with pytest.raises(sg.UndefinedMetricError, match="got 1 from 1 subjects with 1 distinct"):
        sg.one_calibration(y, [0.2, 0.5, 0.7], 3.0, method="uncensored")


def test_one_calibration_says_how_it_was_made_and_who_is_unknown():
    y = sg.Outcomes([1.0, 2.0, 3.0, 3.0, 4.0, 5.0], [1, 0, 1, 0, 0, 1])
    p = np.array([0.1, 0.3, 0.5, 0.6, 0.7, 0.9])
    found = sg.one_calibration(y, 1 - p, 3.0, groups=2, probability="survival")
    assert found.convention["probability"] == "survival"
    other = sg.one_calibration(y, p, 3.0, groups=2, probability="event")
    assert other.convention["probability"] == "event"
    assert other.p_value == pytest.approx(found.p_value)
    curves = sg.SurvivalCurves([0.0, 6.0], np.column_stack((np.ones(6), 1 - p)))
    read = sg.one_calibration(y, curves, 3.0, groups=2)
    assert read.convention["probability"] == "from curves"
    for result in (found, read):
        assert result.convention["time"] == 3.0
        assert result.convention["groups"] == 2
        assert result.convention["ties"] == "kept in one group"
        # Of who is censored at 3 it is known that nothing has happened by then.
        assert result.support["status_unknown"] == 1
        assert result.support["left_out"] == 0
        assert result.support["groups"] == 2
        assert result.support["events_by_time"] == 2.0
    peer = sg.one_calibration(y, curves, 3.0, groups=2, convention="survivaleval")
    assert peer.convention["ties"] == "split by position"
    assert peer.convention["convention"] == "survivaleval"


def test_an_edge_belongs_to_the_bin_above_whatever_its_product_rounds_to():
    for bins in range(2, 60):
        edges = np.arange(bins + 1) / bins
        np.testing.assert_array_equal(
            kernel.bin_of(edges, bins), np.minimum(np.arange(bins + 1), bins - 1)
        )
        middle = (np.arange(bins) + 0.5) / bins
        np.testing.assert_array_equal(kernel.bin_of(middle, bins), np.arange(bins))
