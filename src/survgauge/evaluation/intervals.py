"""Intervals of cells: where they come from, and which of them tell nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.text_tables import number
from ..inference import FEWEST_REPLICATES, Interval, bootstrap_stderr, interval
from ..metrics.details import Clusters, standard_error
from ..metrics.registry import Measured, Metric
from .condensed import Condensed
from .score import NAN, Score
from .warnings import EvaluationWarning

#: An interval over more than this share of the range of a metric tells nothing,
MOST_OF_RANGE = 0.8
#: nor does one whose upper limit is this many times the lower, where the range has no end.
MOST_TIMES_LOW = 50.0


def told(score: Score) -> tuple[Score, list[EvaluationWarning]]:
    """Leave out an interval that covers most of what the metric can be, and say so."""
    if not _tells_nothing(score.metric, score.low, score.high):
        return score, []
    message = (
        "there are too few subjects to tell: the interval would reach from "
        f"{number(score.low)} to {number(score.high)}, so it is left out"
    )
    remark = EvaluationWarning("too-few-to-tell", message, score.model, score.metric.name)
    return replace(score, low=NAN, high=NAN, interval="none"), [remark]


def _tells_nothing(metric: Metric, low: float, high: float) -> bool:
    least, most = metric.range
    if np.isfinite(most - least):
        return high - low > MOST_OF_RANGE * (most - least)
    return least == 0 and high > MOST_TIMES_LOW * low


def interval_of(
    metric: Metric,
    measured: Measured,
    replicates: Floats | None,
    confidence: float,
    clusters: Clusters | None,
) -> Interval:
    """Return a value with its interval, whatever its standard error comes from."""
    law = getattr(measured, "law", None)
    if metric.interval == "own":  # such a law knows of clusters
        low, high = (NAN, NAN) if law is None else law.limits(confidence)
        return Interval(measured.value, measured.stderr, low, high, "own")
    size, freedom = _events(measured.support), float("inf")
    if replicates is None:
        stderr = _clustered_stderr(measured, clusters)
        freedom = measured.support.get("freedom", freedom)
    else:
        stderr = bootstrap_stderr(replicates)
    if clusters is not None:
        size, freedom = min(size, float(clusters.number)), clusters.freedom
    value, scale = float(measured.value), metric.interval
    return interval(value, stderr, confidence, scale, size=size, freedom=freedom)


def _clustered_stderr(measured: Measured, clusters: Clusters | None) -> float:
    """Standard error of a value; NaN where subjects are clustered and it has no contributions."""
    if clusters is None or isinstance(measured, Condensed):  # which knows of its clusters
        return measured.stderr
    psi = measured.psi
    return NAN if psi is None else standard_error(psi, measured.frequency, clusters)


def _events(support: dict[str, Any]) -> float:
    """How many events a share of pairs rests on: anchors, or the fewer of cases and controls."""
    counts = [support[name] for name in ("anchors", "cases", "controls") if support.get(name)]
    return float(min(counts, default=NAN))


def few_replicates(n_boot: int) -> list[EvaluationWarning]:
    """Say that there are too few draws for intervals."""
    if n_boot >= FEWEST_REPLICATES:
        return []
    message = (
        f"n_boot is {n_boot}, but bootstrap intervals need at least {FEWEST_REPLICATES} draws, so "
        "there are none"
    )
    return [EvaluationWarning("few-replicates", message)]
