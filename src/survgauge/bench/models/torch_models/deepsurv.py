"""DeepSurv: a network in place of the linear predictor of Cox's model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...._tools.arrays import Floats
from ....data.curves import SurvivalCurves
from ....data.outcomes import Outcomes
from ....estimators.learners.trees import BaselineHazard, hazard_curves, step_times
from ..registry import FACTS
from .training import Batch, TorchModel, chain, linear, share, sizes, through


@dataclass(eq=False, repr=False, kw_only=True)
class DeepSurv(TorchModel):
    r"""DeepSurv: :math:`S(t \mid x) = \exp(-H_0(t) e^{f(x)})` with a network f.

    The network minimises Cox's negative partial log-likelihood in each batch, among whose rows the
    risk sets are made; Breslow's baseline of all training rows gives curves.

    Parameters
    ----------
    hidden : sequence of int
        Widths of the hidden layers.
    keep : float
        Probability of keeping a unit in dropout.
    epochs, patience, batch_size, learning_rate, weight_decay, validation_fraction, device
        Of the training; see `TorchModel`.
    random_state : int or None
        Seed.
    verbose : bool
        Progress on standard error.

    References
    ----------
    J. Katzman, U. Shaham, A. Cloninger, J. Bates, T. Jiang, Y. Kluger. DeepSurv: personalized
    treatment recommender system using a Cox proportional hazards deep neural network. BMC Medical
    Research Methodology 18, 2018.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> model = DeepSurv(epochs=30).fit(X, (np.exp(X[:, 0] + rng.normal(size=200)), np.ones(200)))
    >>> bool(model.predict_time([[2.0]]) > model.predict_time([[-2.0]]))
    True
    """

    facts = FACTS["deepsurv"]

    hidden: Sequence[int] = (32, 32)
    keep: float = 0.8
    epochs: int = 200
    patience: int = 15
    batch_size: int = 256
    weight_decay: float = 1e-2

    def _check(self) -> None:
        sizes("hidden", self.hidden)
        share(self.keep, "keep")

    def _fit(self, X: Floats, y: Outcomes) -> None:
        super()._fit(X, y)
        self.times_ = step_times(y)
        self.log_hazard_ = BaselineHazard(y).stepped(self._score(X), self.times_)

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        # Ranks: single precision would merge times.
        return {"rank": np.unique(y.time, return_inverse=True)[1].reshape(-1), "event": y.event}

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        widths = (inputs, *sizes("hidden", self.hidden))
        # Small weights at the end: everybody starts close to the Kaplan-Meier curve.
        return nn.ModuleList([*chain(widths, draw), linear(widths[-1], 1, draw, scale=0.1)])

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        score = scores(net, batch["x"], self.keep, draw if learning else None)
        return partial_loss(score, batch["rank"], batch["event"])

    def _score(self, X: Floats) -> Floats:
        return self._apply(X, lambda x: scores(self.net_, x))

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._score(X), self.times_, self.log_hazard_)


def scores(
    net: nn.Module, x: Tensor, keep: float = 1.0, draw: torch.Generator | None = None
) -> Tensor:
    """Log hazards, (rows,), with dropout if there is a generator for it."""
    *layers, last = net.children()
    return last(through(layers, x, keep, draw)).squeeze(1)


def partial_loss(score: Tensor, rank: Tensor, event: Tensor) -> Tensor:
    """Cox's negative partial log-likelihood per event, Breslow's for ties; zero without events."""
    at_risk = rank[None, :] >= rank[:, None]
    total = torch.where(at_risk, score[None, :], -torch.inf).logsumexp(1)
    return ((total - score) * event).sum() / event.sum().clamp(min=1)
