"""survgauge: measuring survival models in the units people care about.

Names are loaded when first used, so that ``import survgauge`` costs no more than NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "adapters": ("as_curves",),
    "curves": ("SurvivalCurves",),
    "errors": ("InputError", "MissingExtraError", "UndefinedMetricError"),
    "evaluation": ("Evaluation", "evaluate"),
    "inference": ("compare_folds", "holm"),
    "metrics.registry": ("available_metrics",),
    "metrics.time_errors": (
        "TimeErrorDetails",
        "mae",
        "mse",
        "rmse",
        "time_error",
        "time_error_details",
        "time_errors",
    ),
    "nonparametric": ("KaplanMeier",),
    "outcomes": ("Outcomes",),
    "predictions": ("RiskScores",),
    "pseudo": ("pseudo_observations",),
    "reference": ("Reference",),
    "scorers": ("SurvivalKFold", "scorer"),
    "surrogates": ("Surrogates", "surrogate_times"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES: tuple[str, ...] = ()

__all__ = [*sorted([*_HOME_OF, *_SUBMODULES]), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    elif name in _SUBMODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'survgauge' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
