"""The figures of a validation study: decision curves and groups of predicted risk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from display_data import draw
from naive import km_at
from scipy import stats

import survgauge as sg
from survgauge import displays
from survgauge.displays.description import Line, Model, Note, round_ticks

Z = 1.959963984540054


Y, GOOD, X = draw(60, 0)
Y_TRAIN = draw(80, 1)[0]


@pytest.fixture(scope="module")
def ev():
    other = sg.SurvivalCurves(GOOD.times, GOOD.survival**1.7)
    return sg.evaluate(
        {"good": GOOD, "other": other, "risk": sg.RiskScores(X)},
        Y, y_train=Y_TRAIN, unit="days", n_boot=0, metrics=["brier"], time=6.0,
    )  # fmt: skip


def measures(panel):
    """Lines of the measures, wherever they stand."""
    notes = [mark.text for mark in panel.marks if isinstance(mark, Note)]
    return (notes or [panel.title[1].strip()])[0].split("\n")


# -- calibration ----------------------------------------------------------------------------------


def test_a_calibration_panel_holds_curve_groups_and_counts(ev):
    d = displays.CalibrationPanelDisplay.from_evaluation(ev, models="good", groups=5)
    result = sg.integrated_calibration_index(Y, GOOD, 6.0)
    assert d.observed["good"] == pytest.approx(result.curve_observed)
    inside = (d.low["good"] <= d.observed["good"]) & (d.observed["good"] <= d.high["good"])
    assert inside.all()
    p, happened = 1 - GOOD.at(6.0), Y.event & (Y.time <= 6.0)
    lost = ~Y.event & (Y.time < 6.0)
    outcome = {"event": happened, "free": ~happened & ~lost, "censored": lost}
    for name, part in outcome.items():
        assert d.histogram["good"][name].sum() == part.sum()
        for k in range(d.edges.size - 1):
            last = k == d.edges.size - 2
            within = (p >= d.edges[k]) & ((p <= d.edges[k + 1]) if last else p < d.edges[k + 1])
            assert d.histogram["good"][name][k] == (within & part).sum()
    groups, order = d.groups["good"], np.argsort(p)
    for k, own in enumerate(np.split(order, 5)):
        assert groups["predicted"][k] == pytest.approx(p[own].mean())
        observed = 1 - km_at(list(zip(Y.time[own], Y.event[own], strict=True)), 6.0)
        assert groups["observed"][k] == pytest.approx(float(observed))
        assert (groups["n"][k], groups["events"][k]) == (12, happened[own].sum())
        assert not groups["low"][k] > groups["observed"][k]


def test_the_measures_of_a_calibration_panel(ev):
    d = displays.CalibrationPanelDisplay.from_evaluation(ev)
    for model in ("good", "other"):
        curves = ev.predictions[model].curves
        ratio = sg.observed_expected(Y, curves, 6.0)
        assert d.ratio[model] == pytest.approx((ratio.ratio, ratio.low, ratio.high))
        slope = sg.calibration_slope_details(Y, curves, 6.0)
        margin = stats.t.ppf(0.975, slope.support["freedom"]) * slope.stderr
        ends = slope.value - margin, slope.value + margin
        assert d.slope[model] == pytest.approx((slope.value, *ends))
        ici = sg.integrated_calibration_index(Y, curves, 6.0)
        assert d.ici[model] == pytest.approx((ici.ici, *ici.interval(0.95)))
    note = measures(d.describe().panels[0])
    assert note[0] == "O/E {:.2f} ({:.2f} to {:.2f})".format(*d.ratio["good"])
    assert note[1].startswith("slope ")
    assert note[2] == "ICI {:.3f} ({:.3f} to {:.3f}),".format(*d.ici["good"])


def test_measures_of_clusters_count_clusters():
    hospital = np.arange(60) % 6
    found = sg.evaluate(
        {"good": GOOD}, Y, time=6.0, cluster=hospital, n_boot=0,
        metrics=["calibration_slope", "ici"],
    )  # fmt: skip
    d = displays.CalibrationPanelDisplay.from_evaluation(found)
    table = {row["metric"]: row for row in found.rows()}
    assert d.ici["good"][1:] == pytest.approx((table["ici"]["low"], table["ici"]["high"]))
    slope = table["calibration_slope"]
    assert d.slope["good"] == pytest.approx((slope["value"], slope["low"], slope["high"]))


def test_a_calibration_panel_has_equal_axes_and_says_no_more_than_it_knows():
    flat = sg.SurvivalCurves(GOOD.times, np.tile(GOOD.survival.mean(axis=0), (60, 1)))
    shown = displays.CalibrationPanelDisplay.from_predictions(flat, Y, settings={"time": 6.0})
    panel = shown.describe().panels[0]
    assert [line.split()[0] for line in measures(panel)] == [
        "O/E",
        "ICI",
        "by",
    ]  # all predictions are equal
    assert panel.equal
    assert panel.x.high == panel.y.high
    figure = shown.plot()
    figure.draw_without_rendering()
    ax = figure.axes[0]
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (0.1, 0.1)])
    assert x1 - x0 == pytest.approx(y1 - y0)


def test_the_numbers_stand_where_they_cover_nothing():
    """Above the line, below it where the curve runs above, in the title where there is no room."""
    y, curves, _ = draw(4000, 3)
    for power, place in ((1.0, 0.02), (0.3, 0.98)):
        off = sg.SurvivalCurves(curves.times, curves.survival**power)
        d = displays.CalibrationPanelDisplay.from_predictions(off, y, settings={"time": 6.0})
        panel = d.describe().panels[0]
        (note,) = (mark for mark in panel.marks if isinstance(mark, Note))
        assert note.x == place
        assert len(panel.title) == 1
    few = displays.CalibrationPanelDisplay.from_predictions(GOOD, Y, settings={"time": 6.0})
    panel = few.describe().panels[0]
    assert not any(isinstance(mark, Note) for mark in panel.marks)
    assert panel.title[1].startswith("\nO/E ")


def test_without_measures_a_calibration_panel_says_none(ev):
    """As a page of a sample has it, whose table has none of them."""
    nothing = {"good": (float("nan"),) * 3}
    d = displays.CalibrationPanelDisplay.from_evaluation(ev, models="good")
    d = replace(d, ratio=nothing, slope=nothing, ici=nothing)
    panel = d.describe().panels[0]
    assert not any(isinstance(mark, Note) for mark in panel.marks)
    assert panel.title == (Model("good"),)


# -- print ----------------------------------------------------------------------------------------


def test_saved_figures_embed_fonts_that_journals_take(ev, tmp_path):
    pytest.importorskip("matplotlib")
    for kind in ("calibration_panel", "decision_curve", "risk_groups"):
        figure = ev.plot(kind, width=3.5)
        assert figure.get_size_inches()[0] == 3.5
        path = tmp_path / f"{kind}.pdf"
        figure.savefig(path)
        plain = path.read_bytes()
        assert b"/Subtype /Type3" not in plain
        assert b"/FontFile2" in plain  # TrueType, embedded
        figure.savefig(path.with_suffix(".svg"))
        drawn = path.with_suffix(".svg").read_text(encoding="utf-8")
        assert "<text" not in drawn  # outlines: the same without the font
        assert "<image" not in drawn


def test_narrow_figures_have_panels_below_each_other(ev):
    pytest.importorskip("matplotlib")
    wide, narrow = (ev.plot("risk_groups", models=["good", "other"], width=w) for w in (7, 3.5))
    tops = [{round(ax.get_subplotspec().rowspan.start) for ax in f.axes} for f in (wide, narrow)]
    assert tops == [{0}, {0, 1}]
    with pytest.raises(sg.InputError, match="width is that of a new figure"):
        ev.plot("decision_curve", ax=wide.axes[0], width=3.5)


# -- decision curves ------------------------------------------------------------------------------


def test_a_decision_curve_is_the_net_benefit(ev):
    d = displays.display(ev, "decision_curve", thresholds=[0.2, 0.4])
    assert list(d.value) == ["good", "other"]
    assert d.left_out == {"risk": "gives risk scores only"}
    for model in d.value:
        found = sg.net_benefit(Y, ev.predictions[model].curves, 6.0, thresholds=[0.2, 0.4])
        assert np.array_equal(d.value[model], found.values)
        assert d.high[model] == pytest.approx(found.values + Z * found.stderr)
        assert np.array_equal(d.treat_all, found.treat_all)
    assert not d.treat_none.any()
    assert d.about == "60 subjects, 44 events"


def test_scales_of_a_decision_curve(ev):
    found = sg.net_benefit(Y, GOOD, 6.0, thresholds=[0.2, 0.4])
    share = displays.display(ev, "decision_curve", thresholds=[0.2, 0.4], scale="standardised")
    assert np.array_equal(share.value["good"], found.standardised)
    assert share.treat_all == pytest.approx(found.treat_all / found.incidence)
    saved = displays.display(
        ev, "decision_curve", thresholds=[0.2, 0.4], scale="interventions_avoided"
    )
    assert saved.value["good"] == pytest.approx(100 * found.interventions_avoided)
    odds = np.array([4.0, 1.5])
    assert saved.high["good"] - saved.value["good"] == pytest.approx(
        100 * Z * found.gain_stderr * odds
    )
    assert not saved.treat_all.any()
    assert saved.treat_none == pytest.approx(-100 * found.treat_all * odds)
    with pytest.raises(sg.InputError, match="scale must be one of"):
        displays.display(ev, "decision_curve", scale="net")


def test_standardised_errors_are_those_of_the_jackknife():
    """The observed risk is estimated from the same subjects."""
    rng = np.random.default_rng(5)
    y = sg.Outcomes(rng.exponential(10, 200), rng.random(200) < 0.7)
    one, two = rng.random(200), rng.random(200)

    def values(keep):
        a, b = (sg.net_benefit(y[keep], risk[keep], 5.0, thresholds=[0.3]) for risk in (one, two))
        return a.standardised[0], a.standardised[0] - b.standardised[0]

    everybody = np.arange(200)
    without = np.array([values(np.delete(everybody, i)) for i in everybody])
    jackknife = np.sqrt(199 / 200 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    a, b = (sg.net_benefit(y, risk, 5.0, thresholds=[0.3]) for risk in (one, two))
    gap, stderr = a.standardised_difference(b)
    assert gap == pytest.approx(a.standardised - b.standardised)
    assert (a.standardised_stderr[0], stderr[0]) == pytest.approx(jackknife, rel=0.02)


def test_differences_between_models_have_a_panel(ev):
    d = displays.display(ev, "decision_curve", thresholds=[0.2, 0.4], reference="good")
    one, two = (
        sg.net_benefit(Y, ev.predictions[m].curves, 6.0, thresholds=[0.2, 0.4])
        for m in ("other", "good")
    )
    gap, stderr = one.difference(two)
    assert list(d.difference) == ["other"]
    assert np.array_equal(d.difference["other"], gap)
    assert d.difference_low["other"] == pytest.approx(gap - Z * stderr)
    chart = d.describe()
    assert len(chart.panels) == 2
    assert chart.panels[1].title[0] == "Difference from "
    (row,) = (r for r in d.rows() if r["model"] == "other" and r["threshold"] == 0.4)
    assert row["difference"] == gap[1]
    with pytest.raises(sg.InputError, match="reference must be one of"):
        displays.display(ev, "decision_curve", reference="risk")


@pytest.mark.parametrize(("scale", "count", "last"), [(1.0, 45, 0.9), (0.01, 50, 0.01)])
def test_thresholds_end_where_risks_end(scale, count, last):
    """Some fifty round thresholds, whether risks are large or small."""
    risk = scale * np.linspace(0.001, 1, 1001)
    curves = sg.SurvivalCurves([0, 10], np.column_stack((np.ones(1001), 1 - risk)))
    y = sg.Outcomes(np.linspace(1, 20, 1001), np.ones(1001))
    d = displays.DecisionCurveDisplay.from_predictions(curves, y, time=10)
    assert d.thresholds.size == count
    assert d.thresholds[-1] == pytest.approx(last)


def test_a_time_past_follow_up_is_refused(ev):
    with pytest.raises(sg.UndefinedMetricError, match="net benefit is undefined"):
        displays.display(ev, "decision_curve", time=1e6)


# -- risk groups ----------------------------------------------------------------------------------


def test_risk_groups_are_kaplan_meier_of_the_groups(ev):
    d = displays.display(ev, "risk_groups")
    assert list(d.groups) == ["good", "other", "risk"]
    found = d.groups["good"]
    risk = 1 - GOOD.at(6.0)
    assert (found.label == sg.risk_groups(Y, GOOD, time=6.0).label).all()
    for k in range(3):
        own = found.label == k
        last = Y.time[own].max()
        for j in range(0, d.times.size, 7):
            t = d.times[j]
            if t <= last:
                expected = km_at(list(zip(Y.time[own], Y.event[own], strict=True)), t)
                assert d.survival["good"][k, j] == pytest.approx(float(expected))
            assert d.predicted["good"][k, j] == pytest.approx(GOOD.at(t)[own].mean())
        for j, t in enumerate(d.ticks):
            assert d.at_risk["good"][k, j] == np.sum(Y.time[own] >= t)
        assert risk[own].min() >= (risk[found.label == k - 1].max() if k else 0)
    assert np.isnan(d.predicted["risk"]).all()
    assert {row["group"] for row in d.rows()} == {"low", "medium", "high"}


def test_numbers_at_risk_stand_below_their_ticks(ev):
    panel = displays.display(ev, "risk_groups").describe().panels[0]
    ticks = [value for value, _ in panel.x.ticks]
    assert [name for _, name, _ in panel.counts.rows] == ["low", "medium", "high"]
    assert [len(values) for *_, values in panel.counts.rows] == [len(ticks)] * 3
    figure = ev.plot("risk_groups", models="good")
    figure.draw_without_rendering()
    ax = figure.axes[0]
    for value in ticks:
        (x, _), column = ax.transData.transform((value, 0)), []
        for text in ax.texts:
            box = text.get_window_extent()
            if text.get_ha() == "center" and abs((box.x0 + box.x1) / 2 - x) < 2:
                column.append(box)
        assert len(column) == 3
        label = ax.xaxis.label.get_window_extent()
        assert max(box.y1 for box in column) < label.y0
        assert not any(a.overlaps(b) for a, b in zip(column, column[1:], strict=False))


def test_the_test_and_the_mean_times_are_said(ev):
    d = displays.display(ev, "risk_groups", models=["good", "risk"])
    chart = d.describe()
    assert chart.panels[0].title[1] == ": log-rank p < 0.001"
    row = d.groups["good"].rmst_differences()[-1]
    (told,) = (text for text in chart.remarks if "good" in text)
    assert f"good {row['difference']:.2f}"[:9] in told
    assert "high risk less low risk" in told


def test_an_empty_group_is_not_drawn(ev):
    d = displays.display(ev, "risk_groups", models="good", cuts=[0.5, 0.500001])
    assert d.groups["good"].names == ("low", "high")
    assert len(d.describe().panels[0].counts.rows) == 2


def test_tau_of_the_evaluation_is_kept_where_groups_reach_it():
    for tau, used in ((4.0, 4.0), (1e3, None)):
        found = sg.evaluate({"good": GOOD}, Y, n_boot=0, metrics=["harrell"], tau=tau)
        d = displays.display(found, "risk_groups", time=6.0)
        expected = sg.risk_groups(Y, GOOD, time=6.0, tau=used).tau
        assert d.groups["good"].tau == expected


def test_the_axis_can_end_before_follow_up_does(ev):
    d = displays.display(ev, "risk_groups", end=10.0)
    assert d.times[-1] == 10.0
    assert d.ticks[-1] == 10.0
    with pytest.raises(sg.InputError, match="end must be"):
        displays.display(ev, "risk_groups", end=-1)


def test_round_ticks():
    assert [text for _, text in round_ticks(1.0, 6)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [text for _, text in round_ticks(0.012, 6)] == [
        "0.000", "0.002", "0.004", "0.006", "0.008", "0.010", "0.012",
    ]  # fmt: skip
    assert [text for _, text in round_ticks(10.0, 4)] == ["0.0", "2.5", "5.0", "7.5", "10.0"]
    assert [text for _, text in round_ticks(1.2e6, 3)] == ["0", "500,000", "1,000,000"]


def test_dots_of_a_line_are_on_it():
    line = Line([0.0, 1.0, 2.0], [4.0, 2.0, 1.0], 0, marked=(0.5, 2.0))
    x, y = line.dots()
    assert x.tolist() == [0.5, 2.0]
    assert y.tolist() == [3.0, 1.0]
