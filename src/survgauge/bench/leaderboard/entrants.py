"""Who takes part, models of the package or of a caller's and submissions; what a search draws.

In ``spaces.json`` a parameter is one of some values, each equally often, or a number between two
limits, equally often in every decade, and a whole one where the space says so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, one_of
from ..experiment.specs import ModelSpec


@dataclass(frozen=True, eq=False)
class OwnModel:
    """A model that a caller hands over: a class or an object with `fit` and a way to predict."""

    label: str
    prototype: Any

    @property
    def name(self) -> str:
        """Same as the label."""
        return self.label

    def identity(self) -> dict[str, Any]:
        """What its predictions depend on, as far as the object says."""
        kind = self.prototype if isinstance(self.prototype, type) else type(self.prototype)
        known = getattr(self.prototype, "get_params", None)
        params = known(deep=False) if callable(known) and kind is not self.prototype else {}
        told = {key: repr(value) for key, value in sorted(params.items())}
        return {"name": self.label, "class": f"{kind.__module__}:{kind.__qualname__}", **told}

    def build(self, seed: int, **params: Any) -> Any:
        """Make a fresh one; `seed` goes to models that draw."""
        own = self.prototype
        model = own() if isinstance(own, type) else copy.deepcopy(own)
        if params:
            model.set_params(**params)
        return _seeded(model, seed)


Entrant = OwnModel | ModelSpec


def entrants(models: Iterable[Any] | Mapping[str, Any]) -> list[Entrant]:
    """Read names, ``module:Class``, tables with parameters, or objects by name."""
    given = models.items() if isinstance(models, Mapping) else ((None, each) for each in models)
    found = [_entrant(label, each) for label, each in given]
    labels = [each.label for each in found]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"models has {twice[0]!r} twice; give a mapping of names to models")
    return found


def _entrant(label: str | None, given: Any) -> Entrant:
    if isinstance(given, str) and ":" in given:
        given = {"name": given.partition(":")[2], "class": given}
    if isinstance(given, str | Mapping | ModelSpec):
        if isinstance(given, str) and label is not None:
            given = {"name": given, "label": label}
        return ModelSpec.of(given)
    if not hasattr(given, "fit"):
        raise InputError(
            f"models must be names ('survgauge models' lists them), 'module:Class', or objects "
            f"with fit; got {type(given).__name__} {given!r}"
        )
    kind = given if isinstance(given, type) else type(given)
    return OwnModel(label or kind.__name__, given)


def _seeded(model: Any, seed: int) -> Any:
    known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if "random_state" in known and known["random_state"] is None:
        model.set_params(random_state=seed)
    return model


def can_be_tuned(model: Any) -> bool:
    """Whether there is a space to search."""
    return "class" not in model.identity() and model.name in SPACES


@dataclass(frozen=True)
class Recorded:
    """A model that is not at hand: of an earlier run, or a submission; what is known of it."""

    label: str
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the list of models calls it."""
        return str(self.record.get("name", self.label))

    @property
    def is_submission(self) -> bool:
        """Whether somebody else fitted it."""
        return "submission" in self.record

    def identity(self) -> dict[str, Any]:
        """What its predictions depend on."""
        return dict(self.record)


def submitted(label: str, card: Mapping[str, Any]) -> Recorded:
    """Return the model of a submission, of which its predictions are all that is known."""
    return Recorded(label, {"submission": label, "sha256": card["sha256"]})


Space = dict[str, Any]
#: By model: parameters, and what they are drawn from. Models without an entry have nothing to tune.
SPACES: dict[str, dict[str, Space]] = json.loads(
    Path(__file__).with_name("spaces.json").read_text(encoding="utf-8")
)


def draw(model: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw parameters of a model, in the order of its space.

    >>> sorted(draw("coxph", np.random.default_rng(0)))
    ['penalty']
    """
    one_of("model", model, SPACES, "the models with a search space")
    return {name: drawn(space, rng) for name, space in SPACES[model].items()}


def drawn(space: Space, rng: np.random.Generator) -> Any:
    """Draw one parameter."""
    if "one_of" in space:
        return space["one_of"][int(rng.integers(len(space["one_of"])))]
    value = float(np.exp(rng.uniform(np.log(space["low"]), np.log(space["high"]))))
    return round(value) if space.get("whole") else value
