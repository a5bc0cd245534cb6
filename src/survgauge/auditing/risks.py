"""What a metric risks on these data: how far it is off, and what a choice of models by it costs.

The recommended metric is fixed: the doubly robust error within the horizon. Rules that let the
scenarios overrule it were tried and were not clearly better on held-out datasets with a known truth
(docs/audit.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .scoring import AuditQuestion
from .tally import WorldTally, standard_error
from .worlds import World

#: A difference in expected loss of fewer Monte Carlo standard errors is no difference.
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Risk:
    """What the metrics that estimate one number risk, those of the recommended one by name.

    Attributes
    ----------
    metric : str or None
        The recommended metric; None where there is none, as without a horizon.
    asks, horizon
        What is estimated ("absolute": the mean absolute error), and within which horizon.
    loss, stderr : float
        Expected relative loss of the recommended metric over the scenarios with independent
        censoring, with its Monte Carlo standard error.
    best : float
        How often it picks the truly best model.
    off : float
        Its largest relative bias over the independent kinds of scenarios.
    better : dict of str to str
        Scenarios in which another metric loses less by more than the Monte Carlo error, with that
        metric.
    least_off : tuple of str and float
        The metric that is least biased, and how far it is off.
    """

    metric: str | None
    asks: str
    horizon: float | None
    loss: float = float("nan")
    stderr: float = float("nan")
    best: float = float("nan")
    off: float = float("nan")
    better: dict[str, str] = field(default_factory=dict)
    least_off: tuple[str, float] = ("", float("nan"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        metric, off = self.least_off
        return {**asdict(self), "least_off": {"metric": metric, "off": off}}


class WorldResults:
    """Tallies of all worlds, averaged with equal weight by kind; dependent worlds stay apart."""

    def __init__(self, worlds: Sequence[World], tallies: Sequence[WorldTally]) -> None:
        self.worlds, self.tallies = list(worlds), list(tallies)
        independent = [world.kind for world in worlds if world.independent]
        self.kinds = list(dict.fromkeys(independent))
        size = {kind: independent.count(kind) for kind in self.kinds}
        #: Weight of each world: equal by kind, and equal within a kind; dependent worlds have none.
        shares = {kind: 1.0 / (len(self.kinds) * size[kind]) for kind in self.kinds}
        self.weight = np.array([shares[w.kind] if w.independent else 0.0 for w in worlds])

    def average(self, name: str) -> Floats:
        """Mean of a measure over the independent worlds, by kind; worlds without it do not count.

        One number per question.
        """
        rows = np.array([getattr(tally, name) for tally in self.tallies])
        return weighted_mean(rows, self.weight)

    def worst(self, name: str) -> Floats:
        """Largest mean of a measure over the worlds of a kind, among the independent kinds."""
        rows = np.array([getattr(tally, name) for tally in self.tallies])
        found = []
        for kind in self.kinds:
            mine = [w.kind == kind and w.independent for w in self.worlds]
            found.append(weighted_mean(rows, np.array(mine, dtype=float)))
        kept = np.array(found)
        return np.where(np.isnan(kept).all(axis=0), np.nan, np.fmax.reduce(kept, axis=0))

    def stderr(self, question: int) -> float:
        """Monte Carlo standard error of the expected relative loss of a question's metric."""
        losses = np.array([[tally.relative_loss[question]] for tally in self.tallies])
        weight = np.where(np.isfinite(losses[:, 0]), self.weight, 0.0)
        if not weight.sum() > 0:
            return float("nan")
        errors = np.array([tally.stderr[question] for tally in self.tallies])
        variance = (np.where(weight > 0, weight * errors, 0.0) ** 2).sum()
        return float(np.sqrt(variance) / weight.sum())


def weighted_mean(rows: Floats, weight: Floats) -> Floats:
    """Weighted mean of the rows that are known, by columns; NaN where none is.

    >>> weighted_mean(np.array([[1.0, np.nan], [3.0, 5.0]]), np.array([1.0, 1.0]))
    array([2., 5.])
    """
    known = np.isfinite(rows) & (weight[:, None] > 0)
    whole = np.where(known, weight[:, None], 0.0).sum(axis=0)
    total = np.where(known, rows * weight[:, None], 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, total / whole, np.nan)


def risks(results: WorldResults, questions: Sequence[AuditQuestion]) -> list[Risk]:
    """Return what is risked with everything that is asked, in the order of the questions.

    Metrics that estimate the same number within the same horizon are one entry.
    """
    groups: dict[tuple[str, float | None], list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault((question.asks, question.horizon), []).append(place)
    return [_risk(results, places, questions) for places in groups.values()]


def _risk(results: WorldResults, places: Sequence[int], questions: Sequence[AuditQuestion]) -> Risk:
    first, off = questions[places[0]], results.worst("off")
    known = [k for k in places if np.isfinite(off[k])]
    nearest = min(known, key=lambda k: off[k], default=None)
    found: dict[str, Any] = {"asks": first.asks, "horizon": first.horizon}
    if nearest is not None:
        found["least_off"] = (questions[nearest].metric.name, float(off[nearest]))
    chosen = next((k for k in places if questions[k].recommended), None)
    if chosen is None:
        return Risk(None, **found)
    return Risk(
        questions[chosen].metric.name,
        **found,
        loss=float(results.average("relative_loss")[chosen]),
        stderr=results.stderr(chosen),
        best=float(results.average("best")[chosen]),
        off=float(off[chosen]),
        better=_better(results, places, chosen, questions),
    )


def _better(
    results: WorldResults, places: Sequence[int], chosen: int, questions: Sequence[AuditQuestion]
) -> dict[str, str]:
    """Scenarios in which other metrics lose less than the chosen one, with the least of them."""
    found = {}
    for world, tally in zip(results.worlds, results.tallies, strict=True):
        mean = np.where(np.isfinite(tally.relative_loss), tally.relative_loss, np.inf)
        other = min(places, key=lambda k: (mean[k], k != chosen))
        gap = tally.gaps(chosen, other)
        gap = gap[np.isfinite(gap)]
        if other == chosen or not gap.size:
            continue
        if gap.mean() > STANDARD_ERRORS * np.nan_to_num(standard_error(gap[:, None])[0]):
            found[world.name] = questions[other].metric.name
    return found
