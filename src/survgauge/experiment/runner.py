"""Run a plan into a store, whatever was finished before."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import InputError, one_of
from .cells import MEMORY, Task, loaded
from .engines import connect, run_dask, run_local, stop_pool, workers_of
from .plan import Cell, Plan
from .progress import Progress, progress_for
from .results import Results
from .store import Store, package_versions

ENGINES = ("local", "dask")


def run(
    plan: Any,
    store: str | os.PathLike[str] | None = None,
    engine: Any = "local",
    *,
    scheduler: str | None = None,
    jobs: int | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    metrics_only: bool = False,
    progress: bool | None = None,
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
        Processes of the local engine, by default one a core; 1 runs in this process.
    resume : bool
        Go on with the run in `store`: only what is missing is run.
    retry_failed : bool
        Run failed cells again, too; implies `resume`.
    metrics_only : bool
        Fit nothing: compute the plan's metrics from stored predictions; implies `resume`.
    progress : bool, optional
        False is silent. By default a live display in a terminal, plain lines elsewhere.

    Returns
    -------
    Results
        Of all finished cells of the plan.
    """
    whole, absent = Plan.of(plan).present()
    cluster = _check_engine(engine, scheduler, jobs)
    place = Store(store if store is not None else f"bench-{whole.name}")
    with place.locked():
        place.create(whole, resume=resume or retry_failed or metrics_only)
        cells = missing_cells(whole, place, retry_failed)
        processes = jobs or os.cpu_count() or 1
        with progress_for(cells, processes, progress) as shown:
            if absent:
                shown.say(f"not on this machine, left out: {', '.join(absent)}")
            if cells:
                _run(whole, place, cells, cluster, scheduler, processes, metrics_only, shown)
        place.consolidate(whole)
    return Results.load(place.root)


def missing_cells(plan: Plan, store: Store, retry_failed: bool = False) -> list[Cell]:
    """Cells of the plan that have no result yet."""
    there = store.finished()
    if not retry_failed:
        there |= store.failed()
    return [cell for cell in plan.cells() if cell.path not in there]


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
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise InputError(f"jobs must be a whole number, 1 or more; got {jobs!r}")
    return None if engine == "local" else engine


def _run(
    plan: Plan,
    store: Store,
    cells: list[Cell],
    cluster: Any,
    scheduler: str | None,
    jobs: int,
    metrics_only: bool,
    shown: Progress,
) -> None:
    """Check what the cells need before hours are spent, then run them."""
    client = connect(scheduler) if cluster == "dask" else cluster
    try:
        if not metrics_only:
            _check_models(cells)
        data = describe_data(cells)
        checksums = {name: facts["checksum"] for name, facts in data.items()}
        tasks = [
            Task(
                cell, checksums, plan.keep_predictions, plan.timeout, plan.threads, not metrics_only
            )
            for cell in cells
        ]
        if client is None:
            store.note_environment(data, cells=len(cells), engine="local", jobs=jobs)
            _run_here(store, tasks, min(jobs, len(tasks)), shown)
        else:
            workers = _greet(client, shown)
            store.note_environment(data, cells=len(cells), engine="dask", workers=workers)
            run_dask(store, tasks, client, shown.done)
    finally:
        if client is not None and client is not cluster:
            client.close()


def _run_here(store: Store, tasks: list[Task], jobs: int, shown: Progress) -> None:
    try:
        run_local(store, tasks, jobs, shown.done)
    finally:
        if jobs > 1:
            stop_pool()


def _greet(client: Any, shown: Progress) -> list[dict[str, str]]:
    """Versions on the workers; say where they differ from ours, for numbers may then too."""
    workers = workers_of(client)
    shown.estimate.jobs = max(len(workers), 1)
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


def _check_models(cells: Iterable[Cell]) -> None:
    """Build every model once: a wrong parameter or a missing package shows before the run."""
    for model in {cell.model.label: cell.model for cell in cells}.values():
        model.build(0)


def describe_data(cells: Iterable[Cell]) -> dict[str, dict[str, Any]]:
    """Load every data set of some cells once: rows, events, source and checksum."""
    specs = {}
    for cell in cells:
        for spec in (cell.dataset, cell.external):
            if spec is not None:
                specs[spec.label] = spec
    facts = {}
    MEMORY.datasets.items.clear()  # an earlier run of this process may have read other content
    for label, spec in specs.items():
        found = loaded(spec)
        facts[label] = {
            "checksum": found.checksum,
            "rows": len(found.data),
            "events": int(found.data.y.event.sum()),
            "source": Path(found.data.source).name if spec.path else found.data.source,
        }
    MEMORY.datasets.items.clear()
    return facts
