"""Durations and dates are counted in a unit, or refused with what to do."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.outcome_parts import in_unit

DAYS = [30, 90, 365]
EVENT = [1, 0, 1]


def _forms():
    exact = np.array(DAYS, "m8[D]")
    forms = {
        "days": exact,
        "nanoseconds": exact.astype("m8[ns]"),
        "python": [timedelta(days=d) for d in DAYS],
    }
    try:
        import pandas as pd
        import polars as pl
        import pyarrow as pa
    except ImportError:
        return forms
    series = pd.Series(exact.astype("m8[ns]"))
    return forms | {
        "pandas": series,
        "polars": pl.Series(forms["python"]),
        "arrow": pa.array(series),
    }


@pytest.mark.parametrize("form", _forms())
def test_durations_in_days(form):
    assert sg.Outcomes(_forms()[form], EVENT, unit="days").time.tolist() == DAYS
    years = sg.Outcomes.of((_forms()[form], EVENT), unit="years").time
    assert years == pytest.approx(np.array(DAYS) / 365.25, rel=1e-15)
    with pytest.raises(sg.InputError, match=r"durations are counted in a unit.*unit='days'"):
        sg.Outcomes(_forms()[form], EVENT)


def test_start_and_end():
    start = np.array(["2020-01-01", "2020-02-01", "2021-01-01"], "M8[D]")
    frame = {"start": start, "end": start + np.array(DAYS, "m8[D]"), "event": EVENT}
    assert sg.Outcomes.of(frame, unit="days").time.tolist() == DAYS
    entered = frame | {"entry": start + np.array([0, 10, 0], "m8[D]")}
    y = sg.Outcomes.of(entered, unit="days", entry=True)
    assert y.entry.tolist() == [0, 10, 0]
    python = {name: [date.fromisoformat(str(d)) for d in frame[name]] for name in ("start", "end")}
    assert sg.Outcomes.of(python | {"event": EVENT}, unit="days").time.tolist() == DAYS
    with pytest.raises(sg.InputError, match="unit='days'"):
        sg.Outcomes.of(frame)
    with pytest.raises(sg.InputError, match=r"unit must be one of seconds, .* got 'cycles'"):
        sg.Outcomes.of(frame, unit="cycles")


def test_what_cannot_be_subtracted():
    plain, aware = datetime(2020, 1, 1), datetime(2020, 3, 1, tzinfo=timezone.utc)
    with pytest.raises(
        sg.InputError, match=r"both have a time zone.*end has one and start has none"
    ):
        sg.Outcomes.of({"start": [plain], "end": [aware], "event": [1]}, unit="days")
    with pytest.raises(sg.InputError, match="dates with a time zone and dates without"):
        sg.Outcomes.of({"start": [plain, aware], "end": [plain] * 2, "event": [1, 1]}, unit="days")
    east = aware.astimezone(timezone(timedelta(hours=9)))
    same = {"start": [aware], "end": [east + timedelta(days=2)], "event": [1]}
    assert sg.Outcomes.of(same, unit="days").time.tolist() == [2.0]
    with pytest.raises(sg.InputError, match="end must not come before start; it does for row 1 "):
        sg.Outcomes.of({"start": [date(2020, 2, 1)], "end": [date(2020, 1, 1)], "event": [1]})
    with pytest.raises(sg.InputError, match="end must be known for all; missing for row 2 "):
        sg.Outcomes.of({"start": [plain] * 2, "end": [plain, None], "event": [1, 0]}, unit="days")
    with pytest.raises(sg.InputError, match="start must hold dates; got"):
        sg.Outcomes.of({"start": [0.0], "end": [1.0], "event": [1]})
    with pytest.raises(sg.InputError, match=r"mixes durations and int .row 2 "):
        sg.Outcomes([timedelta(days=1), 2], [1, 1], unit="days")
    with pytest.raises(sg.InputError, match="it holds dates"):
        in_unit([plain], "time", "days")
    with pytest.raises(sg.InputError, match="a date is no time"):
        sg.Outcomes([plain], [1])
    with pytest.raises(sg.InputError, match="missing for row 1 "):
        in_unit(np.array(["NaT"], "m8[D]"), "time", "days")


def test_time_zones_of_libraries():
    pd = pytest.importorskip("pandas")
    start = pd.Series(pd.to_datetime(["2020-01-01", "2020-02-01"]))
    end = (start + pd.Timedelta(days=5)).dt.tz_localize("Europe/Vienna")
    frame = pd.DataFrame({"start": start, "end": end, "event": [1, 0]})
    with pytest.raises(sg.InputError, match="end has one and start has none"):
        sg.Outcomes.of(frame, unit="days")
    frame["start"] = start.dt.tz_localize("Europe/Vienna")
    with pytest.raises(sg.InputError, match=r"end must be known for all; missing for row 2 "):
        sg.Outcomes.of(frame.assign(end=frame["end"].where([True, False])), unit="days")
    assert sg.Outcomes.of(frame, unit="days").time.tolist() == [5, 5]
    pl = pytest.importorskip("polars")
    assert sg.Outcomes.of(pl.from_pandas(frame), unit="hours").time.tolist() == [120, 120]


def test_evaluate_counts_in_its_unit():
    time, said = np.array(DAYS, "m8[D]"), np.array([40, 80, 300], "m8[D]")
    settings = {"metrics": ["mae_hinge"], "confidence": None, "unit": "weeks"}
    found = sg.evaluate({"m": said}, (time, EVENT), y_train=(time, EVENT), **settings)
    plain = sg.evaluate({"m": np.array([40, 80, 300]) / 7}, (np.array(DAYS) / 7, EVENT), **settings)
    assert found.rows()[0]["value"] == pytest.approx(plain.rows()[0]["value"], rel=1e-14)
    evaluator = sg.Evaluator((time, EVENT), **settings)
    evaluator.update(said, (time, EVENT))
    assert evaluator.compute().rows()[0]["value"] == found.rows()[0]["value"]
    at = sg.evaluate({"m": said}, (time, EVENT), landmark=5, **settings)
    assert at.support["subjects"] == 2


def test_intervals_of_a_database():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    query = "select {} as time, 1 as event"
    stayed = query.format("timestamp '2020-03-01 12:00' - timestamp '2020-01-01'")
    assert sg.Outcomes.of(duckdb.sql(stayed), unit="days").time.tolist() == [60.5]
    with pytest.raises(sg.InputError, match=r"time must be numbers.*durations are counted in"):
        sg.Outcomes.of(duckdb.sql(stayed))
    with pytest.raises(sg.InputError, match="calendar months, which have no fixed length"):
        sg.Outcomes.of(duckdb.sql(query.format("interval 2 months")), unit="days")


@pytest.mark.parametrize("unit", ["", "[M]", "[Y]"])
def test_durations_of_no_fixed_length(unit):
    with pytest.raises(sg.InputError, match=r"time has durations of dtype .* no fixed length"):
        sg.Outcomes(np.array([3, 4], f"m8{unit}"), [1, 0], unit="years")


def test_dates_that_are_no_dates():
    aware = datetime(2020, 3, 1, tzinfo=timezone.utc)
    with pytest.raises(sg.InputError, match="time must be a number or a duration; it holds dates"):
        sg.Outcomes([aware, aware], [1, 0], unit="days")
    with pytest.raises(sg.InputError, match=r"start must hold dates; got str '2020-01-01'\. Text"):
        sg.Outcomes.of({"start": ["2020-01-01"], "end": [aware], "event": [1]}, unit="days")


@pytest.mark.parametrize("start", [datetime(2020, 1, 1), np.full((3, 1), np.datetime64("2020"))])
def test_one_date_for_all_is_no_column(start):
    """A single date ended in an error of NumPy."""
    table = {"start": start, "end": [datetime(2021, 1, d) for d in (1, 2, 3)], "event": EVENT}
    with pytest.raises(sg.InputError, match="start must have 1 dimension"):
        sg.Outcomes.of(table, unit="days")
