"""The table of C-indices under every package's convention."""

from __future__ import annotations

import numpy as np
import pytest
from discrimination_data import tied_case

import survgauge as sg

TRAIN, TEST, RISK, GRID, SURVIVAL = tied_case()
CURVES = sg.SurvivalCurves(GRID, SURVIVAL)


def values(found):
    return {(row.package, row.call.split("(")[0]): row.value for row in found}


def test_rows_are_the_numbers_of_the_presets():
    found = sg.concordance_by_package(TEST, CURVES, y_train=TRAIN, tau=8.0)
    by_call = {(row.package, row.call): row for row in found}
    risk = -CURVES.median()
    sksurv = by_call["scikit-survival", "concordance_index_ipcw(..., tau)"]
    options = {"method": "uno", "y_train": TRAIN, "tau": 8.0}
    assert sksurv.value == sg.concordance_index(TEST, risk, convention="sksurv", **options)
    harrell = sg.concordance_index(TEST, risk)
    assert by_call["lifelines", "concordance_index(time, predicted, event)"].value == harrell
    assert by_call["survgauge", "harrell"].difference == 0
    assert sksurv.difference == pytest.approx(sksurv.value - harrell)
    strict = by_call["pycox", 'concordance_td("antolini")'].value
    assert strict == sg.concordance_td(TEST, CURVES, convention="pycox")
    assert found.spread == max(r.value for r in found) - min(r.value for r in found) > 0.01


def test_every_row_says_why_and_no_package_twice_the_same_call():
    found = sg.concordance_by_package(TEST, CURVES, y_train=TRAIN)
    calls = [(row.package, row.call) for row in found]
    assert len(set(calls)) == len(calls) == len(found)
    assert all(row.why.endswith(".") for row in found)


def test_risks_have_no_rows_for_curves():
    found = sg.concordance_by_package(TEST, sg.RiskScores(RISK), y_train=TRAIN)
    assert {row.package for row in found}.isdisjoint({"pycox", "hazardous"})
    assert np.isfinite([row.value for row in found]).all()


def test_a_form_without_a_value_says_so():
    # Margin times need an event in the reference set.
    train = ([3.0, 4.0], [0, 0])
    found = sg.concordance_by_package(TEST, sg.RiskScores(RISK), y_train=train)
    margin = next(row for row in found if "Margin" in row.call)
    assert np.isnan(margin.value)
    assert "has no value" in margin.why


def test_it_prints_a_table_and_gives_a_frame():
    found = sg.concordance_by_package(TEST, CURVES)
    lines = str(found).splitlines()
    assert len(lines) == len(found) + 2
    assert list(found.frame().columns) == ["package", "call", "value", "difference", "why"]
