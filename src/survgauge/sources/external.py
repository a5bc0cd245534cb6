"""Concordance on disk: exact, with ties, for more subjects than fit into memory.

Subjects are written to blocks by ranges of time, so that equal times share a block. Pairs inside a
block are counted in memory. Of a pair of blocks only the risks matter: everybody in the later one
is observed longer than every event of the earlier one, so sorted arrays of risks are merged. With B
blocks every subject is read B times.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from ..errors import UndefinedMetricError
from ..metrics.details import Details
from ..metrics.ipcw import g_rules
from ..metrics.problem import Problem
from ..metrics.ranking._concordance import Question, as_close_as, make_question
from ..metrics.ranking._inversions import back
from ..metrics.ranking._pairs import pair_counts
from ..metrics.ranking._tally import Tally, tally_counts
from ..metrics.support import SupportSum
from ..reference.estimated_g import Pulls
from ..reference.g_source import WholeG
from .g_sums import GBins, GSums
from .memory import block_bytes
from .moments import Moments
from .plan import make_problem, whole_g
from .spill import Piece, Spill, as_rows

#: With fewer events a C below one half is no sign of anything (as in memory).
_FEW_EVENTS = 10


@dataclass(frozen=True)
class ConcordanceMeasured:
    """A C-index from sums over blocks."""

    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    moments: Moments
    index: int
    #: Sums by time, with their groups and rules, where G is that of the test subjects.
    by_time: tuple[GSums, GBins, dict[str, str]] | None = None
    psi: None = None
    frequency: None = None

    @property
    def pull(self) -> Floats:
        """What one subject's pairs change in the value; both of a pair count it."""
        return 2.0 * self.moments.ratio_pull(self.index)

    @property
    def stderr(self) -> float:
        """Analytic standard error."""
        return self._stderr(self.pull)

    def stderr_against(self, other: Any) -> float:
        """Standard error of the difference from another model on the same subjects."""
        return self._stderr(self.pull - other.pull)

    def _stderr(self, pull: Floats) -> float:
        if self.by_time is None:
            return self.moments.stderr(pull)
        sums, bins, rules = self.by_time
        return self.moments.stderr(pull, sums.more_variance(pull, bins, rules))


class Blocks:
    """Subjects in files by ranges of time, each with its outcome and every model's risk.

    Parameters
    ----------
    folder : Path
        Where the files go.
    edges : ndarray
        Increasing times: block k holds edges[k-1] <= time < edges[k].
    models : names
        Whose risks follow.
    weighted : bool
        Whether subjects have frequencies.
    """

    def __init__(
        self, folder: Path, edges: Floats, models: tuple[str, ...], weighted: bool
    ) -> None:
        self.folder, self.edges, self.models, self.weighted = folder, edges, models, weighted
        self.width = 2 + len(models) + weighted

    def __len__(self) -> int:
        return int(self.edges.size) + 1

    def _path(self, k: int) -> Path:
        return self.folder / f"block{k:05d}.bin"

    def add(self, y: Outcomes, risks: dict[str, Floats]) -> None:
        """Append subjects to their blocks."""
        self.add_rows(as_rows(y, (risks[m] for m in self.models)))

    def add_rows(self, rows: Floats) -> None:
        """Append subjects whose numbers stand in rows."""
        where = self.edges.searchsorted(rows[:, 0], "right")
        order = where.argsort(kind="stable")
        rows = rows[order]
        bounds = np.searchsorted(where[order], np.arange(len(self) + 1))
        for k in np.flatnonzero(np.diff(bounds)):
            with self._path(int(k)).open("ab") as stream:
                rows[bounds[k] : bounds[k + 1]].tofile(stream)

    def largest(self) -> tuple[int, int]:
        """Number and rows of the block with most subjects."""
        sizes = {
            k: self._path(k).stat().st_size // (8 * self.width)
            for k in range(len(self))
            if self._path(k).exists()
        }
        k = max(sizes, key=lambda block: sizes[block])
        return k, sizes[k]

    def __iter__(self) -> Iterator[tuple[int, Outcomes, dict[str, Floats]]]:
        """Read the blocks that have subjects, one after the other."""
        for k in range(len(self)):
            if self._path(k).exists():
                yield k, *self._read(k)

    def _read(self, k: int) -> tuple[Outcomes, dict[str, Floats]]:
        rows = np.fromfile(self._path(k)).reshape(-1, self.width)
        time, event = rows[:, 0].copy(), rows[:, 1] > 0
        weight = rows[:, -1].copy() if self.weighted else None
        risks = {m: rows[:, 2 + i].copy() for i, m in enumerate(self.models)}
        return Outcomes._trusted(time, event, weight), risks


class External:
    """C-indices of a stream on disk; see the module."""

    def __init__(self, names: list[str], fit: Any) -> None:
        self.names, self._fit, self._disk = names, fit, Spill()
        self.spill_rows: int = fit.spill_rows
        #: Rows that a block may have; None: as memory allows when all have been scored.
        self.block_rows: int | None = None

    def __enter__(self) -> External:
        return self

    def __exit__(self, *error: object) -> None:
        self._disk.close()

    def spill(self, part: Any) -> None:
        """Take the columns of a part off its hands, and write them to disk."""
        self._disk.write(part)

    def cells(self, plan: Any, whole: Any) -> dict[Any, dict[tuple[str, str], Any]]:
        """Return what computes each cell of each group: {group: {(model, metric): function}}."""
        if plan.problem.reference is None:
            return {}
        known = None if plan.follow else plan.problem.censoring
        problem = make_problem(whole.outline, plan.problem.reference, plan.settings, known)
        return {
            group: self._cells(part.plan, _of_part(problem, part), part)
            for group, part in whole.parts()
        }

    def _cells(self, plan: Any, problem: Problem, total: Any) -> dict[tuple[str, str], Any]:
        models = tuple(plan.layout.predictions)
        pieces = sorted(total.spilled, key=lambda piece: piece.start)
        undefined: dict[str, str] = {}
        for piece in pieces:
            undefined = {**piece.undefined, **undefined}
        most = self.block_rows or self._fit.block_rows(plan)
        edges = time_edges(pieces, total.rows, most)
        folder = self._disk.folder()
        blocks = Blocks(folder, edges, models, total.outline.weighted)
        for piece in pieces:
            blocks.add_rows(piece.read())
            if plan.layout.by is None:  # groups share their files
                Path(piece.path).unlink()
        self._check(blocks, most, plan)
        cells: dict[tuple[str, str], Any] = {}
        for name in self.names:
            known = {m for m in models if m not in undefined}
            used = tuple(m for m in models if m in known)
            bins = None
            if name == "uno" and isinstance(problem.censoring, WholeG):
                bins = plan.bins or GBins(total.outline.counts())
            found_all = _attempt(blocks, name, problem, used, bins)
            for model in models:
                cells[model, name] = _Cell(found_all, model, undefined.get(model))
            self._fit.watch()
        shutil.rmtree(folder)
        return cells

    def _check(self, blocks: Blocks, most: int, plan: Any) -> None:
        """Refuse a block that cannot be counted within the limit: equal times are not cut."""
        k, rows = blocks.largest()
        size = rows * block_bytes(plan)
        # Edges come from a sample: some more is no surprise.
        if rows > 2 * most and size > self._fit.room:
            where = f"{blocks.edges[max(k - 1, 0)]:g}"
            what = f"{rows} subjects have (nearly) the same time, around {where}, and counting"
            self._fit.refuse(f"{what} their pairs takes", size)


def _of_part(problem: Problem, part: Any) -> Problem:
    """Return the question for a group, with its own G where G is that of the test subjects."""
    plan = part.plan
    if not isinstance(problem.censoring, WholeG):
        return problem
    own = whole_g(part.outline, plan.settings) if plan.follow else plan.problem.censoring
    return replace(problem, censoring=own)


class _Cell:
    """Give a cell, or raise why it is undefined."""

    def __init__(self, found: Any, model: str, why: str | None) -> None:
        self._found, self._model, self._why = found, model, why

    def __call__(self) -> Any:
        if self._why is not None:
            raise UndefinedMetricError(self._why)
        if isinstance(self._found, UndefinedMetricError):
            raise self._found
        return self._found[self._model]


def _attempt(
    blocks: Blocks, name: str, problem: Problem, models: tuple[str, ...], bins: GBins | None
) -> Any:
    try:
        return concordance_by_blocks(blocks, name, problem, models, bins)
    except UndefinedMetricError as error:
        return error


def time_edges(pieces: list[Piece], rows: int, block_rows: int) -> Floats:
    """Times that cut the subjects into blocks of about equal size."""
    wanted = -(-rows // block_rows)
    if wanted <= 1:
        return np.empty(0)
    sample = []
    for piece in pieces[:: max(1, len(pieces) // 64)]:
        time = piece.read()[:, 0]
        sample.append(time[:: max(1, time.size // 4096)].copy())
    ordered = np.sort(np.concatenate(sample))
    picked = ordered[(np.arange(1, wanted, dtype=np.int64) * ordered.size) // wanted]
    return np.unique(picked)


def concordance_by_blocks(
    blocks: Blocks,
    name: str,
    problem: Problem,
    models: tuple[str, ...],
    bins: GBins | None = None,
) -> dict[str, ConcordanceMeasured]:
    """Count all pairs of all models, block against block; `bins` where G is the subjects' own."""
    ranked = _Ranked(blocks.folder)
    support = SupportSum()
    last: Question | None = None
    for k, y, risks in blocks:
        last = _question(y, name, problem)
        support.add(last._support(), mass=float(y.weight.sum()))
        for model in models:
            ranked.write(k, model, last, as_close_as(last.convention, risks[model]))
    if last is None:
        raise UndefinedMetricError(f"method '{name}' has no subjects")
    moments = Moments(len(models) + 1)
    tallies = {m: Tally(0, 0, 0) for m in models}
    sums = None if bins is None else GSums(len(models) + 1, bins)
    for k, y, risks in blocks:
        question = _question(y, name, problem)
        values = np.zeros((len(models) + 1, len(y)))
        for i, model in enumerate(models):
            risk = as_close_as(question.convention, risks[model])
            counted = _Counted(question, risk, ranked.rows(k, model))
            for other in ranked.known:
                if other < k:
                    counted.earlier(ranked.read(other, model, "anchors"))
                elif other > k:
                    counted.later(ranked.read(other, model, "all"))
            tallies[model] = tallies[model] + counted.finish()
            values[i], values[-1] = counted.credit, counted.total
            if bins is not None and sums is not None:
                place, anchored = bins.place(y.time), 2.0 * counted.anchored  # 1/G^2
                sums.update(i, place, y.event, values[i], Pulls.of_events(anchored[0]))
                if i == 0:
                    last_one = len(models)
                    sums.update(last_one, place, y.event, values[-1], Pulls.of_events(anchored[1]))
        _add(moments, values, y)
    by_time = None
    if bins is not None and sums is not None:
        by_time = sums, bins, g_rules(problem.convention)
    return {
        model: _measured(last, tallies[model], support, moments, i, by_time)
        for i, model in enumerate(models)
    }


class _Ranked:
    """Risks of every block in order, with running sums of weights, on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.known: list[int] = []
        self._numbers: dict[str, int] = {}

    def _path(self, k: int, model: str, kind: str) -> Path:
        number = self._numbers.setdefault(model, len(self._numbers))
        return self._folder / f"ranked{k:05d}-{number}-{kind}.npy"

    def write(self, k: int, model: str, question: Question, risk: Floats) -> None:
        """Sort the risks of a block: of everybody, and of the anchors."""
        if k not in self.known:
            self.known.append(k)
        order = np.argsort(risk, kind="stable")
        np.save(self._path(k, model, "rows"), order)
        mass = np.ones(risk.size) if question.mass is None else question.mass
        np.save(self._path(k, model, "all"), np.stack((risk[order], np.cumsum(mass[order]))))
        pull = _anchor_weight(question) * mass
        order = order[pull[order] > 0]
        np.save(self._path(k, model, "anchors"), np.stack((risk[order], np.cumsum(pull[order]))))

    def read(self, k: int, model: str, kind: str) -> Floats:
        """Return risks in order (first row) and the sum of weights up to each."""
        found: Floats = np.load(self._path(k, model, kind))
        return found

    def rows(self, k: int, model: str) -> Ints:
        """Return the subjects of a block by risk."""
        found: Ints = np.load(self._path(k, model, "rows"))
        return found


def _add(moments: Moments, values: Floats, y: Outcomes) -> None:
    if not y.weighted:
        moments.update(values)
        return
    present = y.weight > 0
    frequency = y.weight[present]
    moments.update(values[:, present] / frequency, frequency)


def _question(y: Outcomes, name: str, problem: Problem) -> Question:
    """The pairs of a block, as `evaluate` asks for them."""
    if name == "harrell":
        return make_question(y, method="harrell")
    if not problem.horizon > 0:
        raise UndefinedMetricError("follow-up supports no time above 0: the horizon is 0")
    return make_question(
        y,
        method="uno",
        y_train=problem.reference,
        tau=float(np.nextafter(problem.horizon, np.inf)),
        convention=problem.convention,
        censoring=problem.censoring,
    )


class _Counted:
    """Pairs of the subjects of one block, with each other and with other blocks.

    Subjects are kept in order of risk until the end, so that look-ups walk through memory once.
    """

    def __init__(self, question: Question, risk: Floats, rows: Ints) -> None:
        self.q, self.risk, self.rows = question, risk, rows
        self.ranked = risk[rows]
        self.mass = np.ones(1) if question.mass is None else question.mass[rows]
        pull = _anchor_weight(question)[rows] * self.mass
        self.anchors = np.flatnonzero(pull > 0)
        self.pull, self.anchor_risk = pull[self.anchors], self.ranked[self.anchors]
        self.credit, self.total = np.zeros(risk.size), np.zeros(risk.size)
        #: Credit and total of the pairs that start at a subject.
        self.anchored = np.zeros((2, risk.size))
        self.sums = np.zeros(3)

    def earlier(self, theirs: Floats) -> None:
        """Count pairs whose anchors lie in an earlier block."""
        low, high, whole = _below(theirs, self.ranked)
        # Concordant where the anchor's risk is greater; a tie is half of that.
        self.credit += self.mass * (whole - 0.5 * (low + high))
        self.total += self.mass * whole

    def later(self, theirs: Floats) -> None:
        """Count pairs of this block's anchors with a later block."""
        low, high, whole = _below(theirs, self.anchor_risk)
        self.anchored[0, self.anchors] += self.pull * (0.5 * (low + high))
        self.anchored[1, self.anchors] += self.pull * whole
        kinds = low, whole - high, high - low
        self.sums += [float((self.pull * kind).sum()) for kind in kinds]

    def finish(self) -> Tally:
        """Add the pairs within the block; return the totals of pairs that start in it."""
        self.credit += self.anchored[0]
        self.total += self.anchored[1]
        self.credit, self.total = back(self.credit, self.rows), back(self.total, self.rows)
        self.anchored = np.stack([back(part, self.rows) for part in self.anchored])
        q = self.q
        counts = pair_counts(
            q.y.time, q.anchor, self.risk, anchor_weight=q.anchor_weight, weight=q.mass
        )
        tally = tally_counts(counts, "risk", anchored=True)
        self.anchored += np.asarray(tally.anchored)
        self.credit += np.asarray(tally.credit)
        self.total += np.asarray(tally.total)
        ahead, behind, level = self.sums.tolist()
        return Tally(ahead + tally.ahead, behind + tally.behind, level + tally.level)


def _anchor_weight(question: Question) -> Floats:
    weight = question.anchor_weight
    return question.anchor.astype(np.float64) if weight is None else weight


def _below(theirs: Floats, ours: Floats) -> tuple[Floats, Floats, float]:
    """Weight of theirs below, and at or below, each of our risks, and of all of theirs."""
    ranked = theirs[0]
    summed = np.concatenate(([0.0], theirs[1]))
    low = summed[ranked.searchsorted(ours, "left")]
    high = summed[ranked.searchsorted(ours, "right")]
    return low, high, float(summed[-1])


def _measured(
    question: Question,
    tally: Tally,
    support: SupportSum,
    moments: Moments,
    index: int,
    by_time: tuple[GSums, GBins, dict[str, str]] | None,
) -> ConcordanceMeasured:
    """The value with convention and support, as in memory."""
    found = support.result()
    if not tally.pairs > 0:
        raise UndefinedMetricError(
            f"method '{question.method}' has no pair to compare among {found['subjects']} "
            f"subject(s) with {found['events']} event(s): it takes an event and somebody observed "
            "longer"
        )
    details: Details = question.details(tally)
    measured = ConcordanceMeasured(tally.value, details.convention, found, moments, index, by_time)
    found["pair_weight"] = float(tally.pairs)
    found["tied_share"] = float(tally.level / tally.pairs)
    wrong = tally.value + 1.96 * measured.stderr < 0.5 and found["events"] >= _FEW_EVENTS
    found["sign_may_be_wrong"] = bool(wrong)
    return measured
