"""A stream is evaluated in two passes: over its outcomes, then over outcomes and predictions.

The outcomes of all subjects are kept, so that the question is the very one of `evaluate`. Chunks of
the second pass become numbers of each subject, and the rest is what `evaluate` does with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._tools.arrays import flag, probability
from ..._tools.random import check_seed
from ..._tools.writing import call_text, provenance
from ...errors import InputError, located
from ...estimators.estimated_g import g_source
from ...estimators.kaplan_meier import KaplanMeier
from ...metrics.calibration.curve_gap import ObservedCurve
from ...metrics.conventions import Convention
from ...metrics.registry import Metric, default_metrics
from ...metrics.task import Task
from .. import Evaluation
from ..call import Request, chosen_metrics, evaluated, offered, present
from ..cells import CONTRIBUTIONS_LIMIT, passing
from ..checks import Seen, coarse_grids
from ..columns import ChunkPlan, Columns, Folder, Part, chunk_rows, part_of
from ..finish import Group
from ..reading import joined, refuse_late_entry, refuse_settings
from ..warning_kinds import EvaluationWarning, warned
from .arrow import reference_of
from .batches import Batch
from .layout import Layout
from .specs import GroupKey, Groups, check_groups_of, check_number_of

#: Settings of the question, as for `evaluate`.
_SETTINGS = ("time", "tau", "convention", "cause")
#: Arguments of streams that say where data are and who computes, whatever the outcomes are.
_OF_STREAMS = (
    "batches", "frame", "weight_column", "entry_column", "outcomes", "apart", "workers",
    "batch_rows", "progress", "client", "baseline",
)  # fmt: skip


#: One pass: run(name, columns, most, work, *about) yields work(batch, start, *about) of batches of
#: at most `most` rows, in order.
Run = Callable[..., Iterator[Any]]


def evaluate_source(
    function: Callable[..., Evaluation],
    given: Mapping[str, Any],
    layout: Layout,
    source: Any,
    run: Run,
    batch_rows: int | None = None,
) -> Evaluation:
    """Evaluate the rows of a source, as a public function was asked to by its arguments `given`."""
    made = provenance(call_text(function, given))
    layout, reference = _opened(layout, given["y_train"], source.first(), given["cause"])
    settings = {name: given[name] for name in _SETTINGS}
    settings["convention"] = Convention.of(settings["convention"])
    metrics = _checked(function, given, settings, layout, reference)
    source.check(layout)
    widths = (len(getattr(spec, "times", None) or ()) for spec in layout.specs)
    size = chunk_rows(widths, batch_rows)
    y, groups = _outcomes(run("outcomes", layout.outcome_columns, size, outcomes_in, layout))
    question = _question(given, settings, layout, reference, metrics, y, groups)
    spread, baseline = given["confidence"] is not None, flag(given["baseline"], "baseline")
    asking = Asking.of(question, layout, groups, spread, baseline)
    folder, seen, rows = Folder(), Seen(), 0
    columns = {key: Columns(plan, folder) for key, (_, plan) in asking.questions.items()}
    for found in run("scoring", layout.columns(), size, scored_in, asking):
        _check_same(found, y, rows)
        rows += len(found.y)
        seen.merge(found.seen)
        for key, part in found.parts.items():
            columns[key].add(part)
    if rows < len(y):
        raise InputError(f"rows are missing: {rows} of {len(y)} came; did the data change?")
    scores, warnings = [], []
    for key, (asked, _) in asking.questions.items():
        part, _ = present(question.task, None if key is None else groups[key])
        part = replace(part, tested=asked.tested)
        kept = columns[key].predictions(len(part.y))
        name = None if key is None else key.name
        level, seed = question.confidence, question.seed
        own, said = Group(columns.pop(key), part, kept, level, seed, name).scores()
        scores += own
        warnings += said
    grids = {
        name: (spec.times, spec.interpolation)
        for name, spec in layout.predictions.items()
        if spec.kind == "curves"
    }
    return evaluated(
        question,
        seen,
        scores,
        found=warnings,
        grids=coarse_grids(question.task, grids),
        made=made,
        y_train=reference if layout.are_intervals else None,
        features=True if layout.distributions else None,
    )


def _opened(layout: Layout, y_train: Any, first: Batch, cause: int | str | None) -> Any:
    """Return which column is what, as the first batch tells, and the reference set."""
    found = layout if cause is not None else layout.resolved(first)
    columns = layout.time, layout.event, layout.weight
    how: dict[str, Any] = {"entry": layout.entry, "intervals": found.are_intervals}
    reference = reference_of(y_train, *columns, causes=cause is not None, **how)
    if cause is not None:
        return layout.about(cause, reference).resolved(first), reference
    if found.entry is None and getattr(reference, "given", reference).entry is not None:
        raise InputError(
            "y_train has delayed entry (left truncation), and the stream has no column of entries; "
            "give it a column 'entry', 0 where a subject is observed from the beginning"
        )
    return found, reference


# -- the question ------------------------------------------------------------------------------


def _checked(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    settings: dict[str, Any],
    layout: Layout,
    reference: Any,
) -> list[Metric]:
    """Return the metrics; what is wrong with the question is said before the rows are read."""
    if given["confidence"] is not None:
        probability(given["confidence"], "confidence")
    if not isinstance(given["unit"], str):
        raise InputError(f"unit must be a word, such as 'days'; got {given['unit']!r}")
    convention, usual = settings["convention"], given["metrics"] is None
    about = convention.threshold, settings["cause"]
    kind = "interval" if layout.are_intervals else "right"
    if usual:
        metrics = default_metrics(streamed=True, threshold=about[0], cause=about[1], outcomes=kind)
    else:
        metrics, _ = chosen_metrics(given["metrics"], 0, *about, kind)
        metrics = _without(metrics, [m.name for m in metrics if m.needs_all()], usual)
    if layout.are_intervals:
        refuse_settings(function, given, _OF_STREAMS)
        return metrics
    source = g_source(convention.censoring, True, convention.g_source)
    if source == "given" and not isinstance(convention.censoring, KaplanMeier):
        raise InputError(
            "censoring must be 'test', 'train' or a KaplanMeier in a stream: a function of one "
            "time per subject cannot tell which subjects a chunk holds"
        )
    divided = [metric.name for metric in metrics if metric.uses_divisor]
    if divided and convention.divisor != "n":
        raise InputError(
            f"convention {convention.name!r} divides {divided[0]} by the sum of weights at each "
            "time, which is not supported in a stream; use `evaluate`, or leave it out"
        )
    Task.open(reference.given, reference, **settings)
    if layout.distributions:
        # Those that need all subjects at once keep no distributions, and would silently be
        # estimated without them.
        whole = [m.name for m in metrics if m.assumes == "given" and m.adds_up != "mean"]
        metrics = _without(metrics, whole, usual, " together with conditional")
    return metrics


def _without(metrics: list[Metric], whole: list[str], usual: bool, when: str = "") -> list[Metric]:
    """Leave out metrics that need all subjects at once; refuse those that were named."""
    if whole and not usual:
        raise InputError(
            f"metrics: {whole[0]!r} needs all subjects at once{when} and cannot be streamed; leave "
            "it out of `metrics`, or use `evaluate` on predictions in memory"
        )
    return [metric for metric in metrics if metric.name not in whole]


def _question(
    given: Mapping[str, Any],
    settings: dict[str, Any],
    layout: Layout,
    reference: Any,
    metrics: list[Metric],
    y: Any,
    groups: dict[GroupKey, Any],
) -> Request:
    """Return the question about all subjects, as `evaluate` asks it."""
    contributions = given["confidence"] is not None or len(y) <= CONTRIBUTIONS_LIMIT
    task = Task.of(y, reference, contributions=contributions, **settings)
    usual, kinds = given["metrics"] is None, {n: s.kind for n, s in layout.predictions.items()}
    if layout.distributions:
        refuse_late_entry(y, reference, conditional=layout.distributions)
    if task.by_entry:
        whole = [metric.name for metric in metrics if metric.needs_all(by_entry=True)]
        metrics = _without(metrics, whole, usual, " where subjects enter late")
    warnings: list[EvaluationWarning] = []
    if usual:
        offered = default_metrics(cause=settings["cause"], outcomes=task.outcomes)
        known = {metric.name for metric in metrics}
        curves = "curves" in kinds.values()
        why = "needs all subjects at once, which a stream does not have"
        warnings = [
            warned("metric-skipped", name=metric.name, why=why)
            for metric in offered
            if metric.name not in known
            and (curves or y.count > metric.default_until)
            and ("entry" in metric.supports or not task.by_entry)
        ]
    return Request(
        task,
        metrics,
        usual=usual,
        confidence=given["confidence"],
        seed=check_seed(given["random_state"]),
        kinds=kinds,
        groups=[(key.name, rows) for key, rows in groups.items()],
        by=() if layout.by is None else layout.by.columns,
        unit=given["unit"],
        warnings=warnings,
    ).supported()


# -- first pass --------------------------------------------------------------------------------


def outcomes_in(batch: Batch, start: int, layout: Layout) -> tuple[int, Any, Groups]:
    """Read outcomes and groups of a batch."""
    return start, layout.outcomes(batch), layout.groups(batch, start)


def _outcomes(found: Iterator[tuple[int, Any, Groups]]) -> tuple[Any, dict[GroupKey, Any]]:
    """Return all outcomes, and the rows of each group in the order of columns and labels."""
    parts: list[Any] = []
    rows: dict[GroupKey, list[Any]] = {}
    for start, y, groups in found:
        # A copy: a view would keep all that was read with it in memory.
        parts.append(y[:])
        for key, own in groups:
            rows.setdefault(key, []).append(own + start)
        check_groups_of(rows)
    y = joined(parts)
    if not y.weight.any():
        raise InputError("weight must be above zero for at least one subject; all are zero")
    columns = list(dict.fromkeys(key.column for key in rows))
    keys = sorted(rows, key=lambda key: (columns.index(key.column), key.label))
    check_number_of(keys, y.count)
    return y, {key: np.concatenate(rows[key]) for key in keys}


# -- second pass -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asking:
    """What every chunk is asked; small enough to be sent to every worker."""

    layout: Layout
    #: Request and plan of everybody (None) and of each group, without their outcomes.
    questions: dict[GroupKey | None, tuple[Task, ChunkPlan]]
    #: How many rows there are in all.
    rows: int

    @classmethod
    def of(
        cls,
        question: Request,
        layout: Layout,
        groups: dict[GroupKey, Any],
        spread: bool,
        baseline: bool,
    ) -> Asking:
        """Leave the outcomes behind: each chunk puts its own in their place."""
        task, found = question.task, {}
        metrics = tuple(offered(question.metrics, question.kinds))
        followed = any(metric.reads == "follow_up" for metric in metrics)
        for key in (None, *groups):
            part, _ = present(task, None if key is None else groups[key])
            by_entry, last = part.y.entry is not None, float(part.y.time.max())
            plan = ChunkPlan(metrics, False, spread, baseline, by_entry)
            tested = ObservedCurve.of(part.y, part.cause, part.errors_stop) if followed else None
            part = replace(passing(part).with_g(), follow_up=last, tested=tested)
            found[key] = replace(part, y=part.y[:1], rows=None, start=0), plan
        return cls(layout, found, len(task.y))


@dataclass
class Scored:
    """What a chunk says of its subjects."""

    y: Any
    seen: Seen
    parts: dict[GroupKey | None, Part] = field(default_factory=dict)


def scored_in(batch: Batch, start: int, asking: Asking) -> Scored:
    """Score a batch whose rows begin at `start`."""
    layout, (whole, plan) = asking.layout, asking.questions[None]
    y, predictions, distributions = layout.read(batch)
    task = replace(whole, y=y, start=start, conditional=distributions)
    if task.cause is not None:
        predictions = {name: p.ranked_by(task.until) for name, p in predictions.items()}
    with located(batch.label):
        found = Scored(y, Seen.of(task, predictions, asking.rows))
        found.parts[None] = part_of(plan, task, predictions)
        for key, rows in layout.groups(batch, start):
            if key not in asking.questions:
                raise InputError(
                    f"by: label {key.name!r} was not there in the first pass; did the data change?"
                )
            own, (question, plan) = task.subset(rows), asking.questions[key]
            about = replace(question, y=own.y, rows=own.rows, conditional=own.conditional)
            own = replace(about, start=own.start)
            members = {name: p[rows] for name, p in predictions.items()}
            found.parts[key] = part_of(plan, own, members)
    return found


def _check_same(found: Scored, y: Any, start: int) -> None:
    """Refuse outcomes that changed between the two passes."""
    stop = start + len(found.y)
    known = y[start:stop] if stop <= len(y) else None
    if known is None or not all(
        np.array_equal(getattr(known, name), getattr(found.y, name))
        for name in ("time", "event", "weight")
    ):
        raise InputError("the outcomes changed between the two passes over them; run it again")
