"""Aalen-Johansen calibration under delayed entry: against the predicted hazards of those at risk.

As for one kind of event (`hazard_gap`), the rises of the predicted cumulative hazards of those at
risk over their number add up to A_k of the cause and A of all. The integral of exp(-A) dA_k is what
Aalen-Johansen estimates if the hazards are right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.chunks import chunks
from ...data.conditional_curves import ConditionalCauseCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...reference.aalen_johansen import AalenJohansen
from ...reference.kaplan_meier import RiskTable
from .cause_survival import cause_hazards_at, cause_survival
from .gap_influence import IncidenceInfluence, observed_curve
from .hazard_gap import LEAST_RATIO, ROWS, HazardGap, nodes_of

#: No hazard is told where less than this is left event-free.
_LEAST = 1e-12


@dataclass(frozen=True)
class CauseHazardGap(HazardGap):
    """1 - Aalen-Johansen of a cause, and what the predicted hazards of those at risk say of it.

    `hazard` is that of the cause; subjects in `y` have the code 1 of it, or 2 of another.
    """

    #: Code of the cause in the predictions.
    code: int
    #: Predicted hazard of any cause of those at risk between the nodes; of shape (K,).
    every: Floats

    @classmethod
    def of_cause(
        cls, y: Outcomes, curves: ConditionalCauseCurves, stop: float, code: int
    ) -> CauseHazardGap:
        """Add up the predicted hazards of present subjects, whose curves are given their entry."""
        table = RiskTable.of(y)
        nodes, exact = nodes_of(y, table, stop)
        sums, at_risk = np.zeros((2, nodes.size - 1)), np.zeros(nodes.size - 1)
        for rows in chunks(len(y), size=ROWS):
            *rises, shares = _rises_by_cause(y, curves, code, nodes, rows)
            sums += [y.weight[rows] @ part for part in rises]
            at_risk += y.weight[rows] @ shares
        found = np.divide(sums, at_risk, out=np.zeros(sums.shape), where=at_risk > 0)
        km, own = observed_curve(_later(y, nodes[0]), 1)[0], np.empty(0)
        return cls(y, curves, table, km, nodes, exact, at_risk, found[0], own, code, found[1])

    @cached_property
    def _states(self) -> tuple[Floats, Floats]:
        """Predicted probability of no event, and of one of the cause, at the nodes."""
        free = np.exp(-np.concatenate(([0.0], np.cumsum(self.every))))
        gone = -np.diff(free)
        share = np.divide(self.hazard, self.every, out=np.zeros(gone.size), where=self.every > 0)
        return free, np.concatenate(([0.0], np.cumsum(gone * share)))

    @property
    def predicted(self) -> Floats:
        """What 1 - Aalen-Johansen estimates if the hazards are right, at the nodes."""
        return 1.0 - self._states[1]

    def _units(self, rows: slice, predicted: Floats, observed: Floats) -> Floats:
        """What one copy of each subject adds to predicted - observed at the points."""
        curves: Any = self.curves
        *rises, shares = _rises_by_cause(self.y, curves, self.code, self.nodes, rows)
        own, every = (
            self._pulls_of(part, shares, hazard)
            for part, hazard in zip(rises, (self.hazard, self.every), strict=True)
        )
        free, had = ((part[1:] + part[:-1]) / 2 for part in self._states)
        moved = self._at_points(free * own + had * every)
        moved -= (1.0 - predicted) * self._at_points(every)
        return self._moves_of_observed(rows, observed) - moved

    def _moves_of_observed(self, rows: slice, observed: Floats) -> Floats:
        """What one copy of each subject adds to Aalen-Johansen at the points."""
        y, entry, table = self.y[rows], np.asarray(self.y.entry)[rows], self._influence
        points = self.points
        status = np.where(y.time > self.nodes[0], np.asarray(y.cause), 0)
        own = table.own(y.time, status)
        level = table.passed[:, table.times.searchsorted(points, "right")]
        since = table.passed[:, table.times.searchsorted(entry, "right")] * (entry > 0)
        p, b = (
            np.where(points < y.time[:, None], level[k], own[:, k, None]) - since[k][:, None]
            for k in (0, 1)
        )
        return np.where(points > entry[:, None], p - (1.0 - observed) * b, 0.0)

    @cached_property
    def _influence(self) -> IncidenceInfluence:
        found = AalenJohansen.fit(_later(self.y, self.nodes[0]))
        return IncidenceInfluence.of(found, 1, float(self.nodes[-1]))


def _later(y: Outcomes, begin: float) -> Outcomes:
    """Outcomes of which only events after the beginning count, given no event until then."""
    codes = np.where(y.time > begin, np.asarray(y.cause), 0)
    return Outcomes(y.time, codes, y.weight, y.causes, y.entry)


def _rises_by_cause(
    y: Outcomes, curves: ConditionalCauseCurves, code: int, nodes: Floats, rows: slice
) -> tuple[Floats, Floats, Floats]:
    """What hazards of the cause and of any rise by between nodes while at risk, and its share.

    All are of shape (rows, K).
    """
    incidence: Any = curves[rows].incidence
    time, entry = y.time[rows], np.asarray(y.entry)[rows]
    found = []
    for hazards, of_own in (
        (cause_hazards_at(incidence, code, nodes, slice(None)), _of_cause(incidence, code)),
        (_cumulative(_free(incidence, nodes)), _of_any(incidence)),
    ):
        until = np.clip(hazards, of_own(entry)[:, None], of_own(time)[:, None])
        found.append(np.minimum(np.diff(until, axis=1), -np.log(LEAST_RATIO)))
    span = np.minimum(time[:, None], nodes[1:]) - np.maximum(entry[:, None], nodes[:-1])
    shares = np.maximum(span, 0.0) / np.diff(nodes)
    return np.minimum(found[0], found[1]), found[1], shares


def _of_cause(incidence: IncidenceCurves, code: int) -> Callable[[Floats], Floats]:
    """Cumulative hazard of the cause at one time per subject, up to the end of the grid."""
    end = incidence.times[-1]
    return lambda t: _cumulative(cause_survival(incidence, code, np.minimum(t, end)))


def _of_any(incidence: IncidenceCurves) -> Callable[[Floats], Floats]:
    """Cumulative hazard of any cause at one time per subject, up to the end of the grid."""
    end = incidence.times[-1]
    return lambda t: _cumulative(incidence.free_at_own(np.minimum(t, end)))


def _free(incidence: IncidenceCurves, times: Floats) -> Floats:
    """Probability of no event of any cause at common times: (n, k)."""
    free: Floats = 1.0 - np.sum([incidence.at(times, k) for k in incidence.causes], axis=0)
    return free


def _cumulative(survival: Floats) -> Floats:
    found: Floats = -np.log(np.maximum(survival, _LEAST)) + 0.0
    return found
