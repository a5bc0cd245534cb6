"""`survgauge leaderboard`: write tasks for models fitted elsewhere, score submissions.

Write the tasks of a leaderboard, submit predictions that were made for them, or write the page.
Models in Python are run by survgauge bench leaderboard.

Examples
--------
write the tasks of a run, for R or other languages; then check and score the predictions:
  survgauge leaderboard tasks --store run --out tasks
  survgauge leaderboard submit --name mine --pred predictions --store run --out board
the page and tables of a run:
  survgauge leaderboard page --store run --out board
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.writing import write_atomically
from ..errors import InputError
from .inputs import names, refuse_options

if TYPE_CHECKING:
    from ..bench.leaderboard import Board

#: Options of `tasks` that say which tasks there are.
_DESIGN = ("truth", "repeats", "max_rows", "seed")
#: Options that each action takes.
_TAKES = {
    "tasks": ("store", "out", "datasets", "format", *_DESIGN),
    "submit": ("name", "pred", "store", "out"),
    "page": ("store", "out"),
}
_NEEDS = {"tasks": ("out",), "submit": ("name", "pred", "store"), "page": ("store", "out")}
#: Name of the page in the folder of results.
PAGE = "leaderboard.html"


def run(args: argparse.Namespace) -> int:
    """Write tasks, take a submission, or write the page."""
    known = dict.fromkeys(name for taken in _TAKES.values() for name in taken)
    others = [name for name in known if name not in _TAKES[args.action]]
    refuse_options(args, others, f"is not for {args.action}")
    for name in _NEEDS[args.action]:
        if getattr(args, name) is None:
            raise InputError(f"{args.action} needs --{name}")
    return {"tasks": _tasks, "submit": _submit, "page": _page}[args.action](args)


def bench(args: argparse.Namespace) -> int:
    """`survgauge bench leaderboard`: fit, score, write the board; status 1 if fits failed."""
    from ..bench.leaderboard import run

    others = "censoring", "figures", "keep_predictions", "list", "all"
    refuse_options(args, others, "is not for the leaderboard")
    if args.out and not Path(args.out).is_dir() and Path(args.out).exists():
        raise InputError(f"--out must be a folder; {args.out} is a file")  # hours before it counts
    board = run(
        names(args.models),
        names(args.datasets),
        settings=names(args.settings),
        tune=names(args.tune),
        store=args.store or "bench-leaderboard",
        engine=args.engine,
        scheduler=args.scheduler,
        jobs=args.jobs,
        resume=args.resume,
        retry_failed=args.retry_failed,
        timeout=args.timeout,
        folder=os.getcwd(),
        progress=not args.quiet,
        command=args.call,
        **_design(args),
    )
    _tell(board)
    if args.out:
        _write(board, args.out)
    told = _failed(board)
    if told:
        sys.stderr.write(
            f"survgauge: fits failed: {told} (tracebacks are in the store, under failures); "
            "--retry-failed runs them again\n"
        )
    return 1 if told else 0


def _failed(board: Board) -> str:
    """Count the fits of each model that failed."""
    failed = board.cells["status"] != "ok"
    counts = failed.groupby(board.cells["model"], sort=False).agg(["sum", "size"])
    return ", ".join(f"{m} {r['sum']} of {r['size']}" for m, r in counts.iterrows() if r["sum"])


def _design(args: argparse.Namespace) -> dict[str, Any]:
    """Read what tasks depend on, as far as it was given."""
    given = {key: getattr(args, key) for key in _DESIGN if getattr(args, key) is not None}
    if "truth" in given:
        given["truth"] = [] if given["truth"] == "none" else names(given["truth"])
    return given


def _tasks(args: argparse.Namespace) -> int:
    from ..bench.leaderboard import tasks

    place = tasks(
        args.out,
        names(args.datasets),
        store=args.store,
        format=args.format or "csv",
        **_design(args),
    )
    count = sum(1 for path in place.iterdir() if path.is_dir())
    print(f"{count} tasks written to {place}")
    return 0


def _submit(args: argparse.Namespace) -> int:
    from ..bench.leaderboard import submit

    board = submit(args.name, args.pred, args.store, command=args.call)
    print(f"{args.name} is on the board of {args.store}\n")
    _tell(board)
    if args.out:
        _write(board, args.out)
    return 0


def _page(args: argparse.Namespace) -> int:
    from ..bench.leaderboard import Board

    _write(Board.load(Path(args.store) / "board"), args.out)
    return 0


def _write(board: Board, out: str) -> None:
    """Write tables, the page, and what it shows as JSON."""
    from ..bench.leaderboard.standings import leaderboard_content
    from ..report import leaderboard_page

    place, shown = board.save(out), leaderboard_content(board)
    write_atomically(place / "leaderboard.json", json.dumps(shown, indent=1) + "\n")
    page = write_atomically(place / PAGE, leaderboard_page(shown))
    print(f"tables written to {place}, the page to {page}")


def _tell(board: Board) -> None:
    """Print the mean skill of each model over the datasets."""
    import numpy as np

    from .._tools.text import columns, width
    from ..bench.leaderboard.results import METRICS

    main = board.averaged().scores
    main = main[main["track"] == "main"]
    by = ["model", "settings"]
    ratio = main.assign(ratio=np.log1p(-main["skill"])).groupby([*by, "metric"])["ratio"].mean()
    table = -np.expm1(ratio.unstack())  # as on the page: of the mean logarithm of the ratio
    table["uno"] = main[main["metric"] == "uno"].groupby(by)["value"].mean()
    counts = main[main["value"].notna()].groupby(by)["dataset"].nunique()
    asked = METRICS[:3]  # mae_within, ibs, uno
    table = table.reindex(columns=list(asked)).sort_values("mae_within", ascending=False)
    rows = [
        [*map(str, key), str(counts.get(key, 0)), *(_number(row[m]) for m in asked)]
        for key, row in table.iterrows()
    ]
    head = ["model", "settings", "datasets", "time error", "Brier", "C"]
    print(columns(head, rows, (0, 1), width()))
    print(
        "\nMeans over datasets: time error (mae_within) and integrated Brier score as the share "
        "of\nKaplan-Meier's that the model saves, and Uno's C."
    )


def _number(value: float) -> str:
    return "" if value != value else f"{round(value, 3) + 0.0:.3f}"  # no minus before a zero
