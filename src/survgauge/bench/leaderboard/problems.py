"""The tasks of a leaderboard: its datasets, and folds that anybody can draw again from a seed."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.arrays import Floats, Ints, whole_number
from ..._tools.random import check_seed, stream
from ...data.outcomes import Outcomes
from ...errors import InputError, as_names, one_of
from ...evaluation.scorers import SurvivalKFold
from ...metrics.task import Task
from ..censoring import semisynthetic
from ..datasets import Dataset, available, load
from ..datasets.record import HOMES, SETS, Counts
from ..experiment.cells import content_checksum
from .results import TRACKS

if TYPE_CHECKING:
    import pandas as pd

#: Fewest events of a dataset.
FEWEST_EVENTS = 90


@dataclass(frozen=True)
class Listed:
    """A dataset of the leaderboard; `datasets.load(name)` gives it.

    >>> LISTED["veteran"].package, LISTED["veteran"].licence, LISTED["veteran"].counts.events
    ('SurvSet', 'LGPL (>= 2)', 128)
    """

    #: What `survgauge datasets` calls it.
    name: str
    title: str
    #: Package that published the data first, whose licence holds.
    origin: str
    licence: str
    #: Document that says so.
    evidence: str
    #: What the event is, and the unit of time.
    event: str
    unit: str
    #: "medicine", "genes" or "social".
    kind: str
    note: str = ""

    @property
    def counts(self) -> Counts:
        """Rows, events and features; loading refuses a dataset that has others."""
        return SETS[self.name].counts

    @property
    def counted(self) -> str:
        """What the event is, and what else has to be known of the rows."""
        return f"{self.event} ({self.note})" if self.note else self.event

    @property
    def package(self) -> str:
        """Package to install, which has the data inside."""
        return HOMES[SETS[self.name].home]["package"]


def _read() -> tuple[dict[str, Listed], dict[str, str]]:
    path = Path(__file__).with_name("datasets.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    terms = table["licences"]
    listed = {
        name: Listed(name=name, **entry, **terms[entry["origin"]])
        for name, entry in table["sets"].items()
    }
    return listed, table["left_out"]


#: Datasets of the leaderboard by name, and why others are left out.
LISTED, LEFT_OUT = _read()


#: Datasets of the track with known truth: many events, of medicine and of work.
TRUTH = ("colon", "GBSG2", "LeukSurv", "TRACE", "rott2", "UnempDur")
#: Most times at which curves are read.
GRID = 64
#: Share of subjects whose event the drawn censoring hides, in the track with known truth.
DRAWN_RATE = 0.4
MAIN, KNOWN = TRACKS


@dataclass(frozen=True)
class Design:
    """What the tasks depend on, and nothing else.

    >>> Design.of(["veteran", "colon"], repeats=2).truth
    ('colon',)
    """

    datasets: tuple[str, ...]
    #: Datasets of the track with known truth.
    truth: tuple[str, ...]
    repeats: int = 1
    seed: int = 0
    max_rows: int = 2000
    folds: int = 5

    @classmethod
    def of(
        cls,
        datasets: Iterable[str] | None = None,
        truth: Iterable[str] | None = None,
        **settings: Any,
    ) -> Design:
        """Check what a caller asks for; by default all listed datasets."""
        names = tuple(LISTED) if datasets is None else as_names(datasets, "datasets")
        known = tuple(n for n in names if n in TRUTH) if truth is None else as_names(truth, "truth")
        if not names:
            raise InputError("datasets must have at least one name; got none")
        listing = available().names
        for argument, given in (("datasets", names), ("truth", known)):
            for name in given:
                one_of(argument, name, listing, "survgauge datasets")
                if given.count(name) > 1:
                    raise InputError(f"{argument} has {name!r} twice")
        found = cls(names, known, **settings)
        for key, least in (("repeats", 1), ("max_rows", 50), ("folds", 2)):
            whole_number(getattr(found, key), key, least)
        check_seed(found.seed, "seed")
        return found

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Design:
        """Read what `to_dict` wrote."""
        known = {item.name for item in fields(cls)}
        settings = {key: value for key, value in record.items() if key in known}
        return cls.of(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for a store and for ``tasks.json``."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def places(self) -> list[tuple[str, str]]:
        """Tracks and datasets."""
        return [(MAIN, name) for name in self.datasets] + [(KNOWN, name) for name in self.truth]

    def stream(self, *names: str | int) -> np.random.Generator:
        """Random numbers for one purpose."""
        return stream(self.seed, "leaderboard", *names)

    def integer(self, *names: str | int) -> int:
        """Seed for one purpose; below 2^31, which every library takes."""
        return int(self.stream(*names).integers(2**31 - 1))


@dataclass(frozen=True, eq=False)
class PreparedFold:
    """Training and test part of a fold, prepared from the training rows alone."""

    X_train: Floats
    y_train: Outcomes
    X_test: Floats
    train: Ints
    test: Ints
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset as every model gets it: subjects, folds, times at which curves are read.

    Horizon, time and grid come from all outcomes of the dataset, so that they are the same for
    everybody; a model learns nothing from them but how long subjects were followed up.
    """

    design: Design
    track: str
    data: Dataset
    #: True event times, where censoring was drawn.
    true_time: Floats | None
    #: Rows of the subjects in the dataset as it is published.
    rows: Ints
    #: Subjects that it had before a sample was taken.
    before: int

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.data.name

    @property
    def y(self) -> Outcomes:
        """Outcomes of all subjects."""
        return self.data.y

    @cached_property
    def question(self) -> Task:
        """Horizon and time of interest that the outcomes support."""
        return Task.of(self.y, self.y)

    @cached_property
    def horizon(self) -> float:
        """Last time that the data support."""
        return float(self.question.horizon)

    @cached_property
    def time(self) -> float:
        """Time at which calibration is read: the median observed time, or the horizon."""
        return float(self.question.time)

    @cached_property
    def grid(self) -> Floats:
        """Times at which curves are read: quantiles of the observed times."""
        levels = np.linspace(0.0, 1.0, GRID - 2)[1:]
        quantiles = np.quantile(self.y.time, levels)
        return np.unique(np.concatenate(([0.0, self.time, self.horizon], quantiles)))

    @cached_property
    def columns(self) -> Ints:
        """Where in a file each time of the grid is: times that differ by rounding share a column.

        R names columns with 15 digits, by which 71.99999999999999 and 72 are the same.
        """
        apart = np.diff(self.grid) > 1e-9 * self.grid[1:]
        return np.concatenate(([0], np.cumsum(apart)))

    @property
    def asked(self) -> Floats:
        """Times at which files have curves: those of the grid that can be told apart."""
        return self.grid[np.unique(self.columns, return_index=True)[1]]

    @cached_property
    def folds(self) -> tuple[Ints, ...]:
        """PreparedFold of each subject, for each repeat."""
        design = self.design
        return tuple(
            SurvivalKFold(design.folds, design.integer("folds", *self.place, repeat)).folds(self.y)
            for repeat in range(design.repeats)
        )

    @property
    def place(self) -> tuple[str, str]:
        """Track and dataset."""
        return self.track, self.name

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of features, outcomes and row numbers."""
        digest = sha256(content_checksum(self.data).encode())
        digest.update(np.ascontiguousarray(self.rows, dtype="<i8").tobytes())
        return digest.hexdigest()

    def fold_checksum(self, repeat: int, fold: int) -> str:
        """SHA-256 of the sorted row numbers of a test part, one a line."""
        rows = np.sort(self.rows[self.folds[repeat] == fold])
        return sha256("".join(f"{row}\n" for row in rows.tolist()).encode()).hexdigest()

    def split(self, repeat: int, fold: int) -> PreparedFold:
        """Fill, encode and standardise, learning from training rows alone."""
        where = self.folds[repeat]
        train, test = np.flatnonzero(where != fold), np.flatnonzero(where == fold)
        X = self.data.X
        X_train, X_test, names = self.data.prepared(X.iloc[train], X.iloc[test])
        return PreparedFold(X_train, self.y[train], X_test, train, test, names)

    def ids(self, repeat: int, fold: int) -> list[str]:
        """Names of the subjects in the files of a task: a keyed hash, of their row and the task.

        So they tell nothing of the order, and a test subject has another name in the tasks that
        give its outcome. The key comes from the seed: the datasets are public, and a secret one
        would hide nothing.
        """
        where = f"{self.design.seed} {self.track} {self.name} {repeat} {fold}"
        key = f"survgauge leaderboard {where}".encode()
        each = (str(row).encode() for row in self.rows.tolist())
        return [hmac.new(key, row, sha256).hexdigest()[:16] for row in each]

    def facts(self) -> dict[str, Any]:
        """Row of the table of datasets."""
        listed, n, events = LISTED.get(self.name), len(self.y), int(self.y.event.sum())
        entry = available()[self.name]
        return {
            "track": self.track,
            "name": self.name,
            "title": listed.title if listed else self.name,
            "source": listed.origin if listed else self.data.source,
            "package": listed.package if listed else entry.source,
            "licence": listed.licence if listed else self.data.licence,
            "event": listed.counted if listed else "",
            "n": n,
            "events": events,
            "censored": 1 - events / n,
            "features": int(self.data.X.shape[1]),
            "unit": listed.unit if listed else self.data.time_unit,
            "horizon": self.horizon,
            "time": self.time,
            "subsampled": self.before > n,
            "subjects_before": self.before,
        }


def problems(design: Design) -> Iterator[Problem]:
    """Make all of them, one after the other."""
    for track, name in design.places():
        yield _made(design, track, name)


@lru_cache(2)  # what a process keeps between cells
def problem_of(design: Design, track: str, name: str) -> Problem:
    """Make the task of a dataset, or take it from memory."""
    return _made(design, track, name)


def _made(design: Design, track: str, name: str) -> Problem:
    data = load(name)
    if data.y.causes is not None or data.y.entry is not None or data.y.frequency is not None:
        raise InputError(
            f"dataset {name!r} has several causes, delayed entry or weights; the leaderboard takes "
            "right-censored outcomes of one kind of event"
        )
    X, y, rows, true_time = data.X, data.y, np.arange(len(data)), None
    if track == KNOWN:
        seed = design.integer("censoring", track, name)
        drawn = semisynthetic(X, y, "exponential", seed, rate=DRAWN_RATE, fill=data.fill)
        X, y, rows, true_time = drawn.X, drawn.y, drawn.rows, drawn.true_time
    before = len(y)
    if before > design.max_rows:
        chosen = design.stream("sample", track, name).permutation(before)[: design.max_rows]
        chosen.sort()
        X, y, rows = X.iloc[chosen], y[chosen], rows[chosen]
        true_time = None if true_time is None else true_time[chosen]
    if int(y.event.sum()) < 2 * design.folds:
        raise InputError(
            f"dataset {name!r} has {int(y.event.sum())} events in the sample, fewer than two for "
            f"each of {design.folds} folds; give a larger max_rows"
        )
    made = _like(data, X.reset_index(drop=True), y)
    return Problem(design, track, made, true_time, rows, before)


def _like(data: Dataset, X: pd.DataFrame, y: Outcomes) -> Dataset:
    """Return some subjects of a dataset."""
    return Dataset(X, y, data.name, data.source, data.licence, data.fill, time_unit=data.time_unit)
