"""The door of metrics under competing risks: one cause of the outcomes and of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools
from ..data.adapters import are_curves
from ..data.causes import cause_code
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..reference.aalen_johansen import AalenJohansen
from ..reference.reference import Reference


@dataclass(frozen=True)
class OneCause:
    """Outcomes and predictions as a metric of one cause reads them.

    Attributes
    ----------
    y : Outcomes
        With events of any cause, which end the follow-up alike: G is that of these.
    competes : ndarray of shape (n,) or None
        Who had an event of another cause. None: there is one kind of event.
    curves : SurvivalCurves or what was given
        1 - incidence of the cause.
    y_train : outcomes, Reference or None
        With events of any cause.
    name : str or None
        Name of the cause.
    """

    y: Outcomes
    competes: Bools | None
    curves: Any
    y_train: Any
    name: str | None


def one_cause(
    y_true: Any, curves: Any, y_train: Any, cause: int | str | None, *, entry: bool = False
) -> OneCause:
    """Read outcomes and predictions for one cause; without one, there must be one kind of event.

    Delayed entry is refused with a cause, and without one unless `entry` allows it.
    """
    if cause is None:
        if isinstance(curves, IncidenceCurves):
            raise InputError(
                "curves are IncidenceCurves of several causes: say which one with cause=, one of "
                f"{', '.join(map(repr, curves.causes))}"
            )
        y = Outcomes.of(y_true, "y_true", entry=entry)
        return OneCause(y, None, curves, y_train, None)
    y = Outcomes.of(y_true, "y_true", causes=True)
    if y.cause is None or y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_true has one")
    code = cause_code(cause, y.causes)
    name = y.causes[code - 1]
    if isinstance(curves, IncidenceCurves):
        curves = _matching(curves, y.causes).cause(code)
    elif are_curves(curves):  # survival of any event says nothing of one cause
        raise InputError(
            "with cause=, curves must be IncidenceCurves; sg.as_incidence reads those of other "
            f"libraries; got {type(curves).__name__}"
        )
    if y_train is not None and not isinstance(y_train, Reference):
        train = Outcomes.of(y_train, "y_train", causes=True)
        if train.causes != y.causes:
            raise InputError(
                f"y_train must have the causes of y_true, {y.causes}; got {train.causes}"
            )
        y_train = train.any_cause()
    return OneCause(y.any_cause(), y.event & (y.cause != code), curves, y_train, name)


def incidence_of(y: Outcomes, competes: Bools) -> AalenJohansen:
    """Aalen-Johansen of the cause ("own") and of those that compete with it ("other")."""
    codes = np.where(competes, 2, y.event)
    return AalenJohansen.fit(Outcomes(y.time, codes, y.weight, ("own", "other")))


def _matching(curves: IncidenceCurves, causes: tuple[str, ...]) -> IncidenceCurves:
    """Refuse predictions of other causes; those without names have the same number."""
    unnamed = tuple(map(str, range(1, len(causes) + 1)))
    if curves.causes == causes or (
        len(curves.causes) == len(causes) and unnamed in (curves.causes, causes)
    ):
        return curves
    raise InputError(
        f"curves must have the causes of y_true, {', '.join(map(repr, causes))}, in that order; "
        f"got {', '.join(map(repr, curves.causes))}"
    )
