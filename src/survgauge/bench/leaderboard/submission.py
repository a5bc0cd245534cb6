"""Submissions by file: tasks for whoever fits elsewhere, and their predictions, checked and scored.

Subjects go by a keyed hash in an order of its own, another one in each task, so that their names
tell nothing of the outcomes. The datasets are public all the same, and a test subject is a training
subject of the other folds: predictions that were made from the test outcomes are refused where they
show it, and nothing more can be promised.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.extras import need
from ..._tools.writing import write_atomically
from ...data.files import header_numbers
from ...data.predictions import Prediction
from ...data.tables import Table, is_number
from ...errors import InputError, numbered, one_of
from ...metrics.registry import REGISTRY
from ..experiment.cells import Outcome
from ..experiment.plan import read_toml
from ..experiment.scoring import Arrays
from .entrants import submitted
from .fitting import pooled
from .problems import Design, Problem, problems
from .results import Board
from .running import (
    BOARD,
    CARD,
    SUBMISSIONS,
    SUBMITTED,
    BoardPlan,
    BoardStore,
    cell_of,
    score_store,
)

FORMATS = ("csv", "parquet")
_INDEX, _CARD = "tasks.json", "card.toml"
#: What a card must say; `title` and `notes` may be added.
_REQUIRED = ("authors", "code", "training_data", "hardware")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,59}")
#: What a file has, in words.
_KINDS = {"survival": "survival curves", "time": "times", "risk": "risks"}
#: Most characters of an entry of a card.
_LONGEST = 2000
#: Rounding of files.
_SLACK = 1e-6
#: Gain in C over the best model of the board from which on outcomes must have been known, and what
#: share of a curve falls where the event was, of how many events.
_TOO_GOOD, _DROP, _SHARE = 0.15, 0.5, 0.5
#: Fewer events prove nothing.
_FEWEST = 20


def task_name(problem: Problem, repeat: int, fold: int) -> str:
    """Name of a task: of its folder, and of the file with its predictions."""
    return f"{problem.track}-{problem.name}-r{repeat}-f{fold}"


def _each(problem: Problem) -> Iterator[tuple[int, int]]:
    design = problem.design
    yield from ((r, f) for r in range(design.repeats) for f in range(design.folds))


# -- tasks -----------------------------------------------------------------------------------------


def tasks(
    out: str | os.PathLike[str],
    datasets: Iterable[str] | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    format: str = "csv",
    **settings: Any,
) -> Path:
    """Write the tasks of a leaderboard for models that are fitted elsewhere.

    For each task a folder with ``train`` (id, time, event, features), ``test`` (id, features) and
    ``grid`` (times at which curves are asked for); ``tasks.json`` lists them with checksums.
    Features are filled, encoded and standardised as for every other model.

    Parameters
    ----------
    out : path
        Folder to write into.
    datasets : names, optional
        By default all of the leaderboard.
    store : path, optional
        Folder of a run, whose tasks are written; the other arguments are then not given.
    format : {"csv", "parquet"}
        Kind of files.
    settings
        truth, repeats, max_rows, seed and folds, as in `run`.

    Returns
    -------
    Path
        The folder.
    """
    one_of("format", format, FORMATS)
    if store is not None:
        if datasets is not None or settings:
            raise InputError("store says which tasks there are; leave the other arguments out")
        design = BoardStore(store).recorded().design
    else:
        design = Design.of(datasets, **settings)
    place = Path(out).expanduser()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"out must be a new or an empty folder; {place} is not")
    listed = []
    for problem in problems(design):
        for repeat, fold in _each(problem):
            name = task_name(problem, repeat, fold)
            _write_task(place / name, problem, repeat, fold, format)
            rows = problem.folds[repeat] == fold
            listed.append(
                {
                    "task": name,
                    "track": problem.track,
                    "dataset": problem.name,
                    "repeat": repeat,
                    "fold": fold,
                    "train": int((~rows).sum()),
                    "test": int(rows.sum()),
                    "sha256_data": problem.checksum,
                    "sha256_rows": problem.fold_checksum(repeat, fold),
                    "horizon": problem.horizon,
                }
            )
    record = {"design": design.to_dict(), "tasks": listed}
    write_atomically(place / _INDEX, json.dumps(record, indent=1) + "\n", make_folder=True)
    return place


def _write_task(place: Path, problem: Problem, repeat: int, fold: int, format: str) -> None:
    pd = need("pandas", "writing tasks", "experiment")
    split, ids = problem.split(repeat, fold), np.array(problem.ids(repeat, fold))
    parts = {}
    for part, X, rows in (
        ("train", split.X_train, split.train),
        ("test", split.X_test, split.test),
    ):
        frame = pd.DataFrame(X, columns=list(split.names))
        if part == "train":
            frame.insert(0, "event", split.y_train.event.astype(int))
            frame.insert(0, "time", split.y_train.time)
        frame.insert(0, "id", ids[rows])
        parts[part] = frame.sort_values("id")
    parts["grid"] = pd.DataFrame({"time": problem.asked})
    for part, frame in parts.items():
        file = place / f"{part}.{format}"

        write = frame.to_csv if format == "csv" else frame.to_parquet
        write_atomically(file, partial(write, index=False), make_folder=True)


# -- submissions -----------------------------------------------------------------------------------


def submit(
    name: str,
    pred: str | os.PathLike[str],
    store: str | os.PathLike[str],
    *,
    command: str = "",
) -> Board:
    """Check the predictions of a model that was fitted elsewhere, and score them with the board.

    Parameters
    ----------
    name : str
        What tables call it.
    pred : path
        Folder with a file for each task, ``TASK.csv`` or ``TASK.parquet``: a column id, and curves
        with the times of the grid as names of columns, or a column time, or a column risk. Beside
        them ``card.toml`` with authors, code, training_data and hardware.
    store : path
        Folder of a run; a submission of the same name is replaced.
    command : str
        How it was called, to be shown with the results.

    Returns
    -------
    Board
        With the submission; the store keeps it, too.
    """
    begun = time.perf_counter()
    place, folder = BoardStore(store), Path(pred).expanduser()
    plan = place.recorded()
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"name must be up to 60 letters, digits and _ . + - in one word; got {name!r}"
        )
    if name in [model.label for model in plan.models]:
        raise InputError(f"name {name!r} is that of a model of the board; give another")
    if not folder.is_dir():
        raise InputError(f"pred must be a folder of predictions; {folder} is none")
    card = _read_card(folder / _CARD)
    with place.locked():
        made = list(problems(plan.design))
        found = _read_all(folder, made)
        best = _best_rank(place, plan, made)
        for problem in made:
            _refuse_known_outcomes(problem, found, best[problem.place])
        contents = sha256()
        for key in sorted(found):
            contents.update(key.encode())
            contents.update(b"".join(v.tobytes() for v in found[key].values()))
        card = {**card, "name": name, "sha256": contents.hexdigest()}
        for problem in made:
            for repeat, fold in _each(problem):
                cell: Any = cell_of(problem, repeat, fold, submitted(name, card))
                arrays = found[task_name(problem, repeat, fold)]
                told = {"settings": SUBMITTED, "status": "ok", "message": "", "chosen": "{}"}
                spent = {"seconds_fit": np.nan, "seconds_predict": np.nan}
                row = {**cell.names(), **told, **spent, "digest": cell.digest}
                held = {f"{SUBMITTED}.{kind}": values for kind, values in arrays.items()}
                place.put(cell, Outcome("ok", [row], held))
        text = json.dumps(card, indent=2) + "\n"
        write_atomically(place.root / SUBMISSIONS / f"{name}.json", text, make_folder=True)
        call = command or f"survgauge.leaderboard.submit({name!r}, ...)"
        board = score_store(place, plan, made, call, begun)
        board.save(place.root / BOARD)
    return board


def _read_card(path: Path) -> dict[str, str]:
    told = f"{path} is missing; a submission needs this card with {', '.join(_REQUIRED)}"
    record = read_toml(path, told)
    unknown = [key for key in record if key not in CARD]
    if unknown:
        raise InputError(f"{path} has no entry {unknown[0]!r}; it has {', '.join(CARD)}")
    for key in (*_REQUIRED, *record):
        text = record.get(key)
        if not isinstance(text, str) or (not text.strip() and key in _REQUIRED):
            raise InputError(f"{path} must say {key}, as a text; got {text!r}")
        if len(text) > _LONGEST:
            raise InputError(f"{path}: {key} has {len(text):,} characters, at most {_LONGEST:,}")
    return dict(record)


def _read_all(folder: Path, made: list[Problem]) -> dict[str, Arrays]:
    """Read and check the predictions of all tasks."""
    wanted = {task_name(p, *where): (p, *where) for p in made for where in _each(p)}
    files = dict[str, Path]()
    for path in sorted(path for ending in FORMATS for path in folder.glob(f"*.{ending}")):
        if files.setdefault(path.stem, path) != path:
            raise InputError(f"{files[path.stem]} and {path} are for one task; take one away")
    missing = [name for name in wanted if name not in files]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{folder} has no predictions of task {missing[0]}{more}; all {len(wanted)} tasks of "
            "the board are needed (survgauge leaderboard tasks --store writes them)"
        )
    strange = [path for name, path in files.items() if name not in wanted]
    if strange:
        raise InputError(f"{strange[0]} belongs to no task of the board; take it away")
    found, kinds = dict[str, Arrays](), dict[tuple[str, str], str]()
    for name, (problem, repeat, fold) in wanted.items():
        found[name] = _read_one(files[name], problem, repeat, fold)
        (kind,) = found[name]
        if kinds.setdefault(problem.place, kind) != kind:
            raise InputError(
                f"{files[name]} has {_KINDS[kind]}, other folds of the dataset have "
                f"{_KINDS[kinds[problem.place]]}; all must have the same"
            )
    return found


def _read_one(path: Path, problem: Problem, repeat: int, fold: int) -> Arrays:
    """Read predictions of a task, in the order of its test subjects."""
    table = Table(path)
    if "id" not in table.names:
        raise InputError(f"{path} must have a column id; it has {', '.join(table.names[:5])}")
    ids = table.labels("id").tolist()
    test = problem.folds[repeat] == fold
    wanted = np.array(problem.ids(repeat, fold))[test].tolist()
    place = {label: k for k, label in enumerate(ids)}
    if len(place) < len(ids):
        again = next(label for k, label in enumerate(ids) if place[label] != k)
        raise InputError(f"{path} has id {again!r} twice; each subject is a row")
    missing = [label for label in wanted if label not in place]
    if missing or len(ids) != len(wanted):
        raise InputError(
            f"{path}: ids must be those of the task's test subjects; {len(missing)} of "
            f"{len(wanted)} are missing, {len(ids) - len(wanted) + len(missing)} are of others"
        )
    order = [place[label] for label in wanted]
    others = [name for name in table.names if name != "id"]
    if others in (["time"], ["risk"]):
        values = table.numbers(others[0])[order]
        wrong = ~np.isfinite(values) | ((values < 0) & (others == ["time"]))
        if wrong.any():
            least = " and not negative" if others == ["time"] else ""
            rows = sorted(np.array(order)[wrong].tolist())
            raise InputError(
                f"{path}: column {others[0]} must be finite{least}; it is not in {numbered(rows)}"
            )
        return {others[0]: values}
    columns = _in_grid_order(path, others, problem.asked)
    curves = np.column_stack([table.numbers(name) for name in columns])[order]
    return {"survival": _checked_curves(path, curves, order)[:, problem.columns]}


def _in_grid_order(path: Path, names: list[str], grid: Floats) -> list[str]:
    """Return the columns in the order of the grid, after checking that they are its times."""
    numbers = header_numbers(names)
    if not all(map(is_number, numbers)):
        raise InputError(
            f"{path} must have, besides id, one column time or risk, or curves with the times of "
            f"the grid as names of columns; got {', '.join(names[:3])}"
        )
    times = np.array([float(number) for number in numbers])
    order = np.argsort(times, kind="stable")
    if len(times) != len(grid) or not np.allclose(times[order], grid, rtol=1e-6, atol=1e-9):
        raise InputError(
            f"{path}: curves must be at the {len(grid)} times of the task's grid file; got "
            f"{len(times)} times" + (" that differ from them" if len(times) == len(grid) else "")
        )
    return [names[k] for k in order]


def _checked_curves(path: Path, curves: Floats, order: list[int]) -> Any:
    """Refuse gaps, values that are no probabilities and curves that rise."""
    for wrong, what in (
        (np.isnan(curves).any(axis=1), "has gaps"),
        ((curves < -_SLACK).any(axis=1) | (curves > 1 + _SLACK).any(axis=1), "leaves [0, 1]"),
        ((np.diff(curves, axis=1) > _SLACK).any(axis=1), "rises"),
    ):
        if wrong.any():
            rows = sorted(np.array(order)[wrong].tolist())
            raise InputError(f"{path}: the survival curve {what} in {numbered(rows)}")
    falling = np.minimum.accumulate(np.clip(curves, 0.0, 1.0), axis=1)
    return falling.astype(np.float32)


# -- outcomes that were known ----------------------------------------------------------------------


def _best_rank(
    store: BoardStore, plan: BoardPlan, made: list[Problem]
) -> dict[tuple[str, str], float]:
    """C of the best model of the board on each dataset, of a run that is finished."""
    cells: list[Any] = plan.cells(made)
    left = store.missing(cells, damaged=store.damaged(cells))
    places = {problem.place for problem in made}
    try:
        scores = Board.load(store.root / BOARD).scores
    except InputError as error:
        raise InputError(f"{error}; {_finish(store)}") from error
    own = scores[(scores["metric"] == "uno") & (scores["settings"] != SUBMITTED)]
    best = own.groupby(["track", "dataset"])["value"].max()
    if left or not places <= set(best.index):
        fits = f"{len(left)} fits of the run are" if len(left) != 1 else "a fit of the run is"
        what = f"{fits} missing or damaged" if left else "its board is older than its plan"
        raise InputError(f"{store.root} takes no submission yet, because {what}: {_finish(store)}")
    return {place: max(float(value), 0.5) for place, value in best.items()}


def _finish(store: BoardStore) -> str:
    return f"go on with it first (survgauge bench leaderboard --store {store.root} --resume)"


def _refuse_known_outcomes(problem: Problem, found: dict[str, Arrays], best: float) -> None:
    """Refuse predictions that no model could make that has not seen the test outcomes."""
    y, grid = problem.y, problem.grid
    for repeat in range(problem.design.repeats):
        where = problem.folds[repeat]
        parts = [
            (np.flatnonzero(where == fold), found[task_name(problem, repeat, fold)])
            for fold in range(problem.design.folds)
        ]
        prediction = pooled(parts, len(y), grid)
        if y.event.sum() < _FEWEST:
            continue
        c = float(REGISTRY["uno"].measure(problem.question, prediction).value)
        if c > min(best + _TOO_GOOD, 0.995):
            raise InputError(
                f"dataset {problem.name} ({problem.track}): predictions order the test subjects "
                f"with C = {c:.3f}, the best model of the board with {best:.3f}; they are refused, "
                "because they seem to be made from the test outcomes"
            )
        share = _falls_at_events(problem, prediction)
        if share > _SHARE:
            raise InputError(
                f"dataset {problem.name} ({problem.track}): {100 * share:.0f} % of the curves fall "
                "just where the event of their subject was; they are refused, because they seem to "
                "be made from the test outcomes"
            )


def _falls_at_events(problem: Problem, prediction: Prediction) -> float:
    """Share of events whose own curve falls by a half in the interval of the event, above chance.

    Chance is how often curves fall by a half where the event of another subject was.
    """
    if prediction.curves is None:
        return 0.0
    values, y = np.asarray(prediction.curves.survival, dtype=np.float64), problem.y
    events = np.flatnonzero(y.event & (y.time > 0))
    interval = np.searchsorted(problem.grid, y.time[events]) - 1
    fallen = -np.diff(values[events], axis=1) >= _DROP
    own = fallen[np.arange(len(events)), interval].mean()
    return float(own - fallen[:, interval].mean())
