"""What is looked up once of a reference set: every caller gets its own, and None is kept too."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

Y = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 0, 1, 1, 0, 1])


def test_none_is_built_once() -> None:
    calls: list[int] = []

    def build() -> None:
        calls.append(1)

    for reference in (sg.Reference(Y), sg.Reference(Y).restricted(4.0)):
        calls.clear()
        assert reference.cached("mine", build) is None
        assert reference.cached("mine", build) is None
        assert len(calls) == 1


def plain_keys(cache: dict[Any, Any]) -> list[Any]:
    """Return the keys that begin with a name, which somebody else may have chosen too."""
    inner = [key[1] if isinstance(key, tuple) and np.isscalar(key[0]) else key for key in cache]
    first = [key[0] if isinstance(key, tuple) else key for key in inner]
    return [key for key in first if isinstance(key, str)]


def test_no_key_of_the_package_is_a_name_that_a_method_may_choose() -> None:
    rng = np.random.default_rng(0)
    time, cause = rng.exponential(5, 60), rng.integers(0, 3, 60)
    y = sg.Outcomes(time, cause, causes=["relapse", "death"])
    one = sg.Reference(sg.Outcomes(time, cause > 0))
    several = sg.Reference(y, causes=True)
    for method in ("margin", "ipcw_t", "po", "pop_po", "expected", "dr"):
        sg.mae(one.y, time, y_train=one, method=method, tau=6.0)
        sg.mae(one.y, time, y_train=one, method=method)
    for method in ("po", "expected", "dr"):
        sg.mae(y, time, y_train=several, method=method, tau=6.0, cause="death")
    for reference in (one, several):
        assert len(reference._cache) > 5
        assert not plain_keys(reference._cache)
