"""What a command leaves behind: files on request, and the result as lines of a screen."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._tools.terminal import Visible, visible, width
from .._tools.writing import write_atomically

#: A line in parts, each with its style ("" for none).
Line = Sequence[tuple[str, str]]


def write_lines(lines: Iterable[Line]) -> None:
    """Write lines to standard output: in colour on a terminal where rich is installed.

    rich heeds ``NO_COLOR`` and ``TERM``; files and pipes get the text alone.
    """
    console = _console()
    for line in lines:
        if console is None:
            sys.stdout.write("".join(text for text, _ in line).rstrip() + "\n")
        else:
            from rich.text import Text

            text = Text.assemble(*((visible(text), style) for text, style in line))
            text.rstrip()
            console.print(text, soft_wrap=True)


def _console() -> Any:
    """Return what writes in colour; None where that is not wanted or not possible."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    stream = sys.stdout
    return Console(file=stream.shown if isinstance(stream, Visible) else stream, highlight=False)


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
