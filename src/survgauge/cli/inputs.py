"""Files that `evaluate` and `audit` read: outcomes and predictions of the same subjects."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.curves import REPAIRS
from ..data.files import (
    both_kinds,
    is_interval_file,
    read_incidence,
    read_intervals,
    read_outcomes,
    read_predictions,
)
from ..data.intervals import BOUNDS, IntervalOutcomes
from ..data.outcomes import Outcomes
from ..data.pairing import Ids
from ..data.tables import Table, parquet_files
from ..errors import InputError
from .causes import by_model, in_order, named_causes
from .named import interpolations, named

#: What the files look like, for the help of both commands.
FILES = """\
Outcome files (CSV or Parquet) have the columns time and event (1: event, 0: censored) and one row
per subject, or the columns lower and upper: the event lies between them (where upper is inf, it
had not been seen by lower). A prediction file has one row per subject of --test, in the same
order, and one of:
  time        one column: a predicted time
  risk        one column: a score, higher meaning sooner
  0,30,60,... curves: the header holds the times, a row the probabilities of
              being event-free at these times
Curves may also have their times in the first column and one column per subject, as the frames of
lifelines and pycox do when they are written by to_csv(); these are read as steps."""


@dataclass(frozen=True)
class Inputs:
    """Outcomes and predictions in the order of the test subjects, and who these are."""

    test: Outcomes | IntervalOutcomes
    train: Outcomes | IntervalOutcomes | None
    predictions: dict[str, Any]
    ids: Ids | None


def add_files(command: Any, many: str = "") -> Any:
    """Register the arguments that say which files there are, and how they are read."""
    command.set_defaults(cause=None, causes=None)  # of commands that know one kind of event only
    group = command.add_argument_group("files")
    group.add_argument("--test", required=True, metavar="FILE", help=f"test outcomes{many}")
    group.add_argument(
        "--train",
        metavar="FILE",
        help="training outcomes: the reference set (default: the test outcomes)",
    )
    group.add_argument(
        "--pred",
        action="append",
        required=True,
        metavar="NAME=FILE",
        help="predictions of a model; repeat for each model",
    )
    group.add_argument(
        "--id",
        metavar="COLUMN",
        help="column of --test and of the prediction files that says who a row is: rows are paired "
        "by it, whatever their order",
    )
    group.add_argument(
        "--time-column",
        default="time",
        metavar="COLUMN",
        help="column of the times (default: time)",
    )
    group.add_argument(
        "--event-column",
        default="event",
        metavar="COLUMN",
        help="column that says who had the event (default: event)",
    )
    group.add_argument(
        "--event-value",
        metavar="VALUE",
        help="the value that means an event, such as dead or 2 (default: 1)",
    )
    group.add_argument(
        "--weight-column",
        metavar="COLUMN",
        help="column of frequencies: how many subjects a row stands for",
    )
    group.add_argument(
        "--entry",
        metavar="COLUMN",
        help="delayed entry: column that says from when on a subject was observed (default: entry, "
        "if there is one)",
    )
    group.add_argument(
        "--outcomes",
        choices=("right", "interval"),
        help="which outcomes to read where a file has columns of both kinds: time and event "
        "(right), or lower and upper (interval)",
    )
    group.add_argument(
        "--interpolation",
        action="append",
        default=[],
        metavar="[NAME=]RULE",
        help="how curves are read between their times: linear, step or pchip; NAME=RULE is for one "
        "model (default: linear where a subject is a row of its file, step where it is a column)",
    )
    group.add_argument(
        "--tail",
        default="linear",
        help="how Kaplan-Meier and curves go on past their end: linear (default), exponential, "
        "hold or nan",
    )
    group.add_argument(
        "--repair",
        choices=(*REPAIRS, "running_maximum"),
        help="how to mend curves that rise here and there, which are refused otherwise "
        "(running_maximum is for incidence that falls)",
    )
    return group


def read_inputs(args: argparse.Namespace) -> Inputs:
    """Read all files whole."""
    test, train = _outcomes(args)
    ids = None if args.id is None else Ids(Table(args.test), args.id)
    files = by_model(named(args.pred, "--pred", "FILE"), args)
    rules = interpolations(list(files), args.interpolation)
    given: dict[str, Any] = {"subjects": len(test), "ids": ids}
    predictions: dict[str, Any] = {}
    for name, path in files.items():
        how = {"interpolation": rules[name], **given}
        if isinstance(path, dict):
            paths = in_order(path, test.causes or (), name)
            repair = None if args.repair is None else "running_maximum"
            predictions[name] = read_incidence(paths, repair=repair, **how)
        else:
            predictions[name] = read_predictions(path, tail=args.tail, repair=args.repair, **how)
    return Inputs(test, train, predictions, ids)


def _outcomes(args: argparse.Namespace) -> tuple[Any, Any]:
    """Read the outcomes of --test and --train: right-censored ones, or intervals.

    A cause may be missing in one of them.
    """
    causes = named_causes(args)
    if causes is not None and args.event_value is not None:
        raise InputError("--event-value is for one kind of event; with --cause leave it out")
    train = None
    if args.train is not None:
        train = _read(args.train, args, causes, weight_required=False)
        causes = causes if train.causes is None else train.causes
    test = _read(args.test, args, causes)
    kind = "interval" if isinstance(test, IntervalOutcomes) else "right"
    if args.outcomes not in (None, kind):
        needed = BOUNDS if kind == "right" else (args.time_column, args.event_column)
        raise InputError(
            f"{args.test}: --outcomes {args.outcomes} needs the columns {' and '.join(needed)}, "
            "which this file does not have"
        )
    if isinstance(train, IntervalOutcomes) and not isinstance(test, IntervalOutcomes):
        raise InputError(
            f"{args.train} has interval-censored outcomes (lower and upper), and {args.test} has "
            "right-censored ones (times and events): both must be of one kind. Write the test "
            "outcomes as lower and upper too: both the time of an event, or the time and inf for "
            "who is censored"
        )
    return test, train


def _read(path: str, args: argparse.Namespace, causes: Any, weight_required: bool = True) -> Any:
    """Read the outcomes of a file, as its columns tell."""
    weights = {"weight": args.weight_column, "weight_required": weight_required}
    if not (Path(path).is_file() and holds_intervals(path, args)):
        columns = {"time": args.time_column, "event": args.event_column, "entry": args.entry}
        coded = {"event_value": args.event_value, "causes": causes}
        return read_outcomes(path, **columns, **weights, **coded)
    for flag, given in (("--entry", args.entry), ("--event-value", args.event_value)):
        if given is not None:
            raise InputError(
                f"{path}: {flag} goes with columns of times and events; this file has lower and "
                "upper: leave it out"
            )
    return read_intervals(path, **weights)


def holds_intervals(path: str, args: argparse.Namespace) -> bool:
    """Whether a file of outcomes is read as intervals; where it may be either, --outcomes says."""
    names = set(Table(path).names)
    if not {args.time_column, args.event_column, *BOUNDS} <= names:
        return is_interval_file(path, args.time_column)
    if args.outcomes is None:
        raise InputError(
            f"{path}: {both_kinds(args.time_column, args.event_column)}; say which of them to "
            "read: --outcomes right or --outcomes interval"
        )
    return bool(args.outcomes == "interval")


def target(item: str) -> str:
    """Return what stands behind the name in NAME=VALUE."""
    return item.partition("=")[2]


def files_of(*names: str | None) -> dict[str, list[Path]]:
    """Return the files behind each name: itself, or those of a folder; none where it is no file."""
    found: dict[str, list[Path]] = {}
    for name in filter(None, names):
        found[name] = []
        with suppress(OSError, ValueError):  # reading says what is wrong with it
            found[name] = [Path(name)] if Path(name).is_file() else parquet_files(name)
    return found


def each_file(files: Mapping[str, list[Path]]) -> Iterator[str | Path]:
    """Yield every name, and every file behind it."""
    for name, found in files.items():
        yield name
        yield from found
