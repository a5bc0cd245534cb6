"""Distributions of a fold in experiments: fitted once, kept, used by the metrics that ask."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")

from experiment_plans import toy_plan

from survgauge import Conditional, SurvivalCurves, mae
from survgauge.bench.experiment import Plan, Results, run
from survgauge.bench.experiment.cells import FOLDS, CellTask, execute, fold_of
from survgauge.bench.experiment.plan import distributions_of
from survgauge.bench.experiment.process import restore_threads
from survgauge.bench.experiment.scoring import chosen, pack_distribution, unpack_distribution
from survgauge.bench.experiment.specs import DistributionSpec, MetricSpec
from survgauge.errors import InputError
from survgauge.metrics.task import Task

DISTRIBUTION = "experiment_parts:halving_distribution"
ASKED = ["mae_po", {"name": "mae_dr", "distribution": DISTRIBUTION, "label": "dr"}]


@pytest.fixture(autouse=True)
def _clean():
    FOLDS.items.clear()
    yield
    restore_threads()


@pytest.fixture
def fits(tmp_path, monkeypatch):
    """Count the fits of the distribution over all processes."""
    log = tmp_path / "log"
    log.mkdir()
    monkeypatch.setenv("DISTRIBUTION_LOG", str(log))
    return lambda: len(list(log.iterdir()))


def plan_of(tmp_path, **changes):
    given = {"metrics": ASKED, "models": ["km", "lr"], "censoring": ["uniform"], "folds": 2}
    return toy_plan(tmp_path, **{**given, "keep_predictions": True, **changes})


def test_what_a_metric_with_a_distribution_computes(tmp_path):
    metrics = [
        {"name": "mae_dr", "distribution": DISTRIBUTION, "label": "train"},
        {"name": "mae_dr", "distribution": DISTRIBUTION, "censoring": "test", "label": "test"},
        {
            "name": "mae_dr",
            "distribution": DISTRIBUTION,
            "censoring": "model",
            "floor": 0.2,
            "label": "model",
        },
        {"name": "mae_expected", "distribution": DISTRIBUTION, "label": "expected"},
        {"name": "mae_dr", "distribution": DISTRIBUTION, "tail": "hold", "label": "hold"},
        {"name": "mae_dr", "censoring": "test", "tau": "horizon", "label": "km"},
        "mae_within",
        {"name": "mae_within", "distribution": DISTRIBUTION, "label": "within"},
    ]
    cell = Plan.of(plan_of(tmp_path, metrics=metrics)).cells()[0]
    (distribution_cell,) = cell.distributions()
    packed = execute(CellTask(distribution_cell)).arrays
    outcome = execute(CellTask(cell), None, {DISTRIBUTION: packed})
    assert outcome.status == "ok", outcome.failure
    found = {row["metric"]: row for row in outcome.rows}
    fold, distribution = fold_of(cell), unpack_distribution(packed)
    curves = cell.model.build(0).fit(fold.X_train, fold.y_train).predict_curves(fold.X_test)
    only = Conditional(distribution.distribution)
    held = Conditional(
        SurvivalCurves(
            distribution.distribution.times, distribution.distribution.survival, "step", "hold"
        )
    )
    horizon = Task.of(fold.questions.y, fold.y_train, convention="paper").horizon
    for label, method, options in (
        ("train", "dr", {"conditional": only, "censoring": "train"}),
        ("test", "dr", {"conditional": only, "censoring": "test"}),
        ("model", "dr", {"conditional": distribution, "floor": 0.2}),
        ("expected", "expected", {"conditional": only}),
        ("hold", "dr", {"conditional": held, "censoring": "train"}),
        ("km", "dr", {"tau": horizon}),
        ("mae_within", "dr", {"tau": horizon}),
        ("within", "dr", {"tau": horizon, "conditional": only, "censoring": "test"}),
    ):
        given = {"y_train": fold.y_train, "method": method, **options}
        assert found[label]["value"] == pytest.approx(mae(fold.questions.y, curves, **given)), label
    # Where G comes from changes neither the horizon nor the truth.
    assert found["km"]["truth"] == "mae(tau=horizon)"
    same = ("truth", "true_value")
    for label in ("mae_within", "within"):
        assert [found[label][key] for key in same] == [found["km"][key] for key in same]
    true = np.minimum(fold.questions.true_time, horizon)
    expected = np.mean(np.abs(np.minimum(curves.median(), horizon) - true))
    assert found["km"]["true_value"] == pytest.approx(expected)
    assert len({found[name]["value"] for name in ("train", "test", "model", "hold")}) == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_distribution_is_fitted_once_a_fold_and_kept(tmp_path, fits, jobs):
    plan = plan_of(tmp_path)
    options = {"jobs": jobs, "progress": False}
    first = run(plan, tmp_path / "store", **options)
    assert not first.failures
    assert fits() == 2  # two folds, whatever the number of models and processes
    assert first.metrics["value"].notna().all()
    assert set(first.metrics["model"]) == {"km", "lr"}
    more = {**plan, "metrics": [*ASKED, {"name": "mae_expected", "distribution": DISTRIBUTION}]}
    again = run(more, tmp_path / "store", resume=True, **options)
    assert fits() == 2
    label = f"mae_expected(distribution={DISTRIBUTION})"
    assert len(again.metrics[again.metrics["metric"] == label]) == 4
    columns = ["model", "fold", "metric", "value"]
    old = again.metrics[again.metrics["metric"] != label][columns].reset_index(drop=True)
    assert old.equals(first.metrics[columns])


def test_distributions_that_the_store_lacks_are_fitted(tmp_path, fits):
    plan = plan_of(tmp_path, metrics=["mae_po"])
    run(plan, tmp_path / "store", jobs=1, progress=False)
    assert fits() == 0
    before = set((tmp_path / "store" / "predictions").rglob("*.npz"))
    found = run({**plan, "metrics": ASKED}, tmp_path / "store", jobs=1, progress=False, resume=True)
    assert fits() == 2
    added = set((tmp_path / "store" / "predictions").rglob("*.npz")) - before
    assert len(added) == 2
    assert found.metrics["seconds_fit"].isna().all()  # the models were not fitted again


def test_a_distribution_that_fails_is_told_and_can_be_tried_again(tmp_path, fits, monkeypatch):
    plan, store = plan_of(tmp_path), tmp_path / "store"
    monkeypatch.setenv("DISTRIBUTION_TROUBLE", "1")
    found = run(plan, store, jobs=1, progress=False)
    assert [f["cell"]["model"] for f in found.failures] == [f"distribution {DISTRIBUTION}"] * 2
    assert all("a distribution on purpose" in f["message"] for f in found.failures)
    # Metrics that need no distribution are there.
    assert found.metrics.set_index("metric")["value"].notna()["mae_po"].all()
    (failed,) = found.failed_metrics.to_dict("records")
    assert (failed["metric"], failed["cells"]) == ("dr", 4)
    assert "could not be fitted" in failed["error"]
    monkeypatch.delenv("DISTRIBUTION_TROUBLE")
    found = run(plan, store, jobs=1, progress=False, retry_failed=True)
    assert not found.failures
    assert not len(found.failed_metrics)
    assert fits() == 4


def test_a_damaged_distribution_is_found_and_fitted_again(tmp_path, fits):
    plan, store = plan_of(tmp_path), tmp_path / "store"
    before = run(plan, store, jobs=1, progress=False).metrics["value"]
    file = next((store / "predictions").glob("*/*/*distribution*.npz"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    # All cells have their results: nobody needs the distribution.
    run(plan, store, jobs=1, progress=False, resume=True)
    assert fits() == 2
    more = {**plan, "metrics": [*ASKED, {"name": "mae_expected", "distribution": DISTRIBUTION}]}
    after = run(more, store, jobs=1, progress=False, resume=True)
    assert fits() == 3
    same = after.metrics[after.metrics["metric"].isin(["mae_po", "dr"])]["value"]
    assert same.tolist() == before.tolist()


def test_another_distribution_or_setting_is_another_result(tmp_path):
    def digest(**settings):
        plan = plan_of(tmp_path, metrics=[{"name": "mae_dr", "label": "x", **settings}])
        return Plan.of(plan).cells()[0].digest

    settings = [
        {},
        {"distribution": DISTRIBUTION},
        {"distribution": "blend"},
        {"distribution": DISTRIBUTION, "floor": 0.2},
        {"distribution": DISTRIBUTION, "censoring": "test"},
        {"distribution": DISTRIBUTION, "censoring": "model"},
    ]
    assert len({digest(**s) for s in settings}) == len(settings)
    plain = Plan.of(plan_of(tmp_path, metrics=["mae_po"]))
    cells = Plan.of(plan_of(tmp_path)).cells()
    assert cells[0].fit_digest == plain.cells()[0].fit_digest
    assert len(distributions_of(cells)) == 2
    assert distributions_of(plain.cells()) == []


def test_distributions_of_another_version_are_not_taken(tmp_path, monkeypatch):
    cell = Plan.of(plan_of(tmp_path)).cells()[0]
    before = cell.digest, cell.distributions()[0].path
    monkeypatch.setattr("survgauge.bench.experiment.specs.DISTRIBUTIONS_VERSION", 99)
    again = Plan.of(plan_of(tmp_path)).cells()[0]
    assert again.digest != before[0]
    assert again.distributions()[0].path != before[1]


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ({"name": "mae_po", "distribution": "blend"}, "takes no distribution; .*mae_dr"),
        ({"name": "mae_dr", "distribution": "wrong"}, "distribution must be one of 'km', 'blend'"),
        ({"name": "mae_dr", "distribution": 3}, "distribution must be"),
        ({"name": "mae_dr", "censoring": "model"}, "distribution is 'km'"),
        ({"name": "mae_dr", "censoring": "other"}, "censoring"),
        ({"name": "mae_dr", "floor": 1.5}, "floor"),
        ({"name": "mae_dr", "floor": True}, "floor"),
    ],
)
def test_bad_settings_are_refused_when_the_plan_is_read(entry, part):
    with pytest.raises(InputError, match=part):
        MetricSpec.of(entry)


def test_what_is_packed_comes_back():
    distribution = SurvivalCurves([1.0, 2.0], [[0.5, 0.25], [0.9, 0.1]], "step", "hold")
    g = SurvivalCurves([1.0, 4.0], [[0.8, 0.5], [0.7, 0.2]], "step", "linear")
    for given in (
        Conditional(distribution, g, {"distribution": "x", "n": 3}),
        Conditional(distribution),
        Conditional(None, g),
    ):
        found = unpack_distribution(pack_distribution(given))
        assert found.how == given.how
        for mine, theirs in (
            (found.distribution, given.distribution),
            (found.censoring, given.censoring),
        ):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert np.array_equal(mine.times, theirs.times)
                assert np.array_equal(mine.survival, theirs.survival)
                assert (mine.interpolation, mine.tail) == (theirs.interpolation, theirs.tail)
    assert chosen(Conditional(None, g), {}) is None
    assert chosen(Conditional(distribution, g), {}).censoring is None
    assert chosen(Conditional(distribution, g), {"censoring": "model"}).censoring is g
    # Times past the end of follow-up stand for a tail, which another one takes the place of.
    longer = Conditional(distribution, how={"follow_up": 1.0})
    assert chosen(longer, {}).distribution is distribution
    cut = chosen(longer, {"tail": "exponential"}).distribution
    assert cut.survival.tolist() == SurvivalCurves([1.0], [[0.5], [0.9]]).survival.tolist()
    assert cut.tail == "exponential"


def test_a_distribution_must_be_about_the_test_subjects():
    with pytest.raises(InputError, match="each of 3 test subjects"):
        DistributionSpec("experiment_parts:no_distribution").fit([], [], [1, 2, 3], [], 0)


def test_results_load_with_distributions(tmp_path):
    run(plan_of(tmp_path), tmp_path / "store", jobs=1, progress=False)
    assert len(Results.load(tmp_path / "store").metrics) == 8
