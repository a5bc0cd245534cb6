"""`survgauge evaluate --landmark A,B,...`: predictions at several landmarks, and updated ones."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._tools.text import columns, number
from ..data.files import read_predictions
from ..data.outcomes import IntervalOutcomes
from ..data.tables import Table
from ..errors import InputError
from ..evaluation.landmarks import Landmarks, landmarks
from ..evaluation.text import Line
from ..metrics.registry import REGISTRY
from .inputs import Inputs, interpolations, names, read_inputs, refuse_options, times_of_interest

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
