"""The warning about units of time is the same in memory, streamed and on Dask."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import COLUMNS, cut, draw, in_memory

import survgauge as sg
from survgauge.evaluation import checks as seen
from survgauge.evaluation.reading import joined

METRICS = ["mae_hinge"]


def told(ev):
    return [w.to_dict() for w in ev.cases if w.code == "time-units"]


def in_days(n, weighted, seed=4):
    """Subjects counted in days, one model in years, and training times in years."""
    columns, train = draw(n, seed, train=50, decimals=2)
    columns = {**columns, "time": columns["time"] * 365}
    if weighted:
        columns["weight"] = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    return columns, train


def streamed(batches, train, weighted):
    more = {"weight_column": "weight"} if weighted else {}
    return sg.evaluate_stream(
        batches, y_train=train, predictions=COLUMNS, metrics=METRICS, n_boot=0, **more
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [[], [1], [7, 100, 101, 250]])
@pytest.mark.parametrize("looked_at", [2000, 40])
def test_streams_say_what_memory_says(monkeypatch, weighted, places, looked_at):
    monkeypatch.setattr(seen, "_LOOKED_AT", looked_at)
    columns, train = in_days(300, weighted)
    known = told(in_memory(columns, train, metrics=METRICS, n_boot=0))
    assert [w["model"] for w in known] == ["a", "b", "lr", None]
    assert told(streamed(cut(columns, places), train, weighted)) == known


@pytest.mark.parametrize("weighted", [False, True])
def test_dask_says_what_memory_says(monkeypatch, weighted):
    pytest.importorskip("dask")
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr(seen, "_LOOKED_AT", 40)
    columns, train = in_days(300, weighted)
    columns = {name: columns[name] for name in columns if name in ("time", "event", "lr", "weight")}
    y = sg.Outcomes(columns["time"], columns["event"], columns.get("weight"))
    known = told(sg.evaluate({"lr": columns["lr"]}, y, y_train=train, metrics=METRICS))
    assert [w["model"] for w in known] == ["lr", None]
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=5)
    more = {"weight_column": "weight"} if weighted else {}
    found = sg.evaluate_dask(
        frame, y_train=train, predictions={"lr": "lr"}, metrics=METRICS, **more
    )
    assert told(found) == known


def test_parts_look_at_the_same_subjects_however_they_are_cut(monkeypatch):
    monkeypatch.setattr(seen, "_LOOKED_AT", 10)
    columns, train = in_days(300, weighted=True)
    known = None
    for places in ([], [150], [3, 4, 5, 200], list(range(1, 300, 7))):
        whole, start = seen.Seen(), 0
        for batch in cut(columns, places):
            y = sg.Outcomes(batch["time"], batch["event"], batch["weight"])
            task = sg.metrics.task.Task.of(y, train)
            models = {"lr": _prediction(batch["lr"])}
            whole.merge(seen.Seen.of(task.again(start=start), models, 300))
            start += len(y)
        y = joined(whole.outcomes)
        assert 5 <= len(y) <= 10
        found = y.time.tolist(), y.weight.tolist(), np.concatenate(whole.times["lr"]).tolist()
        known = known or found
        assert found == known


def _prediction(times):
    return sg.data.predictions.Prediction(None, times, None)


def test_training_outcomes_may_be_counted():
    """A median of counts at distinct times is that of the subjects."""
    time = np.array([3.0, 1, 1, 2, 5, 5, 5, 4])
    y = sg.Outcomes(time, np.ones(8))
    counts = sg.OutcomeCounts()
    counts.update(y)
    assert counts.outcomes().median_time == y.median_time == np.median(time)


def test_a_model_of_one_cause_has_no_times_to_judge_units_by():
    rng = np.random.default_rng(0)
    grid, event = np.linspace(0, 20, 21), rng.exponential(5, 200)
    y = sg.Outcomes(event, rng.choice([1, 2], 200, p=[0.1, 0.9]), causes=["rare", "death"])
    rare = np.tile(0.1 * (1 - np.exp(-grid / 5)), (200, 1))
    for factor, expected in ((9.0, 0), (0.01, 1), (0.0, 0)):
        curves = sg.IncidenceCurves(grid, np.stack([rare, factor * rare], axis=1), causes=y.causes)
        ev = sg.evaluate({"one": curves}, y, cause="rare", metrics="ibs", confidence=None)
        assert len(told(ev)) == expected
