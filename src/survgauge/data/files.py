"""Outcomes and predictions from CSV and Parquet files, with the base install where possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError
from .curve_tables import (
    UNNAMED,
    header_numbers,
    header_times,
    is_frame,
    refuse_row_numbers,
)
from .curves import SurvivalCurves
from .entry import refuse_entry, some_entry
from .incidence import IncidenceCurves
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
    entry: str | None = None,
) -> Outcomes:
    """Return the outcomes in columns `time` and `event` of a CSV or Parquet file.

    Column `weight` has their frequencies; without `weight_required` it may be missing. Events are
    1 or true, or the cells that equal `event_value`. With several causes, `causes` are their names,
    or True for codes without names. Delayed entry stands in the column `entry`, by default in one
    of this name if there is any.
    """
    table = _with_rows(path)
    if not weight_required and weight not in table.names:
        weight = None
    try:
        frequency = None if weight is None else table.numbers(weight)
        times = table.numbers(time)
        events = table.values(event) if causes else table.flags(event, event_value)
        named = None if causes is True else causes
        if entry is None and "entry" in table.names:
            entry = "entry"
        entries = None if entry is None else table.numbers(entry)
        return Outcomes(times, events, frequency, named, entries)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def both_kinds(time: str, event: str) -> str:
    """Say that outcomes have the columns of both kinds."""
    return (
        f"the columns {time} and {event} are right-censored outcomes, and lower and upper are "
        "interval-censored ones"
    )


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
        if "entry" in table.names:
            refuse_entry(some_entry(table.numbers("entry")), str(path), intervals=True)
        return IntervalOutcomes(table.numbers("lower"), table.numbers("upper"), frequency)
    except InputError as error:
        text = str(error)
        if "'upper'" in text:
            text += "; where no event was seen, upper is inf"
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
    names = _columns(table, ids)
    if not is_frame(table, names, subjects):
        values = [name for name in names if name not in UNNAMED]
        if values in (["time"], ["risk"]):
            rows = None if ids is None else ids.order(table.path, table.labels(ids.column))
            column = table.numbers(values[0])
            column = column if rows is None else column[rows]
            return column if values == ["time"] else RiskScores(column)
    found = _read_matrix(table, subjects, ids)
    note = "; each subject is a column of this file, not a row" if found.frame else ""
    rules = interpolation or ("step" if found.frame else "linear"), tail, repair
    try:
        return SurvivalCurves(found.times, found.values, *rules)
    except InputError as error:
        raise InputError(f"{table.path}: {error}{note}") from error


def read_incidence(
    paths: Mapping[str, str | Path],
    *,
    interpolation: str | None = None,
    repair: str | None = None,
    subjects: int | None = None,
    ids: Ids | None = None,
) -> IncidenceCurves:
    """Read the predicted cumulative incidence of one model, one file per cause.

    The files, by cause, are like those of `read_predictions`, which also says what the arguments
    are, but hold incidence.
    """
    parts = [_read_matrix(Table(path), subjects, ids) for path in paths.values()]
    for path, part in zip(paths.values(), parts, strict=True):
        if not np.array_equal(part.times, parts[0].times) or len(part.values) != len(
            parts[0].values
        ):
            raise InputError(
                f"{path}: the files of all causes must have the same subjects and times"
            )
    values = np.stack([part.values for part in parts], axis=1)
    steps = interpolation or ("step" if parts[0].frame else "linear")
    try:
        return IncidenceCurves(parts[0].times, values, tuple(paths), steps, repair)
    except InputError as error:
        raise InputError(f"{', '.join(map(str, paths.values()))}: {error}") from error


@dataclass(frozen=True)
class _Curves:
    """Curves of a file, one row per subject in the order that is wanted."""

    times: Floats
    values: Floats
    #: Whether the file has its times in the first column, as frames of curves do.
    frame: bool


def _columns(table: Table, ids: Ids | None) -> list[str]:
    """Columns that are no ids."""
    names = [name for name in table.names if ids is None or name != ids.column]
    if not names or names in ([name] for name in UNNAMED):
        raise InputError(f"{table.path}: there are no predictions beside the names of the rows")
    return names


def _read_matrix(table: Table, subjects: int | None, ids: Ids | None) -> _Curves:
    """Read times and one curve per subject, whichever way the file lies."""
    names = _columns(table, ids)
    if is_frame(table, names, subjects):
        refuse_row_numbers(table, names[0])
        times, values = table.numbers(names[0]), _matrix(table, names[1:]).T
        order = None if ids is None else ids.order(table.path, header_numbers(names[1:]))
        return _Curves(times, values if order is None else values[order], frame=True)
    order = None if ids is None else ids.order(table.path, table.labels(ids.column))
    if names[0] in UNNAMED:  # the index of a frame, the row names of R
        names = names[1:]
    times, values = header_times(table.path, names), _matrix(table, names)
    return _Curves(times, values if order is None else values[order], frame=False)


def _matrix(table: Table, names: list[str]) -> Floats:
    return np.column_stack([table.numbers(name) for name in names])
