"""Measures of all metrics on all data sets as matrices, and their means with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._tools.arrays import Floats
from ..report.experiment_words import FEWEST_BASES
from . import meta
from .panels import TruthPanel

#: Measures to compare metrics by, and whether lower is better.
MEASURES = {"relative": True, "proximity": True, "tau": False, "overlap": False}
#: Least and largest value of measures that have intervals.
BOUNDS = {"tau": (-1.0, 1.0), "proximity": (0.0, np.inf)}


def metrics_of(panels: list[TruthPanel]) -> list[str]:
    """Metrics that some panel has, in the order of the plan."""
    return list(dict.fromkeys(metric for panel in panels for metric in panel.metrics))


def matrix(panels: list[TruthPanel], metrics: list[str], measure: str) -> Floats:
    """(data sets, metrics); NaN where a metric lacks a data set, or a value for one of its models.

    (Tau alone would count the signs of missing values as ties.)
    """
    found = np.full((len(panels), len(metrics)), np.nan)
    for i, panel in enumerate(panels):
        columns = [metrics.index(name) for name in panel.metrics]
        known = np.isfinite(panel.answers.proximity)
        found[i, columns] = np.where(known, getattr(panel.answers, measure), np.nan)
    return found


def mean_interval(panels: list[TruthPanel], metrics: list[str], measure: str) -> Any:
    """Interval of the mean over data sets; NaN where it is not known.

    It is one over data bases, or with fewer than six of them one over runs, which
    `interval_words` says.
    """
    bases = [panel.dataset for panel in panels]
    if len(set(bases)) >= FEWEST_BASES:
        return interval_over_bases(matrix(panels, metrics, measure), bases, *BOUNDS[measure])
    if not all(panel.has_spread and len(panel.metrics) == len(metrics) for panel in panels):
        nothing = np.full(len(metrics), np.nan)
        return nothing, nothing
    stacked = [
        getattr(p.replicates, measure)[:, [p.metrics.index(name) for name in metrics]]
        for p in panels
    ]
    estimate = matrix(panels, metrics, measure).mean(axis=0)
    return meta.interval(estimate, np.mean(stacked, axis=0), *BOUNDS[measure])


def interval_over_bases(
    values: Floats, bases: list[str], least: float = -np.inf, most: float = np.inf
) -> tuple[Floats, Floats]:
    """95 % t interval of the mean over data sets, of which those of one base are not independent.

    `values` has a row per data set and a column per metric; `least` and `most` are those of the
    measure.

    Examples
    --------
    >>> low, high = interval_over_bases(np.array([[1.0], [1.0], [3.0], [3.0]]), list("aabb"))
    >>> round(float(low[0]), 2), round(float(high[0]), 2)  # of the two numbers 1 and 3
    (-10.71, 14.71)
    """
    labels, base = np.unique(np.array(bases, dtype=object), return_inverse=True)
    mean, count = values.mean(axis=0), labels.size
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, base, values - mean)
    spread = np.sqrt(count / (count - 1) * (sums**2).sum(axis=0)) / len(values)
    half = stdtrit(count - 1, 0.975) * spread
    return np.maximum(mean - half, least), np.minimum(mean + half, most)
