"""What a command leaves behind: files on request, and the result as text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from typing import Any

from .._tools.terminal import width
from .._tools.writing import write_atomically
from .lines import Line, write_lines


def add_outputs(command: Any, title: bool = False) -> None:
    """Register where results go."""
    group = command.add_argument_group("output")
    group.add_argument(
        "--all", action="store_true", help="print everything, not only the first screen"
    )
    group.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    if title:
        group.add_argument("--title", help="heading of the report")
    group.add_argument("--json", metavar="FILE", help="write everything as JSON ('-': print it)")


def present(
    result: Any,
    args: argparse.Namespace,
    screen: Callable[[Any, int], Iterable[Line]],
    whole: Callable[[Any, int], Iterable[Line]],
    **options: Any,
) -> int:
    """Write a page and plain data where they are asked for, print the result; return 0.

    Plain data go to standard output, and nothing else does, where their file is ``-``. `screen`
    and `whole` give the lines of the first screen and of everything, for a width. `options` are
    those of the page.
    """
    if args.html:
        result.to_html(args.html, **options)
    if args.json:
        text = json.dumps(result.to_dict(), indent=2)
        if args.json == "-":
            print(text)
            return 0
        write_atomically(args.json, text + "\n")
    columns = width()
    write_lines((whole if args.all else screen)(result, columns))
    if args.html:
        write_lines([[], [(f"Report: {args.html}", "bold")]])
    return 0
