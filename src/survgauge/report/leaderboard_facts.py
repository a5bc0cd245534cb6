"""Facts on the leaderboard's page: each dataset, costs, failures, licences, settings."""

from __future__ import annotations

from typing import Any

from .._tools.text import number, percent
from ..metrics.registry import REGISTRY
from .page import Markup, breakable, facts, join, number_cell, table, table_row, tag

Record = dict[str, Any]
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
        unit = f" ({d['unit']})" if d.get("unit") else ""
        titles = [REGISTRY[m["name"]].title for m in data["metrics"]]
        titles[0] += unit
        header = ["model", "settings", *titles, "failed folds"]
        told = (
            f"{d['title'] or d['name']}: {d['n']:,} subjects, {d['events']:,} events, "
            f"{percent(d['censored'])} censored, {d['features']} features"
        )
        label = "Values with 95 % intervals over the subjects of the dataset."
        made = table(header, lines, label=label, words=["model", "settings"], kind="dense")
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
    ('0.012 s', '75 s', '1.5 h')
    """
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{number(seconds, 2)} s"
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
    """Datasets with source, licence and counts."""
    lines = []
    for d in data["datasets"]:
        size = f"{d['n']:,}"
        note = f"of {d['subjects_before']:,}" if d["subsampled"] else ""
        horizon = "-" if d["horizon"] is None else f"{number(d['horizon'], 3)} {d['unit'] or ''}"
        truth = "yes" if d["name"] in data["truth_datasets"] else ""
        lines.append(
            tag("tr", tag("th", breakable(d["name"]), tag("span", d["title"], class_="told"),
                          scope="row", data_sort=d["name"]),
                number_cell(size, d["n"], note), number_cell(f"{d['events']:,}", d["events"]),
                number_cell(percent(d["censored"]), d["censored"]),
                number_cell(d["features"], d["features"]),
                number_cell(horizon.strip(), d["horizon"]), tag("td", truth),
                tag("td", _source(d)), tag("td", d["licence"]))
        )  # fmt: skip
    header = ["dataset", "subjects", "events", "censored", "features", "horizon", "known truth",
              "source", "licence"]  # fmt: skip
    label = "All datasets ship inside packages; those that are subsampled say of how many subjects."
    text = ["dataset", "known truth", "source", "licence"]
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


def model_row(data: Record, model: str, *cells: object) -> Markup:
    """Row of a model, which is hidden with it."""
    place = data["models"].index(model) if model in data["models"] else None
    name = tag("span", breakable(model), title=data["titles"].get(model))
    look = None if place is None else tag("span", class_="look", data_look=place)
    return table_row(join(look, name), *cells, data_series=place)
