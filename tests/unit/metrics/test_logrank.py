"""Log-rank test against a loop over event times, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import outcomes, pair

from survgauge import InputError, Outcomes, SurvivalCurves, UndefinedMetricError
from survgauge.metrics.logrank import log_rank, log_rank_test


def naive(a, b):
    """(observed - expected, variance) of the first sample."""
    gap = variance = 0.0
    for u in sorted({t for t, e in [*a, *b] if e}):
        n1 = sum(1 for t, _ in a if t >= u)
        n = n1 + sum(1 for t, _ in b if t >= u)
        d1 = sum(1 for t, e in a if e and t == u)
        d = d1 + sum(1 for t, e in b if e and t == u)
        gap += d1 - d * n1 / n
        if n > 1:
            variance += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    return gap, variance


@given(outcomes, outcomes)
def test_two_samples(a, b):
    gap, variance = naive(a, b)
    if variance == 0:
        with pytest.raises(UndefinedMetricError, match="log-rank"):
            log_rank_test(pair(a), pair(b))
        return
    result = log_rank_test(pair(a), pair(b))
    assert result.statistic == pytest.approx(gap**2 / variance, abs=1e-9)
    assert result.p_value == pytest.approx(stats.chi2.sf(gap**2 / variance, 1), abs=1e-9)
    assert result.observed[0] - result.expected[0] == pytest.approx(gap, abs=1e-9)
    assert result.observed.sum() == pytest.approx(result.expected.sum())
    swapped = log_rank_test(pair(b), pair(a))
    assert swapped.statistic == pytest.approx(result.statistic, abs=1e-9)


@given(outcomes, st.data())
def test_predicted_times_are_a_second_sample_of_events(y, data):
    predicted = data.draw(st.lists(st.integers(-2, 9), min_size=len(y), max_size=len(y)))
    gap, variance = naive(y, [(t, True) for t in predicted])
    if variance == 0:
        with pytest.raises(UndefinedMetricError):
            log_rank(pair(y), predicted)
        return
    result = log_rank(pair(y), predicted)
    assert result.statistic == pytest.approx(gap**2 / variance, abs=1e-9)
    assert float(result) == result.p_value


def test_perfect_predictions_do_not_differ():
    time = np.array([1.0, 2, 4, 7])
    result = log_rank((time, np.ones(4)), time)
    assert result.statistic == pytest.approx(0)
    assert result.p_value == pytest.approx(1)


def test_an_infinite_prediction_stays_at_risk():
    y = ([1, 2, 3], [1, 1, 0])
    result = log_rank(y, [2.5, np.inf, np.inf])
    late = log_rank_test(y, ([2.5, 99, 99], [1, 0, 0]))
    assert result.statistic == pytest.approx(late.statistic)
    assert result.support["predicted_infinite"] == 2


def test_curves_give_medians():
    y = ([1, 6, 8, 3], [1, 0, 1, 1])
    curves = SurvivalCurves([0, 2, 4, 8], [[1, 0.8, 0.5, 0.1], [1, 0.9, 0.7, 0.4]] * 2)
    assert log_rank(y, curves).statistic == log_rank(y, curves.median()).statistic
    assert log_rank(y, curves).convention["point"] == "median"


def test_whole_frequencies_equal_replicated_rows():
    rng = np.random.default_rng(0)
    time, event = rng.integers(1, 9, 30).astype(float), rng.random(30) < 0.6
    predicted = rng.integers(1, 9, 30).astype(float)
    count = rng.integers(0, 4, 30)
    rows = np.repeat(np.arange(30), count)
    weighted = log_rank(Outcomes(time, event, count), predicted)
    assert weighted.statistic == pytest.approx(
        log_rank((time[rows], event[rows]), predicted[rows]).statistic
    )


def test_refusals():
    with pytest.raises(InputError, match="predicted"):
        log_rank(([1, 2], [1, 0]), [1.0, np.nan])
    with pytest.raises(InputError, match="predicted"):
        log_rank(([1, 2], [1, 0]), [1.0])
    with pytest.raises(UndefinedMetricError, match="event"):
        log_rank(([1, 2], [0, 0]), [np.inf, np.inf])


def test_equals_r():
    # R 4.2.2, survival 3.5-3: survdiff(Surv(time, event) ~ b, d), i = 1..30,
    # time = 1 + (7 i) %% 11, event = (5 i) %% 7 > 1, b = i %% 3 == 0.
    i = np.arange(1, 31)
    y, b = Outcomes(1 + (7 * i) % 11, (5 * i) % 7 > 1), i % 3 == 0
    result = log_rank_test(y[b], y[~b])
    assert result.statistic == pytest.approx(0.1513711616986004)
    assert result.p_value == pytest.approx(0.6972284558358216)
    with pytest.raises(UndefinedMetricError):
        log_rank_test(([1, 2], [0, 0]), ([5, 6], [1, 1]))
