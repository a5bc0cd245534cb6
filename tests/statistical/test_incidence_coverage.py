"""Aalen-Johansen and restricted mean time lost: unbiased, and their intervals cover."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

P, SCALE, AT = 0.4, 4.0, 5.0


@pytest.mark.slow
@pytest.mark.parametrize("variance", ["jackknife", "aalen"])
def test_incidence_and_time_lost(variance):
    rng, runs, n = np.random.default_rng(18), 2000, 200
    shape = np.exp(-AT / SCALE)
    truth = np.array([P * (1 - shape), P * (AT - SCALE * (1 - shape))])
    values, errors = np.empty((runs, 2)), np.empty((runs, 2))
    for run in range(runs):
        cause = np.where(rng.random(n) < P, 1, 2)
        time = np.where(cause == 1, rng.exponential(SCALE, n), rng.weibull(2.0, n) * 6)
        censored = rng.exponential(9, n)
        y = sg.Outcomes(np.minimum(time, censored), np.where(time <= censored, cause, 0))
        found = sg.AalenJohansen.fit(y, variance)
        values[run] = found.at(AT, 1), found.rmtl(AT, 1)
        errors[run] = found.stderr_at(AT, 1), found.rmtl_stderr(AT, 1)
    spread = values.std(axis=0)
    assert (abs(values.mean(axis=0) - truth) < 4 * spread / np.sqrt(runs)).all()
    np.testing.assert_allclose(errors.mean(axis=0), spread, rtol=0.06)
    covered = (abs(values - truth) < 1.959964 * errors).mean(axis=0)
    assert (covered > 0.93).all()
    assert (covered < 0.97).all()
