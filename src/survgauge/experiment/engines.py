"""Where cells run: processes of this machine, or a Dask cluster. The numbers are the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from .._tools import dask_client as _dask
from .._tools.extras import need
from ..errors import InputError
from .cells import Outcome, Task, execute, failure
from .environment import package_versions
from .grid import Place
from .limits import restore_threads
from .store import Store

#: Told about every cell: cell, status, seconds, message.
Report = Callable[[Place, str, float, str], None]
_RUNNING = "running"


def summary(outcome: Outcome) -> tuple[str, float, str]:
    """What the parent process has to know: status, seconds, message."""
    record, message = outcome.record, ""
    if outcome.status == "failed":
        message = f"{record['error']}: {record['message']}"
    elif outcome.failure is not None:
        message = outcome.failure["message"]
    return outcome.status, record.get("seconds", {}).get("total", 0.0), message


def lost(task: Task, reason: str) -> Outcome:
    """Record of a cell that took its worker along."""
    return failure(task.cell, "WorkerLost", reason, reason)


# -- this machine ------------------------------------------------------------------------------


def run_local(store: Store, tasks: list[Task], jobs: int, report: Report) -> None:
    """Run tasks in `jobs` processes, which write their results themselves."""
    if jobs == 1:
        _run_here(store, tasks, report)
        return
    folder = store.root / _RUNNING
    folder.mkdir(exist_ok=True)
    waiting = tasks
    try:
        while waiting:
            before = len(waiting)
            waiting = _run_pool(store, waiting, jobs, report)
            if len(waiting) == before:
                raise InputError(
                    "worker processes die before they begin; see what the system says (memory?) "
                    "or run with --jobs 1"
                )
    finally:
        for marker in folder.glob("*"):
            marker.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


def _run_here(store: Store, tasks: Iterable[Task], report: Report) -> None:
    try:
        for task in tasks:
            outcome = execute(task, *store.inputs(task.cell))
            store.put(task.cell, outcome)
            report(task.cell, *summary(outcome))
    finally:
        restore_threads()


def _run_pool(store: Store, tasks: list[Task], jobs: int, report: Report) -> list[Task]:
    """Run tasks; return those that were not reached because a worker died."""
    reported: set[str] = set()

    def told(task: Task, found: tuple[str, float, str]) -> None:
        reported.add(task.cell.path)
        report(task.cell, *found)

    by_path = {task.cell.path: task for task in tasks}
    for marker in (store.root / _RUNNING).glob("*"):
        marker.unlink(missing_ok=True)
    try:
        for path, *found in _parallel(store, tasks, jobs):
            told(by_path[path], tuple(found))
        return []
    except _broken():
        suspects = {marker.read_text() for marker in (store.root / _RUNNING).glob("*")}
    finished, failed = store.finished(), store.failed()
    for path in (finished | failed) & set(by_path) - reported:
        # Written before the pool broke, but not yet heard of.
        told(by_path[path], ("ok" if path in finished else "failed", 0.0, ""))
    for path in suspects & set(by_path) - reported:
        # One of the cells that were running killed its process; alone, it shows itself.
        told(by_path[path], _run_alone(store, by_path[path]))
    return [task for path, task in by_path.items() if path not in reported]


def _run_alone(store: Store, task: Task) -> tuple[str, float, str]:
    try:
        ((_, *found),) = _parallel(store, [task], 2)
        return tuple(found)
    except _broken():
        outcome = lost(task, "the process died while it ran this cell (out of memory, or a crash)")
        store.put(task.cell, outcome)
        return summary(outcome)


def _parallel(
    store: Store, tasks: Iterable[Task], jobs: int
) -> Iterator[tuple[str, Any, Any, Any]]:
    joblib = need("joblib", "running in parallel", "experiment")
    threads = next(iter(tasks)).threads
    options = {"n_jobs": jobs, "inner_max_num_threads": threads}
    with joblib.parallel_config("loky", **options):
        parallel = joblib.Parallel(return_as="generator_unordered")
        work = joblib.delayed(_work)
        results = parallel(work(str(store.root), task, os.getpid()) for task in tasks)
        try:
            yield from results
        finally:
            results.close()


def _work(root: str, task: Task, parent: int) -> tuple[str, str, float, str]:
    """Run a task in a worker process and write its result."""
    if os.getppid() != parent and os.name == "posix":
        os._exit(1)  # the run was killed: nobody waits for what is left of this worker's batch
    # Ctrl-C reaches all processes; the one that started the run ends the others and says so.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    store, marker = Store(root), Path(root, _RUNNING, str(os.getpid()))
    with suppress(OSError):
        marker.write_text(task.cell.path)
    outcome = execute(task, *store.inputs(task.cell))
    store.put(task.cell, outcome)
    with suppress(OSError):
        marker.unlink()
    return (task.cell.path, *summary(outcome))


def _broken() -> type[BaseException]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    return BrokenProcessPool


def stop_pool() -> None:
    """Let the worker processes go; they hold data sets in memory."""
    with suppress(ImportError):
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


# -- a cluster ---------------------------------------------------------------------------------


def connect(scheduler: str | None, timeout: float = 20.0) -> Any:
    """Connect to a Dask scheduler."""
    return _dask.connect(scheduler, "dask worker ADDRESS --nthreads 1", timeout)


def workers_of(client: Any) -> dict[str, Any]:
    """Versions on the workers; refuse a cluster whose workers cannot run a cell."""
    try:
        return dict(client.run(package_versions))
    except ModuleNotFoundError as error:
        raise InputError(f"the workers need survgauge and its extras installed: {error}") from error


def run_dask(store: Store, tasks: list[Task], client: Any, report: Report) -> None:
    """Run tasks on a cluster; results come home and are written here.

    A worker that is lost costs its unfinished cells nothing but time: Dask gives them to others.
    Only as many cells are under way as keep the cluster busy, so that memory stays bounded.
    """
    as_completed = need("distributed", "engine 'dask'", "dask").as_completed
    threads = sum(client.nthreads().values())
    waiting = iter(tasks)
    under_way: dict[str, Task] = {}

    def submit(task: Task) -> Any:
        key = f"survgauge-{task.cell.path}-{time.time_ns()}"
        under_way[key] = task
        return client.submit(execute, task, *store.inputs(task.cell), key=key, pure=False)

    with client.as_current():
        futures = as_completed([submit(task) for task in islice(waiting, max(32, 4 * threads))])
        for future in futures:
            task = under_way.pop(future.key)
            outcome = _collected(future, task)
            future.release()
            store.put(task.cell, outcome)
            report(task.cell, *summary(outcome))
            following = next(waiting, None)
            if following is not None:
                futures.add(submit(following))


def _collected(future: Any, task: Task) -> Outcome:
    if future.status in ("cancelled", "lost"):
        raise InputError(
            "the Dask scheduler was lost; finished cells are kept, --resume goes on with the rest"
        )
    if future.status == "error":
        # Errors of the cell itself are outcomes; this one is the cluster's.
        error = future.exception()
        return lost(task, f"{type(error).__name__}: {error}")
    outcome: Outcome = future.result()
    return outcome
