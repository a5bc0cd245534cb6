"""`survgauge audit`: what every metric risks on these predictions and these data."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from .._tools.writing import check_outputs
from ..auditing import Audit
from ..auditing.text import audit_text, verdict_text
from ..data.intervals import IntervalOutcomes
from ..data.tables import Table
from ..errors import InputError
from .features import feature_files, features_of
from .inputs import FILES, Inputs, add_files, each_file, files_of, read_inputs, target
from .named import times_of_interest
from .output import Line, add_outputs, present

_EXAMPLES = """
examples:
  how far the metrics can be trusted for the choice between two models:
    survgauge audit --test test.csv --train train.csv \\
        --pred cox=cox.csv --pred lr=lr.csv
  within five years, with more draws:
    ... --tau 1825 --unit days --draws 1000
  censoring that depends more strongly on the event:
    ... --dependence 0.3,0.6,0.8 --copula frank"""


def add_commands(commands: Any) -> None:
    """Register the command."""
    command = commands.add_parser(
        "audit",
        usage="survgauge audit --test FILE [--train FILE] --pred NAME=FILE ... [options]",
        help="find out how far metrics can be trusted on these data",
        description="Draw event and censoring times in scenarios where the truth is known, and "
        "say how far each metric is off and what a choice of models by it costs.\n\n" + FILES,
        epilog=_EXAMPLES,
    )
    add_files(command)
    group = command.add_argument_group("what to audit")
    group.add_argument(
        "--metrics", metavar="A,B,...", help="names of metrics (default: all time errors)"
    )
    group.add_argument(
        "--tau", type=float, help="horizon: where metrics that have one stop the clock"
    )
    group.add_argument("--time", metavar="T,...", help="times of interest of brier and auc")
    group.add_argument("--unit", default="", metavar="WORD", help="unit of time, e.g. days")
    group.add_argument(
        "--sample-weight", metavar="COLUMN", help="column of --test with sampling weights"
    )
    group.add_argument(
        "--max-bias",
        type=float,
        default=0.15,
        help="relative bias from which on a metric is said to be off (default: 0.15)",
    )
    group.add_argument(
        "--features",
        nargs="+",
        metavar="WHAT",
        help="features of the subjects: 'all' or COLUMN,... of --train and --test, or two files "
        "TRAIN TEST. They give one more scenario, and distributions given the features for "
        "metrics that support them",
    )
    group = command.add_argument_group("scenarios")
    group.add_argument(
        "--draws",
        type=int,
        default=200,
        help="number of draws for each kind of scenario (default: 200)",
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    group.add_argument(
        "--dependence",
        default="0.2,0.5",
        metavar="A,B,...",
        help="Kendall's tau of the scenarios with dependent censoring (default: 0.2,0.5)",
    )
    group.add_argument(
        "--copula", default="clayton", help="how they depend: clayton (default), frank or gumbel"
    )
    add_outputs(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit, print the first screen or everything, write page and JSON."""
    from ..auditing import audit

    files = [*feature_files(args.features), *map(target, args.pred)]
    outputs = {"--html": args.html, "--json": args.json}
    check_outputs(outputs, each_file(files_of(args.test, args.train, *files)))
    given = read_inputs(args)
    for path, y in ((args.test, given.test), (args.train, given.train)):
        if isinstance(y, IntervalOutcomes) or getattr(y, "entry", None) is not None:
            intervals = isinstance(y, IntervalOutcomes)
            what = "interval-censored outcomes" if intervals else "delayed entry"
            raise InputError(
                f"{path}: an audit knows right-censored outcomes of subjects who are observed from "
                f"the beginning, and this file has {what}; 'survgauge evaluate' knows it"
            )
    weights = args.sample_weight
    result = audit(
        given.predictions,
        given.test,
        y_train=given.train,
        conditional=_laws(args, given),
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
    return present(result, args, _first_screen, _everything)


def _first_screen(result: Audit, width: int) -> Iterator[Line]:
    """Yield the recommendation, the best metrics, and how to see more."""
    yield from _lines(audit_text(result, width, short=True))
    yield []
    yield [("--all prints all metrics and scenarios. --html FILE writes a report.", "dim")]


def _everything(result: Audit, width: int) -> Iterator[Line]:
    """Yield the whole text, and the recommendation once more, where a reader ends up."""
    yield from _lines(audit_text(result, width))
    yield []
    yield from _lines(verdict_text(result, width))


def _lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; the first one stands out."""
    for k, line in enumerate(text.split("\n")):
        yield [(line, "" if k else "bold")]


def _laws(args: argparse.Namespace, given: Inputs) -> Any:
    """Laws given the features, where they are asked for."""
    X_train, X_test = features_of(args, given.ids)
    if X_test is None:
        return None
    if X_train is None:
        raise InputError("--features of an audit must be about both sets: give two files")
    from ..blending import conditional

    return conditional(X_train, given.train, X_test, y_test=given.test, random_state=args.seed)


def _numbers(text: str) -> list[float]:
    """Read numbers between commas; nothing is no number.

    >>> _numbers("0.2, 0.5"), _numbers("")
    ([0.2, 0.5], [])
    """
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(f"--dependence must be numbers between commas; got {text!r}") from error
