"""Run a plan into a store, whatever was finished before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .._tools.arrays import whole_number
from ..errors import InputError, one_of
from ..metrics.registry import REGISTRY
from .cells import MEMORY, Task, loaded
from .engines import connect, run_dask, run_local, stop_pool, workers_of
from .environment import package_versions
from .grid import Cell, LawCell, laws_of, slug
from .imports import looking_in
from .plan import Plan
from .progress import RunProgress, progress_for
from .results import Results
from .store import Store
from .tables import consolidate

ENGINES = ("local", "dask")
_Unit = TypeVar("_Unit", Cell, LawCell)


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
        Processes of the local engine, by default one per core; 1 runs in this process.
    resume : bool
        Go on with the run in `store`: only what is missing is run.
    retry_failed : bool
        Run failed cells again, too; implies `resume`.
    metrics_only : bool
        Fit no model: compute the plan's metrics from stored predictions; laws that the store lacks
        are fitted. Implies `resume`.
    progress : bool, optional
        False is silent. By default a live display in a terminal, plain lines elsewhere.

    Returns
    -------
    Results
        Of all finished cells of the plan.
    """
    whole, absent = Plan.of(plan).present()
    cluster = _check_engine(engine, scheduler, jobs)
    place = Store(store if store is not None else f"bench-{slug(whole.name)}")
    again = resume or retry_failed or metrics_only
    with place.locked(), looking_in(whole.folder), _telling_what_was_kept(place, whole):
        place.check(resume=again)
        damaged = place.damaged(whole.cells())
        cells = missing_cells(whole.cells(), place, retry_failed, damaged)
        scored = [c for c in cells if not metrics_only or place.has_predictions(c)]
        laws = missing_cells(laws_of(scored), place, retry_failed, damaged)
        processes = jobs or os.cpu_count() or 1
        with (
            progress_for([*laws, *cells], processes, progress) as shown,
            _client_of(cluster if cells else None, scheduler) as client,
        ):
            if absent:
                shown.say(f"not on this machine, left out: {', '.join(absent)}")
            for file, reason in damaged.items():
                shown.say(f"{file} is damaged ({reason}); its cell counts as not run")
            # Nothing is written before everything that a cell needs is known to be there.
            data = _needed(cells, metrics_only)
            if again:
                place.check_data(data)
            where = {"engine": "local", "jobs": processes}
            if client is not None:
                where = {"engine": "dask", "workers": _greet(client, shown)}
            place.begin(whole, resume=again, without=damaged)
            if cells:
                place.note_environment(data, cells=len(cells), **where)
                # Laws first: the cells of a fold run in several processes, and share them.
                for part in (laws, cells):
                    tasks = _tasks(whole, part, data, fit=not metrics_only)
                    _run(place, tasks, client, processes, shown)
        consolidate(place, whole)
    return Results.load(place.root)


@contextmanager
def _telling_what_was_kept(store: Store, plan: Plan) -> Iterator[None]:
    """Say with an interrupt (Ctrl-C) what it leaves behind, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        cells = plan.cells()
        done = len(cells) - len(missing_cells(cells, store))
        told = f"{done} of {len(cells)} cells are finished and kept in {store.root}; go on with "
        if not store.has_results():
            told = f"no cell was finished, so {store.root} keeps nothing; begin again without "
        raise KeyboardInterrupt(f"{told}--resume (resume=True in Python)") from interrupt


def missing_cells(
    cells: Iterable[_Unit], store: Store, retry_failed: bool = False, damaged: Iterable[Path] = ()
) -> list[_Unit]:
    """Cells or laws that have no result yet, or a damaged one.

    With `retry_failed` also those that failed, and cells in which a metric did.
    """
    finished, failed = store.finished(), store.failed()
    there = finished - failed if retry_failed else finished | failed
    there -= store.cells_of(damaged)
    return [cell for cell in cells if cell.path not in there]


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


def _needed(cells: list[Cell], metrics_only: bool) -> dict[str, dict[str, Any]]:
    """Check what cells need before hours are spent; return what their data sets are."""
    for spec in cells[0].common.metrics if cells else ():
        spec.check()
    if not metrics_only:
        # Every model is built once: a wrong parameter or a missing package shows before the run.
        for model in {cell.model.label: cell.model for cell in cells}.values():
            model.build(0)
    return describe_data(cells)


def _tasks(
    plan: Plan, cells: Sequence[Cell | LawCell], data: Mapping[str, Any], fit: bool
) -> list[Task]:
    checksums = {name: facts["checksum"] for name, facts in data.items()}
    keep, timeout, threads = plan.keep_predictions, plan.timeout, plan.threads
    own = tuple(REGISTRY[spec.name] for spec in plan.metrics if spec.is_registered_by_user)
    given = checksums, keep, timeout, threads, fit, own, plan.folder
    return [Task(cell, *given) for cell in cells]


def _run(store: Store, tasks: list[Task], client: Any, jobs: int, shown: RunProgress) -> None:
    if not tasks:
        return
    if client is not None:
        run_dask(store, tasks, client, shown.done)
        return
    processes = min(jobs, len(tasks))
    try:
        run_local(store, tasks, processes, shown.done)
    finally:
        if processes > 1:
            stop_pool()


def _greet(client: Any, shown: RunProgress) -> list[dict[str, str]]:
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
