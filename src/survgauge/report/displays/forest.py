"""Values of metrics with their intervals, by model or group, and differences between models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tools.text import number
from ...data.causes import EventWords
from ...errors import InputError, one_of
from ...evaluation import Evaluation
from ...evaluation.phrases import clock, column_of, metric_unit, titled, when
from ...evaluation.verdict import judged_by
from ...metrics.registry import REGISTRY
from ._base import Display, chosen
from .description import (
    Axis,
    Chart,
    Mark,
    Model,
    Panel,
    Points,
    Row,
    Rule,
    Text,
    p_relation,
    positions,
    short_name,
)

_NAN = float("nan")
#: Models and groups that a figure can hold; the best models and the largest groups are drawn.
MOST_MODELS, MOST_GROUPS = 4, 60
#: More pairs of models than this make no figure.
_MOST_PAIRS = 21
EVERYBODY = "all subjects"
#: Inches between the models of a group, and more than that between groups.
_BESIDE, _BETWEEN = 0.11, 0.15
#: Numbers of a pair of models.
_NUMBERS = (
    "difference", "low", "high", "low_simultaneous", "high_simultaneous", "p_simultaneous",
)  # fmt: skip

Values = dict[str, Any]


def metrics(
    ev: Evaluation,
    *,
    metrics: Iterable[str] | str | None = None,
    models: Iterable[str] | str | None = None,
    time: float | None = None,
) -> Display:
    """Metrics of all models with their intervals: one panel per metric (and time).

    The table has model, metric, time, until, title, value, low, high, direction, unit, baseline
    (the same loss of the reference set's Kaplan-Meier, NaN where there is none), test (whether the
    value is a p-value), and group where subjects were evaluated by group.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`. With groups, rows are groups, and a mark each of the four best models.
    metrics : names, optional
        By default all; with groups the first that people judge by.
    models : names, optional
        By default all.
    time : float, optional
        One of the times of interest; by default all.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8, 3, 6], [1, 0, 1, 1, 1, 1])
    >>> ev = evaluate([3, 5, 6, 9, 4, 5], y, metrics=["mae_po"], by=list("aabbab"))
    >>> [(row.get("group"), round(row["value"], 2)) for row in metrics(ev).rows()]
    [(None, 1.06), ('a', 1.06), ('b', 1.0)]
    """
    there = list(dict.fromkeys(score.metric.name for score in ev.scores))
    if metrics is None and any(score.group is not None for score in ev.scores):
        metrics = judged_by(there)[:1]
    wanted = chosen("models", models, ev.models)
    values = []
    for name in chosen("metrics", metrics, there):
        scores = [score for score in ev.scores if score.metric.name == name]
        at = None if time is None else read_at(name, time, [score.time for score in scores])
        values += [
            _shown(score.row(), ev.unit, score.baseline)
            for score in scores
            if score.model in wanted and (time is None or score.time == at)
        ]
    if not values:
        raise InputError("this evaluation has no metric to show for the models chosen")
    return _forest(values, ev.models, ev.support, ev.confidence, ev.unit)


def forest_of_record(record: dict[str, Any], rows: Iterable[Values]) -> Display:
    """Show some rows of the plain data of `Evaluation.to_dict`."""
    unit, values = record.get("unit") or "", []
    for row in rows:
        numbers = {k: plain_float(row[k]) for k in ("value", "low", "high", "skill")}
        rest = 1 - numbers["skill"]
        baseline = numbers["value"] / rest if rest > 0 else _NAN
        values.append(_shown(row | numbers, unit, baseline))
    models = tuple(record["models"])
    return _forest(values, models, record["support"], record["confidence"], unit)


def _shown(row: Values, unit: str, baseline: float) -> Values:
    """Return what is shown of a row of the evaluation's table."""
    metric = REGISTRY[row["metric"]]
    names = ("group", "model", "metric", "time", "until", "value", "low", "high", "direction")
    return {name: row[name] for name in names if name in row} | {
        "title": titled(row, unit),
        "unit": metric_unit(metric, unit),
        "baseline": baseline,
        "test": metric.inference == "test",
    }


def plain_float(value: Any) -> float:
    """Read a number of plain data, where nothing is NaN and infinities are words."""
    return _NAN if value is None else float(value)


def read_at(metric: str, time: float | None, times: Iterable[float | None]) -> float | None:
    """Return one of the times that a metric was read at, by default the first."""
    there = list(dict.fromkeys(times))
    if time is None:
        return there[0]
    if time not in there:
        told = ", ".join(clock(one) for one in there if one is not None) or "none"
        raise InputError(f"time must be one that {metric} was read at ({told}); got {time!r}")
    return time


# -- values ----------------------------------------------------------------------------------------


def _forest(
    values: list[Values],
    models: tuple[str, ...],
    support: dict[str, Any],
    confidence: float | None,
    unit: str,
) -> Display:
    """Draw values: rows are models, or with groups the groups."""
    grouped = any(row.get("group") is not None for row in values)
    key, sizes = "group" if grouped else "model", _sizes(values, support)
    drawn = _best(values, sizes, models) if grouped else list(models)
    keys: list[Any] = list(dict.fromkeys(row["model"] for row in values))
    labels: dict[Any, Text] = {name: (Model(name),) for name in keys}
    if grouped:
        groups = [group for group in sizes if group is not None]
        largest = sorted(groups, key=lambda group: -sizes[group])[:MOST_GROUPS]
        keys = [*[None] * (None in sizes), *(group for group in groups if group in largest)]
        labels = {
            group: f"{EVERYBODY if group is None else short_name(group, 24)} ({sizes[group]:,})"
            for group in keys
        }
    row_height = _BETWEEN + _BESIDE * len(drawn) if grouped else 0.17
    words, panels = EventWords.of(support), []
    columns = list(dict.fromkeys(map(column_of, values)))
    for column in columns:
        rows = [row for row in values if column_of(row) == column and row.get(key) in labels]
        one, metric = rows[0], REGISTRY[column[0]]
        marks: list[Mark] = []
        if confidence is not None and not grouped:
            told = f"value with {confidence * 100:g} % interval"
            marks.append(Points([], [], "ink", told, left=[], right=[]))
        for k, model in enumerate(drawn):
            mine = [r for r in rows if r["model"] == model and np.isfinite(r["value"])]
            if not mine:
                continue
            shift = _BESIDE * (k - (len(drawn) - 1) / 2) / row_height if grouped else 0.0
            x, left, right = ([r[name] for r in mine] for name in ("value", "low", "high"))
            names = [f"{model}, {labels[r.get('group')]}" if grouped else _skill(r, words)
                     for r in mine]  # fmt: skip
            marks.append(
                Points(x, [keys.index(r.get(key)) + shift for r in mine], positions(models)[model],
                       (Model(model),) if grouped else "", left=left, right=right,
                       names=tuple(names))
            )  # fmt: skip
        marks += _baselines(rows, keys, key, f"{words.estimate} (reference)")
        if one["test"]:
            marks.append(Rule("x", 0.05, "p = 0.05", dash="dotted"))
        if metric.target is not None:
            marks.append(Rule("x", metric.target, f"best: {metric.target:g}", dash="dotted"))
        panels.append(
            Panel(
                _axis(one, unit),
                Axis(),
                tuple(marks),
                "" if one["test"] else metric.better,
                tuple(_row(labels[k], [r for r in rows if r.get(key) == k],
                           with_number=grouped and len(drawn) == len(columns) == 1) for k in keys),
                height=0.74 + row_height * len(keys),
                note=f"{metric.about} {metric.better[0].upper()}{metric.better[1:]} "
                f"({metric.name}).".lstrip(),
            )
        )  # fmt: skip
    across = 2 if len(panels) == 4 else min(len(panels), 3)
    layout: dict[str, Any] = {"columns": across, "shared": "y", "width": 7.0}
    if across == 1:
        layout["width"] = 5.4 if grouped else 3.6
    if not grouped:
        caption = "Each dot is a value, and each line its interval."
        return Display(Chart("Metric with interval", caption, tuple(panels), **layout), values)
    caption = (
        "A mark is the value of a model in a group of subjects, and a line its interval. A tick is "
        f"the value of {words.estimate} of the reference set, predicted for the whole group."
    )
    whole, notes = len({r["model"] for r in values if np.isfinite(r["value"])}), []
    if len(drawn) < whole:
        notes.append(f"{len(drawn)} of {whole} models: the best ones")
    if len(keys) < len(sizes):
        there = None in sizes
        told = f"{len(keys) - there} of {len(sizes) - there} groups: the largest"
        notes.append(f"{told}; the table has all")
    chart = Chart("Values by group", caption, tuple(panels), notes=tuple(notes), **layout)
    return Display(chart, values)


def _sizes(values: list[Values], support: dict[str, Any]) -> dict[Any, int]:
    """Subjects of each group, in the order in which groups come; None is everybody."""
    return {
        group: (support if group is None else support["groups"][str(group)])["subjects"]
        for group in dict.fromkeys(row.get("group") for row in values)
    }


def _best(values: list[Values], sizes: dict[Any, int], models: tuple[str, ...]) -> list[str]:
    """Models that are drawn: all, or the best ones by the mean of the first metric."""
    metric = values[0]["metric"]
    found: dict[str, list[tuple[float, int]]] = {}
    for row in values:
        if row["metric"] == metric and np.isfinite(row["value"]):
            size, badness = sizes[row.get("group")], REGISTRY[metric].badness(row["value"])
            found.setdefault(row["model"], []).append((badness * size, size))
    mean = {name: np.divide(*np.sum(pairs, axis=0)) for name, pairs in found.items()}
    best = sorted(mean, key=lambda name: mean[name])[:MOST_MODELS]
    return [name for name in models if name in best]


def _skill(row: Values, words: EventWords) -> str:
    """Name of a value, with how much better it is than that of the baseline."""
    if not row["baseline"] > 0:
        return str(row["model"])
    return f"{row['model']}, skill over {words.estimate} {1 - row['value'] / row['baseline']:.1%}"


def _baselines(rows: list[Values], keys: list[Any], key: str, label: str) -> list[Mark]:
    """The estimate of the reference set: a tick in each group, or one rule for all models."""
    there = {r.get(key): r["baseline"] for r in rows if np.isfinite(r["baseline"])}
    values = list(there.values())
    if key == "group" and there:
        y = [keys.index(group) for group in there]
        return [Points(values, y, "baseline", label, marker="tick", size=11)]
    if there and np.ptp(values) <= 1e-9 * abs(values[0]):
        return [Rule("x", float(values[0]), label, "baseline")]
    return []


def _row(label: Text, rows: list[Values], *, with_number: bool) -> Row:
    """Name of a row; with the number itself where there is one, and where there is none why."""
    there = [row for row in rows if np.isfinite(row["value"])]
    beside, inside = "", "" if there else "n/a"
    if with_number and there:
        beside = number(there[0]["value"], 3)
        if np.isfinite(there[0]["low"]):
            beside += f" ({number(there[0]['low'], 3)} to {number(there[0]['high'], 3)})"
    if not there and rows and np.isinf(rows[0]["value"]):
        inside = "∞" if rows[0]["value"] > 0 else "−∞"
    return Row(label, beside, inside)


def _unit_words(unit: str) -> str:
    """Return a unit for an axis, which says so where times have none."""
    return unit if unit != "time" else "in units of time"


def _axis(row: Values, unit: str) -> Axis:
    """Return the axis of a shown value: title and what it is counted in, and below it the time."""
    counted = "p-value" if row["test"] else _unit_words(row["unit"])
    title = Axis(row["title"].removesuffix(when(row, unit)).rstrip(), counted).text
    ends = (-0.03, 1.03) if row["test"] else (None, None)
    return Axis(f"{title}\n{when(row, unit)}".rstrip(), "", *ends)


# -- differences -----------------------------------------------------------------------------------


def differences(
    ev: Evaluation,
    *,
    metric: str | None = None,
    against: str | None = None,
    time: float | None = None,
) -> Display:
    """Differences between all pairs of models on the same subjects, for one metric.

    The table is that of `Evaluation.comparisons`, with `better` (the name of the model with the
    better value, or nothing). The picture has the limits and p-values that hold for all pairs
    together.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    metric : str, optional
        By default the first that people judge by; see `Evaluation`.
    against : str, optional
        Only differences from this model, which then is `model_b`.
    time : float, optional
        Time of interest of the metric; by default the first.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y, metrics=["mae_po"], unit="days")
    >>> [row] = differences(ev).rows()
    >>> round(row["difference"], 2), row["better"]
    (-1.54, 'a')
    """
    pairs = ev.comparisons()
    there = list(dict.fromkeys(row["metric"] for row in pairs))
    if len(ev.models) < 2:
        raise InputError("differences need at least two models; this evaluation has one")
    if not there:
        raise InputError("no metric of this evaluation has values of two models to compare")
    if metric is None:
        metric = judged_by(there)[0]
    one_of("metric", metric, there)
    at = read_at(metric, time, [row["time"] for row in pairs if row["metric"] == metric])
    pairs = [row for row in pairs if column_of(row) == (metric, at)]
    if against is not None:
        one_of("against", against, ev.models)
        pairs = pairs_against(pairs, against)
        if not pairs:
            raise InputError(f"metric {metric!r} has no value for {against!r} to compare with")
    return differences_of(pairs, ev.models, ev.confidence, ev.unit)


def pairs_against(pairs: list[Values], model: str) -> list[Values]:
    """Return the pairs of a model, turned round so that it comes second."""
    found = []
    for row in pairs:
        a, b = row["model_a"], row["model_b"]
        if b == model:
            found.append(row)
        elif a == model:
            turned = {name: -row[name] if isinstance(row[name], float) else row[name]
                      for name in _NUMBERS[:-1]}  # fmt: skip
            for low, high in (("low", "high"), ("low_simultaneous", "high_simultaneous")):
                turned[low], turned[high] = turned[high], turned[low]
            found.append({**row, "model_a": b, "model_b": a, **turned})
    return found


def differences_of(
    pairs: list[Values], models: tuple[str, ...], confidence: float | None, unit: str
) -> Display:
    """Show pairs of models for one metric, as `Evaluation.comparisons` or its plain data."""
    metric, level = REGISTRY[pairs[0]["metric"]], 1 - (confidence or 0.95)
    sign = 1.0 if metric.direction == "lower" else -1.0
    values = []
    for pair in pairs:
        row = pair | {name: plain_float(pair[name]) for name in _NUMBERS}
        gap = sign * row["difference"]
        better = row["model_a"] if gap < 0 else row["model_b"] if gap > 0 else ""
        values.append(row | {"better": better})
    rows = values
    if len(values) > _MOST_PAIRS:  # those of the best model
        wins = Counter(row["better"] for row in values)
        paired = {row[name] for row in values for name in ("model_a", "model_b")}
        best = max((m for m in models if m in paired), key=lambda model: wins[model])
        rows = [row for row in values if best in (row["model_a"], row["model_b"])]
    # Limits that belong to the adjusted p-values.
    names = ("difference", "low_simultaneous", "high_simultaneous")
    ends = np.array([[row[name] for name in names] for row in rows])
    clear = np.array([row["p_simultaneous"] < level for row in rows])
    reach = float(np.max(np.abs(ends[np.isfinite(ends)]), initial=0.0)) or 1.0
    marks: list[Mark] = [Rule("x", 0.0, role="ink", dash="solid")]
    for some, role, label in (
        (clear, "event", f"clear: adjusted p below {level:.2g}"),
        (~clear, "soft", "not clear"),
    ):
        at = np.flatnonzero(some)
        value, low, high = ends[at].T
        named = tuple(f"{rows[k]['model_a']} − {rows[k]['model_b']}" for k in at)
        marks.append(
            Points(value, at, role, label, left=low, right=high, names=named,
                   hollow=role == "soft", marker="dot")
        )  # fmt: skip
    side = f"left of 0 the {'first' if sign > 0 else 'second'} model is better"
    panel = Panel(
        Axis(f"Difference in {titled(pairs[0], unit)}", _unit_words(metric_unit(metric, unit)),
             -1.08 * reach, 1.08 * reach),
        Axis(),
        tuple(marks),
        side,
        tuple(_pair(row, bool(sure)) for row, sure in zip(rows, clear, strict=True)),
        height=1.0 + 0.2 * len(rows),
        note=f"{side.capitalize()}.",
    )  # fmt: skip
    few = f"{len(rows)} of {len(values)} pairs: those of the best model"
    chart = Chart(
        "Paired differences",
        "Differences between two models on the same subjects. Intervals and p-values are adjusted "
        "for the number of pairs.",
        (panel,),
        width=5.4,
        notes=(few,) if len(rows) < len(values) else (),
    )
    return Display(chart, values)


def _pair(row: Values, clear: bool) -> Row:
    group = row.get("group")
    told = () if group is None else (f" · {short_name(group, 10)}",)
    label = (Model(row["model_a"]), " − ", Model(row["model_b"]), *told)
    return Row(label, f"p {p_relation(row['p_simultaneous'])}", clear=clear)
