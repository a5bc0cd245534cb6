"""Pages without a browser: what they say, how large they are, that nothing escapes into HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge._tools.text import number
from survgauge.cli.main import main
from survgauge.evaluation import verdict
from survgauge.evaluation.sentences import verdict_parts, verdict_sentences
from survgauge.evaluation.verdict import glance, judged_by
from survgauge.metrics.registry import default_metrics
from survgauge.report import charts, evaluation_html, experiment_html, saved_evaluation_html
from survgauge.report.charts import figure
from survgauge.report.displays.description import p_relation
from survgauge.report.displays.palette import css
from survgauge.report.evaluation_tables import first_columns, group_words
from survgauge.report.page import Markup, join, tag

ROOT = Path(__file__).parents[3]


class Outline(HTMLParser):
    """Elements with their attributes, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.data: Any = None
        self._inside: list[str] = []
        self._json = False
        self.feed(page)

    def handle_starttag(self, name: str, attributes: Any) -> None:
        self.elements.append((name, dict(attributes)))
        self._json = name == "script" and dict(attributes).get("id") == "data"

    def handle_data(self, text: str) -> None:
        if self._json:
            self.data = json.loads(text)
            self._json = False
        self.text += text

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == name]


def outcomes(n: int, seed: int = 0) -> tuple[sg.Outcomes, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event, censoring = rng.exponential(300 * np.exp(-x)), rng.uniform(0, 900, n)
    return sg.Outcomes(np.minimum(event, censoring), event <= censoring), x


def curves(x: np.ndarray, spread: float = 1.0) -> sg.SurvivalCurves:
    grid = np.linspace(0, 900, 60)
    return sg.SurvivalCurves(grid, np.exp(-np.outer(np.exp(spread * x) / 300, grid)))


@pytest.fixture(scope="module")
def evaluation() -> Any:
    y, x = outcomes(300)
    models = {"cox": curves(x[150:]), "flat": curves(0 * x[150:]), "times": 300 * np.exp(-x[150:])}
    return sg.evaluate(models, y[150:], y_train=y[:150], unit="days", tau=400.0)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", Markup("<i></i>"), title='"x"&') == (
        '<p title="&quot;x&quot;&amp;">&lt;b&gt;<i></i></p>'
    )
    assert join("&", None, 3) == "&amp;3"
    assert tag("input", checked=True, hidden=False) == "<input checked>"


def test_the_page_carries_the_record_and_the_words(evaluation: Any) -> None:
    page = Outline(evaluation_html(evaluation, "Title & <more>"))
    assert page.data["record"] == json.loads(json.dumps(evaluation.to_dict()))
    for sentence in verdict_sentences(evaluation.to_dict()):
        assert sentence in page.text.replace("\u00a0", " ")
    assert "Title & <more>" in page.text
    assert {f["id"] for f in page.data["figures"]} <= {a.get("id") for a in page.named("figure")}
    assert len(page.data["figures"]) == 15


def test_the_verdict_has_three_sentences_and_what_is_in_doubt_follows(evaluation: Any) -> None:
    html = evaluation_html(evaluation)
    summary = html.partition('<section id="summary"')[2].partition("</section>")[0]
    words = summary.partition('<div class="figures">')[0].replace("\u00a0", " ")
    row = next(r for r in evaluation.rows() if (r["model"], r["metric"]) == ("cox", "mae_within"))
    value, low, high = (number(row[key], 3) for key in ("value", "low", "high"))
    assert "cox and times are best, with no clear difference between them: " in words
    assert f"off by {value} days (cox, 95 % CI {low} to {high}) and " in words
    assert words.count("<p") == 3
    watch = html.partition('<section id="trust"')[2].partition("</section>")[0]
    assumed = verdict_sentences(evaluation.to_dict())[-1]
    assert assumed.startswith("Censoring is assumed")
    assert assumed in watch.replace("\u00a0", " ")
    assert assumed not in words


def test_the_first_picture_has_differences_and_calibration(evaluation: Any) -> None:
    figures = {f["id"]: f for f in Outline(evaluation_html(evaluation)).data["figures"]}
    forest, calibration = figures["overview-chart"]["specs"][0]["panels"]
    assert [row["label"] for row in forest["rows"]] == ["cox", "flat", "times"]
    rows = {row["label"]: row for row in forest["rows"]}
    pairs = [r for r in evaluation.comparisons() if r["metric"] == "mae_within"]
    best = min(
        (r for r in evaluation.rows() if r["metric"] == "mae_within"), key=lambda r: r["value"]
    )["model"]
    assert "beside" not in rows[best]
    for pair in (p for p in pairs if best in (p["model_a"], p["model_b"])):
        other, sign = (pair["model_a"], 1) if pair["model_b"] == best else (pair["model_b"], -1)
        assert rows[other]["beside"].startswith(f"{sign * pair['difference']:+.3g}")
        assert rows[other].get("clear", False) == (pair["p_simultaneous"] < 0.05)
    lines = [mark for mark in calibration["marks"] if mark["type"] == "line"]
    assert [line["series"] for line in lines] == [["cox"]]


def test_few_metrics_are_shown_first_and_warnings_are_about_these(evaluation: Any) -> None:
    data = evaluation.to_dict()
    shown = [metric for metric, _ in first_columns(data)]
    assert shown == ["mae_within", "ibs", "brier", "harrell", "ici", "calibration_slope"]
    html = evaluation_html(evaluation)
    watch = html.partition('<section id="trust"')[2].partition("</section>")[0]
    open_part = watch.partition("<details>")[0]
    warnings = {w.code: w for w in evaluation.warnings}
    for code in re.findall(r'<code class="soft small">([\w-]+)</code>', open_part):
        assert warnings[code].about(shown)


def test_metrics_are_judged_by_what_their_records_say() -> None:
    given = ["harrell", "mae_hinge", "ibs", "mae_margin", "mae_po", "mae_dr", "mae_within"]
    assert judged_by(given) == [
        "mae_within", "mae_dr", "mae_po", "mae_margin", "ibs", "harrell", "mae_hinge",
    ]  # fmt: skip
    shown = glance([metric.name for metric in default_metrics()])
    assert shown == ["mae_within", "ibs", "harrell", "ici", "calibration_slope"]
    assert judged_by([]) == []


def test_one_script_may_run_and_nothing_is_fetched(evaluation: Any) -> None:
    html = evaluation_html(evaluation)
    page = Outline(html)
    policy = next(m["content"] for m in page.named("meta") if m.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert len(page.named("script")) == 2
    for _, attributes in page.elements:
        assert not attributes.get("src")
        assert (attributes.get("href") or "#").startswith("#")
    assert "@import" not in html
    assert "url(" not in html.replace("url(#${clip})", "")


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--",
    '" onmouseover="alert(1)',
    "a\u2028b",
    "=HYPERLINK(1)",
    "x" * 300,
    "\u0410\u4e2d \U0001f600",
    "",
]


def test_hostile_names_stay_names() -> None:
    y, x = outcomes(60)
    models = {name: 300 * np.exp(-x) + k for k, name in enumerate(HOSTILE)}
    groups = np.where(x > 0, HOSTILE[0], HOSTILE[3])
    ev = sg.evaluate(models, y, by=groups, unit=HOSTILE[1], metrics=["mae_hinge", "harrell"])
    html = evaluation_html(ev, HOSTILE[1])
    page = Outline(html)
    assert page.data["record"]["models"] == HOSTILE
    assert len(page.named("script")) == 2
    assert not any(key.startswith("on") for _, found in page.elements for key in found)
    chips = [b for b in page.named("button") if b.get("class") == "chip"]
    assert [page.data["series"][int(str(b["data-series"]))] for b in chips] == HOSTILE


def _situations() -> dict[str, Any]:
    y, x = outcomes(80, seed=1)
    none = sg.Outcomes(y.time, np.zeros(80, dtype=bool))
    every = sg.Outcomes(y.time, np.ones(80, dtype=bool))
    train, _ = outcomes(90, seed=2)
    c, t, r = curves(x), 300 * np.exp(-x), sg.RiskScores(x)
    held = sg.SurvivalCurves(c.times[:5], c.survival[:, :5], tail="nan")
    return {
        "one model": lambda: sg.evaluate(c, y, y_train=train),
        "times only": lambda: sg.evaluate({"t": t}, y, y_train=train),
        "risks only": lambda: sg.evaluate({"r": r, "s": sg.RiskScores(-x)}, y, y_train=train),
        "mixed": lambda: sg.evaluate({"c": c, "t": t, "r": r}, y, y_train=train, tau=200.0),
        "no intervals": lambda: sg.evaluate({"c": c, "t": t}, y, y_train=train, confidence=None),
        "in sample": lambda: sg.evaluate({"c": c, "t": t}, y),
        "no events": lambda: sg.evaluate({"c": c}, none, y_train=none),
        "no censoring": lambda: sg.evaluate({"c": c}, every, y_train=every),
        "groups": lambda: sg.evaluate({"c": c, "t": t}, y, y_train=train, by=x > 0),
        "one metric": lambda: sg.evaluate({"c": c}, y, y_train=train, metrics="log_likelihood"),
        "curves that stop": lambda: sg.evaluate({"c": c, "h": held}, y, y_train=train),
        "one subject": lambda: sg.evaluate({"c": c[:1]}, y[:1], y_train=train),
        "frequencies": lambda: sg.evaluate(
            {"c": c}, sg.Outcomes(y.time, y.event, np.arange(80) % 3), y_train=train
        ),
    }


@pytest.mark.parametrize("situation", list(_situations()))
def test_every_situation_has_a_page(situation: str) -> None:
    ev = _situations()[situation]()
    page = Outline(evaluation_html(ev))
    assert page.data["record"]["models"] == list(ev.models)
    sections, first = [s["id"] for s in page.named("section")], ("summary", "models", "trust")
    assert [s for s in sections if s in first] == list(first)
    assert ("differences" in sections) == (len(ev.models) > 1)
    values = "groups-chart" if situation == "groups" else "metrics-chart"
    assert len([f for f in page.data["figures"] if f["id"] == values]) == 1


def test_large_inputs_are_summarised(tmp_path: Path) -> None:
    y, x = outcomes(4000)
    models = {f"model {k}": curves(x[2000:], 0.2 * k) for k in range(5)}
    ev = sg.evaluate(models, y[2000:], y_train=y[:2000], confidence=None)
    assert Path(ev.to_html(tmp_path / "page.html")).stat().st_size < 1_500_000


def test_a_saved_evaluation_gives_the_same_tables(
    evaluation: Any, tmp_path: Path, capsys: Any
) -> None:
    saved = json.loads(json.dumps(evaluation.to_dict()))
    assert Outline(saved_evaluation_html(saved)).data["record"] == saved
    (tmp_path / "ev.json").write_text(json.dumps(saved))
    target = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "ev.json"), "--html", str(target), "--title", "A<B"]) == 0
    assert "A&lt;B" in target.read_text()
    assert str(target) in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json", '{"models": []}'])
def test_what_is_no_evaluation_is_refused_in_one_line(
    content: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "x.json").write_text(content)
    assert main(["report", str(tmp_path / "x.json"), "--html", str(tmp_path / "p.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "x.json" in said
    assert not (tmp_path / "p.html").exists()


def test_the_command_line_writes_a_report(tmp_path: Path, capsys: Any) -> None:
    y, x = outcomes(60)
    table = "\n".join(f"{t},{int(e)}" for t, e in zip(y.time, y.event, strict=True))
    (tmp_path / "test.csv").write_text(f"time,event\n{table}\n")
    (tmp_path / "p.csv").write_text("time\n" + "\n".join(map(str, 300 * np.exp(-x))) + "\n")
    files = ["--test", f"{tmp_path}/test.csv", "--pred", f"lr={tmp_path}/p.csv"]
    target = tmp_path / "report.html"
    assert main(["evaluate", *files, "--unit", "days", "--html", str(target)]) == 0
    assert "Report:" in capsys.readouterr().out
    assert "days on average" in target.read_text()
    assert main(["evaluate", *files, "--html", f"{tmp_path}/no/folder.html"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_outputs_are_checked_before_any_work(tmp_path: Path, capsys: Any) -> None:
    _, x = outcomes(30)
    (tmp_path / "p.csv").write_text("time\n" + "\n".join(map(str, x + 9)) + "\n")
    files = ["--test", f"{tmp_path}/missing.csv", "--pred", f"lr={tmp_path}/p.csv"]
    for target, said in (
        (f"{tmp_path}/no/x.html", "does not exist"),
        (str(tmp_path), "is a folder"),
        (f"{tmp_path}/p.csv", "would overwrite"),
        ("a\0b.html", "cannot write"),
        ("n" * 300 + ".html", "cannot write"),
    ):
        assert main(["evaluate", *files, "--html", target]) == 2
        assert said in capsys.readouterr().err
    same = f"{tmp_path}/same"
    assert main(["evaluate", *files, "--html", same, "--json", same]) == 2
    assert "would overwrite" in capsys.readouterr().err


def test_infinite_losses_and_empty_tables_have_pages() -> None:
    y, x = outcomes(200)
    short = sg.SurvivalCurves(np.linspace(0, 100, 10), curves(x[100:]).survival[:, :10])
    ev = sg.evaluate({"c": short}, y[100:], y_train=y[:100], metrics=["ibll"], confidence=None)
    row = Outline(evaluation_html(ev)).data["record"]["metrics"][0]
    assert row["skill"] is None or np.isfinite(row["skill"])
    risk = sg.RiskScores(x[100:])
    none = sg.evaluate({"r": risk}, y[100:], y_train=y[:100], metrics=["mae_po"])
    page = Outline(evaluation_html(none))
    assert [s["id"] for s in page.named("section")] == ["summary", "trust", "provenance"]


def test_a_saved_page_knows_its_horizon(evaluation: Any) -> None:
    saved = json.loads(json.dumps(evaluation.to_dict()))
    text = Outline(saved_evaluation_html(saved)).text
    assert "within the first 400 days" in text
    assert "reference: training outcomes (150 subjects, " in text
    assert "Horizon tau" in text
    saved["support"]["tau"] = None
    assert "Horizon tau" not in Outline(saved_evaluation_html(saved)).text


def test_saved_data_of_another_version(evaluation: Any) -> None:
    saved = json.loads(json.dumps(evaluation.to_dict()))
    saved["metrics"].append({**saved["metrics"][0], "metric": "mae_of_tomorrow"})
    saved["warnings"].append({**saved["warnings"][0], "code": "brand-new", "message": "look out"})
    page = Outline(saved_evaluation_html(saved))
    assert "left out: mae_of_tomorrow" in page.text
    assert "look out" in page.text
    del saved["metrics"][0]["low"]
    with pytest.raises(sg.errors.InputError, match="to_dict"):
        saved_evaluation_html(saved)


def test_the_page_draws_what_the_displays_describe(evaluation: Any) -> None:
    figures = {f["id"]: f["specs"] for f in Outline(evaluation_html(evaluation)).data["figures"]}
    d = displays.display(evaluation, "d_calibration")
    (chart,) = figures["d-calibration"]
    assert [panel["series"] for panel in chart["panels"]] == [["cox"], ["flat"]]
    for panel, model in zip(chart["panels"], ("cox", "flat"), strict=True):
        bars = {mark["label"]: mark for mark in panel["marks"] if mark["type"] == "bars"}
        assert bars["events"]["top"] == pytest.approx(d.column("events", model=model), rel=1e-4)
        assert bars["censored, spread over bins"]["top"] == pytest.approx(
            d.column("observed", model=model), rel=1e-4
        )
    shown = displays.display(evaluation, "calibration_panel")
    panels = figures["calibration-panel"][0]["panels"]
    assert [panel["series"] for panel in panels] == [["cox"]]  # a single point has no panel
    assert panels[0]["equal"] is True
    (line,) = (m for m in panels[0]["marks"] if m["type"] == "line")
    assert line["y"] == pytest.approx(shown.column("observed", model="cox"), rel=1e-4)
    bars = [m for m in panels[0]["marks"] if m["type"] == "bars"]
    for mark, name in zip(bars, ("event", "free", "censored"), strict=True):
        assert mark["counts"] == pytest.approx(shown.column(name, model="cox", part="bars"))


@pytest.mark.parametrize("kind", displays.DISPLAYS)
def test_every_description_becomes_plain_data(evaluation: Any, kind: str) -> None:
    chart = displays.display(evaluation, kind).describe()
    spec = figure("id", [chart])["specs"][0]
    assert json.loads(json.dumps(spec, allow_nan=False))["panels"]
    assert len(spec["panels"]) == len(chart.panels)
    roles = {m["role"] for panel in spec["panels"] for m in panel["marks"] if "role" in m}
    assert all(isinstance(role, int) or f"--{role}:" in css() for role in roles)


def test_an_experiment_page_needs_a_truth() -> None:
    pd = pytest.importorskip("pandas")
    from survgauge.bench.experiment import Results

    names = ["dataset", "censoring", "model", "metric", "value", "true_value"]
    empty = Results(pd.DataFrame([], columns=names))
    with pytest.raises(sg.errors.InputError, match="finish the run first"):
        experiment_html(empty)


def test_the_page_says_what_ici_chance_alone_would_give(tmp_path):
    rng = np.random.default_rng(5)
    grid, scale = np.linspace(0, 40, 80), 6 * np.exp(0.5 * rng.normal(size=200))
    time, limit = rng.exponential(scale), rng.uniform(4, 30, 200)
    y = np.minimum(time, limit), time <= limit
    ev = sg.evaluate({"true": (grid, np.exp(-grid / scale[:, None]))}, y, metrics=["ici"])
    expected = ev.scores[0].support["expected_if_calibrated"]
    assert 0 < expected < 0.2
    page = Outline(ev.to_html(tmp_path / "page.html").read_text(encoding="utf-8"))
    [smooth] = (f for f in page.data["figures"] if f["id"] == "calibration-panel")
    [panel] = smooth["specs"][0]["panels"]
    assert panel["title"].endswith(f"(by chance {number(expected, 2)})")
    assert "what a perfectly calibrated model has by chance" in page.text


# -- tables that mark what matters, groups, samples ------------------------------------------------


def _cells(page: Outline, kind: str) -> int:
    classes = (cell.get("class") or "" for cell in page.named("td"))
    return sum(kind in found.split() for found in classes)


def test_only_who_clearly_loses_is_grey() -> None:
    rng = np.random.default_rng(1)
    y, x = outcomes(400, seed=3)
    near = 300 * np.exp(-x)
    metrics = ["mae_within", "harrell"]
    tied = sg.evaluate({"a": near, "b": near + rng.normal(size=400)}, y, metrics=metrics)
    assert _cells(Outline(evaluation_html(tied)), "behind") == 0
    bad = rng.permutation(near) + 400
    clear = sg.evaluate({"a": near, "b": bad}, y, metrics=metrics)
    page = Outline(evaluation_html(clear))
    # Two metrics in two tables: the best is bold, the other one is grey.
    assert _cells(page, "first") == _cells(page, "behind") == 4
    without = sg.evaluate({"a": near, "b": bad}, y, metrics=metrics, confidence=None)
    assert _cells(Outline(evaluation_html(without)), "behind") == 0


@pytest.fixture(scope="module")
def grouped() -> Any:
    y, x = outcomes(600, seed=5)
    groups = [f"hospital {k}" for k in np.arange(600) % 30]
    models = {"a": 300 * np.exp(-x), "b": 300 * np.exp(-0.5 * x)}
    return sg.evaluate(models, y, by=groups, metrics=["mae_po", "harrell"])


def test_sentences_about_two_groups_say_no_more_than_the_data():
    rng = np.random.default_rng(0)
    y = sg.Outcomes(rng.exponential(9, 80), rng.random(80) < 0.7)
    models = {"a": np.full(80, 6.0), "b": np.full(80, 6.1)}
    record = sg.evaluate(models, y, by=np.repeat(["f", "m"], 40), metrics=["mae_within"]).to_dict()
    told = " ".join([*chain(*verdict_parts(record)), *group_words(record)])
    assert "between groups (p = " in told
    assert ", adjusted for 2 models)" in told
    assert "The two models differ clearly in" in told
    assert "In 0 of" not in told


def test_groups_do_not_make_the_verdict_slow(grouped: Any, monkeypatch: Any) -> None:
    """Everybody is judged, not each of the 30 groups, and no more often than without groups."""
    judged = []
    usual = verdict._verdict
    monkeypatch.setattr(verdict, "_verdict", lambda *a: judged.append(a) or usual(*a))
    evaluation_html(grouped)
    assert len(judged) <= 2


def test_many_groups_are_a_forest_and_few_paragraphs(grouped: Any) -> None:
    page = Outline(evaluation_html(grouped))
    record = page.data["record"]
    assert group_words(record) == []  # all of them are too small to say which model is better
    assert "Best by MAE" not in page.text
    [forest] = (f for f in page.data["figures"] if f["id"] == "groups-chart")
    rows = forest["specs"][0]["panels"][0]["rows"]
    assert rows[0]["label"] == "all subjects (600)"
    assert len(rows) == 31
    assert forest["choices"]["options"] == ["MAE, pseudo-observations", "Harrell's C"]
    sections = [s["id"] for s in page.named("section")]
    assert sections[:4] == ["summary", "models", "trust", "groups"]
    assert [t["id"] for t in page.named("table") if t.get("id")] == ["glance", "all-numbers"]


def test_models_are_compared_in_groups_that_are_large_enough(grouped: Any) -> None:
    record = json.loads(json.dumps(grouped.to_dict()))
    sizes = record["support"]["groups"]
    for size in list(sizes.values())[:-2]:
        size.update(subjects=40, events=20)
    words = group_words(record)
    assert len(words) == 3
    known = "Best by MAE, pseudo-observations in 28 groups of at least 30 subjects and 10 events: "
    assert words[0].startswith(known)
    assert "of 28 groups" in words[2] or "in no group" in words[2].lower()
    for size in sizes.values():
        size.update(subjects=40, events=20)
    words = group_words(record)
    assert words[0].startswith("Best by MAE, pseudo-observations in 30 groups: ")


def test_decisions_have_differences_and_numbers_at_risk_stand_below(evaluation: Any) -> None:
    figures = {f["id"]: f for f in Outline(evaluation_html(evaluation)).data["figures"]}
    assert figures["decision-curve"]["choices"] is None
    benefit, gap = figures["decision-curve"]["specs"][0]["panels"]
    assert benefit["bandless"]  # bands of several models lie on each other
    assert "bandless" not in gap
    assert any(mark.get("low") for mark in benefit["marks"])  # to read, and in the table
    panel = figures["risk-groups"]["specs"][0]["panels"][0]
    shown = displays.display(evaluation, "risk_groups")
    counts = [row["values"] for row in panel["counts"]["rows"]]
    model = panel["series"][0]
    drawn = shown.chart.panels[0].counts.rows
    assert counts == [[f"{v:,.0f}" for v in row] for *_, row in drawn]
    assert len(counts[0]) == len(panel["x"]["ticks"])
    line = panel["marks"][0]
    assert line["marked"] is True
    group = sg.risk_groups(evaluation.task.y, evaluation.predictions[model],
                           time=evaluation.task.time)  # fmt: skip
    ticks = [tick for tick, _ in shown.chart.panels[0].x.ticks]
    assert line["dots"]["x"] == [t for t in ticks if t <= group.curves[0].last_time]
    predicted = [m["name"] for m in panel["marks"] if m.get("name")]
    assert predicted == [f"{group} risk, predicted" for group in group.names]


def test_charts_of_many_subjects_show_a_sample_and_say_so(monkeypatch: Any) -> None:
    y, x = outcomes(500, seed=2)
    ev = sg.evaluate({"c": curves(x), "t": 300 * np.exp(-x)}, y, n_boot=0)
    monkeypatch.setattr(charts, "MOST_SUBJECTS", 200)
    page = Outline(evaluation_html(ev))
    found = {f["id"]: f for f in page.data["figures"]}
    told = "Drawn from a random sample of 200 of the 500 test subjects"
    assert {name for name, f in found.items() if told in f["specs"][0]["note"]} == {
        "predicted-actual", "errors-chart", "brier-chart", "auc-chart", "d-calibration",
        "calibration-panel", "imputed-chart", "decision-curve", "overview-chart",
    }  # fmt: skip
    # Numbers in titles are those of the tables.
    p = next(s.value for s in ev.scores if (s.model, s.metric.name) == ("c", "d_calibration"))
    title = found["d-calibration"]["specs"][0]["panels"][0]["title"]
    assert title == f"c: p {p_relation(p)}"
    # Subjects are named by their rows among all subjects.
    marks = found["predicted-actual"]["specs"][0]["panels"][0]["marks"]
    for mark in (m for m in marks if m.get("names")):
        rows = [int(re.findall(r"\d+", name)[0]) - 1 for name in mark["names"]]
        assert mark["x"] == pytest.approx(y.time[rows], rel=1e-4)


def test_no_words_end_in_dots() -> None:
    y, x = outcomes(200)
    models = {f"model {k}": curves(x[100:], 0.2 * k) for k in range(12)}
    html = evaluation_html(sg.evaluate(models, y[100:], y_train=y[:100], n_boot=0))
    page, seen = Outline(html), Outline(html.partition('<script type="application/json"')[0])
    told = [spec["note"] for f in page.data["figures"] for spec in f["specs"]]
    for text in (seen.text, *told, *(f["caption"] for f in page.data["figures"])):
        assert not re.search(r"\.\.\.\.|, \.\.\.", text)


def test_the_page_says_where_it_comes_from(evaluation: Any) -> None:
    page = Outline(evaluation_html(evaluation))
    assert [s["id"] for s in page.named("section")][-1] == "provenance"
    assert "survgauge.evaluate(predictions, y_test, y_train=..., " in page.text
    saved = json.loads(json.dumps(evaluation.to_dict()))
    del saved["provenance"]  # of an earlier version
    sections = Outline(saved_evaluation_html(saved)).named("section")
    assert "provenance" not in [section["id"] for section in sections]
