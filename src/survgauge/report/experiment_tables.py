"""Tables of the page of an experiment: data sets by metrics and by models, wins, what failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._tools.text_tables import number
from .experiment_words import best_models, interval_words, percent
from .markup import Markup, filters, grid, join, table, tag

_MOST_FAILURES = 200
#: More columns than this are set more closely.
_MANY = 9
#: Distance from the truth, and excess over the best model, at which a colour has faded away.
_FAR, _EXCESS = 0.5, 0.2
_NOT_KINDS = ("metric", "total", "tau", "overlap", "relative", "tau_low", "tau_high")
Row = dict[str, Any]


def wins(data: Row, truth: str) -> Markup:
    """Wins among the metrics without settings; on demand, among all of them."""
    few, many = data["summary_plain"][truth], data["summary"][truth]
    name = f"wins-{_safe(truth)}"
    rule = (
        "A metric wins a data set if it has most of the truly best three models among its best "
        "three, then by being closest to the truth; ties share a win. The last columns count the "
        f"wins by kind of censoring. {interval_words(base for base, _ in data['sets'])}"
    )
    few_told = f"Truth: {truth}. Here the metrics without settings compete. {rule}"
    parts = [_wins_table(few, few_told, name, series_of(data))]
    if len(many) > len(few):
        told = f"Truth: {truth}. Here all variants with settings compete with each other, too."
        whole = _wins_table(many, told, f"{name}-all", series_of(data))
        parts.append(tag("div", whole, data_column_name="variant"))
    return join(*parts)


def _wins_table(rows: list[Row], caption: str, name: str, series: list[str]) -> Markup:
    kinds = [k for k in rows[0] if k not in _NOT_KINDS]
    lines = []
    by_metric = {row["metric"]: row for row in rows}
    for row in (by_metric[metric] for metric in _winners_first(rows)):
        tau: object = _fixed(row["tau"], 2)
        if row["tau_low"] is not None:
            told = f"{row['tau_low']:.2f} to {row['tau_high']:.2f}"
            tau = join(tau, tag("span", told, class_="interval"))
        cells = [
            tag("th", tag("code", breakable(row["metric"])), scope="row"),
            _number(f"{row['total']:g}"),
            _number(tau, row["tau"]),
            _number(_fixed(row["overlap"], 2)),
            _number(percent(row["relative"]), row["relative"]),
            *(_number(f"{row[k]:g}") for k in kinds),
        ]
        lines.append(tag("tr", *cells, data_series=_place(series, row["metric"])))
    means = ("wins", "mean tau", "mean top 3", "mean distance")
    return _pinned(["metric", *means, *kinds], lines, caption, name=name, filtered=True)


def metrics_by_data_set(
    data: Row, truth: str, what: str, column: str, places: dict[tuple[str, ...], int]
) -> Markup:
    """Data sets by metrics, coloured; a cell opens its models in the chart below."""
    rows = [r for r in data[what] if r["truth"] == truth]
    metrics = _winners_first(data["summary_plain"][truth])
    metrics += [m for m in _winners_first(data["summary"][truth]) if m not in metrics]
    cells = {(r["dataset"], r["censoring"], r["metric"]): r for r in rows}
    series, is_tau = series_of(data), column == "tau"
    won = {
        (r["dataset"], r["censoring"], r["metric"])
        for r in data["winners_plain"]
        if r["truth"] == truth
    }
    lines = []
    for dataset, censoring in dict.fromkeys((r["dataset"], r["censoring"]) for r in rows):
        found = [_data_set(dataset, censoring)]
        best = _best_of_row(cells, dataset, censoring, data["plain"][truth], column)
        for metric in metrics:
            value = cells.get((dataset, censoring, metric), {}).get(column)
            shown = _fixed(value, 2) if is_tau else percent(value)
            share = None if value is None else value if is_tau else 1 - value / _FAR
            star = "\u2605 " if (dataset, censoring, metric) in won else ""
            place = places.get((truth, dataset, censoring, metric))
            inner: object = f"{star}{shown}"
            if place is not None:
                label = f"{metric} on {dataset}, {censoring}: {star}{shown}; show its models"
                inner = tag("button", inner, type="button", data_goto="cell-chart",
                            data_choice=place, aria_label=label)  # fmt: skip
            found.append(
                tag("td", inner, class_=_cell(value is not None and value == best),
                    style=_shade(share), data_sort=_key(value),
                    data_column_name=_variant(data, truth, metric),
                    data_series_column=_place(series, metric))
            )  # fmt: skip
        lines.append(tag("tr", *found))
    heads = [
        _head(m, data_column_name=_variant(data, truth, m), data_series_column=_place(series, m))
        for m in metrics
    ]
    told = (
        "Each number is Kendall's tau between the order of the models by the metric and their true "
        "order; 1 is perfect."
        if is_tau
        else "Each number is the mean distance of the metric from the true value, relative to it; "
        "0 % is perfect."
    )
    caption = (
        f"Truth: {truth}. {told} Metrics with the most wins come first. The best number of a row "
        "is bold; a star marks the winner by both questions among the metrics without settings. "
        "Press a number to see its models."
    )
    ends = ("0 or less", "1") if is_tau else (f"{_FAR:.0%} or more".replace("%", " %"), "0 %")
    return _heat(heads, lines, caption, ends)


def _best_of_row(
    cells: dict[Any, Any], dataset: str, censoring: str, metrics: list[str], column: str
) -> float | None:
    rows = [cells[dataset, censoring, m] for m in metrics if (dataset, censoring, m) in cells]
    values = [row[column] for row in rows if row[column] is not None]
    return None if not values else max(values) if column == "tau" else min(values)


def models(data: Row, truth: str) -> Markup:
    """Data sets by models: true values, coloured by how far they are from the best."""
    rows = [r for r in data["models_by_truth"] if r["truth"] == truth]
    if not rows:
        return tag("p", "No model has a true value in all runs.")
    cells = {(r["dataset"], r["censoring"], r["model"]): r for r in rows}
    sets = list(dict.fromkeys((r["dataset"], r["censoring"]) for r in rows))
    ranks: dict[str, list[float]] = {}
    for r in rows:
        ranks.setdefault(r["model"], []).append(r["rank"])
    order = sorted(ranks, key=lambda model: sum(ranks[model]) / len(ranks[model]))
    lines = []
    for where in sets:
        found = [_data_set(*where)]
        found += [_true_value(cells.get((*where, model))) for model in order]
        lines.append(tag("tr", *found))
    caption = (
        f"Each number is the true {truth} of a model, the mean over runs. Models with the best "
        "mean rank come first. A star marks the best model of a data set, \u2248 a model that is "
        "not clearly worse: the 95 % interval of its difference from the best model includes 0. "
        "Intervals heed that training sets overlap (Nadeau and Bengio, 2003) and are not adjusted "
        "for the number of models; all of them are in the download."
    )
    ends = (f"{100 * _EXCESS:.0f} % or more from the best model", "the best model")
    lead = tag("p", best_models(data, truth))
    return join(lead, _heat([_head(model) for model in order], lines, caption, ends))


def _true_value(row: Row | None) -> Markup:
    if row is None:
        return tag("td", "-", class_="cell", data_sort="")
    best = row["difference"] == 0
    mark = "\u2605 " if best else "" if row["clearly_worse"] else "\u2248 "
    value = row["true_value"]
    base = abs(value - row["difference"])
    far = abs(row["difference"]) / base if base else 0.0 if best else 1.0
    low, high = row["difference_low"], row["difference_high"]
    told = None
    if low is not None and not best:
        told = f"{number(row['difference'])} from the best ({number(low)} to {number(high)})"
    shown = tag("span", f"{mark}{number(value)}")
    return tag("td", shown, class_=_cell(best), style=_shade(1 - far / _EXCESS), title=told,
               data_sort=_key(value))  # fmt: skip


def _heat(heads: list[Markup], lines: list[Markup], caption: str, ends: tuple[str, str]) -> Markup:
    """Coloured table with the scale of its colours, which says which end is the better one."""
    scale = tag(
        "p",
        tag("span", f"Worse: {ends[0]}"),
        tag("span", class_="bar"),
        tag("span", f"better: {ends[1]}"),
        class_="scale small soft",
    )
    kind = "heat dense" if len(heads) > _MANY else "heat"
    return _pinned(["data"], lines, caption, heads, scale=scale, kind=kind)


def winners(data: Row, truth: str) -> Markup:
    """Best metrics of each data set, variants with settings included."""
    name = f"winners-{_safe(truth)}"
    lines = [
        tag(
            "tr",
            _data_set(r["dataset"], r["censoring"]),
            tag("td", tag("code", breakable(r["metric"]))),
            _number(_fixed(r["overlap"], 0)),
            _number(number(r["proximity"]), r["proximity"]),
            _number(_fixed(r["tau"], 2)),
            _number(percent(r["share"], 0), r["share"]),
        )
        for r in data["winners"]
        if r["truth"] == truth
    ]
    caption = (
        f"Truth: {truth}. These are the best metrics of each data set, variants with settings "
        'included. "Best 3 right" says how many of the truly best three models are among the '
        'metric\'s best three; "wins in redraws" is the share of redraws of the runs in which the '
        "metric still wins."
    )
    header = ["data", "winner", "best 3 right", "distance", "tau", "wins in redraws"]
    made = _pinned(header, lines, caption, name=name, filtered=True, words=("winner",))
    return join(filters(name), made)


def failures(data: Row) -> Markup:
    """Metrics and cells that failed, and models that were left out."""
    parts = []
    if data["failed_metrics"]:
        lines = [
            tag("tr", tag("th", tag("code", r["metric"]), scope="row"), _number(str(r["cells"])),
                tag("td", r["error"]), tag("td", r["first"]))
            for r in data["failed_metrics"]
        ]  # fmt: skip
        told = (
            "These metrics raised an error in some cells; the other metrics of these cells are "
            "there. Tracebacks are in the store, under failures."
        )
        words = ("metric", "first error", "first cell")
        header = ("metric", "cells", "first error", "first cell")
        parts.append(table(header, lines, caption=told, name="failed-metrics", words=words))
    rows = [*data["failures"], *data["left_out"]]
    if rows:
        names = ("data", "censoring", "model", "repeat", "fold", "what happened")
        keys = ("dataset", "censoring", "model", "repeat", "fold", "message")
        lines = [tag("tr", *(tag("td", r.get(k)) for k in keys)) for r in rows[:_MOST_FAILURES]]
        told = f"{len(rows)} cells failed or were left out."
        if len(rows) > _MOST_FAILURES:
            told += f" The first {_MOST_FAILURES} are shown; the JSON download has all."
        parts.append(table(names, lines, caption=told, name="failures-table", words=names))
    return join(*parts) if parts else tag("p", "Nothing failed: every cell has a result.")


def _winners_first(rows: list[Row]) -> list[str]:
    """Metrics by wins, then by mean tau."""
    order = sorted(rows, key=lambda r: (-r["total"], -(r["tau"] or 0)))
    return [row["metric"] for row in order]


# -- parts -----------------------------------------------------------------------------------------


def _pinned(
    header: list[str],
    lines: list[Markup],
    caption: str,
    more: Iterable[Markup] = (),
    *,
    scale: Markup | None = None,
    kind: str = "",
    name: str | None = None,
    filtered: bool = False,
    words: tuple[str, ...] = (),
) -> Markup:
    """Sortable table whose first column stays in sight, with a hint where it goes on sideways."""
    first, *others = header
    heads = [_head(first, class_=None)]
    heads += [_head(label, class_=None if label in words else "number") for label in others]
    look = {"class_": f"sortable pinned {kind}".strip(), "id": name, "data_filtered": filtered}
    made = grid([*heads, *more], lines, label=caption, place="table", **look)
    hint = tag("p", "The table goes on to the right: scroll it sideways.", class_="sideways small")
    return join(tag("p", caption, class_="soft small"), scale, hint, made)


def _head(label: str, **attributes: object) -> Markup:
    return tag("th", tag("button", breakable(label), type="button"), scope="col",
               **{"class_": "number", **attributes})  # fmt: skip


def _data_set(dataset: str, censoring: str) -> Markup:
    kind = tag("span", breakable(censoring), class_="interval")
    return tag("th", breakable(dataset), kind, scope="row", data_sort=f"{dataset} {censoring}")


def _number(shown: object, sort: object = None) -> Markup:
    return tag("td", shown, class_="number", data_sort=sort)


def _cell(best: bool) -> str:
    return "cell win" if best else "cell"


def breakable(name: str) -> Markup:
    """Name that a line may break after its marks.

    >>> breakable("mae_po")
    'mae_<wbr>po'
    """
    parts = re.split(r"(?<=[_(,=\u00b7/-])", name)
    return join(parts[0], *(join(Markup("<wbr>"), part) for part in parts[1:]))


def _shade(share: float | None) -> str | None:
    """Background between the page's two heat colours; text stays readable on all of them."""
    if share is None:
        return None
    part = round(45 * max(0.0, min(1.0, share)))
    return f"background:color-mix(in srgb, rgb(var(--heat-high)) {part}%, rgb(var(--heat-low)))"


def series_of(data: Row) -> list[str]:
    """Metrics that the reader can switch on and off."""
    return list(dict.fromkeys(m for names in data["plain"].values() for m in names))


def _place(series: list[str], name: str) -> int | None:
    return series.index(name) if name in series else None


def _variant(data: Row, truth: str, metric: str) -> str | None:
    return None if metric in data["plain"][truth] else "variant"


def _key(value: float | None) -> object:
    return "" if value is None else value


def _fixed(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _safe(label: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in label)
