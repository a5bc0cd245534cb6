"""Outcomes and predictions from CSV and Parquet files, with the base install where possible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError
from .curves import SurvivalCurves
from .outcomes import Outcomes
from .predictions import RiskScores
from .tables import Table, is_number


def read_outcomes(
    path: str | Path,
    time: str = "time",
    event: str = "event",
    weight: str | None = None,
    *,
    weight_required: bool = True,
) -> Outcomes:
    """Return the outcomes in columns `time` and `event` of a CSV or Parquet file.

    Column `weight` has their frequencies; without `weight_required` it may be missing.
    """
    table = Table(path)
    if not weight_required and weight not in table.names:
        weight = None
    if len(table) == 0:
        raise InputError(f"{table.path}: no rows; at least one subject is needed")
    try:
        frequency = None if weight is None else table.numbers(weight)
        return Outcomes(table.numbers(time), table.flags(event), frequency)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def read_features(path: str | Path) -> dict[str, Floats]:
    """Read a table of numbers, a column per feature and a row per subject."""
    table = _with_rows(path)
    return {name: table.numbers(name) for name in table.names}


def read_columns(path: str | Path, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Read columns as numbers or, where a cell is no number, as text; gaps stay gaps."""
    table = _with_rows(path)
    return {name: table.values(name) for name in (table.names if names is None else names)}


def _with_rows(path: str | Path) -> Table:
    table = Table(path)
    if len(table) == 0:
        raise InputError(f"{table.path}: no rows; at least one subject is needed")
    return table


def read_predictions(
    path: str | Path, *, interpolation: str = "linear", tail: str = "linear"
) -> Floats | SurvivalCurves | RiskScores:
    """Read one column `time` or `risk`, or curves: header = times, a row per subject."""
    table = Table(path)
    if table.names == ["time"]:
        return table.numbers("time")
    if table.names == ["risk"]:
        return RiskScores(table.numbers("risk"))
    not_times = [name for name in table.names if not is_number(name)]
    if not_times:
        index = table.names[0] == "" and len(not_times) == 1
        hint = " (an index column? write the file with index=False)" if index else ""
        raise InputError(
            f"{table.path}: predictions must have one column 'time' or 'risk', or curves with "
            f"times as column names; got {', '.join(map(repr, not_times[:5]))}{hint}"
        )
    survival = np.column_stack([table.numbers(name) for name in table.names])
    try:
        return SurvivalCurves([float(n) for n in table.names], survival, interpolation, tail)
    except InputError as error:
        raise InputError(f"{table.path}: {error}") from error
