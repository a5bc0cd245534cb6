"""What each subject does to the gap between the average predicted curve and the observed one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Floats
from ..._tools.chunks import QUERIES, chunks
from ..._tools.places import look_up
from ..._tools.threads import run_all
from ...data.curve_reader import Scratch
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...reference.aalen_johansen import AalenJohansen
from ...reference.kaplan_meier import KaplanMeier, RiskTable
from ..details import Clusters
from .mean_curve import Lines, block_width

_INFLUENCE_POINTS = 64
_FEW_ROWS = 64


@dataclass(frozen=True)
class RiskInfluence:
    """What one subject does to Kaplan-Meier of the test outcomes, at points of the follow-up."""

    points: Floats
    #: Kaplan-Meier at the points, and how much those still observed then have pulled.
    survival: Floats
    level: Floats
    #: Distinct times with the numbers at risk, and what has been pulled up to each.
    table: RiskTable
    passed: Floats
    total: float

    @classmethod
    def of(cls, table: RiskTable, stop: float, km: KaplanMeier | None = None) -> RiskInfluence:
        """Tabulate what all subjects of the test set share."""
        points = _points(stop)
        km = KaplanMeier.from_table(table) if km is None else km
        size, total = table.times.size, float(table.counts_in(slice(0, 1))[0][0])
        passed = np.zeros(size + 1)
        for part in chunks(size):
            n, d = table.counts_in(part)
            # Where everybody left has the event, Kaplan-Meier is zero from there on.
            steps = np.where(n > d, d / (n * np.maximum(n - d, 1e-300)), 0.0)
            np.cumsum(steps, out=passed[part.start + 1 : part.stop + 1])
            passed[part.start + 1 : part.stop + 1] += passed[part.start]
        level = passed[table.times.searchsorted(points, "right")]
        return cls(points, km.at(points), level, table, passed, total)

    def status(self, y: Outcomes) -> NDArray[Any]:
        """Return what `own` and `units` have to know of the subjects' events."""
        return y.event

    def own(self, time: Floats, event: NDArray[Any]) -> Floats:
        """How much each subject has pulled when its follow-up ends."""
        ended = np.empty(time.size)

        def fill(part: slice) -> None:
            at = look_up(self.table.times, time[part], "right")
            died = np.flatnonzero(event[part])
            at[died] -= 1
            pulled = self.passed[at]
            pulled[died] -= 1.0 / self.table.counts_in(at[died])[0]
            ended[part] = pulled

        run_all(fill, chunks(time.size, size=QUERIES))
        return ended

    def units(
        self, time: Floats, event: NDArray[Any], predicted: Floats, own: Floats | None = None
    ) -> Floats:
        """What one copy of each subject adds to mean curve - Kaplan-Meier: (n, points).

        `predicted` are the subjects' curves at the points; they are overwritten.
        """
        own = self.own(time, event) if own is None else own
        pulled = np.empty(predicted.shape)
        pulled[...] = own[:, None]
        np.copyto(pulled, self.level, where=self.points < time[:, None])
        pulled *= self.survival
        predicted /= self.total
        predicted -= pulled
        return predicted

    def gap(self, lines: Lines, stop: float) -> Floats:
        """Mean curve - Kaplan-Meier at the points."""
        return lines.ends(np.append(self.points, stop))[0] - self.survival


@dataclass(frozen=True)
class IncidenceInfluence:
    """What one subject does to Aalen-Johansen of one cause, at points of the follow-up.

    It adds P - F(t) B to the incidence F(t), where P and B stand still from its own time on.
    """

    points: Floats
    #: 1 - F at the points, and P and B of those still observed then: (2, points).
    survival: Floats
    level: Floats
    #: Distinct times, what P and B of those at risk have come to after each (0 first), and what
    #: any event and one of the cause add to them: (2, times).
    times: Floats
    passed: Floats
    any_event: Floats
    own_event: Floats
    total: float
    #: Code of the cause in the outcomes.
    code: int

    @classmethod
    def of(cls, found: AalenJohansen, code: int, stop: float) -> IncidenceInfluence:
        """Tabulate what all subjects of the test set share."""
        points = _points(stop)
        passed, any_event, own_event = found.pulls(code)
        passed = np.concatenate((np.zeros((2, 1)), passed), axis=1)
        level = passed[:, found.times.searchsorted(points, "right")]
        free = 1.0 - found.at(points, code)
        total = float(found.at_risk[0])
        return cls(points, free, level, found.times, passed, any_event, own_event, total, code)

    def status(self, y: Outcomes) -> NDArray[Any]:
        """0 without an event, 1 with one of the cause, 2 with another."""
        if y.cause is None:
            return y.event.astype(np.int64)
        return np.where(y.cause == self.code, 1, np.where(y.event, 2, 0))

    def own(self, time: Floats, status: NDArray[Any]) -> Floats:
        """P and B of each subject when its follow-up ends: (n, 2)."""
        at = look_up(self.times, time, "right")
        found = self.passed[:, at]
        found[:, status > 0] += self.any_event[:, at[status > 0] - 1]
        found[:, status == 1] += self.own_event[:, at[status == 1] - 1]
        return found.T

    def units(
        self, time: Floats, status: NDArray[Any], predicted: Floats, own: Floats | None = None
    ) -> Floats:
        """What one copy of each subject adds to mean curve - (1 - F): (n, points).

        `predicted` are the subjects' curves at the points; they are overwritten.
        """
        own = self.own(time, status) if own is None else own
        observed = self.points < time[:, None]
        predicted /= self.total
        predicted += np.where(observed, self.level[0], own[:, :1])
        predicted -= (1.0 - self.survival) * np.where(observed, self.level[1], own[:, 1:])
        return predicted

    def gap(self, lines: Lines, stop: float) -> Floats:
        """Mean curve - (1 - F) at the points."""
        return lines.ends(np.append(self.points, stop))[0] - self.survival


Influence = RiskInfluence | IncidenceInfluence


def observed_curve(
    y: Outcomes, code: int | None
) -> tuple[KaplanMeier, Callable[[float], Influence]]:
    """Kaplan-Meier, or 1 - Aalen-Johansen of a cause, and how to tell who does what to it."""
    if code is None:
        table = RiskTable.of(y)
        km = KaplanMeier.from_table(table)
        return km, lambda stop: RiskInfluence.of(table, stop, km)
    found, row = AalenJohansen.fit(y), code - 1
    free = np.concatenate(([1.0], np.maximum(1.0 - found.incidence[row], 0.0)))
    curve = KaplanMeier(found.times, free, found.events[row] > 0)
    return curve, lambda stop: IncidenceInfluence.of(found, code, stop)


def _points(stop: float) -> Floats:
    """Middles of even parts of the follow-up."""
    ranks = np.arange(_INFLUENCE_POINTS, dtype=np.float64)
    found: Floats = (ranks + 0.5) * (stop / _INFLUENCE_POINTS)
    return found


def gap_stderr(gap: Floats, covariance: Floats) -> float:
    """Standard error of the mean squared gap, to second order."""
    variance = 4.0 * gap @ covariance @ gap + 2.0 * float(np.sum(covariance**2))
    return float(np.sqrt(max(float(variance), 0.0))) / gap.size


def cross_products(a: Floats, b: Floats) -> Floats:
    """a.T @ b over many rows, in products too small for the linear algebra to start threads."""
    whole, size = a.shape[0] // _FEW_ROWS * _FEW_ROWS, a.shape[1]
    shape = (-1, _FEW_ROWS, size)
    parts = a[:whole].reshape(shape).transpose(0, 2, 1) @ b[:whole].reshape(shape)
    rest: Floats = a[whole:].T @ b[whole:]
    return parts.sum(axis=0) + rest


def gap_influence(
    y: Outcomes, curves: SurvivalCurves, lines: Lines, table: Influence, stop: float
) -> tuple[Floats, Floats, Floats]:
    """First-order contributions to the mean squared gap; the gap at points, and its covariance.

    At points t_1..t_T the gap D = mean curve - Kaplan-Meier is a mean of contributions psi_i(t), so
    about normal with covariance V = sum psi psi'. The mean of D^2 then has the variance
    (4 D'VD + 2 tr V^2)/T^2; the second term is what is left where calibration is perfect. It is the
    limit of the bootstrap's variance.
    """
    points, gap = table.points, table.gap(lines, stop)
    weight, total = y.weight if y.weighted else None, table.total
    status, read = table.status(y), curves.reader(points)
    own = table.own(y.time, status)
    psi = own if own.ndim == 1 else np.empty(len(y))

    def sums(blocks: Iterator[slice]) -> tuple[Floats, Floats]:
        average, square = np.zeros(points.size), np.zeros((points.size, points.size))
        scratch = Scratch()
        for rows in blocks:
            # Each subject's pull makes room for its contribution.
            unit = table.units(y.time[rows], status[rows], read(rows, scratch), own[rows])
            weighted = unit if weight is None else unit * weight[rows, None]
            average += weighted.sum(axis=0) / total
            square += cross_products(weighted, unit)
            psi[rows] = np.einsum("ik,k->i", weighted, gap)
        return average, square

    average, square = np.zeros(points.size), np.zeros((points.size, points.size))
    for part in curves.by_span(sums, block_width(curves, points.size)):
        average, square = average + part[0], square + part[1]
    # Contributions are deviations from their average.
    psi -= y.weight * (average @ gap) if y.weighted else average @ gap
    psi *= 2.0 / points.size
    return psi, gap, square - total * np.outer(average, average)


def clustered_covariance(
    y: Outcomes, curves: SurvivalCurves, table: Influence, clusters: Clusters
) -> Floats:
    """Covariance of mean curve - Kaplan-Meier at the points, from the sums of each cluster.

    With the sums u_g of the contributions of the G clusters it is G / (G - 1) sum u_g u_g'.
    """
    points, codes = table.points, clusters.codes
    read, scratch, status = curves.reader(points), Scratch(), table.status(y)
    own = table.own(y.time, status)
    sums = np.zeros((int(codes.max()) + 1, points.size))
    for rows in curves.blocks(points.size + curves.survival.shape[1]):
        unit = table.units(y.time[rows], status[rows], read(rows, scratch), own[rows])
        unit *= y.weight[rows, None]
        order = np.argsort(codes[rows], kind="stable")
        numbers, first = np.unique(codes[rows][order], return_index=True)
        sums[numbers] += np.add.reduceat(unit[order], first, axis=0)
    size = np.bincount(codes, weights=y.weight)
    sums -= size[:, None] * (sums.sum(axis=0) / size.sum())
    return cross_products(sums, sums) * (clusters.number / (clusters.number - 1))
