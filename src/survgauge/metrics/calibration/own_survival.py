"""D-calibration from chunks: the predicted probability at each subject's own time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..problem import Problem
from ..support import Support
from . import kernels as kernel
from .calibration import own_time_counts, own_time_support, uniform_test

_BINS = 10


class OwnSurvival:
    """S at the own time of all subjects, of every model; chunks add up."""

    def __init__(self) -> None:
        self._models: dict[str, _Probabilities] = {}

    def update(self, problem: Problem, predictions: dict[str, Prediction]) -> None:
        """Add a chunk of subjects with the predictions of all models that have curves."""
        for model, prediction in predictions.items():
            self._models.setdefault(model, _Probabilities()).update(problem.y, prediction)

    def merge(self, other: OwnSurvival) -> None:
        """Add the subjects of another part."""
        for model, theirs in other._models.items():
            self._models.setdefault(model, _Probabilities()).merge(theirs)

    def measured(self, model: str, problem: Problem) -> Details:
        """Return the p-value of one model; raise where it is undefined."""
        return self._models[model].measured()


class _Probabilities:
    """S at the own time of all subjects of one model.

    As many as are compared one by one are kept as they are, nine bytes each; of more of them only
    how often each multiple of 2^-18 occurs, which is what `evaluate` reads of so many, too.
    """

    def __init__(self) -> None:
        #: Probabilities, events and frequencies (None: one each).
        self._parts: list[tuple[Floats, Bools, Floats | None]] = []
        self.rows = 0
        self.convention: dict[str, Any] = {}
        self.support = Support()
        self.undefined: str | None = None

    def update(self, y: Outcomes, prediction: Prediction) -> None:
        """Add a chunk."""
        try:
            rows, s, convention, support = own_time_support(y, prediction.curves)
        except UndefinedMetricError as error:
            self.undefined = self.undefined or str(error)
            return
        self.convention = self.convention or convention
        self.support.merge(own_time_counts(y, support))
        # Copies: a view would keep all that was read with it in memory.
        weights = rows.weight.copy() if rows.weighted else None
        self._parts.append((np.array(s), rows.event.copy(), weights))
        self.rows += s.size
        self._thin()

    def merge(self, other: _Probabilities) -> None:
        """Add the chunks of another part."""
        self.undefined = self.undefined or other.undefined
        self.convention = self.convention or other.convention
        self.support.merge(other.support)
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

    def measured(self) -> Details:
        """Return the p-value of all subjects."""
        if self.undefined is not None:
            raise UndefinedMetricError(self.undefined)
        if self.rows > kernel.EXACT_SUBJECTS:
            s, event, weight = self._counted()
            y = Outcomes._trusted(s, event, weight)
        else:
            s, event = (np.concatenate(k) for k in list(zip(*self._parts, strict=True))[:2])
            y = Outcomes._trusted(s, event, self._weights())
        found = uniform_test(y, s, _BINS, dict(self.convention), self.support.result())
        return Details(found.p_value, found.convention, found.support)

    def _weights(self) -> Floats | None:
        if all(weight is None for _, _, weight in self._parts):
            return None
        return np.concatenate([np.ones(s.size) if w is None else w for s, _, w in self._parts])
