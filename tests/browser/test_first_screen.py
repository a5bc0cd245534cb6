"""What is in sight before anybody scrolls or clicks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    rng = np.random.default_rng(3)
    x, grid = rng.normal(size=400), np.linspace(0, 900, 40)
    event, censoring = rng.exponential(300 * np.exp(-0.7 * x)), rng.uniform(0, 900, 400)
    y = sg.Outcomes(np.minimum(event, censoring), event <= censoring)
    models: dict[str, Any] = {
        f"model {k}": sg.SurvivalCurves(
            grid, np.exp(-np.outer(np.exp((0.7 - 0.2 * k) * x[200:]) / 300, grid))
        )
        for k in range(3)
    }
    models["times"] = 300 * np.exp(-0.7 * x[200:])
    ev = sg.evaluate(models, y[200:], y_train=y[:200], unit="days", tau=500.0)
    return Path(ev.to_html(tmp_path_factory.mktemp("page") / "report.html"))


@pytest.mark.parametrize("size", [(1200, 800), (390, 844)])
def test_the_first_screen_has_a_drawn_chart(
    open_tab: Any, path: Path, size: tuple[int, int]
) -> None:
    width, height = size
    tab = open_tab(path, folded=True)
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.page.wait_for_timeout(300)
    svg = tab.page.locator("#overview-chart .plot svg")
    assert svg.locator("path, line").count() > 10
    box = svg.bounding_box()
    seen = min(box["y"] + box["height"], height) - max(box["y"], 0)
    assert seen > 250
    assert box["width"] <= width
    forest = tab.page.locator(
        "#overview-chart .plot svg text", has_text="model 2"
    ).last.bounding_box()
    assert forest["y"] + forest["height"] <= height
    if width > 900:  # beside it the verdict, both whole
        assert box["y"] + box["height"] <= height
        lead = tab.page.locator("#summary .lead").bounding_box()
        assert lead["x"] + lead["width"] <= box["x"]
        assert lead["y"] + lead["height"] <= height
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.check_quiet()


#: Texts of drawings that lie on each other, or stick out of their drawing.
_CLASHES = """() => [...document.querySelectorAll('.plot svg')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim())
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  const out = texts.filter(([, r]) => r.left < frame.left - 1 || r.right > frame.right + 1);
  return [...out.map(([text]) => text), ...texts.flatMap(([one, a], i) => texts.slice(i + 1)
    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3.5)
    .map(([other]) => `${one} | ${other}`))];
})"""


@pytest.mark.parametrize("width", [1200, 800, 390])
def test_no_text_of_a_chart_lies_on_another(
    open_tab: Any, tmp_path: Path, width: int, path: Path
) -> None:
    rng = np.random.default_rng(4)
    x, grid = rng.normal(size=120), np.linspace(0, 900, 20)
    event, censoring = rng.exponential(300 * np.exp(-0.7 * x)), rng.uniform(0, 900, 120)
    y = sg.Outcomes(np.minimum(event, censoring), event <= censoring)
    rates = np.exp(0.7 * x)[:, None] / 300 * grid
    many = {f"a model with a long name {k}": np.exp(-rates * (0.7 + 0.1 * k)) for k in range(8)}
    curves = {name: sg.SurvivalCurves(grid, values) for name, values in many.items()}
    ev = sg.evaluate(curves, y, unit="days", tau=500.0)
    for page in (path, Path(ev.to_html(tmp_path / "many.html"))):
        tab = open_tab(page, folded=True)
        tab.page.set_viewport_size({"width": width, "height": 844})
        if tab.page.locator("#unfold").count():
            tab.page.click("#unfold")
        tab.page.wait_for_timeout(500)
        assert tab.page.evaluate(_CLASHES) == []
    names = tab.texts("button.chip")
    assert len(set(names)) == len(names)  # names that differ at their end can be told apart


def test_the_first_table_has_at_most_six_metrics_in_three_digits(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, folded=True)
    assert 2 <= tab.page.locator("#glance thead th").count() <= 7
    for text in tab.page.locator("#glance td.number").all_inner_texts():
        value = text.split("\n")[0].strip()
        digits = value.replace(".", "").lstrip("-0")
        assert value == "n/a" or value == "-" or len(digits) <= 3, value
