"""Names of version 0.1: they work for one version, with a warning that says what to write."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

#: Modules that moved, and where they are now.
MODULES = {
    "auditing": "evaluation.audit",
    "blending": "estimators.blending",
    "censoring": "bench.censoring",
    "datasets": "bench.datasets",
    "displays": "report.displays",
    "experiment": "bench.experiment",
    "inference": "evaluation.inference",
    "models": "bench.models",
    "preprocessing": "data.preprocessing",
    "reference": "estimators",
    "scorers": "evaluation.scorers",
    "sources": "evaluation.sources",
    "study": "report.study",
}

#: Names of public functions whose twin called ..._details went: they return a `Score` themselves.
_DETAILED = (
    "calibration_slope", "calibration_slope_cox", "concordance_index", "concordance_td", "coverage",
    "crps", "integrated_binomial_log_likelihood", "integrated_brier_score",
    "integrated_multi_cause_score", "km_calibration", "log_likelihood", "skill",
    "time_error",
)  # fmt: skip
#: Functions of interval-censored outcomes: where they are, and the function to call instead.
_OF_INTERVALS = {
    "interval_brier_score": ("metrics.probability.interval_scores", "brier_score"),
    "interval_concordance": ("metrics.ranking.concordance", "concordance_index"),
    "interval_error": ("metrics.time.interval_errors", "time_error"),
    "interval_integrated_brier_score": (
        *("metrics.probability.interval_scores", "integrated_brier_score"),
    ),
    "interval_log_likelihood": ("metrics.probability.log_likelihood", "log_likelihood"),
    "turnbull_calibration": ("metrics.calibration.interval_calibration", "km_calibration"),
}

#: Public names that went: (module, name) of what still does it, and what to write instead.
NAMES: dict[str, tuple[str, str, str]] = {
    **{f"{name}_details": ("", name, f"sg.{name}(...)") for name in _DETAILED},
    **{
        f"{old}{ending}": (home, old, f"sg.{new}(sg.IntervalOutcomes(...), ...)")
        for old, (home, new) in _OF_INTERVALS.items()
        for ending in ("", "_details")
    },
    "cumulative_dynamic_auc_details": (
        "metrics.ranking.auc",
        "cumulative_dynamic_auc_details",
        "sg.cumulative_dynamic_auc(..., stderr='auto').details",
    ),
    "Details": ("metrics.score", "Score", "sg.Score"),
    "GrayTest": ("metrics.group_tests", "GroupTest", 'ev.plot("curves")'),
    "TimeErrorDetails": ("metrics.time.terms", "TimeScore", "sg.Score"),
    "gray_test": (
        "metrics.group_tests",
        "gray_test",
        'ev.plot("curves", by=group), whose panels have it',
    ),
    "interval_observed_expected": (
        "metrics.calibration.observed_expected",
        "observed_expected",
        "sg.observed_expected(sg.IntervalOutcomes(...), ...)",
    ),
    "log_rank_test": (
        "metrics.group_tests",
        "log_rank_test",
        "risk_groups, which has its p-value, or lifelines.statistics.logrank_test",
    ),
}

#: Arguments and keys that were renamed, and what they are called now.
ARGUMENTS = {"law": "distribution", "pulls": "derivative"}

#: Fields of a metric's record that are members of its set `supports` now.
OLD_SUPPORT = ("takes_sample_weight", "takes_entry", "causes", "cause_with_entry", "outcomes")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def renamed(given: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Return arguments by the names that they have now, with a warning where one is old."""
    for old in ARGUMENTS.keys() & given:
        message = f"{old}= of {of} goes in 0.3; write {ARGUMENTS[old]}="
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    return {ARGUMENTS.get(name, name): value for name, value in given.items()}


def takes_old_arguments(function: _Function) -> _Function:
    """Let a function take arguments by the names of version 0.1, too."""

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if ARGUMENTS.keys() & options:
            options = renamed(options, function.__qualname__.removesuffix(".__init__"))
        return function(*args, **options)

    return called  # type: ignore[return-value]


def old_attribute(old: str, now: str) -> Any:
    """Return a property by which an attribute is read under the name of version 0.1."""

    def read(self: Any) -> Any:
        message = f"{type(self).__name__}.{old} goes in 0.3; write .{now}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(self, now)

    return property(read, doc=f"What `{now}` was called in version 0.1.")


def takes_old_support(function: _Function) -> _Function:
    """Let a record say with the fields of version 0.1 which questions its metric supports."""

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        old = {name: options.pop(name) for name in OLD_SUPPORT if name in options}
        if old:
            found = set(options.get("supports", ("weights",)))
            if not old.get("takes_sample_weight", True):
                found.discard("weights")
            if old.get("takes_entry"):
                found.add("entry")
            cause = {"takes": "cause", "needs": "all causes"}.get(old.get("causes", ""))
            found |= {cause} if cause else set()
            if {"entry", "cause"} <= found and old.get("cause_with_entry", True):
                found.add("entry of a cause")
            if old.get("outcomes") == "interval":
                found.add("intervals")
            message = f"{', '.join(old)} of Metric go in 0.3; write supports={sorted(found)}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            options["supports"] = found
        return function(*args, **options)

    return called  # type: ignore[return-value]


def old_name(name: str) -> Any:
    """Return what a name of version 0.1 stood for, with a warning."""
    home, found, instead = NAMES[name]
    message = f"survgauge.{name} goes in 0.3; write {instead}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return getattr(import_module(f"survgauge.{home}".rstrip(".")), found)


class OldModules(MetaPathFinder, Loader):
    """Import a module that moved by its old path: it is the same module under both."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Answer for modules of the table, and those inside them."""
        package, _, name = fullname.partition(".")
        if package != "survgauge" or name.partition(".")[0] not in MODULES:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import it from where it is now."""
        _, old, *inside = spec.name.split(".")
        new = ".".join(["survgauge", MODULES[old], *inside])
        if not inside:
            message = f"survgauge.{old} has moved; import {new}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        module = import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it was: it has run already."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state
