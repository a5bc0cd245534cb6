"""Time errors of many models at once are those of the metrics, record by record."""

from dataclasses import replace

import numpy as np
import pytest

from survgauge.data.outcomes import Outcomes
from survgauge.data.predictions import Prediction
from survgauge.metrics.problem import Problem
from survgauge.metrics.registry import REGISTRY, metrics_of
from survgauge.metrics.time.quick import QuickErrors
from survgauge.reference.losses import LOSSES

TIME_ERRORS = [
    m for m in metrics_of().values() if m.method is not None and not m.root and not m.within_horizon
]


def outcomes(seed, n=60, weight=None, late=8.0):
    rng = np.random.default_rng(seed)
    time, ends = rng.exponential(5, n), rng.exponential(late, n)
    return Outcomes(np.minimum(time, ends), time <= ends, weight)


@pytest.mark.parametrize("metric", TIME_ERRORS, ids=lambda m: m.name)
@pytest.mark.parametrize("tau", [None, 4.0])
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("normalize", ["n", "weights", "events"])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_those_of_the_metric(metric, tau, trained, normalize, weighted):
    weight = np.arange(60) % 3 + 1.0 if weighted else None
    y = outcomes(0, weight=weight)
    train = outcomes(1, late=4.0) if trained else None
    sampling = np.linspace(0.5, 1.5, 60) if weighted else None
    problem = Problem.of(y, train, sampling, tau=tau, normalize=normalize)
    times = np.random.default_rng(2).exponential(5, (3, 60))
    limit = np.inf if tau is None else tau
    seen: dict[str, bool] = {}
    rule, known = LOSSES[metric.loss], np.minimum(times, limit)
    found = QuickErrors(problem.setting, 3, normalize, seen).means(metric.method, rule, known)
    again = QuickErrors(problem.setting, 3, normalize, seen).means(metric.method, rule, known)
    assert again == pytest.approx(found, rel=1e-12)
    for one, value in zip(times, found, strict=True):
        wanted = metric.measure(replace(problem), Prediction(None, one, None)).value
        assert value == pytest.approx(wanted, rel=1e-12)


def test_nobody_to_average_over():
    censored = Outcomes([1.0, 2.0], [False, False])
    problem = Problem.of(censored, outcomes(1))
    metric = REGISTRY["mae_uncensored"]
    errors = QuickErrors(problem.setting, 2)
    found = errors.means(metric.method, LOSSES["absolute"], np.ones((2, 2)))
    assert np.isnan(found).all()
