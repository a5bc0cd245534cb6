"""Subjects that are scored together: their outcomes, the question, and all models' predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..inference import bootstrap_counts
from ..metrics.problem import Problem
from ..reference.conditional import Conditional

#: Subjects that are scored together: with fewer, threads would wait for the interpreter more often.
CHUNK_ROWS = 131_072
#: In memory a chunk is no more than a small part of the subjects, but at least so many of them:
#: what threads hold of chunks is to be little beside the input.
LEAST_ROWS = CHUNK_ROWS // 8
#: Parts in which the baseline is scored in memory: few, as each looks at all of its curve.
BASELINE_PARTS = 8
#: Values of curves that are scored together.
CHUNK_VALUES = 25 * CHUNK_ROWS


@dataclass(frozen=True)
class Chunk:
    """Some subjects; look-ups that metrics share live in its `problem` and `predictions`."""

    #: The question about these subjects, with G and the reference set of all of them.
    problem: Problem
    #: What each model says about them.
    predictions: dict[str, Prediction]
    #: Where they come from, for messages.
    label: str = "batch"
    #: How often subjects are drawn by the bootstrap; of shape (n_boot, n).
    counts: Floats | None = None

    @property
    def y(self) -> Outcomes:
        """Outcomes of the subjects."""
        return self.problem.y

    def __len__(self) -> int:
        return len(self.problem.y)

    def subset(self, rows: Ints) -> Chunk:
        """Return some of the subjects."""
        if rows.size == len(self):
            return self
        members = {name: prediction[rows] for name, prediction in self.predictions.items()}
        counts = None if self.counts is None else self.counts[:, rows]
        return Chunk(self.problem.subset(rows), members, self.label, counts)

    def present(self) -> Chunk | None:
        """Leave out subjects of weight zero, who are absent; None where nobody is left."""
        y = self.y
        if not y.weighted or y.weight.all():
            return self
        rows = np.flatnonzero(y.weight)
        return self.subset(rows) if rows.size else None

    def drawn(self, n_boot: int, seed: int) -> Chunk:
        """Return the same with how often each subject is drawn."""
        if not n_boot or self.counts is not None:
            return self
        y = self.y
        frequency = y.weight if y.weighted else None
        counts = np.empty((n_boot, len(y)))
        for b in range(n_boot):
            counts[b] = bootstrap_counts(
                len(y), b, seed, frequency=frequency, start=self.problem.start
            )
        if frequency is not None:
            # Sums carry the frequency already; a row drawn c times counts c/w of it.
            np.divide(counts, frequency, out=counts, where=frequency > 0)
        return replace(self, counts=counts)


def chunk_rows(widths: Iterable[int], asked: int | None = None) -> int:
    """Return how many subjects are scored together, whose curves have so many values each."""
    widest, most = max(widths, default=0), asked or CHUNK_ROWS
    return most if not widest else min(most, max(1024, CHUNK_VALUES // widest))


def joined(parts: Iterable[Outcomes]) -> Outcomes:
    """Return outcomes one after the other."""
    listed = list(parts)
    if not listed:
        raise InputError("the test set has no rows; at least one subject is needed")
    return type(listed[0]).joined(listed)


def joined_chunks(chunks: list[Chunk]) -> Chunk:
    """Return chunks of one group one after the other, in their order."""
    first, last = chunks[0], chunks[-1]
    if len(chunks) == 1:
        return first
    rows = np.concatenate([c.problem.numbers(np.arange(len(c))) for c in chunks])
    drawn = [c.counts for c in chunks if c.counts is not None]
    conditional = [c.problem.conditional for c in chunks if c.problem.conditional is not None]
    laws = Conditional.joined(conditional) if conditional else None
    return Chunk(
        replace(first.problem, y=joined(c.y for c in chunks), rows=rows, conditional=laws),
        {
            name: joined_predictions([c.predictions[name] for c in chunks])
            for name in first.predictions
        },
        first.label if first.label == last.label else f"{first.label} to {last.label}",
        np.concatenate(drawn, axis=1) if drawn else None,
    )


def joined_predictions(parts: list[Prediction]) -> Prediction:
    """Return predictions of several sets of subjects one after the other; curves share a grid."""
    if parts[0].curves is not None:
        curves = type(parts[0].curves).joined([p.curves for p in parts if p.curves is not None])
        incidence = [p.incidence for p in parts if p.incidence is not None]
        causes = IncidenceCurves.joined(incidence) if incidence else None
        return Prediction(curves, None, None, causes, parts[0].rank_time)
    return parts[0].joined(parts[1:])
