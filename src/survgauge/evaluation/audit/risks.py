"""From what metrics said on all draws to what each of them risks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...errors import InputError
from .scenarios import AuditQuestion, Scenario


@dataclass(frozen=True)
class ScenarioQuality:
    """How well each question is answered in a scenario; every array has one number per question."""

    #: Mean of value - truth over draws and models, and the mean over models of the bias divided by
    #: the mean truth.
    bias: Floats
    relative_bias: Floats
    #: Mean over models of the size of the relative bias, which biases of both signs add to.
    off: Floats
    #: Root of the mean squared distance from the truth, and the same divided by the mean truth.
    rmse: Floats
    relative_rmse: Floats
    #: Mean of Kendall's tau with the true order; NaN for a single model.
    tau: Floats
    #: How often the metric picks the truly best model.
    best: Floats
    #: Mean of the true error of the picked model minus that of the best.
    loss: Floats
    #: Share of the draws on which the metric has no value for some model.
    undefined: Floats
    #: The loss of each draw, as a share of the best model's true error; of shape (draws,
    #: questions).
    losses: Floats

    @property
    def relative_loss(self) -> Floats:
        """Mean of the losses as shares of the best model's true error."""
        return _mean(self.losses)

    @property
    def stderr(self) -> Floats:
        """Monte Carlo standard error of the relative loss."""
        return standard_error(self.losses)

    def gaps(self, first: int, second: int) -> Floats:
        """By how much more each draw loses with the first question's metric: (draws,)."""
        with np.errstate(invalid="ignore"):  # a best model without error makes shares infinite
            return self.losses[:, first] - self.losses[:, second]

    @classmethod
    def of(cls, values: Floats, truths: Floats, lower: Bools) -> ScenarioQuality:
        """Compare values with truths; `lower` says of which questions lower values are better.

        Where a metric has no value for one of the models, nothing can be picked by it: it counts as
        picking at random, with a tau of 0. Draws without a finite truth are left out.
        """
        true = all_known(truths)
        known = all_known(values) & true
        gap = np.where(known[:, None], values - truths, np.nan)
        size = _mean(np.where(known[:, None], truths, np.nan))
        per_model, spread = _mean(gap), np.sqrt(_mean(gap**2))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative, width = per_model / np.abs(size), spread / np.abs(size)
        tau = np.where(known, kendall_tau(values, truths), 0.0)
        if values.shape[1] < 2:
            tau[:] = np.nan
        chance, loss, least = picked(values, truths, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.where(loss == 0, 0.0, loss / np.abs(least))
        return cls(
            bias=_mean(per_model),
            relative_bias=_mean(relative),
            off=_mean(np.abs(relative)),
            rmse=np.sqrt(_mean(spread**2)),
            relative_rmse=_mean(width),
            tau=_mean(np.where(true, tau, np.nan)),
            best=_mean(chance),
            loss=_mean(loss),
            undefined=1.0 - known.mean(axis=0),
            losses=losses,
        )


def kendall_tau(values: Any, truth: Any) -> Floats:
    r"""Kendall's tau-b between a metric's and the true order of the models, one number per metric.

    :math:`\tau_b = \sum_{a<b} s_{ab} s'_{ab} / \sqrt{\sum s_{ab}^2 \sum s'^2_{ab}}` with s the
    signs of the differences; 0 where all models are tied in one of the two.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems, Biometrika 33.

    Examples
    --------
    >>> kendall_tau([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    array([ 1.        , -0.33333333])
    """
    v, t = same_shape(values, truth)
    first, second = np.triu_indices(v.shape[-2], 1)
    with np.errstate(invalid="ignore"):  # infinite truths have no difference
        s = np.sign(v[..., first, :] - v[..., second, :])
        u = np.sign(t[..., first, :] - t[..., second, :])
        scale = np.sqrt((s * s).sum(axis=-2) * (u * u).sum(axis=-2))
        return np.where(scale == 0, 0.0, (s * u).sum(axis=-2) / np.where(scale == 0, 1.0, scale))


def same_shape(values: Any, truth: Any) -> tuple[Floats, Floats]:
    """Return two arrays of numbers; refuse them where their shapes differ."""
    v, t = np.asarray(values, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if v.shape != t.shape:
        raise InputError(f"both arrays must have the same shape; got {v.shape} and {t.shape}")
    return v, t


def picked(values: Floats, truths: Floats, lower: Bools) -> tuple[Floats, Floats, Floats]:
    """Return how likely the best is picked, what is lost, and the best truth: (draws, questions).

    Ties are settled at random, and so is a choice by values that do not exist.

    >>> values, truths = np.array([[[1.0], [2.0]]]), np.array([[[5.0], [4.0]]])
    >>> [part.ravel().tolist() for part in picked(values, truths, np.array([True]))]
    [[0.0], [1.0], [4.0]]
    """
    sign = np.where(lower, 1.0, -1.0)
    v, t = values * sign, truths * sign
    undefined = ~all_known(v)
    chosen = (v == v.min(axis=1, keepdims=True)) | undefined[:, None]
    least = t.min(axis=1, keepdims=True)
    number = chosen.sum(axis=1)
    with np.errstate(invalid="ignore"):
        loss = np.where(chosen, t - least, 0.0).sum(axis=1) / number
    chance = (chosen & (t == least)).sum(axis=1) / number
    unknown = ~all_known(t)
    return (
        np.where(unknown, np.nan, chance),
        np.where(unknown, np.nan, loss),
        least[:, 0] * sign,
    )


def all_known(numbers: Floats) -> Bools:
    """Whether there is a number for every model: (draws, questions)."""
    return np.asarray(np.isfinite(numbers).all(axis=1))


def standard_error(draws: Floats) -> Floats:
    """Standard error of the mean of known draws, by columns; NaN for fewer than two."""
    known = np.isfinite(draws)
    number = known.sum(axis=0)
    gap = np.where(known, draws - _mean(draws), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (gap**2).sum(axis=0) / (number - 1) / number
    return np.sqrt(np.where(number > 1, variance, np.nan))


def _mean(draws: Floats) -> Floats:
    """Mean over the first axis of what is finite; NaN where nothing is."""
    known = np.isfinite(draws)
    with np.errstate(invalid="ignore"):
        return np.where(known, draws, 0.0).sum(axis=0) / known.sum(axis=0)


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


class ScenarioResults:
    """Qualities of all scenarios, each kind with equal weight; dependent ones stay apart."""

    def __init__(self, scenarios: Sequence[Scenario], qualities: Sequence[ScenarioQuality]) -> None:
        self.scenarios, self.qualities = list(scenarios), list(qualities)
        independent = [scenario.kind for scenario in scenarios if scenario.independent]
        self.kinds = list(dict.fromkeys(independent))
        size = {kind: independent.count(kind) for kind in self.kinds}
        #: Weight of each scenario: equal by kind, and equal within a kind; dependent scenarios have
        #: none.
        shares = {kind: 1.0 / (len(self.kinds) * size[kind]) for kind in self.kinds}
        self.weight = np.array([shares[w.kind] if w.independent else 0.0 for w in scenarios])

    def average(self, name: str) -> Floats:
        """Mean of a measure over the independent scenarios that have it, by kind.

        One number per question.
        """
        rows = np.array([getattr(quality, name) for quality in self.qualities])
        return weighted_mean(rows, self.weight)

    def worst(self, name: str) -> Floats:
        """Largest mean of a measure over the scenarios of a kind, among the independent kinds."""
        rows = np.array([getattr(quality, name) for quality in self.qualities])
        found = []
        for kind in self.kinds:
            mine = [w.kind == kind and w.independent for w in self.scenarios]
            found.append(weighted_mean(rows, np.array(mine, dtype=float)))
        kept = np.array(found)
        return np.where(np.isnan(kept).all(axis=0), np.nan, np.fmax.reduce(kept, axis=0))

    def stderr(self, question: int) -> float:
        """Monte Carlo standard error of the expected relative loss of a question's metric."""
        losses = np.array([[quality.relative_loss[question]] for quality in self.qualities])
        weight = np.where(np.isfinite(losses[:, 0]), self.weight, 0.0)
        if not weight.sum() > 0:
            return float("nan")
        errors = np.array([quality.stderr[question] for quality in self.qualities])
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


def risks(results: ScenarioResults, questions: Sequence[AuditQuestion]) -> list[Risk]:
    """Return what is risked with everything that is asked, in the order of the questions.

    Metrics that estimate the same number within the same horizon are one entry.
    """
    groups: dict[tuple[str, float | None], list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault((question.asks, question.horizon), []).append(place)
    return [_risk(results, places, questions) for places in groups.values()]


def _risk(
    results: ScenarioResults, places: Sequence[int], questions: Sequence[AuditQuestion]
) -> Risk:
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
    results: ScenarioResults, places: Sequence[int], chosen: int, questions: Sequence[AuditQuestion]
) -> dict[str, str]:
    """Scenarios in which other metrics lose less than the chosen one, with the least of them."""
    found = {}
    for scenario, quality in zip(results.scenarios, results.qualities, strict=True):
        mean = np.where(np.isfinite(quality.relative_loss), quality.relative_loss, np.inf)
        other = min(places, key=lambda k: (mean[k], k != chosen))
        gap = quality.gaps(chosen, other)
        gap = gap[np.isfinite(gap)]
        if other == chosen or not gap.size:
            continue
        if gap.mean() > STANDARD_ERRORS * np.nan_to_num(standard_error(gap[:, None])[0]):
            found[scenario.name] = questions[other].metric.name
    return found
