"""`survgauge metrics`: the list of metrics, or those that a word is about."""

from __future__ import annotations

import argparse
from typing import Any

from ..metrics.registry import REGISTRY, Metric
from .listing import ListedRow, add_search, show


def add_commands(commands: Any) -> None:
    """Register the command."""
    command = commands.add_parser(
        "metrics",
        help="list the metrics",
        description="List the metrics: what each measures, what it needs and which values are "
        "better. Those with a * are computed unless metrics are named.",
        epilog="""
examples:
  survgauge metrics
  survgauge metrics calibration
  survgauge metrics c-index
  survgauge metrics --json""",
    )
    add_search(command, "a family (time, ranking, probability, calibration), or part of a name")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    rows = [
        ListedRow(
            {**metric.row(), "family": metric.family, "default": metric.default},
            [
                metric.name,
                "*" if metric.default else "",
                metric.direction,
                metric.needs,
                metric.title,
            ],
            (metric.name, metric.family, metric.title, *metric.other_names),
        )
        for metric in sorted(REGISTRY.values(), key=_family)
    ]
    header = ["metric", "*", "better", "needs", "what it is"]
    return show(args, rows, header, "metrics", left=(0, 1, 2, 3, 4))


def _family(metric: Metric) -> int:
    """Metrics of a family stand together, in the order in which families come."""
    return list(dict.fromkeys(m.family for m in REGISTRY.values())).index(metric.family)
