"""A metric that a user registers works in scorers, plans, worker processes, tables and reports."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from experiment_plans import toy_plan

import survgauge as sg
from survgauge.metrics.registry import REGISTRY

pytest.importorskip("sklearn")
pytest.importorskip("pandas")
pytest.importorskip("joblib")

from survgauge.bench.experiment import Plan, Results, Store, run
from survgauge.bench.experiment.writing import text


@pytest.fixture
def mine():
    def late(task, prediction):  # local: only cloudpickle can send it to another process
        return np.maximum(prediction.curves.median() - task.y.time, 0.0)

    metric = sg.Metric(name="late", title="Days that a prediction is late", terms=late)
    sg.register_metric(metric)
    yield metric
    del REGISTRY["late"]


@pytest.fixture
def plan(tmp_path, mine):
    return toy_plan(tmp_path, metrics=["mae_po", "late"], models=["km", "coxph"])


def test_a_plan_runs_it_in_other_processes_and_reports_it(plan, tmp_path):
    here = run(plan, tmp_path / "here", jobs=1, progress=False)
    there = run(plan, tmp_path / "there", jobs=2, progress=False)
    assert not here.failures
    assert not there.failures
    for results in (here, there):
        found = results.metrics[results.metrics["metric"] == "late"]
        assert found["value"].notna().all()
        assert found["true_value"].notna().all()
        assert set(found["truth"]) == {"late"}
    columns = ["dataset", "censoring", "repeat", "fold", "model", "metric", "value"]
    one, other = (r.metrics[columns].sort_values(columns[:-1]) for r in (here, there))
    np.testing.assert_allclose(one["value"], other["value"])
    assert "truth: late" in text(here)
    assert "late" in here.to_html(tmp_path / "page.html").read_text()


def test_its_results_are_read_where_nobody_registered_it(plan, tmp_path):
    run(plan, tmp_path / "store", jobs=1, progress=False)
    code = "import sys, survgauge as sg; print(sg.experiment.Results.load(sys.argv[1]).truths)"
    command = [sys.executable, "-c", code, str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['mae', 'late']"


def test_a_run_without_it_is_refused_by_its_name(plan, tmp_path):
    run(plan, tmp_path / "store", jobs=1, progress=False)
    stored, late = Store(tmp_path / "store").plan(), REGISTRY.pop("late")
    try:
        assert Results.load(tmp_path / "store").truths == ["mae", "late"]
        with pytest.raises(sg.InputError, match=r"metrics must be one of .*got 'late'"):
            run(stored, tmp_path / "other", jobs=1, progress=False)
        with pytest.raises(sg.InputError, match=r"metrics must be one of .*got 'late'"):
            Plan.of(plan)
    finally:
        REGISTRY["late"] = late


def test_a_scorer_of_it_takes_it_to_other_processes(mine):
    joblib = pytest.importorskip("joblib")

    class Five:
        def predict_curves(self, X):
            return sg.SurvivalCurves([0.0, 10.0], np.tile([1.0, 0.0], (len(X), 1)))

    score = sg.scorer("late")
    arguments = Five(), np.zeros((3, 1)), ([2, 4, 7], [1, 1, 1])
    assert score(*arguments) == pytest.approx(-4 / 3)
    with joblib.parallel_config("loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(score)(*arguments) for _ in range(2))
    assert found == pytest.approx([-4 / 3] * 2)


def test_a_process_that_is_handed_a_metric_knows_it():
    assert pickle.loads(pickle.dumps(REGISTRY["mae_po"])).name in REGISTRY
