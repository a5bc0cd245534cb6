"""Fill gaps and turn a frame of features into numbers; learnt once, applied anywhere."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import Bools, Floats
from ..errors import InputError, name_some

if TYPE_CHECKING:
    import pandas as pd


def kinds_of(X: pd.DataFrame) -> list[str]:
    """Tell for each column whether it holds a number, ordered levels or unordered levels."""
    seen: dict[Any, str | None] = {}  # by type: thousands of columns share a few
    kinds = []
    for name, dtype in X.dtypes.items():
        if dtype not in seen:
            seen[dtype] = _kind(dtype)
        kind = seen[dtype]
        if kind is None:
            raise InputError(
                f"column {name!r} must hold numbers, text or categories; got {dtype}. Drop it or "
                f"turn it into a number first"
            )
        kinds.append(kind)
    return kinds


def _kind(dtype: Any) -> str | None:
    from pandas.api import types

    if getattr(dtype, "categories", None) is not None:
        return "ordered" if dtype.ordered else "unordered"
    if types.is_bool_dtype(dtype) or (
        types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    ):
        return "number"
    is_text = types.is_object_dtype(dtype) or types.is_string_dtype(dtype)
    return "unordered" if is_text else None


def levels_of(column: pd.Series) -> list[Any]:
    """Levels in their order: those of the type if it is a category, else the sorted values."""
    if getattr(column.dtype, "categories", None) is not None:
        return list(column.dtype.categories)
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def encoded_width(X: pd.DataFrame, drop_first: bool = True) -> int:
    """Count the columns after encoding without encoding."""
    kinds = kinds_of(X)
    unordered = [i for i, kind in enumerate(kinds) if kind == "unordered"]
    levels = sum(len(levels_of(X.iloc[:, i])) - int(drop_first) for i in unordered)
    return len(kinds) - len(unordered) + levels


@dataclass(frozen=True)
class Levels:
    """A column of levels: which there are, and which one stands in for a gap."""

    column: str
    position: int
    levels: tuple[Any, ...]
    ordered: bool
    default: int


@dataclass(frozen=True)
class Encoding:
    """A plan learnt from training rows: fills, levels and the names of the columns that come out.

    Numbers keep their value; ordered levels become 0, 1, 2, ...; unordered levels become one
    column each, without the first if `drop_first`. Gaps take the value of `fill` if it has one,
    else the median (numbers; lower median for ordered levels) or the most frequent level.
    """

    columns: tuple[str, ...]
    numbers: tuple[int, ...]
    defaults: Floats
    groups: tuple[Levels, ...]
    names: tuple[str, ...]
    drop_first: bool

    @classmethod
    def fit(
        cls, X: pd.DataFrame, fill: Mapping[str, Any] | None = None, drop_first: bool = True
    ) -> Encoding:
        """Learn from the rows of `X`."""
        columns = tuple(X.columns)
        given = dict(fill or {})
        unknown = [name for name in given if name not in columns]
        if unknown:
            raise InputError(f"fill names columns that X does not have: {unknown}")
        if len(set(columns)) != len(columns):
            raise InputError("X must have distinct column names; some occur twice")
        kinds = kinds_of(X)
        numbers = tuple(i for i, kind in enumerate(kinds) if kind == "number")
        defaults = _number_defaults(X, numbers, given)
        groups = tuple(
            _learn_levels(X.iloc[:, i], i, kind == "ordered", given)
            for i, kind in enumerate(kinds)
            if kind != "number"
        )
        by_position = {group.position: group for group in groups}
        names: list[str] = []
        for i, column in enumerate(columns):
            group = by_position.get(i)
            if group is None or group.ordered:
                names.append(str(column))
            else:
                names.extend(f"{column}_{level}" for level in group.levels[int(drop_first) :])
        return cls(columns, numbers, defaults, groups, tuple(names), drop_first)

    def transform(self, X: pd.DataFrame) -> Floats:
        """Fill and encode rows; a level that was not seen counts as a gap, with a warning."""
        self._check_columns(X)
        X = X[list(self.columns)]
        out = np.empty((len(X), len(self.names)))
        values = _filled(_numbers(X, self.numbers), self.defaults)
        starts = self._starts()
        out[:, [starts[i] for i in self.numbers]] = values
        for group in self.groups:
            codes = _codes(X.iloc[:, group.position], group)
            start = starts[group.position]
            if group.ordered:
                out[:, start] = codes
                continue
            first = int(self.drop_first)
            wanted = np.arange(first, len(group.levels))
            out[:, start : start + wanted.size] = codes[:, None] == wanted
        return out

    def _starts(self) -> list[int]:
        """Position of the first column that each input column turns into."""
        widths = [1] * len(self.columns)
        for group in self.groups:
            if not group.ordered:
                widths[group.position] = len(group.levels) - int(self.drop_first)
        return [0, *np.cumsum(widths).tolist()][:-1]

    def _check_columns(self, X: pd.DataFrame) -> None:
        expected, found = set(self.columns), set(X.columns)
        missing = [c for c in self.columns if c not in found]
        extra = [c for c in X.columns if c not in expected]
        if missing or extra:
            raise InputError(
                f"X must have the columns of the rows that were fitted; missing {missing[:5]}, "
                f"not expected {extra[:5]}"
            )


def _numbers(X: pd.DataFrame, positions: tuple[int, ...]) -> Floats:
    """Numeric columns as one matrix, gaps as NaN."""
    block = X.iloc[:, list(positions)]
    try:
        values = block.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"columns that were numbers when fitted must stay numbers; {error}"
        ) from error
    bad = np.flatnonzero(np.isinf(values).any(axis=0))
    if bad.size:
        raise InputError(f"column {block.columns[bad[0]]!r} holds infinite values; replace them")
    return np.asarray(values)


def _number_defaults(X: pd.DataFrame, positions: tuple[int, ...], given: dict[str, Any]) -> Floats:
    """Official values where given, medians elsewhere."""
    values = _numbers(X, positions)
    known: Bools = np.asarray(np.isfinite(values).any(axis=0))
    defaults = np.zeros(len(positions))
    if known.any():
        defaults[known] = np.nanmedian(values[:, known], axis=0)
    for k, i in enumerate(positions):
        name = X.columns[i]
        if name in given:
            defaults[k] = float(given[name])
        elif not known[k]:
            raise InputError(
                f"column {name!r} has no value in the rows it is fitted on; drop it, or say what "
                f"stands in for a gap with fill={{{name!r}: ...}}"
            )
    return defaults


def _filled(values: Floats, defaults: Floats) -> Floats:
    return np.where(np.isnan(values), defaults, values)


def _positions(column: pd.Series, levels: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Index of each value among the levels, -1 where it is none of them (gaps too)."""
    import pandas as pd

    if getattr(column.dtype, "categories", None) is not None:
        table = pd.Index(levels, dtype=object).get_indexer(
            pd.Index(column.dtype.categories, dtype=object)
        )
        codes = column.cat.codes.to_numpy()
        # Code -1 (a gap) reads the -1 that is appended.
        return np.append(table, -1)[codes]
    found = pd.Index(levels, dtype=object).get_indexer(pd.Index(column, dtype=object))
    return np.asarray(found)


def _learn_levels(column: pd.Series, position: int, ordered: bool, given: dict[str, Any]) -> Levels:
    levels = tuple(levels_of(column))
    name = str(column.name)
    seen = _positions(column, levels)
    seen = seen[seen >= 0]
    if column.name in given:
        if given[column.name] not in levels:
            raise InputError(
                f"fill for column {name!r} must be one of its levels {list(levels)}; got "
                f"{given[column.name]!r}"
            )
        default = levels.index(given[column.name])
    elif not seen.size:
        raise InputError(
            f"column {name!r} has no value in the rows it is fitted on; drop it, or say what "
            f"stands in for a gap with fill={{{name!r}: ...}}"
        )
    elif ordered:
        default = int(np.sort(seen)[(seen.size - 1) // 2])
    else:
        default = int(np.bincount(seen).argmax())
    return Levels(name, position, levels, ordered, default)


def _codes(column: pd.Series, group: Levels) -> np.ndarray[Any, Any]:
    """Level numbers of the rows, gaps and unseen levels filled."""
    found = _positions(column, group.levels)
    gap = column.isna().to_numpy()
    unseen = np.flatnonzero((found < 0) & ~gap)
    if unseen.size:
        values = sorted({str(v) for v in column.iloc[unseen].unique()})
        warnings.warn(
            f"column {group.column!r}: level(s) {values[:5]} were not there when fitted (rows "
            f"{name_some(unseen)}); they count as gaps",
            UserWarning,
            stacklevel=4,
        )
    return np.where(found < 0, group.default, found)
