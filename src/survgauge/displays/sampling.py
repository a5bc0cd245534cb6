"""A sample of the subjects of an evaluation, for figures of very many."""

from __future__ import annotations

import numpy as np

from ._base import Given, Source

__all__ = ["Source", "sample"]


def sample(ev: Source, most: int) -> Source:
    """Return a seeded sample of the subjects of an evaluation; all of them where they are few."""
    n = len(ev.problem.y)
    if n <= most or not ev.predictions:
        return ev
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    parts = {name: prediction[rows] for name, prediction in ev.predictions.items()}
    return Given(ev.problem.subset(rows), parts, ev.unit, ev.confidence)
