"""Text that comes from files is shown in a terminal without being obeyed by it."""

from __future__ import annotations

from typing import Any, TextIO

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
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text without what a terminal would obey."""
        return self._stream.write(visible(text))

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)
