"""What columns hold: a curve of each subject, or the label of its group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._tools.arrays import Ints, date_text, is_missing, shown, vector
from ...data.curves import INTERPOLATIONS, SurvivalCurves
from ...data.incidence import INTERPOLATIONS as OF_INCIDENCE
from ...data.incidence import IncidenceCurves
from ...data.interpolation import check_tail
from ...errors import InputError, as_names, numbered, one_of
from ..reading import check_columns, check_number, group_name
from .batches import Batch

#: Schema or field metadata with a grid, as a JSON list of times.
GRID_KEY = "survgauge.times"


@dataclass(frozen=True)
class CurveColumns:
    """Columns with survival curves on one grid of times.

    Parameters
    ----------
    columns : str or sequence of str
        A column of lists (of any or of fixed size), wide columns one by one, or a prefix with a
        star: ``"cox_*"`` are all columns that begin with ``cox_``, the rest of their names being
        the times.
    times : array-like, optional
        The grid. Not needed where the names of wide columns say it, or where the Arrow schema has
        it as metadata (``survgauge.times``, a JSON list).
    interpolation, tail : str
        As for `SurvivalCurves`.
    """

    kind: ClassVar[str] = "curves"

    columns: str | tuple[str, ...]
    times: tuple[float, ...] | None = None
    interpolation: str = "linear"
    tail: str = "linear"
    #: What the names of wide columns begin with, once they have been found by it.
    prefix: str | None = None

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, INTERPOLATIONS)
        check_tail(self.tail)
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", as_names(self.columns, "columns"))
        if self.times is not None:
            grid = vector(self.times, "times", minimum=0.0)
            object.__setattr__(self, "times", tuple(grid.tolist()))

    @property
    def reads(self) -> list[str]:
        """Columns to read."""
        return [self.columns] if isinstance(self.columns, str) else list(self.columns)

    def resolved(self, batch: Batch) -> CurveColumns:
        """Fill in what the first batch tells: names of wide columns, the grid."""
        spec = self
        if isinstance(spec.columns, str) and spec.columns.endswith("*"):
            prefix = spec.columns[:-1]
            names = [name for name in batch.names if name.startswith(prefix)]
            if not names:
                raise InputError(f"{batch.label}: no column begins with {prefix!r}")
            spec = replace(spec, columns=tuple(names), prefix=prefix)
            if spec.times is None:
                spec = replace(spec, times=_times_of(names, prefix, batch))
        if spec.times is None:
            named = None
            if isinstance(spec.columns, str):
                named = batch.metadata(spec.columns, GRID_KEY)
            if named is None:
                raise InputError(
                    f"{batch.label}: the curves in {spec.columns!r} need their grid: give "
                    f"CurveColumns(..., times=[...]) or --grid, or write it into the file as "
                    f"metadata {GRID_KEY!r}"
                )
            spec = replace(spec, times=_named_grid(named, batch))
        return spec

    def of(self, batch: Batch) -> SurvivalCurves:
        """Read the curves of a batch."""
        values = self.values(batch)
        return SurvivalCurves(np.array(self.times), values, self.interpolation, self.tail)

    def values(self, batch: Batch) -> Any:
        """Read the matrix of a batch: one row per subject, one column per time."""
        if isinstance(self.columns, str):
            values = batch.matrix(self.columns)
            self._same_grid(batch)
        else:
            self.refuse_more(batch.names, batch.label)
            columns = [batch.vector(name) for name in self.columns]
            kind = np.result_type(*columns)
            values = np.empty((len(batch), len(columns)), dtype=kind if kind.kind == "f" else float)
            for k, column in enumerate(columns):
                values[:, k] = column
        size = len(self.times or ())
        if values.shape[1] != size:
            raise InputError(
                f"{batch.label}: curves in {self.columns!r} have {values.shape[1]} values, their "
                f"grid has {size} times"
            )
        return values

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse wide columns that the first batch did not have: they would be left out."""
        if self.prefix is not None:
            known = set(self.columns)
            more = [n for n in names if n.startswith(self.prefix) and n not in known]
            if more:
                raise InputError(
                    f"{label}: column {more[0]!r} begins with {self.prefix!r}, but the first batch "
                    "has no such column; curves must have the same times everywhere"
                )

    def _same_grid(self, batch: Batch) -> None:
        """Refuse a file whose metadata say another grid."""
        named = batch.metadata(str(self.columns), GRID_KEY)
        if named is not None and _named_grid(named, batch) != self.times:
            raise InputError(
                f"{batch.label}: the grid of {self.columns!r} differs from that of other files"
            )


@dataclass(frozen=True)
class IncidenceColumns:
    """Columns with the predicted cumulative incidence of every cause, on one grid of times.

    Parameters
    ----------
    columns : mapping of cause to columns
        For the name of each cause, in the order of their codes, a column of lists, wide columns one
        by one, or a prefix with a star, as for `CurveColumns`.
    times : array-like, optional
        The grid, as for `CurveColumns`.
    interpolation : {"linear", "step"}
        As for `IncidenceCurves`.

    Examples
    --------
    >>> IncidenceColumns({"relapse": "relapse_*", "death": "death_*"}).reads
    ['relapse_*', 'death_*']
    """

    kind: ClassVar[str] = "curves"

    columns: Mapping[str, Any]
    times: tuple[float, ...] | None = None
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, OF_INCIDENCE)
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise InputError(
                "columns must say for each cause which columns hold its incidence, such as "
                f"{{'relapse': 'relapse_*', 'death': 'death_*'}}; got {shown(self.columns)}"
            )
        columns = {
            str(cause): part if isinstance(part, CurveColumns) else CurveColumns(part, self.times)
            for cause, part in self.columns.items()
        }
        object.__setattr__(self, "columns", columns)

    @property
    def reads(self) -> list[str]:
        """Columns to read."""
        return [name for part in self.columns.values() for name in part.reads]

    def resolved(self, batch: Batch) -> IncidenceColumns:
        """Fill in what the first batch tells: names of wide columns, the grid."""
        parts = {cause: part.resolved(batch) for cause, part in self.columns.items()}
        grids = {part.times for part in parts.values()}
        if len(grids) > 1:
            raise InputError(
                f"{batch.label}: all causes must have the same times; the columns of "
                f"{', '.join(map(repr, parts))} have different ones"
            )
        return replace(self, columns=parts, times=grids.pop())

    def of(self, batch: Batch) -> IncidenceCurves:
        """Read the curves of a batch."""
        values = [part.values(batch) for part in self.columns.values()]
        stacked = np.stack(values, axis=1)
        return IncidenceCurves(self.times, stacked, tuple(self.columns), self.interpolation)

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse wide columns that the first batch did not have: they would be left out."""
        for part in self.columns.values():
            part.refuse_more(names, label)


def _named_grid(named: bytes, batch: Batch) -> tuple[float, ...]:
    """Grid in the metadata of a file."""
    try:
        return tuple(float(t) for t in json.loads(named))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{batch.label}: metadata {GRID_KEY!r} must be a JSON list of times; got {named!r}"
        ) from error


def _times_of(names: list[str], prefix: str, batch: Batch) -> tuple[float, ...]:
    """Times in the names of wide columns."""
    try:
        return tuple(float(name[len(prefix) :]) for name in names)
    except ValueError as error:
        raise InputError(
            f"{batch.label}: columns that begin with {prefix!r} must go on with times; {error}"
        ) from None


#: More groups than this are a mistake (a column of identifiers), and take an accumulator each.
MOST_GROUPS = 1000
_KINDS = {bool: "flags", int: "whole numbers", float: "numbers", str: "text"}


class GroupKey(NamedTuple):
    """One group of a column: label 1 of one column is not label "1" of another batch."""

    column: str
    label: Any
    #: Whether groups are by this column only.
    alone: bool

    @property
    def name(self) -> Any:
        """The label, after its column where there are several.

        >>> GroupKey("sex", "f", True).name, GroupKey("sex", "f", False).name
        ('f', 'sex=f')
        """
        return self.label if self.alone else group_name(self.column, self.label)


#: Each group that has subjects in a chunk, with their rows in order.
Groups = list[tuple[GroupKey, Ints]]


@dataclass(frozen=True)
class LabelColumns:
    """Columns with the groups of each subject: text, whole numbers, flags, dates or categories.

    Groups are evaluated one column after the other. With `text`, labels are read as text, as a
    command line shows them.
    """

    columns: tuple[str, ...]
    text: bool = False

    @classmethod
    def of(cls, by: Any) -> LabelColumns | None:
        """Read the argument `by`: a column, or several."""
        if by is None or isinstance(by, LabelColumns):
            return by
        names = [by] if isinstance(by, str) else by
        if not (isinstance(names, list | tuple) and names) or any(
            not isinstance(name, str) for name in names
        ):
            raise InputError(
                "by must be the name of a column in a stream, whose labels come with the batches, "
                f"or several names; got {by if isinstance(by, list | tuple) else type(by).__name__}"
            )
        check_columns(list(names))
        return cls(tuple(names))

    def read(self, batch: Batch, start: int) -> Groups:
        """Read the groups of a batch whose rows begin at `start`; a gap is an error."""
        alone, found = len(self.columns) == 1, []
        for column in self.columns:
            labels, codes = self._labels(column, batch, start)
            groups = [GroupKey(column, label, alone) for label in labels]
            check_groups_of(groups)
            order = codes.argsort(kind="stable")
            rows = np.split(order, codes[order].searchsorted(np.arange(1, len(groups))))
            found += list(zip(groups, rows, strict=True))
        return found

    def _labels(self, column: str, batch: Batch, start: int) -> tuple[list[Any], Ints]:
        """Read a column as (labels, codes): labels[codes[i]] is that of row i."""
        codes, values = batch.codes(column)
        known: dict[Any, int] = {}
        places = np.empty(len(values) + 1, dtype=np.intp)
        places[-1] = -1  # where code -1, a gap, leads
        used = set(np.unique(codes).tolist())
        for k, value in enumerate(values):
            if k in used:
                label = self._label(value, column, batch)
                places[k] = -1 if label is None else known.setdefault(label, len(known))
        codes = places[codes]
        gaps = np.flatnonzero(codes < 0)
        if gaps.size:
            raise InputError(
                f"{batch.label}: column {column!r} must have a label for every subject; it "
                f"is missing in {numbered(start + gaps)} of the test set"
            )
        return list(known), codes

    def _label(self, value: Any, column: str, batch: Batch) -> Any:
        """Return a label as plain data; None where it is missing."""
        if is_missing(value):
            return None
        dated = date_text(value)
        if dated is not None:
            return dated
        plain = value.item() if isinstance(value, np.generic) else value
        if type(plain) not in _KINDS:
            raise InputError(
                f"{batch.label}: column {column!r} must hold labels of groups: text, whole "
                f"numbers, flags, dates or categories; got {type(plain).__name__}"
            )
        return str(plain) if self.text else plain


def check_groups_of(groups: Iterable[GroupKey | None]) -> None:
    """Refuse more groups than make sense, and labels of which some are text, others numbers."""
    for column, labels in _by_column(groups).items():
        if len(labels) > MOST_GROUPS:
            raise InputError(
                f"by: column {column!r} has more than {MOST_GROUPS} labels ("
                f"{', '.join(map(repr, labels[:3]))}, ...); groups must be few: "
                "put labels together, or filter the batches"
            )
        kinds = sorted({_KINDS[type(label)] for label in labels})
        if len(kinds) > 1:
            raise InputError(
                f"by: column {column!r} must hold labels of one kind in all batches; got "
                f"{' and '.join(kinds)}"
            )


def check_number_of(groups: Iterable[GroupKey], subjects: int) -> None:
    """Refuse columns of the whole stream that are no groups, as `evaluate` does."""
    for column, labels in _by_column(groups).items():
        check_number(f"by: column {column!r}", labels, subjects)


def _by_column(groups: Iterable[GroupKey | None]) -> dict[str, list[Any]]:
    """Return the labels of each column; everybody (None) has none."""
    found: dict[str, list[Any]] = {}
    for key in groups:
        if key is not None:
            found.setdefault(key.column, []).append(key.label)
    return found
