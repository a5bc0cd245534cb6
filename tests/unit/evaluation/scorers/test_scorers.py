from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import survgauge as sg

sklearn = pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, RegressorMixin  # noqa: E402
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
    assert sg.scorer("mae")(model, X[60:], y[60:]) == pytest.approx(-want, rel=1e-12)
    assert sg.scorer("mae_within")(model, X[60:], y[60:]) == pytest.approx(-want, rel=1e-12)
    assert sg.scorer("mae").convention(model) == "training outcomes"
    forgetful = Scaled(remember=False).fit(X[:60], y[:60])
    in_sample = sg.mae(y[60:], model.predict_time(X[60:]))
    with pytest.warns(UserWarning, match="Scaled does not keep the outcomes it was trained on"):
        assert sg.scorer("mae")(forgetful, X[60:], y[60:]) == pytest.approx(-in_sample)
    assert sg.scorer("mae").convention(forgetful) == "test fold, in sample"
    fixed = sg.scorer("mae", y_train=y[:60])
    assert fixed(forgetful, X[60:], y[60:]) == pytest.approx(-want)


def test_several_at_once_in_cross_validate_and_in_a_pipeline():
    X, y = data()
    scoring = {name: sg.scorer(name) for name in ("mae", "mae_hinge", "rmse_margin")}
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
    assert again.settings["tau"] == 9.0
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


# -- a risk is known as a risk, or refused -------------------------------------------------------


def signed(y):
    return np.where(y["event"], y["time"], -y["time"])


class Ranks(BaseEstimator):
    """Gives minus the log of the true scale, in whichever way it is asked to."""

    def __init__(self, wrap=False):
        self.wrap = wrap

    def fit(self, X, y):
        return self

    def predict(self, X):
        return sg.RiskScores(-X[:, 0]) if self.wrap else -X[:, 0]


class NamedRanks(Ranks):
    def predict_risk(self, X):
        return -X[:, 0]

    def predict(self, X):
        raise AssertionError("predict_risk says more")


def test_what_predict_gives_is_declared_recognised_or_refused():
    X, y = data(200)
    true = sg.concordance_index(y, -X[:, 0])
    assert true > 0.6
    harrell = sg.scorer("harrell")
    with pytest.raises(sg.InputError, match=r"Ranks.predict may give times or risks.*predicts="):
        harrell(Ranks(), X, y)
    with pytest.raises(sg.InputError, match="may give times or risks"):
        sg.scorer("mae_hinge")(Ranks(), X, y)
    assert harrell(Ranks(wrap=True), X, y) == true
    assert harrell(NamedRanks(), X, y) == true
    assert harrell(make_pipeline(NamedRanks()), X, y) == true
    assert sg.scorer("harrell", predicts="risk")(Ranks(), X, y) == true
    with pytest.warns(
        UserWarning, match=r"harrell of Ranks is 0\.\d+ .*below 0.5.*predicts='risk'"
    ):
        turned = sg.scorer("harrell", predicts="time")(Ranks(), X, y)
    assert turned == pytest.approx(1 - true)
    with pytest.raises(sg.InputError, match="mae_po needs times, but Ranks gives risk only"):
        sg.scorer("mae_po", predicts="risk")(Ranks(), X, y)
    with pytest.raises(sg.InputError, match="predicts must be one of"):
        sg.scorer("harrell", predicts="hazard")
    assert pickle.loads(pickle.dumps(sg.scorer("uno", predicts="risk"))).predicts == "risk"


def test_xgboost_is_known_by_its_objective():
    xgboost = pytest.importorskip("xgboost")
    X, y = data(300)
    options = {"n_estimators": 20, "max_depth": 2, "n_jobs": 1}
    cox = xgboost.XGBRegressor(objective="survival:cox", **options).fit(X, signed(y))
    hazard = cox.predict(X)
    expected = sg.concordance_index(y, hazard)
    assert expected > 0.6
    assert sg.scorer("harrell")(cox, X, y) == expected
    assert sg.scorer("harrell")(make_pipeline("passthrough", cox), X, y) == expected
    with pytest.raises(sg.InputError, match="gives risk only"):
        sg.scorer("mae_hinge")(cox, X, y)
    plain = xgboost.XGBRegressor(**options).fit(X, y["time"])
    assert sg.scorer("harrell")(plain, X, y) == sg.concordance_index(y, -plain.predict(X))

    class Holder(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.model_ = cox
            return self

        def predict(self, X):
            return self.model_.predict(X)

    with pytest.raises(sg.InputError, match=r"Holder.predict may give times or risks"):
        sg.scorer("harrell")(Holder().fit(X, y), X, y)
    assert sg.scorer("harrell", predicts="risk")(Holder().fit(X, y), X, y) == expected


def test_scikit_survivals_predict_is_a_risk_unless_it_says_otherwise():
    sksurv = pytest.importorskip("sksurv.svm")
    X, y = data(120)
    for ratio, sign in ((1.0, 1.0), (0.0, -1.0)):  # ranks, or regression on log times
        model = sksurv.FastSurvivalSVM(rank_ratio=ratio, fit_intercept=ratio == 0, max_iter=50)
        model.fit(X, y)
        expected = sg.concordance_index(y, sign * model.predict(X))
        assert expected > 0.6
        assert sg.scorer("harrell")(model, X, y) == expected


def test_what_is_known_of_predict_is_not_contradicted():
    X, y = data(120)
    scaled = Scaled().fit(X, y)  # `predict` is `predict_time`: read as risks it would turn round
    with pytest.raises(sg.InputError, match=r"predicts='risk' asks for a risk, but Scaled.predict"):
        sg.scorer("harrell", predicts="risk")(scaled, X, y)
    with pytest.raises(sg.InputError, match="predicts='curves' asks for curves, but Scaled"):
        sg.scorer("ibs", predicts="curves")(scaled, X, y)
    with pytest.raises(sg.InputError, match="Model must have predict_risk or predict"):
        sg.scorer("harrell", predicts="risk")(type("Model", (), {})(), X, y)
    regressor = LinearRegression().fit(X, -y["time"])  # nobody but the caller can know
    risks = sg.scorer("harrell", predicts="risk")(regressor, X, y)
    assert risks == sg.concordance_index(y, regressor.predict(X)) > 0.6


def test_curves_can_come_out_of_plain_predict():
    X, y = data(120)
    model = Exponential().fit(X, y)
    curves = model.predict_curves(X)
    forms = curves, (curves.times, curves.survival), X[:, 0]

    class Plain:
        y_train_ = model.y_train_

        def __init__(self, form):
            self.predict = lambda X: forms[form]

    expected = sg.scorer("ibs")(model, X, y)
    for scorer in (sg.scorer("ibs"), sg.scorer("ibs", predicts="curves")):
        assert scorer(Plain(0), X, y) == scorer(Plain(1), X, y) == expected
    with pytest.raises(sg.InputError, match="predictions of Plain must be SurvivalCurves"):
        sg.scorer("ibs", predicts="curves")(Plain(2), X, y)


# -- several metrics, one prediction -------------------------------------------------------------


class Counted(Exponential):
    """Counts how often it is asked."""

    calls = 0

    def predict_curves(self, X):
        type(self).calls += 1
        return super().predict_curves(X)


SEVERAL = ["mae_po", "mae_within", "ibs", "harrell", "d_calibration"]


def test_several_metrics_predict_once_and_score_as_each_alone():
    X, y = data(200)
    model = Counted().fit(X[:100], y[:100])
    alone = {name: sg.scorer(name, tau=20.0)(model, X[100:], y[100:]) for name in SEVERAL}
    Counted.calls = 0
    together = sg.scorer(SEVERAL, tau=20.0)
    assert together(model, X[100:], y[100:]) == alone
    assert Counted.calls == 1
    assert repr(together) == f"scorer({SEVERAL!r})"
    Counted.calls = 0
    found = cross_validate(Counted(), X, y, scoring=together, cv=sg.SurvivalKFold(4))
    assert Counted.calls == 4
    for name in SEVERAL:
        same = cross_validate(
            Counted(), X, y, scoring=sg.scorer(name, tau=20.0), cv=sg.SurvivalKFold(4)
        )
        np.testing.assert_array_equal(found[f"test_{name}"], same["test_score"])


def test_a_search_refits_by_one_of_several_metrics():
    X, y = data(300)
    scoring = pickle.loads(pickle.dumps(sg.scorer(["mae_po", "mae_hinge"])))
    grid = {"factor": [0.7, 20.0]}
    search = GridSearchCV(Scaled(), grid, scoring=scoring, refit="mae_po", cv=3).fit(X, y)
    assert search.best_params_ == {"factor": 0.7}
    assert search.score(X, y) == sg.scorer("mae_po")(search, X, y)
    alone = GridSearchCV(Scaled(), grid, scoring=sg.scorer("mae_po"), cv=3).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_mae_po"], alone.cv_results_["mean_test_score"]
    )


def test_lists_of_metrics_are_checked():
    assert sg.scorer(["ibs", "ibs"]).names == ("ibs",)
    with pytest.raises(sg.InputError, match="name must hold at least one metric"):
        sg.scorer([])
    with pytest.raises(sg.InputError, match=r"name must be one of .*'ibss' .did you mean 'ibs'"):
        sg.scorer(["mae_po", "ibss"])
    X, y = data(60)
    with pytest.raises(sg.InputError, match="ibs needs curves, but Scaled gives times only"):
        sg.scorer(["mae_po", "ibs"])(Scaled().fit(X, y), X, y)


# -- remarks -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("always")
def test_a_search_warns_once_for_each_kind_of_remark_and_keeps_all():
    X, y = data(200)
    scoring = sg.scorer(["mae", "mae_ipcw_d", "ibs"])
    model, grid = Exponential(remember=False), {"factor": [0.7, 1.0, 2.0]}
    with pytest.warns(UserWarning, match="in-sample-reference") as caught:
        search = GridSearchCV(model, grid, scoring=scoring, refit="ibs", cv=4).fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "Exponential does not keep the outcomes it was trained on" in text
    assert "its own reference set for mae_within, mae_ipcw_d, ibs" in text
    assert [remark.code for remark in scoring.warnings] == ["in-sample-reference"] * 12
    assert search.scorer_.warnings == scoring.warnings


@pytest.mark.filterwarnings("always")
def test_errors_that_lean_on_assumed_tails_are_warned_of_as_in_evaluate():
    X, y = data(200)
    model = Exponential(factor=2.0).fit(X[:150], y[:150])
    curves = model.predict_curves(X[150:])
    short = sg.SurvivalCurves(curves.times[:9], curves.survival[:, :9])  # none gets to one half
    model.predict_curves = lambda X: short
    scoring = sg.scorer(["mae_po", "mae_ipcw_t", "mae"])
    with pytest.warns(UserWarning, match=r"\[tail-times\] mae_po of .*; .*set tau \(for example"):
        scoring(model, X[150:], y[150:])
    codes = {(one.code, one.metric) for one in scoring.warnings}
    ev = sg.evaluate(short, y[150:], y_train=y[:150], metrics=["mae_po", "mae_ipcw_t"])
    tails = {"tail-times", "past-reference", "far-surrogates", "unseen-times"}
    assert codes == {
        (w.code, case.metric) for w in ev.warnings if w.code in tails for case in w.cases
    }
    assert ("tail-times", "mae_po") in codes
    quiet = sg.scorer(["mae_po", "mae"], tau=3.0)
    quiet(model, X[150:], y[150:])
    assert quiet.warnings == []


def test_mae_is_a_name_of_its_own_beside_others():
    X, y = data()
    scores = sg.scorer(["mae", "mae_within", "mae_hinge"])(Scaled().fit(X[:60], y[:60]), X, y)
    assert list(scores) == ["mae", "mae_within", "mae_hinge"]
    assert scores["mae"] == scores["mae_within"] != scores["mae_hinge"]
    assert sg.scorer("mae").name == "mae"
    assert sg.scorer("mae").metric.name == "mae_within"
    assert repr(sg.scorer(["mae", "ibs"])) == "scorer(['mae', 'ibs'])"


@pytest.mark.filterwarnings("always")
def test_nested_searches_and_copies_share_their_remarks():
    X, y = data(200)
    scoring = sg.scorer("mae_po")
    search = GridSearchCV(Scaled(remember=False), {"factor": [0.7, 1.0]}, scoring=scoring, cv=2)
    with pytest.warns(UserWarning, match="in-sample-reference") as caught:
        cross_validate(search, X, y, scoring=sg.scorer("mae_hinge"), cv=3)
    assert len(caught) == 1  # 3 outer folds x 2 candidates x 2 inner folds
    assert len(scoring.warnings) == 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as in a worker process, which gets a new copy each time
        pickle.loads(pickle.dumps(scoring))(Scaled(remember=False).fit(X, y), X, y)
    with pytest.warns(UserWarning, match="in-sample-reference"):  # another scorer says it anew
        sg.scorer("mae_po")(Scaled(remember=False).fit(X, y), X, y)


@pytest.mark.filterwarnings("always")
def test_a_ranking_that_is_turned_round_is_remarked_on():
    X, y = data(300)
    harrell = sg.scorer("harrell", predicts="time")
    with pytest.warns(UserWarning, match=r"\[c-below-half\] harrell of Ranks") as caught:
        found = cross_validate(Ranks(), X, y, scoring=harrell, cv=sg.SurvivalKFold(3))
    assert (found["test_score"] < 0.4).all()
    assert len(caught) == 1
    assert [remark.code for remark in harrell.warnings] == ["c-below-half"] * 3
    noise = np.random.default_rng(1).normal(size=(300, 1))  # 0.5 up to chance
    assert sg.scorer("harrell", predicts="risk")(Ranks(), noise, y) < 0.55
