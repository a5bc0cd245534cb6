"""Do the statistics of the leaderboard keep their promises? Simulated boards with known truth.

A board has ten models on 10, 30 or 60 datasets. The value of model m on dataset d is m_m + a_d +
s_d e_dm: what all models reach there (a_d, skewed), and what a model gains or loses there, with a
standard deviation of 0.04, about as in the real board. Datasets are alike with normal e; skewed
(e: a gamma distribution of shape 2, skewness 1.4; "opposite": of every second model to the other
side, so that differences are skewed as well); unequal (s_d: log-normal with a standard deviation of
0.6); or both. Cells are complete, missing at random (10 %), or failed at random
(10 %), which counts as 0.

    PYTHONPATH=src python benchmarks/leaderboard_simulation.py --reps 2000

writes docs/results/leaderboard_simulation.json and the table in docs/howto/leaderboard.md;
--page writes the table alone, from the numbers that are there.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtr

from survgauge._tools.random import stream
from survgauge.bench.leaderboard.statistics import (
    LEVEL,
    over_datasets,
    p_of_being_best,
    pairs,
)
from survgauge.evaluation.inference import critical, holm

PLACE = Path(__file__).parents[1] / "docs/results/leaderboard_simulation.json"
PAGE = Path(__file__).parents[1] / "docs/howto/leaderboard.md"
MARKS = "<!-- simulated -->", "<!-- end of simulated -->"
MODELS, SPREAD, SHARE = 10, 0.04, 0.1
DATASETS = (10, 30, 60)
KINDS = ("alike", "skewed", "unequal", "skewed and unequal", "opposite skews")
CELLS = ("complete", "missing", "failed")
#: By how much the best model is better where power is asked for.
GAIN = 0.04
#: Signs turned in each test; a board turns more of them.
FLIPS = 999


def board(rng: Any, datasets: int, kind: str, cells: str, means: Any) -> tuple[Any, Any]:
    """Draw a board; return it and the true means of its models."""
    skewed, unequal = "skew" in kind, "unequal" in kind
    shape = datasets, len(means)
    error = (rng.gamma(2, size=shape) - 2) / np.sqrt(2) if skewed else rng.normal(size=shape)
    if "opposite" in kind:
        error[:, ::2] *= -1
    spread = np.exp(rng.normal(0, 0.6, (datasets, 1)) - 0.36) if unequal else 1.0
    level = rng.gamma(2, 0.05, (datasets, 1))
    values, true = means + level + SPREAD * spread * error, means + 0.1
    if cells != "complete":
        gone = rng.random(shape) < SHARE
        values[gone] = np.nan if cells == "missing" else 0.0
        true = true if cells == "missing" else (1 - SHARE) * true
    return values, true


def coverage(seed: int, datasets: int, kind: str, cells: str, reps: int) -> dict[str, float]:
    """Share of intervals that cover the truth where models differ by known amounts."""
    rng = stream(seed, "coverage", datasets, kind, cells)
    means = np.linspace(0, 0.1, MODELS)
    mean, pair, every = 0.0, 0.0, 0
    first, second = np.triu_indices(MODELS, 1)
    for rep in range(reps):
        values, true = board(rng, datasets, kind, cells, means)
        found = over_datasets(values)
        mean += np.mean((found.low <= true) & (true <= found.high))
        gaps = over_datasets(values[:, first] - values[:, second])
        gap = true[first] - true[second]
        pair += np.mean((gaps.low <= gap) & (gap <= gaps.high))
        family = pairs(values, flips=FLIPS, seed=rep)
        gap = true[:, None] - true
        # Pairs with too few datasets have no limits, and so none that are wrong.
        every += not ((family.low > gap) | (gap > family.high))[first, second].any()
    return {
        "mean": round(float(mean) / reps, 4),
        "one difference": round(float(pair) / reps, 4),
        "all differences": round(every / reps, 4),
    }


def t_tests(values: Any) -> Any:
    """p-values of all pairs by t tests with Holm's correction, to compare with."""
    first, second = np.triu_indices(MODELS, 1)
    found = over_datasets(values[:, first] - values[:, second])
    reach = np.array([critical(1 - LEVEL, n - 1) for n in found.datasets])
    stderr = (found.high - found.mean) / reach
    return holm(2 * stdtr(found.datasets - 1, -np.abs(found.mean) / stderr))


def tests(seed: int, datasets: int, kind: str, cells: str, reps: int) -> dict[str, float]:
    """Wrong claims about ten equal models, and how often one that is better is found."""
    rng = stream(seed, "tests", datasets, kind, cells)
    better = np.zeros(MODELS)
    better[0] = GAIN
    names = (
        "any pair called different", "one called clearly best", "a best one left out",
        "Holm: any pair called different", "better one: clearly best",
        "better one: clearly better than a given other", "better one: left out",
        "Holm: clearly better than a given other",
    )  # fmt: skip
    found = np.zeros(len(names))
    for rep in range(reps):
        equal, _ = board(rng, datasets, kind, cells, np.zeros(MODELS))
        p, best = (
            pairs(equal, flips=FLIPS, seed=rep).p_value,
            p_of_being_best(equal, flips=FLIPS, seed=rep),
        )
        found[:4] += (
            np.nanmin(p) < LEVEL, (best >= LEVEL).sum() == 1, np.mean(best < LEVEL),
            t_tests(equal).min() < LEVEL,
        )  # fmt: skip
        values, _ = board(rng, datasets, kind, cells, better)
        p, best = (
            pairs(values, flips=FLIPS, seed=rep).p_value,
            p_of_being_best(values, flips=FLIPS, seed=rep),
        )
        found[4:] += (
            best[0] >= LEVEL and (best >= LEVEL).sum() == 1, np.mean(p[0, 1:] < LEVEL),
            best[0] < LEVEL, np.mean(t_tests(values)[: MODELS - 1] < LEVEL),
        )  # fmt: skip
    return dict(zip(names, (found / reps).round(4).tolist(), strict=True))


def run(reps: int, seed: int) -> dict[str, Any]:
    """Simulate every scenario."""
    start, rows = time.perf_counter(), []
    for datasets, kind, cells in product(DATASETS, KINDS, CELLS):
        scenario = {"datasets": datasets, "kind": kind, "cells": cells}
        numbers = coverage(seed, datasets, kind, cells, reps)
        if cells != "failed":  # of failures that count as 0, only the means are asked for
            numbers |= tests(seed, datasets, kind, cells, reps)
        rows.append({**scenario, **numbers})
        print(f"{time.perf_counter() - start:6.0f} s", rows[-1], flush=True)
    facts = {"models": MODELS, "spread": SPREAD, "missing or failed": SHARE, "gain": GAIN}
    about = {"reps": reps, "seed": seed, "flips": FLIPS, **facts}
    return {"about": about | {"seconds": round(time.perf_counter() - start)}, "rows": rows}


def table(found: dict[str, Any]) -> str:
    """Return the table of the documentation, in per cent."""
    heads = [
        "datasets", "kind", "cells", "mean", "difference", "all differences", "any pair wrong",
        "wrongly best", "best left out", "found best", "found better",
    ]  # fmt: skip
    columns = [
        "mean", "one difference", "all differences", "any pair called different",
        "one called clearly best", "a best one left out", "better one: clearly best",
        "better one: clearly better than a given other",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in found["rows"]:
        scenario = [str(row["datasets"]), row["kind"], row["cells"]]
        numbers = [f"{100 * row[c]:.1f}" if c in row else "" for c in columns]
        lines.append(f"| {' | '.join([*scenario, *numbers])} |")
    return "\n".join(lines)


def write_page(found: dict[str, Any]) -> None:
    """Put the table between its marks."""
    start, end = MARKS
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{start}\n{table(found)}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Read the command line, simulate and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PLACE)
    parser.add_argument("--page", action="store_true", help="write the page again and stop")
    given = parser.parse_args()
    if not given.page:
        found = run(given.reps, given.seed)
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.out == PLACE:
        write_page(json.loads(PLACE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
