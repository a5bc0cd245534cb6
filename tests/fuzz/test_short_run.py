"""A short run of every kind of fuzz; `make fuzz` runs for as long as you like."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from fuzz.engine import Caller, close, run_case
from fuzz.kinds import KINDS

#: Cases of each kind, so that all take about a second.
CASES = {
    "brier_forms": 30,
    "damaged_files": 16,
    "evaluations": 6,
    "fitted_calibration": 40,
    "groups": 6,
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nothing_is_found(kind):
    call = Caller()
    for number in range(CASES.get(kind, 60)):
        failure = run_case(kind, 0, number, call)
        assert failure is None, str(failure)
    assert sum(call.counts.values()) >= CASES.get(kind, 60) * 0.7


def test_wrong_numbers_are_found(monkeypatch):
    import survgauge as sg

    real = sg.concordance_index
    monkeypatch.setattr(sg, "concordance_index", lambda *a, **k: real(*a, **k) + 1e-6)
    failures = [run_case("concordance", 0, number) for number in range(20)]
    found = [f for f in failures if f is not None]
    assert found
    assert "make fuzz SEED=0 KIND=concordance CASE=" in str(found[0])


def test_leaking_warnings_and_other_errors_are_found(monkeypatch):
    import numpy as np

    import survgauge as sg

    monkeypatch.setattr(sg, "crps", lambda *a, **k: np.log(np.zeros(1))[0])
    assert "RuntimeWarning" in str(run_case("crps", 0, 0))
    monkeypatch.setattr(sg, "crps", lambda *a, **k: {}["x"])
    assert "KeyError" in str(run_case("crps", 0, 0))


def test_closeness_knows_missing_and_infinite_numbers():
    assert close(float("nan"), float("nan"))
    assert not close(float("nan"), 1.0)
    assert close([1.0, float("inf")], [1.0 + 1e-12, float("inf")])
    assert not close(1.0, 1.0 + 1e-6)
    assert close(1e-12, 0.0, 1e-9, 1.0)
