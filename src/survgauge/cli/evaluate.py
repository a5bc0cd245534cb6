"""`survgauge evaluate`: how good predictions are, on the first screen and in full."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.provenance import input_record, provenance
from .._tools.writing import check_outputs
from ..data.tables import PARQUET, Table
from ..errors import InputError
from ..evaluation import Evaluation, evaluate
from ..evaluation.phrases import listed
from ..evaluation.warnings import EvaluationWarning
from ..metrics.conventions import CONVENTIONS
from ..metrics.registry import metrics_of
from ..reference.dependence import Dependence
from .causes import add_causes, cause_of
from .features import feature_files, features_of
from .inputs import FILES, add_files, each_file, files_of, read_inputs, target
from .landmarks import (
    all_surfaces,
    at_one,
    first_surface,
    landmarks_of,
    one_landmark,
    run_landmarks,
)
from .named import group_columns, is_column, times_of_interest
from .output import add_outputs, present
from .screen import everything, first_screen

_EXAMPLES = """
examples:
  two models, with the training outcomes as reference:
    survgauge evaluate --test test.csv --train train.csv \\
        --pred cox=cox.csv --pred lr=lr.csv
  errors within five years, probabilities at one and five, and a report to send:
    ... --tau 1825 --time 365,1825 --unit days --html report.html
  outcomes that are called otherwise, rows in another order:
    ... --time-column days --event-column status --event-value dead --id patient
  chosen metrics, for the groups of a column:
    ... --metrics mae_within,uno,ibs --by hospital
  competing risks: the cause that matters, one file per model and cause:
    ... --cause relapse --causes relapse,death \\
        --pred cox:relapse=cox_relapse.csv --pred cox:death=cox_death.csv
  subjects who were observed from an age on, and those still at risk at 60:
    ... --time-column age --entry age_at_entry [--landmark 60]
  as time goes by, within 5 and 10 years; the model was updated at 60 and 70:
    ... --landmark 60,70 --time 5,10 \\
        --pred cox@60=cox60.csv --pred cox@70=cox70.csv
  events that were found at visits (columns lower and upper):
    survgauge evaluate --test visits.csv --train before.csv --pred cox=cox.csv
  a folder of Parquet files, read as a stream:
    survgauge evaluate --test test/ --train train.parquet --pred cox=cox_days"""


def add_commands(commands: Any) -> None:
    """Register the command of this module."""
    command = commands.add_parser(
        "evaluate",
        usage="survgauge evaluate --test FILE [--train FILE] --pred NAME=FILE ... [options]",
        help="evaluate predictions against outcomes",
        description="Evaluate one or more models' predictions on the same test subjects.\n\n"
        + FILES,
        epilog=_EXAMPLES,
    )
    add_files(command, " (or a folder of Parquet files)")
    add_questions(command)
    add_causes(command)
    add_conventions(command)
    add_outputs(command, title=True)
    _add_stream_arguments(command)
    command.set_defaults(run=run)


def add_questions(command: Any) -> None:
    """Register what is asked of the predictions, and of whom."""
    group = command.add_argument_group("what to measure")
    group.add_argument(
        "--metrics",
        metavar="A,B,...",
        help="names of metrics, which 'survgauge metrics' lists, or 'study': those of a "
        "validation study",
    )
    group.add_argument(
        "--tau",
        type=float,
        help="horizon: where metrics that have one stop the clock; also --time, where that is not "
        "given",
    )
    group.add_argument(
        "--threshold",
        type=_risk,
        metavar="RISK",
        help="also the net benefit of treating everybody with at least this risk, e.g. 0.2",
    )
    at_times = [metric.name for metric in metrics_of().values() if metric.reads == "time"]
    group.add_argument(
        "--time", metavar="T,...", help=f"times at which these metrics are read: {listed(at_times)}"
    )
    group.add_argument(
        "--landmark",
        action="append",
        metavar="S,...",
        help="evaluate those who are at risk at S, with --time and --tau counted from S; several "
        "landmarks give a table by landmark and horizon (--time), and --pred NAME@S=FILE gives "
        "predictions that were updated at S",
    )
    group.add_argument("--unit", default="", metavar="WORD", help="unit of time, e.g. days")
    group.add_argument(
        "--by",
        metavar="COLUMN",
        action="append",
        help="column of --test whose groups are evaluated too (of several columns: A,B, or repeat "
        "it)",
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, help="level of the intervals (default: 0.95)"
    )
    group.add_argument("--no-intervals", action="store_true", help="values only, which is faster")
    group.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default: 0)")
    group = command.add_argument_group("who the subjects are")
    group.add_argument(
        "--sample-weight", metavar="COLUMN", help="column of --test with sampling weights"
    )
    group.add_argument(
        "--cluster",
        metavar="COLUMN",
        help="column of --test that says which rows belong together, such as those of a "
        "hospital or a patient: intervals heed it",
    )
    group.add_argument(
        "--features",
        nargs="+",
        metavar="WHAT",
        help="features of the subjects: 'all' or COLUMN,... of --train and --test, or two files "
        "TRAIN TEST. The doubly robust errors then use laws of the event time given the features. "
        "One file (of the test subjects) only tests whether censoring depends on them",
    )


def _risk(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be one risk between 0 and 1, such as 0.2; got {text!r}"
        ) from None


def add_conventions(command: Any) -> None:
    """Register how metrics are defined."""
    group = command.add_argument_group("conventions")
    others = [name for name in CONVENTIONS if name != "survgauge"]
    group.add_argument(
        "--convention",
        metavar="NAME",
        help=f"definitions of the paper or of another package: {listed(others)}",
    )
    group.add_argument(
        "--censoring",
        choices=("test", "train"),
        help="whose censoring the weights 1/G describe (default: the convention's, test)",
    )
    group.add_argument(
        "--dependence",
        type=float,
        metavar="TAU",
        help="assumed Kendall's tau of event and censoring time (default: independent)",
    )
    group.add_argument(
        "--copula", help="how they depend, with --dependence: clayton (default), frank or gumbel"
    )
    group.add_argument(
        "--unweighted",
        action="store_true",
        help="estimated times of censored subjects weigh 1, not 1 - S(c)",
    )
    group.add_argument(
        "--area",
        default="step",
        help="how the area under Kaplan-Meier is taken: step (default) or trapezoid",
    )
    group.add_argument(
        "--normalize", default="n", help="what ipcw_d divides by: n (default), weights or events"
    )
    group.add_argument(
        "--floor",
        type=float,
        default=0.1,
        help="least G by which the doubly robust errors divide (default: 0.1)",
    )


def _add_stream_arguments(command: Any) -> None:
    """Register what only streams take."""
    group = command.add_argument_group(
        "more data than memory",
        "Where --test is a folder of Parquet files, they are read in parts. --pred then names a "
        "column of these files (times, or curves as lists; prefix* where a curve has a column for "
        "each time; risk:COLUMN for scores), or another folder with the same rows. --train is "
        "required.",
    )
    group.add_argument(
        "--engine",
        choices=("local", "dask"),
        help="where the work is done: on this machine (default) or on Dask",
    )
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask cluster, e.g. tcp://HOST:8786"
    )
    group.add_argument(
        "--batch-rows",
        type=int,
        metavar="N",
        help="number of subjects that a thread scores together",
    )
    group.add_argument(
        "--workers", type=int, metavar="N", help="number of threads (default: one per core)"
    )
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=TIMES",
        help="times of a model's curves, where a column holds them as lists: 0,10,20 or a CSV "
        "file with a column time",
    )


def run(args: argparse.Namespace) -> int:
    """Evaluate, print the first screen or everything, write page and JSON."""
    names = [args.test, args.train, *feature_files(args.features)]
    files = files_of(*names, *map(target, [*args.pred, *args.grid]))
    check_outputs({"--html": args.html, "--json": args.json}, each_file(files))
    times = landmarks_of(args.landmark)
    args.pred = at_one(args.pred, times)
    title = {} if args.title is None else {"title": args.title}
    if len(times) > 1:
        return present(run_landmarks(args), args, first_surface, all_surfaces, **title)
    if _wants_stream(args):
        from .stream import run_stream

        result = run_stream(args, _settings(args))
    else:
        result = evaluate_files(args)
    result = traced(result, args, files)
    return present(result, args, first_screen, everything, **title)


def traced(result: Evaluation, args: argparse.Namespace, files: Mapping[str, list[Path]]) -> Any:
    """Note in an evaluation by which command and from which files it was made."""
    inputs = [input_record(name, found) for name, found in files.items() if found]
    return replace(result, provenance=provenance(args.call, inputs))


def _wants_stream(args: argparse.Namespace) -> bool:
    """Whether the arguments ask for a stream: otherwise files are read whole, as ever."""
    if args.engine or args.batch_rows is not None or args.workers is not None or args.grid:
        return True
    if not Path(args.test).is_file():
        return Path(args.test).is_dir() or any(mark in args.test for mark in "*?[")
    parquet = Path(args.test).suffix.lower() in PARQUET
    targets = [name for name in map(target, args.pred) if name]
    return any(Path(t).is_dir() or (parquet and is_column(t)) for t in targets)


def metric_names(text: str | None) -> list[str] | str | None:
    """Read --metrics: names between commas, or the word for those of a study.

    >>> metric_names("ibs, uno"), metric_names("study"), metric_names(None)
    (['ibs', 'uno'], 'study', None)
    """
    return text if text in (None, "study") else [name.strip() for name in text.split(",")]


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Read what `evaluate` and its streams take alike."""
    return {
        "metrics": metric_names(args.metrics),
        "confidence": None if args.no_intervals else args.confidence,
        "random_state": args.seed,
        "unit": args.unit,
        "time": times_of_interest(args.time),
        "tau": args.tau,
        "threshold": args.threshold,
        "convention": args.convention,
        "censoring": args.censoring,
        "weighted": not args.unweighted,
        "area": args.area,
        "tail": args.tail,
        "normalize": args.normalize,
        "floor": args.floor,
        "cause": cause_of(args),
    }


def _dependence(args: argparse.Namespace) -> Any:
    """Read --dependence and --copula."""
    if args.copula is None or args.dependence is None:
        if args.copula is not None:
            raise InputError("--copula says how --dependence is meant; give both")
        return args.dependence
    return Dependence(args.dependence, args.copula)


def _groups(args: argparse.Namespace) -> dict[str, Any]:
    """Return labels of the test subjects by column."""
    if args.by is None:
        return {}
    table = Table(args.test)
    return {name: table.labels(name) for name in group_columns(args.by, table.names)}


def _other_values(args: argparse.Namespace) -> list[EvaluationWarning]:
    """Remark on further values of the event column, which count as censored by --event-value."""
    if args.event_value is None:
        return []
    values = dict.fromkeys(np.char.strip(Table(args.test).labels(args.event_column)).tolist())
    if len(values) < 3:
        return []
    message = (
        f"column {args.event_column!r} holds {len(values)} values ({', '.join(list(values)[:5])}), "
        f"and all but {args.event_value} count as censored"
    )
    return [EvaluationWarning("other-values", message)]


def evaluate_files(args: argparse.Namespace, *, named_groups: bool = False) -> Any:
    """Read all files whole; with `named_groups` also groups of one column have its name."""
    given = read_inputs(args)
    weights, columns = args.sample_weight, _groups(args)
    X_train, X_test = features_of(args, given.ids)
    single = len(columns) == 1 and not named_groups
    by = next(iter(columns.values())) if single else columns or None
    result = evaluate(
        given.predictions,
        given.test,
        y_train=given.train,
        X_train=X_train,
        X_test=X_test,
        by=by,
        sample_weight=None if weights is None else Table(args.test).numbers(weights),
        cluster=None if args.cluster is None else Table(args.test).labels(args.cluster),
        dependence=_dependence(args),
        landmark=one_landmark(args),
        **_settings(args),
    )
    result = replace(result, cases=[*result.cases, *_other_values(args)])
    # Labels of one column go without its name, which sentences know all the same.
    return replace(result, support=result.support | {"by": list(columns)}) if columns else result
