"""Values, standard errors, limits and differences are the same at every size and in streams."""

from __future__ import annotations

from itertools import pairwise

import cause_data
import numpy as np
import pytest
from streaming_data import (
    COLUMNS,
    ENTRY_NAMES,
    INTERVAL_NAMES,
    NAMES,
    cut,
    draw,
    in_memory,
    with_bounds,
    with_entry,
)

import survgauge as sg
from survgauge.evaluation import call, cells
from survgauge.evaluation import columns as long_column
from survgauge.metrics.registry import metrics_of

#: Some models have no spread at all between them by some metrics: what is left is rounding.
NOTHING = 1e-13
ALL = tuple(name for name, metric in metrics_of().items() if metric.supports_cause(None))


def told(ev):
    """Numbers of an evaluation, by where they stand."""
    found = {}
    for row in ev.rows():
        key = row.get("group"), row["model"], row["metric"], row["time"]
        found |= {(*key, what): row[what] for what in ("value", "stderr", "low", "high", "skill")}
    plain = ev.to_dict()
    for row in plain["comparisons"] + plain["baseline_comparisons"]:
        names = ("group", "model", "model_a", "model_b", "metric", "time")
        key = tuple(str(row.get(name)) for name in names)
        found |= {(*key, k): v for k, v in row.items() if isinstance(v, float) or v is None}
    return found


def same(found, expected):
    """The same numbers to 1e-9, and enough of them."""
    ours, theirs = told(found), told(expected)
    assert ours.keys() == theirs.keys()
    assert any(key[-1] == "stderr" and value > 0 for key, value in theirs.items())
    numbers = [
        [np.nan if told_of[key] is None else told_of[key] for key in theirs]
        for told_of in (ours, theirs)
    ]
    wrong = ~np.isclose(*numbers, rtol=1e-9, atol=NOTHING, equal_nan=True)
    keys = list(theirs)
    assert [(keys[k], numbers[0][k], numbers[1][k]) for k in np.flatnonzero(wrong)] == []


def many(monkeypatch, rows=37):
    """Evaluate a few subjects as more than 100,000 are: in chunks, with columns on disk."""
    for module in (call, cells):
        monkeypatch.setattr(module, "CONTRIBUTIONS_LIMIT", 50)
    monkeypatch.setattr(call, "chunk_rows", lambda widths: rows)
    monkeypatch.setattr(long_column, "IN_MEMORY", 1000)


def subjects(n=300, seed=3):
    return draw(n, seed, decimals=6)


QUESTIONS = {
    "plain": {},
    "tau": {"tau": 8.0, "time": [2.0, 5.0]},
    "train": {"censoring": "train"},
    "weights": {"normalize": "weights"},
    "threshold": {"threshold": 0.3, "metrics": ["net_benefit", "brier"]},
    "flipped": {"convention": "sksurv"},
}


SAMPLED = ["clusters", "sample_weight", "groups", "frequencies"]


@pytest.mark.parametrize(
    ("question", "sampled"),
    [*((name, "alone") for name in QUESTIONS),
     *((name, how) for name in ("plain", "tau") for how in SAMPLED)],
)  # fmt: skip
def test_in_memory(question, sampled, monkeypatch):
    asked = QUESTIONS[question]
    columns, y_train = subjects()
    n, rng = columns["time"].size, np.random.default_rng(0)
    more = {
        "clusters": {"cluster": rng.integers(0, 40, n)},
        "sample_weight": {"sample_weight": rng.uniform(0.5, 3.0, n)},
        "groups": {"by": np.resize(["f", "f", "m"], n)},
    }.get(sampled, {})
    if sampled == "frequencies":
        columns["weight"] = rng.integers(0, 4, n).astype(float)
    metrics = [name for name in ALL if not metrics_of()[name].reads_threshold]
    options = {"metrics": metrics, **asked, **more}
    expected = in_memory(columns, y_train, **options)
    many(monkeypatch)
    same(in_memory(columns, y_train, **options), expected)


@pytest.mark.parametrize(
    ("question", "sampled", "rows"),
    [*((name, "alone", 90) for name in QUESTIONS),
     ("plain", "alone", 23), ("plain", "alone", 1000),
     ("plain", "groups", 90), ("tau", "groups", 200), ("tau", "frequencies", 90)],
)  # fmt: skip
def test_in_a_stream(question, sampled, rows, monkeypatch):
    asked = QUESTIONS[question]
    columns, y_train = subjects()
    n = columns["time"].size
    if sampled == "frequencies":
        columns["weight"] = np.random.default_rng(0).integers(0, 4, n).astype(float)
    by = np.resize(["f", "f", "m"], n) if sampled == "groups" else None
    options = {"metrics": NAMES, **asked}
    if "convention" in asked:
        options["metrics"] = [m for m in NAMES if not metrics_of()[m].uses_divisor]
    expected = in_memory(columns, y_train, **options, **({} if by is None else {"by": by}))
    many(monkeypatch)
    given = columns | ({} if by is None else {"sex": by})
    found = sg.evaluate_stream(
        cut(given, range(rows, n, rows)), y_train=y_train, predictions=COLUMNS, batch_rows=rows,
        weight_column="weight" if sampled == "frequencies" else None,
        by=None if by is None else "sex", **options,
    )  # fmt: skip
    same(found, expected)


@pytest.mark.parametrize("tau", [None, 8.0])
def test_delayed_entry(tau, monkeypatch):
    columns, y_train = subjects()
    columns = with_entry(columns)
    options = {"metrics": ENTRY_NAMES, "tau": tau}
    expected = in_memory(columns, y_train, **options)
    many(monkeypatch)
    same(in_memory(columns, y_train, **options), expected)
    batches = cut(columns, [40, 41, 190])
    given = {"y_train": y_train, "predictions": COLUMNS}
    same(sg.evaluate_stream(batches, batch_rows=61, **given, **options), expected)


def test_intervals(monkeypatch):
    columns, y_train = subjects(160)
    columns, known = with_bounds(columns), with_bounds({"time": y_train[0], "event": y_train[1]})
    train = sg.IntervalOutcomes(known["lower"], known["upper"])
    expected = in_memory(columns, train, metrics=INTERVAL_NAMES)
    many(monkeypatch)
    same(in_memory(columns, train, metrics=INTERVAL_NAMES), expected)
    given = {"y_train": train, "predictions": COLUMNS, "metrics": INTERVAL_NAMES}
    same(sg.evaluate_stream(cut(columns, [40, 90]), batch_rows=61, **given), expected)


@pytest.mark.parametrize("cause", ["relapse", "death"])
@pytest.mark.parametrize("entry", [False, True])
def test_causes(cause, entry, monkeypatch):
    train, _ = cause_data.draw(200, 1)
    y, curves = cause_data.draw(300, 2)
    other = sg.IncidenceCurves(curves.times, 0.9 * curves.values, causes=cause_data.CAUSES)
    if entry:
        late = np.where(np.arange(len(y)) % 3 == 0, 0.5 * y.time, 0.0)
        y = sg.Outcomes(y.time, y.cause, causes=y.causes, entry=late)
    models = {"one": curves, "two": other}
    knows = [m for m in metrics_of().values() if m.supports_cause(1) and not m.reads_threshold]
    names = [m.name for m in knows if not entry or m.supports_entry(1)]
    expected = sg.evaluate(models, y, y_train=train, cause=cause, metrics=names)
    many(monkeypatch)
    same(sg.evaluate(models, y, y_train=train, cause=cause, metrics=names), expected)
    if entry:  # a stream of causes takes none
        return
    streamed = [m for m in names if not metrics_of()[m].needs_all()]
    expected = sg.evaluate(models, y, y_train=train, cause=cause, metrics=streamed)
    columns = {"time": y.time, "event": y.cause}
    spec = {}
    for name, model in models.items():
        columns |= {f"{name}{k}": model.values[:, k] for k in range(2)}
        of = {c: f"{name}{k}" for k, c in enumerate(cause_data.CAUSES)}
        spec[name] = sg.IncidenceColumns(of, curves.times)
    found = sg.evaluate_stream(
        cut(columns, [70, 71, 200]), y_train=train, predictions=spec, cause=cause,
        metrics=streamed, batch_rows=90,
    )  # fmt: skip
    same(found, expected)


def test_d_calibration_of_many_subjects_reads_probabilities_as_they_are():
    rng = np.random.default_rng(0)
    n = 2**18 + 1
    u, c = rng.random(n), rng.random(n)
    time, event = np.minimum(u, c), u <= c
    line = sg.SurvivalCurves([0.0, 1.0], np.broadcast_to([1.0, 0.0], (n, 2)))
    found = sg.d_calibration((time, event), line)
    order = np.argsort(time)
    left = n - np.arange(n)
    after = 1 - np.cumprod(1 - event[order] / left)
    before = np.append(0.0, after[:-1])
    gaps = np.maximum(np.abs(after - time[order]), np.abs(before - time[order]))
    assert found.support["distance"] == pytest.approx(gaps.max(), rel=1e-12)


def test_one_subject_more_than_a_hundred_thousand():
    rng = np.random.default_rng(32)
    n = 100_001
    scale = rng.uniform(5.0, 20.0, n)
    t, c = scale * rng.exponential(size=n), rng.exponential(12.0, n)
    time, event = np.minimum(t, c), t <= c
    grid = np.linspace(0.0, 40.0, 9)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / scale[:, None]))
    train = time[:500], event[:500]
    names = ["mae_ipcw_d", "rmse_ipcw_d", "brier", "ibs", "ibll"]
    options = {"y_train": train, "metrics": names, "time": 8.0}
    found = sg.evaluate({"m": curves}, (time, event), **options)
    for loss, name in (("absolute", "mae"), ("squared", "mse")):
        details = sg.time_error((time, event), curves, y_train=train, method="ipcw_d", loss=loss)
        row = next(r for r in found.rows() if r["metric"] in (f"{name}_ipcw_d", f"r{name}_ipcw_d"))
        root = 2 * row["value"] if name == "mse" else 1.0
        assert row["stderr"] * root == pytest.approx(details.stderr, rel=1e-9)
    brier = sg.brier_score((time, event), curves, [8.0], y_train=train)
    row = next(r for r in found.rows() if r["metric"] == "brier")
    assert row["stderr"] == pytest.approx(brier.stderr[0], rel=1e-9)
    bounds = pairwise(range(0, n + 1, 25_000))
    batches = [
        {"time": time[i:j], "event": event[i:j], "m": curves.survival[i:j]}
        for i, j in [*bounds, (100_000, n)]
    ]
    streamed = sg.evaluate_stream(batches, predictions={"m": sg.CurveColumns("m", grid)}, **options)
    same(streamed, found)
