"""Delayed entry and intervals in streams: any cutting into chunks gives what `evaluate` gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streaming_data import (
    COLUMNS,
    ENTRY_NAMES,
    GRID,
    INTERVAL_NAMES,
    bounded,
    cut,
    differences,
    draw,
    in_memory,
    predictions,
    trained_late,
    with_bounds,
    with_entry,
)

import survgauge as sg

cuts = st.lists(st.integers(1, 39), max_size=6)


def streamed(batches, y_train, **options):
    return sg.evaluate_stream(batches, y_train=y_train, **{"predictions": COLUMNS, **options})


def plain(ev):
    """An evaluation as plain data."""
    return ev.to_dict()


def weights(n, seed):
    found = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    found[0] = 1.0
    return found


def late(n, seed, weighted):
    columns, y_train = draw(n, seed, train=20)
    columns = with_entry(columns, seed)
    if weighted:
        columns["weight"] = weights(n, seed)
    return columns, trained_late(y_train)


@settings(max_examples=6, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1000), cuts, st.sampled_from([None, 8.0]), st.booleans())
@example(40, 3, [1, 2, 3], None, True)
@example(4, 46802, [1, 2, 3], None, False)  # a step of the grid meets one of Kaplan-Meier
def test_late_chunks_give_what_the_whole_gives(n, seed, places, tau, weighted):
    columns, y_train = late(n, seed, weighted)
    options = {"n_boot": 12, "tau": tau, "metrics": ENTRY_NAMES}
    whole = in_memory(columns, y_train, **options)
    more = {"weight_column": "weight"} if weighted else {}
    stream = streamed(cut(columns, places), y_train, **options, **more)
    assert differences(plain(whole), plain(stream)) == []


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), cuts, st.booleans(), st.booleans())
def test_groups_give_what_they_give_in_memory(n, seed, places, weighted, intervals):
    columns, train = draw(n, seed, train=20)
    if intervals:
        columns, names = with_bounds(columns, seed), INTERVAL_NAMES
        y_train = sg.IntervalOutcomes(*bounded(*train, seed))
    else:
        columns, names = with_entry(columns, seed), ENTRY_NAMES
        y_train = trained_late(train)
    columns["by"] = np.random.default_rng(seed).integers(0, 3, n)
    if weighted:
        columns["weight"] = weights(n, seed) + 1
    drawn = {} if intervals else {"n_boot": 60}
    whole = in_memory(columns, y_train, metrics=names, by=columns["by"], **drawn)
    more = {"weight_column": "weight"} if weighted else {}
    options = {"metrics": names, "by": "by", **drawn, **more}
    found = streamed(cut(columns, places), y_train, **options)
    expected, found = plain(whole), plain(found)
    values = [[row["value"] for row in result["metrics"]] for result in (expected, found)]
    assert differences(*values) == []
    # Of two subjects whose contributions nearly cancel, sums keep fewer digits of the spread.
    # Subjects of a stream are numbered through all groups.
    wrong = differences(expected, found, rel=1e-8, near=1e-9)
    assert [t for t in wrong if "infinite_for" not in t] == []


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), cuts, st.sampled_from([None, 8.0]), st.booleans())
@example(14, 7, [13], None, True)  # a chunk in which nobody counts
def test_intervals_give_what_the_whole_gives(n, seed, places, tau, weighted):
    columns, y_train = draw(n, seed, train=20)
    columns, y_train = with_bounds(columns, seed), sg.IntervalOutcomes(*bounded(*y_train, seed))
    options = {"tau": tau, "metrics": INTERVAL_NAMES}
    more = {}
    if weighted:
        columns["weight"], more = weights(n, seed), {"weight_column": "weight"}
    whole = in_memory(columns, y_train, **options)
    stream = streamed(cut(columns, places), y_train, **options, **more)
    assert differences(plain(whole), plain(stream)) == []


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold", "nan"])
def test_late_curves_of_all_kinds(interpolation, tail):
    columns, y_train = late(80, 5, weighted=False)
    grid = GRID[:9]
    columns = {**columns, "a": columns["a"][:, :9]}
    names = [n for n in ENTRY_NAMES if n not in ("crps", "ibs", "ibll") or tail != "nan"]
    options = {"metrics": names, "y_train": y_train, "time": [6.0, 20.0], "n_boot": 0}
    y = sg.Outcomes(columns["time"], columns["event"], entry=columns["entry"])
    curves = sg.SurvivalCurves(grid, columns["a"], interpolation, tail)
    whole = sg.evaluate({"a": curves, "lr": columns["lr"]}, y, **options)
    specs = {"a": sg.CurveColumns("a", grid, interpolation, tail), "lr": "lr"}
    stream = sg.evaluate_stream(cut(columns, [1, 30]), predictions=specs, **options)
    expected, found = plain(whole), plain(stream)
    if tail == "nan":  # what is undefined says of how many subjects, and chunks have fewer
        expected, found = ({"metrics": result["metrics"]} for result in (expected, found))
    assert differences(expected, found) == []


def test_chunks_of_late_subjects_know_that_g_is_estimated(monkeypatch):
    """Many subjects are scored in chunks, as those of a stream are."""
    columns, y_train = late(300, 1, weighted=False)
    names = ["brier", "ibs", "mae_ipcw_d"]
    known = in_memory(columns, y_train, metrics=names)
    monkeypatch.setattr("survgauge.evaluation.cells.CONTRIBUTIONS_LIMIT", 10)
    monkeypatch.setattr("survgauge.evaluation.call.chunk_rows", lambda widths: 70)
    summed = sg.evaluate(
        predictions(columns),
        sg.Outcomes(columns["time"], columns["event"], entry=columns["entry"]),
        y_train=y_train, metrics=names,
    )  # fmt: skip
    for one, other in zip(known.rows(), summed.rows(), strict=True):
        assert one["stderr"] == pytest.approx(other["stderr"], rel=1e-9)
