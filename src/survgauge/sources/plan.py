"""What is to be computed, decided before the first subject is scored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import LARGEST
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.conventions import convention_of
from ..metrics.ipcw import flipped_g
from ..metrics.past_curve import ends_of
from ..metrics.problem import Problem, checked_at_risk
from ..metrics.registry import DEFAULT_METRICS, REGISTRY, Metric
from ..metrics.skill import reference_curves
from ..reference.g_source import WholeG, g_source
from ..reference.kaplan_meier import KaplanMeier
from ..reference.reference import Reference
from .columns import AT_TIME, RANKED
from .counts import Outline
from .g_sums import GBins, moves_with_g
from .layout import Layout
from .mean_curves import FollowUp
from .sums import SamePrediction, is_sum

#: Metrics that need the end of the whole follow-up before the first subject is scored.
FORESIGHT = ("brier", "ibs", "ibll", "km_calibration", *AT_TIME)
#: Metrics that need every curve to be compared with every other.
NEVER = ("antolini",)
#: Metrics with sums of their own kind, beside the ratios and those that are kept as columns.
_OWN_SUMS = ("d_calibration", "km_calibration")


def streams(name: str) -> bool:
    """Whether a metric has a form for streams; one that is only registered has none.

    >>> streams("crps"), streams("antolini")
    (True, False)
    """
    return is_sum(name) or name in (*RANKED, *AT_TIME, *_OWN_SUMS)


def chosen_names(metrics: Any) -> list[str]:
    """Names of the metrics of a stream: by default all but the squared errors and antolini."""
    from ..evaluation.call import chosen_metrics

    if metrics is None:
        return [name for name in DEFAULT_METRICS if name not in NEVER]
    names = [metric.name for metric in chosen_metrics(metrics, 0)[0]]
    never = [name for name in names if name in NEVER]
    if never:
        raise InputError(
            f"{never[0]} compares every curve with every other and cannot be streamed; leave it "
            "out of `metrics`, or use `evaluate` on curves in memory"
        )
    unknown = [name for name in names if not streams(name)]
    if unknown:
        raise InputError(
            f"metrics: {unknown[0]!r} has no form for streams, which add up parts of the test set; "
            "leave it out, or use `evaluate` on predictions in memory"
        )
    return names


@dataclass(frozen=True)
class GroupPlan:
    """What a first pass found about one group: where its follow-up ends, its outcomes if needed."""

    last_time: float
    follow_up: FollowUp | None
    keep_curves: bool
    #: G of the group and where its sums go; None where G is not that of the test subjects.
    g: WholeG | None = None
    bins: GBins | None = None


@dataclass(frozen=True)
class Plan:
    """The question: metrics, reference, horizon; small enough to be sent to every worker."""

    layout: Layout
    metrics: tuple[str, ...]
    #: Outcomes are the last ones only; each chunk puts its own in their place.
    problem: Problem
    seed: int = 0
    n_boot: int = 0
    baseline: bool = True
    tails: bool = False
    #: Horizon as far as the reference alone decides it, where there was no first pass.
    threshold: float = float("inf")
    follow_up: FollowUp | None = None
    #: Whole curves are kept: so few that the bootstrap of `evaluate` applies.
    keep_curves: bool = False
    #: Subjects that are scored together; None: as many as fit the cache.
    batch_rows: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    #: Median and mean of Kaplan-Meier of the reference, as time errors read them.
    points: dict[str, float] = field(default_factory=dict)
    #: The same where nothing is read past its last time.
    held: dict[str, float] = field(default_factory=dict)
    #: Of all outcomes, as the first pass read them; None without one.
    digest: int | None = None
    #: Found by the first pass; None without one, or without groups.
    groups: dict[Any, GroupPlan] | None = None
    #: Whether outcomes are counted while they are scored: G is theirs, but only needed in the end.
    follow: bool = False
    #: Whether outcomes are counted while they are scored, for G or to compare follow-ups.
    counted: bool = False
    #: Where sums by time go, for standard errors that count the estimation of G.
    bins: GBins | None = None
    #: What the first pass says about the outcomes.
    remarks: tuple[Any, ...] = ()
    _by_label: dict[Any, Plan] = field(default_factory=dict, init=False, repr=False, compare=False)

    def for_group(self, label: Any) -> Plan:
        """Return the same question for a group: only the end of its follow-up is its own."""
        if label not in self._by_label:
            plan = replace(self, digest=None, groups=None, counted=self.follow)
            if self.groups is not None:
                if label not in self.groups:
                    raise InputError(
                        f"by: label {label!r} was not there in the first pass; did the data change?"
                    )
                own = self.groups[label]
                problem = replace(self.problem, follow_up=own.last_time)
                if own.g is not None:
                    problem = replace(problem, censoring=own.g)
                plan = replace(
                    plan,
                    problem=problem,
                    follow_up=own.follow_up,
                    keep_curves=own.keep_curves,
                    bins=own.bins,
                )
            # Not hashed anew: the reference set is large.
            plan.__dict__["fingerprint"] = f"{self.fingerprint} {label!r}"
            self._by_label[label] = plan
        return self._by_label[label]

    @cached_property
    def fingerprint(self) -> str:
        """Differs between questions whose parts must not be merged."""
        problem, known = self.problem, self.problem.reference
        asked = (
            self.layout, self.metrics, self.seed, self.n_boot, self.baseline, problem.horizon,
            problem.time, problem.tau, problem.convention, problem.options, self.settings,
            None if self.bins is None else (self.bins.events.tolist(), self.bins.edges.tolist()),
        )  # fmt: skip
        text = hashlib.sha256(repr(asked).encode())
        if known is not None:
            for column in (known.y.time, known.y.event, known.y.weight):
                text.update(np.ascontiguousarray(column).tobytes())
        return text.hexdigest()

    @property
    def sums(self) -> list[Metric]:
        """Metrics that are ratios of sums."""
        return [REGISTRY[name] for name in self.metrics if is_sum(name)]

    @property
    def kept(self) -> tuple[str, ...]:
        """Metrics that are computed in the end, from columns."""
        names = (*RANKED, *AT_TIME)
        return tuple(name for name in self.metrics if name in names)

    @property
    def ends(self) -> dict[str, float]:
        """Where metrics at one time and integrals read curves, as far as it is known."""
        follow_up = float("nan") if self.follow_up is None else self.follow_up.stop
        return ends_of(self.problem, follow_up)

    def of(self, y: Outcomes) -> Problem:
        """Return the question for some of the subjects."""
        return replace(self.problem, y=y, asked=self.metrics)

    def baseline_prediction(self, n: int) -> Prediction:
        """Kaplan-Meier of the reference for everybody."""
        return SamePrediction(reference_curves(self.problem.reference, n), self.points)

    def baseline_held(self, n: int) -> Prediction:
        """Return the same, with nothing read past its last time."""
        return SamePrediction(reference_curves(self.problem.reference, n).held(), self.held)


def check_settings(settings: dict[str, Any], y_train: Any) -> None:
    """Refuse what a stream cannot know."""
    if y_train is None:
        raise InputError(
            "y_train must be given: a stream is evaluated against a fixed reference set, as its "
            "own outcomes are not known before the end"
        )
    if g_of_stream(settings) == "given" and not isinstance(settings["censoring"], KaplanMeier):
        raise InputError(
            "censoring must be 'test', 'train' or a KaplanMeier in a stream: a function of one "
            "time per subject cannot tell which subjects a chunk holds"
        )


def g_of_stream(settings: dict[str, Any]) -> str:
    """Where G of a stream comes from: "test", "train" or "given"."""
    usual = convention_of(settings.get("convention")).g_source
    return g_source(settings.get("censoring"), True, usual)


def whole_g(outline: Outline, settings: dict[str, Any]) -> WholeG:
    """G of all subjects that were counted."""
    counts = outline.counts()
    if convention_of(settings.get("convention")).g_ties == "flipped":
        return WholeG(flipped_g(counts.outcomes()))
    return WholeG(counts.censoring())


def bins_of(outline: Outline, metrics: tuple[str, ...], tau: float | None) -> GBins | None:
    """Where the sums of metrics go that weight by G of the test subjects."""
    return GBins(outline.counts(), tau) if any(map(moves_with_g, metrics)) else None


def check_conventions(problem: Problem, metrics: tuple[str, ...]) -> None:
    """Refuse conventions under which a score is no ratio of sums over subjects."""
    hit = [name for name in metrics if name in ("brier", "ibs", "ibll")]
    if hit and problem.convention.divisor != "n":
        raise InputError(
            f"convention {problem.convention.name!r} divides {hit[0]} by the sum of weights at "
            "each time, which is not supported in a stream; use `evaluate`, or leave it out"
        )


def reference_horizon(reference: Reference, settings: dict[str, Any]) -> float:
    """Horizon if test subjects were at risk for ever: what the reference alone supports."""
    number = checked_at_risk(settings.get("min_at_risk", 10))
    for_ever = Outcomes([LARGEST], [True], [number])
    return Problem.of(for_ever, reference, **settings).horizon


def make_problem(
    outline: Outline, reference: Reference, settings: dict[str, Any], g: Any = None
) -> Problem:
    """Resolve horizon and time of interest from what a pass over the outcomes found.

    `g` is G of the test subjects where that is known already.
    """
    top = outline.top()
    if g_of_stream(settings) == "test":
        known = g if isinstance(g, WholeG) else whole_g(outline, settings)
        settings = {**settings, "censoring": known}
    problem = Problem.of(top, reference, **settings)
    return replace(problem, follow_up=float(top.time.max()))
