"""Groups of predicted risk."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def case(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time, censoring = 8 * np.exp(-x) * rng.weibull(1.2, n), rng.uniform(0, 25, n)
    return (np.minimum(event_time, censoring), event_time <= censoring), x


def test_groups_are_of_equal_size_and_in_order():
    y, risk = case()
    found = sg.risk_groups(y, sg.RiskScores(risk))
    assert found.names == ("low", "medium", "high")
    np.testing.assert_array_equal(found.subjects, [30, 30, 30])
    assert risk[found.label == 0].max() < risk[found.label == 1].min()
    assert (np.diff(found.rmst) < 0).all()
    assert found.p_value < 0.01


def test_curves_are_read_at_the_time_or_by_their_median():
    y, risk = case()
    grid = np.arange(0.0, 30.0)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / (8 * np.exp(-risk[:, None]))))
    by_median, at_time = sg.risk_groups(y, curves), sg.risk_groups(y, curves, time=5)
    np.testing.assert_array_equal(by_median.label, at_time.label)
    assert at_time.convention["risk"] == "1 - S(5)"
    with pytest.raises(sg.InputError, match="leave time out"):
        sg.risk_groups(y, sg.RiskScores(risk), time=5)


def test_numbers_at_risk_and_differences():
    y, risk = case()
    found = sg.risk_groups(y, sg.RiskScores(risk), tau=6)
    counts = found.at_risk([0, 3])
    np.testing.assert_array_equal(counts[:, 0], found.subjects)
    assert counts[2, 1] == np.sum(y[0][found.label == 2] >= 3)
    rows = found.rmst_differences(0.9)
    assert [row["group"] for row in rows] == ["medium", "high"]
    assert rows[1]["difference"] == pytest.approx(found.rmst[2] - found.rmst[0])
    assert rows[1]["low"] < rows[1]["difference"] < rows[1]["high"] < 0
    assert rows[1]["p_value"] < 0.001
    assert list(found.frame()["group"]) == ["low", "medium", "high"]


def test_frequencies_are_copies():
    (time, event), risk = case(40)
    weight = np.random.default_rng(1).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weight)
    found = sg.risk_groups(sg.Outcomes(time, event, weight), sg.RiskScores(risk), cuts=[0.0])
    copies = sg.risk_groups((time[rows], event[rows]), sg.RiskScores(risk[rows]), cuts=[0.0])
    for name in ("subjects", "events", "survival", "rmst", "rmst_stderr", "survival_stderr"):
        np.testing.assert_allclose(getattr(found, name), getattr(copies, name), rtol=1e-9)
    assert found.log_rank == pytest.approx(copies.log_rank)
    assert (found.label[weight == 0] == -1).all()


def test_refusals():
    y, risk = case()
    with pytest.raises(sg.UndefinedMetricError, match="the same for all"):
        sg.risk_groups(y, sg.RiskScores(np.ones(90)))
    with pytest.raises(sg.UndefinedMetricError, match="smaller tau"):
        sg.risk_groups(y, sg.RiskScores(risk), tau=1e6)
    with pytest.raises(sg.InputError, match="cuts"):
        sg.risk_groups(y, sg.RiskScores(risk), cuts=[np.nan])


def test_messages_name_the_argument_and_the_risk():
    y, risk = case()
    with pytest.raises(sg.InputError, match=r"^prediction must .*: y_true has 90, got 89$"):
        sg.risk_groups(y, risk[:-1])
    with pytest.raises(sg.InputError, match=r"^prediction: .* must be finite; got nan for row 1 "):
        sg.risk_groups(y, np.r_[np.nan, risk[1:]])
    # Numbers are times, so that probabilities of the event are no risks to cut at.
    share = 1 / (1 + np.exp(-risk))
    message = r"minus the predicted time\) lie between -0.* on one side of the cuts \[0.5\]"
    with pytest.raises(sg.UndefinedMetricError, match=message):
        sg.risk_groups(y, share, cuts=[0.5])
    found = sg.risk_groups(y, sg.RiskScores(share), cuts=[0.5])
    assert found.convention["risk"] == "as given"
    assert found.subjects[1] == np.sum(share >= 0.5)
    with pytest.raises(sg.UndefinedMetricError, match="the same for all"):
        sg.risk_groups(y, np.ones(90))
    with pytest.raises(sg.InputError, match="times must be finite"):
        found.at_risk([np.nan])
