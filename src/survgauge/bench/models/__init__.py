"""Survival models behind one protocol: `fit`, `predict_curves`, `predict_time`.

>>> from survgauge import models
>>> [row["name"] for row in models.available()][:3]
['lr', 'km', 'coxph']

Listing models imports none of the libraries that they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...estimators.learners import FitError, FitWarning, ModelError, ModelFacts, PredictionError
from .registry import FACTS, available, build

if TYPE_CHECKING:
    from ...estimators.learners.base import SurvivalModel
    from .wrappers import from_lifelines, from_sklearn

__all__ = [
    "FACTS",
    "FitError",
    "FitWarning",
    "ModelError",
    "ModelFacts",
    "PredictionError",
    "SurvivalModel",
    "available",
    "build",
    "from_lifelines",
    "from_sklearn",
]

if not TYPE_CHECKING:  # to type checkers, what is not imported above does not exist
    _HOMES = {
        "SurvivalModel": "survgauge.estimators.learners.base",
        "from_lifelines": "survgauge.bench.models.wrappers",
        "from_sklearn": "survgauge.bench.models.wrappers",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'survgauge.bench.models' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
