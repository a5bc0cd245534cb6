"""What a search draws the parameters of each model from: the spaces in ``spaces.json``.

A parameter is one of some values, each equally often, or a number between two limits, equally often
in every decade, and a whole one where the space says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import one_of

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
