"""Models and metrics of one's own in a plan: found beside it, documented, and kept apart."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("pyarrow")

from experiment_plans import toy_plan, write_table

import survgauge as sg
from survgauge.bench.experiment import Plan, Results, Store, run
from survgauge.bench.experiment.cells import fold_of
from survgauge.cli import main
from survgauge.data.predictions import Prediction
from survgauge.errors import InputError, UndefinedMetricError

METRICS = """
    import numpy as np

    def late(task, prediction):
        "Mean of how much later than observed the predicted median is."
        return np.mean(np.maximum(prediction.median - task.y.time, 0))

    def late_each(task, prediction):
        return np.maximum(prediction.median - task.y.time, 0)

    def half(task, prediction):
        return 0.5 * late(task, prediction)

    def naive(task, prediction):
        return np.mean(np.abs(prediction.times - task.y.time))

    def broken(task, prediction):
        raise RuntimeError("oops")

    def text(task, prediction):
        return "0.5"

    def broken_truth(task, prediction):
        if task.y.event.all():
            raise RuntimeError("no truth")
        return 1.0

    not_a_function = 3
"""
MODELS = """
    import numpy as np
    from helping import scale

    class Rule:
        def fit(self, X, y):
            return self

        def predict_time(self, X):
            return np.exp(3 + 0.1 * X[:, 0]) * scale()
"""


def mine(name, function=None, **more):
    return {"name": name, "function": f"ownmetrics:{function or name}", "direction": "lower",
            **more}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A plan in a file, with modules beside it; nothing else knows of them."""
    place = tmp_path / "beside"
    place.mkdir()
    (place / "ownmetrics.py").write_text(dedent(METRICS))
    (place / "ownmodels.py").write_text(dedent(MODELS))
    (place / "helping.py").write_text("def scale():\n    return 1.1\n")
    return place


def plan_in(folder, **changes):
    rule = {"name": "rule", "class": "ownmodels:Rule"}
    given = {"models": ["km", "coxph", rule], "censoring": ["uniform"], "folds": 2}
    table = toy_plan(folder, **{**given, **changes})
    return Plan.of({**table, "folder": str(folder)})


def write_toml(folder, metric):
    """A plan in a file, with a model and a metric of one's own."""
    write_table(folder)
    own = f'{{name = "{metric}", function = "ownmetrics:{metric}", direction = "lower"}}'
    lines = [
        'datasets = [{name = "toy", path = "toy.csv"}]', 'censoring = ["uniform"]', "folds = 2",
        'models = ["km", "lr", {name = "rule", class = "ownmodels:Rule"}]',
        f'metrics = ["mae_po", "mae_margin", {own}]',
    ]  # fmt: skip
    (folder / "plan.toml").write_text("\n".join(lines))


def go(plan, store, **options):
    return run(plan, store, **{"jobs": 1, "progress": False, **options})


def by_metric(results, model="km"):
    rows = results.metrics[(results.metrics["model"] == model) & (results.metrics["fold"] == 0)]
    return {row["metric"]: row for row in rows.to_dict("records")}


@pytest.mark.parametrize("jobs", [1, 2])
def test_modules_beside_the_plan_are_found(folder, tmp_path, jobs):
    path = sys.path.copy()
    results = go(plan_in(folder, metrics=["mae_po", mine("late")]), tmp_path / "store", jobs=jobs)
    assert not results.failures
    assert not len(results.failed_metrics)
    assert set(results.metrics["model"]) == {"km", "coxph", "rule"}
    assert sys.path == path
    # The next run reads the modules as they are then.
    assert "ownmodels" not in sys.modules
    assert "helping" not in sys.modules


def test_a_plan_file_finds_what_lies_beside_it(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_toml(folder, "late")
    assert main(["bench", "beside/plan.toml", "--store", "store", "--jobs", "1", "--quiet"]) == 0
    assert "late ranks the models with a mean Kendall's tau" in capsys.readouterr().out
    assert json.loads(Path("store/plan.json").read_text())["folder"] == str(folder)
    assert len(Results.load("store").metrics) == 2 * 3 * 3


def test_what_a_metric_of_ones_own_may_return(folder, tmp_path):
    metrics = [mine("late"), mine("late_each", truth="ownmetrics:half"), "mae_po"]
    plan = plan_in(folder, metrics=metrics)
    found = by_metric(go(plan, tmp_path / "store"), "rule")
    fold = fold_of(plan.cells()[0])
    predicted = np.exp(3 + 0.1 * fold.X_test[:, 0]) * 1.1
    late = np.maximum(predicted - fold.questions.y.time, 0)
    true = np.maximum(predicted - fold.questions.true_time, 0)
    assert found["late"]["value"] == pytest.approx(late.mean())
    assert found["late_each"]["value"] == pytest.approx(late.mean())
    # One number per subject comes with a standard error.
    n = late.size
    assert found["late_each"]["stderr"] == pytest.approx(late.std(ddof=1) / np.sqrt(n))
    # Without a word on it the truth is the metric itself with the real times.
    assert (found["late"]["truth"], found["late_each"]["truth"]) == ("late", "ownmetrics:half")
    assert found["late"]["true_value"] == pytest.approx(true.mean())
    assert found["late_each"]["true_value"] == pytest.approx(true.mean() / 2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_metric_that_raises_leaves_the_others(folder, tmp_path, jobs):
    wrong = [mine("broken"), mine("naive", truth="mae"), mine("text"), mine("broken_truth")]
    plan, store = plan_in(folder, metrics=["mae_po", *wrong, "harrell"]), tmp_path / "store"
    results = go(plan, store, jobs=jobs)
    clean = go(plan_in(folder, metrics=["mae_po", "harrell"]), tmp_path / "clean")
    assert not results.failures
    kept = results.metrics[results.metrics["metric"].isin(["mae_po", "harrell"])]
    assert kept["value"].tolist() == clean.metrics["value"].tolist()
    told = results.failed_metrics.set_index("metric")
    assert told["cells"].to_dict() == {"broken": 6, "naive": 4, "text": 6, "broken_truth": 6}
    assert told.loc["broken", "error"] == "ownmetrics:broken failed with RuntimeError: oops"
    assert "SurvivalCurves" in told.loc["naive", "error"]  # times of models that give curves
    assert "must return a number" in told.loc["text", "error"]
    assert told.loc["broken_truth", "error"].startswith("its truth: ")
    # The traceback is kept, and a cell in which a metric failed can be run again.
    files = [json.loads(file.read_text()) for file in (store / "failures").rglob("*.json")]
    assert len(files) == 6
    assert all('raise RuntimeError("oops")' in file["traceback"] for file in files)
    assert len(Results.load(store).failed_metrics) == 4


def test_a_mended_metric_is_computed_by_retry_failed(folder, tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    constant = {"name": "c", "class": "experiment_parts:Constant", "log": str(log), "label": "c"}
    plan = plan_in(folder, models=["km", constant], metrics=["mae_po", mine("broken")],
                   keep_predictions=True)  # fmt: skip
    store = tmp_path / "store"
    before = go(plan, store).metrics
    assert len(list(log.iterdir())) == 2
    module = folder / "ownmetrics.py"
    module.write_text(module.read_text().replace('raise RuntimeError("oops")', "return 7.0"))
    assert len(go(plan, store, resume=True).failed_metrics) == 1  # nothing is run again unasked
    found = go(plan, store, retry_failed=True)
    assert not len(found.failed_metrics)
    assert set(found.metrics[found.metrics["metric"] == "broken"]["value"]) == {7.0}
    assert len(list(log.iterdir())) == 2  # predictions were kept: no model was fitted again
    assert Store(store).failed() == set()
    assert (
        found.metrics[found.metrics["metric"] == "mae_po"]["value"].tolist()
        == before[before["metric"] == "mae_po"]["value"].tolist()
    )


def test_the_command_names_what_failed_and_returns_1(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_toml(folder, "broken")
    assert main(["bench", "beside/plan.toml", "--jobs", "1", "--out", "out"]) == 1
    out, error = capsys.readouterr()
    assert "Metrics that failed" in out
    assert "ownmetrics:broken failed with RuntimeError: oops" in out
    lines = error.splitlines()
    assert sum(line.startswith("a metric failed: ") for line in lines) == 1  # once, not per cell
    assert lines[-1].startswith("survgauge: 1 metric failed (named above")
    assert "--retry-failed" in lines[-1]
    assert "RuntimeError: oops" in Path("out/summary.md").read_text()
    page = Results.load("bench-plan").to_html("page.html").read_text()
    assert "These metrics raised an error in some cells" in page


def test_all_cells_failing_ends_in_one_clear_message(folder, tmp_path):
    bad = {"name": "bad", "class": "experiment_parts:Constant", "trouble": "raise", "label": "bad"}
    plan, store = plan_in(folder, models=[bad], metrics=["mae_po"]), tmp_path / "store"
    with pytest.raises(InputError) as found:
        go(plan, store)
    for part in ("no cell of the plan has a result", "2 failed", "toy / uniform / 0 / 0 / bad",
                 "ArithmeticError: on purpose", "--retry-failed"):  # fmt: skip
        assert part in str(found.value)
    with pytest.raises(InputError, match="--retry-failed to run failed cells again"):
        go(plan, store)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (mine("nothing"), "has no attribute 'nothing'"),
        (mine("late", truth="nowhere:it"), "nowhere:it.* cannot be imported .*beside the plan"),
        (mine("it", "not_a_function"), "must be a function of"),
    ],
)
def test_a_metric_that_is_not_there_shows_before_the_run(folder, tmp_path, metric, message):
    with pytest.raises(InputError, match=message):
        go(plan_in(folder, metrics=[metric]), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_module_that_cannot_be_read_is_one_line(folder, tmp_path):
    (folder / "ownmodels.py").write_text("def fit(:\n")
    with pytest.raises(InputError, match=r"ownmodels:Rule' cannot be imported \(SyntaxError"):
        go(plan_in(folder, metrics=["mae_po"]), tmp_path / "store")


def test_what_a_metric_needs(folder, tmp_path):
    metrics = [mine("late"), mine("c", "late", needs="curves"), mine("t", "text", needs="curves")]
    results = go(plan_in(folder, metrics=metrics), tmp_path / "store")
    rows = results.metrics.groupby("model")["metric"].agg(lambda names: sorted(set(names)))
    assert rows.to_dict() == {"km": ["c", "late", "t"], "coxph": ["c", "late", "t"],
                              "rule": ["late"]}  # fmt: skip


def test_the_median_of_any_prediction():
    curves = sg.SurvivalCurves([0, 10], [[1.0, 0.0], [1.0, 0.5]])
    assert Prediction.of(curves, 2, "m").median.tolist() == [5.0, 10.0]
    assert Prediction.of([3.0, 4.0], 2, "m").median.tolist() == [3.0, 4.0]
    with pytest.raises(UndefinedMetricError, match="hold no times"):
        Prediction.of(sg.RiskScores([1.0, 2.0]), 2, "m").median  # noqa: B018
    with pytest.raises(TypeError, match="SurvivalCurves"):
        curves - np.ones(2)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "x", "class": "ownmodels:Rule", "depth": 3}, "settings {'depth': 3} .*TypeError"),
        ({"name": "x", "clas": "ownmodels:Rule"}, "or a model of your own, with the key class"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_line(folder, tmp_path, entry, message):
    with pytest.raises(InputError, match=message):
        go(plan_in(folder, metrics=["mae_po"], models=[entry]), tmp_path / "store")
    assert not (tmp_path / "store").exists()
