"""Cause-specific Cox model against riskRegression::CSC (r/cause_specific_cox.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the models need scikit-learn")

import survgauge as sg

WANTED = json.loads((Path(__file__).parent / "r" / "cause_specific_cox.json").read_text())
CAUSES = ("first", "second")


@pytest.mark.parametrize("name", sorted(WANTED["datasets"]))
def test_coefficients_and_incidence(name):
    wanted = WANTED["datasets"][name]
    y = sg.Outcomes(wanted["time"], wanted["status"], causes=CAUSES)
    model = sg.models.build("cause_specific_cox").fit(wanted["features"], y)
    found = model.predict_incidence(wanted["new"])
    for k, cause in enumerate(CAUSES):
        want = wanted["causes"][cause]
        np.testing.assert_allclose(model.cox_[k].coefficients, want["coefficients"], rtol=1e-7)
        np.testing.assert_allclose(
            found.at(wanted["times"], cause), want["incidence"], rtol=1e-7, atol=1e-12
        )
