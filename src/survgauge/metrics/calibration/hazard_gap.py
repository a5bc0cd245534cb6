"""KM-calibration under delayed entry: Kaplan-Meier against the predicted hazards of those at risk.

Who is in the sample changes with time, so no average of predicted curves is what Kaplan-Meier
estimates. Between two times at which somebody enters or leaves, the events to be expected are the
rises of the cumulative hazards of those at risk; over their number they add up to A, and events
over numbers at risk less A are a martingale, whatever entries and censoring are. exp(-A) is what
Kaplan-Meier estimates if the hazards are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.chunks import chunks
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError
from ...reference.kaplan_meier import KaplanMeier, RiskTable
from ..details import Clusters
from .gap_influence import cross_products
from .inputs import refuse_unknown
from .mean_curve import Gap, Lines, squared_gap

#: Times between which hazards are added up, and points of the covariance.
_NODES, _POINTS = 512, 64
#: Subjects in a block.
ROWS = 512
#: A curve that falls by more than this factor between two times counts as falling by it.
LEAST_RATIO = 0.05
#: How many have to be at risk when the comparison begins.
_ENOUGH = 10


@dataclass(frozen=True)
class HazardGap:
    """Kaplan-Meier of subjects with delayed entry, and what their predicted hazards say of it."""

    y: Outcomes
    curves: SurvivalCurves
    table: RiskTable
    km: KaplanMeier
    #: Times at which somebody enters or leaves, from the beginning to the end of the comparison; of
    #: shape (K + 1,).
    nodes: Floats
    #: Whether nobody enters or leaves between the nodes.
    exact: bool
    #: Mean number at risk between them, and the predicted hazard of those; of shape (K,).
    at_risk: Floats
    hazard: Floats
    own: Floats

    @classmethod
    def of(cls, y: Outcomes, curves: SurvivalCurves, stop: float) -> HazardGap:
        """Add up the predicted hazards of present subjects, whose curves are given their entry."""
        table = RiskTable.of(y)
        nodes, exact = nodes_of(y, table, stop)
        own = curves.at_own(y.time)
        refuse_unknown(own, "their own time")
        events, at_risk = np.zeros(nodes.size - 1), np.zeros(nodes.size - 1)
        for rows in chunks(len(y), size=ROWS):
            rises, shares = _rises(y, curves, own, nodes, rows)
            events += y.weight[rows] @ rises
            at_risk += y.weight[rows] @ shares
        hazard = np.divide(events, at_risk, out=np.zeros(events.size), where=at_risk > 0)
        km = KaplanMeier.since(y, _ENOUGH)
        return cls(y, curves, table, km, nodes, exact, at_risk, hazard, own)

    @property
    def predicted(self) -> Floats:
        """What Kaplan-Meier estimates if the hazards are right, exp(-A), at the nodes."""
        return np.exp(-np.concatenate(([0.0], np.cumsum(self.hazard))))

    @property
    def lines(self) -> Lines:
        """The predicted curve, from 1 at time zero on."""
        nodes, free = self.nodes, self.predicted
        if nodes[0] > 0:
            nodes, free = np.append(0.0, nodes), np.append(1.0, free)
        return Lines(nodes, free, free)

    def distance(self) -> tuple[float, Gap]:
        """Mean squared gap from the first to the last node, and both curves."""
        gap = squared_gap(self.lines, self.km, float(self.nodes[-1]))
        return gap.integral / float(self.nodes[-1] - self.nodes[0]), gap

    @property
    def points(self) -> Floats:
        """Middles of even parts of the time that is looked at."""
        found: Floats = self.nodes[0] + (np.arange(_POINTS) + 0.5) / _POINTS * (
            self.nodes[-1] - self.nodes[0]
        )
        return found

    def influence(self, clusters: Clusters | None = None) -> tuple[Floats, Floats, Floats]:
        """First-order contributions to the mean squared gap; gap at the points, and covariance."""
        y, points = self.y, self.points
        predicted = np.interp(points, self.nodes, self.predicted)
        observed = self.km.at(points)
        gap = predicted - observed
        psi, square = np.empty(len(y)), np.zeros((_POINTS, _POINTS))
        sums = np.zeros((0 if clusters is None else int(clusters.codes.max()) + 1, _POINTS))
        for rows in chunks(len(y), size=ROWS):
            unit = self._units(rows, predicted, observed)
            weighted = unit * y.weight[rows, None]
            psi[rows] = weighted @ gap * (2.0 / _POINTS)
            if clusters is None:
                square += cross_products(weighted, unit)
            else:
                np.add.at(sums, clusters.codes[rows], weighted)
        if clusters is not None:
            square = cross_products(sums, sums) * (clusters.number / (clusters.number - 1))
        return psi, gap, square

    def _units(self, rows: slice, predicted: Floats, observed: Floats) -> Floats:
        """What one copy of each subject adds to predicted - observed at the points."""
        rises, shares = _rises(self.y, self.curves, self.own, self.nodes, rows)
        risen = self._at_points(self._pulls_of(rises, shares, self.hazard))
        return -predicted * risen - observed * self._pulled(rows)

    def _pulls_of(self, rises: Floats, shares: Floats, hazard: Floats) -> Floats:
        """What each subject adds to a mean hazard of those at risk between the nodes."""
        rises -= shares * hazard
        return np.divide(rises, self.at_risk, out=rises, where=self.at_risk > 0)

    def _at_points(self, pulls: Floats) -> Floats:
        """Sums of what was added between the nodes, up to each of the points."""
        risen = np.zeros((pulls.shape[0], self.nodes.size))
        np.cumsum(pulls, axis=1, out=risen[:, 1:])
        # Between neighbouring numbers the middles are the numbers themselves.
        place = np.minimum(self.nodes.searchsorted(self.points, "right"), self.nodes.size - 1) - 1
        part = (self.points - self.nodes[place]) / (self.nodes[place + 1] - self.nodes[place])
        return risen[:, place] * (1.0 - part) + risen[:, place + 1] * part

    def _pulled(self, rows: slice) -> Floats:
        """What one copy of each subject adds to the logarithm of Kaplan-Meier at the points."""
        table, y = self.table, self.y
        n, d = table.at_risk, np.where(table.times > self.nodes[0], table.events, 0.0)
        # Where everybody left has the event, Kaplan-Meier is zero from there on.
        steps = np.where(n > d, d / (n * np.maximum(n - d, 1e-300)), 0.0)
        passed = np.concatenate(([0.0], np.cumsum(steps)))
        time, entry = y.time[rows], np.asarray(y.entry)[rows]
        had = y.event[rows] & (time > self.nodes[0])
        place = table.times.searchsorted(time, "right") - had
        own = passed[place]
        own[had] -= 1.0 / n[place[had]]
        before = np.where(entry > 0, passed[table.times.searchsorted(entry, "right")], 0.0)
        level = passed[table.times.searchsorted(self.points, "right")]
        pulled = np.where(self.points < time[:, None], level, own[:, None]) - before[:, None]
        entered = self.points > entry[:, None]
        return np.where(entered, pulled, 0.0)


def nodes_of(y: Outcomes, table: RiskTable, stop: float) -> tuple[Floats, bool]:
    """Times at which somebody enters or leaves, or even ranks of them; whether these are all."""
    changes = np.unique(np.concatenate(([0.0], np.asarray(y.entry), y.time)))
    enough = table.enough_from(_ENOUGH)
    # Who is at risk at a time has been since the last change before it.
    place = 0 if enough is None else max(int(changes.searchsorted(enough)) - 1, 0)
    begin = float(np.asarray(y.entry).min()) if enough is None else float(changes[place])
    if not begin < stop:
        raise UndefinedMetricError(
            f"km_calibration has no time to look at: {_ENOUGH} subjects are at risk since "
            f"{begin:g}, and the comparison ends at {stop:g}; use a later tau"
        )
    changes = np.append(changes[(changes >= begin) & (changes < stop)], stop)
    if changes.size <= _NODES + 1:
        return changes, True
    ranks = np.linspace(0, changes.size - 1, _NODES + 1).round().astype(np.intp)
    return changes[ranks], False


def _rises(
    y: Outcomes, curves: SurvivalCurves, own: Floats, nodes: Floats, rows: slice
) -> tuple[Floats, Floats]:
    """What cumulative hazards rise by between nodes while at risk, and the share of time at risk.

    Both are of shape (rows, K). Nothing more is expected of a curve that has fallen to 0.
    """
    time, entry = y.time[rows, None], np.asarray(y.entry)[rows, None]
    s = np.where(nodes < time, curves.at_block(rows, nodes), own[rows, None])
    refuse_unknown(s, "their time at risk")
    ratio = np.ones((s.shape[0], nodes.size - 1))
    np.divide(s[:, 1:], s[:, :-1], out=ratio, where=s[:, :-1] > 0)
    np.clip(ratio, LEAST_RATIO, 1.0, out=ratio)
    rises = -np.log(ratio, out=ratio)
    span = np.minimum(time, nodes[1:]) - np.maximum(entry, nodes[:-1])
    return rises, np.maximum(span, 0.0) / np.diff(nodes)
