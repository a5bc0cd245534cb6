"""The page of an evaluation in a real browser."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.report import charts
from survgauge.report.displays import palette

ATTACK = "<script>alert(1)</script>"
SECOND = '"><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def evaluation() -> Any:
    rng = np.random.default_rng(3)
    n = 120
    x = rng.normal(size=2 * n)
    event = rng.exponential(300 * np.exp(-0.7 * x))
    censoring = rng.uniform(50, 900, 2 * n)
    y = sg.Outcomes(np.minimum(event, censoring), event <= censoring)
    grid = np.linspace(0, 900, 40)
    rate = np.exp(0.7 * x[n:]) / 300
    predictions = {
        "cox": sg.SurvivalCurves(grid, np.exp(-np.outer(rate, grid))),
        ATTACK: sg.SurvivalCurves(grid, np.exp(-np.outer(np.full(n, 1 / 300), grid))),
        SECOND: 300.0 * np.exp(-0.7 * x[n:]),
        "score": sg.RiskScores(x[n:]),
    }
    return sg.evaluate(predictions, y[n:], y_train=y[:n], unit="<b>days</b>")


@pytest.fixture(scope="module")
def path(evaluation: Any, tmp_path_factory: Any) -> Path:
    return Path(evaluation.to_html(tmp_path_factory.mktemp("page") / "report.html", title=ATTACK))


def test_loads_quietly_and_names_stay_text(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.wait_for_timeout(200)
    tab.check_quiet()
    assert tab.page.inner_text("h1") == ATTACK
    assert tab.page.title() == ATTACK
    names = tab.page.locator("button.chip").evaluate_all("cs => cs.map((c) => c.ariaLabel)")
    assert names == ["cox", ATTACK, SECOND, "score"]
    shown = tab.texts("button.chip")
    assert (shown[0], shown[2][:9], shown[2][-9:]) == ("cox", SECOND[:9], SECOND[-9:])
    assert tab.page.locator("img").count() == 0
    assert tab.page.locator("figure svg").count() >= 10


def test_all_charts_draw_marks_within_their_box(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    for figure in tab.page.locator("figure:has(.plot)").all():
        svg = figure.locator(".plot svg")
        assert svg.count() == 1
        assert svg.locator("path, rect, line").count() > 3, figure.get_attribute("id")
        assert "NaN" not in svg.inner_html()
        box = svg.bounding_box()
        for text in svg.locator("text").all():
            seen = text.bounding_box()
            if seen is not None and seen["width"] > 0:
                assert seen["x"] >= box["x"] - 2, text.inner_text()
                assert seen["x"] + seen["width"] <= box["x"] + box["width"] + 6, text.inner_text()


def test_every_display_can_be_drawn_by_the_page(
    open_tab: Any, evaluation: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    sections = {
        "subjects": tuple(charts.PageFigure(f"one-{kind}", kind) for kind in displays.DISPLAYS)
    }
    monkeypatch.setattr(charts, "SECTIONS", sections)
    tab = open_tab(Path(evaluation.to_html(tmp_path / "page.html")))
    for kind in displays.DISPLAYS:
        svg = tab.page.locator(f"#one-{kind} .plot svg")
        assert svg.locator("path, rect, line").count() > 3, kind
        assert "NaN" not in svg.inner_html(), kind
        tab.page.locator(f"#one-{kind} .plot").press("End")
        assert tab.page.locator("#tip").is_visible(), kind
    tab.check_quiet()


def test_calibration_has_histograms_and_a_panel_a_model(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    titles = [text for text in tab.texts("#d-calibration svg text") if ": p " in text]
    assert len(titles) == 2
    assert tab.page.locator("#d-calibration svg g rect").count() > 20
    strips = tab.page.locator("#calibration-panel svg g rect")
    whole = strips.count()
    tab.page.locator("button.chip").first.click()
    assert strips.count() < whole
    assert len([t for t in tab.texts("#d-calibration svg text") if ": p " in t]) == 1


def test_sorting_by_a_metric(open_tab: Any, path: Path, evaluation: Any) -> None:
    tab = open_tab(path)
    head = tab.page.locator("#glance th[data-column-name=mae_within] button")
    values = {r["model"]: r["value"] for r in evaluation.rows() if r["metric"] == "mae_within"}
    expected = sorted(values, key=lambda m: values[m])
    head.click()
    assert tab.texts("#glance tbody th") == [*expected, "score"]  # no value: last
    head.click()
    assert tab.texts("#glance tbody th") == [*expected[::-1], "score"]
    assert tab.page.locator("#glance th[aria-sort=descending]").count() == 1


def test_rows_are_found_by_words(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.fill("input[data-filter=all-numbers]", "harrell")
    rows = tab.page.locator("#all-numbers tbody tr:visible")
    assert rows.count() == 4
    tab.page.fill("input[data-filter=all-numbers]", "harrell score")
    assert rows.count() == 1
    assert tab.page.inner_text("#all-numbers-count").startswith("1 of ")


def test_hiding_a_model_hides_it_everywhere(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    assert "cox" in tab.texts("#brier-chart svg text")
    tab.page.locator("button.chip").first.click()
    assert "cox" not in tab.texts("#brier-chart svg text")
    assert "cox" not in tab.texts("#glance tbody th")
    for chip in tab.page.locator("button.chip").all()[1:]:
        chip.click()
    assert len(tab.texts("#glance tbody th")) == 1  # the last one stays
    tab.page.click("#all-series")
    assert len(tab.texts("#glance tbody th")) == 4


def test_choice_of_metric_redraws(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    figure = tab.page.locator("#metrics-chart")
    before = figure.locator("svg").inner_html()
    figure.locator("select").select_option(label="Harrell's C")
    assert figure.locator("svg").inner_html() != before
    assert "Harrell's C" in tab.texts("#metrics-chart svg text")
    assert "(harrell)" in figure.locator(".note").inner_text()


def test_hover_and_keys_show_values(open_tab: Any, path: Path, evaluation: Any) -> None:
    tab = open_tab(path)
    plot = tab.page.locator("#metrics-chart .plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 33)
    tip = tab.page.locator("#tip")
    assert tip.is_visible()
    value = next(
        r["value"] for r in evaluation.rows() if (r["model"], r["metric"]) == ("cox", "mae_within")
    )
    assert "cox" in tip.inner_text()
    assert str(math.floor(value)) in tip.inner_text()  # the last digit may be rounded either way
    tab.page.mouse.move(5, 5)
    assert not tip.is_visible()
    lines = tab.page.locator("#brier-chart .plot")
    lines.focus()
    tab.page.keyboard.press("End")
    assert tip.is_visible()
    last = tip.inner_text()
    tab.page.keyboard.press("Home")
    assert tip.inner_text() != last
    assert "Time" in tab.page.inner_text("#said")
    tab.page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_dark_follows_the_system_and_the_button(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = tab.page.evaluate(colour)
    assert dark == "rgb(17, 22, 28)"
    tab.page.click("#theme")
    assert tab.page.evaluate(colour) != dark
    tab.check_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_text_is_aa(open_tab: Any, path: Path, scheme: str) -> None:
    tab = open_tab(path, color_scheme=scheme)
    names = ["ink", "soft", "accent", "good", "caution", "problem", "note"]
    marks = [f"s{k}" for k in range(len(palette.PAINTS))] + ["event", "censored", "baseline"]
    script = "n => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()"
    for ground in ("card", "page"):
        base = _luminance(tab.page.evaluate(script, ground))
        for name in (*names, *marks):
            ratio = _ratio(_luminance(tab.page.evaluate(script, name)), base)
            assert ratio >= (3.0 if name in marks else 4.5), (name, ground)
    marked = _luminance(tab.page.evaluate(script, "mark"))
    assert _ratio(_luminance(tab.page.evaluate(script, "ink")), marked) >= 4.5


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _ratio(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def test_prints_without_controls(open_tab: Any, path: Path, tmp_path: Path) -> None:
    tab = open_tab(path, color_scheme="dark")
    tab.page.emulate_media(media="print")
    for selector in ("nav.contents", ".picker", ".tools", "#theme"):
        assert not tab.page.locator(selector).first.is_visible()
    assert (
        tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )
    printed = tab.page.pdf(path=tmp_path / "page.pdf")
    assert len(printed) > 20_000
    tab.check_quiet()


def test_narrow_page_does_not_scroll_sideways(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.set_viewport_size({"width": 390, "height": 800})
    tab.page.wait_for_timeout(300)
    width = tab.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


def test_every_control_has_a_name_and_takes_focus(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    script = """() => [...document.querySelectorAll('button, select, input, .plot')].filter((e) => {
        const named = e.textContent.trim() || e.getAttribute('aria-label') || e.title
            || (e.labels && e.labels.length && e.labels[0].textContent.trim());
        return !named || e.tabIndex < 0;
    }).map((e) => e.outerHTML.slice(0, 80))"""
    assert tab.page.evaluate(script) == []
    levels = tab.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => h.tagName)")
    assert levels.count("H1") == 1


def test_downloads(open_tab: Any, path: Path, evaluation: Any) -> None:
    tab = open_tab(path)

    def saved(selector: str) -> bytes:
        with tab.page.expect_download() as found:
            tab.page.locator(selector).first.click()
        return Path(found.value.path()).read_bytes()

    whole = json.loads(saved("button[data-save=json]"))
    assert whole == json.loads(json.dumps(evaluation.to_dict()))
    lines = saved("button[data-save=metrics]").decode().splitlines()
    assert len(lines) == len(evaluation.rows()) + 1
    svg = saved("#brier-chart button[data-tool=svg]").decode()
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    assert saved("#brier-chart button[data-tool=png]").startswith(b"\x89PNG")
    assert saved("#brier-chart button[data-tool=csv]").decode().startswith("series,Time (")
    tab.page.click("#brier-chart button[data-tool=table]")
    assert tab.page.locator("#brier-chart .numbers tbody tr").count() > 10
    tab.check_quiet()


def test_names_of_series_and_odd_characters_hide_only_their_model(
    open_tab: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    time, event = rng.exponential(100, 60), rng.random(60) < 0.6
    names = ["event", "Kaplan-Meier", "a\rb", "a\x1fb", "", "tie"]
    models = {name: np.full(60, 100.0 + k) for k, name in enumerate(names)}
    models["tie"] = models["event"]
    ev = sg.evaluate(models, (time, event), metrics=["mae_hinge", "auc", "harrell"])
    tab = open_tab(Path(ev.to_html(tmp_path / "page.html")))
    marks = tab.page.locator("#predicted-actual svg path")
    count = marks.count()
    rows = tab.page.locator("#all-numbers tbody tr:visible")
    whole = rows.count()
    for chip in tab.page.locator("button.chip").all()[:5]:
        chip.click()
    assert marks.count() == count
    assert rows.count() == whole / 6
    for label in ("AUC", "Harrell's C"):  # all the same: an axis without width
        tab.page.locator("#metrics-chart select").select_option(label=label)
    tab.check_quiet()


# -- what is shown first, and what is folded away --------------------------------------------------


def test_what_matters_is_open_and_the_rest_folded(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, folded=True)
    shown = tab.page.locator("section:visible").evaluate_all("s => s.map((e) => e.id)")
    assert shown[:4] == ["summary", "models", "trust", "differences"]
    for name in ("calibration-panel", "decision-curve", "errors-chart", "brier-chart"):
        assert tab.page.locator(f"#{name} .plot svg").is_visible()
    assert not tab.page.locator("#subject-curves .plot").is_visible()
    tab.page.click("nav.contents >> text=Single subjects")
    tab.page.wait_for_selector("#subject-curves .plot svg")
    assert not tab.page.locator("#support-chart .plot").is_visible()
    tab.page.click("#unfold")
    tab.page.wait_for_selector("#support-chart .plot svg")
    assert tab.page.inner_text("#unfold") == "Close all sections"
    tab.check_quiet()


def test_an_address_opens_its_section(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, folded=True)
    tab.page.goto(f"{path.as_uri()}#support-chart")
    tab.page.wait_for_selector("#support-chart .plot svg")


@pytest.fixture(scope="module")
def many(tmp_path_factory: Any) -> Path:
    """Write the page of twelve models in 25 groups."""
    rng = np.random.default_rng(4)
    time, event = rng.exponential(100, 500), rng.random(500) < 0.7
    models = {f"model {k}": time + rng.normal(20, 5 + 4 * k, 500) for k in range(12)}
    groups = [f"hospital {k:02d}" for k in rng.integers(0, 25, 500)]
    ev = sg.evaluate(models, (time, event), metrics=["mae_hinge", "harrell"], by=groups)
    return Path(ev.to_html(tmp_path_factory.mktemp("many") / "report.html"))


def test_twelve_models_look_different_and_can_be_picked_out(open_tab: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    time, event = rng.exponential(100, 60), rng.random(60) < 0.7
    models = {f"model {k}": time + k for k in range(12)}
    ev = sg.evaluate(models, (time, event), metrics=["mae_hinge", "auc"])
    tab = open_tab(Path(ev.to_html(tmp_path / "page.html")))
    looks = tab.page.locator("button.chip svg").evaluate_all("all => all.map((s) => s.innerHTML)")
    assert len(set(looks)) == 12
    colours = tab.page.locator("button.chip svg path").evaluate_all(
        "all => all.map((p) => getComputedStyle(p).fill)"
    )
    assert len(set(colours)) == 12
    tab.page.locator("button.chip").nth(3).hover()
    script = "all => all.filter((g) => !g.style.opacity && g.look !== null).map((g) => g.look)"
    assert set(tab.page.locator("#auc-chart g.mark").evaluate_all(script)) == {3}
    tab.page.mouse.move(2, 2)
    assert len(set(tab.page.locator("#auc-chart g.mark").evaluate_all(script))) == 12


def test_a_model_has_the_same_colour_in_light_in_dark_and_on_paper(
    open_tab: Any, path: Path
) -> None:
    script = "() => [...Array(12).keys()].map((k) => getComputedStyle(document.documentElement)"
    script += ".getPropertyValue(`--s${k}`).trim())"
    for scheme, media, side in (
        ("light", "screen", 0),
        ("dark", "screen", 1),
        ("dark", "print", 0),
    ):
        tab = open_tab(path, color_scheme=scheme)
        tab.page.emulate_media(media=media)
        assert tab.page.evaluate(script) == [paint[side] for paint in palette.PAINTS]


# -- groups ----------------------------------------------------------------------------------------


def test_groups_are_a_forest_with_few_words(open_tab: Any, many: Path) -> None:
    tab = open_tab(many, folded=True)
    assert len(tab.texts("#summary p")) <= 3
    labels = tab.texts("#groups-chart svg text")
    assert sum(label.startswith("hospital ") for label in labels) == 25
    assert "4 of 12 models: the best ones." in tab.page.inner_text("#groups-chart figcaption")
    tab.check_quiet()


def test_options_are_found_by_words(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    figure = tab.page.locator("#metrics-chart")
    figure.locator("input.find").fill("integrated brier")
    assert figure.locator("select option").all_text_contents() == ["Integrated Brier score"]
    assert "Integrated Brier score" in figure.locator(".chosen").text_content()
    figure.locator("input.find").fill("nobody")
    assert figure.locator("select option").all_text_contents() == ["nothing found"]


@pytest.mark.parametrize("width", [390, 1280])
def test_many_models_and_groups_fit_the_page(open_tab: Any, many: Path, width: int) -> None:
    tab = open_tab(many)
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.page.locator("#numbers > details").evaluate("e => { e.open = true; }")
    place = tab.page.locator("#numbers .table").first
    assert place.evaluate("e => e.scrollWidth <= e.clientWidth + 1") is (width == 1280)


# -- what leaves the page --------------------------------------------------------------------------


def test_exported_figures_say_what_they_show(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    figure = tab.page.locator("#predicted-actual")
    figure.locator("select").select_option(label="cox")
    with tab.page.expect_download() as found:
        figure.locator("button[data-tool=svg]").click()
    svg = Path(found.value.path()).read_text(encoding="utf-8")
    title = svg.partition("<title>")[2].partition("</title>")[0]
    assert title == "Predicted against actual: cox. 120 test subjects, 86 events"
    assert found.value.suggested_filename == "evaluation-predicted-actual-1-cox-n120.svg"
    tab.check_quiet()


def test_every_export_has_a_name_of_its_own(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    script = "() => { window.names = []; HTMLAnchorElement.prototype.click = function () "
    tab.page.evaluate(script + "{ window.names.push(this.download); }; }")
    choose = """(figure) => {
        const select = figure.querySelector("select");
        const press = () => figure.querySelectorAll("[data-tool=svg], [data-tool=csv]")
            .forEach((button) => button.click());
        if (!select) return press();
        for (const option of select.options) {
            select.value = option.value;
            select.dispatchEvent(new Event("change"));
            press();
        }
    }"""
    for figure in tab.page.locator("figure:has(.plot)").all():
        figure.evaluate(choose)
    names = tab.page.evaluate("window.names")
    assert len(names) > 60
    assert len(set(names)) == len(names)
    assert all("n120" in name for name in names)
    tab.check_quiet()


def test_what_is_open_is_printed(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, folded=True)
    tab.page.emulate_media(media="print")
    printed = tab.page.locator("section:visible").evaluate_all("s => s.map((e) => e.id)")
    assert printed[:3] == ["summary", "models", "trust"]
    assert "calibration" in printed
    assert "numbers" not in printed
    # No table is wider than the paper, which would shrink everything.
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1200
    tab.page.emulate_media(media="screen")
    tab.page.click("#unfold")
    tab.page.emulate_media(media="print")
    assert tab.page.locator("#numbers").is_visible()
