"""Simulations of tests, clusters and sampling weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import survgauge as sg
from survgauge.metrics.registry import REGISTRY

from .studies import FEW, chosen, count_rows, judged_metrics, samples, settings_of
from .tally import Tally
from .targets import Targets
from .world import CENSORING, FRAILTY, draw, predictions


def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether this version of a function has an argument."""
    return argument in inspect.signature(function).parameters


def _p_value(test: Callable[..., Any], *data: Any, **options: Any) -> float:
    try:
        return float(test(*data, **options).p_value)
    except sg.UndefinedMetricError:
        return float("nan")


def tests(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Sizes of all tests under the true model, and power against curves 25 % late."""
    tally, given = Tally(), settings_of(part)
    key = {"study": "tests", **{k: part[k] for k in ("censoring", "n")}}
    time, names = given["time"], chosen(judged_metrics(), part)
    if not names:
        return tally
    for sample in samples(part, rng):
        y, models = sample.y, predictions(sample, "true", "late")
        for row in sg.evaluate(models, y, metrics=names, **given).rows():
            _count(tally, {**key, "model": row["model"]}, row)
        if "metrics" in part:  # the others have nothing to do with them
            continue
        for model, curves in models.items():
            for method in ("chi2", "ks"):
                p = _p_value(sg.d_calibration, y, curves, method=method)
                tally.test({**key, "metric": f"d_calibration, {method}", "model": model}, p)
        curves = models["true"]
        for method in ("dn", "gnd", "uncensored"):
            p = _p_value(sg.one_calibration, y, curves, time, method=method)
            tally.test({**key, "metric": f"one_calibration, {method}", "model": "true"}, p)
        p = _p_value(sg.log_rank, y, curves)
        tally.test({**key, "metric": "log_rank of medians", "model": "true"}, p)
        _other_tests(tally, key, sample, rng)
        _coverage(tally, {**key, "metric": "coverage", "model": "true"}, y, curves)
    return tally


def _count(tally: Tally, key: dict[str, Any], row: dict[str, Any]) -> None:
    """Count a test, or whether the interval of the true model holds the best value."""
    metric = REGISTRY[row["metric"]]
    if metric.inference == "test":
        tally.test({**key, "metric": f"{metric.name} in evaluate"}, row["value"])
    elif metric.target is not None and key["model"] == "true":
        tally.interval({**key, "metric": metric.name}, row, metric.target, within=metric.range)


def _other_tests(tally: Tally, key: dict[str, Any], sample: Any, rng: Any) -> None:
    """Tests without a model: two halves of a sample, and censoring against features."""
    y = sample.y
    half = rng.permutation(len(y)) < len(y) // 2
    p = _p_value(sg.log_rank_test, y[half], y[~half])
    tally.test({**key, "metric": "log_rank_test of two halves", "model": "true"}, p)
    if "censoring_test" in sg.__all__:
        p = _p_value(sg.censoring_test, sample.x, y)
        tally.test({**key, "metric": "censoring_test", "model": "true"}, p)


def _coverage(tally: Tally, key: dict[str, Any], y: Any, curves: Any) -> None:
    """Value and 1.96 standard errors of the coverage of 90 % prediction intervals."""
    details = sg.coverage_details(y, curves, 0.9)
    value, wide = details.value, 1.96 * details.stderr
    tally.interval(key, {"value": value, "low": value - wide, "high": value + wide}, 0.9)


def clusters(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Twenty hospitals of fifty patients who have something in common."""
    tally, given = Tally(), settings_of(part)
    censoring, n, hospitals = CENSORING[part["censoring"]], part["n"], 20
    key = {"study": "clusters", **{k: part[k] for k in ("censoring", "n", "train")}}
    label = np.repeat(np.arange(hospitals), n // hospitals)
    ways: dict[str, dict[str, Any]] = {"subjects alone": {}}
    if takes(sg.evaluate, "cluster"):
        ways["cluster="] = {"cluster": label}
    for _ in range(part["reps"]):
        common = rng.normal(size=(2, hospitals))[:, label]
        sample = draw(rng, n, censoring, frailty=FRAILTY * common[0], shared=common[1])
        models = predictions(sample, "twin a")
        for way, options in ways.items():
            ev = sg.evaluate(models, sample.y, metrics=list(FEW), **given, **options)
            count_rows(tally, key, ev, targets, "twin a", variant=way)
    return tally


def weights(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Subjects are sampled by a feature, and weighted by one over the probability of it."""
    tally, given = Tally(), settings_of(part)
    censoring, n = CENSORING[part["censoring"]], part["n"]
    key = {"study": "weights", **{k: part[k] for k in ("censoring", "n", "train")}}
    for _ in range(part["reps"]):
        many = draw(rng, 6 * n, censoring)
        chance = 0.1 + 0.9 / (1 + np.exp(-1.5 * many.x[:, 0]))
        rows = np.flatnonzero(rng.uniform(size=6 * n) < chance)[:n]
        sample, weight = many[rows], 1 / chance[rows]
        weight *= n / weight.sum()
        y, models = sample.y, predictions(sample, "twin a")
        ways: dict[str, tuple[Any, dict[str, Any]]] = {
            "no weights": (y, {}),
            "frequencies": (sg.Outcomes(y.time, y.event, weight), {}),
        }
        if takes(sg.evaluate, "sample_weight"):
            ways["sample_weight="] = (y, {"sample_weight": weight})
        for way, (outcomes, options) in ways.items():
            ev = sg.evaluate(models, outcomes, metrics=list(FEW), **given, **options)
            count_rows(tally, key, ev, targets, "twin a", variant=way)
    return tally


def folds(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Two equally good models fitted in each of ten folds: how often do they differ."""
    tally, censoring, n = Tally(), CENSORING[part["censoring"]], part["n"]
    key = {"study": "folds", **{k: part[k] for k in ("censoring", "n")}}
    place = rng.permutation(n) % 10
    for sample in samples(part, rng):
        y, scores = sample.y, np.zeros((2, 10))
        for which in range(2):
            # Each sees two features, blurred by noise of its own.
            blurred = sample.x[:, :2] + sample.noise[:, [which]]
            design = np.column_stack((np.ones(n), blurred))
            for fold in range(10):
                test = place == fold
                seen = ~test & y.event
                fit = np.linalg.lstsq(design[seen], np.log(y.time[seen]), rcond=None)[0]
                predicted = np.exp(design[test] @ fit)
                scores[which, fold] = sg.mae(
                    y[test], predicted, y_train=y[~test], tau=censoring.tau, method="po"
                )
        found = sg.compare_folds(*scores, n_train=0.9 * n, n_test=0.1 * n)
        tally.test({**key, "metric": "compare_folds of mae_po", "model": "equal"}, found.p_value)
    return tally
