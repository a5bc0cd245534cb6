"""What a fold loses by each fixed metric and by the audit's advice, where the truth is known."""

import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "docs" / "scripts"
if not SCRIPTS.is_dir():
    pytest.skip("the scripts are not in a source distribution", allow_module_level=True)

import survgauge as sg  # noqa: E402
from survgauge.data.predictions import Prediction  # noqa: E402


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import audit_losses

    yield audit_losses
    sys.modules.pop("audit_losses", None)


def fold(n=60, seed=0):
    rng = np.random.default_rng(seed)
    scale = 10 * np.exp(0.6 * rng.normal(size=n))
    time, ends = rng.exponential(scale), rng.exponential(15.0, n)
    other, late = rng.exponential(scale), rng.exponential(15.0, n)
    y = sg.Outcomes(np.minimum(time, ends), time <= ends)
    train = sg.Outcomes(np.minimum(other, late), other <= late)
    named = {"good": scale * np.log(2), "flat": np.full(n, 7.0), "late": scale * 2}
    return {k: Prediction.of(v, n, k) for k, v in named.items()}, y, train, time


def test_losses_are_those_of_the_models_picked(script):
    predictions, y, train, time = fold()
    found = script.audit_losses(predictions, y, train, time, draws=6)
    for label, stop in (("free", None), ("within", found["horizon"])):
        end = stop or np.inf
        true = {
            k: np.mean(np.abs(np.minimum(p.times, end) - np.minimum(time, end)))
            for k, p in predictions.items()
        }
        best = min(true.values())
        for method in ("po", "hinge", "ipcw_d"):
            for tau, mark in ((None, script.FREE), (found["horizon"], "")):
                how = {"y_train": train, "method": method, "tau": tau}
                said = {k: sg.mae(y, p.times, **how) for k, p in predictions.items()}
                wanted = (true[min(said, key=said.get)] - best) / best
                assert found[label][f"mae_{method}{mark}"] == pytest.approx(wanted, abs=1e-12)


def test_the_advice_is_one_of_the_choices_and_never_sees_the_truth(script):
    predictions, y, train, time = fold()
    found = script.audit_losses(predictions, y, train, time, draws=6)
    for rule, metric in found["advice"].items():
        assert found["within"][rule] == found["within"][metric]
    blind = script.audit_losses(predictions, y, train, time[::-1], draws=6)
    assert blind["advice"] == found["advice"]


def test_a_choice_by_nothing_is_random(script):
    true = {"a": 1.0, "b": 1.5}
    assert script._loss({"a": 2.0, "b": 3.0}, true) == 0
    assert script._loss({"a": 3.0, "b": 2.0}, true) == 0.5
    assert script._loss({"a": 2.0, "b": 2.0}, true) == 0.25
    assert script._loss({"a": np.nan, "b": 2.0}, true) == 0.25
