"""Time lost to a cause and its pseudo-observations from R (r/time_lost.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg

WANTED = json.loads((Path(__file__).parent / "r" / "time_lost.json").read_text())["datasets"]


def read(wanted, part):
    return sg.Outcomes(wanted[part]["time"], wanted[part]["status"], causes=["first", "second"])


@pytest.mark.parametrize("name", sorted(WANTED))
@pytest.mark.parametrize("cause", [1, 2])
def test_pseudo_observations_of_the_mean_time_free_of_a_cause(name, cause):
    wanted = WANTED[name]
    train, test, tau = read(wanted, "train"), read(wanted, "test"), wanted["tau"]
    mean = wanted["mean"][cause - 1]
    assert tau - sg.AalenJohansen.fit(train).rmtl(tau, cause) == pytest.approx(mean, rel=1e-12)
    for y, y_train, key in ((train, None, "left_out"), (test, train, "joined")):
        # Against a prediction of 0 the loss is the pseudo-observation itself, set to tau at most.
        found = sg.time_error(
            y, np.zeros(len(y)), y_train=y_train, tau=tau, cause=cause, method="po"
        ).loss
        censored = (y.cause == 0) & (y.time < tau)
        assert censored.sum() > 5
        refitted = np.minimum(np.array(wanted[key])[:, cause - 1], tau)
        np.testing.assert_allclose(found[censored], refitted[censored], rtol=1e-9)
        every = sg.pseudo_observations(y, y_train=y_train, tau=tau, cause=cause)
        np.testing.assert_allclose(every, np.array(wanted[key])[:, cause - 1], rtol=1e-9)
