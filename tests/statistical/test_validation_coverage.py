"""Internal validation: bias and coverage for the C-index of the fitted model on new subjects."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.cox import CoxModel

pytestmark = pytest.mark.slow

DRAWS = 120
COEFFICIENTS = np.array([0.6, 0.4, 0.3, 0, 0, 0, 0, 0, 0, 0])


def drawn(rng, n):
    X = rng.normal(size=(n, COEFFICIENTS.size))
    time, censoring = rng.exponential(np.exp(-X @ COEFFICIENTS)), rng.exponential(1.5, n)
    return X, sg.Outcomes(np.minimum(time, censoring), time <= censoring)


def cox(X, y):
    model = CoxModel.fit(X, y)
    return lambda X: sg.RiskScores(model.log_risk(X))


@pytest.mark.parametrize(
    ("method", "resamples"), [pytest.param("bootstrap", 40), pytest.param("cv", 2)]
)
def test_harrell_of_a_cox_model(method, resamples):
    rng = np.random.default_rng(8)
    X_new, y_new = drawn(rng, 8000)
    rows, truth = [], []
    for k in range(DRAWS):
        X, y = drawn(rng, 200)
        options = {"method": method, "resamples": resamples, "random_state": k}
        rows.append(sg.validate(cox, X, y, metrics="harrell", **options).rows()[0])
        truth.append(sg.concordance_index(y_new, cox(X, y)(X_new).values))
    truth = np.array(truth)
    apparent, corrected, low, high = (
        np.array([row[name] for row in rows]) for name in ("apparent", "corrected", "low", "high")
    )
    assert np.mean(apparent - truth) > 0.02
    assert abs(np.mean(corrected - truth)) < 0.01
    # 95 % of 120 draws, give or take three of its standard errors.
    assert 0.89 <= np.mean((low <= truth) & (truth <= high)) <= 1.0
