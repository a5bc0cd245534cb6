"""Where the times, the events and the entries stand in what holds outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._tools.arrays import to_numpy
from ..errors import InputError


def outcome_columns(obj: Any, argument: str, several: bool) -> tuple[Any, Any, Any]:
    """Find the times, the flags and, if there are any, the entries in whatever holds them."""
    if isinstance(obj, tuple) or (isinstance(obj, list) and len(obj) == 2):
        if len(obj) != 2:
            raise InputError(f"{argument} must be a (time, event) pair; got {len(obj)} items")
        return obj[0], obj[1], None
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        return _structured_fields(obj, argument, several)
    if isinstance(obj, Mapping) or hasattr(obj, "columns"):
        columns = list(obj if isinstance(obj, Mapping) else obj.columns)
        missing = [name for name in ("time", "event") if name not in columns]
        if missing:
            bounds = {"lower", "upper"} <= set(columns)
            raise InputError(
                f"{argument} must have columns 'time' and 'event'; "
                f"{' and '.join(map(repr, missing))} missing, columns are "
                f"{[str(c) for c in columns[:8]]}"
                + ("; sg.IntervalOutcomes.of reads interval-censored outcomes" if bounds else "")
            )
        return obj["time"], obj["event"], obj["entry"] if "entry" in columns else None
    advice = ""
    if hasattr(obj, "lower") and hasattr(obj, "upper"):  # IntervalOutcomes, which rest on these
        advice = ": evaluate and the functions called interval_... take interval-censored outcomes"
    raise InputError(
        f"{argument} must be Outcomes, a (time, event) pair, a structured array, or a frame "
        f"with columns time and event; got {type(obj).__name__}{advice}"
    )


def _structured_fields(
    array: np.ndarray[Any, Any], argument: str, several: bool
) -> tuple[Any, Any, Any]:
    """Find the boolean and the numeric field of a structured array.

    With `several` causes they are called ``time`` and ``event``, or are the only whole numbers and
    the only floats. Entries are called ``entry``, beside a ``time``.
    """
    names = array.dtype.names or ()
    entry = array["entry"] if {"time", "entry"} <= set(names) else None
    if several and {"time", "event"} <= set(names):
        return array["time"], array["event"], entry
    if entry is not None:
        names = tuple(name for name in names if name != "entry")
    codes = [name for name in names if array.dtype[name].kind in "iu"]
    times = [name for name in names if array.dtype[name].kind == "f"]
    if several and len(codes) == len(times) == 1 and len(names) == 2:  # scikit-survival's
        return array[times[0]], array[codes[0]], entry
    booleans = [name for name in names if array.dtype[name].kind == "b"]
    numeric = [name for name in names if array.dtype[name].kind in "fiu"]
    if len(booleans) != 1 or len(numeric) != 1:
        raise InputError(
            f"{argument} must have exactly one boolean and one numeric field; got fields "
            f"{ {name: str(array.dtype[name]) for name in names} }"
        )
    return to_numpy(array[numeric[0]], "time"), array[booleans[0]], entry
