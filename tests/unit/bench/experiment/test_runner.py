"""Runs: stores, resuming, failures, lost processes, kill -9; and the speed of the harness."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("pyarrow")

import pandas as pd
from experiment_plans import numbers, toy_plan, write_table

from survgauge.bench.experiment import Plan, Results, Store, run
from survgauge.errors import InputError

TESTS = Path(__file__).resolve().parents[3]
PARTS = "experiment_parts"


@pytest.fixture(autouse=True)
def _workers_find_the_parts(monkeypatch):
    """Worker processes import the test models by name."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", path)


def constant(name, **params):
    return {"name": name, "class": f"{PARTS}:Constant", **params}


def go(plan, store, **options):
    return run(plan, store, **{"jobs": 1, "progress": False, **options})


def files(store):
    """Finished cells: what a killed process was just writing has a temporary, hidden name."""
    return {
        path.relative_to(store): path.read_bytes()
        for path in (store / "cells").rglob("*.parquet")
        if not path.name.startswith(".")
    }


# -- what is stored --------------------------------------------------------------------------------


def test_a_store_holds_plan_environment_cells_and_parquet(tmp_path):
    store = tmp_path / "store"
    results = go(toy_plan(tmp_path), store)
    assert len(results.metrics) == 2 * 3 * (5 + 5 + 4)  # lr has no curves, so no ibs
    assert Plan.of(json.loads((store / "plan.json").read_text())).name == "toy"
    environment = json.loads((store / "environment.json").read_text())
    assert environment["data"]["toy"]["rows"] == 120
    assert len(environment["data"]["toy"]["checksum"]) == 64
    assert "numpy" in environment["sessions"][0]["packages"]
    assert len(files(store)) == 18
    cell = pd.read_parquet(store / next(iter(files(store))))
    assert {"dataset", "censoring", "repeat", "fold", "model", "metric", "value"} <= set(cell)
    table = pd.read_parquet(store / "results.parquet")
    wanted = {"dataset", "censoring", "repeat", "fold", "model", "metric", "value", "stderr"}
    assert wanted | {"truth", "true_value", "direction", "seed", "data_censored"} <= set(table)
    assert table["value"].dtype == float
    pd.testing.assert_frame_equal(numbers(Results.load(store)), numbers(results))


def test_duckdb_reads_the_store(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    go(toy_plan(tmp_path), tmp_path / "store")
    query = f"SELECT count(DISTINCT model) FROM '{tmp_path / 'store' / 'results.parquet'}'"
    assert duckdb.connect().execute(query).fetchall() == [(3,)]


def test_processes_give_the_same_numbers_as_this_one(tmp_path):
    plan = toy_plan(tmp_path, models=["km", "lr", "coxph", {"name": "gbm_tree", "n_estimators": 5}])
    here = go(plan, tmp_path / "one")
    there = go(plan, tmp_path / "two", jobs=2)
    pd.testing.assert_frame_equal(numbers(here), numbers(there), check_exact=True)


# -- resuming --------------------------------------------------------------------------------------


def test_a_store_is_not_overwritten(tmp_path):
    store = tmp_path / "store"
    go(toy_plan(tmp_path), store)
    with pytest.raises(InputError, match="holds an earlier run"):
        go(toy_plan(tmp_path), store)
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        go(toy_plan(tmp_path), strange)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a folder"):
        go(toy_plan(tmp_path), tmp_path / "file")


def test_resuming_runs_only_what_is_missing(tmp_path):
    store, log = tmp_path / "store", tmp_path / "log"
    log.mkdir()
    plan = toy_plan(tmp_path, models=[constant("c", log=str(log))])
    first = go(plan, store)
    assert len(list(log.iterdir())) == 6
    before = files(store)
    gone = sorted(before)[:2]
    for name in gone:
        (store / name).unlink()
    # What a killed process leaves behind is not taken for a result.
    half = store / gone[0].parent / ".survgauge-abc.parquet"
    half.write_text('{"cell": ')
    again = go(plan, store, resume=True)
    assert len(list(log.iterdir())) == 6 + 2
    assert not half.exists()
    pd.testing.assert_frame_equal(numbers(first), numbers(again))
    kept = {name: content for name, content in files(store).items() if name not in gone}
    assert kept == {name: content for name, content in before.items() if name not in gone}


def test_a_plan_that_grows_keeps_its_cells(tmp_path):
    store, log = tmp_path / "store", tmp_path / "log"
    log.mkdir()
    plan = toy_plan(tmp_path, models=[constant("c", log=str(log))])
    go(plan, store)
    grown = {**plan, "models": [*plan["models"], "km"], "repeats": 2}
    results = go(grown, store, resume=True)
    assert len(list(log.iterdir())) == 12
    assert set(results.metrics["model"]) == {"c(log=" + str(log) + ")", "km"}
    changed = {**plan, "models": [constant("c", log=str(log), value=3.0)]}
    go(changed, store, resume=True)
    assert len(list(log.iterdir())) == 18  # another parameter, another cell


def test_data_that_changed_are_not_mixed_in(tmp_path):
    store, plan = tmp_path / "store", toy_plan(tmp_path)
    go({**plan, "models": ["km"]}, store)
    write_table(tmp_path, seed=1)
    with pytest.raises(InputError, match="has changed since this run began"):
        go(plan, store, resume=True)


def test_two_runs_cannot_share_a_store(tmp_path):
    pytest.importorskip("fcntl")
    store = Store(tmp_path / "store")
    with store.locked(), pytest.raises(InputError, match="in use by another run"):
        go(toy_plan(tmp_path), store.root)


def test_new_metrics_from_stored_predictions(tmp_path):
    store, log = tmp_path / "store", tmp_path / "log"
    log.mkdir()
    shifted = {"name": "s", "class": f"{PARTS}:Shifted", "log": str(log), "label": "s"}
    plan = toy_plan(tmp_path, models=[shifted, "coxph"], keep_predictions=True)
    go(plan, store)
    more = {**plan, "metrics": ["mae_margin", "uno", {"name": "mae_po", "tail": "hold"}]}
    results = go(more, store, resume=True)
    assert len(list(log.iterdir())) == 6
    assert set(results.metrics["metric"]) == {"mae_margin", "uno", "mae_po(tail=hold)"}
    fresh = go(more, tmp_path / "fresh")
    pd.testing.assert_frame_equal(numbers(results), numbers(fresh), check_exact=True)
    other = Plan.of({**more, "models": [shifted, "coxph", "km"]})
    assert len(Store(store).missing(other.cells())) == 6


# -- things that go wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures_are_recorded_and_stop_nothing(tmp_path, jobs):
    store, once = tmp_path / "store", tmp_path / "once"
    models = ["km", constant("bad", trouble="raise", label="bad")]
    models += [constant("slow", trouble="swallow", label="slow")]
    models += [constant("first", trouble="raise", once=str(once), label="first")]
    plan = toy_plan(tmp_path, models=models, censoring=["uniform"], timeout=1.5)
    results = go(plan, store, jobs=jobs)
    failed = [(f["cell"]["model"], f["error"]) for f in results.failures]
    assert failed.count(("bad", "ArithmeticError")) == 3
    assert failed.count(("slow", "CellTimeoutError")) == 3
    assert all("Traceback" in f["traceback"] for f in results.failures)
    assert set(results.metrics["model"]) == {"km", "first"}
    # A model without all of its folds cannot be compared.
    assert set(results.left_out["model"]) == {"first"} or len(results.panels) == 0
    assert Store(store).missing(Plan.of(plan).cells()) == []
    assert len(Store(store).missing(Plan.of(plan).cells(), retry_failed=True)) == 7
    quick = {**plan, "models": [models[0], models[1], models[3]]}
    again = go(quick, store, retry_failed=True, jobs=1)
    assert {f["cell"]["model"] for f in again.failures} == {"bad"}
    assert len(again.metrics[again.metrics["model"] == "first"]) == 3 * 4


@pytest.mark.slow
def test_a_cell_that_kills_its_process_is_found_out(tmp_path):
    store = tmp_path / "store"
    killer = constant("killer", trouble="kill", label="killer")
    skip = [{"model": "killer", "censoring": "exponential"}]
    plan = toy_plan(tmp_path, models=["km", killer, "lr"], skip=skip, folds=2)
    results = go(plan, store, jobs=2)
    assert [f["cell"]["model"] for f in results.failures] == ["killer"] * 2
    assert {f["error"] for f in results.failures} == {"WorkerLost"}
    counts = results.metrics.drop_duplicates(["censoring", "fold", "model"])["model"].value_counts()
    assert counts.to_dict() == {"km": 4, "lr": 4}
    assert not (store / "running").exists()


def test_mistakes_show_before_the_run(tmp_path):
    plan = toy_plan(tmp_path)
    for options, message in (
        ({"engine": "cloud"}, "engine must be one of"),
        ({"scheduler": "tcp://x"}, "scheduler is for engine 'dask'"),
        ({"jobs": 0}, "jobs must be"),
        ({"engine": 3}, "engine must be"),
    ):
        with pytest.raises(InputError, match=message):
            go(plan, tmp_path / "store", **options)
    with pytest.raises(InputError, match="no parameter 'trees'"):
        go({**plan, "models": [{"name": "km", "trees": 3}]}, tmp_path / "a")
    with pytest.raises(InputError, match="cannot be imported"):
        go({**plan, "models": [{"name": "m", "class": "no.such:Model"}]}, tmp_path / "b")


RUN = """
import json, pathlib, sys
from survgauge.bench.experiment import run

if __name__ == "__main__":
    run(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2], jobs=2)
"""


def start(tmp_path, plan, store):
    script, file = tmp_path / "script.py", tmp_path / "plan.json"
    script.write_text(RUN)
    file.write_text(json.dumps(Plan.of(plan).to_dict()))
    command = [sys.executable, str(script), str(file), str(store)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True)


def wait_for_cells(store, count, process, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(files(store)) >= count:
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    pytest.fail(f"no {count} cells: {process.stderr.read() if process.poll() is not None else ''}")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_loses_no_finished_cell(tmp_path, how):
    store, log = tmp_path / "store", tmp_path / "log"
    log.mkdir()
    slow = constant("c", trouble="slow", log=str(log), label="slow")
    plan = toy_plan(tmp_path, models=[slow], repeats=20)  # 120 cells of 0.15 seconds
    process = start(tmp_path, plan, store)
    try:
        wait_for_cells(store, 6, process)
        # Ctrl-C reaches the whole group, kill -9 only the process that was aimed at.
        if how is signal.SIGINT:
            os.killpg(process.pid, how)
        else:
            os.kill(process.pid, how)
        process.wait(60)
        time.sleep(1.5)  # workers notice that nobody waits for them
        before, fits = files(store), len(list(log.iterdir()))
        assert 6 <= len(before) < 120
        for content in before.values():
            assert len(pd.read_parquet(io.BytesIO(content)))
        results = go(plan, store, resume=True)
        after = files(store)
        assert len(after) == 120
        assert {name: after[name] for name in before} == before
        assert len(list(log.iterdir())) - fits == 120 - len(before)
        assert results.failures == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        process.stderr.close()


# -- speed -----------------------------------------------------------------------------------------


def test_the_harness_costs_little_beside_the_model(tmp_path):
    """Time of a cell that is not its fit stays under 50 ms.

    Measured in seconds of the processor, so that a busy machine does not matter.
    """
    go(toy_plan(tmp_path, repeats=1), tmp_path / "warm")
    start_ = time.process_time()
    results = go(toy_plan(tmp_path, repeats=5), tmp_path / "store")
    passed = time.process_time() - start_
    cells = results.metrics.drop_duplicates("digest")
    assert len(cells) == 90
    assert len(results.failures) == 0
    assert (passed - cells["seconds_fit"].sum()) / len(cells) < 0.05


@pytest.mark.slow
def test_ten_thousand_cells(tmp_path):
    """More than 100 cells a second on two cores, and resuming takes seconds.

    Measured in seconds of processors, so that a busy machine does not matter.
    """
    resource = pytest.importorskip("resource")

    def processor_seconds():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(u.ru_utime + u.ru_stime for u in used)

    plan = toy_plan(tmp_path, models=["km", "lr"], metrics=["mae_po"], folds=5, repeats=500)
    begin = processor_seconds()
    go(plan, tmp_path / "store", jobs=2)
    ran = processor_seconds() - begin
    begin = processor_seconds()
    results = go(plan, tmp_path / "store", jobs=2, resume=True)
    resumed = processor_seconds() - begin
    assert len(results.metrics) == 10_000
    assert 2 * 10_000 / ran > 100
    assert resumed < 10
