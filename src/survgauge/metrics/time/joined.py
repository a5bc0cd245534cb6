"""The time error of all subjects, put together from the terms of their chunks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..._tools.arrays import Floats, stored_once
from ...reference.surrogates import METHODS, Setting
from ..support import Support
from .terms import TimeErrorDetails, TimeTerms, nobody


def joined(
    setting: Setting, methods: tuple[str, ...], chunks: Iterable[list[TimeTerms]]
) -> dict[str, TimeErrorDetails]:
    """Return the errors of all subjects by method, from the terms of each method in each chunk.

    A chunk's own memory is free for the next one as soon as its numbers are written, and loss and
    weight under all methods are one block: fresh memory costs as much as the arithmetic.
    """
    n = len(setting.y)
    sums = [_Sums() for _ in methods]
    shares: list[list[Floats]] = [[] for _ in methods]
    table = np.empty((len(methods), 2, n))
    start = 0
    for parts in chunks:
        rows = slice(start, start + parts[0].loss.size)
        for part, total, share, (loss, weight) in zip(parts, sums, shares, table, strict=True):
            total.add(part)
            loss[rows], weight[rows] = part.loss, part.weight
            if part.s is not part.weight:
                share.append(part.s)
        start = rows.stop
    return {
        method: total.details(setting, method, loss, weight, _together(share) if share else None)
        for method, total, share, (loss, weight) in zip(methods, sums, shares, table, strict=True)
    }


class _Sums:
    """What chunks of subjects add up to under one method."""

    def __init__(self) -> None:
        self.above, self.below, self.anybody = 0.0, 0.0, False
        self.support = Support()

    def add(self, part: TimeTerms) -> None:
        """Take a chunk in."""
        self.rules = part.convention
        self.above += float(part.a.sum())
        self.below += float(part.s.sum())
        self.anybody = self.anybody or bool(part.weight.any())
        self.support.merge(part.support)

    def details(
        self, setting: Setting, method: str, loss: Floats, weight: Floats, share: Floats | None
    ) -> TimeErrorDetails:
        """Return the error with what lies behind it."""
        counts, y = self.support.result(), setting.y
        if not (self.below > 0 and self.anybody):
            raise nobody(self.rules, counts)
        own = METHODS[method].weights_by_g and setting.g_from == "test"
        return TimeErrorDetails(
            self.above / self.below,
            self.rules,
            counts,
            loss,
            weight,
            self.below,
            share,
            y.weight if y.weighted else None,
            setting.weighed if own else None,
        )


def _together(arrays: list[Floats]) -> Floats:
    """Return the numbers of chunks one after the other; what is stored once stays so."""
    if all(map(stored_once, arrays)):
        return np.broadcast_to(arrays[0][0], sum(array.size for array in arrays))
    return np.concatenate(arrays)
