"""Arguments that have parts: NAME=VALUE (predictions, grids, interpolations), several times."""

from __future__ import annotations

from pathlib import Path

from ..data.curves import INTERPOLATIONS
from ..data.tables import PARQUET
from ..errors import InputError, did_you_mean, one_of


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
