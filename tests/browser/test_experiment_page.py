"""The page of an experiment in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
from survgauge.bench.experiment import Results  # noqa: E402

EVIL = "<img src=x onerror=alert(1)>"


def small_results() -> Results:
    """Two datasets, four models, three metrics and a variant, three folds."""
    rng = np.random.default_rng(0)
    rows = []
    for data, scale in (("gbm", 300.0), (EVIL, 40.0)):
        truth = scale * np.array([1.0, 1.1, 1.3, 1.6])
        for fold in range(3):
            for model, true in zip(("cox", "rsf", "km", EVIL), truth, strict=True):
                noise = rng.normal(0, 0.01 * scale)
                said = {"mae_po": true + noise, "mae_hinge": 0.6 * scale - 0.1 * true,
                        "mae_po(tail=hold)": 0.9 * true, "mae_margin": 0.95 * true}  # fmt: skip
                for metric, value in said.items():
                    rows.append((data, "uniform", fold, model, metric, value, true))
    names = ["dataset", "censoring", "fold", "model", "metric", "value", "true_value"]
    failure = {
        "cell": {"dataset": "gbm", "censoring": "uniform", "model": EVIL, "repeat": 0, "fold": 1},
        "error": "ValueError",
        "message": EVIL,
    }
    return Results(pd.DataFrame(rows, columns=names), [failure], "small")


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    return Path(small_results().to_html(tmp_path_factory.mktemp("page") / "report.html"))


def test_loads_quietly_and_names_stay_text(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.wait_for_timeout(200)
    tab.check_quiet()
    assert tab.page.locator("img").count() == 0
    assert any(EVIL in text for text in tab.texts("#ranking tbody th"))
    assert any(EVIL in text for text in tab.texts("#failures-table td"))


@pytest.mark.parametrize("size", [(1200, 800), (390, 844)])
def test_the_first_screen_has_a_drawn_chart(
    open_tab: Any, path: Path, size: tuple[int, int]
) -> None:
    width, height = size
    tab = open_tab(path)
    tab.page.set_viewport_size({"width": width, "height": height})
    tab.page.wait_for_timeout(300)
    svg = tab.page.locator("#overview-0 .plot svg")
    box = svg.bounding_box()
    assert box["y"] + box["height"] <= height
    assert "Margin times" in svg.locator("text").all_text_contents()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    # One rule of winning: bold stands in the table that decides, and nowhere else.
    assert tab.page.locator("#proximity td.win").count() == 2
    assert tab.page.locator("#ranking td.win").count() == 0


def test_a_cell_opens_its_models(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.locator('#proximity button[aria-label^="MAE, margin times on gbm"]').click()
    chosen = tab.page.locator("#cell-chart select option:checked").inner_text()
    assert chosen.startswith("MAE, margin times on gbm")
    assert "km" in tab.texts("#cell-chart svg text")
    tab.page.locator("#cell-chart .plot").press("Home")
    tip = tab.page.inner_text("#tip")
    assert "cox" in tip
    assert "-15.0" in tip  # 5 % below the true 300
    assert "-5.0%" in tip


def test_metrics_and_variants_come_and_go(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    head = "#ranking thead th"
    # Metrics with the most wins come first.
    titles = ["MAE, pseudo-observations", "MAE, margin times", "MAE, one-sided (hinge)"]
    assert tab.texts(head)[1:] == titles
    tab.page.check("input[data-show-column=variant]")
    assert any("tail=hold" in text for text in tab.texts(head))
    tab.page.locator("button.chip", has_text="hinge").click()
    assert not any("hinge" in text for text in tab.texts(head))
    tab.page.emulate_media(color_scheme="dark", media="print")
    tab.check_quiet()


def wide_results() -> Results:
    """Twelve models, twelve metrics, three datasets."""
    rng = np.random.default_rng(1)
    rows = [
        (data, "original_independent", fold, f"model_{m}", f"mae_metric_{k}",
         100 + m + k + rng.normal(), 100 + m + rng.normal())
        for data in ("first", "second", "third")
        for fold in range(3)
        for m in range(12)
        for k in range(12)
    ]  # fmt: skip
    names = ["dataset", "censoring", "fold", "model", "metric", "value", "true_value"]
    return Results(pd.DataFrame(rows, columns=names), name="wide")


#: Red, green and blue of the background of a cell.
COLOUR = """(cell) => {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = getComputedStyle(cell).backgroundColor;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def test_the_colours_mean_the_same_everywhere(open_tab: Any, path: Path) -> None:
    """The better a cell, the more blue it is; the scale at the table says which end is better."""
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        tab = open_tab(path)
        tab.page.emulate_media(color_scheme=scheme, media=media)
        better, worse = (
            tab.page.locator(f"#ranking tbody tr:first-child td:nth-child({k})").evaluate(COLOUR)
            for k in (2, 4)  # mae_po, tau 1, and mae_hinge, tau -1
        )
        assert better[2] - better[0] > worse[2] - worse[0] + 40
        words = tab.page.inner_text("#ranking .scale").split("\n")
        assert [word.strip() for word in words] == ["Worse: 0 or less", "better: 1"]
        adjust = "getComputedStyle(document.querySelector('#ranking td.cell')).printColorAdjust"
        assert media == "screen" or tab.page.evaluate(adjust) == "exact"


def test_twelve_models_and_metrics_are_readable_at_every_width(
    open_tab: Any, tmp_path: Path
) -> None:
    page = Path(wide_results().to_html(tmp_path / "wide.html"))
    for width in (1280, 390):
        tab = open_tab(page)
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.wait_for_timeout(200)
        wider = "document.documentElement.scrollWidth - window.innerWidth"
        assert tab.page.evaluate(wider) == 0
        # All models are there; what does not fit is announced and the first column stays.
        assert len(tab.texts("#models thead th")) == 13
        place = tab.page.locator("#models .table")
        fits = place.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
        assert tab.page.locator("#models .sideways").is_visible() is not fits
        assert fits is (width == 1280)
        place.evaluate("e => { e.scrollLeft = 10000; }")
        left = "e => e.getBoundingClientRect().left"
        first = place.locator("tbody th").first
        assert abs(first.evaluate(left) - place.evaluate(left)) < 2
        tab.check_quiet()


def test_models_are_shown_by_their_true_value(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    assert tab.texts("#models thead th")[:3] == ["data", "cox", "rsf"]
    first = tab.texts("#models tbody tr:first-child td")
    assert first == ["300.0", "330.0", "390.0", "480.0"]  # no noise in these truths
    assert "the best model is cox on 2 of 2 datasets" in tab.page.inner_text("#models")
