"""Cumulative/dynamic AUC against double sums written from the definition."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from discrimination_data import tied_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import survgauge as sg
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.metrics.ranking.auc import (
    cumulative_dynamic_auc,
    cumulative_dynamic_auc_details,
)

relaxed = settings(deadline=None)
RISKS = st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 2.0, np.inf])
TIMES = [4.5, 0.0, 2.0, 3.0, 1.0, 7.0]
rows = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=10)


def pair(sample):
    return [float(t) for t, _ in sample], [bool(e) for _, e in sample]


def order(risk, i, j):
    return float(risk[i] > risk[j]) + 0.5 * float(risk[i] == risk[j])


def naive_auc(sample, risk, t, case, control=None, unit=None):
    """Double sum over cases and controls; None without either."""
    n = len(sample)
    control = [1.0] * n if control is None else control
    unit = [1.0] * n if unit is None else unit
    good = total = 0.0
    for i, (t_i, e_i) in enumerate(sample):
        for j, (t_j, _) in enumerate(sample):
            if e_i and t_i <= t < t_j:
                weight = case[i] * control[j] * unit[i] * unit[j]
                good, total = good + weight * order(risk, i, j), total + weight
    return good / total if total > 0 else None


def inverse_g(sample, train):
    left = [float(naive.g_at(train, t, left=True)) for t, _ in sample]
    return [1 / g if g > 0 else 0.0 for g in left]


def last_identified(sample, train):
    """Inside both follow-ups, and before G reaches zero."""
    end = max(t for t, _ in train)
    if naive.g_at(train, end) == 0:
        end -= 1e-9
    return min(end, max(t for t, _ in sample))


@relaxed
@given(rows, rows, st.data())
def test_values_and_mean_are_the_double_sums(sample, train, data):
    assume(max(t for t, _ in train) > 0)  # a reference set that ends before it begins
    risk = np.array(data.draw(st.lists(RISKS, min_size=len(sample), max_size=len(sample))))
    case, end = inverse_g(sample, train), last_identified(sample, train)
    given = {"y_train": pair(train), "censoring": "train"}
    want, good, total, before = {}, 0.0, 0.0, 1.0
    for t in sorted(TIMES):
        value = naive_auc(sample, risk, t, case) if t <= end else None
        if value is not None:
            want[t] = value
            now = float(naive.km_at(sample, t))
            good, total, before = good + value * (before - now), total + before - now, now
    if not want:
        with pytest.raises(UndefinedMetricError, match="have no AUC"):
            cumulative_dynamic_auc(pair(sample), risk, TIMES, **given)
        return
    got = cumulative_dynamic_auc(pair(sample), risk, TIMES, **given)
    np.testing.assert_array_equal(got.times, sorted(want))
    np.testing.assert_allclose(got.values, list(want.values()), atol=1e-13)
    assert got.mean == pytest.approx(good / total, abs=1e-12)
    assert got.stderr is None
    assert got.support["times_left_out"] == len(TIMES) - len(want)


@relaxed
@given(rows, st.data())
def test_reversal_permutation_and_columns(sample, data):
    n = len(sample)
    risk = np.array(data.draw(st.lists(RISKS, min_size=n, max_size=n)))
    y = sg.Outcomes(*pair(sample))
    try:
        plain = cumulative_dynamic_auc(y, risk, TIMES, stderr="fixed")
    except UndefinedMetricError:
        assume(False)
    back = cumulative_dynamic_auc(y, -risk, TIMES, stderr="fixed")
    np.testing.assert_allclose(back.values, 1 - plain.values, atol=1e-14)
    np.testing.assert_allclose(back.stderr, plain.stderr, atol=1e-13)
    index = data.draw(st.permutations(range(n)))
    columns = data.draw(st.permutations(range(len(TIMES))))
    matrix = np.repeat(risk[:, None], len(TIMES), axis=1)[:, columns]
    times = np.array(TIMES)[columns]
    other = cumulative_dynamic_auc(y[index], matrix[index], times, stderr="fixed")
    np.testing.assert_allclose(other.values, plain.values, atol=1e-14)
    assert other.mean == pytest.approx(plain.mean, abs=1e-14)
    np.testing.assert_allclose(
        other.details.contributions, plain.details.contributions[index], atol=1e-13
    )


@relaxed
@given(rows, rows, st.data())
def test_frequencies_are_replicated_rows(sample, train, data):
    n = len(sample)
    risk = np.array(data.draw(st.lists(RISKS, min_size=n, max_size=n)))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    assume(sum(counts) > 1)
    copies = np.repeat(np.arange(n), counts)
    time, event = (np.array(part) for part in pair(sample))
    options = {"y_train": pair(train), "stderr": "fixed", "on_unsupported": "nan"}
    want = cumulative_dynamic_auc((time[copies], event[copies]), risk[copies], TIMES, **options)
    got = cumulative_dynamic_auc(sg.Outcomes(time, event, counts), risk, TIMES, **options)
    # An absent subject may have been the last one observed.
    same = ~np.isnan(want.values)
    np.testing.assert_allclose(got.values[same], want.values[same], atol=1e-13)
    np.testing.assert_allclose(got.stderr[same], want.stderr[same], atol=1e-12)
    if not np.isnan(want.mean):
        assert got.mean == pytest.approx(want.mean, abs=1e-13)
        assert got.details.stderr == pytest.approx(want.details.stderr, abs=1e-12)


@relaxed
@given(rows, st.data())
def test_without_censoring_it_is_the_textbook_auc(sample, data):
    times = [t for t, _ in sample]
    risk = np.array(data.draw(st.lists(RISKS, min_size=len(times), max_size=len(times))))
    y = (times, [1] * len(times))
    result = cumulative_dynamic_auc(y, risk, [2.5], on_unsupported="nan")
    dead, alive = (risk[[t <= 2.5 for t in times]], risk[[t > 2.5 for t in times]])
    if dead.size == 0 or alive.size == 0:
        assert np.isnan(result.mean)
        assert np.isnan(result.values).all()
        return
    wins = (dead[:, None] > alive) + 0.5 * (dead[:, None] == alive)
    assert result.mean == pytest.approx(wins.mean(), abs=1e-14)
    unweighted = cumulative_dynamic_auc(y, risk, [2.5], method="unweighted")
    assert unweighted.mean == pytest.approx(wins.mean(), abs=1e-14)


def test_a_perfect_order_is_one():
    _, test, _, _, _ = tied_case()
    times = np.arange(1, 12)
    result = cumulative_dynamic_auc(test, -test[0], times, stderr="fixed")
    assert (result.values == 1).all()
    assert result.mean == 1
    assert result.details.stderr == 0
    assert not result.support["sign_may_be_wrong"]
    wrong = cumulative_dynamic_auc(test, test[0], times, stderr="fixed")
    assert wrong.mean == 0
    assert wrong.support["sign_may_be_wrong"]


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("times", [np.arange(1, 12.0), np.linspace(0.3, 11.4, 23)])
def test_curves_are_their_risks_at_each_time(interpolation, times):
    train, test, _, grid, survival = tied_case()
    curves = sg.SurvivalCurves(grid, survival, interpolation)
    options = {"y_train": train, "stderr": "fixed"}
    got = cumulative_dynamic_auc(test, curves, times, **options)
    want = cumulative_dynamic_auc(test, -curves.at(times), times, **options)
    np.testing.assert_array_equal(got.values, want.values)
    np.testing.assert_array_equal(got.stderr, want.stderr)
    assert got.convention["interpolation"] == interpolation
    one_by_one = [cumulative_dynamic_auc(test, 1 - curves.at(t), t, **options) for t in got.times]
    np.testing.assert_allclose(got.values, [r.mean for r in one_by_one], atol=1e-14)
    np.testing.assert_allclose(got.stderr, [r.details.stderr for r in one_by_one], atol=1e-14)


def test_own_grids_are_read_like_a_shared_one():
    train, test, _, grid, survival = tied_case()
    shared = sg.SurvivalCurves(grid, survival)
    own = sg.SurvivalCurves(np.tile(grid, (60, 1)), survival)
    times = [2.5, 6, 9]
    a, b = (cumulative_dynamic_auc(test, c, times, y_train=train) for c in (shared, own))
    np.testing.assert_allclose(a.values, b.values, atol=1e-14)


# -- support ------------------------------------------------------------------------------


def test_any_grid_gets_an_answer_and_a_report():
    """Test times past training, a last training time that is censored, times 0 and max."""
    train, test, risk, _, _ = tied_case()
    train = (np.minimum(train[0], 9), train[1] & (train[0] < 9))
    times = np.linspace(0, test[0].max(), 25)
    given = {"y_train": train, "censoring": "train"}
    result = cumulative_dynamic_auc(test, risk, times, **given, stderr="fixed")
    assert result.times.min() >= 1
    assert result.times.max() < 9
    assert np.isfinite(result.values).all()
    assert 0 < result.mean < 1
    assert result.support["times_left_out"] == 25 - result.times.size
    assert result.support["identified_until"] == pytest.approx(9)
    assert result.support["notes"] == {
        "times left out: past the identified range": int((times >= 9).sum()),
        "times left out: no cases": int((times < 1).sum()),
    }
    with pytest.raises(InputError, match="past the identified range: 9,"):
        cumulative_dynamic_auc(test, risk, times, **given, on_unsupported="raise")
    gaps = cumulative_dynamic_auc(test, risk, times, **given, on_unsupported="nan", stderr="fixed")
    np.testing.assert_array_equal(gaps.times, times)
    inside = (times >= 1) & (times < 9)
    np.testing.assert_array_equal(np.isnan(gaps.values), ~inside)
    np.testing.assert_array_equal(gaps.values[inside], result.values)
    np.testing.assert_array_equal(np.isnan(gaps.stderr), ~inside)
    # Kaplan-Meier of the test set falls past 9, so the mean over these times is not known ...
    assert np.isnan(gaps.mean)
    assert np.isnan(gaps.details.stderr)
    # ... but it does not fall before 1, so leaving those out changes nothing.
    early = times[times < 9]
    gaps = cumulative_dynamic_auc(test, risk, early, **given, on_unsupported="nan")
    assert gaps.mean == result.mean
    inside_only = cumulative_dynamic_auc(test, risk, result.times, **given, on_unsupported="raise")
    assert inside_only.mean == result.mean


def test_no_time_at_all_is_undefined():
    y = ([2, 4, 6], [1, 0, 1])
    with pytest.raises(UndefinedMetricError, match=r"3 of 3 have no AUC .*no cases: 1"):
        cumulative_dynamic_auc(y, [3, 2, 1], [1, 6, 9])
    none = cumulative_dynamic_auc(y, [3, 2, 1], [1, 6, 9], on_unsupported="nan", stderr="fixed")
    assert np.isnan(none.values).all()
    assert np.isnan(none.mean)
    assert none.details.contributions is None


def test_curves_with_nothing_to_say_limit_the_times():
    train, test, _, grid, survival = tied_case()
    short = sg.SurvivalCurves(grid[:7], survival[:, :7], tail="nan")
    result = cumulative_dynamic_auc(test, short, [3, 6, 6.5, 9], y_train=train)
    np.testing.assert_array_equal(result.times, [3, 6])
    assert result.support["identified_until"] == 6


def test_events_with_g_zero_are_no_cases():
    own = np.where(np.arange(60) % 3, 0.5, 0.0)
    _, test, risk, _, _ = tied_case()
    result = cumulative_dynamic_auc(test, risk, [6.0], censoring=lambda t, side: own)
    lost = int((test[1] & (test[0] <= 6))[::3].sum())
    assert result.support["notes"] == {"no cases: events with G = 0": lost}
    assert result.support["largest_weight"] == 2
    sample = list(zip(*test, strict=True))
    inverse = np.divide(1.0, own, out=np.zeros(60), where=own > 0)
    want = naive_auc(sample, risk, 6.0, inverse, inverse)
    assert result.mean == pytest.approx(want, abs=1e-14)
    # Nobody left who could have been seen event-free: no AUC.
    g = np.where(test[0] > 6, 0.0, 0.5)
    with pytest.raises(UndefinedMetricError, match="no controls"):
        cumulative_dynamic_auc(test, risk, [6.0], censoring=lambda t, side: g)


def test_a_g_that_depends_on_the_subject_weights_controls_too():
    _, test, risk, _, _ = tied_case()
    rate = 0.02 + 0.1 * (np.arange(60) % 4)
    result = cumulative_dynamic_auc(
        test, risk, [3.0, 6.0], censoring=lambda t, side: np.exp(-rate * t)
    )
    sample = list(zip(*test, strict=True))
    for t, value in zip(result.times, result.values, strict=True):
        case, control = np.exp(rate * test[0]), np.exp(rate * t)
        assert value == pytest.approx(naive_auc(sample, risk, t, case, control), abs=1e-13)
    km = sg.KaplanMeier.fit_censoring(test)
    plain = cumulative_dynamic_auc(test, risk, [3.0, 6.0])
    same = cumulative_dynamic_auc(test, risk, [3.0, 6.0], censoring=km.at)
    np.testing.assert_allclose(same.values, plain.values, atol=1e-13)


# -- weights and standard errors ----------------------------------------------------------


@pytest.mark.parametrize("held", [True, False])
def test_contributions_are_derivatives_by_the_weights(held):
    """c_i = w_i dAUC/dw_i, by central differences, with G held or estimated with the weights."""
    train, test, risk, grid, survival = tied_case(25)
    weight = 0.5 + np.arange(25) % 4 / 2
    curves, times = sg.SurvivalCurves(grid, survival), [2.0, 5.0, 8.0]
    g = sg.KaplanMeier.fit_censoring(sg.Outcomes(*test, weight)) if held else None
    fall = -np.diff(sg.KaplanMeier.fit(sg.Outcomes(*test, weight)).at(times), prepend=1.0)
    for predicted in (risk, curves):

        def auc(w, predicted=predicted):
            options = {"y_train": train, "censoring": g, "sample_weight": w}
            return cumulative_dynamic_auc(test, predicted, times, **options).values

        result = cumulative_dynamic_auc(
            test, predicted, times, censoring=g, sample_weight=weight, stderr="auto"
        )
        kind = "G fixed" if held else "G estimated in sample"
        assert result.convention["stderr"] == kind
        moves = []
        for i in range(25):
            up, down = weight.copy(), weight.copy()
            up[i], down[i] = weight[i] * (1 + 1e-6), weight[i] * (1 - 1e-6)
            moves.append((auc(up) - auc(down)) / 2e-6)
        moves = np.array(moves)
        assert result.mean == pytest.approx(result.values @ fall / fall.sum())
        # How far Kaplan-Meier falls counts as known.
        np.testing.assert_allclose(
            result.details.contributions, moves @ fall / fall.sum(), atol=1e-8
        )
        want = np.sqrt((moves**2).sum(axis=0) * 25 / 24)
        np.testing.assert_allclose(result.stderr, want, atol=1e-8)


def test_sample_weights_are_pair_weights_and_not_frequencies():
    train, test, risk, _, _ = tied_case()
    unit = 1 + np.arange(60) % 3
    sample = list(zip(*test, strict=True))
    train_rows = list(zip(train[0].astype(int), train[1], strict=True))
    case = inverse_g([(int(t), e) for t, e in sample], train_rows)
    options = {"y_train": train, "censoring": "train", "stderr": "fixed"}
    got = cumulative_dynamic_auc(test, risk, [3, 6], sample_weight=unit, **options)
    for t, value in zip(got.times, got.values, strict=True):
        assert value == pytest.approx(naive_auc(sample, risk, t, case, unit=unit), abs=1e-13)
    counted = cumulative_dynamic_auc(sg.Outcomes(*test, unit), risk, [3, 6], **options)
    np.testing.assert_allclose(counted.values, got.values, atol=1e-13)
    assert (counted.stderr < got.stderr).all()
    plain = cumulative_dynamic_auc(test, risk, [3, 6], **options)
    ones = cumulative_dynamic_auc(test, risk, [3, 6], sample_weight=np.ones(60), **options)
    np.testing.assert_allclose(ones.stderr, plain.stderr, atol=1e-14)
    np.testing.assert_allclose(ones.details.contributions, plain.details.contributions, atol=1e-14)
    both = cumulative_dynamic_auc(
        sg.Outcomes(*test, unit), risk, [3, 6], sample_weight=unit, **options
    )
    copies = np.repeat(np.arange(60), unit)
    long = cumulative_dynamic_auc(
        (test[0][copies], test[1][copies]),
        risk[copies],
        [3, 6],
        sample_weight=unit[copies],
        **options,
    )
    np.testing.assert_allclose(both.stderr, long.stderr, atol=1e-13)


def test_an_estimated_g_changes_the_standard_error_only():
    _, test, risk, _, _ = tied_case()
    times = [3, 6, 9]
    fixed = cumulative_dynamic_auc(test, risk, times, stderr="fixed")
    estimated = cumulative_dynamic_auc(test, risk, times, stderr="estimated")
    np.testing.assert_array_equal(fixed.values, estimated.values)
    assert fixed.convention["stderr"] == "G fixed"
    assert estimated.convention["stderr"] == "G estimated in sample"
    assert not np.allclose(fixed.stderr, estimated.stderr, rtol=1e-6)
    np.testing.assert_allclose(fixed.stderr, estimated.stderr, rtol=0.1)
    details = cumulative_dynamic_auc_details(test, risk, 6, stderr="estimated")
    assert details.stderr == pytest.approx(estimated.stderr[1])
    # R counts tied events as at risk of censoring; its own preset does so too.
    r = cumulative_dynamic_auc(test, risk, times, stderr="estimated", convention="riskregression")
    np.testing.assert_array_equal(r.values, fixed.values)
    assert not np.allclose(r.stderr, estimated.stderr, rtol=1e-8)
    for bad in (
        {"y_train": test, "censoring": "train"},
        {"censoring": sg.KaplanMeier.fit_censoring(test)},
        {"convention": "sksurv"},
        {"convention": "pycox"},
        {"convention": "survivaleval"},
        {"method": "unweighted"},
    ):
        with pytest.raises(InputError, match="stderr='estimated' needs"):
            cumulative_dynamic_auc(test, risk, times, stderr="estimated", **bad)
    equal = {"sample_weight": np.full(60, 3.0), "stderr": "estimated"}
    weighted = cumulative_dynamic_auc(test, risk, times, **equal)
    np.testing.assert_allclose(weighted.stderr, estimated.stderr, rtol=1e-10)


def test_errors_say_what_to_do():
    y = ([2, 4, 6], [1, 1, 0])
    with pytest.raises(InputError, match="must not be NaN; it is for"):
        cumulative_dynamic_auc(y, [1, np.nan, 2], 3)
    with pytest.raises(InputError, match=r"or \(3, 2\) for 3 subjects and 2 times"):
        cumulative_dynamic_auc(y, np.ones((3, 4)), [3, 5])
    with pytest.raises(InputError, match="one row per subject"):
        cumulative_dynamic_auc(y, sg.SurvivalCurves([0, 5], [[1, 0.5]] * 2), 3)
    for bad in (
        {"method": "uno"},
        {"on_unsupported": "clip"},
        {"stderr": "bootstrap"},
        {"convention": "sas"},
    ):
        with pytest.raises(InputError, match="must be one of"):
            cumulative_dynamic_auc(y, [3, 2, 1], 3, **bad)
    for bad_times in ([], [-1.0], [np.nan], [3, 3]):
        with pytest.raises(InputError, match="times"):
            cumulative_dynamic_auc(y, [3, 2, 1], bad_times)


# -- other packages' numbers, pinned ------------------------------------------------------
# Obtained by the calls of tests/peer/test_peer_discrimination.py on tied_case():
#   scikit-survival 0.28  cumulative_dynamic_auc(train, test, risk, [3, 6, 6.5, 9]), and with the
#                         columns 3, 6, 9 of 1 - survival at these times
#   SurvivalEVAL 0.9.0    SurvivalEvaluator(survival, grid, ...).auc(t, method), t = 3, 6


def test_scikit_survivals_numbers():
    train, test, risk, grid, survival = tied_case()
    options = {"y_train": train, "convention": "sksurv"}
    result = cumulative_dynamic_auc(test, risk, [3, 6, 6.5, 9], **options)
    want = [0.6214016389020436, 0.7265870476739633, 0.7265870476739633, 0.6227034703634307]
    np.testing.assert_allclose(result.values, want, atol=1e-12)
    assert result.mean == pytest.approx(0.647386987841368, abs=1e-12)
    curves = sg.SurvivalCurves(grid, survival)
    result = cumulative_dynamic_auc(test, curves, [3, 6, 9], **options)
    want = [0.7233054987741205, 0.6894751881267209, 0.6586346780185504]
    np.testing.assert_allclose(result.values, want, atol=1e-12)
    assert result.mean == pytest.approx(0.7087912245169765, abs=1e-12)
    ours = cumulative_dynamic_auc(test, curves, [3, 6, 9], y_train=train)
    assert not np.allclose(ours.values, want, atol=1e-6)


def test_survivalevals_numbers():
    train, test, _, grid, survival = tied_case()
    curves, times = sg.SurvivalCurves(grid, survival), [3, 6]
    options = {"y_train": train, "convention": "survivaleval"}
    result = cumulative_dynamic_auc(test, curves, times, **options)
    want = [0.7252813185510169, 0.6857905073977764]
    np.testing.assert_allclose(result.values, want, atol=1e-12)
    result = cumulative_dynamic_auc(test, curves, times, method="unweighted", **options)
    want = [0.7253846153846154, 0.7107438016528925]
    np.testing.assert_allclose(result.values, want, atol=1e-12)
