"""Four simple models on a data set that ships with lifelines, evaluated by survgauge.

Writes outcomes and predictions as CSV files and runs the command that a user would run.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, KaplanMeierFitter, WeibullAFTFitter
from lifelines.datasets import load_gbsg2

from survgauge.cli.main import main


def split(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = np.random.default_rng(seed).permutation(len(frame))
    half = len(frame) // 2
    return frame.iloc[order[:half]], frame.iloc[order[half:]]


def write_predictions(train: pd.DataFrame, test: pd.DataFrame, folder: Path) -> list[str]:
    """Fit the models and write one CSV file each: curves (header = times) or times."""
    grid = np.unique(np.quantile(train["time"], np.linspace(0.02, 1, 60)))
    curves = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cox = CoxPHFitter(penalizer=0.01).fit(train, "time", "event")
        aft = WeibullAFTFitter(penalizer=0.01).fit(train, "time", "event")
        curves["cox"] = cox.predict_survival_function(test, times=grid).to_numpy().T
        curves["weibull"] = aft.predict_survival_function(test, times=grid).to_numpy().T
    km = KaplanMeierFitter().fit(train["time"], train["event"])
    curves["km"] = np.tile(km.survival_function_at_times(grid).to_numpy(), (len(test), 1))
    for name, survival in curves.items():
        frame = pd.DataFrame(np.minimum.accumulate(survival, axis=1), columns=grid)
        frame.to_csv(folder / f"{name}.csv", index=False)
    # Least squares on the events only: times instead of curves, and biased on purpose.
    features = [c for c in train.columns if c not in ("time", "event")]
    events = train[train["event"] == 1]
    design = np.column_stack([np.ones(len(events)), events[features]])
    beta, *_ = np.linalg.lstsq(design, events["time"], rcond=None)
    times = np.column_stack([np.ones(len(test)), test[features]]) @ beta
    pd.DataFrame({"time": times}).to_csv(folder / "linear.csv", index=False)
    return ["cox", "weibull", "km", "linear"]


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    frame = load_gbsg2().rename(columns={"cens": "event"})
    frame = pd.get_dummies(frame, drop_first=True, dtype=float)
    train, test = split(frame, seed=0)
    for name, part in (("train", train), ("test", test)):
        part[["time", "event"]].to_csv(folder / f"{name}.csv", index=False)
    models = write_predictions(train, test, folder)
    files = ["--test", f"{folder}/test.csv", "--train", f"{folder}/train.csv"]
    for name in models:
        files += ["--pred", f"{name}={folder}/{name}.csv"]
    print(INTRODUCTION)
    report = ["--unit", "days", "--tau", "1825", "--html", f"{folder}/report.html"]
    status = show(
        ["evaluate", *files, *report, "--title", "Breast cancer: error within five years"]
    )
    print(SECOND)
    few = ["--metrics", "mae_po,mae_margin,mae_ipcw_d"]
    status |= show(["evaluate", *files, *few, "--unit", "days"])
    return status


INTRODUCTION = """\
German breast cancer study: 686 patients, half of them for testing, times in days, 56 % censored.
cox, weibull and km (the Kaplan-Meier baseline) predict curves; linear is least squares on the
patients whose event was seen, which is biased on purpose: it cannot know about long survivors.

First within five years (--tau 1825), which the follow-up supports for every model:
"""
SECOND = """
Now the errors without a horizon. Mind the warnings: most patients outlive the study, so errors
over the whole life time hang on what is assumed past its end, and linear, which never predicts a
long life, looks better than it is.
"""


def show(command: list[str]) -> int:
    print("$ survgauge", " ".join(command), "\n")
    return main(command)


if __name__ == "__main__":
    raise SystemExit(run())
