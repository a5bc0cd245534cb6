"""Scores below zero are named."""

from __future__ import annotations

from survgauge.evaluation.warnings import check_measured
from survgauge.metrics.details import Details
from survgauge.metrics.registry import REGISTRY


def test_a_score_below_zero_is_named():
    codes = [
        [w.code for w in check_measured(REGISTRY["ibs"], Details(value, support={}), "m")]
        for value in (-0.01, 0.01)
    ]
    assert codes == [["negative-score"], []]
