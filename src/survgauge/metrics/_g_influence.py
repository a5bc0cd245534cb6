"""What a subject contributes through a G that was estimated from the same subjects.

Subject i moves -log G(s) by the integral up to s of dM_i(u) / (Y(u) - c(u)): M_i its censoring
martingale, Y(u) the number at risk of censoring, c(u) the number censored at u. A weight 1/G(s)
that pulls the score by h then moves it by h times that, so everything needed is H(u), the sum of
the pulls of all weights that G's factor at u enters.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from .._arrays import Floats, look_up
from ..outcomes import Outcomes
from ._auc_censoring import Censoring, censoring_table
from .conventions import Convention


class EstimatedG:
    """In-sample G of a convention, differentiated exactly (or as riskRegression does).

    Parameters
    ----------
    y : Outcomes
        The subjects that G was estimated from, who are also those scored.
    times : ndarray of shape (K,)
        The times of the score.
    convention : Convention
        Ties and limits of G.
    own, common : ndarray of shape (n,) and (K,)
        G as read for events and for survivors, floored; at the floor it does not move.
    """

    def __init__(
        self, y: Outcomes, times: Floats, convention: Convention, own: Floats, common: Floats
    ) -> None:
        flipped = convention.g_ties == "flipped"
        tie = y.event if flipped else ~y.event
        order = np.lexsort((tie, y.time))
        time, event = y.time[order], y.event[order]
        rank = np.cumsum(np.concatenate(([0], time[1:] != time[:-1])), dtype=np.float64)
        if flipped:  # tied events stay at risk, as if they came just after the censorings
            rank += 0.5 * event
        self._frequency = y.weight[order]
        kind = cast(Censoring, convention.g_influence)
        self._table = censoring_table(rank, event, self._frequency, kind)
        u = time[self._table.position]
        self._order = order
        # The first position whose own G has the factor at u, and per time how many factors count.
        limit = "right" if convention.event_limit == "left" else "left"
        self._first = look_up(time, u, limit)
        self._factors = look_up(u, times, convention.survivor_limit)
        self._moves = None if convention.g_floor <= 0 else (own > convention.g_floor)[order]
        self._survivors_move = common > convention.g_floor

    def influence(self, pull: Floats, survivors: float, k: int) -> Floats:
        """Contributions through G at times[k], from the events' pulls and the survivors' sum."""
        table, events = self._table, pull[self._order]
        if self._moves is not None:
            events = np.where(self._moves, events, 0.0)
        after = np.concatenate((np.cumsum(events[::-1])[::-1], [0.0]))
        total = after[self._first]  # H(u)
        if self._survivors_move[k]:
            total[: self._factors[k]] += survivors
        moved = total * table.jump
        compensator = np.concatenate(([0.0], np.cumsum(moved * table.hazard)))
        by_position = -compensator[table.at_risk_for]
        by_position[table.position] += moved
        out = np.empty_like(by_position)
        out[self._order] = by_position * self._frequency
        return out
