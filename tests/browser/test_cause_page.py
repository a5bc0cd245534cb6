"""The page of an evaluation of one cause in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cause_data import draw

import survgauge as sg


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    train, _ = draw(150, 1)
    y, curves = draw(160, 2)
    low = sg.IncidenceCurves(curves.times, 0.6 * curves.values, causes=curves.causes)
    given = {"y_train": train, "cause": "relapse", "time": [2.0, 6.0], "unit": "years"}
    ev = sg.evaluate({"true": curves, "low": low}, y, **given)
    return Path(ev.to_html(tmp_path_factory.mktemp("page") / "relapse.html"))


def test_what_happened_is_drawn_and_can_be_read(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.wait_for_timeout(200)
    assert tab.texts("#causes tbody th") == ["relapse", "death (competes)", "no event seen"]
    svg = tab.page.locator("#incidence-chart .plot svg")
    assert svg.locator("path").count() >= 4
    assert "NaN" not in svg.inner_html()
    tab.page.locator("#incidence-chart .plot").press("End")
    assert tab.page.locator("#tip").is_visible()
    assert {"relapse", "death"} <= set(tab.texts("#incidence-chart svg text"))
    assert "at risk" in tab.texts("#incidence-chart svg text")
    tab.check_quiet()


def test_a_hidden_model_takes_its_curves_with_it(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    lines = tab.page.locator("#incidence-chart .plot svg path")
    whole = lines.count()
    tab.page.click("button.chip:has-text('low')")
    tab.page.wait_for_timeout(200)
    assert lines.count() < whole


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_all_in_light_and_dark(open_tab: Any, path: Path, scheme: str) -> None:
    tab = open_tab(path, color_scheme=scheme)
    tab.page.set_viewport_size({"width": 390, "height": 800})
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    box = tab.page.locator("#incidence-chart .plot svg").bounding_box()
    assert box["width"] <= 390
    assert box["height"] > 150
    tab.check_quiet()
