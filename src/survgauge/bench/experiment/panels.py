"""Semi-synthetic datasets as arrays: what metrics say of models, what is true, who is best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ..._tools.random import stream
from ...evaluation.inference import critical
from ...metrics.registry import REGISTRY
from ...report.experiment_words import FEWEST_BASES
from . import meta
from .metric_specs import PLAIN_ERRORS

#: Bootstrap replicates behind intervals.
REPLICATES = 200
#: Measures to compare metrics by, and whether lower is better.
MEASURES = {"relative": True, "proximity": True, "tau": False, "overlap": False}
#: Least and largest value of measures that have intervals.
BOUNDS = {"tau": (-1.0, 1.0), "proximity": (0.0, np.inf)}


@dataclass(frozen=True, eq=False)
class TruthPanel:
    """Models x metrics on one semi-synthetic dataset, for metrics that share a truth."""

    #: Which data, and which truth.
    dataset: str
    censoring: str
    truth: str
    #: Rows and columns.
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    #: What each metric says and what is true, in every run (a fold of a repeat); of shape (runs,
    #: models, metrics).
    values: Floats
    true: Floats
    #: Which repeat a run belongs to; of shape (runs,).
    repeat: Any
    #: Whether lower values are better; of shape (metrics,).
    lower: Bools
    #: Models that lack some of the runs, and so cannot be compared with the others.
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """Columns that say which panel a row of a table belongs to."""
        return {"dataset": self.dataset, "censoring": self.censoring, "truth": self.truth}

    @cached_property
    def mean(self) -> Floats:
        """Mean over runs, (models, metrics)."""
        return np.asarray(self.values.mean(axis=0))

    @cached_property
    def true_mean(self) -> Floats:
        """True mean over runs, (models, metrics)."""
        return np.asarray(self.true.mean(axis=0))

    @cached_property
    def answers(self) -> Answers:
        """How well the metrics do, on the means over runs."""
        return Answers.of(self.mean, self.true_mean, self.lower)

    @cached_property
    def replicates(self) -> Answers:
        """The same in bootstrap replicates of the runs: a leading axis."""
        rng = stream(0, "meta", self.dataset, self.censoring, self.truth)
        weights = meta.resampled_runs(self.repeat, rng, REPLICATES)
        values, true = (np.tensordot(weights, a, axes=1) for a in (self.values, self.true))
        return Answers.of(values, true, self.lower)

    @property
    def has_spread(self) -> bool:
        """Whether there is more than one run to resample."""
        return self.values.shape[0] > 1


@dataclass(frozen=True)
class Answers:
    """The paper's two questions answered, one number per metric (and replicate)."""

    proximity: Floats
    relative: Floats
    bias: Floats
    tau: Floats
    overlap: Floats
    in_order: Floats
    winner: Bools

    @classmethod
    def of(cls, values: Floats, true: Floats, lower: Bools) -> Answers:
        """Compute all of them."""
        near, overlap = meta.proximity(values, true), meta.top_overlap(values, true, lower)
        return cls(
            near,
            meta.proximity(values, true, relative=True),
            meta.bias(values, true),
            meta.kendall_tau(values, true),
            overlap,
            meta.top_order(values, true, lower),
            meta.winners(overlap, near),
        )

    def numbers(self, metric: int, *names: str) -> dict[str, float]:
        """Some of the answers of one metric, by their names."""
        return {name: float(getattr(self, name)[metric]) for name in names}


def panels_of(table: Any) -> Iterator[TruthPanel]:
    """Cut a long table into panels, in the order of its rows."""
    for (dataset, censoring), block in table.groupby(["dataset", "censoring"], sort=False):
        runs = block[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"])
        rows = block[block["true_value"].notna()]
        for truth, family in rows.groupby("truth", sort=False):
            if truth:
                panel = _panel((str(dataset), str(censoring), str(truth)), family, runs)
                if panel is not None:
                    yield panel


def _panel(where: tuple[str, str, str], rows: Any, runs: Any) -> TruthPanel | None:
    """Numbers of a family of metrics; None where fewer than two models have all runs."""
    metrics = list(dict.fromkeys(rows["metric"]))
    count = rows[["repeat", "fold", "model"]].drop_duplicates()["model"].value_counts(sort=False)
    models = [name for name in dict.fromkeys(rows["model"]) if count[name] == len(runs)]
    if len(models) < 2:
        return None
    wide = rows.pivot(index=["repeat", "fold"], columns=["model", "metric"])
    shape = len(runs), len(models), len(metrics)
    columns = list(product(models, metrics))

    def numbers(what: str) -> Floats:
        found = wide[what].reindex(columns=columns).to_numpy(dtype=np.float64)
        return np.asarray(found.reshape(shape))

    direction = dict(zip(rows["metric"], rows["direction"], strict=True))
    return TruthPanel(
        *where,
        tuple(models),
        tuple(metrics),
        numbers("value"),
        numbers("true_value"),
        runs["repeat"].to_numpy(),
        np.array([direction[name] == "lower" for name in metrics]),
        tuple(name for name in count.index if name not in models),
    )


# -- over datasets ----------------------------------------------------------------------------


def metrics_of(panels: list[TruthPanel]) -> list[str]:
    """Metrics that some panel has, in the order of the plan."""
    return list(dict.fromkeys(metric for panel in panels for metric in panel.metrics))


def matrix(panels: list[TruthPanel], metrics: list[str], measure: str) -> Floats:
    """(datasets, metrics); NaN where a metric lacks a dataset, or a value for one of its models.

    (Tau alone would count the signs of missing values as ties.)
    """
    found = np.full((len(panels), len(metrics)), np.nan)
    for i, panel in enumerate(panels):
        columns = [metrics.index(name) for name in panel.metrics]
        known = np.isfinite(panel.answers.proximity)
        found[i, columns] = np.where(known, getattr(panel.answers, measure), np.nan)
    return found


def mean_interval(panels: list[TruthPanel], metrics: list[str], measure: str) -> Any:
    """Interval of the mean over datasets; NaN where it is not known.

    It is one over sources, or with fewer than six of them one over runs, which
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
    """95 % t interval of the mean over datasets, of which those of one base are not independent.

    `values` has a row per dataset and a column per metric; `least` and `most` are those of the
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
    half = critical(0.95, count - 1) * spread
    return np.maximum(mean - half, least), np.minimum(mean + half, most)


def model_rows(panel: TruthPanel) -> list[dict[str, Any]]:
    """Models of a semi-synthetic dataset by their true value, best first."""
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
