"""The page of an evaluation: plain data in, HTML out."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number
from ..evaluation.explanations import weight_of
from ..evaluation.verdict import headline
from ..evaluation.when import clock, rounded
from ..metrics.registry import REGISTRY
from .audit_section import audit_section
from .evaluation_tables import all_numbers, conventions, glance
from .markup import Markup, join, tag
from .remarks import remarks
from .shell import figure, page
from .words import summary

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
        ("trust", "What to trust", remarks(data)),
        ("audit", "Audit of the metrics", _audit(data, figures)),
        ("models", "Models at a glance",
         join(glance(data), charts.get("metrics"), _missing_charts(charts))),
        ("differences", "Differences between models",
         join(_differences_text(data), charts.get("differences"))),
        ("errors", "Errors in time", _whole(data, charts.get("errors"))),
        ("probabilities", "Probabilities over time", _whole(data, charts.get("probabilities"))),
        ("calibration", "Calibration", _whole(data, charts.get("calibration"))),
        ("subjects", "Single subjects", charts.get("subjects")),
        ("support", "Support", join(_support(data), charts.get("support"))),
        ("numbers", "All numbers", join(all_numbers(data), conventions(data))),
    ]  # fmt: skip
    if not data["metrics"]:
        sections = sections[:2]
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
            "series": data["models"],
            "record": data,
            "figures": [spec for found in figures.values() for spec in found],
            "hidden": _hidden(data),
        },
        saves=[("metrics", "Table (CSV)"), ("json", "Everything (JSON)")],
    )


def _audit(data: dict[str, Any], figures: dict[str, list[dict[str, Any]]]) -> Markup | None:
    """Show the audit of the metrics, where there was one."""
    return audit_section(data["audit"], figures["audit"]) if "audit" in data else None


def _whole(data: dict[str, Any], part: Markup | None) -> Markup | None:
    """Say that charts show everybody, where the tables are by group."""
    if part is None or "groups" not in data["support"]:
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


def _figures(specs: list[dict[str, Any]]) -> Markup:
    return tag("div", *(figure(spec, wide=spec.get("wide", False)) for spec in specs),
               class_="figures")  # fmt: skip


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
        tag("span", id="series-count", class_="small soft", aria_live="polite"),
        class_="picker",
        role="group",
        aria_label="Models shown",
    )


def _summary(data: dict[str, Any], tau: float | None) -> Markup:
    sentences = summary(data)
    support, unit = data["support"], data.get("unit") or ""
    censored = support["subjects"] - support["events"]
    share = censored / support["subjects"] if support["subjects"] else 0.0
    serious = {(w["code"], w["message"]) for w in data["warnings"]
               if weight_of(w["code"]) != "note"}  # fmt: skip
    cards = [
        ("Models", str(len(data["models"])), None),
        ("Test subjects", f"{support['subjects']:,}", f"{share * 100:.0f} % censored"),
    ]
    if tau is not None:
        cards.append(("Horizon tau", clock(tau, unit), "of all metrics that stop at one"))
    cards += [
        ("Supported until", rounded(support["horizon"], unit),
         "last time of metrics that weight by 1/G"),
        ("Time of interest", _times(support, unit),
         "of metrics at a time (default: tau, or the median event time)"),
        ("Problems and cautions", str(len(serious)), "see what to trust"),
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


def _times(support: dict[str, Any], unit: str) -> str:
    """Write the times of interest; data of an earlier version have one, and there may be none."""
    times = support.get("times") or [support["time"]]
    told = " / ".join(rounded(time) for time in times if time is not None)
    return f"{told} {unit}".rstrip() if told else "none"


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
    support, unit = data["support"], data.get("unit") or ""
    tails = support.get("tail_share") or {}
    facts = [
        ("Subjects past the horizon", f"{support['subjects_past_horizon']:,}",
         f"{support['events_past_horizon']:,} of them with an event"),
        ("Largest weight", number(_float(support["largest_weight"])),
         "number of subjects that one subject stands for"),
    ]  # fmt: skip
    if tails:
        low, high = (f"{100 * share:.0f}" for share in (min(tails.values()), max(tails.values())))
        value, note = f"{low} %", "of the median times"
        if low != high:
            worst = max(tails, key=lambda name: tails[name])
            value, note = f"{low} to {high} %", f"of the median times; most for {worst}"
        facts.append(("Medians extrapolated beyond the curve", value, note))
    text = (
        f"After {rounded(support['horizon'], unit)} the data say too little for metrics that "
        "weight by 1/G."
    )
    cards = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", note)))
        for name, value, note in facts
    ]
    return join(tag("p", text, class_="soft"), tag("dl", *cards, class_="cards"))


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
