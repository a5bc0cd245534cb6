"""What a plan expands to: cells and laws that depend on nothing but their names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from .._tools.random import stream
from .laws import LawSpec
from .metric_specs import MetricSpec
from .specs import CensoringSpec, DatasetSpec, ModelSpec

#: Goes up when the harness itself comes to different numbers, so that old cells are not reused.
NUMBERS_VERSION = 1
#: File systems take names of 255 bytes; the digest tells cells apart.
_LONGEST_SLUG = 100


@dataclass(frozen=True)
class Common:
    """What all cells of a plan share."""

    metrics: tuple[MetricSpec, ...]
    folds: int
    seed: int
    external: DatasetSpec | None = None
    cause: int | str | None = None

    @cached_property
    def metrics_digest(self) -> str:
        """What the choice of metrics, and of the cause, adds to the identity of a result."""
        laws = [law.identity() for law in self.laws]
        cause = [] if self.cause is None else [{"cause": self.cause}]
        return _digest([metric.identity() for metric in self.metrics] + laws + cause)

    @cached_property
    def laws(self) -> tuple[LawSpec, ...]:
        """Laws that some metric asks for."""
        return tuple(dict.fromkeys(m.law for m in self.metrics if m.law is not None))


@dataclass(frozen=True)
class Place:
    """One fold of one semi-synthetic data set, on which something is fitted.

    Its seeds come from the plan's seed and the names on its path: it gives the same numbers alone
    or in another order, draws the same on another machine (fitted models can differ there in last
    bits), and all that is fitted on a fold shares the censoring draw and the split.
    """

    dataset: DatasetSpec
    censoring: CensoringSpec
    repeat: int
    fold: int
    common: Common
    #: What is fitted here.
    model: ModelSpec | LawSpec

    def _seed(self, purpose: str, *names: str | int) -> int:
        path = (self.dataset.label, self.censoring.label, self.repeat, *names)
        return int(stream(self.common.seed, "experiment", purpose, *path).integers(2**63 - 1))

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
        """Data set whose censoring is drawn from, for the kind ``external``."""
        return self.common.external if self.censoring.kind == "external" else None

    @cached_property
    def data_key(self) -> str:
        """What the censored data set depends on."""
        external = None if self.external is None else self.external.identity()
        parts = [self.dataset.identity(), self.censoring.identity(), self.repeat, external]
        return _digest([NUMBERS_VERSION, self.common.seed, *parts])

    @cached_property
    def fold_key(self) -> str:
        """What the training and test rows depend on."""
        return _digest([self.data_key, self.common.folds, self.fold])

    @cached_property
    def fit_digest(self) -> str:
        """What the predictions depend on."""
        return _digest([self.fold_key, self.model.identity()])

    @cached_property
    def digest(self) -> str:
        """What the result depends on."""
        return self.fit_digest

    @cached_property
    def path(self) -> str:
        """Name of the cell's file inside a store, without its ending."""
        return f"{self._stem}-{self.digest}"

    @property
    def prediction_path(self) -> str:
        """Name of the file with its predictions: metrics do not change it."""
        return f"{self._stem}-{self.fit_digest}"

    @property
    def _stem(self) -> str:
        folder = f"{slug(self.dataset.label)}/{slug(self.censoring.label)}"
        return f"{folder}/r{self.repeat}-f{self.fold}-{slug(self.model.label)}"

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


@dataclass(frozen=True)
class Cell(Place):
    """One model on one fold of one semi-synthetic data set: the unit of work."""

    model: ModelSpec

    @cached_property
    def digest(self) -> str:
        """What the result depends on."""
        return _digest([self.fit_digest, self.common.metrics_digest])

    def laws(self) -> list[LawCell]:
        """Laws that its metrics ask for; the models of a fold share them."""
        place = self.dataset, self.censoring, self.repeat, self.fold, self.common
        return [LawCell(*place, law) for law in self.common.laws]


@dataclass(frozen=True)
class LawCell(Place):
    """The law of one fold given the features, which metrics of all its models look at.

    Its curves are its result: metrics do not change it.
    """

    model: LawSpec


def laws_of(cells: Iterable[Cell]) -> list[LawCell]:
    """Laws that some cells ask for, each once."""
    return list({law.path: law for cell in cells for law in cell.laws()}.values())


def _digest(parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


def slug(label: str) -> str:
    """Spell a label as a name for files: no folders, nothing hidden, not too long.

    >>> slug("x/../../escaped"), slug("..")
    ('x_.._.._escaped', 'x')
    """
    return re.sub(r"[^A-Za-z0-9_.=+-]+", "_", label).strip("_.")[:_LONGEST_SLUG] or "x"
