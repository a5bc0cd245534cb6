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

from .plan import Part, needed, run_part
from .tally import added
from .workers import workers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORE = ROOT / "benchmarks" / "output" / "coverage"
#: Parts of this folder that change how results are made and shown, not what they are.
SHOWN = ("page.py", "words.py", "__main__.py", "run.py", "workers.py")


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

    def read(self, part: Part) -> Any:
        """Return what a part gave."""
        return json.loads(self._path(part).read_text(encoding="utf-8"))["result"]

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
    parts: Iterable[Part], store: Store, jobs: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Do what is not done, targets first, and add up what all parts gave."""
    wanted = list(parts)
    first = list(dict.fromkeys(p for part in wanted for p in needed(part)))
    with workers(jobs) as pool:
        for title, stage in (("targets", first), ("simulations", wanted)):
            todo = [part for part in stage if not store.has(part)]
            say(f"{title}: {len(todo)} of {len(stage)} parts to do")
            _do(todo, store, pool, say)
    return added(store.read(part) for part in wanted)


def simulate(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Do parts in this process and keep nothing; add up what they gave."""
    known: dict[Part, Any] = {}
    results = []
    for part in parts:
        for target in needed(part):
            if target not in known:
                known[target] = run_part(target, [])
        results.append(run_part(part, [known[target] for target in needed(part)]))
    return added(results)


def _do(
    todo: list[Part], store: Store, pool: ProcessPoolExecutor, say: Callable[[str], None]
) -> None:
    start = time.monotonic()
    waiting: dict[Future[tuple[Any, float]], Part] = {
        pool.submit(_timed, part, [store.read(p) for p in needed_now(part)]): part for part in todo
    }
    done = 0
    while waiting:
        ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            part = waiting.pop(future)
            result, seconds = future.result()
            store.write(part, result, seconds)
            done += 1
            passed = time.monotonic() - start
            left = passed / done * len(waiting)
            say(f"  {done}/{len(todo)} {part.name}: {seconds:.1f} s; {left / 60:.1f} min left")


def needed_now(part: Part) -> tuple[Part, ...]:
    """Return what a part waits for; targets wait for nothing."""
    return () if part.study in ("known", "limits") else needed(part)
