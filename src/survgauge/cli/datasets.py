"""The command line: ``survgauge datasets`` and ``survgauge datasets fetch NAME``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from ..datasets.catalogue import available, fetch


def add_commands(subparsers: Any) -> None:
    """Add ``datasets`` to the sub-commands of an `argparse` parser."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "datasets",
        help="list the data sets, or fetch one",
        description="List the data sets with their counts and whether they are on this machine.",
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
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
    if args.json:
        text = json.dumps([asdict(entry) for entry in listing], indent=2)
    else:
        text = str(listing)
    sys.stdout.write(f"{text}\n")
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch one data set and print where it is."""
    place = fetch(args.name, progress=not args.quiet, force=args.force)
    sys.stdout.write(f"{place}\n")
    return 0
