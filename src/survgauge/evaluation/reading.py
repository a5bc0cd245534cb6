"""What comes in: outcomes, predictions, what features allow, and all of it from a landmark on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

import numpy as np

from .._tools.arrays import Ints, date_text, is_missing, one_number, shown, to_numpy
from .._tools.frames import in_memory, rows_of, table_columns
from ..data.causes import cause_code
from ..data.conditional_curves import from_landmark, incidence_from_landmark
from ..data.incidence import CauseCurves, IncidenceCurves
from ..data.outcome_parts import since
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, numbered
from ..estimators.blending import conditional as blended
from ..estimators.reference import Reference
from ..metrics.checks import with_causes
from ..metrics.conventions import SETTINGS, Convention
from .warning_kinds import EvaluationWarning, warned

#: What `evaluate` takes for interval-censored outcomes, besides both outcomes and predictions.
TAKEN = (
    "metrics", "confidence", "random_state", "by", "unit", "sample_weight", "cluster",
    "conditional", "time", "tau", "tail", "min_at_risk",
)  # fmt: skip
_DATA = ("predictions", "y_test", "y_train")
#: Arguments of `evaluate` with one entry per test subject.
OF_TEST = ("sample_weight", "cluster", "by", "X_test")


def read_outcomes(
    y_test: Any, y_train: Any, cause: int | str | None, unit: str = ""
) -> tuple[Any, Any]:
    """Read both outcomes, where they are: a copy would be held through every metric.

    Durations are counted in `unit`. With a cause both have the same causes. Codes need not hold all
    of them, if the other outcomes do or have their names. Both are of one kind, right-censored or
    intervals.
    """
    if isinstance(y_test, IntervalOutcomes):
        y_train = y_train.given if isinstance(y_train, Reference) else y_train
        return y_test, None if y_train is None else training_intervals(y_train)
    if isinstance(y_train, IntervalOutcomes):
        raise wrong_training()
    y_test, y_train = _some_entries(y_test), _some_entries(y_train)
    read = y_train is not None and not isinstance(y_train, Reference)
    if cause is None:
        y = Outcomes.of(y_test, "y_test", copy=False, entry=True, unit=unit)
        if read:
            y_train = Outcomes.of(y_train, "y_train", copy=False, entry=True, unit=unit)
        return y, y_train
    if read and not isinstance(y_test, Outcomes):
        train = Outcomes.of(y_train, "y_train", copy=False, causes=True, entry=True, unit=unit)
        if train.causes is not None:
            return with_causes(y_test, "y_test", train.causes, entry=True, unit=unit), train
    y = Outcomes.of(y_test, "y_test", copy=False, causes=True, entry=True, unit=unit)
    if y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_test has one kind of event")
    if read:
        y_train = with_causes(y_train, "y_train", y.causes, entry=True, unit=unit)
    return y, y_train


def _some_entries(obj: Any) -> Any:
    """Return outcomes whose entries are all 0 without entries, which is the same."""
    if isinstance(obj, Outcomes) and obj.entry is not None and not obj.entry.any():
        return obj[np.arange(len(obj))]
    return obj


def named_models(predictions: Any) -> Mapping[str, Any]:
    """Return predictions by the names of the models, at least one of them."""
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    if not named:
        raise InputError("predictions must hold at least one model; got an empty mapping")
    return named


def by_text(named: Mapping[Any, Any]) -> dict[str, Any]:
    """Return predictions by names as text, which are distinct.

    >>> by_text({1: [2.0], "b": [3.0]})
    {'1': [2.0], 'b': [3.0]}
    """
    found = {str(name): obj for name, obj in named.items()}
    if len(found) < len(named):
        raise InputError(f"predictions must have distinct names; got {[str(k) for k in named]}")
    return found


def read_predictions(
    named: Mapping[str, Any], y: Outcomes, cause: int | str | None, unit: str = ""
) -> dict[str, Prediction]:
    """Read what the models predict: of one kind of event, or of a cause."""
    n = len(y)
    return {name: _prediction(obj, name, n, y, cause, unit) for name, obj in by_text(named).items()}


def _prediction(
    obj: Any, name: str, n: int, y: Outcomes, cause: int | str | None, unit: str = ""
) -> Prediction:
    """Read what a model predicts of `n` subjects whose causes are those of `y`."""
    if cause is None or y.causes is None:  # `read_outcomes` sees to the causes
        return Prediction.of(obj, n, name, unit)
    return Prediction.of_cause(obj, n, name, y.causes, cause_code(cause, y.causes))


def joined(parts: Iterable[Outcomes]) -> Outcomes:
    """Return outcomes one after the other."""
    listed = list(parts)
    if not listed:
        raise InputError("the test set has no rows; at least one subject is needed")
    return type(listed[0]).joined(listed)


def joined_predictions(parts: list[Prediction]) -> Prediction:
    """Return predictions of several sets of subjects one after the other; curves share a grid."""
    if parts[0].curves is not None:
        curves = type(parts[0].curves).joined([p.curves for p in parts if p.curves is not None])
        incidence = [p.incidence for p in parts if p.incidence is not None]
        causes = IncidenceCurves.joined(incidence) if incidence else None
        if isinstance(curves, CauseCurves):  # which say who is event-free at an entry
            curves.incidence = causes
        return Prediction(curves, None, None, causes, parts[0].rank_time)
    return parts[0].joined(parts[1:])


# -- intervals -----------------------------------------------------------------------------------


def refuse_settings(
    function: Callable[..., Any], given: Mapping[str, Any], also: tuple[str, ...] = ()
) -> None:
    """Refuse settings that only right-censored outcomes have; `also` are taken too."""
    preset = Convention.of(given["convention"])
    others = [name for name in preset.changed if name in SETTINGS and name not in TAKEN]
    others += [] if preset.is_own else ["convention"]
    for name, parameter in inspect.signature(function).parameters.items():
        if name in (*TAKEN, *_DATA, *also, "convention") or given[name] is parameter.default:
            continue
        if type(given[name]) is not type(parameter.default) or given[name] != parameter.default:
            others.append(name)
    if others:
        raise InputError(
            f"{', '.join(others)}: metrics of interval-censored outcomes have no such setting; "
            f"leave it out. They take {', '.join(TAKEN)}"
        )


def training_intervals(y_train: Any) -> IntervalOutcomes:
    """Read training outcomes as intervals; refuse what must be a (time, event) pair."""
    if _are_flagged(y_train):
        raise InputError(
            "y_train looks like a (time, event) pair, but where test outcomes are "
            "interval-censored a pair is (lower, upper): pass sg.Outcomes(time, event), whose "
            "events are intervals of no length, or sg.IntervalOutcomes(lower, upper)"
        )
    return IntervalOutcomes.of(y_train, "y_train", copy=False)


def _are_flagged(pair: Any) -> bool:
    """Whether a pair holds times and flags: no bounds, as some would be above the other."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return False
    lower, upper = (np.asarray(part) for part in pair)
    if (
        lower.shape != upper.shape
        or upper.dtype.kind not in "biuf"
        or lower.dtype.kind not in "iuf"
    ):
        return False
    return bool(np.isin(upper, (0, 1)).all() and (lower > upper).any())


def wrong_training(argument: str = "y_train") -> InputError:
    """Return what to do about intervals that are the reference set of right-censored outcomes."""
    return InputError(
        f"{argument} has interval-censored outcomes, and the test outcomes are right-censored: "
        "both must be of one kind. Pass the test outcomes as intervals too, "
        "sg.IntervalOutcomes.of(y_test), in which an event is an interval of no length; or give "
        "right-censored training outcomes"
    )


# -- groups -------------------------------------------------------------------------------------


#: More groups than this must have some subjects each.
MANY_GROUPS, SOME_SUBJECTS = 50, 5


def group_name(column: str, label: Any) -> str:
    """Return the name of a group where groups are by named columns.

    >>> group_name("sex", "f")
    'sex=f'
    """
    return f"{column}={label}"


def columns_of(by: Any) -> list[str]:
    """Return the names of the columns that groups are by; none where there is one without name.

    >>> columns_of({"sex": ["f"]}), columns_of(["f"])
    (['sex'], [])
    """
    named = _named(by)
    if named is None:
        name = getattr(by, "name", None)  # of a series
        return [str(name)] if name else []
    return list(named)


def _named(by: Any) -> dict[str, Any] | None:
    """Return labels by column; None where `by` is one column without a name."""
    columns = None if by is None or isinstance(by, np.ndarray) else table_columns(by, "by")
    if columns is None:
        return None
    check_columns([str(name) for name in columns])
    return {str(name): column for name, column in columns.items()}


def check_columns(names: list[str]) -> None:
    """Refuse columns whose groups could not be told apart by their names.

    >>> check_columns(["sex", "stage"])
    """
    if not names or len(set(names)) < len(names):
        raise InputError(f"by must have at least one column, each with its own name; got {names}")
    for name in names:
        other = next((o for o in names if o.startswith(group_name(name, ""))), None)
        if other is not None:
            raise InputError(
                f"by: groups of the columns {name!r} and {other!r} could have the same names "
                f"({group_name(other, '...')}); rename one of the columns"
            )


def groups_of(by: Any, n: int) -> list[tuple[Any, Ints]]:
    """Return the rows of each group by its name.

    >>> [(name, rows.tolist()) for name, rows in groups_of({"sex": ["f", "m", "f"]}, 3)]
    [('sex=f', [0, 2]), ('sex=m', [1])]
    """
    if by is None:
        return []
    found: list[tuple[Any, Ints]] = []
    named = _named(by)
    for column, given in [(None, by)] if named is None else named.items():
        argument = "by" if column is None else f"by[{column!r}]"
        labels, distinct = labels_of(given, n, argument)
        check_number(argument, distinct.tolist(), n)
        for name, label in zip(distinct.tolist(), distinct, strict=True):
            whole = name if column is None else group_name(column, name)
            found.append((whole, np.flatnonzero(labels == label)))
    return found


def check_number(argument: str, labels: list[Any], subjects: int) -> None:
    """Refuse a measurement, or names of subjects, in place of groups.

    >>> check_number("by", ["f", "m"], 100)
    """
    number = len(labels)
    measured = any(map(_has_fraction, labels))
    if number <= MANY_GROUPS or (not measured and subjects >= SOME_SUBJECTS * number):
        return
    first = ", ".join(str(label) for label in labels[:3])
    what = "a measurement" if measured else "a measurement or a name of each subject"
    raise InputError(
        f"{argument} must have a group label for each subject; it has {number} different ones "
        f"for {subjects} subjects ({first}, ...), which looks like {what}; cut it into bands, such "
        "as 'under 60' and '60 and older', or choose another column"
    )


def _has_fraction(label: Any) -> bool:
    """Whether a label is a number that is not whole, also as text.

    >>> _has_fraction("62.5"), _has_fraction("62"), _has_fraction("III")
    (True, False, False)
    """
    try:
        return bool(float(label) % 1)
    except (TypeError, ValueError):
        return False


def sizes_of(
    y: Outcomes, groups: list[tuple[Any, Ints]], cause: int | None = None
) -> dict[str, dict[str, int]]:
    """Count subjects and events of each group, and those of a cause; refuse an empty group."""
    found = {}
    for group, rows in groups:
        if not y.weight[rows].any():
            raise InputError(
                f"by: all subjects of group {group!r} have weight 0, so no subject is left; leave "
                "them out"
            )
        part = y[rows]
        found[str(group)] = {"subjects": part.count, "events": part.event_count}
        if cause is not None:
            mine = part.cause == cause
            found[str(group)]["events_of_cause"] = round(float(part.weight[mine].sum()))
    return found


def labels_of(given: Any, n: int, argument: str) -> tuple[Any, Any]:
    """Read one label per subject, and which there are."""
    labels = to_numpy(given, argument)
    if labels.dtype.kind in "US" and isinstance(given, list | tuple):
        # NumPy turns a list of text and numbers into text: "1" and 1 would be one label.
        other = next((item for item in given if not isinstance(item, str | bytes)), None)
        if other is not None:
            raise InputError(
                f"{argument} must have labels of one kind; got text and "
                f"{type(other).__name__} {other!r}"
            )
    if labels.shape != (n,):
        raise InputError(
            f"{argument} must have one label per subject: {n}; got shape {labels.shape}"
        )
    if labels.dtype.kind == "m":  # as objects, because whole numbers would have lost their unit
        labels = labels.astype("m8[us]").astype(object)
    missing = np.flatnonzero([is_missing(label) for label in labels.tolist()])
    if missing.size:
        raise InputError(
            f"{argument} must have a label for every subject; it is missing in {numbered(missing)}"
        )
    several = next((x for x in labels.tolist() if isinstance(x, list | tuple | np.ndarray)), None)
    if several is not None:
        raise InputError(f"{argument} must have one label per subject; got {shown(several)}")
    if labels.dtype.kind == "M" or isinstance(labels.flat[0], date):
        # As text, which is the same from every kind of column, here and in streams.
        labels = np.array([date_text(label) or label for label in labels], dtype=object)
    try:
        return labels, np.unique(labels)
    except TypeError as error:
        raise InputError(f"{argument} must have labels of one kind; {error}") from error


def is_small(size: dict[str, int]) -> bool:
    """Whether a group has too few subjects or events (of the cause) for its standard errors."""
    return size["subjects"] < 30 or size.get("events_of_cause", size["events"]) < 10


# -- features ------------------------------------------------------------------------------------


def refuse_late_entry(
    y: Any, y_train: Any, X_train: Any = None, X_test: Any = None, conditional: Any = None
) -> None:
    """Refuse features, and distributions given them, where subjects enter late."""
    train = y_train.whole.y if isinstance(y_train, Reference) else y_train
    entered, trained = (getattr(known, "entry", None) is not None for known in (y, train))
    given = {"X_train": X_train, "X_test": X_test if entered else None, "conditional": conditional}
    names = [name for name, value in given.items() if value is not None]
    if names and (entered or trained) and isinstance(y, Outcomes):
        raise InputError(
            f"{' and '.join(names)} cannot be given together with delayed entry: distributions "
            "given features, and the test of whether censoring depends on them, are about subjects "
            "observed from the beginning; leave out features and conditional, or evaluate from a "
            "landmark on (landmark=)"
        )


def distributions_given(
    X_train: Any, y_train: Any, X_test: Any, y_test: Outcomes, conditional: Any, seed: int
) -> Any:
    """Return the distributions that were given, or else those that features of both sets allow."""
    if X_train is None:
        given = conditional if isinstance(y_test, IntervalOutcomes) else None
        if given is not None and getattr(given, "distribution", None) is None:
            raise InputError(
                "conditional must be a Conditional with a distribution of the event time for "
                "interval-censored outcomes, such as sg.Conditional(distribution=curves); got "
                f"{type(given).__name__}"
            )
        return conditional
    if conditional is not None:
        raise InputError(
            "give X_train or conditional, not both: distributions are fitted to the features, or "
            "they are given"
        )
    for name, given in (("X_test", X_test), ("y_train", y_train)):
        if given is None:
            raise InputError(
                f"{name} must be given together with X_train, to fit distributions to features"
            )
    train = y_train.y if isinstance(y_train, Reference) else y_train
    return blended(X_train, train, X_test, y_test=y_test, random_state=seed)


# -- landmarks -----------------------------------------------------------------------------------


def checked_landmark(landmark: Any) -> float:
    """Return a time that is not negative."""
    value = one_number(landmark)
    if not (np.isfinite(value) and value >= 0):
        raise InputError(
            "landmark must be one time, finite and not negative (sg.landmarks takes several); got "
            f"{shown(landmark)}"
        )
    return value


def at_landmark(given: dict[str, Any]) -> tuple[dict[str, Any], EvaluationWarning]:
    """Return what `evaluate` is asked for those at risk at a landmark, time counted from it.

    Those at risk at the landmark have entered by then and are observed for longer. `given` are the
    arguments of `evaluate`: predictions in the time of `y_test`, for all its subjects or for those
    at risk only; what has an entry per subject is cut to who is at risk. Observed times and grids
    of curves meet `time` and `tau`, which count from the landmark, whatever the rounding of
    differences. The warning says how many are left.

    Examples
    --------
    >>> y = ([2, 5, 7, 9], [1, 1, 0, 1])
    >>> given = {"landmark": 4.0, "predictions": {"m": [3, 6, 6, 8]}, "y_test": y, "y_train": None}
    >>> found, _ = at_landmark(given)
    >>> found["predictions"]["m"].times, found["y_test"].time
    (array([2., 2., 4.]), array([1., 3., 5.]))
    """
    s, cause, y_train = checked_landmark(given["landmark"]), given.get("cause"), given["y_train"]
    y_train = y_train.given if isinstance(y_train, Reference) else y_train
    unit = given.get("unit", "")
    y, train = read_outcomes(given["y_test"], y_train, cause, unit)
    asked, more = _asked(given), {name: given[name] for name in given if name != "landmark"}
    kept: dict[str, tuple[Outcomes, Ints]] = {"y_test": (y, _at_risk(y, s, "y_test"))}
    if train is not None:
        kept["y_train"] = train, _at_risk(train, s, "y_train")
    if given.get("conditional") is not None:
        raise InputError("landmark does not go with conditional; pass X_train and X_test instead")
    for side, names in (("y_train", ("X_train",)), ("y_test", OF_TEST)):
        if side in kept:
            whole, rows = kept[side]
            more[side] = whole.from_landmark(s, asked)
            more |= {name: _some(given.get(name), rows, len(whole), name) for name in names}
    rows = kept["y_test"][1]
    more["predictions"] = {
        name: _from_landmark(obj, name, y, rows, s, cause, unit, asked)
        for name, obj in by_text(named_models(given["predictions"])).items()
    }
    return more, warned("from-landmark", landmark=s, present=rows.size, subjects=len(y))


def _asked(more: Mapping[str, Any]) -> list[float]:
    """Return the times since the landmark that are asked for; `evaluate` refuses what is none."""
    try:
        given = [np.ravel(np.asarray(more.get(name), np.float64)) for name in ("time", "tau")]
    except (TypeError, ValueError):
        return []
    found = np.concatenate(given)
    return [float(u) for u in found[np.isfinite(found)]]


def _at_risk(y: Outcomes, s: float, argument: str) -> Ints:
    rows = np.flatnonzero(y.observed_at(s))
    if not rows.size:
        raise InputError(
            f"{argument} has no subject at risk at landmark {s:g}: none has entered by then and is "
            f"observed for longer; the last time is {float(y.time.max()):g}"
        )
    return rows


def _from_landmark(
    obj: Any,
    name: str,
    y: Outcomes,
    rows: Ints,
    s: float,
    cause: int | str | None,
    unit: str,
    asked: list[float],
) -> Prediction:
    """Read a prediction for everybody, or for those at risk, from the landmark on."""
    n = len(y)
    size = getattr(obj, "shape", None) or (len(obj) if hasattr(obj, "__len__") else n,)
    try:
        found = _prediction(obj, name, n, y, cause, unit)[rows]
    except InputError:
        if rows.size == n or size[0] == n:
            raise
        # Of those at risk: updated then.
        found = _prediction(obj, name, rows.size, y, cause, unit)
    if found.incidence is not None and cause is not None and y.causes is not None:
        incidence = incidence_from_landmark(found.incidence, s, asked)
        return Prediction(incidence.only(cause_code(cause, y.causes)), None, None, incidence)
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
    values = in_memory(values, argument)
    try:
        length = len(values)
    except TypeError:
        return values
    if length != number:
        raise InputError(
            f"{argument} must have one entry per subject, whether at risk at the landmark or not: "
            f"{number}; got {length}"
        )
    return rows_of(values if hasattr(values, "__array__") else np.asarray(values), rows)
