"""D-calibration from chunks: the predicted probability at each subject's own time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.outcomes import Outcomes
from . import kernels as kernel
from .calibration import uniform_test
from .own_times import OwnTimes, OwnTimesByModel
from .result import CalibrationResult

_BINS = 10


class _Probabilities(OwnTimes):
    """S at the own time of all subjects of one model.

    As many as are compared one by one are kept as they are, nine bytes each; of more of them only
    how often each multiple of 2^-18 occurs, which is what `evaluate` reads of so many, too.
    """

    def __init__(self) -> None:
        super().__init__()
        #: Probabilities, events and frequencies (None: one each).
        self._parts: list[tuple[Floats, Bools, Floats | None]] = []
        self.rows = 0

    def _add(self, rows: Outcomes, s: Floats) -> None:
        # Copies: a view would keep all that was read with it in memory.
        weights = rows.weight.copy() if rows.weighted else None
        self._parts.append((np.array(s), rows.event.copy(), weights))
        self.rows += s.size
        self._thin()

    def _join(self, other: _Probabilities) -> None:
        self._parts = self._parts + other._parts
        self.rows += other.rows
        self._thin()

    def _thin(self) -> None:
        """Count equal probabilities together once there are too many to keep."""
        if self.rows <= kernel.EXACT_SUBJECTS:
            return
        if sum(part[0].size for part in self._parts) <= 2 * kernel.EXACT_SUBJECTS:
            return
        self._parts = [self._counted()]

    def _counted(self) -> tuple[Floats, Bools, Floats]:
        size = kernel.EXACT_SUBJECTS + 1
        counts = np.zeros(2 * size)
        for s, event, weight in self._parts:
            place = np.rint(s * kernel.EXACT_SUBJECTS).astype(np.intp) + size * event
            counts += np.bincount(place, weight, 2 * size)
        found = np.flatnonzero(counts)
        return found % size / kernel.EXACT_SUBJECTS, found >= size, counts[found]

    def _tested(self, convention: dict[str, Any], support: dict[str, Any]) -> CalibrationResult:
        if self.rows > kernel.EXACT_SUBJECTS:
            s, event, weight = self._counted()
            y = Outcomes._trusted(s, event, weight)
        else:
            s, event = (np.concatenate(k) for k in list(zip(*self._parts, strict=True))[:2])
            y = Outcomes._trusted(s, event, self._weights())
        return uniform_test(y, s, _BINS, convention, support)

    def _weights(self) -> Floats | None:
        if all(weight is None for _, _, weight in self._parts):
            return None
        return np.concatenate([np.ones(s.size) if w is None else w for s, _, w in self._parts])


class OwnSurvival(OwnTimesByModel):
    """S at the own times of all subjects, of every model."""

    one_model = _Probabilities
