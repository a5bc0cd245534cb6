"""Distributions per subject in streams: columns of curves, the numbers of `evaluate`."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

GRID = tuple(np.linspace(1.0, 20.0, 12).tolist())
METRICS = [
    "mae_dr", "mse_dr", "mae_expected", "brier_dr", "ibs_dr", "crps_dr", "mae_within", "brier",
    "ibs",
]  # fmt: skip


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event, lost = rng.exponential(8 * np.exp(-0.5 * x)), rng.exponential(12, n)
    y = sg.Outcomes(np.minimum(event, lost), event <= lost)
    train = sg.Outcomes(rng.exponential(7, 200), rng.random(200) < 0.7)
    grid = np.array(GRID)
    distribution = np.exp(-grid * np.exp(0.5 * x)[:, None] / 8)
    g = np.exp(-grid * np.ones((n, 1)) / 12)
    predicted = np.exp(-grid * np.exp(0.3 * x)[:, None] / 9)
    groups = np.where(x > 0, "high", "low")
    return y, train, {"distribution": distribution, "g": g, "curves": predicted}, groups


def columns(name, interpolation="linear"):
    return sg.CurveColumns(name, times=GRID, interpolation=interpolation)


@pytest.mark.parametrize("by", [None, "group"])
@pytest.mark.parametrize(
    "given",
    [
        {"distribution": "distribution"},
        {"censoring": "g"},
        {"distribution": "distribution", "censoring": "g"},
    ],
)
def test_columns_of_distributions_give_the_numbers_of_evaluate(given, by):
    y, train, curves, groups = sample()
    interpolation = "step"
    batches = [
        {
            "time": y.time[rows],
            "event": y.event[rows],
            "group": groups[rows],
            **{name: values[rows] for name, values in curves.items()},
        }
        for rows in (slice(0, 90), slice(90, 200), slice(200, 300))
    ]
    options = {"y_train": train, "metrics": METRICS, "time": 6.0}
    streamed = sg.evaluate_stream(
        batches,
        predictions={"m": columns("curves")},
        conditional={key: columns(name, interpolation) for key, name in given.items()},
        by=by,
        **options,
    )
    distributions = {
        key: sg.SurvivalCurves(GRID, curves[name], interpolation) for key, name in given.items()
    }
    whole = sg.evaluate(
        {"m": sg.SurvivalCurves(GRID, curves["curves"])},
        y,
        conditional=sg.Conditional(**distributions),
        by=None if by is None else groups,
        **options,
    )
    ours, theirs = streamed.rows(), whole.rows()
    assert [row["metric"] for row in ours] == [row["metric"] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one["value"] == pytest.approx(other["value"], rel=1e-9), one["metric"]
        assert one["stderr"] == pytest.approx(other["stderr"], rel=1e-9), one["metric"]


@pytest.mark.parametrize("metric", ["auc", "observed_expected", "ici"])
def test_metrics_that_would_lose_the_distributions_are_refused(metric):
    y, train, curves, _ = sample(60)
    batch = {
        "time": y.time,
        "event": y.event,
        "distribution": curves["distribution"],
        "curves": curves["curves"],
    }
    settings = {
        "predictions": {"m": columns("curves")},
        "conditional": {"distribution": columns("distribution")},
    }
    with pytest.raises(sg.InputError, match=f"{metric}.*together with conditional"):
        sg.evaluate_stream([batch], y_train=train, metrics=[metric], time=6.0, **settings)
    usual = sg.evaluate_stream([batch], y_train=train, time=6.0, **settings)
    assert metric not in {row["metric"] for row in usual.rows()}


@pytest.mark.parametrize(
    "given", ["distribution", {}, {"distributions": "distribution"}, {"distribution": 3}]
)
def test_what_names_no_columns_is_refused(given):
    batch = {"time": [1.0, 2.0], "event": [1, 0], "m": [1.0, 2.0]}
    with pytest.raises(sg.InputError, match="conditional"):
        sg.evaluate_stream(
            [batch], y_train=([1, 2], [1, 1]), predictions={"m": "m"}, conditional=given
        )
