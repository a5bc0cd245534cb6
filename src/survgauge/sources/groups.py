"""Groups of subjects in a stream: an accumulator each, against the same reference and horizon."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from ..data.outcomes import Outcomes
from ..errors import InputError, SurvgaugeError
from .accumulator import CHUNK_ROWS, Accumulator
from .chunks import Chunk, joined_chunks
from .counts import Outline
from .labels import LabelColumn, Labels, check_groups_of
from .layout import located
from .plan import Plan
from .sums import SumCells, draws

#: At most so many chunks wait, and so many predicted values.
_CHUNKS_WAITING, _VALUES_WAITING = 8, 8_000_000


def last_time_of(label: Any, outline: Outline) -> float:
    """Last time of a group; one without anybody in it is refused."""
    try:
        return float(outline.top().time.max())
    except InputError:
        raise InputError(
            f"by: group {label!r} has only subjects of weight zero; leave them out"
        ) from None


class GroupedOutline(Outline):
    """What a first pass finds about all subjects, and about those of each group."""

    def __init__(self, at_risk: float, keep: bool, by: LabelColumn | None, follow: bool) -> None:
        super().__init__(at_risk, False, follow)
        self._by, self._keep_groups = by, keep
        self.groups: dict[Any, Outline] = {}

    def update_groups(self, y: Outcomes, start: int, labels: Labels) -> None:
        """Add the outcomes from row `start` on."""
        self.update(y, start)
        for label, rows in labels.rows():
            if label not in self.groups:
                self.groups[label] = Outline(self.at_risk, self._keep_groups, self.follow)
            self.groups[label].update(y[rows], start)
        check_groups_of(self.groups, self._by)

    def merge(self, other: Outline) -> None:
        """Add what another part found."""
        if not isinstance(other, GroupedOutline):
            raise SurvgaugeError("only parts of one first pass can be merged")
        super().merge(other)
        for label, outline in other.groups.items():
            if label in self.groups:
                self.groups[label].merge(outline)
            else:
                self.groups[label] = deepcopy(outline)
        check_groups_of(self.groups, self._by)


class GroupedAccumulator(Accumulator):
    """A stream whose subjects come in groups: counts of all, and an accumulator for each group."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.groups: dict[Any, Accumulator] = {}
        #: Chunks of groups that have not been scored yet: some hundred subjects cost as much as
        #: some thousand.
        self._waiting: dict[Any, list[Chunk]] = {}
        self._waiting_rows = 0

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return self.__dict__

    def detach(self) -> GroupedAccumulator:
        """Leave the plan behind, that of the groups too."""
        self.settle()
        for part in self.groups.values():
            part.detach()
        self._plan = None
        return self

    def attach(self, plan: Plan) -> GroupedAccumulator:
        """Give a detached part its plan back."""
        self._plan = plan
        for label, part in self.groups.items():
            part.attach(plan.for_group(label))
        return self

    def _add(self, chunk: Chunk) -> None:
        plan, labels = self.plan, chunk.labels
        if labels is None:
            raise SurvgaugeError("this chunk has no labels")
        self._note(chunk)
        chunk = replace(chunk, counts=draws(chunk, plan.n_boot, plan.seed))
        for label, rows in labels.rows():
            if label not in self.groups:
                self.groups[label] = Accumulator(plan.for_group(label))
            self._waiting.setdefault(label, []).append(chunk.group(rows))
        check_groups_of(self.groups, plan.layout.by)
        self._waiting_rows += len(chunk)
        if self._waiting_rows >= self._most_waiting():
            self.settle()

    def _most_waiting(self) -> int:
        specs = self.plan.layout.predictions.values()
        values = sum(len(getattr(spec, "times", None) or (0,)) for spec in specs)
        rows = self.plan.batch_rows or CHUNK_ROWS
        return min(min(len(self.groups), _CHUNKS_WAITING) * rows, _VALUES_WAITING // values)

    def settle(self) -> None:
        """Score what waits."""
        waiting, self._waiting, self._waiting_rows = self._waiting, {}, 0
        for label, chunks in waiting.items():
            chunk = joined_chunks(chunks)
            try:
                self.groups[label]._add(chunk)
            except InputError as error:
                raise located(error, chunk.label) from error

    def merge(self, other: Accumulator) -> None:
        """Add the chunks of another part of the same stream, which stays as it is."""
        super().merge(other)
        self.settle()
        for label, part in other.parts():
            if label in self.groups:
                self.groups[label].merge(part)
            else:
                self.groups[label] = part.copy()
        check_groups_of(self.groups, None if self._plan is None else self._plan.layout.by)

    def result(self, confidence: float | None = 0.95, unit: str = "", **more: Any) -> Any:
        """Return the `Evaluation` of all subjects seen, group by group."""
        for label, part in self.parts():
            last_time_of(label, part.outline)
        return super().result(confidence, unit, **more)

    def parts(self) -> list[tuple[Any, Accumulator]]:
        """Groups by label, in order."""
        self.settle()
        return sorted(self.groups.items(), key=lambda item: item[0])

    def all_sums(self, key: str) -> SumCells | None:
        """Sums over the subjects of all groups."""
        total: SumCells | None = None
        for _, part in self.parts():
            if key in part.sums:
                if total is None:
                    total = deepcopy(part.sums[key])
                else:
                    total.merge(part.sums[key])
        return total
