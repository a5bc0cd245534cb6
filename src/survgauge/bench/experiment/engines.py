"""Where tasks run: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from ..._tools import extras
from ..._tools.arrays import whole_number
from ..._tools.extras import need
from ...errors import InputError, one_of
from .cells import Outcome, failed
from .process import package_versions, restore_threads
from .progress import RunProgress
from .store import Store

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
