"""Run a plan into a store: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..._tools import extras
from ..._tools.arrays import whole_number
from ..._tools.extras import need
from ...errors import InputError, one_of
from ...metrics.registry import REGISTRY
from .cells import DATASETS, CellTask, Outcome, execute, failed, loaded
from .grid import Cell, distributions_of, slug
from .plan import Plan
from .process import package_versions, restore_threads
from .progress import RunProgress
from .results import Results
from .specs import looking_in
from .store import Store

ENGINES = ("local", "dask")
#: Environment variables that limit the threads of worker processes, without their ending.
_POOLS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
#: What is told about every cell that is done.
_Report = Callable[[CellTask, Outcome], None]


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
    cluster = _check_engine(engine, scheduler, jobs)
    place = Store(store if store is not None else f"bench-{slug(whole.name)}")
    resume = resume or retry_failed
    with place.locked(), looking_in(whole.folder), _telling_what_was_kept(place, whole):
        place.check(resume=resume)
        damaged = place.damaged(whole.cells())
        cells = place.missing(whole.cells(), retry_failed, damaged)
        distributions = place.missing(distributions_of(cells), retry_failed, damaged)
        processes = jobs or os.cpu_count() or 1
        shown = RunProgress([*distributions, *cells], processes, progress)
        with _client_of(cluster if cells else None, scheduler) as client:
            if left_out:
                shown.say(f"not on this machine, left out: {', '.join(left_out)}")
            for file, reason in damaged.items():
                shown.say(f"{file} is damaged ({reason}); its cell counts as not run")
            # Nothing is written before everything that a cell needs is known to be there.
            _check_parts(whole, [cell for cell in cells if not place.has_predictions(cell)])
            data = describe_data(cells)
            if resume:
                place.check_data(data)
            where: dict[str, Any] = {"engine": "local", "jobs": processes}
            if client is not None:
                where = {"engine": "dask", "workers": _greet(client, shown)}
            place.begin(whole, resume=resume, without=damaged)
            if cells:
                place.note_environment(data, cells=len(cells), **where)
                checksums = {name: facts["checksum"] for name, facts in data.items()}
                own = [REGISTRY[m.name] for m in whole.metrics if m.is_registered_by_user]
                # Distributions first: the cells of a fold run in several processes and share them.
                for part in (distributions, cells):
                    tasks = [CellTask(cell, checksums, tuple(own)) for cell in part]
                    _run(place, tasks, client, processes, shown)
        place.consolidate(whole)
        return Results(place.frame(whole), place.failures(whole), whole.name)


@contextmanager
def _telling_what_was_kept(store: Store, plan: Plan) -> Iterator[None]:
    """Say with an interrupt (Ctrl-C) what it leaves behind, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        cells = plan.cells()
        done = len(cells) - len(store.missing(cells))
        told = f"{done} of {len(cells)} cells are finished and kept in {store.root}; go on with "
        if not store.has_results():
            told = f"no cell was finished, so {store.root} keeps nothing; begin again without "
        raise KeyboardInterrupt(f"{told}--resume (resume=True in Python)") from interrupt


def _check_engine(engine: Any, scheduler: str | None, jobs: int | None) -> Any:
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


def _run(store: Store, tasks: list[CellTask], client: Any, jobs: int, shown: RunProgress) -> None:
    def done(task: CellTask, outcome: Outcome) -> None:
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
                done(task, execute(task, *store.inputs(task.cell)))
        finally:
            restore_threads()


def _each(
    store: Store,
    tasks: list[CellTask],
    width: int,
    submit: Callable[..., Any],
    first: Callable[[list[Any]], Iterable[Any]],
) -> Iterator[tuple[CellTask, Any]]:
    """Tasks with their futures as they are done; `width` of them are under way."""
    waiting, under_way = deque(tasks), dict[Any, CellTask]()
    while waiting or under_way:
        while waiting and len(under_way) < width:
            task = waiting.popleft()
            under_way[submit(task, *store.inputs(task.cell))] = task
        for future in first(list(under_way)):
            yield under_way.pop(future), future


def _collected(task: CellTask, future: Any) -> Outcome:
    """Outcome of a task; errors of the cell itself are outcomes, this one is its worker's."""
    error = future.exception()
    if error is None:
        outcome: Outcome = future.result()
        return outcome
    reason = f"the process died while it ran this cell ({type(error).__name__}: {error})"
    return failed(task.cell, "WorkerLost", reason, reason)


# -- processes of this machine -----------------------------------------------------------------


def _run_in_processes(store: Store, tasks: list[CellTask], jobs: int, report: _Report) -> None:
    """Run tasks in `jobs` processes of this machine.

    Where one of them takes its process along, all that were under way are lost with it: alone, it
    shows itself.
    """
    left = {task.cell.path: task for task in tasks}
    threads = tasks[0].cell.plan.threads
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
    return execute(*given)


def _first(futures: list[Any]) -> Any:
    return wait(futures, return_when=FIRST_COMPLETED).done


# -- a cluster ---------------------------------------------------------------------------------


def connect(scheduler: str | None, timeout: float = 20.0) -> Any:
    """Connect to a Dask scheduler."""
    return extras.connect(scheduler, "dask worker ADDRESS --nthreads 1", timeout)


@contextmanager
def _client_of(cluster: Any, scheduler: str | None) -> Iterator[Any]:
    """Connect to a cluster for a while; a client that was given stays open."""
    if cluster != "dask":
        yield cluster
        return
    client = connect(scheduler)
    try:
        yield client
    finally:
        client.close()


def _run_on_cluster(store: Store, tasks: list[CellTask], client: Any, report: _Report) -> None:
    """Run tasks on a cluster; results come home and are written here.

    A worker that is lost costs its unfinished cells nothing but time: Dask gives them to others.
    Only as many cells are under way as keep the cluster busy, so that memory stays bounded.
    """
    distributed = need("distributed", "engine 'dask'", "dask")

    def submit(*given: Any) -> Any:
        return client.submit(execute, *given, pure=False)

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


def _greet(client: Any, shown: RunProgress) -> list[dict[str, str]]:
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
