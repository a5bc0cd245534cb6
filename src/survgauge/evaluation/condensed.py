"""A cell without its subjects: numbers that stay when the contributions are let go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._tools.arrays import Floats
from ..metrics.details import Clusters, Details, standard_error
from ..metrics.problem import Problem
from ..metrics.registry import Measured
from .score import difference_error

#: Above this many subjects cells keep no contributions: eight bytes per subject, metric and model.
CONTRIBUTIONS_LIMIT = 100_000


def passing(problem: Problem) -> Problem:
    """Return the question itself about few subjects, and one with look-ups of its own about many.

    Tables of many subjects are as large as their outcomes: they end with what looks at them.
    """
    return problem if len(problem.y) <= CONTRIBUTIONS_LIMIT else problem.anew()


@dataclass(frozen=True)
class Condensed:
    """Value, convention, support and standard errors of a cell whose contributions were dropped."""

    model: str
    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    stderr: float
    #: Standard errors of the differences from other models.
    against: dict[str, float] = field(default_factory=dict)
    psi: Floats | None = None
    frequency: Floats | None = None
    #: Of a metric whose interval comes from one.
    law: Any = None

    def __float__(self) -> float:
        return self.value

    def stderr_against(self, other: Any) -> float:
        """Standard error of the difference from another model's cell."""
        return self.against.get(getattr(other, "model", ""), float("nan"))


def contributions(cell: Measured) -> Measured:
    """Return a cell with its contributions, made once for all pairs, where it has any."""
    psi = cell.psi
    return cell if psi is None else Details(float(cell.value), psi=psi, frequency=cell.frequency)


def condensed(
    cells: dict[str, Measured | None], clusters: Clusters | None = None
) -> dict[str, Measured | None]:
    """Cells of one metric, model by model, without contributions but with all that needs them."""
    found: dict[str, Measured | None] = {}
    known = {model: contributions(cell) for model, cell in cells.items() if cell is not None}
    for model, cell in cells.items():
        if cell is None:
            found[model] = None
            continue
        others = {other: theirs for other, theirs in known.items() if other != model}
        against = {
            other: difference_error(known[model], theirs, clusters)
            for other, theirs in others.items()
        }
        stderr, law = float(cell.stderr), getattr(cell, "law", None)
        if clusters is not None and law is None:  # which knows of clusters
            psi = cell.psi
            stderr = float("nan") if psi is None else standard_error(psi, clusters=clusters)
        found[model] = Condensed(
            model, float(cell.value), cell.convention, cell.support, stderr, against,
            law=law,
        )  # fmt: skip
    return found
