"""The page of an experiment: which metric ranks models as the truth does, and is close to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..evaluation.phrases import listed
from . import experiment_tables as tables
from . import experiment_words as words
from .experiment_charts import cell_chart, panel_chart
from .experiment_tables import series_of
from .markup import Markup, cards, join, tag
from .shell import figures, page


def experiment_page(data: dict[str, Any], *, title: str) -> str:
    """Make the page from the plain data of `survgauge.report.experiment_content`."""
    charts = [panel_chart(data), cell_chart(data)]
    places = {tuple(key): k for k, key in enumerate(charts[1]["keys"])}

    def by_data_set(what: str, column: str) -> Markup:
        made = partial(tables.metrics_by_data_set, what=what, column=column, places=places)
        return _by_truth(data, made)

    sections = [
        ("summary", "Summary", _by_truth(data, _summary)),
        ("wins", "Wins and means", _by_truth(data, tables.wins)),
        ("ranking", "Ranking: does the metric order the models as the truth does?",
         by_data_set("ranking", "tau")),
        ("proximity", "Proximity: is the metric close to the true value?",
         by_data_set("proximity", "relative")),
        ("models", "Models by their true value", _by_truth(data, tables.models)),
        ("detail", "One data set, one metric", figures(charts)),
        ("winners", "Winners", _by_truth(data, tables.winners)),
        ("failures", "What failed or was left out", tables.failures(data)),
    ]  # fmt: skip
    return page(
        title=title,
        subtitle=f"{words.data_sets(len(data['sets']))} with known event times (semi-synthetic), "
        f"{len(data['models'])} models, {len(data['metrics'])} metrics",
        sections=sections,
        picker=_picker(data),
        data={
            "file": "experiment",
            "series": series_of(data),
            "record": {k: v for k, v in data.items() if k != "plain"},
            "figures": charts,
            "hidden": [],
        },
        saves=[
            ("ranking", "Ranking (CSV)"),
            ("proximity", "Proximity (CSV)"),
            ("models_by_truth", "Models (CSV)"),
            ("by_model", "By model (CSV)"),
            ("json", "Everything (JSON)"),
        ],
    )


def _picker(data: dict[str, Any]) -> Markup:
    truths = [tag("option", truth, value=truth) for truth in data["truths"]]
    series = series_of(data)
    chips = [
        tag("button", tag("span", name), type="button", class_="chip", aria_pressed="true",
            data_series=series.index(name), data_color=k, title=name, data_view_of="truth",
            data_view=truth)
        for truth in data["truths"]
        for k, name in enumerate(data["plain"][truth])
    ]  # fmt: skip
    variants = len(data["metrics"]) > len(series)
    return tag(
        "div",
        tag("label", tag("span", "Truth ", class_="name"),
            tag("select", *truths, data_views="truth")),
        tag("span", "Metrics", class_="name"),
        *chips,
        tag("button", "All", type="button", id="all-series"),
        tag("label", tag("input", type="checkbox", data_show_column="variant"),
            " variants with settings", class_="small") if variants else None,
        class_="picker",
        role="group",
        aria_label="Truth and metrics shown",
    )  # fmt: skip


def _by_truth(data: dict[str, Any], make: Any) -> Markup:
    return join(
        *(
            tag("div", make(data, truth), data_view_of="truth", data_view=truth)
            for truth in data["truths"]
        )
    )


def _summary(data: dict[str, Any], truth: str) -> Markup:
    won = [r for r in data["summary_plain"][truth] if r["total"]]
    best = sorted(won, key=lambda r: -r["total"])
    told = listed([f"{r['metric']} {r['total']:g}" for r in best]) if best else "none"
    advice = [words.advice(row) for row in data["advice"]] if truth == "mae" else []
    bases = len({name for name, _ in data["sets"]})
    failed = len(data["failed_metrics"])
    facts: list[tuple[str, object, str | None]] = [
        ("Data sets", str(len(data["sets"])), f"from {bases} data base{'s' if bases != 1 else ''}"),
        ("Models", str(len(data["models"])), None),
        ("Metrics", str(len(data["metrics"])), "variants with settings included"),
        ("Failed cells", str(len(data["failures"])),
         f"failed metrics: {failed}" if failed else None),
    ]  # fmt: skip
    return join(
        tag("p", words.lead(data, truth), class_="lead"),
        tag("p", words.best_models(data, truth) or None),
        tag("p", f"Data sets won by the metrics without settings: {told}."),
        *(tag("p", text) for text in advice),
        tag("p", words.rule(), class_="soft small"),
        cards(facts, "cards"),
    )
