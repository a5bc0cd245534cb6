"""Reports and displays under hostile names, odd groups, extreme data and broken writing."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.evaluation.sentences import verdict_sentences
from survgauge.metrics.registry import metrics_of
from survgauge.report import evaluation_html, experiment_html, saved_evaluation_html
from survgauge.report.displays import DISPLAYS

N = 60
RNG = np.random.default_rng(7)
X = RNG.normal(size=2 * N)
EVENT, CENSORING = RNG.exponential(300 * np.exp(-X)), RNG.uniform(0, 900, 2 * N)
OUTCOMES = sg.Outcomes(np.minimum(EVENT, CENSORING), EVENT <= CENSORING)
TRAIN, TEST, X = OUTCOMES[:N], OUTCOMES[N:], X[N:]
TIMES = 300 * np.exp(-X)


def curves(spread: float = 1.0, scale: float = 1.0) -> sg.SurvivalCurves:
    grid = np.linspace(0, 900, 40)
    return sg.SurvivalCurves(grid * scale, np.exp(-np.outer(np.exp(spread * X) / 300, grid)))


def content(html: str) -> Any:
    """Read what the page's script reads, as a browser would: up to the first closing tag."""
    start = html.partition('<script type="application/json" id="data">')[2]
    return json.loads(start.partition("</script")[0])


def rescaled(factor: float) -> dict[str, Any]:
    test, train = (sg.Outcomes(y.time * factor, y.event) for y in (TEST, TRAIN))
    models = {"c": curves(scale=factor), "t": TIMES * factor}
    return {"predictions": models, "y_test": test, "y_train": train}


def given(y: sg.Outcomes = TEST, rows: slice = slice(None), **models: Any) -> dict[str, Any]:
    models = models or {"c": curves()[rows], "t": TIMES[rows]}
    return {"predictions": models, "y_test": y, "y_train": TRAIN}


SITUATIONS: dict[str, Any] = {
    "one subject": lambda: given(TEST[:1], slice(1)),
    "two subjects": lambda: given(TEST[:2], slice(2)),
    "all censored": lambda: given(sg.Outcomes(TEST.time, np.zeros(N, dtype=bool))),
    "all at once": lambda: given(sg.Outcomes(np.full(N, 100.0), TEST.event)),
    "tiny times": lambda: rescaled(1e-9),
    "large times": lambda: rescaled(1e12),
    "constants": lambda: given(k=np.full(N, 90.0), r=sg.RiskScores(np.zeros(N)), c=curves(0.0)),
    "two grid points": lambda: given(
        c=sg.SurvivalCurves([0.0, 900.0], np.column_stack([np.ones(N), np.full(N, 0.1)]))
    ),
}


@pytest.mark.parametrize("situation", list(SITUATIONS))
def test_displays_draw_or_say_why_not(situation: str) -> None:
    """Warnings are errors here, those of matplotlib too."""
    pytest.importorskip("matplotlib")
    ev = sg.evaluate(**SITUATIONS[situation](), metrics=["mae_po", "harrell", "d_calibration"])
    drawn, reasons = [], []
    for kind, build in DISPLAYS.items():
        try:
            shown = build(ev)
        except (InputError, UndefinedMetricError) as error:
            reasons.append(str(error))
            continue
        assert isinstance(shown.rows(), list)
        assert shown.plot().axes
        drawn.append(kind)
    assert "metrics" in drawn
    assert "support" in drawn
    assert all(len(reason) > 20 for reason in reasons)


@pytest.mark.parametrize("situation", list(SITUATIONS))
def test_pages_hold_numbers_or_nothing(situation: str) -> None:
    """No NaN or infinity reaches the script, which would not be JSON."""
    ev = sg.evaluate(**SITUATIONS[situation](), metrics=["mae_po", "ibs", "harrell", "auc"])
    found = content(evaluation_html(ev))
    json.dumps(found, allow_nan=False)
    assert found["record"] == json.loads(json.dumps(ev.to_dict(), allow_nan=False))


def test_every_metric_alone_has_a_page() -> None:
    models = {"c": curves(), "t": TIMES, "r": sg.RiskScores(X)}
    for name in metrics_of():
        ev = sg.evaluate(
            models, TEST, y_train=TRAIN, metrics=[name], threshold=0.3, confidence=None
        )
        assert {r["metric"] for r in content(evaluation_html(ev))["record"]["metrics"]} == {name}


LABELS: dict[str, tuple[Any, Any]] = {
    "whole numbers": (0, 1),
    "truth values": (False, True),
    "infinities": (-np.inf, np.inf),
    "bytes": (b"x", b"y"),
    "days": (np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "no text": ("", " "),
    "case": ("A", "a"),
    "properties": ("__proto__", "constructor"),
    "markup": ("</script><img src=x onerror=alert(1)>", "<!--<script>"),
    "huge": (1, 10**30),
}


@pytest.mark.parametrize("kind", list(LABELS))
def test_groups_of_every_kind_stay_apart(kind: str) -> None:
    labels = np.array([LABELS[kind][k % 2] for k in range(N)], dtype=object)
    ev = sg.evaluate({"t": TIMES}, TEST, y_train=TRAIN, by=labels, metrics=["mae_po", "harrell"])
    record = content(evaluation_html(ev))["record"]
    assert len({row.get("group") for row in record["metrics"]}) == 3  # all subjects, and two groups
    assert len(record["metrics"]) == 6
    assert content(saved_evaluation_html(json.loads(json.dumps(record))))["record"] == record


NAMES = [
    "__proto__", "constructor", "toString", "1", "1.0", "NaN", "null", "Cox", "cox", "cox ", " ",
    "</SCRIPT >", "<!--<script>", "--!>", "a\u2028b", "\u202eleft", "$x^{", "_hidden", "%s", "{0}",
    "&lt;", "Kaplan-Meier", "\U0001f469\u200d\U0001f469",
]  # fmt: skip


def test_names_keep_apart_and_stay_text() -> None:
    models = {name: TIMES + k for k, name in enumerate(NAMES)}
    ev = sg.evaluate(models, TEST, y_train=TRAIN, metrics=["mae_po"], unit=NAMES[11])
    html = evaluation_html(ev, title=NAMES[12])
    found = content(html)
    assert found["record"]["models"] == NAMES
    assert {r["model"] for r in found["record"]["metrics"]} == set(NAMES)
    # Two scripts begin, two end, and no comment opens: whatever the names hold is text.
    assert len(re.findall(r"<script[\s>]", html, re.IGNORECASE)) == 2
    assert len(re.findall(r"</script", html, re.IGNORECASE)) == 2
    assert "<!--" not in html
    chips = re.findall(r'class="chip"[^>]*?data-series="(\d+)"', html)
    assert [found["series"][int(chip)] for chip in chips] == NAMES


def test_names_that_matplotlib_could_take_for_something_else() -> None:
    pytest.importorskip("matplotlib")
    models = {name: TIMES + k for k, name in enumerate(["$x^{", "_a", "", "%s", "a\nb", "\\frac"])}
    ev = sg.evaluate(models, TEST, y_train=TRAIN, metrics=["mae_po"], unit="$\\")
    for kind in ("metrics", "differences", "errors", "predicted_actual"):
        ev.plot(kind).canvas.draw()


def test_a_pickled_evaluation_gives_the_same_page() -> None:
    ev = sg.evaluate({"c": curves(), "t": TIMES}, TEST, y_train=TRAIN, tau=300.0, n_boot=5)
    assert evaluation_html(pickle.loads(pickle.dumps(ev))) == evaluation_html(ev)


def test_without_predictions_the_tables_remain() -> None:
    ev = sg.evaluate({"c": curves(), "t": TIMES}, TEST, y_train=TRAIN, metrics=["mae_po"])
    found = content(evaluation_html(dataclasses.replace(ev, predictions={})))
    assert [f["id"] for f in found["figures"]] == [
        "overview-chart",
        "metrics-chart",
        "differences-chart",
    ]
    assert found["record"] == content(evaluation_html(ev))["record"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_interrupted_writing_leaves_the_old_page(
    error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ev = sg.evaluate({"t": TIMES}, TEST, y_train=TRAIN, metrics=["mae_po"])
    target = tmp_path / "page.html"
    target.write_text("old")

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else InputError):
        ev.to_html(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_truncated_file_is_refused_and_writes_nothing(tmp_path: Path, capsys: Any) -> None:
    ev = sg.evaluate({"t": TIMES}, TEST, y_train=TRAIN, metrics=["mae_po"])
    whole = json.dumps(ev.to_dict())
    saved, page = tmp_path / "ev.json", tmp_path / "page.html"
    for size in (1, len(whole) // 2, len(whole) - 1):
        saved.write_text(whole[:size])
        assert main(["report", str(saved), "--html", str(page)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert not page.exists()


def test_an_experiment_page_takes_any_names() -> None:
    pd = pytest.importorskip("pandas")
    from survgauge.bench.experiment import Results

    rows = [
        (data, kind, model, metric, 10.0 + i * (k - 1), 10.0 + i)
        for data in NAMES[:2] + NAMES[11:13]
        for kind in ("uniform", NAMES[12])
        for i, model in enumerate(NAMES[:3] + NAMES[11:13])
        for k, metric in enumerate(("po", "__proto__", NAMES[11], NAMES[12]))
    ]
    names = ["dataset", "censoring", "model", "metric", "value", "true_value"]
    cell = {"dataset": "d", "censoring": "c", "model": "m", "repeat": 0, "fold": 0}
    failure = {"cell": cell, "error": NAMES[12], "message": f"{NAMES[11]}\u2028\0"}
    html = experiment_html(Results(pd.DataFrame(rows, columns=names), [failure]))
    assert len(re.findall(r"</?script", html, re.IGNORECASE)) == 4
    assert "<!--" not in html
    record = content(html)["record"]
    assert record["models"] == NAMES[:3] + NAMES[11:13]
    assert record["failures"][0]["message"] == f"{NAMES[12]}: {NAMES[11]}\u2028\0"


def test_doubts_about_one_model_are_not_told_of_another():
    rng = np.random.default_rng(2)
    time, limit = rng.exponential(10.0, 120), rng.uniform(5, 25, 120)
    y = np.minimum(time, limit), time <= limit
    long, short = np.linspace(0, 60, 60), np.linspace(0, 4, 30)
    scale = 10 * np.exp(0.3 * rng.normal(size=120))[:, None]
    ev = sg.evaluate(
        {"long": (long, np.exp(-long / scale)), "short": (short, np.exp(-short / scale))}, y,
        metrics=["mae_po"], tau=20.0,
    )  # fmt: skip
    warned = {w.model for w in ev.cases if w.code == "tail-times"}
    assert warned == {"short"}
    data = ev.to_dict()
    for model in ("long", "short"):
        mine = [r for r in data["metrics"] if r["model"] == model]
        alone = {**data, "metrics": mine, "comparisons": []}
        told = " ".join(verdict_sentences(alone))
        assert ("no subject was observed" in told) == (model == "short")
