"""Families of comparisons: what holds for all of them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inference import Comparison, holm, simultaneous
from .score import withheld_columns


def adjusted(
    family: list[tuple[dict[str, Any], Comparison]], confidence: float | None
) -> list[dict[str, Any]]:
    """Rows of comparisons, each with what holds for all of the family together."""
    adjusted = holm([found.p_value for _, found in family])
    number = int(np.sum(~np.isnan(adjusted)))
    rows = []
    for (labels, found), p in zip(family, adjusted, strict=True):
        low, high = simultaneous(found, confidence or 0.95, number)
        rows.append(
            {
                **labels,
                "difference": found.difference,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value,
                "p_holm": float(p),
                "low_simultaneous": low,
                "high_simultaneous": high,
                "p_simultaneous": float(np.minimum(1.0, max(number, 1) * found.p_value)),
                "family": number,
                **withheld_columns(found.withheld),
            }
        )
    return rows
