"""D-calibration from merged bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Floats
from ..errors import UndefinedMetricError
from ..metrics._support_sum import SupportSum
from ..metrics.calibration import ASYMPTOTIC, CONSERVATIVE, bins_test, d_calibration
from ..metrics.details import Details
from ..outcomes import Outcomes
from ..predictions import Prediction


class BinCounts:
    """Subjects per bin of their own survival probability, for one model."""

    def __init__(self) -> None:
        self.observed: Floats | None = None
        self.total = 0.0
        self.convention: dict[str, Any] = {}
        self.support = SupportSum()
        self.undefined: str | None = None

    def update(self, y: Outcomes, prediction: Prediction) -> None:
        """Add a chunk."""
        try:
            found = d_calibration(y, prediction.curves)
        except UndefinedMetricError as error:
            self.undefined = self.undefined or str(error)
            return
        self.convention = self.convention or found.convention
        self.support.add(found.support)
        self._add(found.observed, float(y.weight.sum()) if y.weighted else float(len(y)))

    def _add(self, observed: Floats, total: float) -> None:
        self.observed = observed if self.observed is None else self.observed + observed
        self.total += total

    def merge(self, other: BinCounts) -> None:
        """Add the chunks of another part."""
        self.undefined = self.undefined or other.undefined
        self.convention = self.convention or other.convention
        self.support.merge(other.support)
        if other.observed is not None:
            self._add(other.observed, other.total)

    def measured(self) -> Details:
        """Return the p-value of all subjects."""
        if self.undefined is not None:
            raise UndefinedMetricError(self.undefined)
        support = self.support.result()
        convention = dict(self.convention)
        convention["p_value"] = CONSERVATIVE if support["censored"] else ASYMPTOTIC
        return Details(bins_test(np.asarray(self.observed), self.total)[1], convention, support)
