"""What is simulated: Weibull times from four features, censoring of five kinds, three models."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

import survgauge as sg

SHAPE, SCALE = 1.5, 10.0
EFFECTS = np.array([0.4, -0.3, 0.2, 0.1])
#: Points of all predicted curves: dense where curves bend, past everybody's follow-up and median.
GRID = np.concatenate((45 * np.linspace(0, 1, 76) ** 1.6, np.linspace(55, 150, 12)))
#: Spread of what the twin models add to the true log scale.
TWIN_NOISE = 0.3
#: Spread of what members of a hospital have in common, on the log scale of time.
FRAILTY = 0.4


@dataclass(frozen=True)
class Censoring:
    """Exponential drop-out and staggered entry; the horizon and time that go with it."""

    name: str
    mean: float
    low: float
    high: float
    #: Drop-out is exp(dependence * first feature) times as fast; that feature prolongs life.
    dependence: float
    tau: float
    time: float


CENSORING = {
    c.name: c
    for c in (
        Censoring("30i", 31.84, 10.0, 40.0, 0.0, 20.0, 6.0),
        Censoring("60i", 9.78, 3.0, 25.0, 0.0, 10.0, 4.0),
        Censoring("80i", 4.32, 1.5, 12.0, 0.0, 5.0, 2.5),
        Censoring("60d", 9.39, 3.0, 25.0, 0.7, 10.0, 4.0),
        Censoring("80d", 3.46, 1.5, 12.0, 0.7, 5.0, 2.5),
    )
}


@dataclass(frozen=True)
class Sample:
    """Subjects with features, true scale, event time, censoring time, and noise for models."""

    x: np.ndarray
    scale: np.ndarray
    event_time: np.ndarray
    censoring_time: np.ndarray
    noise: np.ndarray

    @property
    def y(self) -> sg.Outcomes:
        """What is observed."""
        t, c = self.event_time, self.censoring_time
        return sg.Outcomes(np.minimum(t, c), t <= c)

    @property
    def known(self) -> sg.Outcomes:
        """What would be observed without censoring."""
        return sg.Outcomes(self.event_time, np.ones(self.event_time.size, dtype=bool))

    def __getitem__(self, rows: np.ndarray) -> Sample:
        parts = (self.x, self.scale, self.event_time, self.censoring_time, self.noise)
        return Sample(*(part[rows] for part in parts))


def stream(seed: int, name: str) -> np.random.Generator:
    """Random numbers that belong to a name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def draw(
    rng: np.random.Generator,
    n: int,
    censoring: Censoring,
    *,
    strength: float = 1.0,
    frailty: np.ndarray | float = 0.0,
    shared: np.ndarray | None = None,
) -> Sample:
    """Draw subjects; `shared` is the part of the first feature that hospitals have in common."""
    x = rng.normal(size=(n, EFFECTS.size))
    if shared is not None:
        x[:, 0] = np.sqrt(0.5) * (x[:, 0] + shared)
    scale = SCALE * np.exp(strength * (x @ EFFECTS))
    event_time = scale * np.exp(frailty) * rng.weibull(SHAPE, n)
    left = rng.exponential(censoring.mean, n) * np.exp(-censoring.dependence * x[:, 0])
    closed = rng.uniform(censoring.low, censoring.high, n)
    return Sample(x, scale, event_time, np.minimum(left, closed), rng.normal(size=(n, 2)))


def training_set(seed: int, censoring: Censoring, size: int, k: int) -> sg.Reference:
    """Return the k-th reference set of a kind, the same for all who ask."""
    rng = stream(seed, f"train {censoring.name} {size} {k}")
    return sg.Reference(draw(rng, size, censoring).y)


def scale_of(sample: Sample, model: str) -> np.ndarray:
    """Return the scale that a model predicts.

    "twin a" and "twin b" add noise of their own to the truth, so that they are equally good by
    every metric; "late" says that everything takes 25 % longer.
    """
    if model == "true":
        return sample.scale
    if model == "late":
        return 1.25 * sample.scale
    return sample.scale * np.exp(TWIN_NOISE * sample.noise[:, "ab".index(model[-1])])


def curves(scale: np.ndarray) -> sg.SurvivalCurves:
    """Return Weibull curves of these scales on the grid."""
    return sg.SurvivalCurves(GRID, np.exp(-((GRID / scale[:, None]) ** SHAPE)))


def predictions(sample: Sample, *models: str) -> dict[str, sg.SurvivalCurves]:
    """Return the curves of several models."""
    return {model: curves(scale_of(sample, model)) for model in models}
