"""Measures of all metrics on all data sets as matrices, and their means with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
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
    """Interval over runs of the mean over data sets; NaN where some data set lacks a metric."""
    if not all(panel.has_spread and len(panel.metrics) == len(metrics) for panel in panels):
        nothing = np.full(len(metrics), np.nan)
        return nothing, nothing
    stacked = [
        getattr(p.replicates, measure)[:, [p.metrics.index(name) for name in metrics]]
        for p in panels
    ]
    estimate = matrix(panels, metrics, measure).mean(axis=0)
    return meta.interval(estimate, np.mean(stacked, axis=0), *BOUNDS[measure])
