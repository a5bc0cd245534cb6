"""Labels of groups: read from a column of any kind, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._tools.arrays import Ints, date_text
from ..errors import InputError, numbered
from ..evaluation.groups import check_columns, check_number, group_name
from .batches import Batch

#: More groups than this are a mistake (a column of identifiers), and take an accumulator each.
MOST_GROUPS = 1000
_KINDS = {bool: "flags", int: "whole numbers", float: "numbers", str: "text"}


@dataclass(frozen=True)
class Labels:
    """Which group each subject of a chunk belongs to: `names[codes[i]]`."""

    names: list[Any]
    codes: Ints

    def rows(self) -> Iterator[tuple[Any, Ints]]:
        """Yield each group that has subjects here, with their rows in order.

        >>> [(name, rows.tolist()) for name, rows in Labels(["a", "b"], np.array([1, 0, 1])).rows()]
        [('a', [1]), ('b', [0, 2])]
        """
        order = self.codes.argsort(kind="stable")
        bounds = self.codes[order].searchsorted(np.arange(len(self.names) + 1))
        for k, name in enumerate(self.names):
            if bounds[k] < bounds[k + 1]:
                yield name, order[bounds[k] : bounds[k + 1]]


class GroupKey(NamedTuple):
    """One group of several columns: label 1 of one column is not label "1" of another batch."""

    column: str
    label: Any


def name_of(key: Any) -> Any:
    """Return the name of a group: the label, after its column where there are several.

    >>> name_of("f"), name_of(GroupKey("sex", "f"))
    ('f', 'sex=f')
    """
    return group_name(*key) if isinstance(key, GroupKey) else key


@dataclass(frozen=True)
class SeveralLabels:
    """Groups by several columns; a subject is in one of each."""

    parts: tuple[tuple[str, Labels], ...]

    def rows(self) -> Iterator[tuple[Any, Ints]]:
        """Yield each group of each column that has subjects here, with their rows in order."""
        for column, labels in self.parts:
            for name, rows in labels.rows():
                yield GroupKey(column, name), rows


@dataclass(frozen=True)
class LabelColumns:
    """Several columns with groups, which are evaluated one column after the other."""

    parts: tuple[LabelColumn, ...]

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return [part.column for part in self.parts]

    @property
    def column(self) -> str:
        """Their names, for messages."""
        return ", ".join(self.columns)

    def read(self, batch: Batch, start: int) -> SeveralLabels:
        """Read the labels of a batch whose rows begin at `start`; a gap is an error."""
        return SeveralLabels(tuple((part.column, part.read(batch, start)) for part in self.parts))


@dataclass(frozen=True)
class LabelColumn:
    """A column with the group of each subject: text, whole numbers, flags, dates or categories.

    With `text`, labels are read as text, as a command line shows them.
    """

    column: str
    text: bool = False

    @classmethod
    def of(cls, by: Any) -> LabelColumn | LabelColumns | None:
        """Read the argument `by`: a column, or several."""
        if by is None or isinstance(by, LabelColumn | LabelColumns):
            return by
        if isinstance(by, str):
            return cls(by)
        if not isinstance(by, list | tuple) or not by or not all(isinstance(b, str) for b in by):
            raise InputError(
                "by must be the name of a column in a stream, whose labels come with the batches, "
                f"or several names; got {by if isinstance(by, list | tuple) else type(by).__name__}"
            )
        check_columns(list(by))
        return cls(by[0]) if len(by) == 1 else LabelColumns(tuple(map(cls, by)))

    @property
    def columns(self) -> list[str]:
        """The name, as a list."""
        return [self.column]

    def read(self, batch: Batch, start: int) -> Labels:
        """Read the labels of a batch whose rows begin at `start`; a gap is an error."""
        codes, values = batch.codes(self.column)
        known: dict[Any, int] = {}
        places = np.empty(len(values) + 1, dtype=np.intp)
        places[-1] = -1  # where code -1, a gap, leads
        used = set(np.unique(codes).tolist())
        for k, value in enumerate(values):
            if k in used:
                label = self._label(value, batch)
                places[k] = -1 if label is None else known.setdefault(label, len(known))
        codes = places[codes]
        gaps = np.flatnonzero(codes < 0)
        if gaps.size:
            raise InputError(
                f"{batch.label}: column {self.column!r} must have a label for every subject; it "
                f"is missing in {numbered(start + gaps)} of the test set"
            )
        check_groups_of(known, self)
        return Labels(list(known), codes)

    def _label(self, value: Any, batch: Batch) -> Any:
        """Return a label as plain data; None where it is missing."""
        if value is None or not _is_known(value):
            return None
        dated = date_text(value)
        if dated is not None:
            return dated
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None or (isinstance(plain, float) and plain != plain):
            return None
        if type(plain) not in _KINDS:
            raise InputError(
                f"{batch.label}: column {self.column!r} must hold labels of groups: text, whole "
                f"numbers, flags, dates or categories; got {type(plain).__name__}"
            )
        return str(plain) if self.text else plain


def _is_known(value: Any) -> bool:
    """Whether a label equals itself: NaN, NaT and pandas' NA do not."""
    try:
        return bool(value == value)
    except (TypeError, ValueError):
        return False


def check_groups_of(groups: Iterable[Any], by: LabelColumn | LabelColumns | None) -> None:
    """Refuse more groups than make sense, and labels of which some are text, others numbers."""
    for column, labels in _by_column(groups, by).items():
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


def check_number_of(
    groups: Iterable[Any], by: LabelColumn | LabelColumns | None, subjects: int
) -> None:
    """Refuse columns of the whole stream that are no groups, as `evaluate` does."""
    for column, labels in _by_column(groups, by).items():
        check_number(f"by: column {column!r}", labels, subjects)


def _by_column(
    groups: Iterable[Any], by: LabelColumn | LabelColumns | None
) -> dict[str, list[Any]]:
    """Return the labels of each column; everybody (None) has none."""
    found: dict[str, list[Any]] = {}
    for key in groups:
        if isinstance(key, GroupKey):
            found.setdefault(key.column, []).append(key.label)
        elif key is not None:
            found.setdefault("" if by is None else by.column, []).append(key)
    return found
