"""The studies: what is asked of samples of a scenario. One call is a part of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import survgauge as sg
from survgauge.evaluation.verdict import headline, verdicts
from survgauge.metrics import group_tests
from survgauge.metrics.registry import REGISTRY, metrics_of

from .quality import Quality
from .scenario import CAUSES, Sample, Scenario, draw, predict, setting, stream
from .truth import MODELS, THRESHOLD, Truth, estimates_truth, is_time_error

#: Subjects of a reference set.
TRAIN = 1000
PAIRS = ("harrell", "antolini")
#: Time errors that all scenarios have; `mae_po` as the one of the paper.
ERRORS = ("mae_within", "mae_dr", "mae_ipcw_d", "mae_po")
#: What the smaller studies look at.
FEW = ("mae_within", "mae_dr", "mae_ipcw_d", "brier", "ibs", "uno", "harrell", "antolini", "auc")


@dataclass(frozen=True)
class Task:
    """Some replications of a scenario, with what is true about it."""

    scenario: Scenario
    block: int
    reps: int
    seed: int
    truth: Truth
    limits: dict[str, dict[str, float]]

    def samples(self, rng: np.random.Generator) -> Iterator[Sample]:
        """Draw the test sets."""
        for _ in range(self.reps):
            yield draw(rng, self.scenario, self.scenario.n)

    def settings(self) -> dict[str, Any]:
        """Arguments of `evaluate` that all studies share."""
        at = setting(self.scenario)
        return {
            "y_train": training_set(self.seed, self.scenario, self.block),
            "time": at.time, "tau": at.tau, "threshold": THRESHOLD,
            "cause": CAUSES[0] if self.scenario.causes > 1 else None,
        }  # fmt: skip

    def count(self, quality: Quality, row: dict[str, Any], **names: str) -> None:
        """Count an interval or a test of `evaluate`."""
        metric, model = REGISTRY[row["metric"]], row["model"]
        key = {"metric": metric.name, "model": model, **names}
        if metric.inference == "test":
            quality.test(key, row["value"])
            return
        limit, truth = self.targets(metric.name, model, row["until"])
        if np.isfinite([limit, truth]).any():
            quality.interval(key, row, limit, truth, metric.range)

    def targets(self, metric: str, model: str, until: float | None) -> tuple[float, float]:
        """Return the limit and the true value of a metric; NaN where there is none."""
        truth = self.truth.value(model, metric, until)
        if metric in PAIRS:
            return self.truth.pairs(model, metric, until), truth
        best = REGISTRY[metric].target is not None
        return truth if best else self.limits.get(model, {}).get(metric, np.nan), truth


def training_set(seed: int, scenario: Scenario, block: int) -> sg.Reference | sg.Outcomes:
    """Return the reference set of a block, the same for all who ask."""
    population = scenario.population
    rng = stream(seed, f"train {population.name} {block}")
    y = draw(rng, population, TRAIN).y
    return y if scenario.causes > 1 else sg.Reference(y)


def is_plain(scenario: Scenario) -> bool:
    """Whether a cell looks at every metric, also at those that promise no true value."""
    usual = Scenario(share=scenario.share, n=scenario.n)
    return scenario == usual


def metrics_for(scenario: Scenario) -> list[str]:
    """Return what can be asked in a scenario and has a true value, a best one or a size."""
    found = []
    for name, metric in metrics_of(cause=1 if scenario.causes > 1 else None).items():
        can = (not scenario.entry or "entry" in metric.supports) and (
            not scenario.weights or "weights" in metric.supports
        )
        if is_time_error(name):
            wanted = name in ERRORS
        else:
            known = estimates_truth(name) or metric.target is not None or name in PAIRS
            wanted = known or metric.inference == "test"
        if can and (wanted or is_plain(scenario)):
            found.append(name)
    return found


def intervals(task: Task, rng: np.random.Generator) -> Quality:
    """The right, a late and a wrong model: intervals, differences, tests."""
    quality, scenario, given = Quality(), task.scenario, task.settings()
    names = metrics_for(scenario)
    for sample in task.samples(rng):
        models = {model: predict(sample, model) for model in MODELS}
        options = _options(sample)
        if scenario.features:
            train = draw(rng, scenario.population, scenario.n)
            given |= {"y_train": train.y}
            options |= {"X_train": train.x, "X_test": sample.x}
        ev = sg.evaluate(models, sample.y, metrics=names, **given, **options)
        for row in ev.rows():
            task.count(quality, row)
        ends = {row["metric"]: row["until"] for row in ev.rows()}
        for row in ev.comparisons("right"):
            _count_difference(task, quality, row, ends[row["metric"]])
        known = ("dependent-censoring", "dependence-modelled")
        found = any(w.code in known for w in ev.warnings)
        quality.test(
            {"metric": "warning: dependent-censoring", "model": "any"}, 0.0 if found else 1
        )
        if not scenario.features:
            own = sg.evaluate(
                models, sample.y, metrics=["mae_within"], **{**given, "tau": None}, **options
            )
            for row in own.rows():
                task.count(quality, row, variant="own horizon")
        if options and not scenario.features:
            plain = sg.evaluate({"right": models["right"]}, sample.y, metrics=names, **given)
            for row in plain.rows():
                task.count(quality, row, variant="ignored")
    return quality


def _options(sample: Sample) -> dict[str, Any]:
    """Return what `evaluate` is told about clusters and sampling weights."""
    scenario = sample.scenario
    if scenario.clusters:
        return {"cluster": sample.cluster}
    return {"sample_weight": sample.weight} if scenario.weights else {}


def _count_difference(task: Task, quality: Quality, row: dict[str, Any], end: float | None) -> None:
    """Count the interval of a difference from the right model; `end`: where its errors stop."""
    metric, pair = row["metric"], (row["model_a"], row["model_b"])
    until = setting(task.scenario).tau if end is None else end
    each = [task.targets(metric, model, None if metric in PAIRS else until) for model in pair]
    limit, truth = (first - second for first, second in zip(*each, strict=True))
    target = truth if np.isfinite(truth) else limit
    if not np.isfinite(target):
        return
    key = {"metric": metric, "model": f"{pair[0]} - {pair[1]}"}
    quality.interval(key, row, limit, truth)
    mistaken = row["p_value"] < 0.05 and row["difference"] * target < 0
    quality.test({"metric": metric, "model": "wrong sign"}, 0.0 if mistaken else 1.0)


def equals(task: Task, rng: np.random.Generator) -> Quality:
    """Equally good models: how often two of them differ, and how often the verdict names one."""
    quality, given = Quality(), task.settings()
    names = [f"equal {k}" for k in range(1, 6)]
    for sample in task.samples(rng):
        models = {model: predict(sample, model) for model in names}
        two = {model: models[model] for model in names[:2]}
        ev = sg.evaluate(two, sample.y, metrics=list(FEW), **given)
        for row in ev.comparisons():
            quality.test({"metric": row["metric"], "model": "two equal"}, row["p_value"])
        _count_verdict(quality, ev, "two equal")
        ev = sg.evaluate(models, sample.y, metrics=["mae_within"], **given)
        _count_verdict(quality, ev, "five equal")
    return quality


def _count_verdict(quality: Quality, ev: Any, model: str) -> None:
    data = ev.to_dict()
    alone = len(verdicts(data, headline(data))[0].best) == 1
    quality.test({"metric": "verdict: is best", "model": model}, 0.0 if alone else 1.0)


def shift(task: Task, rng: np.random.Generator) -> Quality:
    """Training subjects are censored less than test subjects: whose G is it."""
    quality, given = Quality(), task.settings()
    lightly = training_set(task.seed, replace(task.scenario, share=20), task.block)
    given["y_train"] = lightly
    names = ["mae_ipcw_d", "brier", "ibs", "uno", "auc"]
    for sample in task.samples(rng):
        models = {"right": predict(sample, "right")}
        for way, options in (("default", {}), ("train", {"censoring": "train"})):
            ev = sg.evaluate(models, sample.y, metrics=names, **given, **options)
            for row in ev.rows():
                task.count(quality, row, variant=way)
    return quality


def selection(task: Task, rng: np.random.Generator) -> Quality:
    """Ten models without information: how often is the best said to beat Kaplan-Meier."""
    quality, given, n = Quality(), task.settings(), task.scenario.n
    names = ["mae_po", "mae_within", "ibs", "brier"]
    grid = setting(task.scenario).grid
    # Past the reference set the curve is drawn out, so that every model has a median.
    known = sg.reference_curves(given["y_train"].y, 1).at(grid)[0]
    base = np.where(np.isfinite(known), known, np.nanmin(known) * np.exp(-grid / grid[-1]))
    for sample in task.samples(rng):
        factor = np.exp(0.05 * rng.normal(size=(10, n, 1)))
        models = {f"noise {k}": (grid, np.interp(grid / factor[k], grid, base)) for k in range(10)}
        ev = sg.evaluate(models, sample.y, metrics=names, **given)
        for name in names:
            rows = [r for r in ev.baseline_comparisons() if r["metric"] == name]
            better = [r for r in rows if r["difference"] < 0]
            for label in ("p_value", "p_holm"):
                least = min((r[label] for r in better), default=1.0)
                quality.test({"metric": name, "model": "best of ten", "variant": label}, least)
    return quality


def functions(task: Task, rng: np.random.Generator) -> Quality:
    """Tests and intervals that `evaluate` does not show: other forms, and functions alone."""
    quality, time = Quality(), setting(task.scenario).time
    for sample in task.samples(rng):
        y, right = sample.y, predict(sample, "right")
        for model in ("right", "late"):
            curves = right if model == "right" else predict(sample, model)
            p = _p_value(sg.d_calibration, y, curves, method="chi2")
            quality.test({"metric": "d_calibration, chi2", "model": model}, p)
        for method in ("dn", "gnd", "uncensored"):
            p = _p_value(sg.one_calibration, y, right, time, method=method)
            quality.test({"metric": f"one_calibration, {method}", "model": "right"}, p)
        medians = right.median(), np.ones(len(y), dtype=bool)
        p = _p_value(group_tests.log_rank_test, y, medians)
        quality.test({"metric": "log_rank of medians", "model": "right"}, p)
        half = rng.permutation(len(y)) < len(y) // 2
        p = _p_value(group_tests.log_rank_test, y[half], y[~half])
        quality.test({"metric": "log_rank_test of two halves", "model": "right"}, p)
        p = _p_value(sg.censoring_test, sample.x, y)
        quality.test({"metric": "censoring_test", "model": "right"}, p)
        found = sg.coverage(y, right, 0.9)
        low, high = found.value - 1.96 * found.stderr, found.value + 1.96 * found.stderr
        row = {"value": found.value, "low": low, "high": high}
        quality.interval({"metric": "coverage", "model": "right"}, row, truth=0.9)
    return quality


def _p_value(test: Any, *args: Any, **options: Any) -> float:
    try:
        return float(test(*args, **options).p_value)
    except sg.UndefinedMetricError:  # groups too small, no events
        return float("nan")


def folds(task: Task, rng: np.random.Generator) -> Quality:
    """Two equally good models fitted in each of ten folds: how often do they differ."""
    quality, n, tau = Quality(), task.scenario.n, setting(task.scenario).tau
    place = rng.permutation(n) % 10
    for sample in task.samples(rng):
        y, scores = sample.y, np.zeros((2, 10))
        for which in range(2):
            # Each sees two features, blurred by noise of its own.
            design = np.column_stack((np.ones(n), sample.x[:, :2] + sample.noise[:, [which]]))
            for fold in range(10):
                test = place == fold
                seen = ~test & y.event
                fit = np.linalg.lstsq(design[seen], np.log(y.time[seen]), rcond=None)[0]
                predicted = np.exp(design[test] @ fit)
                scores[which, fold] = sg.mae(
                    y[test], predicted, method="po", y_train=y[~test], tau=tau
                )
        found = sg.compare_folds(*scores, n_train=0.9 * n, n_test=0.1 * n)
        quality.test({"metric": "compare_folds of mae_po", "model": "two equal"}, found.p_value)
    return quality
