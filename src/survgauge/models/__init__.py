"""Survival models behind one protocol: `fit`, `predict_curves`, `predict_time`.

>>> from survgauge import models
>>> [row["name"] for row in models.available()][:3]
['lr', 'km', 'coxph']

Listing models imports none of the libraries that they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import FitError, FitWarning, ModelError, PredictionError
from .facts import FACTS, ModelFacts
from .registry import available, build

if TYPE_CHECKING:
    from .base import SurvivalModel
    from .lifelines_wrapper import from_lifelines
    from .wrappers import from_sklearn

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
        "SurvivalModel": "base",
        "from_lifelines": "lifelines_wrapper",
        "from_sklearn": "wrappers",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'survgauge.models' has no attribute {name!r}")
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
