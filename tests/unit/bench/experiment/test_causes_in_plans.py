"""Plans that ask about one cause: incidence in, metrics of the cause and their truths out."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("joblib", reason="the extra experiment")
pytest.importorskip("pandas", reason="the extra experiment")
pytest.importorskip("sklearn", reason="the extra experiment")

import survgauge as sg
from survgauge.bench.experiment import Plan, run
from survgauge.bench.experiment.cells import content_checksum, fold_of
from survgauge.bench.experiment.scoring import pack, unpack
from survgauge.data.predictions import Prediction

METRICS = [
    {"name": "mae_dr", "tau": 6.0},
    {"name": "brier", "time": 3.0},
    {"name": "ibs", "tau": 6.0},
    {"name": "uno", "tau": 6.0},
]


def write_table(folder, name="causes"):
    scenario = sg.datasets.synthetic_causes(150, 4)
    lines = ["a,b,c,d,time,event"]
    lines += [
        ",".join(f"{v:.6f}" for v in [*x, t]) + f",{code if i % 9 else 0}"
        for i, (x, t, code) in enumerate(
            zip(scenario.X, scenario.y.time, scenario.y.cause, strict=True)
        )
    ]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def plan_of(folder, **changes):
    return {
        "name": "causes",
        "datasets": [{"name": "causes", "path": write_table(folder)}],
        "censoring": ["exponential"],
        "models": ["aalen_johansen", "cause_specific_cox"],
        "metrics": METRICS,
        "folds": 2,
        "cause": 2,
        "keep_predictions": True,
        **changes,
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causes")
    plan = Plan.of(plan_of(folder))
    return plan, run(plan, store=folder / "store", jobs=1, progress=False), folder


def test_values_and_truths_are_those_of_the_functions(done):
    plan, results, _ = done
    assert not results.failures
    cell = next(c for c in plan.cells() if c.model.name == "cause_specific_cox")
    fold = fold_of(cell)
    model = cell.model.build(cell.model_seed).fit(fold.X_train, fold.y_train)
    curves, q = model.predict_incidence(fold.X_test), fold.questions
    true = sg.Outcomes(q.true_time, q.true_cause, causes=q.y.causes)
    rows = results.metrics
    rows = rows[(rows["model"] == "cause_specific_cox") & (rows["fold"] == cell.fold)]
    found = {row.metric.partition("(")[0]: (row.value, row.true_value) for row in rows.itertuples()}
    assert set(found) == {"mae_dr", "brier", "ibs", "uno"}
    for metric, (value, truth) in found.items():
        assert np.isfinite([value, truth]).all(), metric
    by_3 = (true.time <= 3.0) & (true.cause == 2)
    assert found["brier"][1] == pytest.approx(np.mean((by_3 - curves.at(3.0, 2)) ** 2))
    free = np.where((true.time < 6.0) & (true.cause == 2), true.time, 6.0)
    said = np.minimum(np.nan_to_num(curves.quantile(0.5, 2), nan=np.inf), 6.0)
    assert found["mae_dr"][1] == pytest.approx(np.mean(np.abs(said - free)))
    value = sg.mae(q.y, curves, y_train=fold.y_train, method="dr", tau=6.0, cause=2,
                   censoring="train")  # fmt: skip
    assert found["mae_dr"][0] == pytest.approx(value)
    assert abs(found["mae_dr"][0] / found["mae_dr"][1] - 1) < 0.5


def test_another_cause_needs_no_new_fit(done):
    plan, _, folder = done
    other = Plan.of({**plan.to_dict(), "cause": 1})
    ours, theirs = plan.cells()[0], other.cells()[0]
    assert ours.fit_digest == theirs.fit_digest
    assert ours.digest != theirs.digest
    again = run(other, store=folder / "store", jobs=1, progress=False, resume=True)
    assert len(again.metrics) == 2 * len(plan.models) * len(METRICS)


def test_predictions_are_packed_with_all_causes():
    curves = sg.IncidenceCurves([1, 2], [[[0.2, 0.5], [0.1, 0.3]]], ["relapse", "death"], "step")
    packed = pack(Prediction.of_cause(curves, 1, "m", curves.causes, 1))
    found = unpack(packed, 2)
    np.testing.assert_array_equal(found.incidence.values, curves.values)
    assert (found.incidence.causes, found.incidence.interpolation) == (curves.causes, "step")
    np.testing.assert_allclose(found.curves.at(2), [0.7])


def test_plans_without_a_cause_keep_their_digests(tmp_path):
    from experiment_plans import toy_plan

    plan = Plan.of(toy_plan(tmp_path))
    assert "cause" not in plan.to_dict()
    # As it was before plans knew causes: stores of earlier runs are still found.
    assert plan.metrics_digest == DIGEST


DIGEST = "8cbdf1683862d4bb"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ["km"]}, "model 'km' predicts no incidence; .*cause_specific_cox"),
        ({"metrics": ["log_likelihood", "crps"]}, "supports only one kind of event"),
        ({"cause": True}, "code or the name"),
        (
            {"metrics": [{"name": "mae_dr", "tau": 5.0, "distribution": "blend"}]},
            "supports no causes yet",
        ),
    ],
)
def test_plans_that_cannot_ask_about_a_cause(tmp_path, changes, message):
    with pytest.raises(sg.InputError, match=message):
        Plan.of(plan_of(tmp_path, **changes))


def test_causes_that_do_not_fit_the_data(tmp_path):
    one = Plan.of(plan_of(tmp_path, cause=None, models=["km"], metrics=["mae_po"]))
    with pytest.raises(sg.InputError, match=r"several causes; say in the plan .* cause = '1'"):
        fold_of(one.cells()[0])
    with pytest.raises(sg.InputError, match=r"cause must be the code or the name of a cause: 1"):
        fold_of(Plan.of(plan_of(tmp_path, cause="relapse")).cells()[0])
    with pytest.raises(sg.InputError, match="has one kind of event"):
        fold_of(Plan.of(plan_of(tmp_path, datasets=["lifelines_rossi"])).cells()[0])


def test_checksums_heed_causes():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    first, second = (
        sg.datasets.Dataset(X, sg.Outcomes([1, 2, 3], codes, causes=["a", "b"]), name="d")
        for codes in ([1, 2, 0], [2, 1, 0])
    )
    assert content_checksum(first) != content_checksum(second)
    plain = sg.datasets.Dataset(X, sg.Outcomes([1, 2, 3], [1, 1, 0]), name="d")
    assert content_checksum(plain) != content_checksum(first)
