"""Who is best, by how much, and how surely: the facts that sentences are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..metrics.registry import REGISTRY, Metric

BASELINE = "Kaplan-Meier for everybody"
#: Warnings that put an error without a horizon in doubt.
_TAILS = ("tail-times", "far-surrogates", "past-reference", "unseen-times")


@dataclass(frozen=True)
class Against:
    """By how much the best model is better than another, or than the baseline.

    Limits and p-value are adjusted over the family alike (Bonferroni): the limits hold for all of
    its comparisons together, and leave out 0 exactly where the p-value is below 1 - confidence.
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

    @property
    def same(self) -> bool:
        """Whether the two do not differ at all, for any subject."""
        return self.better_by == 0 and self.low == self.high

    @property
    def tied(self) -> bool:
        """Whether the difference was tested and is not clear."""
        return self.same or (self.p_value is not None and not self.clear)


@dataclass(frozen=True)
class Standing:
    """One model's value of a metric, and how it compares with the baseline."""

    model: str
    value: float
    low: float | None
    high: float | None
    #: Kaplan-Meier of the reference set, predicted for everybody.
    baseline: Against | None


@dataclass(frozen=True)
class Verdict:
    """Who is best by one metric in one group (None: everybody)."""

    group: Any
    metric: str
    #: The model with the best value, then those that show no clear difference from it.
    best: tuple[Standing, ...]
    #: The first of the best models against every other model.
    others: tuple[Against, ...]
    #: Whether a warning says that the tails decide, not the data.
    unsettled: bool
    #: Codes of warnings that part of the best models' error is one that nobody observed.
    beyond: tuple[str, ...] = ()
    #: Models compared here whose curves have so few times that what lies between them matters.
    coarse: tuple[str, ...] = ()
    #: Models that have no value of this metric.
    missing: tuple[str, ...] = ()

    @property
    def first(self) -> Standing:
        """The model with the best value."""
        return self.best[0]


def best_rows(rows: Iterable[dict[str, Any]]) -> dict[tuple[Any, str], dict[str, Any]]:
    """Row of the model with the best value, by group and metric."""
    best: dict[tuple[Any, str], dict[str, Any]] = {}
    for row in rows:
        value = row["value"]
        if not isinstance(value, float | int) or value != value:
            continue  # undefined or infinite, as plain data
        key, badness = (row.get("group"), row["metric"]), REGISTRY[row["metric"]].badness
        if key not in best or badness(value) < badness(best[key]["value"]):
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
    return [
        _verdict(data, row)
        for (_, name), row in best_rows(data["metrics"]).items()
        if name == metric
    ]


def _verdict(data: dict[str, Any], row: dict[str, Any]) -> Verdict:
    """Judge by the metric of a row, which is the best of its group."""
    group, metric, first = row.get("group"), row["metric"], row["model"]
    known = {
        r["model"]: r
        for r in data["metrics"]
        if (r.get("group"), r["metric"]) == (group, metric) and isinstance(r["value"], float)
    }
    others = _others(data, row)
    tied = [other.model for other in others if other.tied]
    warnings, mine = data["warnings"], (None, first, *tied)
    told = [w["code"] for w in warnings if w["metric"] == metric and w["model"] in mine]
    coarse = [w["model"] for w in warnings if w["code"] == "coarse-grid"]
    return Verdict(
        group,
        metric,
        tuple(_standing(data, known[model]) for model in (first, *tied)),
        others,
        "tail-decides" in told,
        tuple(code for code in _TAILS if code in told),
        tuple(name for name in coarse if name in known),
        tuple(model for model in data["models"] if model not in known),
    )


def _others(data: dict[str, Any], row: dict[str, Any]) -> tuple[Against, ...]:
    """Compare the model of a row with every other model."""
    sign = 1.0 if row["direction"] == "lower" else -1.0
    group, metric, model = row.get("group"), row["metric"], row["model"]
    found = []
    for pair in data["comparisons"]:
        # A difference from an undefined or infinite value is no number.
        known = isinstance(pair["difference"], float)
        if not known or (pair.get("group"), pair["metric"]) != (group, metric):
            continue
        if model == pair["model_a"]:
            found.append(_against(pair, pair["model_b"], -sign, _level(data)))
        elif model == pair["model_b"]:
            found.append(_against(pair, pair["model_a"], sign, _level(data)))
    return tuple(found)


def _standing(data: dict[str, Any], row: dict[str, Any]) -> Standing:
    baseline = against_baseline(data, row["model"], row["metric"], row.get("group"))
    return Standing(row["model"], row["value"], row["low"], row["high"], baseline)


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
    p = row["p_simultaneous"]
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
