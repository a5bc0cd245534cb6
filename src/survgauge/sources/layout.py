"""Which columns of a stream are what: outcomes, and each model's predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import LARGEST, shown, vector
from ..data.curves import INTERPOLATIONS, SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction, RiskScores
from ..data.tails import check_tail
from ..errors import InputError, SurvgaugeError, UndefinedMetricError, as_names, one_of
from ..reference.conditional import Conditional
from .batches import Batch
from .labels import LabelColumn, LabelColumns, Labels, SeveralLabels

#: Schema or field metadata with a grid, as a JSON list of times.
GRID_KEY = "survgauge.times"


@dataclass(frozen=True)
class TimeColumn:
    """A column with one predicted time per subject.

    Parameters
    ----------
    column : str
        Its name.
    """

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

    def of(self, batch: Batch) -> Any:
        """Read the predictions of a batch."""
        return RiskScores(batch.vector(self.column))


@dataclass(frozen=True)
class CurveColumns:
    """Columns with survival curves on one grid of times.

    Parameters
    ----------
    columns : str or sequence of str
        A column of lists (of any or of fixed size), wide columns one by one, or a prefix with a
        star: ``"cox_*"`` are all columns that begin with ``cox_``, the rest of their names being
        the times.
    times : array-like, optional
        The grid. Not needed where the names of wide columns say it, or where the Arrow schema has
        it as metadata (``survgauge.times``, a JSON list).
    interpolation, tail : str
        As for `SurvivalCurves`.
    """

    columns: str | tuple[str, ...]
    times: tuple[float, ...] | None = None
    interpolation: str = "linear"
    tail: str = "linear"
    #: What the names of wide columns begin with, once they have been found by it.
    prefix: str | None = None

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, INTERPOLATIONS)
        check_tail(self.tail)
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", as_names(self.columns, "columns"))
        if self.times is not None:
            grid = vector(self.times, "times", minimum=0.0)
            object.__setattr__(self, "times", tuple(grid.tolist()))

    @property
    def reads(self) -> list[str]:
        """Columns to read."""
        return [self.columns] if isinstance(self.columns, str) else list(self.columns)

    def resolved(self, batch: Batch) -> CurveColumns:
        """Fill in what the first batch tells: names of wide columns, the grid."""
        spec = self
        if isinstance(spec.columns, str) and spec.columns.endswith("*"):
            prefix = spec.columns[:-1]
            names = [name for name in batch.names if name.startswith(prefix)]
            if not names:
                raise InputError(f"{batch.label}: no column begins with {prefix!r}")
            spec = replace(spec, columns=tuple(names), prefix=prefix)
            if spec.times is None:
                spec = replace(spec, times=_times_of(names, prefix, batch))
        if spec.times is None:
            named = None
            if isinstance(spec.columns, str):
                named = batch.metadata(spec.columns, GRID_KEY)
            if named is None:
                raise InputError(
                    f"{batch.label}: the curves in {spec.columns!r} need their grid: give "
                    f"CurveColumns(..., times=[...]) or --grid, or write it into the file as "
                    f"metadata {GRID_KEY!r}"
                )
            spec = replace(spec, times=_named_grid(named, batch))
        return spec

    def of(self, batch: Batch) -> Any:
        """Read the curves of a batch."""
        if isinstance(self.columns, str):
            values = batch.matrix(self.columns)
            self._same_grid(batch)
        else:
            self.refuse_more(batch.names, batch.label)
            columns = [batch.vector(name) for name in self.columns]
            kind = np.result_type(*columns)
            values = np.empty((len(batch), len(columns)), dtype=kind if kind.kind == "f" else float)
            for k, column in enumerate(columns):
                values[:, k] = column
        times = np.array(self.times)
        if values.shape[1] != times.size:
            raise InputError(
                f"{batch.label}: curves in {self.columns!r} have {values.shape[1]} values, their "
                f"grid has {times.size} times"
            )
        return SurvivalCurves(times, values, self.interpolation, self.tail)

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse wide columns that the first batch did not have: they would be left out."""
        if self.prefix is not None:
            known = set(self.columns)
            more = [n for n in names if n.startswith(self.prefix) and n not in known]
            if more:
                raise InputError(
                    f"{label}: column {more[0]!r} begins with {self.prefix!r}, but the first batch "
                    "has no such column; curves must have the same times everywhere"
                )

    def _same_grid(self, batch: Batch) -> None:
        """Refuse a file whose metadata say another grid."""
        named = batch.metadata(str(self.columns), GRID_KEY)
        if named is not None and _named_grid(named, batch) != self.times:
            raise InputError(
                f"{batch.label}: the grid of {self.columns!r} differs from that of other files"
            )


def _named_grid(named: bytes, batch: Batch) -> tuple[float, ...]:
    """Grid in the metadata of a file."""
    try:
        return tuple(float(t) for t in json.loads(named))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{batch.label}: metadata {GRID_KEY!r} must be a JSON list of times; got {named!r}"
        ) from error


def _times_of(names: list[str], prefix: str, batch: Batch) -> tuple[float, ...]:
    """Times in the names of wide columns."""
    try:
        return tuple(float(name[len(prefix) :]) for name in names)
    except ValueError as error:
        raise InputError(
            f"{batch.label}: columns that begin with {prefix!r} must go on with times; {error}"
        ) from None


Spec = TimeColumn | RiskColumn | CurveColumns


@dataclass(frozen=True)
class Layout:
    """Which column is what; `read` turns a batch into outcomes and predictions."""

    predictions: dict[str, Any]
    time: str = "time"
    event: str = "event"
    weight: str | None = None
    by: LabelColumn | LabelColumns | None = None
    #: Columns of the laws per subject, by `law` and `censoring`.
    laws: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        predictions: Any,
        time: str = "time",
        event: str = "event",
        weight: str | None = None,
        by: Any = None,
        conditional: Any = None,
    ) -> Layout:
        """Check what the caller says about columns; a single name is called "model"."""
        for argument, column in (("time", time), ("event", event), ("weight", weight)):
            if not isinstance(column, str) and (column is not None or argument != "weight"):
                raise InputError(
                    f"{argument}_column must be the name of a column; got {shown(column)}"
                )
        if not isinstance(predictions, Mapping):
            predictions = {"model": predictions}
        if not predictions:
            raise InputError("predictions must name at least one model; got an empty mapping")
        specs = {}
        for name, spec in predictions.items():
            if not isinstance(spec, str | TimeColumn | CurveColumns):
                raise InputError(
                    f"predictions[{name!r}] must be the name of a column, TimeColumn, RiskColumn "
                    f"or CurveColumns; got {type(spec).__name__}"
                )
            specs[str(name)] = spec
        if len(specs) < len(predictions):
            raise InputError(f"predictions must have distinct names; got {list(predictions)}")
        return cls(specs, time, event, weight, LabelColumn.of(by), _laws(conditional))

    @property
    def outcome_columns(self) -> list[str]:
        """Columns of the outcomes, and of the groups."""
        weight = [] if self.weight is None else [self.weight]
        return [self.time, self.event, *weight, *([] if self.by is None else self.by.columns)]

    def columns(self) -> list[str]:
        """All columns to read (after `resolved`)."""
        specs = [*self.predictions.values(), *self.laws.values()]
        read = [name for spec in specs for name in spec.reads]
        return list(dict.fromkeys([*self.outcome_columns, *read]))

    def resolved(self, batch: Batch) -> Layout:
        """Decide from the first batch what names alone leave open."""
        specs: dict[str, Any] = {}
        for name, spec in self.predictions.items():
            if isinstance(spec, str):
                if spec.endswith("*") or batch.is_curves(spec):
                    spec = CurveColumns(spec)
                else:
                    spec = TimeColumn(spec)
            specs[name] = spec.resolved(batch)
        laws = {name: spec.resolved(batch) for name, spec in self.laws.items()}
        return replace(self, predictions=specs, laws=laws)

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse a file with wide columns that the first one did not have."""
        for spec in (*self.predictions.values(), *self.laws.values()):
            if isinstance(spec, CurveColumns):
                spec.refuse_more(names, label)

    def outcomes(self, batch: Batch) -> Outcomes:
        """Read the outcomes of a batch."""
        try:
            y = Outcomes(batch.vector(self.time), batch.vector(self.event)).of_one_cause()
            if self.weight is None:
                return y
            # Not by Outcomes: the frequencies of a batch may all be zero.
            given = batch.vector(self.weight)
            weight = vector(given, "weight", length=len(y), minimum=0.0, largest=LARGEST)
            return Outcomes._trusted(y.time, y.event, weight.copy())
        except InputError as error:
            raise located(error, batch.label) from error

    def labels(self, batch: Batch, start: int) -> Labels | SeveralLabels | None:
        """Read the groups of a batch whose rows begin at `start`; None where there are none."""
        return None if self.by is None else self.by.read(batch, start)

    def read(self, batch: Batch) -> tuple[Outcomes, dict[str, Prediction]]:
        """Read outcomes and predictions of a batch."""
        y = self.outcomes(batch)
        found = {}
        for name, spec in self.predictions.items():
            try:
                found[name] = Prediction.of(spec.of(batch), len(y), name)
            except InputError as error:
                raise located(error, batch.label) from error
        return y, found

    def conditional(self, batch: Batch) -> Conditional | None:
        """Read the laws of the subjects of a batch; None where there are none."""
        if not self.laws:
            return None
        try:
            curves = {name: spec.of(batch) for name, spec in self.laws.items()}
            columns = {name: f"given in {spec.columns!r}" for name, spec in self.laws.items()}
            return Conditional(**curves, how=columns)
        except InputError as error:
            raise located(error, batch.label) from error


def _laws(given: Any) -> dict[str, CurveColumns]:
    """Check which columns hold laws per subject; a column's name is one of curves."""
    if given is None:
        return {}
    known = ("law", "censoring")
    if not isinstance(given, Mapping) or not given or any(key not in known for key in given):
        raise InputError(
            "conditional must say in a stream which columns hold curves per subject: "
            f"{{'law': column}}, {{'censoring': column}} or both; got {shown(given)}"
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


def located(error: SurvgaugeError, label: str) -> SurvgaugeError:
    """Return the error with the place that it happened at, once."""
    text = str(error)
    if text.startswith(label):
        return error
    kind = UndefinedMetricError if isinstance(error, UndefinedMetricError) else InputError
    return kind(f"{label}: {text}")
