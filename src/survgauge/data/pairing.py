"""Rows of several files are paired by a column that names the subjects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from .._tools.arrays import Ints
from ..errors import InputError
from .tables import Table, is_number


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
