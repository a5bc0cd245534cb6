"""Cumulative incidence of every cause, with numbers at risk: what happened to the subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, probability
from ..data.causes import cause_code
from ..data.event_words import cause_label, counted_events, events_by_cause
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..metrics.gray import IncidenceByGroup, incidence_by_group
from ..reference.aalen_johansen import AalenJohansen
from ._bands import incidence_band
from ._base import Display, Source, check_no_entry, check_outcomes, records
from ._times import at_risk, counted_axis, grid_until, so_far
from .description import (
    Chart,
    Line,
    Mark,
    NumbersBelow,
    Panel,
    p_relation,
    probability_axis,
    short_name,
    with_level,
)

#: What messages call it.
_FIGURE = "a figure of cumulative incidence"
#: Letters of a name beside numbers.
_SHORT = 16


@dataclass(frozen=True, eq=False)
class IncidenceDisplay(Display):
    """Aalen-Johansen of every cause with its band, of all subjects or by group.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the end of the axis.
    causes : tuple of str
        Names of the causes; None stands for one kind of event, whose incidence is 1 - Kaplan-Meier.
    groups : tuple of str
        Names of the groups; () where all subjects are together.
    incidence, low, high : ndarray of shape (groups or 1, causes, k)
        Aalen-Johansen with its pointwise band, up to the last time of the group.
    ticks : ndarray
        Times at which subjects are counted.
    at_risk : ndarray of shape (groups or 1, ticks)
        Subjects at risk.
    events : ndarray of shape (groups or 1, causes, ticks)
        Events up to each tick.
    p_value : ndarray of shape (causes,)
        Of Gray's test between the groups; NaN where it has none.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1], causes=["relapse", "death"])
    >>> d = IncidenceDisplay.from_outcomes(y)
    >>> d.incidence[0, :, -1], d.at_risk[0], d.events[0, 0]
    (array([0.75, 0.25]), array([4., 4., 3., 2., 1.]), array([0., 1., 1., 1., 2.]))
    """

    times: Floats
    causes: tuple[str | None, ...]
    groups: tuple[str, ...]
    incidence: Floats
    low: Floats
    high: Floats
    ticks: Floats
    at_risk: Floats
    events: Floats
    p_value: Floats
    unit: str = ""
    confidence: float | None = None

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, by: Any = None, causes: Any = None, end: float | None = None
    ) -> IncidenceDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        by : array-like of shape (n,), optional
            Group of each test subject: a panel per cause, with Gray's test.
        causes : code or name of a cause, or several, optional
            Which to show; by default all.
        end : float, optional
            Where the axis of time ends; by default at the last observed time.
        """
        check_outcomes(ev, _FIGURE)
        check_no_entry(ev.problem.y, "y_test", _FIGURE)
        return cls.from_outcomes(
            ev.problem.y, by=by, causes=causes, end=end, unit=ev.unit, confidence=ev.confidence
        )

    @classmethod
    def from_outcomes(
        cls,
        y: Any,
        *,
        by: Any = None,
        causes: Any = None,
        end: float | None = None,
        unit: str = "",
        confidence: float | None = 0.95,
    ) -> IncidenceDisplay:
        """Build without an evaluation; the arguments are those of `from_evaluation`."""
        outcomes = Outcomes.of(y, "y", causes=True, entry=True)
        check_no_entry(outcomes, "y", _FIGURE)
        if confidence is not None:
            probability(confidence, "confidence")
        grid, ticks = grid_until(outcomes, end)
        codes = _codes(causes, outcomes)
        found: IncidenceByGroup | None = None
        if by is not None:
            found = incidence_by_group(outcomes, by)
        estimates = [AalenJohansen.fit(outcomes)] if found is None else list(found.estimates)
        bands = np.array([[_seen(aj, k, grid, confidence) for k in codes] for aj in estimates])
        tests = [None if found is None else found.tests[k - 1] for k in codes]
        names = outcomes.causes
        return cls(
            grid,
            tuple(None if names is None else names[k - 1] for k in codes),
            () if found is None else tuple(map(str, found.labels)),
            bands[:, :, 0],
            bands[:, :, 1],
            bands[:, :, 2],
            ticks,
            np.array([at_risk(aj, ticks) for aj in estimates]),
            np.array(
                [[so_far(aj.times, aj.events[k - 1], ticks) for k in codes] for aj in estimates]
            ),
            np.array([np.nan if test is None else test.p_value for test in tests]),
            unit,
            confidence,
            about=f"{outcomes.count:,} subjects, {counted_events(_counted(outcomes), ',')}",
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per group, cause and time."""
        table = []
        for g, group in enumerate(self.groups or ("",)):
            for k, cause in enumerate(self.causes):
                columns = {name: getattr(self, name)[g, k] for name in ("incidence", "low", "high")}
                table += records(group=group, cause=cause or "", time=self.times, **columns)
        return table

    @property
    def _estimate(self) -> str:
        return "1 - Kaplan-Meier" if None in self.causes else "Aalen-Johansen"

    def describe(self) -> Chart:
        """All causes in one panel; of groups, a panel per cause."""
        level = with_level(self.confidence, "bands")
        told = (
            f"Estimated probability of an event by each time ({self._estimate}{level})"
            if None in self.causes
            else f"Estimated probability of an event of each cause by each time "
            f"({self._estimate}{level}). An event of one cause rules the others out"
        )
        if not self.groups:
            return Chart("Cumulative incidence", f"{told}.", (self._all_causes(),))
        tested = ". The p-value is that of Gray's test" if np.isfinite(self.p_value).any() else ""
        columns = min(len(self.causes), 2)
        return Chart(
            "Cumulative incidence by group",
            f"{told}{tested}.",
            tuple(self._one_cause(k) for k in range(len(self.causes))),
            columns, "y", 3.8 if columns == 1 else 7.0,
        )  # fmt: skip

    def _all_causes(self) -> Panel:
        marks: list[Mark] = [
            self._line(0, k, k, _called(cause)) for k, cause in enumerate(self.causes)
        ]
        marks.append(self._key())
        rows: list[tuple[int | str, str, tuple[float, ...]]]
        rows = [("ink", "at risk", tuple(self.at_risk[0].tolist()))]
        rows += [
            (k, short_name(_called(cause), _SHORT), tuple(self.events[0, k].tolist()))
            for k, cause in enumerate(self.causes)
        ]
        return self._panel(
            marks, "", NumbersBelow("Subjects at risk, and events so far", tuple(rows))
        )

    def _one_cause(self, k: int) -> Panel:
        marks: list[Mark] = [self._line(g, k, g, group) for g, group in enumerate(self.groups)]
        marks.append(self._key())
        p, cause = float(self.p_value[k]), _called(self.causes[k])
        cause = short_name(cause, 24)
        title = f"{cause}: p {p_relation(p)}" if np.isfinite(p) else cause
        rows = tuple(
            (g, short_name(group, _SHORT), tuple(self.at_risk[g].tolist()))
            for g, group in enumerate(self.groups)
        )
        return self._panel(marks, title, NumbersBelow("Subjects at risk", rows))

    def _key(self) -> Line:
        """What all lines are, for the legend."""
        level = with_level(self.confidence, "band")
        return Line([], [], "ink", f"{self._estimate}{level}", dash="solid")

    def _line(self, group: int, cause: int, role: int, label: str) -> Line:
        at = group, cause
        known = self.times[np.isfinite(self.incidence[at])]
        marked = tuple(t for t in self.ticks[1:].tolist() if t <= known[-1])
        return Line(
            self.times, self.incidence[at], role, label, self.low[at], self.high[at], step=True,
            marked=marked, dash="solid",
        )  # fmt: skip

    def _panel(self, marks: Sequence[Mark], title: str, counts: NumbersBelow) -> Panel:
        return Panel(
            counted_axis(self.unit, float(self.times[-1])),
            probability_axis("Cumulative incidence", self.incidence, self.high),
            tuple(marks),
            title,
            height=2.5,
            counts=counts,
        )


def _called(cause: str | None) -> str:
    return "event" if cause is None else cause_label(cause)


def _counted(y: Outcomes) -> dict[str, Any]:
    return {"events": y.event_count, "events_by_cause": events_by_cause(y)}


def _codes(causes: Any, y: Outcomes) -> list[int]:
    """Codes of the causes to show."""
    known = y.causes or ("1",)
    if causes is None:
        return list(range(1, len(known) + 1))
    several = [causes] if isinstance(causes, str | int) else list(causes)
    if not several:
        raise InputError("causes must name at least one cause; got none")
    return [cause_code(cause, known) for cause in several]


def _seen(aj: AalenJohansen, code: int, times: Floats, confidence: float | None) -> Floats:
    """Incidence with its band; past the last time nothing is known, unless all had an event."""
    seen = (times <= aj.times[-1]) | (aj.survival[-1] <= 1e-12)
    return np.where(seen, np.stack(incidence_band(aj, code, times, confidence)), np.nan)
