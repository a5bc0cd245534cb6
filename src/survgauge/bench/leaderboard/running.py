"""Run a leaderboard: fit everything into a store, which keeps submissions, then score all of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._tools.arrays import positive
from ..._tools.writing import now
from ...errors import InputError, MissingExtraError, as_names, one_of
from ..experiment.process import machine, package_versions
from ..experiment.runner import Run
from ..experiment.scoring import Arrays
from ..experiment.specs import looking_in
from ..experiment.store import DamagedError, Store, file_of, read_json
from ..models import FACTS, available, build
from .entrants import Recorded, can_be_tuned, entrants, submitted
from .fitting import DRAWS, INNER_FOLDS, SETTINGS, BoardCell, FitTask, Name, scored
from .problems import Design, Problem, problems
from .results import BASELINE, COLUMNS, Board, frame_of

if TYPE_CHECKING:
    import pandas as pd

#: Models that are made for several causes, which these datasets do not have.
_OF_CAUSES = ("aalen_johansen", "cause_specific_cox")
SUBMITTED = "submitted"
#: Of a fit whose row is there, but whose predictions are not.
_GONE = "its predictions are damaged or gone; run it, or submit it, again"
#: What a card says that the table of models shows.
CARD = ("title", "authors", "code", "training_data", "hardware", "notes")


def run(
    models: Iterable[Any] | Mapping[str, Any] | None = None,
    datasets: Iterable[str] | None = None,
    *,
    settings: Iterable[str] | None = None,
    tune: Iterable[str] | None = None,
    store: str | os.PathLike[str] = "leaderboard",
    truth: Iterable[str] | None = None,
    repeats: int | None = None,
    max_rows: int | None = None,
    seed: int | None = None,
    folds: int | None = None,
    engine: Any = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    timeout: float | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
    command: str = "",
) -> Board:
    """Fit models to all tasks and score them on the subjects that each fit held out.

    Where a run is resumed, whatever is not given (models, datasets, settings, tasks) is as the run
    had it; what is given replaces it.

    Parameters
    ----------
    models : names, or mapping of names to models, optional
        Names of `survgauge models`, ``module:Class`` of your own, or objects (or classes) with
        ``fit(X, y)`` and ``predict_curves``, ``predict_time`` or ``predict_risk``. By default all
        that are installed. Kaplan-Meier always takes part, as the baseline.
    datasets : names, optional
        By default all of the leaderboard.
    settings : names
        ``default``: as the model comes; ``tuned-ibs`` and ``tuned-mae``: the best of 8 sets of
        parameters on 3 inner folds, by the integrated Brier score or by `mae_within`.
    tune : names, optional
        Models to which the tuned settings apply; by default all that have something to search.
    store : path
        Folder of the run; its board is kept in it, too.
    truth : names, optional
        Datasets whose events are also censored anew, so that the true times are known.
    repeats, folds : int
        How often, and in how many parts, each dataset is split; once and 5.
    max_rows : int
        Larger datasets are represented by a random sample of so many subjects; 2000.
    seed : int
        Of samples, drawn censoring, folds, searches and models; 0.
    engine, scheduler, jobs, resume, retry_failed, progress
        As in `experiment.run`.
    timeout : float, optional
        Seconds after which a fit (with its search) counts as failed.
    folder : path, optional
        Where modules of your own are looked for.
    command : str
        How the run was called, to be shown with the results.

    Returns
    -------
    Board

    Examples
    --------
    >>> run(["coxph"], ["veteran"], store="lb", jobs=1)  # doctest: +SKIP
    Board(2 models and settings, 1 datasets)
    """
    begun = time.perf_counter()
    place, going_on = BoardStore(store), resume or retry_failed
    before = place.recorded() if going_on and (place.root / "plan.json").exists() else None
    asked = {"repeats": repeats, "max_rows": max_rows, "seed": seed, "folds": folds}
    design = _design(before, datasets, truth, asked)
    usual = before.settings if before else SETTINGS[:1]
    wanted = usual if settings is None else as_names(settings, "settings")
    for each in wanted:
        one_of("settings", each, SETTINGS)
    if timeout is not None:
        positive(timeout, "timeout (seconds)")
    home = None if folder is None else str(Path(folder).expanduser().resolve())
    how = Run(engine, scheduler, jobs, resume, retry_failed, progress)
    with place.locked(), looking_in(home):
        if models is None and before is not None:
            models = _same_models(before)
            tune = before.tune if tune is None else tune
        plan, skipped = _plan(design, models, wanted, tune)
        _check_labels(plan, submissions(place))
        if before is not None:
            _check_same(before.design, design, store)
        made = list(problems(design))
        sums = {problem.place: problem.checksum for problem in made}

        def task_of(cell: BoardCell) -> FitTask:
            return FitTask(cell, sums[cell.track, cell.dataset], timeout, home)

        how.through(place, plan, plan.cells(made), lambda _: ({}, task_of), skipped)
        board = score_store(place, plan, made, command or "survgauge.leaderboard.run(...)", begun)
        board.save(place.root / BOARD)
    return board


def _check_same(before: Design, design: Design, store: Any) -> None:
    """Refuse to go on with other subjects or folds; datasets and repeats may be added."""
    for key in ("seed", "max_rows", "folds"):
        was, asked = getattr(before, key), getattr(design, key)
        if was != asked:
            raise InputError(
                f"{key} of the run in {store} is {was}; got {asked}: give the same, or another "
                "store"
            )


def _check_labels(plan: BoardPlan, given: Iterable[str]) -> None:
    """Refuse models that are called as a submission in the store is."""
    twice = {model.label for model in plan.models} & set(given)
    if twice:
        raise InputError(
            f"model {min(twice)!r} is called as a submission in the store is; give it another label"
        )


def _design(
    before: BoardPlan | None, datasets: Any, truth: Any, asked: Mapping[str, Any]
) -> Design:
    """Read which tasks are asked for; what is not given is as in an earlier run, if there is one.

    Other datasets have their own track of known truth.
    """
    given = {key: value for key, value in asked.items() if value is not None}
    if before is None:
        return Design.of(datasets, truth, **given)
    known = before.design.to_dict()
    if datasets is not None:
        known |= {"datasets": datasets, "truth": None}
    if truth is not None:
        known["truth"] = truth
    return Design.of(**{**known, **given})


def _same_models(before: BoardPlan) -> list[Any]:
    """Models of an earlier run."""
    for model in before.models:
        if "label" not in model.record:
            raise InputError(
                f"model {model.name!r} of the run was handed over as an object, which a store "
                "does not keep; give models again"
            )
    return [dict(model.record) for model in before.models]


def _plan(
    design: Design, models: Any, settings: tuple[str, ...], tune: Iterable[str] | None
) -> tuple[BoardPlan, list[str]]:
    """Add the baseline; leave out, by a line each, what is not installed, if nobody named it."""
    told = list[str]()
    if models is None:
        rows = [row for row in available() if row["name"] not in _OF_CAUSES]
        models = [row["name"] for row in rows if row["installed"]]
        for row in rows:
            if not row["installed"]:  # needs a package, or TabPFN's weights
                try:
                    build(row["name"])
                except (MissingExtraError, InputError) as error:
                    told.append(f"left out: {error}")
    found = entrants(models)
    if BASELINE not in [model.label for model in found]:
        found = [*entrants([BASELINE]), *found]
    for model in found:
        built = model.build(0)  # a wrong parameter or a missing package shows, too
        if not hasattr(built, "fit"):
            raise InputError(f"model {model.label!r} ({type(built).__name__}) has no method fit")
    searched = [model.label for model in found if can_be_tuned(model)]
    chosen = searched if tune is None else list(as_names(tune, "tune"))
    for name in chosen:
        one_of("tune", name, searched)
    return BoardPlan(design, found, settings, tuple(chosen)), told


# -- scores ----------------------------------------------------------------------------------------


def score_store(
    store: BoardStore, plan: BoardPlan, made: Iterable[Problem], command: str, begun: float
) -> Board:
    """Score everything in a store that belongs to a plan, with all submissions."""
    rows = {name: list[dict[str, Any]]() for name in ("scores", "pairs", "cells", "datasets")}
    given = submissions(store)
    for problem in made:
        rows["datasets"].append(problem.facts())
        for repeat in range(plan.design.repeats):
            models, cells = _predictions(store, plan, problem, repeat, given)
            scores, pairs, wrong = scored(problem, repeat, models)
            for row in cells:
                message = wrong.get((row["model"], row["settings"]))
                if message is not None and row["status"] == "ok":
                    row |= {"status": "failed", "message": message}
            rows["scores"] += scores
            rows["pairs"] += pairs
            rows["cells"] += cells
    used = dict.fromkeys((row["model"], row["settings"]) for row in rows["scores"])
    by_label = {model.label: model for model in plan.models}
    facts = [_facts(name, by_label.get(name[0]), given.get(name[0], {})) for name in used]
    tables = {name: frame_of(name, found) for name, found in rows.items()}
    about = {
        **plan.design.to_dict(),
        "settings": list(plan.settings),
        "draws": DRAWS,
        "inner_folds": INNER_FOLDS,
        "date": now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "seconds": round(time.perf_counter() - begun, 1),
        "seconds_of_fits": round(_seconds_of_fits(tables["cells"]), 1),
        "machine": {key: value for key, value in machine().items() if key != "packages"},
        "versions": package_versions(),
    }
    return Board(**tables, models=frame_of("models", facts), about=about)


def _seconds_of_fits(cells: pd.DataFrame) -> float:
    """Seconds that all fits took; both tuned settings have the seconds of the search they share."""
    spent = cells["seconds_fit"].fillna(0) + cells["seconds_predict"].fillna(0)
    fit = [cells[c] for c in ("track", "dataset", "repeat", "fold", "model")]
    return float(spent.groupby([*fit, cells["settings"] == SETTINGS[0]]).max().sum())


def _predictions(
    store: BoardStore, plan: BoardPlan, problem: Problem, repeat: int, given: Mapping[str, Any]
) -> tuple[dict[Name, list[Arrays | None]], list[dict[str, Any]]]:
    """Predictions of each fold by model and settings, and the rows of the table of fits."""
    models, told = dict[Name, list[Arrays | None]](), list[dict[str, Any]]()
    for fold in range(plan.design.folds):
        cells = [c for c in plan.cells([problem]) if (c.repeat, c.fold) == (repeat, fold)]
        cells += [cell_of(problem, repeat, fold, submitted(n, c)) for n, c in given.items()]
        for cell in cells:
            arrays, rows = store.arrays(cell) or {}, store.rows(cell)
            of_run = not getattr(cell.model, "is_submission", False)
            if not arrays and not of_run and rows[0]["status"] == "missing":
                continue  # a submission for other datasets
            for row in rows:
                settings = row["settings"]
                if of_run and cell.model.label in plan.tune and settings not in plan.settings:
                    continue
                key, start = (cell.model.label, settings), f"{settings}."
                own = {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}
                if not own and row["status"] == "ok":
                    row |= {"status": "failed", "message": _GONE}
                folds = models.setdefault(key, [None] * plan.design.folds)
                folds[fold] = own or None
                told.append(row)
    return models, told


def _facts(name: Name, model: Any, card: Mapping[str, Any]) -> dict[str, Any]:
    """Row of the table of models."""
    row = {"name": name[0], "settings": name[1], **dict.fromkeys(COLUMNS["models"][2:], "")}
    row["title"] = name[0]
    if model is None:
        told = {key: str(card[key]) for key in CARD if card.get(key)}
        return row | told | {"origin": "submission"}
    facts = FACTS.get(model.name)
    if facts is None:
        return row | {"origin": str(model.identity().get("class", ""))}
    row |= {"title": facts.title, "package": "survgauge"}
    for package in ("survgauge", *_PACKAGES.get(facts.extra, (facts.extra,))):
        with suppress(PackageNotFoundError):
            row |= {"package": package, "version": version(package)}
    return row


#: Packages that an extra brings, where they are not called as it is.
_PACKAGES = {"sksurv": ("scikit-survival",), "xgboost": ("xgboost", "xgboost-cpu")}


#: Where a store keeps its board, and the cards of submissions.
BOARD, SUBMISSIONS = "board", "submissions"


class BoardStore(Store):
    """Store of a leaderboard: predictions of each fold, times, failures, submissions, the board."""

    def arrays(self, cell: BoardCell) -> Arrays | None:
        """Predictions of a fit; None where there are none or they are damaged."""
        with suppress(InputError):
            return self.inputs(cell)[0]  # type: ignore[arg-type]
        return None

    def damaged(self, cells: list[Any]) -> dict[Path, str]:
        """Files of finished fits that are damaged, or whose predictions are gone."""
        finished = self._listed("cells")
        gone = [cell for cell in cells if cell.path in finished and self.arrays(cell) is None]
        # Both go: without its row the fit counts as not run.
        files = [(kind, cell) for cell in gone for kind in ("cells", "predictions")]
        return {self.root / file_of(*file): "its predictions are gone" for file in files} | (
            super().damaged(cells)
        )

    def rows(self, cell: BoardCell) -> list[dict[str, Any]]:
        """Rows of the table of fits: what it cost, or why it failed."""
        table = self._undamaged("cells", cell)  # type: ignore[arg-type]
        if table is not None:
            rows: list[dict[str, Any]] = table.to_pylist()
            return rows
        failure = self._undamaged("failures", cell) or {}  # type: ignore[arg-type]
        told = {"status": "failed", "message": f"{failure.get('error')}: {failure.get('message')}"}
        if not failure:
            told = {"status": "missing", "message": "it has not run"}
        return [{**cell.names(), "settings": each, **told} for each in cell.settings]

    def recorded(self) -> BoardPlan:
        """Read what the last run fitted."""
        try:
            record = read_json((self.root / "plan.json").read_bytes())
            models = [Recorded(each.get("label", each["name"]), each) for each in record["models"]]
            settings, tune = tuple(record["settings"]), tuple(record["tune"])
            return BoardPlan(Design.read(record), models, settings, tune)
        except FileNotFoundError:
            raise InputError(
                f"{self.root} holds no leaderboard; survgauge bench leaderboard makes one"
            ) from None
        except (DamagedError, KeyError, TypeError) as error:
            raise InputError(f"{self.root / 'plan.json'} is no leaderboard's ({error})") from error


@dataclass(frozen=True)
class BoardPlan:
    """What a run fits: tasks, models, settings."""

    design: Design
    models: Sequence[Any]
    settings: tuple[str, ...]
    #: Models to which settings other than the default apply.
    tune: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for the store."""
        models = [model.identity() for model in self.models]
        return {**self.design.to_dict(), "models": models, "settings": list(self.settings),
                "tune": list(self.tune)}  # fmt: skip

    def cells(self, made: Iterable[Problem]) -> list[BoardCell]:
        """All fits; models vary fastest, so that neighbours share their data."""
        kinds = sorted({settings != SETTINGS[0] for settings in self.settings})
        # A model that is not tuned competes with its default settings among those that are.
        return [
            cell_of(problem, repeat, fold, model, tuned)
            for problem in made
            for repeat in range(self.design.repeats)
            for fold in range(self.design.folds)
            for model in self.models
            for tuned in (kinds if model.label in self.tune else [False])
        ]


def cell_of(problem: Problem, repeat: int, fold: int, model: Any, tuned: bool = False) -> BoardCell:
    """Make the fit of a model on a fold."""
    content = problem.checksum + problem.fold_checksum(repeat, fold)
    return BoardCell(problem.design, *problem.place, repeat, fold, model, tuned, content)


def submissions(store: BoardStore) -> dict[str, dict[str, Any]]:
    """Cards of the submissions that a store holds, by name."""
    found = {}
    for path in sorted((store.root / SUBMISSIONS).glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found[str(record["name"])] = {**record, "sha256": str(record["sha256"])}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is damaged ({error}); delete it, and submit {path.stem} again"
            ) from error
    return found
