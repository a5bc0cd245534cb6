"""Labels of groups: read from a column of any kind, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterable
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
        if value is None or not _is_known(value):
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


def _is_known(value: Any) -> bool:
    """Whether a label equals itself: NaN, NaT and pandas' NA do not."""
    try:
        return bool(value == value)
    except (TypeError, ValueError):
        return False


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
