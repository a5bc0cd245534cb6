"""What was asked for is shown: the time beside every number, in text, on pages, in charts."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.cli.main import main
from survgauge.report import evaluation_html, saved_evaluation_html

TIMES = (100.0, 200.0, 300.0)
GRID = np.linspace(0, 2000, 60)


def data(n=300):
    rng = np.random.default_rng(2)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.5, n) * 300 * np.exp(-0.4 * x), rng.uniform(0, 800, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    scale = 300 * np.exp(-0.4 * x[:, None])
    curves = sg.SurvivalCurves(GRID, np.exp(-((GRID / scale) ** 1.5)))
    flat = sg.SurvivalCurves(GRID, np.tile(np.exp(-GRID / 300), (n, 1)))
    half = slice(n // 2, n)
    return y[: n // 2], y[half], {"cox": curves[half], "flat": flat[half]}


@pytest.fixture(scope="module")
def evaluation():
    y_train, y, models = data()
    return sg.evaluate(models, y, y_train=y_train, time=TIMES, tau=350.0, unit="days")


def plain(page):
    """The visible text of a page."""
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def test_print_shows_every_time_that_was_asked_for(evaluation):
    lines = str(evaluation).splitlines()
    for time in TIMES:
        assert any(line.startswith("Brier score") and f"at {time:g}" in line for line in lines)
        assert any(line.startswith("AUC") and f"at {time:g}" in line for line in lines)
    assert any(line.startswith("MAE within") and "up to 350" in line for line in lines)


def test_print_without_a_clock_does_not_go_into_times():
    y_train, y, models = data()
    text = str(sg.evaluate(models, y, y_train=y_train))
    assert not any(line.startswith(("Brier score", "AUC")) for line in text.splitlines())


def test_the_whole_text_has_the_time_beside_every_number(evaluation):
    text = evaluation.to_text()
    for row in evaluation.rows():
        told = f"at {row['time']:g}" if row["time"] is not None else ""
        told = f"up to {row['until']:g}" if row["until"] is not None else told
        lines = [line for line in text.splitlines() if f" {row['metric']} " in line]
        assert any(told in line for line in lines), row["metric"]
    assert re.search(r"^brier at 200 +cox - flat ", text, flags=re.M)
    assert "time of interest: 100, 200, 300" in text


def test_models_at_a_glance_have_the_last_time_and_all_numbers_every_one(evaluation):
    page = evaluation_html(evaluation)
    glance = page[page.index('id="glance"') :]
    glance = glance[: glance.index("</table>")]
    assert 'data-column-name="brier at 300"' in glance
    assert "at 300 days; lower is better" in glance
    assert 'data-column-name="brier at 200"' not in glance
    for time in TIMES:
        assert f"at {time:g}" in plain(page[page.index('id="all-numbers"') :])
    assert 'data-column-name="ibs"' in glance
    assert "up to 350 days" in plain(page)
    assert "100 / 200 / 300 days" in plain(page)
    saved = json.loads(json.dumps(evaluation.to_dict()))
    assert glance in saved_evaluation_html(saved)


def test_charts_offer_the_times(evaluation):
    page = evaluation_html(evaluation)
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, flags=re.S)
    figures = {f["id"]: f for f in json.loads(found.group(1))["figures"]}
    wanted = [f"{time:g} days" for time in TIMES]
    assert figures["calibration-panel"]["choices"]["options"] == wanted
    for name in ("metrics-chart", "differences-chart"):
        options = figures[name]["choices"]["options"]
        assert [o for o in options if o.startswith("Brier score at")] == [
            f"Brier score at {time:g} days" for time in TIMES
        ]


def test_displays_take_a_time(evaluation):
    shown = displays.display(evaluation, "metrics", metrics=["brier", "ibs"])
    columns = list(dict.fromkeys((row["metric"], row["time"]) for row in shown.rows()))
    assert columns == [*(("brier", time) for time in TIMES), ("ibs", None)]
    (one,) = displays.display(evaluation, "metrics", metrics="brier", time=200.0).chart.panels
    assert "at 200 days" in one.x.label
    labels = [panel.x.label.replace("\n", " ") for panel in shown.describe().panels]
    assert labels[:2] == ["Brier score at 100 days", "Brier score at 200 days"]
    assert labels[-1] == "Integrated Brier score up to 350 days"
    usual = displays.display(evaluation, "differences", metric="brier")
    other = displays.display(evaluation, "differences", metric="brier", time=200.0)
    for made, time in ((usual, 100), (other, 200)):
        (panel,) = made.chart.panels
        assert panel.x.label == f"Difference in Brier score at {time} days"
        assert len(made.rows()) == 1
    with pytest.raises(sg.InputError, match=r"brier was read at \(100, 200, 300\); got 5"):
        displays.display(evaluation, "differences", metric="brier", time=5)
    assert displays.display(evaluation, "calibration_panel").column("at") == 100.0
    assert displays.display(evaluation, "calibration_panel", time=200).column("at") == 200.0
    assert displays.display(evaluation, "brier").column("time")[-1] == 350.0


def test_a_verdict_by_a_metric_at_several_times_tells_each():
    y_train, y, models = data()
    ev = sg.evaluate(models, y, y_train=y_train, metrics=["brier"], time=TIMES, unit="days")
    for time in TIMES:
        assert f"Brier score at {time:g} days" in ev.verdict
    assert {row["time"] for row in ev.conventions.to_dict("records")} == set(TIMES)
    assert "at 100 days" in ev._repr_html_()


def test_net_benefit_is_named_with_its_threshold_everywhere():
    y_train, y, models = data()
    names = ["net_benefit", "brier"]
    by = np.arange(len(y)) % 2
    ev = sg.evaluate(models, y, y_train=y_train, metrics=names, time=200, threshold=0.4, by=by)
    told = "Net benefit at a threshold of 40 %"
    for text in (str(ev), ev.to_text()):
        named = re.findall(r"^(?:\S+  +)?Net benefit.*  at 200  .*$", text, flags=re.M)
        assert len(named) >= 1
        assert all(told in line for line in named)
    assert told in ev._repr_html_()
    assert told in ev.study().table_two.text()
    page = plain(evaluation_html(ev))
    assert page.count(told) >= 4
    chart = displays.display(ev, "metrics", metrics="net_benefit").describe()
    assert chart.panels[0].x.text.startswith(told)


@pytest.fixture
def files(tmp_path):
    y_train, y, models = data(160)

    def save(name, array, header):
        np.savetxt(tmp_path / name, array, delimiter=",", header=header, comments="", fmt="%.17g")
        return str(tmp_path / name)

    return {
        "train": save("train.csv", np.column_stack([y_train.time, y_train.event]), "time,event"),
        "test": save("test.csv", np.column_stack([y.time, y.event]), "time,event"),
        "cox": save("cox.csv", models["cox"].survival, ",".join(f"{g:.17g}" for g in GRID)),
    }


def command(files, name, *more):
    return [name, "--test", files["test"], "--train", files["train"],
            "--pred", f"cox={files['cox']}", *more]  # fmt: skip


def test_the_command_line_takes_several_times(files, capsys):
    assert main(command(files, "evaluate", "--time", "100,200", "--json", "-")) == 0
    rows = json.loads(capsys.readouterr().out)["metrics"]
    assert [row["time"] for row in rows if row["metric"] == "brier"] == [100.0, 200.0]
    assert main(command(files, "evaluate", "--tau", "300", "--json", "-")) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["metrics"]}
    assert rows["ibs"]["until"] == rows["crps"]["until"] == rows["mae_po"]["until"] == 300.0
    assert rows["brier"]["time"] == rows["ici"]["time"] == 300.0
    assert main(command(files, "evaluate", "--time", "100,soon")) == 2
    assert "--time must be a time, or several between commas" in capsys.readouterr().err


def test_an_audit_from_the_shell_takes_several_times(files, capsys):
    more = ("--metrics", "brier,ibs", "--time", "100,200", "--draws", "4", "--json", "-")
    assert main(command(files, "audit", *more)) == 0
    table = json.loads(capsys.readouterr().out)["table"]
    assert {(row["asks"], row["time"]) for row in table} == {
        ("brier at 100", 100.0), ("brier at 200", 200.0), ("ibs", None),
    }  # fmt: skip


def test_support_speaks_of_weights_only_where_there_are_some(tmp_path) -> None:
    curves = sg.SurvivalCurves([0, 4, 8], np.tile([1, 0.6, 0.2], (40, 1)))
    lower = np.arange(40) % 4 * 2.0
    bounds = sg.IntervalOutcomes(lower, np.where(lower < 5, lower + 2, np.inf))
    right = sg.Outcomes(lower + 1, lower < 5)
    for name, y, metric in (("i", bounds, "interval_ibs"), ("r", right, "ibs")):
        page = sg.evaluate({"m": curves}, y, metrics=[metric]).to_html(tmp_path / f"{name}.html")
        assert ("weight by 1/G" in page.read_text()) == (name == "r")
        assert ("Largest weight" in page.read_text()) == (name == "r")
