"""Displays of an evaluation of one cause: each is right for the cause, or says why not."""

from dataclasses import replace

import naive_entry_causes as causes
import numpy as np
import pytest
from cause_data import draw

import survgauge as sg
from survgauge import displays
from survgauge.metrics.group_tests import gray_test
from survgauge.report.displays import DISPLAYS
from survgauge.report.displays.description import Line, p_relation

N = 160
#: Figures that support only one kind of event.
ONE_KIND = {"predicted_actual", "errors", "imputed_times"}


@pytest.fixture(scope="module")
def given():
    train, _ = draw(150, 1)
    y, curves = draw(N, 2)
    values = 0.5 * curves.values
    low = sg.IncidenceCurves(curves.times, values, causes=curves.causes)
    return {"predictions": {"true": curves, "low": low}, "y_test": y, "y_train": train}


@pytest.fixture(scope="module")
def ev(given):
    return sg.evaluate(**given, cause="relapse", time=4.0, tau=10.0, unit="years")


@pytest.mark.parametrize("kind", DISPLAYS)
def test_every_display_is_of_the_cause_or_says_why_not(ev, kind):
    if kind in ONE_KIND:
        with pytest.raises(sg.InputError, match=r"supports only one kind of event.*'relapse' and"):
            displays.display(ev, kind)
        return
    shown = displays.display(ev, kind)
    chart = shown.describe()
    told = " ".join([chart.title, chart.caption, shown.about])
    told += " ".join(str(mark) for panel in chart.panels for mark in panel.marks)
    assert "Kaplan-Meier" not in told, kind
    assert "events of relapse" in shown.about
    assert shown.rows()


def test_all_of_them_can_be_drawn(ev):
    pytest.importorskip("matplotlib")
    for kind in ("curves", "risk_groups", "support"):
        figure = ev.plot(kind)
        figure.draw_without_rendering()
        assert all(ax.has_data() for ax in figure.axes)


@pytest.mark.parametrize(
    "kind", [k for k in DISPLAYS if k not in {"metrics", "differences", *ONE_KIND}]
)
def test_predictions_give_the_same_as_an_evaluation(ev, given, kind):
    ours = displays.display(ev, kind)
    settings = {"cause": "relapse", "time": 4.0, "tau": 10.0}
    source = displays.given(
        given["predictions"], given["y_test"], y_train=given["y_train"], unit="years", **settings
    )
    theirs = displays.display(source, kind)
    assert ours.about == theirs.about
    np.testing.assert_equal(ours.rows(), theirs.rows())


def test_scores_over_time_are_those_of_the_functions(ev, given):
    options = {"y_train": given["y_train"], "cause": "relapse"}
    curves = given["predictions"]["low"]
    brier = displays.display(ev, "brier", times=[2.0, 4.0])
    expected = sg.brier_score(given["y_test"], curves, [2.0, 4.0], **options)
    assert brier.column("value", model="low") == pytest.approx(expected.values, rel=1e-12)
    base = sg.AalenJohansen.fit(given["y_train"]).curves(N)
    flat = sg.brier_score(given["y_test"], base, [2.0, 4.0], **options)
    assert brier.column("value", baseline=True) == pytest.approx(flat.values, rel=1e-12)
    auc = displays.display(ev, "auc", times=[2.0, 4.0])
    expected = sg.cumulative_dynamic_auc(given["y_test"], curves, [2.0, 4.0], **options)
    assert auc.column("value", model="low") == pytest.approx(expected.values, rel=1e-12)


def test_curves_are_aalen_johansen_of_every_cause_and_the_mean_predictions(ev, given):
    y, shown = given["y_test"], displays.display(ev, "curves")
    aj = sg.AalenJohansen.fit(y)
    assert [panel.title for panel in shown.chart.panels] == list(y.causes)
    for k, cause in enumerate(y.causes):
        for model, curves in given["predictions"].items():
            part = next(p for p in shown.table if (p["model"], p["cause"]) == (model, cause))
            time = part["time"]
            assert part["observed"] == pytest.approx(aj.at(time, cause))
            known = np.isfinite(part["low"])
            assert (part["low"] <= part["observed"])[known].all()
            assert (part["observed"] <= part["high"])[known].all()
            mean = curves.at(time, cause).mean(axis=0)
            assert part["predicted"] == pytest.approx(mean, rel=1e-12, nan_ok=True)
            assert part["at_risk"].tolist() == [(y.time >= t).sum() for t in time]
            wanted = [((y.cause == k + 1) & (y.time <= t)).sum() for t in time]
            assert part["events"].tolist() == wanted
        ticks = [tick for tick, _ in shown.chart.panels[k].x.ticks]
        (_, _, at_risk), (_, _, events) = shown.chart.panels[k].counts.rows
        assert at_risk == tuple((y.time >= tick).sum() for tick in ticks)
        assert events == tuple(((y.cause == k + 1) & (y.time <= tick)).sum() for tick in ticks)


def test_curves_by_group_have_grays_test_and_end_with_the_group(given):
    y = given["y_test"]
    last = np.sort(y.time[(y.cause == 0) & (y.time < 6)])[-1]  # somebody censored
    group = np.where(y.time <= last, "early", "late")
    source = displays.given({}, y, cause="relapse")
    shown = displays.display(source, "curves", by=group, causes="death")
    assert [part["group"] for part in shown.table] == ["early", "late"]
    p = gray_test(y, group, "death").p_value
    assert shown.column("p_value") == pytest.approx(p)
    assert shown.chart.panels[0].title[-1] == f": Gray's p {p_relation(p)}"
    early, time = shown.column("observed", group="early"), shown.column("time")
    assert np.isnan(early[time > last]).all()
    assert np.isfinite(early[time <= last]).all()
    assert len(shown.describe().panels) == 1
    with pytest.raises(sg.InputError, match="causes must name at least one"):
        displays.display(source, "curves", causes=[])
    with pytest.raises(sg.InputError, match="the code or the name of a cause"):
        displays.display(source, "curves", causes="gout")


def test_blocks_of_rows_have_the_same_mean(monkeypatch, given):
    from survgauge.report.displays import estimates

    curves, times = given["predictions"]["true"], np.array([2.0, 5.0])
    weight = np.arange(N) % 3 * 1.0
    whole = estimates.mean_curve(curves, weight, 2, times)
    monkeypatch.setattr(estimates, "BLOCK_VALUES", 500)
    assert estimates.mean_curve(curves, weight, 2, times) == pytest.approx(whole, rel=1e-12)
    naive = np.average(curves.at(times, 2), axis=0, weights=weight)
    assert whole == pytest.approx(naive, rel=1e-12)


def test_calibration_groups_are_aalen_johansen_of_their_subjects(ev, given):
    y, risk = given["y_test"], given["predictions"]["true"].at(4.0, 1)
    panel = displays.display(ev, "calibration_panel", groups=4)
    parts = {part["part"]: part for part in panel.table if part["model"] == "true"}
    found, bars = parts["groups"], parts["bars"]
    order = np.array_split(np.argsort(risk, kind="stable"), 4)
    for k, rows in enumerate(order):
        observed = float(sg.AalenJohansen.fit(y[rows]).at(4.0, 1))
        assert found["observed"][k] == pytest.approx(observed)
        assert found["predicted"][k] == pytest.approx(risk[rows].mean())
        assert found["events"][k] == ((y.cause[rows] == 1) & (y.time[rows] <= 4)).sum()
    assert bars["event"].sum() == ((y.cause == 1) & (y.time <= 4)).sum()
    assert bars["censored"].sum() == ((y.cause == 0) & (y.time < 4)).sum()
    assert sum(bars[name].sum() for name in ("event", "free", "censored")) == N
    oe = sg.observed_expected(y, given["predictions"]["true"], 4.0, cause=1)
    ratio = [parts["measures"][name][0] for name in ("value", "low", "high")]
    assert ratio == pytest.approx((oe.ratio, oe.low, oe.high))


def test_risk_groups_are_by_incidence(ev, given):
    y, shown = given["y_test"], displays.display(ev, "risk_groups", groups=2)
    risk = given["predictions"]["true"].at(4.0, 1)
    low, high = np.array_split(np.argsort(risk, kind="stable"), 2)
    label = np.zeros(N, dtype=int)
    label[high] = 1
    part = shown.table[0]
    assert (part["model"], part["group"]) == ("true", "low risk")
    p = gray_test(y, label, 1).p_value
    assert shown.chart.panels[0].title[-1] == f": Gray's p {p_relation(p)}"
    expected = sg.AalenJohansen.fit(y[low]).at(part["time"], 1)
    seen = np.isfinite(part["observed"])
    assert part["observed"][seen] == pytest.approx(expected[seen])
    mean = given["predictions"]["true"][low].at(part["time"], 1).mean(axis=0)
    assert part["predicted"] == pytest.approx(mean, nan_ok=True)


def test_single_subjects_say_what_happened(ev, given):
    y, shown = given["y_test"], displays.display(ev, "subjects")
    names = ("censored", "relapse", "death")
    happened = {part["subject"]: part["happened"] for part in shown.table}
    assert happened == {row: names[y.cause[row]] for row in happened}
    assert {"relapse", "death", "censored"} == set(happened.values())
    panel = shown.describe().panels[0]
    assert panel.y.label == "Probability of relapse"
    line = next(m for m in panel.marks if isinstance(m, Line))
    part = shown.table[0]
    risk = given["predictions"]["true"].at(part["time"], 1)[part["subject"]]
    known = np.isfinite(risk)
    assert np.asarray(line.y)[known] == pytest.approx(risk[known])


def test_support_counts_events_of_each_cause(ev, given):
    y, shown = given["y_test"], displays.display(ev, "support", times=[2.0, 5.0])
    for code, name in enumerate(y.causes, 1):
        counts = [((y.cause == code) & (y.time <= t)).sum() for t in (2.0, 5.0)]
        assert shown.column(f"events of {name}").tolist() == counts
    both = sum(shown.column(f"events of {name}") for name in y.causes)
    assert both.tolist() == shown.column("events").tolist()


def test_causes_without_events_and_without_names_are_drawn():
    y, curves = draw(60, 4, named=False)
    codes = np.where(y.cause == 2, 0, y.cause)
    ev = sg.evaluate(curves, sg.Outcomes(y.time, codes, causes=("1", "2")), cause=1, time=3.0)
    for kind in ("curves", "support"):
        assert displays.display(ev, kind).describe().panels
    panels = displays.display(ev, "curves").describe().panels
    assert [panel.title for panel in panels] == ["cause 1", "cause 2"]


def test_streamed_predictions_are_missed(ev):
    bare = replace(ev, predictions={})
    assert displays.display(bare, "curves").rows()
    with pytest.raises(sg.InputError, match=r"display\(given\("):
        displays.display(bare, "risk_groups")


@pytest.fixture(scope="module")
def late():
    y, curves = causes.draw(3, n=400)
    return sg.evaluate({"m": curves}, y, cause="dementia", time=5.0, tau=8.0)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_under_delayed_entry_a_display_is_right_or_says_why_not(late, kind):
    if kind in ONE_KIND | {"risk_groups"}:
        said = (
            r"only one kind of event|figure of .* does not support delayed entry, which y_test has"
        )
        with pytest.raises(sg.InputError, match=said):
            displays.display(late, kind)
        return
    if kind == "differences":
        pytest.skip("of several models")
    assert displays.display(late, kind).frame().size


def test_mean_incidence_under_delayed_entry_is_that_of_those_at_risk(late):
    y, curves = late.task.y, late.predictions["m"].incidence
    d = displays.display(late, "curves", causes=1)
    time, mean = d.column("time"), d.column("predicted")
    aj = sg.AalenJohansen.fit(y)
    np.testing.assert_allclose(d.column("observed"), aj.at(time, 1), rtol=1e-12)
    since = sg.km_calibration(y, curves, cause=1).convention["since"]
    assert np.isnan(mean[time < since]).all()
    # As the distance that is reported: from the beginning on, both given no event by then.
    found = sg.km_calibration(y, curves, tau=8.0, cause=1)
    inside = (found.times >= time[time >= since][0]) & (found.times < 8.0)
    free = 1 - sum(float(aj.at(since, k)) for k in (1, 2))
    wanted = float(aj.at(since, 1)) + free * (1 - found.mean_survival[inside])
    shown = np.interp(found.times[inside], time[time >= since], mean[time >= since])
    np.testing.assert_allclose(shown, wanted, atol=2e-3)
    assert "those at risk" in d.describe().caption


@pytest.mark.parametrize("cause", ["dementia", None])
def test_groups_of_the_panel_are_given_entry(late, cause):
    y, curves = late.task.y, late.predictions["m"].incidence
    ev = late
    if cause is None:
        ev = sg.evaluate({"m": curves.survival("nan")}, y.any_cause(), time=5.0, tau=8.0)
    panel = displays.display(ev, "calibration_panel", groups=2)
    shown = next(part for part in panel.table if part["part"] == "groups")
    assert shown["n"].sum() == (y.entry < 5.0).sum()
    # The true model: what was observed lies near the risk given entry, not near that from birth.
    assert (abs(shown["observed"] - shown["predicted"]) < 0.12).all()
    assert (shown["low"] <= shown["observed"]).all()
    assert (shown["observed"] <= shown["high"]).all()
