"""A number of each of many subjects, which come part by part: in memory, or above a size on disk.

What is on disk lies in a temporary file without a name, which ends with the column.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import IO, Any

import numpy as np

from ..errors import SurvgaugeError
from .arrays import Floats, repeated, stored_once

#: Bytes of a column that wait in memory before they are written.
IN_MEMORY = 1 << 23


class LongColumn:
    """Numbers of subjects, part by part.

    >>> column = LongColumn()
    >>> column.add(np.array([3.0, 4.0]))
    >>> column.add(np.array([1.0]))
    >>> column.whole([1, 0])
    array([1., 3., 4.])
    """

    def __init__(self) -> None:
        self._lengths: list[int] = []
        #: The last parts, which are in memory.
        self._parts: list[Floats] = []
        self._file: IO[bytes] | None = None

    def add(self, part: Floats) -> None:
        """Add the numbers of further subjects."""
        self._lengths.append(part.size)
        self._parts.append(part)
        if sum(p.nbytes for p in self._parts if not stored_once(p)) > IN_MEMORY:
            self._write()

    def extend(self, other: LongColumn) -> None:
        """Add the numbers of another column, which stays as it is."""
        for part in other.parts():
            self.add(part)

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            for part in self._parts:
                self._file.write(np.ascontiguousarray(part, dtype=np.float64).data)
            self._file.flush()
        except OSError as error:
            raise SurvgaugeError(
                f"numbers of all subjects could not be written to {tempfile.gettempdir()}: "
                f"{error}; set the environment variable TMPDIR to a folder with more space"
            ) from error
        self._parts = []

    def parts(self) -> list[Floats]:
        """Return the numbers as they came."""
        if self._file is None:
            return self._parts
        self._write()
        whole: Floats = np.memmap(self._file, np.float64, "r", shape=(sum(self._lengths),))
        bounds = pairwise(accumulate(self._lengths, initial=0))
        return [whole[start:stop] for start, stop in bounds]

    def whole(self, order: Sequence[int]) -> Floats:
        """Return all numbers, with the parts in the given order."""
        if self._file is not None and list(order) == sorted(order):
            self._write()
            return np.memmap(self._file, np.float64, "r", shape=(sum(self._lengths),))
        found = [self.parts()[k] for k in order]
        first = found[0]
        if all(stored_once(part) and part[0] == first[0] for part in found):
            return repeated(float(first[0]), sum(self._lengths))
        return first if len(found) == 1 else np.concatenate(found)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "parts": [
                (float(part[0]), part.size) if stored_once(part) else np.array(part)
                for part in self.parts()
            ]
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        LongColumn.__init__(self)
        for part in state["parts"]:
            self.add(repeated(*part) if isinstance(part, tuple) else part)
