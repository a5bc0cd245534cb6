"""Averages over places (metafor) and over imputations (mice), from tests/reference/r/pooling.R."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import survgauge as sg
from survgauge.evaluation.pooling import Rubin

WANTED = json.loads((Path(__file__).parent / "r" / "pooling.json").read_text())


@pytest.mark.parametrize("name", sorted(WANTED["places"]))
def test_meta_analysis(name):
    wanted = WANTED["places"][name]
    found = sg.meta_analysis(wanted["estimates"], wanted["stderr"], scale=wanted["scale"])
    for field in ("value", "low", "high", "tau2", "i2", "statistic", "p_value"):
        assert getattr(found, field) == pytest.approx(wanted[field], abs=1e-7), field
    # metafor takes tau^2 as known; heeding that it is not makes the interval wider.
    assert found.prediction_low < wanted["prediction_low"]
    assert found.prediction_high > wanted["prediction_high"]


@pytest.mark.parametrize("name", sorted(WANTED["imputations"]))
def test_rubins_rules(name):
    wanted = WANTED["imputations"][name]
    found = Rubin.of(wanted["estimates"], wanted["stderr"], wanted["subjects"] - 1)
    assert found.value == pytest.approx(wanted["value"], rel=1e-12)
    assert found.stderr**2 == pytest.approx(wanted["variance"], rel=1e-12)
    assert found.freedom == pytest.approx(wanted["freedom"], rel=1e-9)
    assert found.missing == pytest.approx(wanted["fmi"], rel=1e-9)
