"""What is asked of a stream: checked before the first subject is read, settled by a first pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .._tools.arrays import flag, probability, whole_number
from .._tools.random import check_seed
from ..errors import InputError
from ..evaluation.censoring_remarks import check_follow_up, uses_reference
from ..evaluation.chosen import chosen_metrics, under_entry
from ..evaluation.chunk import chunk_rows
from ..evaluation.entry_remarks import entry_support
from ..evaluation.finish import Asked
from ..evaluation.fold import FoldPlan
from ..evaluation.interval_call import interval_problem, interval_support
from ..metrics.calibration.mean_curve_sums import FollowUp
from ..metrics.clock import checked_at_risk
from ..metrics.conventions import convention_of
from ..metrics.ipcw import end_of_g, flipped_g
from ..metrics.problem import Problem
from ..metrics.registry import Metric, default_metrics
from ..reference.g_source import WholeG, g_source
from ..reference.kaplan_meier import KaplanMeier
from .labels import GroupKey
from .layout import Layout
from .outline import Outline

#: What a metric reads that depends on the whole test set.
_NEEDS_FIRST_PASS = ("time", "horizon", "follow_up")


@dataclass(frozen=True)
class Request:
    """What the caller wants, checked."""

    metrics: tuple[Metric, ...]
    asked: Asked
    bootstrap: bool
    baseline: bool
    unit: str
    #: Settings of the question, as for `evaluate`.
    settings: dict[str, Any]
    #: Whether the metrics are those that nobody named.
    default: bool = False
    batch_rows: int | None = None
    #: Which outcomes there are, "right" or "interval".
    outcomes: str = "right"
    #: Whether a first pass keeps all outcomes: of intervals, or with delayed entry.
    kept: bool = False
    #: Whether subjects enter late, of the test or of the reference set, as the first pass found.
    by_entry: bool = False
    #: What is said of metrics that know no entry.
    remarks: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls,
        metrics: Iterable[str] | str | None,
        *,
        confidence: float | None,
        random_state: int | None,
        n_boot: int,
        bootstrap: bool,
        baseline: bool,
        unit: str,
        settings: dict[str, Any],
        batch_rows: int | None = None,
        layout: Layout | None = None,
    ) -> Request:
        """Check the arguments that all streams share."""
        if g_of(settings) == "given" and not isinstance(settings["censoring"], KaplanMeier):
            raise InputError(
                "censoring must be 'test', 'train' or a KaplanMeier in a stream: a function of one "
                "time per subject cannot tell which subjects a chunk holds"
            )
        if confidence is not None:
            probability(confidence, "confidence")
        if not isinstance(unit, str):
            raise InputError(f"unit must be a word, such as 'days'; got {unit!r}")
        kind = "interval" if layout is not None and layout.are_intervals else "right"
        chosen = _streamed(metrics, settings.get("threshold"), settings.get("cause"), kind)
        request = cls(
            tuple(chosen),
            Asked(confidence, check_seed(random_state), whole_number(n_boot, "n_boot", 0)),
            bootstrap=flag(bootstrap, "bootstrap") and confidence is not None,
            baseline=flag(baseline, "baseline"),
            unit=unit,
            settings=settings,
            default=metrics is None,
            batch_rows=batch_rows,
            outcomes=kind,
            kept=layout is not None and (layout.are_intervals or layout.entry is not None),
        )
        request._check_convention()
        return request

    def under_entry(self, outline: Outline, reference: Any) -> Request:
        """Return the same for the metrics that know delayed entry, where there is any."""
        train = None if self.outcomes == "interval" else reference.given.entry
        if outline.outcomes().entry is None and train is None:
            return self
        chosen, remarks = under_entry(
            list(self.metrics), not self.default, self.settings.get("cause")
        )
        whole = [metric.name for metric in chosen if metric.needs_all(by_entry=True)]
        if whole and not self.default:
            raise _needs_all(whole[0], " where subjects enter late")
        metrics = tuple(metric for metric in chosen if metric.name not in whole)
        return replace(self, metrics=metrics, by_entry=True, remarks=tuple(remarks))

    def given_distributions(self) -> Request:
        """Return the same for the metrics whose terms read distributions of each subject.

        Those that need all subjects at once keep no distributions, and would silently be estimated
        without them.
        """
        whole = [m.name for m in self.metrics if m.assumes == "given" and m.adds_up != "mean"]
        if whole and not self.default:
            raise _needs_all(whole[0], " together with conditional")
        return replace(self, metrics=tuple(m for m in self.metrics if m.name not in whole))

    def _check_convention(self) -> None:
        """Refuse conventions under which a score is no ratio of sums over subjects."""
        convention = convention_of(self.settings.get("convention"))
        hit = [metric.name for metric in self.metrics if metric.uses_divisor]
        if hit and convention.divisor != "n":
            raise InputError(
                f"convention {convention.name!r} divides {hit[0]} by the sum of weights at each "
                "time, which is not supported in a stream; use `evaluate`, or leave it out"
            )

    @property
    def own_g(self) -> bool:
        """Whether G is that of the test subjects."""
        return self.outcomes == "right" and g_of(self.settings) == "test"

    @property
    def counted(self) -> bool:
        """Whether outcomes are counted: for G, or to compare follow-ups with the training set's."""
        return not self.kept and (self.own_g or uses_reference(self.metrics))

    @property
    def min_at_risk(self) -> float:
        """Subjects that must be at risk at the horizon."""
        return checked_at_risk(self.settings["min_at_risk"])

    def foresight(self) -> list[tuple[Metric, str]]:
        """Return the metrics that need a first pass over the outcomes, and what they look for."""
        found = []
        for metric in self.metrics:
            # With a cause subjects are ranked by the incidence by the horizon, where errors in
            # time stop too unless tau is given.
            by_horizon = self.settings.get("cause") is not None and (
                "risk" in metric.keeps
                or (metric.method is not None and self.settings.get("tau") is None)
            )
            if metric.within_horizon or by_horizon:
                found.append((metric, "the horizon of the test subjects"))
            elif metric.reads in _NEEDS_FIRST_PASS:
                found.append((metric, "how long the follow-up is"))
            elif (
                self.own_g and (metric.weights_by_g or metric.reads_g) and metric.adds_up == "mean"
            ):
                found.append((metric, "G of the test subjects"))
        return found

    @property
    def keep_outcomes(self) -> bool:
        """Whether the first pass has to keep all outcomes."""
        return self.kept or any(metric.reads == "follow_up" for metric in self.metrics)

    def problem(self, outline: Outline, reference: Any) -> Problem:
        """Return the question about all subjects, with the horizon that their outcomes tell.

        The reference set of intervals is `IntervalOutcomes`, any other a `Reference`.
        """
        problem: Problem
        if self.outcomes == "interval":
            taken = {name: self.settings[name] for name in ("time", "tau", "tail", "min_at_risk")}
            y: Any = outline.outcomes()
            problem = interval_problem(y, reference, None, conditional=None, **taken)
        elif self.kept:
            problem = Problem.of(outline.outcomes(), reference, **self.settings)
        else:
            own = {"censoring": self.whole_g(outline)} if self.own_g else {}
            problem = Problem.of(outline.top(), reference, **{**self.settings, **own})
        return replace(problem, asked=tuple(metric.name for metric in self.metrics))

    def whole_g(self, outline: Outline) -> WholeG:
        """Return G of all subjects that were counted."""
        counts = outline.counts
        flipped = convention_of(self.settings.get("convention")).g_ties == "flipped"
        return WholeG(counts.censoring(), flipped_g(counts.outcomes()) if flipped else None)


def _streamed(
    metrics: Iterable[str] | str | None,
    threshold: float | None,
    cause: int | str | None,
    outcomes: str,
) -> list[Metric]:
    """Return metrics by name; by default all that can be streamed."""
    if metrics is None:
        return default_metrics(streamed=True, threshold=threshold, cause=cause, outcomes=outcomes)
    chosen = chosen_metrics(metrics, 0, threshold, cause, outcomes)[0]
    whole = [metric.name for metric in chosen if metric.needs_all()]
    if whole:
        raise _needs_all(whole[0])
    return chosen


def _needs_all(name: str, when: str = "") -> InputError:
    return InputError(
        f"metrics: {name!r} needs all subjects at once{when} and cannot be streamed; leave it "
        "out of `metrics`, or use `evaluate` on predictions in memory"
    )


def g_of(settings: dict[str, Any]) -> str:
    """Say where G of a stream comes from: "test", "train" or "given"."""
    usual = convention_of(settings.get("convention")).g_source
    return g_source(settings.get("censoring"), True, usual)


@dataclass(frozen=True)
class Scoring:
    """What every chunk is asked; small enough to be sent to every worker."""

    request: Request
    #: Which column is what.
    layout: Layout
    #: What is computed.
    plan: FoldPlan
    #: The question; each chunk puts its own outcomes in place of these.
    problem: Problem
    #: Horizon as far as it is known before all outcomes were read.
    threshold: float = float("inf")
    #: Of all outcomes, as a first pass read them.
    digest: int | None = None
    #: Question and plan of each group, as a first pass found them.
    groups: dict[Any, tuple[Problem, FoldPlan]] | None = None
    #: What the first pass says about the outcomes.
    remarks: tuple[Any, ...] = ()
    #: What the support says of entries or intervals, where a first pass kept the outcomes.
    support: dict[str, Any] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether outcomes are counted while they are scored."""
        return self.digest is None and self.request.counted

    @property
    def chunk_rows(self) -> int:
        """How many subjects are scored together."""
        specs = (*self.layout.predictions.values(), *self.layout.laws.values())
        widths = (len(getattr(spec, "times", None) or ()) for spec in specs)
        return chunk_rows(widths, self.request.batch_rows)

    def of_group(self, label: GroupKey | None) -> tuple[Problem, FoldPlan]:
        """Return the question and the plan of a group; without a first pass those of all."""
        if self.groups is None or label is None:
            return self.problem, self.plan
        if label not in self.groups:
            raise InputError(
                f"by: label {label.name!r} was not there in the first pass; did the data change?"
            )
        return self.groups[label]


def scoring_of(
    request: Request, layout: Layout, reference: Any, outline: Outline | None
) -> Scoring:
    """Decide what every chunk is asked; `outline` is what a first pass found."""
    if outline is None:
        settings = dict(request.settings)
        min_g, _ = settings.pop("min_g"), settings.pop("min_at_risk")
        problem = Problem.open(reference.given, reference, **settings)
        threshold = float("inf") if request.own_g else end_of_g(problem.weights, min_g)
        problem = replace(problem, g_unknown=request.own_g)
        return Scoring(request, layout, _plan(request), problem, threshold)
    whole = request.problem(outline, reference)
    asked = _plan(request)
    problem, plan = _settled(request, asked, outline, whole)
    remarks: list[Any] = []
    if request.counted:
        known = outline.counts.outcomes().any_cause()
        remarks = check_follow_up(known, problem, request.metrics)
    groups = {}
    for key, own in outline.groups.items():
        check_anybody(key, own.subjects)
        groups[key] = _settled(request, asked, own, whole)
    return Scoring(
        request,
        layout,
        plan,
        problem,
        threshold=problem.horizon,
        digest=outline.digest,
        groups=groups,
        remarks=tuple(remarks),
        support=entry_support(whole) | interval_support(whole, reference),
    )


def _plan(request: Request) -> FoldPlan:
    """Return what is computed, as far as the caller says it."""
    return FoldPlan(
        request.metrics,
        spread=request.asked.confidence is not None,
        baseline="beside" if request.baseline else "none",
        seed=request.asked.seed,
        n_boot=request.asked.n_boot if request.bootstrap else 0,
        by_g=request.own_g,
    )


def _settled(
    request: Request, plan: FoldPlan, outline: Outline, whole: Problem
) -> tuple[Problem, FoldPlan]:
    """Return question and plan with what a first pass found about their subjects.

    These are all, or a group with a G of its own; their outcomes are left behind.
    """
    problem = whole
    if request.kept:
        problem = replace(whole, y=outline.outcomes())
        plan = replace(plan, by_entry=problem.y.entry is not None)
    elif request.own_g:
        problem = replace(whole, censoring=request.whole_g(outline))
    tested = None
    if any(metric.reads == "follow_up" for metric in request.metrics):
        tested = FollowUp.of(outline.outcomes(), problem.errors_stop, problem.cause)
    problem = replace(problem.with_g(), y=problem.y[:1], follow_up=outline.last_time, tested=tested)
    return problem, plan


def check_anybody(key: GroupKey, subjects: int) -> None:
    """Refuse a group without anybody in it."""
    if not subjects:
        raise InputError(f"by: group {key.name!r} has only subjects of weight zero; leave them out")
