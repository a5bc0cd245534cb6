"""What a leaderboard found, as plain tables: the scores of every model, pairs, cells, facts."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._tools.extras import need
from ..._tools.writing import write_atomically
from ...errors import InputError

if TYPE_CHECKING:
    import pandas as pd

#: What is compared: time errors and Brier scores relative to those of Kaplan-Meier.
METRICS = ("mae_within", "ibs", "uno", "calibration_slope", "ici", "observed_expected")
#: Losses that have a skill, 1 - loss / loss of Kaplan-Meier, and relative differences.
RELATIVE = ("mae_within", "ibs")
#: What a model is compared with.
BASELINE = "km"
#: Recorded censoring, and drawn censoring where all event times are known.
TRACKS = ("main", "truth")
_KEY = ("track", "dataset", "repeat")
#: Columns of each table, in their order.
COLUMNS: dict[str, tuple[str, ...]] = {
    "scores": (
        *_KEY, "model", "settings", "metric", "value", "stderr", "low", "high", "skill",
        "skill_low", "skill_high", "truth", "n", "events", "failed_folds",
    ),
    "pairs": (
        *_KEY, "model_a", "settings_a", "model_b", "settings_b", "metric", "difference", "stderr",
        "low", "high", "p_value",
    ),
    "cells": (
        *_KEY, "fold", "model", "settings", "status", "message", "seconds_fit", "seconds_predict",
        "chosen",
    ),
    "datasets": (
        "track", "name", "title", "source", "package", "licence", "event", "n", "events",
        "censored", "features", "unit", "horizon", "time", "subsampled", "subjects_before",
    ),
    "models": (
        "name", "settings", "title", "authors", "origin", "package", "version", "code",
        "training_data", "hardware", "notes",
    ),
}  # fmt: skip
_ABOUT = "board.json"
#: Columns that say what a row is about, but for the repeat.
_NAMES = (
    "track", "dataset", "model", "settings", "model_a", "settings_a", "model_b", "settings_b",
    "metric",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Board:
    """A leaderboard as plain tables.

    Attributes
    ----------
    scores : DataFrame
        A row for each track, dataset, repeat, model, settings and metric: value with its standard
        error and limits, and of losses (`mae_within`, `ibs`) the skill, 1 - loss / loss of
        Kaplan-Meier, with limits that heed that both are estimated on the same subjects. `truth`
        (track "truth" only) is the same score computed from the true event times, so that of
        `mae_within` it is the true mean absolute error up to the horizon. In `failed_folds` folds
        the model failed, and Kaplan-Meier's predictions replace its own.
    pairs : DataFrame
        Each pair of models on the same subjects: difference (a - b), limits and p-value, not
        adjusted. Of `mae_within` and `ibs` the difference is one of losses divided by the loss of
        Kaplan-Meier: 0.05 is five per cent of the baseline's error, and minus the difference in
        skill. Metrics with a target (slope, observed over expected) have no pairs.
    cells : DataFrame
        Each fit: status ("ok" or "failed"), message, seconds to fit (of tuned settings with the
        search) and to predict, and the parameters that a search chose.
    datasets : DataFrame
        Each dataset with its source, licence and counts as used; `censored` is a share, horizon and
        time are in `unit`. Where `subsampled`, a sample of `subjects_before` subjects was taken.
    models : DataFrame
        Each model and its settings; of a submission what its card says.
    about : dict
        Seed, versions, command, date, seconds.
    """

    scores: pd.DataFrame
    pairs: pd.DataFrame
    cells: pd.DataFrame
    datasets: pd.DataFrame
    models: pd.DataFrame
    about: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = len(self.models), len(self.datasets)
        return f"Board({counts[0]} models and settings, {counts[1]} datasets)"

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name."""
        return {name: getattr(self, name) for name in COLUMNS}

    def averaged(self) -> Board:
        """Return the board with several repeats of the folds averaged.

        Values and limits are means over repeats. So are standard errors: repeats share their
        subjects, whose sampling stays as uncertain as it was, however often folds are drawn.
        """
        scores, pairs = _over_repeats(self.scores), _over_repeats(self.pairs)
        return replace(self, scores=scores, pairs=pairs)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Which survival model predicts best?",
    ) -> Path:
        """Write the page: one file that works offline."""
        page = import_module("survgauge.bench.leaderboard.standings")  # which imports this module
        return write_atomically(Path(path), page.leaderboard_page(self, title))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a Parquet file for each table, and last ``board.json`` with their checksums."""
        place = Path(folder).expanduser()
        sums = {}
        for name, table in self.tables().items():
            content = _parquet(table)
            write_atomically(place / f"{name}.parquet", content, make_folder=True)
            sums[name] = sha256(content).hexdigest()
        record = {"about": self.about, "sha256": sums}
        write_atomically(place / _ABOUT, json.dumps(record, indent=2, allow_nan=False) + "\n")
        return place

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Board:
        """Read what `save` wrote; refuse what is damaged or only half of it."""
        place = Path(folder).expanduser()
        pd = need("pandas", "reading a leaderboard", "experiment")
        need("pyarrow", "reading a leaderboard", "experiment")
        try:
            record = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
            sums = dict(record["sha256"])
            contents = {name: (place / f"{name}.parquet").read_bytes() for name in COLUMNS}
        except FileNotFoundError as error:
            raise InputError(f"{place} holds no leaderboard: {error.filename} is missing") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{place / _ABOUT} cannot be read ({error})") from error
        tables = {}
        for name, content in contents.items():
            if sha256(content).hexdigest() != sums.get(name):
                raise InputError(
                    f"{place / name}.parquet is damaged or of another run; write the board again"
                )
            tables[name] = pd.read_parquet(io.BytesIO(content))
        return cls(**tables, about=record["about"])


def frame_of(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Make a table of a board from rows; what a row does not say is missing."""
    pd = need("pandas", "a leaderboard", "experiment")
    return pd.DataFrame(rows, columns=list(COLUMNS[name]))


def _over_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Average numbers over repeats; failed folds are summed."""
    keys = [column for column in table.columns if column in _NAMES]
    if table.empty or table["repeat"].nunique() == 1:
        return table
    summed = [c for c in table.columns if c == "failed_folds"]
    means = [c for c in table.columns if c not in (*keys, *summed, "repeat")]
    how = {**dict.fromkeys(means, "mean"), **dict.fromkeys(summed, "sum")}
    found = table.groupby(keys, sort=False, dropna=False).agg(how).reset_index()
    return found.assign(repeat=-1)[list(table.columns)]


def _parquet(table: pd.DataFrame) -> bytes:
    need("pyarrow", "writing a leaderboard", "experiment")
    content = io.BytesIO()
    table.to_parquet(content, index=False)
    return content.getvalue()
