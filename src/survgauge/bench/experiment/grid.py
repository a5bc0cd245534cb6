"""What a plan expands to: cells that depend on nothing but their names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..._tools.random import stream
from .specs import CensoringSpec, DatasetSpec, DistributionSpec, ModelSpec

if TYPE_CHECKING:
    from .plan import Plan

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
