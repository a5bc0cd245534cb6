"""`evaluate_stream`: the evaluation of test sets that do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._tools.arrays import flag, probability, whole_number
from .._tools.random import check_seed
from ..errors import InputError
from ..evaluation import Evaluation
from ..evaluation.cells import BOOTSTRAP_LIMIT
from ..evaluation.censoring_remarks import check_follow_up, uses_reference
from ..metrics.conventions import Convention
from ..metrics.problem import checked_at_risk
from ..metrics.skill import reference_curves
from ..reference.kaplan_meier import KaplanMeier
from ..reference.reference import Reference
from .accumulator import Accumulator
from .arrow import Item, RowSource, as_source
from .assemble import few_replicates, without_antolini
from .counts import Outline
from .engine import checked_workers, in_turn, merged
from .g_sums import moves_with_g
from .groups import GroupedAccumulator, GroupedOutline, last_time_of
from .layout import Layout
from .mean_curves import FollowUp
from .plan import (
    FORESIGHT,
    GroupPlan,
    Plan,
    bins_of,
    check_conventions,
    check_settings,
    chosen_names,
    g_of_stream,
    make_problem,
    reference_horizon,
    whole_g,
)
from .sums import points_of
from .train import reference_of

#: Told how many rows are done, of how many (or None), in which pass.
Progress = Callable[[int, int | None, str], None]


def evaluate_stream(
    batches: Any,
    *,
    y_train: Any,
    predictions: Mapping[str, Any] | Any,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    n_boot: int = 100,
    bootstrap: bool = False,
    baseline: bool = True,
    time_column: str = "time",
    event_column: str = "event",
    weight_column: str | None = None,
    by: str | None = None,
    apart: Mapping[str, Any] | None = None,
    unit: str = "",
    workers: int | None = None,
    batch_rows: int | None = None,
    progress: Progress | None = None,
    time: float | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    censoring: str | KaplanMeier | None = None,
    on_unsupported: str = "truncate",
    min_g: float = 0.05,
    min_at_risk: float = 10,
    weighted: bool = True,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
) -> Evaluation:
    """Evaluate a test set that comes in batches: the numbers of `evaluate`, in bounded memory.

    Parameters
    ----------
    batches : path, frame, query, list or function
        Parquet (file, folder, glob, or a list of these), an Arrow table or dataset, a pandas or
        Polars frame (also lazy), a DuckDB relation, a list of batches, or a function that returns
        an iterator over them. A batch is a mapping of columns, a frame or an Arrow batch. An
        iterator can be read only once, which suffices unless a metric has to know how long the
        follow-up is, or G of the test subjects, before it scores the first subject.
    y_train : outcomes, path or function
        Reference set: anything that `Outcomes.of` reads, or batches like the above (also an
        iterator), which are reduced to counts, with their frequencies if they have
        `weight_column`. It must be given.
    predictions : mapping of name to column
        The name of a column of times or of curves (lists, or ``"prefix*"``), or `TimeColumn`,
        `RiskColumn`, `CurveColumns`, which say more.
    metrics : names, optional
        By default all but the squared errors and antolini, which cannot be streamed.
    confidence : float or None
        Level of the intervals; None for none.
    random_state : int
        Seed of the bootstrap.
    n_boot : int
        Bootstrap replicates.
    bootstrap : bool
        Whether metrics with analytic standard errors get intervals from the bootstrap too.
    baseline : bool
        Whether losses are compared with Kaplan-Meier of the reference set (the column `skill`).
    time_column, event_column, weight_column : str
        Columns of the outcomes; weights are frequencies.
    by : str, optional
        Column with the group of each subject (text, whole numbers, flags, categories). Groups are
        evaluated each by itself against the same reference and horizon.
    apart : mapping of name to path, optional
        Parquet files with a model's predictions, row by row those of the outcomes' files. Their
        columns are called ``name/column`` in `predictions`.
    unit : str
        What times are counted in ("days").
    workers : int, optional
        Threads; by default one a core. The numbers do not depend on it.
    batch_rows : int, optional
        How many subjects each thread scores together: fewer take less memory. By default 65,536,
        and fewer where curves have more than 61 values. The numbers do not depend on it.
    progress : function, optional
        Called with the number of rows done, of all rows (or None), and the name of the pass.
    time : float, optional
        Time of interest of brier, auc, one_calibration and ici; by default the median event time of
        the reference set.
    tau : float, optional
        Horizon of the time errors: predicted and observed times count as at most `tau`.
    convention : str or Convention, optional
        Definitions of another package or of the paper; see `Convention`.
    censoring : {"test", "train"} or KaplanMeier, optional
        Where G comes from: the test subjects (default), `y_train`, or the caller's own G.
    on_unsupported : {"truncate", "raise", "nan"}
        What metrics do at times past the horizon of the 1/G metrics.
    min_g, min_at_risk : float
        The horizon of the 1/G metrics is the last time with G above `min_g` and at least
        `min_at_risk` test subjects at risk.
    weighted, area, tail, normalize
        Settings of the time errors, as for `time_error`.

    Returns
    -------
    Evaluation
        Like that of `evaluate`, without the predictions; values agree to 1e-10.

    Notes
    -----
    Memory is bounded by `batch_rows` and `workers`, except for metrics that compare subjects with
    each other: harrell, uno, auc, one_calibration and ici keep columns of 24 bytes a subject and
    model until the end (one_calibration up to 264 more where there are curves). What outgrows one
    machine runs on several with `evaluate_dask`.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
    >>> batches = [
    ...     {"time": [2, 5], "event": [1, 0], "a": [3, 5], "b": [5, 5]},
    ...     {"time": [7, 8], "event": [1, 1], "a": [6, 9], "b": [5, 5]},
    ... ]
    >>> ev = evaluate_stream(batches, y_train=y_train, predictions={"a": "a", "b": "b"},
    ...                      metrics=["mae_po", "mae_hinge"])
    >>> {(r["model"], r["metric"]): round(r["value"], 2) for r in ev.rows()[:2]}
    {('a', 'mae_po'): 1.34, ('a', 'mae_hinge'): 0.75}
    """
    settings = {
        "time": time, "tau": tau, "convention": convention, "censoring": censoring,
        "on_unsupported": on_unsupported, "min_g": min_g, "min_at_risk": min_at_risk,
        "weighted": weighted, "area": area, "tail": tail, "normalize": normalize,
    }  # fmt: skip
    ask = Ask.of(
        metrics, confidence, random_state, n_boot, bootstrap, baseline, unit, settings, y_train
    )
    count = checked_workers(workers)
    if batch_rows is not None:
        batch_rows = whole_number(batch_rows, "batch_rows", 1)
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function; got {type(progress).__name__}")
    layout = Layout.of(predictions, time_column, event_column, weight_column, by)
    reference = reference_of(y_train, time_column, event_column, weight_column)
    source = as_source(batches, apart=apart, batch_rows=batch_rows)
    layout = layout.resolved(source.first())
    source.check(layout)
    plan = make_plan(ask, layout, reference, None, batch_rows)  # settings are checked here
    rows = source.rows
    if ask.foresight():
        outline = first_pass(source, layout, ask, count, Told(progress, rows))
        plan = make_plan(ask, layout, reference, outline, batch_rows)
        rows = outline.rows
    parts = in_turn(partial(score_item, plan=plan), source.items(layout.columns()), count)
    total = merged(Told(progress, rows).through(parts, "scoring"))
    if total is None:
        raise InputError("the stream has no rows; at least one subject is needed")
    return ask.finish(total, rows)


@dataclass(frozen=True)
class Ask:
    """What the caller wants, checked."""

    names: tuple[str, ...]
    confidence: float | None
    seed: int
    n_boot: int
    bootstrap: bool
    baseline: bool
    unit: str
    settings: dict[str, Any]
    #: Whether the metrics are those that nobody named.
    default: bool = False

    @classmethod
    def of(
        cls,
        metrics: Any,
        confidence: float | None,
        random_state: int | None,
        n_boot: int,
        bootstrap: bool,
        baseline: bool,
        unit: str,
        settings: dict[str, Any],
        y_train: Any,
    ) -> Ask:
        """Check the arguments that all engines share."""
        check_settings(settings, y_train)
        if confidence is not None:
            probability(confidence, "confidence")
        n_boot = whole_number(n_boot, "n_boot", 0)
        if not isinstance(unit, str):
            raise InputError(f"unit must be a word, such as 'days'; got {unit!r}")
        return cls(
            names=tuple(chosen_names(metrics)),
            confidence=confidence,
            seed=check_seed(random_state),
            n_boot=int(n_boot),
            bootstrap=flag(bootstrap, "bootstrap") and confidence is not None,
            baseline=flag(baseline, "baseline"),
            unit=unit,
            settings=settings,
            default=metrics is None,
        )

    def foresight(self) -> list[str]:
        """Metrics that need a first pass over the outcomes."""
        weighted = self.follow
        return [
            name for name in self.names if name in FORESIGHT or (weighted and moves_with_g(name))
        ]

    @property
    def follow(self) -> bool:
        """Whether G is that of the test subjects."""
        return g_of_stream(self.settings) == "test"

    @property
    def counted(self) -> bool:
        """Whether outcomes are counted: for G, or to compare follow-ups with the training set's."""
        return self.follow or uses_reference(self.names)

    @property
    def keep_outcomes(self) -> bool:
        """Whether the first pass has to keep all outcomes."""
        return "km_calibration" in self.names

    @property
    def at_risk(self) -> float:
        """Subjects that must be at risk at the horizon."""
        return checked_at_risk(self.settings.get("min_at_risk", 10))

    def finish(self, total: Accumulator, rows: int | None) -> Evaluation:
        """Return the evaluation."""
        result: Evaluation = total.result(self.confidence, self.unit, n_boot=self.n_boot, rows=rows)
        if self.default:
            curves = "curves" in total.kinds.values()
            result.warnings[:0] = without_antolini(total.subjects, curves)
        if self.bootstrap:
            result.warnings.extend(few_replicates(self.n_boot))
        return result


def first_pass(
    source: RowSource, layout: Layout, ask: Ask, workers: int, told: Told | None = None
) -> Outline:
    """Read the outcomes alone: how long the follow-up is, and who is at risk in the end."""
    if not source.again:
        name = ask.foresight()[0]
        what, instead = "how long the follow-up is", ""
        if name not in FORESIGHT:
            what = "G of the test subjects"
            instead = ", pass censoring='train' or a KaplanMeier"
        raise InputError(
            f"{name} has to know {what} before it scores the first subject, and an iterator can be "
            "read only once: pass a list, a function that returns a new iterator, a file or a "
            f"frame{instead}, or leave the metric out"
        )
    columns = layout.outcome_columns
    look = partial(
        outline_item, layout=layout, at_risk=ask.at_risk, keep=ask.keep_outcomes, follow=ask.counted
    )
    told = told or Told(None, source.rows)
    outline = merged(told.through(in_turn(look, source.items(columns), workers), "outcomes"))
    if outline is None:
        raise InputError("the stream has no rows; at least one subject is needed")
    result: Outline = outline
    return result


def outline_item(item: Item, layout: Layout, at_risk: float, keep: bool, follow: bool) -> Outline:
    """Look at the outcomes of a piece of the stream."""
    start = item.start
    found = Outline(at_risk, keep, follow)
    if layout.by is not None:
        found = GroupedOutline(at_risk, keep, layout.by, follow)
    for batch in item.batches(layout.outcome_columns):
        if len(batch):
            labels = layout.labels(batch, start)
            if isinstance(found, GroupedOutline) and labels is not None:
                found.update_groups(layout.outcomes(batch), start, labels)
            else:
                found.update(layout.outcomes(batch), start)
            start += len(batch)
    return found


def score_item(item: Item, plan: Plan) -> Accumulator:
    """Score a piece of the stream."""
    start = item.start
    part = Accumulator(plan) if plan.layout.by is None else GroupedAccumulator(plan)
    for batch in item.batches(plan.layout.columns()):
        if len(batch):
            part.update(batch, start)
            start += len(batch)
    if isinstance(part, GroupedAccumulator):
        part.settle()
    return part


def make_plan(
    ask: Ask,
    layout: Layout,
    reference: Reference,
    outline: Outline | None,
    batch_rows: int | None = None,
) -> Plan:
    """Decide what every chunk is asked."""
    threshold = reference_horizon(reference, ask.settings)
    groups: dict[Any, GroupPlan] | None = None
    bins, remarks = None, []
    if outline is None:
        known = Outline(ask.at_risk, follow=ask.follow)
        known.update(reference.y, 0)  # stands in; no metric of this plan looks at horizon or G
        problem = make_problem(known, reference, ask.settings)
        follow_up, keep_curves = None, False
    else:
        problem = make_problem(outline, reference, ask.settings)
        threshold = problem.horizon
        if ask.follow:
            bins = bins_of(outline, ask.names, problem.tau)
        if ask.counted:
            remarks = check_follow_up(outline.counts().outcomes(), problem, ask.names)
        follow_up = FollowUp.of(outline.outcomes()) if outline.keep else None
        keep_curves = outline.keep and outline.rows <= BOOTSTRAP_LIMIT
        if isinstance(outline, GroupedOutline):
            groups = {
                label: _group_plan(label, own, ask, problem.tau)
                for label, own in outline.groups.items()
            }
    check_conventions(problem, ask.names)
    curves = any(hasattr(spec, "tail") for spec in layout.predictions.values())
    closed = problem.tau is not None and problem.tau <= reference.last_time
    baseline = reference_curves(reference, 1)
    return Plan(
        layout,
        ask.names,
        problem,
        seed=ask.seed,
        n_boot=ask.n_boot if ask.bootstrap else 0,
        baseline=ask.baseline,
        tails="mae_po" in ask.names and curves and not closed,
        threshold=threshold,
        follow_up=follow_up,
        keep_curves=keep_curves,
        batch_rows=batch_rows,
        settings=ask.settings,
        points=points_of(baseline, problem.tau) if ask.baseline else {},
        held=points_of(baseline.held(), problem.tau) if ask.baseline else {},
        digest=None if outline is None else outline.digest,
        groups=groups,
        follow=ask.follow and outline is None,
        counted=ask.counted and outline is None,
        bins=bins,
        remarks=tuple(remarks),
    )


def _group_plan(label: Any, outline: Outline, ask: Ask, tau: float | None) -> GroupPlan:
    """Read off the first pass what scoring a group has to know."""
    return GroupPlan(
        last_time_of(label, outline),
        FollowUp.of(outline.outcomes()) if outline.keep else None,
        outline.keep and outline.rows <= BOOTSTRAP_LIMIT,
        whole_g(outline, ask.settings) if ask.follow else None,
        bins_of(outline, ask.names, tau) if ask.follow else None,
    )


class Told:
    """Say how far the work has come."""

    def __init__(self, progress: Progress | None, rows: int | None) -> None:
        self._progress, self._rows = progress, rows

    def through(self, parts: Iterable[Any], name: str) -> Iterable[Any]:
        """Yield the parts of a pass."""
        done = 0
        for part in parts:
            done += part.rows
            if self._progress is not None:
                self._progress(done, self._rows, name)
            yield part
