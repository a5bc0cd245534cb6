"""Curves given entry where nothing is known of them: past the grid, with the tail "nan"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import from_landmark, given_entry
from survgauge.errors import InputError

#: From the beginning, inside the grid, at its end, and past it.
ENTRY = np.array([0.0, 10.0, 20.0, 25.0])
GRID = np.array([0.0, 10.0, 20.0])
KNOWN = np.array([True, True, False, False])


def curves_of(kind: str, interpolation: Any) -> sg.SurvivalCurves:
    survival = np.tile([1.0, 0.6, 0.2], (4, 1))
    times = np.tile(GRID, (4, 1)) if kind == "own grids" else GRID
    if kind == "one curve":
        survival = np.broadcast_to(survival[0], (4, 3))
    return sg.SurvivalCurves(times, survival, interpolation=interpolation, tail="nan")


@pytest.fixture(params=["common grid", "own grids", "one curve"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
def test_nothing_is_known_after_an_entry_past_the_grid(kind: str, interpolation: str) -> None:
    late = given_entry(curves_of(kind, interpolation), ENTRY)
    assert np.array_equal(np.isfinite(late.median()), KNOWN)
    assert np.array_equal(np.isfinite(late.quantile(0.1)), KNOWN)
    assert np.isnan(late.mean()).all()  # the tail is known of nobody
    assert np.isnan(late.rmst(30.0)).all()
    assert np.array_equal(late.at_own(ENTRY), np.ones(4))
    assert np.array_equal(np.isfinite(late.at_own(ENTRY + 1)), KNOWN)
    assert np.isnan(late.at([26.0])).all()


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
def test_up_to_the_entry_everything_is_known(kind: str, interpolation: str) -> None:
    late = given_entry(curves_of(kind, interpolation), ENTRY)
    assert late.rmst(15.0)[2:].tolist() == [15.0, 15.0]
    assert late.rmst(22.0)[3] == 22.0
    assert late.at([22.0])[3, 0] == 1.0


def test_the_same_holds_for_a_cause() -> None:
    values = np.tile([[0.0, 0.2, 0.3], [0.0, 0.1, 0.2]], (4, 1, 1))
    late = given_entry(sg.IncidenceCurves(GRID, values).only(1), ENTRY)
    assert np.array_equal(np.isfinite(late.quantile(0.1)), KNOWN)
    assert np.isnan(late.rmst(30.0)).all()
    assert late.rmst(22.0)[3] == 22.0
    assert np.array_equal(late.at_own(ENTRY), np.ones(4))


def test_curves_without_a_tail_must_go_past_a_landmark() -> None:
    curves = curves_of("common grid", "linear")
    assert from_landmark(curves, 10.0).at([10.0]).round(3).tolist() == [[0.333]] * 4
    for s in (20.0, 25.0):
        with pytest.raises(InputError, match=f"past the landmark {s:g}; 4 of 4 end .* at 20$"):
            from_landmark(curves, s)
    ended = sg.SurvivalCurves(GRID, np.tile([1.0, 0.5, 0.0], (4, 1)), tail="nan")
    assert from_landmark(ended, 25.0).at([1.0]).ravel().tolist() == [0.0] * 4
