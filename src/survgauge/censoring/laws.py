"""How censoring times are drawn: each kind turns uniform numbers into times.

A law is its quantile function, so that whatever makes the uniform numbers dependent on the event
time (a copula) or stretches the times (a target rate) works for every kind alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from .._tools.places import look_up
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..reference.cox import CoxModel
from ..reference.kaplan_meier import KaplanMeier
from .features import design_matrix


@dataclass(frozen=True)
class BaseData:
    """What a law may use: all of D, which rows have the event, another data set, fills for X."""

    X: Any
    y: Outcomes
    rows: Ints
    external: Outcomes | None = None
    fill: Mapping[str, Any] | None = None

    @property
    def event_time(self) -> Floats:
        """Event times of D'."""
        return self.y.time[self.rows]


@dataclass(frozen=True)
class Law:
    """Quantile function of the censoring time (infinite: never censored) and its parameters.

    `quantile` maps numbers in [0, 1) to times, elementwise; where the law depends on features
    it takes one number per subject of D', in order.
    """

    quantile: Callable[[Floats], Floats]
    parameters: dict[str, Any]


def uniform(base: BaseData) -> Law:
    """U[0, t_max], t_max the largest event time."""
    t_max = _largest(base)
    return Law(lambda u: t_max * u, {"t_max": t_max})


def uniform_admin(base: BaseData) -> Law:
    """min(U[0, t_max], median event time)."""
    t_max, median = _largest(base), float(np.median(base.event_time))
    return Law(lambda u: np.minimum(t_max * u, median), {"t_max": t_max, "t_median": median})


def exponential(base: BaseData) -> Law:
    """Exponential whose scale is the standard deviation of the event times."""
    scale = float(base.event_time.std())
    if not scale > 0:
        raise InputError(
            "an exponential law of censoring takes its scale from the spread of event times; all "
            f"{base.rows.size} events in y are at {base.event_time[0]:g}: use 'uniform'"
        )
    return Law(lambda u: -scale * np.log1p(-u), {"scale": scale})


def original_independent(base: BaseData) -> Law:
    """G, the reverse Kaplan-Meier estimate of D."""
    _need_censored(base.y, "y", "original_independent")
    g = KaplanMeier.fit_censoring(base.y)
    return Law(_step_quantile(g, 1.0, 1.0), {"mass_past_end": g.last_survival})


def original_dependent(base: BaseData) -> Law:
    """G(t given x): a Cox model of the censoring time on D, with Breslow's baseline."""
    _need_censored(base.y, "y", "original_dependent")
    features, names = _design(base, "original_dependent")
    model = CoxModel.fit_censoring(features, base.y)
    mine = features[base.rows]
    parameters = {
        "coefficients": dict(zip(names, model.coefficients.tolist(), strict=True)),
        "penalty": model.penalty,
        "notes": model.notes,
    }
    return Law(lambda u: model.time_at(mine, -np.log1p(-u)), parameters)


def feature_dependent(base: BaseData) -> Law:
    """Exponential, and those at higher risk of the event are censored earlier.

    The rate is multiplied by e for each standard deviation of the log hazard ratio of a Cox model
    of the event time on D, so that censoring depends strongly on what predicts the event.
    """
    scale = exponential(base).parameters["scale"]
    features, _ = _design(base, "feature_dependent")
    risk = CoxModel.fit(features, base.y).log_risk(features)[base.rows]
    spread = float(risk.std())
    if not spread > 0:
        raise InputError(
            "censoring 'feature_dependent' needs features that tell the events apart; their Cox "
            "model gives everybody the same risk: use 'exponential'"
        )
    scales = scale * np.exp((risk.mean() - risk) / spread)

    def quantile(u: Floats) -> Floats:
        return -scales.reshape((-1,) + (1,) * (u.ndim - 1)) * np.log1p(-u)

    return Law(quantile, {"scale": scale})


def external(base: BaseData) -> Law:
    """G of another data set, its time axis stretched so that its last time becomes t_max."""
    if base.external is None:
        raise InputError(
            "censoring 'external' needs another data set to draw from: pass its outcomes as "
            "external=(time, event)"
        )
    _need_censored(base.external, "external", "external")
    t_max, g = _largest(base), KaplanMeier.fit_censoring(base.external)
    if not g.last_time > 0:
        raise InputError("external must have times past 0; all of its times are 0")
    parameters = {"stretch": t_max / g.last_time, "mass_past_end": g.last_survival}
    return Law(_step_quantile(g, t_max, g.last_time), parameters)


LAWS: dict[str, Callable[[BaseData], Law]] = {
    law.__name__: law
    for law in (
        uniform,
        uniform_admin,
        exponential,
        original_independent,
        original_dependent,
        feature_dependent,
        external,
    )
}
#: Codes of the kinds of censoring.
KINDS = tuple(LAWS)
#: The kinds whose scale can be chosen to reach a target rate.
PARAMETRIC = ("uniform", "uniform_admin", "exponential", "feature_dependent")


def _step_quantile(g: KaplanMeier, multiply: float, divide: float) -> Callable[[Floats], Floats]:
    """First time with 1 - G > u, in new units; the mass left at the end never censors."""
    reached = 1.0 - g.survival
    # Multiplied first: whole times that land on whole times do so exactly.
    ends = np.concatenate((g.times * multiply / divide, [np.inf]))

    def quantile(u: Floats) -> Floats:
        return ends[look_up(reached, u.ravel(), "right")].reshape(u.shape)

    return quantile


def _design(base: BaseData, kind: str) -> tuple[Floats, tuple[str, ...]]:
    if base.X is None:
        raise InputError(f"censoring {kind!r} needs features; X is None")
    return design_matrix(base.X, base.fill)


def _largest(base: BaseData) -> float:
    t_max = float(base.event_time.max())
    if not t_max > 0:
        raise InputError("y must have an event after time 0; all events are at 0")
    return t_max


def _need_censored(y: Outcomes, argument: str, kind: str) -> None:
    if y.event.all():
        raise InputError(
            f"censoring {kind!r} draws from the censoring distribution of {argument}, which has "
            "no censored subject; use 'uniform' or 'exponential'"
        )
