"""Write docs/results/paper.md from a run of the `paper` plan.

    survgauge bench paper --store runs/paper --out runs/out
    python docs/scripts/paper_page.py runs/paper runs/out published.csv

`published.csv` is the authors' spreadsheet in tidy form.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pandas as pd

from survgauge.experiment import Results
from survgauge.experiment.published import read_published, side_by_side

HERE = Path(__file__).parents[1] / "results"
SIX = ["mae_uncensored", "mae_hinge", "mae_margin", "mae_ipcw_d", "mae_ipcw_t", "mae_po"]
FIGURES = ("grid-mae.png", "grid-mae_tau_horizon.png", "critical-mae.png")


def table(frame: pd.DataFrame) -> str:
    head = "| " + " | ".join(map(str, frame.columns)) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    rows = ["| " + " | ".join(map(str, row)) + " |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *rows])


def per_metric(both: pd.DataFrame) -> str:
    rows = []
    for metric, part in both.groupby("metric", sort=False):
        row = {"metric": metric}
        for label, form in (("tau", "{:.2f}"), ("overlap", "{:.2f}"), ("relative", "{:.0%}")):
            for who in ("ours", "published"):
                row[f"{label}, {who}"] = form.format(part[f"{label}_{who}"].mean())
        row["wins, ours"] = int(part["winner_ours"].sum())
        row["wins, published"] = int(part["winner_published"].sum())
        rows.append(row)
    return table(pd.DataFrame(rows))


def per_data_set(both: pd.DataFrame) -> str:
    rows = []
    for (name, kind), part in both.groupby(["dataset", "censoring"], sort=False):
        row = {"data, censoring": f"{name}, {kind}"}
        for cell in part.itertuples():
            if cell.metric in SIX:
                ours = f"{cell.tau_ours:.2f} ({cell.overlap_ours:.0f})"
                published = f"{cell.tau_published:.2f} ({cell.overlap_published:.0f})"
                row[cell.metric.removeprefix("mae_")] = f"{ours} / {published}"
        rows.append(row)
    return table(pd.DataFrame(rows))


def section(summary: str, title: str) -> str:
    """One section of the summary that `bench --out` wrote."""
    found = re.search(rf"## {re.escape(title)}\n\n(.*?)(?=\n## |\Z)", summary, re.S)
    return found.group(1).strip() if found else "(not in this run)"


def page(store: Path, out: Path, published: Path) -> str:
    both = side_by_side(Results.load(store), read_published(published))
    summary = (out / "summary.md").read_text(encoding="utf-8")
    pieces = {
        "per_metric": per_metric(both),
        "per_data_set": per_data_set(both),
        "wins": section(summary, "Wins among the paper's six metrics alone"),
        "all": section(summary, "Wins over 17 data sets; truth: mae"),
        "horizon": section(summary, "Wins over 17 data sets; truth: mae(tau=horizon)"),
        "advice": section(summary, "The paper's advice"),
        "c": section(summary, "Wins over 17 data sets; truth: harrell"),
        "rmse": section(summary, "Wins over 17 data sets; truth: rmse"),
    }
    text = (HERE / "paper_template.md").read_text(encoding="utf-8")
    for name, piece in pieces.items():
        text = text.replace("{{" + name + "}}", piece)
    return text


if __name__ == "__main__":
    store, out, published = map(Path, sys.argv[1:4])
    (HERE / "figures").mkdir(parents=True, exist_ok=True)
    for figure in FIGURES:
        shutil.copyfile(out / "figures" / figure, HERE / "figures" / figure)
    (HERE / "paper.md").write_text(page(store, out, published), encoding="utf-8")
