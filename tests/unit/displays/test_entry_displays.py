"""Figures of predicted times and of what censored subjects count as, under delayed entry."""

from __future__ import annotations

import naive_entry as naive
import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.data.conditional_curves import given_entry
from survgauge.displays.description import Line, Points
from survgauge.displays.mae_variants import VARIANTS, MAEVariantsDisplay
from survgauge.displays.predicted_actual import PredictedActualDisplay
from survgauge.displays.support import SurrogatesDisplay

Y, CURVES = naive.draw(0, n=120)
TRAIN, _ = naive.draw(1, n=150)
TAU = 9.0


@pytest.fixture(scope="module")
def evaluation() -> sg.Evaluation:
    asked = {"metrics": ["mae_po"], "tau": TAU, "confidence": None}
    return sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, **asked)


def test_predicted_against_actual_given_entry(evaluation: sg.Evaluation) -> None:
    shown = PredictedActualDisplay.from_evaluation(evaluation)
    medians = np.minimum(given_entry(CURVES, Y.entry).median(), TAU)
    np.testing.assert_allclose(shown.predicted, medians, rtol=1e-12)
    wanted = sg.surrogate_times(Y, y_train=TRAIN, tau=TAU)
    np.testing.assert_array_equal(shown.surrogate, wanted.time)
    np.testing.assert_array_equal(shown.weight, wanted.weight)
    assert shown.describe().panels


def test_surrogates_are_points(evaluation: sg.Evaluation) -> None:
    """Subjects censored at one time count as different times, so that no line joins them."""
    shown = SurrogatesDisplay.from_evaluation(evaluation)
    assert not shown.left_out
    wanted = sg.surrogate_times(Y, y_train=TRAIN, tau=TAU, method="pop_po").time
    rows = np.flatnonzero(~Y.event & (Y.time < TAU))
    rows = rows[np.argsort(Y.time[rows], kind="stable")]
    np.testing.assert_array_equal(shown.surrogate["pop_po"], wanted[rows])
    marks = shown.describe().panels[0].marks
    assert not any(isinstance(mark, Line) for mark in marks)
    assert sum(isinstance(mark, Points) for mark in marks) == len(shown.surrogate)
    plain = sg.evaluate({"m": CURVES}, sg.Outcomes(Y.time, Y.event), metrics=["mae_po"])
    marks = SurrogatesDisplay.from_evaluation(plain).describe().panels[0].marks
    assert any(isinstance(mark, Line) for mark in marks)


def test_variants_of_the_mean_absolute_error(evaluation: sg.Evaluation) -> None:
    rows = [3, 5, 8, 11]
    shown = MAEVariantsDisplay.from_evaluation(evaluation, subjects=rows)
    assert tuple(shown.values) == VARIANTS
    for method in VARIANTS:
        value = sg.mae(Y, CURVES, y_train=TRAIN, method=method, tau=TAU)
        assert shown.values[method] == pytest.approx(value, rel=1e-12)
    medians = np.minimum(given_entry(CURVES, Y.entry).median(), TAU)[rows]
    np.testing.assert_allclose(shown.predicted, medians, rtol=1e-12)
    known = shown.weight["po"] > 0
    error = np.abs(shown.counted["po"] - shown.predicted)
    np.testing.assert_allclose(shown.error["po"][known], error[known], rtol=1e-12)


def test_decision_curve_and_calibration_panel(evaluation: sg.Evaluation) -> None:
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, metrics=["ici"], time=5.0)
    for kind in ("decision_curve", "calibration_panel", "one_calibration"):
        assert ev.plot(kind) is not None


@pytest.mark.parametrize("kind", ["incidence", "risk_groups"])
def test_a_figure_that_knows_no_entry_says_what_to_do_instead(
    evaluation: sg.Evaluation, kind: str
) -> None:
    late = int(np.count_nonzero(Y.entry))
    said = rf"y_test has for {late} of 120 subjects; .*landmark=s\).* or look at mean_curve"
    with pytest.raises(sg.InputError, match=said):
        displays.display(evaluation, kind)
    asked = {"metrics": ["mae_po"], "confidence": None}
    at = sg.evaluate({"m": CURVES}, Y, landmark=2.0, **asked)
    assert displays.display(at, kind).rows()
    assert displays.display(evaluation, "mean_curve").rows()


def test_outcomes_are_called_as_the_figure_does() -> None:
    with pytest.raises(sg.InputError, match="delayed entry, which y has for"):
        displays.IncidenceDisplay.from_outcomes(Y)
    assert displays.IncidenceDisplay.from_outcomes(Y.from_landmark(2.0)).rows()
