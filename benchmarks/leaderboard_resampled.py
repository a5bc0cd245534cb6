"""Do the intervals and tests of the leaderboard hold for differences like those of the real one?

    PYTHONPATH=src python benchmarks/leaderboard_resampled.py

takes the models and datasets of docs/results/leaderboard.json (default settings, error in time) as
the population, and draws leaderboards of as many datasets from it with replacement. Means and
differences of the models are known then. For equal models every model's values are shifted to the
same mean, which leaves their spread and skewness as they are. Writes
docs/results/leaderboard_resampled.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import skew

from survgauge._tools.random import stream
from survgauge.bench.leaderboard.statistics import LEVEL, over_datasets, p_of_being_best, pairs

RESULTS = Path(__file__).parents[1] / "docs/results"
BOARD, NUMBERS = RESULTS / "leaderboard.json", RESULTS / "leaderboard_resampled.json"
REPS, SEED, FLIPS = 2000, 0, 999


def population(data: dict[str, Any]) -> Any:
    """Logarithms of the ratio of losses, datasets by models; a model that failed saves nothing."""
    rows = data["by_view"]["default"]["each"]
    value = {(r["dataset"], r["model"]): r["value"] or 0.0 for r in rows}
    sets, models = (list(dict.fromkeys(key[k] for key in value)) for k in (0, 1))
    return -np.log1p(-np.array([[value[d, m] for m in models] for d in sets]))


def resampled(values: Any, reps: int = REPS) -> dict[str, Any]:
    """Coverage, and wrong claims about equal models and about the models as they are."""
    datasets, models = values.shape
    first, second = np.triu_indices(models, 1)
    gaps, true, equal = (
        values[:, first] - values[:, second],
        values.mean(0),
        values - values.mean(0),
    )
    mean, difference, wrong = np.zeros(models), np.zeros(len(first)), np.zeros(5)
    for rep in range(reps):
        drawn = stream(SEED, "resampled", rep).integers(0, datasets, datasets)
        found, apart = over_datasets(values[drawn]), over_datasets(gaps[drawn])
        mean += (found.low <= true) & (true <= found.high)
        difference += (apart.low <= gaps.mean(0)) & (gaps.mean(0) <= apart.high)
        p = p_of_being_best(equal[drawn], flips=FLIPS, seed=rep)
        every = pairs(equal[drawn], flips=FLIPS, seed=rep).p_value
        own = p_of_being_best(values[drawn], flips=FLIPS, seed=rep)
        best, alone = true.argmax(), (own >= LEVEL).sum() == 1
        wrong += ((p >= LEVEL).sum() == 1, np.mean(p < LEVEL), np.nanmin(every) < LEVEL,
                  own[best] < LEVEL, alone and own[best] < LEVEL)  # fmt: skip
    names = (
        "equal: one called clearly best", "equal: a best one left out",
        "equal: any pair called different", "as they are: best one left out",
        "as they are: another called clearly best",
    )  # fmt: skip
    return {
        "about": {"models": models, "datasets": datasets, "reps": reps, "flips": FLIPS},
        "coverage of means": [float(c) for c in (mean / reps).round(4)],
        "coverage of differences": [float(c) for c in (difference / reps).round(4)],
        "spread of differences": np.quantile(gaps.std(0, ddof=1), [0.25, 0.5, 0.75]).tolist(),
        "skewness of differences": np.quantile(skew(gaps), [0.25, 0.5, 0.75]).tolist(),
        **dict(zip(names, (wrong / reps).round(4).tolist(), strict=True)),
    }


if __name__ == "__main__":
    found = resampled(population(json.loads(BOARD.read_text(encoding="utf-8"))))
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
