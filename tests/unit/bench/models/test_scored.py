"""Models of other packages that learn scores: what their parameters mean, against our own Cox."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the models need scikit-learn")

from survgauge import InputError, Outcomes, models
from survgauge.bench.models.registry import available

HERE = {row["name"] for row in available() if row["installed"]}


def needs(name):
    return pytest.mark.skipif(name not in HERE, reason=f"{name} is not installed")


def example(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 100.0, 1.0]
    event = np.ceil(50 * rng.exponential(np.exp(-X[:, 0])))
    end = rng.uniform(0, 200, n).round()
    return X, Outcomes(np.minimum(event, end), event <= end)


@needs("coxnet")
def test_coxnet_lies_between_no_effect_and_cox():
    X, y = example()
    cox = models.build("coxph").fit(X, y).cox_.coefficients
    none = models.build("coxnet", strength=1.0).fit(X, y)
    weak = models.build("coxnet", strength=1e-4).fit(X, y)
    strong = models.build("coxnet", strength=0.5, l1_ratio=1.0).fit(X, y)
    assert np.ptp(none.predict_curves(X).survival, axis=0).max() == 0
    np.testing.assert_allclose(weak.coefficients_ / weak.spread_, cox, atol=0.01)
    assert 0.3 * cox[0] < strong.coefficients_[0] / strong.spread_[0] < 0.8 * cox[0]
    assert (strong.coefficients_[1:] == 0).all()  # the lasso leaves out what does nothing


@needs("svm")
def test_svm_scores_point_the_right_way_and_curves_are_a_cox_model_of_them():
    X, y = example()
    svm = models.build("svm").fit(X, y)
    cox = models.build("coxph").fit(X, y)
    times = np.array([10.0, 30.0, 60.0])
    # One strong column: rankings nearly agree, and so do curves.
    gap = svm.predict_curves(X).at(times) - cox.predict_curves(X).at(times)
    assert np.abs(gap).mean() < 0.02


@needs("xgboost_cox")
def test_xgboost_agrees_with_the_wrapped_estimators():
    from xgboost import XGBRegressor

    X, y = example()
    settings = {"n_estimators": 20, "learning_rate": 0.2, "max_depth": 2, "reg_lambda": 1.0}
    own = {"n_estimators": 20, "learning_rate": 0.2, "max_depth": 2}
    wrapped = models.from_sklearn(XGBRegressor(objective="survival:cox", **settings)).fit(X, y)
    np.testing.assert_allclose(
        models.build("xgboost_cox", **own).fit(X, y).predict_curves(X).survival,
        wrapped.predict_curves(X).survival,
        atol=1e-5,
    )
    late = models.build("xgboost_aft", **own).fit(X, y)
    # Months in place of days give months.
    months = models.build("xgboost_aft", **own).fit(X, Outcomes(y.time / 30, y.event))
    np.testing.assert_allclose(30 * months.predict_time(X), late.predict_time(X), rtol=1e-3)


@pytest.mark.parametrize("name", ["xgboost_aft", "catboost_aft"])
@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_aft_finds_times(name, distribution):
    if name not in HERE:
        pytest.skip(f"{name} is not installed")
    X, y = example()
    model = models.build(name, distribution=distribution, n_estimators=60).fit(X, y)
    assert np.corrcoef(np.log(model.predict_time(X)), X[:, 0])[0, 1] < -0.8
    np.testing.assert_allclose(model.predict_curves(X).median(), model.predict_time(X), rtol=0.05)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("coxnet", {"strength": 0.0}, "strength must lie in"),
        ("svm", {"alpha": -1.0}, "alpha"),
        ("xgboost_cox", {"subsample": 2.0}, "subsample must lie in"),
        ("xgboost_aft", {"distribution": "cauchy"}, "distribution must be one of"),
        ("catboost_aft", {"scale": 0.0}, "scale"),
        ("catboost_cox", {"n_estimators": 0}, "n_estimators"),
    ],
)
def test_bad_parameters_are_refused(name, parameters, says):
    if name not in HERE:
        pytest.skip(f"{name} is not installed")
    with pytest.raises(InputError, match=says):
        models.build(name, **parameters).fit(*example(n=30))
