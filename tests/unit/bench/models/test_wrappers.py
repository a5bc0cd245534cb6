"""Estimators of XGBoost, scikit-survival and lifelines behind the protocol, and in searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

OPTIONS = {"n_estimators": 30, "max_depth": 2, "learning_rate": 0.2, "n_jobs": 1}


def data(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    t, c = rng.weibull(1.5, n) * 10 * np.exp(0.7 * X[:, 0]), rng.exponential(20, n)
    return X, sg.Outcomes(np.minimum(t, c), t <= c)


def booster(objective, **more):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(objective=f"survival:{objective}", **OPTIONS, **more)


# -- XGBoost: Cox --------------------------------------------------------------------------------


def test_cox_is_fitted_to_all_subjects_by_the_order_of_their_times():
    X, y = data()
    model = sg.models.from_sklearn(booster("cox")).fit(X, y)
    by_hand = booster("cox").fit(X, np.where(y.event, y.time, -y.time))
    np.testing.assert_array_equal(model.predict_risk(X), by_hand.predict(X))
    assert sg.concordance_index(y, model.predict_risk(X)) > 0.65
    piped = sg.models.from_sklearn(make_pipeline(StandardScaler(), booster("cox"))).fit(X, y)
    np.testing.assert_allclose(piped.predict_risk(X), by_hand.predict(X), rtol=1e-4)
    np.testing.assert_allclose(piped.predict_time(X), model.predict_time(X), rtol=1e-3)


def test_cox_curves_are_breslows():
    X, y = data()
    model = sg.models.from_sklearn(booster("cox")).fit(X, y)
    curves = model.predict_curves(X)
    hazard = model.predict_risk(X)
    for row, t in ((0, 4.0), (7, 9.0)):  # the formula once more, as a loop
        total = 0.0
        for u in np.unique(y.time[y.event]):
            if u <= t:
                total += (y.event & (y.time == u)).sum() / hazard[y.time >= u].sum()
        assert curves.at(t)[row] == pytest.approx(np.exp(-total * hazard[row]), rel=1e-5)
    expected = -np.log(curves.at_own(y.time)).sum()  # martingale residuals add up to zero
    assert expected == pytest.approx(y.event.sum(), rel=1e-5)


def test_cox_knows_who_had_the_event_at_time_zero():
    X, y = data()
    time = np.where(np.arange(len(y)) < 40, 0.0, y.time)
    one = sg.models.from_sklearn(booster("cox")).fit(X, (time, y.event))
    later = sg.models.from_sklearn(booster("cox")).fit(X, (time + 1.0, y.event))
    np.testing.assert_array_equal(one.predict_risk(X), later.predict_risk(X))


def test_cox_in_a_search():
    X, y = data()
    model = sg.models.from_sklearn(booster("cox"))
    search = GridSearchCV(
        model,
        {"estimator__n_estimators": [1, 30]},
        scoring=sg.scorer(["uno", "ibs"]),
        refit="uno",
        cv=sg.SurvivalKFold(3),
    ).fit(X, y)
    assert search.best_params_ == {"estimator__n_estimators": 30}
    assert search.best_score_ > 0.65
    assert search.cv_results_["mean_test_ibs"][1] > search.cv_results_["mean_test_ibs"][0]
    by_risk = sg.scorer("harrell", predicts="risk")
    expected = sg.concordance_index(y, search.best_estimator_.predict_risk(X))
    assert by_risk(search, X, y) == by_risk(make_pipeline(search), X, y) == expected
    assert not by_risk.warnings


def test_cox_without_a_wrapper_is_searched_by_its_own_labels():
    X, y = data()
    signed = np.where(y.event, y.time, -y.time)
    scoring = sg.scorer(["harrell", "uno"])
    with pytest.warns(UserWarning, match="XGBRegressor does not keep the outcomes"):
        found = cross_validate(
            booster("cox"), X, signed, scoring=scoring, cv=sg.SurvivalKFold(3).split(X, y)
        )
    wrapped = cross_validate(
        sg.models.from_sklearn(booster("cox")),
        X,
        y,
        scoring=sg.scorer("harrell", predicts="risk"),
        cv=sg.SurvivalKFold(3),
    )
    np.testing.assert_array_equal(found["test_harrell"], wrapped["test_score"])
    with pytest.raises(sg.InputError, match="y must be Outcomes"):
        sg.scorer("mae_hinge")(booster("aft"), X, signed)


# -- XGBoost: AFT --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "distribution",
    [
        {},
        {"aft_loss_distribution": "logistic", "aft_loss_distribution_scale": 0.7},
        {"aft_loss_distribution": "extreme", "aft_loss_distribution_scale": 0.5},
    ],
)
def test_aft_is_fitted_to_bounds_and_gives_its_curves(distribution):
    xgboost = pytest.importorskip("xgboost")
    X, y = data()
    model = sg.models.from_sklearn(booster("aft", **distribution)).fit(X, y)
    matrix = xgboost.DMatrix(X)
    matrix.set_float_info("label_lower_bound", y.time)
    matrix.set_float_info("label_upper_bound", np.where(y.event, y.time, np.inf))
    options = {
        "objective": "survival:aft",
        "max_depth": 2,
        "eta": 0.2,
        "nthread": 1,
        **distribution,
    }
    times = xgboost.train(options, matrix, 30).predict(matrix).astype(float)
    scale, kind = (
        distribution.get("aft_loss_distribution_scale", 1.0),
        distribution.get("aft_loss_distribution"),
    )
    by_hand = sg.curves_from_aft(times, scale, model.times_, distribution=kind or "normal")
    np.testing.assert_allclose(model.predict_curves(X).survival, by_hand.survival, rtol=1e-6)
    medians = times * np.log(2) ** scale if kind == "extreme" else times
    np.testing.assert_allclose(model.predict_time(X), medians, rtol=1e-6)
    np.testing.assert_allclose(model.predict_curves(X).median(), medians, rtol=2e-3)
    assert model.predict_curves(X).last_survival.max() < 0.03  # curves come down before their end
    assert not hasattr(model, "predict_risk")


def test_aft_distribution_is_searched_over_and_belongs_to_the_fit():
    X, y = data()
    grid = {"estimator__aft_loss_distribution_scale": [0.05, 0.7]}
    model = sg.models.from_sklearn(booster("aft", aft_loss_distribution_scale=1.0))
    search = GridSearchCV(model, grid, scoring=sg.scorer("ibs"), cv=sg.SurvivalKFold(3)).fit(X, y)
    assert search.best_params_ == {"estimator__aft_loss_distribution_scale": 0.7}
    before = model.fit(X, y).predict_curves(X[:3]).survival
    model.set_params(estimator__aft_loss_distribution_scale=0.1)
    np.testing.assert_array_equal(model.predict_curves(X[:3]).survival, before)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_curves(X[:3]).survival, before)


def test_aft_and_awkward_times():
    X, y = data(60)
    time = np.where(np.arange(60) < 5, 0.0, y.time)
    with pytest.warns(sg.models.FitWarning, match=r"5 time\(s\) of 0 count as"):
        model = sg.models.from_sklearn(booster("aft")).fit(X, (time, y.event))
    assert np.isfinite(model.predict_time(X)).all()
    with pytest.raises(sg.models.FitError, match="all observed times are 0"):
        sg.models.from_sklearn(booster("aft")).fit(X, (np.zeros(60), y.event))
    with pytest.raises(sg.models.FitError, match=r"XGBRegressor.*validation dataset"):
        sg.models.from_sklearn(booster("aft", early_stopping_rounds=3)).fit(X, y)


@pytest.mark.parametrize("objective", ["cox", "aft"])
def test_gaps_are_left_to_xgboost(objective):
    X, y = data()
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    model = sg.models.from_sklearn(booster(objective)).fit(gaps, y)
    assert np.isfinite(model.predict_curves(gaps).survival).all()
    gaps[0, 1] = np.inf
    with pytest.raises(
        sg.InputError, match="X must be finite; there are infinite values in column 2"
    ):
        model.fit(gaps, y)
    with pytest.raises(sg.InputError, match="NaN or infinite values"):
        sg.models.build("coxph").fit(gaps, y)


def test_weights_count_as_repeated_rows():
    X, y = data(120)
    weight = np.arange(120) % 3
    rows = np.repeat(np.arange(120), weight)
    for objective in ("cox", "aft"):
        model = sg.models.from_sklearn(booster(objective))
        weighted = clone(model).fit(X, sg.Outcomes(y.time, y.event, weight)).predict_time(X)
        np.testing.assert_array_equal(weighted, clone(model).fit(X[rows], y[rows]).predict_time(X))


# -- what is refused -----------------------------------------------------------------------------


def test_what_would_not_see_its_censored_subjects_is_refused():
    cox, aft = booster("cox"), booster("aft")
    around = [
        GridSearchCV(cox, {"max_depth": [1, 2]}),
        GridSearchCV(make_pipeline(StandardScaler(), cox), {}),
        BaggingRegressor(cox),
        make_pipeline(StandardScaler(), aft),
        GridSearchCV(aft, {}),
    ]
    for estimator in around:
        message = rf"estimator: {type(estimator).__name__} around .*from_sklearn\(XGBRegressor"
        with pytest.raises(sg.InputError, match=message):
            sg.models.from_sklearn(estimator)
    pairs = clone(cox).set_params(objective="rank:pairwise")
    for estimator in (pairs, make_pipeline(pairs), VotingRegressor([("a", cox), ("b", aft)])):
        with pytest.raises(sg.InputError, match=r"estimator: .* learns an order"):
            sg.models.from_sklearn(estimator)


def test_regressors_that_hold_a_cox_model_are_not_taken_for_times():
    X, y = data(120)
    signed = np.where(y.event, y.time, -y.time)
    for model in (BaggingRegressor(booster("cox"), 2), VotingRegressor([("a", booster("cox"))])):
        with pytest.raises(sg.InputError, match="may give times or risks"):
            sg.scorer("harrell")(model.fit(X, signed), X, y)
        assert sg.scorer("harrell", predicts="risk")(model, X, y) > 0.6
    search = GridSearchCV(booster("cox"), {"max_depth": [1, 2]}, cv=2).fit(X, signed)
    for model in (search, make_pipeline(StandardScaler(), search).fit(X, signed)):
        expected = sg.concordance_index(y, model.predict(X))
        assert sg.scorer("harrell")(model, X, y) == expected > 0.6


# -- scikit-survival -----------------------------------------------------------------------------


def in_days():
    """The same with times above 1, whose logarithms scikit-survival takes."""
    X, y = data()
    return X, sg.Outcomes(1 + 365 * y.time, y.event)


def estimators_of_sksurv():
    pytest.importorskip("sksurv")
    from sksurv import ensemble, linear_model, svm, tree

    boosting = ensemble.GradientBoostingSurvivalAnalysis
    return {
        "cox": (linear_model.CoxPHSurvivalAnalysis(), "curves", 1),
        "coxnet": (linear_model.CoxnetSurvivalAnalysis(alphas=[0.01]), "risk", 1),
        "coxnet with baseline": (
            linear_model.CoxnetSurvivalAnalysis(alphas=[0.01], fit_baseline_model=True),
            "curves",
            1,
        ),
        "ridge": (linear_model.IPCRidge(), "times", -1),
        "forest": (ensemble.RandomSurvivalForest(10, random_state=0), "curves", 1),
        "boosting": (boosting(n_estimators=10), "curves", 1),
        "boosted times": (boosting(n_estimators=10, loss="ipcwls"), "times", -1),
        "svm": (svm.FastSurvivalSVM(max_iter=50), "risk", 1),
        "svm of times": (svm.FastSurvivalSVM(rank_ratio=0, fit_intercept=True), "times", -1),
        "tree": (tree.SurvivalTree(max_depth=2), "curves", 1),
    }


SKSURV = (
    "cox", "coxnet", "coxnet with baseline", "ridge", "forest", "boosting", "boosted times", "svm",
    "svm of times", "tree",
)  # fmt: skip


@pytest.mark.parametrize("name", SKSURV)
def test_scikit_survivals_predictions_are_known_for_what_they_are(name):
    from survgauge.data.estimators import predict

    X, y = in_days()
    model, kind, sign = estimators_of_sksurv()[name]
    model.fit(X, y.to_structured())
    assert predict(model, X).kind == kind
    theirs = model.score(X, y.to_structured())  # scikit-survival's own C of its own predict
    asked = "risk" if sign > 0 else "time"
    for wrapped in (model, make_pipeline(StandardScaler(with_mean=False, with_std=False), model)):
        if wrapped is not model:
            wrapped.steps[0][1].fit(X)
        ours = sg.scorer("harrell", predicts=asked)(wrapped, X, y)
        assert ours == sg.concordance_index(y, sign * model.predict(X))
        assert ours == pytest.approx(theirs, abs=1e-12)
    assert sg.scorer("harrell")(model, X, y) > 0.6
    other = "time" if sign > 0 else "risk"
    with pytest.raises(sg.InputError, match=f"predicts='{other}' asks for a {other}, but"):
        sg.scorer("harrell", predicts=other)(model, X, y)


def test_from_sklearn_takes_scikit_survivals_curves_times_and_risks():
    X, y = in_days()
    for name in SKSURV:
        model, kind, sign = estimators_of_sksurv()[name]
        if kind == "risk":
            with pytest.raises(sg.InputError, match="gives risk scores, neither curves nor times"):
                sg.models.from_sklearn(model)
            continue
        wrapped = sg.models.from_sklearn(model).fit(X, y)
        theirs = clone(model).fit(X, y.to_structured()).predict(X)
        if kind == "times":
            np.testing.assert_allclose(wrapped.predict_time(X), theirs)
            assert not hasattr(wrapped, "predict_risk")
        else:
            np.testing.assert_allclose(wrapped.predict_risk(X), theirs)
        asked = "risk" if sign > 0 else "time"
        expected = sg.concordance_index(y, sign * theirs)
        assert sg.scorer("harrell", predicts=asked)(wrapped, X, y) == pytest.approx(expected)


def test_estimators_made_from_scikit_survivals_are_known_too():
    svm = pytest.importorskip("sksurv.svm")

    class Mine(svm.FastSurvivalSVM):
        pass

    X, y = data(120)
    model = Mine(max_iter=50).fit(X, y.to_structured())
    assert sg.scorer("harrell")(model, X, y) == sg.concordance_index(y, model.predict(X)) > 0.6


# -- lifelines -----------------------------------------------------------------------------------


def test_parameters_of_a_lifelines_fitter_are_read_set_and_cloned():
    lifelines = pytest.importorskip("lifelines")
    fitter = lifelines.CoxPHFitter(penalizer=0.1, l1_ratio=0.5)
    model = sg.models.from_lifelines(fitter)
    found = model.get_params()
    assert found["estimator__penalizer"] == 0.1
    assert found["estimator__l1_ratio"] == 0.5
    assert "estimator__penalizer" not in model.get_params(deep=False)
    twin = clone(model).set_params(estimator__penalizer=3.0, interpolation="linear")
    assert twin.get_params()["estimator__penalizer"] == 3.0
    assert twin.estimator.l1_ratio == 0.5
    assert twin.interpolation == "linear"
    assert twin.set_params(penalizer=4.0).estimator.penalizer == 4.0
    assert model.estimator is fitter
    assert fitter.penalizer == 0.1  # the caller's fitter is never changed
    with pytest.raises(ValueError, match=r"parameter of CoxPHFitter must be one of .*'penaliser'"):
        model.set_params(estimator__penaliser=1.0)
    with pytest.raises(ValueError, match="l1_ratio parameter must"):  # lifelines' own check
        model.set_params(estimator__l1_ratio=7.0)
    replaced = clone(model).set_params(
        estimator=lifelines.WeibullAFTFitter(), estimator__penalizer=0.2
    )
    assert type(replaced.estimator) is lifelines.WeibullAFTFitter
    assert replaced.estimator.penalizer == 0.2


def test_fitters_are_made_anew_as_they_were():
    lifelines = pytest.importorskip("lifelines")
    fitters = [
        lifelines.CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=3),
        lifelines.CoxPHFitter(baseline_estimation_method="spline", knots=[2.0, 5.0, 9.0]),
        lifelines.CoxPHFitter(baseline_estimation_method="piecewise", breakpoints=[5.0, 9.0]),
        lifelines.WeibullAFTFitter(fit_intercept=True, model_ancillary=True, alpha=0.1),
        lifelines.PiecewiseExponentialRegressionFitter([5.0, 9.0]),
        lifelines.AalenAdditiveFitter(coef_penalizer=1.0),
    ]
    for fitter in fitters:
        model = sg.models.from_lifelines(fitter)
        known = model.get_params()
        name = next(k for k in known if k.endswith("penalizer"))
        model.set_params(**{name: 0.5})
        assert type(model.estimator) is type(fitter)
        after = model.get_params()
        for key in set(known) - {name, "estimator"}:
            np.testing.assert_array_equal(after[key], known[key], err_msg=key)
        assert after[name] == 0.5


def test_a_search_over_lifelines_parameters_fits_each_of_them():
    lifelines = pytest.importorskip("lifelines")
    X, y = data()
    penalties = [0.0, 100.0]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), sg.models.from_lifelines(lifelines.CoxPHFitter())),
        {"lifelinesmodel__estimator__penalizer": penalties},
        scoring=sg.scorer(["ibs", "harrell"]),
        refit="ibs",
        cv=sg.SurvivalKFold(3),
    ).fit(X, y)
    for k, penalty in enumerate(penalties):
        model = sg.models.from_lifelines(lifelines.CoxPHFitter(penalizer=penalty))
        alone = cross_validate(
            make_pipeline(StandardScaler(), model),
            X,
            y,
            scoring=sg.scorer("ibs"),
            cv=sg.SurvivalKFold(3),
        )
        mean = search.cv_results_["mean_test_ibs"][k]
        assert mean == pytest.approx(alone["test_score"].mean())
    assert search.best_estimator_[-1].fitted_.penalizer == 0.0
