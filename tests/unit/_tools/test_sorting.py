"""Sorting by integer keys: the order of a stable argsort, for any floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from survgauge._tools import sorting as _sorting
from survgauge._tools.sorting import sorted_outcomes, sorting_order

ANY = st.floats(allow_nan=False, width=64)
NEAR = st.integers(-40, 40).map(lambda k: 1.0 + k * np.finfo(float).eps)


@settings(deadline=None)
@given(values=arrays(np.float64, st.integers(1, 60), elements=st.one_of(ANY, NEAR)))
def test_order_is_that_of_a_stable_argsort(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sorting, "_FEW", 0)
        patch.setattr("survgauge._tools.chunks.CHUNK", 7)
        found = sorting_order(values)
    np.testing.assert_array_equal(found, values.argsort(kind="stable"))


@pytest.mark.parametrize("spread", [1e-13, 1e-11, 1e-6, 1.0])
def test_values_that_agree_in_all_bits_of_a_key_are_put_right(spread):
    rng = np.random.default_rng(0)
    # With both ends of the range a key has 33 bits of the fraction left at most.
    values = np.concatenate(([5e-324, 1e308], 1 + spread * rng.random(300_000)))
    np.testing.assert_array_equal(sorting_order(values), values.argsort(kind="stable"))


def test_few_exchanges_do_without_an_argsort(monkeypatch):
    values = np.concatenate((np.arange(5_000.0), [1e300]))
    values[1000:1004] = 1000 + np.array([3, 2, 1, 0]) * 2.0**-42
    expected = values.argsort(kind="stable")
    keys, bits = _sorting._keys(values)
    assert ((np.sort(keys) & ((1 << bits) - 1)) != expected.astype(np.uint64)).any()
    put_right = _sorting._put_right(np.arange(values.size), values)
    np.testing.assert_array_equal(put_right, expected)


@settings(deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.one_of(st.just(-0.0), st.floats(0, 1e60), NEAR), st.booleans()), min_size=1
    )
)
def test_outcomes_are_sorted_with_their_flags(pairs):
    time, event = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("survgauge._tools.chunks.CHUNK", 5)
        found, flag = sorted_outcomes(time, event)
    order = np.lexsort((event, time))
    np.testing.assert_array_equal(found, time[order])
    np.testing.assert_array_equal(flag, event[order])
    assert not np.signbit(found).any()
