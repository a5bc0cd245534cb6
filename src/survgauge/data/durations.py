"""Durations and dates: counted in a unit, before anything else sees them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import is_missing, to_numpy
from ..errors import InputError, numbered

#: Seconds of each unit; a year has 365.25 days, and a month a twelfth of it.
_SECONDS = {
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
    "months": 365.25 * 86_400 / 12,
    "years": 365.25 * 86_400,
}


def check_unit(unit: Any) -> None:
    """Refuse a unit that is no text."""
    if not isinstance(unit, str):
        raise InputError(f"unit must be a word, such as 'days'; got {unit!r}")


def in_unit(values: Any, argument: str, unit: str) -> Any:
    """Return durations as numbers of a unit; anything else as it is, but for dates.

    >>> in_unit(np.array([36, 48], dtype="m8[h]"), "time", "days")
    array([1.5, 2. ])
    >>> in_unit([2.0, 3.0], "time", "days")
    [2.0, 3.0]
    """
    check_unit(unit)
    array = to_numpy(values, argument)
    if array.dtype == object:
        array = _of_objects(array, argument)
    if array.dtype.kind == "M":
        raise InputError(
            f"{argument} must be a number or a duration; it holds dates: give a frame with the "
            "columns start, end and event, or subtract when observation began"
        )
    if array.dtype.kind != "m":
        return values
    missing = np.flatnonzero(np.isnat(array))
    if missing.size:
        raise InputError(f"{argument} must be known for everybody; missing for {numbered(missing)}")
    if unit not in _SECONDS:
        raise InputError(
            f"unit must be one of {', '.join(_SECONDS)} where {argument} holds durations; got "
            f"{unit!r}"
        )
    return array / np.timedelta64(1, "s") / _SECONDS[unit]


def time_between(start: Any, end: Any, argument: str) -> NDArray[Any]:
    """Return how long it is from one date to another, both with a time zone or both without."""
    dates = {name: _dates(column, name) for name, column in (("start", start), (argument, end))}
    zones = [zone for _, zone in dates.values()]
    if (zones[0] is None) != (zones[1] is None):
        known = next(name for name, (_, zone) in dates.items() if zone is not None)
        other = argument if known == "start" else "start"
        raise InputError(
            f"start and {argument} must both have a time zone, or neither; {known} has one and "
            f"{other} has none: give {other} one (pandas: .dt.tz_localize(...))"
        )
    begun, ended = (array for array, _ in dates.values())
    if begun.shape != ended.shape:
        raise InputError(
            f"start and {argument} must have the same length; got {begun.size} and {ended.size}"
        )
    gap: NDArray[Any] = ended - begun
    early = np.flatnonzero(gap < np.timedelta64(0))
    if early.size:
        raise InputError(f"{argument} must not come before start; it does for {numbered(early)}")
    return gap


def _dates(column: Any, name: str) -> tuple[NDArray[Any], str | None]:
    """Return a column of dates as an array, and its time zone, in which they are then UTC."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    zone = next((str(z) for a in ("tz", "time_zone") if (z := getattr(kind, a, None))), None)
    array = to_numpy(column, name)
    if array.dtype == object:
        dates = [item for item in array if not is_missing(item) and hasattr(item, "tzinfo")]
        aware = [item.tzinfo is not None for item in dates]
        if any(aware) and not all(aware):
            raise InputError(
                f"{name} has dates with a time zone and dates without: give all of them one"
            )
        if any(aware):
            zone = "UTC"
            array = np.array([_utc(item) for item in array], dtype="M8[us]")
        else:
            array = _of_objects(array, name)
    if array.dtype.kind != "M":
        raise InputError(
            f"{name} must hold dates; got {array.dtype}. Times that are numbers go into columns "
            "time and event, with entry where observation began late"
        )
    missing = np.flatnonzero(np.isnat(array))
    if missing.size:
        raise InputError(
            f"{name} must be known for everybody; missing for {numbered(missing)}. Who had no "
            "event has as end when they were last known to be without one"
        )
    return array, zone


def _utc(item: Any) -> Any:
    """Return a date with a time zone as one of UTC without; NaT for what is missing."""
    if is_missing(item):
        return np.datetime64("NaT")
    return np.datetime64((item - item.utcoffset()).replace(tzinfo=None))


def _of_objects(array: NDArray[Any], argument: str) -> NDArray[Any]:
    """Return Python's dates or durations as NumPy's; objects of other kinds as they are."""
    for kind, code in ((timedelta | np.timedelta64, "m8[us]"), (date | np.datetime64, "M8[us]")):
        own = [isinstance(item, kind) for item in array.flat]
        if not any(own):
            continue
        odd = [k for k, item in enumerate(array.flat) if not own[k] and not is_missing(item)]
        if odd:
            what = "durations" if code[0] == "m" else "dates"
            raise InputError(
                f"{argument} must be of one kind; it mixes {what} and "
                f"{type(array.flat[odd[0]]).__name__} ({numbered(odd)})"
            )
        nothing = np.array("NaT", code)
        return np.array([nothing if is_missing(x) else np.array(x, code) for x in array.flat], code)
    return array
