"""Concordance at its edges: digits of margin times, what is refused, and what results say."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.concordance import _twelve_digits

TIME = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
EVENT = np.array([1, 1, 0, 1, 1, 0], dtype=bool)
GRID = np.array([0.0, 3.0, 6.0])
SURVIVAL = np.array(
    [[1, 0.4, 0.1], [1, 0.5, 0.2], [1, 0.9, 0.3], [1, 0.6, 0.5], [1, 0.8, 0.4], [1, 0.7, 0.6]]
)


def test_margin_times_are_rounded_to_twelve_digits():
    values = np.array([1 + 4e-12, 1 + 6e-12, 123 + 4e-10, 123 + 6e-10, 0.05 + 4e-14, 0.05 + 6e-14])
    wanted = [1.0, 1 + 1e-11, 123.0, 123 + 1e-9, 0.05, 0.05 + 1e-13]
    np.testing.assert_allclose(_twelve_digits(values), wanted, rtol=1e-15)
    # Where the power of ten is infinite or zero, numbers stay as they are.
    kept = np.array([0.0, 5e-324, 1e-305, np.inf])
    np.testing.assert_array_equal(_twelve_digits(kept), kept)
    # No warning of NumPy leaks from the smallest times that are accepted.
    y = (np.array([1.0, 2.0, 3.0]) * 1e-60, [1, 0, 1])
    assert sg.concordance_index(y, [3.0, 2.0, 1.0], method="margin") == 1.0


@pytest.mark.parametrize("n", range(3, 30))
def test_a_perfect_order_of_weighted_pairs_is_one_and_not_more(n):
    rng = np.random.default_rng(n)
    time, event = 1.0 + rng.permutation(n), rng.random(n) < 0.6
    event[time.argmin()] = True
    margin = sg.surrogate_times((time, event), method="margin").time
    order = np.where(event, time, np.maximum(margin, np.nextafter(time, np.inf)))
    for risk, wanted in ((-order, 1.0), (order, 0.0)):
        found = sg.concordance_index((time, event), risk, method="margin")
        assert 0.0 <= found <= 1.0
        assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("preset", [None, "survivaleval"])
def test_margin_says_how_it_was_made(preset):
    risk = np.array([6.0, 4.0, 5.0, 3.0, 1.0, 2.0])
    train = ([1.0, 2.5, 3.5, 7.0], [1, 1, 0, 1])
    options = {"method": "margin", "convention": preset}
    found = sg.concordance_index((TIME, EVENT), risk, y_train=train, **options)
    assert found.support["censored"] == 2
    assert found.convention["reference"] == "training outcomes"
    assert found.convention["area"] == ("step" if preset is None else "trapezoid")
    words = "product of confidences" + ("" if preset is None else ", 1 where the order was seen")
    assert found.convention["pairs"] == words
    own = sg.concordance_index((TIME, EVENT), risk, **options)
    assert own.convention["reference"] == "test outcomes"
    with pytest.raises(sg.UndefinedMetricError, match="needs events in the reference set"):
        sg.concordance_index((TIME, EVENT), risk, y_train=([1.0, 2.0], [0, 0]), **options)


@pytest.mark.parametrize("ties", ["risk", "all", "none", "strict"])
@pytest.mark.parametrize("tau", [None, 4.0])
def test_survivalevals_margin_pairs_weigh_one_where_the_order_was_seen(ties, tau):
    rng = np.random.default_rng(8)
    n = 25
    time, event = np.ceil(rng.exponential(4, n)), rng.random(n) < 0.6
    risk, weight = np.ceil(rng.exponential(3, n)), rng.integers(1, 4, n).astype(float)
    y = sg.Outcomes(time, event, weight)
    found = sg.concordance_index(
        y, risk, method="margin", ties=ties, tau=tau, convention="survivaleval"
    )
    margin = sg.surrogate_times(y, method="margin", area="trapezoid")
    best = np.where(event, time, np.maximum(margin.time, np.nextafter(time, np.inf)))
    ahead = total = 0.0

    def add(pair, i, j):
        nonlocal ahead, total
        level = risk[i] == risk[j]
        if level and ties == "none":
            return
        total += pair
        ahead += pair * (risk[i] > risk[j] or (level and ties != "strict") * 0.5)

    for i in range(n):
        for j in range(n):
            confidence = margin.weight[i] * margin.weight[j]
            both = weight[i] * weight[j]
            starts = tau is None or best[i] < tau
            if starts and best[i] < best[j]:
                add(both * confidence, i, j)
            if ties == "all" and starts and best[i] == best[j]:
                copies = both if i != j else weight[i] * (weight[i] - 1)
                total += copies * confidence / 2
                ahead += copies * confidence / 4
            seen = event[i] and (tau is None or time[i] < tau)
            if seen and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                add(both * (1 - confidence), i, j)
    assert found == pytest.approx(ahead / total, rel=1e-12)


def test_curves_without_an_end_are_read_up_to_their_last_time():
    def curves(last, ends):
        grid = np.array([[0.0, t] for t in last])
        return sg.SurvivalCurves(grid, [[1.0, s] for s in ends], tail="nan")

    last = [5.0, 5.0, 5.0, 6.0, 7.0, 7.0]
    ends = [0.1, 0.2, 0.3, 0.35, 0.4, 0.6]
    # The last event is at 5, where all curves still speak.
    assert sg.concordance_td((TIME, EVENT), curves(last, ends)) == 1.0
    early = [4.5, *last[1:]]
    with pytest.raises(
        sg.UndefinedMetricError, match=r"past 4\.5 \(tail 'nan'\), where 1 events lie"
    ):
        sg.concordance_td((TIME, EVENT), curves(early, ends))
    # A curve that has come to zero says all; and who is absent is not asked.
    assert sg.concordance_td((TIME, EVENT), curves(early, [0.0, *ends[1:]])) == 1.0
    absent = sg.Outcomes(TIME, EVENT, [1, 1, 1, 1, 0, 1])
    assert sg.concordance_td(absent, curves(early, ends)) == 1.0
    little = sg.Outcomes(TIME, EVENT, [1, 1, 1, 1, 0.5, 1])
    with pytest.raises(sg.UndefinedMetricError, match="where 1 events lie"):
        sg.concordance_td(little, curves(early, ends))


def test_events_past_the_curves_are_counted():
    y = sg.Outcomes(TIME, EVENT, [1.0, 2.0, 1.0, 1.0, 4.0, 1.0])
    curves = sg.SurvivalCurves(np.array([0.0, 2.0, 4.0]), SURVIVAL)
    found = sg.concordance_td(y, curves)
    assert found.support["events_past_curves"] == 1  # at 5; that at 4 is not past
    assert found.support["past_curve"] == pytest.approx(4 / 8)
    assert found.convention["interpolation"] == "linear"
    assert found.convention["curve_tail"] == "linear"
    until = sg.concordance_td(y, curves, tau=5.0)
    assert until.support["events_past_curves"] == 0
    assert until.support["past_curve"] == 0.0


def test_pycox_holds_the_first_and_the_last_value():
    grid = np.array([2.0, 3.0, 4.0])
    values = SURVIVAL[:, [0, 1, 2]] * np.array([0.9, 1.0, 1.0])
    found = sg.concordance_td((TIME, EVENT), sg.SurvivalCurves(grid, values), convention="pycox")
    assert found.convention["interpolation"] == "step"
    assert found.convention["curve_tail"] == "hold"
    assert found.convention["ties"] == "strict"

    def at(i, t):
        return values[i, max(np.searchsorted(grid, t, "right") - 1, 0)]

    ahead = total = 0
    for i in np.flatnonzero(EVENT):
        for j in range(6):
            if TIME[i] < TIME[j]:
                total += 1
                ahead += at(i, TIME[i]) < at(j, TIME[i])
    assert 0 < ahead < total
    assert found.value == pytest.approx(ahead / total)


@pytest.mark.parametrize("tail", ["linear", "exponential", "hold"])
@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_events_past_the_curves_are_compared_on_the_tails(tail, interpolation):
    survival = np.array([[1, 0.5], [1, 0.7], [1, 0.6], [1, 0.45], [1, 0.4], [1, 0.45]])
    # At 5 the straight tails of both who are left have reached zero: a tie.
    curves = sg.SurvivalCurves([0.0, 2.5], survival, interpolation, tail)
    right = wrong = level = 0
    for i in np.flatnonzero(EVENT):
        at = curves.at(TIME[i])
        for k in np.flatnonzero(TIME[i] < TIME):
            right, wrong, level = (
                right + (at[i] < at[k]), wrong + (at[i] > at[k]), level + (at[i] == at[k])
            )  # fmt: skip
    found = sg.concordance_td((TIME, EVENT), curves)
    assert found == pytest.approx((right + level / 2) / (right + wrong + level))
