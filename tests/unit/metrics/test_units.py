"""Scores do not depend on the unit of time."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.grids import snapped

DAYS, UNITS = np.arange(401.0), (1 / 365.25, 7.0, 1 / 7, 12 / 365.25, 0.1, 1 / 3)
RNG = np.random.default_rng(0)
TIME, EVENT = RNG.integers(1, 400, 300).astype(float), RNG.random(300) < 0.6
SURVIVAL = np.exp(-DAYS / RNG.uniform(100, 400, 300)[:, None])


def in_unit(unit: float, interpolation: str):
    curves = sg.SurvivalCurves(DAYS * unit, SURVIVAL, interpolation=interpolation)
    return (TIME * unit, EVENT), curves


def values(ev):
    return [score.value for score in ev.scores]


@pytest.mark.parametrize("interpolation", ["linear", "step"])
@pytest.mark.parametrize("convention", ["survgauge", "pycox", "sksurv"])
def test_integrated_scores_of_whole_days_are_the_same_in_other_units(interpolation, convention):
    def scores(unit):
        y, curves = in_unit(unit, interpolation)
        ev = sg.evaluate(
            {"m": curves}, y, y_train=y, metrics=["ibs"], convention=convention, confidence=None
        )
        alone = sg.integrated_brier_score(y, curves, y_train=y, convention=convention)
        return [*values(ev), alone]

    days = scores(1.0)
    for unit in UNITS:
        np.testing.assert_allclose(scores(unit), days, rtol=1e-12, err_msg=str(unit))


@pytest.mark.parametrize("censoring", ["test", "train"])
def test_parts_of_a_stream_meet_the_same_times(censoring):
    for unit in (1.0, *UNITS[:3]):
        y, curves = in_unit(unit, "step")
        given = {"metrics": ["ibs", "ibll"], "y_train": y, "censoring": censoring}
        whole = sg.evaluate({"m": curves}, y, confidence=None, **given)
        columns = {"time": y[0], "event": y[1], "m": SURVIVAL}
        parts = [{k: v[i : i + 7] for k, v in columns.items()} for i in range(0, 300, 7)]
        read = sg.CurveColumns("m", curves.times, interpolation="step")
        stream = sg.evaluate_stream(parts, predictions={"m": read}, confidence=None, **given)
        np.testing.assert_allclose(values(stream), values(whole), rtol=1e-12)


def test_steps_are_moved_by_rounding_only():
    steps = np.linspace(0.0, 1.0, 11)
    one = np.array([0.3 * (1 - 1e-9), 0.5 * (1 - 1e-12)])
    known = [one, np.array([0.5, 0.7 + 1e-13, 1 - 1e-15])]
    moved = snapped(steps, known)
    assert moved[5] == 0.5
    assert moved[7] == 0.7 + 1e-13
    assert moved[3] == steps[3]
    assert moved[-1] == 1.0
