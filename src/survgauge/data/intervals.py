"""Interval-censored outcomes: the event happened between two visits. Validated once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .._tools.arrays import LARGEST, Bools, Floats, frozen, read_only, vector
from .._tools.frames import shown_columns, table_columns
from ..errors import InputError, numbered
from .outcome_parts import Weighted, read_weight, refuse_entry, some_entry
from .outcomes import Outcomes

#: Columns of interval-censored outcomes in frames and files.
BOUNDS = ("lower", "upper")


class IntervalOutcomes(Weighted):
    """Interval-censored outcomes of n subjects: frozen, validated once, trusted afterwards.

    The event of a subject happened after `lower` and not after `upper`: in (lower, upper].

    Parameters
    ----------
    lower : array-like of shape (n,)
        Last time at which the subject was known to be event-free, 0 or more; 0: never seen so.
    upper : array-like of shape (n,)
        First time at which the event was known to have happened; infinite: never seen
        (right-censored at `lower`); equal to `lower`: the event was seen at that very time.
    weight : array-like of shape (n,), optional
        Frequencies: a weight of 2 equals two identical rows; with zero it is left out.
    copy : bool
        False looks at the arrays where they are; they must not change then.

    Attributes
    ----------
    lower, upper, weight : ndarray of shape (n,)
    exact : ndarray of shape (n,)
        Where the event time itself is known.
    event : ndarray of shape (n,)
        Where an event was seen, at whatever time: `upper` is finite.
    time : ndarray of shape (n,)
        Until when the subject was watched: `upper` where an event was seen, else `lower`.

    Examples
    --------
    >>> y = IntervalOutcomes(lower=[0, 6, 12, 9], upper=[6, 12, float("inf"), 9])
    >>> y
    IntervalOutcomes(n=4, intervals=2, exact=1, right-censored=1, last time=12)
    >>> y.exact, y.event
    (array([False, False, False,  True]), array([ True,  True, False,  True]))
    """

    __slots__ = ("lower", "upper")
    _fields = ("lower", "upper", "time", "event", "_weight")

    #: There is one kind of event; `Outcomes` may have several.
    cause: ClassVar[None] = None
    causes: ClassVar[None] = None
    entry: ClassVar[None] = None

    lower: Floats
    upper: Floats

    def __init__(self, lower: Any, upper: Any, weight: Any = None, *, copy: bool = True) -> None:
        low = vector(lower, "lower", minimum=0.0, largest=LARGEST)
        if low.size == 0:
            raise InputError("lower must have at least one subject; got an empty array")
        high = vector(upper, "upper", finite=False)
        if high.size != low.size:
            raise InputError(
                f"lower and upper must have the same length; got {low.size} and {high.size}"
            )
        _check_order(low, high)
        vector(high[np.isfinite(high)], "upper", largest=LARGEST)
        weights = None if weight is None else read_weight(weight, low.size)
        keep = frozen if copy else read_only
        self._set(keep(low), keep(high), None if weights is None else keep(weights))

    def _set(self, lower: Floats, upper: Floats, weight: Floats | None) -> None:
        event = np.isfinite(upper)
        time = np.where(event, upper, lower)
        self._keep(lower=lower, upper=upper, time=time, event=event, _weight=weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return (IntervalOutcomes, (self.lower, self.upper, self._weight))

    @classmethod
    def _trusted(cls, lower: Floats, upper: Floats, weight: Floats | None) -> IntervalOutcomes:
        """Build from arrays that come out of other, already validated outcomes."""
        outcomes = cls.__new__(cls)
        outcomes._set(lower, upper, weight)
        return outcomes

    @classmethod
    def of(cls, obj: Any, argument: str = "y", *, copy: bool = True) -> IntervalOutcomes:
        """Read interval-censored outcomes from whatever holds them.

        Accepts `IntervalOutcomes`, a ``(lower, upper)`` pair, a frame, mapping or structured array
        with columns ``lower`` and ``upper``, or right-censored `Outcomes`: an event at t is known
        exactly, and who is censored at t has the event after it.

        >>> IntervalOutcomes.of({"lower": [0, 2], "upper": [2, 5]})
        IntervalOutcomes(n=2, intervals=2, exact=0, right-censored=0, last time=5)
        >>> IntervalOutcomes.of(Outcomes([3, 5], [1, 0])).upper
        array([ 3., inf])
        """
        if isinstance(obj, IntervalOutcomes):
            return obj
        if isinstance(obj, Outcomes):
            y = obj.of_one_cause(argument)
            refuse_entry(y.entry, argument, intervals=True)
            weight = y.weight if y.weighted else None
            return cls._trusted(y.time, np.where(y.event, y.time, np.inf), weight)
        lower, upper = _columns(obj, argument)
        try:
            return cls(lower, upper, copy=copy)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from error

    @classmethod
    def joined(cls, parts: Sequence[IntervalOutcomes]) -> IntervalOutcomes:
        """Return outcomes one after the other.

        >>> IntervalOutcomes.joined([IntervalOutcomes([1], [2]), IntervalOutcomes([2], [2])])
        IntervalOutcomes(n=2, intervals=1, exact=1, right-censored=0, last time=2)
        """
        weighted = any(y.weighted for y in parts)
        return cls._trusted(
            np.concatenate([y.lower for y in parts]),
            np.concatenate([y.upper for y in parts]),
            np.concatenate([y.weight for y in parts]) if weighted else None,
        )

    @property
    def exact(self) -> Bools:
        """Where the event time itself is known."""
        return self.lower == self.upper

    def __repr__(self) -> str:
        seen, exact = int(self.event.sum()), int(self.exact.sum())
        return (
            f"IntervalOutcomes(n={len(self)}, intervals={seen - exact}, exact={exact}, "
            f"right-censored={len(self) - seen}, last time={float(self.time.max()):g})"
        )


def _check_order(lower: Floats, upper: Floats) -> None:
    """Refuse rows whose interval is none."""
    unknown = np.flatnonzero(np.isnan(upper))
    if unknown.size:
        raise InputError(
            f"upper must not be NaN; it is for {numbered(unknown)}. Where no event was seen, upper "
            "is infinite (inf)"
        )
    bad = np.flatnonzero(lower > upper)
    if bad.size:
        raise InputError(
            f"lower must not be above upper; it is for {numbered(bad)}: got lower "
            f"{lower[bad[0]]:g} and upper {upper[bad[0]]:g}"
        )


def _columns(obj: Any, argument: str) -> tuple[Any, Any]:
    """Find the bounds in whatever holds them."""
    if isinstance(obj, tuple) or (isinstance(obj, list) and len(obj) == 2):
        if len(obj) != 2:
            raise InputError(f"{argument} must be a (lower, upper) pair; got {len(obj)} items")
        return obj[0], obj[1]
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        found: dict[Any, Any] | None = {name: obj[name] for name in obj.dtype.names}
    else:
        found = table_columns(obj, argument)
    if found is None:
        raise InputError(
            f"{argument} must be IntervalOutcomes, Outcomes, a (lower, upper) pair, or a frame "
            f"with columns lower and upper; got {type(obj).__name__}"
        )
    missing = [name for name in ("lower", "upper") if name not in found]
    if missing:
        raise InputError(
            f"{argument} must have columns 'lower' and 'upper'; {' and '.join(map(repr, missing))} "
            f"missing, columns are {shown_columns(found)}"
        )
    if "entry" in found:
        refuse_entry(some_entry(vector(found["entry"], "entry")), argument, intervals=True)
    return found["lower"], found["upper"]
