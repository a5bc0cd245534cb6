"""The pages of an evaluation, an audit and landmarks: plain data in, HTML out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tools.text import number
from ..data.causes import EventWords, cause_label, counted_events, training_events
from ..evaluation.audit.result import ASKS, columns_of, within
from ..evaluation.phrases import in_brackets, rounded, why_then
from ..evaluation.sentences import verdict_parts
from ..evaluation.verdict import headline
from ..evaluation.warnings import JoinedWarning, by_weight, warnings_of
from ..metrics.registry import REGISTRY
from .charts import Spec, figure
from .displays.audit import audit
from .displays.forest import plain_float
from .displays.over_time import landmarks
from .evaluation_tables import (
    all_numbers,
    conventions,
    first_columns,
    glance,
    group_words,
    is_grouped,
    limits,
    meaning,
    off_target,
    shown,
    unbroken,
    what_happened,
)
from .page import (
    Markup,
    Section,
    facts,
    figures,
    join,
    number_cell,
    page,
    paragraphs,
    picker,
    table,
    table_row,
    tag,
)

#: Sentences of the verdict, and of tests of differences between groups.
_MOST_SENTENCES = 3
#: Models that show at first.
_MOST_MODELS = 12
#: Sections below the first screen: name, heading, what they answer. Those before "subjects" stand
#: open.
_SECTIONS = {
    "differences": ("Differences between models",
                    "Is one model clearly better than another, and by how much?"),
    "calibration": ("Calibration", "Do the predicted probabilities come true?"),
    "decisions": ("Decisions and risk groups",
                  "Do the models improve decisions, and how do their risk groups fare?"),
    "errors": ("Errors in time", "How far off are the predicted times, for whom and when?"),
    "probabilities": ("Probabilities and ranking over time",
                      "How good are probabilities and ranking at early and at late times?"),
    "subjects": ("Single subjects",
                 "What did the models predict for a subject, and what happened?"),
    "support": ("Support",
                "How long were subjects followed, and up to when can the numbers be trusted?"),
    "metrics": ("Metrics with intervals",
                "How certain is each number, and how does it compare with {estimate}?"),
    "numbers": ("All numbers", "Every metric of every model, and how it was computed."),
    "provenance": ("Where this comes from", "Date, version, call, and checksums of the files."),
}  # fmt: skip
_OPEN = ("differences", "calibration", "decisions", "errors", "probabilities")
_WHOLE = tag("p", "All subjects together, whatever their group.", class_="soft")
#: What the charts of a section show of subjects with sampling weights.
_UNWEIGHTED = dict.fromkeys(
    ("calibration", "decisions", "errors", "subjects"),
    "The charts show the subjects as they were sampled, without their sampling weights.",
)
_UNWEIGHTED["probabilities"] = (
    "Brier score and AUC are weighted by the sampling weights, other charts are not."
)
_NO_CHARTS = tag(
    "p",
    "Charts of errors, probabilities, calibration and single subjects need the predictions "
    "themselves; this page comes from a stream or from saved numbers, which keep none.",
    class_="soft small",
)
_COMPARED = (
    "All models are compared on the same subjects. Filled marks are clear differences, hollow "
    "marks are not."
)
_ADJUSTED = " Intervals and p-values are adjusted for the number of pairs of models (Bonferroni)."

Figures = dict[str, list[dict[str, Any]]]


def evaluation_page(
    data: dict[str, Any],
    charts: Figures,
    *,
    title: str,
    own: Sequence[Section] = (),
    sections: Sequence[Section] = (),
) -> str:
    """Make the page.

    `data` comes from `Evaluation.to_dict`, `charts` from `survgauge.report.charts` (a section
    without charts is left out). Sections on an audit and the like are its `own`; further `sections`
    stand at its end.
    """
    support, made = data["support"], data.get("provenance")
    about = f"{support['subjects']:,} test subjects, {counted_events(support, ',')}"
    subtitle = tag("span", f"{about}; reference: {_reference(data)}")
    if made:
        date = tag("time", made["date"][:10])  # the style keeps it on one line
        subtitle = join(subtitle, tag("span", ". ", date, f", survgauge {made['version']}"))
    first = [*_first(data, charts), *own]
    models, chosen = data["models"], None
    if len(models) > 1:
        names = ((name, k, {"data_color": k}) for k, name in enumerate(models))
        chosen = picker("Models", names)
    return page(
        title=title,
        subtitle=subtitle,
        sections=[*first, *_further(data, charts), *sections],
        picker=chosen,
        picker_at=len(first),
        data={
            "file": "evaluation",
            "about": about,
            "series": models,
            "record": data,
            "figures": [spec for found in charts.values() for spec in found],
            "hidden": _hidden(data),
        },
        saves=[("metrics", "Table (CSV)"), ("json", "Everything (JSON)")],
    )


def _hidden(data: dict[str, Any]) -> list[str]:
    """Models that do not show at first, where there are many: all but the best."""
    metric = headline(data)
    values = {
        row["model"]: REGISTRY[metric].badness(row["value"])
        for row in data["metrics"]
        if row["metric"] == metric and isinstance(row["value"], float)
    }
    return sorted(data["models"], key=lambda m: values.get(m, float("inf")))[_MOST_MODELS:]


# -- the first screen ------------------------------------------------------------------------------


def _first(data: dict[str, Any], charts: Figures) -> list[Section]:
    """The verdict with a picture, a table, what to watch out for; groups and causes."""
    everybody, between = ([unbroken(text) for text in part] for part in verdict_parts(data))
    assumed = unbroken(data["support"].get("assumes") or "")
    told = [text for text in everybody if text != assumed]
    lead, *others = told[:_MOST_SENTENCES] or everybody
    words = tag("div", tag("p", lead, class_="lead"), paragraphs(others), _about(data))
    picture = figures(charts["overview"]) if charts.get("overview") else None
    found = [Section("summary", "Verdict", tag("div", words, picture, class_="beside"))]
    if data["metrics"]:
        need = ("errors", "probabilities", "calibration", "subjects")
        missing = None if any(charts.get(name) for name in need) else _NO_CHARTS
        what = meaning(data)
        about = tag("details", tag("summary", "What this error means"), paragraphs(what))
        body = join(glance(data), about if what else None, missing)
        found.append(Section("models", "Models at a glance", body))
    doubts = [*told[_MOST_SENTENCES:], *[assumed] * (assumed in everybody)]
    found.append(Section("trust", "What to watch out for", _trust(data, doubts)))
    if is_grouped(data):
        if len(between) > _MOST_SENTENCES:
            more = f"{len(between) - _MOST_SENTENCES} more tests are in Everything (JSON)."
            between = [*between[:_MOST_SENTENCES], more]
        body = join(paragraphs([*between, *group_words(data)]), figures(charts["groups"]))
        found.append(Section("groups", "Groups", body))
    happened = what_happened(data) if data["metrics"] else None
    if happened is not None:
        body = join(happened, figures(charts.get("outcomes", [])))
        found.append(Section("outcomes", "What happened", body))
    return found


def _about(data: dict[str, Any]) -> Markup:
    """Facts that every number rests on."""
    support, words = data["support"], EventWords.of(data["support"])
    censored = 1 - support["events"] / support["subjects"] if support["subjects"] else 0.0
    times = support.get("times") or [support["time"]]
    known: dict[str, object] = {
        "Event": None if words.cause is None else cause_label(words.cause),
        "Competing": ", ".join(words.others) if words.cause is not None else None,
        "Censored": f"{100 * censored:.0f} %",
        "Median follow-up": _time(data, support.get("median_follow_up")),
        "Horizon tau": _time(data, support.get("tau")),
        "Supported up to": _time(data, support["horizon"]),
        "Clusters": f"{support['clusters']:,}" if "clusters" in support else None,
        "Sampling weights": f"worth {support['effective_subjects']:,.0f} subjects of equal weight"
        if "effective_subjects" in support
        else None,
        "Time of interest": (_time(data, *times) or "-") + in_brackets(why_then(support)),
        "Warnings": tag("a", by_weight(warnings_of(data)) or "none", href="#trust"),
    }
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value))
                       for name, value in known.items() if value), class_="facts")  # fmt: skip


def _time(data: dict[str, Any], *values: Any) -> str | None:
    """Write times of an evaluation with their unit."""
    known = [rounded(value) for value in values if isinstance(value, int | float)]
    return f"{' / '.join(known)} {data.get('unit') or ''}".rstrip() if known else None


def _reference(data: dict[str, Any]) -> str:
    """Say what the reference set is, and how large where it is of its own."""
    support = data["support"]
    if "training_subjects" not in support:
        return str(support["reference"])
    counts = f"{support['training_subjects']:,} subjects, {training_events(support)}"
    return f"{support['reference']} ({counts})"


def _trust(data: dict[str, Any], doubts: list[str]) -> Markup:
    """Say what speaks against the numbers above; warnings about other numbers are folded away."""
    about = [metric for metric, _ in first_columns(data)] if data["metrics"] else []
    warnings = warnings_of(data)
    first = [w for w in warnings if w.weight != "note" and w.about(about)]
    rest = [warning for warning in warnings if warning not in first]
    told = [*off_target(data), *doubts] if data["metrics"] else doubts
    tipping = data.get("tipping")
    told += [tipping["sentence"]] if tipping else []
    good = "No warning concerns the numbers in the table above."
    if not warnings:
        good = "No warning: the follow-up supports every number on this page."
    title = f"Notes, and warnings about other numbers ({len(rest)} of {len(warnings)})"
    return join(
        _warning_list(first, data) if first else None,
        paragraphs(told),
        None if first else tag("p", good),
        tag("details", tag("summary", title), _warning_list(rest, data)) if rest else None,
    )


def _warning_list(warnings: list[JoinedWarning], data: dict[str, Any]) -> Markup:
    """Return warnings as a list: their weight, what they say and what to do."""
    items = []
    for warning in warnings:
        places, said = warning.text(lambda m: REGISTRY[m].title if m in REGISTRY else m)
        advice = warning.advice(data["support"])
        told = tag("span", f"What to do: {advice}. ", class_="soft")
        items.append(
            tag(
                "li",
                tag("span", warning.weight, class_="badge"),
                tag("strong", f"{places}: ") if places else None,
                f"{said if places else said[:1].upper() + said[1:]}. ",
                told if advice and not advice.startswith("nothing") else None,
                tag("code", warning.code, class_="soft small"),
                class_=warning.weight,
            )
        )
    return tag("ul", *items, class_="trust")


# -- further sections ------------------------------------------------------------------------------


def _further(data: dict[str, Any], charts: Figures) -> list[Section]:
    """What answers further questions; a section without charts or words is left out."""
    bodies: dict[str, Markup | None] = {"provenance": _provenance(data)}
    if data["metrics"]:
        bodies |= {name: figures(found) for name, found in charts.items() if found}
        if "effective_subjects" in data["support"]:
            noted = {name: tag("p", text, class_="soft") for name, text in _UNWEIGHTED.items()}
            bodies |= {name: join(noted[name], bodies[name]) for name in noted if name in bodies}
        if is_grouped(data):
            bodies |= {name: join(_WHOLE, bodies[name]) for name in _OPEN if name in bodies}
        bodies["support"] = join(_support(data), bodies.get("support"))
        bodies["numbers"] = join(all_numbers(data), conventions(data))
        if len(data["models"]) > 1:
            told = _COMPARED + _ADJUSTED * (len(data["models"]) > 2)
            if data["confidence"] is None:
                told = "No intervals were asked for, so differences are not tested."
            bodies["differences"] = join(tag("p", told, class_="soft"), bodies.get("differences"))
    estimate = EventWords.of(data["support"]).estimate
    return [
        Section("values" if name == "metrics" else name, title, body,
                asks.format(estimate=estimate), folded=name not in _OPEN)
        for name, (title, asks) in _SECTIONS.items()
        if (body := bodies.get(name)) is not None
    ]  # fmt: skip


def _support(data: dict[str, Any]) -> Markup:
    support, words = data["support"], EventWords.of(data["support"])
    any_cause = "" if words.cause is None else " of any cause"
    largest, tails = support["largest_weight"], support.get("tail_share") or {}
    weighted = isinstance(largest, int | float) and largest == largest
    known: dict[str, object] = {
        "Subjects observed longer": f"{support['subjects_past_horizon']:,}, "
        f"{support['events_past_horizon']:,} of them with an event{any_cause}",
    }
    if weighted:
        known["Largest weight"] = f"one subject stands for {number(largest, 3)}"
    if tails:
        shares = ", ".join(f"{model} {100 * share:.0f} %" for model, share in tails.items())
        known["Medians extrapolated beyond the curve"] = shares
    text = (
        f"After {_time(data, support['horizon'])} the data say too little for metrics that "
        f"{'weight by 1/G' if weighted else 'have a horizon'}."
    )
    return join(tag("p", text, class_="soft"), facts(known))


def _provenance(data: dict[str, Any]) -> Markup | None:
    """Return date, versions, call, and the files with their checksums, where they are recorded."""
    made = data.get("provenance")
    if not made:
        return None
    known: dict[str, object] = {
        "Date": made["date"].replace("T", " ").replace("Z", " UTC"),
        "survgauge": made["version"],
        "Computed with": made.get("computed_with"),
        "Call": tag("code", made["call"]),
        "Seed": data["random_state"],
        "Data": None if made["inputs"] else "from memory, not from files",
    }
    for entry in made["inputs"]:
        several = f" ({entry['files']} files)" if entry["files"] > 1 else ""
        checksum = entry["sha256"] or "too large for a checksum"
        known[entry["name"]] = join(
            f"{entry['bytes']:,} bytes{several}, SHA-256 ", tag("code", checksum)
        )
    return facts(known)


#: Heads of columns of an audit that are not those of its text.
_HEADS = {"max bias": "Largest bias", "rmse": "RMSE", "tau": "Kendall's tau"}
#: What begins the section on landmarks.
_LANDMARKS = (
    "At each landmark we evaluate the subjects who are at risk then, with predictions given that "
    "they are event-free. Horizons count from the landmark. A gap means that the data do not "
    "support the horizon."
)


def audit_part(data: dict[str, Any]) -> tuple[Section, list[Spec]]:
    """Return the section of a page (words, chart, tables, what the scenarios are) and its chart.

    `data` comes from `Audit.to_dict`.
    """
    charts = [figure("audit-chart", [audit(data).chart], wide=True)]
    scenarios = dict.fromkeys(row["scenario"] for row in data["table"])
    told = (
        "Event and censoring times were drawn for the test subjects in scenarios in which the "
        f"truth is known: {'; '.join(scenarios)}. Means are over those with independent censoring, "
        "in which each kind of scenario has equal weight."
    )
    lead, *tables = _audit_words(data)
    tipping = tag("p", data["tipping_text"]) if data["tipping_text"] else None
    body = join(lead, tipping, figures(charts), *tables, tag("p", told, class_="soft"))
    return Section("audit", "Audit of the metrics", body), charts


def audit_html(data: dict[str, Any], title: str) -> str:
    """Make a page of an audit alone."""
    told = f"{data['subjects']:,} test subjects, {data['events']:,} events"
    return _alone(*audit_part(data), data, title, f"{len(data['models'])} models, {told}")


def audit_fragment(data: dict[str, Any]) -> Markup:
    """Return recommendation and tables without scripts, as notebooks show them."""
    return tag("div", *_audit_words(data))


def _alone(
    section: Section, charts: list[Spec], data: dict[str, Any], title: str, subtitle: str
) -> str:
    """Make a page of one section about models, with its table and everything to download."""
    return page(
        title=title,
        subtitle=subtitle,
        sections=[section],
        data={"file": section.name, "series": data["models"], "record": data, "figures": charts},
        saves=[("table", "Table (CSV)"), ("json", "Everything (JSON)")],
    )


def _audit_words(data: dict[str, Any]) -> list[Markup]:
    """Return the recommendation, and a table of means over scenarios for each horizon."""
    made = [join(tag("p", f"{data['heading']}.", class_="lead"), tag("p", data["reason"]))]
    columns = {
        _HEADS.get(name, name.capitalize()): column
        for name, column in columns_of(len(data["models"])).items()
    }
    for place, one in enumerate(data["risks"]):
        if one["asks"] != data["risks"][0]["asks"]:
            continue
        about = one["asks"], one["horizon"]
        rows = [r for r in data["summary"] if (r["asks"], r["horizon"]) == about]
        rows.sort(key=lambda r: (r["metric"] != one["metric"], r["relative_loss"] is None,
                                 r["relative_loss"]))  # fmt: skip
        what = ASKS.get(one["asks"], one["asks"]).capitalize()
        label = (
            f"{what} {within(one['horizon'], data['unit'])}: means over the scenarios with "
            "independent censoring, all but Kendall's tau as shares of the true error (best pick: "
            "of the draws). The largest bias is that in any kind of scenario, without its sign."
        )
        body = [
            table_row(
                tag("b", r["metric"]) if r["metric"] == one["metric"] else r["metric"],
                *(number_cell(write(plain_float(r[f])), r[f]) for f, write in columns.values()),
            )
            for r in rows
        ]
        header = ["Metric", *columns]
        made.append(table(header, body, label=label, name=f"audit-{place}", words=["Metric"]))
    return made


def landmark_part(data: dict[str, Any]) -> tuple[Section, list[Spec]]:
    """Return the section of a page (words, charts, tables) and a chart for every metric.

    `data` comes from `Landmarks.to_dict`.
    """
    with_value = {row["metric"] for row in data["table"] if row["value"] is not None}
    charts = [
        figure(f"landmarks-{m}", [landmarks(data, m).chart], wide=True)
        for m in data["metrics"]
        if m in with_value
    ]
    tables = [_landmark_table(data, metric) for metric in data["metrics"]]
    warnings = tag("ul", *(tag("li", warning["message"]) for warning in data["warnings"]))
    told = warnings if data["warnings"] else None
    body = join(tag("p", _LANDMARKS), figures(charts), *tables, told)
    return Section("landmarks", "Predictions over landmarks", body), charts


def landmarks_html(data: dict[str, Any], title: str) -> str:
    """Make a page of landmarks alone."""
    told = ", ".join(f"{len(data[what])} {what}" for what in ("models", "landmarks", "horizons"))
    return _alone(*landmark_part(data), data, title, told)


def _landmark_table(data: dict[str, Any], metric: str) -> Markup:
    """Return a table with a row per landmark and model, and a column per horizon."""
    cells: dict[Any, dict[float, dict[str, Any]]] = {}
    for r in data["table"]:
        if r["metric"] == metric:
            cells.setdefault((r["landmark"], r["model"], r["subjects"]), {})[r["horizon"]] = r
    unit = f" {data['unit']}" if data["unit"] else ""
    body = []
    for (landmark, model, count), found in cells.items():
        told = [
            number_cell(shown(r), r["value"], limits(r)) if r else number_cell("-")
            for r in (found.get(horizon) for horizon in data["horizons"])
        ]
        at_risk = number_cell(f"{count:,}", count)
        body.append(table_row(f"{landmark:g}", tag("td", model), at_risk, *told))
    label = f"{REGISTRY[metric].title} with intervals, by landmark and horizon"
    within_each = [f"within {horizon:g}{unit}" for horizon in data["horizons"]]
    header, name = ["Landmark", "Model", "At risk", *within_each], f"landmark-table-{metric}"
    return table(header, body, label=label, name=name, words=["Landmark", "Model"])
