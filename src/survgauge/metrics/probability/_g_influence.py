"""What weights 1/G of a score at given times contribute to its sampling error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...reference.estimated_g import EstimatedG, Pulls


@dataclass(frozen=True)
class ThroughG:
    """Weights of a score at times t_k that move with G; at a convention's floor they do not."""

    times: Floats
    #: (n,) events whose weight moves; None: all.
    own_moves: Bools | None
    #: (K,) times whose survivors' weight moves.
    survivors_move: Bools
    #: G of the subjects at hand; None: of more subjects than these (parts of a stream).
    estimated: EstimatedG | None

    def pulls(self, event: Floats, survivors: Floats, k: int | None = None) -> Pulls:
        """Pulls at all times together, or at the time k, without what stays at the floor."""
        rows = slice(None) if k is None else slice(k, k + 1)
        if self.own_moves is not None:
            event = np.where(self.own_moves, event, 0.0)
        moving = np.where(self.survivors_move[rows], survivors, 0.0)
        return Pulls(event, moving, self.times[rows])

    def influence(self, pulls: Pulls) -> Floats | float:
        """Contribution of each subject at hand; 0 where G is not theirs alone."""
        return 0.0 if self.estimated is None else self.estimated.influence(pulls)
