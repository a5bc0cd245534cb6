"""Multi-task logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..._tools.arrays import positive, whole_number
from ...data.outcomes import Outcomes
from .._training import Batch, linear
from ..facts import FACTS
from ._bins import BinnedModel, Bins, negative_log_likelihood


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
    Curves are linear between edges. Past the last one they go on along the line from (0, 1), so
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
        loss = negative_log_likelihood(scores(net, batch["x"]), batch)
        if not learning:
            return loss
        theta = net.get_parameter("weight")
        penalty = self.l2 * theta.square().sum()
        penalty = penalty + self.smoothness * theta.diff(dim=0).square().sum()
        return loss + penalty / (2 * self._rows)

    def _logits(self, x: Tensor) -> Tensor:
        return scores(self.net_, x)


def scores(net: nn.Module, x: Tensor) -> Tensor:
    """Sum the regressions of later edges; the open bin has score zero."""
    later = net(x).flip(1).cumsum(1).flip(1)
    return torch.cat([later, torch.zeros_like(later[:, :1])], dim=1)
