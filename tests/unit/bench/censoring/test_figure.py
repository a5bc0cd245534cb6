"""The before/after panel: the numbers behind it, and that it draws them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from survgauge import InputError, KaplanMeier, MissingExtraError, Outcomes
from survgauge.bench.censoring import semisynthetic
from survgauge.bench.censoring.figure import SemiSyntheticDisplay


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return semisynthetic(None, Outcomes(rng.integers(0, 100, 200), rng.random(200) < 0.6))


def test_frame_holds_the_histograms(data):
    pytest.importorskip("pandas")
    frame = SemiSyntheticDisplay(data, bins=7).frame()
    bars = frame[frame["panel"] == "histogram"]
    assert len(bars) == 7 * 2 * 2
    for name, y in (("D", data.original), ("D''", data.y)):
        for series, mask in (("event", y.event), ("censored", ~y.event)):
            part = bars[(bars["data"] == name) & (bars["series"] == series)]
            times, last = y.time[mask], part["end"].max()
            counted = [
                np.sum((times >= a) & ((times < b) | ((b == last) & (times == b))))
                for a, b in zip(part["start"], part["end"], strict=True)
            ]
            assert part["value"].tolist() == counted
            assert part["value"].sum() == mask.sum()
    assert bars["start"].min() == 0
    assert bars["end"].max() == max(data.original.time.max(), data.y.time.max())


def test_frame_holds_the_kaplan_meier_steps(data):
    pytest.importorskip("pandas")
    frame = SemiSyntheticDisplay(data).frame()
    truth = Outcomes(data.original.time[data.original.event], np.ones(data.original.event.sum()))
    for name, y in (("D", data.original), ("D''", data.y), ("D'", truth)):
        steps = frame[(frame["panel"] == "kaplan_meier") & (frame["data"] == name)]
        km = KaplanMeier.fit(y)
        assert steps["value"].to_numpy() == pytest.approx(km.at(steps["start"]))
        middle = (steps["start"] + steps["end"]) / 2
        assert steps["value"].to_numpy() == pytest.approx(km.at(middle))
        assert steps["start"].iloc[0] == 0
        assert steps["end"].iloc[-1] == y.time.max()
        assert (steps["start"].to_numpy()[1:] == steps["end"].to_numpy()[:-1]).all()


def test_plot_draws_those_numbers(data):
    pytest.importorskip("matplotlib")
    display = SemiSyntheticDisplay(data, bins=7, unit="days")
    figure = display.plot()
    axes = figure.axes
    assert len(axes) == 3
    for panel, name in zip(axes, ("D", "D''"), strict=False):
        heights = [bar.get_height() for bar in panel.patches]
        counts = display.counts[name]
        assert heights == [*counts["event"], *counts["censored"]]
        assert f"{100 * np.mean(~display.outcomes[name].event):.1f} % censored" in panel.get_title(
            loc="left"
        )
        assert panel.get_xlabel() == "Time (days)"
    assert axes[0].get_ylim() == axes[1].get_ylim()
    lines = {line.get_label().partition(":")[0]: line for line in axes[2].get_lines()}
    for name in ("D", "D''", "D'"):
        x, values = lines[name].get_data()
        assert values == pytest.approx(display.curves[name].at(x))
    figure.canvas.draw()


def test_plot_on_given_axes(data):
    matplotlib = pytest.importorskip("matplotlib.figure")
    axes = matplotlib.Figure().subplots(1, 4)
    figure = SemiSyntheticDisplay(data).plot(axes[1:])
    assert figure is axes[0].figure
    assert not axes[0].has_data()
    assert axes[3].get_lines()
    with pytest.raises(InputError, match="one Axes per panel, 3 here"):
        SemiSyntheticDisplay(data).plot(axes)


def test_plot_opens_no_window_and_says_what_is_missing(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"survgauge\[plot\]"):
        SemiSyntheticDisplay(data).plot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"survgauge\[pandas\]"):
        SemiSyntheticDisplay(data).frame()


def test_wrong_arguments_are_named(data):
    with pytest.raises(InputError, match="result of semisynthetic"):
        SemiSyntheticDisplay(data.y)
    with pytest.raises(InputError, match="bins"):
        SemiSyntheticDisplay(data, bins=0)
