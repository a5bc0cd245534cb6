"""Semi-synthetic data sets as arrays: what metrics say of models, and what is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats
from .._tools.random import stream
from ..inference import critical
from ..report.experiment_words import FEWEST_BASES
from . import meta

#: Bootstrap replicates behind intervals.
REPLICATES = 200
#: Measures to compare metrics by, and whether lower is better.
MEASURES = {"relative": True, "proximity": True, "tau": False, "overlap": False}
#: Least and largest value of measures that have intervals.
BOUNDS = {"tau": (-1.0, 1.0), "proximity": (0.0, np.inf)}


@dataclass(frozen=True, eq=False)
class TruthPanel:
    """Models x metrics on one semi-synthetic data set, for metrics that share a truth."""

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
    known = table[table["true_value"].notna()]
    for (dataset, censoring), block in table.groupby(["dataset", "censoring"], sort=False):
        runs = block[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"])
        index = {run: k for k, run in enumerate(runs.itertuples(index=False, name=None))}
        here = known.loc[known.index.intersection(block.index)]
        for truth, family in here.groupby("truth", sort=False):
            if truth:
                where = (str(dataset), str(censoring), str(truth))
                panel = _panel(where, family, index, runs["repeat"].to_numpy())
                if panel is not None:
                    yield panel


def _panel(
    where: tuple[str, str, str], rows: Any, runs: dict[Any, int], repeat: Any
) -> TruthPanel | None:
    models, metrics = (list(dict.fromkeys(rows[axis])) for axis in ("model", "metric"))
    shape = (len(runs), len(models), len(metrics))
    values, true = np.full(shape, np.nan), np.full(shape, np.nan)
    present = np.zeros(shape[:2], dtype=bool)
    cells = zip(rows["repeat"], rows["fold"], strict=True)
    run = np.array([runs[cell] for cell in cells], dtype=np.intp)
    model = rows["model"].map({name: k for k, name in enumerate(models)}).to_numpy()
    metric = rows["metric"].map({name: k for k, name in enumerate(metrics)}).to_numpy()
    values[run, model, metric] = rows["value"].to_numpy(dtype=np.float64)
    true[run, model, metric] = rows["true_value"].to_numpy(dtype=np.float64)
    present[run, model] = True
    whole: Bools = np.asarray(present.all(axis=0))
    if whole.sum() < 2:
        return None
    direction = dict(zip(rows["metric"], rows["direction"], strict=True))
    return TruthPanel(
        *where,
        tuple(name for name, kept in zip(models, whole, strict=True) if kept),
        tuple(metrics),
        values[:, whole],
        true[:, whole],
        repeat,
        np.array([direction[name] == "lower" for name in metrics]),
        tuple(name for name, kept in zip(models, whole, strict=True) if not kept),
    )


# -- over data sets ----------------------------------------------------------------------------


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
    half = critical(0.95, count - 1) * spread
    return np.maximum(mean - half, least), np.minimum(mean + half, most)
