"""Pair counting against a quadratic oracle, R's survival::concordance and other packages."""

import numpy as np
import pytest
from discrimination_data import (
    concordance_by_rule,
    concordance_of,
    influence_of,
    same_time_pairs,
    stderr_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import survgauge as sg
from survgauge.metrics.ranking import _pairs
from survgauge.metrics.ranking._pairs import inversions, pair_counts, sum_pairs


def comparable_matrix(time, event):
    earlier = time[:, None] < time
    same = time[:, None] == time
    return event[:, None] & (earlier | (same & ~event))


def oracle(time, event, risk, a, w):
    """Anchor and comparator counts (comparable, concordant, tied), from the formula."""
    pairs = comparable_matrix(time, event)
    kinds = pairs, pairs & (risk[:, None] > risk), pairs & (risk[:, None] == risk)
    return [kind @ w for kind in kinds], [(a * w) @ kind for kind in kinds]


def made(n=60):
    """Tied outcomes and risks by arithmetic, so that R can make the same."""
    i = np.arange(n)
    time = 1.0 + (7 * i * i + 3 * i) % 13
    event = (i * i + i // 3) % 5 != 1
    return time, event, ((11 * i + 5 * i * i) % 17) / 4, 1.0 + i % 3


@st.composite
def samples(draw, max_size=70):
    """Outcomes and risks with few or many distinct values, and both kinds of weights."""
    n = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = st.sampled_from([1, 2, 5, 1_000_000])
    time = rng.integers(0, draw(levels), n) / 4
    risk = rng.integers(-3, draw(levels), n) / 8
    event = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    return time, event, risk, rng.uniform(0.5, 3, n), rng.integers(0, 4, n).astype(float)


def check(counts, expected, exact=True):
    for role, parts in zip((counts.anchor, counts.comparator), expected, strict=True):
        for found, wanted in zip(role, parts, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=0 if exact else 1e-9)


class TestCounts:
    @given(samples())
    def test_unweighted_counts_are_exact(self, sample):
        time, event, risk, _, _ = sample
        ones = np.ones(time.size)
        counts = pair_counts(time, event, risk)
        check(counts, oracle(time, event, risk, ones, ones))
        assert counts.anchor.concordant.dtype.kind == "i"
        assert counts.comparator.concordant.dtype.kind == "i"

    @given(samples())
    def test_weighted_counts(self, sample):
        time, event, risk, a, w = sample
        counts = pair_counts(time, event, risk, anchor_weight=a, weight=w)
        check(counts, oracle(time, event, risk, a, w), exact=False)
        check(
            pair_counts(time, event, risk, weight=w),
            oracle(time, event, risk, np.ones_like(w), w),
        )

    @pytest.mark.parametrize("n", [15, 16, 17, 31, 32, 33, 500, 1024, 1025])
    def test_every_padding(self, n):
        rng = np.random.default_rng(n)
        time, risk, ones = rng.integers(0, n, n) / 3, rng.integers(0, n, n) / 7, np.ones(n)
        event = rng.random(n) < 0.6
        check(pair_counts(time, event, risk), oracle(time, event, risk, ones, ones))

    def test_zero_anchor_weight_keeps_the_subject_as_a_comparator(self):
        time, event, risk, _ = made()
        a = (time < 7).astype(float)
        counts = pair_counts(time, event, risk, anchor_weight=a)
        pairs = comparable_matrix(time, event) & (time < 7)[:, None]
        assert counts.totals().comparable == pairs.sum()

    def test_infinite_risks_and_signed_zeros(self):
        time, event = np.arange(4.0), np.ones(4, dtype=bool)
        counts = pair_counts(time, event, np.array([np.inf, 0.0, -0.0, -np.inf]))
        assert counts.totals() == (6, 5, 0, 1)

    @pytest.mark.parametrize("threads", ["1", "2"])
    @pytest.mark.parametrize("n", [1, 33, 64, 100, 257])
    def test_large_nodes_are_split_in_pieces(self, monkeypatch, n, threads):
        """As a million subjects are: nodes that do not fit the cache, some pieces and odd ends."""
        monkeypatch.setenv("SURVGAUGE_THREADS", threads)
        monkeypatch.setattr(_pairs, "_NODE_BITS", 1)
        rng = np.random.default_rng(n)
        rank = rng.permutation(n).astype(np.int32)
        left, right = rng.uniform(size=n), rng.uniform(size=n)
        before = np.arange(n)[:, None] < np.arange(n)
        inverted = before & (rank[:, None] > rank)
        later, earlier = inversions(rank, left, right)
        np.testing.assert_allclose(later, inverted @ right, atol=1e-12)
        np.testing.assert_allclose(earlier, left @ inverted, atol=1e-12)
        later, earlier = inversions(rank, left > 0.5, None)
        np.testing.assert_array_equal(later, inverted.sum(axis=1))
        np.testing.assert_array_equal(earlier, (left > 0.5) @ inverted.astype(int))

    @pytest.mark.parametrize("n", range(2, 20))
    @pytest.mark.parametrize("weighted", [False, True])
    def test_inversions_of_few_elements(self, n, weighted):
        # Up to 16 elements are one leaf, whose sums share their memory with the results; NumPy
        # before 2 does not notice when an assignment by index overwrites what it still has to read.
        rank = np.arange(n, dtype=np.int32)[::-1].copy()
        left = right = np.linspace(1.0, 2.0, n) if weighted else None
        later, earlier = inversions(rank, np.ones(n, dtype=bool) if left is None else left, right)
        w = np.ones(n) if right is None else right
        np.testing.assert_allclose(later, w.sum() - np.cumsum(w), atol=1e-12)
        np.testing.assert_allclose(earlier, np.cumsum(w) - w, atol=1e-12)

    def test_inversions_of_one_element(self):
        later, earlier = inversions(np.zeros(1, dtype=np.int32), np.ones(1, dtype=bool), None)
        assert later.tolist() == [0]
        assert earlier.tolist() == [0]


class TestValue:
    @given(samples())
    def test_sign_reversal_gives_the_complement(self, sample):
        time, event, risk, a, w = sample
        for options in ({}, {"anchor_weight": a}, {"anchor_weight": a, "weight": w}):
            c = concordance_of(pair_counts(time, event, risk, **options))
            reverse = concordance_of(pair_counts(time, event, -risk, **options))
            if np.isnan(c):
                assert np.isnan(reverse)
            else:
                ulps = 1 if "weight" not in options else 50
                assert abs(reverse - (1 - c)) <= ulps * np.finfo(float).eps / 2

    @given(samples())
    def test_without_roles_of_comparators(self, sample):
        time, event, risk, a, _ = sample
        fast = pair_counts(time, event, risk, anchor_weight=a, comparators=False)
        assert fast.totals() == pair_counts(time, event, risk, anchor_weight=a).totals()
        assert fast.comparator is None
        assert sum_pairs(fast, "risk").influence is None

    def test_all_censored_has_no_pair(self):
        time, event, risk, _ = made()
        counts = pair_counts(time, np.zeros_like(event), risk)
        assert counts.totals() == (0, 0, 0, 0)

    def test_nobody_makes_no_pair(self):
        nobody = np.empty(0)
        counts = pair_counts(nobody, nobody.astype(bool), nobody)
        assert counts.totals() == (0, 0, 0, 0)
        y = sg.IntervalOutcomes([0, 1], [np.inf, np.inf])
        with pytest.raises(sg.UndefinedMetricError, match="no pair of the 2 subjects"):
            sg.concordance_index(y, [1, 2])

    @pytest.mark.parametrize(("sign", "value"), [(-1, 1.0), (1, 0.0)])
    def test_perfect_and_reversed_prediction(self, sign, value):
        time, event, _, a = made()
        # Subjects censored at the time of an event outlive it: their risk has to be lower.
        risk = sign * (time + 0.5 * ~event)
        assert concordance_of(pair_counts(time, event, risk)) == value
        assert concordance_of(pair_counts(time, event, risk, anchor_weight=a / 3)) == value

    def test_strict_ties(self):
        time, event, risk, _ = made()
        counts = pair_counts(time, event, risk)
        totals = counts.totals()
        share = totals.concordant / totals.comparable
        assert sum_pairs(counts, "strict").value == pytest.approx(share, abs=1e-15)


class TestInfluence:
    @settings(max_examples=30)
    @given(samples(max_size=25))
    def test_is_the_derivative_in_the_frequency(self, sample):
        time, event, risk, a, w = sample
        w = w + 0.5
        counts = pair_counts(time, event, risk, anchor_weight=a, weight=w)
        if not counts.totals().comparable > 0:
            return
        step = 1e-6
        for i in range(time.size):
            up, down = w.copy(), w.copy()
            up[i] += step
            down[i] -= step
            slope = (
                concordance_of(pair_counts(time, event, risk, anchor_weight=a, weight=up))
                - concordance_of(pair_counts(time, event, risk, anchor_weight=a, weight=down))
            ) / (2 * step)
            assert influence_of(counts)[i] == pytest.approx(slope, abs=1e-7)

    @given(samples())
    def test_whole_weights_equal_repeated_rows(self, sample):
        time, event, risk, a, w = sample
        rows = np.repeat(np.arange(time.size), w.astype(int))
        weighted = pair_counts(time, event, risk, anchor_weight=a, weight=w)
        repeated = pair_counts(time[rows], event[rows], risk[rows], anchor_weight=a[rows])
        np.testing.assert_allclose(weighted.totals(), repeated.totals(), rtol=1e-12)
        if repeated.totals().comparable > 0:
            np.testing.assert_allclose(
                influence_of(weighted)[rows], influence_of(repeated), atol=1e-12
            )
            assert stderr_of(weighted) == pytest.approx(stderr_of(repeated), abs=1e-12)

    def test_approximates_leaving_one_out(self):
        rng = np.random.default_rng(0)
        time, risk = rng.exponential(size=400), rng.normal(size=400)
        event = rng.random(400) < 0.7
        counts = pair_counts(time, event, risk)
        contributions = influence_of(counts)
        for i in range(0, 400, 40):
            keep = np.arange(400) != i
            without = concordance_of(pair_counts(time[keep], event[keep], risk[keep]))
            assert concordance_of(counts) - without == pytest.approx(
                contributions[i], abs=0.02 * np.abs(contributions).max()
            )

    def test_sums_to_zero(self):
        time, event, risk, w = made()
        counts = pair_counts(time, event, risk, weight=w, anchor_weight=w / 2)
        assert np.dot(w, influence_of(counts)) == pytest.approx(0, abs=1e-14)


class TestReferences:
    """R 4.2.2, survival 3.5-3, on i <- 0:59 and the arithmetic of `made`.

    f <- concordance(Surv(time, event) ~ risk, d, reverse=TRUE, influence=1)
    f$count; f$concordance; sqrt(f$var); f$dfbeta
    """

    def test_harrell(self):
        time, event, risk, _ = made()
        counts = pair_counts(time, event, risk)
        assert counts.totals() == (1198, 319, 765, 114)
        assert concordance_of(counts) == pytest.approx(0.313856427378965, abs=1e-14)
        assert stderr_of(counts) == pytest.approx(0.0481066928264974, abs=1e-14)
        dfbeta = [-0.01164294413895168, -0.00985783205732425, -0.00276267345966148]
        np.testing.assert_allclose(influence_of(counts)[:3], dfbeta, atol=1e-14)

    def test_repeated_rows(self):
        # d[rep(1:60, d$w), ]
        time, event, risk, w = made()
        counts = pair_counts(time, event, risk, weight=w)
        assert counts.totals() == (4408, 1188, 2804, 416)
        assert stderr_of(counts) == pytest.approx(0.0370866389796197, abs=1e-14)

    def test_uno(self):
        # concordance(..., timewt="n/G2"): the same value and the same standard error
        time, event, risk, _ = made()
        left, survivors = np.ones(time.size), 1.0
        for t in np.unique(time):
            left[time == t] = survivors
            lost = np.sum((time == t) & ~event)
            at_risk = np.sum(time >= t) - np.sum((time == t) & event)
            survivors *= 1 - lost / at_risk if at_risk else 1
        counts = pair_counts(time, event, risk, anchor_weight=left**-2)
        assert concordance_of(counts) == pytest.approx(0.321996294835743, abs=1e-14)
        assert stderr_of(counts) == pytest.approx(0.0485021510283473, abs=1e-14)

    @pytest.mark.parametrize(
        ("rule", "value"),
        [
            ("none", 319 / 1084),
            ("risk", 376 / 1198),
            ("time", 384.5 / 1215),
            ("all", 441.5 / 1329),
        ],
    )
    def test_tie_rules_of_survivaleval(self, rule, value):
        # SurvivalEVAL 0.9.0: PointEvaluator(20 - risk, time, event).concordance(ties=rule)
        time, event, risk, _ = made()
        totals, same = pair_counts(time, event, risk).totals(), same_time_pairs(time, event, risk)
        assert same.events == 131
        assert same.events_tied == 20
        assert concordance_by_rule(totals, same, rule) == pytest.approx(value, abs=1e-15)


class TestSameTime:
    def test_no_pair_at_all(self):
        totals = pair_counts(np.ones(2), np.zeros(2, bool), np.ones(2)).totals()
        same = same_time_pairs(np.ones(2), np.zeros(2, bool), np.ones(2))
        assert np.isnan(concordance_by_rule(totals, same, "adjusted"))
