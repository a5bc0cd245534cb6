"""Subjects that are scored together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
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
        numbers = rows if self.rows is None else self.rows[rows]
        return Chunk(self.y[rows], members, self.start, self.label, None, counts, numbers)


def joined(parts: Iterable[Outcomes]) -> Outcomes:
    """Put outcomes one after the other."""
    listed = list(parts)
    if not listed:
        raise InputError("the test set has no rows; at least one subject is needed")
    weighted = any(y.weighted for y in listed)
    return Outcomes._trusted(
        np.concatenate([y.time for y in listed]),
        np.concatenate([y.event for y in listed]),
        np.concatenate([y.weight for y in listed]) if weighted else None,
    )


def joined_chunks(chunks: list[Chunk]) -> Chunk:
    """Put chunks of one group one after the other, in their order."""
    first, last = chunks[0], chunks[-1]
    if len(chunks) == 1:
        return first
    rows = [c.start - first.start + (np.arange(len(c)) if c.rows is None else c.rows)
            for c in chunks]  # fmt: skip
    drawn = [c.counts for c in chunks if c.counts is not None]
    return Chunk(
        joined(c.y for c in chunks),
        {name: _joined_predictions([c.predictions[name] for c in chunks]) for name in
         first.predictions},
        first.start,
        first.label if first.label == last.label else f"{first.label} to {last.label}",
        None,
        np.concatenate(drawn, axis=1) if drawn else None,
        np.concatenate(rows),
    )  # fmt: skip


def _joined_predictions(parts: list[Prediction]) -> Prediction:
    def whole(columns: list[Any]) -> Any:
        return None if columns[0] is None else np.concatenate(columns)

    like = parts[0].curves
    curves = None
    if like is not None:
        values = np.concatenate([p.curves.survival for p in parts if p.curves is not None])
        curves = SurvivalCurves._trusted(like.times, values, like.interpolation, like.tail)
    return Prediction(curves, whole([p._times for p in parts]), whole([p._risk for p in parts]))
