"""Metrics of all causes in `evaluate`: the functions' numbers, whole or in chunks."""

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation import call
from survgauge.metrics.probability.multi_cause import integrated_states

NAMES = ("multi_log_loss", "multi_brier", "antolini", "log_likelihood")


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rates = np.stack([0.1 * np.exp(x), 0.05 * np.exp(-0.5 * x)], axis=1)
    total = rates.sum(axis=1)
    time = rng.exponential(1 / total)
    cause = np.where(rng.random(n) < rates[:, 0] / total, 1, 2)
    limit = rng.exponential(15, size=n)
    grid = np.linspace(0, 60, 80)
    values = (1 - np.exp(-total[:, None] * grid))[:, None] * (rates / total[:, None])[:, :, None]
    y = sg.Outcomes(np.minimum(time, limit), np.where(time <= limit, cause, 0), causes=["a", "b"])
    return y, sg.IncidenceCurves(grid, values, causes=["a", "b"])


@pytest.fixture(scope="module")
def data():
    train, _ = draw(200, 1)
    y, curves = draw(250, 2)
    return train, y, {"true": curves, "other": curves[::-1]}


def scores(ev):
    return {(s.model, s.metric.name): s for s in ev.scores}


def test_numbers_are_those_of_the_functions(data):
    train, y, models = data
    curves, steps = models["true"], np.linspace(0, 12.0, 101)
    wanted = {
        "multi_log_loss": sg.integrated_multi_cause_score(y, curves, steps),
        "multi_brier": sg.integrated_multi_cause_score(y, curves, steps, loss="squared"),
        "antolini": sg.concordance_td(y, curves, cause="b"),
        "log_likelihood": sg.log_likelihood(y, curves),
    }
    given = {"y_train": train, "cause": "b", "time": 4.0, "tau": 12.0}
    found = scores(sg.evaluate(models, y, metrics=NAMES, **given))
    for name, details in wanted.items():
        assert found["true", name].value == pytest.approx(details.value, rel=1e-12), name
        assert found["true", name].stderr == pytest.approx(details.stderr, rel=1e-9), name
    flat = sg.AalenJohansen.fit(train).curves(len(y))
    for name, loss in (("multi_log_loss", "log"), ("multi_brier", "squared")):
        base = sg.integrated_multi_cause_score(y, flat, steps, loss=loss)
        assert found["true", name].baseline == pytest.approx(base, rel=1e-12)


def test_the_last_values_of_a_baseline_hold(data):
    _, y, models = data
    early = models["true"].times <= 8.0
    short = sg.IncidenceCurves(
        models["true"].times[early], models["true"].values[..., early], ["a", "b"]
    )
    grid = np.append(short.times, 60.0)
    held = np.concatenate((short.values, short.values[..., -1:]), axis=2)
    times = np.linspace(0, 12.0, 101)
    for loss in ("log", "squared"):
        wanted = sg.integrated_multi_cause_score(
            y, sg.IncidenceCurves(grid, held, ["a", "b"]), times, loss=loss
        )
        found = integrated_states(y, short, times, loss, tail="hold").value
        assert found == pytest.approx(wanted, rel=1e-12)


def test_chunks_give_the_same_numbers(data, monkeypatch):
    train, y, models = data
    given = {"y_train": train, "cause": 1, "time": 4.0, "metrics": [*NAMES[:2], "log_likelihood"]}
    whole = scores(sg.evaluate(models, y, **given))
    monkeypatch.setattr(call, "chunk_rows", lambda widths: 60)
    for key, score in scores(sg.evaluate(models, y, **given)).items():
        assert score.value == pytest.approx(whole[key].value, rel=1e-10), key
        assert score.baseline == pytest.approx(whole[key].baseline, rel=1e-10, nan_ok=True), key
        assert score.stderr == pytest.approx(whole[key].stderr, rel=1e-9), key


def test_without_a_cause_they_say_what_they_need(data):
    _train, y, models = data
    for name in NAMES[:2]:
        with pytest.raises(sg.InputError, match=f"{name} is about several causes"):
            sg.evaluate(models["true"].survival(), y.any_cause(), metrics=name)


def test_batches_give_the_same_numbers(data):
    train, y, models = data
    given = {"y_train": train, "cause": 1, "time": 4.0, "metrics": [*NAMES[:2], "log_likelihood"]}
    whole, curves = scores(sg.evaluate(models, y, **given)), models["true"]
    batches = [
        {"time": y.time[rows], "event": y.cause[rows], "one": curves.values[rows, 0],
         "two": curves.values[rows, 1]}
        for rows in np.array_split(np.arange(len(y)), 4)
    ]  # fmt: skip
    columns = {"true": sg.IncidenceColumns({"a": "one", "b": "two"}, curves.times)}
    for key, score in scores(sg.evaluate_stream(batches, predictions=columns, **given)).items():
        assert score.value == pytest.approx(whole[key].value, rel=1e-10), key
        assert score.baseline == pytest.approx(whole[key].baseline, rel=1e-10, nan_ok=True), key
        assert score.stderr == pytest.approx(whole[key].stderr, rel=1e-9), key
