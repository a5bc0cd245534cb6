"""Calibration at a time, Cox slopes and Antolini's C under delayed entry against plain loops."""

from __future__ import annotations

import naive_entry as naive
import naive_entry_calibration as loops
import naive_entry_causes as causes
import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import given_entry
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.estimators.aalen_johansen import free_at
from survgauge.estimators.pseudo import PseudoIncidence
from survgauge.metrics.ranking.royston import KAPPA, _rankits

CASES = pytest.mark.parametrize(("seed", "whole"), [(0, False), (1, False), (2, True), (3, True)])


def log_log(s: np.ndarray) -> np.ndarray:
    return np.log(-np.log(s))


@CASES
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_slope_and_royston_by_risk_sets_with_entry(seed: int, whole: bool, ties: str) -> None:
    y, curves = naive.draw(seed, whole=whole)
    found = sg.calibration_slope_cox(y, curves, 5.0, ties=ties)
    wanted = loops.cox(y, log_log(curves.at(5.0)), efron=ties == "efron")
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    risk = 1 - curves.at(5.0)
    scores = _rankits(risk, np.ones(len(y))) / KAPPA
    wanted = loops.cox(y, scores, efron=ties == "efron")
    np.testing.assert_allclose(sg.royston_d(y, risk, ties=ties).value, wanted, rtol=1e-9)


@CASES
def test_antolini_over_pairs_at_risk_together(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    curves = sg.SurvivalCurves(curves.times, np.round(curves.survival, 2))  # some are equal
    for method in ("antolini", "ipcw"):
        for interpolation in ("linear", "step", "pchip"):
            read = sg.SurvivalCurves(curves.times, curves.survival, interpolation)
            wanted = loops.antolini(y, read, tau=8.0, weighted=method == "ipcw")
            found = sg.concordance_td(y, read, method=method, tau=8.0)
            np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_antolini_of_proportional_hazards_is_harrells() -> None:
    y, _ = naive.draw(6, n=200)
    risk = np.random.default_rng(7).normal(size=200)
    grid = np.linspace(0.5, 30, 60)
    curves = sg.SurvivalCurves(grid, np.exp(-np.exp(risk)[:, None] * grid / 9))
    found = sg.concordance_td(y, curves)
    np.testing.assert_allclose(found, sg.concordance_index(y, risk), rtol=1e-12)


def test_antolini_with_a_function_looks_at_every_pair() -> None:
    y, curves = naive.draw(4)
    km = sg.KaplanMeier.fit_censoring(y)
    asked = {"method": "ipcw", "tau": 8.0}
    one = sg.concordance_td(y, curves, censoring=km, **asked)
    every = sg.concordance_td(y, curves, censoring=lambda t, side: km.at(t, side), **asked)
    np.testing.assert_allclose(one, every, rtol=1e-10)


@CASES
def test_pseudo_observations_given_entry(seed: int, whole: bool) -> None:
    y, _ = naive.draw(seed, whole=whole)
    time = 6.0
    wanted = loops.pseudo_survival(y, time)
    rows = list(wanted)
    found = PseudoIncidence.of(y[rows], None, time)
    np.testing.assert_allclose(found.values, list(wanted.values()), rtol=1e-10, atol=1e-12)


def test_pseudo_observations_from_the_beginning_are_the_jackknife() -> None:
    y, _ = naive.draw(3, n=90, whole=True)
    plain, h = sg.Outcomes(y.time, y.event), np.linspace(-1, 2, len(y))
    found, usual = PseudoIncidence.of(plain, None, 6.0), free_at(plain, None, 6.0)
    np.testing.assert_allclose(found.values, usual.value + len(y) * usual.contributions, atol=1e-13)

    def moved(weight: np.ndarray) -> float:
        known = PseudoIncidence.of(sg.Outcomes(y.time, y.event, weight), None, 6.0)
        return float(h @ known.values)

    step = 1e-6 * np.eye(len(y))
    wanted = [(moved(1 + one) - moved(1 - one)) / 2e-6 for one in step]
    np.testing.assert_allclose(found.pulled(h), wanted, atol=1e-6)


@CASES
def test_intercept_slope_and_ici_at_a_time(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, n=60, whole=whole)
    time = 6.0
    pseudo = loops.pseudo_survival(y, time)
    rows = list(pseudo)
    risk = 1 - np.array(list(pseudo.values()))
    predicted = np.array([1 - naive.conditional(curves, i, time, y.entry[i]) for i in rows])
    x, none = log_log(1 - predicted), np.zeros(len(rows))
    found = sg.weak_calibration(y, curves, time)
    (intercept,) = loops.least_squares_of(risk, np.ones((len(rows), 1)), x)
    np.testing.assert_allclose(found.intercept.value, intercept, atol=1e-8)
    _, slope = loops.least_squares_of(risk, np.stack((none + 1, x), axis=1), none)
    np.testing.assert_allclose(found.slope.value, slope, rtol=1e-6)
    ici = sg.integrated_calibration_index(y, curves, time)
    assert ici.convention["terms"] == "spline"
    design = loops.spline(x, np.array(ici.convention["knots"]))
    observed = 1 - np.exp(-np.exp(design @ loops.least_squares_of(risk, design, none)))
    gap = np.abs(observed - predicted)
    np.testing.assert_allclose(ici.ici, gap.mean(), rtol=1e-6)
    np.testing.assert_allclose(ici.e50, np.quantile(gap, 0.5), rtol=1e-6)
    late = np.setdiff1d(np.arange(len(y)), rows)
    assert np.isnan(ici.predicted[late]).all()
    np.testing.assert_array_equal(ici.contributions[late], 0.0)
    low, high = ici.interval()
    assert low <= ici.ici <= high


ASKED = {
    "slope_cox": lambda y, c: sg.calibration_slope_cox(y, c, 5.0, ties="breslow"),
    "intercept": lambda y, c: sg.weak_calibration(y, c, 5.0).intercept,
    "slope": lambda y, c: sg.weak_calibration(y, c, 5.0).slope,
    "antolini": lambda y, c: sg.concordance_td(y, c),
    "antolini_ipcw": lambda y, c: sg.concordance_td(y, c, method="ipcw", tau=8.0),
}


@pytest.mark.parametrize("name", list(ASKED))
@pytest.mark.parametrize("whole", [False, True])
def test_contributions_are_derivatives(name: str, whole: bool) -> None:
    y, curves = naive.draw(3, n=40, whole=whole)
    wanted = naive.derivatives(ASKED[name], y, curves)
    np.testing.assert_allclose(ASKED[name](y, curves).contributions, wanted, atol=1e-7)


def test_ici_moves_with_frequencies_as_its_contributions_say() -> None:
    y, curves = naive.draw(8, n=300)
    found = sg.integrated_calibration_index(y, curves, 5.0)
    counts = 1 + 0.02 * np.random.default_rng(9).normal(size=300)
    again = sg.Outcomes(y.time, y.event, counts, entry=y.entry)
    knots = found.convention["knots"]
    wanted = sg.integrated_calibration_index(again, curves, 5.0)
    np.testing.assert_allclose(wanted.convention["knots"], knots, rtol=0.05)
    moved = found.ici + found.contributions @ (counts - 1)
    assert abs(moved - wanted.ici) < 0.02 * abs(wanted.ici)


def test_royston_contributions_are_derivatives() -> None:
    """Ranks move by steps, so a frequency moves by a share that is not small."""
    y, curves = naive.draw(11, n=150)
    risk = 1 - curves.at(5.0)
    found = sg.royston_d(y, risk)
    for i in (0, 5, 40, 149):
        moved = []
        for change in (-1, 1):
            times = np.full(len(y), 1000)
            times[i] += 50 * change
            other = sg.Outcomes(y.time, y.event, times, entry=y.entry)
            moved.append(sg.royston_d(other, risk, ties="breslow").value)
        np.testing.assert_allclose(
            found.contributions[i], (moved[1] - moved[0]) / 0.1, rtol=0.15, atol=2e-4
        )


ALL = ["ici", "calibration_slope", "calibration_intercept", "calibration_slope_cox", "antolini"]


def test_entry_of_zero_changes_nothing() -> None:
    y, curves = naive.draw(2, n=120)
    plain, none = (sg.Outcomes(y.time, y.event, entry=e) for e in (None, 0 * y.time))
    asked = {"metrics": [*ALL, "royston_d"], "time": 5.0}
    one, two = (sg.evaluate({"m": curves}, o, **asked).rows() for o in (plain, none))
    for a, b in zip(one, two, strict=True):
        for key in ("value", "low", "high", "stderr"):
            assert a[key] == b[key], a["metric"]


def test_whole_frequencies_are_repeated_rows() -> None:
    y, curves = naive.draw(4, n=60)
    times = np.arange(60) % 3
    rows = np.repeat(np.arange(60), times)
    one = sg.Outcomes(y.time, y.event, times, entry=y.entry)
    for name in ("intercept", "slope_cox", "antolini", "slope"):
        found = ASKED[name](one, curves).value
        np.testing.assert_allclose(found, ASKED[name](y[rows], curves[rows]).value, rtol=1e-8)
    found, wanted = (
        sg.integrated_calibration_index(o, c, 5.0).ici
        for o, c in ((one, curves), (y[rows], curves[rows]))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_probabilities_are_those_given_entry() -> None:
    y, curves = naive.draw(5, n=80)
    late = given_entry(curves, y.entry).at(5.0)
    found = sg.weak_calibration(y, late, 5.0)
    assert found.slope.value == sg.weak_calibration(y, curves, 5.0).slope.value
    assert sg.integrated_calibration_index(y, late, 5.0).ici == pytest.approx(
        sg.integrated_calibration_index(y, curves, 5.0).ici, rel=1e-12
    )


def test_a_time_before_anybody_entered_is_refused() -> None:
    y, curves = naive.draw(5, n=80)
    late = sg.Outcomes(y.time + 3, y.event, entry=y.entry + 3)
    for ask in (sg.weak_calibration, sg.integrated_calibration_index):
        with pytest.raises(UndefinedMetricError, match="entered before time 2"):
            ask(late, curves, 2.0)


def test_a_risk_set_that_became_empty_counts_as_if_nobody_had_left() -> None:
    y, curves = naive.draw(12, n=80)
    time, entry, event = y.time + 2, np.maximum(y.entry + 2, 2.0), y.event.copy()
    time[:2], entry[:2], event[:2] = (1.5, 1.2), 0.0, (True, False)
    thin = sg.Outcomes(time, event, entry=entry)
    found = PseudoIncidence.of(thin[entry < 6.0], None, 6.0)
    assert np.isfinite(found.values).all()
    rest = thin[2:]
    wanted = PseudoIncidence.of(rest[rest.entry < 6.0], None, 6.0)
    np.testing.assert_allclose(found.values[2:], wanted.values, rtol=1e-12)
    assert np.isfinite(found.pulled(np.ones(found.values.size))).all()
    assert np.isfinite(sg.weak_calibration(thin, curves, 6.0).slope.stderr)


def test_margin_concordance_still_refuses() -> None:
    y, curves = naive.draw(5)
    with pytest.raises(InputError, match="delayed entry"):
        sg.concordance_index(y, -curves.median(), method="margin")


REFUSING_CAUSES = {
    "antolini": lambda y, c: sg.concordance_td(y, c, cause=1),
    "pseudo_observations": lambda y, c: sg.pseudo_observations(y, tau=8.0, cause=1),
}


@pytest.mark.parametrize("name", list(REFUSING_CAUSES))
def test_a_cause_with_entry_is_refused(name: str) -> None:
    """What is known of one kind of event only."""
    y, curves = causes.draw(0)
    with pytest.raises(InputError, match="delayed entry"):
        REFUSING_CAUSES[name](y, curves)


def test_net_benefit_of_a_cause_is_that_of_evaluate() -> None:
    y, curves = causes.draw(0)
    found = sg.net_benefit(y, curves, 5.0, thresholds=[0.2], cause=1)
    ev = sg.evaluate(curves, y, cause=1, metrics=["net_benefit"], threshold=0.2, time=5.0)
    row = ev.rows()[0]
    assert [found.values[0], found.stderr[0]] == pytest.approx([row["value"], row["stderr"]])
    ev.plot("decision_curve", thresholds=[0.1, 0.2])


@pytest.mark.filterwarnings("error")
def test_the_distance_to_kaplan_meier_between_neighbouring_numbers() -> None:
    end = 6.4151500134
    y = sg.Outcomes([end], [1], entry=[np.nextafter(end, 0.0)])
    found = sg.km_calibration(y, sg.SurvivalCurves([0, 10], [[1.0, 0.2]]))
    assert np.isfinite(found.value)
