"""One folder a run: plan, environment, one Parquet file a finished cell, and all of it as one.

Files appear under their final name only when they are complete, and carry a checksum: whatever is
found is whole, or known to be damaged. Records are JSON with a checksum, results of cells Parquet
with the name of the cell and a checksum of what the rows say, predictions NumPy archives with a
checksum after their end.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.extras import need
from ..._tools.writing import write_atomically
from ...data.tables import open_parquet
from ...errors import InputError
from .cells import Outcome
from .plan import Cell, Plan, distributions_of
from .process import is_ours, machine
from .scoring import Arrays

if TYPE_CHECKING:
    import pandas as pd


class DamagedError(Exception):
    """A file does not say what was written into it."""


def _checksum(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def packed_json(record: Mapping[str, Any]) -> bytes:
    """Write a record and its checksum.

    >>> read_json(packed_json({"value": 0.1}))
    {'value': 0.1}
    """
    sealed = {**record, "checksum": _checksum(record)}
    return (json.dumps(sealed, indent=2, allow_nan=False) + "\n").encode()


def read_json(content: bytes) -> dict[str, Any]:
    """Read what `packed_json` wrote.

    >>> read_json(packed_json({"value": 0.1}).replace(b"0.1", b"0.3"))
    Traceback (most recent call last):
    survgauge.bench.experiment.store.DamagedError: its content does not match its checksum
    """
    try:
        record: dict[str, Any] = dict(json.loads(content.decode("utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError("it is empty" if not content else f"no JSON: {error}") from error
    if record.pop("checksum", None) != _checksum(record):
        raise DamagedError("its content does not match its checksum")
    return record


def packed_table(rows: list[dict[str, Any]], cell: str) -> Any:
    """Rows of a cell as a table of Arrow that says which cell it is about, and what it holds."""
    pa = need("pyarrow", "writing Parquet", "experiment")
    about = {"cell": cell, "sha256": _checksum([cell, rows])}
    return pa.Table.from_pylist(rows).replace_schema_metadata(about)


def parquet_bytes(table: Any) -> bytes:
    """Write a table as Parquet whose pages carry checksums."""
    parquet = need("pyarrow.parquet", "writing Parquet", "experiment")
    content = io.BytesIO()
    parquet.write_table(table, content, write_page_checksum=True)
    return content.getvalue()


def read_table(content: bytes, cell: str) -> Any:
    """Read the table of a cell.

    >>> table = packed_table([{"metric": "mae_po", "value": 0.1}], "a/b")
    >>> read_table(parquet_bytes(table), "a/b").to_pylist()
    [{'metric': 'mae_po', 'value': 0.1}]
    """
    pa = need("pyarrow", "reading Parquet", "experiment")
    try:
        with open_parquet(pa.BufferReader(content), extra="experiment") as file:
            table = file.read(use_threads=False)
        found = _checksum([cell, table.to_pylist()])
    except Exception as error:  # whatever Arrow makes of bytes that nobody wrote
        reason = " ".join(str(error).split())
        raise DamagedError(f"no Parquet: {reason}" if content else "it is empty") from error
    about = table.schema.metadata or {}
    if about.get(b"cell") != cell.encode():
        raise DamagedError("it is about another cell")
    if about.get(b"sha256") != found.encode():
        raise DamagedError("its content does not match its checksum")
    return table


def packed_arrays(arrays: Arrays, cell: str) -> bytes:
    """Write arrays as an archive, and after it a checksum of it and of the name of the cell."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    archive = content.getvalue()
    return archive + sha256(cell.encode() + archive).digest()


def read_arrays(content: bytes, cell: str) -> Arrays:
    """Read what `packed_arrays` wrote.

    >>> read_arrays(packed_arrays({"risk": np.array([1.0, 2.0])}, "a/b"), "a/b")
    {'risk': array([1., 2.])}
    """
    archive, seal = content[:-32], content[-32:]
    if sha256(cell.encode() + archive).digest() != seal:
        raise DamagedError("its content does not match its checksum, or it is of another cell")
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


#: Kinds of files; predictions are what models predicted, and the curves of distributions.
_CELLS, _FAILURES, _PREDICTIONS = "cells", "failures", "predictions"
_ENDINGS = {_CELLS: ".parquet", _FAILURES: ".json", _PREDICTIONS: ".npz"}
_PLAN, _ENVIRONMENT = "plan.json", "environment.json"
_RESULTS = "results.parquet"
_LOCK, _HALF_WRITTEN = ".lock", ".survgauge-"
#: The last two are of earlier versions.
_OURS = {*_ENDINGS, _PLAN, _ENVIRONMENT, _RESULTS, _LOCK, f"{_RESULTS}.sha256", "running"}
_FLOATS = ("value", "stderr", "true_value", "true_stderr", "data_tail_share")
#: Columns of a cell's file that results do not repeat.
_ASIDE = ("notes", "warnings")


class Store:
    """Results of a plan in a folder.

    Parameters
    ----------
    path : path
        The folder.

    Notes
    -----
    ``plan.json``, ``environment.json`` (versions, machine, checksums of the data),
    ``cells/DATASET/CENSORING/rR-fF-MODEL-DIGEST.parquet`` with a row per metric, ``failures/``,
    ``predictions/`` alike, ``results.parquet``. The digest covers all that a
    result depends on, so that changed parameters make new files and never pass for the old ones.

    Reading a damaged file is an error that names it; a run that is resumed computes its cell again.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.root = Path(path).expanduser()
        #: Tables of cells that were read or written, by path.
        self._tables: dict[str, Any] = {}

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
                "begin one without --resume and --retry-failed"
            )
        names = [place.name for place in self.root.iterdir()] if self.root.is_dir() else []
        strange = [n for n in names if n not in _OURS and not n.startswith(_HALF_WRITTEN)]
        if not self.is_used() and strange:
            raise InputError(
                f"store {self.root} holds other files ({strange[0]}, ...); give another folder"
            )

    def begin(self, plan: Plan, *, resume: bool, without: Iterable[Path] = ()) -> None:
        """Begin a run in the folder, or take up the one that is in it; see `locked`.

        What a killed process left half-written is removed, and files that were found to be damaged
        (`without`): what they said is lost.
        """
        self.check(resume=resume)
        left = [*self.root.glob(f"{_HALF_WRITTEN}*"), *without]
        for kind in _ENDINGS:
            left += (self.root / kind).glob("*/*/.*")
        if not resume:  # what a run left that was stopped before its first cell
            left += [self.root / name for name in (_ENVIRONMENT, _RESULTS)]
        for file in left:
            file.unlink(missing_ok=True)
        self._write(_PLAN, packed_json(plan.to_dict()))

    def is_used(self) -> bool:
        """Whether a run was begun here."""
        return (self.root / _PLAN).is_file() or self.has_results()

    def has_results(self) -> bool:
        """Whether a run came as far as its first cell."""
        found = (p for kind in _ENDINGS for p in (self.root / kind).glob("*/*/[!.]*"))
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
            if not is_ours(file):
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
            return Plan.of(read_json((self.root / _PLAN).read_bytes()))
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
            return read_json((self.root / _ENVIRONMENT).read_bytes())
        except FileNotFoundError:
            return {}
        except DamagedError as error:
            raise InputError(
                f"{self.root / _ENVIRONMENT} is damaged ({error}); without it nobody can tell "
                "whether the data have changed since the run began: put back a copy, or delete it "
                "and resume if they have not"
            ) from error

    def check_data(self, data: Mapping[str, Any]) -> None:
        """Refuse data that changed since the run began."""
        before = self.environment().get("data", {})
        for name, facts in data.items():
            old = before.get(name, facts)
            if old["checksum"] != facts["checksum"]:
                raise InputError(
                    f"dataset {name!r} has changed since this run began ({old['rows']} rows then, "
                    f"{facts['rows']} now); give another store, so that results do not mix"
                )

    def note_environment(self, data: Mapping[str, Any], **more: Any) -> None:
        """Record versions, machine and data of a session."""
        before = self.environment()
        session = {"started": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **machine(), **more}
        sessions = [*before.get("sessions", []), session]
        together = {**before.get("data", {}), **data}
        record = {**before, "data": together, "sessions": sessions}
        self._write(_ENVIRONMENT, packed_json(record))

    # -- cells -------------------------------------------------------------------------------

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep what became of a cell; of a distribution, its curves are the result."""
        if outcome.arrays is not None:
            content = packed_arrays(outcome.arrays, cell.prediction_path)
            self._write(file_of(_PREDICTIONS, cell), content)
        if outcome.status == "ok" and not cell.is_distribution:
            table = packed_table(outcome.rows, cell.path)
            self._write(file_of(_CELLS, cell), parquet_bytes(table))
            self._tables[cell.path] = table
        if outcome.failure is not None:
            self._write(file_of(_FAILURES, cell), packed_json(outcome.failure))
        elif outcome.status == "ok":
            (self.root / file_of(_FAILURES, cell)).unlink(missing_ok=True)

    def finished(self) -> set[str]:
        """Paths of the finished cells and distributions, see `Cell.path`; no file is opened."""
        return self._listed(_CELLS) | self._listed(_PREDICTIONS)

    def failed(self) -> set[str]:
        """Paths of the cells and distributions that failed, or in which a metric did."""
        return self._listed(_FAILURES)

    def missing(
        self, cells: Iterable[Cell], retry_failed: bool = False, damaged: Iterable[Path] = ()
    ) -> list[Cell]:
        """Cells or distributions that have no result yet, or a damaged one.

        With `retry_failed` also those that failed, and cells in which a metric did.
        """
        finished, failed = self.finished(), self.failed()
        there = finished - failed if retry_failed else finished | failed
        for file in damaged:
            there.discard("/".join(file.relative_to(self.root).with_suffix("").parts[1:]))
        return [cell for cell in cells if cell.path not in there]

    def damaged(self, cells: list[Cell]) -> dict[Path, str]:
        """Files of some cells that do not say what was written into them, with the reason."""
        finished, failed = self.finished(), self.failed()
        unfinished = [cell for cell in cells if cell.path not in finished]
        files = [(_CELLS, cell) for cell in cells if cell.path in finished]
        # Predictions are read only where metrics are still to be computed from them.
        files += [(_PREDICTIONS, cell) for cell in (*unfinished, *distributions_of(unfinished))]
        files += [(_FAILURES, cell) for _, cell in files if cell.path in failed]
        found = {}
        self._tables.clear()
        for kind, cell in files:
            try:
                self._read(kind, cell)
            except DamagedError as error:
                found[self.root / file_of(kind, cell)] = str(error)
        return found

    def has_predictions(self, cell: Cell) -> bool:
        """Whether predictions of a cell were kept; the file is not opened."""
        return (self.root / file_of(_PREDICTIONS, cell)).is_file()

    def inputs(self, cell: Cell) -> tuple[Arrays | None, dict[str, Arrays]]:
        """What a cell is given: its predictions, and the distributions of its fold by name."""
        if cell.is_distribution:
            return None, {}
        found = {
            distribution.model.name: self._undamaged(_PREDICTIONS, distribution)
            for distribution in cell.distributions()
        }
        fitted = {name: arrays for name, arrays in found.items() if arrays is not None}
        return self._undamaged(_PREDICTIONS, cell), fitted

    def failures(self, plan: Plan) -> list[dict[str, Any]]:
        """Records of cells and distributions that failed, with error, message and traceback."""
        cells = plan.cells()
        without_result = self.failed() - self.finished()
        failed = [c for c in (*distributions_of(cells), *cells) if c.path in without_result]
        return [self._undamaged(_FAILURES, cell) for cell in failed]

    # -- all of it ---------------------------------------------------------------------------

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Finished cells of a plan in long format, one row per cell and metric."""
        if not self.is_used():
            raise InputError(f"{self.root} holds no run; survgauge bench makes one")
        frame = self._from_cells(plan)
        if frame.empty:
            raise InputError(_why_empty(self.root, self.failures(plan)))
        return frame

    def consolidate(self, plan: Plan) -> None:
        """Write ``results.parquet`` from the cells, for other programs; it is not read again."""
        pa = need("pyarrow", "writing Parquet", "experiment")
        table = pa.Table.from_pandas(self._from_cells(plan), preserve_index=False)
        self._write(_RESULTS, parquet_bytes(table))

    def _from_cells(self, plan: Plan) -> pd.DataFrame:
        """Tables of the finished cells, with what the plan says of their models and metrics."""
        here = self._listed(_CELLS)
        tables = [self._undamaged(_CELLS, cell) for cell in plan.cells() if cell.path in here]
        if not any(table.num_rows for table in tables):
            return need("pandas", "tables of results", "experiment").DataFrame()
        import pyarrow as pa

        frame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
        frame = frame.drop(columns=list(_ASIDE))
        frame = frame.astype(dict.fromkeys(_FLOATS, "float64"))
        params = {spec.label: json.dumps(spec.params, sort_keys=True) for spec in plan.models}
        settings = {m.label: json.dumps(m.settings, sort_keys=True) for m in plan.metrics}
        frame.insert(0, "plan", plan.name)
        frame.insert(1, "seed", plan.seed)
        frame.insert(7, "model_params", frame["model"].map(params))
        frame["metric_settings"] = frame["metric"].map(settings)
        frame["direction"] = frame["metric"].map({m.label: m.direction for m in plan.metrics})
        return frame

    # -- files -------------------------------------------------------------------------------

    def _write(self, name: str, content: bytes) -> None:
        write_atomically(self.root / name, content, make_folder=True)

    def _listed(self, kind: str) -> set[str]:
        """Paths of the cells that have a file of a kind; hidden files are half-written ones."""
        ending = _ENDINGS[kind]
        names = glob(f"*/*/*{ending}", root_dir=self.root / kind)
        return {Path(name).as_posix().removesuffix(ending) for name in names}

    def _undamaged(self, kind: str, cell: Cell) -> Any:
        """Content of a file, None where there is none; damage is an error that names the file."""
        try:
            return self._read(kind, cell)
        except DamagedError as error:
            raise InputError(
                f"{self.root / file_of(kind, cell)} is damaged ({error}); run the plan again with "
                "--resume, which computes this cell again and keeps the others"
            ) from error

    def _read(self, kind: str, cell: Cell) -> Any:
        """Table of a cell, the record of its failure, or arrays; None where there is no file."""
        if kind == _CELLS and cell.path in self._tables:
            return self._tables[cell.path]
        try:
            content = (self.root / file_of(kind, cell)).read_bytes()
        except FileNotFoundError:
            return None
        if kind == _FAILURES:
            record = read_json(content)
            if record.get("digest") != cell.digest:
                raise DamagedError("it is about another cell")
            return record
        if kind != _CELLS:
            return read_arrays(content, cell.prediction_path)
        self._tables[cell.path] = read_table(content, cell.path)
        return self._tables[cell.path]


def file_of(kind: str, cell: Cell) -> str:
    """Name of a cell's file inside the store."""
    path = cell.prediction_path if kind == _PREDICTIONS else cell.path
    return f"{kind}/{path}{_ENDINGS[kind]}"


def _why_empty(root: Path, failed: list[dict[str, Any]]) -> str:
    """Say why a store has no results."""
    if not failed:
        return f"no cell of the plan has run in {root} yet; run the plan with --resume"
    first = failed[0]
    where = " / ".join(str(name) for name in first["cell"].values())
    return (
        f"no cell of the plan has a result in {root}: {len(failed)} failed. The first error "
        f"({where}) is {first['error']}: {first['message']}. Tracebacks are in "
        f"{root / 'failures'}; fix the cause and run again with --retry-failed"
    )
