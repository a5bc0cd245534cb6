"""Aalen-Johansen against plain loops, and the rules that it obeys."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def draw(seed, n=60, ties=True, weight=False):
    rng = np.random.default_rng(seed)
    time = rng.exponential(5, n)
    if ties:
        time = np.ceil(time)
    counts = rng.integers(0, 4, n).astype(float) if weight else None
    return sg.Outcomes(time, rng.integers(0, 3, n), counts, causes=["a", "b"])


def naive(time, cause, weight, t, k):
    """Incidence of cause k at t, one time after the other."""
    survival, total = 1.0, 0.0
    for u in sorted(set(time.tolist())):
        if u > t:
            break
        at_risk = weight[time >= u].sum()
        if at_risk == 0:
            break
        here = time == u
        total += survival * weight[here & (cause == k)].sum() / at_risk
        survival *= 1 - weight[here & (cause > 0)].sum() / at_risk
    return total


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [False, True])
def test_the_estimate_is_that_of_the_loop(seed, weight):
    y = draw(seed, ties=seed % 2 == 0, weight=weight)
    found = sg.AalenJohansen.fit(y)
    for t in [0.0, 0.5, *found.times, 99.0]:
        for k in (1, 2):
            assert found.at(t, k) == pytest.approx(naive(y.time, y.cause, y.weight, t, k))


@pytest.mark.parametrize("variance", ["jackknife", "aalen"])
def test_a_weight_of_two_is_two_rows(variance):
    y = draw(3, weight=True)
    rows = np.repeat(np.arange(len(y)), y.weight.astype(int))
    repeated = sg.Outcomes(y.time[rows], y.cause[rows], causes=y.causes)
    a, b = (sg.AalenJohansen.fit(one, variance) for one in (y, repeated))
    np.testing.assert_allclose(a.incidence, b.incidence, rtol=1e-13)
    np.testing.assert_allclose(a.stderr, b.stderr, rtol=1e-9)
    np.testing.assert_allclose(a.rmtl_stderr(6.0, "a"), b.rmtl_stderr(6.0, "a"), rtol=1e-12)
    np.testing.assert_array_equal(a.at_risk, b.at_risk)


def test_causes_and_survival_add_up():
    y = draw(1)
    found = sg.AalenJohansen.fit(y)
    np.testing.assert_allclose(found.incidence.sum(axis=0) + found.survival, 1.0, rtol=1e-14)
    np.testing.assert_allclose(found.survival, sg.KaplanMeier.fit(y.any_cause()).survival)
    lost = found.rmtl(7.0, "a") + found.rmtl(7.0, "b")
    assert lost + sg.KaplanMeier.fit(y.any_cause()).mean(tau=7.0) == pytest.approx(7.0)


def test_one_cause_is_kaplan_meier():
    y = draw(2).any_cause()
    found, km = sg.AalenJohansen.fit(y), sg.KaplanMeier.fit(y)
    assert found.causes == ("1",)
    np.testing.assert_allclose(found.incidence[0], 1 - km.survival, rtol=1e-13)
    # Greenwood's variance.
    events, at_risk = found.events[0], found.at_risk
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = km.survival**2 * np.cumsum(events / (at_risk * (at_risk - events)))
    inner = km.survival > 0
    np.testing.assert_allclose(found.variance[0][inner], greenwood[inner], rtol=1e-9)


def test_without_censoring_it_counts():
    y = sg.Outcomes([1, 2, 2, 3, 5], [1, 2, 1, 2, 1], causes=["a", "b"])
    found = sg.AalenJohansen.fit(y)
    np.testing.assert_allclose(found.at([1, 2, 5], "a"), [0.2, 0.4, 0.6])
    p = found.incidence
    np.testing.assert_allclose(found.variance, p * (1 - p) / 5, atol=1e-15)


def test_counting_competing_events_as_censored_overstates():
    y = draw(4, n=500, ties=False)
    wrong = 1 - sg.KaplanMeier.fit(y.only("a")).at(8.0)
    assert wrong > sg.AalenJohansen.fit(y).at(8.0, "a") + 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_contributions_are_derivatives(seed):
    y = draw(seed, n=20)
    found, step = sg.AalenJohansen.fit(y), 1e-6
    for i in range(len(y)):
        near = []
        for sign in (1, -1):
            weight = np.ones(len(y))
            weight[i] += sign * step
            near.append(sg.AalenJohansen.fit(y.reweighted(weight)))
        for read, contributions in (
            (lambda aj: aj.at(4.0, "a"), found.contributions(4.0, "a")),
            (lambda aj: aj.rmtl(4.5, "b"), found.rmtl_contributions(4.5, "b")),
        ):
            slope = (read(near[0]) - read(near[1])) / (2 * step)
            assert contributions[i] == pytest.approx(slope, abs=1e-8)
    np.testing.assert_allclose(found.contributions(4.0, "a").sum(), 0.0, atol=1e-15)
    spread = np.sqrt(np.sum(found.contributions(4.0, "a") ** 2))
    assert spread == pytest.approx(found.stderr_at(4.0, "a"))


def test_sides_quantiles_and_words():
    y = sg.Outcomes([1, 2, 3, 4], [1, 2, 0, 1], causes=["a", "b"])
    found = sg.AalenJohansen.fit(y)
    assert found.at(1, "a", side="left") == 0.0
    np.testing.assert_allclose(found.at([0.5, 1.0, 9.0], "a"), [0.0, 0.25, 0.75])
    assert found.quantile(0.5, "a") == 4.0
    assert found.quantile(0.5, "b") == np.inf  # nobody is left
    assert np.isnan(sg.AalenJohansen.fit(y[:3]).quantile(0.9, "a"))
    assert repr(found) == "AalenJohansen(4 times, at 4: a 0.75, b 0.25)"
    curves = found.curves(3)
    assert len(curves) == 3
    np.testing.assert_allclose(curves.at(2.5, "b"), [0.25] * 3)
    np.testing.assert_allclose(curves.rmtl(3.5, "a"), [found.rmtl(3.5, "a")] * 3)
    with pytest.raises(sg.InputError, match="cause must be the code or the name"):
        found.at(1, "c")
    with pytest.raises(sg.InputError, match="variance must be one of"):
        sg.AalenJohansen.fit(y, variance="greenwood")
    with pytest.raises(sg.InputError, match="side must be one of"):
        found.at(1, "a", side="up")


def test_many_subjects_keep_their_digits():
    rng = np.random.default_rng(0)
    y = sg.Outcomes(rng.exponential(5, 200_000), rng.integers(0, 3, 200_000))
    found = sg.AalenJohansen.fit(y)
    contributions = found.contributions(5.0, 1)
    np.testing.assert_allclose(
        found.stderr_at(5.0, 1), np.sqrt(np.sum(contributions**2)), rtol=1e-9
    )
