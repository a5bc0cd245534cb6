"""The reference set of a stream, which may be one itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..reference.counts import OutcomeCounts
from ..reference.reference import Reference
from .arrow import as_source
from .layout import Layout


def reference_of(
    y_train: Any,
    time: str = "time",
    event: str = "event",
    weight: str | None = None,
    causes: bool = False,
) -> Reference:
    """Return the reference set: outcomes, or batches of them reduced to counts.

    Batches count with the frequencies in column `weight`, if they have it; all or none must.
    Several causes have to be known before the first batch, so they come with outcomes only.
    """
    if isinstance(y_train, Reference):
        return y_train
    if isinstance(y_train, OutcomeCounts):
        return y_train.reference()
    if not _is_stream(y_train):
        return Reference(y_train, causes=causes)
    if causes:
        raise InputError(
            "y_train must be outcomes in memory where a cause is asked for, such as "
            "sg.Outcomes(time, event, causes=[...]), which say what the causes are; got "
            f"{type(y_train).__name__}"
        )
    counts, source = OutcomeCounts(), as_source(y_train)
    source.check(Layout({}, time, event))
    first = source.first()
    weighted = weight is not None and weight in first.names
    layout = Layout({}, time, event, weight if weighted else None)
    layout.refuse_entry(first.names, first.label)
    columns = layout.outcome_columns
    if weight is not None:
        source.check_alike(weight)
    for item in source.items(columns):
        for batch in item.batches(columns):
            if len(batch):
                if weight is not None and not weighted:
                    batch.refuse(weight)
                y = layout.outcomes(batch)
                if not y.weighted or y.weight.any():
                    counts.update(y)
    return counts.reference()


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
