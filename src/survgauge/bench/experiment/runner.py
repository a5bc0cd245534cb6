"""Run a plan into a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...metrics.registry import REGISTRY
from .cells import DATASETS, CellTask, loaded
from .engines import Computation, check_engine, client_of, greet, run_tasks
from .grid import Cell, distributions_of, slug
from .plan import Plan
from .progress import RunProgress
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
    own = tuple(REGISTRY[m.name] for m in whole.metrics if m.is_registered_by_user)
    told = [f"not on this machine, left out: {', '.join(left_out)}"] if left_out else []

    def prepare(cells: list[Cell]) -> tuple[dict[str, Any], Callable[[Cell], CellTask]]:
        _check_parts(whole, [cell for cell in cells if not place.has_predictions(cell)])
        data = describe_data(cells)
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
