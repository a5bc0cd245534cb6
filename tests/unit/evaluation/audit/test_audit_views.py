"""An audit as figure, page, notebook cell and command."""

from __future__ import annotations

import json

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main
from survgauge.report.displays.audit import audit as shown

GRID = np.linspace(1, 30, 30)


def subjects(n=40, end=15.0, seed=0):
    rng = np.random.default_rng(seed)
    scale = 8 * np.exp(0.5 * rng.normal(size=n))
    time, ends = rng.exponential(scale), rng.exponential(end, n)
    curves = sg.SurvivalCurves(GRID, np.exp(-GRID / scale[:, None]))
    return {"a <b>": curves, "flat": np.full(n, 6.0)}, (np.minimum(time, ends), time <= ends)


@pytest.fixture(scope="module")
def found():
    predictions, y = subjects()
    return sg.audit(predictions, y, y_train=y, draws=10, unit="days")


def test_the_figure_has_the_numbers_of_the_table(found):
    display = shown(found.to_dict())
    asked = [row for row in found.rows() if row["asks"] == "absolute"]
    assert len(display.rows()) == len(asked) == len(display.frame())
    chart = display.describe()
    assert len(chart.panels) == 4
    loss = chart.panels[0]
    drawn = sorted(x for mark in loss.marks for x in mark.x)
    wanted = [100 * row["relative_loss"] for row in asked if row["horizon"] is not None]
    assert drawn == pytest.approx(sorted(wanted))
    assert loss.rows[0].label == found.recommended or found.recommended is None


def test_marks_stand_in_the_row_of_their_metric(found):
    panel = shown(found.to_dict()).describe().panels[1]
    names = [row.label for row in panel.rows]
    points = [mark for mark in panel.marks if hasattr(mark, "names")]
    assert points
    for mark in points:
        for y, name in zip(mark.y, mark.names, strict=True):
            assert names[round(float(y))] == name.partition(",")[0]


def test_one_model_has_a_panel_of_its_bias_only():
    predictions, y = subjects()
    a = sg.audit({"m": predictions["flat"]}, y, draws=4, metrics=["mae_po", "mae_hinge"], tau=6.0)
    (panel,) = shown(a.to_dict()).describe().panels
    assert panel.title == "Bias, within 6.000"
    assert "<th" in a._repr_html_()


def test_rounding_is_no_bias():
    predictions, (time, _) = subjects()
    a = sg.audit(predictions, (time, np.ones(40)), draws=4, metrics=["mae_po", "mae_dr"])
    assert any(row["relative_bias"] for row in a.rows())  # of about 1e-16
    panels = shown(a.to_dict()).describe().panels
    assert {float(x) for p in panels for m in p.marks if hasattr(m, "names") for x in m.x} == {0.0}


def test_it_draws(found):
    pytest.importorskip("matplotlib")
    figure = found.plot()
    assert len(figure.axes) >= 4


def test_the_page_works_alone_and_as_a_section(found, tmp_path):
    alone = found.to_html(tmp_path / "audit.html").read_text()
    assert "Recommended:" in alone
    assert "a <b>" not in alone.partition("application/json")[0]
    predictions, y = subjects()
    ev = sg.evaluate(predictions, y, y_train=y, metrics=["mae_po"], confidence=None)
    plain = ev.to_html(tmp_path / "plain.html").read_text()
    both = ev.to_html(tmp_path / "both.html", audit=found).read_text()
    assert "Audit of the metrics" in both
    assert "audit-chart" in both
    assert "Audit of the metrics" not in plain


def test_a_notebook_shows_the_recommendation(found):
    html = found._repr_html_()
    assert html.startswith("<div>")
    assert str(found.recommended or "nothing") in html
    assert "<script" not in html


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    predictions, (time, event) = subjects()
    lines = [f"{t},{int(e)},{k % 7}" for k, (t, e) in enumerate(zip(time, event, strict=True))]
    (tmp_path / "test.csv").write_text("\n".join(["time,event,age", *lines]) + "\n")
    head = ",".join(f"{t:g}" for t in GRID)
    body = [",".join(f"{s:.6f}" for s in row) for row in predictions["a <b>"].survival]
    (tmp_path / "curves.csv").write_text("\n".join([head, *body]) + "\n")
    (tmp_path / "flat.csv").write_text("\n".join(["time", *["6"] * 40]) + "\n")
    test = str(tmp_path / "test.csv")
    return [
        "audit", "--test", test, "--train", test, "--draws", "5",
        "--pred", f"a={tmp_path / 'curves.csv'}", "--pred", f"flat={tmp_path / 'flat.csv'}",
    ]  # fmt: skip


def test_the_command_prints_and_writes(files, tmp_path, capsys):
    page, out = tmp_path / "a.html", tmp_path / "a.json"
    assert main([*files, "--html", str(page), "--json", str(out), "--unit", "days"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Recommended: ")
    assert f"Report: {page}" in printed
    data = json.loads(out.read_text())
    assert data["models"] == ["a", "flat"]
    assert "Recommended" in page.read_text()
    assert main([*files, "--json", "-", "--metrics", "mae_po,harrell", "--tau", "5"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in again["table"]} == {"mae_po", "harrell"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--dependence", "a,b"], "--dependence must be numbers between commas"),
        (["--metrics", "nonsense"], "metrics must be one of"),
        (["--draws", "0"], "draws must be"),
        (["--copula", "none"], "copula must be one of"),
        (["--interpolation", "zzz"], "--interpolation must be one of"),
        (["--features", "weight"], "--features: 'weight' is neither a file nor a column"),
        (["--features", ","], "--features must name a column or a file"),
        (["--features", "FILE"], "--features of an audit must be about both sets"),
    ],
)
def test_bad_input_is_one_line_and_status_2(files, capsys, wrong, message):
    assert main([*files, *(files[2] if word == "FILE" else word for word in wrong)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize("features", [["all"], ["age"], ["FILE", "FILE"]])
def test_features_are_one_more_scenario(files, capsys, features):
    given = [files[2] if word == "FILE" else word for word in features]
    assert main([*files, "--json", "-", "--metrics", "mae_dr", "--features", *given]) == 0
    kinds = {row["kind"] for row in json.loads(capsys.readouterr().out)["table"]}
    assert "conditional" in kinds


def test_the_command_does_not_overwrite_its_input(files, capsys):
    assert main([*files, "--json", files[2]]) == 2
    assert "--json" in capsys.readouterr().err
