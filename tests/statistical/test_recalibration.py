"""Recalibrated curves on held-out subjects: calibration mends, discrimination stays."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow

METHODS = ("km", "conformal")
#: A model that is half as late again, or too early, as one that comes from another place.
STRETCHES = (1.5, 0.7)


def simulated(seed, stretch):
    """A Cox model of other subjects whose times were stretched; who recalibrates, who tests."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2400, 4))
    time = 10 * (rng.exponential(size=2400) * np.exp(-X @ [0.7, -0.4, 0.3, 0.0])) ** (1 / 1.5)
    censoring = rng.exponential(18, 2400)
    y = sg.Outcomes(np.minimum(time, censoring), time <= censoring)
    return parts(X, y, stretch, 6.0)


def semisynthetic(seed, stretch):
    """The same from features and event times of patients, with drawn censoring times."""
    ds = sg.datasets.load("lifelines_gbsg2")
    ss = sg.semisynthetic(ds.X, ds.y, "uniform", random_state=seed)
    return parts(ds.preprocessor().fit_transform(ss.X), ss.y, stretch, 700.0)


def parts(X, y, stretch, time):
    fold = sg.SurvivalKFold(3, 0).folds(y)
    train, fit, test = (np.flatnonzero(fold == k) for k in range(3))
    X = np.asarray(X, dtype=float)
    other = sg.Outcomes(y.time[train] * stretch, y.event[train])
    model = sg.models.build("coxph").fit(X[train], other)
    curves = [model.predict_curves(X[rows]) for rows in (fit, test)]
    return curves[0], y[fit], curves[1], y[test], time


def measured(curves, y, time):
    return {
        "at_time": sg.concordance_index(y, 1 - curves.at(time)),
        "median": sg.concordance_index(y, -curves.median()),
        "oe": abs(np.log(sg.observed_expected(y, curves, time).ratio)),
        "ici": sg.integrated_calibration_index_cox(y, curves, time).ici,
        "d": sg.d_calibration(y, curves).p_value,
        "a": sg.a_calibration(y, curves).p_value,
    }


@pytest.mark.parametrize("stretch", STRETCHES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scenario", [simulated, semisynthetic])
def test_calibration_mends_and_discrimination_stays(scenario, method, stretch):
    before, after = [], []
    for seed in range(6):
        fit_curves, y_fit, curves, y, time = scenario(seed, stretch)
        mended = sg.recalibrate(fit_curves, y_fit, method=method)(curves)
        before.append(measured(curves, y, time))
        after.append(measured(mended, y, time))

    def mean(rows, name):
        return float(np.mean([row[name] for row in rows]))

    for order in ("at_time", "median"):
        assert abs(mean(after, order) - mean(before, order)) < 1e-3
    assert mean(after, "oe") < 0.5 * mean(before, "oe")
    assert mean(after, "ici") < 0.5 * mean(before, "ici")
    assert np.median([row["d"] for row in before]) < 0.01 < np.median([row["d"] for row in after])
    assert np.median([row["a"] for row in before]) < 0.01 < np.median([row["a"] for row in after])
