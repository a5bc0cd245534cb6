"""Columns of subjects on disk: one file for all groups of a part, rows one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..errors import InputError
from .columns import Columns


def as_rows(y: Outcomes, risks: Iterable[Floats]) -> Floats:
    """Return a row of numbers a subject: time, event, risks, and frequency where there is one."""
    columns = [y.time, y.event, *risks, *([y.weight] if y.weighted else [])]
    rows = np.empty((len(y), len(columns)))
    for k, column in enumerate(columns):
        rows[:, k] = column
    return rows


@dataclass(frozen=True)
class Piece:
    """Subjects of one group in a file."""

    #: Number of the first of them in the whole test set.
    start: int
    path: str
    #: Where they begin, in bytes.
    offset: int
    rows: int
    width: int
    #: Models that cannot rank them, and why.
    undefined: dict[str, str]

    def read(self) -> Floats:
        """Return what `as_rows` gave."""
        size = self.rows * self.width
        return np.fromfile(self.path, count=size, offset=self.offset).reshape(-1, self.width)


class Spill:
    """A temporary folder, gone at the end."""

    def __init__(self) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="survgauge-")
        except OSError as error:
            raise InputError(
                f"memory: columns do not fit and there is no room on disk for them ({error}); set "
                "TMPDIR to a folder that can be written"
            ) from error
        self._numbers = count()

    def close(self) -> None:
        """Remove all files."""
        self._folder.cleanup()

    def folder(self) -> Path:
        """Return a new folder inside."""
        return Path(tempfile.mkdtemp(dir=self._folder.name))

    def write(self, whole: Any) -> None:
        """Take the columns of a part (of each of its groups) off its hands, and write them."""
        path = Path(self._folder.name) / f"part{next(self._numbers):09d}.bin"
        with path.open("wb") as stream:
            for _, part in whole.parts():
                columns: Columns | None = part.columns
                if columns is not None:
                    part.columns = None
                    rows = as_rows(columns.outcomes(), columns.risks().values())
                    number, width = rows.shape
                    where = columns.first_row(), str(path), stream.tell()
                    part.spilled.append(Piece(*where, number, width, dict(columns.undefined)))
                    rows.tofile(stream)
                    stream.flush()
