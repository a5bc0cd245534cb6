"""The page of an experiment: which metric ranks models as the truth does, and is close to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._tools.text import number
from ..evaluation.phrases import listed
from . import experiment_words as words
from .charts import figure
from .displays.description import Axis, Chart, Panel, Points, Row, Rule
from .displays.forest import plain_float
from .experiment_words import in_sentence, method_of, percent, title_of
from .page import (
    Markup,
    Section,
    breakable,
    figures,
    head,
    heat,
    join,
    number_cell,
    page,
    paragraphs,
    picker,
    shaded,
    table,
    table_row,
    tag,
)

_MOST_FAILURES = 200
#: Distance from the truth, and excess over the best model, at which a colour has faded away.
_FAR, _EXCESS = 0.5, 0.2
_NOT_KINDS = ("metric", "total", "tau", "overlap", "relative", "tau_low", "tau_high")
Record = dict[str, Any]


def experiment_page(data: Record, *, title: str) -> str:
    """Make the page from the plain data of `experiment_content`."""
    series = list(dict.fromkeys(m for names in data["plain"].values() for m in names))
    cells = _cell_chart(data)
    overviews = {truth: _overview(data, truth) for truth in data["truths"]}
    charts = [cells, *(chart for chart in overviews.values() if chart)]
    places = {tuple(key): k for k, key in enumerate(cells["keys"])}

    def by_truth(make: Callable[[Record, str], Markup]) -> Markup:
        views = (
            tag("div", make(data, truth), data_view_of="truth", data_view=truth)
            for truth in data["truths"]
        )
        return join(*views)

    by_dataset = partial(_metrics_by_dataset, series=series, places=places)
    sections = [
        Section("summary", "Summary", by_truth(partial(_summary, overviews=overviews))),
        Section("wins", "Wins and means", by_truth(partial(_wins, series=series))),
        Section("proximity", "Winners: best three models right, and close to the true value",
                by_truth(partial(by_dataset, what="proximity", column="relative"))),
        Section("ranking", "Ranking: does the metric order the models as the truth does?",
                by_truth(partial(by_dataset, what="ranking", column="tau"))),
        Section("models", "Models by their true value", by_truth(_models)),
        Section("detail", "One dataset, one metric", figures([cells])),
        Section("failures", "What failed or was left out", _failures(data)),
    ]  # fmt: skip
    truths = [tag("option", title_of(truth), value=truth) for truth in data["truths"]]
    names = [
        (words.method_of(name, truth), series.index(name),
         {"data_view_of": "truth", "data_view": truth})
        for truth in data["truths"]
        for name in data["plain"][truth]
    ]  # fmt: skip
    variants = None
    if len(data["metrics"]) > len(series):
        box = tag("input", type="checkbox", data_show_column="variant")
        variants = tag("label", box, " variants with settings", class_="small")
    truth = tag("label", "Truth ", tag("select", *truths, data_views="truth"))
    return page(
        title=title,
        subtitle=f"{words.data_sets(len(data['sets']))} with known event times (semi-synthetic), "
        f"{len(data['models'])} models, {len(data['metrics'])} metrics",
        sections=sections,
        picker=picker("Metrics", names, truth, variants),
        data={
            "file": "experiment",
            "series": series,
            "record": {k: v for k, v in data.items() if k != "plain"},
            "figures": charts,
        },
        saves=[
            ("ranking", "Ranking (CSV)"),
            ("proximity", "Proximity (CSV)"),
            ("winners", "Winners (CSV)"),
            ("models_by_truth", "Models (CSV)"),
            ("by_model", "By model (CSV)"),
            ("json", "Everything (JSON)"),
        ],
    )


def _summary(data: Record, truth: str, overviews: dict[str, Record | None]) -> Markup:
    """The answer in words, and beside it as a picture."""
    won = [r for r in data["summary_plain"][truth] if r["total"]]
    best = sorted(won, key=lambda r: -r["total"])
    wins = [f"{in_sentence(r['metric'], truth)} {r['total']:g}" for r in best]
    told = listed(wins) if wins else "none"
    advice = [words.advice(row) for row in data["advice"]] if truth == "mae" else []
    leader = data["leaders"][truth]["tau"]
    few = leader is not None and leader["verdict"] == words.TOO_FEW  # said already, with why
    chart = overviews[truth]
    told = join(
        tag("p", words.lead(data, truth, partial(in_sentence, truth=truth)), class_="lead"),
        paragraphs(filter(None, [words.best_models(data, truth)])),
        paragraphs([f"Datasets won by the metrics with usual settings: {told}.", *advice]),
        None if few else tag("p", words.rule(), class_="soft small"),
    )
    return tag("div", tag("div", told), figures([chart]), class_="beside") if chart else told


def _overview(data: Record, truth: str) -> Record | None:
    """Draw how well each metric orders the models, and write how far it is from the truth."""
    rows = sorted(data["summary_plain"][truth], key=_by_wins)
    if len(rows) < 2:
        return None
    places = list(range(len(rows)))
    named = tuple(
        Row(
            method_of(r["metric"], truth),
            beside=f"{r['total']:g} win{'s' * (r['total'] != 1)}, {percent(r['relative'])} off",
        )
        for r in rows
    )
    tau, low, high = (
        [plain_float(r[name]) for r in rows] for name in ("tau", "tau_low", "tau_high")
    )
    panel = Panel(
        Axis("Mean Kendall's tau with the\ntrue order of the models"), Axis(),
        (Points(tau, places, "ink", "mean with 95 % interval", left=low, right=high),),
        rows=named,
    )  # fmt: skip
    caption = (
        f"Truth: {title_of(truth)}. At the right: datasets won, and the mean distance from the "
        f"true value. {words.WINS}"
    )
    name = f"overview-{data['truths'].index(truth)}"
    chart = Chart("Metrics compared with the truth", caption, (panel,))
    return figure(name, [chart], wide=True)


# -- tables ----------------------------------------------------------------------------------------


def _wins(data: Record, truth: str, series: list[str]) -> Markup:
    """Wins among the metrics without settings, and their means."""
    rows = data["summary_plain"][truth]
    name = f"wins-{''.join(c if c.isalnum() else '-' for c in truth)}"
    bases = words.interval_words(base for base, _ in data["sets"])
    label = (
        f"Truth: {title_of(truth)}. Metrics with their usual settings compete. {words.WINS} The "
        f"last columns count the wins by kind of censoring. {bases}"
    )
    kinds = [k for k in rows[0] if k not in _NOT_KINDS]
    lines = []
    for r in sorted(rows, key=_by_wins):
        ends = "" if r["tau_low"] is None else f"{r['tau_low']:.2f} to {r['tau_high']:.2f}"
        cells = [
            number_cell(f"{r['total']:g}", r["total"]),
            number_cell(_fixed(r["tau"], 2), r["tau"], ends),
            number_cell(_fixed(r["overlap"], 2), r["overlap"]),
            number_cell(percent(r["relative"]), r["relative"]),
            *(number_cell(f"{r[k]:g}", r[k]) for k in kinds),
        ]
        place = series.index(r["metric"]) if r["metric"] in series else None
        called = tag("span", title_of(r["metric"]), title=r["metric"])
        lines.append(table_row(called, *cells, data_series=place))
    header = ["metric", "wins", "mean tau", "mean top 3", "mean distance"]
    header += [f"wins, {kind.replace('_', ' ')}" for kind in kinds]
    return table(header, lines, label=label, words=["metric"], name=name, kind="pinned")


def _metrics_by_dataset(
    data: Record,
    truth: str,
    *,
    series: list[str],
    places: dict[tuple[str, ...], int],
    what: str,
    column: str,
) -> Markup:
    """Datasets by metrics, coloured; a cell opens its models in the chart below."""
    plain, is_tau = data["plain"][truth], column == "tau"
    both = (data["summary_plain"][truth], data["summary"][truth])
    order = [r["metric"] for found in both for r in sorted(found, key=_by_wins)]
    metrics = list(dict.fromkeys(order))
    sets: dict[tuple[str, str], dict[str, float | None]] = {}
    right: dict[tuple[str, ...], float | None] = {}
    for r in data["ranking"]:
        right[r["truth"], r["dataset"], r["censoring"], r["metric"]] = r["overlap"]
    for r in data[what]:
        if r["truth"] == truth:
            sets.setdefault((r["dataset"], r["censoring"]), {})[r["metric"]] = r[column]
    won = {(r["truth"], r["dataset"], r["censoring"], r["metric"]) for r in data["winners_plain"]}
    switches: dict[str, dict[str, Any]] = {
        metric: {
            "data_column_name": None if metric in plain else "variant",
            "data_series_column": series.index(metric) if metric in series else None,
        }
        for metric in metrics
    }
    lines = []
    for where, values in sets.items():
        cells = []
        for metric in metrics:
            value, key = values.get(metric), (truth, *where, metric)
            shown = _fixed(value, 2) if is_tau else percent(value)
            if not is_tau and right.get(key) is not None:
                shown = f"{right[key]:g} of 3, {shown}"
            inner: object = tag("span", shown)
            if (place := places.get(key)) is not None:
                label = f"{title_of(metric)} on {', '.join(where)}: {shown}; show its models"
                inner = tag("button", shown, type="button", data_goto="cell-chart",
                            data_choice=place, aria_label=label)  # fmt: skip
            share = None if value is None else value if is_tau else 1 - value / _FAR
            best = key in won and not is_tau  # marked in the table that decides
            cells.append(shaded(inner, value, share, best, **switches[metric]))
        lines.append(_of_data_set(*where, *cells))
    told = (
        "Each number is Kendall's tau between the order of the models by the metric and their true "
        "order; 1 is perfect."
        if is_tau
        else "Each cell says how many of the truly best three models are among the metric's best "
        "three, and the mean distance of the metric from the true value, relative to it."
    )
    bold = "" if is_tau else " Bold: the winner among the metrics with usual settings."
    caption = (
        f"Truth: {title_of(truth)}. {told}{bold} Metrics with the most wins come first. Press a "
        "number to see its models."
    )
    far, near = ("0 or less", "1") if is_tau else (f"{100 * _FAR:.0f} % or more", "0 %")
    heads = [head(title_of(m), title=m, **switches[m]) for m in metrics]
    return heat(heads, lines, caption, (f"Worse: {far}", f"better: {near}"))


def _models(data: Record, truth: str) -> Markup:
    """Datasets by models: true values, coloured by how far they are from the best."""
    rows = [r for r in data["models_by_truth"] if r["truth"] == truth]
    if not rows:
        return tag("p", "No model has a true value in all runs.")
    sets: dict[tuple[str, str], dict[str, Record]] = {}
    ranks: dict[str, list[float]] = {}
    for r in rows:
        sets.setdefault((r["dataset"], r["censoring"]), {})[r["model"]] = r
        ranks.setdefault(r["model"], []).append(r["rank"])
    order = sorted(ranks, key=lambda model: sum(ranks[model]) / len(ranks[model]))
    lines = [
        _of_data_set(*where, *(_true_value(found.get(model)) for model in order))
        for where, found in sets.items()
    ]
    caption = (
        f"Each number is the true {title_of(truth)} of a model, the mean over runs. Models with "
        "the best mean rank come first. Bold: the best model of a dataset; \u2248: a model that "
        "is not clearly worse, because the 95 % interval of its difference from the best model "
        "includes 0. Intervals allow for overlapping training sets (Nadeau and Bengio, 2003) and "
        "are not adjusted for the number of models; all of them are in the download."
    )
    ends = (f"Worse: {100 * _EXCESS:.0f} % or more from the best model", "better: the best model")
    lead = tag("p", words.best_models(data, truth))
    return join(lead, heat([head(breakable(model)) for model in order], lines, caption, ends))


def _true_value(r: Record | None) -> Markup:
    if r is None:
        return tag("td", "-", class_="cell", data_sort="")
    best, value = r["difference"] == 0, r["true_value"]
    base = abs(value - r["difference"])
    far = abs(r["difference"]) / base if base else 0.0 if best else 1.0
    low, high = r["difference_low"], r["difference_high"]
    told = None
    if low is not None and not best:
        told = f"{number(r['difference'])} from the best ({number(low)} to {number(high)})"
    shown = tag("span", f"{'' if best or r['clearly_worse'] else '≈ '}{number(value)}")
    return shaded(shown, value, 1 - far / _EXCESS, best, title=told)


def _failures(data: Record) -> Markup:
    """Metrics and cells that failed, and models that were left out."""
    parts = []
    if data["failed_metrics"]:
        header = ("metric", "cells", "first error", "first cell")
        lines = [
            table_row(r["metric"], r["cells"], r["error"], r["first"])
            for r in data["failed_metrics"]
        ]
        told = (
            "These metrics raised an error in some cells; the other metrics of these cells are "
            "there. Tracebacks are in the store, under failures."
        )
        parts.append(table(header, lines, label=told, name="failed-metrics", words=header))
    rows = [*data["failures"], *data["left_out"]]
    if rows:
        names = ("data", "censoring", "model", "repeat", "fold", "what happened")
        keys = ("dataset", "censoring", "model", "repeat", "fold", "message")
        lines = [tag("tr", *(tag("td", r.get(k)) for k in keys)) for r in rows[:_MOST_FAILURES]]
        told = f"{len(rows)} cells failed or were left out."
        if len(rows) > _MOST_FAILURES:
            told += f" The first {_MOST_FAILURES} are shown; the JSON download has all."
        parts.append(table(names, lines, label=told, name="failures-table", words=names))
    return join(*parts) if parts else tag("p", "Nothing failed: every cell has a result.")


def _by_wins(row: Record) -> tuple[float, float]:
    return -row["total"], -(row["tau"] or 0)


def _of_data_set(dataset: str, censoring: str, *cells: Markup) -> Markup:
    """Row of a dataset; it sorts by base and censoring."""
    kind = tag("span", f"censoring: {censoring.replace('_', ' ')}", class_="interval")
    name = tag("th", breakable(dataset), kind, scope="row", data_sort=f"{dataset} {censoring}")
    return tag("tr", name, *cells)


def _fixed(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


# -- charts ----------------------------------------------------------------------------------------


def _cell_chart(data: Record) -> Record:
    """How far a metric is from the truth, model by model: a choice for each dataset and metric."""
    found, cells = {}, dict[Any, list[Record]]()
    for r in data["by_model"]:
        if r["metric"] in data["plain"][r["truth"]]:
            key = r["truth"], r["dataset"], r["censoring"], r["metric"]
            cells.setdefault(key, []).append(r)
    for key, rows in cells.items():
        truth, *_, metric = key
        gaps, names = [plain_float(r["difference"]) for r in rows], []
        for r in rows:
            relative = "-" if r["relative"] is None else f"{r['relative']:+.1%}"
            told = f"says {number(_said(r))}, truth {number(plain_float(r['true_value']))}"
            names.append(f"{r['model']}: {told}, relative {relative}")
        panel = Panel(
            Axis(f"{title_of(metric)} minus the true {title_of(truth)}"),
            Axis(),
            (Rule("x", 0.0, "the truth"),
             Points(gaps, list(range(len(rows))), "ink", names=tuple(names))),
            rows=tuple(Row(r["model"], inside="" if r["difference"] is not None else "n/a")
                       for r in rows),
        )  # fmt: skip
        told = "Each row is how far the metric is from the truth for one model, mean over runs."
        found[key] = Chart("One metric, model by model", told, (panel,))
    labels = [f"{title_of(m)} on {d}, {c} – {title_of(t)}" for t, d, c, m in found]
    made = figure("cell-chart", found.values(), labels, "Cell", wide=True)
    return made | {"keys": [list(key) for key in found]}


def _said(row: Record) -> float:
    """Return what the metric says."""
    return plain_float(row["true_value"]) + plain_float(row["difference"])
