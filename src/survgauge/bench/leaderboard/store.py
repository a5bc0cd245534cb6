"""What a run keeps: its plan, what every fit predicted and cost, submissions and the board."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..experiment.store import Arrays, DamagedError, Store, file_of, read_json
from .entrants import Recorded
from .fitting import SETTINGS, BoardCell
from .problems import Design, Problem

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
