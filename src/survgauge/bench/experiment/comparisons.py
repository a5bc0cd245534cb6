"""Do metrics differ over datasets? Tests, the best metric, and the paper's advice.

`scores` are matrices of shape (datasets, metrics), lower is better; rows with NaN are left out.
Datasets that come from one source (kinds of censoring, draws) are not independent of each
other, so the best metric and the advice compare means over the datasets of each base. With fewer
than `FEWEST_BASES` bases no test can reach the usual level, whatever the numbers are, and nothing
is concluded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtr

from ..._tools.arrays import Bools, Floats
from ...evaluation.inference import holm
from ...report.experiment_words import FEWEST_BASES, TOO_FEW
from .meta import ranks
from .panels import TruthPanel


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
