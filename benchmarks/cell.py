"""Measure one cell in this process: `python cell.py WORK WHO N BUDGET` prints a line of JSON."""

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
from targets import OURS
from works import BY_NAME, Setup

LEAST_REPEATS, MOST_REPEATS = 3, 200


def cpu_seconds(setup: Setup, data: Data, budget: float) -> float:
    """Least CPU seconds of several runs, each set up anew, within about `budget` seconds."""
    best, spent = float("inf"), 0.0
    for repeat in range(MOST_REPEATS):
        best = min(best, seconds := timed(setup(data))[0])
        spent += seconds
        slow = best > budget / LEAST_REPEATS
        if spent > budget and (slow or repeat + 1 >= LEAST_REPEATS):
            break
    return best


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it gave."""
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def first_run(call: Callable[[], Any]) -> tuple[float, Any, float | None]:
    """Seconds, value and rise of the highest resident memory (Linux only) of one call."""
    reset = Path("/proc/self/clear_refs")
    if not reset.exists():
        return *timed(call), None
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")  # the peak starts again from what is resident now
    before = _status("VmRSS")
    seconds, value = timed(call)
    return seconds, value, max(_status("VmHWM") - before, 0) / 1024


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"no {key} in /proc/self/status")


def number(value: Any) -> float | None:
    """Return the value as a number, so that a reader can see that the same thing was computed."""
    try:
        return float(np.mean(value))
    except (TypeError, ValueError):
        return None


def main() -> None:
    name, who, n, budget = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    warnings.simplefilter("ignore")
    work = BY_NAME[name]
    setup = work.ours if who == OURS else work.peers[who]
    # Imports and compilation happen on a few subjects, so that they are in neither number.
    setup(make(200))()
    data = make(n)
    seconds, value, megabytes = first_run(setup(data))
    if seconds < 2 * budget:  # what takes longer is not repeated
        seconds = min(seconds, cpu_seconds(setup, data, budget))
    result = {"seconds": seconds, "megabytes": megabytes, "value": number(value)}
    if who == OURS and work.yardstick is not None:
        result["yardstick"] = cpu_seconds(work.yardstick, data, budget)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
