"""The page of a leaderboard: who is best and how sure, over datasets and on each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..metrics.registry import REGISTRY
from . import leaderboard_words as words
from .evaluation_tables import unbroken
from .experiment_words import data_sets
from .leaderboard_charts import costs_chart, dataset_chart, forest_chart, metrics_chart
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
        Section("submit", "Submit: how to add a model", _submit()),
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


def _submit() -> Markup:
    """Say how somebody else's model gets onto the board."""
    commands = {
        "tasks": "survgauge leaderboard tasks --store STORE --out tasks",
        "submit": "survgauge leaderboard submit --name NAME --pred FOLDER --store STORE",
        "run": "survgauge bench leaderboard",
    }
    shown = {name: tag("code", command) for name, command in commands.items()}
    steps = (
        join("Write the tasks of a run, which lies in the folder STORE: ", shown["tasks"],
             ". Each fold has features and outcomes to train on, and features and ids to predict; "
             "outcomes of the test subjects are not in it."),
        "Fit what you like, in whatever language, and write the predictions of each task as CSV "
        "or Parquet, with a small TOML card: authors, code, training data, hardware.",
        join("Check and score them: ", shown["submit"], ". Missing folds, other ids, values out of "
             "range and curves that rise are refused with a sentence."),
        join("A model in Python can instead be run like those on this page: ", shown["run"],
             "; see the page of the documentation."),
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
