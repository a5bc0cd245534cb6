"""Times counted from another time: ties with times that are asked for, order, equal times."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from survgauge.data.outcome_parts import SAME, on_known, since

UNITS = (1.0, 1e-6, 7.0, 1 / 365.25, 30.4375)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(20))
def test_decimals_are_compared_as_decimals(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    tenths, start, asked = rng.integers(1, 80, 60), rng.integers(0, 40), rng.integers(1, 40)
    found = since(tenths / 10 * unit, start / 10 * unit, [asked / 10 * unit])
    exact = [Fraction(int(k - start), 10) for k in tenths]
    limit = Fraction(int(asked), 10)
    assert [u <= asked / 10 * unit for u in found] == [u <= limit for u in exact]
    assert [u < asked / 10 * unit for u in found] == [u < limit for u in exact]


def test_without_the_rule_the_last_bit_would_decide() -> None:
    assert 3.3 - 2.0 < 1.3
    assert since(np.array([3.3]), 2.0, [1.3])[0] == 1.3


def test_times_that_differ_stay_different_and_in_order() -> None:
    grid = np.array([2.5, 3.3, 3.3000000000000003, 3.3000000000000007, 4.0])
    for asked in (1.3, np.nextafter(1.3, 2), 1.3000000000000003):
        found = since(grid, 2.0, [asked])
        assert (np.diff(found) > 0).all()
        assert asked in found
    rows = since(np.stack((grid, 2 * grid)), 2.0, [1.3])
    assert (np.diff(rows) > 0).all()
    assert 1.3 in rows[0]
    assert 1.3 not in rows[1]


def test_times_beyond_rounding_stay() -> None:
    times = 2.0 + 1.1 * np.array([1 - 1e-8, 1 + 1e-8])
    assert (since(times, 2.0, [1.1]) == times - 2.0).all()
    assert since(np.empty(0), 2.0, [1.1]).size == 0


def test_a_value_on_a_known_time() -> None:
    known = np.array([1.0, 3.1])
    assert on_known(3.1 * (1 + SAME / 2), known) == 3.1
    assert on_known(3.1 * (1 + 3 * SAME), known) != 3.1
    assert np.isnan(on_known(float("nan"), known))
    assert on_known(2.0, np.empty(0)) == 2.0
