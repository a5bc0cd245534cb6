"""D-calibration from chunks: the predicted probability at each subject's own time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.outcomes import Outcomes
from .calibration import uniform_test
from .own_times import OwnTimes, OwnTimesByModel
from .result import CalibrationResult

_BINS = 10


class _Probabilities(OwnTimes):
    """S at the own time of all subjects of one model, nine bytes each."""

    def __init__(self) -> None:
        super().__init__()
        #: Probabilities, events and frequencies (None: one each).
        self._parts: list[tuple[Floats, Bools, Floats | None]] = []

    def _add(self, rows: Outcomes, s: Floats) -> None:
        # Copies: a view would keep all that was read with it in memory.
        weights = rows.weight.copy() if rows.weighted else None
        self._parts.append((np.array(s), rows.event.copy(), weights))

    def _join(self, other: _Probabilities) -> None:
        self._parts = self._parts + other._parts

    def _tested(self, convention: dict[str, Any], support: dict[str, Any]) -> CalibrationResult:
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
