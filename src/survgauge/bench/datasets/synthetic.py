"""A scenario of several causes made up from nothing: Weibull hazards given features, all known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, frozen, numbers, positive, vector, whole_number
from ..._tools.random import check_seed, stream
from ..._tools.running import BLOCK_VALUES, chunks
from ...data.causes import cause_names
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError

#: Nodes of Gauss and Legendre between two times of a grid.
_NODES = 12
#: Fewest pieces of the way from 0 to the last time, and a cumulative hazard that nobody outlives.
_PIECES, _NOBODY_LEFT = 8, 50.0
#: Effects of four features on two causes: one each of its own, one of both, one of none.
_EFFECTS = ((0.8, 0.0, 0.5, 0.0), (0.0, 0.8, -0.5, 0.0))


@dataclass(frozen=True, eq=False)
class SyntheticCauses:
    r"""Subjects whose hazard of each cause is known: :math:`r_{ik} (a_k/b_k) (t/b_k)^{a_k - 1}`.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features.
    y : Outcomes
        Time and cause of the first event of every subject; nobody is censored.
    shapes, scales : ndarray of shape (causes,)
        Of the Weibull hazards, :math:`a_k` and :math:`b_k`.
    ratios : ndarray of shape (n, causes)
        Hazard ratios :math:`r_{ik}`.
    random_state : int
        The seed.
    """

    X: Floats
    y: Outcomes
    shapes: Floats
    scales: Floats
    ratios: Floats
    random_state: int

    def __len__(self) -> int:
        return len(self.y)

    def incidence(self, times: Any) -> IncidenceCurves:
        r"""True incidence of every subject and cause at `times`.

        :math:`F_{ik}(t) = \int_0^{H_{ik}(t)} \exp(-\sum_j H_{ij}(u_{ik}(v))) dv` with
        :math:`u_{ik}` the inverse of the cumulative hazard :math:`H_{ik}`, by Gauss-Legendre.
        """
        grid = np.unique(vector(times, "times", minimum=0.0))
        values = np.empty((len(self), self.shapes.size, grid.size))
        size = max(1, BLOCK_VALUES // (max(grid.size, _PIECES) * _NODES))
        for rows in chunks(len(self), size=size):
            for k in range(self.shapes.size):
                values[rows, k] = self._of_cause(k, self.ratios[rows], grid)
        return IncidenceCurves(grid, values, self.y.causes)

    def _of_cause(self, k: int, ratios: Floats, grid: Floats) -> Floats:
        """Incidence of cause k at the times of a grid, (rows, times)."""
        hazard = ratios[:, k, None] * (grid / self.scales[k]) ** self.shapes[k]
        # In the fourth root of the hazard, in which other hazards have no corner at 0.
        ends = np.minimum(hazard, _NOBODY_LEFT) ** 0.25
        starts = np.concatenate((np.zeros((len(ends), 1)), ends[:, :-1]), axis=1)
        pieces = -(-_PIECES // grid.size)
        cuts = starts[:, :, None] + (ends - starts)[:, :, None] * np.arange(pieces + 1) / pieces
        starts, ends = (part.reshape(len(ratios), -1) for part in (cuts[..., :-1], cuts[..., 1:]))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = (ends - starts)[:, :, None] / 2
        root = starts[:, :, None] + half * (1.0 + nodes)
        time = (root**4 / ratios[:, k, None, None]) ** (1.0 / self.shapes[k])
        total = sum(
            ratios[:, j, None, None] * (time * self.scales[k] / self.scales[j]) ** self.shapes[j]
            for j in range(self.shapes.size)
        )
        parts = (half * 4.0 * root**3 * np.exp(-np.asarray(total)) * weights).sum(axis=2)
        return np.asarray(np.cumsum(parts, axis=1)[:, pieces - 1 :: pieces])

    def __repr__(self) -> str:
        return f"SyntheticCauses({self.y!r}, {self.X.shape[1]} features)"


def synthetic_causes(
    n: int,
    random_state: int | None = 0,
    *,
    shapes: Any = (1.5, 0.8),
    scales: Any = (10.0, 14.0),
    effects: Any | Callable[[Floats], Any] = _EFFECTS,
    causes: Sequence[str] | None = None,
    features: int | None = None,
) -> SyntheticCauses:
    r"""Subjects of several causes with known hazards, times, causes and incidence curves.

    Features are independent standard normal numbers. The hazard of cause k of subject i is
    Weibull's, :math:`r_{ik} (a_k/b_k) (t/b_k)^{a_k - 1}`, with the logarithm of :math:`r_{ik}` a
    function of the features. Nobody is censored: `semisynthetic` does that.

    Parameters
    ----------
    n : int
        Number of subjects.
    random_state : int or None
        Seed; None draws one and records it. Features and the times of each cause have streams of
        their own.
    shapes, scales : array-like of shape (causes,)
        :math:`a_k` and :math:`b_k`.
    effects : array-like of shape (causes, p), or callable
        Log hazard ratios per unit of each feature; or a function of the features, (n, p), that
        returns log hazard ratios, (n, causes).
    causes : sequence of str, optional
        Names of the causes.
    features : int, optional
        How many features there are, where `effects` is a function; 4 by default.

    Examples
    --------
    >>> scenario = synthetic_causes(500, random_state=1, causes=["relapse", "death"])
    >>> scenario
    SyntheticCauses(Outcomes(n=500, relapse=251, death=249, last time=28.1952), 4 features)
    >>> round(float(scenario.incidence([5, 10, 20]).at(10, "relapse").mean()), 3)
    0.406
    """
    whole_number(n, "n", 1)
    seed = check_seed(random_state)
    shape, scale = (_positive(v, name) for v, name in ((shapes, "shapes"), (scales, "scales")))
    if shape.size != scale.size or shape.size < 2:
        raise InputError(
            "shapes and scales must have one number per cause, of two causes or more; got "
            f"{shape.size} and {scale.size}"
        )
    names = None if causes is None else cause_names(causes, shape.size)
    linear = None if callable(effects) else numbers(effects, "effects", ndim=2).astype(np.float64)
    width = (4 if features is None else features) if linear is None else linear.shape[1]
    X = stream(seed, "features").normal(size=(n, whole_number(width, "features", 1)))
    ratios = np.exp(_log_ratios(effects if linear is None else linear, X, shape.size))
    latent = np.empty((n, shape.size))
    for k in range(shape.size):
        amount = stream(seed, "events", k + 1).exponential(size=n)
        latent[:, k] = scale[k] * (amount / ratios[:, k]) ** (1.0 / shape[k])
    labels = names or tuple(map(str, range(1, shape.size + 1)))
    y = Outcomes(latent.min(axis=1), 1 + latent.argmin(axis=1), causes=labels)
    return SyntheticCauses(frozen(X), y, frozen(shape), frozen(scale), frozen(ratios), seed)


def _positive(values: Any, name: str) -> Floats:
    found = np.array(vector(values, name))
    for value in found:
        positive(float(value), name)
    return found


def _log_ratios(effects: Any, X: Floats, causes: int) -> Floats:
    found = np.asarray(effects(X) if callable(effects) else X @ effects.T, dtype=np.float64)
    if found.shape != (len(X), causes) or not np.isfinite(found).all():
        raise InputError(
            f"effects must give finite log hazard ratios of {causes} causes, one row per cause or "
            f"one column per cause of what a function returns; got shape {found.shape}"
        )
    return found
