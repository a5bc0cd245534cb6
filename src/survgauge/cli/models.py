"""`survgauge models`: the list of models, or those that a word is about."""

from __future__ import annotations

import argparse
from typing import Any

from ..models.registry import available
from .listing import ListedRow, add_search, show

_MARKS = {True: "yes", False: "no"}
_SHOWN = ("curves", "time", "installed")


def add_commands(subparsers: Any) -> None:
    """Add ``models`` to the sub-commands of an `argparse` parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "models",
        help="list the models",
        description="List the models: what each predicts, and which extra it needs.",
        epilog="""
examples:
  survgauge models
  survgauge models boosting
  survgauge models torch""",
    )
    add_search(parser, "a name, a kind of model or an extra")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list, with the install lines of what is missing."""
    rows = [
        ListedRow(
            row,
            [row["name"], row["extra"], *(_MARKS[row[key]] for key in _SHOWN), row["title"]],
            (row["name"], row["title"], row["extra"]),
        )
        for row in available()
    ]
    missing = dict.fromkeys(row.data["extra"] for row in rows if not row.data["installed"])
    lines = "".join(f"; pip install 'survgauge[{extra}]'" for extra in missing)
    header = ["model", "extra", *_SHOWN, "what it is"]
    return show(args, rows, header, "models", (0, 1, 5), lines)
