"""Is mae_within biased where the leaderboard draws censoring? Many draws instead of one.

    python docs/scripts/drawn_censoring_bias.py

Predictions are fixed, so that only the censoring differs between draws: the median time for
everybody, and the true times with log-normal errors.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import brentq

import survgauge as sg
from survgauge.bench.leaderboard.problems import Design, problems

NAMES, DRAWS, HIDDEN = ("GBSG2", "TRACE", "UnempDur"), 60, 0.4


def errors(times: np.ndarray, tau: float, rng: np.random.Generator) -> np.ndarray:
    """Relative errors of the estimate, a row for each draw and a column for each prediction."""
    rate = brentq(lambda r: np.mean(1 - np.exp(-r * times)) - HIDDEN, 1e-9, 100 / np.median(times))
    noisy = times * np.exp(rng.normal(size=len(times)))
    predictions = (np.full(len(times), np.median(times)), noisy)
    found = []
    for _ in range(DRAWS):
        censored = rng.exponential(1 / rate, len(times))
        y = (np.minimum(times, censored), times <= censored)
        for predicted in predictions:
            true = np.abs(np.minimum(times, tau) - np.minimum(predicted, tau)).mean()
            found.append(float(sg.mae(y, predicted, y_train=y, tau=tau)) / true - 1)
    return np.reshape(found, (DRAWS, -1))


def main() -> None:
    design = Design.of(NAMES, NAMES, repeats=1, max_rows=2000, seed=0, folds=5)
    for problem in problems(design):
        if problem.true_time is None:
            continue
        found = errors(problem.true_time, problem.horizon, np.random.default_rng(1))
        mean, se = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(DRAWS)
        told = ", ".join(f"{100 * m:+.1f} % ({100 * s:.1f})" for m, s in zip(mean, se, strict=True))
        print(f"{problem.place[1]}: {told}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
