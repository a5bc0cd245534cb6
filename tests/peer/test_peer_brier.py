"""Brier scores of five packages as black boxes: each preset gives its package's number.

Whole-number times, so that every tie and limit matters, on the same training and test outcomes:

* scikit-survival 0.28 and torchsurv 0.2: G(t) at events, dropped if censored at t, divided by n.
* SurvivalEVAL 0.9: G(t-) on both sides, event-free if censored at t; without weights divided by n.
* hazardous 0.2: plain Kaplan-Meier on flipped flags for G, at least 0.05.
* pycox 0.3: the same G without a floor, from the test set; divided by the sum of weights; Simpson.
"""

from __future__ import annotations

import numpy as np
import pytest
from peer_import import peer

from survgauge.data.curves import SurvivalCurves
from survgauge.data.outcomes import Outcomes
from survgauge.metrics.probability.brier import (
    binomial_log_likelihood,
    brier_score,
    integrated_binomial_log_likelihood,
    integrated_brier_score,
)

pytestmark = [
    pytest.mark.peer,
    # What peers import and call is none of our business.
    pytest.mark.filterwarnings("ignore"),
]


GRID = np.arange(0.0, 16.0)
TIMES = np.array([1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
COLUMNS = TIMES.astype(int)


def drawn(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time = np.ceil(6 * (rng.exponential(size=n) / np.exp(0.7 * x)) ** (1 / 1.2))
    censor_time = np.ceil(rng.uniform(0, 16, n))
    y = Outcomes(np.minimum(event_time, censor_time), event_time <= censor_time)
    return y, np.exp(-np.outer(np.exp(0.7 * x), (GRID / 6) ** 1.2))


@pytest.fixture(params=range(5))
def data(request):
    """Test outcomes with survival on GRID, and training outcomes."""
    y, survival = drawn(request.param)
    train, _ = drawn(100 + request.param)
    return y, survival, train


def test_scikit_survival(data):
    metrics, util = peer("sksurv.metrics"), peer("sksurv.util")
    y, survival, train = data
    arrays = [util.Surv.from_arrays(z.event, z.time) for z in (train, y)]
    _, scores = metrics.brier_score(*arrays, survival[:, COLUMNS], TIMES)
    curves = SurvivalCurves(GRID, survival)
    options = {"y_train": train, "convention": "sksurv"}
    result = brier_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(result.values, scores, atol=1e-12)
    integral = metrics.integrated_brier_score(*arrays, survival[:, COLUMNS], TIMES)
    assert integrated_brier_score(y, curves, TIMES, **options) == pytest.approx(integral, abs=1e-12)
    # Our own convention is another number on tied times.
    assert abs(integrated_brier_score(y, curves, TIMES, y_train=train) - integral) > 1e-4


def test_torchsurv(data):
    torch = peer("torch")
    brier, ipcw = peer("torchsurv.metrics.brier_score"), peer("torchsurv.stats.ipcw")
    y, survival, train = data

    def single(values):
        return torch.tensor(np.asarray(values), dtype=torch.float32)

    reference = torch.tensor(train.event), single(train.time)
    weights = {
        "weight": ipcw.get_ipcw(*reference, single(y.time)),
        "weight_new_time": ipcw.get_ipcw(*reference, single(TIMES)),
    }
    metric = brier.BrierScore()
    arguments = (
        single(survival[:, COLUMNS]),
        torch.tensor(y.event.copy()),
        single(y.time),
        single(TIMES),
    )
    scores = metric(*arguments, **weights).numpy()
    curves = SurvivalCurves(GRID, survival)
    options = {"y_train": train, "convention": "torchsurv"}
    result = brier_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(result.values, scores, atol=1e-6)
    assert result.mean == pytest.approx(float(metric.integral()), abs=1e-6)
    plain = metric(*arguments).numpy()
    ours = brier_score(y, curves, TIMES, method="unweighted", convention="torchsurv").values
    np.testing.assert_allclose(ours, plain, atol=1e-6)


def test_survivaleval(data):
    evaluator = peer("SurvivalEVAL").SurvivalEvaluator
    y, survival, train = data
    theirs = evaluator(survival, GRID, y.time, y.event, train.time, train.event)
    curves = SurvivalCurves(GRID, survival)
    off_grid = np.array([0.7, 2.0, 3.3, 5.0, 6.9, 10.0])
    for method, weighted in (("ipcw", True), ("unweighted", False)):
        options = {"y_train": train, "convention": "survivaleval", "method": method}
        for times in (TIMES, off_grid):
            scores = theirs.brier_score_multiple_points(times, IPCW_weighted=weighted)
            result = brier_score(y, curves, times, **options)
            np.testing.assert_allclose(result.values, scores, atol=1e-12)
            integral = theirs.integrated_brier_score(target_times=times, IPCW_weighted=weighted)
            value = integrated_brier_score(y, curves, times, **options)
            assert value == pytest.approx(integral, abs=1e-12)


def test_hazardous(data):
    pandas, metrics = peer("pandas"), peer("hazardous.metrics")
    y, survival, train = data
    frames = [
        pandas.DataFrame({"event": z.event.astype(int), "duration": z.time}) for z in (train, y)
    ]
    curves = SurvivalCurves(GRID, survival)
    options = {"y_train": train, "convention": "hazardous"}
    times = np.append(TIMES, [13.0, 14.0])  # late enough for the floor of G to matter
    columns = times.astype(int)
    scores = metrics.brier_score_survival(*frames, survival[:, columns], times)
    result = brier_score(y, curves, times, **options)
    np.testing.assert_allclose(result.values, scores[: result.times.size], atol=1e-12)
    integral = metrics.integrated_brier_score_survival(*frames, survival[:, COLUMNS], TIMES)
    value = integrated_brier_score(y, curves, TIMES, **options)
    assert value == pytest.approx(integral, abs=1e-12)


@pytest.mark.parametrize("times", [TIMES, TIMES[:-1]], ids=["odd", "even"])
def test_pycox(data, times, monkeypatch):
    from scipy import integrate

    pandas, evaluation = peer("pandas"), peer("pycox.evaluation")
    # SciPy 1.14 dropped the name that pycox calls.
    monkeypatch.setattr(integrate, "simps", integrate.simpson, raising=False)
    y, survival, _ = data
    frame = pandas.DataFrame(survival.T, index=GRID)
    theirs = evaluation.EvalSurv(frame, y.time, y.event.astype(int), censor_surv="km")
    curves = SurvivalCurves(GRID, survival, "step")
    result = brier_score(y, curves, times, convention="pycox")
    np.testing.assert_allclose(result.values, theirs.brier_score(times).to_numpy(), atol=1e-12)
    assert integrated_brier_score(y, curves, times, convention="pycox") == pytest.approx(
        theirs.integrated_brier_score(times), abs=1e-12
    )
    log = binomial_log_likelihood(y, curves, times, convention="pycox")
    np.testing.assert_allclose(log.values, theirs.nbll(times).to_numpy(), atol=1e-12)
    value = integrated_binomial_log_likelihood(y, curves, times, convention="pycox")
    assert value == pytest.approx(theirs.integrated_nbll(times), abs=1e-12)


def test_pycox_administrative(data, monkeypatch):
    from scipy import integrate

    pandas, evaluation = peer("pandas"), peer("pycox.evaluation")
    monkeypatch.setattr(integrate, "simps", integrate.simpson, raising=False)
    y, survival, _ = data
    limit = y.time + np.where(y.event, np.random.default_rng(0).integers(0, 4, len(y)), 0)
    frame = pandas.DataFrame(survival.T, index=GRID)
    theirs = evaluation.EvalSurv(frame, y.time, y.event.astype(int), censor_durations=limit)
    curves = SurvivalCurves(GRID, survival, "step")
    options = {"method": "administrative", "censoring_times": limit}
    result = brier_score(y, curves, TIMES, **options)
    np.testing.assert_allclose(
        result.values, theirs.brier_score_admin(TIMES).to_numpy(), atol=1e-12
    )
    value = integrated_brier_score(y, curves, TIMES, convention="pycox", **options)
    assert value == pytest.approx(theirs.integrated_brier_score_admin(TIMES), abs=1e-12)


def test_peers_that_fail_where_we_answer(data):
    """Times over the whole range, with a last training time that is censored."""
    evaluator = peer("SurvivalEVAL").SurvivalEvaluator
    y, survival, train = data
    known = train.time < 9
    train = Outcomes(np.append(train.time[known], 9.0), np.append(train.event[known], False))
    theirs = evaluator(survival, GRID, y.time, y.event, train.time, train.event)
    times = np.linspace(0, y.time.max(), 50)
    with pytest.raises(ValueError):
        theirs.integrated_brier_score(target_times=times)
    value = integrated_brier_score(y, SurvivalCurves(GRID, survival), times, y_train=train)
    assert 0 < value < 0.3
