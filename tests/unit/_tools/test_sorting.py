"""Orders are those of a stable argsort, and places those of searchsorted, for any floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from survgauge._tools import arrays as _sorting
from survgauge._tools.arrays import look_up, sorting_order

ANY = st.floats(allow_nan=False, width=64)
NEAR = st.integers(-40, 40).map(lambda k: 1.0 + k * np.finfo(float).eps)


@settings(deadline=None)
@given(values=arrays(np.float64, st.integers(1, 60), elements=st.one_of(ANY, NEAR)))
def test_order_is_that_of_a_stable_argsort(values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sorting, "_FEW", 0)
        found = sorting_order(values)
    np.testing.assert_array_equal(found, values.argsort(kind="stable"))


@pytest.mark.parametrize("spread", [1e-13, 1e-11, 1e-6, 1.0])
def test_values_that_agree_in_all_bits_of_a_key_are_put_right(spread):
    rng = np.random.default_rng(0)
    # With both ends of the range a key has 33 bits of the fraction left at most.
    values = np.concatenate(([5e-324, 1e308], 1 + spread * rng.random(300_000)))
    np.testing.assert_array_equal(sorting_order(values), values.argsort(kind="stable"))


SHAPES = {
    "even": lambda rng, n: rng.random(n) * 10 + 1e6,
    "usual": lambda rng, n: rng.weibull(1.2, n) * 800,
    "skewed": lambda rng, n: rng.lognormal(3, 4, n),
    "tied": lambda rng, n: np.floor(rng.weibull(1.2, n) * 50),
    "of both signs": lambda rng, n: rng.normal(0, 1, n),
    "next to each other": lambda rng, n: 1.0 + rng.integers(0, 50, n) * np.spacing(1.0),
    "far apart": lambda rng, n: rng.choice([0.0, 5e-324, 1e-300, 1.0, 1e308], n),
    "crowded at the end": lambda rng, n: 1000 - rng.exponential(0.01, n),
    "all the same": lambda rng, n: np.full(n, 3.0),
}


def asked(rng, shape, table, n):
    """Values of the same kind, the entries themselves, their neighbours, and what lies outside."""
    near = rng.choice(table, 300)
    values = np.concatenate(
        (
            SHAPES[shape](rng, n),
            near,
            np.nextafter(near, -np.inf),
            np.nextafter(near, np.inf),
            [table[0] - 1, table[-1] + 1, -1e308, 1e308, -np.inf, np.inf, 0.0, -0.0],
        )
    )
    return rng.permutation(values)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [1, 63, 64, 500, 20_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_places_are_those_of_searchsorted(shape, size, side):
    rng = np.random.default_rng(size)
    table = np.sort(SHAPES[shape](rng, size))
    for distinct in (table, np.unique(table)):
        for n in (0, 10, 5_000):
            values = asked(rng, shape, distinct, n)
            expected = distinct.searchsorted(values, side)
            np.testing.assert_array_equal(look_up(distinct, values, side), expected)
