"""Figures of predicted times and of what censored subjects count as, under delayed entry."""

from __future__ import annotations

import naive_entry as naive
import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.data.conditional_curves import given_entry
from survgauge.report.displays.description import Line, Points

Y, CURVES = naive.draw(0, n=120)
TRAIN, _ = naive.draw(1, n=150)
TAU = 9.0


@pytest.fixture(scope="module")
def evaluation() -> sg.Evaluation:
    asked = {"metrics": ["mae_po"], "tau": TAU, "confidence": None}
    return sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, **asked)


def test_predicted_against_actual_given_entry(evaluation: sg.Evaluation) -> None:
    shown = displays.display(evaluation, "predicted_actual")
    medians = np.minimum(given_entry(CURVES, Y.entry).median(), TAU)
    np.testing.assert_allclose(shown.column("predicted"), medians, rtol=1e-12)
    wanted = sg.surrogate_times(Y, y_train=TRAIN, tau=TAU)
    np.testing.assert_array_equal(shown.column("counted"), wanted.time)
    np.testing.assert_array_equal(shown.column("weight"), wanted.weight)
    assert shown.describe().panels


def test_imputed_times_are_points(evaluation: sg.Evaluation) -> None:
    """Subjects censored at one time count as different times, so that no line joins them."""
    shown = displays.display(evaluation, "imputed_times")
    assert not shown.chart.left_out
    wanted = sg.surrogate_times(Y, y_train=TRAIN, tau=TAU, method="pop_po").time
    rows = np.flatnonzero(~Y.event & (Y.time < TAU))
    rows = rows[np.argsort(Y.time[rows], kind="stable")]
    np.testing.assert_array_equal(shown.column("counted", method="pop_po"), wanted[rows])
    marks = shown.describe().panels[0].marks
    assert not any(isinstance(mark, Line) for mark in marks)
    assert sum(isinstance(mark, Points) for mark in marks) == len(shown.table)
    plain = sg.evaluate({"m": CURVES}, sg.Outcomes(Y.time, Y.event), metrics=["mae_po"])
    marks = displays.display(plain, "imputed_times").describe().panels[0].marks
    assert any(isinstance(mark, Line) for mark in marks)


def test_decision_curve_and_calibration_panel(evaluation: sg.Evaluation) -> None:
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, metrics=["ici"], time=5.0)
    for kind in ("decision_curve", "calibration_panel"):
        assert ev.plot(kind) is not None
    shown = displays.display(ev, "calibration_panel")
    counts = [shown.column(name, part="bars").sum() for name in ("event", "free", "censored")]
    assert sum(counts) == np.count_nonzero(Y.entry < 5.0)  # the others have no prediction at 5


def test_groups_know_no_entry_and_say_what_to_do_instead(evaluation: sg.Evaluation) -> None:
    late = int(np.count_nonzero(Y.entry))
    said = rf"y_test has for {late} of 120 subjects; .*landmark=s\).* curves without groups"
    group = np.arange(120) % 2
    for options in ({"by": "risk"}, {"by": group}):
        with pytest.raises(sg.InputError, match=said):
            displays.display(evaluation, "curves", **options)
    asked = {"metrics": ["mae_po"], "confidence": None}
    at = sg.evaluate({"m": CURVES}, Y, landmark=2.0, **asked)
    assert displays.display(at, "risk_groups").rows()


def test_numbers_at_risk_are_those_who_entered(evaluation: sg.Evaluation) -> None:
    shown = displays.display(evaluation, "curves")
    time, found = shown.column("time"), shown.column("at_risk")
    wanted = [np.sum((Y.entry <= t) & (Y.time >= t)) for t in time]
    np.testing.assert_array_equal(found, wanted)
