"""Table 1: who the subjects are, those of the training set beside those of the test set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.frames import is_arrow, table_columns
from ...data.causes import EventWords, cause_label
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.kaplan_meier import KaplanMeier, RiskTable
from ...evaluation.inference import log_log_band
from ...evaluation.phrases import rounded
from ..displays.estimates import observed_band
from .printed import PrintedTable

#: Numbers with at most this many different values are counted like categories.
_CODES = 5
#: Categories of a feature that have rows of their own; the others share one.
_MOST_CATEGORIES = 10
#: Groups that have rows of their own.
_MOST_GROUPS = 20
_NONE, _NAN = "-", float("nan")
#: An estimate with the limits of its interval; NaN where nobody was observed up to there.
Estimate = tuple[float, float, float]


def table_one(
    sets: Mapping[str, Outcomes],
    times: Sequence[float],
    *,
    unit: str = "",
    confidence: float = 0.95,
    features: Mapping[str, Any] | None = None,
    groups: Mapping[str, Mapping[str, int]] | None = None,
    words: EventWords = EventWords(),  # noqa: B008
) -> PrintedTable:
    """Describe sets of subjects beside each other.

    Each of the `sets` is a column, such as training and test; survival and the number at risk are
    given at `times`. `features` of the sets, by the names of these, may be missing for some;
    `groups` are those of the last set. With `words` of a cause, groups count its events.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [1, 0, 1, 1])
    >>> table = table_one({"Test set": y}, [3], unit="days")
    >>> dict(table.rows[1:3])
    {'Events, n (%)': '3 (75)', 'Censored, n (%)': '1 (25)'}
    >>> table.rows[-1]
    ('Event-free (Kaplan-Meier), % (95 % CI)', '37.5 (1.1 to 80.8)')
    """
    present = [y.present() for y in sets.values()]
    followed = [follow_up(y.since_entry(), confidence) for y in present]
    at = [[at_time(y, time, confidence) for y in present] for time in times]
    level, counted = f"{100 * confidence:g} % CI", f", {unit}" if unit else ""
    rows = list(_outcome_rows(present, followed, level, counted))
    for time, found in zip(times, at, strict=True):
        rows += _time_rows(time, found, unit, level)
    described = list(_feature_rows(sets, features or {}))
    rows += [("Features",), *described] if described else []
    if groups:
        rows.append((f"Groups of the {list(sets)[-1].lower()}: subjects, {words.plural}",))
        rows += [(name, *[_NONE] * (len(sets) - 1), told) for name, told in _sizes(groups)]
    several = present[0].causes is not None
    notes = [
        "Follow-up by the reverse Kaplan-Meier method, in which events count as censored; "
        f"{100 * confidence:g} % intervals by log(-log) of Kaplan-Meier"
        f"{', and of 1 - Aalen-Johansen' * several}."
    ]
    if any(math.isnan(one.survival[0]) for found in at for one in found):
        notes.append("Not observed: the follow-up ends before this time.")
    if any(math.isnan(quartile) for found in followed for quartile in found.quartiles):
        notes.append("Not reached: too few subjects were censored to tell.")
    if described:
        notes.append("Percentages of features are of all subjects, missing values included.")
    header = ("Characteristic", *sets)
    return PrintedTable("Subjects", header, tuple(rows), tuple(notes), name="Table 1")


# -- outcomes ----------------------------------------------------------------------------------


class FollowUp(NamedTuple):
    """Potential follow-up: Kaplan-Meier of the censoring time, of which events cut off the rest."""

    #: Time by which a quarter, half and three quarters would have been censored; NaN where the
    #: estimate does not fall that far.
    quartiles: Estimate
    #: Interval of the median; NaN where its limits are not reached.
    low: float
    high: float
    #: Last observed time.
    longest: float


def follow_up(y: Outcomes, confidence: float) -> FollowUp:
    """Return quartiles of the potential follow-up by reverse Kaplan-Meier.

    The interval of the median holds the times at which that of the estimate, symmetric in
    log(-log G), contains 1/2.

    >>> follow_up(Outcomes([1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 1, 0]), 0.95).quartiles
    (3.0, 4.0, 6.0)
    """
    table = RiskTable.of(y)
    km = KaplanMeier.from_table(table, censoring=True)
    gone, left = table.censored, table.at_risk - table.events  # events leave the risk set first
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum(np.where(left > gone, gone / (left * (left - gone)), 0.0)))
    low, high = log_log_band(km.survival, spread, confidence)
    ends = [
        float(km.times[reached][0]) if reached.any() else _NAN
        for reached in ((low <= 0.5) | (km.survival == 0), high <= 0.5)
    ]
    first, median, last = (km.quantile(q, "nan") for q in (0.25, 0.5, 0.75))
    return FollowUp((first, median, last), ends[0], ends[1], km.last_time)


class AtTime(NamedTuple):
    """Subjects observed at a time or later, events up to it, Kaplan-Meier, and all incidences."""

    at_risk: float
    events: dict[str, float]
    survival: Estimate
    incidence: dict[str, Estimate]


def at_time(y: Outcomes, time: float, confidence: float) -> AtTime:
    """Return what is known of a time, with intervals symmetric in log(-log S) and log(-log(1-F)).

    >>> found = at_time(Outcomes([1, 2, 3, 4], [1, 0, 1, 1]), 3.0, 0.95)
    >>> found.at_risk, found.events, [round(value, 3) for value in found.survival[:2]]
    (2.0, {'': 2.0}, [0.375, 0.011])
    """
    at_risk, events = float(y.weight[y.time >= time].sum()), _events(y, time)
    causes, free = list(events) if y.causes is not None else [], KaplanMeier.fit(y.any_cause())
    ended = free.last_time < time and free.last_survival > 0  # nobody was observed until then

    def estimate(code: int | None) -> Estimate:
        if ended:
            return _NAN, _NAN, _NAN
        value, low, high = observed_band(y, code, np.array([time]), confidence)
        return float(value[0]), float(low[0]), float(high[0])

    incidence = {name: estimate(code) for code, name in enumerate(causes, 1)}
    return AtTime(at_risk, events, estimate(None), incidence)


def _events(y: Outcomes, until: float = math.inf) -> dict[str, float]:
    """Count events up to a time, by what follows the word: of each cause where there are any."""
    early = y.event & (y.time <= until)
    if y.causes is None:
        return {"": float(y.weight[early].sum())}
    return {
        f" of {cause_label(name)}": float(y.weight[early & (y.cause == code)].sum())
        for code, name in enumerate(y.causes, 1)
    }


def _outcome_rows(
    sets: list[Outcomes], followed: list[FollowUp], level: str, counted: str
) -> Iterator[tuple[str, ...]]:
    sizes, events = [float(y.weight.sum()) for y in sets], [_events(y) for y in sets]
    yield "Subjects", *map(_count, sizes)
    for name in events[0]:
        yield (
            f"Events{name}, n (%)",
            *(_share(found[name], n) for found, n in zip(events, sizes, strict=True)),
        )
    left = [n - sum(found.values()) for found, n in zip(events, sizes, strict=True)]
    yield "Censored, n (%)", *map(_share, left, sizes)
    yield (
        f"Median follow-up{counted} ({level})",
        *(f"{_time(f.quartiles[1])} ({_time(f.low)} to {_time(f.high)})" for f in followed),
    )
    yield (
        f"Quartiles of follow-up{counted}",
        *(f"{_time(f.quartiles[0])} to {_time(f.quartiles[2])}" for f in followed),
    )
    yield f"Longest follow-up{counted}", *(_time(f.longest) for f in followed)


def _time_rows(time: float, at: list[AtTime], unit: str, level: str) -> Iterator[tuple[str, ...]]:
    # The last time that the data support may be the limit from the left of an observed time.
    before = 0 < float(f"{time:.6g}") - time < 1e-9 * time
    yield (f"{'Just before' if before else 'At'} {rounded(time, unit)}",)
    for name in at[0].events:
        yield f"Events{name} until then", *(_count(found.events[name]) for found in at)
    yield "At risk", *(_count(found.at_risk) for found in at)
    causes = list(at[0].incidence)
    for name in causes:
        told = (_percent(*found.incidence[name]) for found in at)
        yield f"Incidence{name} (Aalen-Johansen), % ({level})", *told
    of_any = " of any event" * bool(causes)
    told = (_percent(*found.survival) for found in at)
    yield f"Event-free (Kaplan-Meier{of_any}), % ({level})", *told


def _sizes(groups: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    """Yield the sizes of groups, where they are many of the largest."""
    sizes = {
        str(group): (size["subjects"], size.get("events_of_cause", size["events"]))
        for group, size in groups.items()
    }
    largest = sorted(sizes, key=lambda group: -sizes[group][0])[:_MOST_GROUPS]
    for group, (subjects, events) in sizes.items():
        if group in largest:
            yield group, f"{subjects:,}, {events:,}"
    rest = [size for group, size in sizes.items() if group not in largest]
    if rest:
        subjects, events = (sum(column) for column in zip(*rest, strict=True))
        yield f"{len(rest)} smaller groups", f"{subjects:,}, {events:,}"


# -- features ----------------------------------------------------------------------------------


class Feature(NamedTuple):
    """A feature: the quartiles of numbers, or how many subjects have each value."""

    missing: float
    quartiles: Estimate | None = None
    counts: dict[str, float] | None = None


def feature(y: Outcomes, name: str, column: Any, coded: bool) -> Feature:
    """Describe a feature of the subjects `y`; values that are `coded` are counted."""
    if len(column) != len(y):
        raise InputError(
            f"feature {name!r} must have one value per subject; got {len(column)} values for "
            f"{len(y)} subjects"
        )
    gap = np.array([_is_gap(value) for value in column], dtype=bool)
    missing, known = float(y.weight[gap].sum()), (y.weight > 0) & ~gap
    numbers = _numbers(column)
    if numbers is not None and not coded:
        return Feature(missing, _quartiles(numbers[known], y.weight[known]))
    counts: dict[str, float] = {}
    for row in np.flatnonzero(known):
        label = _label(column[row])
        counts[label] = counts.get(label, 0.0) + float(y.weight[row])
    ordered = sorted(counts) if numbers is None else sorted(counts, key=float)
    return Feature(missing, counts={label: counts[label] for label in ordered})


def _feature_rows(
    sets: Mapping[str, Outcomes], features: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    given = {name: _columns(found) for name, found in features.items()}
    sizes = [float(y.weight.sum()) for y in sets.values()]
    for name in dict.fromkeys(name for columns in given.values() for name in columns):
        coded = is_coded(*(columns[name] for columns in given.values() if name in columns))
        found = [
            feature(y, name, given[part][name], coded) if name in given.get(part, {}) else None
            for part, y in sets.items()
        ]
        if any(one and one.quartiles for one in found):
            yield f"{name}, median (quartiles)", *map(_median, found)
        else:
            yield from _category_rows(name, found, sizes)
        if any(one and one.missing for one in found):
            shares = (
                _share(one.missing, n) if one else _NONE
                for one, n in zip(found, sizes, strict=True)
            )
            yield f"{name}: missing, n (%)", *shares


def _category_rows(
    name: str, found: list[Feature | None], sizes: list[float]
) -> Iterator[tuple[str, ...]]:
    counts = [one.counts if one else None for one in found]
    total = sum((Counter(count) for count in counts if count), Counter[str]())
    labels = list(dict.fromkeys(label for count in counts if count for label in count))
    shown = labels
    if len(labels) > _MOST_CATEGORIES:
        largest = sorted(labels, key=lambda label: -total[label])[: _MOST_CATEGORIES - 1]
        shown = [label for label in labels if label in largest]
    rest = [label for label in labels if label not in shown]
    parts = [(label, [label]) for label in shown]
    parts += [(f"{len(rest)} other values", rest)] if rest else []
    for label, members in parts:
        told = [
            _NONE if count is None else _share(sum(count.get(m, 0.0) for m in members), n)
            for count, n in zip(counts, sizes, strict=True)
        ]
        yield f"{name}: {label}, n (%)", *told


def _columns(found: Any) -> dict[str, list[Any]]:
    """Read features by name: a mapping, or a frame of pandas or polars."""
    columns = table_columns(found, "features")
    if columns is None:
        raise InputError(
            "features must be a frame or a mapping of names to columns, so that Table 1 can name "
            f"them; got {type(found).__name__}"
        )
    return {
        str(name): column.to_pylist() if is_arrow(column) else list(column)
        for name, column in columns.items()
    }


def is_coded(*columns: Any) -> bool:
    """Whether columns hold text, or so few different numbers that they must be codes.

    >>> is_coded([1, 2, 3, 1]), is_coded([1.5, 2, 3, 4, 5, 6, 7]), is_coded(["a", None])
    (True, False, True)
    """
    read = [_numbers(column) for column in columns]
    known = [numbers[~np.isnan(numbers)] for numbers in read if numbers is not None]
    return len(known) < len(read) or np.unique(np.concatenate(known)).size <= _CODES


def _is_gap(value: Any) -> bool:
    # The missing values of pandas do not say whether they equal themselves.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _numbers(column: Any) -> Floats | None:
    """Return a column as numbers, gaps as NaN; None where it holds anything else."""
    try:
        return np.array([np.nan if _is_gap(v) else v for v in column], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _quartiles(values: Floats, weight: Floats) -> Estimate:
    """Quartiles with lines between order statistics (type 7 of R); a frequency repeats a value."""
    if values.size == 0:
        return _NAN, _NAN, _NAN
    if not np.array_equal(weight, np.rint(weight)):
        raise InputError(
            "features cannot be described where frequencies of subjects are not whole numbers; "
            "leave the features or the weights out"
        )
    repeated = np.repeat(values, weight.astype(np.int64))
    first, median, last = np.quantile(repeated, (0.25, 0.5, 0.75)).tolist()
    return first, median, last


# -- cells -------------------------------------------------------------------------------------


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _share(part: float, whole: float) -> str:
    """Count with its share in percent.

    >>> _share(3, 8), _share(1, 1000)
    ('3 (38)', '1 (0.1)')
    """
    share = 100 * part / whole if whole else 0.0
    told = f"{share:.1f}" if 0 < share < 1 or 99 < share < 100 else f"{share:.0f}"
    return f"{_count(part)} ({told})"


def _time(value: float) -> str:
    return "not reached" if math.isnan(value) else rounded(value)


def _percent(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "not observed"
    limits = "" if math.isnan(low) else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * value:.1f}{limits}"


def _median(found: Feature | None) -> str:
    if found is None or found.quartiles is None or math.isnan(found.quartiles[1]):
        return _NONE
    first, median, last = (f"{value:.4g}" for value in found.quartiles)
    return f"{median} ({first} to {last})"


def _label(value: Any) -> str:
    return f"{float(value):g}" if isinstance(value, float | int | np.number) else str(value)
