"""Measure cells in this process: `python cell.py WHO N BUDGET WORK...`, a line of JSON each."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from data import Data, make
from machine import most_bytes
from ours import Setup
from peers.in_r import RWork
from targets import OURS
from works import BY_NAME, Work

LEAST_REPEATS, MOST_REPEATS = 3, 200
#: Setting up may take this many times the budget before repeats end.
PATIENCE = 5


def least_seconds(setups: list[Setup], data: Data, budget: float) -> list[tuple[float, float]]:
    """Least CPU and wall seconds of each; in turns, so that a busy machine slows all alike.

    Every call is set up anew, because some packages keep what they computed.
    """
    best = [(float("inf"), float("inf"))] * len(setups)
    start, spent = time.perf_counter(), 0.0
    for repeat in range(MOST_REPEATS):
        for i, setup in enumerate(setups):
            cpu, wall, _ = timed(setup(data))
            best[i] = min(best[i][0], cpu), min(best[i][1], wall)
            spent += cpu
        slow = spent / (repeat + 1) > budget / LEAST_REPEATS
        enough = spent > budget or time.perf_counter() - start > PATIENCE * budget
        if enough and (slow or repeat + 1 >= LEAST_REPEATS):
            break
    return best


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds and wall seconds of one call, and what it gave."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return time.process_time() - cpu, time.perf_counter() - wall, value


def first_run(call: Callable[[], Any]) -> tuple[float, float, Any, float | None]:
    """Seconds, value and rise of the highest resident memory (Linux only) of one call."""
    reset = Path("/proc/self/clear_refs")
    if not reset.exists():
        return *timed(call), None
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")  # the peak starts again from what is resident now
    before = _status("VmRSS")
    cpu, wall, value = timed(call)
    return cpu, wall, value, max(_status("VmHWM") - before, 0) / 1024


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"no {key} in /proc/self/status")


def limit_memory() -> None:
    """Let an allocation fail before the machine runs out (Linux only)."""
    most = most_bytes()
    if most is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def number(value: Any) -> float | None:
    """Return the value as a number, so that a reader can see that the same thing was computed."""
    try:
        return float(np.mean(np.asarray(value)))
    except (TypeError, ValueError):
        return None


def measure(work: Work, who: str, data: Data, budget: float) -> dict[str, Any]:
    """Return the numbers of one cell."""
    setup = work.ours if who == OURS else work.peers[who]
    if isinstance(setup, RWork):
        return setup.measure(data, budget)
    # Imports and compilation happen on a few subjects, so that they are in neither number.
    setup(make(200))()
    cpu, wall, value, megabytes = first_run(setup(data))
    setups = [setup] if who != OURS else [setup, work.yardstick]
    result = {"megabytes": megabytes, "value": number(value)}
    if cpu < 2 * budget:
        times = least_seconds(setups, data, budget)
        cpu, wall = min(cpu, times[0][0]), min(wall, times[0][1])
    else:  # what takes so long is not repeated
        times = [(cpu, wall), *least_seconds(setups[1:], data, budget / 3)]
    result |= {"seconds": cpu, "wall": wall}
    if who == OURS:
        result["yardstick"] = times[1][0]
        if work.input_bytes is not None:
            result["input_megabytes"] = work.input_bytes(data) / 2**20
    return result


def main() -> None:
    who, n, budget, names = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    warnings.simplefilter("ignore")
    limit_memory()
    data = make(n)
    for name in names:
        try:
            result = measure(BY_NAME[name], who, data, budget)
        except Exception as error:
            line = " ".join(str(error).split())[:110]
            result = {"why_not": f"failed: {type(error).__name__}: {line}"}
        print(json.dumps({"work": name, **result}), flush=True)


if __name__ == "__main__":
    main()
