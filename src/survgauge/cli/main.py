"""The command line: exit status 0 on success, 2 and one readable line for bad input."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from itertools import groupby
from textwrap import wrap
from typing import Any, NoReturn

from .. import __version__
from .._tools.text import Visible, visible
from ..errors import InputError, SurvgaugeError, did_you_mean, one_of
from .options import COMMANDS, for_shell
from .output import progress

#: What is printed where nothing is asked for.
_START = """\
survgauge says how good survival (time-to-event) predictions are: by how many
days they are off, how well they are calibrated, and which model is best.

  survgauge evaluate --test test.csv --train train.csv \\
      --pred cox=cox.csv --unit days

test.csv and train.csv have the columns time and event. cox.csv has one row per
subject of test.csv: a column time, or probabilities of being event-free under
the times in the header.

{commands}

'survgauge COMMAND --help' lists the arguments of a command, with examples."""


class _Help(argparse.HelpFormatter):
    """Wraps paragraphs; lines that are set in, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = []
        lines = text.strip("\n").split("\n")
        for kept, some in groupby(lines, lambda line: line[:1] in ("", " ")):
            block = list(some)
            parts += block if kept else wrap(" ".join(block), width - len(indent))
        return "\n".join(f"{indent}{line}".rstrip() for line in parts)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with what may be meant, instead of printing the usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **options})

    def error(self, message: str) -> NoReturn:
        """Raise what `main` prints."""
        raise InputError(f"{message}; '{self.prog} --help' lists the arguments")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments where their command is known, and so what they may mean."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            close = did_you_mean(word, list(self._option_string_actions))
            self.error(f"unknown argument {word}{close if word.startswith('-') else ''}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value outside the choices as every other name is refused."""
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or str(action.metavar or action.dest)
            try:
                one_of(name, value, list(action.choices))
            except InputError as error:
                self.error(str(error))


def _parser(everything: bool = True) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="survgauge",
        usage="survgauge COMMAND [arguments]",
        description="Evaluate survival predictions in days, not only in C-indices.",
        epilog="""
examples:
  how good are two models, and a report to send:
    survgauge evaluate --test test.csv --train train.csv \\
        --pred cox=cox.csv --pred lr=lr.csv --unit days --html report.html
  which metric can be trusted, on these data and where the truth is known:
    survgauge audit --test test.csv --train train.csv \\
        --pred cox=cox.csv --pred lr=lr.csv
    survgauge bench demo

'survgauge COMMAND --help' lists the arguments of a command, with examples.""",
    )
    parser.add_argument("--version", action="version", version=f"survgauge {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, title="commands", prog="survgauge"
    )
    for name, command in COMMANDS.items():
        words = command.words(everything)
        made = commands.add_parser(name, usage=command.usage, **words)
        made.add_argument("--help-all", action="help", help="show all options")
        command.add_to(made, everything)
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
            if not arguments:
                listed = [f"  {k:11} {v.words(False)['help']}" for k, v in COMMANDS.items()]
                print(_START.format(commands="\n".join(listed)))
                return 0
            args = _parser("--help-all" in arguments).parse_args(arguments)
            args.call = shlex.join(["survgauge", *arguments])
            module, _, function = args.run.partition(":")
            command = getattr(import_module(f".{module}", __package__), function)
            with progress():
                status = int(command(args))
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has gone: not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (SurvgaugeError, OSError) as error:
        if debug:
            raise
        told = for_shell(" ".join(str(error).split()))
        print(f"survgauge: {visible(told)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        told = f": {visible(str(stop))}" if str(stop) else ""
        print(f"survgauge: interrupted{told}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
