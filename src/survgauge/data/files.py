"""Outcomes and predictions in CSV and Parquet files, read with the base install where possible."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError, MissingExtraError, did_you_mean, one_of
from .curves import INTERPOLATIONS, SurvivalCurves
from .outcomes import Outcomes
from .predictions import RiskScores

PARQUET = (".parquet", ".pq")
_TRUE, _FALSE = {"true", "t", "yes"}, {"false", "f", "no"}


class Table:
    """Columns of a file, as text (CSV) or typed (Parquet)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError(f"{self.path}: is a folder, not a file")
        if not self.path.exists():
            raise InputError(f"{self.path}: no such file")
        if self.path.suffix.lower() in PARQUET:
            self.names, self._columns = _read_parquet(self.path)
        else:
            self.names, self._columns = _read_csv(self.path)
        repeated = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if repeated:
            raise InputError(f"{self.path}: columns appear twice: {', '.join(repeated[:5])}")
        self._places = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    def numbers(self, name: str) -> Floats:
        """Return a column as numbers; a gap or text is refused with its line."""
        column = self._columns[self._index(name)]
        if getattr(column, "dtype", None) is not None and column.dtype.kind in "mM":
            raise InputError(
                f"{self.path}: column {name!r} must be numbers; it holds dates or durations "
                f"({column.dtype}): choose a unit"
            )
        try:
            values = np.asarray(column, dtype=np.float64)
            words = getattr(column, "dtype", np.dtype(object)).kind == "O"
            if words and any(isinstance(text, str) and "_" in text for text in column):
                raise ValueError  # Python reads 1_0 as ten
        except (TypeError, ValueError):
            line = next(i for i, text in enumerate(column) if not _is_number(text))
            raise InputError(
                f"{self.path}: column {name!r} must be numbers; row {line + 1} has {column[line]!r}"
            ) from None
        if np.isnan(values).any():
            line = int(np.argmax(np.isnan(values)))
            raise InputError(f"{self.path}: column {name!r} has no number in row {line + 1}")
        return values

    def flags(self, name: str) -> Any:
        """Return a column as booleans: 0/1, true/false."""
        column = self._columns[self._index(name)]
        if len(column) == 0 or _is_number(column[0]):
            return self.numbers(name)
        words = [str(word).strip().lower() for word in column]
        for line, word in enumerate(words):
            if word not in _TRUE and word not in _FALSE:
                raise InputError(
                    f"{self.path}: column {name!r} must be all 0/1 or all true/false; "
                    f"row {line + 1} has {column[line]!r}"
                )
        return np.array([word in _TRUE for word in words])

    def labels(self, name: str) -> Any:
        """Return a column as labels; a gap is refused with its line."""
        words = list(self._columns[self._index(name)])
        for line, word in enumerate(words):
            if word is None or word != word or word == "":
                raise InputError(f"{self.path}: column {name!r} has no label in row {line + 1}")
        return np.asarray([str(word) for word in words])

    def _index(self, name: str) -> int:
        if name not in self._places:
            shown = ", ".join(self.names[:20]) + (", ..." if len(self.names) > 20 else "")
            hint = {
                "time": "; name it with --time-column",
                "event": "; name it with --event-column",
            }.get(name, "")
            close = did_you_mean(name, self.names)
            raise InputError(f"{self.path}: no column {name!r}{close}; columns are {shown}{hint}")
        return self._places[name]


def read_outcomes(
    path: str | Path, time: str = "time", event: str = "event", weight: str | None = None
) -> Outcomes:
    """Read outcomes from a CSV or Parquet file with columns `time`, `event` and maybe `weight`."""
    table = Table(path)
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
    table = Table(path)
    if len(table) == 0:
        raise InputError(f"{table.path}: no rows; at least one subject is needed")
    return {name: table.numbers(name) for name in table.names}


def read_predictions(
    path: str | Path, *, interpolation: str = "linear", tail: str = "linear"
) -> Floats | SurvivalCurves | RiskScores:
    """Read one column `time` or `risk`, or curves: header = times, a row per subject."""
    table = Table(path)
    if table.names == ["time"]:
        return table.numbers("time")
    if table.names == ["risk"]:
        return RiskScores(table.numbers("risk"))
    not_times = [name for name in table.names if not _is_number(name)]
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


def is_column(target: str) -> bool:
    """Whether a word names a column: nothing that exists, or that looks like a file.

    >>> is_column("cox_curve"), is_column("cox.csv")
    (True, False)
    """
    looks = Path(target).suffix.lower() in (*PARQUET, ".csv") or "/" in target
    return not Path(target).exists() and not looks


def _is_number(text: Any) -> bool:
    if isinstance(text, str) and "_" in text:  # Python reads 1_0 as ten
        return False
    try:
        return bool(np.isfinite(float(text)))
    except (TypeError, ValueError):
        return False


def _read_csv(path: Path) -> tuple[list[str], list[Sequence[Any]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            names = [name.strip() for name in next(reader, [])]
            rows = [row for row in reader if row]
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: cannot be read as CSV: not UTF-8 text (byte {error.start}); "
            "unpack a compressed file first"
        ) from error
    except (csv.Error, OSError) as error:
        raise InputError(f"{path}: cannot be read as CSV ({error})") from error
    if not names:
        raise InputError(f"{path}: empty file; expected a header line and a row per subject")
    for line, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(
                f"{path}: row {line + 1} has {len(row)} fields, the header has {len(names)}"
            )
    return names, list(zip(*rows, strict=True)) or [() for _ in names]


def _read_parquet(path: Path) -> tuple[list[str], list[Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "parquet") from error
    try:
        # Not `read_table`, which refuses columns of the same name in words of its own.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from error
    return list(table.column_names), [c.to_numpy(zero_copy_only=False) for c in table.columns]


def interpolations(predictions: list[str], given: list[str]) -> dict[str, str]:
    """Read --interpolation: one rule for all models of --pred, or NAME=RULE for one of them.

    >>> interpolations(["a=a.csv", "b=b.csv"], ["step", "b=linear"])
    {'a': 'step', 'b': 'linear'}
    """
    models = [item.partition("=")[0] for item in predictions]
    default, own = "linear", {}
    for item in given:
        name, separator, rule = item.rpartition("=")
        one_of("--interpolation", rule, INTERPOLATIONS)
        if not separator:
            default = rule
        elif name in models:
            own[name] = rule
        else:
            raise InputError(f"--interpolation: there is no --pred named {name!r}")
    return {name: own.get(name, default) for name in models}
