"""One cell: its numbers by hand, alone and in any order; what goes wrong is recorded."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from experiment_plans import toy_plan

from survgauge import Outcomes, concordance_index, integrated_brier_score, mae
from survgauge.bench.censoring import semisynthetic
from survgauge.bench.datasets import load
from survgauge.bench.experiment import Plan
from survgauge.bench.experiment.cells import (
    DATASETS,
    DRAWN,
    FOLDS,
    OUTCOMES,
    CellTask,
    Recent,
    content_checksum,
    execute,
    fold_of,
    pack,
    unpack,
)
from survgauge.bench.experiment.process import (
    CellTimeoutError,
    limit_threads,
    restore_threads,
    time_limit,
)
from survgauge.data.estimators import predict
from survgauge.evaluation.scorers import SurvivalKFold
from survgauge.metrics.task import Task

PARTS = "experiment_parts"


def forget():
    for cache in (DATASETS, OUTCOMES, DRAWN, FOLDS):
        cache.items.clear()


@pytest.fixture(autouse=True)
def _clean():
    forget()
    yield
    restore_threads()


def cells(tmp_path, **changes):
    return Plan.of(toy_plan(tmp_path, **changes)).cells()


def values(outcome):
    assert outcome.status == "ok", outcome.failure
    clocks = ("seconds", "seconds_fit")
    rows = [{key: row[key] for key in row if key not in clocks} for row in outcome.rows]
    return {row["metric"]: row for row in rows}


def test_a_cell_by_hand(tmp_path):
    cell = cells(tmp_path)[2]  # coxph, fold 0
    found = values(execute(CellTask(cell)))
    base = load("toy", tmp_path / "toy.csv")
    ss = semisynthetic(base.X, base.y, "uniform", cell.censoring_seed)
    fold = SurvivalKFold(3, cell.split_seed).folds(ss.y)
    train, test = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    prepare = base.preprocessor().fit(ss.X.iloc[train])
    model = cell.model.build(cell.model_seed)
    model.fit(prepare.transform(ss.X.iloc[train]), ss.y[train])
    curves = model.predict_curves(prepare.transform(ss.X.iloc[test]))
    truth = Outcomes(ss.true_time[test], np.ones(test.size))
    given = {"y_train": ss.y[train], "method": "po"}
    assert found["mae_po"]["value"] == pytest.approx(mae(ss.y[test], curves, **given))
    unweighted = mae(ss.y[test], curves, **given, weighted=False)
    assert found["mae_po(weighted=false)"]["value"] == pytest.approx(unweighted)
    true_mae = np.mean(np.abs(curves.median() - ss.true_time[test]))
    for name in ("mae_po", "mae_uncensored", "mae_po(weighted=false)"):
        assert found[name]["true_value"] == pytest.approx(true_mae)
        assert found[name]["truth"] == "mae"
    true_c = concordance_index(truth, -curves.median())
    assert found["harrell"]["true_value"] == pytest.approx(true_c)
    # The true IBS runs over the same times as the estimated one.
    horizon = Task.of(ss.y[test], ss.y[train], convention="paper").horizon
    grid = np.linspace(0, horizon, 101)
    assert found["ibs"]["true_value"] == pytest.approx(integrated_brier_score(truth, curves, grid))
    assert found["mae_po"]["stderr"] > 0
    facts = found["mae_po"]
    assert facts["data_subjects"] == len(ss)
    assert facts["data_train"] + facts["data_test"] == len(ss)


def test_a_cell_gives_the_same_alone_in_another_order_and_again(tmp_path):
    chosen = cells(tmp_path, repeats=2)[::5]
    forwards = [values(execute(CellTask(cell))) for cell in chosen]
    backwards = [values(execute(CellTask(cell))) for cell in reversed(chosen)][::-1]
    alone = []
    for cell in chosen:
        forget()
        alone.append(values(execute(CellTask(cell))))
    assert forwards == backwards == alone


def test_models_see_one_draw_and_no_truth(tmp_path):
    first, second, third = (fold_of(cell) for cell in cells(tmp_path)[:3])
    assert first is second is third
    assert first.X_train.shape[1] == 2
    assert first.X_train.mean(axis=0) == pytest.approx([0, 0])  # fitted on training rows alone
    assert abs(first.X_test.mean(axis=0)).max() > 1e-6
    hidden = first.questions.true_time
    assert (hidden >= first.questions.y.time).all()
    assert (hidden > first.questions.y.time).any()


def test_a_horizon_stops_the_metric_and_its_truth(tmp_path):
    metrics = [{"name": "mae_po", "tau": "horizon"}, {"name": "mae_po", "tau": 7.5}]
    cell = cells(tmp_path, metrics=metrics, models=["km"])[0]
    found = values(execute(CellTask(cell)))
    fold = fold_of(cell)
    horizon = Task.of(fold.questions.y, fold.y_train, convention="paper").horizon
    model = cell.model.build(0).fit(fold.X_train, fold.y_train)
    median = model.predict_curves(fold.X_test).median()
    for name, tau in (("horizon", horizon), ("7.5", 7.5)):
        row = found[f"mae_po(tau={name})"]
        truth = np.mean(np.abs(np.minimum(median, tau) - np.minimum(fold.questions.true_time, tau)))
        assert row["true_value"] == pytest.approx(truth)
        assert row["truth"] == f"mae(tau={name})"


def test_metrics_that_a_model_cannot_answer_are_left_out(tmp_path):
    found = values(execute(CellTask(cells(tmp_path)[1])))  # lr has times, no curves
    assert "harrell" in found
    assert "ibs" not in found


def test_an_undefined_metric_is_a_note_not_a_failure(tmp_path):
    path = tmp_path / "few.csv"
    rows = "\n".join(f"{i},{t},1" for i, t in enumerate(np.arange(5.5, 17)))
    path.write_text(f"x,time,event\n{rows}\n")
    plan = toy_plan(tmp_path, datasets=[{"name": "few", "path": str(path)}], folds=12)
    plan |= {"models": ["km"], "metrics": ["harrell", "mae_hinge"]}
    found = values(execute(CellTask(Plan.of(plan).cells()[0])))
    assert found["harrell"]["value"] is None  # one test subject has no pair
    assert "pair" in found["harrell"]["note"]
    assert found["mae_hinge"]["value"] is not None


def test_a_metric_of_ones_own(tmp_path):
    mine = {"name": "mine", "function": f"{PARTS}:truth_plus_one", "direction": "lower"}
    cell = cells(tmp_path, metrics=["mae_uncensored", {**mine, "truth": "mae"}])[0]
    found = values(execute(CellTask(cell)))
    assert found["mine"]["value"] == pytest.approx(found["mae_uncensored"]["value"] + 1)
    assert found["mine"]["true_value"] == found["mae_uncensored"]["true_value"]


def test_stored_predictions_give_the_same_numbers_without_a_fit(tmp_path):
    for cell in cells(tmp_path, keep_predictions=True)[:3]:
        first = execute(CellTask(cell))
        again = execute(CellTask(cell), first.arrays)
        # A curve that all subjects share is scored once, unpacked ones are scored one by one.
        for name, row in values(first).items():
            for key, value in row.items():
                expected = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
                assert values(again)[name][key] == expected
        assert {row["seconds_fit"] for row in again.rows} == {None}


def test_predictions_survive_packing_bit_for_bit(tmp_path):
    cell = cells(tmp_path)[2]
    fold = fold_of(cell)
    model = cell.model.build(0).fit(fold.X_train, fold.y_train)
    before = predict(model, fold.X_test)
    after = unpack(pack(before))
    assert np.array_equal(before.curves.survival, after.curves.survival)
    assert np.array_equal(before.curves.times, after.curves.times)
    assert (after.curves.interpolation, after.curves.tail) == ("step", "linear")


def test_a_failure_is_recorded_with_its_traceback(tmp_path):
    bad = {"name": "bad", "class": f"{PARTS}:Constant", "trouble": "raise"}
    outcome = execute(CellTask(cells(tmp_path, models=[bad])[0]))
    assert outcome.status == "failed"
    assert outcome.failure["error"] == "ArithmeticError"
    assert "_misbehave" in outcome.failure["traceback"]


@pytest.mark.parametrize("trouble", ["swallow", "busy"])
def test_a_cell_that_takes_too_long_is_given_up(tmp_path, trouble):
    slow = {"name": "slow", "class": f"{PARTS}:Constant", "trouble": trouble}
    start = time.monotonic()
    outcome = execute(CellTask(cells(tmp_path, models=[slow], timeout=0.6)[0]))
    assert time.monotonic() - start < 10
    assert outcome.failure["error"] == "CellTimeoutError"
    assert "0.6 seconds" in outcome.failure["message"]


def test_the_time_limit_reaches_threads_too(tmp_path):
    slow = {"name": "slow", "class": f"{PARTS}:Constant", "trouble": "busy"}
    cell = cells(tmp_path, models=[slow], timeout=0.6)[0]
    found = []
    thread = threading.Thread(target=lambda: found.append(execute(CellTask(cell))))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert found[0].failure["error"] == "CellTimeoutError"
    assert "0.6 seconds" in found[0].failure["message"]


def test_the_time_limit_leaves_quick_work_alone():
    with time_limit(0.05):
        pass
    time.sleep(0.1)
    with pytest.raises(CellTimeoutError), time_limit(0.05):
        time.sleep(5)


def test_data_that_are_not_those_of_the_run_are_refused(tmp_path):
    cell = cells(tmp_path)[0]
    outcome = execute(CellTask(cell, {"toy": "0" * 64}))
    assert outcome.status == "failed"
    assert "differs from the one that the run began with" in outcome.failure["message"]


def test_the_checksum_sees_every_value(tmp_path):
    toy_plan(tmp_path)
    text = (tmp_path / "toy.csv").read_text()
    seen = {content_checksum(load("toy", tmp_path / "toy.csv"))}
    assert content_checksum(load("other name", tmp_path / "toy.csv")) in seen
    for old, new in ((",a,", ",b,"), ("x,group", "z,group"), (",1\n", ",0\n")):
        (tmp_path / "changed.csv").write_text(text.replace(old, new, 1))
        seen.add(content_checksum(load("toy", tmp_path / "changed.csv")))
    assert len(seen) == 4


def test_memory_holds_only_the_last_few():
    recent, built = Recent(2), []
    for key in "abca":
        recent.get(key, lambda key=key: built.append(key))
    assert built == ["a", "b", "c", "a"]
    assert len(recent.items) == 2


def test_threads_are_limited_and_given_back():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    np.linalg.inv(np.eye(3))

    def threads():
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}

    before = threads()
    limit_threads(1)
    assert threads() == {1}
    restore_threads()
    assert threads() == before
