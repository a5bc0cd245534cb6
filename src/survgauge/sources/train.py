"""The reference set of a stream, which may be one itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data.intervals import IntervalOutcomes
from ..errors import InputError
from ..evaluation.chunk import joined
from ..evaluation.interval_call import refuse_intervals, training_intervals, wrong_training
from ..reference.counts import OutcomeCounts
from ..reference.reference import Reference
from .arrow import RowSource, as_source
from .layout import Layout


def reference_of(
    y_train: Any,
    time: str = "time",
    event: str = "event",
    weight: str | None = None,
    causes: bool = False,
    entry: str | None = None,
    intervals: bool = False,
) -> Any:
    """Return the reference set: outcomes, or batches of them reduced to counts.

    Batches count with the frequencies in column `weight`, if they have it; all or none must.
    Several causes have to be known before the first batch, so they come with outcomes only. With
    delayed entry, in the column `entry` or one of this name, outcomes are kept as they are. With
    `intervals` the result is `IntervalOutcomes`; right-censored outcomes are a special case.
    """
    if y_train is None:
        raise InputError(
            "y_train must be given: a stream is evaluated against a fixed reference set, as "
            "its own outcomes are not known before the end"
        )
    if isinstance(y_train, OutcomeCounts):
        y_train = y_train.reference()
    if isinstance(y_train, Reference):
        return IntervalOutcomes.of(y_train.given, "y_train") if intervals else y_train
    if not _is_stream(y_train):
        if intervals:
            return training_intervals(y_train)
        refuse_intervals(y_train)
        return Reference(y_train, causes=causes)
    if causes:
        raise InputError(
            "y_train must be outcomes in memory where a cause is asked for, such as "
            "sg.Outcomes(time, event, causes=[...]), which say what the causes are; got "
            f"{type(y_train).__name__}"
        )
    source = as_source(y_train)
    first = source.first()
    weighted = weight is not None and weight in first.names
    entry = entry if entry is None or entry in first.names else None
    layout = Layout({}, time, event, weight if weighted else None, entry=entry).resolved(first)
    source.check(layout)
    if weight is not None:
        source.check_alike(weight)
    unless = weight if not weighted else None
    parts = _read(source, layout, unless)
    if layout.are_intervals or intervals:
        if layout.are_intervals and not intervals:
            raise wrong_training(first.label)
        return training_intervals(joined(list(parts)))
    if layout.entry is not None:
        return Reference(joined(list(parts)))
    counts = OutcomeCounts()
    for y in parts:
        if not y.weighted or y.weight.any():
            counts.update(y)
    return counts.reference()


def _read(source: RowSource, layout: Layout, without: str | None) -> Iterator[Any]:
    """Yield the outcomes of all batches, none of which may have the column `without`."""
    columns = layout.outcome_columns
    for item in source.items(columns):
        for batch in item.batches(columns):
            if len(batch):
                if without is not None:
                    batch.refuse(without)
                yield layout.outcomes(batch)


#: What frames and queries of Arrow, DuckDB and Polars have, and outcomes have not.
_OF_BATCHES = ("fetch_record_batch", "to_batches", "collect_schema", "read_next_batch")


def _is_stream(y_train: Any) -> bool:
    """Whether these are batches, not outcomes such as a (time, event) pair."""
    if isinstance(y_train, list):
        return bool(y_train) and all(_is_batch(item) for item in y_train)
    is_made = isinstance(y_train, str | Path | Iterator) or callable(y_train)
    return is_made or any(hasattr(y_train, name) for name in _OF_BATCHES)


def _is_batch(item: Any) -> bool:
    """Whether an item of a list is a batch, or a path to some."""
    is_named = isinstance(item, str | Path | Mapping)
    return is_named or hasattr(item, "columns") or hasattr(item, "schema")
