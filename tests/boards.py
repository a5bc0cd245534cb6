"""A small leaderboard made by hand: what its tables look like, with known differences."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from survgauge.bench.leaderboard.results import COLUMNS, METRICS, RELATIVE, Board, frame_of

#: Error relative to Kaplan-Meier, C, slope, ICI and O/E of each model.
MODELS = {
    ("km", "default"): (1.00, 0.50, np.nan, 0.02, 1.00),
    ("coxph", "default"): (0.85, 0.70, 0.95, 0.03, 1.02),
    ("rsf", "default"): (0.86, 0.69, 1.20, 0.03, 0.99),
    ("rsf", "tuned-ibs"): (0.84, 0.70, 1.05, 0.03, 1.00),
    ("bad_net", "default"): (1.10, 0.60, 0.50, 0.12, 1.30),
}


def demo_board(datasets: int = 8, repeats: int = 1, seed: int = 0) -> Board:
    """A board of five models on some datasets, and on two of them with known truth."""
    rng = np.random.default_rng(seed)
    places = [("main", k) for k in range(datasets)] + [("truth", k) for k in range(2)]
    found = {name: [] for name in COLUMNS}
    for track, k in places:
        n = int(rng.integers(150, 2000))
        known = {"track": track, "dataset": f"set_{k}", "repeat": 0}
        found["datasets"].append(
            {
                "track": track, "name": f"set_{k}", "title": f"Set {k}", "source": "made up",
                "package": "none", "licence": "CC0", "n": n, "events": n // 2,
                "censored": (n - n // 2) / n, "features": int(rng.integers(3, 40)),
                "unit": "days" if k % 2 else "", "horizon": 1000.0, "time": 400.0,
                "subsampled": k == 1, "subjects_before": 5000 if k == 1 else n,
            }
        )  # fmt: skip
        base = {"mae_within": 200.0, "ibs": 0.2}
        for repeat in range(repeats):
            _fill(found, {**known, "repeat": repeat}, n, base, rng)
    for model, settings in MODELS:
        found["models"].append(
            {"name": model, "settings": settings, "title": model.upper(), "package": "survgauge"}
        )
    about = {"seed": seed, "date": "2026-11-18", "command": "by hand", "seconds": 1.0}
    return Board(**{name: frame_of(name, rows) for name, rows in found.items()}, about=about)


def _fill(found, known, n, base, rng):
    """Rows of one dataset and repeat: truth plus noise of the size of the standard error."""
    noise, own = 0.5 / np.sqrt(n), {}
    for (model, settings), (error, c, slope, ici, ratio) in MODELS.items():
        numbers = dict(zip(METRICS, (error, error, c, slope, ici, ratio), strict=True))
        failed = 1 if model == "bad_net" and known["dataset"] == "set_0" else 0
        for metric, truth in numbers.items():
            scale = base.get(metric, 1.0)
            value = truth if model == "km" else truth + noise * rng.standard_normal()
            own[model, settings, metric] = value
            row = {
                **known, "model": model, "settings": settings, "metric": metric,
                "value": scale * value, "stderr": scale * noise, "n": n, "events": n // 2,
                "low": scale * (value - 2 * noise), "high": scale * (value + 2 * noise),
                "failed_folds": failed,
            }  # fmt: skip
            if metric in RELATIVE:
                row |= {"skill": 1 - value, "skill_low": 1 - value - 2 * noise}
                row |= {"skill_high": 1 - value + 2 * noise}
            if known["track"] == "truth":
                row["truth"] = scale * truth
            found["scores"].append(row)
        for fold in range(5):
            gone = failed and fold == 2
            found["cells"].append(
                {
                    **known, "fold": fold, "model": model, "settings": settings,
                    "status": "failed" if gone else "ok",
                    "message": "FitError: it did not converge" if gone else "",
                    "seconds_fit": np.nan if gone else float(rng.exponential(2.0)),
                    "seconds_predict": np.nan if gone else float(rng.exponential(0.1)),
                }
            )  # fmt: skip
    for (a, b), metric in ((pair, m) for pair in combinations(MODELS, 2) for m in METRICS):
        if metric in ("calibration_slope", "observed_expected"):
            continue
        gap = own[(*a, metric)] - own[(*b, metric)]
        found["pairs"].append(
            {
                **known, "model_a": a[0], "settings_a": a[1], "model_b": b[0], "settings_b": b[1],
                "metric": metric, "difference": gap, "stderr": noise, "low": gap - 2 * noise,
                "high": gap + 2 * noise, "p_value": float(np.exp(-abs(gap) / noise)),
            }
        )  # fmt: skip


def same_tables(one: Board, other: Board, without: tuple[str, ...] = ()) -> None:
    """Assert that two boards say the same, but for some columns (times that fits took)."""
    for name, table in one.tables().items():
        drop = [c for c in without if c in table]
        pd.testing.assert_frame_equal(
            table.drop(columns=drop), other.tables()[name].drop(columns=drop)
        )
