from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg

sklearn = pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_validate  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402


class Scaled(BaseEstimator):
    """Predicts a multiple of the mean event time."""

    def __init__(self, factor=1.0, remember=True):
        self.factor, self.remember = factor, remember

    def fit(self, X, y):
        outcomes = sg.Outcomes.of(y)
        self.mean_ = outcomes.time[outcomes.event].mean()
        if self.remember:
            self.y_train_ = outcomes
        return self

    def predict_time(self, X):
        return np.full(len(X), self.factor * self.mean_)

    predict = predict_time


class Exponential(Scaled):
    def predict_curves(self, X):
        grid = np.linspace(0, 40, 81)
        return sg.SurvivalCurves(grid, np.tile(np.exp(-grid / self.mean_), (len(X), 1)))


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    t, c = rng.exponential(10 * np.exp(0.5 * X[:, 0])), rng.exponential(25, n)
    return X, sg.Outcomes(np.minimum(t, c), t <= c).to_structured()


def test_scorers_negate_losses_and_use_the_training_outcomes():
    X, y = data()
    model = Scaled().fit(X[:60], y[:60])
    want = sg.mae(y[60:], model.predict_time(X[60:]), y_train=y[:60])
    assert sg.scorer("mae_po")(model, X[60:], y[60:]) == pytest.approx(-want)
    assert sg.scorer("mae_po").convention(model) == "training outcomes"
    forgetful = Scaled(remember=False).fit(X[:60], y[:60])
    in_sample = sg.mae(y[60:], model.predict_time(X[60:]))
    with pytest.warns(UserWarning, match="Scaled does not keep the outcomes it was trained on"):
        assert sg.scorer("mae_po")(forgetful, X[60:], y[60:]) == pytest.approx(-in_sample)
    assert sg.scorer("mae_po").convention(forgetful) == "test fold, in sample"
    fixed = sg.scorer("mae_po", y_train=y[:60])
    assert fixed(forgetful, X[60:], y[60:]) == pytest.approx(-want)


def test_several_at_once_in_cross_validate_and_in_a_pipeline():
    X, y = data()
    scoring = {name: sg.scorer(name) for name in ("mae_po", "mae_hinge", "rmse_margin")}
    model = make_pipeline(StandardScaler(), Scaled())
    found = cross_validate(model, X, y, scoring=scoring, cv=sg.SurvivalKFold(3))
    outcomes = sg.Outcomes.of(y)  # our own outcomes go through scikit-learn's selection as well
    same = cross_validate(model, X, outcomes, scoring=scoring, cv=sg.SurvivalKFold(3))
    for name in scoring:
        np.testing.assert_array_equal(found[f"test_{name}"], same[f"test_{name}"])
        scores = found[f"test_{name}"]
        assert scores.shape == (3,)
        assert (scores < 0).all()


def test_grid_search_finds_the_better_parameter_and_pickles():
    X, y = data(300)
    search = GridSearchCV(Scaled(), {"factor": [0.7, 20.0]}, scoring=sg.scorer("mae_po"), cv=3)
    assert search.fit(X, y).best_params_ == {"factor": 0.7}
    again = pickle.loads(pickle.dumps(sg.scorer("mae_po", tau=9.0)))
    assert again.settings == {"tau": 9.0}
    assert again(search, X, y) < 0


def test_an_undefined_fold_is_nan_with_a_warning():
    X, y = data(40)
    model = Scaled().fit(X, y)
    censored = sg.Outcomes([1.0, 2.0], [0, 0]).to_structured()
    with pytest.warns(RuntimeWarning, match="mae_uncensored is undefined on this fold"):
        assert np.isnan(sg.scorer("mae_uncensored")(model, X[:2], censored))


def test_regressors_give_times_and_unknown_objects_are_refused():
    X, y = data()
    model = LinearRegression().fit(X, y["time"])
    assert sg.scorer("mae_hinge")(model, X, y) < 0
    with pytest.raises(sg.InputError, match="must have predict_curves"):
        sg.scorer("mae_po")(object(), X, y)
    with pytest.raises(sg.InputError, match="name must be one of"):
        sg.scorer("accuracy")


def test_folds_are_alike_and_cover_everybody_once():
    _, y = data(203)
    splitter = sg.SurvivalKFold(5, random_state=3)
    tests = [test for _, test in splitter.split(y, y)]
    assert sorted(np.concatenate(tests)) == list(range(203))
    rates = [y["event"][test].mean() for test in tests]
    assert max(rates) - min(rates) < 0.06
    medians = [np.median(y["time"][test]) for test in tests]
    assert max(medians) < 1.5 * min(medians)
    np.testing.assert_array_equal(splitter.folds(y), sg.SurvivalKFold(5, random_state=3).folds(y))
    assert (splitter.folds(y) != sg.SurvivalKFold(5, random_state=4).folds(y)).any()
    with pytest.raises(sg.InputError, match="n_splits"):
        sg.SurvivalKFold(1)
    with pytest.raises(sg.InputError, match="at least n_splits"):
        list(sg.SurvivalKFold(5).split(None, ([1.0], [1])))
