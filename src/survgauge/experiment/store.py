"""One folder a run: plan, environment, one small file a cell, and all of it as one Parquet file.

Files appear under their final name only when they are complete, so that whatever is found is whole.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..datasets.storage import write_atomically
from ..errors import InputError
from .cells import Outcome
from .plan import Cell, Plan

_CELLS, _FAILURES, _PREDICTIONS = "cells", "failures", "predictions"
_RESULTS = "results.parquet"
_LOCK = ".lock"
_PACKAGES = (
    "survgauge", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "lifelines",
    "scikit-survival", "torch", "joblib", "dask", "distributed", "threadpoolctl", "SurvSet",
)  # fmt: skip


class Store:
    """Results of a plan in a folder.

    Parameters
    ----------
    path : path
        The folder.

    Notes
    -----
    ``plan.json``, ``environment.json`` (versions, machine, checksums of the data),
    ``cells/DATASET/CENSORING/rR-fF-MODEL-DIGEST.json``, ``failures/`` and ``predictions/`` alike,
    ``results.parquet``. The digest covers all that a result depends on, so that changed parameters
    make new files and never pass for the old ones.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.root = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    # -- the run -----------------------------------------------------------------------------

    def create(self, plan: Plan, *, resume: bool) -> None:
        """Begin a run in the folder, or take up the one that is in it; see `locked`."""
        if self.is_used() and not resume:
            raise InputError(
                f"store {self.root} holds an earlier run; go on with it (--resume, resume=True) or "
                "give another folder"
            )
        strange = [place.name for place in self.root.iterdir() if place.name != _LOCK]
        if not self.is_used() and strange:
            raise InputError(
                f"store {self.root} holds other files ({strange[0]}, ...); give another folder"
            )
        self._clean()
        self._write_json("plan.json", plan.to_dict())

    def is_used(self) -> bool:
        """Whether a run was begun here."""
        return (self.root / "plan.json").is_file()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and keep a second run out; the system lets go if this process dies."""
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"store must be a folder; {self.root} is a file")
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:  # Windows; two runs would repeat work but not damage anything
            yield
            return
        with (self.root / _LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(
                    f"store {self.root} is in use by another run; wait for it or give another"
                ) from error
            except OSError:
                pass  # a file system without locks
            yield

    def plan(self) -> Plan:
        """Read the plan of the last run."""
        return Plan.of(self._read_json("plan.json"))

    def environment(self) -> dict[str, Any]:
        """Read versions, machine and checksums."""
        place = self.root / "environment.json"
        return self._read_json("environment.json") if place.is_file() else {}

    def note_environment(self, data: Mapping[str, Any], **more: Any) -> None:
        """Record versions, machine and data; refuse data that changed since the run began."""
        known = self.environment()
        before = known.get("data", {})
        for name, facts in data.items():
            old = before.get(name, facts)
            if old["checksum"] != facts["checksum"]:
                raise InputError(
                    f"data set {name!r} has changed since this run began ({old['rows']} rows then, "
                    f"{facts['rows']} now); give another store, so that results do not mix"
                )
        session = {"started": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **machine(), **more}
        sessions = [*known.get("sessions", []), session]
        self._write_json("environment.json", {"data": {**before, **data}, "sessions": sessions})

    # -- cells -------------------------------------------------------------------------------

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep what became of a cell."""
        if outcome.predictions is not None:
            self._write(_PREDICTIONS, f"{cell.prediction_path}.npz", outcome.predictions)
        content = json.dumps(outcome.record, allow_nan=False).encode()
        if outcome.status == "ok":
            self._write(_CELLS, f"{cell.path}.json", content)
            with suppress(FileNotFoundError):
                (self.root / _FAILURES / f"{cell.path}.json").unlink()
        elif outcome.status == "failed":
            self._write(_FAILURES, f"{cell.path}.json", content)

    def finished(self) -> set[str]:
        """Paths of the finished cells, see `Cell.path`; no file is opened."""
        return self._listed(_CELLS, ".json")

    def failed(self) -> set[str]:
        """Paths of the cells that failed."""
        return self._listed(_FAILURES, ".json")

    def predictions(self, cell: Cell) -> bytes | None:
        """Predictions of a cell, if they were kept."""
        try:
            return (self.root / _PREDICTIONS / f"{cell.prediction_path}.npz").read_bytes()
        except FileNotFoundError:
            return None

    def records(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """Finished cells of a plan, in its order."""
        here = self.finished()
        for cell in plan.cells():
            path = cell.path
            if path in here:
                yield self._read_json(f"{_CELLS}/{path}.json")

    def failures(self, plan: Plan | None = None) -> list[dict[str, Any]]:
        """Records of the failed cells, with error, message and traceback."""
        here = self.failed()
        chosen = (cell.path for cell in (plan or self.plan()).cells())
        return [self._read_json(f"{_FAILURES}/{path}.json") for path in chosen if path in here]

    # -- all of it ---------------------------------------------------------------------------

    def rows(self, plan: Plan) -> list[dict[str, Any]]:
        """Long format: a row a cell and metric, with everything about the cell."""
        settings = {spec.label: spec for spec in plan.metrics}
        params = {spec.label: json.dumps(spec.params, sort_keys=True) for spec in plan.models}
        rows = []
        for record in self.records(plan):
            names, seconds = record["cell"], record["seconds"]
            head = {
                "plan": plan.name,
                "seed": plan.seed,
                **names,
                "model_params": params[names["model"]],
                **{f"data_{key}": value for key, value in record["data"].items()},
                "seconds_fit": seconds.get("fit"),
                "seconds": seconds["total"],
                "digest": record["digest"],
            }
            for row in record["metrics"]:
                spec = settings[row["metric"]]
                about = {
                    "metric_settings": json.dumps(spec.settings, sort_keys=True),
                    "direction": spec.direction,
                }
                rows.append({**head, "note": None, **row, **about})
        return rows

    def consolidate(self, plan: Plan | None = None) -> Any:
        """Write ``results.parquet`` from the cells and return it as a frame."""
        from ..datasets.extras import need

        pd = need("pandas", "tables of results", "experiment")
        parquet = need("pyarrow.parquet", "writing Parquet", "experiment")
        frame = pd.DataFrame(self.rows(plan or self.plan()))
        for column in ("value", "stderr", "true_value", "true_stderr", "data_tail_share"):
            if column in frame:
                frame[column] = frame[column].astype("float64")
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), sink)
        write_atomically(self.root / _RESULTS, sink.getvalue().to_pybytes())
        return frame

    def table(self) -> Any:
        """Return the consolidated results as a frame."""
        if not self.is_used():
            raise InputError(f"{self.root} holds no run; survgauge bench makes one")
        place = self.root / _RESULTS
        if not place.is_file():
            return self.consolidate()
        import pandas as pd

        return pd.read_parquet(place)

    # -- files -------------------------------------------------------------------------------

    def _write(self, kind: str, name: str, content: bytes) -> None:
        write_atomically(self.root / kind / name, content)

    def _write_json(self, name: str, content: Any) -> None:
        write_atomically(self.root / name, (json.dumps(content, indent=2) + "\n").encode())

    def _read_json(self, name: str) -> Any:
        try:
            return json.loads((self.root / name).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise InputError(f"{self.root} holds no run: {name} is missing") from error
        except ValueError as error:
            raise InputError(
                f"{self.root / name} is damaged ({error}); delete it and resume the run"
            ) from error

    def _listed(self, kind: str, ending: str) -> set[str]:
        found = set()
        top = self.root / kind
        for dataset in _folders(top):
            for censoring in _folders(dataset):
                with os.scandir(censoring) as entries:
                    prefix = f"{dataset.name}/{censoring.name}"
                    found |= {
                        f"{prefix}/{entry.name[: -len(ending)]}"
                        for entry in entries
                        if entry.name.endswith(ending) and not entry.name.startswith(".")
                    }
        return found

    def _clean(self) -> None:
        """Remove what a killed process left half-written."""
        for kind in (_CELLS, _FAILURES, _PREDICTIONS):
            for place in (self.root / kind).glob("*/*/.*"):
                place.unlink(missing_ok=True)


def machine() -> dict[str, Any]:
    """Describe where something was computed."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "executable": Path(sys.executable).name,
        "packages": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Versions of the packages that numbers depend on.

    >>> "numpy" in package_versions()
    True
    """
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _folders(place: Path) -> list[Path]:
    return sorted(item for item in place.iterdir() if item.is_dir()) if place.is_dir() else []
