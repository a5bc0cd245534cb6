"""Distributions of the event and the censoring time of some subjects, learnt without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.interpolation import TAILS, tail_survival
from ...data.outcomes import Outcomes
from ..kaplan_meier import KaplanMeier
from .blend import Blend, LearningTask
from .members import MEMBERS, Grid, Member

MIXED = "mixed"
TAIL_RULES = (MIXED, *TAILS)
#: Learners of the censoring time.
CENSORING_MEMBERS = ("km", "cox", "boosting")
#: Censorings below which the censoring time is not modelled.
FEWEST_CENSORED = 20
#: The censoring time is modelled where the likelihood out of fold exceeds Kaplan-Meier's by so many
#: standard errors.
CLEARLY = 2.0


@dataclass(frozen=True)
class EventTimes:
    """Distribution of the event time: a mixture for each cause."""

    #: One mixture, or one for the hazard of each cause, on the same grid.
    blends: tuple[Blend, ...]
    #: End of follow-up, and shape of the Weibull by which curves go on past it.
    last: float
    shape: float

    @classmethod
    def learn(cls, subjects: LearningTask, members: list[Member]) -> EventTimes:
        """Fit to subjects; with several causes to the hazard of each."""
        y = subjects.y
        first = y.any_cause()
        grid = Grid.of(first)
        if y.causes is None:
            blends = [Blend.fit(subjects, grid, members)]
        else:
            parts = [y.only(code) for code in range(1, len(y.causes) + 1)]
            # A cause without events has no hazard, which Kaplan-Meier says.
            blends = [
                Blend.fit(
                    subjects.with_outcomes(part),
                    grid,
                    members if part.event.any() else [MEMBERS["km"]],
                )
                for part in parts
            ]
        last = float(first.time.max())
        return cls(tuple(blends), last, late_shape(KaplanMeier.fit(first), last))

    def curves(self, tail: str) -> SurvivalCurves:
        """Return the curves of one kind of event."""
        blend = self.blends[0]
        times, survival = blend.grid.jumps, blend.curves
        if tail == MIXED:
            times, survival = continued(times, survival, self.shape)
        return SurvivalCurves(times, survival, "step", "linear" if tail == MIXED else tail)

    def incidence(self, causes: tuple[str, ...]) -> IncidenceCurves:
        r"""Return the incidence of every cause by the product of the cause-specific hazards.

        With h_k the hazard of cause k in a span, as its mixture says it, the probability of no
        event falls by 1 - \prod_k (1 - h_k), which the causes share in proportion to their hazards.
        """
        survival = np.stack([blend.curves for blend in self.blends], axis=1)
        before = np.concatenate((np.ones((*survival.shape[:2], 1)), survival[..., :-1]), axis=2)
        hazard = 1.0 - np.divide(survival, before, out=np.ones_like(before), where=before > 0)
        free = np.prod(survival, axis=1)
        fall = -np.diff(free, axis=1, prepend=1.0)
        total = hazard.sum(axis=1)
        share = np.divide(fall, total, out=np.zeros_like(fall), where=total > 0)
        values = np.minimum(np.cumsum(hazard * share[:, None], axis=2), 1.0)
        return IncidenceCurves(self.blends[0].grid.jumps, values, causes, "step")

    def medians(self, tail: str) -> dict[str, Floats]:
        """Return the median time of each subject by each learner, of one kind of event."""
        if len(self.blends) > 1:
            return {}
        blend, rule = self.blends[0], "linear" if tail == MIXED else tail
        return {
            name: SurvivalCurves(blend.grid.jumps, survival, "step", rule).median()
            for name, survival in zip(blend.names, blend.members, strict=True)
        }


@dataclass(frozen=True)
class CensoringTimes:
    """Distribution of the censoring time, where one was learnt."""

    blend: Blend | None
    asked: str

    @classmethod
    def learn(cls, subjects: LearningTask, asked: str) -> CensoringTimes:
        """Fit to the censorings, which events end.

        Times are coded by their order, an event just before a censoring at the same time, since
        events leave the risk set first; all learners look at the order of times only.
        """
        y = subjects.y.any_cause()
        if asked == "km" or (~y.event).sum() < FEWEST_CENSORED:
            return cls(None, asked)
        order = np.unique(y.time, return_inverse=True)[1].reshape(-1)
        weight = y.weight if y.weighted else None
        coded = Outcomes(2.0 * order + ~y.event, ~y.event, weight)
        members = [MEMBERS[name] for name in CENSORING_MEMBERS if MEMBERS[name].is_here]
        return cls(Blend.fit(subjects.with_outcomes(coded), Grid.of(coded, y.time), members), asked)

    @property
    def modelled(self) -> bool:
        """Whether it is used: asked for, or clearly better than Kaplan-Meier."""
        if self.blend is None:
            return False
        gain, error = self.blend.gain()
        return self.asked == "model" or gain > CLEARLY * error

    def curves(self) -> SurvivalCurves | None:
        """Return the curves; None: Kaplan-Meier."""
        if self.blend is None or not self.modelled:
            return None
        # What is past the last censoring is not known to fall.
        return SurvivalCurves(self.blend.grid.jumps, self.blend.curves, "step", "hold")

    def reason(self) -> str:
        """Say why the censoring time is modelled, or not."""
        if self.asked == "km":
            return "Kaplan-Meier was asked for"
        if self.blend is None:
            return f"fewer than {FEWEST_CENSORED} censored subjects: Kaplan-Meier"
        gain, error = self.blend.gain()
        evidence = (
            f"gain over Kaplan-Meier in mean log-likelihood {gain:.4f}, standard error {error:.4f}"
        )
        if self.asked == "model":
            return f"a model was asked for; {evidence}"
        return evidence if self.modelled else f"no clear gain by a model: {evidence}"


#: Times past the end of follow-up, and how many follow-ups they reach.
POINTS, REACH = 30, 40.0
#: Shapes of a Weibull that are believed: a few late events can suggest any.
_SHAPES = 0.7, 3.0
_LEAST = 1e-12


def continued(times: Floats, survival: Floats, shape: float) -> tuple[Floats, Floats]:
    r"""Return step curves that go on past their last time T by the mean of two extrapolations.

    One is the straight line through (0, 1) and (T, S(T)), which ends soon. The other is the Weibull
    :math:`S(T)^{(t / T)^k}`. A line ends too early for distributions with long tails, an estimated
    shape too late for others; the mean of both was closer to the truth than either, and than
    constant hazards.

    The last of the `times` is the end of follow-up; `survival` has a row per curve, and `shape` is
    k, see `late_shape`.
    """
    last, s = times[-1], survival[:, -1]
    if not last > 0:
        return times, survival
    edges = last * np.geomspace(1.0, REACH, POINTS + 1)
    ratio = edges[1:] / last
    line = tail_survival(edges[1:], np.full((s.size, 1), last), s[:, None], "linear")
    hazard = -np.log(np.maximum(s, _LEAST))[:, None]
    weibull = np.exp(-hazard * ratio**shape)
    beyond = np.where(s[:, None] > 0, (line + weibull) / 2, 0.0)
    middle = (edges[1:] + edges[:-1]) / 2
    return np.concatenate((times, middle)), np.concatenate((survival, beyond), axis=1)


def late_shape(km: KaplanMeier, last: float) -> float:
    """Shape of the Weibull through Kaplan-Meier at the middle and the end of the follow-up.

    1, a constant hazard, where there were no events before the middle or none after it.
    """
    middle, end = -np.log(np.maximum(km.at(np.array([last / 2, last])), _LEAST))
    if not end > middle > 0:
        return 1.0
    return float(np.clip(np.log2(end / middle), *_SHAPES))
