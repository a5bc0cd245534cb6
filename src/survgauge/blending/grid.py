"""A grid of few times on which the curves of all members are compared, mixed and given back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes

#: Most times of a law, besides the end of follow-up.
MOST_TIMES = 100


@dataclass(frozen=True)
class Grid:
    """Spans of time that hold about equally many events.

    A step curve on few times moves the events of a span to one time. Were it the end of the span,
    all events would come late; the mean event time of the span keeps the mean of the law.

    Examples
    --------
    >>> grid = Grid.of(Outcomes([1, 2, 3, 4, 6], [1, 1, 1, 1, 0]), most=2)
    >>> grid.edges, grid.jumps
    (array([2., 4., 6.]), array([1.5, 3.5, 6. ]))
    """

    #: Last time of each span; members give their survival probability there. The last one is the
    #: end of follow-up; of shape (m,).
    edges: Floats
    #: Mean event time of each span, where the curves that are given back have their steps; of shape
    #: (m,).
    jumps: Floats

    @classmethod
    def of(cls, y: Outcomes, clock: Floats | None = None, most: int = MOST_TIMES) -> Grid:
        """Grid of the event times of `y`; every event time where there are at most `most`.

        `clock` has the real times where those of `y` stand for their order only: spans are cut by
        order, and steps come at real times.
        """
        clock = y.time if clock is None else clock
        times = y.time[y.event]
        edges = np.unique(times)
        if edges.size > most:
            levels = np.arange(1, most + 1) / most
            edges = np.unique(np.quantile(times, levels, method="inverted_cdf"))
        span = edges.searchsorted(times)
        jumps = np.bincount(span, clock[y.event], edges.size) / np.bincount(span)
        if not edges.size or y.time.max() > edges[-1]:
            edges, jumps = np.append(edges, y.time.max()), np.append(jumps, clock.max())
        # Rounding of a mean may carry it past its neighbour's.
        return cls(edges, np.maximum.accumulate(jumps))

    def span_of(self, y: Outcomes) -> Ints:
        """Span in which each subject was last seen; those past the last edge count to the last."""
        return np.minimum(self.edges.searchsorted(y.time), self.edges.size - 1)

    def rounded(self, y: Outcomes) -> Outcomes:
        """Outcomes with times rounded to edges, for learners whose work grows with the times.

        Events go to the end of their span and censored subjects to the nearest edge, so that half
        of those who leave inside a span are at risk in it.
        """
        between = (self.edges[1:] + self.edges[:-1]) / 2
        nearest = self.edges[between.searchsorted(y.time)]
        time = np.where(y.event, self.edges[self.span_of(y)], nearest)
        return Outcomes(time, y.event, y.weight if y.weighted else None)
