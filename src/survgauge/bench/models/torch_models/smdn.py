"""Survival mixture density network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, ndtr
from torch import Tensor, nn

from ...._tools.arrays import Floats, positive, whole_number
from ....data.curves import SurvivalCurves
from ....data.outcomes import Outcomes
from ....estimators.learners.trees import far_grid
from ..registry import FACTS
from .training import Batch, TorchModel, linear

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_BISECTIONS = 60


@dataclass(eq=False, repr=False, kw_only=True)
class SurvivalMDN(TorchModel):
    r"""Mixture density network: a mixture of Gaussians on the inverse softplus of time.

    With times in units of their mean, :math:`y = \log(e^t - 1)`, and a network that gives weights,
    means and deviations of K components,

    .. math::
        S(t | x) = \sum_k w_k(x)\, \Phi\Big(\frac{\mu_k(x) - y}{\sigma_k(x)}\Big), \qquad
        f(t | x) = \frac{1}{1 - e^{-t}} \sum_k \frac{w_k(x)}{\sigma_k(x)}
        \phi\Big(\frac{y - \mu_k(x)}{\sigma_k(x)}\Big).

    The loss is the mean of :math:`-\log f` over events and :math:`-\log S` over censored rows. The
    network is residual: :math:`h = Ax`, then :math:`h + \mathrm{relu}(Bh)`, then the three heads.

    Parameters
    ----------
    components : int
        Number of Gaussians.
    hidden : int
        Width of the hidden layer.
    min_deviation : float
        Smallest deviation, which keeps a component from closing in on a tied time.
    epochs, patience, batch_size, learning_rate, weight_decay, validation_fraction, device
        Of the training (by RMSprop); see `TorchModel`.
    random_state : int or None
        Seed.
    verbose : bool
        Progress on standard error.

    Notes
    -----
    `predict_time` is the median of the mixture itself, which lies between the least and the
    largest mean; means are held below 10 times the last observed time, so it is finite. Curves are
    the closed form on a grid of training times and beyond, up to the same limit.

    References
    ----------
    X. Han, M. Goldstein, R. Ranganath. Survival mixture density networks. Machine Learning for
    Healthcare 2022.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = np.exp(X[:, 0] + rng.normal(size=200)), np.ones(200)
    >>> model = SurvivalMDN(epochs=30).fit(X, y)
    >>> bool(model.predict_time([[2.0]]) > model.predict_time([[-2.0]]))
    True
    """

    facts = FACTS["smdn"]
    optimizer = "rmsprop"

    components: int = 15
    hidden: int = 15
    min_deviation: float = 0.05
    patience: int = 15

    def _check(self) -> None:
        whole_number(self.components, "components", 1)
        whole_number(self.hidden, "hidden", 1)
        positive(self.min_deviation, "min_deviation")

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        above = y.time[y.time > 0]
        self._unit = float(y.time.mean()) if above.size else 1.0
        # Time zero has no inverse softplus; it counts as half of the first time after it.
        self._least = 0.5 * float(above.min()) if above.size else 0.5
        self.grid_ = far_grid(y)
        self._most = float(self._real(self.grid_[-1]))
        scaled = np.maximum(y.time, self._least) / self._unit
        # The slope dy/dt belongs to the density, though no weight depends on it.
        return {"y": self._real(y.time), "slope": -np.log(-np.expm1(-scaled)), "event": y.event}

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        seen = self._real(y.time[y.event])
        k, h = self.components, self.hidden
        # Components start along the quantiles of the events, half as wide as all of them.
        means = np.quantile(seen, (np.arange(k) + 0.5) / k)
        width = max(0.5 * float(seen.std()) - self.min_deviation, 1e-3)
        return nn.ModuleDict(
            {
                "enter": linear(inputs, h, draw),
                "residual": linear(h, h, draw),
                "weight": linear(h, k, draw, scale=0.1),
                "mean": linear(h, k, draw, bias=means, scale=0.1),
                "deviation": linear(h, k, draw, bias=inverse_softplus(width), scale=0.1),
            }
        )

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        weight, mean, deviation = self._heads(net, batch["x"])
        z = (batch["y"][:, None] - mean) / deviation
        density = (weight - 0.5 * z.square() - _HALF_LOG_2PI - deviation.log()).logsumexp(1)
        surviving = (weight + torch.special.log_ndtr(-z)).logsumexp(1)
        return -torch.where(batch["event"], density + batch["slope"], surviving).mean()

    def _heads(self, net: nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log weights, means and deviations of the components."""
        layers = dict(net.named_children())
        h = layers["enter"](x)
        h = h + torch.relu(layers["residual"](h))
        deviation = nn.functional.softplus(layers["deviation"](h)) + self.min_deviation
        mean = layers["mean"](h).clamp(max=self._most)
        return layers["weight"](h).log_softmax(1), mean, deviation

    def _real(self, times: Any) -> Floats:
        """Times on the real line."""
        return inverse_softplus(np.maximum(times, self._least) / self._unit)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return SurvivalCurves(self.grid_, self._survival(X, self.grid_), tail="exponential")

    def _predict_time(self, X: Floats) -> Floats:
        weight, mean, deviation = self._mixture(X)
        low, high = mean.min(axis=1), mean.max(axis=1)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            above = (weight * ndtr((mean - middle[:, None]) / deviation)).sum(axis=1) > 0.5
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.logaddexp(0.0, 0.5 * (low + high)) * self._unit

    def _survival(self, X: Floats, times: Floats) -> Floats:
        weight, mean, deviation = self._mixture(X)
        out = np.empty((X.shape[0], times.size))
        # A column at a time, so that no array has rows, times and components at once.
        for j, point in enumerate(times):
            y = inverse_softplus(max(point, np.finfo(np.float64).tiny) / self._unit)
            out[:, j] = (weight * ndtr((mean - y) / deviation)).sum(axis=1)
        out[:, times <= 0] = 1.0
        return np.minimum(out, 1.0)

    def _mixture(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Weights, means and deviations, (n, components) each."""
        heads = self._apply(X, lambda x: torch.stack(self._heads(self.net_, x), dim=1))
        return np.exp(log_softmax(heads[:, 0], axis=1)), heads[:, 1], heads[:, 2]


def inverse_softplus(t: Any) -> Any:
    """Return log(exp(t) - 1), without overflow for large `t`."""
    return t + np.log(-np.expm1(-t))
