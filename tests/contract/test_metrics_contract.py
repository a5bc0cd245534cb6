"""What every registered metric promises, whatever it measures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.predictions import Prediction
from survgauge.metrics.registry import REGISTRY, metrics_of
from survgauge.metrics.task import Task

NAMES = sorted(metrics_of())
ROOT = Path(__file__).parents[2]


def data(n=90, seed=1, whole=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.4, n) * 10 * np.exp(-0.6 * x), rng.uniform(1, 30, n)
    if whole:
        t, c = np.ceil(t), np.ceil(c)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    grid = np.linspace(0, 80, 41)
    survival = np.exp(-((grid / (10 * np.exp(-0.6 * x[:, None]))) ** 1.4))
    return y, sg.SurvivalCurves(grid, survival)


def train():
    return data(120, seed=2)[0]


def compute(name, y, curves, **settings):
    task = Task.of(y, train(), time=6.0, threshold=0.3, **settings)
    return REGISTRY[name].measure(task, Prediction.of(curves, len(y), "m"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("whole", [False, True])
def test_value_lies_in_its_range_and_says_how_it_was_made(name, whole):
    y, curves = data(whole=whole)
    found = compute(name, y, curves)
    low, high = REGISTRY[name].range
    assert low <= found.value <= high
    assert found.convention
    assert found.support
    if REGISTRY[name].inference == "analytic":
        assert found.contributions.shape == (len(y),)
        assert 0 < found.stderr < np.inf
        # Contributions are deviations: they add up to nothing.
        assert abs(found.contributions.sum()) < 0.02 * np.abs(found.contributions).sum() + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_order_of_subjects_never_matters(name):
    y, curves = data(whole=True)
    order = np.random.default_rng(0).permutation(len(y))
    a, b = compute(name, y, curves), compute(name, y[order], curves[order])
    assert b.value == pytest.approx(a.value, rel=1e-9)
    if a.contributions is not None:
        np.testing.assert_allclose(b.contributions, a.contributions[order], rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_integer_weights_equal_replicated_rows(name):
    y, curves = data(whole=True)
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = compute(name, sg.Outcomes(y.time, y.event, counts), curves)
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = compute(name, y[rows], curves[rows])
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    if repeated.contributions is not None:
        assert weighted.stderr == pytest.approx(repeated.stderr, rel=1e-6)


# Doubly robust errors take G as given: their coverage is simulated (docs/explanation/inference.md).
LEAVE_ONE_OUT = [
    n for n in NAMES if REGISTRY[n].inference == "analytic" and not REGISTRY[n].reads_g
]


@pytest.mark.parametrize("name", LEAVE_ONE_OUT)
def test_contributions_are_what_leaving_one_out_takes_away(name):
    y, curves = data(60)
    task = Task.of(y, train(), time=6.0, threshold=0.3)
    prediction = Prediction.of(curves, len(y), "m")
    whole = REGISTRY[name].measure(task, prediction)
    keep = ~np.eye(len(y), dtype=bool)
    rows = [np.flatnonzero(k) for k in keep]
    without = np.array([REGISTRY[name].measure(task.subset(r), prediction[r]).value for r in rows])
    taken = whole.value - without
    assert np.corrcoef(taken, whole.contributions)[0, 1] > 0.98
    spread = np.sqrt((taken - taken.mean()) @ (taken - taken.mean()) * (len(y) - 1) / len(y))
    assert whole.stderr == pytest.approx(spread, rel=0.12)


@pytest.mark.filterwarnings(
    r"ignore:\[(distribution-tail|unseen-times)\]:UserWarning"
)  # no horizon
@pytest.mark.parametrize("name", NAMES)
def test_scorers_have_the_right_sign(name):
    y, curves = data()

    class Model:
        def predict_curves(self, X):
            return curves

    got = sg.scorer(name, y_train=train(), time=6.0, threshold=0.3)(
        Model(), np.zeros((len(y), 1)), y
    )
    value = compute(name, y, curves).value
    assert got == pytest.approx({"higher": value, "lower": -value}.get(
        REGISTRY[name].direction, -abs(value - (REGISTRY[name].target or 0.0))
    ))  # fmt: skip


def test_the_page_of_metrics_is_up_to_date():
    path = ROOT / "docs" / "scripts" / "metrics_table.py"
    if not path.exists():
        pytest.skip("no docs beside these tests")
    spec = importlib.util.spec_from_file_location("metrics_table", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = module.PAGE.read_text(encoding="utf-8")
    assert known == module.page(), "run python docs/scripts/metrics_table.py"


def late_causes(n=150, seed=3):
    """Outcomes of two causes with delayed entry, and the incidence that they come from."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=8 * n)
    rates = np.stack((0.08 * np.exp(0.6 * x), 0.06 * np.exp(-0.3 * x)), axis=1)
    total = rates.sum(axis=1)
    time, limit = rng.exponential(1 / total), rng.uniform(2, 25, x.size)
    entry = rng.uniform(0, 7, x.size) * (rng.random(x.size) < 0.7)
    keep = np.flatnonzero(np.minimum(time, limit) > entry)[:n]
    cause = np.where(rng.random(x.size) < rates[:, 0] / total, 1, 2)
    codes = np.where(time <= limit, cause, 0)[keep]
    y = sg.Outcomes(np.minimum(time, limit)[keep], codes, causes=("1", "2"), entry=entry[keep])
    grid = np.linspace(0.5, 80, 80)
    happened = 1 - np.exp(-total[keep, None] * grid)
    values = (rates / total[:, None])[keep, :, None] * happened[:, None]
    return y, sg.IncidenceCurves(grid, values)


OF_CAUSES = metrics_of(cause=1)
BOTH = [name for name, metric in OF_CAUSES.items() if metric.supports_entry(1)]


def test_what_is_left_out_under_delayed_entry_of_a_cause():
    y, curves = late_causes()
    usual = [name for name, metric in OF_CAUSES.items() if metric.default]
    ev = sg.evaluate({"m": curves}, y, cause=1, confidence=None)
    left_out = [name for name in usual if name not in BOTH]
    assert {row["metric"] for row in ev.rows()} == {*usual} - {*left_out}
    said = next(w for w in ev.warnings if w.code == "knows-no-entry").message
    assert "do not support delayed entry of a cause" in said
    assert said.endswith(f": {', '.join(left_out)}")
    for name in {*OF_CAUSES} - {*BOTH}:
        with pytest.raises(sg.InputError, match=f"{name} supports? no delayed entry of a cause"):
            sg.evaluate({"m": curves}, y, cause=1, metrics=name)


@pytest.mark.parametrize("name", BOTH)
def test_values_under_delayed_entry_of_a_cause(name):
    y, curves = late_causes()
    given = {"m": curves, "risk": sg.RiskScores(curves.at(8.0, 1))}
    asked = {"cause": 1, "metrics": name, "threshold": 0.2, "n_boot": 20, "tau": 8.0}
    row = sg.evaluate(given, y, **asked).rows()[0]
    low, high = REGISTRY[name].range
    assert low <= row["value"] <= high
    if REGISTRY[name].inference in ("analytic", "own"):
        assert 0 < row["stderr"] < np.inf
    order = np.random.default_rng(0).permutation(len(y))
    again = sg.evaluate({"m": curves[order]}, y[order], **asked).rows()[0]
    assert again["value"] == pytest.approx(row["value"], rel=1e-9)
    train = late_causes(seed=4)[0]
    grouped = sg.evaluate({"m": curves}, y, y_train=train, by={"g": np.arange(len(y)) % 2}, **asked)
    assert len(grouped.rows()) >= 3
    assert all(np.isfinite(one["value"]) for one in grouped.rows())
