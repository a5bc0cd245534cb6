"""Net benefit as a metric: a mean by the definition, asked at a threshold by every door."""

from __future__ import annotations

import numpy as np
import pytest
from naive import g_at

import survgauge as sg
from survgauge.bench.experiment.specs import MetricSpec
from survgauge.cli.main import main

GRID = np.linspace(0, 40, 81)
TIME, THRESHOLD = 6.0, 0.35


def case(seed=0, n=120):
    rng = np.random.default_rng(seed)
    scale = 8 * np.exp(-rng.normal(size=n))
    t, c = np.ceil(scale * rng.weibull(1.2, n)), np.ceil(rng.exponential(14, n))
    guess = scale * np.exp(0.4 * rng.normal(size=n))
    models = {
        name: sg.SurvivalCurves(GRID, np.exp(-((GRID / s[:, None]) ** 1.2)))
        for name, s in (("true", scale), ("guess", guess))
    }
    return np.minimum(t, c), t <= c, models


def by_loop(time, event, risk):
    """The definition, one subject after the other."""
    y, total = list(zip(time, event, strict=True)), 0.0
    for t, died, r in zip(time, event, risk, strict=True):
        if r < THRESHOLD:
            continue
        if t > TIME:
            total -= THRESHOLD / (1 - THRESHOLD) / g_at(y, TIME)
        elif died:
            total += 1 / g_at(y, t, left=True)
    return total / len(time)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_definition_and_the_function(seed):
    time, event, models = case(seed)
    asked = {"metrics": ["net_benefit"], "time": TIME, "threshold": THRESHOLD}
    ev = sg.evaluate(models, (time, event), **asked)
    for row in ev.rows():
        risk = 1 - models[row["model"]].at(TIME)
        assert row["value"] == pytest.approx(by_loop(time, event, risk), abs=1e-12)
        alone = sg.net_benefit(
            (time, event), risk, TIME, thresholds=[THRESHOLD], method="ipcw"
        )  # fmt: skip
        assert row["value"] == pytest.approx(alone.values[0], abs=1e-12)
        assert row["stderr"] == pytest.approx(alone.stderr[0], rel=1e-9)
        support = ev.support["metrics"][row["model"]]["net_benefit"]
        assert support["treated"] == pytest.approx(alone.treated[0])
        assert support["treat_all"] == pytest.approx(alone.treat_all[0], abs=1e-12)
    (gap,) = ev.comparisons()
    both = [
        sg.net_benefit(
            (time, event), models[m], TIME, thresholds=[THRESHOLD], method="ipcw"
        )
        for m in ("true", "guess")
    ]  # fmt: skip
    want, stderr = both[0].difference(both[1])
    assert gap["difference"] == pytest.approx(want[0], abs=1e-12)
    assert gap["high"] - gap["low"] == pytest.approx(2 * 1.959964 * stderr[0], rel=1e-6)


def test_a_threshold_brings_it_among_the_default_metrics_and_it_needs_one():
    time, event, models = case()
    y = time, event
    with_it = {row["metric"] for row in sg.evaluate(models, y, threshold=0.2, n_boot=0).rows()}
    without = {row["metric"] for row in sg.evaluate(models, y, n_boot=0).rows()}
    assert with_it - without == {"net_benefit"}
    needs = "net_benefit needs threshold, the predicted risk from which on a subject is treated"
    with pytest.raises(sg.InputError, match=needs):
        sg.evaluate(models, y, metrics=["net_benefit"])
    with pytest.raises(sg.InputError, match=needs):
        sg.scorer("net_benefit")
    batch = {"time": time, "event": event, "m": models["true"].survival}
    layout = {"m": sg.CurveColumns("m", GRID)}
    with pytest.raises(sg.InputError, match=needs):
        sg.evaluate_stream([batch], y_train=y, predictions=layout, metrics=["net_benefit"])
    with pytest.raises(sg.InputError, match=needs):
        MetricSpec.of("net_benefit")
    with pytest.raises(sg.InputError, match="'ibs': it has no setting 'threshold'"):
        MetricSpec.of({"name": "ibs", "threshold": 0.2})
    spec = MetricSpec.of({"name": "net_benefit", "threshold": 0.2})
    assert spec.truth_label == "net_benefit(threshold=0.2)"


def test_who_gives_a_threshold_reads_of_it_first():
    time, event, models = case()
    asked = {"time": TIME, "threshold": THRESHOLD, "n_boot": 0}
    assert "Net benefit" in str(sg.evaluate(models, (time, event), **asked))
    alone = sg.evaluate(models, (time, event), metrics=["net_benefit"], **asked)
    assert "Net benefit at 6 and a threshold of 35 % is" in " ".join(alone.verdict.split())


@pytest.mark.parametrize("wrong", [0.0, 1.0, 20, -0.1, float("nan"), "high", [0.1, 0.2]])
def test_a_threshold_is_one_probability(wrong):
    time, event, models = case()
    with pytest.raises(sg.InputError, match="threshold must lie strictly between 0 and 1"):
        sg.evaluate(models, (time, event), metrics=["net_benefit"], threshold=wrong)


def test_groups_and_streams_have_the_same_numbers():
    time, event, models = case(n=160)
    group = np.where(np.arange(160) % 3 == 0, "a", "b")
    asked = {
        "metrics": ["net_benefit"], "time": TIME, "threshold": THRESHOLD, "y_train": (time, event),
    }  # fmt: skip
    whole = sg.evaluate(models, (time, event), by=group, **asked)
    data = {"time": time, "event": event, "g": group}
    data |= {name: curves.survival for name, curves in models.items()}
    batches = [{k: v[rows] for k, v in data.items()} for rows in (slice(0, 70), slice(70, 160))]
    layout = {name: sg.CurveColumns(name, GRID) for name in models}
    stream = sg.evaluate_stream(batches, predictions=layout, by="g", **asked)
    for one, other in zip(whole.rows(), stream.rows(), strict=True):
        for key in ("value", "stderr", "low", "high"):
            assert other[key] == pytest.approx(one[key], rel=1e-8), (key, one)
    for one, other in zip(whole.comparisons(), stream.comparisons(), strict=True):
        assert other["high"] == pytest.approx(one["high"], rel=1e-8)


def test_the_command_line_takes_a_threshold(tmp_path, capsys):
    time, event, models = case()
    table = np.column_stack((time, event))
    np.savetxt(tmp_path / "test.csv", table, "%g", ",", header="time,event", comments="")
    curves, header = models["true"].survival, ",".join(f"{t:g}" for t in GRID)
    np.savetxt(tmp_path / "m.csv", curves, "%.8f", ",", header=header, comments="")
    call = ["evaluate", "--test", f"{tmp_path}/test.csv", "--pred", f"m={tmp_path}/m.csv"]
    asked = [*call, "--metrics", "net_benefit", "--time", "6"]
    assert main([*asked, "--threshold", "0.35"]) == 0
    assert "Net benefit" in capsys.readouterr().out
    assert main(asked) == 2
    assert "net_benefit needs threshold" in capsys.readouterr().err
