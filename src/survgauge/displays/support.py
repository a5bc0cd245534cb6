"""What the data support: numbers at risk, G(t), the horizon; and what the censored count as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import cause_label
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..evaluation.reading import read_outcomes
from ..metrics.checks import check_times
from ..metrics.problem import Problem
from ..reference.kaplan_meier import RiskTable
from ..reference.surrogates import METHODS
from ._base import Display, Given, Source, check_one_kind, check_outcomes, records, reference_of
from ._times import at_risk, so_far
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    amount,
    horizon_marks,
    positions,
)
from .measures import chosen
from .predicted_actual import surrogates_of

_POINTS = 101
#: With fewer subjects than this, every one of them is marked.
_FEW = 40
_REASONS = {
    "thin-risk-set": "few are at risk later",
    "g-below-floor": "later almost all are censored",
    "hidden-subjects": "later some are almost surely censored",
    "past-follow-up": "follow-up ends",
}


@dataclass(frozen=True, eq=False)
class SupportDisplay(Display):
    """Numbers at risk, events, the censoring distribution, and where support ends.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time of either set.
    at_risk : ndarray of shape (k,)
        Test subjects observed at `times` or later.
    events : ndarray of shape (k,)
        Events of the test set up to `times`.
    censoring : ndarray of shape (k,)
        G(t), the probability of not being censored by then (averaged over the subjects where it
        depends on them).
    reference_at_risk : ndarray of shape (k,)
        The same as `at_risk` in the reference set.
    horizon, reason : float, str
        Where support ends, and why: "thin-risk-set", "g-below-floor" or "past-follow-up".

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = SupportDisplay.from_outcomes(y, times=[0, 5, 7], min_at_risk=2)
    >>> d.at_risk, d.censoring.round(3), d.horizon, d.reason
    (array([4., 3., 1.]), array([1.   , 0.667, 0.667]), 6.0, 'thin-risk-set')
    """

    times: Floats
    at_risk: Floats
    events: Floats
    censoring: Floats
    reference_at_risk: Floats
    horizon: float
    reason: str
    unit: str = ""
    in_sample: bool = False
    #: Events of each cause up to `times`, where there are several.
    by_cause: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def from_evaluation(cls, ev: Source, *, times: Any = None) -> SupportDisplay:
        """Build from an evaluation; `times` are where to count."""
        check_outcomes(ev, "support")
        problem = ev.problem
        y, reference = problem.y.present(), reference_of(problem)
        end = max(float(y.time.max()), reference.last_time) or 1.0
        grid = np.linspace(0.0, end, _POINTS) if times is None else check_times(times)
        table = RiskTable.of(y)
        return cls(
            grid,
            at_risk(table, grid),
            so_far(table.times, table.events, grid),
            _censoring(problem, grid),
            at_risk(reference.table, grid),
            problem.horizon,
            problem.horizon_reason,
            ev.unit,
            problem.reference is None,
            _by_cause(y, grid),
        )

    @classmethod
    def from_outcomes(
        cls, y_test: Any, *, y_train: Any = None, unit: str = "", times: Any = None, **settings: Any
    ) -> SupportDisplay:
        """Build without predictions; `settings` are those of `evaluate` (cause, min_g, ...)."""
        return cls.from_evaluation(_outcomes(y_test, y_train, unit, settings), times=times)

    def rows(self) -> list[dict[str, Any]]:
        """One row per time."""
        causes = {f"events of {cause_label(name)}": v for name, v in self.by_cause.items()}
        return records(
            time=self.times, at_risk=self.at_risk, events=self.events, censoring=self.censoring,
            reference_at_risk=self.reference_at_risk, **causes,
        )  # fmt: skip

    def describe(self) -> Chart:
        """Numbers at risk and events above, G(t) below."""
        end = float(self.times[-1])
        lines = [Line(self.times, self.at_risk, "ink", "at risk, test")]
        if not self.in_sample:
            lines.append(Line(self.times, self.reference_at_risk, "soft", "at risk, reference"))
        if self.by_cause:
            lines += [
                Line(self.times, v, k, f"{cause_label(name)} so far, test", dash="dotted")
                for k, (name, v) in enumerate(self.by_cause.items())
            ]
        else:
            so_far = "events so far, test"
            lines.append(Line(self.times, self.events, "event", so_far, dash="dotted"))
        marks = horizon_marks(self.horizon, end) or (Rule("x", self.horizon, dash="solid"),)
        why = _REASONS.get(self.reason, self.reason)
        counts = Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis("Subjects", low=0),
            (*lines, *marks),
            f"supported until {amount(self.horizon, self.unit)}: {why}",
            height=1.85,
        )
        share = Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis("Not yet censored", low=0, high=1.03),
            (Line(self.times, self.censoring, "ink", "G(t)"), *marks),
            height=1.4,
        )
        return Chart(
            "Follow-up",
            "Number of subjects who are still followed, and probability G of not being censored "
            "yet.",
            (counts, share),
            shared="x",
        )


@dataclass(frozen=True, eq=False)
class SurrogatesDisplay(Display):
    """What censored subjects count as, by method, against their censoring time.

    Attributes
    ----------
    time : ndarray of shape (n_c,)
        Censoring times, in ascending order.
    surrogate, weight : dict of method to ndarray of shape (n_c,)
        The time that stands for the subject's (NaN where the method has none) and how much it
        counts.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = SurrogatesDisplay.from_outcomes(y, methods=["margin", "ipcw_t"])
    >>> d.time, d.surrogate
    (array([5.]), {'margin': array([7.]), 'ipcw_t': array([7.])})
    """

    time: Floats
    surrogate: dict[str, Floats]
    weight: dict[str, Floats]
    unit: str = ""
    tau: float | None = None
    #: Last time of the reference set: past it surrogates hang on the tail.
    last_time: float = float("nan")
    left_out: dict[str, str] = field(default_factory=dict)
    #: Whether entry is delayed: subjects censored at one time then count as different times.
    by_entry: bool = False

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, methods: Iterable[str] | str | None = None
    ) -> SurrogatesDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        methods : names, optional
            Of those that give one time (margin, ipcw_t, po, pop_po, ...); by default all.
        """
        names = chosen("methods", methods, surrogate_methods())
        check_outcomes(ev, "surrogates")
        check_one_kind(ev, "a figure of surrogate times")
        problem = ev.problem
        y = problem.y.restricted(problem.tau)
        rows = np.flatnonzero(~y.event & (y.weight > 0))
        if not rows.size:
            raise InputError(
                "surrogates stand for censored subjects, and these outcomes have none"
                + ("" if problem.tau is None else f" up to tau = {problem.tau:g}")
            )
        rows = rows[np.argsort(y.time[rows], kind="stable")]
        surrogate, weight, left_out = {}, {}, {}
        for name in names:
            try:
                _, found = surrogates_of(problem, name)
            except UndefinedMetricError as error:
                left_out[name] = str(error)
                continue
            surrogate[name] = np.where(found.defined[rows], found.time[rows], np.nan)
            weight[name] = found.weight[rows]
        if not surrogate:
            raise UndefinedMetricError(next(iter(left_out.values())))
        last = reference_of(problem).last_time
        late = problem.by_entry
        return cls(y.time[rows], surrogate, weight, ev.unit, problem.tau, last, left_out, late)

    @classmethod
    def from_outcomes(
        cls,
        y_test: Any,
        *,
        y_train: Any = None,
        unit: str = "",
        methods: Iterable[str] | str | None = None,
        **settings: Any,
    ) -> SurrogatesDisplay:
        """Build without predictions; `settings` are those of `evaluate` (tau, tail, ...)."""
        return cls.from_evaluation(_outcomes(y_test, y_train, unit, settings), methods=methods)

    def rows(self) -> list[dict[str, Any]]:
        """One row per method and censored subject."""
        return [
            row
            for method, time in self.surrogate.items()
            for row in records(
                method=method, time=self.time, surrogate=time, weight=self.weight[method]
            )
        ]

    def describe(self) -> Chart:
        """What the censored count as above, and how much below."""
        end = float(self.time.max()) * 1.02 or 1.0
        place, few = positions(surrogate_methods()), self.time.size < _FEW
        ends: tuple[Mark, ...] = ()
        if self.last_time < end:
            ends = (Rule("x", self.last_time, "reference ends", dash="solid"),)

        def drawn(method: str, values: Floats) -> Mark:
            given = self.time, values, place[method], METHODS[method].title
            return Points(*given, size=2.5) if self.by_entry else Line(*given, marked=few)

        def lines(values: dict[str, Floats]) -> list[Mark]:
            return [drawn(method, v) for method, v in values.items()]

        below = Axis.time(self.unit, "Censoring time", 0, end)
        own = Rule("diagonal", label="censoring time")
        return Chart(
            "Surrogate times",
            "The time that a censored subject is counted as and its weight, by method. On the "
            "dashed line it is its censoring time.",
            (
                Panel(below, Axis.time(self.unit, "Counted as", 0), (*lines(self.surrogate), own,
                      *ends), height=2.35),
                Panel(below, Axis("Weight", low=0, high=1.03), (*lines(self.weight), *ends),
                      height=1.0),
            ),
            shared="x",
            left_out=self.left_out,
        )  # fmt: skip


def surrogate_methods() -> list[str]:
    """Return the methods that put one time in the place of a censored subject's."""
    return [method.name for method in METHODS.values() if method.imputes]


def _by_cause(y: Outcomes, times: Floats) -> dict[str, Floats]:
    """Events of each cause up to `times`; nothing where there is one kind."""
    if y.causes is None:
        return {}
    found = {}
    for code, name in enumerate(y.causes, 1):
        rows = np.flatnonzero(y.cause == code)
        rows = rows[np.argsort(y.time[rows], kind="stable")]
        found[name] = so_far(y.time[rows], y.weight[rows], times)
    return found


def _outcomes(y_test: Any, y_train: Any, unit: str, settings: dict[str, Any]) -> Given:
    y, y_train = read_outcomes(y_test, y_train, settings.get("cause"))
    problem = Problem.of(y, y_train, **settings)
    return Given(problem, {}, unit)


def _censoring(problem: Problem, times: Floats) -> Floats:
    """G at the times; where it depends on the subject, its average."""
    weights = problem.weights
    if weights.km is not None:
        return weights.km.at(times)
    share = problem.mass / problem.mass.sum()
    return np.array([float(share @ weights.survivors(float(t))) for t in times])
