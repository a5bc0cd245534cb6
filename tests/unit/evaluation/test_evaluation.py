from __future__ import annotations

import json

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, default_metrics

DEFAULT_METRICS = [metric.name for metric in default_metrics()]


def data(n=240, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.5, n) * 10 * np.exp(-0.7 * x), rng.uniform(2, 30, n)
    y = sg.Outcomes(np.minimum(t, c) * scale, t <= c)
    grid = np.linspace(0, 60, 61)
    good = np.exp(-((grid / (10 * np.exp(-0.7 * x[:, None]))) ** 1.5))
    flat = np.tile(np.exp(-((grid / 10) ** 1.5)), (n, 1))
    return y, sg.SurvivalCurves(grid, good), sg.SurvivalCurves(grid, flat), x


@pytest.fixture(scope="module")
def result():
    y, good, flat, x = data()
    predictions = {"good": good, "flat": flat, "times": 10 * np.exp(-0.7 * x)}
    return sg.evaluate(
        {k: v[120:] for k, v in predictions.items()}, y[120:], y_train=y[:120], n_boot=30
    )


def test_every_default_metric_has_a_value_and_an_interval(result):
    table = result.table
    cells = table.set_index(["model", "metric"])
    for name in DEFAULT_METRICS:
        row = cells.loc[("good", name)]
        assert np.isfinite(row["value"]), name
        if REGISTRY[name].inference == "test":
            assert np.isnan(row["low"])
        elif REGISTRY[name].method is not None and name != "mae_within":
            assert np.isnan(row["low"])  # 10 % of the training set are event-free at its end
            assert "event-free" in row["withheld"]
        else:
            assert row["low"] < row["value"] < row["high"], name
    assert {"value", "low", "high", "stderr", "direction"} <= set(table.columns)
    assert len(table.columns) <= 15
    rules = result.conventions
    assert rules.columns.tolist() == ["model", "metric", "time", "rule", "value"]
    assert rules.query("model == 'good' and metric == 'mae_po' and rule == 'method'")[
        "value"
    ].tolist() == ["po"]
    assert set(table.loc[table["model"] == "times", "metric"]) == {
        name for name in DEFAULT_METRICS if REGISTRY[name].needs != "curves"
    }


def test_the_better_model_is_better_and_the_comparison_says_so(result):
    frame = result.compare().set_index(["metric", "model_a", "model_b"])
    for name in ("mae_within", "ibs", "crps"):
        row = frame.loc[(name, "good", "flat")]
        assert row["difference"] < 0
        assert row["low"] < row["difference"] < row["high"]
        assert row["p_unadjusted"] <= row["p_adjusted"] <= 1
    assert frame.loc[("harrell", "good", "flat")]["p_adjusted"] < 0.001
    names = [name for name in frame.columns if name.startswith("p_") or name in ("low", "high")]
    assert names == ["low", "high", "p_adjusted", "p_unadjusted"]
    for row in result.comparisons():
        assert row["p_value"] <= row["p_holm"] <= 1 or row["withheld"] or np.isnan(row["p_value"])
    assert frame.loc[("harrell", "good", "times")]["difference"] == pytest.approx(0, abs=1e-12)


def test_values_are_those_of_the_plain_functions(result):
    y, good, _, _ = data()
    test, train, curves = y[120:], y[:120], good[120:]
    value = {(s.model, s.metric.name): s.value for s in result.scores}
    task = result.task
    assert value["good", "mae_po"] == sg.mae(test, curves, y_train=train, method="po")
    risk = -curves.median()
    assert value["good", "harrell"] == sg.concordance_index(test, risk)
    grid = np.linspace(0, task.horizon, 101)
    ibs = sg.integrated_brier_score(test, curves, grid, y_train=train)
    assert value["good", "ibs"] == pytest.approx(ibs)
    assert value["good", "crps"] == sg.crps(test, curves)
    assert value["good", "d_calibration"] == sg.d_calibration(test, curves).p_value
    assert task.time == np.median(train.time)
    brier = sg.brier_score(test, curves, [task.time], y_train=train)
    assert value["good", "brier"] == pytest.approx(brier.values[0])


def test_skill_is_what_a_model_saves_of_the_loss_of_kaplan_meier(result):
    y, good, _, _ = data()
    row = {(r["model"], r["metric"]): r for r in result.rows()}
    for name in ("mae", "crps"):
        metric = "mae_within" if name == "mae" else name
        want = sg.skill(name, y[120:], good[120:], y_train=y[:120])
        assert row["good", metric]["skill"] == pytest.approx(want)
    assert row["good", "ibs"]["skill"] > row["flat", "ibs"]["skill"]
    assert np.isnan(row["good", "harrell"]["skill"])


def test_support_and_dictionary(result):
    assert result.support["horizon"] == result.task.horizon
    assert result.support["subjects_past_horizon"] >= 0
    assert set(result.support["tail_share"]) == {"good", "flat"}
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["metrics"][0]["convention"]["method"] == "uncensored"
    assert len(plain["comparisons"]) > 20


def test_same_seed_same_intervals_and_none_without_confidence():
    y, good, _, _ = data(80)
    names = ["ici", "km_calibration", "mae_within"]
    a, b, c = (
        sg.evaluate({"m": good}, y, metrics=names, random_state=seed, n_boot=20).rows()
        for seed in (1, 1, 2)
    )
    assert [r["low"] for r in a] == [r["low"] for r in b] == [r["low"] for r in c]
    redrawn = {"y_train": y, "metrics": ["mae_within"], "reference": "redrawn", "n_boot": 20}
    a1, b1, c1 = (
        sg.evaluate({"m": good}, y, random_state=seed, **redrawn).rows()[0]["low"]
        for seed in (1, 1, 2)
    )
    assert a1 == b1
    assert a1 != c1
    bare = sg.evaluate({"m": good}, y, metrics=names, confidence=None).rows()
    assert all(np.isnan(r["low"]) for r in bare)
    # Without intervals nothing is kept of single subjects, and NumPy 1.24 adds in another order.
    assert [r["value"] for r in bare] == pytest.approx([r["value"] for r in a], rel=1e-14)


def test_redrawing_the_reference_widens_what_depends_on_it():
    y, good, _, _ = data(160)
    call = {"y_train": y[:80], "metrics": ["mae_po", "harrell"], "n_boot": 60}
    fixed = sg.evaluate({"m": good[80:]}, y[80:], **call).rows()
    redrawn = sg.evaluate({"m": good[80:]}, y[80:], reference="redrawn", **call).rows()
    assert redrawn[0]["stderr"] > fixed[0]["stderr"] * 0.9
    assert redrawn[1]["stderr"] == pytest.approx(fixed[1]["stderr"], rel=0.4)


def test_groups_share_reference_and_horizon():
    y, good, _, x = data(160)
    sites = np.where(x > 0, "north", "south")
    ev = sg.evaluate({"m": good}, y, metrics=["mae_po", "ibs"], by=sites)
    assert [r["group"] for r in ev.rows()] == [None, None, "north", "north", "south", "south"]
    rows = sites == "north"
    want = sg.integrated_brier_score(
        y[rows], good[rows], np.linspace(0, ev.task.horizon, 101), y_train=None
    )
    assert np.isfinite(want)
    with pytest.raises(sg.InputError, match="one label per subject"):
        sg.evaluate({"m": good}, y, by=["a"])


def codes(ev):
    return {warning.code for warning in ev.warnings}


def test_warnings_are_coded():
    y, good, _, x = data(160)
    assert "in-sample-reference" in codes(sg.evaluate({"m": good}, y, metrics=["mae_po"]))
    wrong = sg.evaluate({"m": sg.RiskScores(-x)}, y, metrics=["harrell"])
    assert "c-below-half" in codes(wrong)
    short = sg.SurvivalCurves([0, 1], np.tile([1.0, 0.9], (160, 1)))
    assert "tail-times" in codes(sg.evaluate({"m": short}, y, metrics=["mae_po"]))
    censored = sg.Outcomes(y.time, np.zeros(160, dtype=bool))
    undefined = sg.evaluate({"m": good}, censored, y_train=y, metrics=["mae_uncensored", "harrell"])
    assert "undefined-metric" in codes(undefined)
    assert all(np.isnan(r["value"]) for r in undefined.rows())
    given = {"y_train": y[y.time < 8], "censoring": "train"}
    past = sg.evaluate({"m": good}, y, metrics=["mae_po", "ibs"], **given)
    assert {"past-reference", "past-follow-up"} <= codes(past)
    assert all("[" in str(w) for w in past.warnings)
    flat = sg.SurvivalCurves([0, 50, 51], np.tile([1.0, 1.0, 0.0], (160, 1)))
    assert "infinite" in codes(sg.evaluate({"m": flat}, y, metrics=["log_likelihood"]))
    few = sg.evaluate({"m": good[:9]}, y[:9], y_train=y, metrics=["mae_po"])
    assert "few-events" in codes(few)


def test_a_comparison_that_hangs_on_the_tail_is_flagged():
    """Two models with the same order; one stops early, so its times are extrapolated."""
    rng = np.random.default_rng(3)
    n = 300
    t, c = rng.exponential(10, n), rng.exponential(12, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    grid = np.linspace(0, 30, 31)
    whole = sg.SurvivalCurves(grid, np.tile(np.exp(-grid / 10), (n, 1)))
    high = sg.SurvivalCurves(grid[:8], np.tile(np.exp(-grid[:8] / 60), (n, 1)))
    ev = sg.evaluate({"whole": whole, "high": high}, y, metrics=["mae_po"])
    assert {"tail-decides", "tail-times"} <= codes(ev)
    assert "No interval or test is given and no model is called best" in ev.verdict
    assert ev.verdict.count(" best") == 1
    with_horizon = sg.evaluate({"whole": whole, "high": high}, y, metrics=["mae_po"], tau=7.0)
    assert "tail-decides" not in codes(with_horizon)


def test_what_the_reference_leaves_open_is_flagged():
    y, good, _, x = data(200)
    short = sg.Outcomes(np.minimum(y.time, 6.0), y.event & (y.time <= 6.0))
    ev = sg.evaluate({"m": good}, short, metrics=["mae_ipcw_d", "mae_po"])
    assert "unseen-times" in codes(ev)
    below = sg.evaluate({"m": x}, y, metrics=["mae_po"])
    assert "negative-times" in codes(below)
    assert "RiskScores" in str(below)


def test_text_leads_with_the_verdict(result):
    text = str(result)
    assert " ".join(text.split()).startswith(result.verdict)
    assert "Differences of the best model" in result.to_text()
    assert "Differences" not in text
    assert repr(result).startswith("Evaluation(3 models")


def test_awkward_data_give_answers_or_nan_with_a_warning():
    grid = np.linspace(0, 5, 6)
    curves = sg.SurvivalCurves(grid, np.tile([1, 0.8, 0.6, 0.4, 0.2, 0.0], (4, 1)))
    for y, train in (
        (([1.0, 2.0, 3.0, 9.0], [1, 1, 1, 1]), ([1.0, 2.0], [1, 0])),
        (([1.0, 2.0, 3.0, 9.0], [1, 0, 0, 0]), ([1.0, 2.0, 8.0], [1, 1, 0])),
        (([0.0, 0.0, 0.0, 0.0], [1, 0, 1, 0]), ([0.0, 1.0], [1, 0])),
        (([5.0, 5.0, 5.0, 5.0], [1, 1, 0, 0]), None),
    ):
        ev = sg.evaluate({"m": curves}, y, y_train=train, n_boot=5)
        # Equal predictions have no calibration slope.
        gone = {name for name in DEFAULT_METRICS if name not in {r["metric"] for r in ev.rows()}}
        assert gone <= {"calibration_slope"}
        assert gone <= {w.metric for w in ev.cases}
        for row in ev.rows():
            if np.isnan(row["value"]):
                assert any(w.metric == row["metric"] for w in ev.cases), row["metric"]


def test_unit_of_time_scales_times_and_nothing_else():
    y, good, _, _ = data(100)
    scaled = sg.Outcomes(y.time * 30, y.event)
    curves = sg.SurvivalCurves(good.times * 30, good.survival)
    a = sg.evaluate({"m": good}, y, n_boot=5).rows()
    b = sg.evaluate({"m": curves}, scaled, n_boot=5).rows()
    for one, other in zip(a, b, strict=True):
        if one["metric"] == "log_likelihood":
            continue  # a log density shifts by the log of the unit
        factor = 30 if one["unit"] == "time" else 1
        assert other["value"] == pytest.approx(one["value"] * factor, rel=1e-7), one["metric"]


def test_bad_input_is_named():
    y, good, _, _ = data(50)
    with pytest.raises(sg.InputError, match="at least one model"):
        sg.evaluate({}, y)
    with pytest.raises(sg.InputError, match="predictions of 'm' must have one entry per subject"):
        sg.evaluate({"m": good[:10]}, y)
    with pytest.raises(sg.InputError, match="metrics must be one of"):
        sg.evaluate({"m": good}, y, metrics=["mae"])
    with pytest.raises(sg.InputError, match="predictions of 'm': predicted times must be finite"):
        sg.evaluate({"m": np.full(50, np.nan)}, y)
    with pytest.raises(sg.InputError, match="time must be finite and positive"):
        sg.evaluate({"m": good}, y, time=-1)
    with pytest.raises(sg.InputError, match="reference must be one of"):
        sg.evaluate({"m": good}, y, reference="maybe")


def test_horizon_rule():
    # G(t-) >= 0.05 and ten at risk.
    y = sg.Outcomes(np.arange(1.0, 41.0), np.ones(40, dtype=bool))
    assert sg.evaluate({"m": y.time}, y, metrics=["mae_po"]).task.horizon == 31.0
    heavy = sg.Outcomes(np.arange(1.0, 41.0), np.arange(40) < 3)
    given = {"y_train": heavy, "censoring": "train", "metrics": ["mae_po", "uno"]}
    ev = sg.evaluate({"m": y.time}, y, **given)
    g = sg.KaplanMeier.fit_censoring(heavy)
    assert float(g.at(ev.task.horizon, "left")) >= 0.05
    low = sg.evaluate({"m": y.time}, y, min_at_risk=1, **given)
    assert "g-below-floor" in codes(low)
    assert float(g.at(low.task.horizon)) < 0.05 <= float(g.at(low.task.horizon, "left"))
    loose = sg.evaluate({"m": y.time}, y, metrics=["mae_po"], min_at_risk=1)
    assert loose.task.horizon == 40.0


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        (["uno"], "uno stops at 31, because after that too few test subjects are at risk"),
        (["mae_po", "mae_within", "uno"], "mae_within and uno stop at 31, because"),
        (["mae_po", "mae_ipcw_d", "harrell"], None),
        (["brier", "auc", "crps", "km_calibration"], None),
    ],
)
def test_only_metrics_of_the_call_that_stop_are_said_to(metrics, named):
    y = sg.Outcomes(np.arange(1.0, 41.0), np.ones(40, dtype=bool))
    curves = sg.SurvivalCurves(np.arange(61.0), np.tile(np.linspace(1, 0, 61), (40, 1)))
    ev = sg.evaluate(curves, y, metrics=metrics)
    found = [w.message for w in ev.warnings if w.code == "thin-risk-set"]
    assert len(found) == (named is not None)
    assert all(message.startswith(named) for message in found)
    assert all("9 of 40 subjects are observed longer (up to 40)" in text for text in found)


def test_a_late_time_is_remarked_on_only_where_a_metric_is_read_at_it():
    y = sg.Outcomes(np.arange(1.0, 41.0), np.ones(40, dtype=bool))
    curves = sg.SurvivalCurves(np.arange(61.0), np.tile(np.linspace(1, 0, 61), (40, 1)))
    assert "time-past-horizon" in codes(sg.evaluate(curves, y, metrics=["brier"], time=35))
    assert "time-past-horizon" not in codes(sg.evaluate(curves, y, metrics=["ibs"], time=35))


def test_groups_share_their_tails_and_are_named_in_warnings():
    rng = np.random.default_rng(0)
    n, grid = 300, np.linspace(0, 6, 7)
    survival = np.exp(-grid / rng.uniform(2, 20, (n, 1)))
    y = rng.exponential(5, n), rng.random(n) < 0.7
    late = survival[:, -1] > 0.5
    ev = sg.evaluate(
        sg.SurvivalCurves(grid, survival),
        y,
        y_train=y,
        by=np.where(late, "late", "soon"),
        metrics=["mse_po", "mae_po"],
    )
    np.testing.assert_allclose(ev.support["tail_share"]["model"], late.mean())
    assert "[tail-times] mae_po (model; also in group late):" in ev.to_text()


def test_a_group_of_weight_zero_is_refused():
    y = sg.Outcomes([1, 2, 3, 4], [1, 1, 1, 0], [1, 1, 0, 0])
    with pytest.raises(sg.InputError, match="group 'b' have weight 0"):
        sg.evaluate([2, 2, 2, 2], y, by=["a", "a", "b", "b"], metrics=["mae_po"])


def test_remarks_and_support_do_not_depend_on_the_level_of_the_intervals():
    rng = np.random.default_rng(3)
    y = rng.exponential(5, 60), rng.random(60) < 0.7
    wrong = {"wrong": sg.SurvivalCurves([0, 5, 15], np.exp(-np.outer(y[0] / 30, [0, 5, 15])))}
    wanted = ["harrell", "uno", "auc", "km_calibration"]
    with_intervals, without = (
        sg.evaluate(wrong, y, metrics=wanted, confidence=level) for level in (0.95, None)
    )
    assert "c-below-half" in {warning.code for warning in without.warnings}
    assert without.warnings == with_intervals.warnings
    assert without.support == with_intervals.support


def test_the_median_follow_up_is_that_of_the_time_until_censoring():
    time, event = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 0, 0, 0, 1, 0]
    ev = sg.evaluate(np.full(6, 3.0), (time, event), metrics=["mae_po"], unit="days")
    # G: 1 - 1/5 at 2, times 3/4 at 3, times 2/3 at 4 = 0.4
    assert ev.support["median_follow_up"] == 4.0
    assert "6 subjects, 2 events, median follow-up 4 days" in str(ev)
    assert "median follow-up 4 days" in ev.to_text()
    early = sg.evaluate(np.full(3, 3.0), ([1.0, 2.0, 9.0], [0, 1, 1]), metrics=["mae_po"])
    assert np.isnan(early.support["median_follow_up"])
    assert "follow-up" not in str(early).split("\n\n")[-1]


def test_the_median_follow_up_counts_from_entry():
    time, event = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [1, 0, 0, 0, 1, 0]
    entry = np.array([60.0, 70.0, 65.0, 55.0, 80.0, 61.0])
    y = sg.Outcomes(time + entry, event, entry=entry)
    ev = sg.evaluate(np.full(6, 90.0), y, metrics=["mae_uncensored"], unit="years")
    assert ev.support["median_follow_up"] == 4.0
    assert "median follow-up 4 years" in str(ev)


@pytest.mark.parametrize(("events", "said"), [(4, False), (5, True)])
def test_a_few_events_in_the_wrong_order_are_no_evidence(events, said):
    time = np.arange(1.0, events + 1)
    wrong = sg.evaluate({"m": sg.RiskScores(time)}, (time, np.ones(events)), metrics=["harrell"])
    assert wrong.rows()[0]["value"] == 0
    assert ("c-below-half" in codes(wrong)) is said
