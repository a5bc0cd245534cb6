"""The page of a leaderboard: who is best and how sure, over datasets and on each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._tools.text import number
from ..metrics.registry import REGISTRY
from . import leaderboard_words as words
from .charts import figure
from .displays.description import Axis, Chart, Mark, Model, Panel, Points, Row, Rule
from .displays.forest import plain_float
from .evaluation_tables import unbroken
from .experiment_words import data_sets
from .leaderboard_tables import (
    costs_table,
    datasets_table,
    each_table,
    failures_table,
    heat_table,
    kinds_table,
    metrics_table,
    models_table,
    pairs_table,
    settings_table,
    taus_table,
    truth_table,
    tuning_table,
)
from .page import Markup, Section, figures, join, page, paragraphs, picker, tag

Record = dict[str, Any]
_TITLE = "Which survival model predicts best?"


def leaderboard_page(data: Record, *, title: str = _TITLE) -> str:
    """Make the page from the plain data of `survgauge.bench.leaderboard.leaderboard_content`."""
    charts: list[Record] = []
    sections = _sections(data, charts)
    return page(
        title=title,
        subtitle=_subtitle(data),
        sections=sections,
        picker=_picker(data),
        picker_at=1,
        data={
            "file": "leaderboard",
            "about": f"{len(data['datasets'])} datasets",
            "series": data["models"],
            "record": _record(data),
            "figures": charts,
        },
        saves=[
            ("standings", "Standings (CSV)"),
            ("json", "Everything (JSON)"),
        ],
    )


def _sections(data: Record, charts: list[Record]) -> list[Section]:
    """Make all sections; the charts that they place are added to `charts`."""

    def drawn(make: Callable[..., Record], *given: Any) -> Markup:
        spec = make(data, *given)
        charts.append(spec)
        return figures([spec])

    def by_view(make: Callable[[str], Markup | None]) -> Markup:
        views = (
            tag("div", make(view), data_view_of="settings", data_view=view)
            for view in data["views"]
        )
        return join(*views)

    def first(view: str) -> Markup:
        lead, more = _summary(data, view)
        return join(lead, tag("div", more, drawn(forest_chart, view), class_="beside stacked"))

    def with_chart(make: Callable[..., Record], after: Callable[..., Markup], view: str) -> Markup:
        return join(drawn(make, view), after(data, view))

    sections = [
        Section("summary", "Result", by_view(first)),
        Section("metrics", "Metrics: groups of no clear difference by each",
                by_view(partial(with_chart, metrics_chart, metrics_table))),
        Section("datasets", "Datasets: who is best where?", by_view(partial(heat_table, data))),
        Section("one", "One dataset", join(
            by_view(partial(drawn, dataset_chart)), each_table(data)),
            "All models, settings and metrics on a dataset."),
        Section("costs", "Cost: time against error",
                by_view(partial(with_chart, costs_chart, costs_table))),
        Section("kinds", "Kinds of datasets", by_view(partial(kinds_table, data))),
        Section("sensitivity", "Sensitivity: does the order depend on the metric?",
                by_view(partial(taus_table, data))),
    ]  # fmt: skip
    if data["tuning"]:
        sections.append(Section("tuning", "Tuning: does it help?", tuning_table(data)))
    if data["truth"] is not None:
        sections.append(Section("truth", "Truth: how far is each metric from it?",
                                by_view(partial(truth_table, data))))  # fmt: skip
    sections += [
        Section("pairs", "Pairs: every model against every other",
                by_view(partial(pairs_table, data)), folded=True),
        Section("failures", "Failures", failures_table(data)),
        Section("licences", "Licences: datasets and their sources", datasets_table(data),
                folded=True),
        Section("submit", "Submit: how to add a model", _submit(data)),
        Section("settings", "Settings: models and versions",
                join(models_table(data), settings_table(data)), folded=True),
    ]  # fmt: skip
    return sections


def _subtitle(data: Record) -> str:
    subjects = sum(int(d["n"]) for d in data["datasets"])
    told = [
        f"{len(data['models'])} models on {data_sets(len(data['datasets']))} "
        f"({subjects:,} subjects), {data['folds']}-fold cross-validation"
    ]
    if data["repeats"] > 1:
        told[0] += f" repeated {data['repeats']} times"
    if data["about"].get("date"):
        told.append(str(data["about"]["date"])[:10])
    return ". ".join(told)


def _picker(data: Record) -> Markup:
    names = ((name, k, {"data_color": k}) for k, name in enumerate(data["models"]))
    options = [tag("option", label, value=view) for view, label in data["views"].items()]
    chosen = tag("label", "Settings ", tag("select", *options, data_views="settings"))
    return picker("Models", names, chosen if len(options) > 1 else tag("span", chosen, hidden=True))


def _summary(data: Record, view: str) -> tuple[Markup, Markup]:
    """Say who is best and how sure, whether Cox is beaten, and what other metrics say."""
    mine, headline = data["by_view"][view], data["headline"]
    rows, kind = mine["standings"][headline], data["metrics"][0]["kind"]
    titles, reference = data["titles"], data["reference"]
    datasets = mine["datasets"][headline]
    which = ""
    if len(data["views"]) > 1:
        tuned = sum(settings == view for settings in mine["settings"].values())
        which = "Models as they come. "
        if view != "default":
            which = f"{data['views'][view]}: {tuned} models; the others compete as they come. "
    told = [
        words.against_reference(rows, reference, titles.get(reference, "")),
        words.by_other_metrics(data, mine),
    ]
    return tag("p", unbroken(words.lead(rows, kind, titles, datasets)), class_="lead"), tag(
        "div",
        paragraphs(unbroken(text) for text in told if text),
        tag("p", unbroken(f"{which}{words.meaning(data['metrics'][0])}"), class_="soft small"),
    )  # fmt: skip


def _submit(data: Record) -> Markup:
    """Say how somebody else's model gets onto the board."""
    drawn = {key: data["about"].get(key) for key in ("seed", "repeats", "max_rows")}
    options = (f" --{k.replace('_', '-')} {v}" for k, v in drawn.items() if v is not None)

    def code(words: str, more: str = "") -> Markup:
        return tag("code", f"survgauge {words}{more}")

    steps = (
        join("Write the tasks of the run, which lies in the folder STORE: ",
             code("leaderboard tasks --store STORE --out tasks"), ". Without that folder, ",
             code("leaderboard tasks --out tasks", "".join(options)), " draws the same ones (name "
             "the datasets with --datasets if this page has only some); tasks.json has checksums."),
        "Each task is a folder with train (id, time, event, features), test (id, features) and "
        "grid (times). Fit what you like to its training rows, in whatever language, and write "
        "TASK.csv or TASK.parquet: a column id, and survival probabilities with the times of the "
        "grid as names of columns, or a single column time or risk.",
        "Add card.toml with the texts authors, code, training_data and hardware.",
        join("Check and score the folder: ",
             code("leaderboard submit --name NAME --pred FOLDER --store STORE"), ". Missing folds, "
             "other ids, values out of range, curves that rise and predictions that follow the "
             "test outcomes are refused with a sentence."),
        join("A model in Python can instead be run like those on this page: ",
             code("bench leaderboard --store STORE --models coxph,module:Class"),
             ". The page \u201cLeaderboard\u201d of the documentation has examples in R and "
             "Python."),
    )  # fmt: skip
    return tag("ol", *(tag("li", step) for step in steps))


def _record(data: Record) -> Record:
    """What can be downloaded: tables of rows, each with the settings that it is about."""
    standings = [
        {"settings": view, "metric": metric, **row}
        for view, mine in data["by_view"].items()
        for metric, rows in mine["standings"].items()
        for row in rows
    ]
    pairs = [
        {"settings": view, **row} for view, mine in data["by_view"].items() for row in mine["pairs"]
    ]
    metrics = {m["name"]: REGISTRY[m["name"]].title for m in data["metrics"]}
    return {
        "metrics": metrics,
        "standings": standings,
        "pairs": pairs,
        **{
            name: data[name]
            for name in (
                "tuning", "truth", "costs", "failures", "datasets", "entries", "about",
            )
        },
    }  # fmt: skip


_TO_COX = ("to_cox", "to_cox_low", "to_cox_high")
#: Median lengths of an interval that a row may lie beyond those of half of the models.
_FAR = 3.0
_SECONDS = (
    (0.001, "1 ms"), (0.01, "10 ms"), (0.1, "0.1 s"), (1.0, "1 s"), (10.0, "10 s"),
    (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h"),
)  # fmt: skip


#: A row of a forest: a model, its value with limits, what stands beside it, whether it is hollow.
Forest = tuple[str, float, float, float, str, bool]


def forest_chart(data: Record, view: str) -> Record:
    """Mean of every model over datasets, and how far it is from the reference model."""
    mine, headline, metric = data["by_view"][view], data["headline"], data["metrics"][0]
    rows = mine["standings"][headline]
    panels = [_forest(data, rows, metric)]
    told = (
        "Means over datasets with 95 % intervals: filled, may be the best; hollow, clearly worse "
        "than the best. Models that share a letter do not differ clearly."
    )
    if any(r.get("to_cox_low") is not None for r in rows):
        panels.append(_differences(data, rows))
        told += (
            f" Against {data['reference']}: filled where the difference is clear; intervals are "
            "adjusted for the number of models, and narrower because easy and hard datasets cancel "
            "out."
        )
    chart = Chart(words.titled(metric), told, tuple(panels), columns=2)
    return figure(f"overview-{view}", [chart], wide=True)


def metrics_chart(data: Record, view: str) -> Record:
    """A forest for each metric."""
    mine, charts, labels = data["by_view"][view], [], []
    for metric in data["metrics"]:
        rows = mine["standings"][metric["name"]]
        if rows:
            told = "Means over datasets with 95 % intervals; hollow: clearly worse than the best."
            note = words.meaning(metric).removesuffix(".")
            panel = _forest(data, rows, metric)
            charts.append(Chart("Means over datasets", told, (panel,), notes=(note,)))
            labels.append(words.titled(metric))
    return figure(f"by-metric-{view}", charts, labels, "Metric", wide=True)


def dataset_chart(data: Record, view: str) -> Record:
    """All models on a dataset, a choice for each dataset."""
    mine, headline = data["by_view"][view], data["headline"]
    facts = {d["name"]: d for d in data["datasets"]}
    value = {(r["dataset"], r["model"], r["settings"]): r
             for r in data["values"] if r["metric"] == headline}  # fmt: skip
    rows: dict[str, list[Record]] = {}
    for r in mine["each"]:
        rows.setdefault(r["dataset"], []).append(r)
    charts = []
    for name, found in rows.items():
        known = sorted((r for r in found if r["value"] is not None), key=lambda r: -r["value"])
        own = [value[name, r["model"], mine["settings"][r["model"]]] for r in known]
        unit = facts[name].get("unit") or ""
        lines = [
            (r["model"], *(_percent(v[c]) for c in ("skill", "skill_low", "skill_high")),
             f"{number(v['value'])} {unit}".strip(), bool(r["clearly_worse"]))
            for r, v in zip(known, own, strict=True)
        ]  # fmt: skip
        told = (
            f"{facts[name]['title'] or name}: {words.counts(facts[name])}. Lines are 95 % "
            "intervals over the subjects of this dataset; at the right: "
            f"{REGISTRY[headline].title}. Hollow: clearly worse than the best model here (paired, "
            "Holm's correction)."
        )
        label = words.axis(data["metrics"][0])
        panel = _rows_panel(data, label, lines, [Rule("x", 0.0, "Kaplan-Meier")])
        charts.append(Chart("Models on a dataset", "",
                            (panel,), notes=(unbroken(told.removesuffix(".")),)))  # fmt: skip
    return figure(f"dataset-{view}", charts, list(rows), "Dataset", wide=True)


def costs_chart(data: Record, view: str) -> Record:
    """Seconds of a fold against the error saved."""
    mine = data["by_view"][view]
    seconds = {(c["model"], c["settings"]): c for c in data["costs"]}
    marks, ends, far = list[Mark](), list[float](), dict[str, str]()
    rows = mine["standings"][data["headline"]]
    means = np.array([row["mean"] for row in rows])
    least = np.median(means) - _FAR * max(np.median(np.abs(means - np.median(means))), 0.08)
    for row in rows:
        if row["mean"] < least:
            far[row["model"]] = f"far below the others, {words.shown(row['mean'], 'skill')}"
            continue
        found = seconds.get((row["model"], mine["settings"][row["model"]]))
        if found is None or found["fit"] is None:
            continue
        at = float(np.log10(max(found["fit"] + (found["predict"] or 0.0), 1e-3)))
        ends.append(at)
        role = data["models"].index(row["model"])
        marks.append(Points([at], [100 * row["mean"]], role, (Model(row["model"]),)))
    every = [(float(np.log10(seconds)), text) for seconds, text in _SECONDS]
    low = max((at for at, _ in every if at < min(ends, default=0.0)), default=every[0][0])
    high = min((at for at, _ in every if at > max(ends, default=1.0)), default=every[-1][0])
    ticks = tuple(tick for tick in every if low <= tick[0] <= high)
    panel = Panel(
        Axis("Median time to fit and predict a fold", low=low, high=high, ticks=ticks),
        Axis(words.axis(data["metrics"][0])), tuple(marks), height=2.9,
    )  # fmt: skip
    told = "Time of tuned settings includes the search. The upper left is best."
    return figure(
        f"costs-{view}",
        [Chart("Time of a fold and skill", told, (panel,), left_out=far)],
        wide=True,
    )


# -- parts -----------------------------------------------------------------------------------------


def _percent(value: float | None) -> float:
    return 100 * plain_float(value)


def _rows_panel(
    data: Record, label: str, rows: list[Forest], first: list[Mark], reference: str = ""
) -> Panel:
    """Rows of models with intervals; what reaches far from the others is written, not drawn."""
    least, most = _bounds(rows)
    marks, lines = list(first), []
    for k, (model, value, low, high, beside, hollow) in enumerate(rows):
        far = ""
        if model == reference:
            marks.append(Points([0.0], [k], "soft", marker="tick", names=("the reference",)))
        elif np.fmin(low, value) < least or np.fmax(high, value) > most:
            ends = f" ({number(low, 3)} to {number(high, 3)})" if np.isfinite(low) else ""
            far = f"{number(value, 3)}{ends}".replace("-", "\u2212")
        else:
            role = data["models"].index(model)
            marks.append(Points([value], [k], role, left=[low], right=[high], hollow=hollow))
        lines.append(Row((Model(model),), beside, inside=far, clear=bool(reference) or not hollow))
    return Panel(Axis(label), Axis(), tuple(marks), rows=tuple(lines))


def _bounds(rows: list[Forest]) -> tuple[float, float]:
    """Limits of what is drawn: far beyond the intervals of half of the models."""
    if len(rows) < 3:
        return -np.inf, np.inf
    values, *ends = np.array([row[1:4] for row in rows]).T
    lows, highs = (np.where(np.isfinite(end), end, values) for end in ends)
    spread = np.subtract(*np.quantile(values, [0.75, 0.25]))
    room = _FAR * max(float(np.median(highs - lows)), float(spread))
    return float(np.median(lows)) - room, float(np.median(highs)) + room


def _forest(data: Record, rows: list[Record], metric: Record) -> Panel:
    """Means with intervals, best on top."""
    scale = 100.0 if metric["kind"] == "skill" else 1.0
    baseline: list[Mark] = [Rule("x", 0.0, "Kaplan-Meier")] if metric["kind"] == "skill" else []
    lines = [
        (row["model"], *(scale * plain_float(row[name]) for name in ("mean", "low", "high")),
         row["group"] or "", row["may_be_best"] is False)
        for row in rows
    ]  # fmt: skip
    return _rows_panel(data, words.axis(metric), lines, baseline)


def _differences(data: Record, rows: list[Record]) -> Panel:
    """Shares of the error of the reference model saved, in the order of the means."""
    reference = data["reference"]
    lines = [
        (row["model"], *(_percent(row.get(c, 0.0)) for c in _TO_COX), "",
         row.get("to_cox_p") is None or row["to_cox_p"] >= 0.05)
        for row in rows
    ]  # fmt: skip
    label = f"Share of {reference}'s {words.short(data['headline'])} saved (%)"
    return _rows_panel(data, label, lines, [Rule("x", 0.0)], reference)
