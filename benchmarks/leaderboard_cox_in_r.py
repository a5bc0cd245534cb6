"""Cox regression by R's survival from the written tasks, against `coxph` of the leaderboard.

    PYTHONPATH=src python benchmarks/leaderboard_cox_in_r.py

runs `coxph` on all datasets, writes the tasks, fits them by the R code of the page
docs/howto/leaderboard.md, once as it is (Efron's ties) and once with Breslow's, and submits both.
The time errors, and the versions of R and survival, go into
docs/results/leaderboard_cox_in_r.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import survgauge as sg

DOCS = Path(__file__).parents[1] / "docs"
PAGE, NUMBERS = DOCS / "howto/leaderboard.md", DOCS / "results/leaderboard_cox_in_r.json"
CARD = 'authors = "R"\ncode = "survival"\ntraining_data = "the tasks"\nhardware = "any"\n'
VERSIONS = 'cat(as.character(getRversion()), as.character(packageVersion("survival")))'


def script(ties: str = "efron") -> str:
    """R code of the page, with other ties if they are asked for."""
    (code,) = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(code).replace("data = train)", f'data = train, ties = "{ties}")')


def by_r(tasks: Path, place: Path, ties: str) -> Path:
    """Fit all tasks in R; returns the folder to submit."""
    pred, code = place / f"pred-{ties}", place / f"{ties}.R"
    code.write_text(script(ties), encoding="utf-8")
    subprocess.run(["Rscript", str(code), str(tasks), str(pred)], check=True)
    (pred / "card.toml").write_text(CARD, encoding="utf-8")
    return pred


def compared(place: Path, datasets: list[str] | None = None) -> dict[str, Any]:
    """Time errors of the three models on each dataset."""
    store = place / "run"
    sg.leaderboard.run(["coxph"], datasets, store=store, truth=[], jobs=1, progress=False)
    tasks = sg.leaderboard.tasks(place / "tasks", store=store)
    for ties in ("efron", "breslow"):
        board = sg.leaderboard.submit(f"r-{ties}", by_r(tasks, place, ties), store)
    rows = board.scores[board.scores["metric"] == "mae_within"]
    table = rows.pivot_table(index="dataset", columns="model", values="value", sort=False)
    table = table[["coxph", "r-efron", "r-breslow"]].reset_index()
    told = subprocess.run(["Rscript", "-e", VERSIONS], check=True, capture_output=True, text=True)
    r, survival = told.stdout.split()
    about = {"R": r, "survival": survival, "survgauge": board.about["versions"]["survgauge"]}
    return {"about": about | {"seed": 0, "metric": "mae_within"}, "rows": table.to_dict("records")}


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        found = compared(Path(folder), sys.argv[1:] or None)
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
