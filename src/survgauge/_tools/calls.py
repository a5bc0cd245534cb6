"""Calling functions that users wrote: what goes wrong in them is said with their name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import InputError, SurvgaugeError

_PACKAGE = __name__.partition(".")[0]


def is_own(function: Any) -> bool:
    """Whether a function is one of the package, also with some of its arguments fixed.

    >>> is_own(partial(is_own, 1)), is_own(len)
    (True, False)
    """
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", "")).partition(".")[0] == _PACKAGE


def called(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Return what a function gives; an error in a user's function becomes an `InputError`.

    Errors of the package's own functions stay as they are: nobody else can mend them.

    >>> called(divmod, "terms", 1, 0)
    Traceback (most recent call last):
        ...
    survgauge.errors.InputError: terms failed with ZeroDivisionError: ...
    """
    try:
        return function(*arguments)
    except (SurvgaugeError, MemoryError):
        raise
    except Exception as error:
        if is_own(function):
            raise
        raise InputError(f"{what} failed with {type(error).__name__}: {error}") from error
