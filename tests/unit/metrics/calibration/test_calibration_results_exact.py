"""Every field of the results of both calibration tests, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import survgauge as sg
from survgauge.metrics.calibration import risk_rates as grouped

LINES = sg.SurvivalCurves([0.0, 10.0], [[1.0, 0.0]] * 5)
Y = sg.Outcomes([2.0, 4.0, 6.0, 9.0, 10.0], [1, 0, 1, 1, 0])


def test_fields_of_pearsons_d_calibration():
    found = sg.d_calibration(Y, LINES, bins=4, method="chi2")
    # S: 0.8, 0.6 (censored), 0.4, 0.1, 0 (censored: stays in the lowest bin)
    spread = np.array([0.25 / 0.6, 0.25 / 0.6, 0.1 / 0.6, 0.0])
    observed = spread + np.array([2, 1, 0, 1])
    assert found.observed == pytest.approx(observed)
    assert found.expected.tolist() == [1.25] * 4
    assert found.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    statistic = float(((observed - 1.25) ** 2).sum() / 1.25)
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(chi2.sf(statistic, 3))
    assert found.degrees_of_freedom == 3
    assert found.method == "chi2"
    assert found.support["survival_zero"] == 1
    assert found.support["survival_one"] == 0
    assert found.support["past_curves"] == 0
    assert found.weights().sum(axis=0) == pytest.approx(observed)


def test_fields_of_d_calibration():
    found = sg.d_calibration(Y, LINES, bins=2)
    # u: 0.2, 0.4+, 0.6, 0.9, 1+: Kaplan-Meier 0.8, 0.8, 0.8*2/3, 0.8/3, 0.8/3
    assert found.expected.tolist() == [2.5, 2.5]
    assert found.edges.tolist() == [0, 0.5, 1]
    assert found.observed == pytest.approx([5 * 1.6 / 3, 5 * 0.2])
    assert found.support["open_weight"] == pytest.approx(5 * 0.8 / 3)
    assert found.support["last_u"] == 1.0
    assert found.support["bridge_time"] == 1.0
    assert found.degrees_of_freedom is None
    weighted = sg.Outcomes(Y.time, Y.event, [2.0, 1.0, 1.0, 1.0, 0.0])
    some = sg.d_calibration(weighted, LINES, bins=2)
    assert some.expected.tolist() == [2.5, 2.5]
    assert np.isnan(some.weights()[4]).all()
    late = sg.Outcomes([2.0, 12.0], [1, 1], [1.0, 1.0])
    assert sg.d_calibration(late, LINES[:2]).support["past_curves"] == 1


@pytest.mark.parametrize(
    ("method", "peer"),
    [("dn", False), ("uncensored", False), ("gnd", False), ("dn", True), ("uncensored", True)],
)
def test_fields_of_one_calibration(method, peer):
    s = np.array([0.9, 0.8, 0.75, 0.7, 0.6, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1])
    time = np.array([9.0, 3, 9, 2, 9, 9, 3, 9, 1, 9, 2, 4])
    event = np.array([0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1], dtype=bool)
    convention = "survivaleval" if peer else "survgauge"
    found = sg.one_calibration(
        (time, event), s, 5.0, groups=3, method=method, convention=convention
    )
    known = event | (time >= 5) if method == "uncensored" else np.ones(12, dtype=bool)
    if peer:
        rows = [part[known[part]] for part in np.split(np.arange(12), 3)]
    else:
        members = np.flatnonzero(known)
        place = ((np.arange(members.size) + 0.5) / members.size * 3).astype(int)
        rows = [members[place == k] for k in range(3)]
    statistic = 0.0
    for k, r in enumerate(rows):
        survival, greenwood = 1.0, 0.0
        for t in sorted(set(time[r])):
            n, d = (time[r] >= t).sum(), ((time[r] == t) & event[r]).sum()
            if t <= 5:
                survival *= 1 - d / n
                greenwood += d / (n * (n - d)) if n > d else 0.0
        observed, expected = 1 - survival, 1 - s[r].mean()
        assert found.observed[k] == pytest.approx(observed)
        assert found.expected[k] == pytest.approx(expected)
        assert found.edges[k] == pytest.approx([1 - s[r].max(), 1 - s[r].min()])
        rate = observed if peer else expected
        variance = rate * (1 - rate) / r.size
        if method == "gnd" or (peer and method == "dn"):
            variance = survival**2 * greenwood
        statistic += (observed - expected) ** 2 / variance
    lost = 0 if peer else 2 if method == "uncensored" else 1
    assert found.statistic == pytest.approx(statistic)
    assert found.degrees_of_freedom == 3 - lost
    assert found.p_value == pytest.approx(chi2.sf(statistic, 3 - lost))
    assert found.support["status_unknown"] == 2
    assert found.support["left_out"] == (2 if method == "uncensored" else 0)
    assert found.support["groups"] == 3
    assert found.support["events_by_time"] == 4
    assert found.support["groups_past_follow_up"] == 0
    assert found.support["thin_groups"] == 0
    names = {"gnd": "Greenwood's, of the observed rate", "dn": "binomial, of the mean prediction"}
    names["uncensored"] = names["dn"]
    if peer:
        names = {"dn": names["gnd"], "uncensored": "binomial, of the observed rate"}
    assert found.convention["variance"] == names[method]


def test_peers_variance_of_zero_has_no_p_value():
    y = ([1.0, 2.0, 9.0, 9.0], [1, 1, 0, 0])
    found = sg.one_calibration(y, [0.1, 0.2, 0.8, 0.9], 5.0, groups=2, convention="survivaleval")
    assert found.statistic == np.inf
    assert np.isnan(found.p_value)
    with pytest.raises(sg.UndefinedMetricError, match=r"zero in 2 of 2"):
        sg.one_calibration(y, [0.1, 0.2, 0.8, 0.9], 5.0, groups=2, method="gnd")
    split = sg.one_calibration(y, [0.5] * 4, 5.0, groups=2, convention="survivaleval")
    assert split.support["groups"] == 2
    assert split.convention["method"] == "dn"


def test_probabilities_rise_as_nelson_aalen_does():
    y = sg.Outcomes([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    s, rows = np.array([0.8, 0.6, 0.4, 0.2]), [np.arange(4)]
    (hazard,) = grouped.shared_shape(y, s, rows, 3.5)
    total, steps = -np.log(0.5), (0.25, 0.25 + 0.5)
    wanted = [0.0, total * steps[0] / steps[1], total * steps[0] / steps[1], total, total]
    assert hazard(np.array([0.5, 1.0, 2.0, 3.0, 3.5])) == pytest.approx(wanted)
    (hazard,) = grouped.shared_shape(y, s, rows, 2.0)
    assert hazard(np.array([0.5, 1.0, 2.0])) == pytest.approx([0.0, total, total])
    none = sg.Outcomes([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 1])
    (hazard,) = grouped.shared_shape(none, s, rows, 3.5)
    assert hazard(np.array([1.0, 3.0, 3.5])) == pytest.approx([0.0, 0.0, total])
    (hazard,) = grouped.shared_shape(none, s, rows, 0.5)
    assert hazard(np.array([0.2, 0.5])) == pytest.approx([0.0, total])


def test_groups_without_doubt():
    zero = np.zeros(2)
    right = grouped.StoppedRates(
        np.array([0.5, 1.0]), np.array([0.7, 1.0]), np.array([0.1, 0]), zero
    )
    assert right.test() == (pytest.approx(0.4), 1)
    wrong = grouped.StoppedRates(
        np.array([0.5, 0.9]), np.array([0.7, 1.0]), np.array([0.1, 0]), zero
    )
    assert wrong.test() == (np.inf, 1)


def test_nodes_of_curves():
    curves = sg.SurvivalCurves([0.0, 1.0, 2.0, 4.0], [[1.0, 0.8, 0.5, 0.2]])
    assert grouped.curve_nodes(curves, 2.0).tolist() == [0, 1, 2]
    assert grouped.curve_nodes(curves, 3.0).tolist() == [0, 1, 2, 3]
    assert grouped.curve_nodes(curves, 0.0).tolist() == [0]
    assert grouped.curve_nodes(curves, 5.0).tolist() == [5 * k / 32 for k in range(33)]
    assert grouped.own_nodes(curves, 4.0)
    assert not grouped.own_nodes(curves, 4.5)
    for inside, own in ((30, True), (31, False)):
        grid = np.arange(inside + 2.0)
        fine = sg.SurvivalCurves(grid, [np.exp(-grid)])
        assert grouped.own_nodes(fine, inside + 1.0) == own


def test_rates_of_a_group_that_ends_early():
    y = sg.Outcomes([1.0, 2.0, 3.0, 9.0], [1, 0, 1, 0])
    found = grouped.stopped_rates(
        y, [np.array([0, 1]), np.array([2, 3])], [lambda t: 0.1 * t] * 2, 5.0
    )
    assert found.stopped.tolist() == [1, 0]
    assert found.observed.tolist() == [0.5, 0.5]
    assert found.expected == pytest.approx(np.exp([-0.2, -0.5]))
    growth = [0.1 / 2 + 0.1 / 1, 0.3 / 2 + 0.2 / 1]
    assert found.variance == pytest.approx(np.exp([-0.4, -1.0]) * growth)


def test_refusals_and_words():
    y = ([1.0, 2.0, 3.0, 5.0, 5.0], [0, 0, 0, 1, 0])
    s = [0.9, 0.8, 0.6, 0.5, 0.4]
    with pytest.raises(sg.InputError, match="probability must be"):
        sg.one_calibration(y, s, 3.0, probability="risk")
    past = sg.Outcomes([1.0, 2.0, 3.0, 5.0], [0, 0, 0, 1], [1.0, 1.0, 1.0, 0.0])
    with pytest.raises(sg.UndefinedMetricError, match="time 4 lies past the last test time 3"):
        sg.one_calibration(past, s[:4], 4.0)
    with pytest.raises(sg.InputError, match="row 2 "):
        sg.one_calibration(y, [0.5, np.nan, 0.5, 0.5, 0.5], 3.0)


def test_groups_with_fewer_than_three_expected_are_thin():
    """n subjects who were all seen have the variance s (1 - s) / n."""
    for s, n, thin in (
        (0.75, 12, 0),  # exactly three events expected
        (0.75, 11, 1),
        (0.25, 12, 0),  # and three survivors
        (0.25, 11, 1),
        (0.5, 6, 0),
        (0.5, 5, 1),
    ):
        expected, variance = np.array([s]), np.array([s * (1 - s) / n])
        found = grouped.StoppedRates(expected, expected, variance, np.zeros(1))
        assert found.thin() == thin, (s, n)
    closed = grouped.StoppedRates(np.ones(1), np.ones(1), np.zeros(1), np.zeros(1))
    assert closed.thin() == 0


@pytest.mark.parametrize(
    ("n", "groups"),
    [(50, 10), (49, 8), (40, 8), (39, 6), (30, 6), (25, 5), (20, 4), (15, 3), (10, 2), (5, 1)],
)
def test_there_are_as_many_groups_as_leave_three_events_in_each(n, groups):
    """All predictions are next to 1/2, and every event is at 1.

    Lambda then rises there by log 2 with m at risk: the variance is log(2) / (4 m), which m / log 2
    uncensored subjects have too. Half of these are three or more from m = 5 on.
    """
    s = 0.5 + 1e-9 * np.arange(n)
    y = (np.where(np.arange(n) % 2, 1.0, 9.0), np.ones(n))
    found = sg.one_calibration(y, s, 5.0)
    assert found.convention["groups"] == groups
    assert found.support["groups"] == groups
    assert found.support["thin_groups"] == 0
    few = sg.one_calibration(y, s, 5.0, groups=n // 4 + 1)
    assert few.support["thin_groups"] > 0
