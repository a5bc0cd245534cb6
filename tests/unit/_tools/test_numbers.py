"""Numbers that are the same on every platform and NumPy: widths of integers, order of ties."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools.arrays import sorting_order
from survgauge.metrics.ranking._pairs import cumulative, inversions, pair_counts

SOURCE = Path(sg.__file__).parent


def test_bit_keys_stay_integers():
    # uint64 with int64 is float64: rows would be lost in its last bits.
    values = np.random.default_rng(0).normal(size=2_000)
    assert sorting_order(values).dtype == np.intp


def test_counts_of_flags_are_64_bits_wide():
    # Sums of flags are as wide as C's long by default: 32 bits on Windows before NumPy 2.
    assert cumulative(np.ones(3, dtype=bool)).dtype == np.int64


def test_totals_of_pairs_do_not_wrap_round():
    n = 70_000  # n (n - 1) / 2 needs more than 31 bits
    time = np.arange(1.0, n + 1)
    totals = pair_counts(time, np.ones(n, dtype=bool), -time).totals()
    assert totals.comparable == totals.concordant == n * (n - 1) // 2


def test_inversions_are_counted_in_32_bits_each():
    later, earlier = inversions(np.arange(100, dtype=np.int32)[::-1], np.ones(100, bool), None)
    assert (later.dtype, earlier.dtype) == (np.int32, np.int32)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_orders_of_equal_values_do_not_depend_on_the_processor(path):
    # NumPy's default argsort takes the widest instructions there are; each leaves ties otherwise.
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "argsort":
            kinds = [ast.unparse(k.value) for k in node.keywords if k.arg == "kind"]
            assert kinds == ["'stable'"], ast.unparse(node)
