"""Law and censoring of some rows, learnt from other rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats
from .._tools.random import stream
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..reference.kaplan_meier import KaplanMeier
from .beyond import late_shape
from .blend import Blend
from .grid import Grid
from .members import MEMBERS, Member

#: Learners are fitted on so many rows at most, drawn at random from more.
MOST_ROWS = 20_000
#: Members of the model of censoring, where it is asked whether there is one.
CENSORING_MEMBERS = ("km", "cox")
#: Censorings below which no model of censoring is tried.
FEWEST_CENSORED = 20
#: A model of censoring is taken where its likelihood out of fold exceeds Kaplan-Meier's by so many
#: standard errors.
CLEARLY = 2.0


@dataclass(frozen=True)
class Laws:
    """What was learnt, and for which rows."""

    #: Features of the rows that curves are wanted for; of shape (n, p).
    rows: Floats
    #: Of the event time.
    law: Blend
    #: Survival probabilities of the rows at ``law.grid``; of shape (n, m).
    curves: Floats
    #: The same by each member.
    members: list[Floats]
    #: Of the Weibull by which curves go on past the follow-up.
    shape: float
    #: Of the censoring time, where one was tried.
    censoring: Blend | None

    def medians(self, tail: str) -> dict[str, Floats]:
        """Median time of each row by each member."""
        jumps = self.law.grid.jumps
        return {
            name: SurvivalCurves(jumps, survival, "step", tail).median()
            for name, survival in zip(self.law.names, self.members, strict=True)
        }


@dataclass(frozen=True)
class Choices:
    """How laws are to be learnt: members, whether censoring gets a model, and the seed."""

    members: list[Member]
    censoring: str
    seed: int


def learn(X: Floats, y: Outcomes, rows: Floats, choices: Choices) -> Laws:
    """Fit to `X` and `y`; curves for `rows`."""
    kept = np.flatnonzero(y.weight > 0)
    if kept.size > MOST_ROWS:
        draw = stream(choices.seed, "blending", "rows")
        kept = np.sort(draw.choice(kept, MOST_ROWS, replace=False))
    X, y = X[kept], y[kept]
    law = Blend.fit(X, y, Grid.of(y), choices.members, choices.seed)
    curves, members = law.curves(rows)
    tried = choices.censoring != "km" and (~y.event).sum() >= FEWEST_CENSORED
    censoring = _fit_censoring(X, y, choices) if tried else None
    shape = late_shape(KaplanMeier.fit(y), float(y.time.max()))
    return Laws(rows, law, curves, members, shape, censoring)


def censoring_gain(parts: list[Laws]) -> tuple[float, float] | None:
    """Gain of the models of censoring over Kaplan-Meier, and its standard error; None: no models.

    Laws of several folds of one test set share most of their subjects, so their errors do not
    average out.
    """
    gains = [laws.censoring.gain() for laws in parts if laws.censoring is not None]
    if len(gains) < len(parts):
        return None
    gain, error = np.mean(gains, axis=0)
    return float(gain), float(error)


def models_censoring(parts: list[Laws], choices: Choices) -> bool:
    """Whether censoring gets a model: asked for, or clearly better than Kaplan-Meier."""
    found = censoring_gain(parts)
    if found is None:
        return False
    return choices.censoring == "model" or found[0] > CLEARLY * found[1]


def _fit_censoring(X: Floats, y: Outcomes, choices: Choices) -> Blend:
    """Blend for the censoring time: censorings count, events end the observation.

    Times are coded by their order, an event just before a censoring at the same time, since events
    leave the risk set first; all members look at the order of times only.
    """
    order = np.unique(y.time, return_inverse=True)[1].reshape(-1)
    weight = y.weight if y.weighted else None
    coded = Outcomes(2.0 * order + ~y.event, ~y.event, weight)
    members = [MEMBERS[name] for name in CENSORING_MEMBERS if MEMBERS[name].is_here]
    return Blend.fit(X, coded, Grid.of(coded, y.time), members, choices.seed)
