"""Scores under competing risks of two packages as black boxes: each preset gives its number.

Whole-number times, so that every tie and limit matters, on the same training and test outcomes:

* hazardous 0.2: plain Kaplan-Meier on flipped flags for G, at least 0.05, read at the time itself;
  anchors of C include tau. Its accuracy leaves out whoever was censored at or before the time.
* SurvivalEVAL 0.9: G(t-) on both sides, event-free if censored at t; without weights divided by n.
  Its pairs of C weigh 1/G(t_i-)^2 and 1/(G(t_i-) G(t_j-)) as ours do, anchors lie before tau.
"""

from __future__ import annotations

import numpy as np
import pytest
from peer_import import peer

import survgauge as sg

pytestmark = [
    pytest.mark.peer,
    # What peers import and call is none of our business.
    pytest.mark.filterwarnings("ignore"),
]


GRID = np.arange(0.0, 16.0)
TIMES = np.array([1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
COLUMNS = TIMES.astype(int)
CAUSES = ("a", "b")


def drawn(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    share = 1 / (1 + np.exp(-x))
    cause = np.where(rng.random(n) < share, 1, 2)
    time = np.ceil(6 * (rng.exponential(size=n) / np.exp(0.7 * x)) ** (1 / 1.2))
    end = np.minimum(np.ceil(rng.uniform(0, 16, n)), 15.0)
    y = sg.Outcomes(np.minimum(time, end), np.where(time <= end, cause, 0), causes=CAUSES)
    any_cause = 1 - np.exp(-np.outer(np.exp(0.7 * x), (GRID / 6) ** 1.2))
    values = np.stack([share[:, None] * any_cause, (1 - share)[:, None] * any_cause], axis=1)
    return y, sg.IncidenceCurves(GRID, values, causes=CAUSES)


@pytest.fixture(params=range(5))
def data(request):
    """Test outcomes with incidence on GRID, and training outcomes."""
    train, _ = drawn(100 + request.param)
    return (*drawn(request.param), train)


def columns(y):
    """Outcomes as hazardous takes them."""
    return peer("pandas").DataFrame({"event": y.cause, "duration": y.time})


# -- hazardous -------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", [1, 2])
def test_brier_of_hazardous(data, cause):
    metrics = peer("hazardous.metrics")
    y, curves, train = data
    values = curves.values[:, cause - 1][:, COLUMNS]
    given = columns(train), columns(y), values, TIMES, cause
    options = {"y_train": train, "cause": cause, "convention": "hazardous"}
    found = sg.brier_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(found.values, metrics.brier_score_incidence(*given), rtol=1e-8)
    whole = metrics.integrated_brier_score_incidence(*given)
    assert found.mean == pytest.approx(whole, rel=1e-8)


def test_squared_score_of_all_causes_by_parts_of_hazardous(data):
    metrics = peer("hazardous.metrics")
    y, curves, train = data
    given = columns(train), columns(y)
    total = metrics.brier_score_survival(*given, 1 - curves.values.sum(axis=1)[:, COLUMNS], TIMES)
    for cause in (1, 2):
        values = curves.values[:, cause - 1][:, COLUMNS]
        total = total + metrics.brier_score_incidence(*given, values, TIMES, cause)
    options = {"y_train": train, "loss": "squared", "convention": "hazardous"}
    found = sg.multi_cause_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(found.values, total, rtol=1e-8)


@pytest.mark.parametrize("cause", [1, 2])
def test_concordance_of_hazardous(data, cause):
    metrics = peer("hazardous.metrics")
    y, curves, train = data
    for tau in (4.0, 8.0):
        options = {"time_grid": GRID, "taus": [tau], "event_of_interest": cause}
        values, risk = curves.values[:, cause - 1], curves.at(tau, cause)
        ours = {"tau": tau, "cause": cause, "convention": "hazardous"}
        theirs = metrics.concordance_index_incidence(columns(y), values, columns(train), **options)[
            0
        ]
        found = sg.concordance_index(y, risk, method="uno", y_train=train, **ours)
        assert found == pytest.approx(theirs, rel=1e-8)
        theirs = metrics.concordance_index_incidence(
            columns(y), values, ipcw_estimator=None, **options
        )[0]
        assert sg.concordance_index(y, risk, **ours) == pytest.approx(theirs, rel=1e-8)


# -- SurvivalEVAL ----------------------------------------------------------------------------


@pytest.mark.parametrize("cause", [1, 2])
def test_brier_of_survivaleval(data, cause):
    package = peer("SurvivalEVAL")
    y, curves, train = data
    values = curves.values[:, cause - 1][:, COLUMNS]
    theirs = package.brier_multiple_points_cr_per_event(
        values, y.time, y.cause, train.time, train.cause, TIMES, True, cause
    )
    options = {"y_train": train, "cause": cause, "convention": "survivaleval"}
    found = sg.brier_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(found.values, theirs, rtol=1e-8)


@pytest.mark.parametrize("cause", [1, 2])
def test_concordance_of_survivaleval(data, cause):
    package = peer("SurvivalEVAL")
    y, curves, train = data
    risk = curves.at(8.0, cause)
    for theirs, ours in (("Naive", "harrell"), ("IPCW", "uno")):
        wanted = package.concordance_cr_per_event(
            risk, y.time, y.cause, train.time, train.cause, method=theirs, tau=8.0,
            event_of_interest=cause,
        )[0]  # fmt: skip
        options = {"tau": 8.0, "cause": cause, "convention": "survivaleval"}
        found = sg.concordance_index(y, risk, method=ours, y_train=train, **options)
        assert found == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("cause", [1, 2])
def test_integrated_brier_of_survivaleval(data, cause):
    package = peer("SurvivalEVAL")
    y, curves, train = data
    evaluator = package.CompetingRisksEvaluator(
        curves.values, GRID, y.time, y.cause, train_event_times=train.time,
        train_event_indicators=train.cause,
    )  # fmt: skip
    theirs = evaluator.integrated_brier_score_per_event(target_times=TIMES, event_of_interest=cause)
    options = {"y_train": train, "cause": cause, "convention": "survivaleval"}
    assert sg.integrated_brier_score(y, curves, TIMES, **options) == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("cause", [1, 2])
def test_auc_of_survivaleval(data, cause):
    """Between whole numbers, where nobody is censored: at t it takes the censored for controls."""
    package = peer("SurvivalEVAL")
    y, curves, train = data
    for theirs, ours in (("NotCase", "without_event"), ("EventFree", "event_free")):
        wanted = package.auc_cr_per_event(
            curves.at(4.5, cause), y.time, y.cause, 4.5, train.time, train.cause, method="IPCW",
            event_of_interest=cause, control_definition=theirs,
        )  # fmt: skip
        options = {"y_train": train, "cause": cause, "controls": ours}
        found = sg.cumulative_dynamic_auc(y, curves, [4.5], convention="survivaleval", **options)
        assert found.values[0] == pytest.approx(wanted, rel=1e-8)
