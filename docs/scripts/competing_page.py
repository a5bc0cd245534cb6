"""Write docs/results/competing.md and its figure from docs/results/competing.json.

python docs/scripts/competing_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from evidence import over_bases, t_interval

HERE = Path(__file__).parents[1] / "results"
RIGHT, WRONG = "cause right", "competing events as censored"
REAL = ("follic", "mgus", "flchain", "senators")
WORDS = {
    "mae_dr": "MAE, dr",
    "mae_po": "MAE, po",
    "mae_ipcw_d": "MAE, IPCW-D",
    "rmse_dr": "RMSE, dr",
    "rmse_po": "RMSE, po",
    "rmse_ipcw_d": "RMSE, IPCW-D",
    "brier": "Brier score at t",
    "ibs": "integrated Brier score",
    "auc": "AUC at t",
    "c_uno": "C, weighted (Uno, Wolbers)",
    "c_harrell": "C (Harrell, Wolbers)",
}
KINDS = {"uniform": "uniform", "exponential": "exponential", "feature_dependent": "by features"}


def halves(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Answers of the metrics with the cause right, and of those with the mistake."""
    wrong = rows["metric"].str.endswith("(mistake)")
    named = rows.assign(metric=rows["metric"].str.partition(" ")[0], overlap=0.0, winner=False)
    return {RIGHT: named[~wrong], WRONG: named[wrong]}


def table(header: list[str], rows: list[list[str]]) -> str:
    rule = [":--", *("--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def number(row: Any, name: str, scale: float = 1.0, digits: int = 2, unit: str = "") -> str:
    mean, low, high = (scale * row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return f"{mean:.{digits}f}{unit} ({low:.{digits}f} to {high:.{digits}f})"


def overall(parts: dict[str, pd.DataFrame]) -> str:
    tables = {name: over_bases(part) for name, part in parts.items()}
    rows = []
    for metric, words in WORDS.items():
        right, wrong = (tables[name].loc[metric] for name in (RIGHT, WRONG))
        rows.append([
            words, number(right, "tau"), number(wrong, "tau"),
            number(right, "relative", 100, 1, " %"), number(wrong, "relative", 100, 1, " %"),
            f"{100 * right['bias']:+.1f} %", f"{100 * wrong['bias']:+.1f} %",
        ])  # fmt: skip
    header = ["metric", "tau, cause right", "tau, mistake", "distance, cause right"]
    return table([*header, "distance, mistake", "bias", "bias, mistake"], rows)


def paired(parts: dict[str, pd.DataFrame]) -> tuple[str, int]:
    """What the cause is worth: differences on the same sets, means over bases.

    Also for how many metrics both differences speak for the cause beyond their intervals.
    """
    keys = ["dataset", "censoring", "repeat", "metric"]
    both = parts[RIGHT].merge(parts[WRONG], on=keys, suffixes=("", "_wrong"))
    rows, worse = [], 0
    for metric, words in WORDS.items():
        part = both[both["metric"] == metric]
        cells, ends = [words], []
        for measure, scale, unit in (("tau", 1.0, ""), ("relative", 100.0, " points")):
            gap = part[measure] - part[f"{measure}_wrong"]
            means = gap.groupby(part["dataset"], sort=False).mean()
            mean, low, high = (scale * value for value in t_interval(means))
            ends.append(low if measure == "tau" else -high)
            digits = 2 if scale == 1.0 else 1
            cells.append(f"{mean:+.{digits}f}{unit} ({low:+.{digits}f} to {high:+.{digits}f})")
        better = (part["relative"] < part["relative_wrong"]).mean()
        rows.append([*cells, f"{100 * better:.0f} %"])
        worse += min(ends) > 0
    return table(["metric", "tau", "distance", "sets on which it is closer"], rows), worse


def split(parts: dict[str, pd.DataFrame], column: str, groups: dict[str, Any]) -> str:
    """Means of the metrics with the cause right in groups of sets: tau, distance."""
    rows = []
    for metric, words in WORDS.items():
        cells = [words]
        for chosen in groups.values():
            for name in (RIGHT, WRONG):
                part = parts[name]
                part = part[(part["metric"] == metric) & part[column].isin(chosen)]
                means = part.groupby("dataset", sort=False)[["tau", "relative"]].mean().mean()
                cells.append(f"{means['tau']:.2f}, {100 * means['relative']:.0f} %")
        rows.append(cells)
    header = [f"{label}, {what}" for label in groups for what in ("right", "mistake")]
    return table(["metric", *header], rows)


def pages() -> tuple[str, Any]:
    """The page and its figure."""
    from truth_figures import by_metric  # beside this script

    stored = json.loads((HERE / "competing.json").read_text())
    rows, about = pd.DataFrame(stored["rows"]), stored["about"]
    parts = halves(rows)
    bases = list(dict.fromkeys(rows["dataset"]))
    made_up = [name for name in bases if name not in REAL]
    kinds = {words: [kind] for kind, words in KINDS.items()}
    censored = rows.groupby("censoring", sort=False)["censored"].mean()
    right, wrong = (over_bases(parts[name]) for name in (RIGHT, WRONG))
    gaps, worse = paired(parts)
    facts = {
        "bases": str(len(bases)),
        "real": str(len(bases) - len(made_up)),
        "made_up": str(len(made_up)),
        "sets": str(len(rows.groupby(["dataset", "censoring", "repeat"]))),
        "models": str(len(about["models"])),
        "draws": str(about["draws"]),
        "folds": str(about["folds"]),
        "censored": ", ".join(f"{KINDS[k]} {100 * v:.0f} %" for k, v in censored.items()),
        "overall": overall(parts),
        "paired": gaps,
        "worse": str(worse),
        "metrics": str(len(WORDS)),
        "by_kind": split(parts, "censoring", kinds),
        "by_base": split(parts, "dataset", {"real": list(REAL), "simulated": made_up}),
    }
    for metric in WORDS:
        for name, found in (("right", right), ("wrong", wrong)):
            facts[f"{metric}_tau_{name}"] = f"{found.loc[metric, 'tau']:.2f}"
            facts[f"{metric}_far_{name}"] = f"{100 * found.loc[metric, 'relative']:.0f} %"
    for name, found in (("right", right), ("wrong", wrong)):
        facts[f"tau_least_{name}"] = f"{found['tau'].min():.2f}"
        facts[f"tau_most_{name}"] = f"{found['tau'].max():.2f}"
    page = (HERE / "competing_template.md").read_text()
    for name, text in facts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    figure = by_metric(parts, WORDS)
    figure.axes[1].set_xlabel("mean distance from the true value", fontsize=9)
    figure.get_layout_engine().set(wspace=0.06)  # ends of the two axes do not run together
    return page, figure


def main() -> None:
    page, figure = pages()
    (HERE / "competing.md").write_text(page)
    figure.savefig(HERE / "figures" / "competing-metrics.png", dpi=150)


if __name__ == "__main__":
    main()
