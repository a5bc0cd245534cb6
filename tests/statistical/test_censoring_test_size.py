"""The test of censoring against features holds its level, and sees dependence."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n", [100, 400])
def test_size_and_power(n):
    rng = np.random.default_rng(n)
    level, power = [], []
    for _ in range(1000):
        x = rng.normal(size=(n, 4))
        t = rng.exponential(10 * np.exp(-0.5 * x[:, 0]))  # events depend on the first feature
        for effect, found in ((0.0, level), (0.5, power)):
            c = rng.exponential(12 * np.exp(-effect * x[:, 1]))
            y = (np.ceil(np.minimum(t, c)), t <= c)  # tied
            found.append(sg.censoring_test(x, y).p_value)
    assert 0.035 <= np.mean(np.array(level) < 0.05) <= 0.065
    assert np.mean(np.array(power) < 0.05) > (0.6 if n == 100 else 0.98)
