"""Any cutting into chunks and any order of merging gives what `evaluate` gives."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streaming_data import COLUMNS, NAMES, cut, differences, draw, in_memory, question, scored

import survgauge as sg
from survgauge import OutcomeCounts
from survgauge.evaluation.moments import Moments
from survgauge.metrics.problem import Problem
from survgauge.sources.accumulator import Accumulator
from survgauge.sources.call import score_item
from survgauge.sources.finish import finish
from survgauge.sources.layout import Layout
from survgauge.sources.outline import Outline

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


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), cuts, st.randoms(), st.booleans())
def test_parts_merge_in_any_order(seed, places, random, bootstrap):
    columns, y_train = draw(40, seed, train=20)
    batches = cut(columns, places)
    request = question(NAMES, y_train, n_boot=12, bootstrap=bootstrap)
    _, plan = scored(request, Layout.of(COLUMNS), y_train, batches)
    parts, start = [], 0
    for batch in batches:
        part = Accumulator(plan)
        part.update(batch, start)
        parts.append(pickle.loads(pickle.dumps(part)))
        start += len(batch["time"])
    while len(parts) > 1:  # any tree
        one = parts.pop(random.randrange(len(parts)))
        other = parts.pop(random.randrange(len(parts)))
        one.merge(other)
        parts.append(one)
    stream = finish(parts[0], 40)
    expected = streamed([columns], y_train, n_boot=12, bootstrap=bootstrap)
    assert differences(expected.to_dict(), stream.to_dict()) == []


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 40), st.integers(0, 1000), cuts, st.randoms(), st.booleans(), st.integers(1, 5)
)
@example(11, 34, [], Random(0), False, 4)  # a root of the baseline that is nearly zero
def test_groups_give_what_they_give_in_memory(n, seed, places, random, weighted, groups):
    columns, y_train = draw(n, seed, train=20)
    rng = np.random.default_rng(seed)
    columns["by"] = rng.integers(0, groups, n)
    if weighted:
        columns["weight"] = rng.integers(1, 4, n).astype(float)
    names = [name for name in NAMES if name != "ici"]
    whole = in_memory(columns, y_train, n_boot=60, metrics=names, by=columns["by"])
    request = question(names, y_train, n_boot=60)
    layout = Layout.of(COLUMNS, weight="weight" if weighted else None, by="by")
    source, plan = scored(request, layout, y_train, cut(columns, places))
    parts = [score_item(item, plan).detach() for item in source.items(None)]
    parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    while len(parts) > 1:  # any tree
        one = parts.pop(random.randrange(len(parts)))
        one.merge(parts.pop(random.randrange(len(parts))))
        parts.append(one)
    found = finish(parts[0].attach(plan), n).to_dict()
    expected = whole.to_dict()
    values = [[row["value"] for row in result["metrics"]] for result in (expected, found)]
    assert differences(*values) == []
    # Of two subjects whose contributions nearly cancel, sums keep fewer digits of the spread.
    # Subjects of a stream are numbered through all groups.
    wrong = differences(expected, found, rel=1e-8, near=1e-9)
    assert [t for t in wrong if "infinite_for" not in t] == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.integers(0, 30), st.booleans())
def test_moments_merge_to_those_of_all(numbers, place, shifted):
    values = np.array([numbers, np.sqrt(np.abs(numbers))]) + (1e6 if shifted else 0.0)
    one, other = Moments(2), Moments(2)
    for part, where in ((one, values[:, :place]), (other, values[:, place:])):
        if where.shape[1]:
            part.update(where.copy())
    one.merge(other)
    away = values - values.mean(axis=1, keepdims=True)
    assert one.count == values.shape[1]
    np.testing.assert_allclose(one.total, values.sum(axis=1), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(one.square, away @ away.T, rtol=1e-9, atol=1e-4)


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


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 3)), min_size=1, max_size=200
    ),
    st.lists(st.integers(1, 199), max_size=5),
    st.integers(1, 12),
    st.booleans(),
)
def test_horizon_of_the_last_outcomes_is_that_of_all(rows, places, at_risk, weighted):
    time, event, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    weight[0] += 1
    y = sg.Outcomes(time, event, weight if weighted else None)
    y_train = sg.Reference(([2, 4, 5, 8, 9], [1, 0, 1, 0, 1]))
    expected = Problem.of(y, y_train, min_at_risk=at_risk)
    outlines = []
    bounds = [0, *sorted({p for p in places if p < len(rows)}), len(rows)]
    for i, j in zip(bounds, bounds[1:], strict=False):
        part = Outline(at_risk, follow=True)
        part.update(sg.Outcomes(time[i:j], event[i:j], weight[i:j]) if weighted and
                    weight[i:j].any() else y[i:j], i)  # fmt: skip
        outlines.append(part)
    total = outlines[0]
    for part in outlines[1:]:
        total.merge(part)
    request = question(["ibs"], y_train, min_at_risk=at_risk)
    found = request.problem(total, y_train)
    assert (found.horizon, found.horizon_reason) == (expected.horizon, expected.horizon_reason)
