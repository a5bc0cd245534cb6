"""One folder a run: plan, environment, one small file a cell, and all of it as one Parquet file.

Files appear under their final name only when they are complete, and carry a checksum: whatever is
found is whole, or known to be damaged.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any

from .._tools.writing import write_atomically
from ..errors import InputError
from .cells import Outcome
from .environment import is_environment, machine
from .grid import Cell, LawCell, Place, laws_of
from .plan import Plan
from .sealed import (
    DamagedError,
    check_archive,
    check_failure,
    check_result,
    seal,
    seal_archive,
    unseal,
)

_CELLS, _FAILURES = "cells", "failures"
#: Archives of arrays: what models predicted, and the curves of laws.
_PREDICTIONS, _LAWS = "predictions", "laws"
_KINDS = (_CELLS, _FAILURES, _PREDICTIONS, _LAWS)
_PLAN, _ENVIRONMENT, _RUNNING = "plan.json", "environment.json", "running"
_RESULTS, _RESULTS_CHECKSUM = "results.parquet", "results.parquet.sha256"
_LOCK, _HALF_WRITTEN = ".lock", ".survgauge-"
_OURS = {*_KINDS, _PLAN, _ENVIRONMENT, _RUNNING, _RESULTS, _RESULTS_CHECKSUM, _LOCK}
#: Of stores whose files all carry checksums; earlier ones have none.
_FORMAT = 2


class Store:
    """Results of a plan in a folder.

    Parameters
    ----------
    path : path
        The folder.

    Notes
    -----
    ``plan.json``, ``environment.json`` (versions, machine, checksums of the data),
    ``cells/DATASET/CENSORING/rR-fF-MODEL-DIGEST.json``, ``failures/``, ``predictions/`` and
    ``laws/`` alike, ``results.parquet``. The digest covers all that a result depends on, so that
    changed parameters make new files and never pass for the old ones.

    Every file carries a checksum of its content. Reading a damaged one is an error that names it;
    a run that is resumed computes its cell again. Stores that were begun before there were
    checksums are read without; what is added to them carries one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.root = Path(path).expanduser()
        self._has_checksums: bool | None = None

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    # -- the run -----------------------------------------------------------------------------

    def check(self, *, resume: bool) -> None:
        """Refuse to begin or to go on with a run where that is not possible; write nothing."""
        if self.has_results() and not resume:
            raise InputError(
                f"store {self.root} holds an earlier run; go on with it (--resume, or "
                "--retry-failed to run failed cells again, too), or give another folder"
            )
        if resume and not self.is_used():
            raise InputError(
                f"store {self.root} holds no run to go on with; give the folder of the run, or "
                "begin one without --resume, --retry-failed and --metrics-only"
            )
        names = [place.name for place in self.root.iterdir()] if self.root.is_dir() else []
        strange = [n for n in names if n not in _OURS and not n.startswith(_HALF_WRITTEN)]
        if not self.is_used() and strange:
            raise InputError(
                f"store {self.root} holds other files ({strange[0]}, ...); give another folder"
            )

    def begin(self, plan: Plan, *, resume: bool, without: Iterable[Path] = ()) -> None:
        """Begin a run in the folder, or take up the one that is in it; see `locked`.

        Files that were found to be damaged (`without`) are removed: what they said is lost.
        """
        self.check(resume=resume)
        self._clean()
        for file in without:
            file.unlink(missing_ok=True)
        if not resume:  # what a run left that was stopped before its first cell
            for name in (_ENVIRONMENT, _RESULTS, _RESULTS_CHECKSUM):
                (self.root / name).unlink(missing_ok=True)
        self._write_json(_PLAN, plan.to_dict())

    def is_used(self) -> bool:
        """Whether a run was begun here."""
        return (self.root / _PLAN).is_file() or self.has_results()

    def has_results(self) -> bool:
        """Whether a run came as far as its first cell."""
        found = (p for kind in _KINDS for p in (self.root / kind).glob("*/*/[!.]*"))
        return (self.root / _RESULTS).is_file() or next(found, None) is not None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and keep a second run out; the system lets go if this process dies.

        A run that ends before it has begun leaves nothing behind.
        """
        made = not self.root.exists()
        if not made and not self.root.is_dir():
            raise InputError(f"store must be a folder; {self.root} is a file")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            file = (self.root / _LOCK).open("w")
        except OSError as error:
            raise InputError(f"store {self.root} cannot be written: {error}") from error
        with file:
            if not _is_ours(file):
                raise InputError(
                    f"store {self.root} is in use by another run; wait for it or give another"
                )
            try:
                yield
            finally:
                if not self.is_used():
                    (self.root / _LOCK).unlink(missing_ok=True)
                    with suppress(OSError):  # not empty
                        if made:
                            self.root.rmdir()

    def plan(self) -> Plan:
        """Read the plan of the last run."""
        try:
            return Plan.of(self._read_json(_PLAN))
        except FileNotFoundError as error:
            raise InputError(f"{self.root} holds no run: {_PLAN} is missing") from error
        except (DamagedError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{self.root / _PLAN} cannot be read as a plan ({error}); run the plan again with "
                "--resume, which keeps the finished cells and writes this file anew"
            ) from error

    def environment(self) -> dict[str, Any]:
        """Read versions, machine and checksums."""
        try:
            found = self._read_json(_ENVIRONMENT)
            if not is_environment(found):
                raise DamagedError("it does not describe data and sessions")
        except FileNotFoundError:
            return {}
        except DamagedError as error:
            raise InputError(
                f"{self.root / _ENVIRONMENT} is damaged ({error}); without it nobody knows whether "
                "the data have changed since the run began: put back a copy, or delete it and "
                "resume if they have not"
            ) from error
        return found

    def check_data(self, data: Mapping[str, Any]) -> None:
        """Refuse data that changed since the run began."""
        before = self.environment().get("data", {})
        for name, facts in data.items():
            old = before.get(name, facts)
            if old["checksum"] != facts["checksum"]:
                raise InputError(
                    f"data set {name!r} has changed since this run began ({old['rows']} rows then, "
                    f"{facts['rows']} now); give another store, so that results do not mix"
                )

    def note_environment(self, data: Mapping[str, Any], **more: Any) -> None:
        """Record versions, machine and data; refuse data that changed since the run began."""
        self.check_data(data)
        known = self.environment()
        if not known and not self.has_results():
            known = {"format": _FORMAT}
        session = {"started": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **machine(), **more}
        sessions = [*known.get("sessions", []), session]
        together = {**known.get("data", {}), **data}
        self._write_json(_ENVIRONMENT, {**known, "data": together, "sessions": sessions})
        self._has_checksums = None

    # -- cells -------------------------------------------------------------------------------

    def put(self, cell: Place, outcome: Outcome) -> None:
        """Keep what became of a cell; of a law, its curves are the result."""
        is_law = isinstance(cell, LawCell)
        if outcome.predictions is not None:
            content = seal_archive(outcome.predictions, cell.prediction_path)
            self._write(_file(_LAWS if is_law else _PREDICTIONS, cell), content)
        content = _sealed(outcome.record)
        if outcome.status == "ok":
            if not is_law:
                self._write(_file(_CELLS, cell), content)
            if outcome.failure is None:
                (self.root / _file(_FAILURES, cell)).unlink(missing_ok=True)
            else:
                self._write(_file(_FAILURES, cell), _sealed(outcome.failure))
        elif outcome.status == "failed":
            self._write(_file(_FAILURES, cell), content)

    def finished(self) -> set[str]:
        """Paths of the finished cells and laws, see `Place.path`; no file is opened."""
        return self._listed(_CELLS) | self._listed(_LAWS)

    def failed(self) -> set[str]:
        """Paths of the cells and laws that failed, or in which a metric did."""
        return self._listed(_FAILURES)

    def damaged(self, cells: Iterable[Cell]) -> dict[Path, str]:
        """Files of some cells that do not say what was written into them, with the reason."""
        finished, failed = self.finished(), self.failed()
        found = {}
        known = list(cells)
        # Predictions and laws are read only where metrics are still to be computed from them.
        open_ = [cell for cell in known if cell.path not in finished]
        for cell in [*known, *laws_of(open_)]:
            kinds = [_CELLS if cell.path in finished else _PREDICTIONS]
            if isinstance(cell, LawCell):
                kinds = [_LAWS]
            kinds += [_FAILURES] * (cell.path in failed)
            for kind in kinds:
                try:
                    self._read_cell(kind, cell)
                except DamagedError as error:
                    found[self.root / _file(kind, cell)] = str(error)
        return found

    def cells_of(self, files: Iterable[Path]) -> set[str]:
        """Paths of the cells whose results or failures these files are, see `Place.path`."""
        places = [file.relative_to(self.root).with_suffix("").parts for file in files]
        return {"/".join(parts[1:]) for parts in places if parts[0] != _PREDICTIONS}

    def predictions(self, cell: Cell) -> bytes | None:
        """Predictions of a cell, if they were kept."""
        content: bytes | None = self._undamaged(_PREDICTIONS, cell)
        return content

    def has_predictions(self, cell: Cell) -> bool:
        """Whether predictions of a cell were kept; the file is not opened."""
        return (self.root / _file(_PREDICTIONS, cell)).is_file()

    def inputs(self, cell: Place) -> tuple[bytes | None, dict[str, bytes]]:
        """What is known before a cell is run: its predictions, and the laws of its fold by name."""
        if not isinstance(cell, Cell):
            return None, {}
        laws = {law.model.name: self._undamaged(_LAWS, law) for law in cell.laws()}
        return self.predictions(cell), {k: v for k, v in laws.items() if v is not None}

    def records(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """Finished cells of a plan, in its order."""
        return self._each(_CELLS, plan.cells())

    def failures(self, plan: Plan) -> list[dict[str, Any]]:
        """Records of cells and laws without a result, with error, message and traceback."""
        cells, finished = plan.cells(), self.finished()
        units = (unit for unit in [*laws_of(cells), *cells] if unit.path not in finished)
        return list(self._each(_FAILURES, units))

    def _each(self, kind: str, cells: Iterable[Place]) -> Iterator[dict[str, Any]]:
        here = self._listed(kind)
        return (self._undamaged(kind, cell) for cell in cells if cell.path in here)

    def _undamaged(self, kind: str, cell: Place) -> Any:
        try:
            return self._read_cell(kind, cell)
        except DamagedError as error:
            raise InputError(
                f"{self.root / _file(kind, cell)} is damaged ({error}); run the plan again with "
                "--resume, which computes this cell again and keeps the others"
            ) from error

    def _read_cell(self, kind: str, cell: Place) -> Any:
        """Record of a cell, or its predictions or curves as bytes (None if there are none)."""
        if kind in (_PREDICTIONS, _LAWS):
            try:
                content = (self.root / _file(kind, cell)).read_bytes()
            except FileNotFoundError:
                return None
            check_archive(content, cell.prediction_path, self._strict)
            return content
        record = unseal((self.root / _file(kind, cell)).read_bytes(), self._strict)
        check = check_result if kind == _CELLS else check_failure
        check(record, cell)
        return record

    # -- all of it ---------------------------------------------------------------------------

    def write_results(self, content: bytes) -> None:
        """Keep the consolidated results with their checksum."""
        self._write(_RESULTS, content)
        line = f"{sha256(content).hexdigest()}  {_RESULTS}\n"  # as sha256sum reads it
        self._write(_RESULTS_CHECKSUM, line.encode())

    def consolidated(self) -> bytes | None:
        """Consolidated results of a store that was handed on without its cells, else None."""
        if self._listed(_CELLS) or self.failed() or not (self.root / _RESULTS).is_file():
            return None
        content, told = (self.root / _RESULTS).read_bytes(), self.root / _RESULTS_CHECKSUM
        if told.is_file() and sha256(content).hexdigest().encode() not in told.read_bytes():
            raise self.damaged_results(f"its content does not match {told.name}")
        return content

    def damaged_results(self, reason: object) -> InputError:
        """Return the error of consolidated results that cannot be read."""
        return InputError(
            f"{self.root / _RESULTS} is damaged ({reason}); put back a copy of it, or run the plan "
            "again"
        )

    # -- files -------------------------------------------------------------------------------

    @property
    def _strict(self) -> bool:
        """Whether every file of the store must carry a checksum."""
        if self._has_checksums is None:
            self._has_checksums = self.environment().get("format") == _FORMAT
        return self._has_checksums

    def _write(self, name: str, content: bytes) -> None:
        write_atomically(self.root / name, content, make_folder=True)

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._write(name, (json.dumps(seal(content), indent=2) + "\n").encode())

    def _read_json(self, name: str) -> dict[str, Any]:
        # Of the environment and the plan nobody knows beforehand whether they carry a checksum.
        return unseal((self.root / name).read_bytes(), strict=False)

    def _listed(self, kind: str) -> set[str]:
        """Paths of the cells that have a file of a kind; hidden files are half-written ones."""
        ending = ".npz" if kind == _LAWS else ".json"
        names = glob(f"*/*/*{ending}", root_dir=self.root / kind)
        return {Path(name).as_posix().removesuffix(ending) for name in names}

    def _clean(self) -> None:
        """Remove what a killed process left half-written."""
        places = list(self.root.glob(f"{_HALF_WRITTEN}*"))
        for kind in _KINDS:
            places += (self.root / kind).glob("*/*/.*")
        for place in places:
            place.unlink(missing_ok=True)


def _sealed(record: Mapping[str, Any]) -> bytes:
    return json.dumps(seal(record), allow_nan=False).encode()


def _file(kind: str, cell: Place) -> str:
    """Name of a cell's file inside the store."""
    if kind in (_PREDICTIONS, _LAWS):
        return f"{kind}/{cell.prediction_path}.npz"
    return f"{kind}/{cell.path}.json"


def _is_ours(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows; two runs would repeat work but not damage anything
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another run may have removed the file between our opening and locking it.
        return os.path.samestat(os.fstat(file.fileno()), os.stat(file.name))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # a file system without locks
