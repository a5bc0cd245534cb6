"""Which metric of one cause tells the truth? Runs models on semi-synthetic data of several causes.

    pip install 'survgauge[sklearn,survset,lifelines,torch,hazardous]'
    python docs/scripts/competing_truth.py                    # all bases, about ten minutes
    python docs/scripts/competing_truth.py --bases follic     # one of them, the others stay
    python docs/scripts/competing_page.py                     # docs/results/competing.md

For every data base, kind of censoring, draw and fold: fit all models on the censored training part;
score each cause on the censored test part, once with the cause right and once with competing events
counted as censored; and compute the same measure from the known times and causes. Kept are, for
every set (base, kind, draw, cause) and metric, Kendall's tau of the models' order with the true
order, the mean distance from the true value and the mean difference: docs/results/competing.json.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import survgauge as sg
from survgauge.bench.datasets import load, synthetic_causes
from survgauge.bench.experiment.meta import bias, kendall_tau, proximity
from survgauge.bench.models import build
from survgauge.data.preprocessing import Preprocessor
from survgauge.estimators.cox import CoxModel
from survgauge.evaluation.scorers import SurvivalKFold
from survgauge.metrics.time.time_errors import time_error

RESULTS = Path(__file__).parents[1] / "results" / "competing.json"
KINDS = ("uniform", "exponential", "feature_dependent")
DRAWS, FOLDS = 2, 2
#: Shares of the events of any cause before the time of interest and before tau.
TIME, TAU = 0.5, 0.75
METHODS = ("dr", "po", "ipcw_d")
CAUSES = ("first", "second")
#: What a metric is called that counts competing events as censored.
MISTAKE = "mistake"


# -- data bases ----------------------------------------------------------------------------------


def real(name: str, every: int = 1) -> Callable[[], tuple[Any, sg.Outcomes]]:
    """A set of the catalogue, or one of `every` so many of its rows."""

    def read() -> tuple[Any, sg.Outcomes]:
        data = load(name)
        rows = np.arange(0, len(data), every)
        return data.X.iloc[rows], data.y[rows]

    return read


def made_up(seed: int, n: int = 500, **settings: Any) -> Callable[[], tuple[Any, sg.Outcomes]]:
    def read() -> tuple[Any, sg.Outcomes]:
        scenario = synthetic_causes(n, seed, causes=CAUSES, **settings)
        return scenario.X, scenario.y

    return read


def curved(X: Any) -> Any:
    """Log hazard ratios that a linear model does not find."""
    return np.column_stack([X[:, 0] ** 2 - 1 + X[:, 1], X[:, 0] * X[:, 2]])


BASES: dict[str, Callable[[], tuple[Any, sg.Outcomes]]] = {
    "follic": real("follic_causes"),
    "mgus": real("mgus_causes"),
    "flchain": real("flchain_causes", every=3),
    "senators": real("lifelines_senators_causes"),
    "linear": made_up(1),
    "curved": made_up(2, effects=curved),
    "rare first": made_up(3, scales=(30.0, 8.0)),
    "opposed": made_up(4, shapes=(0.7, 2.0), effects=((1.0, 0.5), (-1.0, 0.5))),
}


# -- models --------------------------------------------------------------------------------------


class OneCauseCox:
    """The mistake as a model: survival of a Cox model of one cause, taken for 1 - incidence."""

    def fit(self, X: Any, y: sg.Outcomes) -> OneCauseCox:
        self.y, self.models = y, [CoxModel.fit(X, y.only(c)) for c in y.causes or ()]
        return self

    def predict(self, X: Any, cause: int) -> sg.IncidenceCurves:
        times = np.unique(self.y.time)
        values = np.zeros((len(X), len(self.models), times.size))
        values[:, cause - 1] = 1.0 - self.models[cause - 1].survival(X, times)
        return sg.IncidenceCurves(times, values, self.y.causes, "step")


def models(seed: int, columns: int) -> dict[str, tuple[Any, Any]]:
    """Models by name, each with the columns that it sees."""
    every, half = np.arange(columns), np.arange((columns + 1) // 2)
    return {
        "aalen_johansen": (build("aalen_johansen"), every),
        "cox": (build("cause_specific_cox", penalty=1.0), every),
        "cox, shrunk": (build("cause_specific_cox", penalty=200.0), every),
        "cox, half of the columns": (build("cause_specific_cox", penalty=1.0), half),
        "cox of one cause": (OneCauseCox(), every),
        "deephit": (build("deephit", epochs=40, random_state=seed), every),
        "boosting": (
            build("survival_boost", n_iter=15, learning_rate=0.1, random_state=seed),
            every,
        ),
    }


# -- metrics -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One cause of a fold: what is observed, what is true, until when is asked."""

    test: sg.Outcomes
    train: sg.Outcomes
    true: sg.Outcomes
    cause: int
    time: float
    tau: float

    @property
    def grid(self) -> Any:
        return np.linspace(self.tau / 25, self.tau, 25)

    def free_time(self) -> Any:
        """True time free of the cause up to tau."""
        mine = (self.true.cause == self.cause) & (self.true.time < self.tau)
        return np.where(mine, self.true.time, self.tau)


def predicted_times(curves: sg.IncidenceCurves, q: Question) -> dict[str, Any]:
    """Median of the cause or tau; expected time free of it up to tau."""
    median = np.nan_to_num(curves.quantile(0.5, q.cause), nan=np.inf)
    return {
        "absolute": np.minimum(median, q.tau),
        "squared": q.tau - curves.rmtl(q.tau, q.cause),
    }


def scores(y: Any, curves: Any, risk: Any, q: Question, **how: Any) -> dict[str, float]:
    """Scores of probabilities and ranks, of outcomes with a cause or with one kind of event."""
    return {
        "brier": sg.brier_score(y, curves, [q.time], **how).mean,
        "ibs": sg.integrated_brier_score(y, curves, q.grid, **how),
        "auc": sg.cumulative_dynamic_auc(y, curves, [q.time], **how).mean,
        "c_uno": sg.concordance_index(y, risk, method="uno", tau=q.tau, **how),
        "c_harrell": sg.concordance_index(y, risk, tau=q.tau, **how),
    }


def errors(y: Any, times: dict[str, Any], q: Question, **how: Any) -> dict[str, float]:
    """Errors in time of predicted times free of the cause."""
    found = {}
    for method in METHODS:
        for name, loss in (("mae", "absolute"), ("rmse", "squared")):
            value = time_error(y, times[loss], method=method, loss=loss, tau=q.tau, **how)
            found[f"{name}_{method}"] = float(value) if name == "mae" else float(value) ** 0.5
    return found


def measured(curves: sg.IncidenceCurves, q: Question) -> tuple[dict[str, float], dict[str, float]]:
    """Values of all metrics on the censored data, and the true values, by name."""
    times, risk = predicted_times(curves, q), curves.at(q.tau, q.cause)
    right = scores(q.test, curves, risk, q, cause=q.cause)
    right |= errors(q.test, times, q, y_train=q.train, cause=q.cause)
    alone, before = q.test.only(q.cause), q.train.only(q.cause)
    one = sg.SurvivalCurves(
        curves.times, curves.cause(q.cause).survival, curves.interpolation, "hold"
    )
    wrong = scores(alone, one, risk, q) | errors(alone, times, q, y_train=before)
    truth = scores(q.true, curves, risk, q, cause=q.cause)
    # With every event known both are Wolbers' C up to tau.
    gap = q.free_time()
    for method in METHODS:
        truth[f"mae_{method}"] = float(np.mean(np.abs(times["absolute"] - gap)))
        truth[f"rmse_{method}"] = float(np.sqrt(np.mean((times["squared"] - gap) ** 2)))
    values = {**right, **{f"{name} ({MISTAKE})": value for name, value in wrong.items()}}
    return values, {name: truth[name.partition(" ")[0]] for name in values}


# -- the run -------------------------------------------------------------------------------------


def draws(name: str) -> Iterator[tuple[str, int, Any]]:
    X, y = BASES[name]()
    for kind in KINDS:
        for draw in range(DRAWS):
            yield kind, draw, sg.semisynthetic(X, y, kind, random_state=draw)


def features(X: Any, train: Any, test: Any) -> tuple[Any, Any]:
    """Filled, encoded and standardised from training rows alone."""
    if not hasattr(X, "iloc"):
        return X[train], X[test]
    prepare = Preprocessor(drop_constant=True).fit(X.iloc[train])
    return prepare.transform(X.iloc[train]), prepare.transform(X.iloc[test])


def fold_values(ss: Any, train: Any, test: Any, seed: int) -> dict[int, dict[str, Any]]:
    """Values and truths of all models in one fold, by cause."""
    X_train, X_test = features(ss.X, train, test)
    at, tau = (float(np.quantile(ss.true_time, share)) for share in (TIME, TAU))
    true = sg.Outcomes(ss.true_time[test], ss.true_cause[test], causes=ss.y.causes)
    found: dict[int, dict[str, Any]] = {k: {} for k in range(1, len(ss.y.causes) + 1)}
    for label, (model, seen) in models(seed, X_train.shape[1]).items():
        model.fit(X_train[:, seen], ss.y[train])
        for cause, by_model in found.items():
            if isinstance(model, OneCauseCox):
                curves = model.predict(X_test[:, seen], cause)
            else:
                curves = model.predict_incidence(X_test[:, seen])
            question = Question(ss.y[test], ss.y[train], true, cause, at, tau)
            by_model[label] = measured(curves, question)
    return found


def answers(name: str) -> Iterator[dict[str, Any]]:
    """One row per set and metric: order, distance and bias, from means over folds."""
    for kind, draw, ss in draws(name):
        splits = SurvivalKFold(FOLDS, random_state=draw).split(ss.X, ss.y)
        folds = [fold_values(ss, *rows, seed=fold) for fold, rows in enumerate(splits)]
        for cause in folds[0]:
            labels = list(folds[0][cause])
            metrics = list(folds[0][cause][labels[0]][0])
            table = np.array(
                [[[part[m] for m in metrics] for part in fold[cause][model]]
                 for fold in folds for model in labels]
            ).reshape(len(folds), len(labels), 2, len(metrics)).mean(axis=0)  # fmt: skip
            value, truth = table[:, 0], table[:, 1]
            tau = kendall_tau(value, truth)
            far, off = proximity(value, truth, relative=True), bias(value / truth, truth / truth)
            repeat = f"{draw}, {ss.y.causes[cause - 1]}"
            for j, metric in enumerate(metrics):
                yield {
                    "dataset": name, "censoring": kind, "repeat": repeat,
                    "metric": metric, "tau": round(float(tau[j]), 4),
                    "relative": round(float(far[j]), 5), "bias": round(float(off[j]), 5),
                    "censored": round(ss.censoring_rate, 3),
                }  # fmt: skip


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--bases", nargs="*", default=list(BASES), choices=list(BASES))
    chosen = parser.parse_args().bases
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    rows = [row for row in known if row["dataset"] not in chosen]
    for name in chosen:
        start = time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows += list(answers(name))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        about = {"kinds": KINDS, "draws": DRAWS, "folds": FOLDS, "time": TIME, "tau": TAU}
        about |= {"models": list(models(0, 2)), "bases": list(BASES)}
        order = {base: k for k, base in enumerate(BASES)}
        rows.sort(key=lambda row: order[row["dataset"]])
        lines = ",\n".join(json.dumps(row) for row in rows)
        RESULTS.write_text(f'{{"about": {json.dumps(about)},\n"rows": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
