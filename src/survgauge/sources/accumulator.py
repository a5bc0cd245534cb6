"""The evaluation of a stream so far: chunks go in, parts merge, the evaluation comes out."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.curves import SurvivalCurves
from ..data.predictions import Prediction
from ..errors import InputError, SurvgaugeError
from ..metrics.past_curve import READS, PastReads
from .batches import Batch
from .bins import OwnSurvival
from .chunks import Chunk
from .columns import Columns, time_of_interest
from .counts import FEW_TIMES, MOST_TIMES, Outline
from .g_sums import moves_with_g, rules_of
from .layout import located
from .mean_curves import MeanCurves
from .plan import Plan
from .sums import BASELINE, ModelName, SumCells, draws, score_chunk

#: Rows that are scored together: their numbers fit the cache.
CHUNK_ROWS = 65_536
#: Values of curves that are scored together.
CHUNK_VALUES = 4_000_000
#: Key of mae_po with all curves held at their last time.
HELD = "mae_po, curves held"


class Accumulator:
    """All that a stream has said so far: `update` with batches, `merge` parts, `result` in the end.

    Made by `evaluate_stream` and `evaluate_dask`. It is small (unless metrics that rank subjects
    keep their columns) and can be pickled; parts can be merged in any order.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan: Plan | None = plan
        self.fingerprint = plan.fingerprint
        #: Rows seen, and subjects and events among them: rows of weight zero are absent.
        self.rows = self.subjects = self.events = 0
        at_risk = float(plan.settings.get("min_at_risk", 10))
        most = MOST_TIMES if plan.follow and "uno" in plan.metrics else FEW_TIMES
        self.outline = Outline(at_risk, plan.keep_curves, plan.counted, most)
        #: Rows seen, as sorted intervals [start, stop).
        self.seen: list[tuple[int, int]] = []
        self.past = (0, 0)
        self.kinds: dict[str, str] = {}
        #: Weight of all subjects, and of those whose curve ends above one half.
        self.weight = 0.0
        self.shares: dict[str, float] = {}
        #: What metrics read past the models' curves.
        self.reads: dict[ModelName, PastReads] = {}
        self.sums: dict[str, SumCells] = {}
        self.bins: dict[str, OwnSurvival] = {}
        self.means: MeanCurves | None = None
        self.columns: Columns | None = None
        self.curves: list[tuple[int, dict[str, SurvivalCurves]]] = []

    @property
    def plan(self) -> Plan:
        """What is computed."""
        if self._plan is None:
            raise InputError("this part was detached from its plan; attach it first")
        return self._plan

    def detach(self) -> Accumulator:
        """Leave the plan behind, with the reference set in it: parts travel light."""
        self._plan = None
        return self

    def attach(self, plan: Plan) -> Accumulator:
        """Give a detached part its plan back."""
        self._plan = plan
        return self

    # -- in ------------------------------------------------------------------------------------

    def update(self, batch: Any, start: int | None = None, label: str = "batch") -> None:
        """Add a batch: mapping of columns, frame or Arrow batch, whose rows begin at `start`.

        Without `start` its rows follow the last ones.
        """
        data = batch if isinstance(batch, Batch) else Batch(batch, label)
        begin = (self.seen[-1][1] if self.seen else 0) if start is None else start
        size = self._chunk_rows()
        for first in range(0, len(data), size):
            part = data
            if len(data) > size:
                part = data.rows(first, min(first + size, len(data)))
                part.label = f"{data.label}, from row {begin + first} on"
            layout, at = self.plan.layout, begin + first
            y, predictions = layout.read(part)
            labels = layout.labels(part, at)
            try:
                self._add(Chunk(y, predictions, at, part.label, labels))
            except InputError as error:
                raise located(error, part.label) from error

    def _chunk_rows(self) -> int:
        if self.plan.batch_rows is not None:
            return self.plan.batch_rows
        specs = self.plan.layout.predictions.values()
        widest = max(len(getattr(spec, "times", None) or ()) for spec in specs)
        return CHUNK_ROWS if not widest else min(CHUNK_ROWS, max(1024, CHUNK_VALUES // widest))

    def _add(self, chunk: Chunk) -> None:
        plan = self.plan
        self._note(chunk)
        found = self._present(chunk)
        if found is None:
            return
        chunk, models = found, found.predictions
        self._score(chunk)
        self._add_curves(chunk)
        if plan.kept:
            if self.columns is None:
                self.columns = Columns(tuple(models), plan.kept)
            self.columns.update(chunk, time_of_interest(plan.problem))

    def _present(self, chunk: Chunk) -> Chunk | None:
        """Leave out subjects of weight zero: whatever was predicted for them, they are absent."""
        y = chunk.y
        if not y.weighted or y.weight.all():
            return chunk
        rows = np.flatnonzero(y.weight)
        if not rows.size:
            return None
        if chunk.counts is None:  # draws go by the numbers of all rows
            chunk = replace(chunk, counts=draws(chunk, self.plan.n_boot, self.plan.seed))
        return chunk.group(rows)

    def _score(self, chunk: Chunk) -> None:
        """Add to the sums."""
        plan, y, models = self.plan, chunk.y, chunk.predictions
        problem = plan.of(y)
        counts = draws(chunk, plan.n_boot, plan.seed) if chunk.counts is None else chunk.counts
        known: dict[ModelName, Prediction] = dict(models.items())
        if plan.baseline and plan.sums:
            known[BASELINE] = plan.baseline_prediction(len(y))
        scored = score_chunk(problem, known, plan.sums)
        if plan.tails:
            held: dict[ModelName, Prediction] = {
                name: Prediction(p.curves.held(), None, None)
                for name, p in models.items()
                if p.curves is not None
            }
            if plan.baseline:
                held[BASELINE] = plan.baseline_held(len(y))
            if len(held) > 1:
                mae = [m for m in plan.sums if m.name == "mae_po"]
                scored[HELD] = score_chunk(problem, held, mae)["mae_po"]
        for key, parts in scored.items():
            if key not in self.sums:
                bins = plan.bins if moves_with_g(key) else None
                rules = rules_of(key, plan.problem.convention)
                n_boot = 0 if key == HELD else plan.n_boot
                self.sums[key] = SumCells(parts, n_boot, bins, rules)
            self.sums[key].update(parts, chunk, None if key == HELD else counts, len(y))

    def _add_curves(self, chunk: Chunk) -> None:
        plan = self.plan
        curves = tuple(name for name, p in chunk.predictions.items() if p.curves is not None)
        if "d_calibration" in plan.metrics:
            for name in curves:
                self.bins.setdefault(name, OwnSurvival()).update(chunk.y, chunk.predictions[name])
        if "km_calibration" not in plan.metrics or not curves:
            return
        if plan.keep_curves:
            kept = {m: _copied(chunk.predictions[m].curves) for m in curves}
            self.curves.append((chunk.start, kept))
        elif plan.follow_up is not None:
            if self.means is None:
                self.means = MeanCurves(curves, plan.follow_up.influence.points.size)
            self.means.update(chunk, plan.follow_up)

    def _note(self, chunk: Chunk) -> None:
        """Count the subjects."""
        y = chunk.y
        if chunk.rows is None:  # of a group, who counts all subjects does
            self._mark([(chunk.start, chunk.start + len(y))])
        self.rows += len(y)
        self.subjects += y.count
        self.weight += float(y.weight.sum())
        self.events += y.event_count
        self.outline.update(y, chunk.start)
        late = (y.time > self.plan.threshold) & (y.weight > 0)
        self.past = self.past[0] + int(late.sum()), self.past[1] + int((late & y.event).sum())
        for name, prediction in chunk.predictions.items():
            self.kinds[name] = prediction.kind
            if prediction.curves is not None:
                open_ended = float(y.weight[~prediction.curves.reaches(0.5)].sum())
                self.shares[name] = self.shares.get(name, 0.0) + open_ended
        self._note_reads(chunk)

    def _note_reads(self, chunk: Chunk) -> None:
        """Count what metrics read past the curves, also past Kaplan-Meier of the reference."""
        plan, y = self.plan, chunk.y
        nobody = y.weighted and not y.weight.any()
        if nobody or not any(name in READS for name in plan.metrics):
            return
        known: dict[ModelName, Prediction] = dict(chunk.predictions.items())
        if plan.baseline:
            known[BASELINE] = plan.baseline_prediction(len(y))
        for name, prediction in known.items():
            if prediction.curves is not None:
                reads = self.reads.setdefault(name, PastReads())
                reads.add(y, prediction.curves, plan.ends)

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
        if self.fingerprint != other.fingerprint:
            raise InputError(
                "parts answer different questions (columns, metrics, settings or reference sets "
                "differ); only parts of one plan can be merged"
            )
        self._mark(other.seen)
        self.rows += other.rows
        self.subjects += other.subjects
        self.weight += other.weight
        self.events += other.events
        self.outline.merge(other.outline)
        self.past = self.past[0] + other.past[0], self.past[1] + other.past[1]
        self.kinds |= other.kinds
        for name, number in other.shares.items():
            self.shares[name] = self.shares.get(name, 0.0) + number
        for model, reads in other.reads.items():
            self.reads.setdefault(model, PastReads()).merge(reads)
        for key, cells in other.sums.items():
            _merge(self.sums, key, cells)
        for name, bins in other.bins.items():
            _merge(self.bins, name, bins)
        if other.means is not None:
            if self.means is None:
                self.means = deepcopy(other.means)
            else:
                self.means.merge(other.means)
        if other.columns is not None:
            if self.columns is None:
                self.columns = deepcopy(other.columns)
            else:
                self.columns.merge(other.columns)
        self.curves += other.curves

    def copy(self) -> Accumulator:
        """Return a part of its own with the same plan."""
        plan, self._plan = self._plan, None  # not copied: the reference set is in it
        try:
            twin = deepcopy(self)
        finally:
            self._plan = plan
        twin._plan = plan
        return twin

    # -- out -----------------------------------------------------------------------------------

    def result(self, confidence: float | None = 0.95, unit: str = "", **more: Any) -> Any:
        """Return the `Evaluation` of all subjects seen."""
        from .assemble import assemble

        return assemble(self, confidence, unit, **more)

    def parts(self) -> list[tuple[Any, Accumulator]]:
        """Groups with their labels; without groups it is all of one that has no label."""
        return [(None, self)]

    def all_sums(self, key: str) -> SumCells | None:
        """Sums over all subjects; None where nobody was scored."""
        return self.sums.get(key)

    def whole_curves(self) -> dict[str, Prediction]:
        """Return the curves that were kept, in order of their rows."""
        ordered = [kept for _, kept in sorted(self.curves, key=lambda part: part[0])]
        found = {}
        for name, like in ordered[0].items():
            values = np.concatenate([kept[name].survival for kept in ordered])
            rules = like.interpolation, like.tail
            whole = SurvivalCurves._trusted(like.times, values, *rules)
            found[name] = Prediction(whole, None, None)
        return found


def _merge(known: dict[str, Any], key: str, part: Any) -> None:
    if key in known:
        known[key].merge(part)
    else:
        known[key] = deepcopy(part)


def _copied(curves: SurvivalCurves | None) -> SurvivalCurves:
    """A copy: a view would keep all that was read with it in memory."""
    if curves is None:
        raise SurvgaugeError("these predictions have no curves")
    rules = curves.interpolation, curves.tail
    return SurvivalCurves._trusted(curves.times, np.array(curves.survival), *rules)
