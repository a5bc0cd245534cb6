"""Intervals, comparisons and draws at their edges, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation import inference

#: Draws of replicate 3 of seed 7: plain, with frequencies, and of the training subjects.
DRAWS = (
    [1.0, 1.0, 1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.0, 1.0],
    [0.0, 1.0, 2.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    [2.0, 4.0, 2.0, 1.0],
)


def test_holm_refuses_a_single_number_outside_zero_and_one_and_takes_the_ends():
    for wrong, named in (([-0.1, 0.5], "-0.1"), ([0.5, 1.5], "1.5")):
        with pytest.raises(sg.InputError, match=rf"got {named}"):
            sg.holm(wrong)
    assert sg.holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert sg.holm([0.3, np.nan, 0.2]) == pytest.approx([0.4, np.nan, 0.4], nan_ok=True)
    assert sg.holm([0.04]).tolist() == [0.04]


def test_default_interval_is_normal_and_has_no_size():
    found = inference.interval(2.0, 1.0, 0.9)
    assert found == inference.interval(2.0, 1.0, 0.9, "normal", freedom=float("inf"))
    assert (found.low, found.high) == pytest.approx((2 - 1.6448536, 2 + 1.6448536))
    assert inference.Interval(1.0, 2.0, 3.0, 4.0).scale == "normal"
    assert inference.Comparison(1.0, 2.0, 3.0, 4.0, 0.5).freedom == float("inf")


@pytest.mark.parametrize("scale", ["normal", "log", "logit", "none"])
def test_no_interval_of_what_is_not_finite_or_not_asked_for(scale):
    for value in (np.nan, np.inf):
        found = inference.interval(value, 1.0, 0.95, scale, size=5)
        assert found.scale == "none"
        assert np.isnan([found.low, found.high]).all()
    assert inference.interval(0.5, np.inf, 0.95, scale).scale == "none"
    assert (inference.interval(0.5, 0.1, 0.95, scale).scale == "none") == (scale == "none")


def test_edges_of_shares():
    for value, limits in ((1.0, (0.05**0.25, 1.0)), (0.0, (0.0, 1 - 0.05**0.25))):
        found = inference.interval(value, 0.0, 0.95, "logit", size=4)
        assert (found.low, found.high) == pytest.approx(limits)
        assert inference.interval(value, 0.0, 0.95, "logit", size=0).scale == "none"
        assert inference.interval(value, np.nan, 0.95, "logit", size=4).scale == "none"
    # The bound itself counts as the edge, what is well inside does not.
    at = inference.interval(1e-12, 1e-13, 0.95, "logit", size=4)
    assert at.scale == "edge"
    assert inference.interval(1e-9, 1e-10, 0.95, "logit", size=4).scale == "logit"
    assert inference.interval(1 - 1e-9, 1e-10, 0.95, "logit", size=4).scale == "logit"
    assert inference.interval(1.0, 1.0, 0.95, "log", size=4).scale == "log"


def test_a_standard_error_counts_from_a_trillionth_of_the_value_on():
    assert inference.interval(1.0, 1e-12, 0.95).scale == "none"
    assert inference.interval(-1.0, 1e-13, 0.95).scale == "none"
    assert inference.interval(-1.0, 2e-12, 0.95).scale == "normal"
    assert inference.interval(0.0, 1e-20, 0.95).scale == "normal"


def test_comparisons_by_hand():
    found = inference.compare_values(-1.959963984540054, 1.0, 0.95)
    assert found.p_value == pytest.approx(0.05)
    assert (found.low, found.high) == pytest.approx((-3.919927969, 0.0), abs=1e-9)
    assert inference.compare_values(1.959963984540054, 1.0, 0.95).p_value == pytest.approx(0.05)
    assert np.isnan(inference.compare_values(0.0, np.nan, 0.95).p_value)
    assert np.isnan(inference.compare_values(1.0, 0.0, 0.95).low)
    one = inference.compare_values(1.0, 2.0, 0.95, 5)
    assert inference.simultaneous(one, 0.95, 0) == pytest.approx((one.low, one.high))
    assert inference.simultaneous(one, 0.95, 1) == pytest.approx((one.low, one.high))
    wide = inference.compare_values(1.0, 2.0, 0.975, 5)
    assert inference.simultaneous(one, 0.95, 2) == pytest.approx((wide.low, wide.high))


def test_folds_that_differ_by_rounding_have_no_spread():
    a = [1.0, 2.0, 3.0]
    shifted = sg.compare_folds(a, [x - 0.1 for x in a], n_train=2, n_test=1)
    assert shifted.stderr == 0.0
    assert np.isnan(shifted.p_value)
    two = sg.compare_folds([1.0, 2.0], [0.0, 0.0], n_train=4, n_test=1, confidence=0.9)
    assert two.freedom == 1
    assert two.stderr == pytest.approx(np.sqrt(0.5 * 0.75))
    assert two.high - 1.5 == pytest.approx(6.313751515 * two.stderr)  # R: qt(0.95, 1)


def test_draws_are_these():
    """The same seed gives the same draws in every version: published intervals can be redone."""
    found = inference.bootstrap_counts(12, 3, seed=7)
    assert found.tolist() == DRAWS[0]
    weight = np.array([0.0, 1.0, 2.0, 0.5] * 3)
    drawn = inference.bootstrap_counts(12, 3, seed=7, frequency=weight)
    assert drawn.tolist() == DRAWS[1]
    assert inference.bootstrap_counts(4, 3, seed=7, name="train").tolist() == DRAWS[2]
    assert inference.bootstrap_counts(4, 3, seed=7, start=5).tolist() == found[5:9].tolist()


def test_poisson_numbers_at_their_bounds():
    """A word just below a bound gives the number, the bound itself the next one."""
    bounds = inference._poisson_bounds()
    for k in range(6):
        word = int(bounds[k])
        words = np.array([word - 1, word, word + (1 << 48)], dtype=np.uint64)
        after = k + 1 if word + (1 << 48) < bounds[k + 1] else k + 2
        assert inference._poisson_one(words).tolist() == [k, k + 1, after]
    assert float(bounds[0]) == pytest.approx(np.exp(-1.0) * 2.0**64)
    assert float(bounds[2]) == pytest.approx(2.5 * np.exp(-1.0) * 2.0**64)
    assert inference._poisson_one(np.array([0, 2**64 - 1], dtype=np.uint64))[0] == 0.0


def test_standard_error_of_ten_defined_replicates():
    known = np.arange(10.0)
    assert inference.bootstrap_stderr(known) == pytest.approx(np.sqrt(110 / 12))
    assert np.isnan(inference.bootstrap_stderr(known[:9]))
    holes = np.concatenate((known, [np.nan, np.inf]))
    assert inference.bootstrap_stderr(holes) == pytest.approx(np.sqrt(110 / 12))
    assert np.isnan(inference.bootstrap_stderr(np.concatenate((known[:9], [np.nan]))))


def test_a_value_as_close_to_one_as_rounding_gets_is_at_the_edge():
    for value in (inference.ROUNDING, 1 - inference.ROUNDING):
        assert inference.interval(value, 0.1, 0.95, "logit", size=8).scale == "edge"
    for value in (2 * inference.ROUNDING, 1 - 2 * inference.ROUNDING):
        assert inference.interval(value, 0.1, 0.95, "logit", size=8).scale == "logit"


def test_words_next_to_a_bound_give_the_number_on_their_side():
    bounds = inference._poisson_bounds()
    inner = bounds[:16]  # the last bounds are the largest word itself
    below = inference._poisson_one(inner - np.uint64(1))
    at = inference._poisson_one(inner)
    np.testing.assert_array_equal(below, bounds.searchsorted(inner - np.uint64(1), "right"))
    np.testing.assert_array_equal(at, bounds.searchsorted(inner, "right"))
    np.testing.assert_array_equal(below[:5], np.arange(5))
    np.testing.assert_array_equal(at[:5], np.arange(1, 6))
