"""The simulations of intervals of `evaluate`: one function a study, one call a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, default_metrics, metrics_of

from .tally import Tally
from .targets import THRESHOLD, Targets, metrics_with_intervals
from .world import CENSORING, Sample, draw, predictions, training_set

DEFAULT_METRICS = [metric.name for metric in default_metrics()]

#: Simulated less often because they take long.
SLOW = ("antolini",)
#: Intervals by resampling, or of distances that cannot be negative.
DISTANCES = ("ici", "km_calibration")


def core_metrics() -> list[str]:
    """Metrics that `evaluate` computes by default and that are fast."""
    skipped = (*SLOW, *DISTANCES)
    return [m for m in metrics_with_intervals() if m in DEFAULT_METRICS and m not in skipped]


def remaining_metrics() -> list[str]:
    """Return all but the distances."""
    return [m for m in metrics_with_intervals() if m not in DISTANCES]


def judged_metrics() -> list[str]:
    """Return tests, and metrics whose best value the true model has."""
    kinds = metrics_of().values()
    return [m.name for m in kinds if m.inference == "test" or m.target is not None]


def chosen(names: list[str], part: dict[str, Any]) -> list[str]:
    """Return the metrics that a part is about: all, or those that it names."""
    wanted = part.get("metrics", "").split()
    return [name for name in names if not wanted or name in wanted]


def settings_of(part: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `evaluate` that all studies share."""
    censoring = CENSORING[part["censoring"]]
    train = training_set(part["seed"], censoring, part["train"], part["block"])
    asked = {"time": censoring.time, "tau": censoring.tau, "threshold": THRESHOLD}
    return {"y_train": train, **asked}


def samples(part: dict[str, Any], rng: np.random.Generator) -> Iterator[Sample]:
    """Draw the test sets of a part."""
    for _ in range(part["reps"]):
        yield draw(rng, part["n"], CENSORING[part["censoring"]])


def count_rows(
    tally: Tally,
    key: dict[str, Any],
    ev: Any,
    targets: Targets,
    model: str,
    skipped: list[str] | None = None,
    **names: Any,
) -> None:
    """Count the intervals of a model's metrics."""
    for row in ev.rows():
        if row["model"] == model and row["metric"] not in (skipped or ()):
            metric = row["metric"]
            limit = targets.limit(model.replace(" b", " a"), metric, row["until"])
            truth = targets.truth(model.replace(" b", " a"), metric, ev.problem)
            place = {**key, "metric": metric, "model": model, **names}
            tally.interval(place, row, limit, truth, REGISTRY[metric].range)


def core(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Two equally good models: intervals of one, and how often the two differ significantly."""
    tally, given = Tally(), settings_of(part)
    key = {"study": "core", **{k: part[k] for k in ("censoring", "n", "train")}}
    names = chosen(core_metrics(), part)
    if not names:
        return tally
    for sample in samples(part, rng):
        models = predictions(sample, "twin a", "twin b")
        ev = sg.evaluate(models, sample.y, metrics=names, **given)
        count_rows(tally, key, ev, targets, "twin a")
        for row in ev.comparisons():
            place = {**key, "metric": row["metric"], "model": "twin a - twin b"}
            tally.test(place, row["p_value"])
    return tally


def more(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """All metrics with analytic errors, a difference that is not nothing, and no horizon."""
    tally, given = Tally(), settings_of(part)
    key = {"study": "more", **{k: part[k] for k in ("censoring", "n", "train")}}
    absolute = [m for m in chosen(core_metrics(), part) if m.startswith("mae_")]
    names = chosen(remaining_metrics(), part)
    if not names:
        return tally
    for sample in samples(part, rng):
        models = predictions(sample, "twin a", "true")
        ev = sg.evaluate(models, sample.y, metrics=names, **given)
        count_rows(tally, key, ev, targets, "twin a", skipped=core_metrics())
        for row in ev.comparisons():
            pair = (row["model_a"], row["model_b"])
            limits = [targets.limit(model, row["metric"]) for model in pair]
            truths = [targets.truth(model, row["metric"], ev.problem) for model in pair]
            place = {**key, "metric": row["metric"], "model": "twin a - true"}
            tally.interval(place, row, limits[0] - limits[1], truths[0] - truths[1])
        if not absolute:
            continue
        unbounded = {**given, "tau": None}
        free = sg.evaluate({"twin a": models["twin a"]}, sample.y, metrics=absolute, **unbounded)
        for row in free.rows():
            place = {**key, "study": "free", "metric": row["metric"], "model": "twin a"}
            limit = targets.limit("twin a", f"free {row['metric']}")
            truth = targets.truth("twin a", row["metric"], free.problem)
            tally.interval(place, row, limit, truth)
    return tally


def distances(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """ICI and KM-calibration of the truth (limit 0) and of a good model."""
    tally, given = Tally(), settings_of(part)
    key = {"study": "distances", **{k: part[k] for k in ("censoring", "n", "train")}}
    names = chosen(list(DISTANCES), part)
    if not names:
        return tally
    for k, sample in enumerate(samples(part, rng)):
        both = k % 3 == 0  # resampling the truth as often would take too long
        models = predictions(sample, "twin a", *(["true"] if both else []))
        ev = sg.evaluate(models, sample.y, metrics=names, **given)
        for model in models:
            count_rows(tally, key, ev, targets, model)
    return tally


#: What the special studies look at.
FEW = ("harrell", "uno", "auc", "brier", "ibs", "mae_ipcw_d", "mae_po")


def edge(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Concordance close to one: a very strong model on few subjects."""
    tally, censoring = Tally(), CENSORING[part["censoring"]]
    key = {"study": "edge", **{k: part[k] for k in ("censoring", "n")}}
    for _ in range(part["reps"]):
        sample = draw(rng, part["n"], censoring, strength=part["strength"])
        ev = sg.evaluate(
            predictions(sample, "true"),
            sample.y,
            metrics=["auc", "uno"],
            time=censoring.time,
            min_at_risk=3,
        )
        count_rows(tally, key, ev, targets, "true")
    return tally


def shift(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Training subjects are censored less than test subjects: whose G is it."""
    tally, given = Tally(), settings_of(part)
    lightly = training_set(part["seed"], CENSORING["30i"], part["train"], part["block"])
    key = {"study": "shift", **{k: part[k] for k in ("censoring", "n", "train")}}
    names = [m for m in FEW if m not in ("harrell", "mae_po")]
    ways = {"default": {}, "train": {"censoring": "train"}}
    for sample in samples(part, rng):
        models = predictions(sample, "twin a")
        for way, options in ways.items():
            try:
                ev = sg.evaluate(
                    models, sample.y, metrics=names, **{**given, **options, "y_train": lightly}
                )
            except sg.InputError:  # no such way
                continue
            count_rows(tally, key, ev, targets, "twin a", variant=way)
    return tally


def selection(part: dict[str, Any], rng: np.random.Generator, targets: Targets) -> Tally:
    """Ten models that know nothing: how often is the best said to beat Kaplan-Meier."""
    tally, given = Tally(), settings_of(part)
    key = {"study": "selection", **{k: part[k] for k in ("censoring", "n", "train")}}
    names = ["mae_po", "mae_ipcw_d", "ibs", "brier"]
    y = given["y_train"].y
    law = sg.KaplanMeier.fit(y)
    # Past the reference set the law is drawn out, so that every model has a median.
    last = law.last_time
    grid = np.concatenate((np.linspace(0, last, 120), np.linspace(1.1 * last, 4 * last, 12)))
    base = sg.reference_curves(y, 1).at(grid)[0]
    for sample in samples(part, rng):
        factor = np.exp(0.05 * rng.normal(size=(10, part["n"], 1)))
        models = {f"noise {k}": (grid, np.interp(grid / factor[k], grid, base)) for k in range(10)}
        ev = sg.evaluate(models, sample.y, metrics=names, **given)
        for name in names:
            rows = [row for row in ev.baseline_comparisons() if row["metric"] == name]
            for label in ("p_value", "p_holm", "p_adjusted"):
                found = [row[label] for row in rows if label in row and row["difference"] < 0]
                if any(label in row for row in rows):
                    least = min(found, default=1.0)
                    tally.test({**key, "metric": name, "variant": label}, least)
    return tally
