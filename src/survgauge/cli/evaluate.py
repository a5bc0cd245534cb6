"""`survgauge evaluate` and `survgauge metrics`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._tools.writing import check_outputs
from ..data.files import read_outcomes, read_predictions
from ..data.tables import PARQUET, Table, parquet_files
from .features import feature_files, features_of
from .named import interpolations, is_column, named, times_of_interest
from .presented import present


class _Once(argparse.Action):
    """Keep one value: who gives two wants both, and the second would take the first one's place."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        if self.option_strings and getattr(namespace, self.dest) is not self.default:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def add_commands(commands: Any) -> None:
    """Register the commands of this module."""
    command = commands.add_parser(
        "evaluate",
        help="evaluate predictions against outcomes",
        description="Evaluate one or more models' predictions on the same test subjects.",
        epilog="Outcome files are CSV or Parquet with columns time and event (1: event, 0:"
        " censored). Prediction files have one column 'time' or 'risk' (higher: sooner), or"
        " curves: header = times, a row per subject.",
    )
    command.add_argument("--test", required=True, metavar="FILE", help="test outcomes (or folder)")
    command.add_argument("--train", metavar="FILE", help="training outcomes: the reference set")
    command.add_argument(
        "--pred",
        action="append",
        required=True,
        metavar="NAME=FILE",
        help="repeat for each model (a stream: NAME=COLUMN or folder)",
    )
    _add_settings(command)
    command.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    command.add_argument("--title", help="heading of the report")
    command.add_argument("--json", metavar="FILE", help="write everything as JSON ('-': print it)")
    _add_stream_arguments(command)
    command.set_defaults(run=run)
    listing = commands.add_parser("metrics", help="list the metrics")
    listing.set_defaults(run=list_metrics)


def _add_settings(command: Any) -> None:
    """Register what is asked of the predictions, and how the files are read."""
    command.add_argument("--metrics", metavar="A,B,...", help="names, see 'survgauge metrics'")
    command.add_argument("--confidence", type=float, default=0.95, help="level (default 0.95)")
    command.add_argument("--no-intervals", action="store_true", help="values only")
    command.add_argument(
        "--tau", type=float, help="horizon of all metrics that stop at one, and the usual --time"
    )
    command.add_argument(
        "--time", metavar="T,...", help="times of Brier, AUC, 1-calibration and ICI"
    )
    command.add_argument(
        "--by", metavar="COLUMN", action=_Once, help="column of --test: evaluate its groups"
    )
    command.add_argument(
        "--sample-weight", metavar="COLUMN", help="column of --test: sampling weights"
    )
    command.add_argument(
        "--cluster", metavar="COLUMN", help="column of --test: hospital or patient of a row"
    )
    command.add_argument(
        "--unweighted", action="store_true", help="surrogates weigh 1, not 1 - S(c)"
    )
    command.add_argument("--area", default="step", help="area under Kaplan-Meier: step, trapezoid")
    command.add_argument("--tail", default="linear", help="tail of Kaplan-Meier and of the curves")
    command.add_argument(
        "--interpolation",
        action="append",
        default=[],
        metavar="[NAME=]RULE",
        help="of curves: linear (default), step, pchip; NAME=step for one model",
    )
    command.add_argument("--normalize", default="n", help="divisor of ipcw_d: n, weights, events")
    command.add_argument(
        "--floor", type=float, default=0.1, help="least G of the doubly robust errors (0.1)"
    )
    command.add_argument("--convention", metavar="NAME", help="another package's conventions")
    command.add_argument(
        "--censoring",
        choices=("test", "train"),
        help="whose censoring the weights 1/G describe (default: the convention's, test)",
    )
    command.add_argument(
        "--features",
        nargs="+",
        metavar="WHAT",
        help="'all' or COLUMN,... of --train and --test, or two files TRAIN TEST: laws given the "
        "features for the doubly robust errors; one file: does censoring depend on them?",
    )
    command.add_argument("--time-column", default="time", help="of the outcome files")
    command.add_argument("--event-column", default="event", help="of the outcome files")
    command.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    command.add_argument("--unit", default="", metavar="WORD", help="unit of time, e.g. days")


def run(args: argparse.Namespace) -> int:
    """Evaluate, print a table, write JSON."""
    check_outputs({"--html": args.html, "--json": args.json}, _inputs(args))
    if _wants_stream(args):
        from .stream import run_stream

        result = run_stream(args, _settings(args))
    else:
        result = _evaluate_files(args)
    options = {} if args.title is None else {"title": args.title}
    return present(result, args.html, args.json, **options)


def _add_stream_arguments(command: Any) -> None:
    """Register what only streams take."""
    group = command.add_argument_group(
        "more data than memory",
        "With a folder of Parquet files as --test, evaluation streams: --pred names a column of "
        "the same files (times or lists; prefix* for wide columns; risk:COLUMN for scores) or "
        "another folder with the same rows, and --train is required.",
    )
    group.add_argument("--engine", choices=("local", "dask"), help="where the work is done")
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster")
    group.add_argument(
        "--batch-rows", type=int, metavar="N", help="subjects that a thread scores together"
    )
    group.add_argument("--workers", type=int, metavar="N", help="threads (default: one per core)")
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=TIMES",
        help="times of curves in lists: 0,10,20 or a CSV file with a column time",
    )
    group.add_argument("--weight-column", help="frequencies of the subjects")


def _wants_stream(args: argparse.Namespace) -> bool:
    """Whether the arguments ask for a stream: otherwise files are read whole, as ever."""
    if args.engine or args.batch_rows is not None or args.workers is not None or args.grid:
        return True
    if not Path(args.test).is_file():
        return Path(args.test).is_dir() or any(mark in args.test for mark in "*?[")
    parquet = Path(args.test).suffix.lower() in PARQUET
    targets = [target for target in map(_target, args.pred) if target]
    return any(Path(t).is_dir() or (parquet and is_column(t)) for t in targets)


def _target(item: str) -> str:
    return item.partition("=")[2]


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Read what `evaluate` and its streams take alike."""
    return {
        "metrics": None if args.metrics is None else [m.strip() for m in args.metrics.split(",")],
        "confidence": None if args.no_intervals else args.confidence,
        "random_state": args.seed,
        "unit": args.unit,
        "time": times_of_interest(args.time),
        "tau": args.tau,
        "convention": args.convention,
        "censoring": args.censoring,
        "weighted": not args.unweighted,
        "area": args.area,
        "tail": args.tail,
        "normalize": args.normalize,
        "floor": args.floor,
    }


def _evaluate_files(args: argparse.Namespace) -> Any:
    """Read all files whole."""
    from ..evaluation import evaluate

    columns = args.time_column, args.event_column, args.weight_column
    test = read_outcomes(args.test, *columns)
    train = None
    if args.train is not None:
        train = read_outcomes(args.train, *columns, weight_required=False)
    rules = interpolations(args.pred, args.interpolation)
    predictions = {
        name: read_predictions(path, interpolation=rules[name], tail=args.tail)
        for name, path in named(args.pred, "--pred", "FILE").items()
    }
    weights = args.sample_weight
    X_train, X_test = features_of(args)
    return evaluate(
        predictions,
        test,
        y_train=train,
        X_train=X_train,
        X_test=X_test,
        by=None if args.by is None else Table(args.test).labels(args.by),
        sample_weight=None if weights is None else Table(args.test).numbers(weights),
        cluster=None if args.cluster is None else Table(args.test).labels(args.cluster),
        **_settings(args),
    )


def _inputs(args: argparse.Namespace) -> Iterator[str | Path]:
    """Yield every file that the command reads, those of folders one by one."""
    named = [
        args.test,
        args.train,
        *feature_files(args.features),
        *map(_target, args.pred),
        *map(_target, args.grid),
    ]
    for name in filter(None, named):
        yield name
        with suppress(OSError, ValueError):  # reading says what is wrong with it
            if not Path(name).is_file():
                yield from parquet_files(name)


def list_metrics(args: argparse.Namespace) -> int:
    """Print the registry."""
    from .._tools.text_tables import columns
    from ..metrics.registry import REGISTRY, available_metrics

    rows = [
        [
            m["name"],
            "yes" if REGISTRY[m["name"]].default else "",
            m["direction"],
            m["needs"],
            m["inference"].partition("-")[0],
            m["interval"],
            m["title"],
        ]
        for m in available_metrics()
    ]
    header = ["metric", "default", "better", "needs", "stderr", "interval", "what it is"]
    print(columns(header, rows, left=7))
    return 0
