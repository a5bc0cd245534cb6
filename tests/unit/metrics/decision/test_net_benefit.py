"""Net benefit beside loops written from the definition."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

LEVELS = np.array([0.0, 0.05, 0.2, 0.5, 0.8])
TIME = 6.0


def case(seed=0, n=150, whole=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time, censoring = 8 * np.exp(-x) * rng.weibull(1.2, n), rng.exponential(12, n)
    if whole:
        event_time, censoring = np.ceil(event_time), np.ceil(censoring)
    time = np.minimum(event_time, censoring)
    risk = np.round(1 - np.exp(-((TIME / (8 * np.exp(-x))) ** 1.2)), 2)
    return (time, event_time <= censoring), risk


def km_by_loop(time, event, at):
    survival = 1.0
    for t in sorted(set(time[event & (time <= at)])):
        survival *= 1 - np.sum(event & (time == t)) / np.sum(time >= t)
    return survival


def net_benefit_by_loop(y, risk, at, threshold):
    time, event = y
    treated = risk >= threshold
    if not treated.any():
        return 0.0
    share, survival = treated.mean(), km_by_loop(time[treated], event[treated], at)
    odds = threshold / (1 - threshold)
    return share * (1 - survival) - odds * share * survival


@pytest.mark.parametrize("seed", range(4))
def test_kaplan_meier_form_is_the_definition(seed):
    y, risk = case(seed)
    found = sg.net_benefit(y, risk, TIME, thresholds=LEVELS)
    want = [net_benefit_by_loop(y, risk, TIME, p) for p in LEVELS]
    np.testing.assert_allclose(found.values, want, atol=1e-13)
    everybody = [net_benefit_by_loop(y, np.ones(len(risk)), TIME, p) for p in LEVELS]
    np.testing.assert_allclose(found.treat_all, everybody, atol=1e-13)
    np.testing.assert_allclose(found.gain, np.subtract(want, everybody), atol=1e-13)
    np.testing.assert_allclose(found.incidence, 1 - km_by_loop(*y, TIME), atol=1e-13)
    np.testing.assert_allclose(found.standardised, found.values / found.incidence)
    np.testing.assert_allclose(found.treated, [(risk >= p).mean() for p in LEVELS])


def test_ipcw_form_is_the_definition():
    (time, event), risk = case(5)
    g = sg.KaplanMeier.fit_censoring((time, event))
    found = sg.net_benefit((time, event), risk, TIME, thresholds=LEVELS, method="ipcw")
    for p, value in zip(LEVELS, found.values, strict=True):
        total = 0.0
        for t, e, r in zip(time, event, risk, strict=True):
            if r < p:
                continue
            if e and t <= TIME:
                total += 1 / g.at(t, side="left")
            elif t > TIME:
                total -= p / (1 - p) / g.at(TIME)
        assert value == pytest.approx(total / len(time), abs=1e-12)


def test_without_censoring_both_forms_are_the_textbook_one():
    (time, _), risk = case(1)
    y, had = (time, np.ones(len(time), dtype=bool)), time <= TIME
    for method in ("kaplan_meier", "ipcw"):
        found = sg.net_benefit(y, risk, TIME, thresholds=LEVELS, method=method)
        for p, value in zip(LEVELS, found.values, strict=True):
            chosen = risk >= p
            want = np.mean(chosen & had) - p / (1 - p) * np.mean(chosen & ~had)
            assert value == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("method", ["kaplan_meier", "ipcw"])
def test_standard_errors_are_those_of_the_jackknife(method):
    (time, event), risk = case(2, n=400, whole=False)
    options = {"thresholds": [0.3, 0.6], "method": method}
    found = sg.net_benefit((time, event), risk, TIME, **options)
    left_out = []
    for i in range(len(time)):
        rest = np.arange(len(time)) != i
        part = sg.net_benefit((time[rest], event[rest]), risk[rest], TIME, **options)
        left_out.append([part.values, part.gain])
    spread = np.std(left_out, axis=0) * np.sqrt(len(time) - 1)
    np.testing.assert_allclose(found.stderr, spread[0], rtol=0.02)
    np.testing.assert_allclose(found.gain_stderr, spread[1], rtol=0.02)


def test_frequencies_are_copies():
    (time, event), risk = case(3, n=60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    y = sg.Outcomes(time, event, weight)
    for method in ("kaplan_meier", "ipcw"):
        options = {"thresholds": LEVELS, "method": method}
        found = sg.net_benefit(y, risk, TIME, **options)
        copies = sg.net_benefit((time[rows], event[rows]), risk[rows], TIME, **options)
        np.testing.assert_allclose(found.values, copies.values, atol=1e-12)
        np.testing.assert_allclose(found.stderr, copies.stderr, rtol=1e-9)


def test_difference_is_paired_and_zero_for_the_same_model():
    y, risk = case(4)
    one = sg.net_benefit(y, risk, TIME, thresholds=LEVELS)
    other = sg.net_benefit(y, np.clip(risk + 0.1, 0, 1), TIME, thresholds=LEVELS)
    values, errors = one.difference(other)
    np.testing.assert_allclose(values, one.values - other.values)
    assert (errors < np.hypot(one.stderr, other.stderr) + 1e-12).all()
    values, errors = one.difference(one)
    assert not values.any()
    assert not errors.any()
    with pytest.raises(sg.InputError, match="same subjects"):
        one.difference(sg.net_benefit(y, risk, TIME, thresholds=[0.1]))


def test_interventions_avoided_and_frame():
    y, risk = case(6)
    found = sg.net_benefit(y, risk, TIME, thresholds=[0.2, 0.5])
    np.testing.assert_allclose(found.interventions_avoided, found.gain * [4, 1])
    frame = found.frame()
    assert len(frame) == 2
    assert frame["values"].tolist() == found.values.tolist()


def test_curves_and_their_risks_agree():
    (time, event), _ = case(7, n=40)
    grid = np.arange(0.0, 20.0)
    scale = np.linspace(3, 20, 40)[:, None]
    curves = sg.SurvivalCurves(grid, np.exp(-grid / scale))
    by_curves = sg.net_benefit((time, event), curves, TIME)
    by_risk = sg.net_benefit((time, event), 1 - curves.at(TIME), TIME)
    np.testing.assert_array_equal(by_curves.values, by_risk.values)
    assert by_curves.thresholds[0] == 0.01
    assert by_curves.thresholds.size == 99


def test_nobody_treated_and_follow_up_that_ends():
    y = ([1.0, 2.0, 3.0, 9.0], [0, 0, 1, 0])
    found = sg.net_benefit(y, [0.9, 0.8, 0.1, 0.2], 5.0, thresholds=[0.5, 0.95])
    assert found.values[1] == found.stderr[1] == 0
    assert found.support["open_ended_thresholds"] == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [([20.0], "percentage"), ([], "thresholds"), ([np.nan], "thresholds"), ([-0.1], "thresholds")],
)
def test_bad_thresholds(given, words):
    y, risk = case()
    with pytest.raises(sg.InputError, match=words):
        sg.net_benefit(y, risk, TIME, thresholds=given)


def test_only_a_net_benefit_can_be_compared():
    y, risk = case()
    with pytest.raises(sg.InputError, match="other must be what net_benefit returns; got int"):
        sg.net_benefit(y, risk, TIME).difference(3)
    with pytest.raises(sg.InputError, match="thresholds must have at least one risk"):
        sg.net_benefit(y, risk, TIME, thresholds=[])


def test_one_subject_has_no_standard_error_and_a_note_says_so():
    found = sg.net_benefit(([5.0], [1]), [0.5], 3.0, thresholds=[0.2])
    assert np.isnan(found.stderr).all()
    assert "one subject only" in found.support["note"]
    with pytest.raises(sg.InputError, match="time must be one finite number"):
        sg.net_benefit(([5.0], [1]), [0.5], True)
