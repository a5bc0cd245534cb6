"""One look for each model: on the page, on paper and in matplotlib."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

import survgauge as sg
from survgauge.report.displays import _drawing, palette


def luminance(colour: str) -> float:
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(("side", "ground"), [(0, "#ffffff"), (1, "#1a2129")])
def test_marks_stand_out_from_the_page(side: int, ground: str) -> None:
    base = luminance(ground)
    for paint in (*palette.PAINTS, *(palette.ROLES[r] for r in ("event", "censored", "baseline"))):
        light, dark = sorted((luminance(paint[side]), base), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_twelve_models_differ_in_colour_and_neighbours_in_everything() -> None:
    looks = [palette.look(k) for k in range(12)]
    assert len({look.paint for look in looks}) == 12
    assert len({look.marker for look in looks}) == 12
    for one, other in combinations(looks[:6], 2):
        assert one.dash != other.dash
    # With more, no two among twenty-four look alike.
    assert len({palette.look(k) for k in range(24)}) == 24


def test_matplotlib_and_the_style_sheet_take_the_same_colours() -> None:
    css = palette.css()
    light = dict(re.findall(r"--(\w+): (#\w{6});", css.partition("}")[0]))
    for k in range(12):
        assert _drawing.colour_of(k) == light[f"s{k}"]
    for role in palette.ROLES:
        assert _drawing.colour_of(role) == light[role]
    assert set(palette.MARKERS) <= set(_drawing.MARKERS)


def test_figures_say_what_they_show() -> None:
    pytest.importorskip("matplotlib")
    y = ([2, 5, 8, 6, 3, 7], [1, 0, 1, 1, 1, 0])
    ev = sg.evaluate({"a": [3, 5, 6, 6, 4, 8]}, y, metrics=["mae_po"])
    title = ev.plot("predicted_actual").texts[0].get_text()
    assert " ".join(title.split()) == "Predicted against actual 6 subjects, 4 events"
    from matplotlib.figure import Figure

    own = Figure()
    ev.plot("metrics", ax=own.subplots())
    assert own.texts == []
