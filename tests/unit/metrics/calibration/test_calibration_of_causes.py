"""Calibration of one cause: plain loops, derivatives, and what is left where nothing competes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import survgauge as sg
from survgauge.estimators.aalen_johansen import free_at
from survgauge.estimators.pseudo import PseudoIncidence
from survgauge.metrics.calibration import ici
from survgauge.metrics.calibration.inputs import StatusAtTime, cause_survival
from survgauge.metrics.calibration.risk_rates import shared_shape
from survgauge.metrics.calibration.weak_calibration import intercept_of

GRID = np.array([1.0, 2.0, 4.0, 6.0, 9.0, 40.0])
AT = 5.0
NAMES = ("relapse", "death")


def draw(seed=0, n=80, ties=True, censored=True, interpolation="linear"):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, n)
    cause = np.where(rng.random(n) < 1 / (1 + np.exp(-x)), 1, 2)
    time = rng.exponential(6 * np.exp(-0.2 * x))
    limit = rng.exponential(9, n) if censored else np.full(n, 39.0)
    seen, codes = np.minimum(time, limit), np.where(time <= limit, cause, 0)
    y = sg.Outcomes(np.ceil(seen) if ties else seen, codes, causes=NAMES)
    total = 1 - np.exp(-GRID * np.exp(0.3 * x[:, None]) / 6)
    share = 1 / (1 + np.exp(-0.8 * x[:, None] - 0.3))
    values = np.stack([total * share, total * (1 - share)], axis=1)
    return y, sg.IncidenceCurves(GRID, values, NAMES, interpolation)


def incidence(time, codes, weight, t, code):
    """Aalen-Johansen of a cause at a time, one event time after the other."""
    free, found = 1.0, 0.0
    for u in np.unique(time[(codes > 0) & (time <= t)]):
        at_risk = weight[time >= u].sum()
        found += free * weight[(time == u) & (codes == code)].sum() / at_risk
        free *= 1 - weight[(time == u) & (codes > 0)].sum() / at_risk
    return found


def slopes(function, n, step=1e-5):
    """Derivative of a function of frequencies by each of them."""
    found = []
    for j in range(n):
        ends = []
        for sign in (1, -1):
            weight = np.ones(n)
            weight[j] += sign * step
            ends.append(function(weight))
        found.append((np.asarray(ends[0]) - ends[1]) / (2 * step))
    return np.array(found)


def weighted(y, weight):
    return sg.Outcomes(y.time, y.cause, weight, causes=NAMES)


def pseudo(y, code=1, at=AT):
    competes = y.event & (y.cause != code)
    return PseudoIncidence.of(y.any_cause(), competes, at)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("code", [1, 2])
def test_pseudo_observations_are_derivatives_of_aalen_johansen(seed, code):
    y, _ = draw(seed, n=50, ties=seed > 0)
    found, ones = pseudo(y, code), np.ones(50)
    whole = incidence(y.time, y.cause, ones, AT, code)
    assert found.survival == pytest.approx(1 - whole, rel=1e-12)
    moved = slopes(lambda w: incidence(y.time, y.cause, w, AT, code), 50)
    np.testing.assert_allclose(found.values, 1 - (whole + 50 * moved), atol=1e-7)
    assert found.values.mean() == pytest.approx(found.survival)
    h = np.random.default_rng(seed).normal(size=50)
    second = slopes(lambda w: np.sum(h * pseudo(weighted(y, w), code).values), 50)
    np.testing.assert_allclose(found.pulled(h), second, atol=1e-6)


def test_without_competing_events_they_are_those_of_kaplan_meier():
    y, _ = draw(3, n=60)
    only = y.only("relapse")
    found, known = PseudoIncidence.of(only, None, AT), free_at(only, None, AT)
    np.testing.assert_allclose(found.values, known.value + 60 * known.contributions, atol=1e-12)
    same = PseudoIncidence.of(only, np.zeros(60, dtype=bool), AT)
    assert (found.values == same.values).all()
    h = np.random.default_rng(0).normal(size=60)
    early = PseudoIncidence.of(only, np.zeros(60, dtype=bool), 0.5)
    assert early.survival == 1
    assert not early.pulled(h).any()


def least_squares(risk, columns, start):
    def loss(beta):
        return np.sum((risk + np.expm1(-np.exp(beta[0] + beta[1:] @ columns))) ** 2)

    options = {"xatol": 1e-11, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000}
    for _ in range(3):
        start = minimize(loss, start, method="Nelder-Mead", options=options).x
    return start


@pytest.mark.parametrize("code", [1, 2])
def test_weak_calibration_is_the_least_squares_of_pseudo_observations(code):
    y, curves = draw(1, n=120)
    found = sg.weak_calibration(y, curves, AT, cause=code)
    risk, x = 1 - pseudo(y, code).values, np.log(-np.log1p(-curves.at(AT, code)))
    assert found.slope.value == pytest.approx(least_squares(risk, x[None], [0, 1])[1], abs=1e-5)
    best = minimize(
        lambda a: np.sum((risk + np.expm1(-np.exp(a[0] + x))) ** 2), [0.0], method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-15},
    )  # fmt: skip
    assert found.intercept.value == pytest.approx(best.x[0], abs=1e-6)
    assert found.slope.convention["cause"] == NAMES[code - 1]
    assert "Aalen-Johansen" in found.slope.convention["observed"]


@pytest.mark.parametrize("what", ["intercept", "slope"])
def test_contributions_are_derivatives_by_the_frequencies(what):
    y, curves = draw(2, n=60)

    def of(weight):
        found = sg.weak_calibration(weighted(y, weight), curves, AT, cause=1)
        return getattr(found, what).value

    details = getattr(sg.weak_calibration(y, curves, AT, cause=1), what)
    np.testing.assert_allclose(details.contributions, slopes(of, 60), atol=1e-7)
    assert abs(details.contributions.sum()) < 1e-9


def test_ici_is_the_mean_distance_from_the_fitted_spline():
    y, curves = draw(4, n=150)
    found = sg.integrated_calibration_index(y, curves, AT, cause="relapse")
    assert found.convention["terms"] == "spline"
    risk, p = 1 - pseudo(y).values, curves.at(AT, 1)
    x = np.log(-np.log1p(-p))
    a, b, c = found.convention["knots"]
    bend = [np.maximum(x - k, 0) ** 3 for k in (a, b, c)]
    bend = bend[0] - bend[1] * (c - a) / (c - b) + bend[2] * (b - a) / (c - b)
    columns = np.stack([x, bend / (c - a) ** 2])
    beta = least_squares(risk, columns, [0, 1, 0])
    observed = -np.expm1(-np.exp(beta[0] + beta[1:] @ columns))
    np.testing.assert_allclose(found.observed, observed, atol=1e-5)
    distance = np.abs(observed - p)
    assert found.ici == pytest.approx(distance.mean(), abs=1e-6)
    assert found.e50 == pytest.approx(np.median(distance), abs=1e-5)
    assert found.e90 == pytest.approx(np.quantile(distance, 0.9), abs=1e-5)
    by_hand = sg.integrated_calibration_index(y, p, AT, cause=1, probability="event")
    assert by_hand.ici == pytest.approx(found.ici, rel=1e-9)
    low, high = found.interval()
    assert low <= found.ici <= high
    assert found.curve_observed.shape == (100,)


def test_contributions_to_ici_are_derivatives_by_the_frequencies(monkeypatch):
    y, curves = draw(5, n=80)
    whole = sg.integrated_calibration_index(y, curves, AT, cause=1)
    # Knots would move with the frequencies; contributions hold them.
    held = "spline", np.array(whole.convention["knots"])
    monkeypatch.setattr(ici, "_choose_knots", lambda *_: held)

    def of(weight):
        return sg.integrated_calibration_index(weighted(y, weight), curves, AT, cause=1).ici

    np.testing.assert_allclose(whole.contributions, slopes(of, 80), atol=1e-7)


def test_few_different_predictions_have_fewer_terms():
    y, _ = draw(6, n=80)
    two = np.where(np.arange(80) % 2, 0.3, 0.5)
    found = sg.integrated_calibration_index(y, two, AT, cause=1, probability="event")
    assert found.convention["terms"] == "line"
    same = np.full(80, 0.4)
    found = sg.integrated_calibration_index(y, same, AT, cause=1, probability="event")
    assert found.convention["terms"] == "constant"
    wanted = incidence(y.time, y.cause, np.ones(80), AT, 1)
    np.testing.assert_allclose(found.observed, wanted, rtol=1e-9)
    assert found.ici == pytest.approx(abs(wanted - 0.4))


@pytest.mark.parametrize("interpolation", ["linear", "step"])
@pytest.mark.parametrize("code", [1, 2])
def test_aalen_johansen_calibration_is_the_integral(interpolation, code):
    y, curves = draw(7, n=70, interpolation=interpolation)
    tau, ones = 7.3, np.ones(70)
    found = sg.km_calibration(y, curves, tau=tau, cause=code)
    edges = np.linspace(0, tau, 14_601)  # every jump lies on an edge
    middle = (edges[1:] + edges[:-1]) / 2
    steps = np.unique(y.time[y.time <= tau])
    observed = np.array([incidence(y.time, y.cause, ones, u, code) for u in [0, *steps]])
    gap = curves.at(middle, code).mean(axis=0) - observed[steps.searchsorted(middle, "right")]
    assert found.value == pytest.approx(np.mean(gap**2), rel=1e-6)
    assert sg.km_calibration(y, curves, tau=tau, cause=NAMES[code - 1]) == found.value
    at = found.times.searchsorted(5.0)
    wanted = 1 - incidence(y.time, y.cause, ones, found.times[at], code)
    assert found.kaplan_meier[at] == pytest.approx(wanted)

    def of(weight):
        return sg.km_calibration(weighted(y, weight), curves, tau=tau, cause=code)

    moved = slopes(of, 70)
    np.testing.assert_allclose(found.contributions, moved, atol=0.06 * np.abs(moved).max())
    low, high = found.distribution.limits(0.95)
    assert low <= found.value <= high


def test_without_competing_events_it_is_km_calibration():
    y, curves = draw(8, n=60)
    only = sg.Outcomes(y.time, y.only(1).event.astype(int), causes=NAMES)
    found = sg.km_calibration(only, curves, tau=8.0, cause=1)
    plain = sg.SurvivalCurves(GRID, 1 - curves.values[:, 0])
    known = sg.km_calibration(y.only(1), plain, tau=8.0)
    assert found.value == pytest.approx(known.value, rel=1e-12)
    assert found.stderr == pytest.approx(known.stderr, rel=1e-9)
    np.testing.assert_allclose(found.contributions, known.contributions, atol=1e-13)


def test_one_calibration_without_censoring_has_the_variance_of_a_share():
    y, curves = draw(9, n=200, ties=False, censored=False)
    found = sg.one_calibration(y, curves, AT, groups=4, cause=1)
    p = curves.at(AT, 1)
    order = np.argsort(p, kind="stable")
    statistic = 0.0
    for k, rows in enumerate(np.split(order, 4)):
        observed = np.mean((y.time[rows] <= AT) & (y.cause[rows] == 1))
        expected = p[rows].mean()
        assert found.observed[k] == pytest.approx(observed)
        assert found.expected[k] == pytest.approx(expected)
        statistic += 50 * (observed - expected) ** 2 / (expected * (1 - expected))
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.degrees_of_freedom == 4


def naive_variance(y, curves, rows, at, code):
    """Variance of Aalen-Johansen under the mean prediction, censoring by censoring."""
    time, codes = y.time[rows], y.cause[rows]
    n, end, g, free, total = len(rows), 0.0, 1.0, 1.0, 0.0
    end = curves.at(at, code)[rows].mean()
    for u in np.unique(time[time < at]):
        at_risk, died = np.sum(time >= u), np.sum((time == u) & (codes > 0))
        left = np.sum((time == u) & (codes == 0))
        free *= 1 - died / at_risk
        if not left:
            continue
        before, g = g, g * (1 - left / (at_risk - died))
        p = min((end - curves.at(u, code)[rows].mean()) / free, 1.0)
        total += free * p * (1 - p) * (1 / g - 1 / before)
    return (end * (1 - end) + total) / n


@pytest.mark.parametrize("seed", range(3))
def test_one_calibration_is_that_of_the_loop(seed):
    y, curves = draw(10 + seed, n=240, ties=seed > 0)
    for code in (1, 2):
        found = sg.one_calibration(y, curves, AT, groups=3, cause=code)
        p = curves.at(AT, code)
        statistic = 0.0
        for k, rows in enumerate(np.split(np.argsort(p, kind="stable"), 3)):
            observed = incidence(y.time[rows], y.cause[rows], np.ones(80), AT, code)
            assert found.observed[k] == pytest.approx(observed)
            variance = naive_variance(y, curves, rows, AT, code)
            statistic += (observed - p[rows].mean()) ** 2 / variance
        # Between grid times the loop's mean is a line of F, as the curves'.
        assert found.statistic == pytest.approx(statistic, rel=1e-6)
        assert found.convention["variance"].startswith("of Aalen-Johansen")


def test_a_group_whose_follow_up_ends_before_is_compared_there():
    y = sg.Outcomes([1, 2, 3, 3, 8, 9, 9, 10], [1, 2, 1, 0, 1, 2, 0, 0], causes=NAMES)
    p = np.array([0.7, 0.7, 0.7, 0.7, 0.4, 0.4, 0.4, 0.4])
    found = sg.one_calibration(y, p, 8.5, groups=2, cause=1, probability="event")
    assert found.support["groups_past_follow_up"] == 1
    assert found.observed.round(4).tolist() == [0.25, 0.5]
    assert found.expected[0] == pytest.approx(0.4)
    assert found.expected[1] < 0.7


def test_probabilities_rise_as_aalen_johansen_does():
    y, curves = draw(13, n=100)
    s = 1 - curves.at(AT, 1)
    (hazard,) = shared_shape(y.any_cause(), s, [np.arange(100)], AT, y.event & (y.cause == 2))
    ones = np.ones(100)
    ratio = np.log1p(-incidence(y.time, y.cause, ones, 2.0, 1)) / np.log1p(
        -incidence(y.time, y.cause, ones, AT, 1)
    )
    assert hazard(np.array([2.0, AT])) == pytest.approx(-np.log(s.mean()) * np.array([ratio, 1.0]))


@pytest.mark.parametrize("code", [1, 2])
def test_the_hazard_of_a_cause_is_the_integral_over_survival(code):
    y, curves = draw(14, n=30, ties=False)
    found = cause_survival(curves, code, np.minimum(y.time, GRID[-1]))
    for i in range(30):
        edges = np.linspace(0, min(y.time[i], GRID[-1]), 20_001)
        own = curves[i : i + 1].at(edges, code)[0]
        free = curves[i : i + 1].survival().at(edges)[0]
        hazard = np.sum(np.diff(own) / ((free[1:] + free[:-1]) / 2))
        assert found[i] == pytest.approx(np.exp(-hazard), rel=1e-4)


def test_steps_are_factors_and_a_closed_end_is_known():
    values = [[[0.2, 0.5], [0.1, 0.5]], [[0.0, 0.0], [0.5, 1.0]]]
    steps = sg.IncidenceCurves([1, 2], values, NAMES, "step")
    # exp(log(0.8)) is 0.8 to the last bit on some processors only
    assert cause_survival(steps, 1, np.array([1.5, 2.0])) == pytest.approx([0.8, 1.0], rel=1e-15)
    both = 0.8 * (1 - 0.3 / 0.7)
    assert cause_survival(steps, 1, np.array([2.0, 0.5])).tolist() == pytest.approx([both, 1.0])
    lines = sg.IncidenceCurves([1, 2], values, NAMES)
    assert cause_survival(lines, 1, np.array([2.0, 2.0])).tolist() == [0.0, 1.0]
    once = sg.IncidenceCurves._trusted(
        lines.times, np.broadcast_to(lines.values[:1], (3, 2, 2)), NAMES, "linear"
    )
    many = sg.IncidenceCurves([1, 2], [values[0]] * 3, NAMES)
    own = np.array([0.3, 1.0, 1.7])
    np.testing.assert_allclose(cause_survival(once, 2, own), cause_survival(many, 2, own))


@pytest.mark.parametrize("test", [sg.d_calibration, sg.a_calibration])
def test_with_one_cause_that_happens_it_is_the_plain_test(test):
    y, curves = draw(15, n=90)
    y = sg.Outcomes(y.time, y.event.astype(int), causes=NAMES)
    total = curves.values.sum(axis=1)
    values = np.stack([total, np.zeros_like(total)], axis=1)
    found = test(y, sg.IncidenceCurves(GRID, values, NAMES), cause=1)
    known = test(y.any_cause(), sg.SurvivalCurves(GRID, 1 - total))
    assert found.p_value == pytest.approx(known.p_value, rel=1e-9)
    np.testing.assert_allclose(found.observed, known.observed, rtol=1e-9)


def test_who_is_observed_past_the_grid_is_censored_there():
    y, curves = draw(16, n=90)
    short = sg.IncidenceCurves(GRID[:3], curves.values[:, :, :3], NAMES)
    found = sg.d_calibration(y, short, cause=2)
    late = y.time > GRID[2]
    stopped = sg.Outcomes(np.where(late, GRID[2], y.time), np.where(late, 0, y.cause), causes=NAMES)
    assert found.p_value == sg.d_calibration(stopped, curves, cause=2).p_value
    assert found.support["past_curves"] == late.sum()
    assert found.weights().shape == (90, 10)


@pytest.mark.parametrize("what", ["ici", "km", "one", "d", "a", "slope"])
def test_frequencies_are_repeated_subjects(what):
    y, curves = draw(17, n=120)
    counts = np.random.default_rng(0).integers(0, 3, 120)
    rows = np.repeat(np.arange(120), counts)

    def of(y, curves):
        if what == "ici":
            found = sg.integrated_calibration_index(y, curves, AT, cause=1)
            return found.ici, found.e90, found.stderr
        if what == "km":
            found = sg.km_calibration(y, curves, tau=8, cause=1)
            return found.value, found.stderr
        if what == "slope":
            found = sg.weak_calibration(y, curves, AT, cause=1)
            return found.slope.value, found.intercept.stderr
        if what == "one":
            return (sg.one_calibration(y, curves, AT, groups=3, cause=1).p_value,)
        test = sg.d_calibration if what == "d" else sg.a_calibration
        return (test(y, curves, cause=1).p_value,)

    assert of(weighted(y, counts), curves) == pytest.approx(of(y[rows], curves[rows]), rel=1e-6)


@pytest.mark.parametrize("ties", [True, False])
def test_aalen_johansen_of_the_same_subjects_is_calibrated(ties):
    y, _ = draw(21, n=90, ties=ties)
    curves = sg.AalenJohansen.fit(y).curves(90)
    # Its hazard of a cause is events over those at risk, as of Kaplan-Meier of that cause alone.
    hazard = cause_survival(curves, 1, y.time)
    known = sg.KaplanMeier.fit(y.only(1)).at(y.time)
    np.testing.assert_allclose(hazard, known, rtol=1e-9, atol=1e-12)
    found = StatusAtTime.of(y, curves, AT, cause=1)
    assert intercept_of(found).value == pytest.approx(0.0, abs=1e-9)
    assert sg.integrated_calibration_index(y, curves, AT, cause=1).ici < 1e-9
    assert sg.km_calibration(y, curves, cause=1) < 1e-20
    assert sg.one_calibration(y, curves, AT, cause=1).statistic < 1e-18
    assert ties or sg.d_calibration(y, curves, cause=1).p_value > 0.9  # tied events are jumps


def test_a_cause_that_never_happened():
    y, curves = draw(22, n=90)
    none = sg.Outcomes(y.time, np.where(y.cause == 2, 2, 0), causes=NAMES)
    assert sg.d_calibration(none, curves, cause=1).p_value < 0.01
    assert sg.a_calibration(none, curves, cause=1).observed.sum() == 0
    assert not sg.one_calibration(none, curves, AT, cause=1).observed.any()
    gap = sg.km_calibration(none, curves, tau=8, cause=1)
    edges = np.linspace(0, 8, 16_001)
    middle = (edges[1:] + edges[:-1]) / 2
    assert gap == pytest.approx(np.mean(curves.at(middle, 1).mean(axis=0) ** 2), rel=1e-6)
    with pytest.raises(sg.UndefinedMetricError, match="no subject has an event of the cause"):
        sg.integrated_calibration_index(none, curves, AT, cause=1)


def test_the_unit_of_time_does_not_matter():
    y, curves = draw(19, n=120)
    later = sg.Outcomes(7 * y.time, y.cause, causes=NAMES)
    slow = sg.IncidenceCurves(7 * GRID, curves.values, NAMES)

    def numbers(y, curves, unit):
        return [
            sg.one_calibration(y, curves, unit * AT, cause=1).statistic,
            sg.d_calibration(y, curves, cause=1).p_value,
            sg.km_calibration(y, curves, tau=8 * unit, cause=1),
            sg.integrated_calibration_index(y, curves, unit * AT, cause=1).ici,
        ]

    assert numbers(later, slow, 7) == pytest.approx(numbers(y, curves, 1), rel=1e-9)


def test_clusters_of_one_subject_each_are_no_clusters():
    y, curves = draw(20, n=150)
    given = {"cause": 1, "time": AT, "tau": 8.0, "metrics": ["km_calibration", "ici"]}
    plain = sg.evaluate({"model": curves}, y, **given)
    single = sg.evaluate({"model": curves}, y, cluster=np.arange(150), **given)
    paired = sg.evaluate({"model": curves}, y, cluster=np.arange(150) // 2, **given)
    for alone, own, pairs in zip(plain.scores, single.scores, paired.scores, strict=True):
        assert own.value == alone.value
        assert own.stderr == pytest.approx(alone.stderr, rel=0.03)
        assert pairs.stderr != own.stderr


def test_what_is_refused():
    y, curves = draw(18)
    short = sg.IncidenceCurves(GRID[:3], curves.values[:, :, :3], NAMES)
    with pytest.raises(sg.UndefinedMetricError, match="end at 4, before the follow-up"):
        sg.km_calibration(y, short, cause=1)
    with pytest.raises(sg.InputError, match="cause is no part of convention 'survivaleval'"):
        sg.km_calibration(y, curves, cause=1, convention="survivaleval")
    with pytest.raises(sg.InputError, match="cause goes with method 'predicted'"):
        sg.one_calibration(y, curves, AT, cause=1, method="dn")
    with pytest.raises(sg.InputError, match="curves must be IncidenceCurves of all causes"):
        sg.d_calibration(y, np.full(80, 0.4), cause=1)
    for function in (sg.integrated_calibration_index, sg.weak_calibration, sg.one_calibration):
        with pytest.raises(sg.InputError, match="say which one with cause="):
            function(y, curves, AT)
    with pytest.raises(sg.UndefinedMetricError, match="no subject has an event of the cause by"):
        sg.weak_calibration(y, curves, 0.5, cause=1)
