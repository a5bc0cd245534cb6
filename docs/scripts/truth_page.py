"""Write docs/results/truth.md from a run of the `truth` plan, and one of `paper` if there is one.

    survgauge bench truth --store runs/truth
    survgauge bench paper --store runs/paper
    python docs/scripts/truth_page.py runs/truth --paper runs/paper

Settings were chosen on the first eight datasets; what is reported comes from the others, which were
held out. Their tables are also made without the models whose family is among the blend's learners.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from evidence import against, answers_by_set, over_bases
from truth_figures import by_base, by_kind, by_metric

from survgauge.bench.experiment import Results

HERE = Path(__file__).parents[1] / "results"
CHOSEN_ON = ("Aids2", "Dialysis", "Framingham", "LeukSurv", "phpl04K8a", "rhc", "TRACE", "whas500")
PO, KM, BLEND = "mae_po", "mae_dr(censoring=test)", "mae_dr(censoring=test, distribution=blend)"
WORDS = {
    "mae_uncensored": "uncensored",
    "mae_hinge": "hinge",
    "mae_margin": "margin",
    "mae_ipcw_d": "IPCW-D",
    "mae_ipcw_t": "IPCW-T",
    "mae_po": "po",
    "mae_pop_po": "pop_po",
    "mae_expected": "expected",
    "mae_expected(distribution=blend)": "expected, blend",
    KM: "dr",
    "mae_dr(censoring=test, tail=exponential)": "dr, exponential tail",
    "mae_dr(censoring=train)": "dr, G of training set",
    BLEND: "dr, blend",
    "mae_dr(censoring=train, distribution=blend)": "dr, blend, G of training set",
    "mae_dr(censoring=model, distribution=blend)": "dr, blend, modelled G",
}
#: Models of the families that the blend is made of: Kaplan-Meier, Cox, boosting, forests.
IN_BLEND = ("km", "coxph", "gbm_c", "gbm_tree", "rsf")
#: The paper's datasets that are public.
PAPERS = ("gbm", "metabric", "support")
PAPER_ELSEWHERE = "The plan `paper` is a run of its own; [paper.md](paper.md) has its numbers."
TRUTHS = {"mae": "no horizon", "mae(tau=horizon)": "up to the horizon"}


def without_horizon(label: str) -> str:
    """Label of a metric without its horizon: "mae_po" for "mae_po(tau=horizon)"."""
    name, _, settings = label.partition("(")
    if name == "mae_within":
        name, settings = "mae_dr", ", ".join(filter(None, ("censoring=test", settings)))
    kept = [part for part in settings.rstrip(")").split(", ") if part and part != "tau=horizon"]
    return f"{name}({', '.join(kept)})" if kept else name


def answers_of(results: Results, truth: str) -> pd.DataFrame:
    """Answers on every set, with metrics named as without a horizon."""
    found = answers_by_set(results, truth)
    return found.assign(metric=found["metric"].map(without_horizon))


def outside_blend(results: Results) -> Results:
    """The same without the models whose family is in the blend."""
    others = [name for name in dict.fromkeys(results.metrics["model"]) if name not in IN_BLEND]
    return results.select(models=others)


def parts_of(answers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Datasets on which settings were chosen, and those that were held out."""
    chosen = answers["dataset"].isin(CHOSEN_ON)
    return {"choice": answers[chosen], "report": answers[~chosen]}


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    rule = [":--", *("--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f} %"


def means(answers: pd.DataFrame) -> str:
    """Table of the means over bases, best order first."""
    found = over_bases(answers).sort_values("tau", ascending=False)
    header = ["metric", "mean tau", "interval", "mean distance", "interval", "bias", "wins"]
    rows = [
        [
            WORDS.get(str(name), str(name)),
            f"{row['tau']:.3f}",
            f"{row['tau_low']:.2f} to {row['tau_high']:.2f}",
            percent(row["relative"], 1),
            f"{100 * row['relative_low']:.1f} to {percent(row['relative_high'], 1)}",
            f"{100 * row['bias']:+.1f} %",
            str(int(row["wins"])),
        ]
        for name, row in found.iterrows()
    ]
    return table(header, rows)


def differences(answers: pd.DataFrame) -> str:
    """Table of the differences from po on the same sets."""
    found = against(answers, PO).sort_values("tau", ascending=False)
    header = ["metric", "tau above po", "interval", "distance, of po's", "closer by, interval",
              "sets ranked as well", "sets closer", "datasets better in order",
              "datasets better in both"]  # fmt: skip
    rows = [
        [
            WORDS.get(str(name), str(name)),
            f"{row['tau']:+.3f}",
            f"{row['tau_low']:+.3f} to {row['tau_high']:+.3f}",
            percent(row["ratio"]),
            f"{-100 * row['relative_high']:.1f} to {-100 * row['relative_low']:.1f} points",
            percent(row["ranks_as_well"]),
            percent(row["closer"]),
            f"{round(row['bases_in_order'] * row['bases'])} of {int(row['bases'])}",
            f"{round(row['bases_in_both'] * row['bases'])} of {int(row['bases'])}",
        ]
        for name, row in found.iterrows()
    ]
    return table(header, rows)


def paper_table(results: Results, datasets: Iterable[str] | None = None) -> str:
    """Means over the paper's sets: over sets, not over bases, as in the paper."""
    pieces = []
    for truth, words in TRUTHS.items():
        answers = answers_of(results, truth)
        answers = answers[answers["metric"].isin(WORDS)]
        if datasets is not None:
            kinds = answers["censoring"] != "feature_dependent"
            answers = answers[answers["dataset"].isin(list(datasets)) & kinds]
        rows = []
        for metric, part in answers.groupby("metric", sort=False):
            rows.append((part["tau"].mean(), part["relative"].mean(), WORDS[str(metric)]))
        body = [[w, f"{tau:.2f}", percent(far, 1)] for tau, far, w in sorted(rows, reverse=True)]
        sets = len(answers.drop_duplicates(["dataset", "censoring", "repeat"]))
        heading = f"{words.capitalize()}, {sets} sets:"
        pieces += [heading, "", table(["metric", "mean tau", "mean distance"], body), ""]
    return "\n".join(pieces).rstrip()


def facts(store: Path, results: Results, answers: pd.DataFrame) -> dict[str, str]:
    """What was run, on what, and how long it took."""
    cells = results.metrics.drop_duplicates("digest")
    report = answers[~answers["dataset"].isin(CHOSEN_ON)]
    failed = [f for f in results.failures if not f["cell"]["model"].startswith("distribution ")]
    distributions = [
        json.loads(str(np.load(file)["about"])) for file in store.glob("distributions/*/*/*.npz")
    ]
    return {
        "cells": f"{len(cells):,}",
        "distributions": f"{len(distributions):,}",
        "distribution_seconds": f"{np.median([one['seconds'] for one in distributions]):.0f}",
        "blended": blend_words([distribution["how"] for distribution in distributions]),
        "failed": str(len(failed)),
        "bases": str(answers["dataset"].nunique()),
        "sets": str(len(answers.drop_duplicates(["dataset", "censoring", "repeat"]))),
        "report_bases": str(report["dataset"].nunique()),
        "report_sets": str(len(report.drop_duplicates(["dataset", "censoring", "repeat"]))),
        "report_names": ", ".join(dict.fromkeys(report["dataset"])),
        "choice_names": ", ".join(CHOSEN_ON),
        "draws": _counted(answers["repeat"].nunique(), "draw"),
        "kinds": str(answers["censoring"].nunique()),
        "models": str(cells["model"].nunique()),
    }


def _counted(number: int, thing: str) -> str:
    return f"one {thing}" if number == 1 else f"{number} {thing}s"


def blend_words(hows: list[dict[str, Any]]) -> str:
    """Mean weights of the members of the blend, and how often censoring was modelled."""
    weights = pd.DataFrame([how["weights"] for how in hows]).fillna(0.0).mean()
    shares = ", ".join(f"{name} {percent(share)}" for name, share in weights.items())
    return f"mean weights {shares}"


def finding(answers: dict[str, dict[str, pd.DataFrame]]) -> dict[str, str]:
    """Numbers of the first paragraph."""
    found: dict[str, str] = {}
    for truth, short in (("mae", ""), ("mae(tau=horizon)", "_h")):
        report = answers[truth]["report"]
        table_, versus = over_bases(report), against(report, PO)
        for name, metric in (("po", PO), ("km", KM), ("blend", BLEND)):
            found[f"{name}_tau{short}"] = f"{table_.loc[metric, 'tau']:.2f}"
            found[f"{name}_far{short}"] = percent(table_.loc[metric, "relative"], 1)
        for name, metric in (("km", KM), ("blend", BLEND)):
            row = versus.loc[metric]
            found[f"{name}_up{short}"] = f"{row['tau']:.2f}"
            found[f"{name}_up_low{short}"] = f"{row['tau_low']:.2f}"
            found[f"{name}_up_high{short}"] = f"{row['tau_high']:.2f}"
            found[f"{name}_sets{short}"] = percent(row["ranks_as_well"])
            both = round(row["bases_in_both"] * row["bases"])
            found[f"{name}_both{short}"] = f"{both} of {int(row['bases'])}"
    return found


def page(store: Path, paper: Path | None) -> str:
    results = Results.load(store)
    answers = {truth: parts_of(answers_of(results, truth)) for truth in TRUTHS}
    pieces = facts(store, results, answers_of(results, "mae"))
    pieces |= finding(answers)
    others = outside_blend(results)
    pieces["other_models"] = ", ".join(dict.fromkeys(others.metrics["model"]))
    for truth, short in (("mae", ""), ("mae(tau=horizon)", "_h")):
        held_out = parts_of(answers_of(others, truth))["report"]
        pieces[f"means_other{short}"] = means(held_out)
        pieces[f"against_other{short}"] = differences(held_out)
        there = answers[truth]["report"]
        pieces[f"means_report{short}"], pieces[f"against_report{short}"] = (
            means(there),
            differences(there),
        )
    pieces["paper_here"] = paper_table(results, PAPERS)
    pieces["paper"] = PAPER_ELSEWHERE if paper is None else paper_table(Results.load(paper))
    figures = HERE / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    reported = {words: answers[truth]["report"] for truth, words in TRUTHS.items()}
    by_metric(reported, WORDS).savefig(figures / "truth-metrics.png", dpi=130)
    shown = {m: WORDS[m] for m in (PO, "mae_ipcw_d", "mae_expected", KM, BLEND)}
    by_kind(reported["no horizon"], shown).savefig(figures / "truth-kinds.png", dpi=130)
    pair = {PO: WORDS[PO], BLEND: WORDS[BLEND]}
    by_base(reported["no horizon"], pair).savefig(figures / "truth-bases.png", dpi=130)
    text = (HERE / "truth_template.md").read_text(encoding="utf-8")
    for name, piece in pieces.items():
        text = text.replace("{{" + name + "}}", piece)
    return text


if __name__ == "__main__":
    command = ArgumentParser(description=__doc__)
    command.add_argument("store", type=Path)
    command.add_argument("--paper", type=Path)
    given = command.parse_args()
    (HERE / "truth.md").write_text(page(given.store, given.paper), encoding="utf-8")
