"""The number of groups of 1-calibration follows from the data, so that its level holds."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def draw(n, rng, share=0.0):
    """Outcomes and the true curves up to the median event time."""
    scale = 10 * np.exp(0.5 * rng.normal(size=n))
    t = scale * rng.weibull(1.5, n)
    c = rng.exponential(9.0 * (1 - share) / share, n) if share else np.full(n, np.inf)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    when = float(np.median(y.time[y.event]))
    grid = np.linspace(0, when, 9)
    return y, sg.SurvivalCurves(grid, np.exp(-((grid / scale[:, None]) ** 1.5))), when


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_true_curves_of_thirty_subjects_are_not_rejected_too_often(share):
    """Ten groups reject them in 20 to 30 % of samples."""
    rng, rejected, ten = np.random.default_rng(0), 0, 0
    for _ in range(200):
        y, curves, when = draw(30, rng, share)
        rejected += sg.one_calibration(y, curves, when).p_value < 0.05
        ten += sg.one_calibration(y, curves, when, groups=10).p_value < 0.05
    assert rejected / 200 < 0.10
    assert ten / 200 > 0.15


@pytest.mark.parametrize(("n", "groups"), [(30, (1, 4)), (100, (3, 6)), (2000, (10, 10))])
def test_more_subjects_make_more_groups(n, groups):
    y, curves, when = draw(n, np.random.default_rng(1))
    result = sg.one_calibration(y, curves, when)
    assert groups[0] <= result.support["groups"] <= groups[1]
    assert result.support["thin_groups"] == 0
    assert result.convention["groups"] == result.support["groups"] == result.size.size


def test_a_number_that_is_given_is_kept_and_thin_groups_are_counted():
    y, curves, when = draw(30, np.random.default_rng(1))
    result = sg.one_calibration(y, curves, when, groups=10)
    assert result.support["groups"] == 10
    # Three subjects each cannot have three expected events.
    assert result.support["thin_groups"] == 10


def test_the_other_methods_keep_ten_groups():
    y, curves, when = draw(60, np.random.default_rng(1))
    assert sg.one_calibration(y, curves, when, method="dn").support["groups"] == 10
    peer = sg.one_calibration(y, curves, when, convention="survivaleval")
    assert peer.support["groups"] == 10


def test_evaluate_and_streams_say_that_one_group_is_too_thin():
    y, curves, when = draw(5, np.random.default_rng(2))
    given = {"metrics": ["one_calibration"], "y_train": y, "time": when, "min_at_risk": 1}
    whole = sg.evaluate({"m": curves}, y, **given)
    batches = [
        {"time": y.time[i : i + 2], "event": y.event[i : i + 2], "m": curves.survival[i : i + 2]}
        for i in range(0, 5, 2)
    ]
    columns = {"m": sg.CurveColumns("m", curves.times)}
    parts = sg.evaluate_stream(batches, predictions=columns, **given)
    (one,), (other,) = whole.scores, parts.scores
    assert other.value == pytest.approx(one.value, rel=1e-12)
    for ev in (whole, parts):
        (remark,) = [w for w in ev.warnings if w.code == "thin-groups"]
        assert remark.metrics == ("one_calibration",)
        assert remark.weight in ("caution", "problem")


def test_certain_groups_do_not_make_others_fewer():
    """A group in which the model leaves no doubt takes no part in the test."""
    n = 400
    rng = np.random.default_rng(3)
    s = np.where(np.arange(n) < 200, 1.0, 0.5 + rng.uniform(-0.1, 0.1, n))
    time = np.where(rng.random(n) < s, 9.0, rng.uniform(0, 5, n))
    result = sg.one_calibration((time, time < 9), s, 6.0)
    assert result.support["groups"] > 2
    assert result.support["thin_groups"] == 0
