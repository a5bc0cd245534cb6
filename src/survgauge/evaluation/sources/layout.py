"""Which columns of a stream are what: outcomes, and each model's predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..._old_names import renamed
from ..._tools.arrays import LARGEST, shown, vector
from ...data.causes import cause_code
from ...data.files import both_kinds
from ...data.outcome_parts import refuse_entry, some_entry
from ...data.outcomes import BOUNDS, IntervalOutcomes, Outcomes
from ...data.predictions import Prediction, RiskScores
from ...errors import InputError, located, one_of
from ...estimators.conditional import Conditional
from ...estimators.reference import Reference
from ..reading import read_predictions
from .batches import Batch
from .specs import CurveColumns, Groups, IncidenceColumns, LabelColumns


@dataclass(frozen=True)
class TimeColumn:
    """A column with one predicted time per subject.

    Parameters
    ----------
    column : str
        Its name.
    """

    kind: ClassVar[str] = "times"

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise InputError(f"column must be the name of a column; got {shown(self.column)}")

    @property
    def reads(self) -> list[str]:
        """Columns to read."""
        return [self.column]

    def resolved(self, batch: Batch) -> TimeColumn:
        """Nothing is left open."""
        return self

    def of(self, batch: Batch) -> Any:
        """Read the predictions of a batch."""
        return batch.vector(self.column)


@dataclass(frozen=True)
class RiskColumn(TimeColumn):
    """A column with one risk score a subject: higher means sooner.

    Parameters
    ----------
    column : str
        Its name.
    """

    kind: ClassVar[str] = "risk"

    def of(self, batch: Batch) -> Any:
        """Read the predictions of a batch."""
        return RiskScores(batch.vector(self.column))


Spec = TimeColumn | RiskColumn | CurveColumns | IncidenceColumns


@dataclass(frozen=True)
class Layout:
    """Which column is what; `read` turns a batch into outcomes and predictions."""

    predictions: dict[str, Any]
    time: str = "time"
    event: str = "event"
    weight: str | None = None
    by: LabelColumns | None = None
    #: Columns of the distributions per subject, by `distribution` and `censoring`.
    distributions: dict[str, Any] = field(default_factory=dict)
    #: Names of the causes and code of the one that is asked about; None: one kind of event.
    causes: tuple[str, ...] | None = None
    cause: int | None = None
    #: Column with the entries of the subjects; None: everybody is in from the beginning.
    entry: str | None = None
    #: "right" (times and events) or "interval" (lower and upper); None: the columns tell.
    outcomes_are: str | None = None

    @classmethod
    def of(
        cls,
        predictions: Any,
        time: str = "time",
        event: str = "event",
        weight: str | None = None,
        by: Any = None,
        conditional: Any = None,
        entry: str | None = None,
        outcomes: str | None = None,
    ) -> Layout:
        """Check what the caller says about columns; a single name is called "model"."""
        columns = {"time": time, "event": event, "weight": weight, "entry": entry}
        for argument, column in columns.items():
            may_lack = argument in ("weight", "entry")
            if not isinstance(column, str) and not (column is None and may_lack):
                raise InputError(
                    f"{argument}_column must be the name of a column; got {shown(column)}"
                )
        if not isinstance(predictions, Mapping):
            predictions = {"model": predictions}
        if not predictions:
            raise InputError("predictions must name at least one model; got an empty mapping")
        specs = {}
        for name, spec in predictions.items():
            if not isinstance(spec, str | TimeColumn | CurveColumns | IncidenceColumns):
                raise InputError(
                    f"predictions[{name!r}] must be the name of a column, TimeColumn, RiskColumn, "
                    f"CurveColumns or IncidenceColumns; got {type(spec).__name__}"
                )
            specs[str(name)] = spec
        if len(specs) < len(predictions):
            raise InputError(f"predictions must have distinct names; got {list(predictions)}")
        if outcomes is not None:
            one_of("outcomes", outcomes, ("right", "interval"))
        given = specs, time, event, weight, LabelColumns.of(by), _distributions(conditional)
        return cls(*given, entry=entry, outcomes_are=outcomes)

    def about(self, cause: int | str, reference: Reference) -> Layout:
        """Return the same for one of the causes that the reference set has."""
        causes = reference.given.causes
        if causes is None:
            raise InputError(
                "cause goes with outcomes of several causes; y_train has one kind of event"
            )
        return replace(self, causes=causes, cause=cause_code(cause, causes))

    @property
    def outcome_columns(self) -> list[str]:
        """Columns of the outcomes, and of the groups."""
        seen = BOUNDS if self.are_intervals else (self.time, self.event)
        more = [name for name in (self.weight, self.entry) if name is not None]
        return [*seen, *more, *([] if self.by is None else self.by.columns)]

    @property
    def are_intervals(self) -> bool:
        """Whether the outcomes are interval-censored (after `resolved`)."""
        return self.outcomes_are == "interval"

    @property
    def specs(self) -> list[Any]:
        """What predictions and distributions are read from."""
        return [*self.predictions.values(), *self.distributions.values()]

    def _reads(self) -> list[str]:
        """Columns of predictions and distributions."""
        return [name for spec in self.specs for name in spec.reads]

    def columns(self) -> list[str]:
        """All columns to read (after `resolved`)."""
        return list(dict.fromkeys([*self.outcome_columns, *self._reads()]))

    def resolved(self, batch: Batch) -> Layout:
        """Decide from the first batch what names alone leave open."""
        specs: dict[str, Any] = {}
        for name, spec in self.predictions.items():
            if isinstance(spec, str):
                if spec.endswith("*") or batch.is_curves(spec):
                    spec = CurveColumns(spec)
                else:
                    spec = TimeColumn(spec)
            if self.cause is not None and isinstance(spec, CurveColumns):
                raise InputError(
                    f"predictions[{name!r}] must be IncidenceColumns, TimeColumn or RiskColumn "
                    "where a cause is asked for; got columns of survival curves"
                )
            specs[name] = spec.resolved(batch)
        distributions = {name: spec.resolved(batch) for name, spec in self.distributions.items()}
        return replace(self, predictions=specs, distributions=distributions)._with_outcomes(batch)

    def _with_outcomes(self, batch: Batch) -> Layout:
        """Decide from the first batch which outcomes there are, and whether subjects enter late."""
        read = self._reads()
        names = [name for name in batch.names if name not in read]
        found = replace(self, outcomes_are=self.outcomes_are or self._kind(names, batch))
        if found.are_intervals and self.cause is not None:
            raise InputError(
                f"{batch.label}: cause goes with columns of times and events; interval-censored "
                "outcomes have one kind of event"
            )
        if self.entry is None and "entry" in names:
            found = replace(found, entry="entry")
        if found.entry is not None and self.cause is not None:
            raise InputError(
                f"{batch.label}: the column {found.entry!r} says that subjects enter late, which "
                "is supported for a single kind of event: leave out cause, or the column if "
                "every subject is observed from the beginning"
            )
        return found

    def _kind(self, names: list[str], batch: Batch) -> str:
        """Say which outcomes the columns hold."""
        if not set(BOUNDS) <= set(names):
            return "right"
        if self.time in names and self.event in names:
            raise InputError(
                f"{batch.label}: {both_kinds(self.time, self.event)}; say which of them to read: "
                "outcomes='right' or outcomes='interval'"
            )
        return "interval"

    def refuse_entry(self, names: list[str], label: str) -> None:
        """Refuse a column of entries that the first batch did not have: it would be left out."""
        if self.entry is None and "entry" in names and "entry" not in self.columns():
            raise InputError(
                f"{label}: the column 'entry' says that subjects enter late (left truncation), but "
                "the first batch has no such column; give every subject an entry, 0 where it is "
                "observed from the beginning"
            )

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse a file with columns that matter and that the first one did not have."""
        self.refuse_entry(names, label)
        for spec in self.specs:
            if spec.kind == "curves":
                spec.refuse_more(names, label)

    def outcomes(self, batch: Batch) -> Any:
        """Read the outcomes of a batch: `Outcomes`, or `IntervalOutcomes`."""
        self.refuse_entry(batch.names, batch.label)
        with located(batch.label):
            y = self._intervals(batch) if self.are_intervals else self._flags(batch)
            if self.weight is None:
                return y
            # Not by Outcomes: the frequencies of a batch may all be zero.
            given = batch.vector(self.weight)
            weight = vector(given, "weight", length=len(y), minimum=0.0, largest=LARGEST)
            return y.reweighted(weight)

    def _flags(self, batch: Batch) -> Outcomes:
        time = batch.vector(self.time)
        if self.causes is None:
            entry = None if self.entry is None else batch.vector(self.entry)
            return Outcomes(time, batch.vector(self.event), entry=entry).of_one_cause()
        if not isinstance(batch.head(self.event)[0], str):
            return Outcomes(time, batch.vector(self.event), causes=self.causes)
        places, names = batch.codes(self.event)
        named = np.array([*names, None], dtype=object)[places]  # -1 is a gap
        return Outcomes(time, named, causes=self.causes)

    def _intervals(self, batch: Batch) -> IntervalOutcomes:
        found = IntervalOutcomes(*(batch.vector(name) for name in BOUNDS))
        if self.entry is not None:
            entry = vector(batch.vector(self.entry), "entry", length=len(found))
            refuse_entry(some_entry(entry), "the stream", intervals=True)
        return found

    def groups(self, batch: Batch, start: int) -> Groups:
        """Read the groups of a batch whose rows begin at `start`, where there are any."""
        return [] if self.by is None else self.by.read(batch, start)

    def read(self, batch: Batch) -> tuple[Any, dict[str, Prediction], Conditional | None]:
        """Read outcomes, predictions and distributions, if any, of the subjects of a batch."""
        y = self.outcomes(batch)
        with located(batch.label):
            given = {name: spec.of(batch) for name, spec in self.predictions.items()}
            predictions = read_predictions(given, y, self.cause)
            if not self.distributions:
                return y, predictions, None
            curves = {name: spec.of(batch) for name, spec in self.distributions.items()}
            columns = {
                name: f"given in {spec.columns!r}" for name, spec in self.distributions.items()
            }
            return y, predictions, Conditional(**curves, how=columns)


def _distributions(given: Any) -> dict[str, CurveColumns]:
    """Check which columns hold distributions per subject; a column's name is one of curves."""
    if given is None:
        return {}
    known = ("distribution", "censoring")
    if isinstance(given, Mapping):
        given = renamed(given, "conditional")
    if not isinstance(given, Mapping) or not given or any(key not in known for key in given):
        raise InputError(
            "conditional must say in a stream which columns hold curves per subject: "
            f"{{'distribution': column}}, {{'censoring': column}} or both; got {shown(given)}"
        )
    found = {}
    for key, spec in given.items():
        spec = CurveColumns(spec) if isinstance(spec, str) else spec
        if not isinstance(spec, CurveColumns):
            raise InputError(
                f"conditional[{key!r}] must be the name of a column of curves or CurveColumns; got "
                f"{type(spec).__name__}"
            )
        found[str(key)] = spec
    return found
