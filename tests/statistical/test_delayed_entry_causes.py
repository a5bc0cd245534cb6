"""Metrics of a cause under delayed entry are unbiased and covered; ignoring it biases them."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.probability.doubly_robust import treatment_score
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details
from survgauge.metrics.registry import REGISTRY

pytestmark = pytest.mark.slow

RUNS, N, AT, TAU = 1500, 500, 5.0, 12.0
#: Up to when errors in time count.
STOP = 7.0
GRID = np.append(np.linspace(0.5, 15.0, 30), [20.0, 30.0, 60.0, 120.0])
FINE = np.append(np.linspace(0.1, 15, 150), [17.0, 20.0, 25.0, 30.0, 40.0, 60.0])
TIMES = np.linspace(0.5, 10.0, 20)
NAMES = (
    "brier", "ibs", "ibll", "auc", "uno", "harrell", "mae_dr", "mse_dr", "mae_ipcw_d",
    "multi_log_loss", "log_likelihood", "oe", "net_benefit",
)  # fmt: skip
REGISTERED = {"oe": "observed_expected"}
#: Their limit depends on how many are censored; that of the others does not.
CENSORED = ("harrell", "log_likelihood", "oe")
#: What ignoring delayed entry shifts by more than a tenth.
SHIFTED = ("brier", "ibs", "ibll", "mae_dr", "mae_ipcw_d", "multi_log_loss", "oe", "net_benefit")


def incidence(rates: np.ndarray, grid: np.ndarray) -> sg.IncidenceCurves:
    """Causes with hazards in proportion for ever; rates (n, 2) of a clock t^1.5."""
    total = rates.sum(axis=1)
    happened = 1 - np.exp(-total[:, None] * grid**1.5)
    return sg.IncidenceCurves(grid, (rates / total[:, None])[:, :, None] * happened[:, None])


def draw(
    rng: np.random.Generator, n: int, censored: bool = True, true: bool = False
) -> tuple[sg.Outcomes, sg.IncidenceCurves]:
    """Subjects of two causes who are seen from some time on, and a model.

    It is somewhat off, or the one that they are drawn from, of whom four in five enter late then.
    """
    x, z = rng.normal(size=(2, 8 * n))
    rates = np.stack((0.02 * np.exp(0.9 * x), 0.014 * np.exp(0.5 * z)), axis=1)
    total = rates.sum(axis=1)
    time = (rng.exponential(size=x.size) / total) ** (1 / 1.5)
    cause = np.where(rng.random(x.size) < rates[:, 0] / total, 1, 2)
    end, entry = rng.uniform(3, 25, x.size), rng.uniform(0, 10, x.size)
    if true:
        entry *= rng.random(x.size) < 0.8
    keep = np.flatnonzero(np.minimum(time, end) > entry)[:n]
    seen = np.minimum(time, end) if censored else time
    codes = np.where((time <= end) | (not censored), cause, 0)
    y = sg.Outcomes(seen[keep], codes[keep], causes=("1", "2"), entry=entry[keep])
    if true:
        return y, incidence(rates[keep], FINE)
    off = np.stack((0.017 * np.exp(0.6 * x), 0.016 * np.exp(0.3 * z)), axis=1)[keep]
    return y, incidence(off, GRID)


def scores(y: sg.Outcomes, curves: sg.IncidenceCurves) -> np.ndarray:
    """Value and standard error of each metric of the first cause."""
    asked = {"cause": 1}
    risk = curves.at(TAU, 1)
    both = [
        integrated(y, curves, TIMES, **asked)
        for integrated in (
            sg.integrated_brier_score,
            sg.integrated_binomial_log_likelihood,
        )
    ]
    found = [
        sg.brier_score(y, curves, [AT], **asked).details,
        *both,
        cumulative_dynamic_auc_details(y, curves, [AT], **asked),
        sg.concordance_index(y, risk, method="uno", tau=TAU, **asked),
        sg.concordance_index(y, risk, tau=TAU, **asked),
        sg.time_error(y, curves, method="dr", tau=STOP, **asked),
        sg.time_error(y, curves, method="dr", tau=STOP, loss="squared", **asked),
        sg.time_error(y, curves, method="ipcw_d", tau=STOP, **asked),
        sg.integrated_multi_cause_score(y, curves, TIMES),
        sg.log_likelihood(y, curves),
        sg.observed_expected(y, curves, AT, **asked),
        treatment_score(y, curves, AT, 0.15, **asked),
    ]
    return np.array([(one.value, one.stderr) for one in found])


def limits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values for very many subjects, and of the same subjects with their entries ignored."""
    known = [NAMES.index(name) for name in CENSORED]
    truths = []
    for _ in range(5):
        truth = scores(*draw(rng, 60_000, censored=False))[:, 0]
        y, curves = draw(rng, 60_000)
        truth[known] = scores(y, curves)[known, 0]
        truths.append(truth)
    plain = sg.Outcomes(y.time, y.cause, causes=y.causes)
    return np.mean(truths, axis=0), scores(plain, curves)[:, 0]


def on_scale(
    values: np.ndarray, truth: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and standard errors on the scales of the intervals that `evaluate` gives."""
    gap, spread = values - truth, errors.copy()
    for k, name in enumerate(NAMES):
        v, scale = values[:, k], REGISTRY[REGISTERED.get(name, name)].interval
        if scale == "log":
            gap[:, k], spread[:, k] = np.log(v / truth[k]), errors[:, k] / v
        elif scale == "logit":
            gap[:, k] = np.log(v / (1 - v)) - np.log(truth[k] / (1 - truth[k]))
            spread[:, k] = errors[:, k] / (v * (1 - v))
    return gap, spread


def test_unbiased_and_covered() -> None:
    rng = np.random.default_rng(1918)
    truth, ignored = limits(rng)
    shift = dict(zip(NAMES, ignored / truth - 1, strict=True))
    assert min(abs(shift[name]) for name in SHIFTED) > 0.1, shift
    runs = np.array([scores(*draw(rng, N)) for _ in range(RUNS)])
    values, errors = runs[..., 0], runs[..., 1]
    bias = values.mean(axis=0) / truth - 1
    assert (abs(bias) < 0.02).all(), dict(zip(NAMES, bias, strict=True))
    gap, spread = on_scale(values, truth, errors)
    covered = (abs(gap) < 1.959964 * spread).mean(axis=0)
    assert ((covered > 0.93) & (covered < 0.97)).all(), dict(zip(NAMES, covered, strict=True))
    np.testing.assert_allclose(errors.mean(axis=0), values.std(axis=0), rtol=0.08)


def test_calibration_of_a_true_model() -> None:
    rng = np.random.default_rng(1920)
    p_values, distances, expected, low = [], [], [], []
    for _ in range(600):
        y, curves = draw(rng, 400, true=True)
        found = [sg.one_calibration(y, curves, t, cause=1) for t in (5.0, 8.0)]
        found += [sg.d_calibration(y, curves, method="ks", cause=1)]
        found += [sg.a_calibration(y, curves, cause=1)]
        p_values.append([one.p_value for one in found])
        distance = sg.km_calibration(y, curves, tau=12.0, cause=1)
        distances.append(distance.value)
        assert distance.distribution is not None
        expected.append(distance.distribution.expected_if_calibrated)
        low.append(distance.distribution.limits(0.95)[0])
    size = (np.array(p_values) < 0.05).mean(axis=0)
    assert ((size > 0.03) & (size < 0.075)).all(), size
    assert abs(np.mean(distances) / np.mean(expected) - 1) < 0.2
    assert np.mean(np.array(low) == 0) > 0.95
