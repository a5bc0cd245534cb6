"""Net benefit of treating one cause among several."""

import numpy as np
import pytest
from cause_data import draw

import survgauge as sg


@pytest.fixture(scope="module")
def data():
    return draw(150, 7)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5])
def test_it_is_the_definition_with_aalen_johansen_of_the_treated(data, threshold):
    y, curves = data
    found = sg.net_benefit(y, curves, 4.0, thresholds=[threshold], cause="relapse")
    treated = curves.at(4.0, "relapse") >= threshold
    share = treated.mean()
    risk = float(sg.AalenJohansen.fit(y[treated]).at(4.0, "relapse"))
    odds = threshold / (1 - threshold)
    assert found.values[0] == pytest.approx(share * (risk - odds * (1 - risk)), rel=1e-12)
    every = float(sg.AalenJohansen.fit(y).at(4.0, "relapse"))
    assert found.incidence == pytest.approx(every, rel=1e-12)
    assert found.treat_all[0] == pytest.approx(every - odds * (1 - every), rel=1e-12)
    assert found.convention["cause"] == "relapse"


@pytest.mark.parametrize("method", ["kaplan_meier", "ipcw"])
def test_without_censoring_subjects_are_counted(data, method):
    y, curves = data
    cause = np.where(y.cause == 0, 2, y.cause)
    known = sg.Outcomes(y.time, cause, causes=y.causes)
    found = sg.net_benefit(known, curves, 4.0, thresholds=[0.3], cause=1, method=method)
    treated = curves.at(4.0, 1) >= 0.3
    had = (cause == 1) & (y.time <= 4.0)
    expected = np.mean(treated & had) - 0.3 / 0.7 * np.mean(treated & ~had)
    assert found.values[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["kaplan_meier", "ipcw"])
def test_standard_errors_are_those_of_the_jackknife(data, method):
    y, curves = data
    options = {"thresholds": [0.3], "cause": 1, "method": method}
    found = sg.net_benefit(y, curves, 4.0, **options)
    left_out = [
        sg.net_benefit(y[rows], curves[rows], 4.0, **options).values[0]
        for rows in (np.delete(np.arange(150), i) for i in range(150))
    ]
    jackknife = np.sqrt(149 / 150 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert found.stderr[0] == pytest.approx(jackknife, rel=0.03)


def test_risks_and_curves_agree_and_one_cause_is_one_kind_of_event(data):
    y, curves = data
    levels = {"thresholds": [0.1, 0.4]}
    by_curves = sg.net_benefit(y, curves, 4.0, cause=1, **levels)
    by_risk = sg.net_benefit(y, curves.at(4.0, 1), 4.0, cause="relapse", **levels)
    assert by_risk.values == pytest.approx(by_curves.values, rel=1e-12)
    codes = np.where(y.cause == 1, 1, 0)
    alone = sg.Outcomes(y.time, codes, causes=y.causes)
    ours = sg.net_benefit(alone, curves.at(4.0, 1), 4.0, cause=1, **levels)
    plain = sg.net_benefit((y.time, codes), curves.at(4.0, 1), 4.0, **levels)
    assert ours.values == pytest.approx(plain.values, rel=1e-12)
    assert ours.stderr == pytest.approx(plain.stderr, rel=1e-9)


def test_evaluate_has_it_with_a_cause(data):
    y, curves = data
    ev = sg.evaluate(curves, y, cause="relapse", time=4.0, threshold=0.3, metrics="net_benefit")
    expected = sg.net_benefit(y, curves, 4.0, thresholds=[0.3], cause=1, method="ipcw")
    (score,) = ev.scores
    assert score.value == pytest.approx(expected.values[0], rel=1e-12)
    assert score.stderr == pytest.approx(expected.stderr[0], rel=1e-6)


def test_models_of_different_causes_are_not_compared(data):
    y, curves = data
    one, other = (sg.net_benefit(y, curves, 4.0, thresholds=[0.3], cause=k) for k in (1, 2))
    with pytest.raises(sg.InputError, match="another model on the same subjects"):
        one.difference(other)
    gap, stderr = one.difference(sg.net_benefit(y, curves, 4.0, thresholds=[0.3], cause=1))
    assert gap.tolist() == stderr.tolist() == [0.0]
