"""The meta-evaluation's functions against loops, SciPy and the published spreadsheet."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from survgauge.bench.experiment import meta
from survgauge.bench.experiment.panels import next_best, paired_t, wilcoxon

SMALL = arrays(np.float64, (6, 3), elements=st.integers(0, 5).map(float))
COLUMN = arrays(np.float64, (7,), elements=st.integers(-4, 4).map(float))


def naive_tau_b(x: np.ndarray, y: np.ndarray) -> float:
    agree = ties_x = ties_y = 0
    pairs = list(combinations(range(x.size), 2))
    for a, b in pairs:
        sx, sy = np.sign(x[a] - x[b]), np.sign(y[a] - y[b])
        agree += sx * sy
        ties_x += sx == 0
        ties_y += sy == 0
    scale = np.sqrt((len(pairs) - ties_x) * (len(pairs) - ties_y))
    return 0.0 if scale == 0 else float(agree / scale)


@given(SMALL, SMALL)
def test_kendall_tau_is_the_loop_over_pairs(values, truth):
    expected = [naive_tau_b(values[:, k], truth[:, k]) for k in range(3)]
    assert meta.kendall_tau(values, truth) == pytest.approx(expected)


@given(SMALL, SMALL)
def test_proximity_is_the_mean_distance(values, truth):
    expected = [sum(abs(values[i, k] - truth[i, k]) for i in range(6)) / 6 for k in range(3)]
    assert meta.proximity(values, truth) == pytest.approx(expected)
    assert (np.abs(meta.bias(values, truth)) <= meta.proximity(values, truth) + 1e-12).all()


@given(SMALL, st.integers(1, 6))
def test_top_shares_fill_exactly_k_places(values, k):
    shares = meta.top_shares(values, k=k)
    assert shares.sum(axis=0) == pytest.approx([k] * 3)
    # Whoever is strictly better belongs at least as much.
    for column in range(3):
        order = np.argsort(values[:, column], kind="stable")
        assert (np.diff(shares[order, column]) <= 1e-12).all()


@given(SMALL, SMALL, st.permutations(range(6)))
def test_answers_do_not_depend_on_the_order_of_the_models(values, truth, order):
    for function in (meta.top_overlap, meta.top_order):
        assert function(values[order], truth[order]) == pytest.approx(function(values, truth))


def test_without_ties_the_overlap_is_that_of_sets():
    rng = np.random.default_rng(3)
    for _ in range(50):
        values, truth = rng.permutation(9.0 * np.arange(9)), rng.permutation(9)
        sets = set(np.argsort(values)[:3]) & set(np.argsort(truth)[:3])
        assert meta.top_overlap(values[:, None], truth[:, None])[0] == len(sets)


def test_higher_is_better_turns_the_order_around():
    values = np.array([[0.9], [0.8], [0.2], [0.1]])
    assert meta.top_shares(values, lower=False, k=1).ravel().tolist() == [1, 0, 0, 0]
    assert meta.ranks(values, lower=np.array([False])).ravel().tolist() == [1, 2, 3, 4]


def test_a_metric_without_a_value_has_no_answer_and_cannot_win():
    values = np.array([[1.0, np.nan], [2.0, 2.0], [3.0, 3.0]])
    truth = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    for function in (meta.proximity, meta.kendall_tau, meta.top_overlap, meta.top_order):
        answer = function(values, truth)
        assert np.isfinite(answer[0])
        assert np.isnan(answer[1])
    overlap, near = meta.top_overlap(values, truth), meta.proximity(values, truth)
    assert meta.winners(overlap, near).tolist() == [True, False]


@pytest.mark.parametrize(
    ("overlap", "distance", "expected"),
    [
        ([2, 3, 3], [0.1, 9.0, 8.0], [False, False, True]),
        ([3, 3, 1], [4.0, 4.0, 1.0], [True, True, False]),
        ([3, 3], [0.1 + 0.2, 0.3], [True, True]),
        ([np.nan, np.nan], [1.0, 2.0], [False, False]),
    ],
)
def test_winners_by_overlap_then_proximity_with_ties_shared(overlap, distance, expected):
    assert meta.winners(overlap, distance).tolist() == expected


@given(SMALL, SMALL)
def test_replicates_on_a_leading_axis_change_nothing(values, truth):
    stacked = np.stack([values, truth]), np.stack([truth, truth])
    for function in (meta.proximity, meta.kendall_tau, meta.top_overlap, meta.top_order):
        assert np.array_equal(function(*stacked)[0], function(values, truth))


def test_resampled_runs_stay_within_their_repeat():
    weights = meta.resampled_runs([0, 0, 0, 1, 1, 1], np.random.default_rng(0), 400)
    assert weights.sum(axis=1) == pytest.approx(1)
    share = weights[:, :3].sum(axis=1)
    # Two repeats: the first is drawn never, once or twice.
    assert set(np.round(share, 6)) == {0.0, 0.5, 1.0}
    assert weights.mean(axis=0) == pytest.approx(np.full(6, 1 / 6), abs=0.03)


@given(COLUMN)
def test_wilcoxon_is_the_count_over_all_signs(differences):
    d = differences[differences != 0]
    rank = meta.ranks(np.abs(d), axis=0)
    sums = [
        sum(r for r, up in zip(rank, signs, strict=True) if up)
        for signs in product((0, 1), repeat=d.size)
    ]
    seen = rank[d > 0].sum()
    low = np.mean([s <= seen for s in sums])
    high = np.mean([s >= seen for s in sums])
    assert wilcoxon(differences) == pytest.approx(min(1.0, 2 * min(low, high)))


def test_tests_agree_with_scipy():
    from scipy import stats

    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 12))
    assert paired_t(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert wilcoxon(a - b) == pytest.approx(stats.wilcoxon(a - b).pvalue)


def test_next_best_follows_in_proximity():
    assert next_best(np.array([2.0, 1.0, 3.0])) == [2, 0, None]
