"""What subjects contribute to an AUC through a G that was estimated from the same subjects.

Subject k moves -log G(t-) by the integral up to t of 1/(Y(u) - c(u)) dM_k(u), M_k its censoring
martingale, Y(u) the number at risk of censoring and c(u) the number censored at u: the exact
derivative of the reverse Kaplan-Meier. Moving -log G(t-) by h multiplies a case's weight by 1 + h.
`EstimatedG` says the same of any score; sums over subjects in time order take a quarter of its time
at each of many times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints

Censoring = Literal["fixed", "estimated", "hazard"]


@dataclass(frozen=True)
class CensoringTable:
    """What the influence of an estimated G needs, one row per censored subject in time order."""

    position: Ints  #: position of the censored subject
    until: Ints  #: number of subjects observed at or before its time u
    jump: Floats  #: 1/(Y(u) - c(u)), how much its censoring moves -log G
    hazard: Floats  #: its share w/Y(u) of the censoring hazard at u
    at_risk_for: Ints  #: (n,) by position: rows during which a subject was at risk


def add_censoring(psi: Floats, table: CensoringTable, w: Floats, cut: int) -> None:
    """Add what subjects contribute through the estimated G to the cases' parts before `cut`."""
    rows = np.searchsorted(table.position, cut)
    pull = np.zeros(cut + 1)
    np.cumsum(psi[:cut], out=pull[1:])
    remaining = pull[-1] - pull[table.until[:rows]]  # R(u)
    moved = remaining * table.jump[:rows]
    compensator = np.concatenate(([0.0], np.cumsum(moved * table.hazard[:rows])))
    psi[table.position[:rows]] += moved * w[table.position[:rows]]
    lost = compensator[np.minimum(table.at_risk_for, rows)]
    lost *= w
    psi -= lost


def censoring_table(time: Floats, event: Bools, w: Floats, kind: Censoring) -> CensoringTable:
    """Tabulate the censored subjects from outcomes in time order, events first."""
    position = np.flatnonzero(~event)
    u = time[position]
    first, last = np.searchsorted(time, u, "left"), np.searchsorted(time, u, "right")
    after = np.concatenate((np.cumsum(w[::-1])[::-1], [0.0]))
    rows_until = np.searchsorted(u, time, "right")
    if kind == "hazard":
        at_risk = left = after[first]
        at_risk_for = rows_until
    else:
        events = np.concatenate(([0], np.cumsum(event)))
        at_risk = after[first + events[last] - events[first]]
        left = after[last]
        # An event at u has left before the censorings at u.
        at_risk_for = np.where(event, np.searchsorted(u, time, "left"), rows_until)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Nobody left means no case after u: R(u) = 0, and so is its product with a zero jump.
        jump = np.where(left > 0, 1.0 / left, 0.0)
        share = np.where(at_risk > 0, w[position] / at_risk, 0.0)
    return CensoringTable(position, last, jump, share, at_risk_for)
