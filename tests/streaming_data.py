"""Streams for tests: the same subjects as arrays and as batches, and how two evaluations differ."""

from __future__ import annotations

import math
import re

import numpy as np

import survgauge as sg
from survgauge.metrics.registry import metrics_of

GRID = np.linspace(0, 25, 12)
#: All that stream and need no threshold, which is a setting of its own.
NAMES = tuple(
    name
    for name, metric in metrics_of().items()
    if metric.adds_up != "whole" and not metric.reads_threshold
)
#: Those of them that know delayed entry, and stream where there is any.
ENTRY_NAMES = tuple(
    name
    for name in NAMES
    if "entry" in metrics_of()[name].supports and not metrics_of()[name].needs_all(True)
)
#: Metrics of interval-censored outcomes that stream.
INTERVAL_NAMES = tuple(n for n, metric in metrics_of("interval").items() if not metric.needs_all())
COLUMNS = {
    "a": sg.CurveColumns("a", GRID),
    "b": sg.CurveColumns("b", GRID),
    "lr": "lr",
    "risk": sg.RiskColumn("risk"),
}


def draw(n, seed=0, train=200, decimals=0):
    """Tied outcomes, two models with curves, one with times, one with risks."""
    rng = np.random.default_rng(seed)

    def outcomes(size):
        t, c = rng.exponential(10, size), rng.exponential(15, size)
        return np.minimum(t, c).round(decimals), t <= c

    time, event = outcomes(n)
    scale = rng.uniform(5, 20, (2, n, 1))
    a, b = np.exp(-GRID / scale[0]), np.exp(-GRID / (1.4 * scale[1]))
    lr = np.abs(time + rng.normal(0, 3, n)).round(1)
    columns = {"time": time, "event": event, "a": a, "b": b, "lr": lr}
    columns["risk"] = rng.normal(size=n).round(1)
    return columns, outcomes(train)


def with_entry(columns, seed=0, share=0.7):
    """The same subjects, of whom some entered late."""
    rng = np.random.default_rng([seed, 1])
    time, n = columns["time"], columns["time"].size
    late = (rng.random(n) < share) & (time > 0)
    entry = np.where(late, np.floor(rng.random(n) * time), 0.0)
    return {**columns, "entry": entry}


def trained_late(y_train, seed=0):
    """Training outcomes of whom some entered late."""
    known = with_entry({"time": y_train[0]}, seed)
    return sg.Outcomes(*y_train, entry=known["entry"])


def bounded(time, event, seed=0):
    """Intervals around event times, of which some are seen exactly: (lower, upper)."""
    rng = np.random.default_rng([seed, 2])
    gap, exact = rng.uniform(0.0, 3.0, time.size).round(1), rng.random(time.size) < 0.2
    lower = np.where(event & ~exact, np.maximum(time - gap, 0.0), time)
    return lower, np.where(event, np.where(exact, time, time + gap + 0.1), np.inf)


def with_bounds(columns, seed=0):
    """The same subjects, whose events were found at visits."""
    rest = {name: column for name, column in columns.items() if name not in ("time", "event")}
    lower, upper = bounded(columns["time"], columns["event"], seed)
    return {"lower": lower, "upper": upper, **rest}


def predictions(columns):
    """What `evaluate` takes of the same subjects."""
    return {
        "a": sg.SurvivalCurves(GRID, columns["a"]),
        "b": sg.SurvivalCurves(GRID, columns["b"]),
        "lr": columns["lr"],
        "risk": sg.RiskScores(columns["risk"]),
    }


def in_memory(columns, y_train, **options):
    """The evaluation that a stream must equal."""
    if "lower" in columns:
        y = sg.IntervalOutcomes(columns["lower"], columns["upper"], columns.get("weight"))
    else:
        known = columns["time"], columns["event"], columns.get("weight")
        y = sg.Outcomes(*known, entry=columns.get("entry"))
    options = {"metrics": NAMES, **options}
    return sg.evaluate(predictions(columns), y, y_train=y_train, **options)


def cut(columns, cuts):
    """The same subjects in batches."""
    n = len(next(iter(columns.values())))
    bounds = [0, *sorted(set(cuts) & set(range(1, n))), n]
    return [
        {name: column[i:j] for name, column in columns.items()}
        for i, j in zip(bounds, bounds[1:], strict=False)
    ]


def differences(one, other, where="", rel=1e-10, near=1e-13):
    """Where two results as plain data differ, by more than rounding.

    Where they come from is not compared: another call, or other files with the same data. The
    first is of an evaluation in memory, if one is.
    """
    if where == "/provenance":
        return []
    if where == "/tipping" and other is None:
        return []  # a stream has none: its subjects cannot be read again
    if where.endswith("/assumes") and str(one).startswith(str(other).rstrip(".")):
        return []  # a stream takes no features, so it does not ask for them
    if where.endswith("/by") and not (one and other):
        return []  # one column of labels has a name in a stream, and none as an array
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            text
            for key in {**one, **other}
            for text in (
                differences(one[key], other[key], f"{where}/{key}", rel, near)
                if key in one and key in other
                else [f"{where}/{key}: only one has it"]
            )
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            text
            for k, pair in enumerate(zip(one, other, strict=True))
            for text in differences(*pair, f"{where}[{k}]", rel, near)
        ]
    if where.startswith(("/comparisons", "/baseline_comparisons")):
        # A difference between two models that are nearly alike has fewer digits than they have.
        rel = max(rel, 1e-9)
    if isinstance(one, float | int) and isinstance(other, float | int):
        # What is zero on paper may be a rounding error in both.
        same = math.isclose(one, other, rel_tol=rel, abs_tol=near)
        return [] if same else [f"{where}: {one!r} and {other!r}"]
    if where.endswith(("p_value", "p_holm", "p_simultaneous")) and not one and not other:
        return []  # a spread of exactly zero gives none, one of 1e-17 gives zero
    if where.endswith("/message") and _same_but_for_rounding(one, other):
        return []
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]


def _same_but_for_rounding(one, other):
    """Whether two sentences differ at most by one in the last digit of their numbers."""
    number = r"\d+(?:\.\d+)?"
    if re.sub(number, "#", one) != re.sub(number, "#", other):
        return False
    pairs = zip(re.findall(number, one), re.findall(number, other), strict=True)
    return all(abs(int(a.replace(".", "")) - int(b.replace(".", ""))) <= 1 for a, b in pairs)
