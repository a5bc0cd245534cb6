"""Intervals of an evaluation: in range, honest at the edge, adjusted for what was chosen."""

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.inference import critical, holm
from survgauge.evaluation.verdict import _against
from survgauge.metrics.registry import REGISTRY, metrics_of

SHARES = ("harrell", "uno", "antolini", "auc")


def draw(n, seed, models=1):
    rng = np.random.default_rng(seed)

    def outcomes(size):
        t, c = rng.weibull(1.5, size), rng.exponential(2.0, size)
        return np.minimum(t, c), t <= c

    y, train = outcomes(n), outcomes(200)
    return y, train, {f"m{k}": rng.uniform(0.3, 1.2, n) for k in range(models)}


def by_metric(ev):
    return {row["metric"]: row for row in ev.rows()}


def test_a_perfect_order_has_an_interval_of_honest_width():
    y = np.arange(1.0, 9.0), np.ones(8)
    curves = sg.SurvivalCurves([0, 20], [[1, 0.1 * k] for k in range(8)])
    rows = by_metric(sg.evaluate({"m": curves}, y, metrics=SHARES))
    for name in SHARES:
        row = rows[name]
        assert row["value"] == 1.0
        assert row["high"] == 1.0
        assert row["interval"] == "edge"
        assert 0.3 < row["low"] < 0.75
    # Eight events, all but the last with somebody later.
    assert rows["harrell"]["low"] == pytest.approx(0.05 ** (1 / 8))
    # Four cases up to the median time, four controls.
    assert rows["auc"]["low"] == pytest.approx(0.05 ** (1 / 4))


def test_a_reversed_order_is_the_mirror_image():
    y = np.arange(1.0, 9.0), np.ones(8)
    up = by_metric(sg.evaluate(np.arange(8.0), y, metrics=["harrell"]))["harrell"]
    down = by_metric(sg.evaluate(-np.arange(8.0), y, metrics=["harrell"]))["harrell"]
    assert (down["low"], down["high"]) == pytest.approx((1 - up["high"], 1 - up["low"]))


def test_frequencies_equal_repeated_subjects_at_the_edge():
    time, event, weight = np.arange(1.0, 9.0), np.ones(8), np.array([1, 2, 3, 1, 1, 2, 1, 1.0])
    again = np.repeat(np.arange(8), weight.astype(int))
    one = sg.evaluate(time, sg.Outcomes(time, event, weight), metrics=["harrell", "auc"])
    two = sg.evaluate(time[again], (time[again], event[again]), metrics=["harrell", "auc"])
    for a, b in zip(one.rows(), two.rows(), strict=True):
        assert (a["low"], a["high"]) == pytest.approx((b["low"], b["high"]))


@pytest.mark.parametrize("seed", range(5))
def test_limits_stay_in_the_range_of_the_metric(seed):
    y, train, _ = draw(12, seed)
    rng = np.random.default_rng(seed)
    curves = sg.SurvivalCurves(
        [0, 1, 3], np.c_[np.ones(12), rng.uniform(0.4, 0.9, 12), np.full(12, 0.1)]
    )
    names = [name for name, metric in metrics_of().items() if metric.inference == "analytic"]
    ev = sg.evaluate({"m": curves}, y, y_train=train, metrics=names, threshold=0.3)
    for row in ev.rows():
        low, high = REGISTRY[row["metric"]].range
        if not np.isnan(row["low"]):
            assert low <= row["low"] <= row["value"] <= row["high"] <= high, row
            assert row["low"] < row["high"]
            assert row["interval"] in (REGISTRY[row["metric"]].interval, "edge")


def test_the_table_of_metrics_says_the_scale():
    scales = {row["name"]: row["interval"] for row in sg.available_metrics()}
    assert {scales[name] for name in SHARES} == {"logit"}
    assert {scales[n] for n in scales if n.startswith(("mae", "mse", "rmse"))} == {"log"}
    assert {scales[n] for n in ("brier", "ibs", "ibll", "crps")} == {"log"}
    assert scales["log_likelihood"] == "normal"


def test_one_subject_and_equal_losses_have_no_limits():
    one = by_metric(sg.evaluate([3.0], ([2.0], [1]), metrics=["mae_uncensored"]))
    assert np.isnan([one["mae_uncensored"][k] for k in ("low", "high", "stderr")]).all()
    y = ([1.1, 2.3, 3.7, 5.9], [1, 1, 1, 1])
    alike = by_metric(sg.evaluate(np.array(y[0]) + 0.1, y, metrics=["mae_uncensored"]))
    assert np.isnan([alike["mae_uncensored"][k] for k in ("low", "high")]).all()
    assert alike["mae_uncensored"]["interval"] == "none"


# -- constant differences: one rule for `evaluate` and streams ------------------------------------


def both(columns, names, metrics):
    """The rows of `evaluate` and of a stream of the same subjects."""
    train = ([1.0, 2.0, 4.0, 8.0], [1, 1, 0, 1])
    y = columns["time"], columns["event"]
    whole = sg.evaluate({n: columns[n] for n in names}, y, y_train=train, metrics=metrics)
    batches = [{k: v[:3] for k, v in columns.items()}, {k: v[3:] for k, v in columns.items()}]
    stream = sg.evaluate_stream(
        batches, predictions={n: n for n in names}, y_train=train, metrics=metrics
    )
    return whole, stream


def test_constant_differences_have_no_p_value_in_both():
    time = np.array([1.1, 2.3, 3.7, 5.9, 6.1, 7.3])
    columns = {"time": time, "event": np.ones(6), "a": time + 0.1 * np.arange(1, 7)}
    columns["b"] = columns["a"] + 0.3
    for ev in both(columns, ("a", "b"), ["mae_uncensored"]):
        [row] = ev.comparisons()
        assert row["difference"] == pytest.approx(-0.3)
        names = ("p_value", "p_holm", "p_simultaneous", "low", "high")
        assert np.isnan([row[name] for name in names]).all()


def test_a_root_of_zero_follows_one_rule_in_both():
    time = np.array([1.1, 2.3, 3.7, 5.9, 6.1, 7.3])
    columns = {"time": time, "event": np.ones(6), "a": time, "b": time, "c": time + np.arange(6)}
    for ev in both(columns, ("a", "b", "c"), ["rmse_uncensored"]):
        rows = {row["model"]: row for row in ev.rows()}
        assert rows["a"]["stderr"] == 0.0
        assert np.isnan(rows["a"]["low"])
        pairs = {(r["model_a"], r["model_b"]): r for r in ev.comparisons()}
        assert (pairs["a", "b"]["low"], pairs["a", "b"]["p_value"]) == (0.0, 1.0)
        spread = (pairs["a", "c"]["high"] - pairs["a", "c"]["low"]) / 2 / critical(0.95)
        assert spread == pytest.approx(rows["c"]["stderr"])
        assert len(ev.baseline_comparisons()) == 3


# -- selection -------------------------------------------------------------------------------------


def test_comparisons_with_the_baseline_are_adjusted_over_the_models():
    y, train, models = draw(80, 3, models=4)
    ev = sg.evaluate(models, y, y_train=train, metrics=["mae_po", "mae_hinge"], tau=2.0)
    rows = ev.baseline_comparisons()
    for name in ("mae_po", "mae_hinge"):
        mine = [r for r in rows if r["metric"] == name]
        assert [r["p_holm"] for r in mine] == holm([r["p_value"] for r in mine]).tolist()
        for r in mine:
            assert r["family"] == 4
            stretch = critical(1 - 0.05 / 4) / critical(0.95)
            middle, half = r["difference"], (r["high"] - r["low"]) / 2
            assert r["low_simultaneous"] == pytest.approx(middle - stretch * half)
            assert r["high_simultaneous"] == pytest.approx(middle + stretch * half)
            assert r["p_simultaneous"] == pytest.approx(min(1.0, 4 * r["p_value"]))
            outside = not r["low_simultaneous"] <= 0 <= r["high_simultaneous"]
            assert outside == (r["p_simultaneous"] < 0.05)


def test_the_verdict_is_adjusted_and_says_over_what():
    y, train, models = draw(80, 3, models=4)
    ev = sg.evaluate(models, y, y_train=train, metrics=["mae_po"], tau=2.0)
    assert "adjusted for the choice among 4 models" in ev.verdict
    assert "adjusted for 6 pairs of models" in ev.verdict
    assert " ".join(str(ev).split("\n\n")[0].split()) == ev.verdict
    alone = sg.evaluate(models["m0"], y, y_train=train, metrics=["mae_po"], tau=2.0).verdict
    assert "no clear difference from the Kaplan-Meier baseline (" in alone
    assert "adjusted" not in alone


def test_a_single_significant_model_among_many_is_not_called_better():
    """What is below 5 % by itself and above it among ten is no clear difference."""
    y, train, models = draw(150, 0, models=9)
    rng = np.random.default_rng(0)
    for share in np.linspace(0.02, 0.6, 60):  # a model that gets better and better
        good = (1 - share) * rng.permutation(y[0]) + share * y[0]
        ev = sg.evaluate({**models, "good": good}, y, y_train=train, metrics=["mae_po"], tau=1.0)
        row = next(r for r in ev.baseline_comparisons() if r["model"] == "good")
        if row["difference"] < 0 and row["p_value"] < 0.05 <= row["p_holm"]:
            assert "None of these models is clearly better than the Kaplan-Meier" in ev.verdict
            return
    pytest.fail("no such model found")


@pytest.mark.slow
def test_the_best_of_ten_noise_models_is_seldom_called_better():
    """One-sided size at most 2.5 % (9 % without adjustment), for models that are as good."""
    found = 0
    runs = 400
    rng = np.random.default_rng(11)
    for _ in range(runs):
        t = rng.weibull(1.5, 120)
        # Predictions around the best constant: losses differ at random, no model is better.
        models = {f"m{k}": 0.78 + 0.05 * rng.choice([-1, 1], 120) for k in range(10)}
        ev = sg.evaluate(models, (t, np.ones(120)), y_train=(rng.weibull(1.5, 4000), np.ones(4000)),
                         metrics=["mae_uncensored"])  # fmt: skip
        rows = ev.baseline_comparisons()
        best = min(rows, key=lambda r: r["difference"])
        found += best["difference"] < 0 and best["p_holm"] < 0.05
    assert found / runs <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / runs)


def test_a_verdict_is_as_clear_as_the_limits_beside_it():
    """Holm's p may lie below 5 % where Bonferroni's limits hold 0."""
    row = {"difference": -0.8, "low_simultaneous": -1.8, "high_simultaneous": 0.2,
           "p_value": 0.03, "p_holm": 0.045, "p_simultaneous": 0.09, "family": 3}  # fmt: skip
    found = _against(row, "early", -1.0, 0.05)
    assert not found.clear
    assert found.p_value == pytest.approx(0.09)
    assert _against(row | {"p_simultaneous": 0.03}, "early", -1.0, 0.05).clear
