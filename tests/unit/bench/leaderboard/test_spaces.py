"""Search spaces: known models, parameters that these have, and draws within the limits."""

from __future__ import annotations

import numpy as np
import pytest

from survgauge.bench.leaderboard.entrants import SPACES, draw, drawn
from survgauge.bench.models.registry import FACTS, available, model_class
from survgauge.errors import InputError

HERE = [row["name"] for row in available() if row["installed"]]


def test_spaces_are_of_registered_models():
    assert set(SPACES) <= set(FACTS)


@pytest.mark.parametrize("name", [name for name in SPACES if name in HERE])
def test_a_model_takes_what_is_drawn_for_it(name):
    cls = model_class(name)
    parameters = draw(name, np.random.default_rng(1))
    assert set(parameters) <= set(cls().get_params(deep=False))
    assert cls(**parameters).get_params(deep=False) == {
        **cls().get_params(deep=False),
        **parameters,
    }


def test_draws_follow_the_seed_and_stay_within_the_limits():
    first, again = (draw("rsf", np.random.default_rng(3)) for _ in range(2))
    assert first == again
    rng = np.random.default_rng(0)
    space = {"low": 0.01, "high": 100}
    values = np.array([drawn(space, rng) for _ in range(2000)])
    assert values.min() >= 0.01
    assert values.max() <= 100
    # Half of them below the geometric middle; 4.5 standard errors.
    assert abs((values < 1).mean() - 0.5) < 0.05
    whole = [drawn({"low": 3, "high": 60, "whole": True}, rng) for _ in range(200)]
    assert all(isinstance(value, int) and 3 <= value <= 60 for value in whole)
    assert {drawn({"one_of": ["a", "b"]}, rng) for _ in range(50)} == {"a", "b"}


def test_a_model_without_a_space_is_refused():
    with pytest.raises(InputError, match="'km'"):
        draw("km", np.random.default_rng(0))
