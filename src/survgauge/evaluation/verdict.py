"""Who is best, by how much, and how surely: the facts that sentences are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..metrics.registry import REGISTRY, Metric

BASELINE = "Kaplan-Meier for everybody"


@dataclass(frozen=True)
class Against:
    """By how much the best model is better than another, or than the baseline.

    Limits and p-value are adjusted over the family: the limits hold for all of its comparisons
    together (Bonferroni), the p-value is Holm's.
    """

    model: str
    better_by: float
    low: float | None
    high: float | None
    p_value: float | None
    #: How many comparisons it was adjusted over: pairs of models, or models with the baseline.
    family: int
    #: Whether the adjusted p-value is below 1 - confidence.
    clear: bool


@dataclass(frozen=True)
class Verdict:
    """The best model by one metric in one group (None: everybody)."""

    group: Any
    metric: str
    model: str
    value: float
    low: float | None
    high: float | None
    #: Kaplan-Meier of the reference set, predicted for everybody.
    baseline: Against | None
    others: tuple[Against, ...]
    #: Whether a warning says that the tails decide, not the data.
    unsettled: bool
    #: Models compared here whose curves have so few times that what lies between them matters.
    coarse: tuple[str, ...] = ()


def best_rows(rows: Iterable[dict[str, Any]]) -> dict[tuple[Any, str], dict[str, Any]]:
    """Row of the model with the best value, by group and metric."""
    best: dict[tuple[Any, str], dict[str, Any]] = {}
    for row in rows:
        value = row["value"]
        if not isinstance(value, float | int) or value != value:
            continue  # undefined or infinite, as plain data
        sign = 1 if row["direction"] == "lower" else -1
        key = (row.get("group"), row["metric"])
        if key not in best or sign * value < sign * best[key]["value"]:
            best[key] = row
    return best


def judged_by(metrics: Iterable[str]) -> list[str]:
    """Return names of metrics in the order in which people judge by them.

    Errors in units of time come first, that within the horizon before all, then probabilities at
    all times, then ranking.
    """
    return sorted(dict.fromkeys(metrics), key=lambda name: _place(REGISTRY[name]))


def _place(metric: Metric) -> int:
    method = metric.method
    if metric.within_horizon:
        return 0
    if metric.loss == "absolute" and method is not None:
        if method.reads_g:
            return 1
        # One that neither looks censored subjects up nor weights events misses part of the error.
        if method.headline:
            return 2
        return 3 if method.looks_up or method.weights_by_g else 6
    if metric.family == "probability" and metric.reads != "time":
        return 4
    return 5 if metric.family == "ranking" else 6


def headline(data: dict[str, Any]) -> str:
    """Return the metric to judge by; nothing where no metric has a value."""
    known = [row["metric"] for row in data["metrics"] if isinstance(row["value"], float)]
    return next(iter(judged_by(known or [row["metric"] for row in data["metrics"]])), "")


def stops_at(data: dict[str, Any], metric: str) -> float | None:
    """Return the time at which the clock of a metric stops; None where it does not."""
    rows = [row for row in data["metrics"] if row["metric"] == metric]
    found = [row["convention"].get("tau") for row in rows]
    return next((tau for tau in found if tau is not None), None)


def verdicts(data: dict[str, Any], metric: str) -> list[Verdict]:
    """Judge by one metric, from the plain data of `Evaluation.to_dict`; one for each group."""
    found = []
    level = _level(data)
    for (group, name), row in best_rows(data["metrics"]).items():
        if name != metric:
            continue
        sign = 1.0 if row["direction"] == "lower" else -1.0
        model = row["model"]

        def mine(rows: list[dict[str, Any]], group: Any = group) -> list[dict[str, Any]]:
            # A difference from an undefined or infinite value is no number.
            known = [r for r in rows if isinstance(r["difference"], float)]
            return [r for r in known if r["metric"] == metric and r.get("group") == group]

        others = []
        for pair in mine(data["comparisons"]):
            if model == pair["model_a"]:
                others.append(_against(pair, pair["model_b"], -sign, level))
            elif model == pair["model_b"]:
                others.append(_against(pair, pair["model_a"], sign, level))
        unsettled = any(
            w["code"] == "tail-decides" and w["metric"] == metric for w in data["warnings"]
        )
        coarse = [w["model"] for w in data["warnings"] if w["code"] == "coarse-grid"]
        found.append(
            Verdict(
                group,
                metric,
                model,
                row["value"],
                row["low"],
                row["high"],
                against_baseline(data, model, metric, group),
                tuple(others),
                unsettled,
                tuple(name for name in coarse if name in (model, *(o.model for o in others))),
            )
        )
    return found


def against_baseline(
    data: dict[str, Any], model: str, metric: str, group: Any = None
) -> Against | None:
    """Compare one model with Kaplan-Meier for everybody; None where nothing is known of it."""
    for row in data["baseline_comparisons"]:
        if (row["model"], row["metric"], row.get("group")) == (model, metric, group):
            known = isinstance(row["difference"], float)
            # Only losses have a baseline, so less is better.
            return _against(row, BASELINE, -1.0, _level(data)) if known else None
    return None


def _level(data: dict[str, Any]) -> float:
    """Return below which p-values are called clear."""
    return 1 - float(data["confidence"] or 0.95)


def _against(row: dict[str, Any], model: str, sign: float, level: float) -> Against:
    """Turn a difference so that positive means better."""
    low, high = row["low_simultaneous"], row["high_simultaneous"]
    if isinstance(low, float) and isinstance(high, float):
        low, high = sorted((sign * low, sign * high))
    # Bonferroni, as the limits beside it: with Holm's p a "better" could stand beside a limit of 0.
    p = row["p_value"]
    p = p if p is None else min(1.0, row["family"] * p)
    clear = p is not None and p < level
    return Against(model, sign * row["difference"], low, high, p, row["family"], clear)


def adjusted_for(other: Against) -> str:
    """Say over what a comparison was adjusted; nothing where it was the only one.

    >>> adjusted_for(Against(BASELINE, 1.0, 0.1, 1.9, 0.02, 10, True))
    'adjusted for the choice among 10 models'
    """
    if other.family < 2:
        return ""
    what = "the choice among {} models" if other.model == BASELINE else "{} pairs of models"
    return f"adjusted for {what.format(other.family)}"
