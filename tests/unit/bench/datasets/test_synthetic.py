"""Simulated competing risks: incidence is that of the hazards and of the events."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import survgauge as sg
from survgauge import InputError
from survgauge.bench.datasets import synthetic_causes


def test_incidence_of_equal_shapes_has_a_closed_form():
    scenario = synthetic_causes(40, 3, shapes=(1.3, 1.3, 1.3), scales=(5, 8, 20),
                             effects=np.eye(3))  # fmt: skip
    grid = np.array([0.5, 2.0, 6.0, 15.0])
    rates = scenario.ratios / scenario.scales**1.3
    total = rates.sum(axis=1, keepdims=True)
    curves = scenario.incidence(grid)
    for k in range(3):
        wanted = rates[:, [k]] / total * (1 - np.exp(-total * grid**1.3))
        np.testing.assert_allclose(curves.at(grid, k + 1), wanted, atol=1e-12)


@pytest.mark.parametrize("grid", [[0.3, 4.0, 30.0], [50.0]])
def test_incidence_is_the_integral_of_hazard_times_survival(grid):
    scenario = synthetic_causes(6, 5)
    curves = scenario.incidence(grid)
    for i in range(6):
        for k in range(2):

            def density(t, i=i, k=k):
                a, b, r = scenario.shapes, scenario.scales, scenario.ratios[i]
                hazard = r[k] * a[k] / b[k] * (t / b[k]) ** (a[k] - 1)
                return hazard * np.exp(-(r * (t / b) ** a).sum())

            for t in grid:
                wanted = quad(density, 0, t, epsabs=1e-11, limit=500)[0]
                assert curves.at(t, k + 1)[i] == pytest.approx(wanted, abs=1e-6)


def test_events_follow_the_incidence():
    scenario = synthetic_causes(20_000, 2, causes=["relapse", "death"])
    for t in (2.0, 8.0, 25.0):
        for code, cause in enumerate(("relapse", "death"), 1):
            seen = ((scenario.y.time <= t) & (scenario.y.cause == code)).astype(float)
            said = scenario.incidence([t]).at(t, cause)
            z = (seen - said).sum() / np.sqrt((said * (1 - said)).sum())
            assert abs(z) < 4
            # Calibrated where the prediction is low and where it is high, too.
            high = said > np.median(said)
            for part in (high, ~high):
                z = (seen - said)[part].sum() / np.sqrt((said * (1 - said))[part].sum())
                assert abs(z) < 4


def test_streams_are_separate_and_named():
    a, b = synthetic_causes(50, 1), synthetic_causes(50, 1, scales=(10.0, 1e9))
    np.testing.assert_array_equal(a.X, b.X)
    mine = a.y.cause == 1
    # Whoever had the first cause has it at the same time when the other cause hardly ever comes.
    np.testing.assert_array_equal(a.y.time[mine], b.y.time[mine])
    np.testing.assert_array_equal(a.y.time, synthetic_causes(50, 1).y.time)
    assert not np.array_equal(a.X, synthetic_causes(50, 2).X)


def test_effects_may_be_a_function_and_censoring_follows():
    scenario = synthetic_causes(
        80, 4, effects=lambda X: np.column_stack([X[:, 0] ** 2, -X[:, 1]]), features=3
    )
    np.testing.assert_allclose(np.log(scenario.ratios[:, 0]), scenario.X[:, 0] ** 2)
    assert scenario.X.shape == (80, 3)
    found = sg.semisynthetic(scenario.X, scenario.y, "uniform", 0)
    np.testing.assert_array_equal(found.true_cause, scenario.y.cause[found.rows])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"shapes": (1.0,)}, "one number per cause"),
        ({"shapes": (1.0, -1.0)}, "shapes must be finite and positive"),
        ({"effects": [[1.0, 2.0]]}, "effects must give finite log hazard ratios of 2 causes"),
        ({"effects": lambda X: X[:, :1]}, "effects must give"),
        ({"causes": ["a"]}, "causes must have 2 names"),
        ({"features": 0, "effects": lambda X: X}, "features must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(InputError, match=message):
        synthetic_causes(**{"n": 5, **given})
