"""`survgauge metrics`, `models` and `datasets`: lists, whole or of what a word is about."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

from .._tools.text import columns, width
from ..bench.datasets.catalogue import HEADER, TEXT, fetch
from ..bench.datasets.catalogue import available as available_datasets
from ..bench.models.registry import available as available_models
from ..errors import InputError, bare, did_you_mean
from ..metrics.registry import REGISTRY


@dataclass(frozen=True)
class ListedRow:
    """One entry: as plain data, as cells of the table, and the words by which it is found."""

    data: dict[str, Any]
    cells: list[str]
    words: tuple[str, ...]

    def is_about(self, wanted: str) -> bool:
        """Whether a word is in one of the entry's words, whatever its case, hyphens and spaces."""
        return any(bare(wanted) in bare(word) for word in self.words)


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
        known = {row.cells[0]: row.words for row in rows}
        hint = did_you_mean(wanted, list(known), known)
        raise InputError(f"none of the {len(rows)} {noun} is about {wanted!r}{hint}")
    if args.json:
        sys.stdout.write(json.dumps([row.data for row in found], indent=2) + "\n")
        return 0
    table = columns(header, [row.cells for row in found], left, width())
    total = f"{len(rows)} {noun}{after}"
    if wanted is not None:
        total = f"{len(found)} of {len(rows)} {noun}: those of {wanted!r}"
    sys.stdout.write(f"{table}\n\n{fill(total, width())}\n")
    return 0


def list_metrics(args: argparse.Namespace) -> int:
    """`survgauge metrics`: list the metrics.

    List the metrics: what each measures, what it needs and which values are better. Those with a *
    are computed unless metrics are named.

    Examples
    --------
    survgauge metrics
    survgauge metrics calibration
    survgauge metrics c-index
    survgauge metrics --json
    """
    families = list(dict.fromkeys(metric.family for metric in REGISTRY.values()))
    rows = [
        ListedRow(
            {**m.row(), "family": m.family, "default": m.default},
            [m.name, "*" if m.default else "", m.direction, m.needs, m.title],
            (m.name, m.family, m.title, *m.other_names),
        )
        for m in sorted(REGISTRY.values(), key=lambda metric: families.index(metric.family))
    ]
    header = ["metric", "*", "better", "needs", "what it is"]
    return show(args, rows, header, "metrics", left=(0, 1, 2, 3, 4))


def list_models(args: argparse.Namespace) -> int:
    """`survgauge models`: list the models.

    List the models: what each predicts, and which extra it needs.

    Examples
    --------
    survgauge models
    survgauge models boosting
    survgauge models torch
    """
    shown = ("curves", "time", "installed")
    rows = [
        ListedRow(
            row,
            [row["name"], row["extra"], *("yes" if row[k] else "no" for k in shown), row["title"]],
            (row["name"], row["title"], row["extra"]),
        )
        for row in available_models()
    ]
    missing = dict.fromkeys(row.data["extra"] for row in rows if not row.data["installed"])
    lines = "".join(f"; pip install 'survgauge[{extra}]'" for extra in missing)
    header = ["model", "extra", *shown, "what it is"]
    return show(args, rows, header, "models", (0, 1, 5), lines)


def list_datasets(args: argparse.Namespace) -> int:
    """`survgauge datasets`: list the datasets, or fetch one.

    List the datasets with their counts and whether they are on this machine.

    Examples
    --------
    survgauge datasets
    survgauge datasets --search cancer
    survgauge datasets fetch support
    """
    if args.action:
        if args.name is None:
            raise InputError("survgauge datasets fetch must be given the NAME of a dataset")
        print(fetch(args.name, progress=not args.quiet, force=args.force))
        return 0
    listing = available_datasets()
    # Where a dataset comes from takes a wide screen; `fetch` says it, too.
    shown = len(HEADER) - (len(str(listing).split("\n")[1]) > width())
    rows = [
        ListedRow(asdict(entry), entry.cells()[:shown], (entry.name, entry.source))
        for entry in listing
    ]
    here = sum(entry.available for entry in listing)
    after = f", {here} of them on this machine; 'survgauge datasets fetch NAME' gets another one"
    return show(args, rows, HEADER[:shown], "datasets", TEXT, after)
