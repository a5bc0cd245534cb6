"""Tables of the leaderboard's page: comparisons over datasets, and facts on each of them."""

from __future__ import annotations

from typing import Any

from .._tools.text import number, p_text, percent
from ..evaluation.phrases import listed
from ..metrics.registry import REGISTRY
from . import leaderboard_words as words
from .evaluation_tables import unbroken
from .experiment_words import FEWEST_BASES, data_sets
from .page import (
    Markup,
    breakable,
    facts,
    head,
    heat,
    join,
    number_cell,
    paragraphs,
    shaded,
    table,
    table_row,
    tag,
)

Record = dict[str, Any]
#: How far below the best a model's colour has faded away, in shares of Kaplan-Meier's error.
_FADED = 0.1


def metrics_table(data: Record, view: str) -> Markup:
    """Models by metrics: means with intervals and letters."""
    mine = data["by_view"][view]
    there = [m for m in data["metrics"] if mine["standings"][m["name"]]]
    found = {m["name"]: {r["model"]: r for r in mine["standings"][m["name"]]} for m in there}
    order = [r["model"] for r in mine["standings"][data["headline"]]]
    order += [m for m in data["models"] if m not in order]
    lines = []
    for model in order:
        cells = []
        for metric in there:
            row = found[metric["name"]].get(model)
            if row is None:
                cells.append(number_cell("-", None))
                continue
            first = mine["standings"][metric["name"]][0]["model"] == model
            mark = "\u2248 " if row["may_be_best"] and not first else ""
            letters = f" {row['group']}" if row["group"] else ""
            text = join(f"{mark}{words.shown(row['mean'], metric['kind'])}",
                        tag("span", letters, class_="soft") if letters else None)  # fmt: skip
            ends = words.interval(row["low"], row["high"], metric["kind"])
            look = "number first" if first else "number"
            look += " behind" * (row["may_be_best"] is False)
            cells.append(number_cell(text, row["mean"], ends, class_=look))
        lines.append(model_row(data, model, *cells))
    heads: list[object] = [head("model", None)]
    for metric in there:
        kind = REGISTRY[metric["name"]].direction
        note = {"skill": "more is better", "distance": "0 is best"}.get(
            metric["kind"], f"{kind} is better"
        )
        count = mine["datasets"][metric["name"]]
        if count != mine["datasets"][data["headline"]]:
            note += f", {data_sets(count)}"
        heads.append(
            head(tag("span", words.titled(metric), title=REGISTRY[metric["name"]].title), note=note)
        )
    label = (
        "Means over datasets with 95 % intervals and letters. Bold: the best mean; \u2248: not "
        "clearly worse than the best; grey: clearly worse."
    )
    out: dict[str, list[str]] = {}
    for metric, names in mine.get("left_out", {}).items():
        out.setdefault(listed(names), []).append(words.short(metric))
    left = [
        f"Not compared by {listed(metrics)}: {names}. There is no value on most datasets, because "
        "fits failed or there are no curves or times."
        for names, metrics in out.items()
    ]
    told = tag("p", words.rule(mine["datasets"][data["headline"]]), class_="soft small")
    made = table(heads, lines, label=label, name=f"metrics-{view}", kind="pinned")
    return join(made, told,
                paragraphs(left, class_="small"))  # fmt: skip


def heat_table(data: Record, view: str) -> Markup:
    """Datasets by models, coloured by how far each is below the best of its dataset."""
    mine = data["by_view"][view]
    order = [r["model"] for r in mine["standings"][data["headline"]]]
    sets: dict[str, dict[str, Record]] = {}
    for r in mine["each"]:
        sets.setdefault(r["dataset"], {})[r["model"]] = r
    about = {d["name"]: d for d in data["datasets"]}
    lines, clear = [], 0
    for place, (name, found) in enumerate(sets.items()):
        best = max(r["value"] for r in found.values() if r["value"] is not None)
        tied = [r for r in found.values() if r["clearly_worse"] is False]
        clear += not tied and len(found) > 1
        cells = [_on_dataset(data, found.get(model), name, best, place, view) for model in order]
        note = tag("span", unbroken(words.counts(about[name])), class_="told")
        row = tag("th", breakable(name), note, scope="row", data_sort=name)
        lines.append(tag("tr", row, *cells))
    label = (
        "Each number is the share of Kaplan-Meier's error that a model saves, in per cent; below "
        "0 it is worse than Kaplan-Meier. Bold: the best model of a dataset; \u2248: not clearly "
        "worse than that (paired on its subjects, Holm's correction). Press a number to see the "
        "dataset with its intervals."
    )
    wins: dict[str, int] = {}
    for r in mine["each"]:
        wins[r["model"]] = wins.get(r["model"], 0) + bool(r["best"])
    won = [f"{m} on {n}" for m, n in sorted(wins.items(), key=lambda w: -w[1]) if n]
    lead = (
        f"The best model of a dataset is {listed(won)} of {data_sets(len(sets))}. "
        f"It is clearly better than every other model on {clear or 'none'} of them."
    )
    ends = (f"Worse: {100 * _FADED:.0f} points or more below the best", "the best of the dataset")
    return join(tag("p", lead), heat(_heads(data, order), lines, label, ends, "dataset"))


def _on_dataset(
    data: Record, r: Record | None, dataset: str, best: float, place: int, view: str
) -> Markup:
    if r is None or r["value"] is None:
        return tag("td", "-", class_="cell", data_sort="")
    mark = "\u2248 " if r["clearly_worse"] is False else ""
    text = f"{mark}{words.shown(r['value'], 'skill').removesuffix(' %')}"
    label = f"{r['model']} on {dataset}: {text} %; show the dataset"
    button = tag("button", text, type="button", data_goto=f"dataset-{view}", data_choice=place,
                 aria_label=label)  # fmt: skip
    share = 1 - (best - r["value"]) / _FADED
    series = data["models"].index(r["model"])
    return shaded(button, r["value"], share, r["best"], data_series_column=series)


def kinds_table(data: Record, view: str) -> Markup:
    """Kinds of datasets by models: mean error saved, and who may be best there."""
    mine = data["by_view"][view]
    order = [r["model"] for r in mine["standings"][data["headline"]]]
    lines, few = [], False
    for kind in mine["kinds"]:
        found = {r["model"]: r for r in kind["models"]}
        best = max((r["mean"] for r in found.values() if r["mean"] is not None), default=0.0)
        cells = []
        for model in order:
            r = found.get(model)
            series = {"data_series_column": data["models"].index(model)}
            if r is None or r["mean"] is None:
                cells.append(tag("td", "-", class_="cell", data_sort="", **series))
                continue
            leads = r["mean"] == best
            mark = "\u2248 " if r["may_be_best"] and not leads else ""
            text = f"{mark}{words.shown(r['mean'], 'skill').removesuffix(' %')}"
            share = 1 - 2 * (best - r["mean"]) / _FADED
            cells.append(shaded(tag("span", text), r["mean"], share, leads, **series))
        few |= kind["datasets"] < FEWEST_BASES
        note = tag("span", data_sets(kind["datasets"]), class_="told")
        name = f"{kind['kind']}: {kind['range']}"
        lines.append(tag("tr", tag("th", name, note, scope="row", data_sort=name), *cells))
    label = (
        "Mean share of Kaplan-Meier's error saved, in per cent, over the datasets of a kind. Bold: "
        "the best mean; \u2248: not clearly worse than the best."
    )
    told = (
        "Kinds are looked at one by one and not compared with each other: that a model leads "
        "among small datasets and not among large ones does not show that size is the reason."
    )
    if few:
        told += f" With fewer than {FEWEST_BASES} datasets nothing is tested, and no \u2248 is set."
    ends = (f"Worse: {50 * _FADED:.0f} points or more below the best", "the best of the kind")
    return join(heat(_heads(data, order), lines, label, ends, "datasets"),
                tag("p", told, class_="small"))  # fmt: skip


def taus_table(data: Record, view: str) -> Markup:
    """Metrics by metrics: Kendall's tau between the orders of models; who may be best by each."""
    mine = data["by_view"][view]
    names, tau = mine["sensitivity"]["metrics"], mine["sensitivity"]["tau"]
    lines = []
    for k, name in enumerate(names):
        cells = []
        for value in tau[k]:
            text = "-" if value is None else f"{value:.2f}".replace("-", "\u2212")
            cells.append(shaded(tag("span", text), value, value, best=False))
        lines.append(tag("tr", tag("th", words.short(name), scope="row"), *cells))
    heads = [head(words.short(name)) for name in names]
    label = (
        f"Kendall's tau between the orders of {mine['sensitivity']['models']} models by their "
        "means over datasets: 1 is the same order, 0 none in common, \u22121 the reverse."
    )
    best = []
    for metric in data["metrics"]:
        rows = mine["standings"][metric["name"]]
        if not rows:
            continue
        may = [r["model"] for r in rows if r["may_be_best"]] or [f"{rows[0]['model']} (not tested)"]
        out = len(rows) - len(may)
        best.append(
            table_row(
                words.short(metric["name"]), rows[0]["model"], listed(may), number_cell(out, out)
            )
        )
    header = ["metric", "best mean", "may be the best", "clearly worse"]
    told = (
        "Metrics ask different things: the error in time and the Brier score reward both ranking "
        "and calibration, Uno's C ranking alone, and slope, ICI and O/E calibration alone."
    )
    orders = heat(heads, lines, label, ("No agreement: 0 or less", "the same order: 1"), "metric")
    return join(
        orders if mine["sensitivity"]["models"] > 2 else None,
        table(header, best, label="Who may be the best by each metric.", words=header[:3],
              name=f"best-{view}"),
        tag("p", told, class_="small"),
    )  # fmt: skip


def tuning_table(data: Record) -> Markup:
    """What tuning changed, model by model."""
    columns = [v for v in data["views"] if v != "default"]
    found: dict[str, dict[str, Record]] = {}
    for r in data["tuning"]:
        found.setdefault(r["model"], {})[r["settings"]] = r
    lines = []
    for model, own in found.items():
        cells = []
        for view in columns:
            r = own.get(view)
            ends = "" if r is None else words.interval(r["low"], r["high"], "skill", sign=True)
            text = "-" if r is None else words.shown(r["gain"], "skill", sign=True)
            cells.append(number_cell(text, r and r["gain"], ends))
        lines.append(model_row(data, model, *cells))
    label = (
        "Share of its own error that a model saves when it is tuned by random search on inner "
        "folds, mean over datasets with 95 % intervals, not adjusted for the number of models."
    )
    return table(["model", *(data["views"][v] for v in columns)], lines, label=label,
                 words=["model"], name="tuning-table")  # fmt: skip


def truth_table(data: Record, view: str) -> Markup:
    """How far each metric is from its true value, and who is truly best."""
    found = data["truth"][view]
    lines = []
    for r in found["metrics"]:
        kind = "skill" if r["relative"] else "value"
        cells = [_over(r, "bias", kind, sign=True), _over(r, "distance", kind),
                 _over(r, "tau", "distance"), _over(r, "loss", "skill", sign=True)]  # fmt: skip
        lines.append(table_row(REGISTRY[r["metric"]].title, *cells))
    header = ["metric", "bias", "distance", "tau with the true order", "loss of picking by it"]
    label = (
        "Bias and distance from the same score computed with the true event times (of the error in "
        "time and the Brier score relative to it), means over models and datasets. Tau: agreement "
        "with the order by the true error. Loss: how far the true error of the model that is best "
        "by the metric lies above the least one. With 95 % intervals over datasets."
    )
    true = [
        model_row(
            data, r["model"],
            number_cell(words.shown(r["mean"], "skill"), r["mean"],
                        words.interval(r["low"], r["high"], "skill")),
            tag("td", {True: "yes", False: "no", None: "not tested"}[r["may_be_best"]]),
            tag("td", r["group"] or ""),
        )
        for r in found["standings"]
    ]  # fmt: skip
    names = ["model", "true error saved", "may be the best", "group"]
    return join(
        tag("p", words.truth_lead(found, data["headline"])),
        table(header, lines, label=label, words=["metric"], name=f"truth-{view}"),
        table(names, true, label="Models by their true error, relative to Kaplan-Meier's.",
              words=["model", "may be the best", "group"], name=f"true-{view}"),
    )  # fmt: skip


def _over(r: Record, name: str, kind: str, *, sign: bool = False) -> Markup:
    if kind == "value":
        text, low, high = (_digits(r[f"{name}{end}"]) for end in ("", "_low", "_high"))
        return number_cell(text, r[name], "" if r[f"{name}_low"] is None else f"{low} to {high}")
    ends = words.interval(r[f"{name}_low"], r[f"{name}_high"], kind, sign)
    return number_cell(words.shown(r[name], kind, sign), r[name], ends)


def _reversed(saved: float | None) -> float | None:
    """Share saved the other way round: 0.2 of the error saved is 0.25 of it added.

    >>> _reversed(0.2)
    -0.25
    """
    return None if saved is None else -saved / (1 - saved)


def _digits(value: float | None) -> str:
    """Write two digits of a number of any size."""
    text = number(value, 2)
    return text if value is None else text.replace("-", "\u2212")


def pairs_table(data: Record, view: str) -> Markup:
    """All pairs by the headline metric."""
    mine = data["by_view"][view]
    order = [r["model"] for r in mine["standings"][data["headline"]]]
    pair = {}
    for r in mine["pairs"]:
        if r["metric"] == data["headline"]:
            pair[r["model_a"], r["model_b"]] = (r["difference"], r["p_value"])
            pair[r["model_b"], r["model_a"]] = (_reversed(r["difference"]), r["p_value"])
    lines = []
    for a in order:
        cells = []
        for b in order:
            gap, p = pair.get((a, b), (None, None))
            series = {"data_series_column": data["models"].index(b)}
            if gap is None:
                cells.append(tag("td", "", class_="number", data_sort="", **series))
                continue
            text = words.shown(gap, "skill", sign=True).removesuffix(" %")
            look = "number first" if p is not None and p < 0.05 else "number behind"
            told = "" if p is None else f"p {p_text(p)}"
            cells.append(number_cell(text, gap, told, class_=look, **series))
        lines.append(model_row(data, a, *cells))
    label = (
        "Share of the error of the column's model that the row's model saves, in per cent, mean "
        "over datasets. p-values are adjusted for all pairs; bold: below 0.05."
    )
    heads = [head("model", None), *_heads(data, order)]
    return table(heads, lines, label=label, name=f"pairs-{view}", kind="pinned dense")


#: Failures that are shown; the download has all.
_MOST_FAILURES = 200
_SETTINGS = {"default": "as it comes", "tuned-ibs": "tuned by IBS", "tuned-mae": "tuned by MAE"}
_TRACKS = {"main": "recorded", "truth": "drawn"}


def each_table(data: Record) -> Markup:
    """A table for each dataset, on demand: models by metrics with intervals over its subjects."""
    rows: dict[str, dict[tuple[str, str], dict[str, Record]]] = {}
    for r in data["values"]:
        own = rows.setdefault(r["dataset"], {}).setdefault((r["model"], r["settings"]), {})
        own[r["metric"]] = r
    parts = []
    for d in data["datasets"]:
        found = rows.get(d["name"])
        if not found:
            continue
        lines = []
        for (model, settings), own in found.items():
            cells = [_value(own.get(m["name"])) for m in data["metrics"]]
            failed = max((int(r["failed_folds"] or 0) for r in own.values()), default=0)
            lines.append(
                model_row(data, model, tag("td", _SETTINGS.get(settings, settings)), *cells,
                           number_cell(failed or "", failed))
            )  # fmt: skip
        titles = [words.short(m["name"]) for m in data["metrics"]]
        titles[0] += f", {d['unit']}" if d.get("unit") else ""
        header = ["model", "settings", *titles, "failed folds"]
        label = "Values with 95 % intervals over the subjects of the dataset."
        made = table(header, lines, label=label, words=["model", "settings"], kind="pinned dense")
        title = "" if d["title"] == d["name"] else f"{d['title']}, "
        told = f"{d['name']}: {title}{words.counts(d)}"
        parts.append(tag("details", tag("summary", told), made))
    inner = tag("summary", f"All metrics and settings: a table for each of {len(parts)} datasets")
    return tag("details", inner, *parts)


def _value(r: Record | None) -> Markup:
    if r is None or r["value"] is None:
        return number_cell("-", None)
    ends = "" if r["low"] is None else f"{number(r['low'], 3)} to {number(r['high'], 3)}"
    return number_cell(number(r["value"], 3), r["value"], ends)


def costs_table(data: Record, view: str) -> Markup:
    """What each model costs."""
    mine, lines = data["by_view"][view], []
    chosen = {(m, s) for m, s in mine["settings"].items()}
    for c in sorted(data["costs"], key=lambda c: c["total"] or 0.0):
        if (c["model"], c["settings"]) not in chosen:
            continue
        times = [number_cell(_clock(c[k]), c[k]) for k in ("fit", "predict", "most", "total")]
        cells = number_cell(f"{c['cells']:,}", c["cells"]), number_cell(c["failed"], c["failed"])
        setting = tag("td", _SETTINGS.get(c["settings"], c["settings"]))
        lines.append(model_row(data, c["model"], setting, *times, *cells))
    header = ["model", "settings", "fit, median", "predict, median", "longest fold", "all folds",
              "folds", "failed"]  # fmt: skip
    label = "What each model costs: time of a fold on one process, and of all folds together."
    return table(header, lines, label=label, words=["model", "settings"], name=f"cost-{view}")


def _clock(seconds: float | None) -> str:
    """Write a duration.

    >>> _clock(0.0123), _clock(75.0), _clock(5400.0)
    ('12 ms', '75 s', '1.5 h')
    """
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{number(1000 * seconds, 2)} ms" if seconds < 0.1 else f"{number(seconds, 2)} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def failures_table(data: Record) -> Markup:
    """What failed; a failed fold counts as Kaplan-Meier."""
    rows = data["failures"]
    if not rows:
        return tag("p", "Nothing failed: every model has predictions for every fold.")
    folds = sum(r["folds"] for r in rows)
    total = sum(c["cells"] for c in data["costs"])
    told = (
        f"{folds} of {total:,} fits failed. They are not dropped: Kaplan-Meier's predictions stand "
        "in for those of a model that failed."
    )
    if len(rows) > _MOST_FAILURES:
        told += f" The first {_MOST_FAILURES} of {len(rows)} kinds are shown; the JSON has all."
    lines = [
        model_row(
            data, r["model"], tag("td", _SETTINGS.get(r["settings"], r["settings"])),
            tag("td", r["dataset"]), tag("td", _TRACKS.get(r["track"], r["track"])),
            number_cell(r["folds"], r["folds"]), tag("td", r["message"] or "")
        )
        for r in rows[:_MOST_FAILURES]
    ]  # fmt: skip
    header = ["model", "settings", "dataset", "censoring", "folds", "what happened"]
    return table(header, lines, label=told, name="failures-table",
                 words=[h for h in header if h != "folds"])  # fmt: skip


def datasets_table(data: Record) -> Markup:
    """Datasets with what the event is, source, licence and counts."""
    lines = []
    for d in data["datasets"]:
        size = f"{d['n']:,}"
        note = f"of {d['subjects_before']:,}" if d["subsampled"] else ""
        horizon = "-" if d["horizon"] is None else f"{number(d['horizon'], 3)} {d['unit'] or ''}"
        truth = "yes" if d["name"] in data["truth_datasets"] else ""
        lines.append(
            tag("tr", tag("th", breakable(d["name"]), tag("span", d["title"], class_="told"),
                          scope="row", data_sort=d["name"]),
                tag("td", d.get("event") or ""),
                number_cell(size, d["n"], note), number_cell(f"{d['events']:,}", d["events"]),
                number_cell(percent(d["censored"]), d["censored"]),
                number_cell(d["features"], d["features"]),
                number_cell(horizon.strip(), d["horizon"]), tag("td", truth),
                tag("td", _source(d)), tag("td", d["licence"]))
        )  # fmt: skip
    text = ["dataset", "event", "known truth", "source", "licence"]
    header = [*text[:2], "subjects", "events", "censored", "features", "horizon", *text[2:]]
    label = "All datasets ship inside packages; those that are subsampled say of how many subjects."
    return table(header, lines, label=label, name="dataset-table", words=text, kind="pinned")


def _source(d: Record) -> str:
    return ", ".join(str(d[k]) for k in ("source", "package") if d.get(k))


def models_table(data: Record) -> Markup:
    """Models with their titles, packages and what submissions say of themselves."""
    keys = [
        k for k in ("settings", "title", "package", "version", "authors", "origin", "code",
                    "training_data", "hardware", "notes")
        if any(e.get(k) for e in data["entries"])
    ]  # fmt: skip
    lines = [
        table_row(
            e["name"],
            *(tag("td", _SETTINGS.get(e[k], e[k]) if k == "settings" else e.get(k) or "")
              for k in keys),
        )
        for e in data["entries"]
    ]  # fmt: skip
    header = ["model", *(k.replace("_", " ") for k in keys)]
    return table(header, lines, label="Models and their settings.", words=header, name="entries")


def settings_table(data: Record) -> Markup:
    """Seed, command, duration and versions."""
    known: dict[str, object] = {}
    for key, value in data["about"].items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif key.startswith("seconds"):
            key, value = key.replace("seconds", "duration"), _clock(value)
        if key == "datasets":  # they have a table
            continue
        known[key.replace("_", " ")] = value if value is None else str(value)
    return facts(known)


def _heads(data: Record, models: list[str]) -> list[Markup]:
    """Make the heads of columns of models, which are hidden with them."""
    place, titles = data["models"].index, data["titles"]
    return [head(breakable(m), title=titles.get(m), data_series_column=place(m)) for m in models]


def model_row(data: Record, model: str, *cells: object) -> Markup:
    """Row of a model, which is hidden with it."""
    place = data["models"].index(model) if model in data["models"] else None
    name = tag("span", breakable(model), title=data["titles"].get(model))
    look = None if place is None else tag("span", class_="look", data_look=place)
    return table_row(join(look, name), *cells, data_series=place)
