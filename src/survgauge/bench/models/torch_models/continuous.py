"""Networks in continuous time: DeepSurv, a mixture density network, survival cluster analysis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, ndtr
from torch import Tensor, nn

from ...._tools.arrays import Floats, positive, whole_number
from ....data.curves import SurvivalCurves
from ....data.outcomes import Outcomes
from ....estimators.kaplan_meier import KaplanMeier
from ....estimators.learners.trees import REACH, BaselineHazard, far_grid, hazard_curves, step_times
from ..registry import FACTS
from .training import (
    Batch,
    TorchModel,
    add_noise,
    chain,
    drop,
    generator,
    linear,
    share,
    sizes,
    tensor,
    through,
)


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
        score = self._log_hazard(net, batch["x"], draw if learning else None)
        return partial_loss(score, batch["rank"], batch["event"])

    def _score(self, X: Floats) -> Floats:
        return self._apply(X, lambda x: self._log_hazard(self.net_, x))

    def _log_hazard(self, net: nn.Module, x: Tensor, draw: torch.Generator | None = None) -> Tensor:
        """Log hazards, (rows,), with dropout if there is a generator for it."""
        *layers, last = net.children()
        return last(through(layers, x, self.keep, draw)).squeeze(1)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._score(X), self.times_, self.log_hazard_)


def partial_loss(score: Tensor, rank: Tensor, event: Tensor) -> Tensor:
    """Cox's negative partial log-likelihood per event, Breslow's for ties; zero without events."""
    at_risk = rank[None, :] >= rank[:, None]
    total = torch.where(at_risk, score[None, :], -torch.inf).logsumexp(1)
    return ((total - score) * event).sum() / event.sum().clamp(min=1)


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


# Levels of the Kaplan-Meier curve at which predicted survival is compared with it.
_LEVELS = 50
_BLOCK_VALUES = 2_000_000
# Times drawn for a row in a training step.
_COPIES = 9
_TINY = 1e-12


@dataclass(eq=False, repr=False, kw_only=True)
class SCA(TorchModel):
    r"""Survival cluster analysis: clusters in a latent space, times drawn from a decoder.

    An encoder takes features to :math:`z`, on which lies a Dirichlet process mixture truncated at
    K components: :math:`\pi_k = v_k \prod_{j<k} (1 - v_j)`, Student kernels around centres
    :math:`\mu_k`. A decoder turns z and noise :math:`\epsilon`, fed to each of its layers, into a
    time; many draws of the noise make the predicted distribution. The loss is

    .. math::
        \ell_{time} + \lambda_1 \ell_{KM} + \lambda_2 \ell_{cluster}

    - time: :math:`|t_i - \hat t_i|` for events, :math:`\max(0, t_i - \hat t_i)` for censored rows,
      in units of the mean time, with :math:`\hat t_i` the median of a few draws;
    - KM: the mean distance between the Kaplan-Meier curve and the survival of the batch's drawn
      times, whose indicator is smoothed by a logistic function of log time;
    - cluster: :math:`-\log \sum_k \pi_k\, t_\nu(z_i - \mu_k)` per latent dimension, and the
      Beta(1, c) prior of the sticks.

    Parameters
    ----------
    components : int
        Most clusters, K.
    hidden : sequence of int
        Widths of the hidden layers, of the encoder and of the decoder.
    latent : int
        Dimensions of z.
    keep : float
        Probability of keeping a unit in dropout, in training and in drawing times.
    samples : int
        Times drawn for a predicted distribution.
    calibration, clustering : float
        Weights :math:`\lambda_1` and :math:`\lambda_2`.
    concentration : float
        c; larger means more clusters.
    bandwidth : float
        Width of the smoothed indicator, in log time.
    epochs, patience, batch_size, learning_rate, weight_decay, validation_fraction, device
        Of the training; see `TorchModel`.
    random_state : int or None
        Seed.
    verbose : bool
        Progress on standard error.

    Notes
    -----
    Compared draw by draw, as in the paper, absolute errors are least without any noise, and
    distributions come out far too narrow; the median of several draws leaves the spread to the
    agreement with Kaplan-Meier.

    Noise and dropout of the `samples` draws are the same for all subjects, so a prediction does
    not depend on which rows are predicted with it. Times lie between 0 and 10 times the last
    observed one, where curves end at zero: medians are finite.

    References
    ----------
    P. Chapfuwa, C. Li, N. Mehta, L. Carin, R. Henao. Survival cluster analysis. ACM Conference on
    Health, Inference, and Learning 2020.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = np.exp(X[:, 0] + 0.5 * rng.normal(size=200)), np.ones(200)
    >>> model = SCA(epochs=30).fit(X, y)
    >>> bool(model.predict_time([[2.0]]) > model.predict_time([[-2.0]]))
    True
    """

    facts = FACTS["sca"]

    components: int = 25
    hidden: Sequence[int] = (50, 50, 50)
    latent: int = 10
    keep: float = 0.8
    samples: int = 200
    calibration: float = 3.0
    clustering: float = 0.01
    concentration: float = 2.0
    bandwidth: float = 0.1
    batch_size: int = 256

    def _check(self) -> None:
        for name in ("components", "latent", "samples"):
            whole_number(getattr(self, name), name, 1)
        sizes("hidden", self.hidden)
        share(self.keep, "keep")
        for name in ("calibration", "clustering"):
            positive(getattr(self, name), name, zero=True)
        positive(self.concentration, "concentration")
        positive(self.bandwidth, "bandwidth")

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        self._unit = float(y.time.mean()) or 1.0
        self._reach = REACH * (float(y.time.max()) or 1.0) / self._unit
        self._rows = len(y)
        self.grid_ = far_grid(y)
        km = KaplanMeier.fit(y)
        inside = (km.times > 0) & (km.times <= y.time.max())
        times = km.times[inside] if inside.any() else np.array([self._unit])
        # Few of many steps, evenly spaced in probability.
        level = km.at(times)
        wanted = np.linspace(level[0], level[-1], min(_LEVELS, times.size))
        chosen = np.unique(np.searchsorted(-level, -wanted).clip(max=times.size - 1))
        device = torch.device("cpu")
        self._km = tensor(np.log(times[chosen] / self._unit), device), tensor(level[chosen], device)
        return {"time": y.time / self._unit, "event": y.event}

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        widths = sizes("hidden", self.hidden)
        entering = (self.latent, *widths[:-1])
        # Each layer of the decoder gets as many columns of noise as of signal.
        decoder = [linear(2 * a, b, draw) for a, b in zip(entering, widths, strict=True)]
        middle = min(max(KaplanMeier.fit(y).median() / self._unit, 1e-3), 0.5 * self._reach)
        start = math.log(middle / (self._reach - middle))
        real: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
        centres = torch.randn(self.components, self.latent, generator=draw, **real)
        return nn.ModuleDict(
            {
                "encoder": nn.ModuleList(chain((inputs, *widths, self.latent), draw)),
                "decoder": nn.ModuleList([*decoder, linear(widths[-1], 1, draw, bias=start)]),
                "mixture": nn.ParameterDict(
                    {"centres": centres, "sticks": torch.zeros(self.components - 1, **real)}
                ),
            }
        )

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        z = encode(net, batch["x"], self.keep, draw if learning else None)
        times = decode(net, z, _COPIES, self.keep, draw) * self._reach
        gap = batch["time"] - times.median(0).values
        loss = torch.where(batch["event"], gap.abs(), gap.clamp(min=0)).mean()
        loss = loss + self.calibration * self._distance(times)
        return loss + self.clustering * self._cluster_loss(net, z)

    def _distance(self, times: Tensor) -> Tensor:
        """Distance between the survival of drawn times and the Kaplan-Meier curve."""
        points, level = (values.to(times.device) for values in self._km)
        ahead = (times.clamp(min=_TINY).log().reshape(-1, 1) - points) / self.bandwidth
        return (ahead.sigmoid().mean(0) - level).abs().mean()

    def _cluster_loss(self, net: nn.Module, z: Tensor) -> Tensor:
        kernel, sticks = kernels(net, z)
        # log(1 - v) of every stick: the exponent c - 1 of the Beta(1, c) density.
        prior = (self.concentration - 1.0) * nn.functional.logsigmoid(-sticks).sum() / self._rows
        return -(kernel.logsumexp(1).mean() + prior) / z.shape[1]

    def _samples(self, X: Floats) -> Floats:
        def draw_times(x: Tensor) -> Tensor:
            # The same noise for every block: a subject's draws do not depend on its place.
            draw, z = generator(self._stream("samples")), encode(self.net_, x)
            return decode(self.net_, z, self.samples, self.keep, draw, shared=1).T

        widest = 2 * max(self.latent, *sizes("hidden", self.hidden))
        rows = max(1, _BLOCK_VALUES // (self.samples * widest))
        return self._apply(X, draw_times, rows) * (self._reach * self._unit)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = np.empty((X.shape[0], self.grid_.size))
        rows = max(1, _BLOCK_VALUES // self.samples)
        for start in range(0, X.shape[0], rows):
            block = slice(start, start + rows)
            survival[block] = share_after(self._samples(X[block]), self.grid_)
        return SurvivalCurves(self.grid_, survival)


def share_after(samples: Floats, times: Floats) -> Floats:
    """Share of each row's samples that are later than each of the sorted times: (n, m).

    >>> share_after(np.array([[1.0, 2.0, 2.0, 5.0]]), np.array([0.0, 2.0, 4.0]))
    array([[1.  , 0.25, 0.25]])
    """
    n, size = samples.shape
    width = times.size + 1
    place = np.searchsorted(times, samples, "left") + width * np.arange(n, dtype=np.intp)[:, None]
    count = np.bincount(place.ravel(), minlength=n * width).reshape(n, width)
    return 1.0 - np.cumsum(count[:, :-1], axis=1) / size


def encode(
    net: nn.Module, x: Tensor, keep: float = 1.0, draw: torch.Generator | None = None
) -> Tensor:
    """Latent place of every row, (n, latent); with dropout if there is a generator for it."""
    *layers, last = net.get_submodule("encoder").children()
    return last(through(layers, x, keep, draw))


def decode(
    net: nn.Module,
    z: Tensor,
    copies: int,
    keep: float,
    draw: torch.Generator,
    shared: int | None = None,
) -> Tensor:
    """Draw `copies` times for every row, as shares of the reach: (copies, n).

    Every row has noise of its own, or with ``shared=1`` all rows that of their copy.
    """
    *layers, last = net.get_submodule("decoder").children()
    h = z.expand(copies, *z.shape)
    for layer in layers:
        h = drop(torch.relu(layer(add_noise(h, draw, shared))), keep, draw, shared)
    # Held where a sigmoid in float32 is not yet zero: drawn times are positive.
    return last(h).clamp(min=-20.0).sigmoid().squeeze(2)


def kernels(net: nn.Module, z: Tensor) -> tuple[Tensor, Tensor]:
    """Log of weight times Student kernel (one degree of freedom), (n, K); and the sticks."""
    sticks = net.get_parameter("mixture.sticks")
    remaining = nn.functional.logsigmoid(-sticks).cumsum(0)
    log_pi = nn.functional.logsigmoid(sticks)
    log_pi = torch.cat([log_pi, log_pi.new_zeros(1)])
    log_pi = log_pi + torch.cat([log_pi.new_zeros(1), remaining])
    centres = net.get_parameter("mixture.centres")
    distance = (z[:, None, :] - centres).square().sum(2)
    return log_pi - 0.5 * (1.0 + z.shape[1]) * distance.log1p(), sticks
