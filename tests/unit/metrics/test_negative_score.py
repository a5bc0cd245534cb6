"""Scores below zero are named."""

from __future__ import annotations

from survgauge import SurvivalCurves
from survgauge.evaluation.cells import check_measured
from survgauge.metrics.probability.brier import integrated_brier_score
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.score import Score


def test_a_score_below_zero_is_named():
    codes = [
        [w.code for w in check_measured(REGISTRY["ibs"], Score(value, support={}), "m")]
        for value in (-0.01, 0.01)
    ]
    assert codes == [["negative-score"], []]


def test_details_of_a_score_below_zero_say_what_evaluate_says():
    # Simpson's rule on these times gives the last one a negative weight: there the model is wrong.
    y = ([5.0, 6.0, 7.0, 8.0], [1, 1, 1, 1])
    curves = SurvivalCurves([0, 3.9, 4], [[1.0, 1.0, 0.0]] * 4)
    times = [0.0, 3.9, 4.0]
    details = integrated_brier_score(y, curves, times, convention="pycox")
    assert details.value < 0
    (remark,) = check_measured(REGISTRY["ibs"], details, "m")
    assert remark.message == details.support["negative_score"]
    usual = integrated_brier_score(y, curves, times)
    assert "negative_score" not in usual.support
