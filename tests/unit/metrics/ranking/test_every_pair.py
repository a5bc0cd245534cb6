"""Time-dependent concordance against a quadratic oracle and other packages."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from discrimination_data import (
    concordance_by_rule,
    concordance_of,
    influence_of,
    same_time_pairs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from survgauge import SurvivalCurves
from survgauge.data.interpolation import tail_survival
from survgauge.metrics.ranking import _every_pair
from survgauge.metrics.ranking._every_pair import every_pair_counts
from survgauge.metrics.ranking._pairs import pair_counts


def antolini_counts(time, event, times, survival, interpolation="linear", tail="hold", **options):
    """Count all pairs."""
    curves = SurvivalCurves._trusted(times, survival, interpolation, tail)
    return every_pair_counts(time, event, curves, **options)


def curve_values(times, survival, t, interpolation):
    """S(t | x) of all rows at all t, (n, t): the last value held past the grid."""
    survival = survival.astype(float)
    k = np.searchsorted(times, t, "right") - 1
    left = np.where(k < 0, 1.0, survival[:, np.maximum(k, 0)])
    if interpolation == "step":
        return left
    inside = k + 1 < times.size
    right = survival[:, np.minimum(k + 1, times.size - 1)]
    start = np.where(k < 0, 0.0, times[np.maximum(k, 0)])
    width = np.where(inside, times[np.minimum(k + 1, times.size - 1)] - start, 1.0)
    return left + np.where(inside, right - left, 0.0) * ((t - start) / width)


def oracle(time, event, values, a, w, tolerance=0.0):
    """Anchor and comparator counts; values[j, i] is S(t_i | x_j)."""
    same = time[:, None] == time
    pairs = event[:, None] & ((time[:, None] < time) | (same & ~event))
    own, other = np.diagonal(values)[:, None], values.T
    above = other > own + tolerance
    kinds = pairs, pairs & above, pairs & ~above & (other >= own - tolerance)
    return [kind @ w for kind in kinds], [(a * w) @ kind for kind in kinds]


def check(counts, expected):
    for role, parts in zip((counts.anchor, counts.comparator), expected, strict=True):
        for found, wanted in zip(role, parts, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


@contextmanager
def small_blocks(anchors=3, comparators=7):
    """Shrink all blocks, so that small samples pass through every path."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(_every_pair, "_ANCHORS", anchors))
        stack.enter_context(patch.object(_every_pair, "_COMPARATORS", comparators))
        yield


@st.composite
def samples(draw):
    n, m = draw(st.integers(1, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    times = np.sort(rng.choice(20, m, replace=False)).astype(float)
    time = rng.integers(0, 25, n) * 1.0 if draw(st.booleans()) else rng.uniform(0, 24, n)
    event = rng.random(n) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    survival = -np.sort(-rng.random((n, m)), axis=1)
    kind = draw(st.sampled_from(["plain", "rounded", "copies", "alike", "single", "zero"]))
    if kind == "rounded":
        survival = np.round(survival, 1)
    elif kind == "copies":
        survival = survival[rng.integers(0, min(3, n), n)]
    elif kind == "alike":
        survival = survival[:1] * (1 - 1e-3 * rng.random((n, 1)))
    elif kind == "single":
        survival = survival.astype(np.float32)
    elif kind == "zero":
        survival = np.maximum(survival - 0.6, 0)
    return times, survival, time, event, rng.uniform(0.5, 3, n), rng.integers(0, 4, n) * 1.0


interpolations = st.sampled_from(["linear", "step"])


class TestCounts:
    @given(samples(), interpolations, st.booleans())
    def test_shared_grid(self, sample, interpolation, small):
        times, survival, time, event, _, _ = sample
        with small_blocks() if small else ExitStack():
            counts = antolini_counts(time, event, times, survival, interpolation=interpolation)
        ones = np.ones(time.size)
        values = curve_values(times, survival, time, interpolation)
        check(counts, oracle(time, event, values, ones, ones))
        assert {
            part.dtype.kind for role in (counts.anchor, counts.comparator) for part in role
        } == {"i"}

    @given(samples(), interpolations, st.booleans())
    def test_weights(self, sample, interpolation, small):
        times, survival, time, event, a, w = sample
        with small_blocks() if small else ExitStack():
            counts = antolini_counts(
                time,
                event,
                times,
                survival,
                interpolation=interpolation,
                anchor_weight=a,
                weight=w,
            )
        values = curve_values(times, survival, time, interpolation)
        check(counts, oracle(time, event, values, a, w))

    @given(samples(), interpolations, st.sampled_from([1e-9, 0.01, 0.3]), st.booleans())
    def test_tolerance(self, sample, interpolation, tolerance, small):
        times, survival, time, event, _, _ = sample
        with small_blocks() if small else ExitStack():
            counts = antolini_counts(
                time, event, times, survival, interpolation=interpolation, tolerance=tolerance
            )
        ones = np.ones(time.size)
        values = curve_values(times, survival, time, interpolation)
        check(counts, oracle(time, event, values, ones, ones, tolerance))

    @settings(max_examples=50)
    @given(samples(), st.sampled_from(["linear", "step", "pchip"]), st.booleans())
    def test_curves_that_are_read_pair_by_pair(self, sample, interpolation, own_grids):
        times, survival, time, event, a, w = sample
        if own_grids:
            times = np.tile(times, (time.size, 1)) + np.linspace(0, 0.5, time.size)[:, None]
        curves = SurvivalCurves._trusted(times, survival, interpolation, "linear")
        with small_blocks():
            counts = every_pair_counts(
                time, event, curves, anchor_weight=a, weight=w, tolerance=1e-14
            )
        values = curves.at(time)
        check(counts, oracle(time, event, values, a, w, 1e-14))

    @settings(max_examples=50)
    @given(samples(), interpolations, st.sampled_from(["linear", "exponential", "hold"]))
    def test_tails(self, sample, interpolation, tail):
        times, survival, time, event, _, _ = sample
        times = times + 1.0
        with small_blocks():
            counts = antolini_counts(time, event, times, survival, interpolation, tail)
        values = curve_values(times, survival, time, interpolation)
        past = time > times[-1]
        if tail != "hold":
            ends = survival[:, -1].astype(float)[:, None]
            values[:, past] = tail_survival(time[past], times[-1:], ends, tail)
        ones = np.ones(time.size)
        check(counts, oracle(time, event, values, ones, ones))

    @given(samples())
    def test_rows_name_the_curves(self, sample):
        times, survival, time, event, a, w = sample
        rows = np.random.default_rng(2).integers(0, time.size, time.size)
        counts = antolini_counts(time, event, times, survival, anchor_weight=a, weight=w, rows=rows)
        again = antolini_counts(time, event, times, survival[rows], anchor_weight=a, weight=w)
        for role, other in ((counts.anchor, again.anchor), (counts.comparator, again.comparator)):
            np.testing.assert_array_equal(role, other)

    @pytest.mark.parametrize("kind", ["hazards", "crossing", "alike", "copies", "late"])
    @pytest.mark.parametrize("ties", [False, True])
    def test_samples_that_fill_whole_blocks(self, kind, ties):
        rng = np.random.default_rng(3)
        n = 2600
        time = rng.exponential(5, n)
        time = np.ceil(time) if ties else time
        event = rng.random(n) < 0.6
        times = np.array([0.0, 2.0, 4.0, 8.0, 30.0])
        rate = np.exp(rng.normal(size=(n, 1)))
        survival = np.exp(-0.1 * rate * times)
        if kind == "crossing":
            survival = -np.sort(-rng.random((n, 5)), axis=1)
        elif kind == "alike":
            survival = np.exp(-0.1 * times) ** (1 + 1e-4 * rng.normal(size=(n, 1)))
        elif kind == "copies":
            survival = survival[rng.integers(0, 4, n)]
        elif kind == "late":  # values that vanish, and no grid point before most events
            times, survival = np.array([20.0, 30.0]), np.exp(-rate * [60.0, 200.0])
        values = curve_values(times, survival, time, "linear")
        counts = antolini_counts(time, event, times, survival)
        check(counts, oracle(time, event, values, np.ones(n), np.ones(n)))

    def test_value_before_the_grid(self):
        time, event = np.array([1.0, 2.0]), np.array([True, False])
        times, survival = np.array([4.0]), np.array([[0.1], [0.3]])
        held = antolini_counts(time, event, times, survival, interpolation="step")
        assert held.totals() == (1, 0, 0, 1)
        assert antolini_counts(time, event, times, survival).totals() == (1, 1, 0, 0)


class TestProperties:
    @given(samples())
    def test_whole_weights_equal_repeated_rows(self, sample):
        times, survival, time, event, a, w = sample
        w[0] = 2  # empty samples never get here
        rows = np.repeat(np.arange(time.size), w.astype(int))
        weighted = antolini_counts(time, event, times, survival, anchor_weight=a, weight=w)
        repeated = antolini_counts(
            time[rows], event[rows], times, survival[rows], anchor_weight=a[rows]
        )
        np.testing.assert_allclose(weighted.totals(), repeated.totals(), rtol=1e-12)
        if repeated.totals().comparable > 0:
            np.testing.assert_allclose(
                influence_of(weighted)[rows], influence_of(repeated), atol=1e-12
            )

    @given(samples(), interpolations)
    def test_order_of_subjects_does_not_matter(self, sample, interpolation):
        times, survival, time, event, _, _ = sample
        shuffled = np.random.default_rng(1).permutation(time.size)
        counts = antolini_counts(time, event, times, survival, interpolation=interpolation)
        again = antolini_counts(
            time[shuffled], event[shuffled], times, survival[shuffled], interpolation=interpolation
        )
        np.testing.assert_array_equal(counts.anchor.concordant[shuffled], again.anchor.concordant)

    def test_proportional_hazards_give_harrell(self):
        rng = np.random.default_rng(5)
        n = 600
        time, risk = np.ceil(rng.exponential(10, n)), np.round(rng.normal(size=n), 1)
        event = rng.random(n) < 0.6
        times = np.arange(0.0, 101.0)
        survival = np.exp(-0.01 * np.exp(risk)[:, None] * times)
        counts = antolini_counts(time, event, times, survival)
        harrell = pair_counts(time, event, risk)
        assert counts.totals() == harrell.totals()
        np.testing.assert_array_equal(influence_of(counts), influence_of(harrell))

    def test_equal_curves_give_one_half(self):
        rng = np.random.default_rng(6)
        time, event = rng.exponential(10, 300), rng.random(300) < 0.6
        times = np.linspace(0, 40, 9)
        survival = np.tile(np.exp(-0.1 * times), (300, 1))
        counts = antolini_counts(time, event, times, survival)
        assert concordance_of(counts) == 0.5
        assert counts.totals().tied == counts.totals().comparable

    def test_zero_anchor_weight_skips_an_anchor(self):
        rng = np.random.default_rng(7)
        time, event = rng.exponential(10, 200), rng.random(200) < 0.6
        times, survival = np.array([5.0, 50.0]), -np.sort(-rng.random((200, 2)), axis=1)
        a = (time < 8) * 1.0
        counts = antolini_counts(time, event, times, survival, anchor_weight=a)
        early = antolini_counts(time, event & (time < 8), times, survival)
        # A later event is a comparator all the same, exactly like a censored subject.
        assert counts.totals() == early.totals()
        assert counts.anchor.comparable[time >= 8].sum() == 0


class TestReferences:
    """Data by arithmetic; expected values from black-box calls of the packages named."""

    @staticmethod
    def made():
        i = np.arange(60)
        time = 1.0 + (7 * i * i + 3 * i) % 13
        event = (i * i + i // 3) % 5 != 1
        times = np.array([0.0, 2.0, 5.0, 9.0, 13.0])
        rate, shape = (1 + (5 * i) % 7) / 40, 0.5 + (i % 4) / 3
        return time, event, times, np.round(np.exp(-rate[:, None] * times ** shape[:, None]), 2)

    def by_rule(self, rule, interpolation, tolerance=0.0):
        time, event, times, survival = self.made()
        counts = antolini_counts(
            time, event, times, survival, interpolation=interpolation, tolerance=tolerance
        )
        own = np.diagonal(curve_values(times, survival, time, interpolation))
        return concordance_by_rule(counts.totals(), same_time_pairs(time, event, -own), rule)

    @pytest.mark.parametrize(
        ("rule", "value"), [("strict", 0.32303839732888145), ("adjusted", 0.4845758354755784)]
    )
    def test_pycox(self, rule, value):
        # pycox 0.3.0: EvalSurv(DataFrame(survival.T, times), time, event).concordance_td(method)
        # with method "antolini" and "adj_antolini"
        assert self.by_rule(rule, "step") == pytest.approx(value, abs=1e-14)

    @pytest.mark.parametrize(
        ("rule", "value"),
        [
            ("none", 546 / 1156),
            ("risk", 567 / 1198),
            ("time", 611.5 / 1287),
            ("all", 632.5 / 1329),
        ],
    )
    def test_survivaleval(self, rule, value):
        # SurvivalEVAL 0.9.0: SurvivalEvaluator(survival, times, time, event, time, event)
        # .concordance_time_dependent(ties=rule); values within 1e-8 tie there
        assert self.by_rule(rule, "linear", tolerance=1e-8) == pytest.approx(value, abs=1e-14)
