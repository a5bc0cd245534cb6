"""DeepHit, for one kind of event or several causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...._tools.arrays import Floats, positive, whole_number
from ....data.curves import SurvivalCurves
from ....data.incidence import IncidenceCurves
from ....data.outcomes import Outcomes
from ..registry import FACTS
from .binned import BinnedModel, Bins, cells, negative_log_likelihood, passed, probabilities
from .training import Batch, chain, linear, share, sizes, through


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
    Curves are linear between edges. Past the last one they go on along the line from (0, 1), so
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

    Two causes, of which the feature drives one:

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
        logits = scores(net, batch["x"], self.keep, draw if learning else None)
        loss = negative_log_likelihood(logits, batch, len(self.causes_))
        return loss + self.alpha * ranking_loss(logits, batch, self.sigma, len(self.causes_))

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        self.causes_ = y.causes or ("1",)
        cause = {} if y.cause is None else {"cause": y.cause.astype(np.int64) - 1}
        return {**super()._targets(y), **cause}

    def _logits(self, x: Tensor) -> Tensor:
        return scores(self.net_, x)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        if len(self.causes_) == 1:
            return super()._predict_curves(X)
        return self._predict_incidence(X).survival()

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        shares = probabilities(self._scores(X))[:, :-1]
        values = np.cumsum(shares.reshape(len(X), len(self.causes_), -1), axis=2)
        return IncidenceCurves(self.bins_.edges[1:], values, self.causes_)


def scores(
    net: nn.Module, x: Tensor, keep: float = 1.0, draw: torch.Generator | None = None
) -> Tensor:
    """Scores of the bins, with dropout if there is a generator for it."""
    *layers, last = net.children()
    return last(torch.cat([through(layers, x, keep, draw), x], dim=1))


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
