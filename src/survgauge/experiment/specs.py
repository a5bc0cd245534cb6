"""What a plan names: data sets, kinds of censoring, models; each checked when it is read.

An entry is a name, or a table with a name and settings. Its *label* is what results call it and
what its seeds come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..censoring import COPULAS, KINDS
from ..datasets import available
from ..errors import InputError, one_of
from ..models import FACTS
from .imports import imported


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


def label_of(table: dict[str, Any], name: str, settings: Mapping[str, Any], what: str) -> str:
    """Take the label out of a table, or make one of the name and its settings."""
    given = table.pop("label", None)
    if given is not None:
        if not isinstance(given, str) or not given:
            raise InputError(f"{what} {name!r}: label must be a text; got {given!r}")
        return given
    words = ", ".join(f"{key}={shown(value)}" for key, value in sorted(settings.items()))
    return f"{name}({words})" if words else name


def shown(value: Any) -> str:
    """Spell a setting as TOML does."""
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
        table = entry_table(entry, "datasets")
        name = table.pop("name")
        refuse_unknown(table, ("path", "optional", "time", "event", "drop"), f"data set {name!r}")
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
        table = entry_table(entry, "censoring")
        kind = table.pop("name")
        one_of("censoring", kind, KINDS)
        refuse_unknown(table, ("label", "rate", "kendall_tau", "copula"), f"censoring {kind!r}")
        if "copula" in table:
            one_of("copula", table["copula"], COPULAS)
        settings = {key: value for key, value in table.items() if key != "label"}
        return cls(label_of(table, kind, settings, "censoring"), kind, settings)

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
            one_of("models", name, FACTS)
        params = {key: value for key, value in table.items() if key != "label"}
        return cls(label_of(table, name, params, "model"), name, params, home)

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
