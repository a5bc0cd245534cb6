"""Labels that are dates, and the time of interest past the horizon: the same everywhere."""

from datetime import date, datetime

import numpy as np
import pytest

import survgauge as sg

DAYS = ["2020-01-31", "2021-06-01"]


def outcomes(n=60):
    rng = np.random.default_rng(0)
    t, c = rng.exponential(10, n), rng.exponential(15, n)
    return np.minimum(t, c), t <= c


def kinds():
    """Columns that hold the same two dates."""
    pd = pytest.importorskip("pandas")
    days = np.array(DAYS, dtype="M8[D]")[np.arange(60) % 2]
    yield days
    yield days.astype("M8[ns]")
    yield days.astype("M8[s]")
    yield [date.fromisoformat(str(d)) for d in days]
    yield [datetime.fromisoformat(str(d)) for d in days]
    yield pd.Series(days.astype("M8[ns]"))


@pytest.mark.parametrize("k", range(6))
def test_dates_are_labels_of_groups_in_evaluate_and_in_streams(k):
    pd = pytest.importorskip("pandas")
    by = list(kinds())[k]
    time, event = outcomes()
    options = {"y_train": (time, event), "metrics": ["mae_hinge"]}
    ev = sg.evaluate({"m": time + 1}, (time, event), by=by, **options)
    columns = {"time": time, "event": event, "m": time + 1, "by": by}
    frame = pd.DataFrame(columns)
    batches = [columns], [frame], [frame[:20], frame[20:]]
    for parts in batches:
        stream = sg.evaluate_stream(parts, predictions={"m": "m"}, by="by", **options)
        for found in (ev, stream):
            assert [row["group"] for row in found.rows()] == [None, *DAYS]
            assert list(found.support["groups"]) == DAYS


def test_a_missing_date_is_a_gap():
    time, event = outcomes()
    by = np.array(DAYS, dtype="M8[ns]")[np.arange(60) % 2]
    by[7] = np.datetime64("NaT")
    options = {"y_train": (time, event), "metrics": ["mae_hinge"]}
    with pytest.raises(sg.InputError, match="missing in row 8"):
        sg.evaluate({"m": time}, (time, event), by=by, **options)
    columns = {"time": time, "event": event, "m": time, "by": by}
    with pytest.raises(sg.InputError, match=r"missing in row 8"):
        sg.evaluate_stream([columns], predictions={"m": "m"}, by="by", **options)


def test_the_support_says_which_time_was_used():
    time, event = outcomes()
    grid = np.linspace(0, 80, 41)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / (1 + time[:, None])))
    options = {"y_train": (time, event), "metrics": ["brier"], "time": 70.0}
    ev = sg.evaluate({"m": curves}, (time, event), **options)
    horizon = ev.support["horizon"]
    assert horizon < 70
    assert ev.support["time"] == horizon
    want = sg.brier_score((time, event), curves, [horizon]).mean
    assert ev.rows()[0]["value"] == pytest.approx(want)
    [remark] = [w.message for w in ev.warnings if w.code == "time-past-horizon"]
    assert "70" in remark
    kept = sg.evaluate({"m": curves}, (time, event), on_unsupported="nan", **options)
    assert kept.support["time"] == 70.0
