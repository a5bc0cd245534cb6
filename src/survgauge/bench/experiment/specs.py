"""What a plan names (datasets, kinds of censoring, models, distributions), checked when read.

An entry is a name, or a table with a name and settings. Its *label* is what results call it and
what its seeds come from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from ...errors import InputError, one_of
from ...estimators.conditional import Conditional
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
