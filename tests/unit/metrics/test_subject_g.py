"""A G that depends on the subject: pairs weigh 1/(G_i(t_i-) G_j(t_i-)), checked by double loops."""

import warnings

import numpy as np
import pytest
from discrimination_data import concordance_of

import survgauge as sg
from survgauge.metrics.ranking._pairs import pair_counts

GRID = np.linspace(0, 12, 13)
TIES = ("risk", "none", "time", "all", "strict")


def draw(n=40, seed=0):
    """Whole times (many ties), risks with ties, and rates of censoring by subject."""
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 10, n).astype(float), rng.random(n) < 0.6
    risk = rng.integers(0, 6, n).astype(float)
    rate = rng.uniform(0.01, 0.25, n)
    curves = np.exp(-np.outer(rng.uniform(0.05, 0.3, n), GRID))
    return time, event, risk, rate, sg.SurvivalCurves(GRID, curves)


def function(rate):
    """G of exponential censoring, a little higher just before a time."""
    return lambda t, side: np.exp(-rate * (t - 0.5 * (side == "left")).clip(0))


def loops(time, event, risk_at, g, ties, tau=np.inf, each=None, copies=None):
    """C by looking at every pair; `copies` of a row are subjects of their own."""
    w = np.ones(time.size) if each is None else each
    above = below = 0.0
    for i in range(time.size):
        for j in range(time.size):
            if i == j or not event[i] or time[i] >= tau:
                continue
            weight = w[i] * w[j] / (g[i](time[i]) * g[j](time[i]))
            if time[i] == time[j] and event[j]:
                if ties in ("time", "all"):
                    above, below = above + weight / 4, below + weight / 2  # seen from both sides
                continue
            if not (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                continue
            one, two = risk_at(i, time[i]), risk_at(j, time[i])
            if one == two and ties in ("none", "time"):
                continue
            tied = 0.0 if ties == "strict" else 0.5
            above += weight * (1.0 if one > two else tied if one == two else 0.0)
            below += weight
    return above / below


def left(rate):
    return [lambda t, r=r: np.exp(-r * max(t - 0.5, 0)) for r in rate]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_uno_equals_the_loops(ties, weighted):
    time, event, risk, rate, _ = draw()
    weight = 0.5 + np.arange(40) % 3 if weighted else None
    options = {"method": "uno", "ties": ties, "tau": 8.0, "censoring": function(rate)}
    found = sg.concordance_index((time, event), risk, sample_weight=weight, **options)
    want = loops(time, event, lambda i, t: risk[i], left(rate), ties, 8.0, weight)
    assert found.value == pytest.approx(want, rel=1e-12)
    assert found.convention["anchor_weight"] == "1/(G_i G_j)"


@pytest.mark.parametrize("ties", TIES)
def test_antolini_by_g_equals_the_loops(ties):
    time, event, _, rate, curves = draw(seed=1)
    survival = curves.at(np.arange(13.0))
    found = sg.concordance_td(
        (time, event), curves, method="ipcw", ties=ties, censoring=function(rate)
    )
    want = loops(time, event, lambda i, t: -survival[i, int(t)], left(rate), ties)
    assert found == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_frequencies_are_repeated_rows(ties):
    time, event, risk, rate, curves = draw(seed=2)
    weight = np.arange(40) % 4
    rows = np.repeat(np.arange(40), weight)
    y, long = sg.Outcomes(time, event, weight), (time[rows], event[rows])
    options = {"ties": ties}
    one = sg.concordance_index(y, risk, method="uno", censoring=function(rate), **options)
    two = sg.concordance_index(
        long, risk[rows], method="uno", censoring=function(rate[rows]), **options
    )
    assert one.value == pytest.approx(two.value, rel=1e-12)
    assert one.stderr == pytest.approx(two.stderr, rel=1e-10)
    one = sg.concordance_td(y, curves, method="ipcw", censoring=function(rate), **options)
    two = sg.concordance_td(
        long, curves[rows], method="ipcw", censoring=function(rate[rows]), **options
    )
    assert one.value == pytest.approx(two.value, rel=1e-12)
    assert one.stderr == pytest.approx(two.stderr, rel=1e-10)


@pytest.mark.parametrize("ties", TIES)
def test_a_function_of_the_time_alone_is_the_kaplan_meier(ties):
    time, event, risk, _, curves = draw(60, seed=3)
    km = sg.KaplanMeier.fit_censoring((time, event))

    def g(t, side):
        return km.at(t, side)

    for ask in (
        lambda c: sg.concordance_index((time, event), risk, method="uno", ties=ties, censoring=c),
        lambda c: sg.concordance_td((time, event), curves, method="ipcw", ties=ties, censoring=c),
    ):
        one, two = ask(g), ask(km)
        assert one.value == pytest.approx(two.value, rel=1e-12)
        np.testing.assert_allclose(one.contributions, two.contributions, rtol=1e-9, atol=1e-13)


def test_contributions_are_derivatives_by_the_weights():
    time, event, risk, rate, _ = draw(25, seed=4)
    weight = 0.5 + np.arange(25) % 4 / 2
    options = {"method": "uno", "censoring": function(rate)}
    found = sg.concordance_index((time, event), risk, sample_weight=weight, **options)
    for i in range(25):
        up, down = weight.copy(), weight.copy()
        up[i], down[i] = weight[i] * (1 + 1e-5), weight[i] * (1 - 1e-5)
        both = [sg.concordance_index((time, event), risk, sample_weight=w, **options)
                for w in (up, down)]  # fmt: skip
        assert found.contributions[i] == pytest.approx((both[0] - both[1]) / 2e-5, abs=1e-8)


def test_the_right_pair_weight_is_that_of_complete_data():
    """Censoring by a feature that is also the risk: 1/G_i^2 is off, 1/(G_i G_j) is not."""
    rng = np.random.default_rng(5)
    n = 3000
    x = rng.normal(size=n)
    t, rate = rng.exponential(np.exp(-0.6 * x)), 0.5 * np.exp(0.9 * x)
    c = rng.exponential(1 / rate)
    late = np.minimum(t, 1.0)
    truth = sg.concordance_index((late, t <= 1.0), x)
    y = (np.minimum(t, c), t <= c)
    found = sg.concordance_index(
        y, x, method="uno", tau=1.0, censoring=lambda u, side: np.exp(-rate * u)
    )
    assert abs(found - truth) < 0.01
    squared = np.exp(2 * rate * y[0]) * (y[0] < 1.0)
    wrong = concordance_of(pair_counts(y[0], y[1] & (y[0] < 1.0), x, anchor_weight=squared))
    assert abs(wrong - truth) > 0.03


def test_auc_weights_controls_by_their_own_g():
    time, event, risk, rate, _ = draw(seed=6)
    found = sg.cumulative_dynamic_auc((time, event), risk, [5.0], censoring=function(rate))
    above = below = 0.0
    for i in range(40):
        for j in range(40):
            if event[i] and time[i] <= 5 < time[j]:
                # Cases at their own time (left limit), controls at t.
                weight = 1 / (np.exp(-rate[i] * max(time[i] - 0.5, 0)) * np.exp(-rate[j] * 5.0))
                above += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
                below += weight
    assert found.values[0] == pytest.approx(above / below, rel=1e-12)


def test_evaluate_takes_such_a_g_by_group_too():
    time, event, _, rate, curves = draw(80, seed=7)
    group = np.arange(80) % 2
    options = {"metrics": ["uno", "auc", "brier"], "censoring": function(rate)}
    ev = sg.evaluate({"m": curves}, (time, event), by=group, **options)
    for k in (0, 1):
        rows = np.flatnonzero(group == k)
        tau = float(np.nextafter(ev.support["horizon"], np.inf))
        want = sg.concordance_index(
            (time[rows], event[rows]), -curves[rows].median(), method="uno", tau=tau,
            censoring=function(rate[rows]),
        )  # fmt: skip
        [row] = [r for r in ev.rows() if r["metric"] == "uno" and r["group"] == k]
        assert row["value"] == pytest.approx(want, rel=1e-12)


def test_what_knows_no_such_g_is_refused():
    time, event, _, rate, curves = draw()
    options = {"method": "ipcw", "censoring": function(rate), "ties": "adjusted"}
    with pytest.raises(sg.InputError, match="no G that depends on the subject"):
        sg.concordance_td((time, event), curves, **options)


@pytest.mark.parametrize("bad", [lambda t: np.exp(-t), lambda t, *, side: np.exp(-t), lambda: 1.0])
def test_a_function_that_cannot_be_called_as_g_is_refused(bad):
    time, event, risk, _, curves = draw()
    y = (time, event)
    for ask in (
        lambda: sg.concordance_index(y, risk, method="uno", censoring=bad),
        lambda: sg.concordance_td(y, curves, method="ipcw", censoring=bad),
        lambda: sg.brier_score(y, curves, [3.0], censoring=bad),
        lambda: sg.cumulative_dynamic_auc(y, risk, [3.0], censoring=bad),
        lambda: sg.mae(y, curves, method="ipcw_d", censoring=bad),
        lambda: sg.evaluate({"m": curves}, y, censoring=bad),
    ):
        with pytest.raises(sg.InputError, match=r"G\(t, side\): it is called with t, an array"):
            ask()


def test_a_tiny_g_is_none():
    """Events that hardly anybody could see do not turn into infinite weights or leaked warnings."""
    time, event, risk, _, curves = draw()
    y = (time, event)

    def tiny(t, side):
        return np.where(t > 6, 1e-200, 0.5)

    def zero(t, side):
        return np.where(t > 6, 0.0, 0.5)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (
            lambda g: sg.concordance_index(y, risk, method="uno", censoring=g),
            lambda g: sg.concordance_td(y, curves, method="ipcw", censoring=g),
            lambda g: sg.time_error(
                y, curves, method="ipcw_d", convention=sg.Convention(censoring=g)
            ),
            lambda g: sg.time_error(
                y, curves, method="ipcw_d", loss="squared", convention=sg.Convention(censoring=g)
            ),
            lambda g: sg.brier_score(y, curves, [3.0], censoring=g).details,
        ):
            one, two = ask(tiny), ask(zero)
            assert one.value == two.value
            assert one.stderr == two.stderr
            assert np.isfinite([one.value, one.stderr]).all()
        rare = sg.Convention(censoring=tiny)
        lost = sg.time_error(y, curves, method="ipcw_d", convention=rare).support["notes"]
        assert lost == {"excluded: events with G(t-) = 0": int((event & (time > 6)).sum())}
