"""`survgauge report`: a page from results that lie on disk."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._tools.writing import check_outputs, write_atomically
from ..errors import InputError, SurvgaugeError


def add_commands(commands: Any) -> None:
    """Register the command of this module."""
    command = commands.add_parser(
        "report",
        help="make a page from results",
        description="Make one self-contained HTML page: from the folder of an experiment "
        "(survgauge bench --store), or from what survgauge evaluate --json wrote.",
        epilog="""A page with charts of the predictions comes from: survgauge evaluate --html.

examples:
  survgauge report run --html experiment.html
  survgauge report evaluation.json --html report.html --title "Five hospitals\"""",
    )
    command.add_argument("results", metavar="RESULTS", help="folder of a run, or a JSON file")
    command.add_argument("--html", required=True, metavar="FILE", help="the page to write")
    command.add_argument("--title", help="heading of the page")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    place = Path(args.results)
    check_outputs({"--html": args.html}, _inputs(place))
    options = {} if args.title is None else {"title": args.title}
    if place.is_dir():
        from ..experiment import Results

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

        try:
            page = saved_evaluation_html(_saved(place), **options)
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
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
