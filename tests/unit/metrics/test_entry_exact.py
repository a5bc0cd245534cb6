"""Metrics under delayed entry against plain loops."""

from __future__ import annotations

import naive_entry as naive
import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import given_entry
from survgauge.errors import InputError, UndefinedMetricError

CASES = pytest.mark.parametrize(("seed", "whole"), [(0, False), (1, False), (2, True), (3, True)])


@CASES
def test_brier(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    times = np.array([2.0, 4.0, 6.5])
    found = sg.brier_score(y, curves, times)
    wanted = [naive.brier_sums(y, curves, t) for t in times]
    np.testing.assert_allclose(found.values, [a / n for a, n in wanted], rtol=1e-10)
    share = np.array([0.5 * 2, 0.5 * 4.5, 0.5 * 2.5]) / 4.5  # trapezoid
    below = sum(w * n for w, (_, n) in zip(share, wanted, strict=True))
    mean = sum(w * a for w, (a, _) in zip(share, wanted, strict=True)) / below
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(sg.integrated_brier_score(y, curves, times), mean, rtol=1e-10)


@CASES
def test_auc_and_concordance(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    found = sg.cumulative_dynamic_auc(y, curves, [3.0, 6.0]).values
    np.testing.assert_allclose(found, [naive.auc(y, curves, t) for t in (3.0, 6.0)], rtol=1e-10)
    risk = np.round(-curves.median(), 0)
    for method in ("harrell", "uno"):
        value = sg.concordance_index(y, risk, method=method, tau=8.0)
        wanted = naive.concordance(y, risk, tau=8.0, weighted=method == "uno")
        np.testing.assert_allclose(value, wanted, rtol=1e-10)


def test_uno_with_a_function_looks_at_every_pair() -> None:
    y, curves = naive.draw(4)
    km = sg.KaplanMeier.fit_censoring(y)
    asked = {"method": "uno", "tau": 8.0}
    one = sg.concordance_index(y, -curves.median(), censoring=km, **asked)
    by_function = lambda t, side: km.at(t, side)  # noqa: E731
    every = sg.concordance_index(y, -curves.median(), censoring=by_function, **asked)
    np.testing.assert_allclose(one, every, rtol=1e-10)


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold"])
def test_conditional_curves(interpolation: str, tail: str) -> None:
    _, curves = naive.draw(5, n=12)
    curves = sg.SurvivalCurves(curves.times, curves.survival, interpolation, tail)
    entry = np.concatenate(([0.0, 0.3, 2.0, 3.5, 14.0, 15.0], np.linspace(0.5, 13, 6)))
    found = given_entry(curves, entry)
    t = np.linspace(0, 16, 33)
    wanted = [[naive.conditional(curves, i, u, entry[i]) for u in t] for i in range(12)]
    np.testing.assert_allclose(found.at(t), wanted, rtol=1e-12)
    np.testing.assert_allclose(found[[3, 1]].at(t), np.array(wanted)[[3, 1]], rtol=1e-12)
    fine = np.linspace(0, 16, 4_001 if interpolation == "pchip" else 80_001)
    area = found.at(fine)[:, :-1].sum(axis=1) * (fine[1] - fine[0])
    loose = 4e-3 if interpolation == "pchip" else 4e-4
    until = found.rmst(16.0) if tail != "hold" else None
    if until is not None:
        np.testing.assert_allclose(until, area, rtol=loose)
    median = found.median()
    inside = np.isfinite(median) & (median < 16)
    above = [found[[i]].at(max(median[i] - 1e-3, 0))[0] for i in np.flatnonzero(inside)]
    assert min(above) >= 0.5 - (1e-3 if interpolation == "pchip" else 1e-12)


def test_curves_that_said_nobody_gets_there() -> None:
    curves = sg.SurvivalCurves([0, 2, 4], [[1.0, 0.5, 0.0]] * 3)
    found = given_entry(curves, np.array([5.0, 4.0, 3.0]))
    assert found.impossible.tolist() == [True, True, False]
    assert found.at([3.0, 5.0, 6.0])[0].tolist() == [1.0, 1.0, 0.0]
    assert found.median()[:2].tolist() == [5.0, 4.0]
    assert found.mean()[:2].tolist() == [5.0, 4.0]


@pytest.mark.parametrize("tail", ["linear", "exponential"])
@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_crps_and_likelihood(tail: str, interpolation: str) -> None:
    y, curves = naive.draw(6)
    y = sg.Outcomes(y.time * 1.5, y.event, entry=y.entry * 1.5)  # some past the grid
    curves = sg.SurvivalCurves(curves.times, curves.survival**0.2, interpolation, tail)
    late = given_entry(curves, y.entry)
    fine = np.linspace(0, 1_000, 200_001)
    loss, score = [], []
    for i in range(len(y)):
        s = late[[i]].at(fine)[0]
        before = fine <= y.time[i]
        loss.append(((1 - s[before]) ** 2).sum() + y.event[i] * (s[~before] ** 2).sum())
        a = y.entry[i]
        if y.event[i]:
            h = 1e-6
            near = [naive.conditional(curves, i, y.time[i] + d, a) for d in (-h, h)]
            score.append(np.log((near[0] - near[1]) / (2 * h)) if near[0] > near[1] else -np.inf)
        else:
            score.append(np.log(naive.conditional(curves, i, y.time[i], a)))
    wanted = np.mean(loss) * (fine[1] - fine[0])
    np.testing.assert_allclose(sg.crps(y, curves), wanted, rtol=4e-3)
    if interpolation == "linear":
        np.testing.assert_allclose(sg.log_likelihood(y, curves), np.mean(score), rtol=1e-5)


def test_d_calibration_reads_given_entry() -> None:
    y, curves = naive.draw(7)
    own = [naive.conditional(curves, i, y.time[i], y.entry[i]) for i in range(len(y))]
    found = sg.cox_snell_residuals(y, curves)
    np.testing.assert_allclose(found, -np.log(own), rtol=1e-10)
    expected = sum(
        -np.log(naive.conditional(curves, i, min(y.time[i], 5.0), y.entry[i]))
        for i in range(len(y))
    )
    oe = sg.observed_expected(y, curves, 5.0)
    np.testing.assert_allclose(oe.ratio, (y.event & (y.time <= 5)).sum() / expected, rtol=1e-10)
    assert oe.low < oe.ratio < oe.high


@pytest.mark.parametrize("seed", [0, 8])
def test_doubly_robust(seed: int) -> None:
    y, curves = naive.draw(seed)
    last = np.argmax(y.time)
    event = y.event.copy()
    event[last] = True  # Kaplan-Meier ends at 0
    y = sg.Outcomes(y.time, event, entry=y.entry)
    predicted = given_entry(curves, y.entry).median()
    wanted = naive.doubly_robust(y, predicted, 1e-9)
    found = sg.time_error_details(y, curves, method="dr", floor=1e-9)
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-8, atol=1e-9)


@CASES
def test_time_errors(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    predicted = given_entry(curves, y.entry).median()
    total = margin = weights = 0.0
    for i in range(len(y)):
        a, c = float(y.entry[i]), float(y.time[i])
        if y.event[i]:
            total += abs(c - predicted[i]) / naive.between(y, a, c, left=True)
            margin, weights = margin + abs(c - predicted[i]), weights + 1
    np.testing.assert_allclose(sg.mae(y, curves, method="ipcw_d"), total / len(y), rtol=1e-10)
    surrogates = sg.surrogate_times(y, method="margin")
    for i in np.flatnonzero(~y.event):
        known = naive.between(y, y.entry[i], y.time[i], left=False, censoring=False)
        np.testing.assert_allclose(surrogates.weight[i], 1 - known, atol=1e-12)


@pytest.mark.parametrize("method", ["po", "pop_po", "ipcw_t"])
def test_methods_that_know_no_entry_say_so(method: str) -> None:
    y, curves = naive.draw(9)
    with pytest.raises(UndefinedMetricError, match="knows no delayed entry"):
        sg.mae(y, curves, method=method)
    with pytest.raises(UndefinedMetricError, match="knows no delayed entry"):
        sg.mae(sg.Outcomes(y.time, y.event), curves, y_train=y, method=method)


ASKED = {
    "brier": lambda y, c: sg.brier_score(y, c, [4.0]).details,
    "ibs": lambda y, c: sg.integrated_brier_score_details(y, c, np.linspace(1, 8, 15)),
    "ipcw_d": lambda y, c: sg.time_error_details(y, c, method="ipcw_d", tau=8.0),
    "uno": lambda y, c: sg.concordance_index_details(y, -c.median(), method="uno", tau=8.0),
    "harrell": lambda y, c: sg.concordance_index_details(y, -c.median()),
    "auc": lambda y, c: sg.cumulative_dynamic_auc_details(y, c, [4.0]),
    "crps": lambda y, c: sg.crps_details(y, c, tau=9.0),
    "oe": lambda y, c: sg.observed_expected(y, c, 5.0),
}


@pytest.mark.parametrize("name", list(ASKED))
@pytest.mark.parametrize("whole", [False, True])
def test_contributions_are_derivatives_also_through_g(name: str, whole: bool) -> None:
    """C without a subject is about C - psi: psi is the derivative in the subject's frequency."""
    y, curves = naive.draw(3, n=25, whole=whole)

    def value(row: int, step: float) -> float:
        weight = np.ones(len(y))
        weight[row] += step
        return ASKED[name](sg.Outcomes(y.time, y.event, weight, entry=y.entry), curves).value

    h = 1e-5
    wanted = [(value(i, h) - value(i, -h)) / (2 * h) for i in range(len(y))]
    np.testing.assert_allclose(ASKED[name](y, curves).psi, wanted, atol=1e-8)


Y, CURVES = naive.draw(10)
REFUSING = {
    "concordance_td": lambda: sg.concordance_td(Y, CURVES),
    "margin": lambda: sg.concordance_index(Y, -CURVES.median(), method="margin"),
    "one_calibration": lambda: sg.one_calibration(Y, CURVES, 4.0),
    "ici": lambda: sg.integrated_calibration_index(Y, CURVES, 4.0),
    "km_calibration": lambda: sg.km_calibration(Y, CURVES),
    "slope": lambda: sg.calibration_slope(Y, CURVES, 4.0),
    "unweighted": lambda: sg.brier_score(Y, CURVES, [4.0], method="unweighted"),
    "decomposition": lambda: sg.brier_decomposition(Y, CURVES, 4.0),
    "net_benefit": lambda: sg.net_benefit(Y, CURVES, 4.0),
    "dependence": lambda: sg.brier_score(Y, CURVES, [4.0], dependence=0.3),
    "pseudo": lambda: sg.pseudo_observations(Y),
    "audit": lambda: sg.audit({"a": CURVES, "b": CURVES}, Y),
    "convention": lambda: sg.brier_score(Y, CURVES, [4.0], convention="sksurv"),
}


@pytest.mark.parametrize("name", list(REFUSING))
def test_functions_that_know_no_entry_refuse_it(name: str) -> None:
    with pytest.raises(InputError, match="delayed entry"):
        REFUSING[name]()


def test_predicted_times_before_entry_are_counted() -> None:
    y, _ = naive.draw(11)
    found = sg.time_error_details(y, np.full(len(y), 0.5), method="hinge")
    assert found.support["predictions_before_entry"] == ((y.entry > 0) & (y.entry >= 0.5)).sum()
