"""Rules and counts heed weights: two rows and a weight of two say the same."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=N)
T, C = 10 * np.exp(0.3 * X) * RNG.weibull(1.5, N), RNG.uniform(0, 20, N)
TIME, EVENT = np.minimum(T, C), T <= C


def short_curves(end):
    grid = np.linspace(0, end, 60)
    return grid, np.exp(-((grid / (8 * np.exp(0.3 * X))[:, None]) ** 1.5))


def codes(evaluation, code):
    return [w.message for w in evaluation.warnings if w.code == code]


def test_what_lies_past_the_curves_counts_by_sampling_weight():
    grid, survival = short_curves(15.5)
    weight = np.where(TIME > 15.5, 20, 1)
    assert np.mean(TIME > 15.5) <= 0.05  # few subjects, much weight
    rows = np.repeat(np.arange(N), weight)
    options = {"y_train": (TIME, EVENT), "metrics": ["crps", "log_likelihood", "antolini"]}
    curves = sg.SurvivalCurves(grid, survival)
    repeated = sg.evaluate(curves[rows], (TIME[rows], EVENT[rows]), **options)
    weighted = sg.evaluate(curves, (TIME, EVENT), sample_weight=weight, **options)
    for row in (*repeated.rows(), *weighted.rows()):
        assert np.isnan(row["value"])
    own = [w.message for w in weighted.cases if w.metric == "crps"]
    assert own == [w.message for w in repeated.cases if w.metric == "crps"]


@pytest.mark.parametrize("kind", ["frequencies", "sampling weights", "stream"])
def test_times_read_off_tails_count_by_weight(kind):
    grid, survival = short_curves(9.0)
    weight = np.where(survival[:, -1] > 0.5, 6, 1)
    rows = np.repeat(np.arange(N), weight)
    curves = sg.SurvivalCurves(grid, survival)
    options = {"y_train": (TIME, EVENT), "metrics": ["mae_po"]}
    repeated = sg.evaluate(curves[rows], (TIME[rows], EVENT[rows]), **options)
    if kind == "frequencies":
        found = sg.evaluate(curves, sg.Outcomes(TIME, EVENT, weight=weight), **options)
    elif kind == "sampling weights":
        found = sg.evaluate(curves, (TIME, EVENT), sample_weight=weight, **options)
    else:
        pytest.importorskip("pandas")
        batches = [
            {"time": TIME[part], "event": EVENT[part], "w": weight[part], "s": survival[part]}
            for part in (slice(0, 100), slice(100, N))
        ]
        found = sg.evaluate_stream(
            batches, predictions={"model": sg.CurveColumns("s", times=grid)}, weight_column="w",
            **options,
        )  # fmt: skip
    share = repeated.support["tail_share"]["model"]
    assert found.support["tail_share"]["model"] == pytest.approx(share, rel=1e-12)
    assert share > 0.1
    assert codes(found, "tail-times") == codes(repeated, "tail-times") != []


def test_a_g_of_zero_for_everybody_has_no_score():
    grid, survival = short_curves(40.0)
    curves = sg.SurvivalCurves(grid, survival)

    def nobody(t, side):
        return np.zeros(N)

    with pytest.raises(sg.UndefinedMetricError, match="0 for every subject"):
        sg.brier_score((TIME, EVENT), curves, [5.0], censoring=nobody)
    found = sg.evaluate(curves, (TIME, EVENT), censoring=nobody, metrics=["brier", "ibs", "ibll"])
    assert all(np.isnan(row["value"]) for row in found.rows())


def test_the_prediction_of_an_absent_subject_is_not_anothers():
    grid, survival = short_curves(40.0)
    weight = np.r_[0.0, 0.0, np.ones(N - 2)]
    y = sg.Outcomes(TIME, EVENT, weight=weight)
    found = sg.integrated_calibration_index(y, sg.SurvivalCurves(grid, survival), 6.0)
    assert np.isnan(found.predicted[:2]).all()
    assert np.isnan(found.observed[:2]).all()
    assert not np.isnan(found.predicted[2:]).any()
    assert " object at 0x" not in repr(found)


def test_warnings_that_test_subjects_who_count_alike_are_not_given_under_sampling_weights():
    rng = np.random.default_rng(1)
    m = 3000
    t, c = 10 * rng.weibull(1.5, m), rng.exponential(12, m)
    time, event = np.minimum(t, c), t <= c
    kept = rng.random(m) < np.where(event, 1.0, 0.1)
    weight = np.where(event, 1.0, 10.0)[kept]
    options = {"y_train": (time, event), "metrics": ["mae_po"]}
    predicted = np.full(kept.sum(), 7.0)
    plain = sg.evaluate(predicted, (time[kept], event[kept]), **options)
    assert codes(plain, "follow-up-differs")
    given = sg.evaluate(predicted, (time[kept], event[kept]), sample_weight=weight, **options)
    assert not codes(given, "follow-up-differs")
    with pytest.raises(sg.InputError, match="X_test cannot be given together with sample_weight"):
        sg.evaluate(
            predicted, (time[kept], event[kept]), sample_weight=weight, X_test=predicted[:, None],
            **options,
        )  # fmt: skip


def test_a_group_that_ends_before_the_first_step_has_no_integrated_score():
    # One time was doubled when steps were moved onto known times, and 0 / 0 leaked a warning.
    grid, survival = short_curves(40.0)
    time, group = TIME.copy(), np.repeat(["a", "b"], [N - 5, 5])
    time[group == "b"] = 1e-6
    found = sg.evaluate(
        sg.SurvivalCurves(grid, survival), (time, EVENT), y_train=(TIME, EVENT), by=group,
        metrics=["ibs"],
    )  # fmt: skip
    values = {row["group"]: row["value"] for row in found.rows()}
    assert np.isnan(values["b"])
    assert np.isfinite(values["a"])
