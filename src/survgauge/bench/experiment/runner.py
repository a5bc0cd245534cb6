"""Run cells into a store: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..._tools import extras
from ..._tools.arrays import whole_number
from ..._tools.extras import need
from ..._tools.text import visible
from ...errors import InputError, one_of
from ...metrics.registry import REGISTRY
from .cells import DATASETS, CellTask, Outcome, failed, loaded
from .plan import Cell, Plan, distributions_of, slug
from .process import package_versions, restore_threads
from .results import Results
from .specs import looking_in
from .store import Store


def run(
    plan: Any,
    store: str | os.PathLike[str] | None = None,
    engine: Any = "local",
    *,
    scheduler: str | None = None,
    jobs: int | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    progress: bool = True,
) -> Results:
    """Run a plan and compare its metrics with the truth.

    Parameters
    ----------
    plan : Plan, mapping, path or name
        See `Plan`; ``demo``, ``paper`` and ``wide`` are shipped.
    store : path, optional
        Folder of the run, by default ``bench-NAME``.
    engine : {"local", "dask"} or distributed.Client
        Processes of this machine, or a Dask cluster.
    scheduler : str, optional
        Address of the Dask scheduler.
    jobs : int, optional
        Processes of the local engine, by default one per core; 1 runs in this process.
    resume : bool
        Go on with the run in `store`: only what is missing is run. Where predictions were kept,
        other metrics are computed from them, and nothing is fitted again.
    retry_failed : bool
        Run failed cells again, too; implies `resume`.
    progress : bool
        Whether lines on standard error say how far the run is.

    Returns
    -------
    Results
        Of all finished cells of the plan.
    """
    whole, left_out = Plan.of(plan).present()
    place = Store(store if store is not None else f"bench-{slug(whole.name)}")
    told = [f"not on this machine, left out: {', '.join(left_out)}"] if left_out else []

    def prepare(cells: list[Cell]) -> tuple[dict[str, Any], Callable[[Cell], CellTask]]:
        _check_parts(whole, [cell for cell in cells if not place.has_predictions(cell)])
        data = describe_data(cells)
        own = tuple(REGISTRY[m.name] for m in whole.metrics if m.is_registered_by_user)
        checksums = {name: facts["checksum"] for name, facts in data.items()}
        return data, lambda cell: CellTask(cell, checksums, own)

    how = Run(engine, scheduler, jobs, resume, retry_failed, progress)
    with place.locked(), looking_in(whole.folder):
        how.through(place, whole, whole.cells(), prepare, told)
        place.consolidate(whole)
        return Results(place.frame(whole), place.failures(whole), whole.name)


@dataclass(frozen=True)
class Run:
    """How cells are run, of a plan or of a leaderboard; see `run`."""

    engine: Any = "local"
    scheduler: str | None = None
    jobs: int | None = None
    resume: bool = False
    retry_failed: bool = False
    progress: bool = True

    def through(
        self,
        store: Store,
        plan: Any,
        cells: list[Any],
        prepare: Callable[[list[Any]], tuple[dict[str, Any], Callable[[Any], Computation]]],
        told: Iterable[str] = (),
    ) -> None:
        """Run the cells that a store lacks, inside its lock, and keep them there.

        `prepare` makes sure of everything that these cells need, before anything is written; it
        returns the facts of their data, and what makes a task of a cell. `told` is said first.
        """
        cluster = check_engine(self.engine, self.scheduler, self.jobs)
        resume, jobs = self.resume or self.retry_failed, self.jobs or os.cpu_count() or 1
        store.check(resume=resume)
        damaged = store.damaged(cells)
        left = store.missing(cells, self.retry_failed, damaged)
        # Distributions first: the cells of a fold run in several processes and share them.
        first = store.missing(distributions_of(left), self.retry_failed, damaged)
        shown = RunProgress([*first, *left], jobs, self.progress)
        client_here = client_of(cluster if left else None, self.scheduler)
        with _telling_what_was_kept(store, cells), client_here as client:
            for line in told:
                shown.say(line)
            for file, reason in damaged.items():
                shown.say(f"{file} is damaged ({reason}); its cell counts as not run")
            data, task_of = prepare(left)
            if resume:
                store.check_data(data)
            where: dict[str, Any] = {"engine": "local", "jobs": jobs}
            if client is not None:
                where = {"engine": "dask", "workers": greet(client, shown)}
            store.begin(plan, resume=resume, without=damaged)
            if left:
                store.note_environment(data, cells=len(left), **where)
                for part in (first, left):
                    run_tasks(store, [task_of(cell) for cell in part], client, jobs, shown)


@contextmanager
def _telling_what_was_kept(store: Store, cells: list[Any]) -> Iterator[None]:
    """Say with an interrupt (Ctrl-C) what it leaves behind, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        done = len(cells) - len(store.missing(cells))
        told = f"{done} of {len(cells)} cells are finished and kept in {store.root}; go on with "
        if not store.has_results():
            told = f"no cell was finished, so {store.root} keeps nothing; begin again without "
        raise KeyboardInterrupt(f"{told}--resume (resume=True in Python)") from interrupt


def _check_parts(plan: Plan, unfitted: list[Cell]) -> None:
    """Build every model once: a wrong parameter or a missing package shows before the run."""
    for metric in plan.metrics:
        metric.check()
    labels = {cell.model.label for cell in unfitted}
    for model in plan.models:
        if model.label in labels:
            model.build(0)


def describe_data(cells: Iterable[Cell]) -> dict[str, dict[str, Any]]:
    """Load every dataset of some cells once: rows, events, source and checksum."""
    specs = {spec.label: spec for c in cells for spec in (c.dataset, c.external) if spec}
    facts = {}
    DATASETS.items.clear()  # an earlier run of this process may have read other content
    for label, spec in specs.items():
        data, checksum = loaded(spec)
        facts[label] = {
            "checksum": checksum,
            "rows": len(data),
            "events": int(data.y.event.sum()),
            "source": Path(data.source).name if spec.path else data.source,
        }
    DATASETS.items.clear()
    return facts


ENGINES = ("local", "dask")
#: Environment variables that limit the threads of worker processes, without their ending.
_POOLS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")


class Computation(Protocol):
    """What a worker is handed: a cell, and how to run it."""

    @property
    def cell(self) -> Any:
        """What the result is about; see `grid.Cell`."""

    @property
    def threads(self) -> int:
        """Threads of linear algebra inside a process."""

    def run(self, *given: Any) -> Outcome:
        """Run the cell with what the store has for it, see `Store.inputs`."""


#: What is told about every cell that is done.
_Report = Callable[[Computation, Outcome], None]


def check_engine(engine: Any, scheduler: str | None, jobs: int | None) -> Any:
    """Return None for the local engine, else the name or the client."""
    if not isinstance(engine, str):
        if not hasattr(engine, "submit") or not hasattr(engine, "nthreads"):
            raise InputError(
                f"engine must be 'local', 'dask' or a distributed.Client; got {engine!r}"
            )
        return engine
    one_of("engine", engine, ENGINES)
    if engine == "local" and scheduler is not None:
        raise InputError("scheduler is for engine 'dask'; got engine 'local'")
    if jobs is not None:
        whole_number(jobs, "jobs", 1)
    return None if engine == "local" else engine


def run_tasks(
    store: Store, tasks: Sequence[Computation], client: Any, jobs: int, shown: RunProgress
) -> None:
    """Run tasks, on a cluster if there is a client; each outcome is kept as soon as it is there."""

    def done(task: Computation, outcome: Outcome) -> None:
        store.put(task.cell, outcome)
        shown.done(task.cell, outcome.status, outcome.seconds, outcome.message)

    processes = min(jobs, len(tasks))
    if client is not None:
        _run_on_cluster(store, tasks, client, done)
    elif processes > 1:
        _run_in_processes(store, tasks, processes, done)
    else:
        try:
            for task in tasks:
                done(task, task.run(*store.inputs(task.cell)))
        finally:
            restore_threads()


def _each(
    store: Store,
    tasks: Sequence[Computation],
    width: int,
    submit: Callable[..., Any],
    first: Callable[[list[Any]], Iterable[Any]],
) -> Iterator[tuple[Computation, Any]]:
    """Tasks with their futures as they are done; `width` of them are under way."""
    waiting, under_way = deque(tasks), dict[Any, Computation]()
    while waiting or under_way:
        while waiting and len(under_way) < width:
            task = waiting.popleft()
            under_way[submit(task, *store.inputs(task.cell))] = task
        for future in first(list(under_way)):
            yield under_way.pop(future), future


def _collected(task: Computation, future: Any) -> Outcome:
    """Outcome of a task; errors of the cell itself are outcomes, this one is its worker's."""
    error = future.exception()
    if error is None:
        outcome: Outcome = future.result()
        return outcome
    reason = f"the process died while it ran this cell ({type(error).__name__}: {error})"
    return failed(task.cell, "WorkerLost", reason, reason)


# -- processes of this machine -----------------------------------------------------------------


def _run_in_processes(
    store: Store, tasks: Sequence[Computation], jobs: int, report: _Report
) -> None:
    """Run tasks in `jobs` processes of this machine.

    Where one of them takes its process along, all that were under way are lost with it: alone, it
    shows itself.
    """
    left = {task.cell.path: task for task in tasks}
    threads = tasks[0].threads
    while left:
        before, lost = len(left), []
        with _processes(jobs, threads) as (submit, broken), suppress(broken):
            for task, future in _each(store, list(left.values()), jobs, submit, _first):
                if isinstance(future.exception(), broken):
                    lost.append(task)
                else:
                    report(left.pop(task.cell.path), _collected(task, future))
        for task in lost:
            with _processes(1, threads) as (submit, _):
                future = submit(task, *store.inputs(task.cell))
                report(left.pop(task.cell.path), _collected(task, future))
        if len(left) == before:
            raise InputError(
                "worker processes die before they begin; see what the system says (memory?) or run "
                "with --jobs 1"
            )


@contextmanager
def _processes(jobs: int, threads: int) -> Iterator[tuple[Callable[..., Any], type[Exception]]]:
    """Worker processes for a while: how to give them a task, and what is raised if one dies."""
    need("joblib", "running in parallel", "experiment")
    from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        jobs,
        timeout=300,  # after which a process ends itself, if nobody is left to give it a task
        # Ctrl-C reaches all processes; the one that started the run ends the others and says so.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
        env={f"{name}_NUM_THREADS": str(threads) for name in _POOLS},
    )
    try:
        yield lambda *given: pool.submit(_work, os.getpid(), *given), BrokenProcessPool
    finally:
        # Where Ctrl-C comes while a task is handed over, loky's own thread looks for that task
        # after it was dropped and ends by a KeyError: all processes are gone by then.
        before, threading.excepthook = threading.excepthook, lambda _: None
        try:
            pool.shutdown(wait=True, kill_workers=True)
        finally:
            threading.excepthook = before


def _work(parent: int, *given: Any) -> Outcome:
    """Run a task in a worker process."""
    if os.getppid() != parent and os.name == "posix":
        os._exit(1)  # the run was killed: nobody waits for what is left
    return _execute(*given)


def _execute(task: Computation, *given: Any) -> Outcome:
    return task.run(*given)


def _first(futures: list[Any]) -> Any:
    return wait(futures, return_when=FIRST_COMPLETED).done


# -- a cluster ---------------------------------------------------------------------------------


def connect(scheduler: str | None, timeout: float = 20.0) -> Any:
    """Connect to a Dask scheduler."""
    return extras.connect(scheduler, "dask worker ADDRESS --nthreads 1", timeout)


@contextmanager
def client_of(cluster: Any, scheduler: str | None) -> Iterator[Any]:
    """Connect to a cluster for a while; a client that was given stays open."""
    if cluster != "dask":
        yield cluster
        return
    client = connect(scheduler)
    try:
        yield client
    finally:
        client.close()


def _run_on_cluster(
    store: Store, tasks: Sequence[Computation], client: Any, report: _Report
) -> None:
    """Run tasks on a cluster; results come home and are written here.

    A worker that is lost costs its unfinished cells nothing but time: Dask gives them to others.
    Only as many cells are under way as keep the cluster busy, so that memory stays bounded.
    """
    distributed = need("distributed", "engine 'dask'", "dask")

    def submit(*given: Any) -> Any:
        return client.submit(_execute, *given, pure=False)

    def first(futures: list[Any]) -> Any:
        return distributed.wait(futures, return_when=FIRST_COMPLETED).done

    width = max(32, 4 * sum(client.nthreads().values()))
    try:
        with client.as_current():
            for task, future in _each(store, tasks, width, submit, first):
                report(task, _collected(task, future))
                future.release()
    except CancelledError as error:
        raise InputError(
            "the Dask scheduler was lost; finished cells are kept, --resume goes on with the rest"
        ) from error


def greet(client: Any, shown: RunProgress) -> list[dict[str, str]]:
    """Versions on the workers; say where they differ from ours, for numbers may then too."""
    try:
        workers = dict(client.run(package_versions))
    except ModuleNotFoundError as error:
        raise InputError(f"the workers need survgauge and its extras installed: {error}") from error
    shown.jobs = max(len(workers), 1)
    if not workers:
        shown.say("the scheduler has no workers yet; waiting for them")
    ours = package_versions()
    for address, theirs in workers.items():
        other = [
            f"{name} {theirs.get(name, 'missing')}"
            for name in ours
            if theirs.get(name) != ours[name]
        ]
        if other:
            shown.say(f"worker {address} has other versions than this process: {', '.join(other)}")
    return list(workers.values())


#: Different messages about metrics that are shown during a run; its end names all metrics.
_MOST_TOLD = 5


class RunProgress:
    """Counts of finished cells, told in lines; or silence.

    Parameters
    ----------
    cells : list of Cell
        What is to be run.
    jobs : int
        How many at once.
    shown : bool
        Whether progress is reported.
    """

    #: Seconds between two lines.
    every = 10.0

    def __init__(self, cells: list[Cell], jobs: int, shown: bool = True) -> None:
        self.total, self.counts, self.jobs = len(cells), Counter[str](), jobs
        self.start = self._last = time.monotonic()
        self._shown, self._told = shown, set[str]()
        #: By the label of a model: cells that are left, and how long finished ones took.
        self._left = Counter(cell.model.label for cell in cells)
        self._took: defaultdict[str, list[float]] = defaultdict(list)

    def say(self, text: str) -> None:
        """Tell something besides the counts."""
        if self._shown:
            print(visible(text), file=sys.stderr, flush=True)

    def done(self, cell: Cell, status: str, seconds: float, message: str = "") -> None:
        """Count a cell and say so; of metrics that fail in every cell, only the first few."""
        self.counts[status] += 1
        self._left[cell.model.label] -= 1
        self._took[cell.model.label].append(seconds)
        if status == "failed":
            self.say(f"failed: {cell}: {message}")
        elif message and message not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(message)
            self.say(f"a metric failed: {cell}: {message}")
        now = time.monotonic()
        if self.counts.total() == self.total or now - self._last >= self.every:
            self._last = now
            self.say(self.line())

    def seconds_left(self) -> float | None:
        """Time left, from finished cells of the same model; None before anything is known."""
        each = {model: sum(took) / len(took) for model, took in self._took.items()}
        if not each:
            return None
        mean = sum(each.values()) / len(each)
        return sum(n * each.get(model, mean) for model, n in self._left.items()) / self.jobs

    def line(self) -> str:
        """Everything on one line."""
        passed, left = time.monotonic() - self.start, self.seconds_left()
        return (
            f"{self.counts.total()}/{self.total} cells, {self.counts['failed']} failed, "
            f"{hours(passed)} passed, about {hours(left)} left"
        )


def hours(seconds: float | None) -> str:
    """Hours, minutes and seconds.

    >>> hours(3725.4), hours(None)
    ('1:02:05', '-:--:--')
    """
    if seconds is None:
        return "-:--:--"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
