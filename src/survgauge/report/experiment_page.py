"""The page of an experiment: which metric ranks models as the truth does, and is close to it."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number
from .experiment_charts import cell_chart, panel_chart
from .markup import Markup, join, table, tag
from .shell import figure, page

_MOST_FAILURES = 200


def experiment_page(data: dict[str, Any], *, title: str) -> str:
    """Make the page from the plain data of `survgauge.report.experiment_content`."""
    charts = [panel_chart(data), cell_chart(data)]
    places = {chart["id"]: _places(chart) for chart in charts}
    sections = [
        ("summary", "Summary", _by_truth(data, _summary)),
        ("wins", "Wins and means", _by_truth(data, _wins)),
        ("ranking", "Ranking: does the metric order the models as the truth does?",
         _by_truth(data, lambda d, t: _heat(d, t, "ranking", "tau", places))),
        ("proximity", "Proximity: is the metric close to the true value?",
         _by_truth(data, lambda d, t: _heat(d, t, "proximity", "relative", places))),
        ("detail", "One data set, one metric",
         tag("div", *(figure(chart, wide=True) for chart in charts), class_="figures")),
        ("winners", "Winners", _winners(data)),
        ("failures", "What failed or was left out", _failures(data)),
    ]  # fmt: skip
    return page(
        title=title,
        subtitle=f"{len(data['sets'])} semi-synthetic data sets with known event times, "
        f"{len(data['models'])} models, {len(data['metrics'])} metrics",
        sections=sections,
        picker=_picker(data),
        data={
            "file": "experiment",
            "series": _series(data),
            "record": {k: _packed(v) for k, v in data.items() if k != "plain"},
            "figures": charts,
            "hidden": [],
        },
        saves=[
            ("ranking", "Ranking (CSV)"),
            ("proximity", "Proximity (CSV)"),
            ("by_model", "By model (CSV)"),
            ("json", "Everything (JSON)"),
        ],
    )


def _series(data: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(m for names in data["plain"].values() for m in names))


def _packed(value: Any) -> Any:
    """Long tables by column names and rows: half the size of dictionaries."""
    if not (isinstance(value, list) and len(value) > 20 and isinstance(value[0], dict)):
        return value
    columns = list(value[0])
    return {"columns": columns, "rows": [[row.get(name) for name in columns] for row in value]}


def _places(chart: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """Number of the choice of each key of a chart."""
    return {tuple(key): k for k, key in enumerate(chart["keys"])}


def _picker(data: dict[str, Any]) -> Markup:
    truths = [tag("option", truth, value=truth) for truth in data["truths"]]
    series = _series(data)
    chips = [
        tag("button", tag("span", name), type="button", class_="chip", aria_pressed="true",
            data_series=series.index(name), data_color=k, title=name, data_view_of="truth",
            data_view=truth)
        for truth in data["truths"]
        for k, name in enumerate(data["plain"][truth])
    ]  # fmt: skip
    return tag(
        "div",
        tag("label", tag("span", "Truth ", class_="name"),
            tag("select", *truths, data_views="truth")),
        tag("span", "Metrics", class_="name"),
        *chips,
        tag("button", "All", type="button", id="all-series"),
        tag("label", tag("input", type="checkbox", data_show_column="variant"),
            " variants with settings", class_="small"),
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
    plain = data["plain"][truth]
    rows = [r for r in data["summary"][truth] if r["metric"] in plain]
    ranked = [r for r in rows if r["tau"] is not None]
    near = [r for r in rows if r["relative"] is not None]
    wins = sorted(data["summary_plain"][truth], key=lambda r: -r["total"])
    won = ", ".join(f"{r['metric']} {r['total']:g}" for r in wins if r["total"]) or "none"
    parts = []
    if ranked:
        best = max(ranked, key=lambda r: r["tau"])
        parts.append(
            f"{best['metric']} orders the models most as the truth does (mean Kendall's tau "
            f"{best['tau']:.2f} over {len(data['sets'])} data sets)"
        )
    if near:
        best = min(near, key=lambda r: r["relative"])
        parts.append(
            f"{best['metric']} is closest to the true value (off by {_percent(best['relative'])} "
            "on average)"
        )
    lead = f"{'; '.join(parts)}." if parts else "No metric has a value on all models."
    bases = len({name for name, _ in data["sets"]})
    rule = (
        "A metric wins a data set if it has most of the best three models right, then by being "
        f"closest; ties share. Wins among the metrics without settings: {won}. The data sets "
        f"come from {bases} base{'s' if bases > 1 else ''} under several kinds of censoring, so "
        "they are not independent."
    )
    cards = [
        ("Data sets", str(len(data["sets"])), "base data and kind of censoring"),
        ("Models", str(len(data["models"])), None),
        ("Metrics", str(len(data["metrics"])), "variants with settings included"),
        ("Failed cells", str(len(data["failures"])), None),
    ]
    return join(
        tag("p", lead, class_="lead"),
        tag("p", rule),
        *(tag("p", text) for text in data["advice"] if truth == "mae"),
        tag(
            "dl",
            *(
                tag("div", tag("dt", name), tag("dd", value, tag("small", note) if note else None))
                for name, value, note in cards
            ),
            class_="cards",
        ),
    )


def _variant(data: dict[str, Any], truth: str, metric: str) -> str | None:
    return None if metric in data["plain"][truth] else "variant"


def _wins(data: dict[str, Any], truth: str) -> Markup:
    """Wins among the metrics without settings; on demand, among all of them."""
    few, many = data["summary_plain"][truth], data["summary"][truth]
    name = f"wins-{_safe(truth)}"
    parts = [_wins_table(few, f"Truth: {truth}. Metrics without settings, on equal terms.", name,
                         _series(data))]  # fmt: skip
    if len(many) > len(few):
        caption = f"Truth: {truth}. All variants compete with each other."
        whole = _wins_table(many, caption, f"{name}-all", _series(data))
        parts.append(tag("div", whole, data_column_name="variant"))
    return join(*parts)


def _wins_table(rows: list[dict[str, Any]], caption: str, name: str, series: list[str]) -> Markup:
    kinds = [k for k in rows[0] if k not in _NOT_KINDS]
    means = ("wins", "mean tau", "mean top 3", "mean distance")
    header: list[tuple[object, str | None]] = [("metric", None)]
    header += [(label, "number") for label in (*means, *kinds)]
    lines = []
    for row in rows:
        cells = [tag("th", tag("code", row["metric"]), scope="row")]
        cells.append(tag("td", f"{row['total']:g}", class_="number"))
        tau = _fixed(row["tau"], 2)
        if row["tau_low"] is not None:
            tau += f" ({row['tau_low']:.2f} to {row['tau_high']:.2f})"
        cells.append(tag("td", tau, class_="number", data_sort=_key(row["tau"])))
        cells.append(tag("td", _fixed(row["overlap"], 2), class_="number"))
        cells.append(tag("td", _percent(row["relative"]), class_="number",
                         data_sort=_key(row["relative"])))  # fmt: skip
        cells += [tag("td", f"{row[k]:g}", class_="number") for k in kinds]
        lines.append(tag("tr", *cells, data_series=_number(series, row["metric"])))
    return table(header, lines, caption=caption, name=name, filtered=True)


_NOT_KINDS = ("metric", "total", "tau", "overlap", "relative", "tau_low", "tau_high")


def _heat(
    data: dict[str, Any], truth: str, what: str, column: str, places: dict[str, dict[Any, int]]
) -> Markup:
    """Data sets by metrics, coloured; a cell opens its details below."""
    rows = [r for r in data[what] if r["truth"] == truth]
    metrics = list(dict.fromkeys(r["metric"] for r in rows))
    sets = list(dict.fromkeys((r["dataset"], r["censoring"]) for r in rows))
    cells = {(r["dataset"], r["censoring"], r["metric"]): r for r in rows}
    series = _series(data)
    won = {
        (r["dataset"], r["censoring"], r["metric"])
        for r in data["winners_plain"]
        if r["truth"] == truth
    }
    heads = [
        tag("th", tag("button", label, type="button"), scope="col")
        for label in ("data", "censoring")
    ] + [
        tag("th", tag("button", m, type="button"), scope="col", class_="number",
            data_column_name=_variant(data, truth, m), data_series_column=_number(series, m))
        for m in metrics
    ]  # fmt: skip
    lines = []
    for dataset, censoring in sets:
        found = [tag("th", dataset, scope="row"), tag("td", censoring)]
        best = _best_of_row(cells, dataset, censoring, data["plain"][truth], column)
        for metric in metrics:
            row = cells.get((dataset, censoring, metric))
            value = None if row is None else row[column]
            shown = _fixed(value, 2) if column == "tau" else _percent(value)
            shade = None if value is None else _shade(value, column)
            place = places["cell-chart"].get((truth, dataset, censoring, metric))
            if (dataset, censoring, metric) in won:
                shown = f"\u2605 {shown}"
            kind = "cell win" if value is not None and value == best else "cell"
            inner: object = shown
            if place is not None:
                label = f"{metric} on {dataset}, {censoring}: {shown}; show its models"
                inner = tag("button", shown, type="button", data_goto="cell-chart",
                            data_choice=place, aria_label=label)  # fmt: skip
            found.append(
                tag("td", inner, class_=kind, style=shade, data_sort=_key(value),
                    data_column_name=_variant(data, truth, metric),
                    data_series_column=_number(series, metric))
            )  # fmt: skip
        lines.append(tag("tr", *found))
    told = (
        "Kendall's tau between the order by the metric and the true order; 1 is perfect."
        if column == "tau"
        else "Mean distance from the true value, relative to it; 0 % is perfect."
    )
    caption = (
        f"Truth: {truth}. {told} Darker is better; bold: the best of a row; a star: the winner by "
        "both questions, among the metrics without settings. Press a number to see its models."
    )
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines),
               class_="sortable heat")  # fmt: skip
    place_of = {"tabindex": 0, "role": "region", "aria_label": caption}
    return join(
        tag("p", caption, class_="soft small"), tag("div", body, class_="table", **place_of)
    )


def _best_of_row(
    cells: dict[Any, Any], dataset: str, censoring: str, metrics: list[str], column: str
) -> float | None:
    rows = [cells[dataset, censoring, m] for m in metrics if (dataset, censoring, m) in cells]
    values = [row[column] for row in rows if row[column] is not None]
    return None if not values else max(values) if column == "tau" else min(values)


def _number(series: list[str], name: str) -> int | None:
    return series.index(name) if name in series else None


def _shade(value: float, column: str) -> str:
    """Background between the page's two heat colours; text stays readable on all of them."""
    share = max(0.0, min(1.0, value if column == "tau" else 1 - value / 0.5))
    return (
        "background:color-mix(in srgb, rgb(var(--heat-high)) "
        f"{round(45 * share)}%, rgb(var(--heat-low)))"
    )


def _winners(data: dict[str, Any]) -> Markup:
    header: list[tuple[object, str | None]] = [
        ("data", None), ("censoring", None), ("truth", None), ("winner", None),
        ("top 3 right", "number"), ("distance", "number"), ("tau", "number"),
        ("wins in replicates", "number"),
    ]  # fmt: skip
    lines = [
        tag(
            "tr",
            tag("th", r["dataset"], scope="row"),
            tag("td", r["censoring"]),
            tag("td", r["truth"]),
            tag("td", tag("code", r["metric"])),
            tag("td", _fixed(r["overlap"], 0), class_="number"),
            tag("td", number(r["proximity"]), class_="number", data_sort=_key(r["proximity"])),
            tag("td", _fixed(r["tau"], 2), class_="number"),
            tag("td", _percent(r["share"], 0), class_="number", data_sort=_key(r["share"])),
        )
        for r in data["winners"]
    ]
    truths = [tag("option", t, value=t) for t in data["truths"]]
    filters = tag(
        "div",
        tag("label", "Search ", tag("input", type="search", data_filter="winners-table")),
        tag("label", "Truth ", tag("select", tag("option", "all", value=""), *truths,
                                   data_filter="winners-table", data_column=2)),
        tag("span", id="winners-table-count", class_="small soft", aria_live="polite"),
        class_="actions filter",
    )  # fmt: skip
    caption = "Best metric of each data set and truth, variants with settings included"
    return join(filters, table(header, lines, caption=caption, name="winners-table", filtered=True))


def _failures(data: dict[str, Any]) -> Markup:
    if not data["failures"] and not data["left_out"]:
        return tag("p", "Nothing: every cell of the plan has a result.")
    header: list[tuple[object, str | None]] = [
        (name, None) for name in ("data", "censoring", "model", "repeat", "fold", "what happened")
    ]
    rows = [*data["failures"], *data["left_out"]]
    lines = [
        tag(
            "tr",
            *(tag("td", r.get(k)) for k in ("dataset", "censoring", "model", "repeat", "fold")),
            tag("td", r["message"]),
        )
        for r in rows[:_MOST_FAILURES]
    ]
    caption = f"{len(rows)} cells"
    if len(rows) > _MOST_FAILURES:
        caption += f"; the first {_MOST_FAILURES} are shown, the JSON has all"
    return table(header, lines, caption=caption, name="failures-table")


def _key(value: float | None) -> object:
    return "" if value is None else value


def _fixed(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}%}"


def _safe(label: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in label)
