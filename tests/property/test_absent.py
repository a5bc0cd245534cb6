"""Subjects of weight zero are absent: every number is that of the others alone."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.registry import metrics_of

ORDINARY = list(metrics_of())
GRID = np.linspace(0.5, 30, 16)


def subjects(seed, tail, own_grids, interpolation, n=60, absent=6):
    """Outcomes and curves; the absent are extreme in every way, and anywhere in the rows."""
    rng = np.random.default_rng(seed)
    total = n + absent
    t, c = rng.exponential(10, total), rng.exponential(15, total)
    time, event = np.minimum(t, c).round(1), t <= c
    weight = rng.integers(1, 4, total).astype(float)
    gone = rng.choice(total, absent, replace=False)
    weight[gone] = 0.0
    time[gone[:3]] = [0.0, 500.0, 77.0]
    event[gone[:3]] = [True, True, False]
    grid = np.tile(GRID, (total, 1)) if own_grids else GRID
    values = np.exp(-GRID / rng.uniform(3, 20, (total, 1)))
    if own_grids:
        grid[:, :] *= rng.uniform(0.9, 1.1, (total, 1)) * 3
        grid[gone[3]] /= 300
    else:
        grid = grid * 3
    values[gone[4]] = 0.0
    values[gone[5]] = 1.0
    keep = np.flatnonzero(weight > 0)
    curves = sg.SurvivalCurves(grid, values, interpolation, tail)
    return time, event, weight, keep, curves


SETTINGS = [
    ("linear", False, "linear"),
    ("nan", False, "linear"),
    ("nan", True, "linear"),
    ("hold", True, "step"),
    ("exponential", True, "pchip"),
]


def same(whole, part):
    """All rows agree up to rounding, and the same is said about them."""
    for one, other in zip(whole.rows(), part.rows(), strict=True):
        assert (one["model"], one["metric"]) == (other["model"], other["metric"])
        for key in ("value", "stderr", "low", "high", "skill"):
            where = f"{one['model']} {one['metric']} {key}"
            np.testing.assert_allclose(one[key], other[key], rtol=1e-7, atol=1e-12, err_msg=where)
    codes = [
        sorted({(w.code, w.model, w.metric) for w in ev.cases}, key=str) for ev in (whole, part)
    ]
    assert codes[0] == codes[1]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("tail", "own_grids", "interpolation"), SETTINGS)
@pytest.mark.parametrize("train", [True, False])
def test_evaluate_with_absent_subjects_is_that_without(seed, tail, own_grids, interpolation, train):
    time, event, weight, keep, curves = subjects(seed, tail, own_grids, interpolation)
    rng = np.random.default_rng(seed + 100)
    y_train = (rng.exponential(8, 80).round(1), rng.random(80) < 0.7) if train else None
    medians = np.where(np.isfinite(m := rng.uniform(1, 20, time.size)), m, 0)
    risk = rng.normal(size=time.size)
    options = {"y_train": y_train, "metrics": ORDINARY, "n_boot": 12, "threshold": 0.3}
    both = []
    for rows in (np.arange(time.size), keep):
        predictions = {
            "curves": curves[rows],
            "times": medians[rows],
            "risk": sg.RiskScores(risk[rows]),
        }
        y = sg.Outcomes(time[rows], event[rows], weight[rows])
        both.append(sg.evaluate(predictions, y, **options))
    same(*both)


@pytest.mark.parametrize("tail", ["linear", "nan", "hold"])
@pytest.mark.parametrize("by", [False, True])
def test_streams_with_absent_subjects_are_those_without(tail, by):
    time, event, weight, keep, curves = subjects(5, tail, False, "linear")
    rng = np.random.default_rng(7)
    y_train = (rng.exponential(8, 80).round(1), rng.random(80) < 0.7)
    columns = {"time": time, "event": event, "w": weight, "c": curves.survival}
    columns |= {"t": rng.uniform(1, 20, time.size), "g": np.arange(time.size) % 2}
    found = []
    for rows in (np.arange(time.size), keep):
        half = rows.size // 3
        batches = [
            {name: column[part] for name, column in columns.items()}
            for part in (rows[:half], rows[half:])
        ]
        found.append(
            sg.evaluate_stream(
                batches,
                y_train=y_train,
                predictions={"c": sg.CurveColumns("c", curves.times, tail=tail), "t": "t"},
                metrics=[name for name in ORDINARY if name != "antolini"],
                threshold=0.3,
                weight_column="w",
                by="g" if by else None,
                n_boot=12,
            )
        )
    same(*found)


FUNCTIONS = {
    "mae": lambda y, c: sg.mae(y, c),
    "brier_score": lambda y, c: sg.brier_score(y, c, [3.0, 8.0]).values,
    "integrated_brier_score": lambda y, c: sg.integrated_brier_score(y, c),
    "crps": lambda y, c: sg.crps(y, c),
    "log_likelihood": lambda y, c: sg.log_likelihood(y, c),
    "d_calibration": lambda y, c: sg.d_calibration(y, c).p_value,
    "one_calibration": lambda y, c: sg.one_calibration(y, c, 6.0, groups=4).p_value,
    "km_calibration": lambda y, c: sg.km_calibration(y, c),
    "ici": lambda y, c: sg.integrated_calibration_index(y, c, 6.0).ici,
    "calibration_slope": lambda y, c: sg.calibration_slope(y, c, 6.0),
    "cumulative_dynamic_auc": lambda y, c: sg.cumulative_dynamic_auc(y, c, [3.0, 8.0]).mean,
    "concordance_td": lambda y, c: sg.concordance_td(y, c),
    "coverage": lambda y, c: sg.coverage(y, c),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("tail", "own_grids", "interpolation"), SETTINGS)
def test_functions_with_absent_subjects_are_those_without(name, tail, own_grids, interpolation):
    time, event, weight, keep, curves = subjects(11, tail, own_grids, interpolation)
    found = []
    for rows in (np.arange(time.size), keep):
        y = sg.Outcomes(time[rows], event[rows], weight[rows])
        try:
            found.append(FUNCTIONS[name](y, curves[rows]))
        except sg.UndefinedMetricError:
            found.append(np.nan)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7, atol=1e-12)
