"""What a plan names: datasets, kinds of censoring, models, distributions, metrics; checked.

An entry is a name, or a table with a name and settings. Its *label* is what results call it and
what its seeds come from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from ..._old_names import renamed
from ..._tools.arrays import positive
from ..._tools.running import is_own
from ...data.predictions import Prediction
from ...errors import InputError, located, one_of
from ...estimators.conditional import Conditional
from ...estimators.estimated_g import G_SETS
from ...metrics.conventions import Convention
from ...metrics.registry import REGISTRY, Metric
from ..censoring import COPULAS, KINDS
from ..datasets import available
from ..models import FACTS

#: the Kaplan-Meier baseline: nothing is fitted.
KM = "km"
#: Where the censoring distribution of a metric comes from: G of a set, or the distribution's own
#: model.
MODEL = "model"
#: Distributions with a name of their own, and the functions that fit them.
NAMED_DISTRIBUTIONS = {"blend": "survgauge.estimators.blending:conditional"}
#: Goes up when a named distribution comes to different curves, so that stored ones are not taken
#: for them.
DISTRIBUTIONS_VERSION = 4


def entry_table(entry: Any, what: str) -> dict[str, Any]:
    """Read an entry of a list: a name, or a table."""
    if isinstance(entry, str):
        return {"name": entry}
    if not isinstance(entry, Mapping) or not all(isinstance(k, str) for k in entry):
        raise InputError(
            f"{what} must be names or tables with a 'name'; got {type(entry).__name__}"
        )
    table = dict(entry)
    if not isinstance(table.get("name"), str) or not table["name"]:
        raise InputError(f"{what}: a table needs 'name', a text; got {table.get('name')!r}")
    return table


def refuse_unknown(table: Mapping[str, Any], allowed: Any, what: str) -> None:
    """Refuse a setting that a table may not have."""
    unknown = [key for key in table if key not in allowed]
    if unknown:
        raise InputError(f"{what} has no setting {unknown[0]!r}; it has {', '.join(allowed)}")


def label_of(table: dict[str, Any], name: str, what: str) -> str:
    """Take the label out of a table of settings, or make one of the name and these settings.

    >>> label_of({"tail": "hold", "weighted": False}, "mae_po", "metric")
    'mae_po(tail=hold, weighted=false)'
    """
    label = table.pop("label", None)
    if label is None:
        # Settings are spelt as in TOML.
        shown = {k: str(v).lower() if isinstance(v, bool) else v for k, v in table.items()}
        words = ", ".join(f"{key}={value}" for key, value in sorted(shown.items()))
        return f"{name}({words})" if words else name
    if not isinstance(label, str) or not label:
        raise InputError(f"{what} {name!r}: label must be a text; got {label!r}")
    return label


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset: a name of `survgauge datasets`, or a table of your own with a path.

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
        table = entry_table(entry, "datasets")
        name = table.pop("name")
        refuse_unknown(table, ("path", "optional", "time", "event", "drop"), f"dataset {name!r}")
        path, optional = table.pop("path", None), bool(table.pop("optional", False))
        if path is None and name not in available().names:
            raise InputError(
                f"datasets: unknown dataset {name!r}; `survgauge datasets` lists them, and a "
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
        table = entry_table(entry, "censoring")
        kind = table.pop("name")
        one_of("censoring", kind, KINDS)
        refuse_unknown(table, ("label", "rate", "kendall_tau", "copula"), f"censoring {kind!r}")
        if "copula" in table:
            one_of("copula", table["copula"], COPULAS)
        return cls(label_of(table, kind, "censoring"), kind, table)

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
        table = entry_table(entry, "models")
        name, home = table.pop("name"), table.pop("class", None)
        if home is None:
            own = " (or a model of your own, with the key class)" if table else ""
            one_of(f"models{own}", name, FACTS)
        return cls(label_of(table, name, "model"), name, table, home)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        home = {} if self.home is None else {"class": self.home}
        return {"name": self.name, "label": self.label, **home, **self.params}

    identity = entry

    def build(self, seed: int, **params: Any) -> Any:
        """Make the model; `seed` goes to models that draw, unless the plan gives them a seed.

        `params` take the place of those of the plan.
        """
        from ..models import build

        given = {**self.params, **params}
        if self.home is not None:
            made = imported(self.home, f"model {self.name!r}: class")
            try:
                model = made(**given)
            except Exception as error:  # a class of the user's can raise anything
                raise InputError(
                    f"model {self.name!r}: {self.home} cannot be made with the settings "
                    f"{given} ({type(error).__name__}: {error}); other keys of its entry in "
                    "the plan are its parameters"
                ) from error
        else:
            model = build(self.name, **given)
        known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        if "random_state" in known and "random_state" not in given:
            model.set_params(random_state=seed)
        return model


@dataclass(frozen=True)
class DistributionSpec:
    """A distribution that metrics of a plan ask for: a name, or ``module:function`` of your own.

    A function of your own is called like `survgauge.conditional`, with (X_train, y_train, X_test)
    and ``random_state=``, and returns a `survgauge.Conditional`.

    Examples
    --------
    >>> DistributionSpec("blend").label
    'distribution blend'
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or (
            self.name not in NAMED_DISTRIBUTIONS and ":" not in self.name
        ):
            names = ", ".join(repr(name) for name in (KM, *NAMED_DISTRIBUTIONS))
            raise InputError(
                f"distribution must be one of {names} or 'module:function'; got {self.name!r}"
            )

    @property
    def label(self) -> str:
        """What progress and failures call it."""
        return f"distribution {self.name}"

    def identity(self) -> dict[str, Any]:
        """What its curves depend on besides the fold."""
        return {"distribution": self.name, "version": DISTRIBUTIONS_VERSION}

    def fit(self, X_train: Any, y_train: Any, X_test: Any, y_test: Any, seed: int) -> Conditional:
        """Fit, and predict for the test subjects; named ones as `evaluate` does, on both sets."""
        function = imported(NAMED_DISTRIBUTIONS.get(self.name, self.name), "distribution")
        more = {"y_test": y_test} if self.name in NAMED_DISTRIBUTIONS else {}
        found = function(X_train, y_train, X_test, random_state=seed, **more)
        if not isinstance(found, Conditional) or len(found) != len(X_test):
            raise InputError(
                f"distribution {self.name!r} must return a Conditional with a curve for each of "
                f"{len(X_test)} test subjects; got {found!r}"
            )
        return found


# -- where modules of the user's are found ---------------------------------------------------------


def look_in(folder: str | None) -> bool:
    """Put a folder first on the import path, as Python does with the folder of a script.

    Returns whether it was not there yet.
    """
    if folder is None or folder in sys.path:
        return False
    sys.path.insert(0, folder)
    invalidate_caches()  # files may be newer than what Python knows of the folder
    return True


@contextmanager
def looking_in(folder: str | None) -> Iterator[None]:
    """Look for modules in a folder for a while.

    Modules that lie in it are forgotten afterwards: the next run reads them as they are then, and
    another plan may have modules of the same names beside it.
    """
    before, added = set(sys.modules), look_in(folder)
    try:
        yield
    finally:
        if added:
            sys.path.remove(str(folder))
            for name in set(sys.modules) - before:
                # Not packages of an environment that happens to lie below the folder.
                base = Path(str(folder), name.partition(".")[0])
                if base.with_suffix(".py").is_file() or (base / "__init__.py").is_file():
                    del sys.modules[name]


def imported(path: str, what: str) -> Any:
    """Import ``module:name``.

    >>> imported("math:floor", "it")(2.5)
    2
    """
    module, separator, name = path.partition(":")
    if not separator:
        raise InputError(f"{what} must be 'module:name'; got {path!r}")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # a module of the user's can raise anything
        raise InputError(
            f"{what} {path!r} cannot be imported ({type(error).__name__}: {error}); modules are "
            "looked for beside the plan (of the leaderboard: in the folder of the call) and where "
            "Python finds packages"
        ) from error


#: Plain errors in the real times by their short names (mae, mse, rmse): what metrics compute them
#: where nobody is censored.
PLAIN_ERRORS = {
    metric.name.removesuffix("_uncensored"): metric.name
    for metric in REGISTRY.values()
    if metric.method is not None and metric.method.name == "uncensored"
}
#: Stands for the largest time that a fold's data support, see `survgauge.evaluate`.
HORIZON = "horizon"
#: What a model must offer for a metric of your own, unless the plan says more or less.
_OWN_NEEDS = "times"
#: Settings of all metrics; of these the second row belongs to a `Convention`.
_SETTINGS = ("time", "tau", "convention", "censoring", "distribution")
_OF_CONVENTION = ("min_g", "min_at_risk", "on_unsupported", "floor")
#: Settings of time errors, which are fields of a `Convention` too.
_OF_TIME_ERRORS = ("weighted", "area", "tail", "normalize")


@dataclass(frozen=True)
class MetricSpec:
    """A metric with its settings, and the truth that it is measured against.

    The truth of ``mae_*``, ``mse_*`` and ``rmse_*`` is the error in the real times (``mae``, ...);
    that of ``harrell``, and of ``uno`` without tau, is Harrell's C in the real times; that of any
    other metric is itself with the real times. A setting ``truth`` chooses another metric, an empty
    text none. ``function = "module:name"`` is a metric of your own, called with (task,
    prediction); its ``truth`` may be such a function, too. ``needs`` says what a model must offer
    for it: curves, times (which curves have, too) or risk. For a metric that was registered by
    `register_metric` its name is enough.

    Examples
    --------
    >>> spec = MetricSpec.of({"name": "mae_po", "weighted": False})
    >>> spec.label, spec.truth
    ('mae_po(weighted=false)', 'mae')
    >>> MetricSpec.of({"name": "mae_po", "tau": "horizon"}).truth_label
    'mae(tau=horizon)'
    >>> MetricSpec.of("mae_within").truth_label
    'mae(tau=horizon)'
    """

    label: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    truth: str = ""
    function: str | None = None
    direction: str = "lower"
    needs: str = _OWN_NEEDS

    @classmethod
    def of(cls, entry: Any) -> MetricSpec:
        """Read an entry."""
        if isinstance(entry, cls):
            return entry
        table = entry_table(entry, "metrics")
        name, function = table.pop("name"), table.pop("function", None)
        truth, direction = table.pop("truth", None), table.pop("direction", None)
        # A stored plan says the direction of metrics that nobody may have registered here.
        metric = None if function is not None else REGISTRY.get(name)
        if function is None and (direction is None or metric is not None):
            one_of("metrics", name, REGISTRY)
            direction = REGISTRY[name].direction
            if REGISTRY[name].target is not None:
                raise InputError(
                    f"metrics: {name} puts models in no order ({REGISTRY[name].better}), so a plan "
                    "cannot compare its order with the true one; leave it out"
                )
        if direction not in ("lower", "higher"):
            raise InputError(
                f"metric {name!r}: direction must be 'lower' or 'higher', whichever is better; "
                f"got {direction!r}"
            )
        needs = table.pop("needs", _OWN_NEEDS) if function is not None else _OWN_NEEDS
        one_of(f"metric {name!r}: needs", needs, ("curves", "times", "risk"))
        label = label_of(table, name, "metric")
        settings = renamed(table, f"metric {name!r}")
        with located(f"metric {name!r}"):
            if metric is not None and metric.within_horizon:
                settings = _within_horizon(settings)
            _check_settings(metric, settings)
        truth = _truth_of(name, truth, function, "tau" in settings)
        true = REGISTRY.get(PLAIN_ERRORS.get(truth, truth))
        if function is not None and true is not None and true.direction != direction:
            raise InputError(
                f"metric {name!r}: its truth {truth!r} is better where it is {true.direction}, so "
                f"direction must be {true.direction!r}; got {direction!r}"
            )
        return cls(label, name, settings, truth, function, direction, needs)

    def entry(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        table = {"name": self.name, "label": self.label, "truth": self.truth, **self.settings}
        if self.function is not None:
            table["function"] = self.function
            table |= {} if self.needs == _OWN_NEEDS else {"needs": self.needs}
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
        return metric is None or not is_own(metric.terms or metric.compute)

    def check(self) -> None:
        """Refuse a metric that is not registered, or whose module is not there."""
        if self.function is None:
            one_of("metrics", self.name, REGISTRY)
        else:
            self.load()
        if self.truth_spec is not None and self.truth_spec.function is not None:
            self.truth_spec.load()

    def load(self) -> Callable[[Any, Any], Any]:
        """Import the function of a metric of your own."""
        found = imported(str(self.function), f"metric {self.name!r}: function")
        if not callable(found):
            raise InputError(
                f"metric {self.name!r}: {self.function} must be a function of (task, "
                f"prediction); it is {found!r}"
            )
        return found

    def offered_by(self, prediction: Prediction) -> bool:
        """Whether a model's prediction has what the metric needs."""
        needs = self.needs if self.function is not None else REGISTRY[self.name].needs
        return prediction.has(needs)

    @property
    def truth_spec(self) -> MetricSpec | None:
        """The metric that gives the truth where every event is known; None without one."""
        if not self.truth:
            return None
        if self.function is not None and self.truth == self.name:
            return MetricSpec(self.name, self.name, function=self.function, needs=self.needs)
        if ":" in self.truth:
            return MetricSpec(self.truth, self.truth, function=self.truth, needs=self.needs)
        return MetricSpec(self.truth, PLAIN_ERRORS.get(self.truth, self.truth))

    @property
    def distribution(self) -> DistributionSpec | None:
        """The distribution to fit for it; None: Kaplan-Meier, or no distribution at all."""
        name = self.settings.get("distribution", KM)
        return None if name == KM else DistributionSpec(name)

    @property
    def truth_settings(self) -> dict[str, Any]:
        """Settings that change what is true, not only how it is estimated."""
        shared: tuple[str, ...] = ("tau", "time", "min_g", "min_at_risk", "threshold")
        if self.truth in PLAIN_ERRORS:
            # The two that say where the horizon lies.
            shared = shared[:1] + shared[2:] * (self.settings.get("tau") == HORIZON)
        return {key: self.settings[key] for key in shared if key in self.settings}

    @property
    def truth_label(self) -> str:
        """Name of the family of metrics that share a truth; empty without one."""
        return label_of(self.truth_settings, self.truth, "truth") if self.truth else ""


def _within_horizon(settings: dict[str, Any]) -> dict[str, Any]:
    """Add what `mae_within` is in an evaluation: up to the horizon, with G of the test subjects."""
    if settings.get("tau", HORIZON) != HORIZON:
        raise InputError(
            f"tau must be {HORIZON!r}, where it stops by itself; got {settings['tau']!r}. For "
            "another horizon take 'mae_dr'"
        )
    return {"censoring": "test", "tau": HORIZON, **settings}


def _check_settings(metric: Metric | None, settings: dict[str, Any]) -> None:
    """Refuse settings that a metric does not take; a metric of your own takes all of them."""
    method = None if metric is None else metric.method
    in_convention: tuple[str, ...] = _OF_CONVENTION
    if metric is None or method is not None:
        in_convention += _OF_TIME_ERRORS
    if metric is None or metric.reads_threshold:
        in_convention += ("threshold",)
    refuse_unknown(settings, (*_SETTINGS, *in_convention), "it")
    given = {key: value for key, value in settings.items() if key in in_convention}
    Convention.of(settings.get("convention", "paper"), **given)
    if metric is not None:
        metric.check_threshold(settings.get("threshold"))
    if settings.get("tau", HORIZON) != HORIZON:
        positive(settings["tau"], f"tau (or {HORIZON!r})")
    positive(settings.get("time", 1.0), "time (one number, an entry of the plan for each time)")
    if method is not None and not method.takes_distribution and "distribution" in settings:
        able = [m.name for m in REGISTRY.values() if m.method and m.method.takes_distribution]
        raise InputError(f"it takes no distribution; {', '.join(able)} do")
    distribution, source = settings.get("distribution", KM), settings.get("censoring")
    if distribution != KM:
        DistributionSpec(distribution)
    if source is not None:
        one_of("censoring", source, (*G_SETS, MODEL))
    if source == MODEL and distribution == KM:
        raise InputError(
            "censoring = 'model' takes the censoring model of a fitted distribution, but "
            "distribution is 'km'; say distribution = 'blend', or censoring = 'test' or 'train'"
        )


def _truth_of(name: str, given: Any, function: str | None, stopped: bool) -> str:
    if given is not None:
        if given != "" and not (isinstance(given, str) and ":" in given):
            one_of(f"metric {name!r}: truth", given, (*PLAIN_ERRORS, *REGISTRY, name))
        return str(given)
    if function is not None:
        return name
    metric = REGISTRY.get(name)
    if metric is not None and metric.method is not None:
        kind = metric.loss, metric.root
        for short, plain in PLAIN_ERRORS.items():
            if (REGISTRY[plain].loss, REGISTRY[plain].root) == kind:
                return short
    # Uno's C estimates Harrell's without censoring, unless a horizon leaves late pairs out.
    return "harrell" if name == "uno" and not stopped else name
