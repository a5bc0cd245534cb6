"""The reference set: what the training outcomes say about times, as tables with one look-up.

With event times u_1 < ... < u_K (u_0 = 0) everything that a subject censored at c needs is a
function of j, the number of event times <= c, as long as c lies inside the reference follow-up.
So each method is a table of K + 1 entries, made once, and a look-up per subject.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tools.arrays import Floats, flag, whole_number
from .._tools.places import Places
from ..data.curves import SurvivalCurves
from ..data.entry import refuse_entry
from ..data.outcomes import Outcomes
from ..data.tails import check_tail, tail_area
from ..errors import UndefinedMetricError
from .aalen_johansen import AalenJohansen
from .kaplan_meier import KaplanMeier, RiskTable
from .pseudo_means import PseudoMeans


class Reference:
    """Training outcomes with their estimates, each computed when first asked for.

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

    #: Where the clock stops (`tau`); every area ends there.
    stop = np.inf

    def __init__(self, y: Any, in_sample: bool = False, causes: bool = False) -> None:
        several = flag(causes, "causes") or None
        self._given = Outcomes.of(y, "y_train", causes=several, entry=True).present()
        self._y = self._given.any_cause()
        #: Whether these are the test subjects themselves.
        self.in_sample = in_sample
        self._cache: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}  # look-ups are made anew where they are needed

    @classmethod
    def of(cls, obj: Any, causes: bool = False, entry: bool = False) -> Reference:
        """Take a Reference as it is, and anything that `Outcomes.of` reads.

        Delayed entry is refused unless `entry` says that the caller knows of it.
        """
        found = obj if isinstance(obj, Reference) else cls(obj, causes=causes)
        if not entry:
            refuse_entry(found.y.entry, "y_train")
        return found

    @property
    def y(self) -> Outcomes:
        """The outcomes, without absent subjects; with several causes the first event of any."""
        return self._y

    @property
    def given(self) -> Outcomes:
        """The outcomes with their causes, without absent subjects, the clock running."""
        return self.whole._given

    @property
    def incidence(self) -> AalenJohansen:
        """Aalen-Johansen of every cause."""
        return self.whole._own("incidence", lambda: AalenJohansen.fit(self.going_on))

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
        """The set with the clock running."""
        return self

    def restricted(self, tau: float | None) -> Reference:
        """Return the same set with the clock stopped at `tau`."""
        return self if tau is None or tau == np.inf else StoppedReference(self, tau)

    def anew(self) -> Reference:
        """Return the same set without the look-ups that were made of it."""
        return Reference(self.given, self.in_sample, causes=True).restricted(self.stop)

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what several methods and models look at.

        All who look share the keys. Begin yours with what is yours alone: the class or the function
        that makes the thing, or the name of the method.
        """
        if key not in self._cache:
            self._cache[key] = build()
        return self._cache[key]

    def _own(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once a table of this set itself, under a key that nobody else has."""
        return self.cached((Reference, key), build)

    @property
    def size(self) -> float:
        """Number of subjects, frequencies counted."""
        return float(self.y.weight.sum()) if self.y.weighted else float(len(self.y))

    @property
    def subjects(self) -> int | float:
        """The same as a whole number, where it is one."""
        return int(self.size) if self.size.is_integer() else self.size

    @property
    def table(self) -> RiskTable:
        """Counts at the distinct observed times."""
        return self._own("table", lambda: RiskTable.of(self.y))

    @property
    def km(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        return self._own("km", lambda: KaplanMeier.from_table(self.table, restart=True))

    @property
    def censoring(self) -> KaplanMeier:
        """G, reverse Kaplan-Meier: events leave the risk set before censorings."""
        build = lambda: KaplanMeier.from_table(self.table, True, restart=True)  # noqa: E731
        return self._own("censoring", build)

    @property
    def last_time(self) -> float:
        """Last observed time."""
        return self._own("last_time", lambda: float(self.y.time.max()))

    @property
    def last_survival(self) -> float:
        """Kaplan-Meier at the last observed time; 1 where nobody had the event."""
        return float(self.survival[-1]) if self.table.jumps(censoring=False).any() else 1.0

    @property
    def event_rows(self) -> Any:
        """Rows of `table` at which somebody had the event."""
        rows = self._own("event_rows", lambda: self.table.event_rows)
        if rows.size == 0:
            raise UndefinedMetricError(
                "y_train has no events, so nothing is known about event times; "
                "use method='uncensored', 'hinge' or 'ipcw_d', or another reference set"
            )
        return rows

    @property
    def event_times(self) -> Floats:
        """u_1 < ... < u_K."""
        return self.nodes[1:-1]

    @property
    def event_places(self) -> Places:
        """The event times as a table in which times are looked up."""
        return self._own("event_places", lambda: Places(self.event_times))

    @property
    def nodes(self) -> Floats:
        """0, u_1, ..., u_K, t_last."""

        def build() -> Floats:
            rows = self.event_rows
            nodes = np.empty(rows.size + 2)
            np.take(self.table.times, rows, out=nodes[1:-1])
            nodes[0], nodes[-1] = 0.0, self.last_time
            return nodes

        return self._own("nodes", build)

    @property
    def gaps(self) -> Floats:
        """Widths between neighbouring nodes."""
        return np.diff(self.nodes)

    def law(self) -> tuple[Places, Floats]:
        """Event times, and Kaplan-Meier before the first and after each of them."""
        return self.event_places, self.survival

    def at_events(self, part: slice = slice(None)) -> tuple[Floats, Floats]:
        """Numbers at risk and of events at u_1, ..., u_K, or at a part of them."""
        return self.table.counts_in(self.event_rows[part])

    @property
    def survival(self) -> Floats:
        """Kaplan-Meier P_0 = 1, P_1, ..., P_K after each event time."""
        return self._steps[:-1]

    @property
    def _steps(self) -> Floats:
        """P_0, ..., P_K, P_K: at the nodes."""

        def build() -> Floats:
            known = self.table.survival(rows=self.event_rows, restart=True)
            return np.append(known, known[-1])

        return self._own("steps", build)

    def steps(self) -> tuple[Floats, Floats]:
        """Kaplan-Meier as a curve: event times and where the tail starts, and the values there."""
        known = -1 if self.last_time == self.nodes[-2] else None
        return self.nodes[1:known], self._steps[1:known]

    def areas(self, values: Floats, area: str) -> Floats:
        """Area between neighbouring nodes of a function with `values` at u_0, ..., u_K: K + 1.

        The last value goes on up to the last node.
        """
        if area == "step":
            return values * self.gaps
        ends = np.append(values[1:], values[-1])
        return (values + ends) / 2 * self.gaps

    def rest(self, area: str) -> Floats:
        """Area under Kaplan-Meier from u_j to t_last, j = 0..K."""
        return _reverse_cumsum(self.areas(self.survival, area))

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
        build = lambda: float(self.rest(area)[0]) + self.tail(tail)  # noqa: E731
        return self._own(("theta", area, tail), build)

    def later_mean(self, tail: str) -> Floats:
        """Mean of T given T > u_j under the steps; NaN or infinite where nothing is left."""

        def build() -> Floats:
            mean = self.rest("step") + self.tail(tail)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean /= self.survival
            mean += self.nodes[:-1]
            return mean

        return self._own(("mean", tail), build)

    def later_trapezoids(self, tail: str) -> Floats:
        """Area from each observed time on, by trapezoids over all observed times, and the tail."""

        def build() -> Floats:
            survival = self.km.survival
            pieces = np.diff(self.table.times) * (survival[1:] + survival[:-1]) / 2
            return np.append(_reverse_cumsum(pieces), 0.0) + self.tail(tail)

        return self._own(("trapezoids", tail), build)

    def later_events(self) -> Floats:
        """Number of events later than u_j, and the sum of their times, j = 0..K: (2, K + 1)."""

        def build() -> Floats:
            count = self.at_events()[1]
            sums = np.zeros((2, count.size + 1))
            np.cumsum(count[::-1], out=sums[0, -2::-1])
            count *= self.event_times
            np.cumsum(count[::-1], out=sums[1, -2::-1])
            return sums

        return self._own("later", build)

    def pseudo_means(self, area: str, tail: str, leaving: bool = False) -> PseudoMeans:
        """Pseudo-observations of somebody who joins the set, censored.

        With `leaving` those of the censored members of the set itself, leave-one-out.
        """
        build = PseudoMeans.leaving if leaving else PseudoMeans.joining
        return self._own(("pseudo", leaving, area, tail), lambda: build(self, area, tail))


class StoppedReference(Reference):
    """A reference set with the clock stopped: whoever gets to `stop` has the event there.

    What does not depend on the clock is that of the whole set, which also keeps the tables of the
    stopped clock; these are made only where a method asks for them.
    """

    def __init__(self, whole: Reference, stop: float) -> None:
        self._whole, self.stop, self.in_sample = whole, stop, whole.in_sample

    @property
    def whole(self) -> Reference:
        """The set with the clock running."""
        return self._whole

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what several methods and models look at."""
        return self.whole.cached((self.stop, key), build)

    @property
    def y(self) -> Outcomes:
        """The outcomes, stopped."""
        return self._own("y", lambda: self.whole.y.restricted(self.stop))

    @property
    def size(self) -> float:
        """Number of subjects, frequencies counted."""
        return self.whole.size

    @property
    def censoring(self) -> KaplanMeier:
        """G; nobody reads it past `stop`."""
        return self.whole.censoring

    @property
    def last_time(self) -> float:
        """Last observed time."""
        return min(self.whole.last_time, self.stop)

    @property
    def _reached(self) -> bool:
        """Whether anybody gets to `stop`."""
        return self.whole.last_time >= self.stop

    @property
    def last_survival(self) -> float:
        """Kaplan-Meier at the last observed time; 1 where nobody had the event."""
        return 0.0 if self._reached else self.whole.last_survival

    def law(self) -> tuple[Places, Floats]:
        """Event times, and Kaplan-Meier before the first and after each of them.

        With the clock running: the times past `stop` are all of them `stop`.
        """
        if self._reached and not self.whole.table.event_rows.size:
            return Places(np.empty(0)), np.ones(1)
        return self.whole.law()


def reference_curves(y_train: Any, n: int, tail: str = "linear") -> SurvivalCurves:
    """Kaplan-Meier of the reference set as the prediction for n subjects, stored once.

    Parameters
    ----------
    y_train : outcomes or Reference
        Reference set.
    n : int
        Number of subjects, all with the same curve.
    tail : str
        How curves go on past the last time; see `SurvivalCurves`.

    Examples
    --------
    >>> reference_curves(([1, 2, 3, 4], [1, 0, 1, 1]), 1000)
    SurvivalCurves(1000 subjects x 3 times, shared grid, step, tail linear)
    """
    check_tail(tail)
    n = whole_number(n, "n", 1, "a whole number of subjects")
    reference = Reference.of(y_train, entry=True)
    one: SurvivalCurves = reference._own(("curve", tail), lambda: _curve(reference, tail))
    return one.repeated(n)


def _curve(reference: Reference, tail: str) -> SurvivalCurves:
    """Kaplan-Meier of the reference set as the curve of one subject."""
    if reference.table.jumps(censoring=False).any():
        times, survival = reference.steps()
    else:  # no event: it stays at one
        times, survival = np.array([reference.last_time]), np.ones(1)
    return SurvivalCurves._trusted(times, survival[None], "step", tail)


def _reverse_cumsum(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]
