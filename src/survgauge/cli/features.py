"""`--features`: columns of the outcome files, or files of their own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.files import read_columns, read_features
from ..data.pairing import Ids
from ..data.tables import Table
from ..errors import InputError

_ALL = "all"


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
    if len(given) == 1 and Path(given[0]).is_file() and given[0] != _ALL:
        return None, read_features(given[0], ids)
    if args.train is None:
        raise InputError("--features needs --train: laws are fitted to the training subjects")
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
    if word != _ALL:
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
