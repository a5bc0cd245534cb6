"""Arrays: what is array-like comes in and is checked; sums, sorting and look-ups of many values."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, numbered
from .frames import LAZY, array_of_query
from .running import QUERIES, chunks, run_all

#: Times and weights above this are refused: standard errors of squared errors take fourth powers.
LARGEST = 1e60


def to_numpy(values: Any, argument: str) -> NDArray[Any]:
    """Read lists, NumPy arrays, columns of any library and torch tensors, by duck typing."""
    if any(hasattr(values, name) for name in LAZY):
        values = array_of_query(values, argument)
    if isinstance(values, np.ma.MaskedArray):
        if np.any(np.ma.getmaskarray(values)):
            raise InputError(f"{argument} has masked entries; drop or fill them first")
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{argument} must be a rectangular array of numbers; {error}") from error
    return array


def numbers(values: Any, argument: str, *, ndim: int = 1) -> NDArray[Any]:
    """Return a real-valued array with that many dimensions; text and objects are refused."""
    array = to_numpy(values, argument)
    if array.dtype == object:
        missing = np.array([is_missing(item) for item in array.flat], bool).reshape(array.shape)
        odd = next((item for item in array[~missing] if not _is_numeric(item)), None)
        if odd is not None:
            told = f"{type(odd).__name__} {shown(odd)}"
            raise InputError(f"{argument} must be numbers; got {told}{_in_a_unit(odd)}")
        array = np.where(missing, np.nan, array).astype(np.float64)
    if array.dtype.kind not in "fiub":
        hint = _in_a_unit(array.flat[0] if array.size else None)
        raise InputError(f"{argument} must be numbers; got dtype {array.dtype}{hint}")
    if array.ndim != ndim:
        plural = "s" if ndim > 1 else ""
        raise InputError(f"{argument} must have {ndim} dimension{plural}; got shape {array.shape}")
    return array


def is_missing(item: Any) -> bool:
    """Whether an object is None, NaN, NaT or pandas' NA, which cannot be compared."""
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):
        return type(item).__name__ == "NAType"


def _in_a_unit(item: Any) -> str:
    """Say what to do about a duration or a date."""
    if isinstance(item, timedelta | np.timedelta64) or hasattr(item, "months"):
        return (
            ": durations are counted in a unit, as in sg.Outcomes(time, event, unit='days'), or "
            "with unit= of Outcomes.of and evaluate (for outcomes and predicted times); elsewhere "
            "divide by the unit, x / np.timedelta64(1, 'D')"
        )
    if isinstance(item, date | np.datetime64):
        return (
            ": a date is no time since the beginning; sg.Outcomes.of(frame, unit='days') reads "
            "the columns start, end and event of a frame"
        )
    return ""


def _is_numeric(item: Any) -> bool:
    """Whether an object is a number; text that looks like a number fails."""
    # NumPy's dates turn into their nanoseconds if asked for a number.
    if isinstance(item, str | bytes | np.datetime64 | np.timedelta64):
        return False
    try:
        float(item)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def positive(value: Any, argument: str, *, zero: bool = False) -> float:
    """Return one finite number above zero, or zero itself where `zero` allows it."""
    number = one_number(value)
    if not (np.isfinite(number) and (number > 0 or (zero and number == 0))):
        wanted = "finite and 0 or more" if zero else "finite and positive"
        raise InputError(f"{argument} must be {wanted}; got {shown(value)}")
    return number


def one_number(value: Any) -> float:
    """Return what can only be meant as one number; NaN for text, flags, dates and anything else.

    >>> one_number(3), one_number("3"), one_number(True)
    (3.0, nan, nan)
    """
    if isinstance(value, str | bytes | bool | np.bool_ | np.datetime64 | np.timedelta64):
        return float("nan")
    try:
        if np.ndim(value) > 0:  # a vector of one would pass as a number
            return float("nan")
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def shown(value: Any) -> str:
    """Return a value for a message, cut where it is long.

    >>> shown([1] * 100)
    '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...'
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = f"{type(value).__name__} of very many digits"
    return text if len(text) <= 60 else f"{text[:40]}..."


def flag(value: Any, argument: str) -> bool:
    """Return one True or False; 1 and 0 are taken for them.

    >>> flag(np.True_, "weighted"), flag(0, "weighted")
    (True, False)
    """
    # Missing values of pandas are neither equal nor unequal to anything.
    if isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1):
        return bool(value)
    raise InputError(f"{argument} must be True or False; got {shown(value)}")


#: More bins, groups or replicates than this are a mistake.
MOST = 10**9


def whole_number(value: Any, argument: str, minimum: int, what: str = "a whole number") -> int:
    """Return a count of at least `minimum`; flags and fractions are refused.

    >>> whole_number(np.int64(7), "bins", 1)
    7
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and minimum <= value <= MOST):
        raise InputError(
            f"{argument} must be {what}, at least {minimum} and at most {MOST:,}; "
            f"got {shown(value)}"
        )
    return int(value)


def probability(value: Any, argument: str) -> float:
    """Return one number strictly between 0 and 1."""
    number = one_number(value)
    if not 0 < number < 1:
        raise InputError(f"{argument} must lie strictly between 0 and 1; got {shown(value)}")
    return number


def vector(
    values: Any,
    argument: str,
    *,
    length: int | None = None,
    like: str = "the outcomes",
    minimum: float | None = None,
    largest: float | None = None,
    finite: bool = True,
) -> Floats:
    """Return a float64 vector, checked for length, NaN, infinity, sign and size."""
    with np.errstate(over="ignore"):
        array = numbers(values, argument).astype(np.float64, copy=False)
    if length is not None and array.size != length:
        raise InputError(
            f"{argument} must have one entry per subject: {like} "
            f"{'have' if like.endswith('s') else 'has'} {length}, {argument} has {array.size}"
        )
    if finite and not all_finite(array):
        bad = np.flatnonzero(~np.isfinite(array))
        raise InputError(f"{argument} must be finite; got {array[bad[0]]} for {numbered(bad)}")
    if minimum is not None and array.size and not array.min() >= minimum:
        bad = np.flatnonzero(~(array >= minimum))
        raise InputError(
            f"{argument} must be at least {minimum:g}; got {array[bad[0]]:g} for {numbered(bad)}"
        )
    if largest is not None and array.size and max(array.max(), -array.min()) > largest:
        bad = np.flatnonzero(np.abs(array) > largest)
        raise InputError(
            f"{argument} must be at most {largest:g}, or squares overflow; got {array[bad[0]]:g} "
            f"for {numbered(bad)}; change the unit"
        )
    return array


def all_finite(array: NDArray[Any]) -> bool:
    """Whether there is neither NaN nor infinity, in one pass where the answer is yes."""
    with np.errstate(invalid="ignore", over="ignore"):
        # A sum is finite only if every entry is; a sum that overflows says nothing.
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


_FLAGS = "must be 0/1 or booleans (1: event observed, 0: censored)"
#: Words that mean an event where a column has text, to be offered; the last word otherwise.
EVENTS = {"dead", "death", "deceased", "died", "event", "failed", "failure", "relapse", "yes"}
#: More different words than this do not say who had the event.
_FEW_WORDS = 4


def flags(values: Any, argument: str) -> Bools:
    """Return a boolean vector from booleans or from numbers that are all 0 or 1."""
    array = to_numpy(values, argument)
    if array.ndim != 1:
        raise InputError(f"{argument} must have 1 dimension; got shape {array.shape}")
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "OU" and any(isinstance(item, str) for item in array.tolist()):
        raise _words(values, array, argument)
    array = numbers(array, argument)
    result = array != 0
    if not (result == array).all():
        bad = np.flatnonzero(np.isnan(array))
        if bad.size:
            raise InputError(
                f"{argument} {_FLAGS}; it is missing (nan) for {numbered(bad)}: find out, or leave "
                "these rows out"
            )
        bad = np.flatnonzero(result != array)
        raise InputError(f"{argument} {_FLAGS}; got {array[bad[0]]} for {numbered(bad)}")
    return result


def _words(values: Any, array: NDArray[Any], argument: str) -> InputError:
    """Ask which of the words in a column means an event."""
    levels = getattr(getattr(values, "dtype", None), "categories", None)
    kind = "text" if levels is None else "categories"
    words = sorted({str(item) for item in array.tolist() if not is_missing(item)})
    likely = next((word for word in words if word.strip().lower() in EVENTS), words[-1])
    told = f"{argument} {_FLAGS}; got {kind}, {', '.join(map(repr, words[:_FEW_WORDS]))}"
    if len(words) > _FEW_WORDS:
        return InputError(f"{told} and {len(words) - _FEW_WORDS} more: pass True for an event")
    return InputError(f"{told}: pass True where it means an event, such as event == {likely!r}")


def date_text(value: Any) -> str | None:
    """Write a date as a label, the same from every kind of column; None: it is no date.

    >>> date_text(date(2020, 1, 31)), date_text(np.datetime64("2020-01-31T00:00", "ns"))
    ('2020-01-31', '2020-01-31')
    >>> date_text(datetime(2020, 1, 31, 12, 30)), date_text("2020")
    ('2020-01-31T12:30', None)
    """
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat()
    if not isinstance(value, date | np.datetime64):
        return None
    exact = value if isinstance(value, np.datetime64) else np.datetime64(value.isoformat())
    return str(np.datetime_as_string(exact.astype("M8[ns]"), unit="auto"))


def subject_index(rows: Any) -> Any:
    """Return what selects subjects: a slice, or a vector of row numbers or of booleans."""
    if isinstance(rows, slice):
        return rows
    index = np.atleast_1d(rows)
    if index.size == 0:
        index = index.astype(np.intp)
    if index.ndim != 1:
        raise InputError(f"a selection of subjects must have 1 dimension; got shape {index.shape}")
    return index


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only array that nobody else can write to through another name."""
    copy = np.array(array, copy=True)
    copy.setflags(write=False)
    return copy


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same memory, not to be written to under this name."""
    view = array.view()
    view.setflags(write=False)
    return view


def repeated(value: float, n: int) -> Floats:
    """Return one number n times, stored once; not to be written to.

    >>> repeated(1.0, 3)
    array([1., 1., 1.])
    """
    # What numpy.broadcast_to gives, in a fraction of its time: it is asked for in every chunk.
    array: Floats = np.ndarray((n,), np.float64, np.float64(value).tobytes(), strides=(0,))
    return array


def stored_once(array: NDArray[Any]) -> bool:
    """Whether all rows are one, stored once and read over and over (`numpy.broadcast_to`).

    Weights of subjects who count alike are, and the curve of a model that predicts one for all.

    >>> stored_once(np.broadcast_to(1.0, 3)), stored_once(np.ones(3))
    (True, False)
    """
    return array.strides[0] == 0


def dot(a: Floats, b: Floats) -> float:
    """Sum of a * b, by chunks; BLAS would start threads for it.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(sum((a[rows] * b[rows]).sum() for rows in chunks(a.size)))


#: Values in a matrix times a vector that BLAS starts no threads for; waiting for those takes longer
#: than the rest when others use the machine.
_BLAS_VALUES = 8_192


def combine(factors: Floats, rows: Floats) -> Floats:
    """factors @ rows."""
    if rows.size < _BLAS_VALUES:
        return factors @ rows
    return np.einsum("...k,kn->...n", factors, rows)


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]


#: Below this many values an argsort is as good.
_FEW = 1_500


def sorting_order(values: Floats) -> Ints:
    """Rows by value, equal values by row; no value may be NaN.

    Keys are the leading bits of a value, then its row. Values that agree in all the bits that are
    left, few among millions, may fall in that order; then an argsort puts these right.

    >>> sorting_order(np.array([3.0, -1.0, 3.0, 0.5]))
    array([1, 3, 0, 2])
    """
    n = values.size
    if n < _FEW:
        return values.argsort(kind="stable")
    ordered = (values + 0.0).view(np.int64)  # there is one zero only
    low = ordered.min()
    if low < 0:  # of negative numbers all bits but the sign count downwards
        negative = ordered >> 63
        negative &= np.int64(0x7FFF_FFFF_FFFF_FFFF)
        ordered ^= negative
        low = ordered.min()
    ordered -= low  # may wrap round, to what is right without a sign
    key, bits = ordered.view(np.uint64), (n - 1).bit_length()
    key >>= np.uint64(max(int(key.max()).bit_length() + bits - 64, 0))
    key <<= np.uint64(bits)
    key |= np.arange(n, dtype=np.uint64)
    key.sort()
    key &= np.uint64((1 << bits) - 1)
    order = key.view(np.int64).astype(np.intp, copy=False)
    found = values[order]
    if (found[1:] >= found[:-1]).all():
        return order
    return order[found.argsort(kind="stable")]  # quick, as nearly all are in order


def sorted_outcomes(time: Floats, event: Bools) -> tuple[Floats, Bools]:
    """Times in order, and the flags that belong to them, by one plain sort.

    A time has no sign: its bit is free for the flag, which then moves with the time.

    >>> sorted_outcomes(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    (array([1., 2., 3.]), array([False,  True,  True]))
    """
    key = (time + 0.0).view(np.uint64)  # there is one zero only
    key <<= np.uint64(1)
    key |= event
    key.sort()
    flag = (key & np.uint64(1)).astype(np.bool_)
    key >>= np.uint64(1)
    return key.view(np.float64), flag


#: Fewer values, or values in a smaller table, are looked up as they come.
_FEW_VALUES, _SMALL_TABLE = 2_048, 16_384


def look_up(table: Floats, values: Floats, side: str = "right") -> Ints:
    """`numpy.searchsorted`, of many values in a large table in their order; none may be NaN.

    Neighbours then find each other's part of the table in the cache.

    >>> look_up(np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 0.5]))
    array([2, 2, 0])
    """
    if values.size < _FEW_VALUES or table.size < _SMALL_TABLE:
        return table.searchsorted(values, side)  # type: ignore[call-overload]
    found = np.empty(values.size, dtype=np.intp)

    def fill(rows: slice) -> None:
        order = sorting_order(values[rows])
        places: Ints = table.searchsorted(values[rows][order], side)  # type: ignore[call-overload]
        found[rows][order] = places

    run_all(fill, chunks(values.size, size=QUERIES))
    return found
