"""Packages in R: the same data, handed over as raw doubles, timed inside R."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from data import Data, make

SCRIPT = Path(__file__).with_name("metrics.R")


@dataclass(frozen=True)
class RWork:
    """One entry of `works` in metrics.R."""

    name: str
    curves: bool = False

    def measure(self, data: Data, budget: float) -> dict[str, Any]:
        """Return seconds, megabytes and value, or raise what R said."""
        with TemporaryDirectory() as folder:
            small, large = Path(folder, "small"), Path(folder, "large")
            write(make(200), small, curves=self.curves)
            write(data, large, curves=self.curves)
            command = ["Rscript", str(SCRIPT), self.name, str(small), str(large), str(budget)]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            chatter = ("Calls", "Execution", "Timing stopped")
            said = [line for line in lines if not line.startswith(chatter)]
            raise RuntimeError(said[-1] if said else f"R ended with status {done.returncode}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def write(data: Data, folder: Path, *, curves: bool) -> None:
    """Write what R reads: one file of doubles an array."""
    folder.mkdir()
    arrays = {
        "time": data.test[0],
        "event": data.test[1],
        "risk": data.risk,
        "times": data.times,
        "middle": data.middle,
        "last": data.last,
    }
    for name, array in arrays.items():
        np.asarray(array, float).tofile(folder / f"{name}.f64")
    if curves:
        with (folder / "curves.f64").open("wb") as file:
            for column in data.survival_at_times.T:
                column.tofile(file)


@cache
def version(package: str) -> str | None:
    """Version of a package of R, or None where R or the package is missing."""
    if shutil.which("Rscript") is None:
        return None
    code = f'cat(as.character(packageVersion("{package}")))'
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
