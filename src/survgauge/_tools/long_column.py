"""Numbers of each of many subjects, which come part by part: in memory, or above a size on disk.

What is on disk lies in a temporary folder, which ends with the columns in it.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

from ..errors import SurvgaugeError
from .arrays import Floats, repeated, stored_once

#: Bytes that the columns of a folder hold in memory before they are written.
IN_MEMORY = 1 << 28


class Folder:
    """A temporary folder for columns that share what they may hold in memory."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._files = 0
        self.held = 0

    def new_file(self) -> Path:
        """Return the name of another file."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="survgauge-"))
            weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        self._files += 1
        return self._path / str(self._files)


class LongColumn:
    """Numbers of subjects, a number or a row of them for each, in the order in which they come.

    >>> column = LongColumn(Folder())
    >>> column.add(np.array([3.0, 4.0]))
    >>> column.add(np.array([1.0]))
    >>> column.whole()
    array([3., 4., 1.])
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        #: The last parts, which are in memory.
        self._parts: list[Floats] = []
        self._file: Path | None = None
        self._shape: tuple[int, ...] = (0,)

    def add(self, part: Floats) -> None:
        """Add the numbers of further subjects."""
        if not part.size:
            return
        part = np.asarray(part, dtype=np.float64)
        if part.ndim == 1 and part[0] == part[-1] and bool((part == part[0]).all()):
            part = repeated(float(part[0]), part.size)
        else:
            self._folder.held += part.nbytes
        self._parts.append(part)
        self._shape = (self._shape[0] + len(part), *part.shape[1:])
        if self._folder.held > IN_MEMORY:
            self._write()

    def _write(self) -> None:
        """Write what is in memory, unless all subjects have the same number."""
        if self._file is None and self._same() is not None:
            return
        try:
            self._file = self._file or self._folder.new_file()
            with self._file.open("ab") as file:
                for part in self._parts:
                    file.write(np.ascontiguousarray(part, dtype=np.float64).data)
        except OSError as error:
            raise SurvgaugeError(
                f"numbers of all subjects could not be written to {tempfile.gettempdir()}: "
                f"{error}; set the environment variable TMPDIR to a folder with more space"
            ) from error
        self._folder.held -= sum(part.nbytes for part in self._parts if not stored_once(part))
        self._parts = []

    def _same(self) -> float | None:
        """Return the number that all subjects have; None where they differ."""
        if not self._parts or not all(map(stored_once, self._parts)):
            return None
        first = float(self._parts[0][0])
        return first if all(part[0] == first for part in self._parts) else None

    def whole(self) -> Floats:
        """Return the numbers of all subjects."""
        if self._file is not None:
            self._write()
            return np.memmap(self._file, np.float64, "r", shape=self._shape)
        same = self._same()
        if same is not None:
            return repeated(same, self._shape[0])
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.empty(0)
