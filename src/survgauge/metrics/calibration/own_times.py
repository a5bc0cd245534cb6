"""Tests of what models predict at each subject's own time, from chunks of subjects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..problem import Problem
from ..support import Support
from .calibration import own_time_counts, own_times_of
from .result import CalibrationResult


def read_curves_of(problem: Problem, prediction: Prediction) -> tuple[Any, int | None]:
    """Return what tests at the own times read: curves, or those of all causes, and the cause."""
    of_cause = problem.cause is not None
    return prediction.incidence if of_cause else prediction.curves, problem.cause


class OwnTimes(ABC):
    """What one model predicted at the own times of all subjects; chunks add up."""

    def __init__(self) -> None:
        self.convention: dict[str, Any] = {}
        self.support = Support()
        self.undefined: str | None = None

    def update(self, problem: Problem, prediction: Prediction) -> None:
        """Add a chunk."""
        try:
            y, read = own_times_of(problem.y, *read_curves_of(problem, prediction))
        except UndefinedMetricError as error:
            self.undefined = self.undefined or str(error)
            return
        rows, s, convention, support = read
        self.convention = self.convention or convention
        self.support.merge(own_time_counts(y, support))
        self._add(rows, s)

    def merge(self, other: Any) -> None:
        """Add the chunks of another part."""
        self.undefined = self.undefined or other.undefined
        self.convention = self.convention or other.convention
        self.support.merge(other.support)
        self._join(other)

    def measured(self) -> Details:
        """Return the p-value of all subjects; raise where it is undefined."""
        if self.undefined is not None:
            raise UndefinedMetricError(self.undefined)
        found = self._tested(dict(self.convention), self.support.result())
        return Details(found.p_value, found.convention, found.support)

    @abstractmethod
    def _add(self, rows: Outcomes, s: Floats) -> None:
        """Add subjects with S at their own times."""

    @abstractmethod
    def _join(self, other: Any) -> None:
        """Add the subjects of another part."""

    @abstractmethod
    def _tested(self, convention: dict[str, Any], support: dict[str, Any]) -> CalibrationResult:
        """Test all subjects."""


class OwnTimesByModel:
    """S at the own times of all subjects, of every model; chunks add up."""

    #: What is kept of one model.
    one_model: type[OwnTimes]

    def __init__(self) -> None:
        self._models: dict[str, OwnTimes] = {}

    def update(self, problem: Problem, predictions: dict[str, Prediction]) -> None:
        """Add a chunk of subjects with the predictions of all models that have curves."""
        for model, prediction in predictions.items():
            self._models.setdefault(model, self.one_model()).update(problem, prediction)

    def merge(self, other: OwnTimesByModel) -> None:
        """Add the subjects of another part."""
        for model, theirs in other._models.items():
            self._models.setdefault(model, self.one_model()).merge(theirs)

    def measured(self, model: str, problem: Problem) -> Details:
        """Return the p-value of one model; raise where it is undefined."""
        return self._models[model].measured()
