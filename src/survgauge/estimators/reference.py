"""The reference set: what the training outcomes say about times, as tables with one look-up.

With event times u_1 < ... < u_K (u_0 = 0) everything that a subject censored at c needs is a
function of j, the number of event times <= c, as long as c lies inside the reference follow-up.
So each method is a table of K + 1 entries, made once, and a look-up per subject.

Outcomes that come in batches are kept as counts, of which a reference set is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Floats, Ints, flag, whole_number
from ..data.curves import SurvivalCurves
from ..data.interpolation import check_tail, tail_area
from ..data.outcome_parts import refuse_entry
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from .aalen_johansen import AalenJohansen
from .kaplan_meier import KaplanMeier, RiskTable


class Reference:
    """Training outcomes with their estimates, each computed at its first use.

    Every function with a `y_train` argument accepts one, so that several calls share the work.

    Parameters
    ----------
    y : outcomes
        Training outcomes; anything that `Outcomes.of` reads.
    in_sample : bool
        Whether these are the test subjects themselves, of whom pseudo-observations leave one out.
    causes : bool
        Whether events of several causes are known: `y` then counts the first of whatever cause,
        and `given` keeps the causes.

    Examples
    --------
    >>> reference = Reference(([2, 4, 6, 8], [1, 0, 1, 1]))
    >>> round(reference.theta("step", "linear"), 4)
    5.75
    """

    def __init__(self, y: Any, in_sample: bool = False, causes: bool = False) -> None:
        several = flag(causes, "causes") or None
        #: The outcomes with their causes, without those of zero weight and without a horizon.
        self.given = Outcomes.of(y, "y_train", causes=several, entry=True).present()
        self._y = self.given.any_cause()
        #: Whether these are the test subjects themselves.
        self.in_sample = in_sample
        #: The horizon (`tau`), where every area ends; those who get there have the event there.
        self.stop = np.inf
        #: Last observed time, and number of subjects, frequencies counted.
        self.last_time = float(self._y.time.max())
        self.size = float(self._y.weight.sum())
        #: The same as a whole number where it is one.
        self.subjects = int(self.size) if self.size.is_integer() else self.size
        self._without_horizon: Reference | None = None
        self._cache: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # look-ups are made anew where they are needed

    @classmethod
    def of(cls, obj: Any, causes: bool = False, entry: bool = False) -> Reference:
        """Take a Reference as it is, and anything that `Outcomes.of` reads.

        Delayed entry is refused unless `entry` says that the caller supports it.
        """
        found = obj if isinstance(obj, Reference) else cls(obj, causes=causes)
        if not entry:
            refuse_entry(found.y.entry, "y_train")
        return found

    @property
    def y(self) -> Outcomes:
        """The outcomes up to the horizon; with several causes the first event of any."""
        if self._without_horizon is None:
            return self._y
        return self.cached((Reference, "y"), lambda: self._y.restricted(self.stop))

    @property
    def incidence(self) -> AalenJohansen:
        """Aalen-Johansen of every cause."""
        return self.whole.cached((Reference, "incidence"), lambda: AalenJohansen.fit(self.going_on))

    @property
    def going_on(self) -> Outcomes:
        """The outcomes with their causes, of which Aalen-Johansen does not end too early.

        Where events leave a risk set empty before others enter, they do not count, as in `km`: what
        is estimated given being at risk later is right.
        """
        y, table = self.given, self.whole.table
        empty = np.flatnonzero(table.events[:-1] >= table.at_risk[:-1])
        if y.entry is None or not empty.size:
            return y
        codes = y.event if y.cause is None else y.cause
        codes = np.where(np.isin(y.time, table.times[empty]), 0, codes)
        return Outcomes(y.time, codes, y.weight, y.causes, y.entry)

    @property
    def whole(self) -> Reference:
        """The set without a horizon."""
        return self if self._without_horizon is None else self._without_horizon

    def restricted(self, tau: float | None) -> Reference:
        """Return the same set up to the horizon `tau`; tables of either are kept by the whole."""
        if tau is None or tau == np.inf:
            return self
        found = Reference.__new__(Reference)
        found.__dict__ = self.__dict__ | {"stop": tau, "_without_horizon": self.whole}
        found.last_time = min(self.last_time, tau)
        return found

    def anew(self) -> Reference:
        """Return the same set without the look-ups that were made of it."""
        return Reference(self.given, self.in_sample, causes=True).restricted(self.stop)

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what several methods and models look at.

        All who look share the keys. Begin yours with what is yours alone: the class or the function
        that makes the thing, or the name of the method.
        """
        if self._without_horizon is not None:
            return self._without_horizon.cached((self.stop, key), build)
        if key not in self._cache:
            self._cache[key] = build()
        return self._cache[key]

    @property
    def table(self) -> RiskTable:
        """Counts at the distinct observed times."""
        return self.cached((Reference, "table"), lambda: RiskTable.of(self.y))

    @property
    def km(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        return self.cached(
            (Reference, "km"), lambda: KaplanMeier.from_table(self.table, restart=True)
        )

    @property
    def censoring(self) -> KaplanMeier:
        """G, reverse Kaplan-Meier: events leave the risk set before censorings."""
        whole = self.whole  # nobody reads it past the horizon
        return whole.cached(
            (Reference, "censoring"),
            lambda: KaplanMeier.from_table(whole.table, True, restart=True),
        )

    @property
    def last_survival(self) -> float:
        """Kaplan-Meier at the last observed time; 1 where nobody had the event."""
        if self.whole.last_time >= self.stop:  # somebody gets to the horizon
            return 0.0
        return float(self.whole.survival[-1]) if self.whole.table.events.any() else 1.0

    @property
    def _events(self) -> tuple[Ints, Floats, Floats]:
        """Rows of `table` with events, 0 and their times and t_last, and Kaplan-Meier there."""

        def build() -> tuple[Ints, Floats, Floats]:
            rows = self.table.event_rows
            if rows.size == 0:
                raise UndefinedMetricError(
                    "y_train has no events, so nothing is known about event times; "
                    "use method='uncensored', 'hinge' or 'ipcw_d', or another reference set"
                )
            nodes = np.concatenate(([0.0], self.table.times[rows], [self.last_time]))
            survival = self.table.survival(rows=rows, restart=True)
            return rows, nodes, np.append(survival, survival[-1])

        return self.cached((Reference, "events"), build)

    @property
    def nodes(self) -> Floats:
        """0, u_1, ..., u_K, t_last."""
        return self._events[1]

    @property
    def event_times(self) -> Floats:
        """u_1 < ... < u_K."""
        return self._events[1][1:-1]

    @property
    def survival(self) -> Floats:
        """Kaplan-Meier P_0 = 1, P_1, ..., P_K after each event time."""
        return self._events[2][:-1]

    def distribution(self) -> tuple[Floats, Floats]:
        """Event times, and Kaplan-Meier before the first and after each of them.

        Without the horizon: the times past `stop` are all of them `stop`.
        """
        if self.whole.last_time >= self.stop and not self.whole.table.events.any():
            return np.empty(0), np.ones(1)
        return self.whole.event_times, self.whole.survival

    def at_events(self, part: slice = slice(None)) -> tuple[Floats, Floats]:
        """Numbers at risk and of events at u_1, ..., u_K, or at a part of them."""
        rows = self._events[0][part]
        return self.table.at_risk[rows], self.table.events[rows]

    def steps(self) -> tuple[Floats, Floats]:
        """Kaplan-Meier as a curve: event times and where the tail starts, and the values there."""
        if not self.table.events.any():  # it stays at one
            return np.array([self.last_time]), np.ones(1)
        known = -1 if self.last_time == self.nodes[-2] else None
        return self.nodes[1:known], self._events[2][1:known]

    def rest(self, area: str) -> Floats:
        """Area under Kaplan-Meier from u_j to t_last, j = 0..K; its last value goes on."""
        values = self.survival
        if area != "step":
            values = (values + np.append(values[1:], values[-1])) / 2
        return _reverse_cumsum(values * np.diff(self.nodes))

    def tail(self, tail: str) -> float:
        """Area under Kaplan-Meier past t_last."""
        area = float(tail_area(np.float64(self.last_time), self.survival[-1], tail, self.stop))
        if area == np.inf:
            raise UndefinedMetricError(
                "each event of y_train was that of the only subjects at risk, before others "
                "entered, so that Kaplan-Meier never falls and nothing is known about event times; "
                "use method='uncensored', 'hinge' or 'ipcw_d', or another reference set"
            )
        return area

    def theta(self, area: str, tail: str) -> float:
        """Mean of Kaplan-Meier (restricted to `tau` on a restricted reference)."""
        return self.cached(
            (Reference, "theta", area, tail),
            lambda: float(self.rest(area)[0]) + self.tail(tail),
        )

    def later_trapezoids(self, tail: str) -> Floats:
        """Area from each observed time on, by trapezoids over all observed times, and the tail."""

        def build() -> Floats:
            survival = self.km.survival
            pieces = np.diff(self.table.times) * (survival[1:] + survival[:-1]) / 2
            return np.append(_reverse_cumsum(pieces), 0.0) + self.tail(tail)

        return self.cached((Reference, "trapezoids", tail), build)

    def later_events(self) -> Floats:
        """Number of events later than u_j, and the sum of their times, j = 0..K: (2, K + 1)."""

        def build() -> Floats:
            count = self.at_events()[1]
            sums = np.zeros((2, count.size + 1))
            np.cumsum(count[::-1], out=sums[0, -2::-1])
            count *= self.event_times
            np.cumsum(count[::-1], out=sums[1, -2::-1])
            return sums

        return self.cached((Reference, "later"), build)


def reference_curves(y_train: Any, n: int, tail: str = "linear") -> SurvivalCurves:
    """Kaplan-Meier of the reference set as the prediction for n subjects, stored once.

    Parameters
    ----------
    y_train : outcomes or Reference
        Reference set.
    n : int
        Number of subjects, all with the same curve.
    tail : str
        How curves are extended beyond the last time; see `SurvivalCurves`.

    Examples
    --------
    >>> reference_curves(([1, 2, 3, 4], [1, 0, 1, 1]), 1000)
    SurvivalCurves(1000 subjects x 3 times, shared grid, step, tail linear)
    """
    check_tail(tail)
    n = whole_number(n, "n", 1, "a whole number of subjects")
    reference = Reference.of(y_train, entry=True)

    def build() -> SurvivalCurves:
        times, survival = reference.steps()
        return SurvivalCurves._trusted(times, survival[None], "step", tail)

    one: SurvivalCurves = reference.cached((Reference, "curve", tail), build)
    return one.repeated(n)


def _reverse_cumsum(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


#: Fewer subjects at risk than this are a handful.
FEW_AT_RISK = 10


def thinned_out(reference: Reference) -> dict[str, float]:
    """Say from when on a handful is observed, who should be event-free then, and who was lost.

    `reference_lost` is S (1 - G) at the last time with `FEW_AT_RISK` subjects at risk, with S and G
    of Kaplan-Meier: the share of the subjects that is expected to be event-free and was censored
    before. It is near zero where everybody is followed until the event, however few are left.

    Examples
    --------
    >>> y = np.arange(1.0, 101.0), np.arange(100) % 2
    >>> {name: round(value, 2) for name, value in thinned_out(Reference.of(y)).items()}
    {'reference_thin_from': 91.0, 'reference_survival_then': 0.31, 'reference_lost': 0.22}
    """

    def build() -> dict[str, float]:
        table = reference.table
        enough = np.flatnonzero(table.at_risk >= FEW_AT_RISK)
        place = int(enough[-1]) if enough.size else 0
        died = np.count_nonzero(table.events[: place + 1])
        alive = float(reference.survival[died]) if died else 1.0
        lost = np.flatnonzero(table.censored[: place + 1])
        uncensored = float(table.survival(True, lost, restart=True)[-1])
        return {
            "reference_thin_from": float(table.times[place]),
            "reference_survival_then": alive,
            "reference_lost": alive * (1.0 - uncensored),
        }

    found: dict[str, float] = reference.cached(thinned_out, build)
    return found


class OutcomeCounts:
    """Events and subjects at each distinct time: small where times are tied, mergeable always.

    Everything that Kaplan-Meier, the censoring distribution and the reference set of an evaluation
    need of the outcomes. With several causes the events of each are counted.

    Examples
    --------
    >>> one, two = OutcomeCounts(), OutcomeCounts()
    >>> one.update(([1, 2], [1, 0]))
    >>> two.update(([3, 4], [1, 1]))
    >>> one.merge(two)
    >>> one.kaplan_meier().survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    """

    def __init__(self) -> None:
        self.times: Floats = np.empty(0)
        self.total: Floats = np.empty(0)
        #: Names of the causes, as the outcomes have them; None: one kind of event.
        self.causes: tuple[str, ...] | None = None
        #: Events of each cause, (times, causes).
        self._events: Floats = np.empty((0, 1))
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._size = 0

    def update(self, y: Any) -> None:
        """Add outcomes: anything that `Outcomes.of` reads, and several causes."""
        found = Outcomes.of(y, causes=isinstance(y, Outcomes) or None).present()
        self._same_causes(found.causes)
        happened = found.event[:, None]
        if found.cause is not None and found.causes is not None:
            happened = found.cause[:, None] == np.arange(1, len(found.causes) + 1)
        events = happened * found.weight[:, None] if found.frequency is not None else happened
        self._add(found.time + 0.0, events, found.weight)  # one zero only

    def _same_causes(self, causes: tuple[str, ...] | None) -> None:
        """Learn the causes from the first outcomes; all others have the same."""
        empty = not self.times.size and not self._waiting
        if empty and causes is not None and self.causes is None:
            self.causes, self._events = causes, np.empty((0, len(causes)))
        if causes != self.causes:
            raise InputError(f"causes must be the same in all parts; got {self.causes}, {causes}")

    @property
    def events(self) -> Floats:
        """Events of whatever cause at each time."""
        return self._events.sum(axis=1)

    def merge(self, other: OutcomeCounts) -> None:
        """Add the counts of another part."""
        other._settle()
        if not other.times.size:
            return
        self._same_causes(other.causes)
        self._add(other.times, other._events, other.total)

    def _add(self, times: Floats, events: NDArray[Any], total: Floats) -> None:
        self._waiting.append(_grouped(times, events, total))
        self._size += self._waiting[-1][0].size
        # Sorted together once as much is waiting as is there: n log n in all, not n^2.
        if self._size > max(self.times.size, 1 << 17):
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        parts = [(self.times, self._events, self.total), *self._waiting]
        times, events, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        self.times, self._events, self.total = _grouped(times, events, total)
        self._waiting, self._size = [], 0

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def __len__(self) -> int:
        self._settle()
        return int(self.times.size)

    def table(self) -> RiskTable:
        """Counts at the distinct times."""
        self._settle()
        if not self.times.size:
            raise InputError("there are no outcomes: at least one subject is needed")
        return RiskTable(self.times, self.events, self.total)

    def kaplan_meier(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        return KaplanMeier.from_table(self.table())

    def censoring(self) -> KaplanMeier:
        """G, the distribution of the censoring time."""
        return KaplanMeier.from_table(self.table(), censoring=True)

    def outcomes(self) -> Outcomes:
        """Return outcomes with frequencies that have these counts, events first at equal times."""
        table = self.table()
        codes = np.arange(self._events.shape[1] + 1, dtype=np.int32)
        codes = np.append(codes[1:], codes[0]).repeat(table.times.size)  # censored last
        time = np.tile(table.times, self._events.shape[1] + 1)
        weight = np.concatenate((self._events.T.ravel(), table.censored))
        kept = weight > 0
        time, codes, weight = time[kept], codes[kept], weight[kept]
        plain = bool((weight == 1).all())
        cause = None if self.causes is None else codes
        return Outcomes._trusted(time, codes > 0, None if plain else weight, cause, self.causes)

    def reference(self) -> Reference:
        """Return the reference set with these counts."""
        return Reference(self.outcomes(), causes=True)


def _grouped(times: Floats, events: NDArray[Any], total: Floats) -> tuple[Floats, Floats, Floats]:
    """Add up what has the same time; the times come back rising.

    >>> _grouped(np.array([2.0, 1.0, 2.0]), np.array([[1], [0], [0]]), np.ones(3))
    (array([1., 2.]), array([[0.], [1.]]), array([1., 2.]))
    """
    distinct, place = np.unique(times, return_inverse=True)
    size = distinct.size
    cells = [np.bincount(place, column, size) for column in events.T]
    found = np.bincount(place, total, size).astype(np.float64, copy=False)
    return distinct, np.stack(cells, 1).astype(np.float64, copy=False), found
