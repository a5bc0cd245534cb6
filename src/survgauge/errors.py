"""The errors that users meet: each names the argument, what was expected, and what came."""

from __future__ import annotations

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


def numbered(indices: object, what: str = "row", limit: int = 5, total: int | None = None) -> str:
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
    numbers = [int(i) + 1 for i in indices]  # type: ignore[attr-defined]
    shown = [str(i) for i in numbers[:limit]]
    more = (len(numbers) if total is None else total) - len(shown)
    parts = [*shown, f"{more} more"] if more else shown
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{what}{'s' * (len(parts) > 1)} {listed} (counting from 1)"


def one_of(argument: str, value: object, allowed: object) -> None:
    """Refuse a value outside a list of names, saying which names there are and which is close."""
    names = list(allowed)  # type: ignore[call-overload]
    if isinstance(value, str) and value in names:
        return
    listed = ", ".join(map(repr, names))
    raise InputError(
        f"{argument} must be one of {listed}; got {value!r}{did_you_mean(value, names)}"
    )


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
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise InputError(f"{argument} must be a list of names; got {type(odd).__name__} in it")
    return names


def did_you_mean(value: object, names: list[str]) -> str:
    """Hint at names that are close, for the end of a message.

    >>> did_you_mean("tme", ["time", "event"])
    " (did you mean 'time'?)"
    """
    close = get_close_matches(value, names, n=3) if isinstance(value, str) else []
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
