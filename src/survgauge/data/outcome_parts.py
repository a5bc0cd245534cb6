"""What outcomes are made of: durations, frequencies, entry, times since a landmark, columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import (
    LARGEST,
    Bools,
    Floats,
    Ints,
    is_missing,
    repeated,
    sorting_order,
    subject_index,
    to_numpy,
    vector,
)
from .._tools.frames import shown_columns, table_columns
from ..errors import InputError, located, numbered

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
        raise InputError(f"{argument} must be known for all; missing for {numbered(missing)}")
    if unit not in _SECONDS:
        raise InputError(
            f"unit must be one of {', '.join(_SECONDS)} where {argument} holds durations; got "
            f"{unit!r}"
        )
    if np.datetime_data(array.dtype)[0] in ("generic", "M", "Y"):
        raise InputError(
            f"{argument} has durations of dtype {array.dtype}, which have no fixed length; give "
            "days, as in x.astype('m8[D]')"
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
    if array.ndim != 1:
        raise InputError(f"{name} must have 1 dimension; got shape {array.shape}")
    if array.dtype == object:
        dates = [item for item in array if not is_missing(item) and hasattr(item, "tzinfo")]
        aware = [item.tzinfo is not None for item in dates]
        if any(aware) and not all(aware):
            raise InputError(
                f"{name} has dates with a time zone and dates without: give all of them one"
            )
        zone = "UTC" if any(aware) else None
        array = _of_objects(array, name)
    if array.dtype.kind != "M":
        first = next((item for item in array.ravel().tolist() if not is_missing(item)), None)
        got = f"{type(first).__name__} {first!r}" if array.dtype.kind in "OU" else array.dtype
        raise InputError(
            f"{name} must hold dates; got {got}. Text is read by pd.to_datetime(...); times that "
            "are numbers go into columns time and event, with entry where observation began late"
        )
    missing = np.flatnonzero(np.isnat(array))
    if missing.size:
        raise InputError(
            f"{name} must be known for all; missing for {numbered(missing)}. The end of a "
            "subject without an event is when it was last known to be event-free"
        )
    return array, zone


def _plain(item: Any, argument: str) -> Any:
    """Return a date in UTC, without its time zone, and an interval of a database as a duration."""
    if getattr(item, "tzinfo", None) is not None:
        return (item - item.utcoffset()).replace(tzinfo=None)
    if not (hasattr(item, "months") and hasattr(item, "nanoseconds")):  # DuckDB's and Arrow's
        return item
    if item.months:
        raise InputError(
            f"{argument} has intervals of calendar months, which have no fixed length; subtract "
            "dates, which gives days"
        )
    return np.timedelta64(item.days, "D") + np.timedelta64(item.nanoseconds, "ns")


def _of_objects(array: NDArray[Any], argument: str) -> NDArray[Any]:
    """Return Python's dates or durations as NumPy's; objects of other kinds as they are."""
    items = [_plain(item, argument) for item in array.flat]
    for kind, code in ((timedelta | np.timedelta64, "m8[us]"), (date | np.datetime64, "M8[us]")):
        own = [isinstance(item, kind) for item in items]
        if not any(own):
            continue
        odd = [k for k, item in enumerate(items) if not own[k] and not is_missing(item)]
        if odd:
            what = "durations" if code[0] == "m" else "dates"
            raise InputError(
                f"{argument} must be of one kind; it mixes {what} and "
                f"{type(items[odd[0]]).__name__} ({numbered(odd)})"
            )
        nothing = np.array("NaT", code)
        return np.array([nothing if is_missing(x) else np.array(x, code) for x in items], code)
    return array


W = TypeVar("W", bound="Weighted")


def read_weight(weight: Any, n: int) -> Floats:
    """Return frequencies of n subjects."""
    weights = vector(weight, "weight", length=n, minimum=0.0, largest=LARGEST)
    if not weights.sum() > 0:
        raise InputError("weight must have a positive sum; got all zeros")
    return weights


class Weighted:
    """Outcomes of n subjects with frequencies; subclasses name their fields in `_fields`."""

    __slots__ = ("_order", "event", "frequency", "time")

    _fields: ClassVar[tuple[str, ...]]

    time: Floats
    event: Bools
    #: Frequencies, (n,); None where none were given.
    frequency: Floats | None
    _order: Ints | None

    def _keep(self, **fields: Any) -> None:
        """Set fields once and for all; arrays are not to be written to."""
        for name, known in {"_order": None, **fields}.items():
            if isinstance(known, np.ndarray):
                known.setflags(write=False)
            object.__setattr__(self, name, known)

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"{kind} are frozen; make new ones instead of setting {name!r}")

    @property
    def fractional(self) -> bool:
        """Whether there are frequencies that are not whole numbers."""
        counts = self.frequency
        return counts is not None and not np.array_equal(counts, np.rint(counts))

    @property
    def weight(self) -> Floats:
        """Frequencies, ones where none were given; not to be written to."""
        return repeated(1.0, self.time.size) if self.frequency is None else self.frequency

    def order(self, keep: bool = False) -> Ints:
        """Rows by time, equal times as they come; `keep` the sorting for the next call.

        >>> from survgauge import Outcomes
        >>> Outcomes([5, 8, 3], [1, 0, 1]).order()
        array([2, 0, 1])
        """
        known = self._order
        if known is not None:
            return known
        order = sorting_order(self.time)
        if keep:
            order.setflags(write=False)
            object.__setattr__(self, "_order", order)
        return order

    def __len__(self) -> int:
        return int(self.time.size)

    def _changed(self: W, **fields: Any) -> W:
        """Return the same but for some fields; the order of the times is not kept by itself."""
        found = type(self).__new__(type(self))
        found._keep(**{name: getattr(self, name) for name in self._fields} | fields)
        return found

    def _selected(self: W, index: Any, copy: bool) -> W:
        """Return some subjects, as a copy or where their arrays are."""
        arrays = {name: getattr(self, name) for name in self._fields}
        some = {k: a[index] for k, a in arrays.items() if isinstance(a, np.ndarray)}
        if copy:
            some = {name: array.copy() for name, array in some.items()}
            if "entry" in some:  # a view is a chunk of subjects who are scored as all of them are
                some["entry"] = some_entry(some["entry"])
        return self._changed(**some)

    def own(self: W) -> W:
        """Return the same with arrays that nobody else can change."""
        if all(getattr(getattr(self, name), "base", None) is None for name in self._fields):
            return self
        # Not by the constructor: the frequencies of a batch may all be zero.
        return self._selected(slice(None), copy=True)

    def reweighted(self: W, weight: Floats | None) -> W:
        """Return the same subjects with other weights (None: with their own), and their order.

        >>> from survgauge import Outcomes
        >>> Outcomes([5, 8, 3], [1, 0, 1]).reweighted(np.array([1.0, 0.0, 2.0])).weight
        array([1., 0., 2.])
        """
        if weight is None:
            return self
        return self._changed(frequency=np.array(weight, dtype=np.float64), _order=self._order)

    def sampled(self: W, sample_weight: Any, like: str = "y_true") -> tuple[W, Floats | None]:
        """Outcomes without those of sampling weight 0, and what everybody counts in averages and G.

        Who has a sampling weight of 0 gets a frequency of 0, by which subjects are left out
        everywhere. The second is frequency times `sample_weight`, (n,); None without sampling
        weights. `like` is the name of the argument that the outcomes came from, for messages.

        >>> from survgauge import Outcomes
        >>> y, subject_weight = Outcomes([1, 2, 3], [1, 1, 0]).sampled([0.5, 0, 2])
        >>> y.weight, subject_weight
        (array([1., 0., 1.]), array([0.5, 0. , 2. ]))
        """
        if sample_weight is None:
            return self, None
        given: Any = {"length": len(self), "like": like, "minimum": 0.0, "largest": LARGEST}
        subject_weight = vector(sample_weight, "sample_weight", **given) * self.weight
        present = subject_weight > 0
        if not present.any():
            raise InputError(
                "sample_weight must have a positive sum over the subjects that are present; got "
                "all zeros"
            )
        if not present.all() and (self.weight[~present] > 0).any():
            return self.reweighted(np.where(present, self.weight, 0.0)), subject_weight
        return self, subject_weight

    def __getitem__(self: W, rows: Any) -> W:
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn asks for rows of an array
        found = self._selected(subject_index(rows), copy=True)
        if not len(found):
            raise InputError("this selection of outcomes is empty; at least one subject is needed")
        return found

    def part(self: W, rows: slice) -> W:
        """Return neighbouring subjects, as views of the same arrays."""
        return self._selected(rows, copy=False)

    def present(self: W) -> W:
        """Leave out subjects of zero weight."""
        if self.frequency is None or (self.frequency > 0).all():
            return self
        return self[self.frequency > 0]

    @property
    def shape(self) -> tuple[int]:
        """(n,): scikit-learn takes what has a shape for an array, and selects rows of it."""
        return (len(self),)

    @property
    def count(self) -> int:
        """Number of rows that are present: those of weight zero are not."""
        return len(self) if self.frequency is None else int(np.count_nonzero(self.frequency))

    @property
    def median_time(self) -> float:
        """Median observed time."""
        if self.frequency is None:
            return float(np.median(self.time))
        order = sorting_order(self.time)
        time, reached = self.time[order], np.cumsum(self.frequency[order])
        middle = [int(reached.searchsorted(reached[-1] / 2, side)) for side in ("left", "right")]
        return float(time[np.minimum(middle, time.size - 1)].mean())

    @property
    def event_count(self) -> int:
        """Number of rows with an event among those present."""
        if self.frequency is None:
            return int(np.count_nonzero(self.event))
        return int(np.count_nonzero(self.event & (self.frequency > 0)))


def read_entry(entry: Any, time: Floats, keep: Callable[[Any], Any]) -> Floats | None:
    """Return entries that come before the times; None where everybody is in from the beginning.

    >>> read_entry([0, 2], np.array([1.0, 3.0]), np.array)
    array([0., 2.])
    """
    entries = vector(entry, "entry", length=time.size, minimum=0.0, largest=LARGEST)
    late = np.flatnonzero((entries >= time) & (entries > 0))  # at 0 everybody is in
    if late.size:
        first = int(late[0])
        raise InputError(
            f"entry must come before time; it does not for {numbered(late)}: the first of them "
            f"enters at {entries[first]:g} and is observed until {time[first]:g}. A subject with "
            "no time at risk tells nothing: correct such rows, or leave them out"
        )
    found: Floats | None = some_entry(keep(entries))
    return found


def some_entry(entry: Floats | None) -> Floats | None:
    """Return entries; None where everybody is in from the beginning."""
    return entry if entry is not None and entry.any() else None


def refuse_entry(entry: Floats | None, argument: str, *, intervals: bool = False) -> None:
    """Refuse delayed entry: the one door of everything that does not support it."""
    if entry is None:
        return
    found = (
        f"{argument} has delayed entry (left truncation) for {int(np.count_nonzero(entry))} of "
        f"{entry.size} subjects"
    )
    if intervals:
        raise InputError(
            f"{found}, which interval-censored outcomes cannot have: no metric supports both, and "
            "ignoring entry would bias the result. Entry goes with right-censored outcomes (time "
            "and event); leave entries out only if all were observed from the beginning"
        )
    raise InputError(
        f"{found}, which this function does not support; ignoring it would bias the "
        "result. sg.evaluate, sg.landmarks, sg.KaplanMeier and most metrics support it (see the "
        "guide on delayed entry); y.from_landmark(s) counts time from s on for those at risk then"
    )


#: Times that differ by a smaller share than this are one time, written in two ways.
SAME = 1e-10


def since(times: Floats, start: float, asked: Sequence[float] = ()) -> Floats:
    """Return times counted from `start`; the one at ``start + u``, for an `asked` u, is exactly u.

    3.3 - 2.0 is not 1.3 in floating point, so that the last bit would decide whether an event at
    3.3 years comes by 1.3 years after 2.0, and results would depend on the unit of time. Times on
    the last axis that are equal stay equal, and different ones stay different and in order: of
    several that are ``start + u`` but for rounding, the nearest is taken.

    >>> since(np.array([2.5, 3.3, 4.0]), 2.0, [1.3]).tolist()
    [0.5, 1.3, 2.0]
    """
    found = times - start
    for u in asked if times.size else ():
        gap = np.abs(found - u)
        nearest = np.take_along_axis(found, gap.argmin(axis=-1, keepdims=True), axis=-1)
        found = np.where((found == nearest) & (gap <= SAME * (start + u)), u, found)
    return found


def on_known(value: float, known: Floats) -> float:
    """Return the known time that a value is but for rounding, else the value.

    >>> on_known(0.1 + 0.2, np.array([0.3, 0.5])), on_known(0.4, np.array([0.3, 0.5]))
    (0.3, 0.4)
    """
    if not known.size or not np.isfinite(value):
        return value
    nearest = float(known[np.abs(known - value).argmin()])
    return nearest if abs(nearest - value) <= SAME * abs(value) else value


def outcome_columns(obj: Any, argument: str, several: bool) -> tuple[Any, Any, Any]:
    """Find the times, the flags and, if there are any, the entries in whatever holds them."""
    if isinstance(obj, tuple) or (isinstance(obj, list) and len(obj) == 2):
        if len(obj) != 2:
            raise InputError(f"{argument} must be a (time, event) pair; got {len(obj)} items")
        return obj[0], obj[1], None
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        return _structured_fields(obj, argument, several)
    columns = table_columns(obj, argument)
    if columns is not None:
        if {"start", "end"} <= set(columns) and "time" not in columns:
            columns |= _since_start(columns, argument)
        missing = [name for name in ("time", "event") if name not in columns]
        if missing:
            bounds = {"lower", "upper"} <= set(columns)
            raise InputError(
                f"{argument} must have columns 'time' and 'event'; "
                f"{' and '.join(map(repr, missing))} missing, columns are "
                + shown_columns(columns)
                + ("; sg.IntervalOutcomes.of reads interval-censored outcomes" if bounds else "")
            )
        return columns["time"], columns["event"], columns.get("entry")
    advice = ""
    if hasattr(obj, "lower") and hasattr(obj, "upper"):  # IntervalOutcomes, which rest on these
        advice = ": evaluate and the functions called interval_... take interval-censored outcomes"
    raise InputError(
        f"{argument} must be Outcomes, a (time, event) pair, a structured array, or a frame "
        f"with columns time and event; got {type(obj).__name__}{advice}"
    )


def _since_start(columns: Mapping[Any, Any], argument: str) -> dict[str, Any]:
    """Return durations since the column `start`, of `end` and of `entry` where there is one."""
    with located(argument):
        named = {"time": columns["end"], "entry": columns.get("entry")}
        return {
            name: time_between(columns["start"], column, "end" if name == "time" else name)
            for name, column in named.items()
            if column is not None
        }


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
