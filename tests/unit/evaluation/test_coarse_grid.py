"""Curves at few times are named, and may be read by a rule of their own."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main

RNG = np.random.default_rng(3)
FEW = [4.0, 8.0, 12.0]


def sample(n):
    x = RNG.normal(size=(n, 2))
    t, c = RNG.weibull(1.5, n) * 10 * np.exp(-0.5 * x[:, 0]), RNG.uniform(2, 30, n)
    return x, sg.Outcomes(np.minimum(t, c), t <= c)


X_TRAIN, TRAIN = sample(200)
X, Y = sample(120)
FULL = sg.models.build("coxph").fit(X_TRAIN, TRAIN).predict_curves(X)
COARSE = sg.SurvivalCurves(FEW, np.stack([FULL.at(t) for t in FEW], axis=1))


def coarse(result):
    return [w for w in result.cases if w.code == "coarse-grid"]


def test_the_same_model_at_three_times_is_named_with_what_it_costs():
    metrics = ["mae_po", "crps"]
    result = sg.evaluate({"full": FULL, "three": COARSE}, Y, y_train=TRAIN, metrics=metrics)
    (remark,) = coarse(result)
    assert remark.model == "three"
    assert "3 predicted times" in remark.message
    values = {(r["model"], r["metric"]): r["value"] for r in result.rows()}
    assert values["three", "crps"] != pytest.approx(values["full", "crps"], rel=1e-3)
    assert "The curves of three have few predicted times" in result.verdict
    # One of them cannot be better than itself: what is assumed between three times decides.
    assert not re.match(r"(full|three) is best", result.verdict)
    alike = sg.evaluate({"a": COARSE, "b": 2 * Y.time}, Y, y_train=TRAIN, metrics=["mae_po"])
    assert "depends on what is assumed between them" in alike.verdict


def test_streams_say_the_same():
    batch = {"time": Y.time, "event": Y.event}
    batch |= {f"c_{t:g}": COARSE.at(t) for t in FEW}
    columns = {"three": sg.CurveColumns("c_*")}
    streamed = sg.evaluate_stream([batch], y_train=TRAIN, predictions=columns, metrics=["mae_po"])
    whole = sg.evaluate({"three": COARSE}, Y, y_train=TRAIN, metrics=["mae_po"])
    assert coarse(streamed) == coarse(whole) != []


def test_few_events_need_few_times():
    small = TRAIN[:8]
    steps = sg.reference_curves(small, len(Y))
    assert not coarse(sg.evaluate(steps, Y, y_train=small, metrics=["mae_hinge"]))
    assert coarse(sg.evaluate(steps, Y, y_train=TRAIN, metrics=["mae_hinge"]))


def test_grids_of_their_own_and_a_horizon_before_the_times():
    own = sg.curves_from_quantiles([0.2, 0.5, 0.8], np.tile([3.0, 8.0, 15.0], (len(Y), 1)))
    assert coarse(sg.evaluate(own, Y, y_train=TRAIN, metrics=["mae_hinge"]))
    wide = sg.SurvivalCurves(np.arange(1, 21.0), np.tile(np.linspace(0.95, 0, 20), (len(Y), 1)))
    assert not coarse(sg.evaluate(wide, Y, y_train=TRAIN, metrics=["mae_hinge"]))
    assert coarse(sg.evaluate(wide, Y, y_train=TRAIN, metrics=["mae_hinge"], tau=5.0))


def write(path, names, rows):
    lines = [",".join(names), *(",".join(repr(float(v)) for v in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_interpolation_of_one_model_on_the_command_line(tmp_path, capsys):
    test = write(tmp_path / "y.csv", ["time", "event"], zip(Y.time, Y.event, strict=True))
    curves = write(tmp_path / "c.csv", [f"{t:g}" for t in FEW], COARSE.survival)
    call = ["evaluate", "--test", test, "--pred", f"a={curves}", "--pred", f"b={curves}"]
    call += ["--metrics", "mae_hinge", "--json", "-"]
    assert main(call) == 0
    lines = capsys.readouterr().out
    assert main([*call, "--interpolation", "step"]) == 0
    steps = capsys.readouterr().out
    assert main([*call, "--interpolation", "step", "--interpolation", "b=linear"]) == 0
    mixed = capsys.readouterr().out

    def value(text, model):
        return next(r["value"] for r in json.loads(text)["metrics"] if r["model"] == model)

    assert value(mixed, "a") == value(steps, "a") != value(lines, "a")
    assert value(mixed, "b") == value(lines, "b")
    assert main([*call, "--interpolation", "c=step"]) != 0
    assert "no --pred named 'c'" in capsys.readouterr().err
