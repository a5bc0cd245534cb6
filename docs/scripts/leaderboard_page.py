"""Write docs/results/leaderboard.md, and the JSON of its numbers, from a run of the leaderboard.

survgauge bench leaderboard --store run
python docs/scripts/leaderboard_page.py run/board
python docs/scripts/leaderboard_page.py          # the page again, from the JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from survgauge.bench.leaderboard.problems import LISTED
from survgauge.bench.models import FACTS
from survgauge.report import leaderboard_words as words

HERE = Path(__file__).parents[1] / "results"
JSON, PAGE, TEMPLATE = (
    HERE / name for name in ("leaderboard.json", "leaderboard.md", "leaderboard_template.md")
)
Record = dict[str, Any]
#: Models that are for outcomes of several causes, or the baseline.
_OTHERS = ("km", "aalen_johansen", "cause_specific_cox")
#: Why a model may be missing from a run.
_WHY = {
    "tabpfn": "its weights have to be fetched by the user",
    "survival_boost": "a fit takes 5 seconds with 230 subjects and 15 with 830",
}
#: Parts of the content that the page does not read, and that take the most room.
_LARGE = ("values",)


def content_of(folder: str) -> Record:
    from survgauge.bench.leaderboard import Board
    from survgauge.bench.leaderboard.standings import leaderboard_content

    found = leaderboard_content(Board.load(folder))
    return {key: value for key, value in found.items() if key not in _LARGE}


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(value: float | None, sign: bool = False) -> str:
    return words.shown(value, "skill", sign=sign).replace(" %", "")


def limits(row: Record, mean: str, low: str, high: str, kind: str) -> str:
    """A value with its interval."""
    if row[mean] is None:
        return ""
    ends = words.interval(row[low], row[high], kind)
    return f"{words.shown(row[mean], kind)} ({ends})" if ends else words.shown(row[mean], kind)


def answers(data: Record, view: str) -> str:
    """What the page says of a view, as a list."""
    mine, first = data["by_view"][view], data["metrics"][0]
    rows = mine["standings"][first["name"]]
    title = data["titles"].get(data["reference"], "")
    told = [
        words.lead(rows, first["kind"], data["titles"], mine["datasets"][first["name"]]),
        words.against_reference(rows, data["reference"], title),
        words.by_other_metrics(data, mine),
    ]
    if data["truth"]:
        told.append(words.truth_lead(data["truth"][view], data["headline"]))
    return "\n".join(f"- {sentence}" for sentence in told if sentence)


def standings(data: Record, view: str) -> str:
    """Means over datasets: the headline with its interval and the difference from Cox."""
    mine = data["by_view"][view]["standings"]
    first, *others = data["metrics"]
    by_model = {m["name"]: {r["model"]: r for r in mine[m["name"]]} for m in others}
    rows = []
    for row in mine[first["name"]]:
        model = row["model"]
        to_cox = ""
        if row.get("to_cox") is not None:
            ends = words.interval(row["to_cox_low"], row["to_cox_high"], "skill", sign=True)
            to_cox = f"{words.shown(row['to_cox'], 'skill', sign=True)} ({ends})"
        rest = [
            words.shown(by_model[m["name"]].get(model, {}).get("mean"), m["kind"]) for m in others
        ]
        best = {True: "yes", False: "no", None: ""}[row["may_be_best"]]
        value = limits(row, "mean", "low", "high", first["kind"])
        rows.append([f"`{model}`", value, row["group"] or "", best, to_cox, *rest])
    head = ["model", "time error", "letters", "may be best", "against Cox"]
    return table([*head, *(words.short(m["name"]) for m in others)], rows)


def truth(data: Record, view: str) -> str:
    """How far each metric is from the truth on the datasets with drawn censoring."""
    rows = [
        [
            words.short(row["metric"]),
            limits(row, "bias", "bias_low", "bias_high", "skill" if row["relative"] else "value"),
            limits(row, "tau", "tau_low", "tau_high", "value"),
            limits(row, "loss", "loss_low", "loss_high", "skill"),
        ]
        for row in data["truth"][view]["metrics"]
    ]
    return table(["metric", "bias", "order as the truth (tau)", "lost by its choice"], rows)


def kinds(data: Record, view: str) -> str:
    rows = []
    for row in data["by_view"][view]["kinds"]:
        known = [m for m in row["models"] if m["mean"] is not None]
        best = sorted(known, key=lambda m: -m["mean"])[:3]
        told = ", ".join(f"`{m['model']}` {percent(m['mean'])}" for m in best)
        rows.append([row["kind"], row["range"], str(row["datasets"]), told])
    return table(["kind", "range", "datasets", "most error saved (%)"], rows)


def tuning(data: Record) -> str:
    rows = [
        [
            f"`{row['model']}`", row["settings"],
            limits(row, "gain", "low", "high", "skill"),
        ]
        for row in data["tuning"]
    ]  # fmt: skip
    return table(["model", "settings", "error saved by tuning"], rows)


def seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 1 else f"{value:.3f} s"


def costs(data: Record) -> str:
    rows = [
        [
            f"`{row['model']}`", row["settings"], str(row["cells"]), str(row["failed"]),
            seconds(row["fit"]), seconds(row["most"]), f"{row['total'] / 60:.1f} min",
        ]
        for row in data["costs"]
    ]  # fmt: skip
    head = ["model", "settings", "fits", "failed", "median fit", "longest", "all fits"]
    return table(head, rows)


def datasets(data: Record) -> str:
    rows = [
        [
            f"`{row['name']}`", row["title"], LISTED[row["name"]].counted,
            row["source"], row["licence"].replace("|", "or"),
            f"{row['n']:,}" + (f" of {row['subjects_before']:,}" if row["subsampled"] else ""),
            str(row["events"]), f"{100 * row['censored']:.0f} %", str(row["features"]),
            f"{row['horizon']:.4g} {LISTED[row['name']].unit}",
        ]
        for row in data["datasets"]
    ]  # fmt: skip
    head = ["dataset", "what it is", "event", "source", "licence", "subjects", "events", "censored"]
    return table([*head, "features", "horizon"], rows)


def failures(data: Record) -> str:
    if not data["failures"]:
        return "No fit failed."
    rows = [
        [f"`{row['model']}`", row["settings"], row["dataset"], str(row["folds"]), row["message"]]
        for row in data["failures"]
    ]
    return table(["model", "settings", "dataset", "folds", "message"], rows)


def command(data: Record) -> str:
    """One command that fits what the store holds, in however many runs it was fitted."""
    tuned = dict.fromkeys(row["model"] for row in data["tuning"])
    words = ["survgauge bench leaderboard --store run", f"--models {','.join(data['models'])}"]
    if tuned:
        words += [f"--settings {','.join(data['views'])}", f"--tune {','.join(tuned)}"]
    return " \\\n    ".join(words)


def not_run(data: Record) -> str:
    """Models that the leaderboard could have, and that this run does not."""
    names = [m for m in FACTS if m not in (*data["models"], *_OTHERS)]
    told = [f"`{m}` ({_WHY[m]})" if m in _WHY else f"`{m}`" for m in names]
    return f"Not in this run: {', '.join(told)}." if told else "All models took part."


def page(data: Record) -> str:
    about = data["about"]
    view = "default"
    fast = [c for c in data["costs"] if c["settings"] == view and (c["fit"] or 0.0) < 1.0]
    parts = {
        "answers": answers(data, view),
        "standings": standings(data, view),
        "truth": truth(data, view) if data["truth"] else "",
        "kinds": kinds(data, view),
        "tuning": tuning(data),
        "costs": costs(data),
        "datasets": datasets(data),
        "failures": failures(data),
        "tuned answers": answers(data, "tuned-mae") if "tuned-mae" in data["by_view"] else "",
        "versions": ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
        "python": about["machine"]["python"],
        "date": about["date"][:10],
        "count": str(len(data["models"])),
        "count of datasets": str(len(data["datasets"])),
        "truth datasets": ", ".join(f"`{name}`" for name in data["truth_datasets"]),
        "command": command(data),
        "not run": not_run(data),
        "fast": f"{sum(c['total'] for c in fast) / 60:.0f}",
        "hours": f"{about['seconds_of_fits'] / 3600:.1f}",
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"<<{name}>>", value)
    return text


if __name__ == "__main__":
    if len(sys.argv) > 1:
        found = content_of(sys.argv[1])
        JSON.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(JSON.read_text(encoding="utf-8"))), encoding="utf-8")
