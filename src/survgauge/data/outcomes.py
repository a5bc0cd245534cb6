"""What was observed, validated once: right-censored outcomes, and interval-censored ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .._tools.arrays import LARGEST, Bools, Floats, frozen, read_only, vector
from .._tools.frames import shown_columns, table_columns
from ..errors import InputError, located, numbered
from .causes import Codes, cause_code, read_events, several_causes
from .outcome_parts import (
    Weighted,
    in_unit,
    outcome_columns,
    read_entry,
    read_weight,
    refuse_entry,
    since,
    some_entry,
)


class Outcomes(Weighted):
    """Right-censored outcomes of n subjects: frozen, validated once, trusted afterwards.

    Parameters
    ----------
    time : array-like of shape (n,)
        Observed times, finite and not negative.
    event : array-like of shape (n,)
        True (or 1) where the event was observed at `time`, False (or 0) where the subject was
        censored there. A subject censored at t is still at risk at t. With competing risks 0 is
        censored and 1, 2, ... are the causes; or the names in `causes` and "censored".
    weight : array-like of shape (n,), optional
        Frequencies: a weight of 2 equals two identical rows; with zero it is left out.
    causes : sequence of str, optional
        Names of the causes in the order of their codes. Needed where `event` has names, or where
        a code does not occur in it.
    entry : array-like of shape (n,), optional
        Delayed entry (left truncation): when observation began of a subject who was event-free
        then, and is at risk at t if entry < t <= time. 0 is from the beginning; 0 for all subjects
        is the same as None.
    unit : str
        What durations (timedelta) are counted in: "days", "years" (of 365.25 days), ... Numbers
        are in that unit already.
    copy : bool
        False looks at the arrays where they are; they must not change then.

    Attributes
    ----------
    time, event, weight : ndarray of shape (n,)
        `event` is True where there was an event of any cause.
    cause : ndarray of shape (n,) or None
        With several causes the code of each subject's, 0 where censored; None with one.
    causes : tuple of str or None
        Their names; the codes as text where no names were given.
    entry : ndarray of shape (n,) or None
        None if all subjects were observed from the beginning.

    Examples
    --------
    >>> y = Outcomes(time=[5, 8, 3], event=[1, 0, 1])
    >>> len(y), int(y.event.sum())
    (3, 2)
    >>> y[y.event].time
    array([5., 3.])

    Two causes; a metric or estimator is about one of them:

    >>> y = Outcomes([5, 8, 3], [1, 0, 2], causes=["relapse", "death"])
    >>> y
    Outcomes(n=3, relapse=1, death=1, last time=8)
    >>> y.cause, y.event
    (array([1, 0, 2], dtype=int32), array([ True, False,  True]))

    A subject who was observed from time 2 on:

    >>> Outcomes([5, 8, 3], [1, 0, 1], entry=[0, 2, 0])
    Outcomes(n=3, events=2, delayed entry=1, last time=8)
    """

    __slots__ = ("cause", "causes", "entry")
    _fields = ("time", "event", "frequency", "cause", "causes", "entry")

    cause: Codes | None
    causes: tuple[str, ...] | None
    entry: Floats | None

    def __init__(
        self,
        time: Any,
        event: Any,
        weight: Any = None,
        causes: Any = None,
        entry: Any = None,
        *,
        unit: str = "",
        copy: bool = True,
    ) -> None:
        if not isinstance(unit, str) or unit:
            time = in_unit(time, "time", unit)
            entry = None if entry is None else in_unit(entry, "entry", unit)
        times = vector(time, "time", minimum=0.0, largest=LARGEST)
        if times.size == 0:
            raise InputError("time must have at least one subject; got an empty array")
        if 0 < (last := times.max()) < 1 / LARGEST:
            raise InputError(
                f"time must reach {1 / LARGEST:g}, or squares are 0; got at most {last:g}; "
                "change the unit"
            )
        events, codes, names = read_events(event, causes)
        if events.size != times.size:
            raise InputError(
                f"time and event must have the same length; got {times.size} and {events.size}"
            )
        weights = None if weight is None else read_weight(weight, times.size)
        keep = frozen if copy else read_only
        kept = keep(times), keep(events), None if weights is None else keep(weights)
        entries = None if entry is None else read_entry(entry, times, keep)
        self._keep(**dict(zip(self._fields, (*kept, codes, names, entries), strict=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Outcomes, (self.time, self._codes, self.frequency, self.causes, self.entry))

    @property
    def _codes(self) -> Bools | Codes:
        """What `event` was: flags, or the codes of several causes."""
        return self.event if self.cause is None else self.cause

    @classmethod
    def _trusted(
        cls,
        time: Floats,
        event: Bools,
        weight: Floats | None,
        cause: Codes | None = None,
        causes: tuple[str, ...] | None = None,
        entry: Floats | None = None,
    ) -> Outcomes:
        """Build from arrays that come out of other, already validated outcomes."""
        outcomes = cls.__new__(cls)
        known = (time, event, weight, cause, causes, entry)
        outcomes._keep(**dict(zip(cls._fields, known, strict=True)))
        return outcomes

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Return outcomes one after the other; all have the same causes.

        >>> Outcomes.joined([Outcomes([1], [1]), Outcomes([2, 3], [0, 1])])
        Outcomes(n=3, events=2, last time=3)
        """
        causes = parts[0].causes
        other = next((y for y in parts if y.causes != causes), None)
        if other is not None:
            raise InputError(f"causes must be the same in all parts; got {causes}, {other.causes}")
        weighted = any(y.frequency is not None for y in parts)
        codes = [y.cause for y in parts if y.cause is not None]
        time, event = ([getattr(y, name) for y in parts] for name in ("time", "event"))
        weight = np.concatenate([y.weight for y in parts]) if weighted else None
        entry = None
        if any(y.entry is not None for y in parts):  # others are in from the beginning
            entry = np.concatenate(
                [np.zeros(len(y)) if y.entry is None else y.entry for y in parts]
            )
        known = weight, np.concatenate(codes) if codes else None, causes, entry
        return cls._trusted(np.concatenate(time), np.concatenate(event), *known)

    @classmethod
    def of(
        cls,
        obj: Any,
        argument: str = "y",
        *,
        copy: bool = True,
        causes: Any = None,
        entry: bool = False,
        unit: str = "",
    ) -> Outcomes:
        """Read outcomes from whatever holds them.

        Accepts an `Outcomes`, a ``(time, event)`` pair, a structured array with one boolean and
        one numeric field (scikit-survival's), or a frame or mapping with columns ``time`` and
        ``event``, and ``entry`` where there is delayed entry. Frames are those of pandas, Polars
        (also lazy) and Arrow, and DuckDB relations. With dates they have columns ``start`` and
        ``end`` in place of ``time``, and `unit` says what the time between is counted in.

        Several causes are refused unless `causes` asks for them: the names, or True for codes
        without names. Every function that supports one kind of event reads its outcomes here, so
        none takes a competing event for the event, or for censoring. Delayed entry is refused, too,
        unless `entry` says that the caller supports it.

        >>> Outcomes.of({"time": [2.0, 3.0], "event": [True, False]})
        Outcomes(n=2, events=1, last time=3)
        >>> Outcomes.of(([2, 3, 4], [1, 0, 2]), causes=True)
        Outcomes(n=3, 1=1, 2=1, last time=4)
        >>> dates = np.array(["2024-01-01", "2024-03-01", "2024-02-01"], dtype="M8[D]")
        >>> visits = {"start": dates[[0, 0]], "end": dates[1:], "event": [1, 0]}
        >>> Outcomes.of(visits, unit="days").time
        array([60., 31.])
        """
        if isinstance(obj, Outcomes):
            found = obj
        else:
            time, event, entered = outcome_columns(obj, argument, bool(causes))
            names = None if causes is True else causes
            with located(argument):
                found = cls(time, event, None, names, entered, unit=unit, copy=copy)
        if not entry:
            refuse_entry(found.entry, argument)
        return found if causes else found.of_one_cause(argument)

    def of_one_cause(self, argument: str = "y") -> Outcomes:
        """Refuse several causes: the one door of everything that supports one kind of event."""
        if self.causes is None:
            return self
        raise several_causes(self.causes, argument)

    def any_cause(self) -> Outcomes:
        """Return the same subjects with one kind of event: the first of whatever cause.

        >>> Outcomes([5, 8, 3], [1, 0, 2]).any_cause()
        Outcomes(n=3, events=2, last time=8)
        """
        return self if self.cause is None else self._with_event(self.event)

    def only(self, cause: int | str) -> Outcomes:
        """Return the same subjects with events of one cause, and all others as censored.

        This is mostly wrong. Who died of something else can never have the event, while a censored
        subject still can: Kaplan-Meier of these outcomes, and every metric that weights by the
        probability of censoring, describe a scenario in which the other causes do not exist, and 1
        - survival lies above the share that ever has the event (`AalenJohansen` estimates that
        one). It is right for hazards of one cause, such as a Cox model of the cause-specific
        hazard.

        >>> y = Outcomes([5, 8, 3], [1, 0, 2], causes=["relapse", "death"])
        >>> y.only("relapse").event
        array([ True, False, False])
        """
        if self.cause is None or self.causes is None:
            raise InputError("y.only needs outcomes of several causes; these have one")
        return self._with_event(self.cause == cause_code(cause, self.causes))

    def _with_event(self, event: Bools) -> Outcomes:
        return self._changed(event=event, cause=None, causes=None, _order=self._order)

    def to_structured(self) -> np.ndarray[Any, Any]:
        """Structured array with fields ``event`` and ``time``, as scikit-survival takes it.

        With several causes ``event`` has their codes; with delayed entry there is ``entry`` too.

        >>> Outcomes([5, 8], [1, 0]).to_structured().dtype.names
        ('event', 'time')
        """
        columns = {"event": self._codes, "time": self.time}
        if self.entry is not None:
            columns["entry"] = self.entry
        array = np.empty(len(self), [(name, known.dtype) for name, known in columns.items()])
        for name, known in columns.items():
            array[name] = known
        return array

    def __repr__(self) -> str:
        if self.cause is None or self.causes is None:
            events = f"events={int(self.event.sum())}"
        else:
            counts = np.bincount(self.cause, minlength=len(self.causes) + 1)[1:]
            pairs = zip(self.causes, counts, strict=True)
            events = ", ".join(f"{name}={count}" for name, count in pairs)
        if self.entry is not None:
            events += f", delayed entry={np.count_nonzero(self.entry)}"
        return f"Outcomes(n={len(self)}, {events}, last time={float(self.time.max()):g})"

    def since_entry(self) -> Outcomes:
        """Return the same with the time of each subject counted from its entry.

        How long subjects were watched. Risk sets of the event need the time since the beginning.

        >>> Outcomes([70, 64], [1, 0], entry=[60, 0]).since_entry().time
        array([10., 64.])
        """
        if self.entry is None:
            return self
        return self._changed(time=self.time - self.entry, entry=None)

    def entering(self) -> Outcomes:
        """Return the same with an entry for everybody, 0 where nobody enters late.

        So that a chunk without late entries is scored as the others are.
        """
        if self.entry is not None:
            return self
        return self._changed(entry=np.zeros(len(self)), _order=self._order)

    def restricted(self, tau: float | None) -> Outcomes:
        """Stop at `tau`: everybody who gets there has a known time, `tau`.

        Replaces (time, event) by (min(time, tau), event or time >= tau). A subject who enters at
        `tau` or later is left out.

        >>> Outcomes([1, 5, 9], [0, 0, 1]).restricted(5).event
        array([False,  True,  True])
        """
        if tau is None:
            return self
        self.of_one_cause()  # getting to tau is an event of no cause
        stopped = {"time": np.minimum(self.time, tau), "event": self.event | (self.time >= tau)}
        if self.entry is None:
            return self._changed(**stopped)
        weight = np.where(self.entry < tau, self.weight, 0.0)
        return self._changed(**stopped, frequency=weight, entry=np.minimum(self.entry, tau))

    def observed_at(self, s: float) -> Bools:
        """Who is under observation just after `s`: entered by then, and followed for longer."""
        late = self.time > s
        return late if self.entry is None else late & (self.entry <= s)

    def from_landmark(self, s: float, asked: Sequence[float] = ()) -> Outcomes:
        """Return who is under observation just after `s`, with time counted from `s`.

        Times of interest since `s` that are `asked` meet observed times whatever the rounding.

        >>> Outcomes([5, 8, 3, 9], [1, 0, 1, 1], entry=[0, 2, 0, 6]).from_landmark(4).time
        array([1., 4.])
        """
        found = self[self.observed_at(s)]
        return found._changed(time=since(found.time, s, asked), entry=None)


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
        Whether the event time itself is known.
    event : ndarray of shape (n,)
        Whether an event was seen, at whatever time: `upper` is finite.
    time : ndarray of shape (n,)
        End of observation: `upper` if an event was seen, else `lower`.

    Examples
    --------
    >>> y = IntervalOutcomes(lower=[0, 6, 12, 9], upper=[6, 12, float("inf"), 9])
    >>> y
    IntervalOutcomes(n=4, intervals=2, exact=1, right-censored=1, last time=12)
    >>> y.exact, y.event
    (array([False, False, False,  True]), array([ True,  True, False,  True]))
    """

    __slots__ = ("lower", "upper")
    _fields = ("lower", "upper", "time", "event", "frequency")

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
        self._keep(lower=lower, upper=upper, time=time, event=event, frequency=weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return (IntervalOutcomes, (self.lower, self.upper, self.frequency))

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
            weight = y.frequency
            return cls._trusted(y.time, np.where(y.event, y.time, np.inf), weight)
        lower, upper = _columns(obj, argument)
        with located(argument):
            return cls(lower, upper, copy=copy)

    @classmethod
    def joined(cls, parts: Sequence[IntervalOutcomes]) -> IntervalOutcomes:
        """Return outcomes one after the other.

        >>> IntervalOutcomes.joined([IntervalOutcomes([1], [2]), IntervalOutcomes([2], [2])])
        IntervalOutcomes(n=2, intervals=1, exact=1, right-censored=0, last time=2)
        """
        weighted = any(y.frequency is not None for y in parts)
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
