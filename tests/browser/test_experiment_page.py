"""The page of an experiment in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
from survgauge.experiment import Results  # noqa: E402

EVIL = "<img src=x onerror=alert(1)>"


def small_results() -> Results:
    """Two data sets, four models, three metrics and a variant, three folds."""
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
    assert EVIL in tab.texts("#ranking tbody th")
    assert any(EVIL in text for text in tab.texts("#failures-table td"))


def test_a_cell_opens_its_models(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    tab.page.locator('#proximity button[aria-label^="mae_margin on gbm"]').click()
    chosen = tab.page.locator("#cell-chart select option:checked").inner_text()
    assert chosen.startswith("mae_margin on gbm")
    assert "km" in tab.texts("#cell-chart svg text")
    tab.page.locator("#cell-chart .plot").press("Home")
    tip = tab.page.inner_text("#tip")
    assert "cox" in tip
    assert "-15.0" in tip  # 5 % below the true 300
    assert "-5.0%" in tip


def test_metrics_and_variants_come_and_go(open_tab: Any, path: Path) -> None:
    tab = open_tab(path)
    head = "#ranking thead th"
    assert [text.split()[0] for text in tab.texts(head)][2:] == [
        "mae_po",
        "mae_hinge",
        "mae_margin",
    ]
    tab.page.check("input[data-show-column=variant]")
    assert any("tail=hold" in text for text in tab.texts(head))
    tab.page.locator("button.chip", has_text="mae_hinge").click()
    assert not any("mae_hinge" in text for text in tab.texts(head))
    tab.page.emulate_media(color_scheme="dark", media="print")
    tab.check_quiet()
