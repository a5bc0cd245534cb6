"""Arguments that were renamed work for one version, with a warning that says what to write."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.bench.experiment.specs import MetricSpec

CURVES = sg.SurvivalCurves([1, 2, 3], [[0.9, 0.5, 0.2], [0.8, 0.3, 0.1]])


def test_conditional_takes_and_gives_a_law():
    with pytest.warns(DeprecationWarning, match=r"law= of Conditional goes in 0.3.*distribution="):
        given = sg.Conditional(law=CURVES)
    assert given.distribution is CURVES
    with pytest.warns(DeprecationWarning, match="write .distribution"):
        assert given.law is CURVES


@pytest.mark.parametrize("function", [sg.brier_score, sg.integrated_brier_score])
def test_scores_of_intervals_take_a_law(function):
    y = sg.IntervalOutcomes([0.5, 1.0], [1.5, 3.0])
    known = function(y, CURVES, [1.0, 2.0], distribution=CURVES)
    with pytest.warns(DeprecationWarning, match=f"law= of {function.__name__} goes"):
        found = function(y, CURVES, [1.0, 2.0], law=CURVES)
    np.testing.assert_array_equal(getattr(found, "values", found), getattr(known, "values", known))


def test_plans_and_streams_take_a_law():
    with pytest.warns(DeprecationWarning, match="law= of metric 'mae_dr' goes"):
        spec = MetricSpec.of({"name": "mae_dr", "law": "blend"})
    assert spec.settings["distribution"] == "blend"
    batch = {
        "time": [1.0, 2.0],
        "event": [1, 1],
        "m": [[0.9, 0.1], [0.8, 0.3]],
        "s": [[0.9, 0.1]] * 2,
    }
    with pytest.warns(DeprecationWarning, match="law= of conditional goes"):
        sg.evaluate_stream(
            [batch], predictions={"m": sg.CurveColumns("m", [1, 2])}, metrics="mae_dr", tau=2.0,
            y_train=([1, 2], [1, 1]), conditional={"law": sg.CurveColumns("s", [1, 2])},
        )  # fmt: skip


def test_metrics_of_version_0_1_work(registry):
    """`problem.mass`, `Terms(pulls=)`, `Score.psi` and the fields that say what is supported."""
    seen = []

    def ours(task, prediction):
        with pytest.warns(DeprecationWarning, match="Task.mass goes in 0.3; write .weight"):
            seen.append(task.mass)
        with pytest.warns(DeprecationWarning, match="pulls= of Terms goes in 0.3"):
            return sg.Terms(seen[-1] * task.y.event, seen[-1], pulls=None)

    with pytest.warns(DeprecationWarning, match=r"causes of Metric go in 0.3; write supports=\['c"):
        old = sg.Metric(
            name="ours", title="Ours", terms=ours, takes_sample_weight=False, takes_entry=True,
            causes="takes", default=False,
        )  # fmt: skip
    assert old.supports == {"entry", "cause", "entry of a cause"}
    sg.register_metric(old)
    ev = sg.evaluate({"m": CURVES}, ([1, 2], [1, 0]), metrics="ours")
    assert ev.rows()[0]["value"] == 0.5
    score = sg.mae(([1, 2], [1, 1]), [1.0, 3.0], method="uncensored")
    with pytest.warns(DeprecationWarning, match="psi goes in 0.3; write .contributions"):
        np.testing.assert_array_equal(score.psi, score.contributions)
