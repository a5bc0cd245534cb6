"""Every option and every command, as in ``options.json``; nothing here imports what they need."""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

#: What the files look like, for the help of commands that read them.
FILES = """\
Outcome files (CSV or Parquet) have the columns time and event (1: event, 0: censored) and one row
per subject, or the columns lower and upper: the event lies between them (upper is inf if no event
was seen by lower). A prediction file has one row per subject of --test, in the same order, and one
of:
  time        one column: a predicted time
  risk        one column: a score; higher means an earlier event
  0,30,60,... curves: the header holds the times, a row the probabilities of
              being event-free at these times
Curves may also have their times in the first column and one column per subject, as the frames of
lifelines and pycox do when they are written by to_csv(); these are read as steps."""


def _risk(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be one risk between 0 and 1, such as 0.2; got {text!r}"
        ) from None


_TYPES: dict[str, Any] = {"float": float, "int": int, "risk": _risk}
_TABLE = json.loads(files(__package__).joinpath("options.json").read_text(encoding="utf-8"))


def _options(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what `argparse` has to know of options."""
    return {
        name: option | ({"type": _TYPES[option["type"]]} if "type" in option else {})
        for name, option in given.items()
    }


#: Options that several commands share, and options by what they are about, with a description where
#: one is needed.
OPTIONS = _options(_TABLE["options"])
_GROUPS: dict[str, dict[str, str]] = _TABLE["groups"]
#: Of the groups, options that `--help` shows, and options of single commands that it does not show;
#: `--help-all` shows all of them.
_FIRST, _LATER = (_TABLE[name].split() for name in ("first", "later"))


@dataclass(frozen=True)
class Command:
    """What the shell has of a command before it imports what runs it.

    What it does, in a line and in full, and examples stand in the docstring of its module, or of
    its function where a module has several commands.
    """

    #: Module of this folder and its function.
    run: str
    usage: str | None = None
    #: Options and arguments of its own, and those that it shares.
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shared: str = ""
    groups: Sequence[str] = ()
    #: Other words for the help of shared options, and values of options that it does not take.
    helps: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, parser: Any, everything: bool) -> None:
        """Register the arguments; without `everything` the help shows only the first of them."""
        own = {**self.own, **{name: OPTIONS[name] for name in self.shared.split()}}
        for name, option in own.items():
            self._add(parser, name, option, everything or name not in _LATER)
        for title in self.groups:
            about = _GROUPS[title].get("about") if everything else None
            group = parser.add_argument_group(title, about)
            for name in _GROUPS[title]["options"].split():
                self._add(group, name, OPTIONS[name], everything or name in _FIRST)
        parser.set_defaults(run=self.run, **self.defaults)

    def _add(self, group: Any, name: str, option: Mapping[str, Any], shown: bool) -> None:
        told = self.helps.get(name, option["help"]) if shown else argparse.SUPPRESS
        group.add_argument(name, **{**option, "help": told})

    def words(self, everything: bool) -> dict[str, Any]:
        """Read help, description and epilog; without `everything` with two examples at most."""
        module, _, function = self.run.partition(":")
        source = files(__package__).joinpath(f"{module}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        own = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
        text = ast.get_docstring(tree if function == "run" else own[0]) or ""
        head, _, examples = text.partition("\n\nExamples\n--------\n")
        line, _, about = head.partition("\n\n")
        examples, _, after = examples.partition("\n\n")
        lines = examples.split("\n")
        if "files" in self.groups:
            about += f"\n\n{FILES}"
            starts = [k for k, line in enumerate(lines) if not line.startswith(" ")]
            if not everything:
                lines = lines[: [*starts, None, None][2]]
                after = f"More options and examples: --help-all.\n\n{after}"
        told = "\n".join(["examples:", *(f"  {line}" for line in lines), "", after])
        return {"help": line.partition(": ")[2].rstrip("."), "description": about, "epilog": told}


COMMANDS = {
    name: Command(**command | {"own": _options(command.get("own", {}))})
    for name, command in _TABLE["commands"].items()
}

#: Arguments that are options of the same name.
_SAME = (
    "repair", "tail", "interpolation", "landmark", "threshold", "cause", "causes", "outcomes",
    "censoring", "convention", "tau", "time",
)  # fmt: skip
#: An argument with its value in quotes, a number, or none, where a sentence names it.
_NAMED = re.compile(
    rf"(?<![\w'\"(\[-])({'|'.join(_SAME)})="
    r"(?:'(\w+)'(?: or '(\w+)')?|(\d+(?:\.\d+)?)(?![\w.])|(?=[,;) ]|$))"
)


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

    return _NAMED.sub(option, text).replace(" (--repair on the command line)", "")
