"""Metrics that boosters watch: the same numbers as `evaluate`, and the boosters take them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import survgauge as sg

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 3))
TIME = rng.weibull(1.5, N) * 300 * np.exp(-0.6 * X[:, 0] + 0.4 * X[:, 1] * X[:, 2])
LOST = rng.uniform(0, 900, N)
Y = sg.Outcomes(np.minimum(TIME, LOST), TIME <= LOST)
TRAIN, VALID = slice(0, 200), slice(200, N)
Y_TRAIN, Y_VALID = Y[TRAIN], Y[VALID]
GIVEN = {"y_train": Y_TRAIN, "tau": 600}


def _expected(name, prediction):
    ev = sg.evaluate({"m": prediction}, Y_VALID, metrics=[name], confidence=None, **GIVEN)
    return ev.rows()[0]["value"]


def test_times_are_those_of_evaluate():
    said = np.exp(rng.normal(5, 0.5, 100))
    metric = sg.booster_metric("mae_within", Y_VALID, output="log_time", **GIVEN)
    assert metric.value(np.log(said)) == pytest.approx(_expected("mae_within", said), rel=1e-12)
    assert metric.lightgbm(np.log(said), None)[2] is False
    curves = sg.booster_metric("ibs", Y_VALID, output="time", scale=0.7, **GIVEN)
    close = sg.curves_from_aft(said, 0.7, np.linspace(0, 900, 2000))
    assert curves.value(said) == pytest.approx(_expected("ibs", close), abs=1e-3)


def test_larger_is_better_comes_with_a_minus():
    said = rng.normal(size=100)
    metric = sg.booster_metric("harrell", Y_VALID, output="risk", **GIVEN)
    name, value = metric.xgboost(said, None)
    assert name == "minus_harrell"
    assert value == pytest.approx(-_expected("harrell", sg.RiskScores(said)))


def test_hazards_take_their_baseline_from_the_training_set():
    lifelines = pytest.importorskip("lifelines")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(time=Y.time, event=Y.event)
    cox = lifelines.CoxPHFitter(baseline_estimation_method="breslow").fit(
        frame[TRAIN], "time", "event"
    )
    score = np.asarray(cox.predict_log_partial_hazard(frame))
    metric = sg.booster_metric("ibs", Y_VALID, output="log_hazard", **GIVEN)
    with pytest.raises(sg.InputError, match="put it first in the booster's list of sets"):
        metric.value(score[VALID])
    metric.value(score[TRAIN])
    expected = _expected("ibs", cox.predict_survival_function(frame[VALID]))
    assert metric.value(score[VALID]) == pytest.approx(expected, rel=1e-6)
    ratio = sg.booster_metric("ibs", Y_VALID, output="hazard_ratio", **GIVEN)
    ratio.value(np.exp(score[TRAIN]))
    assert ratio.value(np.exp(score[VALID])) == pytest.approx(expected, rel=1e-6)
    curves = cox.predict_survival_function(frame[VALID])
    own = sg.booster_metric("ibs", Y_VALID, output=lambda raw: curves, **GIVEN)
    assert own.value(score[VALID]) == pytest.approx(expected, rel=1e-12)


def test_what_is_refused():
    metric = sg.booster_metric("mae_within", Y_VALID, output="time", **GIVEN)
    with pytest.raises(sg.InputError, match="7 rows; outcomes were given of sets with 200 and 100"):
        metric.value(np.ones(7))
    with pytest.raises(sg.InputError, match="must differ in their number of rows"):
        sg.booster_metric("ibs", Y_TRAIN, output="time", **GIVEN)
    with pytest.raises(sg.InputError, match="output must be one of"):
        sg.booster_metric("ibs", Y_VALID, output="margin", **GIVEN)
    with pytest.raises(sg.InputError, match="scale goes with"):
        sg.booster_metric("ibs", Y_VALID, output="risk", scale=1.0, **GIVEN)
    with pytest.raises(sg.InputError, match="ibs needs curves"):
        sg.booster_metric("ibs", Y_VALID, output="time", **GIVEN).value(np.ones(100))


def test_xgboost_stops_where_the_metric_is_best():
    xgboost = pytest.importorskip("xgboost")

    def matrix(rows):
        found = xgboost.DMatrix(X[rows])
        found.set_float_info("label_lower_bound", Y.time[rows])
        found.set_float_info("label_upper_bound", np.where(Y.event, Y.time, np.inf)[rows])
        return found

    train, valid = matrix(TRAIN), matrix(VALID)
    metric = sg.booster_metric("mae_within", Y_VALID, output="time", **GIVEN)
    options = {"objective": "survival:aft", "disable_default_eval_metric": 1, "eta": 0.3,
               "max_depth": 2, "nthread": 1, "aft_loss_distribution_scale": 0.7}  # fmt: skip
    seen = {}
    fit = xgboost.train(
        options, train, 60, evals=[(train, "train"), (valid, "valid")],
        custom_metric=metric.xgboost, early_stopping_rounds=5, evals_result=seen,
        verbose_eval=False,
    )  # fmt: skip
    watched = seen["valid"]["mae_within"]
    assert fit.best_iteration == int(np.argmin(watched)) < 59
    said = fit.predict(valid, iteration_range=(0, fit.best_iteration + 1))
    assert fit.best_score == pytest.approx(_expected("mae_within", said), rel=1e-5)


def test_lightgbm_stops_where_the_metric_is_best():
    lightgbm = pytest.importorskip("lightgbm")
    targets = sg.training_targets(Y_TRAIN, tau=600)
    train = lightgbm.Dataset(X[TRAIN], targets.pseudo_time)
    valid = lightgbm.Dataset(X[VALID], Y_VALID.time, reference=train)
    metric = sg.booster_metric("mae_within", Y_VALID, output="time", **GIVEN)
    options = {"objective": "l2", "metric": "None", "verbosity": -1, "num_threads": 1}
    fit = lightgbm.train(
        options, train, 80, valid_sets=[valid], feval=metric.lightgbm,
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )  # fmt: skip
    said = fit.predict(X[VALID], num_iteration=fit.best_iteration)
    best = fit.best_score["valid_0"]["mae_within"]
    assert best == pytest.approx(_expected("mae_within", said), rel=1e-9)


@pytest.mark.filterwarnings("ignore:Failed to import numba")
def test_catboost_stops_where_the_metric_is_best():
    catboost = pytest.importorskip("catboost")
    two = np.column_stack([Y.time, np.where(Y.event, Y.time, -1)])
    for loss, labels, output in (
        ("Cox", np.where(Y.event, Y.time, -Y.time), "log_hazard"),
        ("RMSE", Y.time, "time"),
        ("SurvivalAft:dist=Normal;scale=0.7", two, "log_time"),
    ):
        metric = sg.booster_metric("mae_within", Y_VALID, output=output, **GIVEN)
        fit = catboost.CatBoost({
            "loss_function": loss, "eval_metric": metric.catboost, "iterations": 30,
            "verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0,
        })  # fmt: skip
        fit.fit(
            catboost.Pool(X[TRAIN], labels[TRAIN]),
            eval_set=catboost.Pool(X[VALID], labels[VALID]),
        )
        raw = fit.predict(X[VALID], prediction_type="RawFormulaVal")
        best = fit.get_best_score()["validation"]["mae_within"]
        if output == "log_hazard":
            assert 0 < best < 300
        else:
            times = raw if output == "time" else np.exp(raw)
            assert best == pytest.approx(_expected("mae_within", times), rel=1e-9)


def test_catboost_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    metric = sg.booster_metric("mae_within", Y_VALID, output="log_time", **GIVEN)
    with pytest.raises(ImportError, match=r"pip install 'survgauge\[catboost\]'"):
        _ = metric.catboost


def test_a_margin_without_bounds_is_refused_without_a_warning():
    metric = sg.booster_metric("mae_within", Y_VALID, output="log_time", **GIVEN)
    with pytest.raises(sg.InputError, match="'Booster': predicted times must be finite; got inf"):
        metric.value(np.full(len(Y_VALID), 800.0))


def test_a_metric_that_the_output_cannot_give_is_refused():
    with pytest.raises(
        sg.InputError, match="ibs needs curves, but output='time' gives times only: give scale"
    ):
        sg.booster_metric("ibs", Y_VALID, output="time", **GIVEN)
    with pytest.raises(sg.InputError, match="mae_within needs times, but output='risk' gives risk"):
        sg.booster_metric("mae_within", Y_VALID, output="risk", **GIVEN)


def test_one_metric_and_a_horizon_are_asked_before_the_first_round():
    """A list failed in training with a raw error, a horizon below 0 with the first round."""
    for name in (["mae_within"], ["mae_within", "harrell"], None):
        with pytest.raises(
            sg.InputError, match="name must be one metric, such as 'mae_within'; got"
        ):
            sg.booster_metric(name, Y_VALID, output="time", **GIVEN)
    for make in (sg.scorer, lambda name, tau: sg.booster_metric(
        name, Y_VALID, output="time", **{**GIVEN, "tau": tau}
    )):  # fmt: skip
        with pytest.raises(sg.InputError, match="tau must be finite and positive; got -1"):
            make("mae_within", tau=-1)


def test_scikit_learns_interface_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    metric = sg.booster_metric("mae_within", Y_VALID, output="hazard_ratio", **GIVEN)
    signed = np.where(Y.event, Y.time, -Y.time)
    sets = [(X[rows], signed[rows]) for rows in (TRAIN, VALID)]
    options = {"objective": "survival:cox", "n_jobs": 1, "n_estimators": 30, "max_depth": 2}
    model = xgboost.XGBRegressor(eval_metric=metric, early_stopping_rounds=5, **options)
    model.fit(*sets[0], eval_set=sets, verbose=False)
    values = model.evals_result()["validation_1"]["mae_within"]
    assert min(values) == pytest.approx(model.best_score)
    assert len(set(values)) > 5
    wrong = xgboost.XGBRegressor(eval_metric=metric.xgboost, **options)
    with pytest.raises(sg.InputError, match="eval_metric=metric"):
        wrong.fit(*sets[0], eval_set=sets, verbose=False)


def test_scikit_learns_interface_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    metric = sg.booster_metric("mae_within", Y_VALID, output="time", **GIVEN)
    targets = sg.training_targets(Y_TRAIN, tau=600).pseudo_time
    model = lightgbm.LGBMRegressor(n_estimators=20, n_jobs=1, verbosity=-1, metric="None")
    sets = {"eval_X": X[VALID], "eval_y": Y_VALID.time}
    model.fit(X[TRAIN], targets, **sets, eval_metric=metric.lightgbm)
    values = model.evals_result_["valid_0"]["mae_within"]
    assert values[-1] == pytest.approx(metric.value(model.predict(X[VALID])))
