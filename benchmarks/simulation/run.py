"""Run the parts in several processes; what is done for the same code is not done again."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from .plan import Cell, Part, needed, parts, run_part
from .quality import added, summary
from .workers import workers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORE = ROOT / "benchmarks" / "output" / "coverage"
#: Parts of this folder that change how results are made and shown, not what they are.
SHOWN = ("page.py", "tables.py", "findings.py", "results.py", "__main__.py", "run.py", "workers.py")


def code_version() -> str:
    """Fingerprint of the package and of these simulations."""
    files = [*(ROOT / "src" / "survgauge").rglob("*.py"), *HERE.glob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        if file.parent != HERE or file.name not in SHOWN:
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class Store:
    """A small file for each part that is done, in a folder for each version of the code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, part: Part) -> Path:
        return self.folder / f"{part.name}.json"

    def has(self, part: Part) -> bool:
        """Whether a part is done."""
        return self._path(part).exists()

    def stored(self, part: Part) -> dict[str, Any]:
        """Return what a part gave ("result") and how long it took ("seconds")."""
        found: dict[str, Any] = json.loads(self._path(part).read_text(encoding="utf-8"))
        return found

    def write(self, part: Part, result: Any, seconds: float) -> None:
        """Keep what a part gave; a file is whole or absent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self._path(part).with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"seconds": seconds, "result": result}), encoding="utf-8")
        draft.replace(self._path(part))


def _timed(part: Part, known: list[Any]) -> tuple[Any, float]:
    start = time.process_time()
    return run_part(part, known), time.process_time() - start


def run(
    cells: Iterable[Cell], seed: int, store: Store, jobs: int, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Do what is not done, true values first, and add up by cell what all parts gave.

    A part that fails is told and left out, with its cell; the others are kept.
    """
    wanted = {cell: parts(cell, seed) for cell in cells}
    every = [part for some in wanted.values() for part in some]
    first = list(dict.fromkeys(p for part in every for p in needed(part)))
    with workers(jobs) as pool:
        for title, stage in (("true values", first), ("simulations", every)):
            todo = [part for part in stage if not store.has(part)]
            say(f"{title}: {len(todo)} of {len(stage)} parts to do")
            _do(todo, store, pool, say)
    return {
        cell.name: _cell(cell, [store.stored(part) for part in some])
        for cell, some in wanted.items()
        if all(store.has(part) for part in some)
    }


def simulate(cells: Iterable[Cell], seed: int) -> list[dict[str, Any]]:
    """Do cells in this process and keep nothing; return the rows of all of them."""
    known: dict[Part, Any] = {}
    rows = []
    for cell in cells:
        results = []
        for part in parts(cell, seed):
            for one in needed(part):
                if one not in known:
                    known[one] = run_part(one, [])
            results.append(run_part(part, [known[one] for one in needed(part)]))
        rows += [summary(row) for row in added(results)]
    return rows


def _cell(cell: Cell, stored: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "study": cell.study, "scenario": vars(cell.scenario), "reps": cell.reps,
        "seconds": round(sum(one["seconds"] for one in stored), 1),
        "rows": [_short(summary(row), cell) for row in added(one["result"] for one in stored)],
    }  # fmt: skip


def _short(row: dict[str, Any], cell: Cell) -> dict[str, Any]:
    """Leave out what `results.Results` fills in: the kind, and the usual number of samples."""
    usual = {"reps": cell.reps, "kind": "test" if "rejected" in row else "interval"}
    return {name: value for name, value in row.items() if usual.get(name) != value}


def _do(
    todo: list[Part], store: Store, pool: ProcessPoolExecutor, say: Callable[[str], None]
) -> None:
    start = time.monotonic()
    waiting: dict[Future[tuple[Any, float]], Part] = {}
    for part in todo:
        if all(store.has(one) for one in needed(part)):
            known = [store.stored(one)["result"] for one in needed(part)]
            waiting[pool.submit(_timed, part, known)] = part
    total = len(waiting)
    while waiting:
        ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            part = waiting.pop(future)
            failure = future.exception()
            if isinstance(failure, Exception):
                say(f"  failed: {part.name}: {failure!r}")
                continue
            result, seconds = future.result()
            store.write(part, result, seconds)
            done = total - len(waiting)
            left = (time.monotonic() - start) / done * len(waiting)
            say(f"  {done}/{total} {part.name}: {seconds:.1f} s; {left / 60:.1f} min left")
