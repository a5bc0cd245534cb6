"""Semi-synthetic datasets as arrays: what metrics say of models, what is true, who is best.

Over datasets: tests, the best metric, and the paper's advice. `scores` are matrices of shape
(datasets, metrics), lower is better; rows with NaN are left out. Datasets that come from one source
(kinds of censoring, draws) are not independent of each other, so the best metric and the advice
compare means over the datasets of each base. With fewer than `FEWEST_BASES` bases no test can reach
the usual level, whatever the numbers are, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import stdtr

from ..._tools.arrays import Bools, Floats
from ..._tools.random import stream
from ...evaluation.inference import critical, holm
from ...metrics.registry import REGISTRY
from ...report.experiment_words import FEWEST_BASES, TOO_FEW
from . import meta
from .meta import ranks
from .specs import PLAIN_ERRORS

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


def wilcoxon(differences: Any) -> float:
    """Two-sided p-value of the signed-rank test; zeros are left out.

    Exact also with ties, which SciPy's is not.

    The distribution of the sum of positive ranks over all signs, one rank at a time.

    References
    ----------
    Wilcoxon (1945), Individual comparisons by ranking methods, Biometrics Bulletin 1.

    Examples
    --------
    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    0.03125
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    # Mean ranks of ties are halves: twice a rank is a whole number.
    doubled = np.rint(2 * ranks(np.abs(d), axis=0)).astype(np.intp)
    chance = np.ones(1)
    for rank in doubled:
        shifted = np.zeros(chance.size + rank)
        shifted[: chance.size] += chance / 2
        shifted[rank:] += chance / 2
        chance = shifted
    positive = int(doubled[d > 0].sum())
    tail = min(chance[: positive + 1].sum(), chance[positive:].sum())
    return min(1.0, 2 * float(tail))


def paired_t(first: Any, second: Any) -> float:
    """Two-sided p-value of the paired t-test; NaN with fewer than two pairs.

    >>> round(paired_t([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 5.0]), 4)
    0.0154
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if d.size < 2 or not np.isfinite(d).all():
        return float("nan")
    if not d.any():
        return 1.0
    stderr = float(d.std(ddof=1)) / np.sqrt(d.size)
    if stderr == 0:
        return 0.0
    return float(2 * stdtr(d.size - 1, -abs(float(d.mean())) / stderr))


def next_best(distance: Floats) -> list[int | None]:
    """For each metric, the one that follows it in proximity; None for the last and for NaN.

    >>> next_best(np.array([3.0, 1.0, np.nan, 2.0]))
    [None, 3, None, 0]
    """
    known: Bools = ~np.isnan(distance)
    order = [int(i) for i in np.argsort(distance, kind="stable") if known[i]]
    following: list[int | None] = [None] * distance.size
    for here, there in zip(order, order[1:], strict=False):
        following[here] = there
    return following


#: Kind of situation: whether a censoring label belongs to it, what is recommended, against what.
_ADVICE = (
    ("exponential censoring", True, "margin", "po"),
    ("other censoring", False, "po", "margin"),
)
#: Level of the tests behind a verdict.
LEVEL = 0.05


def advice_rows(panels: list[TruthPanel]) -> list[dict[str, Any]]:
    """Evidence for and against the advice, one row per kind of situation."""
    rows = []
    for situation, exponential, recommended, other in _ADVICE:
        chosen = [p for p in panels if p.censoring.startswith("exponential") == exponential]
        pairs = [(p, _column(p, recommended), _column(p, other)) for p in chosen]
        known = [(p, a, b) for p, a, b in pairs if a is not None and b is not None]
        if not known:
            continue
        both = np.array([[_numbers(p, k) for k in (a, b)] for p, a, b in known])
        base = [p.dataset for p, _, _ in known]
        row: dict[str, Any] = {
            "situation": situation,
            "recommended": recommended,
            "other": other,
            "data_sets": len(known),
            "bases": len(set(base)),
        }
        for side, name in enumerate(("recommended", "other")):
            row |= {
                f"{name}_wins": int(both[:, side, 0].sum()),
                f"{name}_tau": float(both[:, side, 1].mean()),
                f"{name}_relative": float(both[:, side, 2].mean()),
            }
        _, order, distance = np.moveaxis(both[:, 0] - both[:, 1], 1, 0)
        row["closer"] = int((distance < 0).sum())
        by_distance, by_order = (means_over_bases(gap, base) for gap in (distance, order))
        row |= {"p_value": wilcoxon(by_distance), "p_tau": wilcoxon(by_order)}
        row["verdict"] = verdict(by_distance, by_order)
        rows.append(row)
    return rows


def _column(panel: TruthPanel, method: str) -> int | None:
    """Number of a metric that has values for all models of a panel."""
    names, known = (f"mae_{method}", method), np.isfinite(panel.answers.proximity)
    return next((k for k, m in enumerate(panel.metrics) if m in names and known[k]), None)


def _numbers(panel: TruthPanel, column: int) -> tuple[float, float, float]:
    found = panel.answers
    return float(found.winner[column]), float(found.tau[column]), float(found.relative[column])


def means_over_bases(values: Any, bases: list[str]) -> Floats:
    """Mean over the datasets of each base, along the first axis.

    >>> means_over_bases([1.0, 3.0, 5.0], ["a", "a", "b"])
    array([2., 5.])
    """
    array = np.asarray(values, dtype=np.float64)
    labels = np.array(bases, dtype=object)
    return np.array([array[labels == name].mean(axis=0) for name in dict.fromkeys(bases)])


def leader(scores: Any, metrics: list[str], bases: list[str]) -> dict[str, Any] | None:
    """Return the metric with the best mean over datasets, and what the data say of the others.

    `scores` has a row per dataset and a column per metric, and lower is better; metrics that lack
    a dataset do not take part. `bases` names the source of each dataset.

    Returns
    -------
    dict or None
        metric; bases (how many); verdict: "clear", "no clear difference" (from `tied`, by
        signed-rank tests over bases with Holm's correction) or "too few datasets to tell". None
        where no metric has a value on all datasets.

    Examples
    --------
    >>> scores = [[k, k + 1.0, k + 0.1 * (-1) ** k] for k in range(8)]
    >>> leader(scores, ["a", "b", "c"], list("stuvwxyz"))
    {'metric': 'a', 'bases': 8, 'verdict': 'no clear difference', 'tied': ['c']}
    """
    matrix = np.asarray(scores, dtype=np.float64)
    known = [k for k in range(len(metrics)) if np.isfinite(matrix[:, k]).all()]
    if not known or not len(matrix):
        return None
    best = min(known, key=lambda k: float(matrix[:, k].mean()))
    others = [k for k in known if k != best]
    means = means_over_bases(matrix, bases)
    found = {"metric": metrics[best], "bases": len(means)}
    if len(means) < FEWEST_BASES:
        return {**found, "verdict": TOO_FEW, "tied": [metrics[k] for k in others]}
    p_values = holm([wilcoxon(means[:, k] - means[:, best]) for k in others])
    tied = [metrics[k] for k, p in zip(others, p_values, strict=True) if not p < LEVEL]
    return {**found, "verdict": "no clear difference" if tied else "clear", "tied": tied}


def verdict(distance: Floats, order: Floats) -> str:
    """Say whether one metric is better than another, given differences between them by source.

    Parameters
    ----------
    distance : ndarray
        Differences of the relative distance from the truth; negative where the first is closer.
    order : ndarray
        Differences of Kendall's tau with the true order; positive where the first ranks better.

    Examples
    --------
    >>> closer, better = -np.arange(1.0, 7.0), np.arange(1.0, 7.0)
    >>> verdict(closer, better), verdict(closer, -better), verdict(closer[:5], better[:5])
    ('holds', 'mixed: closer, but ranks worse', 'too few datasets to tell')
    """
    if len(distance) < FEWEST_BASES:
        return TOO_FEW
    # 1 where the first is clearly better, -1 where it is clearly worse, 0 where nobody can tell.
    near, ranks = (
        0 if not wilcoxon(gap) < LEVEL else int(np.sign(sign * np.median(gap[gap != 0])))
        for gap, sign in ((distance, -1), (order, 1))
    )
    if near * ranks < 0:
        return f"mixed: {'closer, but ranks worse' if near > 0 else 'ranks better, but farther'}"
    return {1: "holds", -1: "does not hold", 0: "no clear difference"}[near or ranks]
