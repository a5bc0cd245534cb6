"""Metrics of a cause under delayed entry against plain loops, and against what they reduce to."""

from __future__ import annotations

import naive_entry_causes as naive
import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import given_entry, incidence_from_landmark
from survgauge.errors import InputError
from survgauge.estimators.pseudo import PseudoIncidence
from survgauge.estimators.reference import Reference
from survgauge.estimators.surrogates import METHODS, make_setting
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details
from survgauge.metrics.registry import REGISTRY

CASES = pytest.mark.parametrize(("seed", "whole"), [(0, False), (1, False), (2, True), (3, True)])
TIMES = np.array([2.0, 4.0, 6.5])
CLOSE = {"rtol": 1e-10}


@CASES
@pytest.mark.parametrize("cause", [1, 2])
def test_brier(seed: int, whole: bool, cause: int) -> None:
    y, curves = naive.draw(seed, whole=whole)
    wanted = [naive.brier(y, curves, t, cause) for t in TIMES]
    found = sg.brier_score(y, curves, TIMES, cause=cause)
    np.testing.assert_allclose(found.values, [a / n for a, n in wanted], **CLOSE)
    share = np.array([0.5 * 2, 0.5 * 4.5, 0.5 * 2.5]) / 4.5  # trapezoid
    below = sum(w * n for w, (_, n) in zip(share, wanted, strict=True))
    mean = sum(w * a for w, (a, _) in zip(share, wanted, strict=True)) / below
    found = sg.integrated_brier_score(y, curves, TIMES, cause=cause)
    np.testing.assert_allclose(found, mean, **CLOSE)


@CASES
def test_all_states(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    wanted = np.array([naive.state_losses(y, curves, t) for t in TIMES])
    for column, loss in enumerate(("log", "squared")):
        found = sg.multi_cause_score(y, curves, TIMES, loss=loss).values
        np.testing.assert_allclose(found, wanted[:, column], **CLOSE)
    # A curve of everybody that is stored once is read given each entry too.
    incidence = sg.AalenJohansen.fit(sg.Outcomes(y.time, y.cause, causes=y.causes))
    once = incidence.curves(len(y))
    stored = sg.IncidenceCurves(once.times, np.array(once.values), naive.CAUSES, "step")
    same = [sg.multi_cause_score(y, c, TIMES, loss="squared").values for c in (once, stored)]
    np.testing.assert_allclose(*same, rtol=1e-13)


@CASES
def test_auc_and_concordance(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    for every, controls in ((True, "without_event"), (False, "event_free")):
        found = sg.cumulative_dynamic_auc(y, curves, [3.0, 6.0], cause=1, controls=controls)
        wanted = [naive.auc(y, curves, t, 1, every) for t in (3.0, 6.0)]
        np.testing.assert_allclose(found.values, wanted, **CLOSE)
    risk = np.round(curves.at(10.0, 1), 1)  # some are equal
    for method in ("harrell", "uno"):
        value = sg.concordance_index(y, risk, method=method, tau=8.0, cause=1)
        wanted = naive.concordance(y, risk, 1, tau=8.0, weighted=method == "uno")
        np.testing.assert_allclose(value, wanted, **CLOSE)


def test_contributions_are_derivatives() -> None:
    """Frequencies that change a little move the values as the contributions say."""
    y, curves = naive.draw(5, n=30)
    risk, step = curves.at(10.0, 1), 1e-6

    def values(weight: np.ndarray) -> list[sg.Details]:
        known = sg.Outcomes(y.time, y.cause, weight, y.causes, y.entry)
        return [
            sg.concordance_index(known, risk, method="harrell", cause=1),
            sg.concordance_index(known, risk, method="uno", tau=8.0, cause=1),
            cumulative_dynamic_auc_details(known, curves, [5.0], cause=1),
            sg.brier_score(known, curves, [5.0], cause=1).details,
            sg.integrated_brier_score(known, curves, TIMES, cause=1),
            sg.integrated_multi_cause_score(known, curves, TIMES),
            sg.observed_expected(known, curves, 5.0, cause=1),
            sg.weak_calibration(known, curves, 5.0, cause=1).slope,
        ]

    ones = np.ones(len(y))
    for i in (0, 7, 19):
        up, down = ones.copy(), ones.copy()
        up[i], down[i] = 1 + step, 1 - step
        pairs = zip(values(up), values(down), strict=True)
        moved = [(a.value - b.value) / (2 * step) for a, b in pairs]
        own = [one.contributions[i] for one in values(ones)]
        np.testing.assert_allclose(own, moved, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_curves_given_entry(interpolation: str) -> None:
    _, curves = naive.draw(6, n=12)
    curves = sg.IncidenceCurves(curves.times, curves.values, naive.CAUSES, interpolation)
    entry = np.concatenate(([0.0, 0.3, 2.0, 3.5, 14.0, 19.0], np.linspace(0.5, 13, 6)))
    found = given_entry(curves.only(2), entry)
    t = np.linspace(0, 20, 41)
    wanted = [[1 - naive.incidence(curves, i, u, entry[i], 2) for u in t] for i in range(12)]
    np.testing.assert_allclose(found.at(t), wanted, rtol=1e-12)
    np.testing.assert_allclose(found[[3, 1]].at(t), np.array(wanted)[[3, 1]], rtol=1e-12)
    own = np.linspace(1, 19, 12)
    wanted = [1 - naive.incidence(curves, i, own[i], entry[i], 2) for i in range(12)]
    np.testing.assert_allclose(found.at_own(own), wanted, rtol=1e-12)
    fine = np.linspace(0, 18, 80_001)
    area = found.at(fine)[:, :-1].sum(axis=1) * (fine[1] - fine[0])
    np.testing.assert_allclose(found.rmst(18.0), area, rtol=2e-4)
    q = 0.2
    times = found.quantile(q)
    inside = np.isfinite(times) & (times > entry)
    assert inside.sum() > 3
    for i in np.flatnonzero(inside):
        at = found[[i]].at([times[i] - 1e-6, times[i]])[0]
        assert at[0] >= 1 - q - 1e-12
        assert at[1] <= 1 - q + 1e-9
    nodes, values = found.nodes(slice(0, 12))
    for i in range(12):
        np.testing.assert_allclose(found[[i]].at(nodes[i, 1:])[0], values[i, 1:], rtol=1e-12)


def test_curves_of_which_nothing_was_left_at_entry() -> None:
    curves = sg.IncidenceCurves([2, 4, 9], [[[0.3, 0.6, 0.6], [0.2, 0.4, 0.4]]])
    found = given_entry(curves.only(1), np.array([5.0]))
    assert found.impossible.tolist() == [True]
    np.testing.assert_allclose(found.at([3.0, 5.0, 6.0])[0], [1.0, 1.0, 0.4])
    y = sg.Outcomes([6.0], [1], causes=["1", "2"], entry=[5.0])
    assert sg.log_likelihood(y, curves) == -np.inf
    alone = curves.only(1)
    alone.incidence = None
    with pytest.raises(InputError, match="give IncidenceCurves of all causes"):
        given_entry(alone, np.array([1.0]))


@CASES
def test_likelihood_and_hazards(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    score, own = [], []
    for i in range(len(y)):
        a, t = float(y.entry[i]), float(y.time[i])
        if y.event[i]:
            h, k = 1e-6, int(y.cause[i])
            near = [naive.incidence(curves, i, t + d, a, k) for d in (-h, 0.0)]
            score.append(np.log((near[1] - near[0]) / h))
        else:
            score.append(np.log(1 - sum(naive.incidence(curves, i, t, a, k) for k in (1, 2))))
        own.append(np.exp(-naive.cause_hazard(curves, i, a, t, 1)))
    np.testing.assert_allclose(sg.log_likelihood(y, curves), np.mean(score), rtol=1e-6)
    found = sg.d_calibration(y, curves, cause=1)
    np.testing.assert_allclose(found._survival, own, rtol=1e-10)
    early = [i for i in range(len(y)) if y.entry[i] < 6.0]
    until = [(float(y.entry[i]), min(float(y.time[i]), 6.0)) for i in early]
    rises = [naive.cause_hazard(curves, i, *u, 1) for i, u in zip(early, until, strict=True)]
    seen = sum(y.cause[i] == 1 and y.time[i] <= 6.0 for i in early)
    groups = sg.one_calibration(y, curves, 6.0, groups=2, cause=1)
    np.testing.assert_allclose(groups.expected @ groups.size, sum(rises), rtol=1e-10)
    np.testing.assert_allclose(groups.observed @ groups.size, seen, rtol=1e-12)


@CASES
def test_observed_over_expected_is_of_risks_given_entry(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    early = [i for i in range(len(y)) if y.entry[i] < 6.0]
    risks = [naive.incidence(curves, i, 6.0, float(y.entry[i]), 1) for i in early]
    found, entered = sg.observed_expected(y, curves, 6.0, cause=1), y[early]
    seen = np.mean([1 - naive.pseudo_status(entered, i, 1, 6.0) for i in range(len(entered))])
    np.testing.assert_allclose(found.observed, seen, rtol=1e-9)
    np.testing.assert_allclose(found.ratio, seen / np.mean(risks), rtol=1e-9)


@CASES
def test_aalen_johansen_calibration(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    found = sg.km_calibration(y, curves, tau=8.0, cause=1)
    np.testing.assert_allclose(found, naive.incidence_gap(y, curves, 8.0, 1), rtol=1e-9)


def test_contributions_to_aalen_johansen_calibration() -> None:
    y, curves = naive.draw(15, n=150)
    values = np.array(curves.values)
    values[:, 0] *= 0.5  # a gap, of which contributions of first order tell
    curves = sg.IncidenceCurves(curves.times, values, naive.CAUSES)
    base = sg.km_calibration(y, curves, tau=9.0, cause=1)
    step, moved = 1e-4, []
    rows = np.arange(0, 150, 6)
    for i in rows:
        weight = np.ones(len(y))
        weight[i] += step
        late = sg.Outcomes(y.time, y.cause, weight, y.causes, y.entry)
        moved.append((sg.km_calibration(late, curves, tau=9.0, cause=1) - base.value) / step)
    # Points in the middle of 64 parts stand for the integral.
    gap = base.contributions[rows] - moved
    assert abs(gap).max() < 0.05 * abs(np.array(moved)).max()


@CASES
def test_pseudo_observations_of_the_status(seed: int, whole: bool) -> None:
    y, _ = naive.draw(seed, whole=whole)
    y, t = y[y.entry < 6.0], 6.0
    competes = y.event & (y.cause != 1)

    def made(weight: np.ndarray) -> PseudoIncidence:
        known = sg.Outcomes(y.time, y.event, weight, entry=y.entry)
        return PseudoIncidence.of(known, competes, t)

    ones = np.ones(len(y))
    wanted = [naive.pseudo_status(y, i, 1, t) for i in range(len(y))]
    np.testing.assert_allclose(made(ones).values, wanted, rtol=1e-9, atol=1e-12)
    rng, step = np.random.default_rng(seed), 1e-5
    h, weight = rng.normal(size=len(y)), rng.integers(1, 4, len(y)).astype(float)
    moved = []
    for j in range(0, len(y), 5):
        up, down = weight.copy(), weight.copy()
        up[j], down[j] = weight[j] + step, weight[j] - step
        change = (made(up).values - made(down).values) / (2 * step)
        moved.append(weight[j] * np.sum(weight * h * change))
    np.testing.assert_allclose(made(weight).pulled(h)[::5], moved, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("seed", "whole"), [(8, False), (9, True)])
def test_doubly_robust_and_pseudo_times(seed: int, whole: bool) -> None:
    y, _ = naive.draw(seed, whole=whole)
    tau, predicted = 9.0, np.linspace(1, 12, len(y))
    found = sg.time_error(y, predicted, method="dr", tau=tau, cause=1, floor=1e-9, loss="absolute")
    inside = y.entry < tau
    wanted = naive.doubly_robust(y, np.minimum(predicted, tau), 1, tau)[inside]
    np.testing.assert_allclose(found.loss[inside], wanted, rtol=1e-9)
    assert found.value == pytest.approx(wanted.mean(), rel=1e-9)
    rows = np.flatnonzero(~y.event & (y.time < tau))
    made = METHODS["po"](make_setting(y, tau=tau, cause=1, entry=True))
    wanted = [min(naive.pseudo_time(y, i, 1, tau), tau) for i in rows]
    np.testing.assert_allclose(made.time[rows], wanted, rtol=1e-9)


def test_predicted_times_free_of_the_cause_given_entry() -> None:
    y, curves = naive.draw(10)
    fine = np.linspace(0, 9, 90_001)
    free = given_entry(curves.only(1), y.entry).at(fine)
    mean = free[:, :-1].sum(axis=1) * (fine[1] - fine[0])
    known = {"method": "dr", "tau": 9.0, "cause": 1, "loss": "squared"}
    by_curves = sg.time_error(y, curves, **known)
    np.testing.assert_allclose(by_curves, sg.time_error(y, mean, **known), rtol=1e-3)
    median = np.array([np.append(fine[row <= 0.5], 9.0)[0] for row in free])
    known["loss"] = "absolute"
    by_curves = sg.time_error(y, curves, **known)
    np.testing.assert_allclose(by_curves, sg.time_error(y, median, **known), rtol=1e-3)


def test_one_cause_alone_is_one_kind_of_event() -> None:
    y, both = naive.draw(11, n=150)
    only = sg.Outcomes(y.time, np.where(y.event, 1, 0), causes=naive.CAUSES, entry=y.entry)
    values = np.array(both.values)
    values[:, 0] += values[:, 1]
    values[:, 1] = 0.0
    curves = sg.IncidenceCurves(both.times, values, naive.CAUSES)
    plain = sg.SurvivalCurves(both.times, 1 - values[:, 0], tail="nan")
    named = ["brier", "ibs", "ibll", "ipa", "auc", "log_likelihood", "observed_expected",
             "one_calibration", "d_calibration", "a_calibration", "net_benefit", "km_calibration",
             "ici", "calibration_intercept", "calibration_slope",
             *(name for name in REGISTRY if name.startswith(("mae_", "mse_")))]  # fmt: skip
    asked = {"time": 6.0, "tau": 9.0, "threshold": 0.2, "random_state": 0}
    named = [
        name
        for name in named
        if REGISTRY[name].supports_cause(1) and REGISTRY[name].supports_entry(1)
    ]
    assert len(named) > 20
    of_cause = sg.evaluate({"m": curves}, only, cause=1, metrics=named, **asked)
    of_event = sg.evaluate({"m": plain}, only.any_cause(), metrics=named, **asked)
    keys = ("value", "low", "high", "stderr", "skill")
    for a, b in zip(of_cause.rows(), of_event.rows(), strict=True):
        assert a["metric"] == b["metric"]
        for key in keys:
            same = a[key] == b[key] or a[key] == pytest.approx(b[key], rel=1e-8, nan_ok=True)
            assert same, (a["metric"], key, a[key], b[key])
    risk = both.at(9.0, 1)
    for method in ("harrell", "uno"):
        pair = [
            sg.concordance_index(o, risk, method=method, tau=9.0, cause=c)
            for o, c in ((only, 1), (only.any_cause(), None))
        ]
        assert pair[0].value == pytest.approx(pair[1].value, rel=1e-12)
        assert pair[0].stderr == pytest.approx(pair[1].stderr, rel=1e-9)


def test_entry_at_the_beginning_changes_nothing() -> None:
    y, curves = naive.draw(12, n=120)
    plain = sg.Outcomes(y.time, y.cause, causes=y.causes)
    zero = sg.Outcomes(y.time, y.cause, causes=y.causes, entry=np.zeros(len(y)))
    found = [sg.evaluate({"m": curves}, o, cause=1, random_state=0).rows() for o in (plain, zero)]
    assert [str(row) for row in found[0]] == [str(row) for row in found[1]]
    # Entries so early that nobody was lost: what is defined alike comes to the same.
    early = sg.Outcomes(y.time, y.cause, causes=y.causes, entry=np.full(len(y), 1e-9))
    names = ["brier", "auc", "harrell", "uno", "mae_dr", "mae_ipcw_d", "mae_margin",
             "log_likelihood", "d_calibration"]  # fmt: skip
    asked = {"cause": 1, "metrics": names, "tau": 9.0}
    found = [sg.evaluate({"m": curves}, o, **asked).rows() for o in (plain, early)]
    for a, b in zip(*found, strict=True):
        assert a["value"] == pytest.approx(b["value"], rel=1e-7), a["metric"]
        assert a["stderr"] == pytest.approx(b["stderr"], rel=1e-5, nan_ok=True), a["metric"]


def test_an_empty_risk_set_does_not_end_the_incidence() -> None:
    y = sg.Outcomes([1.0, 4, 5, 6, 7], [2, 1, 2, 0, 1], causes=["a", "b"], entry=[0, 2, 2, 3, 2.5])
    assert sg.AalenJohansen.fit(y).survival[0] == 0
    found = Reference(y, causes=True).incidence
    later = sg.AalenJohansen.fit(y[1:])
    np.testing.assert_allclose(found.at([4, 5, 7], "a"), later.at([4, 5, 7], "a"), rtol=1e-14)
    np.testing.assert_allclose(found.at([1, 5, 7], "b"), later.at([1, 5, 7], "b"), rtol=1e-14)


def test_absent_subjects_do_not_count() -> None:
    y, curves = naive.draw(13, n=80)
    values = np.array(curves.values)
    weight = np.ones(len(y))
    weight[[0, 5, 9]] = 0.0
    values[[0, 5, 9]] = 0.0  # whatever was predicted for them
    late = sg.Outcomes(y.time, y.cause, weight, y.causes, y.entry)
    kept = weight > 0
    names = ["brier", "ibs", "auc", "uno", "mae_dr", "mae_po", "multi_brier", "log_likelihood",
             "observed_expected", "one_calibration", "d_calibration"]  # fmt: skip
    asked = {"cause": 1, "metrics": names, "tau": 9.0}
    changed = sg.IncidenceCurves(curves.times, values, naive.CAUSES)
    all_of_them = sg.evaluate({"m": changed}, late, **asked).rows()
    present = sg.evaluate({"m": curves[kept]}, y[kept], **asked).rows()
    for a, b in zip(all_of_them, present, strict=True):
        assert a["value"] == pytest.approx(b["value"], rel=1e-10), a["metric"]


def test_incidence_from_a_landmark() -> None:
    _, curves = naive.draw(14, n=5)
    late = incidence_from_landmark(curves, 4.0)
    for u in (0.5, 1.0, 6.0, 12.0):
        for k in (1, 2):
            wanted = [naive.incidence(curves, i, 4.0 + u, 4.0, k) for i in range(5)]
            np.testing.assert_allclose(late.at(u, k), wanted, rtol=1e-12)
    with pytest.raises(InputError, match="must go past the landmark 20"):
        incidence_from_landmark(curves, 20.0)
