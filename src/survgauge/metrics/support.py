"""What the data covered and what was left out: counts of a part of the subjects that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Ints
from ..errors import numbered

#: How many subjects are named one by one.
_NAMED = 5


@dataclass
class Support:
    """Support of a metric on some subjects: each number stands where it says how it merges.

    Examples
    --------
    >>> one = Support({"subjects": 4}, {"largest_weight": 2.0}, {"tail_share": (2.0, 4.0)})
    >>> one.merge(Support({"subjects": 6}, {"largest_weight": 1.0}, {"tail_share": (0.0, 6.0)}))
    >>> one.result()
    {'subjects': 10, 'largest_weight': 2.0, 'tail_share': 0.2}
    """

    #: Numbers that add up.
    counts: dict[str, Any] = field(default_factory=dict)
    #: Numbers of which the largest counts; None where there is none.
    largest: dict[str, float | None] = field(default_factory=dict)
    #: (part, whole): both add up, and the share is their ratio.
    shares: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: (part, whole, subjects) of a share that is told only where there are such subjects.
    rare_shares: dict[str, tuple[float, float, int]] = field(default_factory=dict)
    #: (sum, sum of squares) of weights: the number of equal weights that are worth as much.
    effective: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: What is the same for all subjects; None where parts differ.
    facts: dict[str, Any] = field(default_factory=dict)
    #: Why subjects were left out or changed, with counts; None where a metric has no notes.
    notes: dict[str, int] | None = None
    #: (first rows, number of rows) in the whole test set.
    rows: dict[str, tuple[list[int], int]] = field(default_factory=dict)

    def copy(self) -> Support:
        """Return a record of its own with the same numbers."""
        return Support(
            **{
                name: part.copy() if isinstance(part, dict) else part
                for name, part in vars(self).items()
            }
        )

    def name(self, key: str, rows: Ints) -> None:
        """Name some rows of the test set, if there are any."""
        if rows.size:
            self.rows[key] = rows[:_NAMED].tolist(), int(rows.size)

    def renumber(self, number: Callable[[Ints], Ints]) -> None:
        """Give rows the numbers that they have in the whole test set."""
        for key, (rows, count) in self.rows.items():
            self.rows[key] = number(np.array(rows)).tolist(), count

    def merge(self, other: Support) -> None:
        """Add the support of other subjects."""
        for key, number in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + number
        for key, value in other.largest.items():
            known = [v for v in (self.largest.get(key), value) if v is not None]
            self.largest[key] = max(known, default=None)
        for name in ("shares", "effective", "rare_shares"):
            own: dict[str, tuple[Any, ...]] = getattr(self, name)
            for key, sums in getattr(other, name).items():
                before = own.get(key, (0.0,) * len(sums))
                own[key] = tuple(a + b for a, b in zip(before, sums, strict=True))
        for key, fact in other.facts.items():
            same = key not in self.facts or self.facts[key] == fact
            unknown = same or (fact != fact and self.facts[key] != self.facts[key])
            self.facts[key] = fact if unknown else None
        if other.notes is not None:
            known_notes = self.notes or {}
            both = {**known_notes, **other.notes}
            self.notes = {k: known_notes.get(k, 0) + other.notes.get(k, 0) for k in both}
        for key, (rows, number) in other.rows.items():
            first, count = self.rows.get(key, ([], 0))
            self.rows[key] = sorted([*first, *rows])[:_NAMED], count + number

    def result(self) -> dict[str, Any]:
        """Return plain data, with sentences where there are any."""
        found: dict[str, Any] = {**self.counts, **self.facts, **self.largest}
        for key, (part, whole) in self.shares.items():
            found[key] = part / whole if whole > 0 else 0.0
        for key, (total, squares) in self.effective.items():
            found[key] = total * total / squares if squares > 0 else 0.0
        for key, (part, whole, subjects) in self.rare_shares.items():
            if subjects:
                found[key] = part / whole if whole > 0 else 0.0
        if self.notes is not None:
            found["notes"] = dict(self.notes)
        for key, (rows, number) in self.rows.items():
            found[key] = numbered(rows, total=number) if rows else ""
        return found
