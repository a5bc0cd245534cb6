"""Doors that the metrics on curves share: curves, and a grid of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, numbers, to_numpy
from .._tools.frames import refuse_other_order
from ..data.adapters import are_curves, as_curves
from ..data.causes import Codes, cause_code
from ..data.conditional_curves import ConditionalCurves, given_entry
from ..data.curves import SurvivalCurves
from ..data.incidence import CauseCurves, IncidenceCurves
from ..data.outcome_parts import refuse_entry
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..errors import InputError
from ..estimators.reference import Reference


def check_curves(
    curves: Any, y: Outcomes | IntervalOutcomes, *, from_entry: bool = True
) -> SurvivalCurves:
    """Read one curve per subject from whatever `as_curves` takes.

    Under delayed entry that given being event-free then, unless `from_entry` is False.
    """
    checked = as_curves(curves)
    if len(checked) != len(y):
        raise InputError(
            f"curves must have one row per subject: y_true has {len(y)}, curves have {len(checked)}"
        )
    known = absent_replaced(checked, y)
    return given_entry_of(known, y) if from_entry else known


def given_entry_of(curves: SurvivalCurves, y: Outcomes | IntervalOutcomes) -> SurvivalCurves:
    """Return curves given that each subject was event-free at its entry, where that is late."""
    if y.entry is None or isinstance(curves, ConditionalCurves):
        return curves
    entry = np.where(y.weight > 0, y.entry, 0.0) if isinstance(curves, CauseCurves) else y.entry
    return given_entry(curves, entry)


def absent_replaced(curves: SurvivalCurves, y: Outcomes | IntervalOutcomes) -> SurvivalCurves:
    """Give subjects of weight zero, who do not count, a curve that is known everywhere.

    Their own might have another grid, or end before something is read off it; theirs becomes the
    first present subject's, which falls to zero in the end.
    """
    if y.frequency is None or y.weight.all() or isinstance(curves, ConditionalCurves):
        return curves
    present = y.weight > 0
    like = int(np.argmax(present))
    source = np.where(present, np.arange(len(y)), like)
    if isinstance(curves, CauseCurves) and y.entry is not None:
        return curves[source]  # together with the other causes, of which it ends nowhere
    survival = curves.survival[source]
    survival[~present, -1] = 0.0
    times = curves.times if curves.shared_grid else curves.times[source]
    return SurvivalCurves._trusted(times, survival, curves.interpolation, curves.tail)


def known_until(curves: SurvivalCurves) -> float:
    """Where the first curve stops to say anything (`tail="nan"`)."""
    open_end = curves.last_survival > 0
    if curves.tail != "nan" or not open_end.any():
        return float("inf")
    return float(curves.last_time[open_end].min())


def read_curves(predicted: Any) -> Any:
    """Curves, if this is what `as_curves` takes; else what was given: one number per subject."""
    return as_curves(predicted) if are_curves(predicted) else predicted


def check_times(times: Any) -> Floats:
    """Sort a grid of evaluation times; refuse NaN, negative and repeated ones."""
    grid = numbers(np.atleast_1d(to_numpy(times, "times")), "times").astype(np.float64)
    if grid.size == 0:
        raise InputError("times must have at least one time; got an empty array")
    if not np.isfinite(grid).all() or grid.min() < 0:
        raise InputError("times must be finite and not negative")
    grid = np.sort(grid)
    twice = np.flatnonzero(np.diff(grid) == 0)
    if twice.size:
        raise InputError(f"times must be distinct; {grid[twice[0]]:g} appears twice")
    return grid


@dataclass(frozen=True)
class OneCause:
    """Outcomes and predictions as a metric of one cause reads them."""

    #: With events of any cause, which end the follow-up alike: G is that of these.
    y: Outcomes
    #: Who had an event of another cause. None: there is one kind of event; of shape (n,).
    competes: Bools | None
    #: 1 - incidence of the cause.
    curves: Any
    #: With events of any cause.
    y_train: Any
    #: Name and code of the cause.
    name: str | None
    code: int | None = None


def one_cause(
    y_true: Any, curves: Any, y_train: Any, cause: int | str | None, *, entry: bool = False
) -> OneCause:
    """Read outcomes and predictions for one cause; without one, there must be one kind of event.

    Delayed entry is refused unless `entry` allows it.
    """
    refuse_other_order(y_true, "y_true", {"predictions": curves}, curves=True)
    if cause is None:
        if isinstance(curves, IncidenceCurves):
            raise InputError(
                "curves are IncidenceCurves of several causes: say which one with cause=, one of "
                f"{', '.join(map(repr, curves.causes))}"
            )
        y = Outcomes.of(y_true, "y_true", entry=entry)
        return OneCause(y, None, curves, y_train, None)
    y = Outcomes.of(y_true, "y_true", causes=True, entry=entry)
    if y.cause is None or y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_true has one")
    code = cause_code(cause, y.causes)
    name = y.causes[code - 1]
    if isinstance(curves, IncidenceCurves):
        curves = curves.matching(y.causes).only(code)
    elif are_curves(curves) and not isinstance(curves, CauseCurves):
        # Survival of any event says nothing of one cause.
        raise InputError(
            "with cause=, curves must be IncidenceCurves; sg.as_incidence reads those of other "
            f"libraries; got {type(curves).__name__}"
        )
    if y_train is not None and not isinstance(y_train, Reference):
        y_train = with_causes(y_train, "y_train", y.causes, entry=entry).any_cause()
    return OneCause(y.any_cause(), y.event & (y.cause != code), curves, y_train, name, code)


def with_causes(
    obj: Any, argument: str, causes: tuple[str, ...], *, entry: bool = False, unit: str = ""
) -> Outcomes:
    """Read outcomes that have the causes of others; codes may lack one that did not happen."""
    known = obj
    if not isinstance(obj, Outcomes):
        known = Outcomes.of(obj, argument, causes=causes, entry=True, unit=unit)
    if known.causes != causes:
        got = "one kind of event" if known.causes is None else ", ".join(map(repr, known.causes))
        raise InputError(
            f"{argument} must have the causes {', '.join(map(repr, causes))}, as the other "
            f"outcomes; got {got}. If a cause did not happen there, name all of them: "
            "sg.Outcomes(time, event, causes=[...]), or --causes A,B"
        )
    if not entry:
        refuse_entry(known.entry, argument)
    found: Outcomes = known
    return found


@dataclass(frozen=True)
class EveryCause:
    """Outcomes and predictions as a metric of all causes reads them."""

    #: With events of any cause, which end the follow-up alike: G is that of these.
    y: Outcomes
    #: Cause of each event, counted from 1; 0: censored; of shape (n,).
    codes: Codes
    #: Of the same causes.
    curves: IncidenceCurves
    #: With events of any cause.
    y_train: Any


def every_cause(
    y_true: Any, incidence: Any, y_train: Any = None, *, entry: bool = False
) -> EveryCause:
    """Read outcomes and predictions of several causes, all of which count.

    Delayed entry is refused unless `entry` allows it.
    """
    y = Outcomes.of(y_true, "y_true", causes=True, entry=entry)
    if y.cause is None or y.causes is None:
        raise InputError(
            "y_true must have several causes, as with Outcomes(time, event, causes=[...]); it has "
            "one kind of event"
        )
    if not isinstance(incidence, IncidenceCurves):
        raise InputError(
            "incidence must be IncidenceCurves of all causes; sg.as_incidence reads those of other "
            f"libraries; got {type(incidence).__name__}"
        )
    curves = incidence.matching(y.causes, "incidence")
    if len(curves) != len(y):
        raise InputError(
            f"incidence must have one row per subject: y_true has {len(y)}, incidence has "
            f"{len(curves)}"
        )
    if y_train is not None and not isinstance(y_train, Reference):
        y_train = with_causes(y_train, "y_train", y.causes, entry=entry).any_cause()
    return EveryCause(y.any_cause(), y.cause, curves, y_train)
