"""Plans: what they refuse, how they expand, and that names alone decide about numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("pandas")

from survgauge.bench.experiment import Plan, shipped_plans
from survgauge.bench.experiment.specs import MetricSpec
from survgauge.errors import InputError

SMALL = {
    "name": "small",
    "datasets": ["lifelines_rossi", "lifelines_lung"],
    "censoring": ["uniform", "exponential"],
    "models": ["km", {"name": "rsf", "n_estimators": 7}],
    "metrics": ["mae_po", {"name": "mae_po", "weighted": False}],
    "folds": 3,
    "repeats": 2,
    "seed": 4,
}
MINE = {"name": "mine", "function": "a:b", "direction": "lower"}


def small(**changes):
    return Plan.of({**SMALL, **changes})


def test_a_plan_expands_to_the_product_of_its_axes():
    cells = small().cells()
    assert len(cells) == 2 * 2 * 2 * 3 * 2
    assert len({cell.path for cell in cells}) == len(cells)
    # Models vary fastest, so that neighbours share their data.
    assert [cell.model.label for cell in cells[:2]] == ["km", "rsf(n_estimators=7)"]
    assert cells[0].fold_key == cells[1].fold_key != cells[2].fold_key


def test_all_models_share_the_draw_and_the_folds_but_not_the_seed():
    first, second = small().cells()[:2]
    assert first.censoring_seed == second.censoring_seed
    assert first.split_seed == second.split_seed
    assert first.model_seed != second.model_seed
    assert len({first.censoring_seed, first.split_seed, first.model_seed}) == 3


def test_every_draw_has_a_seed_of_its_own():
    cells = small().cells()
    for purpose, count in (("censoring_seed", 8), ("split_seed", 8), ("model_seed", 48)):
        assert len({getattr(cell, purpose) for cell in cells}) == count


def test_cells_do_not_depend_on_what_else_is_in_the_plan():
    whole = {cell.path for cell in small().cells()}
    part = small(
        datasets=["lifelines_lung"],
        models=SMALL["models"][1:],
        censoring=["exponential"],
        repeats=1,
    )
    assert {cell.path for cell in part.cells()} < whole
    assert {cell.path for cell in small().only(models=["km"]).cells()} < whole


@pytest.mark.parametrize(
    ("change", "keeps_predictions"),
    [
        ({"metrics": ["mae_po"]}, True),
        ({"seed": 5}, False),
        ({"folds": 4}, False),
        ({"models": ["km", {"name": "rsf", "n_estimators": 8}]}, False),
        ({"censoring": [{"name": "uniform", "rate": 0.4, "label": "uniform"}]}, False),
    ],
)
def test_what_changes_a_number_changes_the_digest(change, keeps_predictions):
    before, after = small().cells(), small(**change).cells()
    changed = [
        cell for cell in after if cell.model.name == "rsf" and cell.censoring.kind == "uniform"
    ]
    old = {cell.path for cell in before}, {cell.prediction_path for cell in before}
    assert not {cell.path for cell in changed} & old[0]
    assert ({cell.prediction_path for cell in changed} <= old[1]) == keeps_predictions


def test_running_settings_do_not_change_the_digest():
    plan = replace(small(), timeout=5.0, keep_predictions=True, description="other")
    assert [c.path for c in plan.cells()] == [c.path for c in small().cells()]


def test_seeds_and_digests_are_the_same_everywhere():
    """Recipe: printed once from the cells of `SMALL`, and held fixed from then on.

    A change here makes old stores useless and moves every number: it needs a reason.
    """
    first, later = small().cells()[0], small().cells()[5]
    assert first.path == "lifelines_rossi/uniform/r0-f0-km-78b9b43edcf2c90e"
    assert first.prediction_path == "lifelines_rossi/uniform/r0-f0-km-38c36e34c030b1f7"
    assert (first.censoring_seed, first.split_seed) == (106704239297215778, 2029062405813451024)
    assert (str(later.model.label), later.model_seed) == ("rsf(n_estimators=7)", 1877774220)


def test_external_censoring_is_left_out_for_the_data_set_itself():
    plan = small(censoring=["external"], external="lifelines_lung")
    assert {cell.dataset.label for cell in plan.cells()} == {"lifelines_rossi"}
    with pytest.raises(InputError, match="external = NAME"):
        small(censoring=["external"])


def test_skip_leaves_cells_out():
    plan = small(skip=[{"dataset": "lifelines_lung", "model": "km"}])
    left = {(c.dataset.label, c.model.label) for c in plan.cells()}
    assert ("lifelines_lung", "km") not in left
    assert ("lifelines_lung", "rsf(n_estimators=7)") in left


def test_a_plan_survives_json():
    plan = small(skip=[{"model": "km"}], timeout=3.5, description="text")
    again = Plan.of(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert [c.path for c in again.cells()] == [c.path for c in plan.cells()]


def test_toml_files_with_paths_relative_to_the_file(tmp_path):
    (tmp_path / "mine.csv").write_text("time,event,x\n1,1,0\n2,0,1\n")
    file = tmp_path / "plan.toml"
    file.write_text(
        'datasets = [{name = "mine", path = "mine.csv"}]\ncensoring = ["uniform"]\n'
        'models = ["km"]\nmetrics = ["mae_po", {name = "mae_po", tail = "hold"}]\n'
    )
    plan = Plan.of(file)
    assert plan.name == "plan"
    assert plan.datasets[0].path == str(tmp_path / "mine.csv")
    assert [m.label for m in plan.metrics] == ["mae_po", "mae_po(tail=hold)"]
    assert plan.folder == str(tmp_path)
    again = Plan.of({**plan.to_dict(), "datasets": [{"name": "mine", "path": "mine.csv"}]})
    assert again == plan
    # Where a file lies says nothing about what is in it.
    assert "path" not in plan.datasets[0].identity()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": []}, "datasets must have at least one entry"),
        ({"datasets": ["nope"]}, "unknown dataset 'nope'"),
        ({"datasets": "lifelines_rossi"}, "datasets must be a list"),
        ({"censoring": ["sometimes"]}, "censoring must be one of"),
        ({"censoring": [{"name": "uniform", "rates": 1}]}, "no setting 'rates'"),
        ({"models": ["km", "km"]}, "has 'km' twice"),
        ({"models": ["oracle"]}, "models must be one of"),
        ({"metrics": ["mae_best"]}, "metrics must be one of"),
        ({"metrics": [{"name": "mae_po", "tails": "hold"}]}, "no setting 'tails'"),
        ({"metrics": [{"name": "mae_po", "tail": "cubic"}]}, "tail must be one of"),
        ({"metrics": [{"name": "ibs", "weighted": False}]}, "no setting 'weighted'"),
        ({"metrics": [{"name": "mae_po", "tau": -1}]}, "tau .* must be finite and positive"),
        (
            {"metrics": [{"name": "mine", "function": "a:b"}]},
            "direction must be 'lower' or 'higher'",
        ),
        ({"metrics": [{**MINE, "truth": "mea"}]}, "truth must be one of"),
        (
            {"metrics": [{**MINE, "direction": "higher", "truth": "mae"}]},
            "better where it is lower",
        ),
        ({"metrics": [{**MINE, "needs": "curve"}]}, "needs must be one of 'curves'"),
        ({"metrics": [{"name": "mae_po", "needs": "curves"}]}, "no setting 'needs'"),
        ({"folder": 3}, "folder must be a path"),
        ({"metrics": [{"weighted": False}]}, "needs 'name'"),
        ({"folds": 1}, "folds must be a whole number, at least 2"),
        ({"repeats": True}, "repeats must be"),
        ({"seed": -1}, "seed must be"),
        ({"timeout": 0}, "timeout .* must be finite and positive"),
        ({"skip": [{"fold": 1}]}, "skip must be tables"),
        ({"fold": 5}, "no setting 'fold'"),
    ],
)
def test_what_a_plan_refuses(change, message):
    with pytest.raises(InputError, match=message):
        small(**change)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(InputError, match="shipped plans are demo, paper, truth, wide"):
        Plan.of("not-a-plan")
    bad = tmp_path / "bad.toml"
    bad.write_text("name = [")
    with pytest.raises(InputError, match="is not a TOML file"):
        Plan.of(bad)
    with pytest.raises(InputError, match="plan must be"):
        Plan.of(3)
    with pytest.raises(InputError, match="the plan has no 'cox'"):
        small().only(models=["cox"])


def test_shipped_plans_are_what_they_promise():
    assert shipped_plans() == ["demo", "paper", "truth", "wide"]
    paper = Plan.of("paper")
    by_set = {(c.dataset.label, c.censoring.label) for c in paper.cells()}
    assert len(by_set) == 29
    assert ("gbm", "external") not in by_set
    assert {m.name for m in paper.models} == {
        "lr", "km", "coxph", "aft", "gbm_c", "gbm_tree", "rsf", "mtlr", "deephit", "sca", "smdn"
    }  # fmt: skip
    labels = {m.label for m in paper.metrics}
    assert {"mae_po(weighted=false)", "mae_expected", "mae_po(tail=exponential)"} <= labels
    assert len(Plan.of("truth").datasets) >= 30
    assert len(Plan.of("wide").datasets) >= 12
    assert not {d.label for d in Plan.of("wide").datasets} & {d.label for d in paper.datasets}
    shipping = ("lifelines_", "sksurv_")
    assert all(d.label.startswith(shipping) for d in Plan.of("demo").datasets)
    assert {"mae_within", "mae_dr"} <= {m.label for m in Plan.of("demo").metrics}
    assert {"mae_within", "mae_within(distribution=blend)", "mae_dr(censoring=test)"} <= labels


def test_mae_within_stops_at_the_horizon_of_the_fold():
    spec = MetricSpec.of({"name": "mae_within", "floor": 0.2})
    assert (spec.label, spec.truth_label) == ("mae_within(floor=0.2)", "mae(tau=horizon)")
    assert spec.settings == {"censoring": "test", "tau": "horizon", "floor": 0.2}
    assert MetricSpec.of(spec.entry()) == spec
    with pytest.raises(InputError, match="tau must be 'horizon', where it stops by itself; got 5"):
        MetricSpec.of({"name": "mae_within", "tau": 5})


def test_optional_data_sets_are_left_out_where_they_are_not(monkeypatch, tmp_path):
    entry = {"name": "mine", "path": str(tmp_path / "none.csv"), "optional": True}
    plan, absent = small(datasets=["lifelines_rossi", entry]).present()
    assert absent == ["mine"]
    assert [d.label for d in plan.datasets] == ["lifelines_rossi"]
    with pytest.raises(InputError, match="none of the datasets"):
        small(datasets=[entry]).present()


def test_truths_of_metrics():
    plan = small(
        metrics=[
            "mae_po", {"name": "mae_po", "tau": 100}, "rmse_po", "uno", "ibs",
            {"name": "uno", "truth": "uno", "label": "uno truncated"},
            {"name": "d_calibration", "truth": ""},
        ]
    )  # fmt: skip
    truths = [m.truth_label for m in plan.metrics]
    assert truths == ["mae", "mae(tau=100)", "rmse", "harrell", "ibs", "uno", ""]
