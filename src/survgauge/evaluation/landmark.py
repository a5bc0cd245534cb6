"""The question from a landmark on: who is at risk then, and what was predicted for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._tools.arrays import Ints, one_number, shown
from ..data.causes import cause_code
from ..data.conditional_curves import from_landmark, incidence_from_landmark
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..data.since import since
from ..errors import InputError
from ..reference.reference import Reference
from .reading import by_text, named_models, read_outcomes
from .result import Evaluation
from .warnings import EvaluationWarning

#: Arguments of `evaluate` with one entry per test subject, and per training subject.
_OF_TEST, _OF_TRAIN = ("sample_weight", "cluster", "by", "X_test"), ("X_train",)


def checked_landmark(landmark: Any) -> float:
    """Return a time that is not negative."""
    value = one_number(landmark)
    if not (np.isfinite(value) and value >= 0):
        raise InputError(
            "landmark must be one time, finite and not negative (sg.landmarks takes several); got "
            f"{shown(landmark)}"
        )
    return value


def at_landmark(
    landmark: Any,
    predictions: Any,
    y_test: Any,
    y_train: Any,
    more: dict[str, Any],
    cause: int | str | None = None,
) -> tuple[dict[str, Prediction], Outcomes, Outcomes | None, dict[str, Any]]:
    """Return what `evaluate` is asked for those at risk at a landmark, time counted from it.

    Those at risk at the landmark have entered by then and are observed for longer. Predictions are
    on the clock of `y_test`, for all its subjects or for those at risk only; other arguments
    (`more`) with an entry per subject are cut to who is at risk. Observed times and grids of curves
    meet `time` and `tau`, which count from the landmark, whatever the rounding of differences.

    Examples
    --------
    >>> y = ([2, 5, 7, 9], [1, 1, 0, 1])
    >>> found = at_landmark(4.0, {"m": [3, 6, 6, 8]}, y, None, {})
    >>> found[0]["m"].times, found[1].time
    (array([2., 2., 4.]), array([1., 3., 5.]))
    """
    s = checked_landmark(landmark)
    known = y_train.given if isinstance(y_train, Reference) else y_train
    y, train = read_outcomes(y_test, known, cause)
    rows, asked = _observed(y, s, "y_test"), _asked(more)
    parsed = {
        name: _prediction(obj, name, y, rows, s, cause, asked)
        for name, obj in by_text(named_models(predictions)).items()
    }
    if train is not None:
        kept = _observed(train, s, "y_train")
        whole = len(train)
        more |= {name: _some(more.get(name), kept, whole, name) for name in _OF_TRAIN}
        train = train.from_landmark(s, asked)
    if more.get("conditional") is not None:
        raise InputError("landmark goes without conditional: give X_train and X_test instead")
    more |= {name: _some(more.get(name), rows, len(y), name) for name in _OF_TEST}
    return parsed, y.from_landmark(s, asked), train, more


def _asked(more: Mapping[str, Any]) -> list[float]:
    """Return the times since the landmark that are asked for; `evaluate` refuses what is none."""
    try:
        given = [np.ravel(np.asarray(more.get(name), np.float64)) for name in ("time", "tau")]
    except (TypeError, ValueError):
        return []
    found = np.concatenate(given)
    return [float(u) for u in found[np.isfinite(found)]]


def _observed(y: Outcomes, s: float, argument: str) -> Ints:
    rows = np.flatnonzero(y.observed_at(s))
    if not rows.size:
        raise InputError(
            f"{argument} has nobody at risk at landmark {s:g}: nobody has entered by then and is "
            f"observed for longer; the last time is {float(y.time.max()):g}"
        )
    return rows


def _prediction(
    obj: Any,
    name: str,
    y: Outcomes,
    rows: Ints,
    s: float,
    cause: int | str | None,
    asked: list[float],
) -> Prediction:
    """Read a prediction for everybody, or for those at risk, from the landmark on."""
    n, code = len(y), None
    if cause is not None and y.causes is not None:
        code = cause_code(cause, y.causes)

    def read(number: int) -> Prediction:
        if code is None or y.causes is None:
            return Prediction.of(obj, number, name)
        return Prediction.of_cause(obj, number, name, y.causes, code)

    size = getattr(obj, "shape", None) or (len(obj) if hasattr(obj, "__len__") else n,)
    try:
        found = read(n)[rows]
    except InputError:
        if rows.size == n or size[0] == n:
            raise
        found = read(rows.size)  # of those at risk: updated at the landmark
    if found.incidence is not None and code is not None:
        incidence = incidence_from_landmark(found.incidence, s, asked)
        return Prediction(incidence.only(code), None, None, incidence)
    if found.curves is not None:
        return Prediction(from_landmark(found.curves, s, asked), None, None)
    if not found.has("times"):
        return found
    return Prediction(None, since(found.times, s, asked), None)


def _some(values: Any, rows: Ints, number: int, argument: str) -> Any:
    """Return the entries of some subjects: of an array, a frame, or a mapping of arrays.

    What has no entries at all is left to `evaluate`, which refuses it.
    """
    if isinstance(values, Mapping):
        return {
            name: _some(column, rows, number, f"{argument}[{name!r}]")
            for name, column in values.items()
        }
    try:
        length = len(values)
    except TypeError:
        return values
    if length != number:
        raise InputError(
            f"{argument} must have one entry per subject, whether at risk at the landmark or not: "
            f"{number}; got {length}"
        )
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return np.asarray(values)[rows] if not hasattr(values, "__array__") else values[rows]


def from_landmark_on(
    evaluate: Callable[..., Evaluation], given: dict[str, Any], made: dict[str, Any]
) -> Evaluation:
    """Ask `evaluate` the same of those at risk at the landmark; `given` are its arguments."""
    cause = given.pop("cause")
    asked = (given.pop(name) for name in ("landmark", "predictions", "y_test", "y_train"))
    s, predictions, y_test, y_train = asked
    parsed, y, train, more = at_landmark(s, predictions, y_test, y_train, given, cause)
    ev = evaluate(parsed, y, y_train=train, cause=cause, **more)
    before = len(read_outcomes(y_test, y_train, cause)[0])
    message = (
        f"time is counted from the landmark {float(s):g}; {len(y)} of {before} subjects are at "
        "risk then, and the others are left out"
    )
    cases = [EvaluationWarning("from-landmark", message), *ev.cases]
    support = {**ev.support, "landmark": float(s), "subjects_in_all": before}
    return replace(ev, support=support, cases=cases, provenance=made)
