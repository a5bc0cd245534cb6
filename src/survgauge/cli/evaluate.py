r"""`survgauge evaluate`: evaluate predictions against outcomes.

Evaluate one or more models' predictions on the same test subjects.

Examples
--------
two models, with the training outcomes as reference:
  survgauge evaluate --test test.csv --train train.csv \
      --pred cox=cox.csv --pred lr=lr.csv
errors within five years, probabilities at one and five, and a report to send:
  ... --tau 1825 --time 365,1825 --unit days --html report.html
outcomes that are called otherwise, rows in another order:
  ... --time-column days --event-column status --event-value dead --id patient
chosen metrics, for the groups of a column:
  ... --metrics mae_within,uno,ibs --by hospital
competing risks: the cause that matters, one file per model and cause:
  ... --cause relapse --causes relapse,death \
      --pred cox:relapse=cox_relapse.csv --pred cox:death=cox_death.csv
subjects who were observed from an age on, and those still at risk at 60:
  ... --time-column age --entry age_at_entry [--landmark 60]
as time goes by, within 5 and 10 years; the model was updated at 60 and 70:
  ... --landmark 60,70 --time 5,10 \
      --pred cox@60=cox60.csv --pred cox@70=cox70.csv
events that were found at visits (columns lower and upper):
  survgauge evaluate --test visits.csv --train before.csv --pred cox=cox.csv
a folder of Parquet files, read as a stream:
  survgauge evaluate --test test/ --train train.parquet --pred cox=cox_days
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.writing import check_outputs, input_record, provenance
from ..data.tables import PARQUET, Table
from ..evaluation import Evaluation, evaluate
from ..evaluation.text import first_screen, whole_text
from ..evaluation.warning_kinds import EvaluationWarning, warned
from ..metrics.conventions import Convention
from .inputs import (
    cause_of,
    each_file,
    feature_files,
    features_of,
    files_of,
    group_columns,
    is_column,
    names,
    read_inputs,
    target,
    times_of_interest,
)
from .landmarks import (
    all_surfaces,
    at_one,
    first_surface,
    landmarks_of,
    one_landmark,
    run_landmarks,
)
from .output import present


def run(args: argparse.Namespace) -> int:
    """Evaluate, print the first screen or everything, write page and JSON."""
    read = [args.test, args.train, *feature_files(args.features)]
    files = files_of(*read, *map(target, [*args.pred, *args.grid]))
    check_outputs({"--html": args.html, "--json": args.json}, each_file(files))
    times = landmarks_of(args.landmark)
    args.pred = at_one(args.pred, times)
    if len(times) > 1:
        return present(run_landmarks(args), args, first_surface, all_surfaces)
    if _wants_stream(args):
        from .stream import run_stream

        result = run_stream(args, _settings(args))
    else:
        result = evaluate_files(args)
    result = traced(result, args, files)
    screen = partial(first_screen, shell=True, report=bool(args.html))
    return present(result, args, screen, partial(whole_text, shell=True))


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
    return text if text == "study" else names(text)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Read what `evaluate` and its streams take alike."""
    convention = Convention.of(
        args.convention,
        threshold=args.threshold,
        censoring=args.censoring,
        weighted=not args.unweighted,
        area=args.area,
        tail=args.tail,
        normalize=args.normalize,
        floor=args.floor,
    )
    return {
        "metrics": metric_names(args.metrics),
        "confidence": None if args.no_intervals else args.confidence,
        "random_state": args.seed,
        "unit": args.unit,
        "time": times_of_interest(args.time),
        "tau": args.tau,
        "convention": convention if convention.changed else None,
        "cause": cause_of(args),
    }


def _groups(args: argparse.Namespace) -> dict[str, Any]:
    """Return labels of the test subjects by column."""
    if args.by is None:
        return {}
    table = Table(args.test)
    return {name: table.labels(name) for name in group_columns(args.by, table.names)}


def _other_values(args: argparse.Namespace) -> list[EvaluationWarning]:
    """Warn of further values of the event column, which count as censored by --event-value."""
    if args.event_value is None:
        return []
    values = dict.fromkeys(np.char.strip(Table(args.test).labels(args.event_column)).tolist())
    if len(values) < 3:
        return []
    about = {"column": args.event_column, "values": len(values), "event": args.event_value}
    return [warned("other-values", named=", ".join(list(values)[:5]), **about)]


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
        landmark=one_landmark(args),
        **_settings(args),
    )
    result = replace(result, cases=[*result.cases, *_other_values(args)])
    # Labels of one column go without its name, which sentences have all the same.
    return replace(result, support=result.support | {"by": list(columns)}) if columns else result
