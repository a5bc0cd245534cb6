"""Every figure in every situation: drawn without a warning, or refused with a reason."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest
from display_data import draw

import survgauge as sg
from survgauge import displays
from survgauge.report.displays import DISPLAYS, _drawing
from survgauge.report.displays.description import Model

pytest.importorskip("matplotlib")

N = 40
NEED_CURVES = {"brier", "d_calibration", "calibration_panel", "decision_curve"}
NEED_TIMES = {"subjects", "predicted_actual", "errors"}
ODD_NAMES = ["$x_1$", "_hidden", "<script>alert(1)</script>", "two\nlines", "100 % {x}"]


Y, GOOD, X = draw(N, 0)
Y_TRAIN = draw(50, 1)[0]
TIMES = 10 * np.exp(-0.7 * X)
FLAT = sg.SurvivalCurves(GOOD.times, np.tile(GOOD.survival.mean(axis=0), (N, 1)))
FOUR = {"good": GOOD, "flat": FLAT, "times": TIMES, "risk": sg.RiskScores(X)}
FLAT_NAME = (Model("flat"),)
NOBODY = sg.Outcomes(Y.time, np.zeros(N))
ABSENT = sg.Outcomes(Y.time, Y.event, np.where(np.arange(N) % 5 == 0, 0, 2))

#: name: (predictions, outcomes, settings, kinds that have nothing to draw)
SITUATIONS = {
    "four kinds": (FOUR, Y, {"unit": "days"}, set()),
    "times only": (
        {"a": TIMES, "b": TIMES + 1},
        Y,
        {"metrics": ["mae_po", "harrell"]},
        NEED_CURVES,
    ),
    "risks only": (
        {"a": sg.RiskScores(X)},
        Y,
        {"metrics": ["harrell"]},
        NEED_CURVES | NEED_TIMES | {"differences"},
    ),
    "groups": ({"good": GOOD, "flat": FLAT}, Y, {"by": np.where(X > 0, "high", "low")}, set()),
    "one model": (GOOD, Y, {}, {"differences"}),
    "no intervals": (FOUR, Y, {"confidence": None}, set()),
    "in sample": (FOUR, Y, {"y_train": None}, set()),
    "no events": (
        {"good": GOOD, "t": TIMES},
        NOBODY,
        {"y_train": None},
        {
            "predicted_actual", "errors", "auc", "calibration_panel", "imputed_times",
            "decision_curve", "risk_groups",
        },
    ),
    "no events in the test set": (
        {"good": GOOD, "t": TIMES},
        NOBODY,
        {},
        {"auc", "calibration_panel", "risk_groups", "decision_curve"},
    ),
    "nobody censored": (FOUR, sg.Outcomes(Y.time, np.ones(N)), {}, {"imputed_times"}),
    "a horizon": (FOUR, Y, {"tau": 8.0}, set()),
    "frequencies": ({"good": GOOD, "t": TIMES}, ABSENT, {}, set()),
    "two subjects": (
        {"good": GOOD[:2], "t": TIMES[:2]},
        Y[:2],
        {},
        {"imputed_times", "calibration_panel", "decision_curve"},
    ),
    "one time": (
        {"good": GOOD, "t": TIMES},
        sg.Outcomes(np.full(N, 5.0), Y.event),
        {},  # the time of interest is just before, when nobody has had the event
        {"auc", "calibration_panel", "decision_curve"},
    ),
    "time zero": (
        {"good": GOOD, "t": TIMES},
        sg.Outcomes(np.zeros(N), Y.event),
        {},
        {"brier", "auc", "calibration_panel", "decision_curve"},
    ),
    "curves without a tail": (
        {"good": sg.SurvivalCurves([0, 4], GOOD.at([0, 4]), tail="nan"), "t": TIMES},
        Y,
        {},
        {"d_calibration", "calibration_panel", "decision_curve"},
    ),
    "steps": (
        sg.SurvivalCurves(GOOD.times, GOOD.survival, interpolation="step", tail="hold"),
        Y,
        {},
        {"differences"},
    ),
    "negative times": ({"a": -TIMES, "b": 1e4 * TIMES}, Y, {}, NEED_CURVES),
}  # fmt: skip


@cache
def evaluated(name):
    predictions, y, settings, _ = SITUATIONS[name]
    chosen = {"y_train": Y_TRAIN, "metrics": ["mae_po", "harrell", "ibs", "d_calibration"]}
    return sg.evaluate(predictions, y, n_boot=0, **{**chosen, **settings})


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_display_is_drawn_or_refused(name):
    ev = evaluated(name)
    refused = {}
    for kind in DISPLAYS:
        try:
            figure = ev.plot(kind)
        except (sg.InputError, sg.UndefinedMetricError) as error:
            refused[kind] = str(error)
            continue
        figure.set_layout_engine("none")  # other tests look at the layout, which takes its time
        figure.draw_without_rendering()
        assert all(ax.has_data() or ax.texts for ax in figure.axes)
    assert set(refused) == SITUATIONS[name][3]
    words = ("need", "no event", "undefined", "have none", "supports no time", "not a finite time")
    for reason in refused.values():
        assert any(word in reason for word in words), reason


def texts(figure):
    """Everything that is written on a figure."""
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if t.get_text()]


@pytest.fixture(scope="module")
def many():
    names = [*ODD_NAMES, *(f"a very long name of a model, the seed was {k}" for k in range(8))]
    return sg.evaluate(
        dict.fromkeys(names, GOOD), Y, y_train=Y_TRAIN, n_boot=0, metrics=["mae_po", "ibs"]
    )


@pytest.mark.parametrize("kind", DISPLAYS)
def test_many_models_and_odd_names(many, kind):
    figure = many.plot(kind)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert 3 <= width <= 7.5
    # Nothing is drawn past the edge of the figure.
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


@pytest.mark.parametrize("kind", DISPLAYS)
def test_panels_do_not_cover_each_other_and_units_are_said(kind):
    figure = evaluated("four kinds").plot(kind)
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    boxes += [legend.get_tightbbox() for legend in figure.legends]
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            along = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert min(across, along) <= 4, "pixels of overlap"
    if kind != "d_calibration":  # probabilities and counts only
        assert "days" in " ".join(texts(figure))


def test_what_is_not_drawn_is_said():
    written = "\n".join(texts(evaluated("four kinds").plot("brier")))
    assert "times: gives times only" in written
    assert "risk: gives risk scores only" in written


def test_axes_can_be_given():
    from matplotlib.figure import Figure

    ev = evaluated("four kinds")
    for kind in DISPLAYS:
        count = len(displays.display(ev, kind).describe().panels)
        axes = Figure(figsize=(14, 14)).subplots(1, count, squeeze=False)[0]
        assert ev.plot(kind, ax=axes if count > 1 else axes[0]) is axes[0].figure
        assert all(ax.has_data() for ax in axes)
        assert len(axes[0].figure.axes) == count
        assert not axes[0].figure.legends
    with pytest.raises(sg.InputError, match="one Axes per panel, 2 here; got 1"):
        ev.plot("support", ax=Figure().subplots())


def test_our_sizes_stay_ours():
    import matplotlib

    before = dict(matplotlib.rcParams)
    evaluated("one model").plot("brier")
    assert dict(matplotlib.rcParams) == before


def test_lines_are_the_numbers():
    ev = evaluated("four kinds")
    d = displays.display(ev, "brier")
    ax = d.plot().axes[0]
    drawn = [line.get_ydata() for line in ax.lines]
    for part in d.table:
        assert any(np.array_equal(part["value"], y) for y in drawn)
    forest = displays.display(ev, "metrics", metrics="mae_po")
    points = {float(line.get_xdata()[0]) for line in forest.plot().axes[0].lines}
    assert {row["value"] for row in forest.rows()} <= points


def test_models_keep_their_looks_when_others_are_left_out():
    part = displays.display(evaluated("four kinds"), "brier", models="flat")
    (line,) = (m for m in part.describe().panels[0].marks if getattr(m, "label", "") == FLAT_NAME)
    assert line.role == list(FOUR).index("flat")
    seen = {(str(_drawing.line_of(k)), _drawing.marker_of(k)) for k in range(20)}
    assert len(seen) == 20


def test_names_are_shortened_but_stay_distinct():
    names = [f"model with a long name and number {k} of a study" for k in range(5)]
    short = _drawing.short_names(names, 16)
    assert len(set(short.values())) == 5
    assert all(len(text) <= 20 for text in short.values())


def test_arrows_of_a_crowd_are_a_choice_that_is_said():
    rng = np.random.default_rng(3)
    y = sg.Outcomes(rng.exponential(size=600), rng.random(600) < 0.3)
    d = displays.display(displays.given(rng.exponential(size=600), y), "predicted_actual")
    assert any("150 arrows" in text for text in texts(d.plot()))


def test_plots_need_matplotlib(monkeypatch):
    ev = evaluated("one model")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sg.MissingExtraError, match=r"survgauge\[plot\]"):
        ev.plot()
