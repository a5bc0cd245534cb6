"""Which metric to take: the one that evidence supports, unless the worlds clearly say otherwise.

The worlds are made of the user's own models, which are all wrong in their own way. So what they say
is weighed against what is known from data with a known truth: the doubly robust metric stays unless
another one loses clearly less on average, and less in most worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..metrics.record import Metric
from .scoring import AuditQuestion
from .tally import WorldTally, standard_error
from .worlds import World

#: A difference in expected loss of fewer Monte Carlo standard errors is no difference.
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Recommendation:
    """The metric to take for one question, and by how much it beats the others.

    Attributes
    ----------
    metric : str or None
        Its name; None where every metric fails.
    asks, horizon
        What is estimated ("absolute": the mean absolute error), and within which horizon.
    loss, stderr : float
        Expected relative loss over the independent worlds with its Monte Carlo standard error.
    off : float
        Largest relative bias of the metric over the independent kinds of worlds.
    usual : str or None
        The metric that the evidence on other data supports, if it was among the candidates and did
        not fail.
    runner_up, margin, margin_stderr
        The metric to compare with: the usual one where another is recommended, else the one of the
        others with which the least is lost; by how much more is lost with it (negative: less), and
        the Monte Carlo standard error.
    tied : tuple of str
        Metrics whose expected loss the draws do not tell from that of the least.
    changes : dict of str to str
        Worlds in which another metric loses less than this one by more than the Monte Carlo error,
        with that metric.
    least_off : tuple of str and float
        The metric that is least biased, and how far it is off: what a failure is explained with.
    otherwise : str or None
        Where every metric fails, the one to choose a model by all the same.
    """

    metric: str | None
    asks: str
    horizon: float | None
    loss: float = float("nan")
    stderr: float = float("nan")
    off: float = float("nan")
    usual: str | None = None
    runner_up: str | None = None
    margin: float = float("nan")
    margin_stderr: float = float("nan")
    tied: tuple[str, ...] = ()
    changes: dict[str, str] = field(default_factory=dict)
    least_off: tuple[str, float] = ("", float("nan"))
    otherwise: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        found = asdict(self) | {"tied": list(self.tied)}
        metric, off = found.pop("least_off")
        return {**found, "least_off": {"metric": metric, "off": off}}


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

    def difference(self, first: int, second: int) -> tuple[float, float]:
        """By how much more is lost with the first question's metric, and the standard error."""
        return self._combined([tally.gaps(first, second) for tally in self.tallies])

    def expected(self, question: int) -> tuple[float, float]:
        """Expected relative loss of a question's metric, and its standard error."""
        return self._combined([tally.losses[:, question] for tally in self.tallies])

    def share_of_worlds(self, first: int, second: int) -> float:
        """Share of the independent worlds, by kind, in which more is lost with the first."""
        gaps = [_known_mean(tally.gaps(first, second)) for tally in self.tallies]
        return float(self.weight[np.array(gaps) > 0].sum())

    def _combined(self, draws: Sequence[Floats]) -> tuple[float, float]:
        """Mean over the worlds of means over draws, and its Monte Carlo standard error."""
        means = np.array([[float(_known_mean(d))] for d in draws])
        weight = np.where(np.isfinite(means[:, 0]), self.weight, 0.0)
        if not weight.sum() > 0:
            return float("nan"), float("nan")
        weight = weight / weight.sum()
        errors = np.array([standard_error(d[:, None])[0] for d in draws])
        variance = (np.where(weight > 0, weight * errors, 0.0) ** 2).sum()
        return float(weighted_mean(means, weight)[0]), float(np.sqrt(variance))


def _known_mean(draws: Floats) -> float:
    known = draws[np.isfinite(draws)]
    return float(known.mean()) if known.size else float("nan")


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


def recommend(
    results: WorldResults,
    candidates: Sequence[int],
    questions: Sequence[AuditQuestion],
    max_bias: float,
) -> Recommendation:
    """Recommend one of the questions `candidates`, whose metrics estimate the same number.

    Metrics whose bias is larger than `max_bias` (a share of the truth) in one of the independent
    kinds of worlds fail. Of the others the doubly robust one is recommended, unless another loses
    clearly less. Where it failed or was not asked for, or where there is one model only, metrics
    that lose no more than the least by the draws' standard error are tied, and the one with the
    least root mean squared error of them is recommended.
    """
    names = [question.metric.name for question in questions]
    asks, horizon = questions[candidates[0]].asks, questions[candidates[0]].horizon
    off, rmse = results.worst("off"), results.average("relative_rmse")
    undefined = results.average("undefined")
    losses = {k: results.expected(k) for k in candidates}
    usable = [k for k in losses if off[k] <= max_bias and undefined[k] < 0.5]
    known = [k for k in losses if np.isfinite(off[k])]
    nearest = min(known, key=lambda k: off[k], default=None)
    least_off = ("", float("nan")) if nearest is None else (names[nearest], float(off[nearest]))
    ranked = sorted(usable or known, key=lambda k: (_number(losses[k][0]), rmse[k]))
    if not ranked:
        return Recommendation(None, asks, horizon)
    tied = [k for k in ranked if _is_tied(results.difference(k, ranked[0]))]
    usual = next((k for k in ranked if _is_usual(questions[k].metric)), None)
    if usual is None or np.isnan(results.average("tau")[ranked]).all():  # one model: no order
        # What agrees to nine digits agrees; then the metric that others take first is taken too.
        chosen = min(
            tied,
            key=lambda k: (round(float(rmse[k]), 9), not questions[k].metric.usual_error, k),
        )
    else:
        chosen = next((k for k in ranked if _is_clearly_less(results, k, usual)), usual)
    if not usable:
        loss = losses[chosen][0]
        return Recommendation(
            None, asks, horizon, loss, least_off=least_off, otherwise=names[chosen]
        )
    loss, stderr = losses[chosen]
    others = [k for k in (usual, *ranked) if k not in (None, chosen)]
    found: dict[str, Any] = {}
    if others:
        margin, error = results.difference(others[0], chosen)
        found = {"runner_up": names[others[0]], "margin": margin, "margin_stderr": error}
    return Recommendation(
        names[chosen],
        asks,
        horizon,
        loss,
        stderr,
        float(off[chosen]),
        None if usual is None else names[usual],
        tied=tuple(names[k] for k in tied if k != chosen),
        changes=_changes(results, usable, chosen, names),
        least_off=least_off,
        **found,
    )


def _number(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def _is_usual(metric: Metric) -> bool:
    """Whether it is the metric that docs/results/truth.md supports: the doubly robust one."""
    return metric.method is not None and metric.method.reads_g


def _is_clearly_less(results: WorldResults, other: int, usual: int) -> bool:
    """Whether another metric loses less on average, beyond chance, and in most of the worlds."""
    clear = not _is_tied(results.difference(usual, other))
    return clear and results.share_of_worlds(usual, other) > 0.5


def _is_tied(difference: tuple[float, float]) -> bool:
    gap, stderr = difference
    return not gap > STANDARD_ERRORS * (stderr if np.isfinite(stderr) else 0.0)


def _changes(
    results: WorldResults, usable: Sequence[int], chosen: int, names: Sequence[str]
) -> dict[str, str]:
    """Worlds in which another metric loses less than the chosen one, with the least of them."""
    found = {}
    for world, tally in zip(results.worlds, results.tallies, strict=True):
        means = tally.relative_loss
        other = min(usable, key=lambda k: (_number(float(means[k])), k != chosen))
        gap = tally.gaps(chosen, other)
        difference = _known_mean(gap), float(standard_error(gap[:, None])[0])
        if other != chosen and not _is_tied(difference):
            found[world.name] = names[other]
    return found
