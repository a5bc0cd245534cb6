"""Time in bins: K bins up to a last edge and an open one for whatever comes later."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...reference.kaplan_meier import KaplanMeier
from .._training import Batch
from ._base import TorchModel

# Every bin keeps this much of an even distribution, so that each curve falls and, with the linear
# tail, has a finite median even where a network is sure that nothing happens before the last edge.
FLOOR = 1e-6


@dataclass(frozen=True)
class Bins:
    r"""Bins :math:`(e_{k-1}, e_k]`, k = 1..K, with :math:`e_0 = 0`, and :math:`(e_K, \infty)`.

    Within a bin events are spread evenly, so a survival curve is linear between edges. A subject
    is described by the bin of its time and the share of that bin that had passed by then.

    >>> bins = Bins.quantiles(Outcomes([1, 2, 3, 4, 6], [1, 1, 1, 1, 0]))
    >>> bins.edges
    array([0. , 2.5, 4. ])
    >>> bins.place(np.array([2.0, 2.5, 5.0]))["bin"]
    array([0, 0, 2])
    """

    edges: Floats

    @classmethod
    def quantiles(cls, y: Outcomes, count: int | None = None) -> Bins:
        """Bins with about the same number of events in each; sqrt(events) of them by default."""
        shares = np.linspace(0.0, 1.0, _number(y, count) + 1)[1:]
        return cls(_edges(np.quantile(y.time[y.event], shares), y))

    @classmethod
    def equal(cls, y: Outcomes, count: int | None = None) -> Bins:
        """Bins of the same width up to the last observed time."""
        return cls(_edges(np.linspace(0.0, y.time.max(), _number(y, count) + 1), y))

    def __len__(self) -> int:
        return int(self.edges.size)

    def place(self, time: Floats) -> dict[str, Any]:
        """Bin of every time, and the share of the bin that lies before it."""
        upper = self.edges[1:]
        k = np.searchsorted(upper, time, "left")
        inside = np.minimum(k, upper.size - 1)
        part = (time - self.edges[inside]) / np.diff(self.edges)[inside]
        return {"bin": k, "part": np.where(k < upper.size, part, 0.0)}

    def marginal(self, y: Outcomes) -> Floats:
        """Log probabilities of the bins by Kaplan-Meier, none of them minus infinity."""
        survival = np.concatenate([[1.0], KaplanMeier.fit(y).at(self.edges[1:]), [0.0]])
        blur = 1.0 / (1.0 + y.event.sum())
        return np.log((1.0 - blur) * -np.diff(survival) + blur / len(self))

    def curves(self, logits: Floats) -> SurvivalCurves:
        """Survival curves of bin scores, (n, K + 1)."""
        return SurvivalCurves(self.edges, survival(probabilities(logits)))


def probabilities(logits: Floats) -> Floats:
    """Probabilities of the bins, summing to one, none of them zero."""
    even = FLOOR / logits.shape[1]
    return np.asarray((1.0 - FLOOR) * softmax(logits.astype(np.float64), axis=1) + even)


def survival(probability: Floats) -> Floats:
    """Probability of no event by each edge."""
    # Summed from the right: small survival keeps its digits.
    later = np.cumsum(probability[:, ::-1], axis=1)[:, ::-1]
    later[:, 0] = 1.0
    return np.minimum(later, 1.0)


def negative_log_likelihood(logits: Tensor, batch: Batch, causes: int = 1) -> Tensor:
    r"""Mean of :math:`-\log p_k` for events, :math:`-\log P(T > c)` for censored rows.

    A censored row keeps the share of its own bin that lay ahead of it. With several causes there is
    a score for each bin of the first, of the second, and so on, and one for the open bin.
    """
    k, cause = cells(logits, causes)
    own = k == batch["bin"][:, None]
    ahead = (k > batch["bin"][:, None]) + own * (1.0 - batch["part"])[:, None]
    if causes > 1:
        own = own & (cause == batch["cause"][:, None])
    possible = torch.where(batch["event"][:, None], own.to(logits.dtype), ahead)
    return (logits.logsumexp(1) - (logits + possible.log()).logsumexp(1)).mean()


def cells(logits: Tensor, causes: int) -> tuple[Tensor, Tensor]:
    """Bin and cause (from 0; one too many for the open bin) of each column of scores."""
    bins = (logits.shape[1] - 1) // causes
    k = torch.arange(causes * bins + 1, device=logits.device)
    return torch.where(k < causes * bins, k % max(bins, 1), bins), k // max(bins, 1)


def passed(k: Tensor, batch: Batch) -> Tensor:
    """Share of the bins `k` that lies before each subject's time, (rows, bins)."""
    own = k == batch["bin"][:, None]
    return (k < batch["bin"][:, None]) + own * batch["part"][:, None]


class BinnedModel(TorchModel):
    """A network that scores bins; a subclass sets `bins_` in `_targets` and gives the scores."""

    bins_: Bins

    def _make_bins(self, y: Outcomes) -> Bins:
        raise NotImplementedError

    def _logits(self, x: Tensor) -> Tensor:
        """Scores of the bins."""
        raise NotImplementedError

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        self.bins_ = self._make_bins(y)
        return {**self.bins_.place(y.time), "event": y.event}

    def predict_probabilities(self, X: Any) -> Floats:
        """Probability of an event in each bin of `bins_`, the last one open: rows sum to one."""
        return probabilities(self._scores(self._new_rows(X)))

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return self.bins_.curves(self._scores(X))

    def _scores(self, X: Floats) -> Floats:
        return self._apply(X, self._logits)


def _number(y: Outcomes, count: int | None) -> int:
    return math.ceil(math.sqrt(int(y.event.sum()))) if count is None else int(count)


def _edges(upper: Floats, y: Outcomes) -> Floats:
    """Edges from zero without repetition; one bin where all events fall on time zero."""
    upper = np.unique(upper[upper > 0])
    if upper.size == 0:
        last = float(y.time.max())
        upper = np.array([last if last > 0 else 1.0])
    return np.concatenate([[0.0], upper])
