"""evaluate under delayed entry: what is scored, left out, said."""

from __future__ import annotations

import naive_entry as naive
import numpy as np
import pandas as pd
import pytest

import survgauge as sg
from survgauge.errors import InputError
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details
from survgauge.report.displays import display

Y, CURVES = naive.draw(0, n=150)
TRAIN, _ = naive.draw(1, n=200)


def values(ev: sg.Evaluation, model: str = "m") -> dict[tuple[str, float | None], float]:
    return {(r["metric"], r["time"]): r["value"] for r in ev.rows() if r["model"] == model}


def same(a: sg.Evaluation, b: sg.Evaluation) -> None:
    for one, two in zip(a.rows(), b.rows(), strict=True):
        assert one["metric"] == two["metric"]
        for key in ("value", "low", "high", "stderr", "skill"):
            np.testing.assert_array_equal(one[key], two[key], err_msg=one["metric"])


def test_entry_of_zero_changes_nothing() -> None:
    plain = sg.Outcomes(Y.time, Y.event)
    train = sg.Outcomes(TRAIN.time, TRAIN.event)
    asked = {"metrics": ["mae_po", "mae_dr", "brier", "ibs", "auc", "uno", "harrell", "crps"]}
    zero = sg.Outcomes(Y.time, Y.event, entry=np.zeros(len(Y)))
    trained = sg.Outcomes(TRAIN.time, TRAIN.event, entry=np.zeros(len(TRAIN)))
    same(
        sg.evaluate({"m": CURVES}, plain, y_train=train, **asked),
        sg.evaluate({"m": CURVES}, zero, y_train=trained, **asked),
    )


def test_an_entry_of_0_for_everybody_is_none() -> None:
    plain = sg.Outcomes(Y.time, Y.event)
    a = sg.evaluate({"m": CURVES}, plain, y_train=plain, metrics=["brier", "uno"], tau=5.0)
    entering = plain.entering()
    b = sg.evaluate({"m": CURVES}, entering, y_train=entering, metrics=["brier", "uno"], tau=5.0)
    same(a, b)
    assert a.support == b.support


def test_default_metrics_and_their_functions() -> None:
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, time=4.0, tau=9.0)
    codes = [warning.code for warning in ev.warnings]
    assert "knows-no-entry" not in codes  # every default metric does
    found = values(ev)
    assert found["ici", 4.0] == pytest.approx(
        sg.integrated_calibration_index(Y, CURVES, 4.0).ici, rel=1e-12
    )
    assert found["antolini", None] == pytest.approx(sg.concordance_td(Y, CURVES), rel=1e-12)
    assert found["calibration_slope", 4.0] == pytest.approx(
        sg.calibration_slope(Y, CURVES, 4.0), rel=1e-12
    )
    assert found["brier", 4.0] == pytest.approx(sg.brier_score(Y, CURVES, [4.0]).mean, rel=1e-12)
    assert found["auc", 4.0] == pytest.approx(
        sg.cumulative_dynamic_auc(Y, CURVES, [4.0]).mean, rel=1e-12
    )
    assert found["crps", None] == pytest.approx(sg.crps(Y, CURVES, tau=9.0), rel=1e-12)
    assert found["harrell", None] == pytest.approx(
        sg.concordance_index(Y, -CURVES.median()), rel=1e-12
    )
    assert found["mae_margin", None] == pytest.approx(
        sg.mae(Y, CURVES, y_train=TRAIN, method="margin", tau=9.0), rel=1e-12
    )
    assert found["mae_po", None] == pytest.approx(
        sg.mae(Y, CURVES, y_train=TRAIN, method="po", tau=9.0), rel=1e-12
    )
    assert found["km_calibration", None] == pytest.approx(
        sg.km_calibration(Y, CURVES, tau=9.0), rel=1e-12
    )
    assert found["one_calibration", 4.0] == pytest.approx(
        sg.one_calibration(Y, CURVES, 4.0).p_value, rel=1e-12
    )
    assert ev.support["delayed_entry"] == (Y.entry > 0).sum()
    assert ev.support["at_risk_since"] > 0
    past_curves = ("log_likelihood", "d_calibration")
    known = [value for (name, _), value in found.items() if name not in past_curves]
    assert np.isfinite(known).all()


def test_standard_errors_are_those_of_the_functions() -> None:
    asked = {"metrics": ["brier", "uno", "auc", "mae_ipcw_d"], "time": 4.0, "tau": 8.0}
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, **asked)
    found = {row["metric"]: row["stderr"] for row in ev.rows()}
    uno = sg.concordance_index(Y, -CURVES.median(), method="uno", tau=8.0)
    wanted = {
        "brier": sg.brier_score(Y, CURVES, [4.0]).details.stderr,
        "uno": uno.stderr,
        "auc": cumulative_dynamic_auc_details(Y, CURVES, [4.0]).stderr,
        "mae_ipcw_d": sg.time_error(Y, CURVES, method="ipcw_d", tau=8.0).stderr,
    }
    for name, stderr in wanted.items():
        assert found[name] == pytest.approx(stderr, rel=1e-9), name


def test_a_frame_with_a_column_entry_is_read() -> None:
    frame = pd.DataFrame({"time": Y.time, "event": Y.event, "entry": Y.entry})
    asked = {"metrics": ["brier", "harrell"], "time": 4.0}
    same(sg.evaluate({"m": CURVES}, frame, **asked), sg.evaluate({"m": CURVES}, Y, **asked))


def test_chunks_give_what_all_subjects_give(monkeypatch: pytest.MonkeyPatch) -> None:
    from survgauge.evaluation import columns

    asked = {"time": 4.0, "tau": 9.0, "confidence": None}
    asked["metrics"] = ["brier", "ibs", "ibll", "crps", "mae_dr", "mae_margin", "mae_po"]
    whole = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, **asked)
    monkeypatch.setattr(columns, "CHUNK_ROWS", 40)
    parts = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, **asked)
    for key, value in values(whole).items():
        assert values(parts)[key] == pytest.approx(value, rel=1e-9), key


@pytest.mark.parametrize("metric", ["brier_dr", "ibs_dr", "crps_dr"])
def test_metrics_that_know_no_entry_are_refused_by_name(metric: str) -> None:
    with pytest.raises(InputError, match=f"{metric} supports no delayed entry"):
        sg.evaluate({"m": CURVES}, Y, metrics=[metric])


def test_thin_first_risk_sets_are_said() -> None:
    time, entry = Y.time.copy(), np.maximum(Y.entry, 0.5)
    keep = time > 0.5
    time, entry, event = time[keep], entry[keep], Y.event[keep]
    entry[:2], time[:2] = 0.1, 0.4
    y = sg.Outcomes(time, event, entry=entry)
    ev = sg.evaluate({"m": CURVES[keep]}, y, metrics=["brier"], time=4.0)
    [told] = [w.message for w in ev.warnings if w.code == "thin-first-risk-sets"]
    assert "2 subjects" in told
    assert f"before {ev.support['at_risk_since']:g}" in told


def test_models_that_deny_an_entry_are_named() -> None:
    curves = sg.SurvivalCurves([0, 3], [[1.0, 0.0]] * len(Y))
    times = np.full(len(Y), 1.0)
    ev = sg.evaluate({"gone": curves, "early": times, "m": CURVES}, Y, metrics=["mae_hinge"])
    named = {w.model for w in ev.cases if w.code == "denies-entry"}
    assert named == {"gone", "early"}


def test_groups_bootstrap_and_weights() -> None:
    by = np.where(np.arange(len(Y)) % 2, "a", "b")
    ev = sg.evaluate(
        {"m": CURVES}, Y, y_train=TRAIN, metrics=["brier", "uno"], time=4.0, by=by,
        reference="redrawn", n_boot=10,
    )  # fmt: skip
    assert np.isfinite([row["stderr"] for row in ev.rows()]).all()
    weighted = sg.evaluate({"m": CURVES}, Y, metrics=["brier"], time=4.0,
                           sample_weight=np.arange(len(Y)) % 3)  # fmt: skip
    assert np.isfinite(weighted.rows()[0]["stderr"])


def test_page(tmp_path: object) -> None:
    pytest.importorskip("matplotlib")
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, metrics=["brier", "mae_within"], time=4.0)
    assert ev.to_html(tmp_path / "page.html").exists()  # type: ignore[operator]


@pytest.mark.parametrize("late", ["y_test", "y_train"])
def test_entry_of_one_side_only_is_said(late: str) -> None:
    plain = {
        "y_test": sg.Outcomes(Y.time, Y.event),
        "y_train": sg.Outcomes(TRAIN.time, TRAIN.event),
    }
    given = {**plain, late: Y if late == "y_test" else TRAIN}
    said = sg.evaluate({"m": CURVES}, given["y_test"], y_train=given["y_train"]).warnings
    assert [w.message.split()[0] for w in said if w.code == "entry-on-one-side"] == [late]
    both = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN).warnings
    assert "entry-on-one-side" not in {w.code for w in both}


def test_several_landmarks_are_refused_as_they_came() -> None:
    with pytest.raises(InputError, match=r"sg.landmarks takes several\); got \[1, 2\]"):
        sg.evaluate({"m": CURVES}, Y, landmark=[1, 2])


def test_mean_curve_is_that_of_those_at_risk() -> None:
    ev = sg.evaluate({"m": CURVES}, Y, metrics=["km_calibration"])
    shown = display(ev, "curves")
    times, mean = shown.column("time"), shown.column("predicted", model="m")
    found = sg.km_calibration(Y, CURVES)
    since = found.convention["since"]
    start = sg.KaplanMeier.fit(Y).at(since)
    late = (times >= since) & (times <= found.times[-1])
    wanted = start * np.interp(times[late], found.times, found.mean_survival)
    np.testing.assert_allclose(mean[late], wanted, rtol=1e-9)
    assert np.isnan(mean[times < since]).all()
    assert "those at risk" in shown.describe().caption


def test_words_of_late_entry() -> None:
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, metrics=["mae_within"])
    assert " on average up to " in ev.verdict
    # Nobody who enters early can be seen at 9: each is followed for 2 to 4 units of time.
    rng = np.random.default_rng(0)
    entry = rng.uniform(0, 8, 400)
    t, c = rng.exponential(8, 400) + 0.1, entry + rng.uniform(2, 4, 400)
    seen = t > entry
    y = sg.Outcomes(np.minimum(t, c)[seen], (t <= c)[seen], entry=entry[seen])
    model = sg.SurvivalCurves([0, 12], [[1, 0.3]] * len(y))
    found = sg.evaluate(model, y, metrics=["brier"], time=9.0, min_g=0, min_at_risk=1)
    told = [w.message for w in found.warnings if w.code == "mean-weight"]
    assert told
    assert "entered early" in told[0]
