"""Table 1: who the subjects are, those of the training set beside those of the test set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..data.event_words import EventWords, cause_label
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..evaluation.when import rounded
from .printed import PrintedTable
from .sample import Categories, Numbers, Sample, is_coded

#: Categories of a feature that have rows of their own; the others share one.
_MOST_CATEGORIES = 10
#: Groups that have rows of their own.
_MOST_GROUPS = 20
_NONE = "-"


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
    columns = {name: _columns(found) for name, found in (features or {}).items()}
    names = list(dict.fromkeys(feature for found in columns.values() for feature in found))
    coded = [
        feature
        for feature in names
        if is_coded(*(found[feature] for found in columns.values() if feature in found))
    ]
    samples = [
        Sample.of(y, times, confidence, columns.get(name), coded) for name, y in sets.items()
    ]
    level = f"{100 * confidence:g} % CI"
    rows = [*_outcome_rows(samples, unit, level)]
    rows += [row for k in range(len(times)) for row in _time_rows(samples, k, unit, level)]
    if names:
        rows.append(("Features",))
        rows += [row for feature in names for row in _feature_rows(samples, feature)]
    if groups:
        rows.append((f"Groups of the {list(sets)[-1].lower()}: subjects, {words.plural}",))
        rows += [(name, *[_NONE] * (len(samples) - 1), told) for name, told in _sizes(groups)]
    notes = _notes(samples, bool(names), confidence)
    return PrintedTable("Subjects", ("Characteristic", *sets), tuple(rows), notes, name="Table 1")


def _columns(found: Any) -> dict[str, Any]:
    """Read features by name: a mapping, or a frame of pandas or polars."""
    names = found.keys() if isinstance(found, Mapping) else getattr(found, "columns", None)
    if names is None:
        raise InputError(
            "features must be a frame or a mapping of names to columns, so that Table 1 can name "
            f"them; got {type(found).__name__}"
        )
    return {str(name): list(found[name]) for name in names}


def _outcome_rows(samples: list[Sample], unit: str, level: str) -> Iterator[tuple[str, ...]]:
    counted = f", {unit}" if unit else ""
    yield "Subjects", *(_count(s.subjects) for s in samples)
    if not samples[0].events_by_cause:
        yield "Events, n (%)", *(_share(s.events, s.subjects) for s in samples)
    for name in samples[0].events_by_cause:
        told = (_share(s.events_by_cause[name], s.subjects) for s in samples)
        yield f"Events of {cause_label(name)}, n (%)", *told
    yield "Censored, n (%)", *(_share(s.subjects - s.events, s.subjects) for s in samples)
    yield (
        f"Median follow-up{counted} ({level})",
        *(
            f"{_time(s.follow_up.quartiles[1])} ({_range(s.follow_up.low, s.follow_up.high)})"
            for s in samples
        ),
    )
    yield (
        f"Quartiles of follow-up{counted}",
        *(_range(s.follow_up.quartiles[0], s.follow_up.quartiles[2]) for s in samples),
    )
    yield f"Longest follow-up{counted}", *(_time(s.follow_up.longest) for s in samples)


def _time_rows(
    samples: list[Sample], place: int, unit: str, level: str
) -> Iterator[tuple[str, ...]]:
    at = [sample.at_times[place] for sample in samples]
    # The last time that the data support may be the limit from the left of an observed time.
    time = at[0].time
    before = 0 < float(f"{time:.6g}") - time < 1e-9 * time
    yield (f"{'Just before' if before else 'At'} {rounded(time, unit)}",)
    causes = list(at[0].events_by_cause)
    if not causes:
        yield "Events until then", *(_count(found.events) for found in at)
    for name in causes:
        told = (_count(found.events_by_cause[name]) for found in at)
        yield f"Events of {cause_label(name)} until then", *told
    yield "At risk", *(_count(found.at_risk) for found in at)
    for name in causes:
        told = (_percent(*found.incidence[name]) for found in at)
        yield f"Incidence of {cause_label(name)} (Aalen-Johansen), % ({level})", *told
    yield (
        f"Event-free (Kaplan-Meier{' of any event' * bool(causes)}), % ({level})",
        *(_percent(found.survival, found.low, found.high) for found in at),
    )


def _percent(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "not observed"
    limits = "" if math.isnan(low) else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * value:.1f}{limits}"


def _feature_rows(samples: list[Sample], name: str) -> Iterator[tuple[str, ...]]:
    found = [(sample.subjects, sample.features.get(name)) for sample in samples]
    known = [entry for _, entry in found if entry is not None]
    if any(isinstance(entry, Numbers) for entry in known):
        yield f"{name}, median (quartiles)", *(_quartiles(entry) for _, entry in found)
    else:
        yield from _category_rows(found, name)
    if any(entry.missing for entry in known):
        yield (
            f"{name}: missing, n (%)",
            *(_NONE if entry is None else _share(entry.missing, total) for total, entry in found),
        )


def _quartiles(entry: Numbers | Categories | None) -> str:
    if not isinstance(entry, Numbers) or math.isnan(entry.quartiles[1]):
        return _NONE
    first, median, last = (f"{value:.4g}" for value in entry.quartiles)
    return f"{median} ({first} to {last})"


def _category_rows(
    found: list[tuple[float, Numbers | Categories | None]], name: str
) -> Iterator[tuple[str, ...]]:
    counts = [entry.counts if isinstance(entry, Categories) else None for _, entry in found]
    labels = list(dict.fromkeys(label for count in counts if count for label in count))
    total = {label: sum(count.get(label, 0.0) for count in counts if count) for label in labels}
    shown = labels
    if len(labels) > _MOST_CATEGORIES:
        largest = sorted(labels, key=lambda label: -total[label])[: _MOST_CATEGORIES - 1]
        shown = [label for label in labels if label in largest]
    rest = [label for label in labels if label not in shown]
    parts = [(label, [label]) for label in shown]
    parts += [(f"{len(rest)} other values", rest)] if rest else []
    for label, members in parts:
        yield (
            f"{name}: {label}, n (%)",
            *(
                _NONE
                if count is None
                else _share(sum(count.get(m, 0.0) for m in members), subjects)
                for count, (subjects, _) in zip(counts, found, strict=True)
            ),
        )


def _sizes(groups: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    """Yield the sizes of groups, where they are many of the largest."""
    largest = sorted(groups, key=lambda group: -groups[group]["subjects"])[:_MOST_GROUPS]
    for group, size in groups.items():
        if group in largest:
            yield str(group), f"{size['subjects']:,}, {_events(size):,}"
    rest = [size for group, size in groups.items() if group not in largest]
    if rest:
        subjects, events = sum(size["subjects"] for size in rest), sum(map(_events, rest))
        yield f"{len(rest)} smaller groups", f"{subjects:,}, {events:,}"


def _events(size: Mapping[str, int]) -> int:
    return size.get("events_of_cause", size["events"])


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


def _range(low: float, high: float) -> str:
    return f"{_time(low)} to {_time(high)}"


def _notes(samples: list[Sample], features: bool, confidence: float) -> tuple[str, ...]:
    told = (
        "Follow-up by the reverse Kaplan-Meier method, in which events count as censored; "
        f"{100 * confidence:g} % intervals by log(-log) of Kaplan-Meier"
        f"{', and of 1 - Aalen-Johansen' * bool(samples[0].events_by_cause)}."
    )
    notes = [told]
    if any(math.isnan(found.survival) for sample in samples for found in sample.at_times):
        notes.append("Not observed: the follow-up ends before this time.")
    if any("not reached" in _time(q) for s in samples for q in s.follow_up.quartiles):
        notes.append("Not reached: too few subjects were censored to tell.")
    if features:
        notes.append("Percentages of features are of all subjects, missing values included.")
    return tuple(notes)
