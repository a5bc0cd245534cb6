"""What commands are given: files of outcomes, predictions and features, and words with parts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..data.causes import cause_code, cause_names
from ..data.curves import INTERPOLATIONS
from ..data.files import (
    Ids,
    both_kinds,
    has_one_value,
    is_interval_file,
    read_columns,
    read_features,
    read_incidence,
    read_intervals,
    read_outcomes,
    read_predictions,
)
from ..data.outcomes import BOUNDS, IntervalOutcomes, Outcomes
from ..data.tables import PARQUET, Table, parquet_files
from ..errors import InputError, did_you_mean, one_of

Part = TypeVar("Part")

#: What stands between the name of a model and that of a cause.
BETWEEN_CAUSE = ":"
#: The word for all columns besides the outcomes.
ALL = "all"


@dataclass(frozen=True)
class Inputs:
    """Outcomes and predictions in the order of the test subjects, and who these are."""

    test: Outcomes | IntervalOutcomes
    train: Outcomes | IntervalOutcomes | None
    predictions: dict[str, Any]
    ids: Ids | None


def read_inputs(args: argparse.Namespace) -> Inputs:
    """Read all files whole."""
    test, train = _outcomes(args)
    ids = None if args.id is None else Ids(Table(args.test), args.id)
    files = by_model(named(args.pred, "--pred", "FILE"), args)
    rules = interpolations(list(files), args.interpolation)
    given: dict[str, Any] = {"subjects": len(test), "ids": ids}
    predictions: dict[str, Any] = {}
    for name, path in files.items():
        how = {"interpolation": rules[name], **given}
        if isinstance(path, dict):
            paths = in_order(path, test.causes or (), name)
            repair = None if args.repair is None else "running_maximum"
            predictions[name] = read_incidence(paths, repair=repair, **how)
        elif args.cause is not None and not has_one_value(path, ids):
            raise InputError(
                f"--pred {name}={path} holds curves, and with --cause a model has one file of "
                "cumulative incidence per cause: "
                + " ".join(f"--pred {name}{BETWEEN_CAUSE}{k}=FILE" for k in test.causes or ())
            )
        else:
            predictions[name] = read_predictions(path, tail=args.tail, repair=args.repair, **how)
    return Inputs(test, train, predictions, ids)


def _outcomes(args: argparse.Namespace) -> tuple[Any, Any]:
    """Read the outcomes of --test and --train: right-censored ones, or intervals.

    A cause may be missing in one of them.
    """
    causes = named_causes(args)
    if causes is not None and args.event_value is not None:
        raise InputError("--event-value is for one kind of event; with --cause leave it out")
    if not Path(args.test).exists():
        raise InputError(f"{args.test}: no such file or folder")
    train = None
    if args.train is not None:
        train = _read(args.train, args, causes, weight_required=False)
        causes = causes if train.causes is None else train.causes
    test = _read(args.test, args, causes)
    kind = "interval" if isinstance(test, IntervalOutcomes) else "right"
    if args.outcomes not in (None, kind):
        needed = BOUNDS if kind == "right" else (args.time_column, args.event_column)
        raise InputError(
            f"{args.test}: --outcomes {args.outcomes} needs the columns {' and '.join(needed)}, "
            "which this file does not have"
        )
    if isinstance(train, IntervalOutcomes) and not isinstance(test, IntervalOutcomes):
        raise InputError(
            f"{args.train} has interval-censored outcomes (lower and upper), and {args.test} has "
            "right-censored ones (times and events): both must be of one kind. Write the test "
            "outcomes as lower and upper too: both the time of an event, or the time and inf for "
            "who is censored"
        )
    return test, train


def _read(path: str, args: argparse.Namespace, causes: Any, weight_required: bool = True) -> Any:
    """Read the outcomes of a file, as its columns tell."""
    weights = {"weight": args.weight_column, "weight_required": weight_required}
    if not (Path(path).is_file() and holds_intervals(path, args)):
        columns = {"time": args.time_column, "event": args.event_column, "entry": args.entry}
        coded = {"event_value": args.event_value, "causes": causes}
        return read_outcomes(path, **columns, **weights, **coded)
    for flag, given in (("--entry", args.entry), ("--event-value", args.event_value)):
        if given is not None:
            raise InputError(
                f"{path}: {flag} goes with columns of times and events; this file has lower and "
                "upper: leave it out"
            )
    return read_intervals(path, **weights)


def holds_intervals(path: str, args: argparse.Namespace) -> bool:
    """Whether a file of outcomes is read as intervals; where it may be either, --outcomes says."""
    names = set(Table(path).names)
    if not {args.time_column, args.event_column, *BOUNDS} <= names:
        return is_interval_file(path, args.time_column)
    if args.outcomes is None:
        raise InputError(
            f"{path}: {both_kinds(args.time_column, args.event_column)}; say which of them to "
            "read: --outcomes right or --outcomes interval"
        )
    return bool(args.outcomes == "interval")


def target(item: str) -> str:
    """Return what stands behind the name in NAME=VALUE."""
    return item.partition("=")[2]


def refuse_options(args: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse those of the options that are given."""
    for name in names:
        if getattr(args, name, None) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')} {why}")


def names(text: str | None) -> list[str] | None:
    """Read a list of names; None where there is none.

    >>> names("ibs, uno")
    ['ibs', 'uno']
    """
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise InputError("a list of names is empty")
    return found


def files_of(*names: str | None) -> dict[str, list[Path]]:
    """Return the files behind each name: itself, or those of a folder; none where it is no file."""
    found: dict[str, list[Path]] = {}
    for name in filter(None, names):
        found[name] = []
        with suppress(OSError, ValueError):  # reading says what is wrong with it
            found[name] = [Path(name)] if Path(name).is_file() else parquet_files(name)
    return found


def each_file(files: Mapping[str, list[Path]]) -> Iterator[str | Path]:
    """Yield every name, and every file behind it."""
    for name, found in files.items():
        yield name
        yield from found


# -- causes ------------------------------------------------------------------------------------


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
        model, between, cause = name.rpartition(BETWEEN_CAUSE)
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
                f"--pred {model}{BETWEEN_CAUSE}{name} must be the code or the name of a cause, and "
                "the event column has codes without names: give --causes, the names in the order "
                f"of the codes 1 to {len(causes)}, or --pred {model}{BETWEEN_CAUSE}1=FILE"
            )
        code = int(name) if name.isdigit() and name not in causes else name
        known[causes[cause_code(code, causes, f"--pred {model}{BETWEEN_CAUSE}{name}") - 1]] = part
    missing = [cause for cause in causes if cause not in known]
    if missing:
        raise InputError(
            f"--pred: {model!r} has no predictions of {missing[0]!r}; give "
            f"--pred {model}{BETWEEN_CAUSE}{missing[0]}=FILE too (of a model of one cause, such as "
            "Fine and Gray's, zeros: see the guide on competing risks)"
        )
    return {cause: known[cause] for cause in causes}


# -- features ----------------------------------------------------------------------------------


def features_of(args: argparse.Namespace, ids: Ids | None) -> tuple[Any, Any]:
    """Features of the training and the test subjects; None where they are not asked for.

    `ids` are those of the test subjects, by which rows of a file of their features are paired.
    """
    given = args.features
    if given is None:
        return None, None
    if len(given) > 2:
        raise InputError(
            "--features takes 'all', names of columns (a,b,c), a file of test features, or two "
            f"files (TRAIN TEST); got {len(given)} words"
        )
    if len(given) == 1 and Path(given[0]).is_file() and given[0] != ALL:
        return None, read_features(given[0], ids)
    if args.train is None:
        raise InputError(
            "--features needs --train: distributions are fitted to the training subjects"
        )
    if len(given) == 2:
        train = None if ids is None else Ids(Table(args.train), ids.column)
        return read_columns(given[0], ids=train), read_columns(given[1], ids=ids)
    names = columns_named(args, given[0], "--features")
    return read_columns(args.train, names), read_columns(args.test, names)


def feature_files(given: Sequence[str] | None) -> list[str]:
    """Files among what `--features` was given."""
    return [word for word in given or () if len(given or ()) == 2 or Path(word).is_file()]


def columns_named(args: argparse.Namespace, word: str, option: str) -> list[str]:
    """Names of columns of `--test` that an option lists; 'all' are those besides the outcomes."""
    if word != ALL:
        names = [name.strip() for name in word.split(",") if name.strip()]
        known = Table(args.test).names
        unknown = [name for name in names if name not in known]
        if unknown:
            no = "neither a file nor a column" if option == "--features" else "no column"
            raise InputError(
                f"{option}: {unknown[0]!r} is {no} of {args.test}; its columns are "
                f"{', '.join(known[:20])}"
            )
        if not names:
            raise InputError(f"{option} must name a column or a file; got {word!r}")
        outcome = [name for name in names if name in (args.time_column, args.event_column)]
        if outcome and option == "--features":
            raise InputError(
                f"{option}: {outcome[0]!r} is an outcome, not a feature to predict it from; "
                "leave it out"
            )
        return names
    other = ("time_column", "event_column", "weight_column", "sample_weight", "cluster", "id")
    taken = {getattr(args, name, None) for name in other}
    names = [name for name in Table(args.test).names if name not in taken]
    if not names:
        raise InputError(f"{option} all: {args.test} has no columns besides the outcomes")
    return names


# -- words with parts --------------------------------------------------------------------------


def named(items: list[str], flag: str, what: str = "...") -> dict[str, str]:
    """Values by name; the same name twice is refused.

    >>> named(["a=a.csv", "b=x=y"], "--pred")
    {'a': 'a.csv', 'b': 'x=y'}
    """
    found: dict[str, str] = {}
    for item in items:
        name, _, value = item.partition("=")
        if not (name and value):
            raise InputError(f"{flag} must be NAME={what}; got {item!r}")
        if name in found:
            raise InputError(f"{flag}: the name {name!r} is given twice")
        found[name] = value
    return found


def interpolations(predictions: list[str], given: list[str]) -> dict[str, str | None]:
    """Read --interpolation: one rule for all models of --pred, or NAME=RULE for one of them.

    >>> interpolations(["a=a.csv", "b=b.csv"], ["b=step"])
    {'a': None, 'b': 'step'}
    """
    models = [item.partition("=")[0] for item in predictions]
    default, own = None, {}
    for item in given:
        name, separator, rule = item.rpartition("=")
        one_of("--interpolation", rule, INTERPOLATIONS)
        if not separator:
            default = rule
        elif name in models:
            own[name] = rule
        else:
            close = did_you_mean(name, models)
            raise InputError(f"--interpolation: there is no --pred named {name!r}{close}")
    return {name: own.get(name, default) for name in models}


def group_columns(given: list[str] | None, known: list[str]) -> list[str]:
    """Read --by: columns, repeated or between commas, unless a column has that very name.

    >>> group_columns(["sex,stage", "site"], ["sex"]), group_columns(["a,b"], ["a,b"])
    (['sex', 'stage', 'site'], ['a,b'])
    """
    found: list[str] = []
    for item in given or ():
        found += [item] if item in known else [part.strip() for part in item.split(",")]
    if len(set(found)) < len(found):
        raise InputError(f"--by must name each column once; got {', '.join(found)}")
    return found


def times_of_interest(text: str | None) -> list[float] | None:
    """Read --time: one time, or several between commas.

    >>> times_of_interest("365,1095"), times_of_interest(None)
    ([365.0, 1095.0], None)
    """
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--time must be a time, or several between commas such as 365,1095; got {text!r}"
        ) from error


def is_column(target: str) -> bool:
    """Whether a word names a column: nothing that exists, or that looks like a file.

    >>> is_column("cox_curve"), is_column("cox.csv")
    (True, False)
    """
    looks = Path(target).suffix.lower() in (*PARQUET, ".csv") or "/" in target
    return not Path(target).exists() and not looks
