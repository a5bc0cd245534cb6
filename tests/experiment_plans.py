"""A small table and plans on it, for tests of the experiment harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def write_table(folder: Path, n: int = 120, seed: int = 0, name: str = "toy") -> str:
    """Write a CSV file of survival data with a number, a category with gaps, and whole times."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    group = rng.choice(["a", "b", ""], size=n, p=[0.5, 0.4, 0.1])
    time = np.ceil(np.exp(3 - 0.5 * x + 0.5 * rng.normal(size=n))).astype(int)
    event = rng.random(n) < 0.8
    lines = ["x,group,time,event"]
    lines += [f"{a:.6f},{g},{t},{int(e)}" for a, g, t, e in zip(x, group, time, event, strict=True)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def toy_plan(folder: Path, **changes: Any) -> dict[str, Any]:
    """Two kinds of censoring, three quick models, five metrics."""
    plan = {
        "name": "toy",
        "datasets": [{"name": "toy", "path": write_table(folder)}],
        "censoring": ["uniform", "exponential"],
        "models": ["km", "lr", "coxph"],
        "metrics": [
            "mae_uncensored", "mae_po", {"name": "mae_po", "weighted": False}, "harrell", "ibs",
        ],
        "folds": 3,
        "seed": 11,
    }  # fmt: skip
    return {**plan, **changes}


def numbers(results: Any) -> Any:
    """Everything but how long it took."""
    table = results.metrics.drop(columns=["seconds", "seconds_fit"])
    keys = ["dataset", "censoring", "repeat", "fold", "model", "metric"]
    return table.sort_values(keys, ignore_index=True)
