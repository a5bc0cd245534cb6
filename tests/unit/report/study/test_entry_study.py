"""A study of subjects who entered late says so, and counts their follow-up from entry."""

from __future__ import annotations

import numpy as np

import survgauge as sg


def test_follow_up_counts_from_entry_and_methods_say_so() -> None:
    rng = np.random.default_rng(4)
    n = 120
    entry, watched = rng.uniform(55, 80, n), rng.uniform(1, 12, n)
    y = sg.Outcomes(entry + watched, rng.random(n) < 0.5, entry=entry)
    grid = np.linspace(0, 110, 56)
    curves = sg.SurvivalCurves(grid, np.tile(np.exp(-((grid / 85) ** 8)), (n, 1)))
    study = sg.evaluate({"m": curves}, y, time=75, unit="years", metrics="study").study()
    assert study.evaluation.support["median_follow_up"] < 12
    alone = sg.evaluate({"m": curves}, (watched, y.event), time=5, unit="years").study()
    rows = [
        [row for row in one.table_one.markdown().splitlines() if "follow-up, years" in row]
        for one in (study, alone)
    ]
    assert len(rows[0]) == 3
    assert rows[0] == rows[1]
    assert "120 of them entered late (median entry at " in study.methods.markdown()
