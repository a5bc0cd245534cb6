"""The errors that users meet: each names the argument, what was expected, and what came."""

from __future__ import annotations


class InputError(ValueError):
    """An argument is not what the function needs."""


class UndefinedMetricError(ValueError):
    """The input is valid, but the metric has no value on it (for example: no comparable pair)."""


class MissingExtraError(ImportError):
    """A feature needs a package that the base install leaves out."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'survgauge[{extra}]'")


def name_some(indices: object, limit: int = 5) -> str:
    """Name the first few indices of a long list, for error messages.

    >>> name_some([3, 4, 9])
    '3, 4, 9'
    >>> name_some(range(10), limit=2)
    '0, 1, ... (10 in all)'
    """
    numbers = [int(i) for i in indices]  # type: ignore[attr-defined]
    shown = ", ".join(str(i) for i in numbers[:limit])
    return shown if len(numbers) <= limit else f"{shown}, ... ({len(numbers)} in all)"


def one_of(argument: str, value: object, allowed: object) -> None:
    """Refuse a value outside a list of names, saying which names there are."""
    names = list(allowed)  # type: ignore[call-overload]
    if not isinstance(value, str) or value not in names:
        raise InputError(f"{argument} must be one of {', '.join(map(repr, names))}; got {value!r}")
