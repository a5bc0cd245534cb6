"""What is simulated: a scenario is one small record, from which subjects and models are drawn."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

import survgauge as sg

Array = np.ndarray
#: Effects of five normal features on the logarithm of time; the last one has none.
EFFECTS = np.array([0.5, -0.4, 0.3, 0.2, 0.0])
SCALE = 10.0
CAUSES = ("relapse", "death")
#: Spread of what equally good models add to the true log scale.
EQUAL_NOISE = 0.3
LATE = 1.3
#: Drop-out is exp(this times a standard normal score of the features) times as fast.
DEPENDENCE = {"independent": 0.0, "moderate": 0.4, "strong": 0.8}
#: Correlation of the members of a cluster: normal scores of their times given the features.
CORRELATION = 0.2


def _cured(x: Array) -> Array:
    return np.asarray(expit(-1.2 + 0.8 * (x @ EFFECTS)))


def _shape(x: Array) -> Array:
    """Hazards of the two signs of the first feature cross."""
    return np.where(x[..., 0] > 0, 2.2, 0.8)


def _cure_inverse(u: Array, x: Array) -> Array:
    share = _cured(x)
    left = np.clip((u - share) / (1 - share), 1e-300, None)
    return np.where(u <= share, np.inf, (-np.log(left)) ** (1 / 1.5))


#: Survival at a multiple of the scale given the features, and its inverse.
HAZARDS: dict[str, tuple[Callable[[Array, Array], Array], Callable[[Array, Array], Array]]] = {
    "weibull": (lambda r, x: np.exp(-(r**1.5)), lambda u, x: (-np.log(u)) ** (1 / 1.5)),
    #: Almost determined by the features: concordance close to one.
    "sharp": (lambda r, x: np.exp(-(r**8)), lambda u, x: (-np.log(u)) ** (1 / 8)),
    "lognormal": (
        lambda r, x: ndtr(-np.log(np.maximum(r, 1e-300)) / 0.8),
        lambda u, x: np.exp(-0.8 * ndtri(u)),
    ),
    "loglogistic": (lambda r, x: 1 / (1 + r**2), lambda u, x: np.sqrt(1 / u - 1)),
    "cure": (lambda r, x: _cured(x) + (1 - _cured(x)) * np.exp(-(r**1.5)), _cure_inverse),
    "crossing": (
        lambda r, x: np.exp(-(r ** _shape(x))),
        lambda u, x: (-np.log(u)) ** (1 / _shape(x)),
    ),
}


@dataclass(frozen=True)
class Scenario:
    """All that tells one simulated study from another."""

    hazard: str = "weibull"
    censoring: str = "independent"
    #: Percent of subjects censored, before any selection by entry.
    share: int = 50
    n: int = 800
    #: Whether `evaluate` gets the features.
    features: bool = False
    causes: int = 1
    entry: bool = False
    clusters: int = 0
    weights: bool = False

    @property
    def column(self) -> str:
        """Percent censored and how: 50i, 50m, 50s."""
        return f"{self.share}{self.censoring[0]}"

    @property
    def name(self) -> str:
        """Return what tells it from the others, fit for a file."""
        more = {
            "features": self.features, "causes": self.causes > 1, "entry": self.entry,
            f"clusters{self.clusters}": self.clusters, "weights": self.weights,
        }  # fmt: skip
        return "-".join([self.hazard, self.column, str(self.n), *(k for k, v in more.items() if v)])

    @property
    def population(self) -> Scenario:
        """The same without what leaves the true values alone: size, features, clusters, weights."""
        return replace(self, n=0, features=False, clusters=0, weights=False)


@dataclass(frozen=True)
class Setting:
    """What follows from a scenario: censoring, horizon and time of interest."""

    mean: float
    end: float
    tau: float
    time: float

    @property
    def grid(self) -> Array:
        """Points of all predicted curves: dense where curves bend, on past the last follow-up."""
        end = self.end
        return np.concatenate((end * np.linspace(0, 1, 81) ** 1.5, end * np.linspace(1.3, 6, 12)))


@dataclass(frozen=True)
class Sample:
    """Subjects whose event and censoring times are both known."""

    scenario: Scenario
    x: Array
    event_time: Array
    cause: Array
    censoring_time: Array
    entry: Array
    cluster: Array
    weight: Array
    noise: Array

    def __getitem__(self, rows: Array) -> Sample:
        parts = {k: v[rows] for k, v in vars(self).items() if k != "scenario"}
        return replace(self, **parts)

    @property
    def y(self) -> sg.Outcomes:
        """What is observed."""
        t, c = self.event_time, self.censoring_time
        several = self.scenario.causes > 1
        return sg.Outcomes(
            np.minimum(t, c),
            np.where(t <= c, self.cause if several else 1, 0),
            causes=CAUSES if several else None,
            entry=self.entry if self.scenario.entry else None,
        )


def stream(seed: int, name: str) -> np.random.Generator:
    """Random numbers that belong to a name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _other_cause(t: Array, x: Array) -> Array:
    """Survival of the second cause."""
    return np.asarray(np.exp(-((t / _other_scale(x)) ** 1.2)))


def _other_scale(x: Array) -> Array:
    return 1.5 * SCALE * np.exp(0.3 * x[..., 3] - 0.3 * x[..., 0])


def survival(hazard: str, t: Array, x: Array) -> Array:
    """Survival of the first cause: one time per subject, or a grid against x[:, None]."""
    return np.asarray(HAZARDS[hazard][0](t / (SCALE * np.exp(x @ EFFECTS)), x))


def _times(rng: np.random.Generator, scenario: Scenario, x: Array, u: Array) -> tuple[Array, Array]:
    """Draw times of the first event, and their causes."""
    first = SCALE * np.exp(x @ EFFECTS) * HAZARDS[scenario.hazard][1](u, x)
    if scenario.causes == 1:
        return first, np.ones(len(x), dtype=int)
    second = _other_scale(x) * rng.weibull(1.2, len(x))
    return np.minimum(first, second), np.where(first <= second, 1, 2)


def score(x: Array) -> Array:
    """Return what dependent drop-out depends on; it prolongs life."""
    return (x[..., 0] - x[..., 1]) / np.sqrt(2)


def setting(scenario: Scenario) -> Setting:
    """Return censoring, horizon and time of a scenario."""
    return _setting(scenario.hazard, scenario.censoring, scenario.share, scenario.causes)


@cache
def _setting(hazard: str, censoring: str, share: int, causes: int) -> Setting:
    """Find the drop-out with which so many are censored, and a horizon that data can support.

    Follow-up ends when 95 % of those who are not cured have had their event. At the horizon at most
    70 % have, at least 12 % are still under observation, and all but 5 % of the subjects had a
    chance of at least 2 % not to be censored before.
    """
    rng, n = np.random.default_rng(0), 60_000
    scenario = Scenario(hazard, censoring, share, causes=causes)
    x, u = rng.normal(size=(n, EFFECTS.size)), rng.uniform(size=n)
    time = _times(rng, scenario, x, u)[0]
    end = float(np.quantile(time[np.isfinite(time)], 0.95))
    slower = np.exp(-DEPENDENCE[censoring] * score(x))
    left = rng.exponential(size=n) * slower

    def censored(log_mean: float) -> float:
        return float(np.mean(np.minimum(np.exp(log_mean) * left, end) < time)) - share / 100

    mean = float(np.exp(brentq(censored, np.log(1e-3 * end), np.log(1e4 * end), xtol=1e-4)))
    seen = np.minimum(time, mean * left)
    tau = min(
        float(np.quantile(time, 0.7)),
        float(np.quantile(seen, 0.88)),
        0.98 * end,
        mean * float(np.quantile(slower, 0.05)) * float(np.log(50)),
    )
    return Setting(mean, end, tau, float(np.quantile(time, 0.5 * np.mean(time <= tau))))


def draw(rng: np.random.Generator, scenario: Scenario, n: int) -> Sample:
    """Draw n subjects as the scenario's study would find them."""
    if scenario.entry:
        many = _drawn(rng, scenario, 6 * n)
        seen = np.minimum(many.event_time, many.censoring_time) > many.entry
        return many[np.flatnonzero(seen)[:n]]
    if scenario.weights:
        many = _drawn(rng, scenario, 6 * n)
        chance = 0.1 + 0.9 * expit(1.5 * many.x[:, 0])
        rows = np.flatnonzero(rng.uniform(size=chance.size) < chance)[:n]
        return replace(many[rows], weight=1 / chance[rows])
    return _drawn(rng, scenario, n)


def _drawn(rng: np.random.Generator, scenario: Scenario, n: int) -> Sample:
    at = setting(scenario)
    x, u = rng.normal(size=(n, EFFECTS.size)), rng.uniform(size=n)
    label = np.zeros(n, dtype=int)
    if scenario.clusters:
        # Members share half of the first feature and some of their luck; neither distribution
        # changes, so that true values are those without clusters.
        label = np.arange(n) % scenario.clusters
        shared = rng.normal(size=(2, scenario.clusters))[:, label]
        x[:, 0] = np.sqrt(0.5) * (x[:, 0] + shared[0])
        u = ndtr(np.sqrt(1 - CORRELATION) * ndtri(u) + np.sqrt(CORRELATION) * shared[1])
    time, cause = _times(rng, scenario, x, u)
    left = rng.exponential(at.mean, n) * np.exp(-DEPENDENCE[scenario.censoring] * score(x))
    late = rng.uniform(0, 0.6 * at.tau, n) * (rng.uniform(size=n) < 0.8) * scenario.entry
    noise = rng.normal(size=(n, 5))
    return Sample(
        scenario, x, time, cause, np.minimum(left, at.end), late, label, np.ones(n), noise
    )


def predict(sample: Sample, model: str) -> sg.SurvivalCurves | sg.IncidenceCurves:
    """Return the curves of a model.

    "right" has the true distribution; "late" says that everything takes 30 % longer; "wrong" takes
    the feature without effect for the strongest one. "equal 1" to "equal 5" add noise of their
    own to the true log scale, so that they are equally good by every metric.
    """
    x, slower = sample.x[:, None, :], np.ones((len(sample.x), 1))
    if model == "wrong":
        x = x[..., [4, 1, 2, 3, 0]]
    elif model == "late":
        slower = slower * LATE
    elif model != "right":
        slower = np.exp(EQUAL_NOISE * sample.noise[:, [int(model[-1]) - 1]])
    hazard, grid = sample.scenario.hazard, setting(sample.scenario).grid
    if sample.scenario.causes == 1:
        return sg.SurvivalCurves(grid, survival(hazard, grid / slower, x))
    fine = np.interp(np.arange(2 * grid.size - 1) / 2, np.arange(grid.size), grid)
    first = survival(hazard, fine / slower, x)
    middle = _other_cause((fine[1:] + fine[:-1]) / 2 / slower, x)
    rises = np.cumsum(middle * -np.diff(first, axis=1), axis=1)
    one = np.concatenate((np.zeros((len(rises), 1)), rises), axis=1)[:, ::2]
    both = 1 - first[:, ::2] * _other_cause(grid / slower, x)
    two = np.maximum.accumulate(np.maximum(both - one, 0), axis=1)
    return sg.IncidenceCurves(grid, np.stack([one, np.minimum(two, 1 - one)], axis=1), CAUSES)
