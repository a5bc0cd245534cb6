"""True MAE and fit time of every model on semi-synthetic data: the table of docs/howto/models.md.

    python docs/scripts/model_table.py --store results.json --published paper_results.csv

Uniform censoring, 5 folds stratified on event and time, preprocessing learnt inside the fold. The
truth is known, so the error needs no treatment of censoring. Data sets are found as `survgauge
datasets` says. Results are kept in the store, so that models can be run one by one:

    python docs/scripts/model_table.py --store results.json --models mtlr deephit

With --why it prints two errors that explain published values: that of the mean, not the median, of
the Weibull model, and that of predicting 0 for everybody.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator
from math import gamma
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from survgauge.bench.censoring import semisynthetic
from survgauge.bench.datasets import load
from survgauge.bench.models import available, build
from survgauge.evaluation.scorers import SurvivalKFold
from survgauge.metrics.time.time_errors import mae

DATASETS = ("support", "metabric", "gbm")
FOLDS = 5
#: What the paper's spreadsheet calls the models; it has one gradient boosting machine.
PUBLISHED_AS = {
    "lr": "Regressor",
    "km": "KM",
    "coxph": "CoxPH",
    "aft": "AFT",
    "gbm_c": "GBCM",
    "gbm_tree": "GBCM",
    "rsf": "RSF",
    "mtlr": "MTLR",
    "deephit": "DeepHit",
    "sca": "SCA",
    "smdn": "S-MDN",
}


class Fold(NamedTuple):
    """One fold, preprocessed; `truth` is what the model and the metrics do not see."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    truth: Any


def folds(dataset: str, seed: int) -> Iterator[Fold]:
    """Draw censoring, split, preprocess."""
    data = load(dataset)
    drawn = semisynthetic(data.X, data.y, "uniform", random_state=seed)
    for train, test in SurvivalKFold(FOLDS, random_state=seed).split(drawn.X, drawn.y):
        features = data.preprocessor().fit(drawn.X.iloc[train])
        X_train, X_test = (features.transform(drawn.X.iloc[rows]) for rows in (train, test))
        yield Fold(X_train, drawn.y[train], X_test, drawn.y[test], drawn.true_time[test])


def run(dataset: str, model: str, seed: int) -> dict[str, list[float]]:
    """Fit and score one model on every fold."""
    result: dict[str, list[float]] = {"mae": [], "c_index": [], "seconds": [], "cpu_seconds": []}
    for fold in folds(dataset, seed):
        estimator = build(model)
        wall, cpu = time.perf_counter(), time.process_time()
        estimator.fit(fold.X_train, fold.y_train)
        result["seconds"].append(time.perf_counter() - wall)
        result["cpu_seconds"].append(time.process_time() - cpu)
        predicted = estimator.predict_time(fold.X_test)
        error = mae(fold.y_test, predicted, method="true", true_time=fold.truth)
        result["mae"].append(float(error))
        result["c_index"].append(concordance(fold.truth, predicted))
    return result


def why(dataset: str, seed: int) -> str:
    """Errors of the Weibull mean and of zero."""
    errors: dict[str, list[float]] = {"aft, mean": [], "zero": []}
    for fold in folds(dataset, seed):
        model = build("aft").fit(fold.X_train, fold.y_train)
        shape = np.exp(-model.log_rho_)
        mean_time = model.predict_time(fold.X_test) / np.log(2) ** shape * gamma(1 + shape)
        errors["aft, mean"].append(float(np.abs(mean_time - fold.truth).mean()))
        errors["zero"].append(float(fold.truth.mean()))
    return f"{dataset}: " + ", ".join(f"{key} {mean(e):.1f}" for key, e in errors.items())


def concordance(truth: Any, predicted: Any) -> float:
    """Share of pairs in the right order; nobody is censored in the truth."""
    earlier = truth[:, None] < truth[None, :]
    difference = predicted[None, :] - predicted[:, None]
    return float(np.where(difference == 0, 0.5, difference > 0)[earlier].mean())


def published(path: str | None) -> dict[tuple[str, str], float]:
    """True MAE under uniform censoring, by data set and model."""
    if path is None:
        return {}
    with open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["censoring"] == "uniform"]
    return {(row["dataset"].lower(), row["model"]): float(row["true_mae"]) for row in rows}


def table(store: dict[str, Any], paper: dict[tuple[str, str], float]) -> str:
    """Markdown: error (published, difference) by data set; fit time and concordance on support."""
    header = ["model", *DATASETS, "fit, CPU s", "C-index"]
    lines = [
        "| " + " | ".join(header) + " |",
        "|---|" + "---|" * len(DATASETS) + "---:|---:|",
    ]
    for row in available():
        name = row["name"]
        if not any(f"{dataset}/{name}" in store for dataset in DATASETS):
            continue
        cells = [name, *(cell(store, paper, dataset, name) for dataset in DATASETS)]
        support = store.get(f"support/{name}")
        cells.append(f"{median(support['cpu_seconds']):.1f}" if support else "")
        cells.append(f"{median(support['c_index']):.3f}" if support else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(
    store: dict[str, Any], paper: dict[tuple[str, str], float], dataset: str, name: str
) -> str:
    """Mean ± deviation over folds, and the published mean."""
    result = store.get(f"{dataset}/{name}")
    if result is None:
        return ""
    value = mean(result["mae"])
    text = f"{value:.1f} ± {stdev(result['mae']):.1f}"
    known = paper.get((dataset, PUBLISHED_AS[name]))
    if known is not None:
        text += f" ({known:.1f}, {round(100 * (value / known - 1)):+d} %)"
    return text


def main() -> int:
    """Run what was asked for, keep it, print the table of everything kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", required=True, help="JSON file that keeps the results")
    parser.add_argument("--published", help="CSV with dataset, censoring, model, true_mae")
    parser.add_argument("--models", nargs="*", help="default: all that are installed; none: none")
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the table here too")
    parser.add_argument("--why", action="store_true", help="explain published values, no more")
    args = parser.parse_args()
    if args.why:
        print("\n".join(why(dataset, args.seed) for dataset in args.datasets))
        return 0
    path = Path(args.store)
    store = json.loads(path.read_text()) if path.exists() else {}
    names = args.models
    if names is None:
        names = [row["name"] for row in available() if row["installed"]]
    for dataset in args.datasets:
        for name in names:
            result = run(dataset, name, args.seed)
            # Read again: another run may have added its models meanwhile.
            store = json.loads(path.read_text()) if path.exists() else {}
            store[f"{dataset}/{name}"] = result
            path.write_text(json.dumps(store, indent=1))
            seconds = f"{median(result['cpu_seconds']):.1f} s a fit"
            print(f"{dataset} {name}: {mean(result['mae']):.2f}, {seconds}", file=sys.stderr)
    text = table(store, published(args.published))
    print(text)
    if args.out:
        Path(args.out).write_text(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
