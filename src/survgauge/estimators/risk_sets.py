"""Sums over risk sets, for Cox's likelihood: subjects by time, in pieces that stay in the cache.

With risk r_i = w_i exp(x_i beta), event times u_1 < ... < u_J, d_j events at u_j, S0_j and S1_j the
sums of r and r x over everybody at risk there and D0_j, D1_j the same over the events, Efron's rule
takes m = d steps s = 0, 1/m, ..., (m-1)/m with S0 - s D0 at risk; Breslow's takes only s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Bools, Floats, stored_once
from ..errors import UndefinedMetricError

#: Values in a matrix times a vector, and multiplications of two matrices, that BLAS starts no
#: threads for; waiting for those takes longer than the rest when others use the machine.
_VALUES, _PRODUCTS = 8_192, 262_144
#: Steps of Efron's rule that are laid out at once.
MOST_STEPS = 5e6
#: Subjects per event time from which they are summed time by time.
_MANY = 4


def combine(factors: Floats, rows: Floats) -> Floats:
    """factors @ rows."""
    if rows.size < _VALUES:
        return factors @ rows
    return np.einsum("...k,kn->...n", factors, rows)


def product(rows: Floats, values: Floats) -> Floats:
    """rows @ values."""
    return rows @ values if rows.size < _VALUES else np.einsum("kn,n->k", rows, values)


def crossed(a: Floats, b: Floats) -> Floats:
    """a @ b.T."""
    size = _PRODUCTS // max(a.shape[0] ** 2, 1)
    if a.shape[0] == 1:
        return product(a, b[0])[:, None]
    if a.shape[1] <= size:
        return a @ b.T
    total = np.zeros((a.shape[0], b.shape[0]))
    for start in range(0, a.shape[1], size):
        total += a[:, start : start + size] @ b[:, start : start + size].T
    return total


@dataclass(frozen=True)
class _Steps:
    """Efron's steps at the event times of a piece, one after the other."""

    start: NDArray[np.intp]
    expand: NDArray[np.intp]
    share: Floats
    unit: Floats

    @classmethod
    def of(cls, events: Floats) -> _Steps | None:
        """Lay them out; None where there is one step at each time."""
        steps = np.maximum(np.rint(events), 1.0)
        if steps.sum() > MOST_STEPS:
            raise UndefinedMetricError(
                f"Efron's rule takes a step for each of {steps.sum():.3g} events at tied times, "
                f"more than {MOST_STEPS:.0e}: make the frequencies smaller, or use ties='breslow'"
            )
        count = steps.astype(np.intp)
        if not (count > 1).any():
            return None
        start = np.cumsum(count) - count
        expand = np.repeat(np.arange(count.size), count)
        share = (np.arange(expand.size) - start[expand]) / count[expand]
        return cls(start, expand, share, (events / count)[expand])


@dataclass(frozen=True)
class Piece:
    """Subjects in a row by time, all or none of those with the same time.

    Positions count from the first subject or the first event time of the piece.
    """

    rows: slice
    weight: Floats
    times: Floats
    #: First subject at each event time, and the number of events there.
    start: NDArray[np.int32]
    events: Floats
    #: Number of event times up to each subject's own time.
    lived: NDArray[np.int32]
    #: Subjects with the event; where some are tied, their event times and the first at each.
    died: NDArray[np.int32]
    at: NDArray[np.int32] | None
    event_start: NDArray[np.intp] | None
    steps: _Steps | None

    @classmethod
    def of(cls, rows: slice, time: Floats, event: Bools, weight: Floats, ties: str) -> Piece:
        """Locate the events among the subjects of the piece."""
        died = np.flatnonzero(event).astype(np.int32)
        times, own, at, first = time[died], weight[died], None, None
        new = times[1:] > times[:-1]
        if not new.all():
            at = np.concatenate(([0], np.cumsum(new))).astype(np.int32)
            first = np.concatenate(([0], np.flatnonzero(new) + 1))
            times, own = times[first], np.add.reduceat(own, first)
        elif stored_once(weight):
            own = np.broadcast_to(weight[0], died.size)
        alone = (time[1:] > time[:-1]).all()  # then each event is the first at its time
        start = died if alone else time.searchsorted(times).astype(np.int32)
        begins = np.zeros(time.size, dtype=np.bool_)
        begins[start] = True
        lived = np.cumsum(begins, dtype=np.int32)
        steps = _Steps.of(own) if ties == "efron" else None
        return cls(rows, weight, times, start, own, lived, died, at, first, steps)

    def at_risk(self, values: Floats) -> tuple[Floats, Floats]:
        """Sums over those of the piece at risk at each event time, (..., J), and all, (..., 1)."""
        times, last = self.start.size, self.lived.size - 1
        if last < _MANY * times:
            sums = values[..., ::-1].cumsum(axis=-1)
            return sums.take(last - self.start, axis=-1), sums[..., -1:]
        starts = np.concatenate(([0], self.start)) if times == 0 or self.start[0] else self.start
        sums = np.add.reduceat(values, starts, axis=-1)[..., ::-1].cumsum(axis=-1)
        return sums[..., :times][..., ::-1], sums[..., -1:].copy()

    def over_events(self, values: Floats) -> Floats:
        """Sums over those who have the event at each event time, (..., J)."""
        own = values.take(self.died, axis=-1)
        if self.event_start is None:
            return own
        return np.add.reduceat(own, self.event_start, axis=-1)

    def to_events(self, values: Floats) -> Floats:
        """What belongs to event times, for each who has the event."""
        return values if self.at is None else values.take(self.at, axis=-1)

    def cumulative(self, steps: Floats, spared: Floats | None) -> Floats:
        """Sum of `steps` over the piece's event times that each subject lived through, (..., n).

        Those who have the event are at risk in a part of its steps only: `spared` is the rest.
        """
        sums = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
        steps.cumsum(axis=-1, out=sums[..., 1:])
        total: Floats = sums.take(self.lived, axis=-1)
        if spared is not None:
            total[..., self.died] -= self.to_events(spared)
        return total


@dataclass(frozen=True)
class Later:
    """Sums of r and of r x over all subjects after a piece."""

    risk: float
    weighted: Floats

    @classmethod
    def nobody(cls, columns: int) -> Later:
        """After the last piece."""
        return cls(0.0, np.zeros((columns, 1)))


@dataclass(frozen=True)
class Tied:
    """What Efron's further steps add: sums with the factors s, s and s^2, and D1/S0 (p, J)."""

    spared: Floats
    c1: Floats
    c2: Floats
    means: Floats


class RiskSets:
    """What is at risk at the event times of a piece, given x beta - shift (overwritten).

    Attributes
    ----------
    relative, risk : ndarray of shape (n,)
        exp(x beta - shift), and the same times the frequencies.
    weighted : ndarray of shape (p, n)
        r x.
    at_risk, means : ndarray of shape (J,) and (p, J)
        S0 and S1/S0.
    a, c0 : ndarray of shape (J,)
        Sums of u/(S0 - s D0) and of u (S0/(S0 - s D0))^2 over the steps of an event time, u = d/m.
    tied : Tied or None
        The same with further factors s; None where there is only the step s = 0.
    logs : float
        Sum of u log(S0 - s D0).
    here : Later
        Sums over this piece and all that follow.
    """

    def __init__(self, piece: Piece, x: Floats, predictor: Floats, later: Later) -> None:
        self.piece, self.x = piece, x
        self.relative = np.exp(predictor, out=predictor)
        alone = stored_once(piece.weight) and piece.weight[0] == 1.0
        self.risk = self.relative if alone else self.relative * piece.weight
        self.weighted = x * self.risk
        self.at_risk, total = piece.at_risk(self.risk)
        self.at_risk += later.risk
        self.means, sums = piece.at_risk(self.weighted)
        self.means += later.weighted
        self.means /= self.at_risk
        self.here = Later(float(total[0]) + later.risk, sums + later.weighted)
        self._take_steps()

    def _take_steps(self) -> None:
        s0, steps, events = self.at_risk, self.piece.steps, self.piece.events
        self.tied: Tied | None = None
        if steps is None:
            self.a, self.c0 = events / s0, events
            self.logs = float((events * np.log(s0)).sum())
            return
        share, whole = steps.share, s0.take(steps.expand)
        left = whole - share * self.piece.over_events(self.risk).take(steps.expand)
        first = steps.unit / left
        second = first * whole * (whole / left)
        third = second * share
        terms = (first, first * share, second, third, third * share)
        self.a, spared, self.c0, c1, c2 = (np.add.reduceat(term, steps.start) for term in terms)
        self.logs = float((steps.unit * np.log(left)).sum())
        self.tied = Tied(spared, c1, c2, self.piece.over_events(self.weighted) / s0)

    @property
    def spared(self) -> Floats | None:
        """Part of a that those who have the event are not at risk in; None where there is none."""
        return None if self.tied is None else self.tied.spared

    def expected(self) -> Floats:
        """Sum over the steps of the mean columns of those at risk, (p,)."""
        total = product(self.means, self.a * self.at_risk)
        if self.tied is not None:
            total -= product(self.tied.means, self.tied.spared * self.at_risk)
        return total

    def explained(self) -> Floats:
        """Sum over the steps of the products of those means, (p, p)."""
        total = crossed(self.means * self.c0, self.means)
        if self.tied is not None:
            cross = crossed(self.means * self.tied.c1, self.tied.means)
            total += crossed(self.tied.means * self.tied.c2, self.tied.means)
            total -= cross + cross.T
        return total
