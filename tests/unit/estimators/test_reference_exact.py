"""What the reference set knows, against leaving out and joining one subject at a time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.pseudo import PseudoMeans
from survgauge.estimators.reference import Reference
from survgauge.estimators.residual import ResidualDistribution

SETS = {
    "all": (([1.0, 2.0, 2.0, 3.0, 5.0, 8.0], [1, 0, 1, 1, 0, 1]), None),
    "open": (([1.0, 2.0, 2.0, 3.0, 5.0, 8.0], [1, 1, 0, 1, 1, 0]), None),
    "open long before": (([1.0, 2.0, 3.0, 4.0, 6.0], [1, 1, 0, 0, 0]), None),
    "frequencies": (sg.Outcomes([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0], [2.0, 3.0, 1.0, 2.0]), None),
    "restricted": (([1.0, 2.0, 2.0, 3.0, 5.0, 8.0], [1, 0, 1, 1, 0, 1]), 4.0),
    "event at zero": (([0.0, 1.0, 2.0, 3.0], [1, 1, 0, 1]), None),
}


def reference(name):
    outcomes, tau = SETS[name]
    return Reference(outcomes).restricted(tau)


def km_mean(time, event, weight, stop, tail):
    """Area under the steps of Kaplan-Meier by a loop, and the tail past the last time."""
    s, area, last = 1.0, 0.0, 0.0
    for t in sorted(set(time)):
        area, last = area + s * (t - last), t
        n = sum(w for x, w in zip(time, weight, strict=True) if x >= t)
        d = sum(w for x, e, w in zip(time, event, weight, strict=True) if x == t and e)
        s *= 1 - d / n
    return area + (tail_by_hand(last, s, tail, stop) if s > 0 else 0.0)


def tail_by_hand(last, s, tail, stop):
    if stop < np.inf:
        assert last >= stop, "restricted sets end at the stop or without survivors"
        return 0.0
    if tail == "linear":
        end = last / (1 - s)
        return s * (end - last) / 2
    return s * last / -np.log(s)


@pytest.mark.parametrize("tail", ["linear", "exponential"])
@pytest.mark.parametrize("name", sorted(SETS))
def test_mean_and_pseudo_observations_are_those_of_their_definition(name, tail):
    ref = reference(name)
    time, event = ref.y.time.tolist(), ref.y.event.tolist()
    weight = ref.y.weight.tolist()
    theta, n = km_mean(time, event, weight, ref.stop, tail), sum(weight)
    assert ref.theta("step", tail) == pytest.approx(theta)
    last = max(time)
    for c in (0.5, 2.0, 2.5, 3.5):
        joined = km_mean([*time, c], [*event, False], [*weight, 1.0], ref.stop, tail)
        j = int(np.searchsorted(ref.event_times, c, "right"))
        found = PseudoMeans(ref, tail, "step").at(np.array([c]), np.array([j]))
        assert found[0] == pytest.approx((n + 1) * joined - n * theta)
    if ref.stop == np.inf:
        joined = km_mean([*time, last + 2], [*event, False], [*weight, 1.0], ref.stop, tail)
        j = np.array([ref.event_times.size])
        found = PseudoMeans(ref, tail, "step").at(np.array([last + 2.0]), j)
        assert found[0] == pytest.approx((n + 1) * joined - n * theta)
    leaving = PseudoMeans(ref, tail, "step", leaving=True)
    for i, (c, e) in enumerate(zip(time, event, strict=True)):
        if e:
            continue
        less = [w - (k == i) for k, w in enumerate(weight)]
        rows = [k for k, w in enumerate(less) if w > 0]
        taken = [[x[k] for k in rows] for x in (time, event, less)]
        if ref.stop < np.inf and max(taken[0]) < ref.stop:
            continue
        j = int(np.searchsorted(ref.event_times, c, "right"))
        found = leaving.at(np.array([c]), np.array([j]))[0]
        assert found == pytest.approx(n * theta - (n - 1) * km_mean(*taken, ref.stop, tail))


@pytest.mark.parametrize("tail", ["linear", "exponential", "nan"])
@pytest.mark.parametrize("name", sorted(SETS))
def test_pieces_do_not_change_what_is_known(name, tail, monkeypatch):
    whole = reference(name)
    expected = (
        whole.survival,
        PseudoMeans(whole, tail, "step").by_index,
        PseudoMeans(whole, tail, "trapezoid").by_index,
    )
    for piece in (1, 2, 3):
        monkeypatch.setattr("survgauge._tools.running.CHUNK", piece)
        ref = reference(name)
        np.testing.assert_allclose(ref.survival, expected[0], rtol=1e-12)
        found = PseudoMeans(ref, tail, "step")
        np.testing.assert_allclose(found.by_index, expected[1], rtol=1e-9)
        np.testing.assert_allclose(PseudoMeans(ref, tail, "trapezoid").by_index, expected[2])
        later = np.array([ref.last_time + 1.0])
        j = np.array([ref.event_times.size])
        wanted = PseudoMeans(whole, tail, "step").at(later, j)
        np.testing.assert_allclose(found.at(later, j), wanted, rtol=1e-9)


def test_tables_by_hand():
    ref = reference("open")
    assert ref.size == 6.0
    assert ref.subjects == 6
    assert isinstance(ref.subjects, int)
    assert Reference(sg.Outcomes([1.0, 2.0], [1, 0], [0.5, 1.0])).subjects == 1.5
    assert ref.nodes.tolist() == [0, 1, 2, 3, 5, 8]
    assert ref.event_times.tolist() == [1, 2, 3, 5]
    survival = [1, 5 / 6, 4 / 6, 4 / 9, 2 / 9]
    assert ref.survival == pytest.approx(survival)
    assert ref.last_time == 8.0
    assert ref.last_survival == pytest.approx(2 / 9)
    rest = [
        1 + 5 / 6 + 4 / 6 + 8 / 9 + 6 / 9,
        5 / 6 + 4 / 6 + 14 / 9,
        4 / 6 + 14 / 9,
        14 / 9,
        6 / 9,
    ]
    assert ref.rest("step") == pytest.approx(rest)
    lines = [11 / 12, 9 / 12, 5 / 9, 6 / 9, 6 / 9]
    assert ref.rest("trapezoid") == pytest.approx(np.cumsum(lines[::-1])[::-1])
    tail = 2 / 9 * (8 / (7 / 9) - 8) / 2
    assert ref.tail("linear") == pytest.approx(tail)
    assert ref.theta("trapezoid", "linear") == pytest.approx(sum(lines) + tail)
    assert ref.later_events().tolist() == [[4, 3, 2, 1, 0], [11, 10, 8, 5, 0]]
    all_lines = [9 / 12, 5 / 9, 6 / 9, 6 / 9, 0]
    trapezoids = np.cumsum(all_lines[::-1])[::-1] + tail
    assert ref.later_trapezoids("linear") == pytest.approx(trapezoids)
    n, d = ref.at_events()
    assert (n.tolist(), d.tolist()) == ([6, 5, 3, 2], [1, 1, 1, 1])


def test_steps_end_where_the_tail_starts_and_only_once():
    times, values = reference("open").steps()
    assert times.tolist() == [1, 2, 3, 5, 8]
    assert values == pytest.approx([5 / 6, 4 / 6, 4 / 9, 2 / 9, 2 / 9])
    times, values = reference("all").steps()
    assert times.tolist() == [1, 2, 3, 8]
    assert values == pytest.approx([5 / 6, 4 / 6, 4 / 9, 0.0])


def test_tables_are_made_once():
    ref = reference("open")
    assert ref.later_events() is ref.later_events()
    inner = ref.restricted(4.0)
    assert inner.later_events() is ref.restricted(4.0).later_events()
    assert inner.later_events() is not ref.later_events()
    assert inner.stop == 4.0
    assert ref.restricted(None) is ref
    assert Reference.of(ref) is ref


@pytest.mark.parametrize("tau", [0.5, 2.0, 3.5, 4.0, 9.0])
def test_a_stopped_clock_is_that_of_stopped_outcomes(tau):
    for y in (
        ([1.0, 2.0, 2.0, 4.0], [1, 0, 1, 0]),
        ([1.0, 2.0, 4.0], [0, 0, 0]),
        sg.Outcomes([1.0, 3.0, 4.0], [1, 0, 1], [2.0, 1.0, 3.0]),
    ):
        running, stopped = Reference(y), Reference(y).restricted(tau)
        plain = Reference(running.y.restricted(tau))
        for name in ("size", "subjects", "last_time", "last_survival"):
            assert getattr(stopped, name) == getattr(plain, name), name
        np.testing.assert_array_equal(stopped.table.times, plain.table.times)
        before = plain.censoring.times[plain.censoring.times < tau]
        np.testing.assert_array_equal(stopped.censoring.at(before), plain.censoring.at(before))
        assert stopped.anew().stop == tau
        assert pickle.loads(pickle.dumps(stopped)).last_time == stopped.last_time
        if not plain.table.event_rows.size:
            with pytest.raises(sg.UndefinedMetricError, match="no events"):
                stopped.distribution()
            continue
        distribution = ResidualDistribution.of_reference(stopped, "linear")
        mean = distribution.mean(np.zeros(1), distribution.places(np.zeros(1)))[0]
        assert mean == pytest.approx(sg.KaplanMeier.fit(y).mean(tau=tau), rel=1e-12)
        assert mean == pytest.approx(stopped.theta("step", "linear"), rel=1e-12)


def test_a_set_without_events_and_frequencies_below_one():
    none = Reference(([1.0, 2.0], [0, 0]))
    assert none.last_survival == 1.0
    with pytest.raises(sg.UndefinedMetricError, match="no events"):
        _ = none.survival
    light = Reference(sg.Outcomes([1.0, 2.0], [1, 0], [1.0, 0.5]))
    with pytest.raises(sg.InputError, match="at least 1 for pseudo-observations"):
        PseudoMeans(light, leaving=True)
    # An event may weigh less: only censored members are left out.
    PseudoMeans(Reference(sg.Outcomes([1.0, 2.0], [1, 0], [0.5, 1.0])), leaving=True)
