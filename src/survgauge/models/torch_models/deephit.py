"""DeepHit for a single risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..._tools.arrays import positive, whole_number
from ...data.outcomes import Outcomes
from .._training import Batch, linear
from ..facts import FACTS
from ._base import chain, share, sizes, through
from ._bins import BinnedModel, Bins, negative_log_likelihood, passed


@dataclass(eq=False, repr=False, kw_only=True)
class DeepHit(BinnedModel):
    r"""DeepHit: a network whose softmax is the distribution of the event over equal bins.

    The layers see the features once more before the output, as in the paper. With F the
    distribution function that the probabilities give, the loss is the negative log-likelihood
    plus :math:`\alpha` times the mean over pairs of

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
    medians are finite. Bins without an event get little probability, not none.

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
        last = linear(widths[-1] + inputs, len(self.bins_), draw, bias=start, scale=0.1)
        return nn.ModuleList([*chain(widths, draw), last])

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        logits = scores(net, batch["x"], self.keep, draw if learning else None)
        loss = negative_log_likelihood(logits, batch)
        return loss + self.alpha * ranking_loss(logits, batch, self.sigma)

    def _logits(self, x: Tensor) -> Tensor:
        return scores(self.net_, x)


def scores(
    net: nn.Module, x: Tensor, keep: float = 1.0, draw: torch.Generator | None = None
) -> Tensor:
    """Scores of the bins, with dropout if there is a generator for it."""
    *layers, last = net.children()
    return last(torch.cat([through(layers, x, keep, draw), x], dim=1))


def ranking_loss(logits: Tensor, batch: Batch, sigma: float) -> Tensor:
    """Penalise pairs whose earlier event was not the likelier one by then; zero without pairs."""
    by_then = passed(logits.shape[1], batch) @ logits.softmax(1).T  # F(t_i | x_j)
    when = batch["bin"] + batch["part"]
    pair = (when[:, None] < when) & batch["event"][:, None]
    excess = torch.exp((by_then - by_then.diagonal()[:, None]) / sigma)
    return (excess * pair).sum() / pair.sum().clamp(min=1)
