"""Streams of several causes: the numbers of `evaluate(cause=)`, whatever the batches."""

import numpy as np
import pytest

import survgauge as sg

pa = pytest.importorskip("pyarrow")
CAUSES = ("relapse", "death")
GRID = np.linspace(0.5, 60, 60)


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rates = np.stack([0.1 * np.exp(x), 0.05 * np.exp(-0.5 * x)], axis=1)
    total = rates.sum(axis=1)
    time = np.ceil(rng.exponential(1 / total) * 4) / 4
    cause = np.where(rng.random(n) < rates[:, 0] / total, 1, 2)
    limit = np.ceil(rng.exponential(15, size=n) * 4) / 4
    values = (1 - np.exp(-total[:, None] * GRID))[:, None] * (rates / total[:, None])[:, :, None]
    codes = np.where(time <= limit, cause, 0)
    return sg.Outcomes(np.minimum(time, limit), codes, causes=CAUSES), values


@pytest.fixture(scope="module")
def data():
    train, _ = draw(150, 1)
    y, values = draw(230, 2)
    return train, y, values


def columns(y, values, rows=slice(None), names=False):
    event = np.array(["censored", *CAUSES])[y.cause] if names else y.cause
    return {
        "time": y.time[rows], "event": event[rows], "sex": np.resize(["f", "m"], len(y))[rows],
        "one": values[rows, 0], "two": values[rows, 1], "risk": values[rows, 0, 30],
    }  # fmt: skip


SPEC = {
    "curves": sg.IncidenceColumns({"relapse": "one", "death": "two"}, GRID),
    "risk": sg.RiskColumn("risk"),
}


def same(streamed, whole):
    theirs = {(s.group, s.model, s.metric.name): s for s in whole.scores}
    ours = {(s.group, s.model, s.metric.name): s for s in streamed.scores}
    assert ours.keys() == theirs.keys()
    for key, score in ours.items():
        assert score.value == pytest.approx(theirs[key].value, rel=1e-10), key
        assert score.baseline == pytest.approx(theirs[key].baseline, rel=1e-10, nan_ok=True), key
        if score.metric.inference == "analytic":
            assert score.stderr == pytest.approx(theirs[key].stderr, rel=1e-9), key


def whole(data, **more):
    train, y, values = data
    models = {
        "curves": sg.IncidenceCurves(GRID, values, causes=CAUSES),
        "risk": sg.RiskScores(values[:, 0, 30]),
    }
    return sg.evaluate(models, y, y_train=train, cause="relapse", **more)


@pytest.mark.parametrize("names", [False, True])
def test_batches_give_the_numbers_of_evaluate(data, names):
    train, y, values = data
    cuts = [0, 1, 57, 120, 230]
    batches = [
        columns(y, values, slice(a, b), names) for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]
    found = sg.evaluate_stream(batches, y_train=train, predictions=SPEC, cause="relapse")
    expected = whole(data, metrics=list(dict.fromkeys(s.metric.name for s in found.scores)))
    same(found, expected)
    assert found.support["events_by_cause"] == expected.support["events_by_cause"]
    median = expected.support["median_follow_up"]
    assert found.support["median_follow_up"] == pytest.approx(median)


def test_groups_and_files(data, tmp_path):
    train, y, values = data
    table = columns(y, values)
    wide = {f"a_{t!r}": values[:, 0, k] for k, t in enumerate(GRID.tolist())}
    wide |= {f"b_{t!r}": values[:, 1, k] for k, t in enumerate(GRID.tolist())}
    plain = {name: table[name] for name in ("time", "event", "sex", "risk")}
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table(plain | wide), tmp_path / "test.parquet", row_group_size=50)
    spec = {**SPEC, "curves": sg.IncidenceColumns({"relapse": "a_*", "death": "b_*"})}
    path = tmp_path / "test.parquet"
    given = {"y_train": train, "predictions": spec, "cause": 1, "by": "sex", "tau": 8.0}
    found = sg.evaluate_stream(path, **given, metrics=["brier", "ibs", "auc", "uno"])
    expected = whole(data, by=table["sex"], tau=8.0, metrics=["brier", "ibs", "auc", "uno"])
    same(found, expected)


@pytest.mark.parametrize("tau", [None, 8.0])
def test_errors_in_time_stop_at_tau_or_at_the_horizon_of_all(data, tau):
    train, y, values = data
    names = ["mae_dr", "mae_within", "mae_po", "mae_ipcw_d", "rmse_dr", "mae_margin"]
    batches = [columns(y, values, slice(k, k + 60)) for k in range(0, len(y), 60)]
    given = {"y_train": train, "predictions": SPEC, "tau": tau, "metrics": names}
    found = sg.evaluate_stream(batches, cause="relapse", **given)
    expected = whole(data, tau=tau, metrics=names)
    same(found, expected)
    assert [s.until for s in found.scores] == [s.until for s in expected.scores]


def test_dask_gives_the_same(data):
    pytest.importorskip("dask")
    train, y, values = data
    frame = pytest.importorskip("pandas").DataFrame(
        {name: list(column) for name, column in columns(y, values).items()}
    )
    dask = pytest.importorskip("dask")
    parts = [dask.delayed(frame.iloc[k : k + 70]) for k in range(0, len(frame), 70)]
    found = sg.evaluate_dask(
        parts, y_train=train, predictions=SPEC, cause="relapse", metrics=["brier", "harrell"]
    )
    same(found, whole(data, metrics=["brier", "harrell"]))


def test_a_validation_loop(data):
    train, y, values = data
    evaluator = sg.Evaluator(train, cause="relapse", metrics=["brier", "ibs", "harrell"])
    for rows in np.array_split(np.arange(len(y)), 4):
        part = sg.IncidenceCurves(GRID, values[rows], causes=CAUSES)
        evaluator.update({"curves": part}, (y.time[rows], y.cause[rows]))
    expected = sg.evaluate(
        {"curves": sg.IncidenceCurves(GRID, values, causes=CAUSES)}, y, y_train=train,
        cause="relapse", metrics=["brier", "ibs", "harrell"],
    )  # fmt: skip
    same(evaluator.compute(), expected)


def test_bad_input_is_told(data):
    train, y, values = data
    batch = columns(y, values)
    given = {"y_train": train, "predictions": SPEC, "cause": 1}
    with pytest.raises(sg.InputError, match="code from 1 to 2"):
        sg.evaluate_stream([{**batch, "event": batch["event"] + 2}], **given)
    with pytest.raises(sg.InputError, match="y_train has one kind of event"):
        sg.evaluate_stream([batch], **{**given, "y_train": train.any_cause()})
    with pytest.raises(sg.InputError, match="y_train must be outcomes in memory"):
        sg.evaluate_stream([batch], **{**given, "y_train": [batch]})
    with pytest.raises(sg.InputError, match="must be IncidenceColumns"):
        sg.evaluate_stream([batch], **{**given, "predictions": sg.CurveColumns("one", GRID)})
    parts = {"relapse": sg.CurveColumns("one", GRID), "death": sg.CurveColumns("two", GRID[:-1])}
    uneven = sg.IncidenceColumns(parts)
    with pytest.raises(sg.InputError, match="all causes must have the same times"):
        sg.evaluate_stream([batch], **{**given, "predictions": uneven})
    with pytest.raises(sg.InputError, match="columns must say for each cause"):
        sg.IncidenceColumns("one")
