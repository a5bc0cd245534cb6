"""One call: models x metrics, with intervals, comparisons, support and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, probability, vector
from .._tools.frames import in_memory, refuse_other_order
from .._tools.random import check_seed
from .._tools.running import chunks, in_order, steps
from .._tools.writing import call_text, provenance
from ..data.curves import SurvivalCurves
from ..data.outcome_parts import check_unit
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, one_of
from ..metrics.conventions import Convention, takes_settings
from ..metrics.registry import REGISTRY, Metric, current_name, default_metrics, metrics_of
from ..metrics.score import Clusters
from ..metrics.task import Task
from .cells import (
    CONTRIBUTIONS_LIMIT,
    TableCell,
    check_agreement,
    check_tails,
    check_weights,
    passing,
    settled,
    withhold_dependent,
)
from .checks import (
    Seen,
    check_entry,
    check_features,
    check_follow_up,
    check_grids,
    check_groups,
    check_intervals,
    check_members,
    check_sampling,
    check_task,
    check_units,
    refuse_outcomes,
)
from .columns import CHUNK_ROWS, ChunkPlan, Columns, Part, chunk_rows, part_of
from .data_support import SubjectCounts, support_of
from .finish import Group
from .reading import (
    OF_TEST,
    at_landmark,
    columns_of,
    distributions_given,
    groups_of,
    labels_of,
    named_models,
    read_outcomes,
    read_predictions,
    refuse_late_entry,
    refuse_settings,
    sizes_of,
)
from .result import Evaluation
from .warning_kinds import EvaluationWarning, warned


@takes_settings
def evaluate(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    *,
    y_train: Any = None,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    by: Any = None,
    unit: str = "",
    sample_weight: Any = None,
    cluster: Any = None,
    X_test: Any = None,
    X_train: Any = None,
    conditional: Any = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    cause: int | str | None = None,
    landmark: float | None = None,
) -> Evaluation:
    """Evaluate models on the same test subjects: which is better, by how much, how surely.

    Parameters
    ----------
    predictions : mapping of name to predictions
        Curves (anything that `as_curves` reads), one time per subject, or `RiskScores`. A single
        prediction is called "model".
    y_test : outcomes
        Test outcomes: anything that `Outcomes.of` reads. Delayed entry (``Outcomes(...,
        entry=...)``, or a column ``entry`` of a frame) is heeded: predictions and G are conditioned
        on it, and metrics that support no entry are left out of the default ones. With
        `IntervalOutcomes` (the event lies between two visits) the metrics are those of
        interval-censored outcomes, the baseline is Turnbull's estimate of `y_train`, and settings
        that only right-censored outcomes have are refused.
    y_train : outcomes, optional
        Reference set of imputed times and the baseline; without it the test outcomes are their
        own reference. G comes from the test subjects, unless the convention says otherwise.
    metrics : names, optional
        See `available_metrics`. By default all but the squared errors; "study": what a validation
        study reports.
    confidence : float or None
        Level of the intervals; None for none.
    random_state : int
        Seed of the bootstrap.
    by : array-like of shape (n,), or mapping of such, optional
        Groups of subjects, each evaluated by itself after all subjects together, with its own G,
        against the same reference and horizon. A mapping of names to labels (or a frame) has
        groups by each of its columns. `group_differences` tests whether groups differ.
    unit : str
        What times are counted in ("days"), for sentences and axes; durations and dates in `y_test`,
        `y_train` and predicted times are counted in it ("seconds" to "years").
    sample_weight : array-like of shape (n,), optional
        Sampling weights: how many subjects of the population each one represents, up to a factor.
        Metrics estimate their value in that population, and standard errors take the weights as
        given (only their ratios matter). G of the test subjects is estimated with them. A subject
        of weight 0 is left out. The weights of `y_test` are frequencies instead. Metrics without
        sampling weights (calibration) are undefined then.
    cluster : array-like of shape (n,), optional
        A label per subject, such as the hospital, or the patient of several rows. Standard errors
        come from sums of contributions by cluster, with t quantiles (clusters - 1 degrees of
        freedom), and the bootstrap draws whole clusters.
    X_test : array-like of shape (n, p) or frame, optional
        Features of the test subjects: `censoring_test` says whether censoring depends on them,
        which weights 1/G assume it does not. Numbers without gaps, unless there is `X_train`. Not
        together with `sample_weight`.
    X_train : array-like of shape (m, p) or frame, optional
        Features of the training subjects. With `X_test` and `y_train`, `sg.conditional` fits
        distributions given the features for the metrics that take them; frames may have text and
        gaps.
    conditional : Conditional, optional
        Distributions of event and censoring time given the features of each test subject, for the
        doubly robust metrics and for the time errors that take a distribution; by default
        Kaplan-Meier, or what `X_train` gives.
    time : float or several, optional
        Times of interest of brier, auc, ici, observed_expected and all others that are read at a
        time, which get a score at each of them; by default `tau`, or else the median observed time
        of the reference set (half of its subjects are observed for longer), or the last time that
        the data support where that comes before it.
    tau : float, optional
        Horizon of all metrics that stop at one. Time errors take predicted and observed times as at
        most `tau`, and crps and km_calibration integrate up to it; uno, ibs, ibll and mae_within
        stop there, or at the last time that the data support before it. The columns `time` and
        `until` of the table say which times were used.
    convention : str or Convention, optional
        Definitions of another package or of the paper, and settings that only specialists change:
        the threshold of net_benefit, whose G weights subjects, where the horizon ends, tails and
        areas of time errors, the bootstrap; see `Convention`.
    cause : int or str, optional
        With several causes of the event, code or name of the one that the evaluation is about.
        `y_test` and `y_train` then have the causes, and predictions are `IncidenceCurves`
        (`as_incidence` reads those of other libraries), times or `RiskScores`. Metrics that support
        one kind of event only are left out of the default ones, and refused where they are named.
        The baseline is Aalen-Johansen of the reference set, and C ranks subjects by the incidence
        predicted by the horizon.
    landmark : float, optional
        Evaluate from this time on: those at risk then, with predictions given being event-free
        then (or for those at risk only: updated then). `time`, `tau` and all results count time
        from the landmark. `landmarks` does it for several of them.

    Returns
    -------
    Evaluation
        `table`, `compare()`, `support`, `warnings`, `to_dict()`.

    Notes
    -----
    Curves are read where they are, block by block: float32 and memory-mapped matrices are neither
    copied nor widened. Blocks are shared between threads, as many as there are cores (one inside
    the workers of joblib and Dask); the environment variable ``SURVGAUGE_THREADS`` sets another
    number, and the result is the same to the last bit.

    Above 100,000 subjects a score keeps its standard errors (also those of differences between
    models, the same as of fewer subjects to 1e-9), but no contributions of single subjects. Above
    20,000 subjects antolini leaves the default metrics.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
    >>> y_test = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y_test, y_train=y_train,
    ...               metrics=["mae_po", "mae_hinge"])
    >>> {(r["model"], r["metric"]): round(r["value"], 2) for r in ev.rows()[:2]}
    {('a', 'mae_po'): 1.34, ('a', 'mae_hinge'): 0.75}
    """
    given = dict(locals())
    made = provenance(call_text(evaluate, given))
    check_unit(unit)
    models = named_models(predictions)
    named = {f"predictions of {name!r}": obj for name, obj in models.items()}
    refuse_other_order(y_test, "y_test", named, curves=True)
    refuse_other_order(y_test, "y_test", {name: given[name] for name in OF_TEST})
    refuse_other_order(y_train, "y_train", {"X_train": X_train})
    if isinstance(y_test, IntervalOutcomes):
        refuse_settings(evaluate, given)
    if landmark is not None:
        asked, found = at_landmark(given)
        ev = evaluate(**asked)
        numbers = found.numbers
        support = {"landmark": numbers["landmark"], "subjects_in_all": numbers["subjects"]}
        cases = [found, *ev.cases]
        return replace(ev, support=ev.support | support, cases=cases, provenance=made)
    preset = Convention.of(convention)
    if X_test is not None and sample_weight is not None:
        raise InputError(
            "X_test cannot be given together with sample_weight: the test of whether censoring "
            "depends on the features takes no sampling weights; leave X_test out"
        )
    if X_test is not None:
        X_train, X_test = in_memory(X_train, "X_train"), in_memory(X_test, "X_test")
    y, y_train = read_outcomes(y_test, y_train, cause, unit)
    if X_test is not None or conditional is not None:
        refuse_late_entry(y, y_train, X_train, X_test, conditional)
    parsed = read_predictions(models, y, cause, unit)
    if confidence is not None:
        probability(confidence, "confidence")
    weight = None if sample_weight is None else sampling_weights(sample_weight, y)
    y, _ = y.sampled(weight, "y_test")
    if X_test is not None and isinstance(y, Outcomes):
        refuse_outcomes(X_test, y)
    seed = check_seed(random_state)
    # Warnings and support look at the spread of few subjects also where no interval is asked for.
    contributions = confidence is not None or len(y) <= CONTRIBUTIONS_LIMIT
    task = Task.of(
        y, y_train, weight, time=time, tau=tau, convention=preset,
        conditional=distributions_given(X_train, y_train, X_test, y, conditional, seed),
        cause=cause, contributions=contributions,
    )  # fmt: skip
    if cause is not None:
        parsed = {name: p.ranked_by(task.until) for name, p in parsed.items()}
    chosen, left_out = chosen_metrics(metrics, y.count, preset.threshold, cause, task.outcomes)
    question = Request(
        task.again(clusters=None if cluster is None else _clusters(cluster, y)),
        chosen,
        usual=metrics is None or (isinstance(metrics, str) and metrics == "study"),
        confidence=confidence,
        seed=seed,
        kinds={name: p.kind for name, p in parsed.items()},
        groups=groups_of(by, len(y)),
        by=columns_of(by),
        unit=unit,
        warnings=left_out,
    ).supported()
    task = question.task
    dependent = [] if X_test is None else check_features(X_train, X_test, task.first)
    scores, said = score_arrays(question, parsed)
    return evaluated(
        question,
        Seen.of(task, parsed, len(y)),
        scores,
        found=said,
        grids=check_grids(task, parsed),
        made=made,
        y_train=y_train,
        predictions=parsed,
        features=X_test is not None,
        members=check_members(task.conditional, parsed),
        dependent=dependent,
    )


def sampling_weights(given: Any, y: Outcomes, like: str = "y_test") -> Floats:
    """Read sampling weights; only their ratios matter, so their mean is made 1."""
    weight = vector(given, "sample_weight", length=len(y), like=like, minimum=0.0)
    present = (weight > 0) & (y.weight > 0)
    if not present.any():
        raise InputError("sample_weight must have a positive sum; got all zeros")
    weight = np.where(present, weight, 0.0)
    weight /= weight.max()
    weight /= weight[present].mean()
    return weight


def _clusters(given: Any, y: Outcomes) -> Clusters:
    """Read who was sampled together."""
    labels, _ = labels_of(given, len(y), "cluster")
    clusters = Clusters.of(labels, y.frequency)
    if clusters.number < 2:
        raise InputError(
            "cluster must have at least two different labels, as standard errors come from the "
            f"spread between clusters; got {clusters.number}"
        )
    return clusters


def chosen_metrics(
    metrics: Iterable[str] | str | None,
    n: int,
    threshold: float | None = None,
    cause: int | str | None = None,
    outcomes: str = "right",
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return metrics by name; by default all that suit the number of subjects.

    "study" stands for what a validation study reports.
    """
    if metrics is None:
        usual, chosen = (
            default_metrics(size, threshold=threshold, cause=cause, outcomes=outcomes)
            for size in (0, n)
        )
        skipped = [metric for metric in usual if metric not in chosen]
        why = "takes long for more than {:,.0f} subjects (here {:,})"
        return chosen, [
            warned("metric-skipped", name=m.name, why=why.format(m.default_until, n))
            for m in skipped
        ]
    if not isinstance(metrics, Iterable):
        raise InputError(f"metrics must be a list of names; got {metrics!r}")
    if isinstance(metrics, str) and metrics == "study":  # an array compares each entry
        known = [m for m in metrics_of(outcomes, cause).values() if m.reported]
        if not known:
            raise InputError(
                "a study reports metrics of right-censored outcomes, and these are "
                "interval-censored: use evaluate, whose table and page have the metrics of these"
            )
        return [m for m in known if threshold is not None or not m.reads_threshold], []
    names = [current_name(n) for n in ([metrics] if isinstance(metrics, str) else metrics)]
    for name in names:
        one_of("metrics", name, REGISTRY, "survgauge metrics or sg.available_metrics()")
    if not names:
        raise InputError("metrics must name at least one metric; got an empty list")
    chosen = [REGISTRY[name] for name in dict.fromkeys(names)]
    for metric in chosen:
        metric.check_threshold(threshold)
        metric.check_cause(cause)
        metric.check_outcomes(outcomes)
    return chosen, []


def under_entry(
    chosen: list[Metric], named: bool, cause: int | str | None = None
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return the metrics that support delayed entry; refuse others that were named."""
    kept = [metric for metric in chosen if metric.supports_entry(cause)]
    others = ", ".join(metric.name for metric in chosen if metric not in kept)
    of = "" if cause is None else " of a cause"
    if others and named:
        lacks, it = ("support", "them") if "," in others else ("supports", "it")
        raise InputError(
            f"metrics: {others} {lacks} no delayed entry{of}; leave {it} out, or give landmark=, "
            "which counts time from there for the subjects at risk"
        )
    return kept, [warned("knows-no-entry", metrics=others, of=of)] if others else []


def offered(metrics: Iterable[Metric], kinds: dict[str, str]) -> list[Metric]:
    """Return the metrics that some model offers what they need; `kinds` are those of the models."""
    return [m for m in metrics if any(Prediction.offers(kind, m.needs) for kind in kinds.values())]


@dataclass(frozen=True)
class Request:
    """Who is asked about, and what."""

    task: Task
    metrics: list[Metric]
    #: Whether they are those that nobody named.
    usual: bool
    #: Level of the intervals (None: none), and seed of the bootstrap.
    confidence: float | None
    seed: int
    #: What kind of predictions each model gives.
    kinds: dict[str, str]
    #: Rows of each group by its name, the columns that they are by, and (`supported`) their sizes.
    groups: list[tuple[Any, Ints]] = field(default_factory=list)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    by: Sequence[str] = ()
    unit: str = ""
    #: Of metrics that were left out.
    warnings: list[EvaluationWarning] = field(default_factory=list)

    def supported(self) -> Request:
        """Leave out metrics that do not support delayed entry, where there is any."""
        task, chosen, warnings = self.task, self.metrics, self.warnings
        if task.by_entry:
            chosen, more = under_entry(chosen, not self.usual, task.cause)
            warnings = [*warnings, *more]
        had = tuple(metric.name for metric in offered(chosen, self.kinds))
        task = passing(task.again(asked=had))
        sizes = sizes_of(task.y, self.groups, task.cause)
        return replace(self, task=task, metrics=chosen, warnings=warnings, sizes=sizes)


def evaluated(
    question: Request,
    seen: Seen,
    scores: list[TableCell],
    *,
    found: list[EvaluationWarning],
    grids: list[EvaluationWarning],
    made: dict[str, Any],
    y_train: Any = None,
    predictions: dict[str, Prediction] | None = None,
    features: bool | None = False,
    members: list[EvaluationWarning] | None = None,
    dependent: list[EvaluationWarning] | None = None,
) -> Evaluation:
    """Return the evaluation, with all warnings in their order.

    Parameters
    ----------
    question, seen, scores
        What was asked, and what came out.
    found, grids, dependent, members
        Warnings about scores, on coarse grids, on censoring that depends on features, and on models
        that are part of a distribution given features.
    made
        Provenance.
    y_train
        Training outcomes, where they are intervals.
    predictions
        What the models said, where it is in memory.
    features
        Whether there are features by which censoring can be described; None: there can be none.
    """
    task = question.task
    intervals, sampled = task.outcomes == "interval", task.sample_weight is not None
    counts, sizes = SubjectCounts.of(task), question.sizes
    warnings = list(question.warnings)
    if task.by_entry:
        denied = {name: (kind, seen.denied[name]) for name, kind in question.kinds.items()}
        warnings += check_entry(task, denied, task.convention.min_at_risk)
    warnings += (check_intervals if intervals else check_task)(task, counts)
    warnings += check_sampling(task.y.fractional, task.clusters)
    warnings += grids + check_units(task, seen)
    # The test behind it is one of subjects who count alike, observed from the beginning.
    if not sampled and not intervals and not task.by_entry:
        warnings += check_follow_up(passing(task), question.metrics)
    warnings += (dependent or []) + (members or []) + check_groups(sizes)
    warnings += found + check_weights(scores) + check_agreement(scores)
    warnings += check_tails(scores, question.confidence, task.words.baseline)
    scores = [settled(score) for score in scores]
    if dependent:
        scores = withhold_dependent(scores, task)
    if question.usual:
        scores, warnings = leave_out(scores, warnings)
    same = sorted(question.kinds.keys() - seen.unlike_baseline)
    support = support_of(task, counts, scores, same, y_train, features)
    if sizes:
        support |= {"groups": sizes, "by": list(question.by)}
    return Evaluation(
        scores,
        task.own(),
        question.confidence,
        support,
        warnings,
        question.seed,
        tuple(question.kinds),
        predictions or {},
        question.unit,
        provenance=made,
    )


#: In memory a chunk is no more than a small part of the subjects, but at least so many of them:
#: what threads hold of chunks is to be little beside the input.
LEAST_ROWS = CHUNK_ROWS // 8


def score_arrays(
    question: Request, predictions: dict[str, Prediction]
) -> tuple[list[TableCell], list[EvaluationWarning]]:
    """Return the scores of everybody and of every group of subjects, and warnings."""
    task, metrics, confidence = question.task, question.metrics, question.confidence
    scores: list[TableCell] = []
    warnings: list[EvaluationWarning] = []
    for name, rows in [(None, None), *question.groups]:
        part, rows = present(task, rows)
        members = {name: p[rows] for name, p in predictions.items()}
        columns = columns_of_arrays(part, members, metrics, confidence is not None)
        found, said = Group(columns, part, members, confidence, question.seed, name).scores()
        scores += found
        warnings += said
    return scores, warnings


def present(task: Task, rows: Any = None) -> tuple[Task, Any]:
    """Return the question about a group (None: all) without those of weight zero, and its rows.

    It has look-ups of its own, which end with it.
    """
    weight = task.y.weight
    if task.y.frequency is not None and not weight.all():
        rows = np.flatnonzero(weight) if rows is None else rows[weight[rows] > 0]
    if rows is None:
        return task.again(), slice(0, len(task.y))
    return task.subset(rows), rows


def columns_of_arrays(
    task: Task, predictions: dict[str, Prediction], metrics: list[Metric], spread: bool
) -> Columns:
    """Return the numbers of all subjects, scored in chunks where they are many."""
    n = len(task.y)
    by_entry = task.y.entry is not None
    metrics = offered(metrics, {name: p.kind for name, p in predictions.items()})
    plan = ChunkPlan(tuple(metrics), resident=True, spread=spread, by_entry=by_entry)
    curves = [p.curves for p in predictions.values() if p.curves is not None]
    # A distribution inside intervals may be that of the subjects, a convention may divide scores at
    # each time by weights that only all subjects tell, and the first curve that ends without a tail
    # ends the scores of all subjects.
    together = task.distribution_moves or not all(map(_end_together, curves))
    together |= task.convention.divisor != "n" and any(m.uses_divisor for m in metrics)
    size = min(chunk_rows(c.width for c in curves), max(n // 32, LEAST_ROWS))
    size = n if together else min(size, n)
    whole = passing(task).with_g()
    if size < n:
        whole = replace(whole, follow_up=float(task.y.time.max()))

    def scored(rows: slice, plan: ChunkPlan, models: dict[str, Prediction]) -> Part:
        members = {name: p[rows] for name, p in models.items()}  # look-ups end with the chunk
        return part_of(plan, whole.subset(rows) if size < n else whole, members)

    columns = Columns(plan)
    if size >= n:
        columns.add(scored(slice(0, n), plan, predictions))
        return columns
    # What one part holds need not be held with that of the next: metrics that look at all steps of
    # the baseline score it first, in few chunks, and time errors, with their tables of the
    # reference set, come last.
    reading = replace(plan, metrics=tuple(metric for metric in metrics if metric.reads))
    last = tuple(m for m in metrics if m.family == "time" and not m.reads)
    others = tuple(metric for metric in metrics if metric not in last)
    beside, errors = (replace(plan, metrics=own, reads_baseline=False) for own in (others, last))
    few = max(n // 8, LEAST_ROWS)
    for own, models, most in (
        (reading, {}, few), (beside, predictions, size), (errors, predictions, size),
    ):  # fmt: skip
        if not own.metrics:
            continue
        score = partial(scored, plan=own, models=models)
        score(slice(0, 1))  # the reference's tables, before several threads look at them
        parts = list(chunks(n, size=most))
        for part in steps(in_order(score, parts), len(parts), "scoring subjects"):
            columns.add(part)
    return columns


def _end_together(curves: SurvivalCurves) -> bool:
    """Whether some of the curves end the scores where all of them do."""
    if curves.tail != "nan":
        return True
    open_end = curves.last_survival > 0
    return curves.shared_grid and bool(open_end.all() or not open_end.any())


def leave_out(
    scores: list[TableCell], warnings: list[EvaluationWarning]
) -> tuple[list[TableCell], list[EvaluationWarning]]:
    """Leave out metrics that nobody named and that have a value for no model of this kind.

    Step curves have no density, for example: where all models predict step curves, a table without
    the log-likelihood says as much as one with a column of gaps.
    """
    told = {(w.group, w.model, w.metric): w.message for w in warnings if w.code == "not-applicable"}
    cells = [(score, (score.group, score.model, score.metric.name)) for score in scores]
    kept = {name for score, (_, _, name) in cells if (score.group, score.model, name) not in told}
    gone = {name: why for (_, _, name), why in told.items() if name not in kept}
    others = [
        warned("not-applicable", metric=name, why=f"{why}; the metric is left out")
        for name, why in gone.items()
    ]
    return (
        [score for score in scores if score.metric.name not in gone],
        [w for w in warnings if w.metric not in gone] + others,
    )
