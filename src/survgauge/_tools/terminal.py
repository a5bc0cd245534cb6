"""What a terminal shows: how wide it is, and nothing that it would obey."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, TextIO

#: Columns of a file or a pipe, which have no width of their own.
PLAIN_WIDTH = 80


def width() -> int:
    """Return how many columns standard output has; ``COLUMNS`` sets another number."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return max(40, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns)
    return PLAIN_WIDTH


# Control characters move the cursor, colour or rewrite what is on the screen; the marks of writing
# direction show text in another order than it has.
_HARMFUL = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SPELLED = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in _HARMFUL
    if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    r"""Spell out control characters, other than line breaks and tabs.

    >>> visible("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    return text.translate(_SPELLED)


class Visible:
    """A text stream that spells out control characters; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        #: The stream itself, for text that is known to be harmless.
        self.shown = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shown, name)

    def write(self, text: str) -> int:
        """Write the text without what a terminal would obey."""
        return self.shown.write(visible(text))

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)
