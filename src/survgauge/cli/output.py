"""What a command leaves behind: files on request, and the result as lines of a screen."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from .._tools.running import Tell, telling
from .._tools.text import Visible, visible, width
from .._tools.writing import write_atomically

if TYPE_CHECKING:  # help is shown without NumPy
    from ..evaluation.text import Line


def write_lines(lines: Iterable[Line]) -> None:
    """Write lines to standard output: in colour on a terminal where rich is installed.

    rich heeds ``NO_COLOR`` and ``TERM``; files and pipes get the text alone.
    """
    console = _console()
    for text, style in lines:
        if console is None:
            sys.stdout.write(f"{text.rstrip()}\n")
        else:
            from rich.text import Text

            console.print(Text(visible(text.rstrip()), style), soft_wrap=True)


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


def present(
    result: Any,
    args: argparse.Namespace,
    screen: Callable[[Any, int], Iterable[Line]],
    whole: Callable[[Any, int], Iterable[Line]],
) -> int:
    """Write a page and plain data where they are asked for, print the result; return 0.

    Plain data go to standard output, and nothing else does, where their file is ``-``. `screen`
    and `whole` give the lines of the first screen and of everything, for a width.
    """
    if args.html:
        result.to_html(args.html, **({} if args.title is None else {"title": args.title}))
    if args.json:
        text = json.dumps(result.to_dict(), indent=2)
        if args.json == "-":
            print(text)
            return 0
        write_atomically(args.json, text + "\n")
    columns = width()
    write_lines((whole if args.all else screen)(result, columns))
    if not (args.unit or args.all):
        write_lines([("Times are in the unit of the data; name it, as in --unit days.", "dim")])
    if args.html:
        write_lines([(f"Report: {args.html}", "bold")])
    return 0


#: Seconds before progress is told for the first time, and between two times: on a terminal, where
#: one line is written over and over, and in a file.
_PATIENCE, _EVERY, _EVERY_IN_FILES = 5.0, 0.5, 30.0


@contextmanager
def progress() -> Iterator[Tell]:
    """Tell on standard error, once five seconds have passed, how far work is and what is left.

    Of each kind of work ("reading outcomes") the rows or parts that are done and, where their
    number is known, all of them.
    """
    terminal, shown = sys.stderr.isatty(), monotonic()
    began: dict[str, tuple[float, int]] = {}  # when work was told of first, and what was done then
    spoken = False
    shown += _PATIENCE - (_EVERY if terminal else _EVERY_IN_FILES)
    start, ending = ("\r", "\x1b[K") if terminal else ("", "\n")

    def tell(done: int, rows: int | None, name: str) -> None:
        nonlocal shown, spoken
        now = monotonic()
        since, before = began.setdefault(name, (now, done))
        if now - shown < (_EVERY if terminal else _EVERY_IN_FILES):
            return
        shown, spoken = now, True
        text = f"{name}: {done:,} rows"
        if rows and done > before:
            left = (now - since) * (rows - done) / (done - before)
            text = f"{name}: {done / rows:.0%}, about {_duration(left)} to go"
        sys.stderr.write(f"{start}{visible(text)}{ending}")
        sys.stderr.flush()

    try:
        with telling(tell):
            yield tell
    finally:
        if terminal and spoken:
            sys.stderr.write(f"{start}{ending}")


def _duration(seconds: float) -> str:
    """Round a time that is left.

    >>> _duration(8.2), _duration(200), _duration(9000)
    ('9 s', '4 min', '2.5 h')
    """
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
