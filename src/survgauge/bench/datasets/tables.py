"""Frames with sensible types, and datasets from files of your own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.column_kinds import kinds_of, levels_of
from ...data.outcomes import Outcomes
from ...data.tables import read_frame
from ...errors import InputError
from .record import Dataset, Dropped, zero_times

if TYPE_CHECKING:
    import pandas as pd


def widened(column: pd.Series) -> pd.Series:
    """Turn single into double precision by the shortest decimal, as a CSV of it would read.

    So that the same data are the same numbers whether they come as CSV or in a binary format.
    """
    if str(column.dtype).lower() != "float32":
        return column
    values = column.to_numpy(dtype=np.float32, na_value=np.nan)
    return column.__class__(
        values.astype(str).astype(np.float64), index=column.index, name=column.name
    )


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers and flags as float, text as unordered categories, categories as they are."""
    import pandas as pd

    if not frame.columns.is_unique:
        raise InputError("columns must have distinct names; some occur twice")
    kinds = kinds_of(frame)
    changed: dict[Any, Any] = {}
    for name, dtype, kind in zip(frame.columns, frame.dtypes, kinds, strict=True):
        if dtype == np.float64:
            continue
        column = frame[name]
        if getattr(dtype, "categories", None) is not None:
            changed[name] = column.cat.remove_unused_categories()
        elif kind == "number":
            values = widened(column).to_numpy(dtype=np.float64, na_value=np.nan)
            changed[name] = pd.Series(values, index=frame.index)
        else:
            changed[name] = column.astype(pd.CategoricalDtype(levels_of(column)))
    kept = frame[[name for name in frame.columns if name not in changed]]
    tidied = pd.concat([kept, pd.DataFrame(changed, index=frame.index)], axis=1)
    return tidied[list(frame.columns)].reset_index(drop=True)


def ordered(column: pd.Series, levels: Iterable[Any]) -> pd.Series:
    """Make a column an ordered category; a value outside the levels is refused."""
    import pandas as pd

    names = list(levels)
    strange = sorted({str(v) for v in column.dropna().unique() if v not in names})
    if strange:
        raise InputError(f"column {column.name!r} must hold one of {names}; got {strange[:5]}")
    return column.astype(pd.CategoricalDtype(names, ordered=True))


def columns_needed(frame: pd.DataFrame, names: Iterable[str], where: str) -> None:
    """Refuse a table without the columns that are needed, showing those that it has."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{where} lacks the column(s) {', '.join(map(repr, missing))}; it has "
            f"{[str(c) for c in frame.columns[:12]]}{' ...' if frame.shape[1] > 12 else ''}"
        )


def from_file(
    path: str | Path,
    *,
    time: str = "time",
    event: str = "event",
    drop: Iterable[str] = (),
    name: str | None = None,
    time_unit: str = "",
) -> Dataset:
    """Load any CSV, Parquet or Feather table with a time and an event column.

    Parameters
    ----------
    path : path
        The table: a row per subject; all other columns are features.
    time, event : str
        Names of the columns with the observed time and the event flag (True or 1 if observed).
    drop : iterable of str
        Columns to leave out, such as identifiers and other outcomes.
    name : str, optional
        What to call the dataset; the name of the file if not given.
    time_unit : str
        For axis labels.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "study.csv"
    >>> _ = file.write_text("months,died,age,arm\\n5,1,61,a\\n8,0,70,b\\n3,1,58,a\\n")
    >>> ds = from_file(file, time="months", event="died")
    >>> ds
    Dataset('study': 3 rows, 2 events, 33.3 % censored, 2 features)
    >>> folder.cleanup()
    """
    path = Path(path)
    frame = read_frame(path)
    left_out = [drop] if isinstance(drop, str) else list(drop)
    columns_needed(frame, [time, event, *left_out], path.name)
    X = tidy(frame.drop(columns=[time, event, *left_out]))
    _warn_of_identifiers(X, path.name)
    y = Outcomes(frame[time], frame[event])
    return Dataset(
        X=X,
        y=y,
        name=name or path.name.partition(".")[0],
        source=str(path),
        licence="your own file",
        dropped=tuple(Dropped(column, "left out on request") for column in left_out),
        notes=zero_times(y),
        time_unit=time_unit,
    )


def _warn_of_identifiers(X: pd.DataFrame, where: str) -> None:
    """A text column with a level for every row is a name, not a feature."""
    suspects = [
        str(column)
        for column in X.columns
        if len(X) > 20
        and getattr(X[column].dtype, "categories", None) is not None
        and len(X[column].dtype.categories) > 0.9 * len(X)
    ]
    if suspects:
        warnings.warn(
            f"{where}: column(s) {suspects} have a different text in nearly every row; identifiers "
            f"are no features, leave them out with drop={suspects}",
            UserWarning,
            stacklevel=3,
        )
