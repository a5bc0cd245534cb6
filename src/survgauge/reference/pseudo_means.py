"""What one subject more or less does to the mean of Kaplan-Meier, as tables of the reference set.

With one more subject at risk throughout, Kaplan-Meier P becomes Q, the product of 1 - d/(n+1); with
one less, the product of 1 - d/(n-1). A subject who is followed up to c changes P up to c only, and
what is left past c in proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import Floats
from ..data.tails import tail_area
from ..errors import InputError

if TYPE_CHECKING:
    from .reference import Reference


def joined(ref: Reference) -> tuple[Floats, Floats]:
    """Q/P - 1 and Q - P at u_0, ..., u_K with one more at risk.

    Where P ends at zero, Q/P has no limit there: it counts as 1, for nothing of P is left.
    """
    P, (n, d) = ref.survival, ref.at_events()
    excess = np.zeros(P.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.expm1(np.cumsum(np.log1p(d / ((n - d) * (n + 1)))), out=excess[1:])
        gain = P * excess
    if P[-1] == 0:
        # Everybody left had the event: P_K = 0, Q_K = Q_{K-1}/(n+1).
        excess[-1], gain[-1] = 0.0, (P[-2] + gain[-2]) / (n[-1] + 1)
    return excess, gain


def left_out(ref: Reference) -> Floats:
    """1 - Q/P at u_0, ..., u_K with one less at risk."""
    n, d = ref.at_events()
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.log1p(d / (n * np.maximum(n - 1 - d, 0.0)))
    loss: Floats = -np.expm1(-np.concatenate(([0.0], np.cumsum(shrink))))
    return loss


@dataclass(frozen=True)
class _Past:
    """What a subject censored past the follow-up needs: numbers, for the set keeps the table."""

    #: Change of theta by somebody censored at t_last, and where the tail starts then.
    change: float
    end: float
    theta: float
    size: float
    last_time: float
    tail: str
    stop: float

    def means(self, c: Floats) -> Floats:
        """Follow-up of D + i ends at c instead of t_last."""
        usual = tail_area(np.float64(self.last_time), np.float64(self.end), self.tail, self.stop)
        later = tail_area(c, np.full(c.size, self.end), self.tail, self.stop)
        longer = self.end * (c - self.last_time) + later
        return self.theta + self.size * (self.change + (longer - usual))


def check_members(ref: Reference, events: bool = False) -> None:
    """Refuse members, censored ones or also `events`, of whom no whole subject can be left out."""
    members = ref.y.weight if events else ref.y.weight[~ref.y.event]
    if ref.y.weighted and members.size and members.min() < 1:
        who = "" if events else " of censored subjects"
        raise InputError(
            f"weight{who} must be at least 1 for pseudo-observations in sample (one unit is left "
            f"out); got {members.min():g}; pass y_train instead"
        )


class PseudoMeans:
    """Table of pseudo-observations of censored subjects, by the number j of event times <= c.

    With theta the mean of Kaplan-Meier, a subject that joins the N others counts as
    (N+1) theta(D+i) - N theta(D) = theta + (N+1) [theta(D+i) - theta], and a member as
    theta + (N-1) [theta - theta(D-i)]. The bracket is summed from differences of the two curves,
    which all have the same sign, so no digits cancel when it is multiplied by N.
    """

    def __init__(
        self, by_index: Floats, last_member: float | None = None, past: _Past | None = None
    ) -> None:
        self.by_index = by_index
        self.last_member = last_member
        self._past = past

    @classmethod
    def joining(cls, ref: Reference, area: str, tail: str) -> PseudoMeans:
        """Others' at-risk numbers grow by one up to c."""
        last, theta, others = ref.survival[-1], ref.theta(area, tail), ref.size + 1
        change, gain = joined(ref)
        # What the start of the tail gains; where P ends at zero, only the last may.
        end = last * change if last > 0 else gain[-1:]
        change *= ref.rest(area)
        change[1:] += np.cumsum(ref.areas(gain, area)[:-1])
        change[-end.size :] += _tail_gain(ref.last_time, last, end, tail, ref.stop)
        # Past the follow-up all event times lie behind.
        ends = float(change[-1]), float(end[-1] + last)
        past = _Past(*ends, theta, others, ref.last_time, tail, ref.stop)
        return cls(theta + others * change, past=past)

    @classmethod
    def leaving(cls, ref: Reference, area: str, tail: str) -> PseudoMeans:
        """Others' at-risk numbers shrink by one up to c."""
        check_members(ref)
        P, loss = ref.survival, left_out(ref)
        before = np.concatenate(([0.0], np.cumsum(ref.areas(P * loss, area)[:-1])))
        kept = P[-1] * (1 - loss)
        change = before + loss * ref.rest(area)
        change += _tail_gain(ref.last_time, kept, P[-1] * loss, tail, ref.stop)
        theta, others = ref.theta(area, tail), ref.size - 1
        last_member = None
        if ref.table.at_risk[-1] - 1 < 1e-9 and P[-1] > 0:
            # The only one at the last time: without it the follow-up ends at the time before.
            previous = float(ref.table.times[-2])
            step = before[-1] + P[-1] * loss[-1] * (previous - ref.event_times[-1])
            step += P[-1] * (ref.last_time - previous) + ref.tail(tail)
            step -= float(tail_area(np.float64(previous), kept[-1], tail, ref.stop))
            last_member = float(theta + others * step)
        return cls(theta + others * change, last_member)

    def at(self, c: Floats, j: Any, last_time: float) -> Floats:
        """Pseudo-observations of subjects censored at `c`, `j` event times being <= `c`."""
        values = self.by_index[j]
        if self._past is not None:
            past = np.flatnonzero(c > last_time)
            if past.size:
                values[past] = self._past.means(c[past])
        elif self.last_member is not None:
            values[c >= last_time] = self.last_member
        return values


def _tail_gain(last: float, s: Any, gain: Floats, tail: str, stop: float) -> Floats:
    """tail_area(last, s + gain) - tail_area(last, s) without cancellation."""
    s = np.broadcast_to(s, gain.shape)
    change = np.zeros(gain.shape)
    moved = slice(None) if tail == "nan" else np.flatnonzero(gain > 0)
    change[moved] = _tail_change(np.float64(last), s[moved], gain[moved], tail, stop)
    return change


def _tail_change(last: Any, s: Floats, gain: Floats, tail: str, stop: float) -> Floats:
    more = s + gain
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(stop) and tail == "linear":
            return 0.5 * last * gain * (s + more - s * more) / ((1 - s) * (1 - more))
        if np.isinf(stop) and tail == "exponential":
            top = gain * -np.log(s) + s * np.log1p(gain / s)
            change = last * top / (np.log(s) * np.log(more))
            return np.where(s > 0, change, tail_area(last, more, tail))
        return tail_area(last, more, tail, stop) - tail_area(last, s, tail, stop)
