"""Classical models against formulas written out, other libraries, and changes of units."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn", reason="the models need scikit-learn")

from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import outcomes_with_event, pair

from survgauge import InputError, KaplanMeier, Outcomes, SurvivalCurves, models
from survgauge.estimators.learners import ModelFacts
from survgauge.estimators.learners.base import SurvivalModel
from survgauge.estimators.learners.trees import BaselineHazard

CLASSICAL = ("lr", "km", "coxph", "aft", "gbm_c", "gbm_tree", "rsf")
NEEDS = {"aft": "lifelines", "rsf": "sksurv"}


def build(name, **params):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} needs it")
    quick = {"rsf": {"n_estimators": 10}, "gbm_tree": {"n_estimators": 30}}.get(name, {})
    return models.build(name, **{**quick, **params})


def example(n=150, seed=1, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + [0.0, 5.0, -1.0]
    event_time = rng.weibull(1.5, n) * 30 * np.exp(0.6 * X[:, 0] - 0.3 * X[:, 1] + 1.5)
    censoring = rng.uniform(0, 120, n)
    time = np.minimum(event_time, censoring)
    return X, Outcomes(np.ceil(time) if ties else time, event_time <= censoring)


# -- linear regression, Kaplan-Meier ------------------------------------------------------


def test_lr_is_least_squares_on_the_events():
    X, y = example()
    other = LinearRegression().fit(X[y.event], y.time[y.event])
    ours = models.build("lr", floor=None).fit(X, y)
    np.testing.assert_allclose(ours.predict_time(X), other.predict(X), rtol=1e-10)


def test_lr_floor():
    X, y = np.array([[1.0], [2.0], [3.0]]), ([10.0, 20.0, 30.0], [1, 1, 1])
    line = models.build("lr", floor=None).fit(X, y)
    assert line.predict_time([[-1.0]]) == pytest.approx([-10.0])
    assert models.build("lr").fit(X, y).predict_time([[-1.0]]) == pytest.approx([0.0])
    assert models.build("lr", floor=5).fit(X, y).predict_time([[-1.0]]) == pytest.approx([5.0])
    with pytest.raises(InputError, match="floor must be"):
        models.build("lr", floor=np.nan).fit(X, y)


@given(outcomes_with_event)
def test_km_is_kaplan_meier(pairs):
    y = Outcomes(*pair(pairs))
    curves = models.build("km").fit(np.zeros((len(y), 1)), y).predict_curves(np.zeros((3, 1)))
    grid = np.arange(0, y.time.max() + 0.5, 0.5)
    np.testing.assert_allclose(curves.at(grid), np.tile(KaplanMeier.fit(y).at(grid), (3, 1)))
    assert curves.last_time[0] == y.time.max()


# -- Cox ----------------------------------------------------------------------------------


def test_coxph_equals_lifelines():
    lifelines = pytest.importorskip("lifelines", reason="the other implementation")
    pandas = pytest.importorskip("pandas", reason="lifelines reads frames")
    X, y = example(ties=False)  # lifelines shares tied events another way (Efron)
    frame = pandas.DataFrame(X).assign(t=y.time, e=y.event)
    theirs = lifelines.CoxPHFitter().fit(frame, "t", "e")
    table = theirs.predict_survival_function(frame.iloc[:20])
    ours = models.build("coxph").fit(X, y).predict_curves(X[:20])
    np.testing.assert_allclose(ours.at(table.index.to_numpy()), table.to_numpy().T, atol=1e-6)


def test_coxph_equals_scikit_survival_with_ties():
    linear = pytest.importorskip("sksurv.linear_model", reason="the other implementation")
    X, y = example()
    theirs = linear.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12).fit(X, y.to_structured())
    survival = theirs.predict_survival_function(X[:20], return_array=True)
    ours = models.build("coxph").fit(X, y).predict_curves(X[:20])
    np.testing.assert_allclose(ours.at(theirs.unique_times_), survival, atol=1e-7)


def test_coxph_says_when_a_penalty_took_over():
    X, y = example(n=40)
    with pytest.warns(models.FitWarning, match="coxph: .* l2 penalty 1 on standardised"):
        model = models.build("coxph").fit(np.column_stack([X, X[:, 0]]), y)
    assert len(model.notes_) == 1
    model = models.build("coxph").fit(np.column_stack([X, np.ones(40)]), y)
    assert model.notes_ == ("constant column 4 (counting from 1) left out (coefficient 0)",)


def test_coxph_curves_reach_the_last_censored_time():
    X, y = [[0.0], [1.0], [0.5]], ([2.0, 3.0, 9.0], [1, 1, 0])
    curves = models.build("coxph", penalty=1).fit(X, y).predict_curves([[0.5]])
    assert curves.times.tolist() == [2.0, 3.0, 9.0]
    assert curves.survival[0, 1] == curves.survival[0, 2]


# -- Weibull ------------------------------------------------------------------------------


def weibull_loss(parameters, X, y):
    """Minus the log-likelihood of f = S h for events and S for censorings."""
    *beta, intercept, log_rho = parameters
    z = np.exp(log_rho) * (np.log(y.time) - intercept - X @ np.array(beta))
    return np.exp(z).sum() - (y.event * (z + log_rho - np.log(y.time))).sum()


def test_aft_maximises_the_likelihood():
    X, y = example()
    model = build("aft", penalty=0.0).fit(X, y)
    best = minimize(weibull_loss, [0, 0, 0, 3, 0], args=(X, y), options={"gtol": 1e-8})
    *beta, intercept, log_rho = best.x
    scale = np.exp(intercept + X @ np.array(beta))
    np.testing.assert_allclose(
        model.predict_time(X), scale * np.log(2) ** np.exp(-log_rho), rtol=1e-3
    )


def test_aft_curves_are_the_closed_form():
    X, y = example()
    model = build("aft").fit(X, y)
    curves = model.predict_curves(X[:30])
    scale = model.predict_time(X[:30]) / np.log(2) ** np.exp(-model.log_rho_)
    t = np.linspace(0, 2 * y.time.max(), 200)
    exact = np.exp(-((t / scale[:, None]) ** np.exp(model.log_rho_)))
    np.testing.assert_allclose(curves.at(t), exact, atol=2e-3)
    np.testing.assert_allclose(curves.median(), model.predict_time(X[:30]), rtol=0.01)


def test_aft_raises_the_penalty_where_there_is_no_maximum():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 12)), Outcomes(rng.exponential(10, 8), rng.random(8) < 0.7)
    model = build("aft")
    with pytest.warns(models.FitWarning, match="aft: no convergence; l2 penalty"):
        model.fit(X, y)
    assert np.isfinite(model.predict_time(X)).all()


def test_aft_moves_times_of_zero_and_says_so():
    X, y = example(n=40)
    model = build("aft")
    moved = Outcomes(np.where(np.arange(40) == 3, 0.0, y.time), y.event)
    with pytest.warns(models.FitWarning, match=r"1 time\(s\) of 0 count as"):
        model.fit(X, moved)


def test_aft_equal_times_are_a_named_failure():
    with pytest.raises(models.FitError, match=r"aft cannot .* all observed times are equal \(5\)"):
        build("aft").fit(np.arange(8.0).reshape(8, 1), (np.full(8, 5.0), np.ones(8)))


# -- boosting -----------------------------------------------------------------------------


def naive_log_likelihood(score, y):
    total = 0.0
    for i in np.flatnonzero(y.event):
        total += score[i] - np.log(np.exp(score[y.time >= y.time[i]]).sum())
    return total


@settings(deadline=None)
@given(outcomes_with_event, st.integers(0, 1000))
def test_residuals_are_the_slope_of_the_likelihood(pairs, seed):
    y = Outcomes(*pair(pairs))
    score = np.random.default_rng(seed).normal(size=len(y))
    step = 1e-5 * np.eye(len(y))
    slope = [
        (naive_log_likelihood(score + e, y) - naive_log_likelihood(score - e, y)) / 2e-5
        for e in step
    ]
    np.testing.assert_allclose(BaselineHazard(y).residual(score), slope, atol=1e-6)


def test_residuals_of_scores_far_apart():
    y = Outcomes([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1])
    # The first takes all of the risk at 1, the second at 2, ...: everybody expects one event.
    residual = BaselineHazard(y).residual(np.array([3000.0, 1000.0, -1000.0, -3000.0]))
    np.testing.assert_allclose(residual, 0, atol=1e-9)


def test_gbm_c_equals_scikit_survival():
    ensemble = pytest.importorskip("sksurv.ensemble", reason="the other implementation")
    X, y = example()
    X = X - X.mean(axis=0)  # theirs regresses through the origin
    theirs = ensemble.ComponentwiseGradientBoostingSurvivalAnalysis(n_estimators=100)
    theirs.fit(X, y.to_structured())
    ours = models.build("gbm_c").fit(X, y)
    np.testing.assert_allclose(ours.coefficients_, theirs.coef_[1:], rtol=1e-9, atol=1e-12)
    survival = theirs.predict_survival_function(X[:20], return_array=True)
    np.testing.assert_allclose(
        ours.predict_curves(X[:20]).at(theirs.unique_times_), survival, atol=1e-9
    )


def test_gbm_tree_equals_scikit_survival():
    ensemble = pytest.importorskip("sksurv.ensemble", reason="the other implementation")
    X, y = example()
    theirs = ensemble.GradientBoostingSurvivalAnalysis(n_estimators=100, random_state=0)
    theirs.fit(X, y.to_structured())
    ours = models.build("gbm_tree").fit(X, y).predict_curves(X[:20])
    survival = theirs.predict_survival_function(X[:20], return_array=True)
    np.testing.assert_allclose(ours.at(theirs.unique_times_), survival, atol=1e-9)


def test_gbm_c_does_not_mind_where_columns_are_centred():
    X, y = example()
    near, far = models.build("gbm_c").fit(X, y), models.build("gbm_c").fit(X + 1000, y)
    np.testing.assert_allclose(far.coefficients_, near.coefficients_, rtol=1e-6)


@pytest.mark.parametrize("name", ["gbm_c", "gbm_tree"])
def test_boosting_refuses_bad_settings(name):
    X, y = example(n=20)
    with pytest.raises(InputError, match="n_estimators must be a whole number, at least 1"):
        models.build(name, n_estimators=0).fit(X, y)
    with pytest.raises(InputError, match=r"learning_rate must lie in \(0, 1\]; got 2"):
        models.build(name, learning_rate=2).fit(X, y)


def test_boosting_reports_when_asked(capsys):
    X, y = example(n=20)
    models.build("gbm_c", n_estimators=50).fit(X, y)
    assert capsys.readouterr().err == ""
    models.build("gbm_c", n_estimators=50, verbose=True).fit(X, y)
    assert "gbm_c: stage 50 of 50" in capsys.readouterr().err


# -- forest -------------------------------------------------------------------------------


def test_rsf_equals_scikit_survival():
    ensemble = pytest.importorskip("sksurv.ensemble", reason="the model is theirs")
    X, y = example()
    ours = models.build("rsf", n_estimators=8).fit(X, y)
    theirs = ensemble.RandomSurvivalForest(
        n_estimators=8, min_samples_leaf=3, random_state=ours._integer_seed("forest")
    ).fit(X, y.to_structured())
    survival = theirs.predict_survival_function(X[:30], return_array=True)
    curves = ours.predict_curves(X[:30])
    assert curves.interpolation == "step"
    np.testing.assert_allclose(curves.at(theirs.unique_times_), survival, atol=1e-12)


def test_rsf_seeds_matter_and_cores_do_not():
    X, y = example()
    first = build("rsf").fit(X, y).predict_time(X)
    assert (build("rsf", random_state=1).fit(X, y).predict_time(X) != first).any()
    np.testing.assert_allclose(build("rsf", n_jobs=2).fit(X, y).predict_time(X), first)


def test_rsf_rounds_times_to_save_memory_and_says_so():
    X, y = example(n=400, ties=False)
    exact = build("rsf", n_estimators=30).fit(X, y)
    # 16 bytes a time and node, 30 * 400 / 3 nodes: room for 100 times
    coarse = build("rsf", n_estimators=30, memory=100.5 * 16 * 4000 / 1e9).fit(X, y)
    assert exact.notes_ == ()
    note = "400 distinct times rounded to 100 quantiles to save memory"
    assert coarse.notes_ == (note,)
    assert coarse.times_.size <= 100
    assert coarse.times_[-1] == y.time.max()
    one, other = exact.predict_time(X), coarse.predict_time(X)
    # Another seed changes more than this (correlation 0.94 to 0.97).
    assert np.corrcoef(one, other)[0, 1] > 0.95
    moved = coarse._rounded(y).time - y.time
    gap = np.diff(coarse.times_).max()
    assert np.abs(moved).max() <= gap / 2
    # Neither up nor down: rounding up would make the two equal.
    assert abs(moved.mean()) < 0.3 * np.abs(moved).mean()
    with pytest.raises(InputError, match="memory must be finite and positive"):
        build("rsf", memory=0).fit(X, y)


# -- all of them --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSICAL)
def test_other_units_of_time(name):
    X, y = example(n=80)
    days = build(name).fit(X, y).predict_time(X)
    seconds = build(name).fit(X, Outcomes(86400 * y.time, y.event)).predict_time(X)
    np.testing.assert_allclose(seconds, 86400 * days, rtol=1e-4)


@pytest.mark.parametrize("name", ["lr", "coxph", "aft", "gbm_c", "gbm_tree"])
def test_other_units_of_features(name):
    X, y = example(n=80)
    # Powers of two: trees round features to single precision, which keeps these exact.
    one = build(name).fit(X, y).predict_time(X)
    other = build(name).fit(X * [1024, 0.25, 8], y).predict_time(X * [1024, 0.25, 8])
    np.testing.assert_allclose(other, one, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in CLASSICAL if name != "km"])
def test_learns_what_there_is_to_learn(name):
    X, y = example(n=400)
    X_new, y_new = example(n=400, seed=2)
    time = build(name).fit(X, y).predict_time(X_new)
    from survgauge.evaluation.scorers import scorer

    class Given:
        def predict_time(self, X):
            return time

    assert scorer("harrell")(Given(), X_new, y_new) > 0.65


@pytest.mark.parametrize("name", ["lr", "coxph", "gbm_c"])
@settings(deadline=None, max_examples=60)
@given(pairs=outcomes_with_event, data=st.data())
def test_any_small_data_give_predictions_or_a_named_failure(name, pairs, data):
    y = Outcomes(*pair(pairs))
    value = st.sampled_from([0.0, 1.0, -1.0, 2.5, 1e6, 1e-9])
    row = st.lists(value, min_size=2, max_size=2)
    X = np.array(data.draw(st.lists(row, min_size=len(y), max_size=len(y))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", models.FitWarning)
        try:
            model = models.build(name).fit(X, y)
        except models.FitError:
            return
    assert not np.isnan(model.predict_time(X)).any()


# -- the base class -----------------------------------------------------------------------


class Broken(SurvivalModel):
    facts = ModelFacts("broken", "Fails on request")

    def __init__(self, how="fit"):
        self.how = how

    def _fit(self, X, y):
        if self.how == "fit":
            raise ZeroDivisionError("no\n  luck")

    def _predict_curves(self, X):
        survival = np.full((len(X) - (self.how == "length"), 1), 0.5)
        return SurvivalCurves([1.0], survival * (np.nan if self.how == "nan" else 1))

    def _predict_time(self, X):
        return np.full(len(X), np.nan)


class OnlyTimes(SurvivalModel):
    def _fit(self, X, y):
        self.middle_ = np.median(y.time)

    def _predict_time(self, X):
        return np.full(len(X), self.middle_)


class Nothing(SurvivalModel):
    def _fit(self, X, y):
        pass


def test_a_class_without_facts_is_called_by_its_name_and_gives_what_it_defines():
    X, y = example(n=5)
    model = OnlyTimes().fit(X, y)
    assert not model.gives_curves
    assert np.unique(model.predict_time(X)).size == 1
    with pytest.raises(InputError, match="OnlyTimes predicts times and has no survival curves"):
        model.predict_curves(X)
    with pytest.raises(models.PredictionError, match=r"Nothing .* define _predict_curves or"):
        Nothing().fit(X, y).predict_time(X)


def test_failures_name_the_model_and_the_cause():
    X, y = example(n=5)
    with pytest.raises(models.FitError, match=r"broken .* ZeroDivisionError: no luck") as caught:
        Broken().fit(X, y)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.model) == (str(caught.value), "broken")
    with pytest.raises(models.PredictionError, match=r"broken cannot predict: .* NaN"):
        Broken("nan").fit(X, y).predict_curves(X)
    with pytest.raises(models.PredictionError, match="4 predictions for 5 rows"):
        Broken("length").fit(X, y).predict_curves(X)
    with pytest.raises(models.PredictionError, match="NaN for rows 1, 2, 3, 4 and 5 "):
        Broken("times").fit(X, y).predict_time(X)


def test_fractional_weights_need_a_model_that_weighs():
    X, y = example(n=30)
    half = Outcomes(y.time, y.event, np.full(30, 0.5))
    km = models.build("km").fit(X, y).predict_time(X)
    np.testing.assert_array_equal(models.build("km").fit(X, half).predict_time(X), km)
    with pytest.raises(InputError, match=r"aft takes whole weights only .* got 0\.5"):
        build("aft").fit(X, half)


def test_gaps_in_frames_go_by_name():
    pandas = pytest.importorskip("pandas", reason="frames are pandas'")
    frame = pandas.DataFrame({"age": [50.0, np.nan], "sex": [0, 1]})
    with pytest.raises(InputError, match=r"values in column\(s\) 'age'"):
        models.build("km").fit(frame, ([1, 2], [1, 1]))
    with pytest.raises(InputError, match="X must be numbers"):
        models.build("km").fit(pandas.DataFrame({"a": ["x", "y"]}), ([1, 2], [1, 1]))


def test_raw_frames_through_the_preprocessor():
    pandas = pytest.importorskip("pandas", reason="frames are pandas'")
    from sklearn.model_selection import cross_validate

    from survgauge.data.preprocessing import Preprocessor
    from survgauge.evaluation.scorers import SurvivalKFold, scorer

    X, y = example(n=90)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame.loc[::9, "a"] = np.nan
    frame["arm"] = pandas.Categorical(np.where(X[:, 2] > -1, "new", "old"))
    pipe = make_pipeline(Preprocessor(), models.build("coxph"))
    table = pandas.DataFrame({"time": y.time, "event": y.event})
    scoring = {"mae": scorer("mae"), "c": scorer("harrell")}
    scores = cross_validate(pipe, frame, table, cv=SurvivalKFold(3), scoring=scoring)
    assert (scores["test_mae"] < 0).all()
    assert (scores["test_c"] > 0.55).all()


# -- wrappers -----------------------------------------------------------------------------


def test_from_sklearn_curves():
    linear = pytest.importorskip("sksurv.linear_model", reason="something to wrap")
    X, y = example()
    plain = linear.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-12)
    model = models.from_sklearn(plain).fit(X, y)
    assert not hasattr(plain, "coef_")
    assert model.gives_curves
    np.testing.assert_allclose(
        model.predict_time(X), models.build("coxph").fit(X, y).predict_time(X)
    )
    piped = models.from_sklearn(make_pipeline(StandardScaler(), plain)).fit(X, y)
    np.testing.assert_allclose(piped.predict_time(X), model.predict_time(X))


def test_from_sklearn_times():
    X, y = example()
    model = models.from_sklearn(LinearRegression()).fit(X, y)
    assert not model.gives_curves
    line = models.build("lr", floor=None).fit(X, y)
    np.testing.assert_allclose(model.predict_time(X), line.predict_time(X))
    with pytest.raises(InputError, match=r"LinearRegression \(sklearn_times\) predicts times"):
        model.predict_curves(X)
    assert model.get_params()["estimator__fit_intercept"] is True


def test_from_sklearn_refuses_what_it_cannot_use():
    svm = pytest.importorskip("sksurv.svm", reason="something to refuse")
    with pytest.raises(InputError, match="gives risk scores, neither curves nor times"):
        models.from_sklearn(svm.FastSurvivalSVM())
    with pytest.raises(InputError, match="must have fit and get_params"):
        models.from_sklearn(object())
    with pytest.raises(InputError, match="StandardScaler has neither"):
        models.from_sklearn(StandardScaler())


def test_wrapped_failures_go_by_the_class():
    class Refusing(LinearRegression):
        def fit(self, X, y):
            raise RuntimeError("not today")

    with pytest.raises(models.FitError, match=r"Refusing \(sklearn_times\) .* not today"):
        models.from_sklearn(Refusing()).fit(*example(n=9))


def test_from_lifelines_regression():
    lifelines = pytest.importorskip("lifelines", reason="something to wrap")
    pandas = pytest.importorskip("pandas", reason="lifelines reads frames")
    X, y = example(ties=False)
    cox = models.from_lifelines(lifelines.CoxPHFitter()).fit(X, y)
    own = models.build("coxph").fit(X, y)
    np.testing.assert_allclose(cox.predict_time(X), own.predict_time(X), rtol=1e-6)
    # Features may be called what time and event would be called.
    frame = pandas.DataFrame(X, columns=["time", "event", "age"])
    named = models.from_lifelines(lifelines.CoxPHFitter()).fit(frame, y)
    np.testing.assert_allclose(named.predict_time(frame), own.predict_time(X), rtol=1e-6)
    part = models.from_lifelines(lifelines.CoxPHFitter(), fit_options={"formula": "age"})
    assert part.fit(frame, y).fitted_.params_.index.tolist() == ["age"]
    weibull = models.from_lifelines(lifelines.WeibullAFTFitter(), interpolation="linear").fit(X, y)
    ours = build("aft", penalty=0.0).fit(X, y)
    np.testing.assert_allclose(
        weibull.predict_curves(X).at(20.0), ours.predict_curves(X).at(20.0), atol=0.01
    )


def test_from_lifelines_without_features():
    lifelines = pytest.importorskip("lifelines", reason="something to wrap")
    X, y = example()
    model = models.from_lifelines(lifelines.KaplanMeierFitter()).fit(X, y)
    km = models.build("km").fit(X, y)
    np.testing.assert_allclose(model.predict_time(X), km.predict_time(X))
    grid = np.arange(0.0, y.time.max())
    np.testing.assert_allclose(
        model.predict_curves(X[:2]).at(grid), km.predict_curves(X[:2]).at(grid)
    )


def test_from_lifelines_curves_that_rise():
    lifelines = pytest.importorskip("lifelines", reason="something to wrap")
    X, y = example()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.from_lifelines(lifelines.AalenAdditiveFitter()).fit(X, y)
        with pytest.raises(models.PredictionError, match=r"AalenAdditiveFitter .* repair="):
            model.predict_curves(X)
        mended = models.from_lifelines(lifelines.AalenAdditiveFitter(), repair="running_minimum")
        curves = mended.fit(X, y).predict_curves(X)
    assert (np.diff(curves.survival, axis=1) <= 0).all()


def test_from_lifelines_refuses_other_things():
    with pytest.raises(InputError, match="fitter must be a lifelines fitter; got int"):
        models.from_lifelines(3)
