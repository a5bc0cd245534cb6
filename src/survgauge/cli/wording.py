"""What messages say of arguments in Python, in the words of the command line."""

from __future__ import annotations

import re

#: Arguments that are options of the same name.
_SAME = (
    "repair", "tail", "interpolation", "landmark", "threshold", "cause", "causes", "outcomes",
    "censoring", "convention", "dependence", "tau", "time",
)  # fmt: skip
#: An argument with its value in quotes, a number, or none, where a sentence names it.
_NAMED = re.compile(
    rf"(?<![\w'\"(\[-])({'|'.join(_SAME)})="
    r"(?:'(\w+)'(?: or '(\w+)')?|(\d+(?:\.\d+)?)(?![\w.])|(?=[,;) ]|$))"
)
#: What a message adds for the command line, where it speaks Python.
_ASIDE = " (--repair on the command line)"


def for_shell(text: str) -> str:
    """Name options instead of arguments, where a message tells what to give.

    >>> for_shell("pass repair='running_maximum' to mend it, or give landmark=, or tau=5")
    'pass --repair running_maximum to mend it, or give --landmark, or --tau 5'
    >>> for_shell("--pred must be NAME=FILE; got 'time=3.csv'")
    "--pred must be NAME=FILE; got 'time=3.csv'"
    """

    def option(found: re.Match[str]) -> str:
        value = found[2] or found[4]
        other = f" or {found[3]}" if found[3] else ""
        return f"--{found[1]} {value}{other}" if value else f"--{found[1]}"

    return _NAMED.sub(option, text).replace(_ASIDE, "")
