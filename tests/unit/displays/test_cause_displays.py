"""Displays of an evaluation of one cause: each is right for the cause, or says why not."""

from dataclasses import replace

import naive_entry_causes as causes
import numpy as np
import pytest
from cause_data import draw
from scipy.special import chdtri

import survgauge as sg
from survgauge import displays
from survgauge.displays import DISPLAYS

N = 160
#: Figures that know one kind of event only.
ONE_KIND = {
    "predicted_actual", "error_by_status", "error_over_time", "surrogates", "six_metrics",
    "mae_variants",
}  # fmt: skip


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
        with pytest.raises(sg.InputError, match=r"knows one kind of event only.*'relapse' and"):
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
    for kind in ("incidence", "stacked_incidence", "mean_curve", "risk_groups", "support"):
        figure = ev.plot(kind)
        figure.draw_without_rendering()
        assert all(ax.has_data() for ax in figure.axes)


@pytest.mark.parametrize("kind", [k for k in DISPLAYS if k in (
    "brier", "auc", "mean_curve", "stacked_incidence", "d_calibration", "one_calibration",
    "calibration_panel", "decision_curve", "risk_groups", "subjects")])  # fmt: skip
def test_predictions_give_the_same_as_an_evaluation(ev, given, kind):
    ours = displays.display(ev, kind)
    options = {"kind": kind} if kind in ("brier", "auc") else {}
    settings = {"cause": "relapse", "time": 4.0, "tau": 10.0}
    theirs = type(ours).from_predictions(
        given["predictions"], given["y_test"], y_train=given["y_train"], unit="years",
        settings=settings, **options,
    )  # fmt: skip
    assert ours.about == theirs.about
    np.testing.assert_equal(ours.rows(), theirs.rows())


def test_scores_over_time_are_those_of_the_functions(ev, given):
    options = {"y_train": given["y_train"], "cause": "relapse"}
    curves = given["predictions"]["low"]
    brier = displays.TimeCurveDisplay.from_evaluation(ev, kind="brier", times=[2.0, 4.0])
    expected = sg.brier_score(given["y_test"], curves, [2.0, 4.0], **options)
    assert brier.values["low"] == pytest.approx(expected.values, rel=1e-12)
    base = sg.AalenJohansen.fit(given["y_train"]).curves(N)
    flat = sg.brier_score(given["y_test"], base, [2.0, 4.0], **options)
    assert brier.baseline == pytest.approx(flat.values, rel=1e-12)
    auc = displays.TimeCurveDisplay.from_evaluation(ev, kind="auc", times=[2.0, 4.0])
    expected = sg.cumulative_dynamic_auc(given["y_test"], curves, [2.0, 4.0], **options)
    assert auc.values["low"] == pytest.approx(expected.values, rel=1e-12)


def test_incidence_is_aalen_johansen(ev, given):
    y, shown = given["y_test"], displays.display(ev, "incidence")
    aj = sg.AalenJohansen.fit(y)
    assert shown.causes == y.causes
    for k, cause in enumerate(y.causes):
        assert shown.incidence[0, k] == pytest.approx(aj.at(shown.times, cause))
        for j, tick in enumerate(shown.ticks):
            assert shown.events[0, k, j] == ((y.cause == k + 1) & (y.time <= tick)).sum()
    inside = (shown.low < shown.incidence) & (shown.incidence < shown.high)
    assert inside[np.isfinite(shown.low)].all()
    assert shown.at_risk[0].tolist() == [(y.time >= tick).sum() for tick in shown.ticks]


def test_incidence_by_group_has_grays_test_and_ends_with_the_group(given):
    y = given["y_test"]
    last = np.sort(y.time[(y.cause == 0) & (y.time < 6)])[-1]  # somebody censored
    group = np.where(y.time <= last, "early", "late")
    shown = displays.IncidenceDisplay.from_outcomes(y, by=group, causes="death")
    assert shown.groups == ("early", "late")
    assert shown.p_value[0] == pytest.approx(sg.gray_test(y, group, "death").p_value)
    early = shown.incidence[0, 0]
    assert np.isnan(early[shown.times > last]).all()
    assert np.isfinite(early[shown.times <= last]).all()
    assert len(shown.describe().panels) == 1
    with pytest.raises(sg.InputError, match="causes must name at least one"):
        displays.IncidenceDisplay.from_outcomes(y, causes=[])
    with pytest.raises(sg.InputError, match="the code or the name of a cause"):
        displays.IncidenceDisplay.from_outcomes(y, causes="gout")


def test_incidence_of_one_kind_of_event_is_that_of_kaplan_meier(given):
    y = given["y_test"].any_cause()
    shown = displays.IncidenceDisplay.from_outcomes(y)
    assert shown.incidence[0, 0] == pytest.approx(1 - sg.KaplanMeier.fit(y).at(shown.times))
    assert "1 - Kaplan-Meier" in shown.describe().caption


def test_the_stack_is_the_mean_of_all_causes(ev, given):
    shown = displays.StackedIncidenceDisplay.from_evaluation(ev, times=[1.0, 4.0, 9.0])
    assert shown.causes == ("relapse", "death")
    death = displays.StackedIncidenceDisplay.from_evaluation(
        sg.evaluate(**given, cause="death", metrics="brier"), times=[1.0, 4.0, 9.0]
    )
    assert death.causes == ("death", "relapse")
    assert death.places == (1, 0)
    for k, cause in enumerate(shown.causes):
        for model, curves in given["predictions"].items():
            mean = curves.at([1.0, 4.0, 9.0], cause).mean(axis=0)
            assert shown.predicted[model][k] == pytest.approx(mean, rel=1e-12)
            assert death.predicted[model][1 - k] == pytest.approx(mean, rel=1e-12)
        observed = sg.AalenJohansen.fit(given["y_test"]).at([1.0, 4.0, 9.0], cause)
        assert shown.observed[k] == pytest.approx(observed)
    tops = {(r["model"], r["cause"], r["time"]): r["top"] for r in shown.rows()}
    both = shown.predicted["low"][:, 1].sum()
    assert tops["low", "death", 4.0] == pytest.approx(both)


def test_blocks_of_rows_have_the_same_mean(monkeypatch, given):
    from survgauge.displays import stacked_incidence

    curves, times = given["predictions"]["true"], np.array([2.0, 5.0])
    weight = np.arange(N) % 3 * 1.0
    whole = stacked_incidence.mean_incidence(curves, weight, [1, 2], times)
    monkeypatch.setattr(stacked_incidence, "BLOCK_VALUES", 500)
    parts = stacked_incidence.mean_incidence(curves, weight, [1, 2], times)
    assert parts == pytest.approx(whole, rel=1e-12)
    naive = np.average(curves.at(times, 2), axis=0, weights=weight)
    assert whole[1] == pytest.approx(naive, rel=1e-12)


def test_mean_incidence_is_held_against_aalen_johansen(ev, given):
    shown = displays.display(ev, "mean_curve", times=[3.0, 8.0])
    assert isinstance(shown, displays.MeanIncidenceDisplay)
    assert shown.observed == pytest.approx(sg.AalenJohansen.fit(given["y_test"]).at([3, 8], 1))
    mean = given["predictions"]["low"].at([3.0, 8.0], 1).mean(axis=0)
    assert shown.mean["low"] == pytest.approx(mean, rel=1e-12)
    plain = sg.evaluate([3, 5, 6, 9], ([2, 5, 7, 8], [1, 0, 1, 1]), metrics="mae_po")
    for display in (displays.MeanIncidenceDisplay, displays.RiskIncidenceDisplay):
        with pytest.raises(sg.InputError, match="needs an evaluation of a cause"):
            display.from_evaluation(plain)


def test_calibration_groups_are_aalen_johansen_of_their_subjects(ev, given):
    y, risk = given["y_test"], given["predictions"]["true"].at(4.0, 1)
    panel = displays.display(ev, "calibration_panel", groups=4)
    found = panel.groups["true"]
    order = np.array_split(np.argsort(risk, kind="stable"), 4)
    for k, rows in enumerate(order):
        observed = float(sg.AalenJohansen.fit(y[rows]).at(4.0, 1))
        assert found["observed"][k] == pytest.approx(observed)
        assert found["predicted"][k] == pytest.approx(risk[rows].mean())
        assert found["events"][k] == ((y.cause[rows] == 1) & (y.time[rows] <= 4)).sum()
    bars = panel.histogram["true"]
    assert bars["event"].sum() == ((y.cause == 1) & (y.time <= 4)).sum()
    assert bars["censored"].sum() == ((y.cause == 0) & (y.time < 4)).sum()
    assert sum(part.sum() for part in bars.values()) == N
    oe = sg.observed_expected(y, given["predictions"]["true"], 4.0, cause=1)
    assert panel.ratio["true"] == pytest.approx((oe.ratio, oe.low, oe.high))
    one = displays.display(ev, "one_calibration", groups=4)
    assert one.observed["true"] == pytest.approx(found["observed"])
    assert one.events["true"].sum() == bars["event"].sum()


def test_risk_groups_are_by_incidence(ev, given):
    y, shown = given["y_test"], displays.display(ev, "risk_groups", groups=2)
    risk = given["predictions"]["true"].at(4.0, 1)
    low, high = np.array_split(np.argsort(risk, kind="stable"), 2)
    label = np.zeros(N, dtype=int)
    label[high] = 1
    incidence = shown.groups["true"]
    assert incidence.groups == ("low risk", "high risk")
    assert incidence.p_value[0] == pytest.approx(sg.gray_test(y, label, 1).p_value)
    expected = sg.AalenJohansen.fit(y[low]).at(4.0, 1)
    at = incidence.times.searchsorted(4.0, "right") - 1
    assert incidence.incidence[0, 0, at] == pytest.approx(float(expected), abs=0.02)
    mean = given["predictions"]["true"][low].at(incidence.times[at], 1).mean()
    assert shown.predicted["true"][0, at] == pytest.approx(mean)


def test_single_subjects_say_what_happened(ev, given):
    y, shown = given["y_test"], displays.display(ev, "subjects")
    names = ("censored", "relapse", "death")
    assert shown.happened == tuple(names[code] for code in y.cause[shown.subjects])
    assert {"relapse", "death", "censored"} == set(shown.happened)
    panel = shown.describe().panels[0]
    assert panel.y.label == "Probability of relapse"
    line = next(m for m in panel.marks if isinstance(m, displays.description.Line))
    risk = given["predictions"]["true"][shown.subjects[:1]].at(shown.times, 1)[0]
    known = np.isfinite(risk)
    assert np.asarray(line.y)[known] == pytest.approx(risk[known])


def test_support_counts_events_of_each_cause(ev, given):
    y, shown = given["y_test"], displays.display(ev, "support", times=[2.0, 5.0])
    for code, name in enumerate(y.causes, 1):
        counts = [((y.cause == code) & (y.time <= t)).sum() for t in (2.0, 5.0)]
        assert shown.by_cause[name].tolist() == counts
    assert sum(shown.by_cause.values()).tolist() == shown.events.tolist()


def test_causes_without_events_and_without_names_are_drawn():
    y, curves = draw(60, 4, named=False)
    codes = np.where(y.cause == 2, 0, y.cause)
    ev = sg.evaluate(curves, sg.Outcomes(y.time, codes, causes=("1", "2")), cause=1, time=3.0)
    for kind in ("incidence", "stacked_incidence", "mean_curve", "support"):
        assert displays.display(ev, kind).describe().panels
    labels = [m.label for m in displays.display(ev, "incidence").describe().panels[0].marks]
    assert labels[:2] == ["cause 1", "cause 2"]


def test_streamed_outcomes_are_missed(ev):
    bare = replace(ev, predictions={}, all_outcomes=False)
    with pytest.raises(sg.InputError, match=r"from_outcomes\(\)"):
        displays.display(bare, "incidence")
    with pytest.raises(sg.InputError, match=r"from_predictions\(\)"):
        displays.display(bare, "stacked_incidence")


@pytest.fixture(scope="module")
def late():
    y, curves = causes.draw(3, n=400)
    return sg.evaluate({"m": curves}, y, cause="dementia", time=5.0, tau=8.0)


#: Figures that know no delayed entry.
NO_ENTRY = {"incidence", "risk_groups"}


@pytest.mark.parametrize("kind", DISPLAYS)
def test_under_delayed_entry_a_display_is_right_or_says_why_not(late, kind):
    if kind in ONE_KIND | NO_ENTRY:
        said = r"one kind of event only|figure of .* does not know delayed entry, which y_test has"
        with pytest.raises(sg.InputError, match=said):
            displays.display(late, kind)
        return
    if kind == "differences":
        pytest.skip("of several models")
    assert displays.display(late, kind).frame().size


def test_mean_incidence_under_delayed_entry_is_that_of_those_at_risk(late):
    y, curves = late.problem.y, late.predictions["m"].incidence
    d = displays.MeanIncidenceDisplay.from_evaluation(late)
    aj = sg.AalenJohansen.fit(y)
    np.testing.assert_allclose(d.observed, aj.at(d.times, 1), rtol=1e-12)
    since = sg.km_calibration_details(y, curves, cause=1).convention["since"]
    assert np.isnan(d.mean["m"][d.times < since]).all()
    # As the distance that is reported: from the beginning on, both given no event by then.
    found = sg.km_calibration_details(y, curves, tau=8.0, cause=1)
    inside = (found.times >= d.times[d.times >= since][0]) & (found.times < 8.0)
    free = 1 - sum(float(aj.at(since, k)) for k in (1, 2))
    wanted = float(aj.at(since, 1)) + free * (1 - found.mean_survival[inside])
    shown = np.interp(found.times[inside], d.times[d.times >= since], d.mean["m"][d.times >= since])
    np.testing.assert_allclose(shown, wanted, atol=2e-3)
    stacked = displays.StackedIncidenceDisplay.from_evaluation(late).predicted["m"]
    np.testing.assert_allclose(stacked[0], d.mean["m"], rtol=1e-12)
    assert "those at risk" in d.describe().caption


def test_groups_under_delayed_entry_have_bounds_of_their_own_events(late):
    d = displays.OneCalibrationDisplay.from_evaluation(late)
    result = sg.one_calibration(late.problem.y, late.predictions["m"].curves, 5.0, cause=1)
    np.testing.assert_allclose(d.events["m"], result.observed * result.size)
    assert (d.low["m"] <= d.observed["m"]).all()
    assert (d.high["m"] >= d.observed["m"]).all()
    # Exact limits of a Poisson count: 10 events are 4.795 to 18.39.
    ten = int(np.argmin(abs(d.events["m"] - 10)))
    ratio = chdtri(2 * d.events["m"][ten], 0.975) / 2 / result.size[ten]
    assert d.low["m"][ten] == pytest.approx(ratio)


@pytest.mark.parametrize("cause", ["dementia", None])
def test_groups_of_the_panel_are_given_entry(late, cause):
    y, curves = late.problem.y, late.predictions["m"].incidence
    ev = late
    if cause is None:
        ev = sg.evaluate({"m": curves.survival("nan")}, y.any_cause(), time=5.0, tau=8.0)
    shown = displays.CalibrationPanelDisplay.from_evaluation(ev, groups=2).groups["m"]
    assert shown["n"].sum() == (y.entry < 5.0).sum()
    # The true model: what was observed lies near the risk given entry, not near that from birth.
    assert (abs(shown["observed"] - shown["predicted"]) < 0.12).all()
    assert (shown["low"] <= shown["observed"]).all()
    assert (shown["observed"] <= shown["high"]).all()
