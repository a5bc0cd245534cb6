"""Outcomes and predictions from CSV and Parquet files, with the base install where possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..errors import InputError
from .curve_tables import (
    UNNAMED,
    header_numbers,
    header_times,
    is_frame,
    refuse_row_numbers,
)
from .curves import SurvivalCurves
from .intervals import IntervalOutcomes
from .outcomes import Outcomes
from .pairing import Ids
from .predictions import RiskScores
from .tables import Table


def read_outcomes(
    path: str | Path,
    time: str = "time",
    event: str = "event",
    weight: str | None = None,
    *,
    weight_required: bool = True,
    event_value: str | None = None,
    causes: Sequence[str] | bool | None = None,
) -> Outcomes:
    """Return the outcomes in columns `time` and `event` of a CSV or Parquet file.

    Column `weight` has their frequencies; without `weight_required` it may be missing. Events are
    1 or true, or the cells that equal `event_value`. With several causes, `causes` are their names,
    or True for codes without names.
    """
    table = Table(path)
    if not weight_required and weight not in table.names:
        weight = None
    if len(table) == 0:
        raise InputError(f"{table.path}: no rows; at least one subject is needed")
    try:
        frequency = None if weight is None else table.numbers(weight)
        times = table.numbers(time)
        events = table.values(event) if causes else table.flags(event, event_value)
        return Outcomes(times, events, frequency, None if causes is True else causes)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def is_interval_file(path: str | Path, time: str = "time") -> bool:
    """Whether a file of outcomes has the columns lower and upper, and no column of times."""
    names = Table(path).names
    return {"lower", "upper"} <= set(names) and time not in names


def read_intervals(
    path: str | Path, weight: str | None = None, *, weight_required: bool = True
) -> IntervalOutcomes:
    """Return the interval-censored outcomes in columns lower and upper of a CSV or Parquet file.

    In CSV files upper is inf where no event was seen. Column `weight` has frequencies; without
    `weight_required` it may be missing.
    """
    table = _with_rows(path)
    if not weight_required and weight not in table.names:
        weight = None
    try:
        frequency = None if weight is None else table.numbers(weight)
        return IntervalOutcomes(table.numbers("lower"), table.numbers("upper"), frequency)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def read_features(path: str | Path, ids: Ids | None = None) -> dict[str, Floats]:
    """Read a table of numbers, one column per feature and one row per subject; see `Ids`."""
    table = _with_rows(path)
    return _paired(table, dict.fromkeys(table.names, table.numbers), ids)


def read_columns(
    path: str | Path, names: Sequence[str] | None = None, ids: Ids | None = None
) -> dict[str, Any]:
    """Read columns as numbers or, where a cell is no number, as text; gaps stay gaps."""
    table = _with_rows(path)
    chosen = table.names if names is None else names
    return _paired(table, dict.fromkeys(chosen, table.values), ids)


def _paired(
    table: Table, readers: dict[str, Callable[[str], Any]], ids: Ids | None
) -> dict[str, Any]:
    """Read columns, in the order of the subjects where they have ids."""
    if ids is None:
        return {name: read(name) for name, read in readers.items()}
    rows = ids.order(table.path, table.labels(ids.column))
    return {name: read(name)[rows] for name, read in readers.items() if name != ids.column}


def _with_rows(path: str | Path) -> Table:
    table = Table(path)
    if len(table) == 0:
        raise InputError(f"{table.path}: no rows; at least one subject is needed")
    return table


def read_predictions(
    path: str | Path,
    *,
    interpolation: str | None = None,
    tail: str = "linear",
    repair: str | None = None,
    subjects: int | None = None,
    ids: Ids | None = None,
) -> Floats | SurvivalCurves | RiskScores:
    """Read predictions of one model: one column `time` or `risk`, or curves.

    Parameters
    ----------
    path : path
        CSV or Parquet. Curves have their times in the header and one row per subject, or, as
        lifelines and pycox write their frames, times in the first column and one column per
        subject.
    interpolation : str, optional
        Of curves; by default rows are read as lines, and frames as steps, as in Python.
    tail, repair
        Of curves, see `SurvivalCurves`.
    subjects : int, optional
        How many subjects there are, which tells the two forms of curves apart.
    ids : Ids, optional
        Who the subjects are, in the order that is wanted; the file then has their ids too.
    """
    table = Table(path)
    names = [name for name in table.names if ids is None or name != ids.column]
    if not names or names in ([name] for name in UNNAMED):
        raise InputError(f"{table.path}: there are no predictions beside the names of the rows")
    if is_frame(table, names, subjects):
        refuse_row_numbers(table, names[0])
        times, survival = table.numbers(names[0]), _matrix(table, names[1:]).T
        order = None if ids is None else ids.order(table.path, header_numbers(names[1:]))
        rules = interpolation or "step", tail, repair
        note = "; each subject is a column of this file, not a row"
        return _curves(table, times, survival, order, rules, note)
    rows = None if ids is None else ids.order(table.path, table.labels(ids.column))
    if names[0] in UNNAMED:  # the index of a frame, the row names of R
        names = names[1:]
    if names in (["time"], ["risk"]):
        values = table.numbers(names[0])
        values = values if rows is None else values[rows]
        return values if names == ["time"] else RiskScores(values)
    times, survival = header_times(table.path, names), _matrix(table, names)
    rules = interpolation or "linear", tail, repair
    return _curves(table, times, survival, rows, rules)


def _matrix(table: Table, names: list[str]) -> Floats:
    return np.column_stack([table.numbers(name) for name in names])


def _curves(
    table: Table,
    times: Floats,
    survival: Floats,
    order: Ints | None,
    rules: tuple[str, str, str | None],
    note: str = "",
) -> SurvivalCurves:
    """Make curves of a file, in the order of the subjects; `note` goes with what is wrong."""
    try:
        curves = SurvivalCurves(times, survival, *rules)
    except InputError as error:
        raise InputError(f"{table.path}: {error}{note}") from error
    return curves if order is None else curves[order]
