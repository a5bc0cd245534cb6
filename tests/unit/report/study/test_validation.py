"""Optimism-corrected bootstrap and repeated cross-validation."""

from __future__ import annotations

import json

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.cox import CoxModel


def data(n=120, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    event_time = rng.exponential(np.exp(-X[:, 0]))
    censoring = rng.exponential(1.5, n)
    return X, sg.Outcomes(np.minimum(event_time, censoring), event_time <= censoring)


def cox(X, y):
    model = CoxModel.fit(X, y)
    return lambda X: sg.RiskScores(model.log_risk(X))


def c_index(fitted, test, X, y):
    return sg.concordance_index(y[test], cox(X[fitted], y[fitted])(X[test]).values)


def test_bootstrap_is_harrells_loop():
    X, y = data()
    everybody = np.arange(len(y))
    drawn = [np.random.default_rng(k).integers(0, len(y), len(y)) for k in range(12)]
    row = sg.validate(cox, X, y, metrics="harrell", resamples=drawn).rows()[0]
    training = np.array([c_index(rows, rows, X, y) for rows in drawn])
    test = np.array([c_index(rows, everybody, X, y) for rows in drawn])
    assert row["apparent"] == pytest.approx(c_index(everybody, everybody, X, y), abs=1e-12)
    assert row["optimism"] == pytest.approx(np.mean(training - test), abs=1e-12)
    assert row["corrected"] == pytest.approx(row["apparent"] - row["optimism"], abs=1e-12)
    assert row["stderr"] >= np.std(training - test, ddof=1) - 1e-12
    assert row["low"] < row["corrected"] < row["high"]
    assert row["fits"] == 12


def test_cross_validation_is_the_mean_over_folds():
    X, y = data()
    folds = [np.random.default_rng(k).permutation(len(y)) % 5 for k in range(3)]
    row = sg.validate(cox, X, y, metrics="harrell", method="cv", resamples=folds).rows()[0]
    values = np.array(
        [
            [c_index(np.flatnonzero(f != k), np.flatnonzero(f == k), X, y) for k in range(5)]
            for f in folds
        ]
    )
    assert row["corrected"] == pytest.approx(values.mean(), abs=1e-12)
    assert row["optimism"] == pytest.approx(row["apparent"] - values.mean(), abs=1e-12)
    wanted = np.sqrt(values.var(ddof=1) * (1 / 15 + 1 / 4))
    assert row["stderr"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "cv"])
def test_a_model_of_noise_is_corrected_towards_one_half(method):
    X, y = data(n=150, p=15)
    noise = np.random.default_rng(3).normal(size=X.shape)
    options = {"resamples": 60} if method == "bootstrap" else {"resamples": 3}
    row = sg.validate(cox, noise, y, metrics="harrell", method=method, **options).rows()[0]
    assert row["apparent"] > 0.6
    assert abs(row["corrected"] - 0.5) < 0.5 * (row["apparent"] - 0.5)


def test_the_same_seed_gives_the_same_numbers_also_in_several_processes():
    pytest.importorskip("joblib")
    X, y = data(60)
    model = pytest.importorskip("survgauge.bench.models").build("coxph")
    options = {"metrics": ["harrell", "brier"], "resamples": 12}
    found = [sg.validate(model, X, y, n_jobs=jobs, **options).rows() for jobs in (1, 2)]
    assert found[0] == found[1]
    other = sg.validate(model, X, y, random_state=1, **options).rows()
    assert other != found[0]


def test_estimators_pipelines_and_frames():
    pd = pytest.importorskip("pandas")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    X, y = data(80)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = pipeline.make_pipeline(scaler, sg.models.build("coxph"))
    found = sg.validate(model, frame, (y.time, y.event), resamples=4)
    direct = sg.validate(sg.models.build("coxph"), X, y, resamples=4)
    names = [row["metric"] for row in found.rows()]
    assert "harrell" in names
    assert "brier" in names
    assert len(found.table) == len(names)
    for a, b in zip(found.rows(), direct.rows(), strict=True):
        assert a["corrected"] == pytest.approx(b["corrected"], abs=1e-6)
    assert not hasattr(model[-1], "y_train_")  # the caller's own estimator stays as it was


def test_folds_have_equal_numbers_of_events():
    X, y = data(103)
    sizes, events = [], []

    def noted(X, y):
        sizes.append(len(y))
        events.append(int(y.event.sum()))
        return cox(X, y)

    found = sg.validate(noted, X, y, metrics="harrell", method="cv", resamples=2, folds=4)
    assert len(found.fits) == 8
    assert set(sizes[1:]) == {77, 78}
    assert max(events[1:]) - min(events[1:]) <= 1
    with pytest.raises(sg.InputError, match="at least folds = 200 subjects"):
        sg.validate(cox, X, y, method="cv", folds=200)


def test_standard_errors_follow_the_two_stage_rule():
    X, y = data()
    found = sg.validate(cox, X, y, metrics="harrell", resamples=15)
    error = np.array([fit.training[0] - fit.test[0] for fit in found.fits])
    inner = np.array([fit.optimism[0] for fit in found.fits])
    slope = np.polyfit(error, inner, 1)[0]
    wanted = error.std(ddof=1) * (1 - min(slope, 0))
    assert found.rows()[0]["stderr"] == pytest.approx(wanted, rel=1e-9)
    without = sg.validate(cox, X, y, metrics="harrell", resamples=15, confidence=None)
    assert np.isnan(without.rows()[0]["low"])
    assert without.rows()[0]["corrected"] == found.rows()[0]["corrected"]
    assert str(without)


def test_the_time_of_interest_is_the_same_in_every_sample():
    X, y = data()
    model = pytest.importorskip("survgauge.bench.models").build("coxph")
    found = sg.validate(model, X, y, metrics="brier", resamples=4)
    assert found.rows()[0]["time"] == pytest.approx(np.median(y.time))
    assert sg.validate(model, X, y, metrics="brier", resamples=4, time=0.3).rows()[0]["time"] == 0.3


# -- what goes wrong ------------------------------------------------------------------------------


def test_fits_that_fail_are_counted_and_left_out():
    X, y = data(60)
    calls = []

    def fragile(X, y):
        calls.append(1)
        if len(calls) % 3 == 0:
            raise RuntimeError("no convergence")
        return cox(X, y)

    found = sg.validate(fragile, X, y, metrics="harrell", resamples=12, confidence=None)
    assert len(found.failures) == 4
    assert found.rows()[0]["fits"] == 8
    assert np.isfinite(found.rows()[0]["corrected"])
    assert "4 of 12 fits failed (first: RuntimeError: no convergence)" in str(found)
    assert "easier selection" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["failures"][0]["number"] == 1


def test_all_fits_but_the_first_fail():
    X, y = data(60)
    calls = []

    def once(X, y):
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("broken")
        return cox(X, y)

    found = sg.validate(once, X, y, metrics="harrell", resamples=3)
    assert np.isnan(found.rows()[0]["low"])
    assert np.isnan(found.rows()[0]["corrected"])
    assert "3 of 3 fits failed" in str(found)


def test_the_fit_to_all_subjects_must_succeed():
    X, y = data(30)

    def broken(X, y):
        raise KeyError("age")

    with pytest.raises(sg.InputError, match=r"model could not be fitted to all.*KeyError: 'age'"):
        sg.validate(broken, X, y)


def test_what_a_model_gives_is_checked():
    X, y = data(30)
    with pytest.raises(sg.InputError, match=r"model\(X, y\) must return a function"):
        sg.validate(lambda X, y: 3, X, y)
    with pytest.raises(sg.InputError, match="NaN"):
        sg.validate(lambda X, y: lambda X: sg.RiskScores(np.full(len(X), np.nan)), X, y)
    with pytest.raises(sg.InputError, match="one entry per subject"):
        sg.validate(lambda X, y: lambda X: np.ones(3), X, y)
    with pytest.raises(sg.InputError, match="brier needs curves, but the model gives risk"):
        sg.validate(cox, X, y, metrics="brier")
    with pytest.raises(sg.InputError, match="p-value"):
        sg.validate(cox, X, y, metrics="d_calibration")


def test_undefined_metrics_say_why():
    X, y = data(40)
    censored = sg.Outcomes(y.time, np.zeros(40, bool))
    by_first = lambda X, y: lambda X: sg.RiskScores(X[:, 0])  # noqa: E731
    found = sg.validate(by_first, X, censored, metrics="harrell", resamples=3)
    assert np.isnan(found.rows()[0]["corrected"])
    assert "harrell has no value" in str(found)


def test_weights_and_shapes_are_refused():
    X, y = data(30)
    with pytest.raises(sg.InputError, match="y must have no weights"):
        sg.validate(cox, X, sg.Outcomes(y.time, y.event, np.full(30, 2.0)))
    with pytest.raises(sg.InputError, match="X must have one row per subject"):
        sg.validate(cox, X[:20], y)
    with pytest.raises(sg.InputError, match=r"resamples\[1\] must hold 30 whole numbers"):
        sg.validate(cox, X, y, resamples=[np.arange(30), np.arange(29)])
    with pytest.raises(sg.InputError, match=r"resamples\[0\] must hold rows from 0 to 29"):
        sg.validate(cox, X, y, resamples=[np.arange(1, 31)])
    with pytest.raises(sg.InputError, match="at least two folds"):
        sg.validate(cox, X, y, method="cv", resamples=[np.zeros(30)])
    with pytest.raises(sg.InputError, match="n_jobs"):
        sg.validate(cox, X, y, n_jobs=0)


def test_progress_is_told_on_standard_error(capsys):
    X, y = data(30)
    sg.validate(cox, X, y, metrics="harrell", resamples=2, progress=True)
    assert "2/2 fits, 0 failed" in capsys.readouterr().err
    sg.validate(cox, X, y, metrics="harrell", resamples=2)
    assert capsys.readouterr().err == ""


def test_infinite_losses_are_left_out_without_a_numpy_warning(recwarn):
    X, y = data(40)
    flat = lambda X, y: lambda X: sg.SurvivalCurves([20, 40], np.ones((len(X), 2)))  # noqa: E731
    found = sg.validate(flat, X, y, metrics="log_likelihood", resamples=3)
    assert not np.isfinite(found.rows()[0]["apparent"])
    assert found.rows()[0]["fits"] == 0
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_net_benefit_takes_a_threshold_and_distances_stay_above_zero():
    X, y = data(200)

    def fit(X, y):
        model = CoxModel.fit(X, y)
        grid = np.linspace(0, 8, 60)
        return lambda X: sg.SurvivalCurves(grid, np.exp(-np.outer(np.exp(model.log_risk(X)), grid)))

    names = ["net_benefit", "ici"]
    found = sg.validate(fit, X, y, metrics=names, time=0.5, threshold=0.3, resamples=12)
    benefit, ici = found.rows()
    direct = sg.net_benefit(y, fit(X, y)(X), 0.5, thresholds=[0.3], method="ipcw").values[0]
    assert benefit["apparent"] == pytest.approx(direct, abs=1e-12)
    assert ici["low"] >= 0.0
    with pytest.raises(sg.InputError, match="threshold"):
        sg.validate(fit, X, y, metrics="net_benefit", time=0.5, resamples=12)
