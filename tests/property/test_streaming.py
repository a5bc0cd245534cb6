"""Any cutting into chunks gives what `evaluate` gives."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streaming_data import COLUMNS, NAMES, cut, differences, draw, in_memory

import survgauge as sg
from survgauge import OutcomeCounts

cuts = st.lists(st.integers(1, 39), max_size=6)


def names_for(n):
    """ICI fits a Cox model, which may overflow on a handful of subjects."""
    return [name for name in NAMES if n >= 20 or name != "ici"]


def streamed(batches, y_train, **options):
    options = {"metrics": NAMES, "predictions": COLUMNS, **options}
    return sg.evaluate_stream(batches, y_train=y_train, **options)


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), cuts, st.sampled_from([None, 8.0]))
@example(3, 133, [], None)
@example(6, 279, [], 8.0)
def test_chunks_give_what_the_whole_gives(n, seed, places, tau):
    columns, y_train = draw(n, seed, train=20)
    options = {"n_boot": 12, "tau": tau, "metrics": names_for(n)}
    whole = in_memory(columns, y_train, **options)
    stream = streamed(cut(columns, places), y_train, **options)
    assert differences(whole.to_dict(), stream.to_dict()) == []


@settings(max_examples=8, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1000), cuts)
@example(10, 823, [])  # times that seem to be counted in another unit
def test_frequencies_stream_too(n, seed, places):
    columns, y_train = draw(n, seed, train=20)
    columns["weight"] = np.random.default_rng(seed).integers(1, 4, n).astype(float)
    options = {"n_boot": 12, "metrics": names_for(n)}
    whole = in_memory(columns, y_train, **options)
    stream = streamed(cut(columns, places), y_train, weight_column="weight", **options)
    assert differences(whole.to_dict(), stream.to_dict()) == []


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), cuts, st.booleans(), st.integers(1, 5))
@example(11, 34, [], False, 4)  # a root of the baseline that is nearly zero
def test_groups_give_what_they_give_in_memory(n, seed, places, weighted, groups):
    columns, y_train = draw(n, seed, train=20)
    rng = np.random.default_rng(seed)
    columns["by"] = rng.integers(0, groups, n)
    if weighted:
        columns["weight"] = rng.integers(1, 4, n).astype(float)
    names = [name for name in NAMES if name != "ici"]
    whole = in_memory(columns, y_train, n_boot=60, metrics=names, by=columns["by"])
    more = {"weight_column": "weight"} if weighted else {}
    options = {"n_boot": 60, "metrics": names, "by": "by"}
    found = streamed(cut(columns, places), y_train, **options, **more).to_dict()
    expected = whole.to_dict()
    values = [[row["value"] for row in result["metrics"]] for result in (expected, found)]
    assert differences(*values) == []
    # Of two subjects whose contributions nearly cancel, sums keep fewer digits of the spread.
    # Subjects of a stream are numbered through all groups.
    wrong = differences(expected, found, rel=1e-8, near=1e-9)
    assert [t for t in wrong if "infinite_for" not in t] == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=40), cuts)
def test_kaplan_meier_of_merged_counts(rows, places):
    time, event = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    parts = []
    for batch in cut({"time": time, "event": event}, places):
        counts = OutcomeCounts()
        counts.update((batch["time"], batch["event"]))
        parts.append(pickle.loads(pickle.dumps(counts)))
    total = parts[0]
    for part in parts[1:]:
        total.merge(part)
    y = sg.Outcomes(time, event)
    for ours, theirs in (
        (total.reference().km, sg.KaplanMeier.fit(y)),
        (total.censoring(), sg.KaplanMeier.fit_censoring(y)),
    ):
        np.testing.assert_array_equal(ours.times, theirs.times)
        np.testing.assert_allclose(ours.survival, theirs.survival, rtol=1e-12, atol=1e-15)
    assert total.outcomes().weight.sum() == len(rows)
