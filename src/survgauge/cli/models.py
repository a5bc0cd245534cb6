"""The command line: ``survgauge models``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .._tools.text_tables import columns
from ..models.registry import available

_MARKS = {True: "yes", False: "no", None: "-"}


def add_commands(subparsers: Any) -> None:
    """Add ``models`` to the sub-commands of an `argparse` parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "models",
        help="list the models",
        description="List the models: what each predicts, and which extra it needs.",
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table of models."""
    rows = available()
    text = json.dumps(rows, indent=2) if args.json else table(rows)
    sys.stdout.write(f"{text}\n")
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    """Table of models as plain text, with the install lines of what is missing."""
    marks = ("curves", "individual", "time", "continuous", "installed")
    header = ["name", "model", "extra", *marks]
    lines = [
        [row["name"], row["title"], row["extra"], *(_MARKS[row[key]] for key in marks)]
        for row in rows
    ]
    missing = dict.fromkeys(row["extra"] for row in rows if not row["installed"])
    help_lines = [f"pip install 'survgauge[{extra}]'" for extra in missing]
    text = columns(header, lines, left=3)
    return "\n".join([text, *([""] if help_lines else []), *help_lines])
