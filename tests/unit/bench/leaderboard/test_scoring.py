"""Scores agree with one call of `evaluate`, skills with a bootstrap, truths with true times."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.bench.leaderboard.problems import Design, problem_of
from survgauge.bench.models import build


@pytest.fixture(scope="module")
def by_hand():
    """Cox and Kaplan-Meier on the tiny design, without the runner."""
    design = Design.of(["veteran", "colon"], ["colon"], max_rows=100, folds=2)

    def predict(track, name):
        problem = problem_of(design, track, name)
        curves = {model: np.zeros((len(problem.y), len(problem.grid))) for model in ("km", "coxph")}
        for fold in range(2):
            split = problem.split(0, fold)
            for model, values in curves.items():
                fitted = build(model).fit(split.X_train, split.y_train)
                values[split.test] = fitted.predict_curves(split.X_test).at(problem.grid)
        return problem, {m: sg.SurvivalCurves(problem.grid, v) for m, v in curves.items()}

    return predict


@pytest.mark.parametrize(("track", "name"), [("main", "veteran"), ("truth", "colon")])
def test_scores_are_those_of_evaluate(tiny, by_hand, track, name):
    problem, curves = by_hand(track, name)
    asked = {"tau": problem.horizon, "time": problem.time}
    ev = sg.evaluate(curves, problem.y, y_train=problem.y, metrics=["mae_within", "uno"], **asked)
    scores = tiny[1].scores
    own = scores[(scores.track == track) & (scores.dataset == name)].set_index(["model", "metric"])
    for row in ev.rows():
        found = own.loc[row["model"], row["metric"]]
        assert found["value"] == pytest.approx(row["value"], rel=1e-6)
        assert found["stderr"] == pytest.approx(row["stderr"], rel=1e-4, abs=1e-9)
    cox, km = (own.loc[model, "mae_within"] for model in ("coxph", "km"))
    assert cox["skill"] == pytest.approx(1 - cox["value"] / km["value"])
    assert cox["skill_low"] < cox["skill"] < cox["skill_high"]
    if track == "truth":
        until = problem.horizon
        gap = np.minimum(curves["coxph"].median(), until) - np.minimum(problem.true_time, until)
        assert cox["truth"] == pytest.approx(np.abs(gap).mean(), rel=1e-6)


def test_pairs_are_relative_differences_with_matching_limits(tiny):
    scores, pairs = tiny[1].scores, tiny[1].pairs
    where = "dataset == 'veteran' and metric == 'mae_within'"
    pair = pairs.query(where).iloc[0]
    each = scores.query(where).set_index("model")
    gap = each["value"][pair["model_a"]] - each["value"][pair["model_b"]]
    assert pair["difference"] == pytest.approx(gap / each["value"]["km"])
    assert (pair["p_value"] < 0.05) == (pair["low"] > 0 or pair["high"] < 0)
    assert set(pairs["metric"]) == {"mae_within", "ibs", "uno", "ici"}


def test_relative_standard_errors_agree_with_a_bootstrap():
    """The delta method of skill and of relative differences, by resampling subjects."""
    from survgauge.bench.leaderboard.fitting import scored

    design = Design.of(["veteran"], folds=2)
    problem = problem_of(design, "main", "veteran")
    models = {("km", "default"): [], ("coxph", "default"): [], ("gbm_c", "default"): []}
    curves = {}
    for name, folds in models.items():
        whole = np.zeros((len(problem.y), len(problem.grid)), dtype=np.float32)
        for fold in range(2):
            split = problem.split(0, fold)
            fitted = build(name[0]).fit(split.X_train, split.y_train)
            whole[split.test] = fitted.predict_curves(split.X_test).at(problem.grid)
            folds.append({"survival": whole[split.test]})
        curves[name[0]] = sg.SurvivalCurves(problem.grid, whole)
    scores, pairs, _ = scored(problem, 0, models)
    cox = next(r for r in scores if r["model"] == "coxph" and r["metric"] == "mae_within")
    pair = next(r for r in pairs if r["metric"] == "mae_within" and r["model_a"] == "coxph")
    rng, draws, horizon = np.random.default_rng(1), [], problem.horizon
    alone = {"metrics": ["mae_within"], "confidence": None}
    for _ in range(200):
        rows = rng.integers(0, len(problem.y), len(problem.y))
        y = problem.y[rows]
        error = {
            m: sg.evaluate(c[rows], y, y_train=y, tau=horizon, **alone).rows()[0]["value"]
            for m, c in curves.items()
        }
        draws.append(
            [1 - error["coxph"] / error["km"], (error["coxph"] - error["gbm_c"]) / error["km"]]
        )
    spread = np.std(draws, axis=0)
    assert (cox["skill_high"] - cox["skill_low"]) / 3.92 == pytest.approx(spread[0], rel=0.25)
    assert pair["stderr"] == pytest.approx(spread[1], rel=0.25)
