"""Places in a sorted table are those of numpy.searchsorted, however they are found."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from survgauge._tools.places import Places, look_up

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
        places = Places(distinct)
        for n in (0, 10, 5_000):
            values = asked(rng, shape, distinct, n)
            expected = distinct.searchsorted(values, side)
            np.testing.assert_array_equal(places.of(values, side), expected)
            np.testing.assert_array_equal(look_up(distinct, values, side), expected)


def test_buckets_are_used_where_they_help_and_do_not_travel():
    rng = np.random.default_rng(0)
    for shape in ("even", "usual", "skewed"):
        assert Places(np.sort(SHAPES[shape](rng, 20_000)))._buckets is not None
    for shape in ("far apart", "all the same"):
        assert Places(np.sort(SHAPES[shape](rng, 20_000)))._buckets is None
    table = np.sort(SHAPES["usual"](rng, 20_000))
    used = Places(table)
    used.of(table)
    sent = pickle.dumps(used)
    assert len(sent) < 1.1 * table.nbytes
    np.testing.assert_array_equal(pickle.loads(sent).of(table), used.of(table))


def test_one_value_for_everybody_and_values_far_fewer_than_entries():
    table = np.arange(1e6)
    places = Places(table)
    np.testing.assert_array_equal(places.of(np.full(5_000, 7.0)), 8)
    assert "_buckets" not in vars(places)
    np.testing.assert_array_equal(places.of(np.array([7.5, -1.0])), [8, 0])
