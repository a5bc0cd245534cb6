r"""`survgauge audit`: find out how far metrics can be trusted on these data.

Draw event and censoring times in scenarios where the truth is known, and report how far each metric
is off and what choosing a model by it costs.

Examples
--------
how far the metrics can be trusted for the choice between two models:
  survgauge audit --test test.csv --train train.csv \
      --pred cox=cox.csv --pred lr=lr.csv
within five years, with more draws:
  ... --tau 1825 --unit days --draws 1000
censoring that depends more strongly on the event:
  ... --dependence 0.3,0.6,0.8 --copula frank
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from .._tools.writing import check_outputs
from ..data.outcomes import IntervalOutcomes
from ..data.tables import Table
from ..errors import InputError
from ..evaluation.audit import Audit
from ..evaluation.audit.result import audit_text, verdict_text
from ..evaluation.text import Line
from ..metrics.conventions import Convention
from .inputs import (
    Inputs,
    each_file,
    feature_files,
    features_of,
    files_of,
    names,
    read_inputs,
    target,
    times_of_interest,
)
from .output import present


def run(args: argparse.Namespace) -> int:
    """Audit, print the first screen or everything, write page and JSON."""
    from ..evaluation.audit import audit

    files = [*feature_files(args.features), *map(target, args.pred)]
    outputs = {"--html": args.html, "--json": args.json}
    check_outputs(outputs, each_file(files_of(args.test, args.train, *files)))
    given = read_inputs(args)
    for path, y in ((args.test, given.test), (args.train, given.train)):
        if isinstance(y, IntervalOutcomes) or getattr(y, "entry", None) is not None:
            intervals = isinstance(y, IntervalOutcomes)
            what = "interval-censored outcomes" if intervals else "delayed entry"
            raise InputError(
                f"{path}: an audit supports right-censored outcomes of subjects observed from the "
                f"beginning, and this file has {what}; 'survgauge evaluate' supports it"
            )
    weights = args.sample_weight
    result = audit(
        given.predictions,
        given.test,
        y_train=given.train,
        conditional=_distributions(args, given),
        draws=args.draws,
        random_state=args.seed,
        metrics=names(args.metrics),
        tau=args.tau,
        time=times_of_interest(args.time),
        dependence=_numbers(args.dependence),
        copula=args.copula,
        max_bias=args.max_bias,
        sample_weight=None if weights is None else Table(args.test).numbers(weights),
        unit=args.unit,
        convention=Convention(tail=args.tail),
    )
    return present(result, args, _first_screen, _everything)


def _first_screen(result: Audit, width: int) -> Iterator[Line]:
    """Yield the recommendation, the best metrics, and how to see more."""
    yield from _lines(audit_text(result, width, short=True))
    yield "", ""
    yield "--all prints all metrics and scenarios. --html FILE writes a report.", "dim"


def _everything(result: Audit, width: int) -> Iterator[Line]:
    """Yield the whole text, and the recommendation once more, where a reader ends up."""
    yield from _lines(audit_text(result, width))
    yield "", ""
    yield from _lines(verdict_text(result, width))


def _lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; the first one stands out."""
    for k, line in enumerate(text.split("\n")):
        yield line, "" if k else "bold"


def _distributions(args: argparse.Namespace, given: Inputs) -> Any:
    """Distributions given the features, where they are asked for."""
    X_train, X_test = features_of(args, given.ids)
    if X_test is None:
        return None
    if X_train is None:
        raise InputError("--features of an audit must be about both sets: give two files")
    from ..estimators.blending import conditional

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
