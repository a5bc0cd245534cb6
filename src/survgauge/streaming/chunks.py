"""Subjects that are scored together."""

from __future__ import annotations

from dataclasses import dataclass

from ..outcomes import Outcomes
from ..predictions import Prediction


@dataclass(frozen=True)
class Chunk:
    """Outcomes and all models' predictions of the subjects from row `start` on."""

    y: Outcomes
    predictions: dict[str, Prediction]
    start: int
    label: str = "batch"

    def __len__(self) -> int:
        return len(self.y)
