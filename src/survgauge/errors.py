"""The errors that users meet: each names the argument, what was expected, and what came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class SurvgaugeError(Exception):
    """An error that a person can mend; the command line shows it in one line."""


class InputError(SurvgaugeError, ValueError):
    """An argument is not what the function needs."""


class UndefinedMetricError(SurvgaugeError, ValueError):
    """The input is valid, but the metric has no value on it (for example: no comparable pair)."""


class NotApplicableError(UndefinedMetricError):
    """The metric does not apply to predictions of this kind, whatever the outcomes."""


class MissingExtraError(SurvgaugeError, ImportError):
    """A feature needs a package that the base install leaves out."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'survgauge[{extra}]'")


@contextmanager
def located(label: str) -> Iterator[None]:
    """Let errors begin with the place that they happened at, once."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(label):
            raise
        raise InputError(f"{label}: {error}") from error


def numbered(
    indices: Iterable[Any], what: str = "row", limit: int = 5, total: int | None = None
) -> str:
    """Name the first few of many rows (subjects) or columns by number, for messages.

    All messages count from 1, as files and people do. `total`: how many there are, where `indices`
    are not all of them.

    >>> numbered([3])
    'row 4 (counting from 1)'
    >>> numbered([3, 4, 9], "column")
    'columns 4, 5 and 10 (counting from 1)'
    >>> numbered(range(10), limit=2)
    'rows 1, 2 and 8 more (counting from 1)'
    """
    numbers = [int(i) + 1 for i in indices]
    shown = [str(i) for i in numbers[:limit]]
    more = (len(numbers) if total is None else total) - len(shown)
    parts = [*shown, f"{more} more"] if more else shown
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{what}{'s' * (len(parts) > 1)} {listed} (counting from 1)"


#: Longer lists are not printed whole in a message.
_FEW = 12


def one_of(argument: str, value: object, allowed: object, listing: str = "") -> None:
    """Refuse a value outside a list of names, saying which are meant or, of a few, all of them.

    `allowed` may be a mapping to records with a `title` and `other_names`, by which people look for
    them. `listing` says where all names can be seen.

    >>> one_of("method", "coxx", {"cox": "a text instead of a record"})
    Traceback (most recent call last):
    survgauge.errors.InputError: method must be one of 'cox'; got 'coxx' (did you mean 'cox'?)
    """
    names = list(allowed)  # type: ignore[call-overload]
    if isinstance(value, str) and value in names:
        return
    records = allowed.items() if isinstance(allowed, Mapping) else ()
    others = {
        name: (getattr(record, "title", ""), *getattr(record, "other_names", ()))
        for name, record in records
        if not isinstance(record, str)  # whose `title` is a method
    }
    few = len(names) <= _FEW
    known = ", ".join(map(repr, names)) if few else f"{len(names)} names"
    more = f"; {listing} lists them" if listing and not few else ""
    hint = did_you_mean(value, names, others)
    raise InputError(f"{argument} must be one of {known}; got {value!r}{hint}{more}")


def as_names(given: Any, argument: str) -> tuple[str, ...]:
    """Return a sequence of names; refuse what cannot be gone through.

    >>> as_names(["a", "b"], "methods")
    ('a', 'b')
    """
    try:
        names: tuple[Any, ...] = tuple(given)
    except TypeError:
        raise InputError(
            f"{argument} must be a list of names; got {type(given).__name__} {given!r}"
        ) from None
    odd = [name for name in names if not isinstance(name, str)]  # None may be among them
    if odd:
        raise InputError(f"{argument} must be a list of names; got {type(odd[0]).__name__} in it")
    return names


def did_you_mean(
    value: object, names: Sequence[str], others: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Hint at names that are close, for the end of a message.

    `others` has other names by which people look for some of them.

    Examples
    --------
    >>> did_you_mean("tme", ["time", "event"])
    " (did you mean 'time'?)"
    >>> did_you_mean("C-index", ["harrell", "uno", "ibs"], {"harrell": ["cindex"]})
    " (did you mean 'harrell'?)"
    """
    close = closest(value, names, others) if isinstance(value, str) else []
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def closest(
    value: str, names: Sequence[str], others: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return up to three names that may be meant, whatever their case, hyphens and spaces.

    >>> closest("calibration", ["d_calibration", "ici", "km_calibration"])
    ['d_calibration', 'km_calibration']
    """
    keys: dict[str, list[str]] = {}
    for name in names:
        for spelling in (name, *(others or {}).get(name, ())):
            keys.setdefault(bare(spelling), []).append(name)
    wanted = bare(value)
    if wanted in keys:
        near = [wanted]
    else:
        near = get_close_matches(wanted, keys, n=3, cutoff=0.7)
        own = [key for key in map(bare, names) if min(len(key), len(wanted)) > 2]
        near += [key for key in own if key in wanted or wanted in key]
        near = near or get_close_matches(wanted, keys, n=3)
    return list(dict.fromkeys(name for key in near for name in keys[key]))[:3]


def bare(name: str) -> str:
    """Return a name without case, hyphens, underscores and spaces.

    >>> bare("C-index") == bare("c_index")
    True
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())
