"""Losses of the predicted probability of being event-free at a time."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

import numpy as np

from ..._tools.arrays import Bools, Floats


class Rule(Protocol):
    """A weighted loss W l of probabilities S, left as they are; no weight, no loss.

    `number` is how many subjects an entry stands for, where that is not one; `out` takes the loss.
    """

    def __call__(
        self,
        survival: Floats,
        alive: Bools,
        weight: Floats,
        number: Floats | None = None,
        out: Floats | None = None,
    ) -> Floats: ...


class Squared:
    """l = (1 - S)^2 while event-free, S^2 after the event."""

    def __call__(
        self,
        survival: Floats,
        alive: Bools,
        weight: Floats,
        number: Floats | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Return W l."""
        error: Floats = np.subtract(survival, alive, out=out)
        error *= error
        error *= weight
        return error


class Logarithmic:
    """l = -log S while event-free, -log(1 - S) after the event; S within [clip, 1 - clip].

    Counts what it clipped and the infinite losses that it did not.
    """

    def __init__(self, clip: float = 0.0) -> None:
        self.clip = clip
        self.clipped = 0
        self.infinite = 0
        self._counting = Lock()  # several threads share a rule

    def __call__(
        self,
        survival: Floats,
        alive: Bools,
        weight: Floats,
        number: Floats | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Return W l."""
        loss = self._of_what_happened(survival, alive, out)
        clipped, infinite = 0, 0
        if self.clip > 0:
            inside = np.clip(loss, self.clip, 1.0 - self.clip)
            clipped = _count((inside != loss) & (weight > 0), number)
            loss[...] = inside
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(loss, out=loss)
            loss *= weight
        np.negative(loss, out=loss)
        if not np.isfinite(loss.sum()):
            loss[weight <= 0] = 0.0
            infinite = _count(np.isinf(loss), number)
        if clipped or infinite:
            with self._counting:
                self.clipped += clipped
                self.infinite += infinite
        return loss

    def _of_what_happened(self, survival: Floats, alive: Bools, out: Floats | None) -> Floats:
        """Probability of what happened."""
        probability: Floats = np.subtract(survival, ~alive, out=out)
        return np.abs(probability, out=probability)


class LogarithmicOfState(Logarithmic):
    """l = -log p, given the probability p of the state that a subject is in."""

    def _of_what_happened(self, survival: Floats, alive: Bools, out: Floats | None) -> Floats:
        return np.positive(survival, out=out)


class AsRead:
    """l as it was read: the loss, or whether the prediction was right."""

    def __call__(
        self,
        survival: Floats,
        alive: Bools,
        weight: Floats,
        number: Floats | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Return W l."""
        return np.multiply(survival, weight, out=out)


def _count(flags: Bools, number: Floats | None) -> int:
    return int(flags.sum() if number is None else number[flags].sum())
