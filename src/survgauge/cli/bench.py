"""`survgauge bench`: run an experiment that compares metrics with the truth.

Run a plan: datasets x censoring x models x folds, with every true event time known. Finished cells
are kept in a store; a stopped run continues with --resume.

Plans that come with the package: demo (minutes), paper (hours), wide and truth (more hours).

Examples
--------
show what would run:
  survgauge bench paper --list --models km,coxph
run the small plan, then make a page of it:
  survgauge bench demo --store run
  survgauge report run --html experiment.html
continue a stopped run:
  survgauge bench demo --store run --resume
compare models on all datasets of the leaderboard:
  survgauge bench leaderboard --store run --out board
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._tools.text import columns, width
from .._tools.writing import check_outputs, write_atomically
from ..errors import InputError, SurvgaugeError, located, one_of
from .inputs import names, refuse_options


def run(args: argparse.Namespace) -> int:
    """Run a plan, print what follows from it; status 1 if cells or metrics failed."""
    if args.plan == "leaderboard":
        from .leaderboard import bench

        return bench(args)
    elsewhere = "is for 'survgauge bench leaderboard'; a plan says it in its file"
    refuse_options(args, _OF_LEADERBOARD, elsewhere)
    from ..bench.experiment.plan import Plan

    plan = Plan.of(args.plan).only(
        **{axis: names(getattr(args, axis)) for axis in ("datasets", "censoring", "models")}
    )
    if args.keep_predictions:
        plan = replace(plan, keep_predictions=True)
    if args.list:
        return _list(plan, args.all)
    from ..bench.experiment.runner import run
    from ..bench.experiment.writing import FORMATS, check_folder, first_screen, text, write_all

    figures = names(args.figures) or FORMATS[:1]
    for name in figures:
        one_of("--figures", name, FORMATS)
    if args.out:
        check_folder(args.out, [args.plan, *(spec.path for spec in plan.datasets if spec.path)])
    elif args.figures:
        raise InputError("--figures says in which formats --out writes figures; give --out, too")

    results = run(
        plan,
        args.store,
        args.engine,
        scheduler=args.scheduler,
        jobs=args.jobs,
        resume=args.resume,
        retry_failed=args.retry_failed,
        progress=not args.quiet,
    )
    sys.stdout.write(f"{(text if args.all else first_screen)(results, width())}\n")
    if not args.all:
        page = f"survgauge report {args.store or f'bench-{plan.name}'} --html FILE"
        sys.stdout.write(f"\nAll tables: --all, or --out DIR; a page: {page}\n")
    if args.out:
        written = write_all(results, args.out, figures=figures)
        sys.stdout.write(f"\n{len(written)} files written to {args.out}\n")
    failed = len(results.failures), len(results.failed_metrics)
    if any(failed):
        sys.stderr.write(f"survgauge: {_failures(*failed)}\n")
    return 1 if any(failed) else 0


#: Options that a plan has in its file.
_OF_LEADERBOARD = ("settings", "tune", "truth", "repeats", "max_rows", "timeout", "seed")


def _failures(cells: int, metrics: int) -> str:
    """Say what failed, and how to run it again."""
    parts = [f"{cells} cells" if cells != 1 else "1 cell"] * bool(cells)
    parts += [f"{metrics} metrics" if metrics != 1 else "1 metric"] * bool(metrics)
    return (
        f"{' and '.join(parts)} failed (named above; tracebacks are in the store, under failures). "
        "Fix the cause and run again with --retry-failed"
    )


def _list(plan: Any, cells: bool) -> int:
    """Print what a plan crosses and the number of cells, or each of these."""
    present, absent = plan.present()
    found = present.cells()
    if cells:
        sys.stdout.writelines(f"{cell}\n" for cell in found)
    rows = []
    for name in ("datasets", "censoring", "models", "metrics"):
        labels = [spec.label for spec in getattr(present, name)]
        rows.append([name, str(len(labels)), ", ".join(labels)])
    rows += [[name, str(getattr(present, name)), ""] for name in ("repeats", "folds")]
    if absent:
        rows.append(["not here", str(len(absent)), ", ".join(absent)])
    if not cells:
        sys.stdout.write(columns([plan.name, "number", "names"], rows, (0, 2), width()) + "\n\n")
    sys.stdout.write(f"{len(found)} cells, each a model that is fitted to the data of a fold\n")
    if not cells:
        sys.stdout.write(
            "--all prints each of them; --datasets, --censoring and --models take a part.\n"
        )
    return 0


def report(args: argparse.Namespace) -> int:
    """`survgauge report`: make a page from results.

    Make one self-contained HTML page: from the folder of an experiment (survgauge bench --store),
    or from what survgauge evaluate --json wrote.

    Examples
    --------
    survgauge report run --html experiment.html
    survgauge report evaluation.json --html report.html --title "Five hospitals"

    A page with charts of the predictions comes from: survgauge evaluate --html.
    """
    place = Path(args.results)
    check_outputs({"--html": args.html}, _inputs(place))
    options = {} if args.title is None else {"title": args.title}
    if place.is_dir():
        from ..bench.experiment import Results

        try:
            path = Results.load(place).to_html(args.html, **options)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, SurvgaugeError):
                raise
            raise InputError(
                f"{place}: damaged results ({type(error).__name__}: {error})"
            ) from error
    elif place.exists():
        from ..report import saved_evaluation_html

        with located(str(place)):
            page = saved_evaluation_html(_saved(place), **options)
        path = write_atomically(args.html, page)
    else:
        raise InputError(f"{place}: no such file or folder")
    print(f"report written to {path}")
    return 0


def _inputs(place: Path) -> Iterator[Path]:
    """Yield what the page is made from: a file, or every file of a store."""
    yield place
    if place.is_dir():
        # A page that an earlier call wrote into the folder may be written again.
        yield from (p for p in place.rglob("*") if p.suffix in (".json", ".parquet", ".npz"))


def _saved(path: Path) -> dict[str, Any]:
    """Read what `survgauge evaluate --json` wrote."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no number in JSON")

    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON ({error})") from error
    missing = [key for key in _KEYS if not isinstance(data, dict) or key not in data]
    if missing:
        raise InputError(
            f"not an evaluation (no {missing[0]!r}); expected what survgauge evaluate --json writes"
        )
    return dict(data)


_KEYS = (
    "models",
    "metrics",
    "comparisons",
    "baseline_comparisons",
    "support",
    "warnings",
    "confidence",
)
