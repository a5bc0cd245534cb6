"""`survgauge audit`: which metric can be trusted on these predictions and these data."""

from __future__ import annotations

import argparse
from typing import Any

from .._tools.writing import check_outputs
from ..data.files import read_outcomes, read_predictions
from ..data.tables import Table
from ..errors import InputError
from .features import feature_files, features_of
from .named import interpolations, named, times_of_interest
from .presented import present


def add_commands(commands: Any) -> None:
    """Register the command."""
    command = commands.add_parser(
        "audit",
        help="find out which metric can be trusted on these data",
        description="Draw event and censoring times in worlds where the truth is known, and say "
        "which metric would have led to the best model.",
        epilog="Files are those of 'survgauge evaluate'.",
    )
    command.add_argument("--test", required=True, metavar="FILE", help="test outcomes")
    command.add_argument("--train", metavar="FILE", help="training outcomes: the reference set")
    command.add_argument(
        "--pred",
        action="append",
        required=True,
        metavar="NAME=FILE",
        help="repeat for each model",
    )
    command.add_argument("--metrics", metavar="A,B,...", help="names (default: all time errors)")
    command.add_argument("--tau", type=float, help="horizon of all metrics that stop at one")
    command.add_argument("--time", metavar="T,...", help="times of interest of brier and auc")
    command.add_argument(
        "--draws", type=int, default=200, help="for each kind of world (default 200)"
    )
    command.add_argument("--seed", type=int, default=0, help="of the draws")
    command.add_argument(
        "--dependence",
        default="0.2,0.5",
        metavar="A,B,...",
        help="Kendall's tau of the worlds with dependent censoring (default 0.2,0.5)",
    )
    command.add_argument("--copula", default="clayton", help="how they depend (default clayton)")
    command.add_argument(
        "--max-bias", type=float, default=0.15, help="bias with which a metric fails (default 0.15)"
    )
    command.add_argument(
        "--features",
        nargs="+",
        metavar="WHAT",
        help="'all' or COLUMN,... of --train and --test, or two files TRAIN TEST: one more world, "
        "and laws given the features for the metrics that take them",
    )
    command.add_argument(
        "--sample-weight", metavar="COLUMN", help="column of --test: sampling weights"
    )
    command.add_argument("--tail", default="linear", help="tail of Kaplan-Meier and of the curves")
    command.add_argument(
        "--interpolation",
        action="append",
        default=[],
        metavar="[NAME=]RULE",
        help="of curves: linear (default), step, pchip; NAME=step for one model",
    )
    command.add_argument("--time-column", default="time", help="of the outcome files")
    command.add_argument("--event-column", default="event", help="of the outcome files")
    command.add_argument("--weight-column", help="frequencies of the subjects")
    command.add_argument("--unit", default="", metavar="WORD", help="unit of time, e.g. days")
    command.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    command.add_argument("--json", metavar="FILE", help="write everything as JSON ('-': print it)")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit, print the tables, write page and JSON."""
    from ..auditing import audit

    files = named(args.pred, "--pred", "FILE")
    inputs = [args.test, args.train, *feature_files(args.features), *files.values()]
    check_outputs({"--html": args.html, "--json": args.json}, filter(None, inputs))
    columns = args.time_column, args.event_column, args.weight_column
    test = read_outcomes(args.test, *columns)
    train = None
    if args.train is not None:
        train = read_outcomes(args.train, *columns, weight_required=False)
    rules = interpolations(args.pred, args.interpolation)
    weights = args.sample_weight
    result = audit(
        {
            name: read_predictions(path, interpolation=rules[name], tail=args.tail)
            for name, path in files.items()
        },
        test,
        y_train=train,
        conditional=_laws(args, train, test),
        draws=args.draws,
        random_state=args.seed,
        metrics=None if args.metrics is None else [m.strip() for m in args.metrics.split(",")],
        tau=args.tau,
        time=times_of_interest(args.time),
        dependence=_numbers(args.dependence),
        copula=args.copula,
        max_bias=args.max_bias,
        sample_weight=None if weights is None else Table(args.test).numbers(weights),
        unit=args.unit,
        tail=args.tail,
    )
    return present(result, args.html, args.json)


def _laws(args: argparse.Namespace, train: Any, test: Any) -> Any:
    """Laws given the features, where they are asked for."""
    X_train, X_test = features_of(args)
    if X_test is None:
        return None
    if X_train is None:
        raise InputError("--features of an audit must be about both sets: give two files")
    from ..blending import conditional

    return conditional(X_train, train, X_test, y_test=test, random_state=args.seed)


def _numbers(text: str) -> list[float]:
    """Read numbers between commas; nothing is no number.

    >>> _numbers("0.2, 0.5"), _numbers("")
    ([0.2, 0.5], [])
    """
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(f"--dependence must be numbers between commas; got {text!r}") from error
