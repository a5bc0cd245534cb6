"""Subjects that are scored together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._arrays import Floats, Ints
from ..outcomes import Outcomes
from ..predictions import Prediction
from .labels import Labels


@dataclass(frozen=True)
class Chunk:
    """Outcomes and all models' predictions of the subjects from row `start` on."""

    y: Outcomes
    predictions: dict[str, Prediction]
    start: int
    label: str = "batch"
    #: Groups of the subjects, where there are groups.
    labels: Labels | None = None
    #: How often subjects are drawn by the bootstrap, (n_boot, n), if that is known already.
    counts: Floats | None = None
    #: Which rows from `start` on these are; None: all of them.
    rows: Ints | None = None

    def __len__(self) -> int:
        return len(self.y)

    def group(self, rows: Ints) -> Chunk:
        """Return some of the subjects."""
        if rows.size == len(self):
            return replace(self, labels=None, rows=rows)
        members = {name: prediction[rows] for name, prediction in self.predictions.items()}
        counts = None if self.counts is None else self.counts[:, rows]
        return Chunk(self.y[rows], members, self.start, self.label, None, counts, rows)
