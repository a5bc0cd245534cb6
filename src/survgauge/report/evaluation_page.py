"""The page of an evaluation: plain data in, HTML out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tools.text_tables import number
from ..data.event_words import EventWords, cause_label, counted_events
from ..evaluation.joined import counted, warnings_of
from ..evaluation.phrases import in_brackets
from ..evaluation.verdict import headline
from ..evaluation.when import why_then
from ..metrics.registry import REGISTRY
from .audit_section import audit_section
from .evaluation_tables import (
    all_numbers,
    conventions,
    first_columns,
    glance,
    group_table,
    is_grouped,
)
from .group_words import group_words
from .landmark_section import landmark_section
from .markup import Markup, cards, join, tag
from .outcomes_section import what_happened
from .paper import print_edition
from .remarks import warning_list
from .reporting import provenance, reference_text, reporting, time_text, times_of_interest
from .shell import Section, page
from .shell import figures as drawn
from .words import summary

_MOST_MODELS = 12
#: Tests of differences between groups that are told one by one.
_MOST_SENTENCES = 3
#: Warnings that are shown before the others are asked for.
_TOLD = 5

Figures = dict[str, list[dict[str, Any]]]
#: Sentences of the verdict, on how groups differ, and on what else is known of the best model.
Sentences = tuple[list[str], list[str], list[str]]


def evaluation_page(
    data: dict[str, Any],
    figures: Figures,
    *,
    title: str,
    tau: float | None,
    sections: Sequence[Section] = (),
) -> str:
    """Make the page.

    `data` comes from `Evaluation.to_dict`, `figures` from `survgauge.report.charts` (a section
    without charts is left out), and further `sections` stand before what to report in a paper.
    """
    support = data["support"]
    about = f"{support['subjects']:,} test subjects, {counted_events(support, ',')}"
    return page(
        title=title,
        subtitle=join(tag("span", f"{about}; reference: {reference_text(data)}"), _made(data)),
        sections=_with(sections, _sections(data, figures, tau)),
        picker=_picker(data),
        data={
            "file": "evaluation",
            "about": about,
            "series": data["models"],
            "record": data,
            "figures": [spec for found in figures.values() for spec in found],
            "hidden": _hidden(data),
        },
        saves=[("metrics", "Table (CSV)"), ("json", "Everything (JSON)")],
        paper=print_edition(data, figures),
    )


def _made(data: dict[str, Any]) -> Markup | None:
    made = data.get("provenance")
    if not made:
        return None
    date = tag("time", made["date"][:10])  # the style keeps it on one line
    return tag("span", ". ", date, f", survgauge {made['version']}")


def _sections(data: dict[str, Any], figures: Figures, tau: float | None) -> list[Section]:
    """First what everybody asks for, then folded what answers further questions."""
    charts = {name: drawn(found) for name, found in figures.items() if found}
    several, sentences = len(data["models"]) > 1, summary(data)
    words = EventWords.of(data["support"])
    first: list[tuple[str, str, Markup | None]] = [
        ("summary", "Verdict", _summary(data, sentences, tau)),
        ("models", "Models at a glance", join(glance(data), _missing_charts(charts))),
        ("outcomes", "What happened", what_happened(data, charts.get("outcomes"))),
        ("trust", "What to trust", _trust(data)),
    ]
    if "audit" in data:
        body = audit_section(data["audit"], figures["audit"])
        first.append(("audit", "Audit of the metrics", body))
    if "landmarks" in data:
        body = landmark_section(data["landmarks"], figures["landmarks"])
        first.append(("landmarks", "Predictions over landmarks", body))
    if is_grouped(data):
        first.insert(2, ("groups", "Groups", _groups(data, sentences[1], charts["groups"])))
    more: list[tuple[str, str, Markup | None, str]] = [
        ("differences", "Differences between models",
         join(_differences_text(data), charts.get("differences")) if several else None,
         "Is one model clearly better than another, and by how much?"),
        ("values", "Metrics with intervals", charts.get("metrics"),
         f"How sure is each number, and how does it stand to {words.estimate}?"),
        ("calibration", "Calibration", _whole(data, charts.get("calibration")),
         "Do the predicted probabilities come true?"),
        ("decisions", "Decisions and risk groups", _whole(data, charts.get("decisions")),
         "Is it worth deciding by the models, and how do the groups that they make fare?"),
        ("errors", "Errors in time", _whole(data, charts.get("errors")),
         "How far off are the predicted times, for whom and when?"),
        ("probabilities", "Probabilities and ranking over time",
         _whole(data, charts.get("probabilities")),
         "How good are probabilities and ranking at early and at late times?"),
        ("subjects", "Single subjects", charts.get("subjects"),
         "What did the models say about a subject, and what happened?"),
        ("support", "Support", join(_support(data), charts.get("support")),
         "How long were subjects followed, and up to when can the numbers be trusted?"),
        ("numbers", "All numbers", join(all_numbers(data), conventions(data)),
         "Every metric of every model, and how it was computed."),
        ("reporting", "What to report in a paper", reporting(data),
         "What readers and referees need to know."),
        ("provenance", "Where this comes from", provenance(data),
         "Date, version, call, and checksums of the files."),
    ]  # fmt: skip
    if not data["metrics"]:
        first, more = [part for part in first if part[0] in ("summary", "trust")], more[-1:]
    return [
        *(Section(name, head, body) for name, head, body in first if body is not None),
        *(Section(name, head, body, asks) for name, head, body, asks in more if body is not None),
    ]


def _with(further: Sequence[Section], sections: list[Section]) -> list[Section]:
    """Put further sections before what to report in a paper."""
    names = [section.name for section in sections]
    place = names.index("reporting") if "reporting" in names else len(sections)
    return [*sections[:place], *further, *sections[place:]]


def _whole(data: dict[str, Any], part: Markup | None) -> Markup | None:
    """Say that charts show everybody, where the tables are by group."""
    if part is None or not is_grouped(data):
        return part
    return join(tag("p", "All subjects together, whatever their group.", class_="soft"), part)


def _missing_charts(charts: dict[str, Markup]) -> Markup | None:
    """Say why charts are missing, where only numbers are at hand."""
    if any(name in charts for name in ("errors", "probabilities", "calibration", "subjects")):
        return None
    told = (
        "Charts of errors, probabilities, calibration and single subjects need the predictions "
        "themselves; this page comes from a stream or from saved numbers, which keep none."
    )
    return tag("p", told, class_="soft small")


def _hidden(data: dict[str, Any]) -> list[str]:
    """Models that do not show at first, where there are many: all but the best."""
    metric, models = headline(data), data["models"]
    if len(models) <= _MOST_MODELS:
        return []
    values = {
        row["model"]: REGISTRY[metric].badness(row["value"])
        for row in data["metrics"]
        if row["metric"] == metric and isinstance(row["value"], float)
    }
    order = sorted(models, key=lambda name: values.get(name, float("inf")))
    return order[_MOST_MODELS:]


def _picker(data: dict[str, Any]) -> Markup | None:
    if len(data["models"]) < 2:
        return None
    chips = [
        tag("button", tag("span", name), type="button", class_="chip", aria_pressed="true",
            data_series=k, data_color=k, title=name)
        for k, name in enumerate(data["models"])
    ]  # fmt: skip
    return tag(
        "div",
        tag("span", "Models", class_="name"),
        *chips,
        tag("button", "All", type="button", id="all-series"),
        tag("span", class_="series-count small soft", aria_live="polite"),
        class_="picker",
        role="group",
        aria_label="Models shown",
    )


def _summary(data: dict[str, Any], sentences: Sentences, tau: float | None) -> Markup:
    """The verdict; what else is known in words is folded away."""
    (first, *others), _, rest = sentences
    head = "Ranking, probabilities and calibration in words, and what the error is"
    folded = tag("details", tag("summary", head), *(tag("p", text) for text in rest))
    return join(
        tag("p", first, class_="lead"),
        *(tag("p", text) for text in others),
        folded if rest else None,
        _facts(data, tau),
    )


def _groups(data: dict[str, Any], between: list[str], forest: Markup) -> Markup:
    """The groups in a few sentences, as a forest plot, and on demand as a table."""
    if len(between) > _MOST_SENTENCES:
        more = f"{len(between) - _MOST_SENTENCES} more tests are in Everything (JSON)."
        between = [*between[:_MOST_SENTENCES], more]
    words = [tag("p", text) for text in (*between, *group_words(data))]
    return join(*words, forest, group_table(data))


def _facts(data: dict[str, Any], tau: float | None) -> Markup:
    support = data["support"]
    censored = support["subjects"] - support["events"]
    share = censored / support["subjects"] if support["subjects"] else 0.0
    words = EventWords.of(support)
    facts: list[tuple[str, object, str | None]] = []
    if words.cause is not None:
        facts.append(("Event", cause_label(words.cause), None))
        facts += [("Competing", ", ".join(words.others), None)] if words.others else []
    facts.append(("Censored", f"{share * 100:.0f} %", None))
    follow_up = support.get("median_follow_up")
    if follow_up is not None:
        facts.append(("Median follow-up", time_text(data, follow_up), None))
    if tau is not None:
        facts.append(("Horizon tau", time_text(data, tau), None))
    facts += [
        ("Supported until", time_text(data, support["horizon"]), None),
        ("Time of interest", times_of_interest(data) + in_brackets(why_then(support)), None),
        ("What to trust", tag("a", counted(warnings_of(data)), href="#trust"), None),
    ]
    return cards(facts, "facts")


def _trust(data: dict[str, Any]) -> Markup:
    """What speaks against the numbers of the first screen; all other warnings are folded away."""
    shown = [metric for metric, _ in first_columns(data)]
    warnings = warnings_of(data)
    first = [
        w for w in warnings if w.weight == "problem" or (w.weight != "note" and w.about(shown))
    ]
    first = first[:_TOLD]
    rest = [warning for warning in warnings if warning not in first]
    tipping = data.get("tipping")
    sensitivity = tag("p", tipping["sentence"]) if tipping else None
    if not rest:
        return join(warning_list(first, data), sensitivity)
    good = tag("p", "Nothing speaks against the numbers in the table above.")
    head = f"Notes, and warnings about other metrics ({len(rest)} of {len(warnings)})"
    return join(
        warning_list(first, data) if first else good,
        sensitivity,
        tag("details", tag("summary", head), warning_list(rest, data)),
    )


def _differences_text(data: dict[str, Any]) -> Markup:
    text = (
        "All models are compared on the same subjects. A filled mark is a clear difference, a "
        "hollow mark is none. Intervals and p-values are adjusted alike for the number of pairs "
        "of models (Bonferroni)."
    )
    if data["confidence"] is None:
        text = "No intervals were asked for, so differences are not tested."
    return tag("p", text, class_="soft")


def _support(data: dict[str, Any]) -> Markup:
    support = data["support"]
    any_cause = "" if EventWords.of(support).cause is None else " of any cause"
    tails = support.get("tail_share") or {}
    facts: list[tuple[str, object, str | None]] = [
        ("Subjects observed longer", f"{support['subjects_past_horizon']:,}",
         f"{support['events_past_horizon']:,} of them with an event{any_cause}"),
    ]  # fmt: skip
    largest = support["largest_weight"]
    weighted = isinstance(largest, int | float) and largest == largest
    if weighted:
        stands = "number of subjects that one subject stands for"
        facts.append(("Largest weight", number(largest), stands))
    if tails:
        low, high = (f"{100 * share:.0f}" for share in (min(tails.values()), max(tails.values())))
        value, note = f"{low} %", "of the median times"
        if low != high:
            worst = max(tails, key=lambda name: tails[name])
            value, note = f"{low} to {high} %", f"of the median times; most for {worst}"
        facts.append(("Medians extrapolated beyond the curve", value, note))
    text = (
        f"After {time_text(data, support['horizon'])} the data say too little for metrics that "
        f"{'weight by 1/G' if weighted else 'have a horizon'}."
    )
    return join(tag("p", text, class_="soft"), cards(facts, "cards"))
