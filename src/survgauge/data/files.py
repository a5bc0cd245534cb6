"""Outcomes and predictions from CSV and Parquet files, with the base install where possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..errors import InputError, located
from .checks import ROUNDING
from .curves import SurvivalCurves
from .incidence import IncidenceCurves
from .outcome_parts import refuse_entry, some_entry
from .outcomes import IntervalOutcomes, Outcomes
from .predictions import RiskScores
from .tables import Table, is_number

#: Names of a first column that holds the index of a frame, or the row names of R.
UNNAMED = ("", "Unnamed: 0", "__index_level_0__")
#: R puts an X before a name that starts with a digit.
_R_NUMBER = re.compile(r"X\d.*")
#: What R calls the columns of a matrix that have no names.
_R_COLUMN = re.compile(r"V\d+")


def header_numbers(names: list[str]) -> list[str]:
    """Return names without the X that R puts before numbers, where every name has one.

    >>> header_numbers(["X0", "X365.5"]), header_numbers(["X1", "age"])
    (['0', '365.5'], ['X1', 'age'])
    """
    return [name[1:] for name in names] if all(map(_R_NUMBER.fullmatch, names)) else names


def header_times(path: Path, names: list[str]) -> Floats:
    """Return the times that a header holds; refuse another header, saying what to do."""
    numbers = header_numbers(names)
    if all(map(is_number, numbers)):
        return np.array([float(number) for number in numbers])
    numbers = [*names[:1], *header_numbers(names[1:])]
    odd = [name for name, number in zip(names, numbers, strict=True) if not is_number(number)]
    raise InputError(
        f"{path}: predictions must have one column 'time' or 'risk', or curves with "
        f"times as column names; got {', '.join(map(repr, odd[:5]))}{_hint(names, odd)}"
    )


def _hint(names: list[str], odd: list[str]) -> str:
    if all(map(_R_COLUMN.fullmatch, names)):
        return (
            ": R wrote columns without names; give them their times first, colnames(S) <- times, "
            "then write.csv(S, ..., row.names = FALSE)"
        )
    if len(names) == 1:
        return ": call it time (a predicted time) or risk (a score, higher meaning sooner)"
    others = [name for name in names if name not in ("time", "risk")]
    named = others[0] if len(others) < len(names) else names[0]
    if len(others) == 1 or all(map(is_number, header_numbers(names[1:]))):
        return f": if column {named!r} says who the subjects are, give --id {named}"
    if any(_R_NUMBER.fullmatch(name) for name in odd):
        return ": write the times without exponents (R: format(times, scientific = FALSE))"
    return ""


def has_one_value(path: str | Path, ids: Ids | None) -> bool:
    """Whether a file of predictions has one time or one risk per subject."""
    names = [name for name in _columns(Table(path), ids) if name not in UNNAMED]
    return names in (["time"], ["risk"])


def is_frame(table: Table, names: list[str], subjects: int | None) -> bool:
    """Whether a table is a frame as lifelines and pycox write it: times down, subjects across.

    The number of subjects decides, or else along which axis the numbers fall.
    """
    first, others = names[0], names[1:]
    if is_number(header_numbers([first])[0]) or not others or not _rises(table, first):
        return False
    across, down = len(others) == subjects, len(table) == subjects
    if across != down:
        return across
    if not across and first not in UNNAMED:
        return False
    values = np.column_stack([table.numbers(name) for name in others])
    falls = bool((np.diff(values, axis=0) <= ROUNDING).all())
    times = header_numbers(others)
    if not falls or not all(map(is_number, times)):
        return falls
    along = values[:, np.argsort([float(time) for time in times], kind="stable")]
    if (np.diff(along, axis=1) <= ROUNDING).all():
        raise InputError(
            f"{table.path}: curves fall along rows and down columns, so that it cannot be seen "
            "which are the subjects; write one row per subject, without the first column "
            f"{first!r}"
        )
    return True


def refuse_row_numbers(table: Table, name: str) -> None:
    """Refuse row numbers of R in the place of times, unless the column says that it is times."""
    if name not in UNNAMED or table.labels(name).tolist() != [
        str(k + 1) for k in range(len(table))
    ]:
        return
    raise InputError(
        f"{table.path}: there is one column per subject, but no times: the first column has no "
        f"name and holds the row numbers 1 to {len(table)}, as R writes them; in R, turn the "
        "matrix and name its times: S <- t(S); colnames(S) <- times; write.csv(S, ...). If these "
        "numbers are the times, call the first column time"
    )


def _rises(table: Table, name: str) -> bool:
    """Whether a column holds times from an early to a late one."""
    values = table.values(name)
    return values.dtype.kind == "f" and bool((values >= 0).all() and (np.diff(values) > 0).all())


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
    with located(str(path)):
        frequency = None if weight is None else table.numbers(weight)
        times = table.numbers(time)
        events = table.values(event) if causes else table.flags(event, event_value)
        named = None if causes is True else causes
        if entry is None and "entry" in table.names:
            entry = "entry"
        entries = None if entry is None else table.numbers(entry)
        return Outcomes(times, events, frequency, named, entries)


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
    with located(", ".join(map(str, paths.values()))):
        return IncidenceCurves(parts[0].times, values, tuple(paths), steps, repair)


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


class Ids:
    """Who the rows of a file are, for the rows of other files to be put in the same order.

    `table` is the file that sets the order; numbers in its `column` of ids may be written in
    several ways (1, 1.0).
    """

    def __init__(self, table: Table, column: str) -> None:
        self.path, self.column = table.path, column
        self._labels = table.labels(column)
        self._rows = _rows_by_id(table.path, self._labels)

    def order(self, path: Path, labels: Sequence[str]) -> Ints:
        """Return which rows of another file belong to the rows of this one.

        Every subject must be in both files, once.
        """
        theirs = _rows_by_id(path, labels)
        missing = [self._labels[row] for key, row in self._rows.items() if key not in theirs]
        unknown = [labels[row] for key, row in theirs.items() if key not in self._rows]
        if missing:
            raise InputError(
                f"{path}: no row for {_named(missing)} of {self.path} (--id {self.column})"
            )
        if unknown:
            raise InputError(
                f"{path}: {_named(unknown)} not in {self.path} (--id {self.column}); leave these "
                "rows out"
            )
        return np.array([theirs[key] for key in self._rows], dtype=np.intp)


def _rows_by_id(path: Path, labels: Sequence[str]) -> dict[Hashable, int]:
    """Rows by id; the same id twice is refused."""
    found: dict[Hashable, int] = {}
    for row, label in enumerate(labels):
        text = str(label).strip()
        key = Decimal(text) if is_number(text) else text
        if key in found:
            raise InputError(
                f"{path}: the id {text!r} appears twice, in rows {found[key] + 1} and {row + 1}"
            )
        found[key] = row
    return found


def _named(ids: list[str]) -> str:
    """Name the first few ids.

    >>> _named(["a", "b", "c", "d", "e", "f", "g"])
    "7 ids ('a', 'b', 'c', 'd', 'e', ...)"
    """
    shown = ", ".join(repr(str(name)) for name in ids[:5]) + (", ..." if len(ids) > 5 else "")
    return f"{len(ids)} id{'s' * (len(ids) > 1)} ({shown})"
