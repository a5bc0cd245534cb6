"""Averages over groups of subjects and over imputed datasets."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import survgauge as sg


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time, censoring = rng.exponential(np.exp(x)), rng.exponential(4, n)
    return rng, x, sg.Outcomes(np.minimum(time, censoring), time <= censoring)


# -- places -------------------------------------------------------------------------------------


def test_groups_are_averaged_on_the_scale_of_the_metric():
    rng, x, y = data()
    hospital = rng.integers(0, 5, len(y))
    models = {"x": sg.RiskScores(-x), "noisy": sg.RiskScores(-x + rng.normal(size=len(y)))}
    ev = sg.evaluate(models, y, metrics=["harrell"], by={"hospital": hospital})
    found = {row["model"]: row for row in ev.to_dict()["meta_analysis"]}
    assert set(found) == {"x", "noisy"}
    scores = [s for s in ev.scores if s.group is not None and s.model == "x"]
    direct = sg.meta_analysis([s.value for s in scores], [s.stderr for s in scores], scale="logit")
    assert found["x"]["by"] == "hospital"
    assert found["x"]["groups"] == 5
    assert found["x"]["scale"] == "logit"
    for name in ("value", "low", "high", "prediction_low", "prediction_high", "tau2", "i2"):
        assert found["x"][name] == pytest.approx(getattr(direct, name), rel=1e-12)
    differences = {row["model"]: row for row in ev.to_dict()["group_differences"]}
    assert found["x"]["statistic"] == pytest.approx(differences["x"]["statistic"], rel=1e-12)
    assert found["x"]["p_value"] == pytest.approx(differences["x"]["p_value"], rel=1e-12)


def test_targets_are_averaged_too_and_tests_are_not():
    rng, x, y = data()
    grid = np.linspace(0, 12, 30)
    curves = sg.SurvivalCurves(grid, np.exp(-np.outer(np.exp(-x), grid)))
    names = ["calibration_slope", "d_calibration"]
    ev = sg.evaluate(curves, y, metrics=names, by=rng.integers(0, 3, len(y)), time=1.0)
    (row,) = ev.to_dict()["meta_analysis"]
    assert row["metric"] == "calibration_slope"
    assert row["low"] < 1.0 < row["high"]


def test_distances_which_small_groups_inflate_are_not_averaged():
    rng, x, y = data()
    grid = np.linspace(0, 12, 30)
    curves = sg.SurvivalCurves(grid, np.exp(-np.outer(np.exp(-x), grid)))
    names = ["ici", "km_calibration", "brier"]
    ev = sg.evaluate(curves, y, metrics=names, by=rng.integers(0, 3, len(y)), time=1.0)
    assert [row["metric"] for row in ev.to_dict()["meta_analysis"]] == ["brier"]


def test_without_groups_and_with_one_group_there_is_nothing_to_average():
    _, x, y = data(100)
    pytest.importorskip("pandas")
    assert sg.evaluate(-x, y, metrics=["mae_hinge"]).meta_analysis().empty
    one = sg.evaluate(np.exp(x), y, metrics=["mae_hinge"], by=np.zeros(100))
    assert one.meta_analysis().empty


def test_equal_estimates_have_no_variance_between_places():
    found = sg.meta_analysis([2.0, 2.0, 2.0], [0.5, 0.5, 0.5])
    assert found.tau2 == 0.0
    assert found.i2 == 0.0
    assert found.value == pytest.approx(2.0)
    assert np.isnan(found.low)  # no width can be told from estimates that do not differ
    assert np.isnan(found.prediction_high)


def test_two_places_have_no_prediction_interval():
    found = sg.meta_analysis([0.6, 0.7], [0.05, 0.05], scale="logit")
    assert np.isnan(found.prediction_low)
    assert "prediction" not in str(found)
    assert found.low < found.value < found.high


def test_large_and_small_units_give_the_same_answer():
    one = sg.meta_analysis([1.0, 2.0, 4.0, 3.0], [0.5, 0.4, 0.6, 0.5])
    many = sg.meta_analysis(
        np.array([1.0, 2.0, 4.0, 3.0]) * 1e6, np.array([0.5, 0.4, 0.6, 0.5]) * 1e6
    )
    for name in ("value", "low", "high", "prediction_low", "prediction_high"):
        assert getattr(many, name) == pytest.approx(1e6 * getattr(one, name), rel=1e-6)
    assert many.i2 == pytest.approx(one.i2, rel=1e-6)


def test_bad_places_are_refused():
    with pytest.raises(sg.InputError, match="estimates must be of at least two places; got 1"):
        sg.meta_analysis([0.7], [0.1])
    with pytest.raises(sg.InputError, match="stderr must be positive"):
        sg.meta_analysis([0.7, 0.6], [0.1, 0.0])
    with pytest.raises(sg.InputError, match=r"estimates must lie inside.*'logit'; got 1"):
        sg.meta_analysis([0.7, 1.0], [0.1, 0.1], scale="logit")
    with pytest.raises(sg.InputError, match="estimates"):
        sg.meta_analysis([0.7, np.nan], [0.1, 0.1])


# -- imputations --------------------------------------------------------------------------------


def evaluations(m=4, **options):
    rng, x, y = data(150)
    found = []
    for _ in range(m):
        risk = -x + rng.normal(0, 0.5, len(y))
        models = {"a": sg.RiskScores(risk), "b": sg.RiskScores(risk + rng.normal(0, 2, len(y)))}
        found.append(sg.evaluate(models, y, metrics=["harrell"], **options))
    return found


def test_pooled_by_hand():
    found = evaluations()
    result = sg.pooled(found)
    scores = [ev.scores[0] for ev in found]
    q = logit([s.value for s in scores])
    u = np.array([s.stderr / (s.value * (1 - s.value)) for s in scores]) ** 2
    row = result.rows()[0]
    assert row["value"] == pytest.approx(expit(q.mean()), rel=1e-12)
    assert row["stderr"] ** 2 == pytest.approx(u.mean() + 1.25 * q.var(ddof=1), rel=1e-12)
    assert row["low"] < row["value"] < row["high"]
    assert 0 < row["missing"] < 1
    (difference,) = result.comparisons()
    gaps = [ev.scores[0].value - ev.scores[1].value for ev in found]
    assert difference["difference"] == pytest.approx(np.mean(gaps), rel=1e-12)
    assert difference["p_value"] < 0.05
    assert "Pooled over 4 imputed datasets" in str(result)
    assert json.loads(json.dumps(result.to_dict()))["imputations"] == 4


def test_the_same_data_set_twice_pools_to_itself():
    (ev,) = evaluations(1)
    row, own = sg.pooled([ev, ev]).rows()[0], ev.rows()[0]
    assert row["value"] == pytest.approx(own["value"])
    # But for t instead of normal quantiles.
    assert row["low"] == pytest.approx(own["low"], abs=2e-3)
    assert row["high"] == pytest.approx(own["high"], abs=2e-3)


def test_groups_and_clusters_are_pooled():
    pytest.importorskip("pandas")
    groups = np.arange(150) % 2
    result = sg.pooled(evaluations(2, by={"sex": groups}))
    assert set(result.table["group"]) == {"all subjects", "sex=0", "sex=1"}
    assert "sex=1" in str(result)
    assert len(result.compare()) == 3
    clustered = sg.pooled(evaluations(2, cluster=np.arange(150) % 12)).rows()[0]
    assert clustered["freedom"] < 11


def test_an_undefined_metric_stays_undefined():
    _, x, y = data(60)
    none = sg.Outcomes(y.time, np.zeros(60, bool))
    ev = sg.evaluate(sg.RiskScores(x), none, metrics=["harrell"])
    row = sg.pooled([ev, ev]).rows()[0]
    assert np.isnan(row["value"])
    assert np.isnan(row["low"])


def test_bad_lists_are_refused():
    one, two = evaluations(2)
    with pytest.raises(sg.InputError, match="at least two results of evaluate; got 1"):
        sg.pooled([one])
    with pytest.raises(sg.InputError, match="got str"):
        sg.pooled([one, "two"])
    with pytest.raises(sg.InputError, match=r"evaluations\[1\] has no intervals"):
        sg.pooled([one, *evaluations(1, confidence=None)])
    _, x, y = data(150)
    other = sg.evaluate({"a": sg.RiskScores(x)}, y, metrics=["harrell"])
    with pytest.raises(sg.InputError, match=r"evaluations\[2\] differs from the first in models"):
        sg.pooled([one, two, other])


def test_limits_stay_where_values_can_be_and_times_are_written_as_given():
    rng, x, y = data(seed=1)
    grid = np.linspace(0, 12, 30)

    def imputed():
        late = np.exp(-x + 0.05 * rng.normal(size=len(x)))
        curves = sg.SurvivalCurves(grid, np.exp(-np.outer(late, grid)))
        return sg.evaluate(curves, y, metrics=["ici", "brier"], time=[0.5, 1.0])

    found = sg.pooled([imputed() for _ in range(3)])
    ici = [row for row in found.rows() if row["metric"] == "ici"]
    assert all(0.0 == row["low"] < row["value"] < row["high"] for row in ici)
    assert "ici at 0.5 " in str(found)
    assert "brier at 1 " in str(found)


def test_a_place_that_knows_nearly_everything_leaves_the_numbers_of_the_others():
    """Its weight of 1e10 must not swallow the digits of tau2 and I2."""
    apart = sg.meta_analysis([0.5, 0.7, 0.9], [1e-5, 1.0, 1.0])
    assert apart.value == pytest.approx(0.5, abs=1e-8)
    assert 0 <= apart.i2 < 1e-6
    assert apart.low <= apart.value <= apart.high
    differ = sg.meta_analysis([0.0, 100.0, 300.0], [1e-5, 1.0, 1.0])
    same = sg.meta_analysis([0.0, 100.0, 300.0], [1e-3, 1.0, 1.0])
    assert differ.tau2 == pytest.approx(same.tau2, rel=1e-5)


@pytest.mark.parametrize("scale", ["normal", "log", "logit"])
def test_standard_errors_that_no_mean_can_be_made_of_are_refused(scale):
    with pytest.raises(sg.InputError, match="differ by a factor"):
        sg.meta_analysis([0.5, 0.6, 0.7], [1e-9, 1.0, 1.0], scale=scale)
    for error in (1e-300, 1e300):
        with pytest.raises(sg.InputError, match="must lie between"):
            sg.meta_analysis([0.5, 0.6, 0.7], [error] * 3, scale=scale)


@pytest.mark.parametrize(
    ("name", "other"), [("confidence", 0.9), ("unit", "days"), ("tau", 3.0), ("threshold", 0.4)]
)
def test_evaluations_that_ask_different_questions_are_not_pooled(name, other):
    y, p = (np.arange(1.0, 41), np.arange(40) % 2), np.linspace(0.1, 0.9, 40)
    curves = sg.SurvivalCurves([0.0, 40.0], np.c_[np.ones(40), p])
    asked = {"confidence": 0.95, "unit": "years", "tau": 20.0, "threshold": 0.2, "time": 10.0}
    first = sg.evaluate(curves, y, metrics=["ibs", "net_benefit"], **asked)
    second = sg.evaluate(curves, y, metrics=["ibs", "net_benefit"], **{**asked, name: other})
    assert len(sg.pooled([first, first]).rows()) == 2
    with pytest.raises(
        sg.InputError, match=rf"evaluations\[1\] differs from the first in {name}: "
    ):
        sg.pooled([first, second])


def test_imputations_that_have_little_in_common_have_a_very_wide_interval():
    """Its upper limit on the scale of the logarithm may pass the largest number."""
    y = (np.arange(1.0, 41), np.ones(40, bool))
    near, far = y[0] * (1 + 1e-6), y[0] * 1e6
    pair = [sg.evaluate(times, y, metrics=["mae_hinge"]) for times in (near, far)]
    row = sg.pooled(pair).rows()[0]
    assert row["low"] < row["value"] < row["high"]


def test_what_is_no_list_of_evaluations_is_named():
    with pytest.raises(sg.InputError, match="got int"):
        sg.pooled(3)
