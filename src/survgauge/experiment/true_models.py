"""Which model is truly best on a data set: true values over runs, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..inference import critical
from ..metrics.registry import REGISTRY
from . import meta
from .metric_specs import PLAIN_ERRORS
from .panels import TruthPanel


def model_rows(panel: TruthPanel) -> list[dict[str, Any]]:
    """Models of a semi-synthetic data set by their true value, best first."""
    # Metrics of a panel share their truth, unless one of them could not be measured.
    known = np.flatnonzero(np.isfinite(panel.true).all(axis=(0, 1)))
    if not known.size:
        return []
    true, lower = panel.true[:, :, known[0]], bool(panel.lower[known[0]])
    mean = true.mean(axis=0)
    rank = meta.ranks(mean[:, None], lower).ravel()
    order = np.argsort(rank, kind="stable")
    best = true[:, order[:1]]
    value, gap = (margins(values, panel.repeat) for values in (true, true - best))
    least, most = _range(panel.truth)
    rows = []
    for i in order.tolist():
        difference = float(mean[i] - mean[order[0]])
        low, high = difference - gap[i], difference + gap[i]
        rows.append(
            {
                **panel.names,
                "model": panel.models[i],
                "rank": float(rank[i]),
                "true_value": float(mean[i]),
                "low": float(np.maximum(mean[i] - value[i], least)),
                "high": float(np.minimum(mean[i] + value[i], most)),
                "difference": difference,
                "difference_low": float(low),
                "difference_high": float(high),
                "clearly_worse": bool(low > 0 if lower else high < 0),
            }
        )
    return rows


def _range(truth: str) -> tuple[float, float]:
    """Least and largest value of a truth; intervals do not leave it."""
    name = truth.partition("(")[0]
    metric = REGISTRY.get(PLAIN_ERRORS.get(name, name))
    return (-np.inf, np.inf) if metric is None else metric.range


def margins(values: Floats, repeat: Any) -> Floats:
    r"""Half widths of 95 % intervals of means over the runs of a cross-validation.

    The corrected resampled t interval, :math:`t_{n-1} s \sqrt{1/n + 1/(k-1)}` for n runs of k
    folds: training sets overlap, so that runs are not independent, and further repeats of the same
    subjects tell little more. NaN with one run.

    `values` has a row per run, whose repeat `repeat` tells.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> margins(np.array([[1.0], [2.0], [3.0]]), [0, 0, 0]).round(2)
    array([3.93])
    """
    runs = values.shape[0]
    if runs < 2:
        return np.full(values.shape[1], np.nan)
    folds = runs / np.unique(np.asarray(repeat)).size
    overlap = 1 / (folds - 1) if folds > 1 else 0.0
    wide = critical(0.95, runs - 1) * np.sqrt(1 / runs + overlap)
    return np.asarray(wide * values.std(axis=0, ddof=1))
