"""Metrics under delayed entry against plain loops."""

from __future__ import annotations

import naive_entry as naive
import naive_entry_calibration as loops
import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import given_entry
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.estimators.pseudo import pseudo_given_entry
from survgauge.estimators.residual import Loss
from survgauge.estimators.surrogates import Method, make_setting
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

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


@pytest.mark.parametrize(("seed", "whole"), [(7, False), (2, True)])
def test_observed_over_expected_is_of_risks_given_entry(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    pseudo = loops.pseudo_survival(y, 5.0)
    predicted = [1 - naive.conditional(curves, i, 5.0, y.entry[i]) for i in pseudo]
    oe = sg.observed_expected(y, curves, 5.0)
    np.testing.assert_allclose(oe.observed, 1 - np.mean(list(pseudo.values())), rtol=1e-10)
    np.testing.assert_allclose(oe.ratio, oe.observed / np.mean(predicted), rtol=1e-10)
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
    found = sg.time_error(y, curves, method="dr", floor=1e-9)
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


def test_methods_that_know_no_entry_say_so() -> None:
    y, _ = naive.draw(9)
    own = Method("own", lambda s: s.fill(s.c + 1), "own", "counts as later by one")
    for test, train in ((y, None), (sg.Outcomes(y.time, y.event), y)):
        with pytest.raises(UndefinedMetricError, match="does not support delayed entry"):
            own(make_setting(test, train, entry=True))


ASKED = {
    "brier": lambda y, c: sg.brier_score(y, c, [4.0]).details,
    "ibs": lambda y, c: sg.integrated_brier_score(y, c, np.linspace(1, 8, 15)),
    "ipcw_d": lambda y, c: sg.time_error(y, c, method="ipcw_d", tau=8.0),
    "uno": lambda y, c: sg.concordance_index(y, -c.median(), method="uno", tau=8.0),
    "harrell": lambda y, c: sg.concordance_index(y, -c.median()),
    "auc": lambda y, c: cumulative_dynamic_auc_details(y, c, [4.0]),
    "crps": lambda y, c: sg.crps(y, c, tau=9.0),
    "oe": lambda y, c: sg.observed_expected(y, c, 5.0),
}


@pytest.mark.parametrize("name", list(ASKED))
@pytest.mark.parametrize("whole", [False, True])
def test_contributions_are_derivatives_also_through_g(name: str, whole: bool) -> None:
    """C without a subject is about C - influence, the derivative in its frequency."""
    y, curves = naive.draw(3, n=25, whole=whole)
    wanted = naive.derivatives(ASKED[name], y, curves)
    np.testing.assert_allclose(ASKED[name](y, curves).contributions, wanted, atol=1e-8)


Y, CURVES = naive.draw(10)
REFUSING = {
    "margin": lambda: sg.concordance_index(Y, -CURVES.median(), method="margin"),
    "one_calibration": lambda: sg.one_calibration(Y, CURVES, 4.0, method="dn"),
    "km_calibration": lambda: sg.km_calibration(Y, CURVES, convention="survivaleval"),
    "unweighted": lambda: sg.brier_score(Y, CURVES, [4.0], method="unweighted"),
    "net_benefit": lambda: sg.net_benefit(Y, CURVES, 4.0, method="kaplan_meier"),
    "audit": lambda: sg.audit({"a": CURVES, "b": CURVES}, Y),
    "convention": lambda: sg.brier_score(Y, CURVES, [4.0], convention="sksurv"),
}


@pytest.mark.parametrize("name", list(REFUSING))
def test_functions_that_know_no_entry_refuse_it(name: str) -> None:
    with pytest.raises(InputError, match="delayed entry"):
        REFUSING[name]()


def test_predicted_times_before_entry_are_counted() -> None:
    y, _ = naive.draw(11)
    found = sg.time_error(y, np.full(len(y), 0.5), method="hinge")
    assert found.support["predictions_before_entry"] == ((y.entry > 0) & (y.entry >= 0.5)).sum()


@CASES
def test_km_calibration(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    for tau in (5.0, 9.0):
        found = sg.km_calibration(y, curves, tau=tau)
        np.testing.assert_allclose(found.value, naive.hazard_gap(y, curves, tau), rtol=1e-9)
    assert found.distribution is not None
    low, high = found.distribution.limits(0.95)
    assert low <= found.value <= high


def test_km_calibration_contributions_are_derivatives() -> None:
    y, curves = naive.draw(11, n=150)
    found = sg.km_calibration(y, curves, tau=8.0)
    assert abs(found.contributions.sum()) < 1e-12
    for i in (0, 5, 40, 149):
        moved = []
        for change in (-1, 1):
            times = np.full(len(y), 1000)
            times[i] += 50 * change
            other = sg.Outcomes(y.time, y.event, times, entry=y.entry)
            moved.append(sg.km_calibration(other, curves, tau=8.0))
        slope = (moved[1] - moved[0]) / 0.1
        np.testing.assert_allclose(found.contributions[i], slope, rtol=0.05, atol=2e-6)


def test_km_calibration_before_enough_are_at_risk() -> None:
    y, curves = naive.draw(1)
    with pytest.raises(UndefinedMetricError, match="no time to cover"):
        sg.km_calibration(y, curves, tau=1e-9)


def test_km_calibration_without_entry_is_as_before() -> None:
    y, curves = naive.draw(2)
    plain = sg.km_calibration(sg.Outcomes(y.time, y.event), curves)
    assert sg.km_calibration(sg.Outcomes(y.time, y.event, entry=0 * y.time), curves) == plain


@CASES
def test_one_calibration(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    time = 6.0
    entered = [i for i in range(len(y)) if y.entry[i] < time]
    risk = {i: 1 - naive.conditional(curves, i, time, y.entry[i]) for i in entered}
    found = sg.one_calibration(y, curves, time, groups=2)
    statistic, border = 0.0, found.edges[1, 0] - 1e-9
    assert found.edges[0, 1] < found.edges[1, 0]
    assert abs(found.size[0] - found.size[1]) <= 1
    for k, above in enumerate((False, True)):
        group = [i for i in entered if (risk[i] > border) == above]
        seen = sum(y.event[i] and y.time[i] <= time for i in group)
        due = sum(
            -np.log(naive.conditional(curves, i, min(y.time[i], time), y.entry[i])) for i in group
        )
        assert found.size[k] == len(group)
        np.testing.assert_allclose(found.observed[k], seen / len(group), rtol=1e-12)
        np.testing.assert_allclose(found.expected[k], due / len(group), rtol=1e-10)
        statistic += (seen - due) ** 2 / due
    np.testing.assert_allclose(found.statistic, statistic, rtol=1e-9)
    assert found.degrees_of_freedom == 2
    assert sg.one_calibration(y, curves, time).support["thin_groups"] == 0


def test_one_calibration_of_curves_that_were_refuted() -> None:
    y = sg.Outcomes([3.0, 4.0, 5.0, 6.0], [1, 0, 1, 1], entry=[1.0, 0.0, 2.0, 0.0])
    gone = sg.SurvivalCurves([0, 2.5, 9], [[1.0, 0.0, 0.0]] * 4)
    sure = sg.SurvivalCurves([0, 9], [[1.0, 1.0]] * 4)
    for curves in (gone, sure):
        found = sg.one_calibration(y, curves, 5.0)
        assert (found.statistic, found.p_value) == (np.inf, 0.0)
    with pytest.raises(InputError, match="goes with method 'predicted' and curves"):
        sg.one_calibration(y, [0.5] * 4, 5.0)


def test_one_calibration_without_entry_is_as_before() -> None:
    y, curves = naive.draw(2, n=120)
    plain = sg.one_calibration(sg.Outcomes(y.time, y.event), curves, 5.0)
    none = sg.one_calibration(sg.Outcomes(y.time, y.event, entry=0 * y.time), curves, 5.0)
    assert (none.p_value, none.statistic) == (plain.p_value, plain.statistic)


@CASES
def test_po_given_entry(seed: int, whole: bool) -> None:
    y, _ = naive.draw(seed, whole=whole)
    found = sg.surrogate_times(y, method="po", tau=9.0)
    times = np.unique(y.time[y.event & (y.time < 9.0)])

    def mean_past(u: float) -> float:
        """Mean of min(T, 9) given T > u, Kaplan-Meier by loops."""
        ends = [u, *(t for t in times if u < t < 9.0), 9.0]
        parts = zip(ends[:-1], ends[1:], strict=True)
        area = 0.0
        for low, high in parts:
            area += (high - low) * naive.between(y, u, low, left=False, censoring=False)
        return u + area

    for i in np.flatnonzero(~y.event & (y.time < 9.0)):
        a, c = float(y.entry[i]), float(y.time[i])
        value = mean_past(a)
        for u in times[(times > a) & (times <= c)]:
            hazard = 1 - naive.factor(y, u, censoring=False)
            open_ = naive.between(y, a, u, left=True)
            value += (mean_past(u) - u) * hazard / open_
        np.testing.assert_allclose(found.time[i], min(value, 9.0), rtol=1e-10)


def test_po_given_entry_is_the_doubly_robust_time() -> None:
    """The sum over events is the one over censorings, integrated by parts."""
    y, _ = naive.draw(12, n=200)
    setting = make_setting(y, tau=6.0, floor=1e-9, entry=True)
    time = Loss("time", "mean", lambda t, p: t + 0 * p, (("t", np.ones_like),), signed=False)
    rows = np.flatnonzero(~setting.y.event)
    wanted = setting.robust.phi(time, np.zeros(len(y)))[rows]
    found = pseudo_given_entry(setting.reference, setting.y.entry[rows], setting.c, setting.tail)
    assert (found >= setting.c - 1e-12).all()
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_po_of_subjects_from_the_beginning_is_as_before() -> None:
    y, curves = naive.draw(13, n=200)
    train = sg.Outcomes(y.time, y.event)
    before = sg.surrogate_times(train, y_train=train, method="po")
    found = sg.surrogate_times(y, y_train=train, method="po")
    plain = ~y.event & (y.entry == 0)
    assert plain.sum() > 10
    np.testing.assert_array_equal(found.time[plain], before.time[plain])
    none = sg.Outcomes(y.time, y.event, entry=0 * y.time)
    assert sg.mae(none, curves, method="po") == sg.mae(train, curves, method="po")
    for area in ("step", "trapezoid"):
        plain, zero = (sg.surrogate_times(o, method="po", area=area).time for o in (train, none))
        np.testing.assert_array_equal(plain, zero)


def test_po_given_an_early_entry_is_near_the_pseudo_observation() -> None:
    rng = np.random.default_rng(14)
    time, end = 10 * rng.weibull(1.5, 2_000), rng.uniform(1, 18, 2_000)
    y = sg.Outcomes(np.minimum(time, end) + 1e-6, time <= end)
    late = sg.Outcomes(y.time, y.event, entry=np.full(2_000, 1e-7))
    exact = sg.surrogate_times(y, method="po", tau=12.0).time
    found = sg.surrogate_times(late, method="po", tau=12.0).time
    assert 0 < np.abs(found - exact).max() < 0.01
