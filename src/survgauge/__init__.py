"""survgauge: measuring survival models in the units people care about.

Names are loaded when first used, so that ``import survgauge`` costs no more than NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "adapters": ("as_curves", "curves_from_aft", "curves_from_quantiles"),
    "censoring": ("SemiSynthetic", "semisynthetic"),
    "curves": ("SurvivalCurves",),
    "errors": ("InputError", "MissingExtraError", "SurvgaugeError", "UndefinedMetricError"),
    "evaluation": ("Evaluation", "evaluate"),
    "inference": ("compare_folds", "holm"),
    "metrics.brier_decomposition": ("brier_decomposition",),
    "metrics.calibration": ("CalibrationResult", "d_calibration", "one_calibration"),
    "metrics.calibration_measures": (
        "calibration_slope",
        "calibration_slope_details",
        "coverage",
        "coverage_details",
        "km_calibration",
        "km_calibration_details",
    ),
    "metrics.conventions": ("Convention",),
    "metrics.densities": (
        "crps",
        "crps_details",
        "log_likelihood",
        "log_likelihood_details",
    ),
    "metrics.details": ("CurveResult", "Details"),
    "metrics.discrimination": (
        "ComparablePairs",
        "comparable_pairs",
        "concordance_index",
        "concordance_index_details",
        "concordance_td",
        "concordance_td_details",
    ),
    "metrics.dynamic_auc": ("cumulative_dynamic_auc", "cumulative_dynamic_auc_details"),
    "metrics.censoring_tests": ("CensoringTest", "censoring_test"),
    "metrics.logrank": ("LogRankResult", "log_rank", "log_rank_test"),
    "metrics.probability": (
        "binomial_log_likelihood",
        "brier_score",
        "integrated_binomial_log_likelihood",
        "integrated_binomial_log_likelihood_details",
        "integrated_brier_score",
        "integrated_brier_score_details",
    ),
    "metrics.registry": ("available_metrics",),
    "metrics.residuals": (
        "cox_snell_residuals",
        "deviance_residuals",
        "martingale_residuals",
        "residual_details",
    ),
    "metrics.skill": ("brier_skill", "reference_curves", "skill", "skill_details"),
    "metrics.smooth_calibration": ("ICIResult", "integrated_calibration_index"),
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
    "streaming": (
        "CurveColumns",
        "OutcomeCounts",
        "RiskColumn",
        "StreamedMean",
        "TimeColumn",
        "evaluate_dask",
        "evaluate_stream",
    ),
    "surrogates": ("Surrogates", "surrogate_times"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = ("datasets", "displays", "experiment", "models", "preprocessing", "streaming")

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
