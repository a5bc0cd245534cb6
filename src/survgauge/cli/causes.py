"""Several causes on the command line: --cause, --causes and predictions MODEL:CAUSE=FILE."""

from __future__ import annotations

import argparse
from typing import Any, TypeVar

from ..data.causes import cause_code, cause_names
from ..errors import InputError

Part = TypeVar("Part")

#: What stands between the name of a model and that of a cause.
BETWEEN = ":"


def add_causes(command: Any) -> None:
    """Register which causes there are, and which one is meant."""
    group = command.add_argument_group(
        "competing risks",
        "The event column has 0 for censored and 1, 2, ... for the causes, or their names. A model "
        "has one file per cause: --pred cox:relapse=a.csv --pred cox:death=b.csv, with the "
        "cumulative incidence at the times in the header.",
    )
    group.add_argument("--cause", metavar="NAME", help="code or name of the cause to evaluate")
    group.add_argument(
        "--causes",
        metavar="A,B,...",
        help="names of the causes in the order of their codes (default: 1,2,...); needed where "
        "the event column has names",
    )


def named_causes(args: argparse.Namespace) -> tuple[str, ...] | bool | None:
    """Read --causes: names, True for codes without names, None for one kind of event."""
    if args.cause is None:
        if args.causes is not None:
            raise InputError("--causes goes with --cause, which says which of them is meant")
        return None
    if args.causes is None:
        return True
    return cause_names([name.strip() for name in args.causes.split(",")])


def cause_of(args: argparse.Namespace) -> int | str | None:
    """Read --cause: a name, or a code.

    >>> cause_of(argparse.Namespace(cause="2")), cause_of(argparse.Namespace(cause="death"))
    (2, 'death')
    """
    return int(args.cause) if str(args.cause).isdigit() else args.cause


def by_model(parts: dict[str, Part], args: argparse.Namespace) -> dict[str, Part | dict[str, Part]]:
    """Put the predictions of each model's causes together; those without a cause stay alone.

    >>> by_model({"cox:a": 1, "cox:b": 2, "lr": 3}, argparse.Namespace(cause="a"))
    {'cox': {'a': 1, 'b': 2}, 'lr': 3}
    """
    found: dict[str, Any] = {}
    for name, part in parts.items():
        model, between, cause = name.rpartition(BETWEEN)
        if args.cause is None or not between:
            found[name] = part
            continue
        if not isinstance(found.setdefault(model, {}), dict):
            raise InputError(f"--pred: {model!r} is given with causes and without")
        found[model][cause] = part
    return found


def in_order(parts: dict[str, Part], causes: tuple[str, ...], model: str) -> dict[str, Part]:
    """Return what a model has for each cause, in the order of the causes; all must be there."""
    known = {}
    bare = list(causes) == [str(k) for k in range(1, len(causes) + 1)]
    for name, part in parts.items():
        if bare and not name.isdigit():
            raise InputError(
                f"--pred {model}{BETWEEN}{name} must be the code or the name of a cause, and the "
                "event column has codes without names: give --causes, the names in the order of "
                f"the codes 1 to {len(causes)}, or --pred {model}{BETWEEN}1=FILE"
            )
        code = int(name) if name.isdigit() and name not in causes else name
        known[causes[cause_code(code, causes, f"--pred {model}{BETWEEN}{name}") - 1]] = part
    missing = [cause for cause in causes if cause not in known]
    if missing:
        raise InputError(
            f"--pred: {model!r} has no predictions of {missing[0]!r}; give "
            f"--pred {model}{BETWEEN}{missing[0]}=FILE too"
        )
    return {cause: known[cause] for cause in causes}
