"""Mean weight of the subjects in a score, by a loop over them."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.conventions import CONVENTIONS
from survgauge.metrics.ipcw import CensoringWeights


@pytest.mark.parametrize("t", [None, 2.5, 4.0])
def test_mean_weight(t):
    time, event = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 0, 1, 0, 1, 1]
    y = sg.Outcomes(time, event)
    g = sg.KaplanMeier.fit_censoring(y)
    total = 0.0
    for x, e in zip(time, event, strict=True):
        if e and (t is None or x <= t):
            total += 1 / float(g.at(np.array([x]), "left")[0])
        elif t is not None and x > t:
            total += 1 / float(g.at(np.array([t]))[0])
    found = CensoringWeights(y, None, g, CONVENTIONS["survgauge"]).mean_weight(t)
    assert found == pytest.approx(total / 6)
    weight = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    late = CensoringWeights(y, None, g, CONVENTIONS["survgauge"]).mean_weight(t, weight)
    last = 1 / 0.8 / (2 / 3)
    assert late == pytest.approx(last if t in (None, 4.0) else 1 / 0.8)


def test_somebody_who_is_observed_where_g_is_zero_has_no_weight():
    y = sg.Outcomes([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    weights = CensoringWeights(
        y, None, lambda t, side: np.where(t < 1.5, 0.5, 0.0), CONVENTIONS["survgauge"]
    )
    # At 2 only the event at 1 counts, as two subjects.
    assert weights.mean_weight(2.0) == pytest.approx(2 / 4)
