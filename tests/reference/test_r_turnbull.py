"""Turnbull's estimate from R: npsurv, and survfit's EM (r/turnbull.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg

WANTED = json.loads((Path(__file__).parent / "r" / "turnbull.json").read_text())["datasets"]


def or_infinite(values):
    found = np.array(values, float)
    return np.where(found < 0, np.inf, found)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_weights_and_likelihood_equal_npsurv(name):
    wanted = WANTED[name]
    distribution = sg.Turnbull.fit((wanted["lower"], or_infinite(wanted["upper"])))
    intervals = np.stack([wanted["left"], or_infinite(wanted["right"])], axis=1)
    np.testing.assert_array_equal(distribution.intervals, intervals)
    np.testing.assert_allclose(distribution.mass, wanted["mass"], atol=1e-8)
    assert distribution.log_likelihood == pytest.approx(wanted["log_likelihood"], abs=1e-10)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_close_to_the_em_of_survfit(name):
    # survfit stops its EM early: it lacks up to 0.004 in the estimate, and likelihood.
    wanted = WANTED[name]
    distribution = sg.Turnbull.fit((wanted["lower"], or_infinite(wanted["upper"])))
    np.testing.assert_allclose(distribution.at(wanted["bounds"]), wanted["survfit"], atol=5e-3)


def test_published_weights_of_the_cosmesis_data():
    # Finkelstein and Wolfe (1985); weights as printed in the literature, four digits.
    wanted = WANTED["radiotherapy"]
    distribution = sg.Turnbull.fit((wanted["lower"], or_infinite(wanted["upper"])))
    assert distribution.intervals.tolist()[:-1] == [
        [4, 5], [6, 7], [7, 8], [11, 12], [24, 25], [33, 34], [38, 40],
    ]  # fmt: skip
    assert distribution.mass.round(4).tolist() == [
        0.0463, 0.0334, 0.0887, 0.0708, 0.0926, 0.0818, 0.1209, 0.4656,
    ]  # fmt: skip
