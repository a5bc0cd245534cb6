r"""`survgauge evaluate`: evaluate predictions against outcomes.

Evaluate one or more models' predictions on the same test subjects.

Examples
--------
two models, with the training outcomes as reference:
  survgauge evaluate --test test.csv --train train.csv \
      --pred cox=cox.csv --pred lr=lr.csv
errors within five years, probabilities at one and five, and a report to send:
  ... --tau 1825 --time 365,1825 --unit days --html report.html
other names of columns, rows in another order:
  ... --time-column days --event-column status --event-value dead --id patient
chosen metrics, for the groups of a column:
  ... --metrics mae_within,uno,ibs --by hospital
competing risks: the cause that matters, one file per model and cause:
  ... --cause relapse --causes relapse,death \
      --pred cox:relapse=cox_relapse.csv --pred cox:death=cox_death.csv
delayed entry at some age; with --landmark 60, those still at risk at that age:
  ... --time-column age --entry age_at_entry [--landmark 60]
landmarks, within 5 and 10 years of each; the model was updated at 60 and 70:
  ... --landmark 60,70 --time 5,10 \
      --pred cox@60=cox60.csv --pred cox@70=cox70.csv
events that were found at visits (columns lower and upper):
  survgauge evaluate --test visits.csv --train before.csv --pred cox=cox.csv
a folder of Parquet files, read as a stream:
  survgauge evaluate --test test/ --train train.parquet --pred cox=cox_days
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.text import columns, number
from .._tools.writing import check_outputs, input_record, provenance
from ..data.files import read_predictions
from ..data.outcomes import IntervalOutcomes
from ..data.tables import PARQUET, Table
from ..errors import InputError
from ..evaluation import Evaluation, evaluate
from ..evaluation.landmarks import Landmarks, landmarks
from ..evaluation.text import Line, first_screen, whole_text
from ..evaluation.warning_kinds import EvaluationWarning, warned
from ..metrics.conventions import Convention
from ..metrics.registry import REGISTRY
from .inputs import (
    Inputs,
    cause_of,
    each_file,
    feature_files,
    features_of,
    files_of,
    group_columns,
    interpolations,
    is_column,
    names,
    read_inputs,
    refuse_options,
    target,
    times_of_interest,
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


#: What stands between the name of a model and the landmark of its updated predictions.
BETWEEN = "@"
#: Options that an evaluation at one landmark takes, and a surface of several does not.
_OF_ONE = (
    "by", "threshold", "sample_weight", "cluster", "features", "convention", "censoring",
    "cause", "engine", "batch_rows", "workers",
)  # fmt: skip


def landmarks_of(given: list[str] | None) -> list[float]:
    """Read --landmark: times, repeated or between commas.

    >>> landmarks_of(["1,2", "5"]), landmarks_of(None)
    ([1.0, 2.0, 5.0], [])
    """
    try:
        return [float(part) for item in given or () for part in item.split(",")]
    except ValueError as error:
        raise InputError(
            "--landmark must be a time, or several between commas such as 1,2,5; got "
            f"{' '.join(given or ())!r}"
        ) from error


def one_landmark(args: argparse.Namespace) -> float | None:
    """Return the landmark of an evaluation, where there is one; refuse several."""
    found = landmarks_of(args.landmark)
    if len(found) > 1:
        raise InputError(
            "--landmark must be one time here; 'survgauge evaluate' takes several of them"
        )
    return found[0] if found else None


def at_one(predictions: list[str], times: list[float]) -> list[str]:
    """Return --pred at one landmark: a file that was updated then stands for its model.

    >>> at_one(["lr=a.csv", "cox=b.csv", "cox@2=c.csv"], [2.0])
    ['lr=a.csv', 'cox=c.csv']
    """
    if len(times) != 1:
        return predictions
    once, updated = _split(predictions, times)
    kept = [item for item in once if item.partition("=")[0] not in updated]
    return kept + [f"{model}={files[times[0]]}" for model, files in updated.items()]


def run_landmarks(args: argparse.Namespace) -> Landmarks:
    """Evaluate at several landmarks, over the horizons in --time."""
    alone = "goes with one landmark; leave it out, or give landmarks one by one"
    refuse_options(args, _OF_ONE, alone)
    horizons = times_of_interest(args.time) or ([] if args.tau is None else [args.tau])
    if not horizons:
        raise InputError(
            "several landmarks need --time: the horizons, counted from each landmark, such as "
            "--time 365,1825"
        )
    times = landmarks_of(args.landmark)
    once, updated = _split(args.pred, times)
    models = [item.partition("=")[0] for item in once]
    rules = [r for r in args.interpolation if "=" not in r or r.rpartition("=")[0] in models]
    given = read_inputs(argparse.Namespace(**{**vars(args), "pred": once, "interpolation": rules}))
    if isinstance(given.test, IntervalOutcomes):
        raise InputError(
            f"{args.test}: --landmark goes with columns of times and events; this file has lower "
            "and upper"
        )
    return landmarks(
        _predictions(args, given, updated, times),
        given.test,
        times,
        horizons,
        metrics=names(args.metrics),
        y_train=given.train,
        confidence=None if args.no_intervals else args.confidence,
        random_state=args.seed,
        unit=args.unit,
    )


def _split(
    predictions: list[str], times: list[float]
) -> tuple[list[str], dict[str, dict[float, str]]]:
    """Return --pred of all landmarks, and files of predictions that were updated at one of them.

    >>> _split(["cox=a.csv", "cox@2=b.csv"], [1.0, 2.0])
    (['cox=a.csv'], {'cox': {2.0: 'b.csv'}})
    """
    once, updated = [], dict[str, dict[float, str]]()
    for item in predictions:
        name, _, file = item.partition("=")
        model, between, text = name.rpartition(BETWEEN)
        try:
            landmark = float(text) if between else None
        except ValueError:
            landmark = None
        if landmark is None:
            once.append(item)
            continue
        if landmark not in times:
            raise InputError(
                f"--pred {name}: {landmark:g} is no landmark; --landmark has "
                f"{', '.join(f'{s:g}' for s in times)}"
            )
        if landmark in updated.setdefault(model, {}):
            raise InputError(f"--pred: the name {name!r} is given twice")
        updated[model][landmark] = file
    return once, updated


def _predictions(
    args: argparse.Namespace,
    given: Inputs,
    updated: Mapping[str, Mapping[float, str]],
    times: list[float],
) -> dict[str, Any]:
    """Return what each model predicts: once for all, or at every landmark."""
    found = dict(given.predictions)
    rules = interpolations([f"{name}=" for name in [*found, *updated]], args.interpolation)
    for model, files in updated.items():
        at = {}
        for s in times:
            if s in files:
                how = {"interpolation": rules[model], "tail": args.tail, "repair": args.repair}
                at[s] = _read(files[s], given, s, how)
            elif model in given.predictions:
                at[s] = given.predictions[model]
            else:
                raise InputError(
                    f"--pred: {model!r} has no predictions at landmark {s:g}; give --pred "
                    f"{model}{BETWEEN}{s:g}=FILE, or --pred {model}=FILE for all landmarks that "
                    "have no file of their own"
                )
        found[model] = at
    return found


def _read(path: str, given: Inputs, landmark: float, how: dict[str, Any]) -> Any:
    """Read predictions of all subjects, or of those at risk at a landmark only."""
    y: Any = given.test
    n, present = len(y), int(y.observed_at(landmark).sum())
    rows = len(Table(path)) if Path(path).is_file() else n
    return read_predictions(path, subjects=n if rows == n else present, ids=given.ids, **how)


# -- text --------------------------------------------------------------------------------------


def first_surface(result: Landmarks, width: int) -> Iterator[Line]:
    """Yield the table of the first metric, warnings, and how to see more."""
    yield from _tables(result, result.metrics[:1], width)
    yield from _warnings(result)
    yield "", ""
    more = f"--all prints all {len(result.metrics)} metrics. " if len(result.metrics) > 1 else ""
    yield f"{more}--html FILE writes a page with charts.", "dim"


def all_surfaces(result: Landmarks, width: int) -> Iterator[Line]:
    """Yield the tables of all metrics, and warnings."""
    yield from _tables(result, result.metrics, width)
    yield from _warnings(result)


def _tables(result: Landmarks, metrics: tuple[str, ...], width: int) -> Iterator[Line]:
    unit = f" {result.unit}" if result.unit else ""
    header = ["landmark", "at risk", "model", *(f"within {w:g}{unit}" for w in result.horizons)]
    for k, metric in enumerate(metrics):
        yield from [("", "")] * (k > 0)
        yield f"{REGISTRY[metric].title}, {REGISTRY[metric].better}", "bold"
        cells: dict[tuple[float, str], dict[Any, Any]] = {}
        for row in result.rows():
            if row["metric"] == metric:
                cell = cells.setdefault((row["landmark"], row["model"]), {"n": row["subjects"]})
                cell[row["horizon"]] = _cell(row)
        rows = [
            [f"{s:g}", f"{cell['n']:,}", model, *(cell.get(w, "-") for w in result.horizons)]
            for (s, model), cell in cells.items()
        ]
        for line in columns(header, rows, (2,), width).split("\n"):
            yield line, ""


def _cell(row: dict[str, Any]) -> str:
    limits = "" if row["low"] != row["low"] else f" [{number(row['low'])}, {number(row['high'])}]"
    return f"{number(row['value'])}{limits}"


def _warnings(result: Landmarks) -> Iterator[Line]:
    if result.warnings:
        yield "", ""
        yield "Warnings", "bold"
    for message in dict.fromkeys(warning.message for warning in result.warnings):
        yield f"  {message}", ""
