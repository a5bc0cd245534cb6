"""Columns of a stream that hold cumulative incidence, one set of columns per cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._tools.arrays import shown
from ..data.incidence import INTERPOLATIONS, IncidenceCurves
from ..errors import InputError, one_of
from .batches import Batch
from .curve_columns import CurveColumns


@dataclass(frozen=True)
class IncidenceColumns:
    """Columns with the predicted cumulative incidence of every cause, on one grid of times.

    Parameters
    ----------
    columns : mapping of cause to columns
        For the name of each cause, in the order of their codes, a column of lists, wide columns one
        by one, or a prefix with a star, as for `CurveColumns`.
    times : array-like, optional
        The grid, as for `CurveColumns`.
    interpolation : {"linear", "step"}
        As for `IncidenceCurves`.

    Examples
    --------
    >>> IncidenceColumns({"relapse": "relapse_*", "death": "death_*"}).reads
    ['relapse_*', 'death_*']
    """

    columns: Mapping[str, Any]
    times: tuple[float, ...] | None = None
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        one_of("interpolation", self.interpolation, INTERPOLATIONS)
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise InputError(
                "columns must say for each cause which columns hold its incidence, such as "
                f"{{'relapse': 'relapse_*', 'death': 'death_*'}}; got {shown(self.columns)}"
            )
        columns = {
            str(cause): part if isinstance(part, CurveColumns) else CurveColumns(part, self.times)
            for cause, part in self.columns.items()
        }
        object.__setattr__(self, "columns", columns)

    @property
    def reads(self) -> list[str]:
        """Columns to read."""
        return [name for part in self.columns.values() for name in part.reads]

    def resolved(self, batch: Batch) -> IncidenceColumns:
        """Fill in what the first batch tells: names of wide columns, the grid."""
        parts = {cause: part.resolved(batch) for cause, part in self.columns.items()}
        grids = {part.times for part in parts.values()}
        if len(grids) > 1:
            raise InputError(
                f"{batch.label}: all causes must have the same times; the columns of "
                f"{', '.join(map(repr, parts))} have different ones"
            )
        return replace(self, columns=parts, times=grids.pop())

    def of(self, batch: Batch) -> IncidenceCurves:
        """Read the curves of a batch."""
        values = [part.values(batch) for part in self.columns.values()]
        stacked = np.stack(values, axis=1)
        return IncidenceCurves(self.times, stacked, tuple(self.columns), self.interpolation)

    def refuse_more(self, names: list[str], label: str) -> None:
        """Refuse wide columns that the first batch did not have: they would be left out."""
        for part in self.columns.values():
            part.refuse_more(names, label)
