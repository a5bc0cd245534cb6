"""The command line: exit status 0 on success, 2 and one readable line for bad input."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any, NoReturn

from .. import __version__
from .._tools.terminal import Visible, visible
from ..errors import InputError, SurvgaugeError

#: Modules with an `add_commands(subparsers)` function.
_COMMANDS = ("evaluate", "audit", "censor", "datasets", "models", "experiment", "report")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, like every other error, instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise what `main` prints."""
        raise InputError(f"{message}; '{self.prog} --help' lists the arguments")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="survgauge",
        description="Evaluate survival (time-to-event) predictions, in units people care about.",
    )
    parser.add_argument("--version", action="version", version=f"survgauge {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        import_module(f".{module}", __package__).add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; errors that users can mend take one line on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # --debug is welcome before and after the command.
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        shown: Any = Visible(sys.stdout)  # names come from files
        with redirect_stdout(shown):
            args = _parser().parse_args(arguments)
            status = int(args.run(args))
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has gone: not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (SurvgaugeError, OSError) as error:
        if debug:
            raise
        print(f"survgauge: {visible(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        told = f": {visible(str(stop))}" if str(stop) else ""
        print(f"survgauge: interrupted{told}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
