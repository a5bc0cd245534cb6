"""`survgauge evaluate` on more data than memory: folders of Parquet, limits, a cluster."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._tools import extras as _dask
from ..data.files import read_intervals, read_outcomes
from ..data.tables import PARQUET, Table
from ..errors import InputError, did_you_mean
from ..evaluation import Evaluation
from ..evaluation.sources.arrow import SEPARATOR, ParquetRows
from ..evaluation.sources.call import evaluate_dask, evaluate_stream
from ..evaluation.sources.layout import RiskColumn, TimeColumn
from ..evaluation.sources.specs import CurveColumns, IncidenceColumns, LabelColumns
from .inputs import (
    by_model,
    group_columns,
    holds_intervals,
    in_order,
    interpolations,
    is_column,
    named,
    named_causes,
    refuse_options,
)
from .output import progress

_RISK = "risk:"


def run_stream(args: argparse.Namespace, settings: dict[str, Any]) -> Evaluation:
    """Evaluate as a stream, with the settings that all evaluations take."""
    if args.train is None:
        raise InputError(
            "--train must be given where --test is a folder or --pred names a column of it: a "
            "stream needs its reference set"
        )
    whole = ("sample_weight", "cluster", "features", "id", "event_value", "repair",
             "landmark")  # fmt: skip
    refuse_options(
        args,
        whole,
        "is not available in a stream; evaluate files that are read whole, without folders, "
        "--engine, --batch-rows, --workers, --grid and --weight-column",
    )
    predictions, apart = _predictions(args)
    reference = _reference(args)
    options: dict[str, Any] = {
        "y_train": reference,
        "predictions": _by_model(predictions, args, reference),
        "apart": apart,
        "time_column": args.time_column,
        "event_column": args.event_column,
        "weight_column": args.weight_column,
        "entry_column": args.entry,
        "outcomes": args.outcomes,
        # As text, like the labels of files that are read whole.
        "by": _by(args),
        **settings,
    }
    if args.engine == "dask":
        return _on_cluster(args, options)
    if args.scheduler:
        raise InputError("--scheduler belongs to --engine dask")
    how = {"workers": args.workers, "batch_rows": args.batch_rows}
    with progress() as tell:
        return evaluate_stream(args.test, progress=tell, **how, **options)


def _on_cluster(args: argparse.Namespace, options: dict[str, Any]) -> Evaluation:
    if args.batch_rows is not None or args.workers is not None:
        raise InputError(
            "--batch-rows and --workers belong to --engine local; a cluster has its own workers"
        )
    client = _dask.connect(args.scheduler, "dask worker ADDRESS")
    with client:
        return evaluate_dask(str(Path(args.test).resolve()), client=client, **options)


def _reference(args: argparse.Namespace) -> Any:
    path = Path(args.train)
    if args.cause is None and (not path.is_file() or path.suffix.lower() in PARQUET):
        return args.train
    columns = args.time_column, args.event_column, args.weight_column
    if args.cause is None and holds_intervals(args.train, args):
        return read_intervals(args.train, args.weight_column, weight_required=False)
    options = {"causes": named_causes(args), "entry": args.entry}
    return read_outcomes(args.train, *columns, weight_required=False, **options)


def _by(args: argparse.Namespace) -> LabelColumns | None:
    """Return the columns of groups."""
    if args.by is None:
        return None
    names = group_columns(args.by, list(ParquetRows(args.test).schema()[1].names))
    return LabelColumns(tuple(names), text=True)


def _predictions(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """Read --pred: columns of the test files, or files of their own."""
    grids = named(args.grid, "--grid")
    rule_of = interpolations(args.pred, args.interpolation)
    specs: dict[str, Any] = {}
    apart: dict[str, str] = {}
    for name, target in named(args.pred, "--pred").items():
        grid = _grid(grids.pop(name)) if name in grids else None
        rules = {"interpolation": rule_of[name] or "linear", "tail": args.tail}
        if is_column(target):
            specs[name] = _column(target, grid, rules, args.test)
        else:
            if Path(target).suffix.lower() == ".csv":
                raise InputError(
                    f"{target}: predictions of a stream must be Parquet, or columns of {args.test}"
                )
            apart[name] = target
            specs[name] = _own_files(name, target, grid, rules)
    if grids:
        other = next(iter(grids))
        raise InputError(
            f"--grid: there is no --pred named {other!r}{did_you_mean(other, list(specs))}"
        )
    return specs, apart


def _by_model(specs: dict[str, Any], args: argparse.Namespace, reference: Any) -> dict[str, Any]:
    """Put the columns of each model's causes together."""
    found = by_model(specs, args)
    for name, parts in found.items():
        if isinstance(parts, dict):
            parts = in_order(parts, reference.causes or (), name)
            rule = next(iter(parts.values())).interpolation
            found[name] = IncidenceColumns(parts, interpolation=rule)
    return found


def _grid(text: str) -> Any:
    with suppress(ValueError):
        return tuple(float(part) for part in text.split(","))
    if "," not in text and Path(text).is_file():
        table = Table(text)
        if "time" not in table.names:
            raise InputError(
                f"--grid: {text} must have a column time with the times of the curves; columns "
                f"are {', '.join(table.names[:5])}"
            )
        return tuple(table.numbers("time").tolist())
    raise InputError(
        "--grid must be times such as 0,10,20 or a CSV file that exists, with a column time; got "
        f"{text[:60]!r}"
    )


def _column(target: str, grid: Any, rules: dict[str, Any], test: str) -> Any:
    if target.startswith(_RISK):
        return RiskColumn(target[len(_RISK) :])
    if grid is not None or target.endswith("*"):
        return CurveColumns(target, grid, **rules)
    _, schema = ParquetRows(test).schema()
    # A column that is missing or there twice is refused, with its file, where it is read.
    kind = schema.field(target).type if schema.names.count(target) == 1 else ""
    return CurveColumns(target, None, **rules) if "list" in str(kind) else TimeColumn(target)


def _own_files(name: str, target: str, grid: Any, rules: dict[str, Any]) -> Any:
    """Files with predictions only: one column time, risk or of lists, or times as headers."""
    path, schema = ParquetRows(target).schema()
    columns = list(schema.names)
    own = f"{name}{SEPARATOR}"
    if len(columns) == 1 and "list" in str(schema.field(0).type):
        return CurveColumns(own + columns[0], grid, **rules)
    if columns == ["time"]:
        return TimeColumn(own + "time")
    if columns == ["risk"]:
        return RiskColumn(own + "risk")
    try:
        times = [float(column) for column in columns]
    except ValueError:
        raise InputError(
            f"{path}: predictions must have one column 'time', 'risk' or of lists, or curves with "
            f"times as column names; got {', '.join(map(repr, columns[:5]))}"
        ) from None
    return CurveColumns(tuple(own + column for column in columns), grid or tuple(times), **rules)
