"""Features given: fair to every model, and valid where censoring depends on them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm

import survgauge as sg
from survgauge.estimators.cox import CoxModel

pytestmark = pytest.mark.slow

EFFECTS = np.array([0.6, -0.4, 0.3])


def drawn(rng, n, dependence=0.0, mean=1.5):
    """Log-normal times; drop-out that is the later, the higher the risk."""
    X = rng.normal(size=(n, 3))
    score = X @ EFFECTS
    time = np.exp(0.6 * rng.normal(size=n) - score)
    end = rng.exponential(mean, n) * np.exp(dependence * score)
    return X, time, sg.Outcomes(np.minimum(time, end), time <= end)


def survival(X, grid):
    return norm.sf((np.log(grid) + (X @ EFFECTS)[:, None]) / 0.6)


@pytest.mark.parametrize("horizon", [True, False])
def test_models_of_other_data_are_not_at_a_disadvantage(horizon):
    """Two Cox models are exchangeable: one of the training set, one of another sample."""
    metric, found = "mae_within" if horizon else "mae_dr", []
    for k in range(50):
        rng = np.random.default_rng([1, k])
        X_train, _, y_train = drawn(rng, 200)
        X_other, _, y_other = drawn(rng, 200)
        X, _, y = drawn(rng, 300)
        models = {}
        for name, fitted in (("own", (X_train, y_train)), ("other", (X_other, y_other))):
            model = CoxModel.fit(*fitted)
            models[name] = sg.SurvivalCurves(model.times, model.survival(X), "step")
        settings = {"y_train": y_train, "X_train": X_train, "X_test": X, "confidence": None}
        ev = sg.evaluate(models, y, metrics=metric, **settings)
        assert ev.task.conditional.how["fitted_on"] == "test"
        own, other = (row["value"] for row in ev.rows())
        found.append(own - other)
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found))


def test_intervals_cover_where_censoring_depends_on_the_features():
    rng = np.random.default_rng(0)
    many, truth_time, _ = drawn(rng, 40_000)
    grid = np.geomspace(0.05, 8, 60)
    true_curves = sg.SurvivalCurves(grid, survival(many, grid))
    names = ["mae_within", "brier", "observed_expected", "auc", "calibration_slope"]
    covered = {name: [] for name in names}
    for k in range(60):
        rng = np.random.default_rng([2, k])
        X_train, _, y_train = drawn(rng, 400, dependence=0.9, mean=0.8)
        X, _, y = drawn(rng, 600, dependence=0.9, mean=0.8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ev = sg.evaluate(
                {"true": sg.SurvivalCurves(grid, survival(X, grid))}, y, y_train=y_train,
                X_train=X_train, X_test=X, metrics=names, time=0.4,
            )  # fmt: skip
        for row in ev.rows():
            at = row["until"] if row["metric"] == "mae_within" else row["time"]
            truth = _truth(row["metric"], true_curves, truth_time, at)
            covered[row["metric"]].append(row["low"] <= truth <= row["high"])
    for name, inside in covered.items():
        assert np.mean(inside) >= 0.85, (name, np.mean(inside))  # 95 % but for 3 standard errors


def _truth(metric, curves, time, at):
    if metric == "mae_within":
        return np.abs(np.minimum(time, at) - np.minimum(curves.median(), at)).mean()
    s, alive = curves.at(np.array([at]))[:, 0], time > at
    if metric == "brier":
        return np.mean((s - alive) ** 2)
    if metric == "auc":
        return sg.cumulative_dynamic_auc((time, np.ones(time.size)), 1 - s, [at]).values[0]
    return 1.0
