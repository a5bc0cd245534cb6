"""`evaluate_stream`: the evaluation of test sets that do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._tools.arrays import whole_number
from .._tools.provenance import call_text, provenance
from .._tools.threads import drawn_in_order, thread_count
from ..errors import InputError
from ..evaluation import Evaluation
from ..evaluation.interval_call import refuse_settings
from ..metrics.conventions import Convention
from ..reference.kaplan_meier import KaplanMeier
from .accumulator import Accumulator
from .arrow import Item, as_source
from .batches import Batch
from .finish import finish
from .layout import Layout
from .outline import MOST_TIMES, Outline
from .question import Request, Scoring, scoring_of
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
    entry_column: str | None = None,
    outcomes: str | None = None,
    by: str | None = None,
    apart: Mapping[str, Any] | None = None,
    unit: str = "",
    conditional: Mapping[str, Any] | None = None,
    workers: int | None = None,
    batch_rows: int | None = None,
    progress: Progress | None = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    threshold: float | None = None,
    convention: str | Convention | None = None,
    censoring: str | KaplanMeier | None = None,
    on_unsupported: str = "truncate",
    min_g: float = 0.05,
    min_at_risk: float = 10,
    weighted: bool = True,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    floor: float = 0.1,
    cause: int | str | None = None,
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
        `RiskColumn`, `CurveColumns`, which say more; `IncidenceColumns` with a cause.
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
    entry_column : str, optional
        Column with the time from which on a subject was observed (delayed entry), by default
        ``entry`` if there is one; `y_train` has it too. As for `evaluate`, predictions and G are
        conditioned on it, and metrics that know no entry are left out of the default ones.
    outcomes : {"right", "interval"}, optional
        Which outcomes to read: times and events, or the columns ``lower`` and ``upper`` of
        interval-censored ones. By default what the columns say; where there are both, it must be
        given. The law of the event time is then Turnbull's of `y_train`, and settings that only
        right-censored outcomes have are refused.
    by : str, optional
        Column with the group of each subject (text, whole numbers, flags, categories). Groups are
        evaluated each by itself against the same reference and horizon.
    apart : mapping of name to path, optional
        Parquet files with a model's predictions, row by row those of the outcomes' files. Their
        columns are called ``name/column`` in `predictions`.
    unit : str
        What times are counted in ("days").
    conditional : mapping of {"law", "censoring"} to column, optional
        Columns of curves (their names, or `CurveColumns`) that hold the law of the event time and
        G of each subject, for the doubly robust metrics; by default Kaplan-Meier.
    workers : int, optional
        Threads; by default one per core. The numbers do not depend on it.
    batch_rows : int, optional
        How many subjects each thread scores together: fewer take less memory. By default
        131,072, and fewer where curves have more than 25 values. The numbers do not depend on it.
    progress : function, optional
        Called with the number of rows done, of all rows (or None), and the name of the pass.
    time : float or several, optional
        Times of interest of brier, auc, one_calibration and ici, as for `evaluate`; by default
        `tau`, or else the median observed time of the reference set.
    tau : float, optional
        Horizon of all metrics that stop at one, as for `evaluate`.
    threshold : float, optional
        Predicted risk from which on a subject is treated, as for `evaluate`.
    convention : str or Convention, optional
        Definitions of another package or of the paper; see `Convention`.
    censoring : {"test", "train"} or KaplanMeier, optional
        Where G comes from: the test subjects (default), `y_train`, or the caller's own G.
    on_unsupported : {"truncate", "raise", "nan"}
        What metrics do at times past the horizon of the 1/G metrics.
    min_g, min_at_risk : float
        The horizon of the 1/G metrics is the last time with G above `min_g` and at least
        `min_at_risk` test subjects at risk.
    weighted, area, tail, normalize, floor
        Settings of the time errors, as for `time_error`.
    cause : int or str, optional
        With several causes, the one that the evaluation is about, as for `evaluate`; `y_train` is
        then outcomes in memory, which say what the causes are, and the event column has their codes
        or names.

    Returns
    -------
    Evaluation
        Like that of `evaluate`, without the predictions; all numbers agree to 1e-9.

    Notes
    -----
    Memory is bounded by `batch_rows` and `workers`, except for metrics that compare subjects with
    each other: harrell, uno, auc, one_calibration and ici keep columns of 24 bytes per subject and
    model until the end (one_calibration up to 264 more where there are curves), and those of
    curves at a time as much again for every further time. Scores with weights 1/G of the test
    subjects keep 8 to 16 bytes per subject, metric and model where intervals are asked for, in a
    temporary file where they are many, and outcomes are counted at every distinct time. What
    outgrows one machine runs on several with `evaluate_dask`. Where subjects enter late or outcomes
    are intervals, a first pass keeps all outcomes (17 bytes per subject, 25 with frequencies), and
    metrics that keep probabilities keep those at the entry and at the own time of each subject too.

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
    given = dict(locals())
    batch_rows = None if batch_rows is None else whole_number(batch_rows, "batch_rows", 1)
    threads = thread_count() if workers is None else whole_number(workers, "workers", 1)
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function; got {type(progress).__name__}")
    columns = time_column, event_column, weight_column
    layout = Layout.of(predictions, *columns, by, conditional, entry_column, outcomes)
    source = as_source(batches, apart=apart, batch_rows=batch_rows)

    def run(name: str, columns: list[str], work: Callable[..., Any], *about: Any) -> Any:
        items = source.items(columns)
        parts = drawn_in_order(lambda item: work(item, *about), items, threads, ahead=threads)
        return merged(_told(parts, progress, source.rows, name))

    return evaluate_source(evaluate_stream, given, layout, source, run, batch_rows)


#: What the caller asks of a stream, besides the settings of the question.
_ASKED = ("metrics", "confidence", "random_state", "n_boot", "bootstrap", "baseline", "unit")
#: Settings of the question, as for `evaluate`.
_SETTINGS = (
    "time", "tau", "threshold", "convention", "censoring", "on_unsupported", "min_g", "min_at_risk",
    "weighted", "area", "tail", "normalize", "floor", "cause",
)  # fmt: skip
#: Arguments of streams that say where data are and who computes, whatever the outcomes are.
_OF_STREAMS = (
    "batches", "frame", "weight_column", "entry_column", "outcomes", "apart", "workers",
    "batch_rows", "progress", "client", "n_boot", "bootstrap", "baseline",
)  # fmt: skip


def evaluate_source(
    function: Callable[..., Evaluation],
    given: Mapping[str, Any],
    layout: Layout,
    source: Any,
    run: Callable[..., Any],
    batch_rows: int | None = None,
) -> Evaluation:
    """Evaluate the rows of a source, as a public function was asked to by its arguments `given`.

    `run(name, columns, work, *about)` is one pass: it applies `work(item, *about)` to all items of
    the source and merges what comes out.
    """
    made = provenance(call_text(function, given))
    layout, reference = _opened(layout, given["y_train"], source.first(), given["cause"])
    request = Request.of(
        **{name: given[name] for name in _ASKED},
        settings={name: given[name] for name in _SETTINGS},
        batch_rows=batch_rows,
        layout=layout,
    )
    if layout.are_intervals:
        refuse_settings(function, given, _OF_STREAMS)
    elif layout.laws:
        request = request.given_distributions()
    source.check(layout)
    outline: Outline | None = None
    scoring: Any = None
    if not request.kept:  # what is wrong with the question is said before the rows are read
        scoring = scoring_of(request, layout, reference, None)
    if request.kept or request.foresight():
        if not source.again:
            raise _read_once(request)
        found: Outline = run("outcomes", layout.outcome_columns, outline_item, layout, request)
        if request.kept:
            request = request.under_entry(found, reference)
        scoring, outline = scoring_of(request, layout, reference, found), found
        source.rows = found.rows
    total: Accumulator = run("scoring", layout.columns(), score_item, scoring)
    return replace(finish(total.attach(scoring), source.rows, outline), provenance=made)


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


def merged(parts: Iterable[Any]) -> Any:
    """Merge parts one after the other, in their order."""
    rest = iter(parts)
    total = next(rest, None)
    if total is None:
        raise InputError("the stream has no rows; at least one subject is needed")
    for part in rest:
        total.merge(part)
    return total


def _told(
    parts: Iterable[Any], progress: Progress | None, rows: int | None, name: str
) -> Iterator[Any]:
    """Yield the parts of a pass, and say how far it has come."""
    done = 0
    for part in parts:
        done += part.rows
        if progress is not None:
            progress(done, rows, name)
        yield part


def _read_once(request: Request) -> InputError:
    """Return what to do about an iterator where two passes are needed."""
    if request.kept:
        what = "Intervals" if request.outcomes == "interval" else "Delayed entries"
        return InputError(
            f"{what} of all subjects have to be known before the first subject is scored, and an "
            "iterator can be read only once: pass a list, a function that returns a new iterator, "
            "a file or a frame"
        )
    metric, what = request.foresight()[0]
    instead = ", pass censoring='train' or a KaplanMeier" if not metric.reads else ""
    return InputError(
        f"{metric.name} has to know {what} before it scores the first subject, and an iterator can "
        "be read only once: pass a list, a function that returns a new iterator, a file or a "
        f"frame{instead}, or leave the metric out"
    )


def outline_item(item: Item, layout: Layout, request: Request) -> Outline:
    """Look at the outcomes of a piece of the stream."""
    start = item.start
    most = None if request.own_g else MOST_TIMES
    found = Outline(request.min_at_risk, request.keep_outcomes, request.counted, most)
    for batch in item.batches(layout.outcome_columns):
        if len(batch):
            found.update(layout.outcomes(batch), start, layout.groups(batch, start))
            start += len(batch)
    return found


def score_item(item: Item, scoring: Scoring) -> Accumulator:
    """Score a piece of the stream."""
    start, part = item.start, Accumulator(scoring)
    for batch in item.batches(scoring.layout.columns(), scoring.chunk_rows):
        if len(batch):
            part.update(batch, start)
            start += len(batch)
    part.settle()
    return part
