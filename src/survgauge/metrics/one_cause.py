"""The door of metrics under competing risks: one cause of the outcomes and of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._tools.arrays import Bools
from ..data.adapters import are_curves
from ..data.causes import Codes, cause_code
from ..data.incidence import CauseCurves, IncidenceCurves
from ..data.outcome_parts import refuse_entry
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..estimators.reference import Reference


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
    obj: Any, argument: str, causes: tuple[str, ...], *, entry: bool = False
) -> Outcomes:
    """Read outcomes that have the causes of others; codes may lack one that did not happen."""
    known = obj
    if not isinstance(obj, Outcomes):
        known = Outcomes.of(obj, argument, causes=causes, entry=True)
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
