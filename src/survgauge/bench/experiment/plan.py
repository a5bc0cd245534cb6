"""A plan: what is crossed with what, expanded to cells that depend on nothing but their names."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from ..._tools.arrays import positive, whole_number
from ..._tools.extras import need
from ..._tools.random import check_seed, stream
from ...errors import InputError, located
from ...metrics.registry import REGISTRY
from ..models import FACTS
from .specs import (
    CensoringSpec,
    DatasetSpec,
    DistributionSpec,
    MetricSpec,
    ModelSpec,
    refuse_unknown,
)

#: Goes up when the harness itself comes to different numbers, so that old cells are not reused.
NUMBERS_VERSION = 1
#: File systems take names of 255 bytes; the digest tells cells apart.
_LONGEST_SLUG = 100


@dataclass(frozen=True)
class Cell:
    """The unit of work: what is fitted on one fold of one semi-synthetic dataset.

    That is a model, or a distribution given the features that the metrics of all models of the fold
    look at. Seeds come from the plan's seed and the names on its path: a cell gives the same
    numbers alone or in another order, draws the same on another machine (fitted models can differ
    there in last bits), and all cells of a fold share the censoring draw and the split.
    """

    plan: Plan
    dataset: DatasetSpec
    censoring: CensoringSpec
    repeat: int
    fold: int
    model: ModelSpec | DistributionSpec

    @property
    def is_distribution(self) -> bool:
        """Whether a distribution is fitted, whose result are its curves, and no model."""
        return isinstance(self.model, DistributionSpec)

    def _seed(self, purpose: str, *names: str | int) -> int:
        path = (self.dataset.label, self.censoring.label, self.repeat, *names)
        return int(stream(self.plan.seed, "experiment", purpose, *path).integers(2**63 - 1))

    @property
    def censoring_seed(self) -> int:
        """Of the censoring draw."""
        return self._seed("censoring")

    @property
    def split_seed(self) -> int:
        """Of the folds."""
        return self._seed("folds")

    @property
    def model_seed(self) -> int:
        """Of what is fitted; below 2^31, which every library takes."""
        return self._seed("model", self.fold, self.model.label) % (2**31 - 1)

    @property
    def external(self) -> DatasetSpec | None:
        """Dataset whose censoring is drawn from, for the kind ``external``."""
        return self.plan.external if self.censoring.kind == "external" else None

    @cached_property
    def data_key(self) -> str:
        """What the censored dataset depends on."""
        external = None if self.external is None else self.external.identity()
        parts = [self.dataset.identity(), self.censoring.identity(), self.repeat, external]
        return digest([NUMBERS_VERSION, self.plan.seed, *parts])

    @cached_property
    def fold_key(self) -> str:
        """What the training and test rows depend on."""
        return digest([self.data_key, self.plan.folds, self.fold])

    @cached_property
    def fit_digest(self) -> str:
        """What the predictions depend on."""
        return digest([self.fold_key, self.model.identity()])

    @cached_property
    def digest(self) -> str:
        """What the result depends on; metrics do not change a distribution."""
        if self.is_distribution:
            return self.fit_digest
        return digest([self.fit_digest, self.plan.metrics_digest])

    @cached_property
    def path(self) -> str:
        """Name of the file with its result inside a store, without its ending."""
        return f"{self._stem}-{self.digest}"

    @property
    def prediction_path(self) -> str:
        """Name of the file with its predictions: metrics do not change it."""
        return f"{self._stem}-{self.fit_digest}"

    @property
    def _stem(self) -> str:
        folder = f"{slug(self.dataset.label)}/{slug(self.censoring.label)}"
        return f"{folder}/r{self.repeat}-f{self.fold}-{slug(self.model.label)}"

    def distributions(self) -> list[Cell]:
        """Cells of the distributions that its metrics ask for."""
        if self.is_distribution:
            return []
        return [replace(self, model=distribution) for distribution in self.plan.distributions]

    def names(self) -> dict[str, Any]:
        """Axes of the plan on which the cell lies."""
        return {
            "dataset": self.dataset.label,
            "censoring": self.censoring.label,
            "repeat": self.repeat,
            "fold": self.fold,
            "model": self.model.label,
        }

    def __str__(self) -> str:
        where = f"{self.dataset.label} / {self.censoring.label}"
        return f"{where} / repeat {self.repeat} / fold {self.fold} / {self.model.label}"


def distributions_of(cells: Iterable[Cell]) -> list[Cell]:
    """Distributions that some cells ask for, each once."""
    return list({found.path: found for cell in cells for found in cell.distributions()}.values())


def digest(parts: Any) -> str:
    """Shorten whatever plain data to 16 characters that change with it."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def slug(label: str) -> str:
    """Spell a label as a name for files: no folders, nothing hidden, not too long.

    >>> slug("x/../../escaped"), slug("..")
    ('x_.._.._escaped', 'x')
    """
    return re.sub(r"[^A-Za-z0-9_.=+-]+", "_", label).strip("_.")[:_LONGEST_SLUG] or "x"


_SHIPPED = Path(__file__).with_name("plans")
#: What a store adds to the plan that it keeps.
_CHECKSUM = "checksum"
_AXES = ("dataset", "censoring", "model")


@dataclass(frozen=True)
class Plan:
    """Datasets x censoring x repeats x folds x models, and the metrics to compute.

    Attributes
    ----------
    name : str
        Of the plan.
    datasets, censoring, models, metrics : tuple of specs
        What is crossed; see `survgauge.bench.experiment.specs`.
    folds, repeats, seed : int
        Folds of the cross-validation, draws of censoring and folds, seed.
    external : DatasetSpec or None
        Whose censoring the kind ``external`` takes. It is left out for that dataset itself, for
        which it would be ``original_independent``.
    cause : int, str or None
        With datasets of several causes the one that matters, by its code or, where all datasets
        call it so, its name. Models have to predict incidence. Predictions do not depend on it.
    skip : tuple of dict
        Cells to leave out: tables with some of dataset, censoring, model.
    keep_predictions : bool
        Whether predictions are stored, so that metrics can be added without fitting again.
    timeout : float or None
        Seconds after which a cell is given up: fitting, predicting and measuring.
    threads : int
        Threads of linear algebra inside a process; more than one can change the last digits.
    folder : str or None
        Where relative paths and modules of your own are looked for; of a plan that is a file, the
        folder in which it lies.

    Examples
    --------
    >>> plan = Plan.of({"name": "small", "datasets": ["lifelines_rossi"], "censoring": ["uniform"],
    ...                 "models": ["km", "coxph"], "metrics": ["mae_po"], "folds": 2})
    >>> [str(cell) for cell in plan.cells()][0]
    'lifelines_rossi / uniform / repeat 0 / fold 0 / km'
    >>> len(plan.cells())
    4
    """

    name: str
    datasets: tuple[DatasetSpec, ...]
    censoring: tuple[CensoringSpec, ...]
    models: tuple[ModelSpec, ...]
    metrics: tuple[MetricSpec, ...]
    folds: int = 5
    repeats: int = 1
    seed: int = 0
    external: DatasetSpec | None = None
    cause: int | str | None = None
    skip: tuple[dict[str, str], ...] = ()
    keep_predictions: bool = False
    timeout: float | None = None
    threads: int = 1
    description: str = field(default="", compare=False)
    folder: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, obj: Any) -> Plan:
        """Read a plan: a `Plan`, a mapping, a TOML file, or the name of a shipped plan."""
        if isinstance(obj, Plan):
            return obj
        if isinstance(obj, Mapping):
            return _from_mapping(obj)
        if isinstance(obj, str) and obj in shipped_plans():
            return cls.from_file(_SHIPPED / f"{obj}.toml")
        if isinstance(obj, str | os.PathLike):
            return cls.from_file(obj)
        raise InputError(f"plan must be a Plan, a mapping, or a file; got {type(obj).__name__}")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a TOML file; paths in it are relative to its folder."""
        place = Path(path).expanduser()
        shipped = ", ".join(shipped_plans())
        table = read_toml(place, f"no such plan: {place}; shipped plans are {shipped}")
        return _from_mapping({"folder": ".", **table}, place.resolve())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `of` reads back."""
        table: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        for axis in ("datasets", "censoring", "models", "metrics"):
            table[axis] = [spec.entry() for spec in table[axis]]
        table["external"] = None if self.external is None else self.external.entry()
        table["skip"] = [dict(rule) for rule in self.skip]
        return {key: value for key, value in table.items() if value is not None}

    def cells(self) -> list[Cell]:
        """Expand: models vary fastest, so that neighbours share their data."""
        runs = product(self.datasets, self.censoring, range(self.repeats), range(self.folds))
        return [
            Cell(self, dataset, kind, repeat, fold, model)
            for dataset, kind, repeat, fold in runs
            for model in self.models
            if not self._skipped(dataset, kind, model)
        ]

    @cached_property
    def metrics_digest(self) -> str:
        """What the choice of metrics, and of the cause, adds to the identity of a result."""
        asked = [metric.identity() for metric in self.metrics]
        asked += [distribution.identity() for distribution in self.distributions]
        return digest(asked if self.cause is None else [*asked, {"cause": self.cause}])

    @cached_property
    def distributions(self) -> tuple[DistributionSpec, ...]:
        """Distributions that some metric asks for."""
        asked = (metric.distribution for metric in self.metrics)
        return tuple(dict.fromkeys(spec for spec in asked if spec is not None))

    def _skipped(self, dataset: DatasetSpec, kind: CensoringSpec, model: ModelSpec) -> bool:
        own = self.external is not None and self.external.identity() == dataset.identity()
        if kind.kind == "external" and own:
            return True
        names = dict(zip(_AXES, (dataset.label, kind.label, model.label), strict=True))
        return any(all(names[axis] == value for axis, value in rule.items()) for rule in self.skip)

    def present(self) -> tuple[Plan, list[str]]:
        """Leave out optional datasets that are not on this machine; return their names too."""
        missing = [spec.label for spec in self.datasets if spec.optional and not spec.is_here()]
        if not missing:
            return self, []
        kept = tuple(spec for spec in self.datasets if spec.label not in missing)
        if not kept:
            raise InputError(f"none of the datasets is on this machine: {', '.join(missing)}")
        return replace(self, datasets=kept), missing

    def only(self, **chosen: Iterable[str] | None) -> Plan:
        """Keep some labels of an axis: ``plan.only(models=["km"])``; None keeps all.

        Cells do not depend on each other, so that the numbers stay the same.
        """
        changes = {}
        for axis, labels in chosen.items():
            if labels is None:
                continue
            specs = {spec.label: spec for spec in getattr(self, axis)}
            unknown = [label for label in labels if label not in specs]
            if unknown:
                raise InputError(
                    f"{axis}: the plan has no {unknown[0]!r}; it has {', '.join(specs)}"
                )
            changes[axis] = tuple(specs[label] for label in specs if label in set(labels))
        return replace(self, **changes)  # type: ignore[arg-type]


def shipped_plans() -> list[str]:
    """Names of the plans that come with the package.

    >>> shipped_plans()
    ['demo', 'paper', 'truth', 'wide']
    """
    return sorted(file.stem for file in _SHIPPED.glob("*.toml"))


def _from_mapping(table: Mapping[str, Any], file: Path | None = None) -> Plan:
    refuse_unknown(table, [*(item.name for item in fields(Plan)), _CHECKSUM], "plan")
    values = {key: value for key, value in table.items() if key != _CHECKSUM}
    values.setdefault("name", "plan" if file is None else file.stem)
    folder = _folder(values.get("folder"), file)
    values["folder"] = None if folder is None else str(folder)
    for axis, read in (
        ("datasets", lambda entry: DatasetSpec.of(entry, folder)),
        ("censoring", CensoringSpec.of),
        ("models", ModelSpec.of),
        ("metrics", MetricSpec.of),
    ):
        values[axis] = _axis(values.get(axis), axis, read)
    if values.get("external") is not None:
        values["external"] = DatasetSpec.of(values["external"], folder)
    values["skip"] = tuple(values.get("skip", ()))
    plan = Plan(**values)
    _check(plan)
    return plan


def _folder(given: Any, file: Path | None) -> Path | None:
    """Where relative paths begin, itself relative to the plan's file."""
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"plan: folder must be a path; got {given!r}")
    return (Path() if file is None else file.parent).joinpath(given).expanduser().resolve()


def _axis(entries: Any, axis: str, read: Any) -> tuple[Any, ...]:
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise InputError(f"plan: {axis} must be a list of names or tables; got {entries!r}")
    specs = tuple(read(entry) for entry in entries)
    if not specs:
        raise InputError(f"plan: {axis} must have at least one entry; got an empty list")
    label, count = Counter(spec.label for spec in specs).most_common(1)[0]
    if count > 1:
        raise InputError(f"plan: {axis} has {label!r} twice; give one of them a label")
    return specs


def _check(plan: Plan) -> None:
    if not isinstance(plan.name, str) or not plan.name:
        raise InputError(f"plan: name must be a text; got {plan.name!r}")
    for key, least in (("folds", 2), ("repeats", 1), ("threads", 1)):
        whole_number(getattr(plan, key), f"plan: {key}", least)
    if plan.seed is None:
        raise InputError("plan: seed must be a whole number, so that cells can be repeated")
    check_seed(plan.seed, "plan: seed")
    if plan.timeout is not None:
        positive(plan.timeout, "plan: timeout (seconds)")
    for rule in plan.skip:
        if not isinstance(rule, Mapping) or not rule or not set(rule) <= set(_AXES):
            raise InputError(f"plan: skip must be tables with some of {_AXES}; got {rule!r}")
    _check_cause(plan)
    if plan.external is None and any(kind.kind == "external" for kind in plan.censoring):
        raise InputError("plan: censoring 'external' needs external = NAME, a dataset")


def _check_cause(plan: Plan) -> None:
    """With a cause models must predict incidence, and metrics support causes."""
    for metric in plan.metrics:
        registered = REGISTRY.get(metric.name)
        if registered is not None and metric.function is None:
            with located("plan"):
                registered.check_cause(plan.cause)
        if plan.cause is not None and metric.distribution is not None:
            raise InputError(
                f"plan: metric {metric.label!r} has a distribution, which supports no causes yet"
            )
    if plan.cause is None:
        return
    if isinstance(plan.cause, bool) or not isinstance(plan.cause, int | str):
        raise InputError(f"plan: cause must be the code or the name of one; got {plan.cause!r}")
    for model in plan.models:
        if model.home is None and not FACTS[model.name].incidence:
            able = ", ".join(name for name, facts in FACTS.items() if facts.incidence)
            raise InputError(f"plan: model {model.name!r} predicts no incidence; {able} do")


def read_toml(path: Path, missing: str) -> dict[str, Any]:
    """Read a TOML file; `missing` is said where there is none."""
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    toml = need(name, "reading TOML files", "experiment")
    try:
        table: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise InputError(missing) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text, as TOML files are; save it as UTF-8"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file: {error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    return table
