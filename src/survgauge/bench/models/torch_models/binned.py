"""Time in bins, K up to a last edge and an open one: logistic regression, and DeepHit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from ...._tools.arrays import Floats, positive, whole_number
from ....data.curves import SurvivalCurves
from ....data.incidence import IncidenceCurves
from ....data.outcomes import Outcomes
from ....estimators.aalen_johansen import AalenJohansen
from ..registry import FACTS
from .training import Batch, TorchModel, chain, linear, share, sizes, through

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
        """Log probabilities of the bins by Aalen-Johansen, none of them minus infinity.

        With several causes the bins of the first come first, then those of the second, and so on;
        the open bin is the last.

        >>> bins = Bins.equal(Outcomes([1, 2, 3, 4], [1, 1, 1, 1]), 2)
        >>> np.exp(bins.marginal(Outcomes([1, 2, 3, 4], [1, 2, 0, 1]))).round(3)
        array([0.238, 0.425, 0.238, 0.05 , 0.05 ])
        """
        estimate = AalenJohansen.fit(y)
        codes = range(1, len(estimate.causes) + 1)
        steps = [np.diff(estimate.at(self.edges[1:], code), prepend=0.0) for code in codes]
        shares = np.append(np.concatenate(steps), max(float(estimate.survival[-1]), 0.0))
        blur = 1.0 / (1.0 + y.event.sum())
        return np.asarray(np.log((1.0 - blur) * shares + blur / shares.size))

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

    def _logits(self, net: nn.Module, x: Tensor, draw: torch.Generator | None = None) -> Tensor:
        """Scores of the bins, with dropout if there is a generator for it."""
        raise NotImplementedError

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        self.bins_ = self._make_bins(y)
        return {**self.bins_.place(y.time), "event": y.event}

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return self.bins_.curves(self._scores(X))

    def _scores(self, X: Floats) -> Floats:
        return self._apply(X, lambda x: self._logits(self.net_, x))


@dataclass(eq=False, repr=False, kw_only=True)
class MTLR(BinnedModel):
    r"""Multi-task logistic regression: one logistic regression an edge, tied into one curve.

    With edges :math:`e_1 < ... < e_K` at quantiles of the event times, the score of bin k and its
    probability are

    .. math::
        f_k(x) = \sum_{j \ge k}^{K} (\theta_j^\top x + b_j), \quad f_{K+1} = 0, \quad
        p_k(x) = e^{f_k(x)} / \sum_l e^{f_l(x)}.

    The mean negative log-likelihood (a censored row counts all bins that lay ahead of it) plus
    :math:`\frac{1}{2n} (C_1 \sum_j |\theta_j|^2 + C_2 \sum_j |\theta_{j+1} - \theta_j|^2)` is
    minimised from the Kaplan-Meier curve on, until the validation likelihood stops improving.

    Parameters
    ----------
    bins : int, optional
        Number of bins before the open one; by default the square root of the number of events.
        Tied quantiles make one bin.
    l2, smoothness : float
        :math:`C_1` and :math:`C_2`.
    epochs, patience, batch_size, learning_rate, weight_decay, validation_fraction, device
        Of the training; see `TorchModel`.
    random_state : int or None
        Seed.
    verbose : bool
        Progress on standard error.

    Notes
    -----
    Curves are linear between edges. Beyond the last one they follow the line from (0, 1), so
    medians are finite.

    References
    ----------
    C.-N. Yu, R. Greiner, H.-C. Lin, V. Baracos. Learning patient-specific cancer survival
    distributions as a sequence of dependent regressors. NeurIPS 2011.
    S. Fotso. Deep neural networks for survival analysis based on a multi-task framework. 2018.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> model = MTLR().fit(X, (np.exp(X[:, 0] + rng.normal(size=200)), np.ones(200)))
    >>> bool(model.predict_time([[2.0]]) > model.predict_time([[-2.0]]))
    True
    """

    facts = FACTS["mtlr"]

    bins: int | None = None
    l2: float = 1.0
    smoothness: float = 1.0
    epochs: int = 1000
    learning_rate: float = 3e-4
    weight_decay: float = 0.0

    def _check(self) -> None:
        if self.bins is not None:
            whole_number(self.bins, "bins", 1)
        positive(self.l2, "l2", zero=True)
        positive(self.smoothness, "smoothness", zero=True)

    def _make_bins(self, y: Outcomes) -> Bins:
        return Bins.quantiles(y, self.bins)

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        start = self.bins_.marginal(y)
        self._rows = len(y)
        layer = linear(inputs, len(self.bins_) - 1, draw, bias=start[:-1] - start[1:])
        # The problem is convex: random weights would only be a detour.
        nn.init.zeros_(layer.weight)
        return layer

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        loss = negative_log_likelihood(self._logits(net, batch["x"]), batch)
        if not learning:
            return loss
        theta = net.get_parameter("weight")
        penalty = self.l2 * theta.square().sum()
        penalty = penalty + self.smoothness * theta.diff(dim=0).square().sum()
        return loss + penalty / (2 * self._rows)

    def _logits(self, net: nn.Module, x: Tensor, draw: torch.Generator | None = None) -> Tensor:
        # The sums of the regressions of later edges; the open bin has score zero.
        later = net(x).flip(1).cumsum(1).flip(1)
        return torch.cat([later, torch.zeros_like(later[:, :1])], dim=1)


def _number(y: Outcomes, count: int | None) -> int:
    return math.ceil(math.sqrt(int(y.event.sum()))) if count is None else int(count)


def _edges(upper: Floats, y: Outcomes) -> Floats:
    """Edges from zero without repetition; one bin where all events fall on time zero."""
    upper = np.unique(upper[upper > 0])
    if upper.size == 0:
        last = float(y.time.max())
        upper = np.array([last if last > 0 else 1.0])
    return np.concatenate([[0.0], upper])


@dataclass(eq=False, repr=False, kw_only=True)
class DeepHit(BinnedModel):
    r"""DeepHit: a network whose softmax is the distribution of the event over equal bins.

    The layers see the features once more before the output, as in the paper. With several causes
    the softmax is over bins and causes, and one network scores them all. With F the distribution
    function that the probabilities give (of several causes the incidence of that of i), the loss is
    the negative log-likelihood plus :math:`\alpha` times the mean over pairs of

    .. math:: \exp(-(F(t_i | x_i) - F(t_i | x_j)) / \sigma), \quad
              \text{i an event},\; t_i < t_j.

    Parameters
    ----------
    bins : int, optional
        Number of equal bins up to the last observed time, before an open one; by default the
        square root of the number of events.
    hidden : sequence of int
        Widths of the hidden layers.
    keep : float
        Probability of keeping a unit in dropout.
    alpha, sigma : float
        Weight and scale of the ranking loss.
    epochs, patience, batch_size, learning_rate, weight_decay, validation_fraction, device
        Of the training; see `TorchModel`.
    random_state : int or None
        Seed.
    verbose : bool
        Progress on standard error.

    Notes
    -----
    Curves are linear between edges. Beyond the last one they follow the line from (0, 1), so
    medians are finite. Bins without an event get little probability, not none. With several causes
    curves and times are those of an event of any cause.

    References
    ----------
    C. Lee, W. Zame, J. Yoon, M. van der Schaar. DeepHit: a deep learning approach to survival
    analysis with competing risks. AAAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> model = DeepHit(epochs=30).fit(X, (np.exp(X[:, 0] + rng.normal(size=200)), np.ones(200)))
    >>> bool(model.predict_time([[2.0]]) > model.predict_time([[-2.0]]))
    True

    Two causes; the feature drives one of them:

    >>> time = np.stack([rng.exponential(np.exp(-X[:, 0])), rng.exponential(1.0, 200)])
    >>> y = Outcomes(time.min(axis=0), 1 + time.argmin(axis=0), causes=["relapse", "death"])
    >>> curves = DeepHit(epochs=30).fit(X, y).predict_incidence([[-2.0], [2.0]])
    >>> early, late = curves.at(1.0, "relapse")
    >>> bool(early < late)
    True
    """

    facts = FACTS["deephit"]

    bins: int | None = None
    hidden: Sequence[int] = (32, 32)
    keep: float = 0.8
    alpha: float = 0.1
    sigma: float = 0.5
    epochs: int = 200
    patience: int = 15
    weight_decay: float = 1e-2

    def _check(self) -> None:
        if self.bins is not None:
            whole_number(self.bins, "bins", 1)
        sizes("hidden", self.hidden)
        share(self.keep, "keep")
        positive(self.alpha, "alpha", zero=True)
        positive(self.sigma, "sigma")

    def _make_bins(self, y: Outcomes) -> Bins:
        return Bins.equal(y, self.bins)

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        widths = (inputs, *sizes("hidden", self.hidden))
        # Small weights at the end: everybody starts close to the Kaplan-Meier curve.
        start = self.bins_.marginal(y)
        last = linear(widths[-1] + inputs, start.size, draw, bias=start, scale=0.1)
        return nn.ModuleList([*chain(widths, draw), last])

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        logits = self._logits(net, batch["x"], draw if learning else None)
        loss = negative_log_likelihood(logits, batch, len(self.causes_))
        return loss + self.alpha * ranking_loss(logits, batch, self.sigma, len(self.causes_))

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        self.causes_ = y.causes or ("1",)
        cause = {} if y.cause is None else {"cause": y.cause.astype(np.int64) - 1}
        return {**super()._targets(y), **cause}

    def _logits(self, net: nn.Module, x: Tensor, draw: torch.Generator | None = None) -> Tensor:
        *layers, last = net.children()
        return last(torch.cat([through(layers, x, self.keep, draw), x], dim=1))

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        if len(self.causes_) == 1:
            return super()._predict_curves(X)
        return self._predict_incidence(X).survival()

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        shares = probabilities(self._scores(X))[:, :-1]
        values = np.cumsum(shares.reshape(len(X), len(self.causes_), -1), axis=2)
        return IncidenceCurves(self.bins_.edges[1:], values, self.causes_)


def ranking_loss(logits: Tensor, batch: Batch, sigma: float, causes: int = 1) -> Tensor:
    """Penalise pairs whose earlier event was not the likelier one by then; zero without pairs."""
    k, cause = cells(logits, causes)
    shares = passed(k, batch)
    if causes > 1:  # the incidence of the cause of i
        shares = shares * (cause == batch["cause"][:, None])
    by_then = shares @ logits.softmax(1).T  # F(t_i | x_j)
    when = batch["bin"] + batch["part"]
    pair = (when[:, None] < when) & batch["event"][:, None]
    excess = torch.exp((by_then - by_then.diagonal()[:, None]) / sigma)
    return (excess * pair).sum() / pair.sum().clamp(min=1)
