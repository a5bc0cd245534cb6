"""The page of an evaluation: plain data in, HTML out."""

from __future__ import annotations

from typing import Any

from ..evaluation.explanations import explain
from ..evaluation.verdict import best_rows
from ..metrics.registry import REGISTRY
from ..tables import number, p_text
from .markup import Markup, join, table, tag
from .shell import figure, page
from .words import GLANCE, headline, summary

#: Between names of series in one attribute.
_SEPARATOR = "\x1f"
_WEIGHTS = ("problem", "caution", "note")
_MOST_MODELS = 12


def evaluation_page(
    data: dict[str, Any], figures: dict[str, list[dict[str, Any]]], *, title: str, tau: float | None
) -> str:
    """Make the page.

    Parameters
    ----------
    data : dict
        From `Evaluation.to_dict`.
    figures : dict of section to charts
        From `survgauge.report.charts`; a section without charts is left out.
    title : str
        Of the page.
    tau : float or None
        Horizon of the time errors.
    """
    charts = {name: _figures(found) for name, found in figures.items() if found}
    support = data["support"]
    sections = [
        ("summary", "Summary", _summary(data, tau)),
        ("trust", "What to trust", _trust(data)),
        ("models", "Models at a glance", join(_glance(data), charts.get("metrics"))),
        ("differences", "Differences between models",
         join(_differences_text(data), charts.get("differences"))),
        ("errors", "Errors in time", charts.get("errors")),
        ("probabilities", "Probabilities over time", charts.get("probabilities")),
        ("calibration", "Calibration", charts.get("calibration")),
        ("subjects", "Single subjects", charts.get("subjects")),
        ("support", "Support", join(_support(data), charts.get("support"))),
        ("numbers", "All numbers", join(_numbers(data), _conventions(data))),
    ]  # fmt: skip
    if len(data["models"]) < 2:
        sections = [s for s in sections if s[0] != "differences"]
    kept = [(name, head, body) for name, head, body in sections if body is not None]
    return page(
        title=title,
        subtitle=f"{support['subjects']:,} test subjects, {support['events']:,} events; "
        f"reference: {support['reference']}",
        sections=kept,
        picker=_picker(data),
        data={
            "file": "evaluation",
            "record": data,
            "figures": [spec for found in figures.values() for spec in found],
            "hidden": data["models"][_MOST_MODELS:],
        },
        saves=[("metrics", "Table (CSV)"), ("json", "Everything (JSON)")],
    )


def _figures(specs: list[dict[str, Any]]) -> Markup:
    return tag("div", *(figure(spec, wide=spec.get("wide", False)) for spec in specs),
               class_="figures")  # fmt: skip


def _picker(data: dict[str, Any]) -> Markup | None:
    if len(data["models"]) < 2:
        return None
    chips = [
        tag("button", tag("span", name), type="button", class_="chip", aria_pressed="true",
            data_series=name, data_color=k, title=name)
        for k, name in enumerate(data["models"])
    ]  # fmt: skip
    return tag(
        "div",
        tag("span", "Models", class_="name"),
        *chips,
        tag("button", "All", type="button", id="all-series"),
        class_="picker",
        role="group",
        aria_label="Models shown",
    )


def _summary(data: dict[str, Any], tau: float | None) -> Markup:
    sentences = summary(data, tau)
    support, unit = data["support"], data.get("unit") or ""
    censored = support["subjects"] - support["events"]
    share = censored / support["subjects"] if support["subjects"] else 0.0
    serious = [w for w in data["warnings"] if explain(w["code"]).weight != "note"]
    cards = [
        ("Models", str(len(data["models"])), None),
        ("Test subjects", f"{support['subjects']:,}", f"{share:.0%} censored"),
        ("Horizon", f"{number(support['horizon'])} {unit}".strip(), "of metrics weighted by 1/G"),
        ("Time of interest", f"{number(support['time'])} {unit}".strip(),
         "of Brier, AUC, 1-calibration and ICI"),
        ("Remarks to read", str(len({w["code"] for w in serious})), "see what to trust"),
    ]  # fmt: skip
    return join(
        tag("p", sentences[0], class_="lead"),
        *(tag("p", text) for text in sentences[1:]),
        tag(
            "dl",
            *(
                tag("div", tag("dt", name), tag("dd", value, tag("small", note) if note else None))
                for name, value, note in cards
            ),
            class_="cards",
        ),
    )


def _trust(data: dict[str, Any]) -> Markup:
    """Warnings, gravest first; one that several models or metrics share is said once."""
    shared: dict[tuple[str, str], dict[str, list[str]]] = {}
    for warning in data["warnings"]:
        places = shared.setdefault((warning["code"], warning["message"]), {})
        place = " ".join(str(warning[k]) for k in ("group", "metric") if warning[k])
        models = places.setdefault(place, [])
        if warning["model"] and warning["model"] not in models:
            models.append(warning["model"])
    items = []
    for weight in _WEIGHTS:
        for (code, message), places in shared.items():
            if explain(code).weight == weight:
                names = [_where(place, models, data) for place, models in places.items()]
                items.append(_remark(weight, code, message, [name for name in names if name]))
    if not items:
        told_by = "No remark: the follow-up supports every number on this page."
        items = [tag("li", tag("span", "good", class_="badge"), told_by, class_="good")]
    return tag("ul", *items, class_="trust")


def _where(place: str, models: list[str], data: dict[str, Any]) -> str:
    whose = "all models" if 1 < len(models) == len(data["models"]) else ", ".join(models)
    return f"{place} of {whose}" if place and whose else place or whose


def _remark(weight: str, code: str, message: str, names: list[str]) -> Markup:
    told = explain(code)
    shown = "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    advice = told.advice.replace("`", "")
    said = advice.partition(":")[0].partition(",")[0] in message
    return tag(
        "li",
        tag("span", weight, class_="badge"),
        tag("strong", f"{shown}: ") if shown else None,
        message.rstrip("."),
        ". ",
        None if said else tag("span", f"What to do: {advice}. ", class_="soft"),
        tag("code", code, class_="soft small", title=told.meaning.replace("`", "")),
        class_=weight,
    )


def _glance(data: dict[str, Any]) -> Markup:
    """Models by metrics: one row a model, sortable by every metric."""
    rows = data["metrics"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    first = [name for name in (headline(data), *GLANCE) if name in metrics] or metrics[:6]
    ordered = list(dict.fromkeys([*first, *metrics]))
    best = best_rows(rows)
    cells = {(r.get("group"), r["model"], r["metric"]): r for r in rows}
    groups = list(dict.fromkeys(row.get("group") for row in rows))
    grouped = groups != [None]
    boxes = [
        tag("label", tag("input", type="checkbox", checked=name in first, data_show_column=name),
            " ", name, class_="small", title=REGISTRY[name].title)
        for name in ordered
    ]  # fmt: skip
    head: list[Markup] = [_head("model")] + ([_head("group")] if grouped else [])
    for name in ordered:
        arrow = f"{REGISTRY[name].direction} is better"
        if REGISTRY[name].inference == "test":
            arrow = "small means miscalibrated"
        title = REGISTRY[name].title
        label = tag("button", name, type="button", title=f"{title}; {arrow}")
        unit = _unit(data, name)
        told = f"{title.partition(':')[0]}{f', {unit}' if unit else ''}; {arrow}"
        note = tag("span", told, class_="interval soft small")
        head.append(tag("th", label, note, scope="col", class_="number", data_column_name=name))
    body = []
    for group in groups:
        for k, model in enumerate(data["models"]):
            shown = [_cell(cells.get((group, model, n)), best.get((group, n)), n) for n in ordered]
            swatch = tag("span", class_="swatch", style=f"background:var(--s{k % 8})")
            lead = [tag("th", swatch, model, scope="row", class_="model")]
            if grouped:
                lead.append(tag("td", str(group)))
            body.append(tag("tr", *lead, *shown, data_series=model))
    caption = "Value with interval; the best of a column is marked. Press a heading to sort."
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable",
        id="glance",
        data_filtered=True,
    )
    choice = tag("details", tag("summary", "Choose metrics"), tag("div", *boxes, class_="actions"),
                 class_="filter")  # fmt: skip
    region = {"tabindex": 0, "role": "region", "aria_label": "Models at a glance"}
    return join(tag("div", whole, class_="table", **region), choice)


def _head(label: str, kind: str | None = None) -> Markup:
    return tag("th", tag("button", label, type="button"), scope="col", class_=kind)


def _cell(row: dict[str, Any] | None, best: dict[str, Any] | None, metric: str) -> Markup:
    common: dict[str, Any] = {"data_column_name": metric}
    if row is None:
        return tag("td", "n/a", class_="number soft", data_sort="", **common)
    value = row["value"]
    kind = "number best" if _is_best(row, best) else "number"
    return tag(
        "td",
        _shown(value, metric),
        _interval(row),
        class_=kind,
        data_sort="" if value is None else value,
        **common,
    )


def _is_best(row: dict[str, Any], best: dict[str, Any] | None) -> bool:
    """Whether to mark a cell; p-values of tests are no contest."""
    return best is row and REGISTRY[row["metric"]].inference != "test"


def _shown(value: Any, metric: str) -> str:
    if isinstance(value, str):
        return value
    if REGISTRY[metric].inference == "test":
        return f"p {p_text(value)}" if value is not None else "-"
    return number(value)


def _interval(row: dict[str, Any]) -> Markup | None:
    if not isinstance(row["low"], float) or not isinstance(row["high"], float):
        return None
    return tag("span", f"{number(row['low'])} to {number(row['high'])}", class_="interval")


def _unit(data: dict[str, Any], metric: str) -> str:
    unit = data.get("unit") or ""
    kind = REGISTRY[metric].unit
    return unit if kind == "time" else f"{unit}\u00b2" if unit and kind == "time^2" else ""


def _differences_text(data: dict[str, Any]) -> Markup:
    text = (
        "All models are compared on the same subjects. An interval that leaves out zero means that "
        "the data tell the two apart; p-values are adjusted over the pairs of models (Holm)."
    )
    if data["confidence"] is None:
        text = "Intervals were not asked for, so differences have no error to judge them by."
    return tag("p", text, class_="soft")


def _support(data: dict[str, Any]) -> Markup:
    support, unit = data["support"], data.get("unit") or ""
    tails = support.get("tail_share") or {}
    facts = [
        ("Subjects past the horizon", f"{support['subjects_past_horizon']:,}",
         f"{support['events_past_horizon']:,} of them with an event"),
        ("Largest weight", number(_float(support["largest_weight"])),
         "how many subjects one of them stands for"),
    ]  # fmt: skip
    for model, share in list(tails.items())[:8]:
        facts.append((f"Times off the tail: {model}", f"{share:.0%}", "of its median times"))
    text = (
        f"What the follow-up covers. Past {number(support['horizon'])} {unit}".rstrip()
        + " the data say too little for metrics that weight by 1/G."
    )
    cards = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", note)))
        for name, value, note in facts
    ]
    return join(tag("p", text, class_="soft"), tag("dl", *cards, class_="cards"))


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _numbers(data: dict[str, Any]) -> Markup:
    """The whole table, a row a model and metric."""
    rows = data["metrics"]
    grouped = any("group" in row for row in rows)
    best = best_rows(rows)
    header: list[tuple[object, str | None]] = [("model", None)]
    header += [("group", None)] if grouped else []
    header += [("metric", None), ("value", "number"), ("interval", "number"),
               ("standard error", "number"), ("skill over KM", "number"),
               ("better", None)]  # fmt: skip
    lines = []
    for row in rows:
        name = row["metric"]
        mark = _is_best(row, best.get((row.get("group"), name)))
        cells = [tag("th", row["model"], scope="row", class_="model")]
        cells += [tag("td", str(row["group"]))] if grouped else []
        title = tag("span", REGISTRY[name].title, class_="interval soft")
        cells += [tag("td", tag("code", name), title, data_sort=name)]
        cells += [_figure_cell(row["value"], mark), _interval_cell(row)]
        cells.append(_figure_cell(row["stderr"]))
        skill = row["skill"]
        cells.append(tag("td", "-" if skill is None else f"{skill:.1%}", class_="number",
                         data_sort="" if skill is None else skill))  # fmt: skip
        cells.append(tag("td", row["direction"]))
        lines.append(tag("tr", *cells, data_series=row["model"]))
    return join(
        _filters(data, grouped),
        table(header, lines, caption="All models and metrics", name="all-numbers", filtered=True),
    )


def _interval_cell(row: dict[str, Any]) -> Markup:
    known = isinstance(row["low"], float) and isinstance(row["high"], float)
    shown = f"{number(row['low'])} to {number(row['high'])}" if known else "-"
    return tag("td", shown, class_="number", data_sort=row["low"] if known else "")


def _figure_cell(value: Any, mark: bool = False) -> Markup:
    shown = value if isinstance(value, str) else number(value)
    kind = "number best" if mark else "number"
    return tag("td", shown, class_=kind, data_sort="" if value is None else value)


def _filters(data: dict[str, Any], grouped: bool) -> Markup:
    metrics = list(dict.fromkeys(row["metric"] for row in data["metrics"]))
    offset = 2 if grouped else 1
    controls = [
        tag("label", "Search ", tag("input", type="search", data_filter="all-numbers",
                                    placeholder="model, metric, words")),
        tag("label", "Metric ", tag(
            "select", tag("option", "all", value=""), *(tag("option", m, value=m) for m in metrics),
            data_filter="all-numbers", data_column=offset)),
    ]  # fmt: skip
    if grouped:
        groups = list(dict.fromkeys(str(row["group"]) for row in data["metrics"]))
        controls.append(
            tag("label", "Group ", tag(
                "select", tag("option", "all", value=""),
                *(tag("option", g, value=g) for g in groups),
                data_filter="all-numbers", data_column=1))
        )  # fmt: skip
    count = tag("span", id="all-numbers-count", class_="small soft", aria_live="polite")
    return tag("div", *controls, count, class_="actions filter")


def _conventions(data: dict[str, Any]) -> Markup:
    """How each number was computed; the same for all models but for their curves."""
    found: dict[str, dict[str, Any]] = {}
    for row in data["metrics"]:
        found.setdefault(row["metric"], row["convention"])
    items = []
    for name, rules in found.items():
        told = "; ".join(f"{k}: {v}" for k, v in rules.items() if v is not None)
        items.append(tag("tr", tag("th", tag("code", name), scope="row"), tag("td", told)))
    body = tag("table", tag("tbody", *items))
    how = "How each number was computed (conventions)"
    return tag("details", tag("summary", how), tag("div", body, class_="table"))
