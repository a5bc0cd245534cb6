"""Share of a doubly robust error from beyond the time up to which it was observed."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

TIMES = np.array([1.0, 2.0, 3.0, 4.0, 6.0])


def by_hand(y, predicted, survival, end):
    """Doubly robust mean of |t - p| where t lies past `end`, subject by subject."""
    g = sg.KaplanMeier.fit_censoring(y)
    jumps = [v for v in np.unique(y.time) if g.at(v) < g.at(v, side="left")]
    total = 0.0
    for i, p in enumerate(predicted):
        weight = -np.diff(np.concatenate(([1.0], survival[i])))

        def ahead(v, weight=weight, p=p):
            left = weight[v < TIMES].sum()
            return sum(m * abs(t - p) for m, t in zip(weight, TIMES, strict=True)
                       if t > max(v, end)) / left  # fmt: skip

        if not y.event[i]:
            total += ahead(y.time[i]) / g.at(y.time[i])
        for v in jumps:
            if v < y.time[i] or (v == y.time[i] and not y.event[i]):
                total -= ahead(v) * (1 / g.at(v) - 1 / g.at(v, side="left"))
    return total / len(predicted)


@pytest.mark.parametrize("end", [3.0, 4.0, 6.0])
def test_the_share_begins_where_the_distribution_was_not_observed(end):
    rng = np.random.default_rng(0)
    survival = np.sort(rng.random((12, 5)))[:, ::-1].copy()
    survival[:, -1] = 0.0
    time = rng.choice([0.5, 1.5, 2.0, 2.5], 12)
    y = sg.Outcomes(time, (rng.random(12) < 0.6) | (time == 2.5))
    predicted = rng.uniform(0, 7, 12)
    distribution = sg.SurvivalCurves(TIMES, survival, "step")
    cond = sg.Conditional(distribution, how={"follow_up": end})
    found = sg.time_error(y, predicted, y_train=y, method="dr", conditional=cond, floor=0.01)
    want = by_hand(y, predicted, survival, end) / found.value
    assert found.support["share_from_tail"] == pytest.approx(want, abs=1e-12)
    if end < 6:
        assert want != 0
