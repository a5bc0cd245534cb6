"""Named streams: equal by name, independent otherwise, whatever the order of calls."""

from __future__ import annotations

import numpy as np
import pytest

from survgauge import InputError
from survgauge._tools.random import check_seed, stream


def test_the_same_name_gives_the_same_numbers_in_any_order():
    first = [stream(7, name).random(5).tolist() for name in ("a", "b", "c")]
    again = [stream(7, name).random(5).tolist() for name in ("c", "a", "b")]
    assert first == [again[1], again[2], again[0]]


def test_numbers_are_the_same_on_every_machine():
    # Written down once: a change here changes every semi-synthetic data set.
    assert stream(0, "censoring", "uniform").random(2).tolist() == [
        0.015853542285309885,
        0.39941545334616935,
    ]


def test_different_paths_never_share_numbers():
    paths = [(), ("a",), ("a", "b"), ("ab",), ("b", "a"), ("1",), (1,), (0,), ("", "a"), ("a", "")]
    draws = {stream(seed, *path).random() for seed in (0, 1, 2**40) for path in paths}
    assert len(draws) == 3 * len(paths)


def test_a_stream_does_not_repeat_the_plain_generator():
    plain = np.random.default_rng(0).random(1000)
    for name in ("censoring", "features"):
        assert abs(np.corrcoef(plain, stream(0, name).random(1000))[0, 1]) < 0.15


def test_numpy_integers_are_integers():
    assert stream(np.int64(3), np.int32(4)).random() == stream(3, 4).random()


def test_seeds_are_checked():
    assert check_seed(np.uint8(5)) == 5
    drawn = {check_seed(None) for _ in range(3)}
    assert len(drawn) == 3
    assert all(type(seed) is int for seed in drawn)
    for wrong in (-1, 1.5, "0", True, np.random.default_rng(0)):
        with pytest.raises(InputError, match="random_state must be a whole number"):
            check_seed(wrong)
