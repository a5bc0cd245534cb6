"""Which metric is best over data sets, and the paper's advice checked against results.

Data sets that come from one data base (kinds of censoring, draws) are not independent of each
other, so tests compare means over the data sets of each base. With fewer than `FEWEST_BASES` bases
no test can reach the usual level, whatever the numbers are, and nothing is concluded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..inference import holm
from ..report.experiment_words import FEWEST_BASES, TOO_FEW
from .comparisons import wilcoxon
from .panels import TruthPanel

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
    """Mean over the data sets of each base, along the first axis.

    >>> means_over_bases([1.0, 3.0, 5.0], ["a", "a", "b"])
    array([2., 5.])
    """
    array = np.asarray(values, dtype=np.float64)
    labels = np.array(bases, dtype=object)
    return np.array([array[labels == name].mean(axis=0) for name in dict.fromkeys(bases)])


def leader(scores: Any, metrics: list[str], bases: list[str]) -> dict[str, Any] | None:
    """Return the metric with the best mean over data sets, and what the data say of the others.

    `scores` has a row per data set and a column per metric, and lower is better; metrics that lack
    a data set do not take part. `bases` names the data base of each data set.

    Returns
    -------
    dict or None
        metric; bases (how many); verdict: "clear", "no clear difference" (from `tied`, by
        signed-rank tests over bases with Holm's correction) or "too few data sets to tell". None
        where no metric has a value on all data sets.

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
    """Say whether one metric is better than another, given differences between them by data base.

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
    ('holds', 'mixed: closer, but ranks worse', 'too few data sets to tell')
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
