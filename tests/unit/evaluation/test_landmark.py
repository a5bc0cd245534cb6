"""From a landmark on, results do not depend on the unit of time: decimal times that tie, tie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import survgauge as sg

UNITS = (1e-6, 7.0, 1 / 365.25, 30.4375)


def _asked(seed: int, unit: float, causes: bool, entry: bool) -> dict[str, Any]:
    """Return arguments of `evaluate`: few subjects, times with one decimal, many ties."""
    rng = np.random.default_rng(seed)
    n = 14
    time, event = rng.integers(1, 60, n) / 10, rng.integers(0, 3 if causes else 2, n)
    event[:2] = 1, 2 if causes else 1
    entered = np.where(rng.random(n) < 0.5, rng.integers(0, 25, n) / 10, 0.0)
    entered = np.where(entered < time, entered, 0.0) if entry else np.zeros(n)
    grid, rate = np.arange(61) / 10, rng.uniform(0.05, 0.4, (n, 2, 1))
    names = ["a", "b"] if causes else None
    y = sg.Outcomes(time * unit, event, None, names, entered * unit)
    predicted: Any
    if causes:
        total = rate.sum(axis=1, keepdims=True)
        incidence = (1 - np.exp(-total * grid)) * rate / total
        predicted = sg.IncidenceCurves(grid * unit, incidence, causes=names)
    else:
        how = "step" if seed % 2 else "linear"
        predicted = sg.SurvivalCurves(grid * unit, np.exp(-rate[:, 0] * grid), how)
    return {
        "predictions": predicted, "y_test": y, "by": {"half": np.arange(n) % 2}, "min_g": 0.0,
        "min_at_risk": 1, "confidence": None, "cause": "a" if causes else None,
    }  # fmt: skip


def _values(found: Any, unit: float) -> dict[Any, float]:
    out = {}
    for row in found.rows():
        if row["metric"] == "log_likelihood":  # a density per unit of time
            continue
        value, name = row["value"], row["metric"]
        if name.startswith(("mae", "rmse", "mse", "crps", "bias")):
            value /= unit ** (2 if name.startswith("mse") else 1)
        out[row["model"], name, row.get("group"), row.get("level")] = value
    return out


def _compare(seed: int, causes: bool, entry: bool, **when: float) -> None:
    with np.errstate(all="ignore"):
        plain = _values(sg.evaluate(**_asked(seed, 1.0, causes, entry), **when), 1.0)
        for unit in UNITS:
            there = {name: value * unit for name, value in when.items()}
            found = _values(sg.evaluate(**_asked(seed, unit, causes, entry), **there), unit)
            assert found.keys() == plain.keys()
            for key, value in found.items():
                assert value == pytest.approx(plain[key], rel=1e-6, abs=1e-8, nan_ok=True), (
                    key, unit, seed,
                )  # fmt: skip


@pytest.mark.parametrize("entry", [False, True])
@pytest.mark.parametrize("causes", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_unit_of_time_changes_nothing(seed: int, causes: bool, entry: bool) -> None:
    landmark = (2.0, 1.3, 0.7)[seed % 3]
    _compare(seed, causes, entry, landmark=landmark, tau=1.1, time=1.1)


@pytest.mark.parametrize("seed", range(6))
def test_nor_does_it_under_delayed_entry_without_a_landmark(seed: int) -> None:
    _compare(seed, False, True, tau=4.3)


def test_observed_times_and_grids_meet_tau() -> None:
    y = sg.Outcomes([2.5, 3.3, 3.3, 4.0, 5.0], [1, 1, 0, 1, 0])
    grid = np.array([1.0, 2.0, 3.3, 4.0])
    curves = sg.SurvivalCurves(grid, np.tile([0.9, 0.8, 0.4, 0.2], (5, 1)), "step")
    asked = {"landmark": 2.0, "tau": 1.3, "metrics": "brier", "min_at_risk": 1, "min_g": 0.0}
    found = sg.evaluate(curves, y, y_train=y, **asked)
    assert found.task.y.time[1] == found.task.tau == 1.3
    assert found.predictions["model"].curves.times[0] == 1.3
    assert found.predictions["model"].curves.at(1.3)[0] == 0.5


@pytest.mark.parametrize("argument", ["X_train", "X_test", "by", "sample_weight", "cluster"])
@pytest.mark.parametrize("length", [13, 15])
def test_arguments_of_another_length_are_refused(argument: str, length: int) -> None:
    given = _asked(0, 1.0, False, False) | {"by": None, "landmark": 1.0}
    given |= {"y_train": given["y_test"], argument: np.ones((length, 2))[:, 0]}
    said = f"{argument} must have one entry per subject, .*: 14; got {length}"
    with pytest.raises(sg.InputError, match=said):
        sg.evaluate(**given)


def test_a_column_of_groups_of_another_length_is_named() -> None:
    given = _asked(0, 1.0, False, False) | {"by": {"half": np.arange(20)}, "landmark": 1.0}
    with pytest.raises(sg.InputError, match=r"by\['half'\] must have one entry per subject"):
        sg.evaluate(**given)


def test_names_of_models_are_distinct_from_a_landmark_on() -> None:
    given = _asked(0, 1.0, False, False) | {"landmark": 1.0}
    given["predictions"] = {1: given["predictions"], "1": given["predictions"]}
    with pytest.raises(sg.InputError, match="predictions must have distinct names"):
        sg.evaluate(**given)
    with pytest.raises(sg.InputError, match="at least one model"):
        sg.evaluate(**given | {"predictions": {}})
