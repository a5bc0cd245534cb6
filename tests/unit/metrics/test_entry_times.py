"""Pseudo-observations, other surrogates and net benefit under delayed entry against plain loops."""

from __future__ import annotations

import naive_entry as naive
import naive_entry_calibration as loops
import numpy as np
import pytest

import survgauge as sg
from survgauge.errors import InputError, UndefinedMetricError

CASES = pytest.mark.parametrize(("seed", "whole"), [(0, False), (1, False), (2, True), (3, True)])
TAU = 9.0


def mean_past(y: sg.Outcomes, u: float, between: loops.Steps) -> float:
    """Mean of min(T, 9) given T > u, under Kaplan-Meier by loops."""
    times = np.unique(y.time[y.event & (y.time < TAU)])
    ends = [u, *(t for t in times if u < t < TAU), TAU]
    parts = zip(ends[:-1], ends[1:], strict=True)
    left = {low: between(u, low, left=False, censoring=False) for low in ends}
    return u + sum((high - low) * left[low] for low, high in parts)


@CASES
def test_pseudo_observations_of_everybody(seed: int, whole: bool) -> None:
    y, _ = naive.draw(seed, whole=whole)
    found, between = sg.pseudo_observations(y, tau=TAU), loops.Steps(y)
    times = np.unique(y.time[y.event & (y.time < TAU)])
    ahead = {u: mean_past(y, u, between) - u for u in times}
    for i in range(len(y)):
        a, end = float(y.entry[i]), float(y.time[i])
        value = mean_past(y, a, between) if a < TAU else TAU
        for u in times:
            if not naive.at_risk(y, i, u):
                continue
            jump = float(y.event[i] and end == u)
            value += ahead[u] * (between.hazard(u) - jump) / between(a, u, left=True)
        np.testing.assert_allclose(found[i], value, rtol=1e-10, atol=1e-10)


@CASES
def test_pseudo_means_are_areas_under_pseudo_survival(seed: int, whole: bool) -> None:
    """min(T, tau) - a is the time from a to tau at which somebody is event-free."""
    y, _ = naive.draw(seed, whole=whole)
    found = sg.pseudo_observations(y, tau=TAU)
    times = [0.0, *np.unique(y.time[y.time < TAU]), *np.unique(y.entry), TAU]
    ends = np.unique(np.minimum(times, TAU))
    between = loops.Steps(y)
    free = {t: loops.pseudo_survival(y, t, between) for t in ends[:-1]}
    for i in (0, 3, 7, 20, 33):
        a = float(y.entry[i])
        area = min(a, TAU)
        for low, high in zip(ends[:-1], ends[1:], strict=True):
            if low >= a:
                area += (high - low) * free[low].get(i, 1.0)
        np.testing.assert_allclose(found[i], area, rtol=1e-9)


@CASES
def test_po_by_trapezoids(seed: int, whole: bool) -> None:
    """Trapezoids under the pseudo-observations of survival, from the entry on."""
    y, _ = naive.draw(seed, whole=whole)
    event = y.event | (y.time == y.time.max())  # Kaplan-Meier ends at 0: no tail
    y = sg.Outcomes(y.time, event, entry=y.entry)
    found = sg.surrogate_times(y, method="po", area="trapezoid").time
    nodes, between = np.unique(y.time[y.event]), loops.Steps(y)
    free = {t: loops.pseudo_survival(y, t, between) for t in nodes}
    for i in np.flatnonzero(~y.event):
        a = float(y.entry[i])
        before, value, total = a, 1.0, a
        for t in nodes[nodes > a]:
            total += (t - before) * (value + free[t][i]) / 2
            before, value = t, free[t][i]
        np.testing.assert_allclose(found[i], total, rtol=1e-9)


def test_pseudo_observations_without_entry_are_as_before() -> None:
    y, _ = naive.draw(2, n=90)
    plain, none = (sg.Outcomes(y.time, y.event, entry=e) for e in (None, 0 * y.time))
    for tau in (None, TAU):
        wanted = sg.pseudo_observations(plain, tau=tau)
        np.testing.assert_array_equal(sg.pseudo_observations(none, tau=tau), wanted)
        wanted = sg.pseudo_observations(plain, y_train=plain, tau=tau)
        found = sg.pseudo_observations(y, y_train=plain, tau=tau)
        usual = y.entry == 0
        np.testing.assert_array_equal(found[usual], wanted[usual])
        assert np.isfinite(found).all()


def test_entering_at_the_horizon_is_getting_there() -> None:
    y, _ = naive.draw(5, n=80)
    late = y.entry >= 5.0
    assert late.any()
    np.testing.assert_array_equal(sg.pseudo_observations(y, tau=5.0)[late], 5.0)


@CASES
def test_population_mean_and_later_events(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    mean = sg.surrogate_times(y, method="pop_po", tau=TAU).time
    later, between = sg.surrogate_times(y, method="ipcw_t"), loops.Steps(y)
    for i in np.flatnonzero(~y.event & (y.time < TAU)):
        np.testing.assert_allclose(mean[i], mean_past(y, float(y.entry[i]), between), rtol=1e-10)
        c = float(y.time[i])
        times = [
            y.time[j]
            for j in range(len(y))
            if y.event[j] and y.time[j] > c and (y.entry[j] < c or y.entry[j] == 0)
        ]
        assert later.defined[i] == bool(times)
        if times:
            np.testing.assert_allclose(later.time[i], np.mean(times), rtol=1e-12)
    assert np.isfinite([sg.mae(y, curves, method=m, tau=TAU) for m in ("pop_po", "ipcw_t")]).all()


@CASES
def test_net_benefit(seed: int, whole: bool) -> None:
    y, curves = naive.draw(seed, whole=whole)
    time, threshold = 6.0, 0.3
    total = number = treated = 0.0
    between = loops.Steps(y)
    for i in range(len(y)):
        a = float(y.entry[i])
        if not (a < time or a == 0):
            continue
        number += 1
        if 1 - naive.conditional(curves, i, time, a) < threshold:
            continue
        treated += 1
        if y.time[i] > time:
            total -= threshold / (1 - threshold) / between(a, time, left=False)
        elif y.event[i]:
            total += 1 / between(a, float(y.time[i]), left=True)
    found = sg.net_benefit(y, curves, time, thresholds=[threshold])
    np.testing.assert_allclose(found.values, total / number, rtol=1e-10)
    np.testing.assert_allclose(found.treated, treated / number, rtol=1e-12)
    asked = {"metrics": ["net_benefit"], "time": time, "threshold": threshold}
    (row,) = (r for r in sg.evaluate({"m": curves}, y, **asked).rows() if r["model"] == "m")
    assert row["value"] == pytest.approx(found.values[0], rel=1e-12)
    assert row["stderr"] == pytest.approx(found.stderr[0], rel=1e-9)


def test_net_benefit_of_treating_everybody_counts_events() -> None:
    y, curves = naive.draw(4, n=120)
    found = sg.net_benefit(y, curves, 6.0, thresholds=[0.0, 0.2])
    entered = y.entry < 6.0
    own = [1 - s for s in loops.pseudo_survival(y, 6.0).values()]
    assert found.incidence == found.treat_all[0]
    np.testing.assert_allclose(found.incidence, np.mean(own), atol=0.03)
    assert found.values[0] == found.treat_all[0]
    assert 0 < found.treated[1] < 1 == found.treated[0]
    assert entered.sum() < len(y)


def test_net_benefit_without_entry_is_as_before() -> None:
    y, curves = naive.draw(2, n=90)
    plain, none = (sg.Outcomes(y.time, y.event, entry=e) for e in (None, 0 * y.time))
    for method in (None, "kaplan_meier", "ipcw"):
        one, two = (sg.net_benefit(o, curves, 6.0, method=method) for o in (plain, none))
        np.testing.assert_array_equal(one.values, two.values)
        np.testing.assert_array_equal(one.stderr, two.stderr)
    assert one.convention["method"] == "ipcw"
    with pytest.raises(InputError, match="method='ipcw'"):
        sg.net_benefit(y, curves, 6.0, method="kaplan_meier")


@pytest.mark.parametrize("method", ["margin", "po", "pop_po"])
@pytest.mark.filterwarnings("error")
def test_a_reference_set_whose_events_tell_nothing(method: str) -> None:
    # The only event empties its risk set before the other subject enters.
    y = sg.Outcomes([3.0, 105.0], [1, 0], entry=[0.0, 100.0])
    with pytest.raises(UndefinedMetricError, match="before others entered"):
        sg.mae(y, [50.0, 120.0], method=method)
    assert sg.mae(y, [50.0, 120.0], method=method, tau=110.0) > 0
