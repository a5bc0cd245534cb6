"""Streams and `evaluate` have one horizon, and a score at every time of interest."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import COLUMNS as SPECS
from streaming_data import NAMES, cut, differences, draw, in_memory

import survgauge as sg
from survgauge.metrics.registry import metrics_of

COLUMNS, Y_TRAIN = draw(300, seed=6)
COLUMNS["time"] = COLUMNS["time"].clip(1.0, 24.0)
CLOCKED = [m.name for m in metrics_of().values() if m.reads == "time" or m.stops == "horizon"]
METRICS = ["mae_po", "mae_ipcw_d", "harrell", "crps", "km_calibration", *CLOCKED]
CLOCKS = [
    {"time": [4.0, 9.0, 14.0]},
    {"tau": 9.0},
    {"tau": 9.0, "time": [4.0, 14.0]},
    {"tau": 500.0, "time": [9.0, 300.0, 400.0]},
]


def labelled():
    return COLUMNS | {"site": np.array(["x", "y", "z"])[np.arange(300) % 3]}


@pytest.mark.parametrize("clock", CLOCKS, ids=str)
@pytest.mark.parametrize("cuts", [(), (100, 101, 220)])
def test_a_stream_has_the_scores_of_evaluate_at_every_time(clock, cuts):
    options = {"metrics": METRICS, "threshold": 0.3, **clock}
    whole = in_memory(COLUMNS, Y_TRAIN, **options).to_dict()
    found = sg.evaluate_stream(
        cut(COLUMNS, cuts), y_train=Y_TRAIN, predictions=SPECS, **options
    ).to_dict()
    for part in ("metrics", "comparisons", "baseline_comparisons", "warnings"):
        assert differences(whole[part], found[part]) == [], part
    assert whole["support"]["times"] == found["support"]["times"]
    assert whole["support"]["tau"] == found["support"]["tau"]


def test_groups_have_a_score_at_every_time():
    columns = labelled()
    options = {"metrics": METRICS, "threshold": 0.3, "time": [4.0, 9.0], "tau": 12.0}
    whole = in_memory(columns, Y_TRAIN, by=columns["site"], **options).to_dict()
    found = sg.evaluate_stream(
        cut(columns, (70, 190)), y_train=Y_TRAIN, predictions=SPECS, by="site", **options
    ).to_dict()
    assert {row["group"] for row in found["metrics"]} == {None, "x", "y", "z"}
    for part in ("metrics", "comparisons", "baseline_comparisons"):
        assert differences(whole[part], found[part]) == [], part


def test_a_stream_knows_every_time():
    options = {"y_train": Y_TRAIN, "predictions": SPECS, "metrics": ["brier", "auc"], "n_boot": 30}
    several = sg.evaluate_stream([COLUMNS], time=[4.0, 9.0], **options).to_dict()["metrics"]
    for time in (4.0, 9.0):
        alone = sg.evaluate_stream([COLUMNS], time=time, **options).to_dict()["metrics"]
        assert differences([r for r in several if r["time"] == time], alone) == []
        assert all(row["stderr"] for row in alone if row["metric"] == "brier")


def test_own_distributions_of_a_stream_are_read_at_every_time():
    grid = np.linspace(0, 25, 12)
    columns = COLUMNS | {"distribution": COLUMNS["b"]}
    conditional = {"distribution": sg.CurveColumns("distribution", grid)}
    options = {"metrics": ["brier_dr", "ibs_dr"], "time": [4.0, 9.0], "tau": 12.0}
    distribution = sg.Conditional(distribution=sg.SurvivalCurves(grid, COLUMNS["b"]))
    whole = in_memory(COLUMNS, Y_TRAIN, conditional=distribution, **options).to_dict()
    found = sg.evaluate_stream(
        cut(columns, (120,)), y_train=Y_TRAIN, predictions=SPECS, conditional=conditional, **options
    ).to_dict()
    values = [[row["value"] for row in e["metrics"]] for e in (whole, found)]
    assert len(values[0]) == 3 * 2  # two times and an integral, two models with curves
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_on_dask_too():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({name: COLUMNS[name] for name in ("time", "event", "lr")})
    wide = pd.DataFrame(COLUMNS["a"], columns=[f"a{k}" for k in range(12)])
    frame = pd.concat([frame, wide], axis=1)
    specs = {"a": sg.CurveColumns("a*", np.linspace(0, 25, 12)), "lr": "lr"}
    options = {"y_train": Y_TRAIN, "predictions": specs, "time": [4.0, 9.0], "tau": 12.0}
    options |= {"metrics": METRICS, "threshold": 0.3}
    want = sg.evaluate_stream([frame], **options).to_dict()
    found = sg.evaluate_dask(dd.from_pandas(frame, npartitions=3), **options).to_dict()
    assert differences(want, found) == []


def test_metrics_named_here_are_those_of_the_clock():
    assert set(METRICS) <= {*NAMES, "net_benefit"}
    assert {"brier", "auc", "ici", "one_calibration", "ibs", "uno", "mae_within"} <= set(METRICS)
