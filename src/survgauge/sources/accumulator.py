"""The evaluation of a stream so far: batches go in, parts merge, the evaluation comes out."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from typing import Any

from ..errors import InputError
from ..evaluation.chunk import CHUNK_ROWS, Chunk, joined_chunks
from ..evaluation.entry_remarks import denied_entries
from ..evaluation.fold import Fold
from ..evaluation.time_units import SomeTimes
from ..metrics.problem import Problem
from .batches import Batch
from .labels import GroupKey, Groups, check_groups_of
from .layout import located
from .outline import FEW_TIMES, Outline
from .question import Scoring

#: At most so many chunks of groups wait, and so many predicted values.
_CHUNKS_WAITING, _VALUES_WAITING = 8, 8_000_000


class Accumulator:
    """All that a stream has said so far: `update` with batches, `merge` parts.

    It is small (unless metrics that rank subjects keep their columns) and can be pickled; parts can
    be merged in any order.
    """

    def __init__(self, scoring: Scoring) -> None:
        self._scoring: Scoring | None = scoring
        #: Rows seen; rows of weight zero are absent, but seen.
        self.rows = 0
        ranked = any(metric.weights_by_g for metric in scoring.plan.kind("ranked"))
        most = None if scoring.request.own_g and ranked else FEW_TIMES
        self.outline = Outline(scoring.request.min_at_risk, False, scoring.counted, most)
        #: Rows seen, as sorted intervals [start, stop).
        self.seen: list[tuple[int, int]] = []
        #: Subjects and events past the threshold.
        self.past = (0, 0)
        #: The fold of everybody (None), and one per group.
        self.folds: dict[GroupKey | None, Fold] = {}
        #: How many late entries each model denies, see `check_entry`.
        self.denied: Counter[str] = Counter()
        #: Times of some subjects, see `check_units`.
        self.looked = SomeTimes()
        #: Chunks of groups that have not been scored yet: some hundred subjects cost as much as
        #: some thousand.
        self._waiting: dict[GroupKey, list[Chunk]] = {}
        self._waiting_rows = 0

    @property
    def scoring(self) -> Scoring:
        """What is asked."""
        if self._scoring is None:
            raise InputError("this part was detached from its question; attach it first")
        return self._scoring

    def detach(self) -> Accumulator:
        """Leave the question behind, with the reference set in it: parts travel light."""
        self.settle()
        self._scoring = None
        return self

    def attach(self, scoring: Scoring) -> Accumulator:
        """Give a detached part its question back."""
        self._scoring = scoring
        return self

    # -- in ------------------------------------------------------------------------------------

    def update(self, batch: Any, start: int | None = None, label: str = "batch") -> None:
        """Add a batch: mapping of columns, frame or Arrow batch, whose rows begin at `start`.

        Without `start` its rows follow the last ones.
        """
        data = batch if isinstance(batch, Batch) else Batch(batch, label)
        begin = (self.seen[-1][1] if self.seen else 0) if start is None else start
        layout, size = self.scoring.layout, self.scoring.chunk_rows
        for first in range(0, len(data), size):
            part, at = data, begin + first
            if len(data) > size:
                part = data.rows(first, min(first + size, len(data)))
                part.label = f"{data.label}, from row {at} on"
            y, predictions, laws = layout.read(part)
            problem = replace(self.scoring.problem, y=y, start=at, conditional=laws)
            if problem.cause is not None:
                predictions = {m: p.ranked_by(problem.until) for m, p in predictions.items()}
            with located(part.label):
                self._add(Chunk(problem, predictions, part.label), layout.groups(part, at))

    def _add(self, chunk: Chunk, groups: Groups) -> None:
        y, start = chunk.y, chunk.problem.start
        self._mark([(start, start + len(y))])
        self.rows += len(y)
        self.outline.update(y, start)
        self.looked.update(chunk.problem, chunk.predictions)
        if y.entry is not None:
            found = {name: denied_entries(y, p) for name, p in chunk.predictions.items()}
            self.denied.update(found)
        late = y.time > self.scoring.threshold
        if y.weighted:
            late &= y.weight > 0
        self.past = self.past[0] + int(late.sum()), self.past[1] + int((late & y.event).sum())
        if not groups:
            self._score(None, chunk)
            return
        plan = self.scoring.plan
        chunk = chunk.drawn(plan.n_boot, plan.seed)  # draws go by the numbers of all rows
        self._score(None, chunk)
        for label, rows in groups:
            part = chunk.subset(rows)
            problem, own = self.scoring.of_group(label)[0], part.problem
            part = replace(part, problem=_about(problem, own))
            self._waiting.setdefault(label, []).append(part)
        check_groups_of(dict.fromkeys([*self.folds, *self._waiting]))
        self._waiting_rows += len(chunk)
        if self._waiting_rows >= self._most_waiting(chunk):
            self.settle()

    def _most_waiting(self, chunk: Chunk) -> int:
        values = sum(
            1 if p.curves is None else p.curves.survival.shape[1]
            for p in chunk.predictions.values()
        )
        groups = min(len(self.folds) + len(self._waiting), _CHUNKS_WAITING)
        return min(groups * CHUNK_ROWS, _VALUES_WAITING // values)

    def settle(self) -> None:
        """Score what waits."""
        waiting, self._waiting, self._waiting_rows = self._waiting, {}, 0
        for label, chunks in waiting.items():
            chunk = joined_chunks(chunks)
            with located(chunk.label):
                self._score(label, chunk)

    def _score(self, label: GroupKey | None, chunk: Chunk) -> None:
        if label not in self.folds:
            self.folds[label] = Fold(self.scoring.of_group(label)[1])
        self.folds[label].add(chunk)

    def _mark(self, spans: list[tuple[int, int]]) -> None:
        """Remember which rows were seen; the same row twice would count twice."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted([*self.seen, *spans]):
            if merged and first < merged[-1][1]:
                raise InputError(
                    f"rows {first} to {min(last, merged[-1][1]) - 1} came twice; give each batch "
                    "the number of its first row in the whole test set (`start`)"
                )
            if merged and first == merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        self.seen = merged

    # -- together ------------------------------------------------------------------------------

    def merge(self, other: Accumulator) -> None:
        """Add the chunks of another part of the same stream, which stays as it is."""
        self.settle()
        other.settle()
        self._mark(other.seen)
        self.rows += other.rows
        self.outline.merge(other.outline)
        self.denied.update(other.denied)
        self.looked.merge(other.looked)
        self.past = self.past[0] + other.past[0], self.past[1] + other.past[1]
        for label, fold in other.folds.items():
            if label in self.folds:
                self.folds[label].merge(fold)
            else:
                self.folds[label] = deepcopy(fold)
        check_groups_of(self.folds)


def _about(question: Problem, subjects: Problem) -> Problem:
    """Return a question about the subjects of another."""
    return replace(
        question,
        y=subjects.y,
        rows=subjects.rows,
        start=subjects.start,
        conditional=subjects.conditional,
    )
