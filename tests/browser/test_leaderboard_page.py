"""The page of a leaderboard in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from boards import demo_board

from survgauge.bench.leaderboard.standings import leaderboard_page


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    board = demo_board(12)
    import pandas as pd

    parts = {"scores": [board.scores], "models": [board.models], "cells": [board.cells]}
    for k in range(6):
        for name, column in (("scores", "model"), ("models", "name"), ("cells", "model")):
            table = getattr(board, name)
            copied = table[table[column] == "rsf"]
            parts[name].append(copied.assign(**{column: f"a_rather_long_name_{k}"}))
    tables = {**board.tables(), **{name: pd.concat(found) for name, found in parts.items()}}
    page = tmp_path_factory.mktemp("page") / "board.html"
    page.write_text(leaderboard_page(type(board)(**tables, about=board.about)), encoding="utf-8")
    return page


@pytest.mark.parametrize("size", [(1200, 800), (390, 844)])
def test_the_first_screen_says_who_is_best_and_draws_it(
    open_tab: Any, path: Path, size: tuple[int, int]
) -> None:
    width, height = size
    tab = open_tab(path, folded=True)
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.page.wait_for_timeout(300)
    lead = tab.page.locator("#summary .lead:visible").bounding_box()
    svg = tab.page.locator("#overview-default .plot svg")
    assert svg.locator("path, line").count() > 20
    box = svg.bounding_box()
    # The sentence is whole, above the chart, of which a good part is in sight.
    assert lead["y"] + lead["height"] <= box["y"]
    assert min(box["y"] + box["height"], height) - box["y"] > 250
    assert box["width"] <= width
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.check_quiet()


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_overlaps_and_nothing_is_wider_than_the_page(
    open_tab: Any, path: Path, width: int
) -> None:
    tab = open_tab(path)
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    sections = tab.page.locator("section:visible").evaluate_all(
        "s => s.map((e) => e.getBoundingClientRect()).map((b) => [b.top, b.bottom])"
    )
    assert len(sections) == 14
    for (_, bottom), (top, _) in zip(sections, sections[1:], strict=False):
        assert bottom <= top
    overlaps = """(svg) => {
        const boxes = [...svg.querySelectorAll("text")].map((t) => t.getBoundingClientRect());
        return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right - 1 &&
            b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
    }"""
    for chart in tab.page.locator("figure .plot svg:visible").all():
        assert not chart.evaluate(overlaps)
    tab.check_quiet()


def test_settings_change_all_parts(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    assert "as they come" in tab.page.inner_text("#summary").lower()
    tab.page.select_option("select[data-views=settings]", "tuned-ibs")
    tab.page.wait_for_timeout(200)
    assert "Tuned by the integrated Brier score" in tab.page.inner_text("#summary")
    assert tab.page.locator("#overview-tuned-ibs .plot svg").is_visible()
    assert not tab.page.locator("#overview-default").is_visible()
    tab.check_quiet()


def test_a_cell_opens_its_dataset(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.locator('#datasets button[aria-label^="coxph on set_3"]').first.click()
    assert tab.page.locator("#dataset-default select option:checked").inner_text() == "set_3"
    assert "Set 3" in tab.page.inner_text("#dataset-default .note")


def test_models_come_and_go(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    assert "bad_net" in tab.texts("#overview-default svg text")
    tab.page.locator("button.chip", has_text="bad_net").click()
    assert "bad_net" not in tab.texts("#overview-default svg text")
    assert not any("bad_net" in text for text in tab.texts("#metrics tbody th"))
    assert not any("bad_net" in text for text in tab.texts("#datasets thead th"))


def test_dark_and_paper(open_tab: Any, path: Path) -> None:
    tab = open_tab(path, color_scheme="dark")
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert tab.page.locator("#summary .lead:visible").count() == 1
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1200
    tab.check_quiet()
