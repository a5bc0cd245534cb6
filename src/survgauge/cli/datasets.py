"""`survgauge datasets`, and `survgauge datasets fetch NAME`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from .._tools.terminal import width
from ..datasets.catalogue import HEADER, TEXT, available, fetch
from .listing import ListedRow, add_search, show


def add_commands(subparsers: Any) -> None:
    """Add ``datasets`` to the sub-commands of an `argparse` parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "datasets",
        help="list the data sets, or fetch one",
        description="List the data sets with their counts and whether they are on this machine.",
        epilog="""
examples:
  survgauge datasets
  survgauge datasets --search cancer
  survgauge datasets fetch support""",
    )
    add_search(parser, "a name or a package", "--search")
    parser.set_defaults(run=run_list)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    getter = actions.add_parser("fetch", help="get a data set onto this machine")
    getter.add_argument("name", metavar="NAME", help="a name of the list")
    getter.add_argument("--force", action="store_true", help="download again")
    getter.add_argument("--quiet", action="store_true", help="do not report progress")
    getter.set_defaults(run=run_fetch)


def run_list(args: argparse.Namespace) -> int:
    """Print the list."""
    listing = available()
    # Where a data set comes from takes a wide screen; `fetch` says it, too.
    shown = len(HEADER) - (len(str(listing).split("\n")[1]) > width())
    rows = [
        ListedRow(asdict(entry), entry.cells()[:shown], (entry.name, entry.source))
        for entry in listing
    ]
    here = sum(entry.available for entry in listing)
    after = f", {here} of them on this machine; 'survgauge datasets fetch NAME' gets another one"
    return show(args, rows, HEADER[:shown], "data sets", TEXT, after)


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch one data set and print where it is."""
    place = fetch(args.name, progress=not args.quiet, force=args.force)
    sys.stdout.write(f"{place}\n")
    return 0
