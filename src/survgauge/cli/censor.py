r"""`survgauge censor`: draw censoring for the events of a dataset and keep the truth.

Make a semi-synthetic dataset: real events, drawn censoring times. Rows censored in the file
determine the censoring and are left out.

Examples
--------
half of the subjects censored, as if they entered at random times:
  survgauge censor --data study.csv --type uniform --rate 0.5 --out half.csv
censoring that depends on the event, with a picture of before and after:
  survgauge censor --data study.csv --type exponential --kendall-tau 0.5 \
      --out dependent.csv --plot dependent.png
competing risks, with 1 for a relapse and 2 for a death in the file:
  survgauge censor --data study.csv --type uniform --causes relapse,death --out two.csv

The output has all other columns of the file and time, event, true_time. Train on time and event
only; true_time is the answer, with --causes also true_cause.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.extras import need
from .._tools.writing import check_outputs, write_atomically
from ..data.causes import cause_names
from ..data.files import read_outcomes
from ..data.tables import PARQUET, csv_rows, read_frame
from ..errors import InputError

_ADDED = ("time", "event", "true_time")


def run(args: argparse.Namespace) -> int:
    """Draw, write, and say in one line what came out."""
    from ..bench.censoring import semisynthetic

    inputs = [path for path in (args.data, args.external) if path is not None]
    check_outputs({"--out": args.out, "--plot": args.plot}, inputs)
    _check_formats(args)
    columns = {"time": args.time_column, "event": args.event_column}
    coded = {**columns, "event_value": args.event_value, "causes": _causes(args)}
    y = read_outcomes(args.data, **coded)
    external = None if args.external is None else read_outcomes(args.external, **coded)
    typed, verbatim = _read(args.data)
    if len(typed) != len(y):
        raise InputError(f"{args.data}: {len(typed)} rows of features, {len(y)} of outcomes")
    features = typed.drop(columns=list(columns.values()))
    added = _ADDED if args.causes is None else (*_ADDED, "true_cause")
    taken = [name for name in added if name in features.columns]
    if taken:
        raise InputError(
            f"{args.data}: column(s) {', '.join(taken)} would be overwritten; rename or drop them"
        )
    data = semisynthetic(
        features,
        y,
        args.type,
        args.seed,
        external,
        rate=args.rate,
        kendall_tau=args.kendall_tau,
        copula=args.copula,
    )
    table = features if _is_parquet(args.out) else verbatim[list(features.columns)]
    _write(table.iloc[data.rows], data, args.out)
    if args.plot:
        _draw(data, args.plot)
    print(
        f"{args.out}: {len(data)} subjects, {int((~data.y.event).sum())} censored "
        f"({data.censoring_rate:.1%}), {data.dropped} dropped (censored at time 0); {args.type}, "
        f"seed {data.random_state}"
    )
    return 0


def _causes(args: argparse.Namespace) -> tuple[str, ...] | None:
    """Read --causes; None for one kind of event."""
    if args.causes is None:
        return None
    if args.event_value is not None:
        raise InputError("--event-value is for one kind of event; with --causes leave it out")
    return cause_names([name.strip() for name in args.causes.split(",")])


def _is_parquet(path: str) -> bool:
    return Path(path).suffix.lower() in PARQUET


def _check_formats(args: argparse.Namespace) -> None:
    """Refuse, before anything is written, a format that cannot be written."""
    if _is_parquet(args.out):
        need("pyarrow", "writing Parquet", "parquet")
    if args.plot:
        bases = need("matplotlib.backend_bases", "survgauge censor --plot", "plot")
        known = bases.FigureCanvasBase.get_supported_filetypes()
        ending = Path(args.plot).suffix.lower().lstrip(".")
        if ending not in known:
            raise InputError(
                f"--plot {args.plot}: the name must end in a format of matplotlib "
                f"({', '.join(sorted(known))}); got {ending or 'no ending'}"
            )


def _read(path: str) -> tuple[Any, Any]:
    """Read a file twice over: typed for the models, and as text so that CSV stays as it was."""
    need("pandas", "survgauge censor", "pandas")
    if _is_parquet(path):
        typed = read_frame(path)
        named = [name for name in typed.index.names if name is not None]
        if named:  # columns that pandas kept as its index
            typed = typed.reset_index(named)
        return typed, typed
    *_, separator, decimal = csv_rows(Path(path))
    options: dict[str, Any] = {
        "kind": ".csv", "encoding": "utf-8-sig", "skipinitialspace": True, "sep": separator,
        "decimal": decimal,
    }  # fmt: skip
    typed = read_frame(path, **options)
    text = read_frame(path, dtype=str, keep_default_na=False, **options)
    for frame in (text, typed):
        frame.columns = [str(name).strip() for name in frame.columns]
    return typed, text


def _write(features: Any, data: Any, path: str) -> None:
    """Write features and outcomes; whole times are written as whole numbers."""
    table = features.reset_index(drop=True)
    for name, values in (("time", data.y.time), ("true_time", data.true_time)):
        whole = bool((values == np.floor(values)).all())
        table[name] = values.astype(np.int64) if whole else values
    codes = data.y.event if data.y.cause is None else data.y.cause
    table.insert(table.columns.get_loc("true_time"), "event", codes.astype(np.int64))
    if data.true_cause is not None:
        table["true_cause"] = data.true_cause
    if _is_parquet(path):
        options = {"index": False, "engine": "pyarrow", "write_page_checksum": True}
        write_atomically(path, lambda place: table.to_parquet(place, **options))
    else:
        write_atomically(path, lambda place: table.to_csv(place, index=False))


def _draw(data: Any, path: str) -> None:
    from ..bench.censoring.figure import SemiSyntheticDisplay

    figure = SemiSyntheticDisplay(data).plot()
    try:
        write_atomically(path, lambda place: figure.savefig(place, dpi=150))
    except ValueError as error:  # matplotlib names the formats that it knows
        raise InputError(f"--plot {path}: {error}") from error
