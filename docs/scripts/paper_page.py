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
from evidence import against
from published import read_published, side_by_side
from truth_page import BLEND, KM, PO, TRUTHS, WORDS, answers_of, outside_blend, percent

from survgauge.bench.experiment import Results

HERE = Path(__file__).parents[1] / "results"
SIX = ["mae_uncensored", "mae_hinge", "mae_margin", "mae_ipcw_d", "mae_ipcw_t", "mae_po"]
#: Wins in the paper's own table of 29 data sets, ties counted for each (Qi et al. 2023).
IN_THE_PAPER = dict(zip(SIX, (1, 0, 8, 0, 0, 22), strict=True))
#: Metrics of the table with doubly robust errors.
ROBUST = (
    PO,
    "mae_margin",
    "mae_ipcw_d",
    "mae_expected",
    KM,
    BLEND,
    "mae_expected(distribution=blend)",
)
FIGURES = ("grid-mae.png", "grid-mae_tau_horizon.png")


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


def wins(ours: Results, published: Results) -> str:
    """Wins of the paper's six: as the paper counts them, recomputed from its spreadsheet, ours."""
    same = published.select(datasets=list(dict.fromkeys(ours.metrics["dataset"])))
    counts = {
        f"the paper's table, {len(published.sets)} data sets": IN_THE_PAPER,
        f"spreadsheet, our rule, {len(published.sets)}": _wins(published),
        f"spreadsheet, our rule, {len(same.sets)}": _wins(same),
        f"ours, {len(ours.sets)}": _wins(ours.select(truth="mae")),
    }
    return table(
        pd.DataFrame(
            {"metric": name, **{words: int(won[name]) for words, won in counts.items()}}
            for name in SIX
        )
    )


def _wins(results: Results) -> dict[str, int]:
    return dict(results.select(metrics=SIX).summary()["total"])


def robust(results: Results, truth: str) -> str:
    """Doubly robust errors beside others: means over the data sets, and against po on each."""
    answers = answers_of(results, truth)
    answers = answers[answers["metric"].isin(ROBUST)]
    versus, found = against(answers, PO), answers.groupby("metric")[["tau", "relative"]].mean()
    rows = []
    for name, row in found.sort_values("tau", ascending=False).iterrows():
        shares = (
            {key: percent(versus.loc[name, key]) for key in ("ranks_as_well", "closer")}
            if name in versus.index
            else {"ranks_as_well": "", "closer": ""}
        )
        rows.append(
            {
                "metric": WORDS[str(name)],
                "mean tau": f"{row['tau']:.2f}",
                "mean distance": percent(row["relative"], 1),
                "ranks as well as `po`": shares["ranks_as_well"],
                "closer than `po`": shares["closer"],
            }
        )
    return table(pd.DataFrame(rows))


def section(summary: str, title: str) -> str:
    """One section of the summary that `bench --out` wrote."""
    found = re.search(rf"## {re.escape(title)}\n\n(.*?)(?=\n## |\Z)", summary, re.S)
    return found.group(1).strip() if found else "(not in this run)"


def page(store: Path, out: Path, published: Path) -> str:
    ours, theirs = Results.load(store), read_published(published)
    both, others = side_by_side(ours, theirs), outside_blend(ours)
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
        "published_wins": wins(ours, theirs),
        "other_models": ", ".join(dict.fromkeys(others.metrics["model"])),
    }
    for truth, short in zip(TRUTHS, ("", "_h"), strict=True):
        pieces[f"robust{short}"] = robust(ours, truth)
        pieces[f"robust_other{short}"] = robust(others, truth)
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
