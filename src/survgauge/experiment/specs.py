"""What a plan names: data sets, kinds of censoring, models, metrics; each checked when it is read.

An entry is a name, or a table with a name and settings. Its *label* is what results call it and
what its seeds come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..censoring import COPULAS, KINDS
from ..data.tails import TAILS
from ..datasets import available
from ..errors import InputError, one_of
from ..metrics.registry import REGISTRY
from ..models import FACTS
from ..reference.g_source import G_SETS
from ..reference.kaplan_meier import AREAS
from .imports import imported
from .laws import KM, MODEL, LawSpec

#: Plain errors in the real times by their short names (mae, mse, rmse): what metrics compute them
#: where nobody is censored.
PLAIN_ERRORS = {
    metric.name.removesuffix("_uncensored"): metric.name
    for metric in REGISTRY.values()
    if metric.method is not None and metric.method.name == "uncensored"
}
#: Stands for the largest time that a fold's data support, see `survgauge.evaluate`.
HORIZON = "horizon"
_SHARED = ("time", "tau", "convention", "min_g", "min_at_risk", "on_unsupported", "censoring")
#: Of metrics that take the law of the event times given features.
_LAW_ONLY = ("law", "floor")
_TIME_ERROR_ONLY = {
    "weighted": (True, False),
    "area": AREAS,
    "tail": TAILS,
    "normalize": ("n", "weights", "events"),
}


def _table(entry: Any, what: str, key: str = "name") -> dict[str, Any]:
    """Read an entry of a list: a name, or a table."""
    if isinstance(entry, str):
        return {key: entry}
    if not isinstance(entry, Mapping) or not all(isinstance(k, str) for k in entry):
        raise InputError(
            f"{what} must be names or tables with a {key!r}; got {type(entry).__name__}"
        )
    table = dict(entry)
    if not isinstance(table.get(key), str) or not table[key]:
        raise InputError(f"{what}: a table needs {key!r}, a text; got {table.get(key)!r}")
    return table


def _refuse_unknown(table: Mapping[str, Any], allowed: Any, what: str) -> None:
    unknown = [key for key in table if key not in allowed]
    if unknown:
        raise InputError(f"{what} has no setting {unknown[0]!r}; it has {', '.join(allowed)}")


def _label(table: dict[str, Any], name: str, settings: Mapping[str, Any], what: str) -> str:
    given = table.pop("label", None)
    if given is not None:
        if not isinstance(given, str) or not given:
            raise InputError(f"{what} {name!r}: label must be a text; got {given!r}")
        return given
    shown = ", ".join(f"{key}={_shown(value)}" for key, value in sorted(settings.items()))
    return f"{name}({shown})" if shown else name


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class DatasetSpec:
    """A data set: a name of `survgauge datasets`, or a table of your own with a path.

    >>> DatasetSpec.of({"name": "mimic_a", "optional": True}).optional
    True
    """

    label: str
    path: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    optional: bool = False

    @classmethod
    def of(cls, entry: Any, folder: Path | None = None) -> DatasetSpec:
        """Read an entry; relative paths are relative to `folder`."""
        if isinstance(entry, cls):
            return entry
        table = _table(entry, "datasets")
        name = table.pop("name")
        _refuse_unknown(table, ("path", "optional", "time", "event", "drop"), f"data set {name!r}")
        path, optional = table.pop("path", None), bool(table.pop("optional", False))
        if path is None and name not in available().names:
            raise InputError(
                f"datasets: unknown data set {name!r}; `survgauge datasets` lists them, and a "
                "table of your own needs a path"
            )
        if path is not None and folder is not None:
            path = str(folder / Path(path).expanduser())
        return cls(name, path, table, optional)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        place = {} if self.path is None else {"path": self.path}
        optional = {"optional": True} if self.optional else {}
        return {"name": self.label, **place, **optional, **self.settings}

    def identity(self) -> dict[str, Any]:
        """What the numbers depend on; where the file lies is not part of it."""
        return {"name": self.label, **self.settings}

    def is_here(self) -> bool:
        """Whether it can be read without fetching."""
        if self.path is not None:
            return Path(self.path).exists()
        return available()[self.label].available


@dataclass(frozen=True)
class CensoringSpec:
    """A kind of censoring with its settings (rate, kendall_tau, copula).

    >>> CensoringSpec.of({"name": "uniform", "rate": 0.5}).label
    'uniform(rate=0.5)'
    """

    label: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Any) -> CensoringSpec:
        """Read an entry."""
        if isinstance(entry, cls):
            return entry
        table = _table(entry, "censoring")
        kind = table.pop("name")
        one_of("censoring", kind, KINDS)
        _refuse_unknown(table, ("label", "rate", "kendall_tau", "copula"), f"censoring {kind!r}")
        if "copula" in table:
            one_of("copula", table["copula"], COPULAS)
        settings = {key: value for key, value in table.items() if key != "label"}
        return cls(_label(table, kind, settings, "censoring"), kind, settings)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        return {"name": self.kind, "label": self.label, **self.settings}

    identity = entry


@dataclass(frozen=True)
class ModelSpec:
    """A model with its parameters; ``class = "module:Class"`` is one of your own.

    >>> ModelSpec.of({"name": "rsf", "n_estimators": 20}).label
    'rsf(n_estimators=20)'
    """

    label: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)
    home: str | None = None

    @classmethod
    def of(cls, entry: Any) -> ModelSpec:
        """Read an entry."""
        if isinstance(entry, cls):
            return entry
        table = _table(entry, "models")
        name, home = table.pop("name"), table.pop("class", None)
        if home is None:
            one_of("models", name, FACTS)
        params = {key: value for key, value in table.items() if key != "label"}
        return cls(_label(table, name, params, "model"), name, params, home)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        home = {} if self.home is None else {"class": self.home}
        return {"name": self.name, "label": self.label, **home, **self.params}

    identity = entry

    def build(self, seed: int) -> Any:
        """Make the model; `seed` goes to models that draw, unless the plan gives them a seed."""
        from ..models import build

        if self.home is not None:
            model = imported(self.home, f"model {self.name!r}: class")(**self.params)
        else:
            model = build(self.name, **self.params)
        known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        if "random_state" in known and "random_state" not in self.params:
            model.set_params(random_state=seed)
        return model


@dataclass(frozen=True)
class MetricSpec:
    """A metric with its settings, and the truth that it is measured against.

    The truth of ``mae_*``, ``mse_*`` and ``rmse_*`` is the error in the real times (``mae``, ...);
    that of ``harrell`` and ``uno`` is Harrell's C with the real times; that of any other metric is
    itself with the real times. A setting ``truth`` chooses another metric, an empty text none.
    ``function = "module:name"`` is a metric of your own, called with (problem, prediction); for one
    that was registered by `register_metric` its name is enough.

    Examples
    --------
    >>> spec = MetricSpec.of({"name": "mae_po", "weighted": False})
    >>> spec.label, spec.truth
    ('mae_po(weighted=false)', 'mae')
    >>> MetricSpec.of({"name": "mae_po", "tau": "horizon"}).truth_label
    'mae(tau=horizon)'
    """

    label: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    truth: str = ""
    function: str | None = None
    direction: str = "lower"

    @classmethod
    def of(cls, entry: Any) -> MetricSpec:
        """Read an entry."""
        if isinstance(entry, cls):
            return entry
        table = _table(entry, "metrics")
        name, function = table.pop("name"), table.pop("function", None)
        truth, direction = table.pop("truth", None), table.pop("direction", None)
        # A stored plan says the direction of metrics that nobody may have registered here.
        if function is None and (direction is None or name in REGISTRY):
            one_of("metrics", name, REGISTRY)
            direction = REGISTRY[name].direction
            if REGISTRY[name].target is not None:
                raise InputError(
                    f"metrics: {name} puts models in no order ({REGISTRY[name].better}), so a plan "
                    "cannot compare its order with the true one; leave it out"
                )
        one_of(f"metric {name!r}: direction", direction, ("lower", "higher"))
        settings = {key: value for key, value in table.items() if key != "label"}
        _check_settings(name, settings)
        label = _label(table, name, settings, "metric")
        return cls(label, name, settings, _truth_of(name, truth, function), function, direction)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        table = {"name": self.name, "label": self.label, "truth": self.truth, **self.settings}
        if self.function is not None:
            table["function"] = self.function
        if self.function is not None or self.is_registered_by_user:
            table["direction"] = self.direction
        return table

    identity = entry

    @property
    def is_registered_by_user(self) -> bool:
        """Whether the metric came by `register_metric`: other processes and machines lack it."""
        if self.function is not None:
            return False
        metric = REGISTRY.get(self.name)
        if metric is None:
            return True
        function: Any = metric.terms or metric.compute
        home = getattr(function, "func", function).__module__  # of a partial function, too
        return not home.startswith(f"{__name__.partition('.')[0]}.")

    @property
    def law(self) -> LawSpec | None:
        """The law that has to be fitted for it; None: Kaplan-Meier, or no law at all."""
        name = self.settings.get("law", KM)
        return None if name == KM else LawSpec(name)

    @property
    def truth_settings(self) -> dict[str, Any]:
        """Settings that change what is true, not only how it is estimated."""
        shared: tuple[str, ...] = ("tau", "time", "min_g", "min_at_risk")
        if self.truth in PLAIN_ERRORS:
            # The two that say where the horizon lies.
            shared = shared[:1] + shared[2:] * (self.settings.get("tau") == HORIZON)
        return {key: self.settings[key] for key in shared if key in self.settings}

    @property
    def truth_label(self) -> str:
        """Name of the family of metrics that share a truth; empty without one."""
        return _label({}, self.truth, self.truth_settings, "truth") if self.truth else ""


def _check_settings(name: str, settings: dict[str, Any]) -> None:
    metric = REGISTRY.get(name)
    time_error = metric is None or metric.method is not None
    allowed = (*_SHARED, *_LAW_ONLY, *(_TIME_ERROR_ONLY if time_error else ()))
    _refuse_unknown(settings, allowed, f"metric {name!r}")
    for key, choices in _TIME_ERROR_ONLY.items():
        if key in settings and settings[key] not in choices:
            raise InputError(
                f"metric {name!r}: {key} must be one of {', '.join(map(_shown, choices))}; "
                f"got {settings[key]!r}"
            )
    tau = settings.get("tau", 1.0)
    if tau != HORIZON and not (isinstance(tau, int | float) and tau > 0):
        raise InputError(
            f"metric {name!r}: tau must be a positive number or {HORIZON!r}; got {tau!r}"
        )
    _check_law(name, settings)


def _check_law(name: str, settings: dict[str, Any]) -> None:
    law, source = settings.get("law", KM), settings.get("censoring")
    method = REGISTRY[name].method if name in REGISTRY else None
    if method is not None and not method.takes_law and "law" in settings:
        able = [m.name for m in REGISTRY.values() if m.method is not None and m.method.takes_law]
        raise InputError(f"metric {name!r} takes no law; {', '.join(able)} do")
    if law != KM:
        try:
            LawSpec(law)
        except InputError as error:
            raise InputError(f"metric {name!r}: {error}") from error
    if source is not None:
        one_of(f"metric {name!r}: censoring", source, (*G_SETS, MODEL))
    if source == MODEL and law == KM:
        raise InputError(
            f"metric {name!r}: censoring = 'model' takes the censoring model of a fitted law, but "
            "law is 'km'; say law = 'blend', or censoring = 'test' or 'train'"
        )
    floor = settings.get("floor", 0.1)
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor < 1:
        raise InputError(f"metric {name!r}: floor must be a probability below 1; got {floor!r}")


def _truth_of(name: str, given: Any, function: str | None) -> str:
    if given is not None:
        if given != "":
            one_of(f"metric {name!r}: truth", given, (*PLAIN_ERRORS, *REGISTRY, name))
        return str(given)
    if function is not None:
        raise InputError(
            f"metric {name!r} is your own: say its truth, a metric to be computed with the real "
            f"times ({', '.join(PLAIN_ERRORS)}, harrell, ibs, ...) or an empty text"
        )
    metric = REGISTRY.get(name)
    if metric is not None and metric.within_horizon:
        raise InputError(
            f'metric {name!r} stops at the horizon by itself; say {{ name = "mae_dr", tau = '
            '"horizon" }} in a plan'
        )
    if metric is not None and metric.method is not None:
        return name.removesuffix(f"_{metric.method.name}")
    # Uno's C estimates Harrell's without censoring.
    return "harrell" if name == "uno" else name
