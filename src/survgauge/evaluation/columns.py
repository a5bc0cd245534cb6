"""From a chunk of subjects to numbers of each of them, and from chunks to columns of all subjects.

A mean gives numerator and denominator of each subject (`Terms`). Of predictions that metrics need
of all subjects at once, but only a number or two of each, these are kept: C-indices need a risk,
AUC and ICI the probability at one time, and 1-calibration those at a few times before it. Where
subjects enter late, everybody's probabilities at its own entry and at its own time are kept too, as
these are what curves are conditioned on and read at.

Columns lie in memory or, where they are many, on disk. In the end metrics that need all subjects at
once read what was kept of the predictions as if these were whole.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats, repeated, stored_once
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, SurvgaugeError, UndefinedMetricError
from ..estimators.estimated_g import Derivative, DistributionDerivative
from ..metrics.calibration.risk_rates import curve_nodes
from ..metrics.past_curve import PastReads, past_reads
from ..metrics.record import Key, Metric
from ..metrics.score import Score, Support, Terms
from ..metrics.task import Task
from .cells import ASSUMPTIONS, goes_on, open_ended, reads_distribution, under

#: Subjects that are scored together: with fewer, threads would wait for the interpreter more often.
CHUNK_ROWS = 131_072
#: Values of curves that are scored together.
CHUNK_VALUES = 23 * CHUNK_ROWS


class Baseline(Enum):
    """Kaplan-Meier of the reference set among the models: no model can be called the same."""

    KAPLAN_MEIER = "Kaplan-Meier"


BASELINE = Baseline.KAPLAN_MEIER
ModelName = str | Baseline
#: Terms of all models on the subjects of a chunk; an error where a metric is undefined there.
TermsByModel = dict[ModelName, Terms | UndefinedMetricError]


def chunk_rows(widths: Iterable[int], asked: int | None = None) -> int:
    """Return how many subjects are scored together, whose curves have so many values each."""
    widest, most = max(widths, default=0), asked or CHUNK_ROWS
    return most if not widest else min(most, max(1024, CHUNK_VALUES // widest))


@dataclass(frozen=True)
class ChunkPlan:
    """What is asked of every chunk."""

    #: All metrics, in their order.
    metrics: tuple[Metric, ...]
    #: Whether all predictions are at hand in the end, so that nothing of them has to be kept.
    resident: bool = False
    #: Whether standard errors will be asked for; else sums over the chunk stand for its subjects.
    spread: bool = True
    #: Whether Kaplan-Meier of the reference set is scored beside the models by metrics that read
    #: past curves, which look at all of its many steps.
    reads_baseline: bool = True
    #: Whether some of the subjects enter late, perhaps not in every chunk.
    by_entry: bool = False

    def kind(self, adds_up: str) -> list[Metric]:
        """Return the metrics that add up in one way."""
        return [metric for metric in self.metrics if metric.adds_up == adds_up]

    def scores_baseline(self, metric: Metric) -> bool:
        """Whether Kaplan-Meier of the reference set is scored by a metric."""
        return metric.has_baseline and (self.reads_baseline or not metric.reads)


@dataclass
class Part:
    """What a chunk says: plain data, which can be pickled."""

    kinds: dict[str, str]
    #: Last time of a subject.
    last_time: float = 0.0
    terms: dict[Key, TermsByModel] = field(default_factory=dict)
    #: Sums of numerators and denominators under each assumed tail.
    tails: dict[tuple[Key, ModelName, str], Floats] = field(default_factory=dict)
    #: What metrics read past the models' curves.
    reads: dict[ModelName, PastReads] = field(default_factory=dict)
    #: Numbers of each subject by model, see `_numbers`, and models that have no risk.
    kept: dict[str, dict[Any, Any]] = field(default_factory=dict)
    undefined: dict[str, str] = field(default_factory=dict)
    #: What adds up in tables, by metric.
    tables: dict[str, Any] = field(default_factory=dict)


def part_of(plan: ChunkPlan, task: Task, predictions: dict[str, Prediction]) -> Part:
    """Score a chunk of subjects; those of weight zero are left out."""
    part = Part({name: p.kind for name, p in predictions.items()})
    if task.y.frequency is not None and not task.y.weight.all():
        rows = np.flatnonzero(task.y.weight)
        if not rows.size:
            return part
        task, predictions = task.subset(rows), {n: p[rows] for n, p in predictions.items()}
    if plan.by_entry and task.y.entry is None:
        task = replace(task, y=task.y.entering())
    part.last_time = float(task.y.time.max())
    _score_means(part, plan, task, predictions)
    if plan.resident:
        return part
    curves = {name: p for name, p in predictions.items() if p.curves is not None}
    for metric in plan.kind("count"):
        if curves and metric.table is not None:
            part.tables[metric.name] = metric.table()
            part.tables[metric.name].update(task, curves)
    keeps = {kept for metric in plan.kind("ranked") for kept in metric.keeps}
    if keeps:
        for name, prediction in predictions.items():
            part.kept[name] = _numbers(part, keeps, task, name, prediction)
    return part


# -- means -------------------------------------------------------------------------------------


def _score_means(
    part: Part, plan: ChunkPlan, task: Task, predictions: dict[str, Prediction]
) -> None:
    """Score the means of each family: what its metrics look up together ends with it.

    Time errors that stop within what the data support look up times of their own.
    """
    metrics = plan.kind("mean")
    models: dict[ModelName, Prediction] = dict(predictions.items())
    if any(map(plan.scores_baseline, metrics)):
        models[BASELINE] = task.baseline()
    if any(metric.reads for metric in plan.metrics):
        part.reads = {
            name: past_reads(task, prediction, task.follow_up)
            for name, prediction in models.items()
            if prediction.curves is not None and (plan.reads_baseline or name is not BASELINE)
        }
    by_family = attrgetter("family", "within_horizon")
    for _, family in groupby(sorted(metrics, key=by_family), by_family):
        own = task.subset(slice(0, len(task.y)))
        for metric in family:
            for at in metric.at_times(own):
                key = metric.key(at)
                if key in part.terms:  # a root shares the terms of its square
                    continue
                scored = {
                    model: prediction
                    for model, prediction in models.items()
                    if prediction.has(metric.needs)
                    and (model is not BASELINE or plan.scores_baseline(metric))
                }
                found = _terms(metric, at, scored)
                if not found:
                    continue
                if open_ended(metric, at):
                    _score_tails(part, key, metric, at, scored, found)
                part.terms[key] = found if plan.spread else _summed(found)


def _terms(metric: Metric, task: Task, models: dict[ModelName, Prediction]) -> TermsByModel:
    """Return the terms of every model; the Kaplan-Meier baseline may be undefined in any way."""
    found: TermsByModel = {}
    for model, prediction in models.items():
        try:
            found[model] = metric.terms_of(task, prediction)
        except UndefinedMetricError as error:
            found[model] = error
        except InputError as error:
            if model is not BASELINE:
                raise
            found[model] = UndefinedMetricError(str(error))
    return found


def _summed(found: TermsByModel) -> TermsByModel:
    """Let one number stand for all subjects of the chunk: enough for a value."""
    return {
        model: terms
        if isinstance(terms, UndefinedMetricError)
        else Terms(
            terms.a.sum(keepdims=True), terms.s.sum(keepdims=True), terms.convention, terms.support
        )
        for model, terms in found.items()
    }


def _score_tails(
    part: Part,
    key: Key,
    metric: Metric,
    task: Task,
    models: dict[ModelName, Prediction],
    given: TermsByModel,
) -> None:
    """Score again under each assumed tail, as far as it changes anything."""
    known = task.reference
    # Whether anybody may be event-free when the follow-up of the reference set ends.
    left_open = task.conditional is not None or known is None or known.last_survival > 0
    distribution = reads_distribution(metric) and left_open
    for tail in ASSUMPTIONS:
        asked = under(task, tail) if distribution else task
        others = {model: goes_on(p, metric, task, tail) for model, p in models.items()}
        same = asked is task
        moved = {m: p for m, p in others.items() if not same or p is not models[m]}
        for model, terms in {**given, **_terms(metric, asked, moved)}.items():
            sums = np.full(2, np.nan)
            if not isinstance(terms, UndefinedMetricError):
                sums[:] = terms.a.sum(), terms.s.sum()
            part.tails[key, model, tail] = sums


# -- numbers of predictions ---------------------------------------------------------------------


def _numbers(
    part: Part, keeps: set[str], task: Task, model: str, prediction: Prediction
) -> dict[Any, Any]:
    """Return the numbers that are kept of each subject: copies, not views of what was read."""
    found: dict[Any, Any] = {}
    curves, y = prediction.curves, task.y
    if "risk" in keeps or curves is None:
        try:
            found["risk"] = np.array(prediction.risk)
        except UndefinedMetricError as error:
            part.undefined[model] = str(error)
            found["risk"] = np.full(len(prediction), np.nan)
    if curves is None:
        return found
    found["like"] = type(curves), curves.interpolation, curves.tail
    read = keeps & {"path", "at_time"}
    times = [at.time_used for at in task.at_times] if read else []
    for time in times:
        if np.isfinite(time) and time > 0:
            grid = _grid(curves, time, "path" in keeps)
            found["grid", time], found["survival", time] = grid, curves.at(grid)
            if y.entry is not None:
                found["own", time], found["own survival", time] = _at_own_times(curves, y, time)
    return found


def _grid(curves: SurvivalCurves, time: float, path: bool) -> Floats:
    """Where curves are read: at one time, and for 1-calibration on the way there."""
    last = float(curves.times[-1])
    times = curve_nodes(curves, time) if path else np.array([time])
    # Where curves end matters: past it their tail is read, as from the whole curve. If that is
    # unknown it matters to AUC also if it lies later.
    ends = [last] if time > last or curves.tail == "nan" else []
    return np.union1d(times[times <= last], ends)


def _at_own_times(curves: SurvivalCurves, y: Outcomes, time: float) -> tuple[Floats, Floats]:
    """Read curves at each subject's entry, and at its own time or `time` before it: (n, 2) each."""
    # Past the end of a curve its tail is read, as from the whole curve.
    own = np.stack((np.asarray(y.entry), y.time), axis=1)
    own = np.minimum(own, np.minimum(curves.last_time, time)[:, None])
    return own, np.stack([curves.at_own(t) for t in own.T], axis=1)


#: Bytes that the columns of a folder hold in memory before they are written.
IN_MEMORY = 1 << 28


class Folder:
    """A temporary folder for columns that share what they may hold in memory."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._files = 0
        self.held = 0

    def new_file(self) -> Path:
        """Return the name of another file."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="survgauge-"))
            weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        self._files += 1
        return self._path / str(self._files)


class LongColumn:
    """Numbers of subjects, a number or a row of them for each, in the order in which they come.

    >>> column = LongColumn(Folder())
    >>> column.add(np.array([3.0, 4.0]))
    >>> column.add(np.array([1.0]))
    >>> column.whole()
    array([3., 4., 1.])
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        #: The last parts, which are in memory.
        self._parts: list[Floats] = []
        self._file: Path | None = None
        self._shape: tuple[int, ...] = (0,)

    def add(self, part: Floats) -> None:
        """Add the numbers of further subjects."""
        if not part.size:
            return
        part = np.asarray(part, dtype=np.float64)
        if part.ndim == 1 and part[0] == part[-1] and bool((part == part[0]).all()):
            part = repeated(float(part[0]), part.size)
        else:
            self._folder.held += part.nbytes
        self._parts.append(part)
        self._shape = (self._shape[0] + len(part), *part.shape[1:])
        if self._folder.held > IN_MEMORY:
            self._write()

    def _write(self) -> None:
        """Write what is in memory, unless all subjects have the same number."""
        if self._file is None and self._same() is not None:
            return
        try:
            self._file = self._file or self._folder.new_file()
            with self._file.open("ab") as file:
                for part in self._parts:
                    file.write(np.ascontiguousarray(part, dtype=np.float64).data)
        except OSError as error:
            raise SurvgaugeError(
                f"numbers of all subjects could not be written to {tempfile.gettempdir()}: "
                f"{error}; set the environment variable TMPDIR to a folder with more space"
            ) from error
        self._folder.held -= sum(part.nbytes for part in self._parts if not stored_once(part))
        self._parts = []

    def _same(self) -> float | None:
        """Return the number that all subjects have; None where they differ."""
        if not self._parts or not all(map(stored_once, self._parts)):
            return None
        first = float(self._parts[0][0])
        return first if all(part[0] == first for part in self._parts) else None

    def whole(self) -> Floats:
        """Return the numbers of all subjects."""
        if self._file is not None:
            self._write()
            return np.memmap(self._file, np.float64, "r", shape=self._shape)
        same = self._same()
        if same is not None:
            return repeated(same, self._shape[0])
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.empty(0)


class TermColumns:
    """Terms of one model under one metric."""

    def __init__(self, folder: Folder) -> None:
        self._a, self._s, self._event, self._own = (LongColumn(folder) for _ in range(4))
        #: What moves with the weights of those event-free past some times, or with a distribution.
        self._survivors: tuple[Floats, Floats] | None = None
        self._by_weight: Floats | None = None
        self._convention: dict[str, Any] = {}
        self._support = Support()
        self._s_moves = False
        self._error: UndefinedMetricError | None = None

    def add(self, found: Terms | UndefinedMetricError) -> None:
        """Add the terms of further subjects."""
        if self._error is None:
            self._error = found if isinstance(found, UndefinedMetricError) else self._ends(found)
        if self._error is not None or isinstance(found, UndefinedMetricError):
            return
        self._convention = self._convention or found.convention
        self._support.merge(found.support)
        self._s_moves |= bool(found.s_moves)
        event = own = repeated(0.0, found.a.size)
        if isinstance(found.derivative, Derivative):
            event, own = (
                found.derivative.event,
                own if found.derivative.own is None else found.derivative.own,
            )
            known = 0.0 if self._survivors is None else self._survivors[0]
            self._survivors = known + found.derivative.survivors, found.derivative.times
        elif isinstance(found.derivative, DistributionDerivative):
            self._by_weight = found.derivative.by_weight + (
                0.0 if self._by_weight is None else self._by_weight
            )
        columns = self._a, self._s, self._event, self._own
        for column, part in zip(columns, (found.a, found.s, event, own), strict=True):
            column.add(part)

    def _ends(self, found: Terms) -> UndefinedMetricError | None:
        """Refuse a score that ends at another time than that of earlier chunks.

        Curves that refuse to go on past their grid cut the score off where the first of them ends.
        """
        ends: list[Any] = [known.get("horizon") for known in (self._convention, found.convention)]
        if None in ends or ends[0] == ends[1]:
            return None
        return UndefinedMetricError(
            f"curves: tail='nan' ends the score at {min(ends):g} for some subjects and at "
            f"{max(ends):g} for others, which chunks cannot add up; choose another tail for the "
            "curves, or predict until they reach zero"
        )

    def whole(self) -> Terms:
        """Return the terms of all subjects; raise where they are undefined."""
        if self._error is not None:
            raise self._error
        derivative: Derivative | DistributionDerivative | None = None
        if self._by_weight is not None:
            derivative = DistributionDerivative(self._by_weight)
        elif self._survivors is not None:
            own = self._own.whole()
            derivative = Derivative(
                self._event.whole(), *self._survivors, own if own.any() else None
            )
        about = self._convention, self._support.copy()
        return Terms(self._a.whole(), self._s.whole(), *about, derivative, self._s_moves)


class Columns:
    """Numbers of all subjects under every metric; chunks come in the order of their rows."""

    def __init__(self, plan: ChunkPlan, folder: Folder | None = None) -> None:
        self.plan = plan
        self._folder = folder or Folder()
        self._terms: dict[tuple[Key, ModelName], TermColumns] = {}
        self._tails: dict[tuple[Key, ModelName, str], Floats] = {}
        #: By model and what it is, as `scoring` names it: a column, or what all subjects share.
        self._kept: dict[str, dict[Any, Any]] = {}
        self._undefined: dict[str, str] = {}
        self.tables: dict[str, Any] = {}
        self.reads: dict[ModelName, PastReads] = {}
        self.kinds: dict[str, str] = {}
        self.last_time = 0.0

    def add(self, part: Part) -> None:
        """Add a chunk of subjects."""
        self.kinds |= part.kinds
        self.last_time = max(self.last_time, part.last_time)
        for key, found in part.terms.items():
            for model, terms in found.items():
                known = self._terms.setdefault((key, model), TermColumns(self._folder))
                known.add(terms)
        for place, sums in part.tails.items():
            self._tails[place] = self._tails.get(place, 0.0) + sums
        for model, reads in part.reads.items():
            self.reads.setdefault(model, PastReads()).merge(reads)
        for name, table in part.tables.items():
            if name in self.tables:
                self.tables[name].merge(table)
            else:
                self.tables[name] = table
        self._undefined = part.undefined | self._undefined
        for model, numbers in part.kept.items():
            kept = self._kept.setdefault(model, {})
            for name, values in numbers.items():
                if name == "like" or name[0] == "grid":
                    kept[name] = values
                else:
                    kept.setdefault(name, LongColumn(self._folder)).add(values)

    def drop(self, name: str) -> None:
        """Let go of the terms of a metric that nobody asks for again, under its name in keys."""
        self._terms = {place: terms for place, terms in self._terms.items() if place[0][0] != name}

    def measured(self, metric: Metric, model: ModelName, task: Task) -> Score:
        """Return a mean of one model over all subjects; raise where it is undefined."""
        known = self._terms.get((metric.key(task), model))
        if known is None:
            raise UndefinedMetricError("is no mean, or does not score the baseline")
        found = metric.mean_of(known.whole(), task)
        return found if self.plan.spread else Score(found.value, found.convention, found.support)

    def tails(self, key: Key, model: ModelName, root: bool) -> tuple[float, ...]:
        """Return a mean under each assumed tail; nothing where the tail plays no part."""
        places = [(key, model, tail) for tail in ASSUMPTIONS]
        sums = [self._tails[place] for place in places if place in self._tails]
        found = np.array([a / s if s > 0 else np.nan for a, s in sums])
        if root:
            found = np.sqrt(np.where(found >= 0, found, np.nan))
        return tuple(found.tolist())

    def predictions(self, rows: int) -> dict[str, Prediction]:
        """Return what was kept of so many subjects as predictions that the metrics can read."""
        return {model: self._prediction(model, rows) for model in self._kept}

    def _prediction(self, model: str, rows: int) -> Prediction:
        kept = self._kept[model]
        by_time: dict[float, SurvivalCurves] = {}
        if "like" in kept:
            kind, *rules = kept["like"]
            for time in [name[1] for name in kept if name[0] == "grid"]:
                grid, values = kept["grid", time], kept["survival", time].whole()
                if ("own", time) in kept:
                    own = kept["own", time].whole(), kept["own survival", time].whole()
                    grid, values = _with_own(grid, values, *own)
                by_time[time] = kind._trusted(grid, values, *rules)
            if not by_time:  # it has curves, which nobody reads
                values = np.broadcast_to(np.ones(1), (rows, 1))
                by_time[0.0] = kind._trusted(np.ones(1), values, *rules)
        risk = kept["risk"].whole() if "risk" in kept else None
        return KeptPrediction(by_time, risk, self._undefined.get(model))


class KeptPrediction(Prediction):
    """A model's risks and probabilities at each time of interest, in place of its curves.

    `curves` are those of the first time; `at_time` gives the others.
    """

    def __init__(
        self, by_time: dict[float, SurvivalCurves], risk: Floats | None, why: str | None
    ) -> None:
        curves = next(iter(by_time.values()), None)
        super().__init__(curves, None, None if curves is not None else risk)
        self._by_time, self._ranks, self._why = by_time, risk, why

    def at_time(self, time: float | None) -> KeptPrediction:
        """Return what was kept for one time of interest; None: what all times share."""
        if time not in self._by_time:
            return self
        return KeptPrediction({time: self._by_time[time]}, self._ranks, self._why)

    @property
    def risk(self) -> Floats:
        """The risk that was kept."""
        if self._why is not None or self._ranks is None:
            raise UndefinedMetricError(self._why or "no risk was kept")
        return self._ranks

    def __getitem__(self, rows: Any) -> KeptPrediction:
        return KeptPrediction(
            {time: curves[rows] for time, curves in self._by_time.items()},
            None if self._ranks is None else self._ranks[rows],
            self._why,
        )


def _with_own(grid: Floats, survival: Floats, own: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return a grid for each subject: the one that all share and times of its own, in order."""
    times = np.concatenate((np.broadcast_to(grid, survival.shape), own), axis=1)
    values = np.concatenate((survival, values), axis=1)
    order = times.argsort(axis=1, kind="stable")
    times, values = (np.take_along_axis(array, order, 1) for array in (times, values))
    for k in range(1, times.shape[1]):  # where two are the same, the next number stands for one
        np.maximum(times[:, k], np.nextafter(times[:, k - 1], np.inf), out=times[:, k])
    return times, values
