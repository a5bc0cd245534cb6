"""The verdict in sentences: what is not clear is not called better, and nobody is left out."""

from __future__ import annotations

from html import unescape
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.inference import compare_pair, simultaneous
from survgauge.evaluation.sentences import verdict_sentences
from survgauge.metrics.registry import REGISTRY
from survgauge.report import evaluation_html
from survgauge.report.evaluation_tables import off_target


def plain(
    values: dict[str, float | None],
    stderr: float = 1.0,
    *,
    metric: str = "mae_within",
    tau: float | None = 500.0,
    baseline: float | None = None,
    confidence: float | None = 0.95,
    unit: str = "days",
    warnings: tuple[dict[str, Any], ...] = (),
) -> dict[str, Any]:
    """Plain data of an evaluation by one metric, whose differences all have one standard error."""
    level = confidence or 0.95

    def rows(pairs: list[tuple[dict[str, str], float, float]]) -> list[dict[str, Any]]:
        found = []
        for names, a, b in pairs:
            spread = stderr if a != b else 0.0
            gap = compare_pair(a, b, spread, level)
            low, high = simultaneous(gap, level, len(pairs))
            row = {**names, "metric": metric, "difference": a - b, "family": len(pairs)}
            row |= {"low_simultaneous": low, "high_simultaneous": high}
            row |= {"p_simultaneous": min(1.0, len(pairs) * gap.p_value)}
            if confidence is None or not np.isfinite(gap.p_value):
                row |= dict.fromkeys(("low_simultaneous", "high_simultaneous", "p_simultaneous"))
            found.append(row)
        return found

    known = {name: value for name, value in values.items() if value is not None}
    pairs = [({"model_a": a, "model_b": b}, known[a], known[b]) for a, b in combinations(known, 2)]
    if not REGISTRY[metric].ranks_models:
        pairs = []
    base = [] if baseline is None or confidence is None else [
        ({"model": name}, value, baseline) for name, value in known.items()
    ]  # fmt: skip
    half = None if confidence is None else 2.0
    return {
        "models": list(values),
        "confidence": confidence,
        "unit": unit,
        "metrics": [
            {
                "model": name,
                "metric": metric,
                "value": value,
                "low": None if value is None or half is None else value - half,
                "high": None if value is None or half is None else value + half,
                "direction": REGISTRY[metric].direction,
                "convention": {"tau": tau},
            }
            for name, value in values.items()
        ],
        "comparisons": rows(pairs),
        "baseline_comparisons": rows(base),
        "support": {"subjects": 100, "events": 50},
        "warnings": list(warnings),
    }


def told(*args: Any, **options: Any) -> list[str]:
    return verdict_sentences(plain(*args, **options))


def test_one_model_that_beats_the_baseline() -> None:
    assert told({"cox": 100.0}, baseline=110.0) == [
        "The predicted times of cox are off by 100 days on average within the first 500 days "
        "(95 % CI 98.0 to 102), 10.0 days better than the Kaplan-Meier baseline (95 % CI 8.04 to "
        "12.0, p < 0.001)."
    ]


def test_one_model_without_a_clear_difference_from_the_baseline() -> None:
    assert told({"cox": 100.0}, baseline=99.0) == [
        "The predicted times of cox are off by 100 days on average within the first 500 days "
        "(95 % CI 98.0 to 102); no clear difference from the Kaplan-Meier baseline (1.00 days "
        "worse, 95 % CI -0.960 to 2.96, p = 0.317)."
    ]


def test_one_model_that_is_the_baseline() -> None:
    [sentence] = told({"km": 100.0}, baseline=100.0)
    assert sentence.endswith("; no difference from the Kaplan-Meier baseline.")


def test_a_clear_winner() -> None:
    assert told({"a": 100.0, "b": 110.0}) == [
        "a is best: its predicted times are off by 100 days on average within the first 500 days "
        "(95 % CI 98.0 to 102).",
        "It is 10.0 days better than b (95 % CI 8.04 to 12.0, p < 0.001).",
    ]


def test_two_tied_models_are_both_named() -> None:
    first, second, third = told({"b": 101.0, "a": 100.0}, baseline=110.0)
    assert first == (
        "a and b are best, with no clear difference between them: their predicted times are off by "
        "100 days (a, 95 % CI 98.0 to 102) and 101 days (b, 95 % CI 99.0 to 103) on average within "
        "the first 500 days."
    )
    assert second == "They differ by 1.00 days (95 % CI -0.960 to 2.96, p = 0.317)."
    assert third.startswith("Compared with the Kaplan-Meier baseline, a is 10.0 days better (")
    assert " and b is 9.00 days better (" in third
    assert third.endswith(", adjusted for the choice among 2 models.")


def test_identical_models_do_not_differ() -> None:
    [sentence] = told({"a": 100.0, "b": 100.0})
    assert sentence.startswith("a and b are best, with no difference between them: ")
    assert "better" not in sentence
    assert " p " not in sentence


def test_two_of_three_tied() -> None:
    first, second, _, last = told({"a": 100.0, "b": 101.0, "c": 120.0}, baseline=101.0)
    assert first.startswith("a and b are best, with no clear difference between them: ")
    assert second.startswith("They differ by 1.00 days (")
    assert second.endswith(", adjusted for 3 pairs of models).")
    assert last.startswith("a is 20.0 days better than c (95 % CI ")
    assert last.endswith(", adjusted for 3 pairs of models.")


def test_several_models_and_a_baseline_that_is_as_good() -> None:
    *_, last = told({"a": 100.0, "b": 100.5}, baseline=100.0)
    assert "a shows no difference and b shows no clear difference (0.500 days worse, " in last


def test_twelve_models_are_all_told_of() -> None:
    values = {f"m{k}": 100.0 + 0.1 * k for k in range(12)}
    first, second = told(values, baseline=150.0)
    assert first.startswith("m0 has the smallest error, with no clear difference from any of ")
    assert (
        " the 11 other models (p = 1.000, adjusted for 66 pairs of models): their predicted "
        in first
    )
    assert "are off by 100 to 101 days on average" in first
    assert second.startswith("All of these models are clearly better than the Kaplan-Meier")
    values = {f"m{k}": 100.0 + 20 * k for k in range(12)}
    first, second = told(values)
    assert first.startswith("m0 is best: ")
    assert second == (
        "It is 20.0 to 220 days better than m1, m2, m3, m4 and 7 more models (every p < 0.001, "
        "adjusted for 66 pairs of models)."
    )


def test_a_model_without_a_value_is_not_compared() -> None:
    assert told({"a": 100.0, "b": 110.0, "c": None})[-1] == (
        "c has no value of this metric, so it is not compared."
    )
    assert told({"a": None}) == ["No metric has a value on these data and predictions."]


def test_without_intervals_nobody_is_best() -> None:
    first, second, third = told({"a": 100.0, "b": 110.0}, confidence=None)
    assert first.startswith("a has the smallest error: its predicted times are off by 100 days")
    assert second == "It is 10.0 days better than b."
    assert third == "No intervals were asked for, so these differences are not tested."
    assert "CI" not in first


def test_without_a_standard_error_nobody_is_best() -> None:
    first, second = told({"a": 100.0, "b": 110.0}, stderr=0.0)
    assert first.startswith("a has the smallest error: ")
    assert second == "It is 10.0 days better than b (no standard error)."


def test_tails_that_decide_leave_the_best_model_open() -> None:
    warning = {"code": "tail-decides", "metric": "mae_po", "model": None, "message": ""}
    found = told({"a": 100.0, "b": 110.0}, metric="mae_po", tau=None, warnings=(warning,))
    assert found[0].startswith("a has the smallest error: ")
    tied = told({"a": 100.0, "b": 100.5}, metric="mae_po", tau=None, warnings=(warning,))
    assert tied[0].startswith("a and b have the smallest errors, with no clear difference between")
    assert "within" not in found[0]
    assert "tail-decides" in found[-1]


def test_ranks_and_probabilities() -> None:
    values = {"a": 0.75, "b": 0.65}
    assert told(values, 0.01, metric="harrell", tau=None, unit="")[1] == (
        "It is 0.100 better than b (95 % CI 0.0804 to 0.120, p < 0.001)."
    )
    first = told(values, 0.01, metric="uno", tau=500.0)[0]
    assert first.startswith(f"a is best: its {REGISTRY['uno'].title} up to 500 days is 0.750 (")
    assert told({"a": 0.1, "b": 0.2}, 0.01, metric="ibs")[0].startswith("a is best: ")


def test_metrics_that_make_no_model_better_are_said_side_by_side() -> None:
    assert told({"a": 0.9, "b": 1.2}, metric="calibration_slope", tau=None) == [
        "Calibration slope (1 is best): 0.900 (a, 95 % CI -1.10 to 2.90) and 1.20 (b, 95 % CI "
        "-0.800 to 3.20)."
    ]
    [sentence] = told({"a": 0.9, "b": 0.01}, metric="d_calibration", confidence=None, tau=None)
    assert sentence == (
        "D-calibration (small p-values mean miscalibrated): p = 0.900 (a) and p = 0.010 (b)."
    )


# -- on data ---------------------------------------------------------------------------------------


def draw(n: int = 150, seed: int = 0) -> tuple[sg.Outcomes, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time, censoring = 300 * np.exp(-0.6 * x) * rng.weibull(1.5, n), rng.uniform(0, 800, n)
    return sg.Outcomes(np.minimum(time, censoring), time <= censoring), x


@pytest.mark.parametrize("options", [{}, {"cluster": np.arange(150) // 5}, {"confidence": None}])
def test_the_verdict_is_the_same_everywhere(options: dict[str, Any]) -> None:
    y, x = draw()
    models = {"x": 300 * np.exp(-0.6 * x), "half": 300 * np.exp(-0.3 * x)}
    ev = sg.evaluate(models, y, y_train=draw(seed=1)[0], unit="days", **options)
    sentences = verdict_sentences(ev.to_dict())
    assert ev.verdict == " ".join(sentences)
    assert " ".join(str(ev).split("\n\n")[0].split()) == ev.verdict
    page = unescape(evaluation_html(ev)).replace("\u00a0", " ")
    assert all(sentence in page for sentence in sentences)
    assert "days" in ev.verdict
    assert "within the first" in ev.verdict


def test_a_slope_that_is_clearly_off_is_something_to_watch_out_for() -> None:
    data = plain({"cox": 100.0})
    metrics = {"low": (0.6, 0.5, 0.7), "high": (1.6, 1.5, 1.7), "fine": (0.9, 0.8, 1.1)}
    for model, (value, low, high) in metrics.items():
        row = {"model": model, "metric": "calibration_slope", "value": value, "low": low}
        row |= {"high": high, "direction": "lower", "convention": {}, "skill": None}
        data["metrics"].append(row)
    assert off_target(data) == [
        "Calibration slope of low (0.600, 0.500 to 0.700) is clearly below 1: predicted risks "
        "differ too much between subjects.",
        "Calibration slope of high (1.60, 1.50 to 1.70) is clearly above 1: predicted risks differ "
        "too little between subjects.",
    ]


def test_the_verdict_of_a_stream_is_that_of_arrays() -> None:
    y, x = draw()
    train = draw(seed=1)[0]
    columns = {"time": y.time, "event": y.event, "a": 300 * np.exp(-0.6 * x)}
    stream = sg.evaluate_stream([columns], y_train=train, predictions={"a": "a"}, unit="days")
    whole = sg.evaluate({"a": columns["a"]}, y, y_train=train, unit="days")
    told = whole.verdict.removesuffix(": pass X_test= and X_train= to check it.") + "."
    assert stream.verdict == told  # a stream takes no features


def test_risk_scores_alone_are_judged_by_their_order() -> None:
    y, x = draw()
    ev = sg.evaluate({"a": sg.RiskScores(x), "b": sg.RiskScores(-x)}, y, unit="days")
    assert ev.verdict.startswith("a is best: ")
    assert "days better" not in ev.verdict


# -- metrics that do not apply ---------------------------------------------------------------------


def steps(x: Any) -> sg.SurvivalCurves:
    grid = np.linspace(20, 700, 40)  # an event before the first step has probability 0
    survival = np.exp(-((grid / 300) ** 1.5) * np.exp(0.9 * x)[:, None])
    return sg.SurvivalCurves(grid, survival, interpolation="step")


def test_metrics_that_no_model_can_have_are_left_out_of_the_default_ones_and_said_once() -> None:
    y, x = draw(300)
    train = draw(300, seed=1)[0]
    ev = sg.evaluate({"a": steps(x), "b": steps(0.5 * x)}, y, y_train=train, unit="days")
    shown = {row["metric"] for row in ev.rows()}
    assert not shown & {"log_likelihood", "ibll"}
    said = [w for w in ev.cases if w.metric in ("log_likelihood", "ibll")]
    assert [(w.code, w.model) for w in said] == [("not-applicable", None)] * 2
    named = sg.evaluate({"a": steps(x)}, y, y_train=train, metrics=["log_likelihood", "ibs"])
    assert {row["metric"] for row in named.rows()} == {"log_likelihood", "ibs"}
    assert [w.model for w in named.cases if w.code == "not-applicable"] == ["a"]


def test_a_metric_that_one_model_can_have_stays() -> None:
    y, x = draw(300)
    linear = sg.SurvivalCurves(steps(x).times, steps(x).survival)
    flat = steps(0 * x)
    ev = sg.evaluate({"a": linear, "b": flat}, y, y_train=draw(300, seed=1)[0])
    shown = {(row["model"], row["metric"]) for row in ev.rows()}
    for metric in ("log_likelihood", "ibll", "calibration_slope"):
        assert {("a", metric), ("b", metric)} <= shown
        said = [(w.code, w.model) for w in ev.cases if w.metric == metric]
        assert ("not-applicable", "b") in said


def test_a_stream_leaves_out_the_same_metrics() -> None:
    y, x = draw(300)
    train, curves = draw(300, seed=1)[0], steps(x)
    whole = sg.evaluate({"a": curves}, y, y_train=train)
    names = [f"s{k}" for k in range(40)]
    columns = {"time": y.time, "event": y.event, **dict(zip(names, curves.survival.T, strict=True))}
    stream = sg.evaluate_stream(
        [columns],
        y_train=train,
        predictions={"a": sg.CurveColumns(tuple(names), curves.times, interpolation="step")},
    )
    left = {m["metric"] for m in whole.rows()} - {m["metric"] for m in stream.rows()}
    assert left == {"antolini"}
