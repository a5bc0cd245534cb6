"""Lines of a screen: in colour where there is one, as plain text in files and pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .._tools.terminal import Visible, visible

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
