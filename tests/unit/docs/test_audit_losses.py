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
    true = {k: np.mean(np.abs(p.times - time)) for k, p in predictions.items()}
    assert found["truth"] == pytest.approx(true)
    best = min(true.values())
    for method in ("po", "dr", "hinge", "ipcw_d"):
        said = {k: sg.mae(y, p.times, y_train=train, method=method) for k, p in predictions.items()}
        picked = min(said, key=said.get)
        wanted = (true[picked] - best) / best
        assert found["losses"][f"mae_{method}"] == pytest.approx(wanted, abs=1e-12)


def test_the_advice_is_one_of_the_choices_and_never_sees_the_truth(script):
    predictions, y, train, time = fold()
    found = script.audit_losses(predictions, y, train, time, draws=6)
    label = found["advice"]["metric"]
    label += "" if found["advice"]["horizon"] is None else " (horizon)"
    assert found["losses"][script.ADVICE] == found["losses"][label]
    blind = script.audit_losses(predictions, y, train, time[::-1], draws=6)
    assert blind["advice"] == found["advice"]
    assert blind["summary"] == found["summary"]


def test_large_folds_are_audited_on_some_of_their_subjects(script):
    predictions, y, train, time = fold(80)
    found = script.audit_losses(predictions, y, train, time, draws=4, most=30)
    whole = script.audit_losses(predictions, y, train, time, draws=4)
    assert found["truth"] == whole["truth"]
    assert found["losses"]["mae_po"] == whole["losses"]["mae_po"]
    assert found["summary"] != whole["summary"]
