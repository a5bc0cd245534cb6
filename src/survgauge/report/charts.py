"""Which charts the page of an evaluation has; the displays describe them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from .. import displays
from ..data.event_words import cause_label
from ..errors import InputError, UndefinedMetricError
from ..evaluation.verdict import best_rows, cell_of
from ..evaluation.when import clock, column_of
from .evaluation_tables import first_columns, names_of
from .specs import Spec, alone, figure

if TYPE_CHECKING:
    from ..evaluation import Evaluation

#: Charts that can be chosen from.
MOST_CHOICES = 200
#: What each section shows: the id of a figure, and the kind of display that it draws.
_SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "outcomes": (
        ("incidence-chart", "incidence"),
        ("stacked-incidence", "stacked_incidence"),
    ),
    "errors": (
        ("predicted-actual", "predicted_actual"),
        ("error-status", "error_by_status"),
        ("error-time", "error_over_time"),
    ),
    "probabilities": (
        ("brier-chart", "brier"),
        ("auc-chart", "auc"),
        ("mean-curves", "mean_curve"),
    ),
    "calibration": (
        ("d-calibration", "d_calibration"),
        ("one-calibration", "one_calibration"),
        ("calibration-panel", "calibration_panel"),
    ),
    "decisions": (("decision-curve", "decision_curve"), ("risk-groups", "risk_groups")),
    "subjects": (("subject-curves", "subjects"),),
    "support": (("support-chart", "support"), ("surrogates-chart", "surrogates")),
}
#: Charts at one time of interest.
_AT_A_TIME = ("one_calibration", "calibration_panel", "decision_curve", "risk_groups")
#: Subjects that charts are computed from; of more, a random sample is drawn.
MOST_SUBJECTS = 10_000
#: Charts of all subjects, however many: they count, or show a few.
_OF_ALL = ("support", "subjects", "risk_groups", "incidence")
#: Numbers that charts of a sample take from the table of all subjects: field, and metric; what
#: would be different in the sample and is in no table is left out.
_SCORED = {
    "d_calibration": {"p_value": "d_calibration"},
    "one_calibration": {"p_value": "one_calibration"},
    "calibration_panel": {
        "ratio": "observed_expected",
        "slope": "calibration_slope",
        "ici": "ici",
        "expected_ici": "",
    },
}
#: Figures as wide as the page.
_WIDE = ("error-time", "mean-curves", "d-calibration", "one-calibration", "calibration-panel",
         "decision-curve", "risk-groups", "subject-curves", "incidence-chart",
         "stacked-incidence")  # fmt: skip


def from_table(data: dict[str, Any]) -> dict[str, list[Spec]]:
    """Return the charts that need nothing but the table: values and differences."""
    return {
        "metrics": _metrics(data),
        "groups": _groups(data),
        "differences": _differences(data),
    }


def from_evaluation(ev: Evaluation) -> dict[str, list[Spec]]:
    """Return the charts that need the predictions too; what the data do not allow is left out."""
    if not ev.predictions:
        return {}
    some = displays.sample(ev, MOST_SUBJECTS)
    # One kind of event has its Kaplan-Meier in other charts.
    sections = {k: v for k, v in _SECTIONS.items() if k != "outcomes" or ev.problem.cause}
    return {
        section: [spec for name, kind in figures if (spec := _attempt(ev, some, name, kind))]
        for section, figures in sections.items()
    }


def _attempt(ev: Evaluation, some: Any, name: str, kind: str) -> Spec | None:
    try:
        return _figure(ev, some, name, kind)
    except (InputError, UndefinedMetricError):
        return None


def _figure(ev: Evaluation, some: Any, name: str, kind: str) -> Spec:
    """Describe a figure, with a choice where there is a chart for each model or time."""
    sampled = some is not ev and kind not in _OF_ALL
    models = [model for model, p in ev.predictions.items() if p.has("times")]
    times = ev.support["times"]
    options: list[dict[str, Any]] = [{}]
    labels, label = [], ""
    if kind == "predicted_actual" and models:
        options, labels, label = [{"model": model} for model in models], models, "Model"
    elif kind == "decision_curve":
        options, labels, label = *_decisions(ev), "Scale"
    if kind in _AT_A_TIME and len(times) > 1:
        whens = [clock(time, ev.unit) for time in times]
        labels = [", ".join(parts) for parts in product(whens, labels)] if labels else whens
        options = [{"time": time, **chosen} for time, chosen in product(times, options)]
        label = " and ".join(["Time", *([label.lower()] if label else [])])
    charts = []
    for chosen in options:
        shown = displays.display(some if sampled else ev, kind, **chosen)
        charts.append((_as_in_the_table(shown, ev, kind) if sampled else shown).describe())
    spec = figure(name, charts, labels, label, wide=name in _WIDE)
    if sampled:
        told = (
            f"Drawn from a random sample of {MOST_SUBJECTS:,} of the {len(ev.problem.y):,} test "
            "subjects; the tables are those of all."
        )
        for chart in spec["specs"]:
            chart["note"] = f"{chart['note']} {told}".lstrip()
    return spec


def _decisions(ev: Evaluation) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the choices of a decision curve: its scales, and differences between models."""
    options: list[dict[str, Any]] = [{"scale": scale} for scale in displays.SCALES]
    labels = [name.replace("\n", " ") for name in displays.SCALES.values()]
    models = [model for model, p in ev.predictions.items() if p.has("curves")]
    if len(models) > 1:
        options.append({"reference": models[0]})
        labels.append(f"Differences from {models[0]}")
    return options, labels


def _as_in_the_table(shown: displays.Display, ev: Evaluation, kind: str) -> displays.Display:
    """Give the display of a sample the numbers of all subjects, NaN where the table has none."""
    if kind not in _SCORED:
        return shown
    at = None, getattr(shown, "time", None)
    known = {(s.metric.name, s.model): (s.value, s.low, s.high) for s in ev.scores
             if s.group is None and s.time in at}  # fmt: skip
    fields: dict[str, Any] = {}
    for field, metric in _SCORED[kind].items():
        fields[field] = {}
        for model, value in getattr(shown, field).items():
            found = known.get((metric, model), (float("nan"),) * 3)
            fields[field][model] = found if isinstance(value, tuple) else found[0]
    return replace(shown, **fields)


def _metrics(data: dict[str, Any]) -> list[Spec]:
    """Values of the models among all subjects, a choice for each metric (and time)."""
    shown = displays.MetricsDisplay.from_record(data)
    if not shown.values:
        return []
    found = dict(zip(shown.columns, alone(shown.describe()), strict=True))
    charts = {name: found[column] for column, name in names_of(data).items() if column in found}
    return [figure("metrics-chart", charts.values(), charts, "Metric", wide=True)]


def _groups(data: dict[str, Any]) -> list[Spec]:
    """Values of the models in the groups, a choice for each metric (and time)."""
    known = {column_of(row) for row in data["metrics"] if row.get("group") is not None}
    charts = {
        name: displays.GroupsDisplay.from_record(data, column).describe()
        for column, name in names_of(data).items()
        if column in known
    }
    return [figure("groups-chart", charts.values(), charts, "Metric", wide=True)] if charts else []


def _differences(data: dict[str, Any]) -> list[Spec]:
    """Paired differences, a choice for each metric (and time), or of the main ones by group."""
    called = names_of(data)
    pairs: dict[Any, list[dict[str, Any]]] = {}
    for row in data["comparisons"]:
        pairs.setdefault(cell_of(row), []).append(row)
    known = set(pairs) & set(best_rows(data["metrics"]))
    groups = list(dict.fromkeys(row.get("group") for row in data["comparisons"]))
    whole = [(g, *column) for column in called for g in groups if (g, *column) in known]
    main = {column[0] for column in first_columns(data)}
    few = [cell for cell in whole if cell[0] is None or cell[1] in main][:MOST_CHOICES]
    if not few:
        return []
    charts = [
        displays.DifferencesDisplay.from_record(
            {**data, "comparisons": pairs[group, metric, time]}, metric, group, time
        ).describe()
        for group, metric, time in few
    ]
    names = [called[m, t] if g is None else f"{called[m, t]}, {g}" for g, m, t in few]
    spec = figure("differences-chart", charts, names, "Metric", wide=True)
    for chart, (group, _, _) in zip(spec["specs"], few, strict=True):
        chart |= {} if group is None else {"about": _size(data, group)}
    if len(few) < len(whole):
        spec["caption"] += (
            f" The list offers {len(few)} of {len(whole)} metrics and groups, those of the "
            "metrics at a glance first; Everything (JSON) has all."
        )
    return [spec]


def _size(data: dict[str, Any], group: Any) -> str:
    size = data["support"]["groups"][str(group)]
    events = size.get("events_of_cause", size["events"])
    of = data["support"].get("cause")
    what = "events" if of is None else f"events of {cause_label(of)}"
    return f"{size['subjects']:,} test subjects of {group}, {events:,} {what}"
