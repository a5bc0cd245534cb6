"""Lists that a command prints: all of them, or those that a word is about, with their number."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from .._tools.terminal import width
from .._tools.text_tables import columns
from ..errors import InputError, bare, did_you_mean


@dataclass(frozen=True)
class ListedRow:
    """One entry: as plain data, as cells of the table, and the words by which it is found."""

    data: dict[str, Any]
    cells: list[str]
    words: tuple[str, ...]

    def is_about(self, wanted: str) -> bool:
        """Whether a word is in one of the entry's words, whatever its case, hyphens and spaces."""
        return any(bare(wanted) in bare(word) for word in self.words)


def add_search(command: Any, what: str, flag: str = "search") -> None:
    """Register what filters a list and how it is printed."""
    if flag.startswith("-"):
        command.add_argument(flag, metavar="WORD", dest="search", help=f"only those of {what}")
    else:
        command.add_argument(flag, metavar="WORD", nargs="?", help=f"only those of {what}")
    command.add_argument("--json", action="store_true", help="print the list as JSON")


def show(
    args: argparse.Namespace,
    rows: list[ListedRow],
    header: list[str],
    noun: str,
    left: tuple[int, ...],
    after: str = "",
) -> int:
    """Print those entries that were asked for, and how many there are; return 0.

    `noun` is what the entries are called; `after` goes with their number.
    """
    wanted = args.search
    found = rows if wanted is None else [row for row in rows if row.is_about(wanted)]
    if not found:
        raise InputError(_nothing(wanted, rows, noun))
    if args.json:
        sys.stdout.write(json.dumps([row.data for row in found], indent=2) + "\n")
        return 0
    table = columns(header, [row.cells for row in found], left, width())
    total = f"{len(rows)} {noun}{after}"
    if wanted is not None:
        total = f"{len(found)} of {len(rows)} {noun}: those of {wanted!r}"
    sys.stdout.write(f"{table}\n\n{fill(total, width())}\n")
    return 0


def _nothing(wanted: str, rows: list[ListedRow], noun: str) -> str:
    known = {row.cells[0]: row.words for row in rows}
    hint = did_you_mean(wanted, list(known), known)
    return f"none of the {len(rows)} {noun} is about {wanted!r}{hint}"
