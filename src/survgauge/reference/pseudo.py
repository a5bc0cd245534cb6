"""Pseudo-observations of everybody, events included, for the mean of Kaplan-Meier."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.places import look_up
from ..data.outcomes import Outcomes
from ..data.tails import tail_area
from .cause_pseudo import pseudo_times_of_all
from .make_setting import make_setting
from .pseudo_entry import pseudo_given_entry
from .pseudo_means import check_members, joined, left_out
from .reference import Reference
from .setting import Setting


def pseudo_observations(
    y_true: Any,
    *,
    y_train: Any = None,
    tail: str = "linear",
    tau: float | None = None,
    cause: int | str | None = None,
) -> Floats:
    r"""Pseudo-observations of the (restricted) mean, for censored subjects and events alike.

    In sample N theta(D) - (N-1) theta(D without i); against a reference set D of N subjects
    (N+1) theta(D + i) - N theta(D). `surrogate_times` uses those of the censored subjects only;
    regression on pseudo-observations needs them all. They may be negative or lie past `tau`.

    With delayed entry leaving one out does not tell E[T | x]: subjects of low risk are seen more
    often than others. They are then pseudo-observations of the mean given entry. With m(u) the mean
    of T given T > u and h the hazard, both by Kaplan-Meier of the reference set, and its G, that
    of somebody seen from a to y is

    .. math:: m(a) + \sum_{a < u \le y} (m(u) - u) h(u) \frac{G(a)}{G(u-)}
              - 1(\text{event at } y) (m(y) - y) \frac{G(a)}{G(y-)},

    which given a and x has the mean E[T | T > a, x]. If everybody enters at one time it is the
    infinitesimal jackknife (`survival::pseudo` in R).

    Parameters
    ----------
    y_true : outcomes
        Subjects to describe. Those without delayed entry have their usual pseudo-observations if
        the reference set has none either.
    y_train : outcomes, optional
        Reference set; without it leave-one-out among `y_true`.
    tail : {"linear", "exponential", "hold", "nan"}
        How Kaplan-Meier goes on where it does not reach zero.
    tau : float, optional
        Horizon of the restricted mean.
    cause : int or str, optional
        With competing risks, the cause: the mean is then that of the time free of it up to `tau`,
        which is tau less the restricted mean time lost, by Aalen-Johansen.

    Returns
    -------
    ndarray of shape (n,)
        Their mean in sample is close to theta; equal to it without censoring.

    Examples
    --------
    >>> pseudo_observations(([1, 2, 4], [1, 1, 1]))
    array([1., 2., 4.])
    >>> pseudo_observations(([1, 2, 4], [1, 2, 0]), tau=3, cause=1)
    array([1., 3., 3.])
    """
    setting = make_setting(y_true, y_train, tail=tail, tau=tau, cause=cause, entry=cause is None)
    y, ref = setting.y, setting.reference
    if setting.by_entry:
        return _given_entry(setting)
    if setting.cause is not None:
        subjects = y.time, setting.value, y.event
        return pseudo_times_of_all(ref, setting.cause.code, setting.in_sample, *subjects)
    values = np.empty(len(y))
    values[setting.censored] = setting.pseudo_means.at(setting.c, setting.j, ref.last_time)
    events = np.flatnonzero(y.event)
    if events.size:
        of_events = _leaving if setting.in_sample else _joining
        values[events] = of_events(ref, y.time[events], tail)
    return values


def _given_entry(setting: Setting) -> Floats:
    """Pseudo-observations given entry; of those from the beginning as usual, where that holds."""
    y, ref, tail = setting.y, setting.reference, setting.tail
    entry = np.zeros(len(y)) if y.entry is None else y.entry
    found = pseudo_given_entry(ref, entry, y.time, tail, event=y.event)
    usual = np.flatnonzero(entry == 0)
    if ref.whole.y.entry is None and usual.size:
        rows, tau = Outcomes(y.time[usual], y.event[usual]), setting.tau
        found[usual] = pseudo_observations(rows, y_train=ref.whole, tail=tail, tau=tau)
    return found


def _steps_before(ref: Reference, t: Floats) -> tuple[Any, Floats]:
    """Number j of event times < t, and number at risk of the reference at t."""
    row = look_up(ref.table.times, t, "left")
    return ref.event_places.of(t, "left"), np.append(ref.table.at_risk, 0.0)[row]


def _joining(ref: Reference, t: Floats, tail: str) -> Floats:
    """Somebody with the event at t joins: from there on S' = (Q/P)(t-) n/(n+1) P."""
    j, n = _steps_before(ref, t)
    P = ref.survival
    excess, gain = joined(ref)
    area = np.append(0.0, np.cumsum(ref.areas(gain, "step")))
    end = np.minimum(t, ref.last_time)
    before = area[j] + gain[j] * (end - ref.nodes[j])
    past = np.maximum(t - ref.last_time, 0.0) * (P[j] + gain[j])
    ratio = np.where(P[j] > 0, (1 + excess[j]) * n / (n + 1), 0.0)
    return _assemble(ref, t, j, before + past, ratio, tail, ref.size + 1)


def _leaving(ref: Reference, t: Floats, tail: str) -> Floats:
    """Somebody with the event at t leaves: from there on S' = (Q/P)(t-) n/(n-1) P."""
    check_members(ref, events=True)
    if ref.table.events.sum() <= 1 + 1e-9:
        return np.full(t.size, _without_the_only_event(ref, tail))
    j, n = _steps_before(ref, t)
    P, loss = ref.survival, left_out(ref)
    area = np.append(0.0, np.cumsum(ref.areas(-P * loss, "step")))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (1 - loss[j]) * n / (n - 1)
    before = area[j] - P[j] * loss[j] * (t - ref.nodes[j])
    alone = n <= 1 + 1e-9
    values = _assemble(ref, t, j, before, np.where(alone, 0.0, ratio), tail, 1 - ref.size)
    if alone.any():  # the last subject of all: without it the follow-up ends at the time before
        values[alone] = _without_the_last(ref, float(P[-2] * (1 - loss[-2])), float(area[-3]), tail)
    return values


def _without_the_only_event(ref: Reference, tail: str) -> float:
    """Without its only event Kaplan-Meier stays at 1: most tails make the mean infinite."""
    theta, others, times = ref.theta("step", tail), ref.size - 1, ref.table.times
    if others <= 0:
        return theta
    alone = ref.table.events[-1] > 0 and ref.table.at_risk[-1] <= 1 + 1e-9
    last = np.float64(times[-2] if alone else times[-1])
    mean = float(last + tail_area(last, np.float64(1.0), tail, ref.stop))
    return ref.size * theta - others * mean


def _without_the_last(ref: Reference, kept: float, change: float, tail: str) -> float:
    theta, others = ref.theta("step", tail), ref.size - 1
    if others <= 0:
        return theta
    previous, start = float(ref.table.times[-2]), float(ref.nodes[-3])
    change += (kept - float(ref.survival[-2])) * (previous - start)
    change -= float(ref.survival[-2]) * (ref.last_time - previous)
    change += float(tail_area(np.float64(previous), np.float64(kept), tail, ref.stop))
    return theta - others * change


def _assemble(
    ref: Reference, t: Floats, j: Any, before: Floats, ratio: Floats, tail: str, factor: float
) -> Floats:
    """theta + factor * [theta' - theta], where S' = ratio * S from t on."""
    P, last = ref.survival, np.float64(ref.last_time)
    rest = ref.rest("step")[j] - P[j] * (np.minimum(t, last) - ref.nodes[j])
    new_tail = tail_area(last, ratio * P[-1], tail, ref.stop) - ref.tail(tail)
    return ref.theta("step", tail) + factor * (before + (ratio - 1) * rest + new_tail)
