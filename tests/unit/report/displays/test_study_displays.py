"""The figures of a validation study: decision curves and groups of predicted risk."""

from __future__ import annotations

import numpy as np
import pytest
from display_data import draw
from naive import km_at
from scipy import stats

import survgauge as sg
from survgauge import displays
from survgauge.report.displays.description import Line, Model, amount, round_ticks

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
    """Measures in the title of a panel."""
    return panel.title[1].strip().replace("\n", ", ").split(", ")


# -- calibration ----------------------------------------------------------------------------------


def test_a_calibration_panel_holds_curve_groups_and_counts(ev):
    d = displays.display(ev, "calibration_panel", models="good", groups=5)
    result = sg.integrated_calibration_index(Y, GOOD, 6.0)
    observed, low, high = (d.column(c, part="curve") for c in ("observed", "low", "high"))
    assert observed == pytest.approx(result.curve_observed)
    # The band is that of the middle 98 % of predictions.
    shown = np.isfinite(low)
    assert 90 <= shown.sum() < len(low)
    assert ((low <= observed) & (observed <= high))[shown].all()
    p, happened = 1 - GOOD.at(6.0), Y.event & (Y.time <= 6.0)
    lost = ~Y.event & (Y.time < 6.0)
    start, end = (d.column(c, part="bars") for c in ("start", "end"))
    for name, part in {"event": happened, "free": ~happened & ~lost, "censored": lost}.items():
        counts = d.column(name, part="bars")
        assert counts.sum() == part.sum()
        for k in range(start.size):
            last = k == start.size - 1
            within = (p >= start[k]) & ((p <= end[k]) if last else p < end[k])
            assert counts[k] == (within & part).sum()
    groups, order = next(part for part in d.table if part["part"] == "groups"), np.argsort(p)
    for k, own in enumerate(np.split(order, 5)):
        assert groups["predicted"][k] == pytest.approx(p[own].mean())
        observed = 1 - km_at(list(zip(Y.time[own], Y.event[own], strict=True)), 6.0)
        assert groups["observed"][k] == pytest.approx(float(observed))
        assert (groups["n"][k], groups["events"][k]) == (12, happened[own].sum())
        assert not groups["low"][k] > groups["observed"][k]


def measured(d, model):
    """O/E, slope and ICI, each with its limits."""
    columns = (d.column(c, model=model, part="measures") for c in ("value", "low", "high"))
    return np.array(list(columns)).T


def test_the_measures_of_a_calibration_panel(ev):
    d = displays.display(ev, "calibration_panel")
    for model in ("good", "other"):
        curves = ev.predictions[model].curves
        found = measured(d, model)
        ratio = sg.observed_expected(Y, curves, 6.0)
        assert found[0] == pytest.approx((ratio.ratio, ratio.low, ratio.high))
        slope = sg.calibration_slope(Y, curves, 6.0)
        margin = stats.t.ppf(0.975, slope.support["freedom"]) * slope.stderr
        ends = slope.value - margin, slope.value + margin
        assert found[1] == pytest.approx((slope.value, *ends))
        ici = sg.integrated_calibration_index(Y, curves, 6.0)
        assert found[2] == pytest.approx((ici.ici, *ici.interval(0.95)))
    told, found = measures(d.describe().panels[0]), measured(d, "good")
    assert told[0] == f"O/E {found[0][0]:.2f}"
    assert told[1] == f"slope {found[1][0]:.2f}"
    assert told[2].startswith(f"ICI {found[2][0]:.3f} (by chance ")


def test_measures_of_clusters_count_clusters():
    hospital = np.arange(60) % 6
    found = sg.evaluate(
        {"good": GOOD}, Y, time=6.0, cluster=hospital, n_boot=0,
        metrics=["calibration_slope", "ici"],
    )  # fmt: skip
    _, slope, ici = measured(displays.display(found, "calibration_panel"), "good")
    table = {row["metric"]: row for row in found.rows()}
    assert ici[1:] == pytest.approx((table["ici"]["low"], table["ici"]["high"]))
    row = table["calibration_slope"]
    assert slope == pytest.approx((row["value"], row["low"], row["high"]))


def test_a_calibration_panel_has_equal_axes_and_says_no_more_than_it_knows():
    flat = sg.SurvivalCurves(GOOD.times, np.tile(GOOD.survival.mean(axis=0), (60, 1)))
    shown = displays.display(displays.given(flat, Y, time=6.0), "calibration_panel")
    panel = shown.describe().panels[0]
    assert [told.split()[0] for told in measures(panel)] == ["O/E", "ICI"]  # equal predictions
    assert panel.equal
    assert panel.x.high == panel.y.high
    figure = shown.plot()
    figure.draw_without_rendering()
    ax = figure.axes[0]
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (0.1, 0.1)])
    assert x1 - x0 == pytest.approx(y1 - y0)


def test_measures_can_be_those_of_a_table(ev):
    """As a page of a sample has it; where the table has none, none are said."""
    known = {("ici", "good", 6.0): (0.1, 0.05, 0.2), ("ici", "good", 9.0): (0.7, 0.6, 0.8)}
    for scores, told in (({}, None), (known, "ICI 0.100")):
        d = displays.display(ev, "calibration_panel", models="good", scores=scores)
        panel = d.describe().panels[0]
        if told is None:
            assert panel.title == (Model("good"),)
        else:
            assert measures(panel) == [told]


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
    assert [part["model"] for part in d.table] == ["good", "other"]
    assert d.chart.left_out == {"risk": "gives risk scores only"}
    for part in d.table:
        curves = ev.predictions[part["model"]].curves
        found = sg.net_benefit(Y, curves, 6.0, thresholds=[0.2, 0.4])
        assert np.array_equal(part["value"], found.values)
        assert part["high"] == pytest.approx(found.values + Z * found.stderr)
        assert np.array_equal(part["treat_all"], found.treat_all)
        assert not part["treat_none"].any()
    assert d.about == "60 subjects, 44 events"


def test_differences_between_models_have_a_panel(ev):
    d = displays.display(ev, "decision_curve", thresholds=[0.2, 0.4], reference="good")
    one, two = (
        sg.net_benefit(Y, ev.predictions[m].curves, 6.0, thresholds=[0.2, 0.4])
        for m in ("other", "good")
    )
    gap, stderr = one.difference(two)
    assert [part["model"] for part in d.table if "difference" in part] == ["other"]
    assert np.array_equal(d.column("difference", model="other"), gap)
    assert d.column("difference_low", model="other") == pytest.approx(gap - Z * stderr)
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
    found = displays.display(displays.given(curves, y), "decision_curve", time=10)
    thresholds = found.column("threshold")
    assert thresholds.size == count
    assert thresholds[-1] == pytest.approx(last)


def test_a_time_past_follow_up_is_refused(ev):
    with pytest.raises(sg.UndefinedMetricError, match="net benefit is undefined"):
        displays.display(ev, "decision_curve", time=1e6)


# -- risk groups ----------------------------------------------------------------------------------


def test_risk_groups_are_kaplan_meier_of_the_groups(ev):
    d = displays.display(ev, "risk_groups")
    assert list(dict.fromkeys(part["model"] for part in d.table)) == ["good", "other", "risk"]
    found = sg.risk_groups(Y, GOOD, time=6.0)
    risk = 1 - GOOD.at(6.0)
    for k, part in enumerate(part for part in d.table if part["model"] == "good"):
        own = found.label == k
        last = Y.time[own].max()
        for j in range(0, part["time"].size, 7):
            t = part["time"][j]
            if t <= last:
                expected = km_at(list(zip(Y.time[own], Y.event[own], strict=True)), t)
                assert part["observed"][j] == pytest.approx(float(expected))
            assert part["predicted"][j] == pytest.approx(GOOD.at(t)[own].mean())
            assert part["at_risk"][j] == np.sum(Y.time[own] >= t)
        assert risk[own].min() >= (risk[found.label == k - 1].max() if k else 0)
    assert np.isnan(d.column("predicted", model="risk")).all()
    assert {row["group"] for row in d.rows()} == {"low risk", "medium risk", "high risk"}


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
    row = sg.risk_groups(Y, GOOD, time=6.0).rmst_differences()[-1]
    (told,) = (text for text in chart.notes if "good" in text)
    assert f"good {row['difference']:.2f}"[:9] in told
    assert "high risk minus low risk" in told


def test_an_empty_group_is_not_drawn(ev):
    d = displays.display(ev, "risk_groups", models="good", cuts=[0.5, 0.500001])
    assert [part["group"] for part in d.table] == ["low risk", "high risk"]
    assert len(d.describe().panels[0].counts.rows) == 2


def test_tau_of_the_evaluation_is_kept_where_groups_reach_it():
    for tau, used in ((4.0, 4.0), (1e3, None)):
        found = sg.evaluate({"good": GOOD}, Y, n_boot=0, metrics=["harrell"], tau=tau)
        d = displays.display(found, "risk_groups", time=6.0)
        expected = sg.risk_groups(Y, GOOD, time=6.0, tau=used).tau
        (told,) = d.chart.notes
        assert f"up to {amount(expected)}, " in told


def test_the_axis_can_end_before_follow_up_does(ev):
    d = displays.display(ev, "risk_groups", end=10.0)
    assert d.column("time")[-1] == 10.0
    assert d.chart.panels[0].x.ticks[-1][0] == 10.0
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
