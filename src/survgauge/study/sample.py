"""What Table 1 says of one set of subjects: counts, follow-up, survival at times, features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import events_by_cause
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..inference import log_log_band
from ..reference.aalen_johansen import AalenJohansen
from ..reference.kaplan_meier import KaplanMeier, RiskTable
from ..reference.survival_at import survival_at

#: Numbers with at most this many different values are counted like categories.
_CODES = 5
QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class PotentialFollowUp:
    """Potential follow-up: Kaplan-Meier of the censoring time, of which events cut off the rest."""

    #: Time by which a quarter, half and three quarters would have been censored; NaN where the
    #: estimate does not fall that far.
    quartiles: tuple[float, float, float]
    #: Interval of the median; NaN where its limits are not reached.
    low: float
    high: float
    #: Last observed time.
    longest: float


@dataclass(frozen=True)
class AtTime:
    """Kaplan-Meier at one time, with its interval; NaN where nobody was observed up to there.

    `at_risk` are the subjects observed at that time or later, `events` those up to it.
    """

    time: float
    at_risk: float
    events: float
    survival: float
    low: float
    high: float
    #: With several causes, events up to the time and incidence with its interval, by cause.
    events_by_cause: dict[str, float] = field(default_factory=dict)
    incidence: dict[str, tuple[float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Numbers:
    """A feature of numbers: quartiles of those that are known."""

    quartiles: tuple[float, float, float]
    missing: float


@dataclass(frozen=True)
class Categories:
    """A feature of categories: how many subjects have each of them."""

    counts: dict[str, float]
    missing: float


@dataclass(frozen=True)
class Sample:
    """One set of subjects."""

    subjects: float
    events: float
    follow_up: PotentialFollowUp
    at_times: tuple[AtTime, ...]
    features: dict[str, Numbers | Categories]
    #: With several causes, events of each.
    events_by_cause: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        y: Outcomes,
        times: Sequence[float],
        confidence: float,
        features: Mapping[str, Any] | None = None,
        coded: Sequence[str] = (),
    ) -> Sample:
        """Describe subjects; features `coded` are counted like categories."""
        present = y.present()
        known = {} if features is None else features
        return cls(
            float(y.weight.sum()),
            float(y.weight @ y.event),
            follow_up(present.since_entry(), confidence),
            tuple(at_time(present, time, confidence) for time in times),
            {name: feature(y, name, column, name in coded) for name, column in known.items()},
            events_by_cause(y),
        )


def follow_up(y: Outcomes, confidence: float) -> PotentialFollowUp:
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
    first, median, last = (km.quantile(q, "nan") for q in QUARTERS)
    return PotentialFollowUp(
        (first, median, last),
        _first(km.times, (low <= 0.5) | (km.survival == 0)),
        _first(km.times, high <= 0.5),
        km.last_time,
    )


def _first(times: Floats, reached: Any) -> float:
    rows = np.flatnonzero(reached)
    return float(times[rows[0]]) if rows.size else float("nan")


def at_time(y: Outcomes, time: float, confidence: float) -> AtTime:
    """Return Kaplan-Meier at a time, its interval symmetric in log(-log S), and who is at risk.

    >>> found = at_time(Outcomes([1, 2, 3, 4], [1, 0, 1, 1]), 3.0, 0.95)
    >>> found.at_risk, found.events, round(found.survival, 3), round(found.low, 3)
    (2.0, 2.0, 0.375, 0.011)
    """
    at_risk = float(y.weight[y.time >= time].sum())
    causes = _causes_at(y, time, confidence)
    events = float(y.weight[y.event & (y.time <= time)].sum())
    found = survival_at(y.any_cause(), time)
    if found.open_ended:
        nan = float("nan")
        unknown = dict.fromkeys(causes[0], (nan, nan, nan))
        return AtTime(time, at_risk, events, nan, nan, nan, causes[0], unknown)
    value = np.array([found.value])
    # Subjects of one row count alike: each of them has psi / weight.
    spread = np.sqrt(np.sum(found.psi**2 / y.weight)) / value if found.value > 0 else value
    low, high = log_log_band(value, spread, confidence)
    return AtTime(time, at_risk, events, found.value, float(low[0]), float(high[0]), *causes)


def _causes_at(
    y: Outcomes, time: float, confidence: float
) -> tuple[dict[str, float], dict[str, tuple[float, float, float]]]:
    """Events of each cause up to a time, and Aalen-Johansen of each with its interval."""
    if y.causes is None or y.cause is None:
        return {}, {}
    aj, early = AalenJohansen.fit(y), y.time <= time
    counts, shares = {}, {}
    for code, name in enumerate(y.causes, 1):
        counts[name] = float(y.weight[early & (y.cause == code)].sum())
        value = float(aj.at(time, code))
        free = np.array([1.0 - value])
        spread = float(aj.stderr_at(time, code)) / free if value < 1 else free
        low, high = log_log_band(free, spread, confidence)
        shares[name] = value, float(1.0 - high[0]), float(1.0 - low[0])
    return counts, shares


# -- features ----------------------------------------------------------------------------------


def is_coded(*columns: Any) -> bool:
    """Whether columns hold text, or so few different numbers that they must be codes.

    >>> is_coded([1, 2, 3, 1]), is_coded([1.5, 2, 3, 4, 5, 6, 7]), is_coded(["a", None])
    (True, False, True)
    """
    values: set[float] = set()
    for column in columns:
        numbers = _numbers(column)
        if numbers is None:
            return True
        values |= set(numbers[~np.isnan(numbers)].tolist())
    return len(values) <= _CODES


def feature(y: Outcomes, name: str, column: Any, coded: bool) -> Numbers | Categories:
    """Describe a feature of the subjects `y`: their quartiles, or how many have each value."""
    values = column if hasattr(column, "__len__") else list(column)
    if len(values) != len(y):
        raise InputError(
            f"feature {name!r} must have one value per subject; got {len(values)} values for "
            f"{len(y)} subjects"
        )
    numbers = _numbers(values)
    if numbers is not None and not coded:
        gap = np.isnan(numbers)
        known = (y.weight > 0) & ~gap
        missing = float(y.weight[gap].sum())
        return Numbers(_quartiles(numbers[known], y.weight[known]), missing)
    counts: Counter[str] = Counter()
    missing = 0.0
    for value, weight in zip(values, y.weight, strict=True):
        if _is_gap(value):
            missing += weight
        elif weight > 0:
            counts[_label(value)] += weight
    ordered = sorted(counts) if numbers is None else sorted(counts, key=float)
    return Categories({label: float(counts[label]) for label in ordered}, missing)


def _is_gap(value: Any) -> bool:
    # The missing values of pandas do not say whether they equal themselves.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _label(value: Any) -> str:
    return f"{float(value):g}" if isinstance(value, float | int | np.number) else str(value)


def _numbers(column: Any) -> Floats | None:
    """Return a column as numbers, gaps as NaN; None where it holds anything else."""
    try:
        return np.array([np.nan if _is_gap(v) else v for v in column], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _quartiles(values: Floats, weight: Floats) -> tuple[float, float, float]:
    """Quartiles with lines between order statistics (type 7 of R); a frequency repeats a value."""
    if values.size == 0:
        return float("nan"), float("nan"), float("nan")
    if not np.array_equal(weight, np.rint(weight)):
        raise InputError(
            "features cannot be described where frequencies of subjects are not whole numbers; "
            "leave the features or the weights out"
        )
    first, median, last = np.quantile(np.repeat(values, weight.astype(np.int64)), QUARTERS)
    return float(first), float(median), float(last)
