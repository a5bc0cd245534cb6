"""Who is best, by how much, and how surely: the facts that sentences are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._tools.text import number
from ..data.causes import EventWords
from ..metrics.registry import REGISTRY, Metric
from .phrases import listed, tail_range

#: How many metrics of a family are shown beside each other first.
_AT_A_GLANCE = {"time": 1, "probability": 1, "ranking": 1, "calibration": 2, "decision": 1}
#: Lines of metrics on a first screen.
_MOST_LINES = 7
#: Warnings that put an error without a horizon in doubt.
_TAILS = ("tail-times", "far-surrogates", "past-reference", "unseen-times")


#: What a row is about: group, metric, and the time that the metric is read at.
Cell = tuple[Any, str, float | None]


def cell_of(row: dict[str, Any]) -> Cell:
    """Return which group, metric and time a row of plain data is about."""
    return row.get("group"), row["metric"], row.get("time")


def cases_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every warning of plain data by itself; an earlier version did not join them."""
    return [{**w, **case} for w in data["warnings"] for case in w.get("cases", [w])]


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
    #: By which share of its loss, where that is known.
    share: float | None = None
    #: Whether the other is the baseline.
    baseline: bool = False
    #: Whether the other is a model that predicts what the baseline predicts.
    twin: bool = False

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
    #: The estimate of the reference set, predicted for everybody.
    baseline: Against | None
    #: Least and largest value over the assumed tails, where they decide.
    tails: tuple[float, float] | None = None


@dataclass(frozen=True)
class Verdict:
    """Who is best among all subjects by one metric (at one time)."""

    cell: Cell
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
    #: Why there is neither an interval nor a test: the assumed tail decides.
    withheld: str = ""

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.cell[1]

    @property
    def first(self) -> Standing:
        """The model with the best value."""
        return self.best[0]


def best_rows(rows: Iterable[dict[str, Any]]) -> dict[Cell, dict[str, Any]]:
    """Row of the model with the best value, by group, metric and time."""
    best: dict[Cell, dict[str, Any]] = {}
    for row in rows:
        value = row["value"]
        if not isinstance(value, float | int) or value != value:
            continue  # undefined or infinite, as plain data
        key, badness = cell_of(row), REGISTRY[row["metric"]].badness
        if key not in best or badness(value) < badness(best[key]["value"]):
            best[key] = row
    return best


def best_models(rows: Iterable[dict[str, Any]]) -> set[tuple[Cell, str]]:
    """Return whom tables mark: the best value of each metric, and those that look the same.

    The rule is that of the terminal and of the page. Nobody is marked by a metric that makes no
    model better than another, where the assumed tail decides, or without anybody to win against.
    In calibration, nobody is marked who predicts the same for everybody: that agrees with what is
    observed on average and says nothing about anybody.
    """
    rows = list(rows)
    constant = _constant(rows)
    cells: dict[Cell, list[dict[str, Any]]] = {}
    for row in rows:
        if not (_calibration(row) and (row.get("group"), row["model"]) in constant):
            cells.setdefault(cell_of(row), []).append(row)
    found: set[tuple[Cell, str]] = set()
    for cell, mine in _contested(cells).items():
        looks = {_looks(row) for row in best_rows(mine).values()}
        found |= {(cell, row["model"]) for row in mine if _looks(row) in looks}
    return found


def constant_note(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Say which models are not marked although their calibration may look best."""
    rows = [row for row in rows if row.get("group") is None]
    names = list(dict.fromkeys(model for _, model in _constant(rows)))
    ranked = any(_calibration(row) and REGISTRY[row["metric"]].ranks_models for row in rows)
    if not names or not ranked or len({row["model"] for row in rows}) < 2:
        return []
    verb = "predicts" if len(names) == 1 else "predict"
    told = "the same for every subject and therefore cannot be best in calibration"
    return [f"{listed(names)} {verb} {told}."]


def _constant(rows: Iterable[dict[str, Any]]) -> dict[tuple[Any, str], None]:
    """Group and name of models whose calibration curve is a single point, in their order."""
    return {
        (row.get("group"), row["model"]): None
        for row in rows
        if (row.get("convention") or {}).get("terms") == "constant"
    }


def _calibration(row: dict[str, Any]) -> bool:
    return REGISTRY[row["metric"]].family == "calibration"


def _contested(cells: dict[Cell, list[dict[str, Any]]]) -> dict[Cell, list[dict[str, Any]]]:
    """Return the cells in which a model can be better than another."""
    return {
        cell: rows
        for cell, rows in cells.items()
        if len(rows) > 1
        and REGISTRY[cell[1]].ranks_models
        and not any(row.get("withheld") for row in rows)
    }


def _looks(row: dict[str, Any]) -> str:
    return number(row["value"]) if isinstance(row["value"], float | int) else ""


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
        if method.usual:
            return 2
        return 3 if method.looks_up or method.weights_by_g else 6
    if metric.family == "time" and metric.outcomes == "interval" and metric.proper == "no":
        return 9  # charges nothing inside an interval, so it says little of who is better
    if metric.family == "probability" and metric.reads != "time":
        return 4
    if metric.family == "ranking":
        return 5
    # How far predictions are from what was observed says more than whether a test notices it.
    if metric.family == "calibration":
        return 9 if metric.inference == "test" else 7 if metric.reads == "time" else 8
    return 6


def glance(metrics: Iterable[str], at_times: bool = False) -> list[str]:
    """Return the few metrics to show first: some of each family.

    With `at_times`, for somebody who asked for times, one of each family that is read at them too.
    """
    found: dict[str, list[str]] = {family: [] for family in _AT_A_GLANCE}
    for name in judged_by(metrics):
        found.get(REGISTRY[name].family, []).append(name)
    shown = []
    for family, most in _AT_A_GLANCE.items():
        first, rest = found[family][:most], found[family][most:]
        if at_times and not any(REGISTRY[name].reads == "time" for name in first):
            first += [name for name in rest if REGISTRY[name].reads == "time"][:1]
        shown += first
    return shown


def first_metrics(data: dict[str, Any]) -> list[str]:
    """Return the metrics of a first screen: all where they are few, else those at a glance.

    A metric that is read at several times takes a line for each. Where times were asked for, the
    metrics that are read at them come before others.
    """
    rows = [row for row in data["metrics"] if row.get("group") is None] or data["metrics"]
    lines: dict[str, set[Any]] = {}
    for row in rows:
        lines.setdefault(row["metric"], set()).add(row.get("time"))
    if sum(map(len, lines.values())) <= _MOST_LINES:
        return list(lines)
    known = dict.fromkeys(row["metric"] for row in rows if isinstance(row["value"], float))
    at_times = data["support"].get("times_given", False)
    few = glance(known, at_times) or list(known or lines)[:_MOST_LINES]
    kept: list[str] = []
    for name in sorted(few, key=lambda m: at_times and m != few[0] and REGISTRY[m].reads != "time"):
        taken = sum(len(lines[other]) for other in kept)
        # An error, probabilities and ranking, however many times were asked for.
        if len(kept) < 3 or taken + len(lines[name]) <= _MOST_LINES:
            kept.append(name)
    return [name for name in few if name in kept]


def headline(data: dict[str, Any]) -> str:
    """Return the metric to judge by; nothing where no metric has a value."""
    known = [row["metric"] for row in data["metrics"] if isinstance(row["value"], float)]
    return next(iter(judged_by(known or [row["metric"] for row in data["metrics"]])), "")


def stops_at(data: dict[str, Any], metric: str) -> float | None:
    """Return the time up to which a metric looks; None where it does not stop."""
    rows = [row for row in data["metrics"] if row["metric"] == metric]
    found = [row.get("until", row["convention"].get("tau")) for row in rows]
    return next((tau for tau in found if tau is not None), None)


def verdicts(data: dict[str, Any], metric: str) -> list[Verdict]:
    """Judge everybody by one metric, from the plain data of `Evaluation.to_dict`.

    There is one verdict, or one for each time where the metric is read at several.
    """
    mine = [r for r in data["metrics"] if r["metric"] == metric and r.get("group") is None]
    return [_verdict(data, row) for row in best_rows(mine).values()]


def _verdict(data: dict[str, Any], row: dict[str, Any]) -> Verdict:
    """Judge by the metric of a row, which is the best of its group."""
    cell, metric, first = cell_of(row), row["metric"], row["model"]
    known = {
        r["model"]: r
        for r in data["metrics"]
        if cell_of(r) == cell and isinstance(r["value"], float)
    }
    others = tuple(replace(o, twin=o.model in twins(data)) for o in _others(data, row))
    tied = [other.model for other in others if other.tied]
    tied.sort(key=lambda model: REGISTRY[metric].badness(known[model]["value"]))
    warnings, mine = cases_of(data), (None, first, *tied)
    told = [w["code"] for w in warnings if w["metric"] == metric and w["model"] in mine]
    coarse = [w["model"] for w in warnings if w["code"] == "coarse-grid"]
    return Verdict(
        cell,
        tuple(_standing(data, known[model]) for model in (first, *tied)),
        others,
        "tail-decides" in told,
        tuple(code for code in _TAILS if code in told),
        tuple(name for name in coarse if name in known),
        tuple(model for model in data["models"] if model not in known),
        next((r["withheld"] for r in known.values() if r.get("withheld")), ""),
    )


def _others(data: dict[str, Any], row: dict[str, Any]) -> tuple[Against, ...]:
    """Compare the model of a row with every other model."""
    sign = 1.0 if row["direction"] == "lower" else -1.0
    model, found = row["model"], []
    for pair in data["comparisons"]:
        # A difference from an undefined or infinite value is no number.
        known = isinstance(pair["difference"], float)
        if not known or cell_of(pair) != cell_of(row):
            continue
        if model == pair["model_a"]:
            found.append(_against(pair, pair["model_b"], -sign, _level(data)))
        elif model == pair["model_b"]:
            found.append(_against(pair, pair["model_a"], sign, _level(data)))
    return tuple(found)


def _standing(data: dict[str, Any], row: dict[str, Any]) -> Standing:
    return Standing(
        row["model"],
        row["value"],
        row["low"],
        row["high"],
        _against_baseline(data, row),
        tail_range(row),
    )


def twins(data: dict[str, Any]) -> list[str]:
    """Return the models that predict what the baseline predicts, for everybody."""
    found: list[str] = data["support"].get("same_as_baseline") or []
    return found


def _against_baseline(data: dict[str, Any], row: dict[str, Any]) -> Against | None:
    """Compare the model of a row with the baseline; None where nothing is known of it.

    A model that is the baseline is compared with the others in its place.
    """
    with_value = (r["model"] for r in data["metrics"] if cell_of(r) == cell_of(row))
    if set(twins(data)) & set(with_value):
        return None
    for pair in data["baseline_comparisons"]:
        if pair["model"] == row["model"] and cell_of(pair) == cell_of(row):
            if not isinstance(pair["difference"], float):
                return None
            # Only losses have a baseline, so less is better.
            name = EventWords.of(data["support"]).baseline
            found = _against(pair, name, -1.0, _level(data))
            return replace(found, share=row.get("skill"), baseline=True)
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

    >>> adjusted_for(Against("Kaplan-Meier", 1.0, 0.1, 1.9, 0.02, 10, True, baseline=True))
    'adjusted for the choice among 10 models'
    """
    if other.family < 2:
        return ""
    what = "the choice among {} models" if other.baseline else "{} pairs of models"
    return f"adjusted for {what.format(other.family)}"
