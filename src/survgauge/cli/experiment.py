"""The command line: ``survgauge bench``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from .._tools.terminal import width
from .._tools.text_tables import columns
from ..errors import InputError, one_of


def add_commands(subparsers: Any) -> None:
    """Add ``bench`` to the sub-commands of an `argparse` parser."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "bench",
        help="run an experiment: which metric tells the truth?",
        description="Run a plan: data sets x censoring x models x folds, with every true event "
        "time known. Finished cells are kept in a store; a run that was stopped goes on with "
        "--resume.",
        epilog="""
Shipped plans: demo (minutes), paper (hours), wide (more hours), truth (more hours).

examples:
  what would run, and how much of it:
    survgauge bench paper --list --models km,coxph
  the small plan, then a page of it:
    survgauge bench demo --store run
    survgauge report run --html experiment.html
  go on with a run that was stopped:
    survgauge bench demo --store run --resume""",
    )
    command.add_argument("plan", metavar="PLAN", help="TOML file, or demo, paper, wide")
    command.add_argument("--store", metavar="DIR", help="folder of the run (default: bench-NAME)")
    command.add_argument(
        "--engine",
        choices=("local", "dask"),
        default="local",
        help="where to run: on this machine (default) or on Dask",
    )
    command.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask cluster, e.g. tcp://HOST:8786"
    )
    command.add_argument(
        "--jobs", type=int, metavar="N", help="number of processes (default: one per core)"
    )
    command.add_argument("--resume", action="store_true", help="go on with the run in the store")
    command.add_argument(
        "--retry-failed", action="store_true", help="resume, and run failed cells again"
    )
    command.add_argument(
        "--metrics-only", action="store_true", help="fit no model: measure stored predictions"
    )
    command.add_argument(
        "--keep-predictions", action="store_true", help="store predictions for later metrics"
    )
    for axis in ("datasets", "censoring", "models"):
        command.add_argument(f"--{axis}", metavar="A,B,...", help=f"only these {axis} of the plan")
    command.add_argument(
        "--out", metavar="DIR", help="also write tables (Markdown, CSV, LaTeX) and figures"
    )
    command.add_argument(
        "--figures",
        metavar="A,B,...",
        help="formats of the figures in --out: png, svg, pdf (default: png)",
    )
    command.add_argument(
        "--list", action="store_true", help="show what would run and how much, run nothing"
    )
    command.add_argument("--all", action="store_true", help="with --list: show each cell")
    command.add_argument("--quiet", action="store_true", help="do not report progress")
    command.set_defaults(run=run_command)


def run_command(args: argparse.Namespace) -> int:
    """Run a plan, print what follows from it; status 1 if cells or metrics failed."""
    from ..experiment.plan import Plan

    plan = Plan.of(args.plan).only(
        **{axis: _names(getattr(args, axis)) for axis in ("datasets", "censoring", "models")}
    )
    if args.keep_predictions:
        plan = replace(plan, keep_predictions=True)
    if args.list:
        return _list(plan, args.all)
    from ..experiment.runner import run
    from ..experiment.writing import FORMATS, check_folder, text, write_all

    figures = _names(args.figures) or FORMATS[:1]
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
        metrics_only=args.metrics_only,
        progress=False if args.quiet else None,
    )
    sys.stdout.write(f"{text(results)}\n")
    if args.out:
        written = write_all(results, args.out, figures=figures)
        sys.stdout.write(f"\n{len(written)} files written to {args.out}\n")
    failed = len(results.failures), len(results.failed_metrics)
    if any(failed):
        sys.stderr.write(f"survgauge: {_failures(*failed)}\n")
    return 1 if any(failed) else 0


def _failures(cells: int, metrics: int) -> str:
    """Say what failed, and how to run it again."""
    parts = [f"{cells} cells" if cells != 1 else "1 cell"] * bool(cells)
    parts += [f"{metrics} metrics" if metrics != 1 else "1 metric"] * bool(metrics)
    return (
        f"{' and '.join(parts)} failed (named above; tracebacks are in the store, under failures). "
        "Fix the cause and run again with --retry-failed"
    )


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("a list of names is empty")
    return names


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
