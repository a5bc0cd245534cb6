"""An evaluation as text: verdict, values with intervals, differences, support, warnings.

One layout for `print(ev)`, the whole text, and the screen of a shell, which has styles.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._tools.text import columns, number, p_text, percent, relation
from ..data.causes import EventWords, counted_events
from ..metrics.registry import REGISTRY, Metric
from .phrases import (
    DIGITS,
    clock,
    column_of,
    in_brackets,
    listed,
    names,
    range_text,
    rounded,
    title_of,
    titled,
    when,
    why_then,
    withheld_notes,
)
from .sentences import verdict_sentences
from .verdict import (
    Cell,
    best_models,
    best_rows,
    cell_of,
    constant_note,
    first_metrics,
    headline,
)
from .warnings import WEIGHTS, JoinedWarning, counted

if TYPE_CHECKING:
    from .result import Evaluation

#: A line of text and its style; nothing: as it is.
Line = tuple[str, str]

#: Columns of a first screen, and of a paragraph in it.
WIDEST, _WIDTH = 100, 96
#: Groups and warnings on a first screen.
_MOST_GROUPS, _MOST_WARNINGS = 12, 3
#: With more models than the first number, a first screen has no more metrics than the second.
_MANY_MODELS, _FEW_METRICS = 6, 3
_STYLES = {"problem": "red", "caution": "yellow", "note": "dim"}
#: Spaces at which "95 % CI" and "p = 0.5" are not broken.
_KEPT = re.compile(r"(?<=\d) (?=%)|(?<=%) (?=CI)|(?<=\bp) (?=[=<])|(?<=[=<]) ")
#: Options of the command by what they are called in Python.
_OPTIONS = {
    "tau": "--tau", "time": "--time", "metrics": "--metrics", "by": "--by", "y_train": "--train",
    "sample_weight": "--sample-weight", "cluster": "--cluster", "X_test": "--features",
    "censoring": "--censoring", "landmark": "--landmark", "threshold": "--threshold",
    "sg.Convention(censoring=...)": "--censoring",
    "min_g": "min_g (in Python)", "min_at_risk": "min_at_risk (in Python)",
}  # fmt: skip


def first_screen(
    result: Evaluation, width: int = WIDEST, shell: bool = False, report: bool = False
) -> list[Line]:
    """Return the verdict, a few metrics and the first warnings, and where the rest is.

    A `report` that a shell has written is not offered again.
    """
    data = result.to_dict()
    overall = [row for row in data["metrics"] if row.get("group") is None]
    grouped = len(overall) < len(data["metrics"])
    shown, total = first_metrics(data), len({row["metric"] for row in overall})
    few = shown[:_FEW_METRICS] if len(result.models) > _MANY_MODELS else shown
    if len(shown) < total and not data["support"].get("times_given", False):
        few = _fitting({**data, "metrics": overall}, few, width)
    told = first_warnings(result, few)
    return _parts(
        verdict_lines(data, width, shell),
        _few_values({**data, "metrics": overall}, few, width, shell) if few else [],
        _groups(data, headline(data), width, shell) if grouped else [],
        warning_lines(result, told, width, shell),
        _rest(result, len(told), len(few), width, shell, report),
    )


def whole_text(result: Evaluation, width: int | None = None, shell: bool = False) -> list[Line]:
    """Return verdict, values, comparisons, support and warnings, no wider than `width`.

    In a shell the verdict comes last, where a reader ends up.
    """
    data = result.to_dict()
    named, verdict = _metrics(data), verdict_lines(data, width or _WIDTH, shell)
    parts = [_with_notes(data, named, metric_rows(data, named, width=width), width or WIDEST)]
    if len(result.models) > 1 and result.confidence is not None:
        parts.append(_comparisons(result, width))
    parts += [_support(result, width), warning_lines(result, result.warnings, width, shell)]
    return _parts(*parts, [("Verdict", "bold"), *verdict]) if shell else _parts(verdict, *parts)


def plain_text(lines: Iterable[Line]) -> str:
    """Return lines without their styles."""
    return "\n".join(text.rstrip() for text, _ in lines)


def _parts(*parts: list[Line]) -> list[Line]:
    """Join parts that are not empty, with a line between them."""
    known = [part for part in parts if part]
    return [line for part in known for line in [("", ""), *part]][1:]


def _lines(text: str, style: str = "") -> list[Line]:
    return [(line, style) for line in text.split("\n")]


def _wrapped(text: str, width: int | None, style: str = "", indent: str = "") -> list[Line]:
    """Break a paragraph; its lines but the first are set in by `indent`."""
    if width is None:
        return [(text, style)]
    lines = textwrap.wrap(_KEPT.sub("\xa0", text), width, subsequent_indent=indent)
    return [(line.replace("\xa0", " "), style) for line in lines]


# -- verdict, warnings, support ----------------------------------------------------------------


def verdict_lines(data: dict[str, Any], width: int = _WIDTH, shell: bool = False) -> list[Line]:
    """Say who is best; the first sentence stands out."""
    sentences = verdict_sentences(data)
    if shell:
        sentences = [text.replace("X_test= and X_train=", "--features") for text in sentences]
    told = [
        _wrapped(sentence, min(width, _WIDTH), "" if k else "bold")
        for k, sentence in enumerate(sentences)
    ]
    return [line for lines in told for line in lines]


def first_warnings(result: Evaluation, shown: list[str]) -> list[JoinedWarning]:
    """Return those about the metrics that are shown, but no notes."""
    first = [w for w in result.warnings if w.about(shown) and w.weight != WEIGHTS[-1]]
    return first[:_MOST_WARNINGS]


def warning_lines(
    result: Evaluation, told: list[JoinedWarning], width: int | None, shell: bool = False
) -> list[Line]:
    """List warnings with what to do, and say how many there are."""
    if not told:
        return []
    total = len(result.warnings)
    count = str(total) if len(told) == total else f"{len(told)} of {total}"
    found = [(f"Warnings ({count})", "bold")]
    for warning in told:
        advice = warning.advice(result.support, _OPTIONS if shell else {})
        text = f"  {warning}. What to do: {advice}."
        found += _wrapped(text, width, _STYLES[warning.weight], "    ")
    return found


def _rest(
    result: Evaluation, told: int, metrics: int, width: int, shell: bool, report: bool
) -> list[Line]:
    """Say whom it is about, and where the rest is; `told` warnings and `metrics` are there."""
    s, why = result.support, why_then(result.support)
    found = sample_text(s, result.unit)
    found += f", {s['clusters']} clusters" if "clusters" in s else ""
    if why and any(score.time is not None for score in result.scores):
        found += f"\nTime of interest: {rounded(s['time'], result.unit)} ({why})"
    lines = [line for text in found.split("\n") for line in _wrapped(text, width, "dim")]
    total = len({score.metric.name for score in result.scores})
    parts = [f"All {total} metrics{'' if shell else ': .table'}"] if metrics < total else []
    if len(result.warnings) > told or not told:
        where = "" if shell or not result.warnings else ": .warnings"
        others = not told and any(w.weight != WEIGHTS[-1] for w in result.warnings)
        whose = ", none about the metrics above" if others and metrics < total else ""
        parts.append(f"{counted(result.warnings)}{whose}{where}")
    last = "everything: --all" if shell else "everything: .to_text()"
    last += "; report: --html FILE" if shell and not report else ""
    return lines + _wrapped("; ".join([*parts, last]), width, "dim")


def sample_text(support: dict[str, Any], unit: str = "") -> str:
    """Say how many subjects and events there are, and how long subjects were followed.

    >>> sample_text({"subjects": 9, "events": 4, "median_follow_up": 371.25}, "days")
    '9 subjects, 4 events, median follow-up 371.25 days'
    """
    found = f"{support['subjects']:,} subjects, {counted_events(support, ',')}"
    middle = support.get("median_follow_up")
    if middle is None or math.isnan(middle):
        return found
    return f"{found}, median follow-up {rounded(middle, unit)}"


def _support(result: Evaluation, width: int | None) -> list[Line]:
    s = result.support
    any_cause = "" if EventWords.of(s).cause is None else " of any cause"
    tails = ", ".join(f"{model} {percent(share)}" for model, share in s["tail_share"].items())
    lines = [
        f"{sample_text(s, result.unit)}; reference: {s['reference']}",
        f"supported until: {number(s['horizon'])} "
        f"({s['subjects_past_horizon']} subjects, {s['events_past_horizon']} events{any_cause} "
        "after it); "
        f"time of interest: {', '.join(clock(time) for time in s['times'])}"
        f"{in_brackets(why_then(s))}",
    ]
    if s["tau"] is not None:
        lines.append(f"tau: {clock(s['tau'])}")
    if tails:
        lines.append(f"medians extrapolated beyond the curve: {tails}")
    if "clusters" in s:
        lines.append(
            f"{s['clusters']} clusters: intervals have t quantiles with {s['clusters'] - 1} "
            "degrees of freedom"
        )
    if "effective_subjects" in s:
        lines.append(
            f"sampling weights: worth {number(s['effective_subjects'])} subjects of equal weight"
        )
    if not math.isnan(s["largest_weight"]):
        lines.append(f"largest weight of a subject: {number(s['largest_weight'])}")
    told = [_wrapped(f"  {line}", width, "", "    ") for line in lines]
    return [("Support", "bold"), *(line for part in told for line in part)]


# -- tables ------------------------------------------------------------------------------------


def _metrics(data: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["metric"] for row in data["metrics"]))


def _with_notes(data: dict[str, Any], metrics: list[str], table: str, width: int) -> list[Line]:
    """Put a table below what it has, and above which of its values have no interval, and why."""
    level = data["confidence"]
    with_limits = "" if level is None else f" with {level * 100:g} % intervals"
    unit = data["unit"] or "the unit of the data"
    best = "; * best value" if len(data["models"]) > 1 else ""
    of_cause = EventWords.of(data["support"]).of_cause
    heading = f"Metrics{of_cause}{with_limits} (times in {unit}{best})"
    told = [row for row in data["metrics"] if row["metric"] in metrics]
    notes = [*withheld_notes(told), *constant_note(told)]
    below = [_wrapped(note, width) for note in notes]
    return [*_wrapped(heading, width), *_lines(table), *(line for part in below for line in part)]


def _fitting(data: dict[str, Any], metrics: list[str], width: int) -> list[str]:
    """Return as many metrics as one table with a row per model has room for, at least a few."""
    if width_of(metric_rows(data, metrics, digits=DIGITS, identifiers=False, titles=False)) > width:
        while len(metrics) > _FEW_METRICS and "\n\n" in model_rows(data, metrics, width, False):
            metrics = metrics[:-1]
    return metrics


def _few_values(data: dict[str, Any], metrics: list[str], width: int, shell: bool) -> list[Line]:
    """Return a metric per row where that is not too wide, by its title or its name.

    Else there is a model per row. Below names stands what they are.
    """
    table = metric_rows(data, metrics, digits=DIGITS, identifiers=False)
    if width_of(table) > width:
        table = metric_rows(data, metrics, digits=DIGITS, identifiers=False, titles=False)
        if width_of(table) > width:
            table = model_rows(data, metrics, width, shell)
        table += f"\n{textwrap.fill(_what_is_better(metrics, shell), width)}"
    return _with_notes(data, metrics, table, width)


def _what_is_better(metrics: list[str], shell: bool) -> str:
    """Say in a line which values are good, and where the names are explained.

    >>> _what_is_better(["mae_within", "uno"], True)
    "Lower is better; uno: higher is better. 'survgauge metrics' explains the names."
    """
    groups: dict[str, list[str]] = {}
    for name in metrics:
        groups.setdefault(REGISTRY[name].better, []).append(name)
    usual = max(groups, key=lambda better: len(groups[better]))
    told = [usual[:1].upper() + usual[1:]]
    told += [f"{listed(names)}: {better}" for better, names in groups.items() if better != usual]
    where = "'survgauge metrics' explains" if shell else "sg.available_metrics() explains"
    return f"{'; '.join(told)}. {where} the names."


def _groups(data: dict[str, Any], metric: str, width: int, shell: bool) -> list[Line]:
    """Return one metric of the largest groups: a row per group, a column per model."""
    cells = {key: found for key, found in by_cell(data, [metric]).items() if key[0] is not None}
    first = next(iter(next(iter(cells.values())).values()))
    groups = {key[0]: found for key, found in cells.items() if key[2] == first.get("time")}
    sizes, models = data["support"]["groups"], data["models"]
    best_of_all = best_models(data["metrics"])
    largest = sorted(groups, key=lambda group: -sizes[str(group)]["subjects"])[:_MOST_GROUPS]
    for limits in (DIGITS, None):
        table = columns(
            ["group", "subjects", "events", *models],
            [
                [str(group), *(str(sizes[str(group)][what]) for what in ("subjects", "events")),
                 *marked(found, models, best_of_all, DIGITS, limits)]
                for group, found in groups.items() if group in largest
            ],
            width=None if limits else width,
        )  # fmt: skip
        if width_of(table) <= width:
            break
    wins = Counter(
        model
        for found in groups.values()
        for model, row in found.items()
        if (cell_of(row), model) in best_of_all
    )
    told = f"{titled(first, data['unit'])} in {len(groups)} groups"
    best = ", ".join(f"{model} in {count}" for model, count in wins.most_common(3))
    told += f"; best: {best}" if best else ""
    more = len(groups) - len(largest)
    last = f"{more} smaller groups: {'--all' if shell else '.table'}"
    return [*_wrapped(told, width), *_lines(table), *_lines(last, "dim") * (more > 0)]


def _comparisons(result: Evaluation, width: int | None) -> list[Line]:
    """Best model of each metric against the others; all pairs would not fit a screen."""
    best = {key: row["model"] for key, row in best_rows(result.to_dict()["metrics"]).items()}
    named = names(result.rows())
    rows, grouped = [], "groups" in result.support
    for row in result.comparisons():
        first, pair = best.get(cell_of(row)), (row["model_a"], row["model_b"])
        if first not in pair or not math.isfinite(row["difference"]):
            continue
        if row["withheld"]:  # which is said below the values
            continue
        sign = 1.0 if first == pair[0] else -1.0  # the best comes first
        low, high = sorted((sign * row["low_simultaneous"], sign * row["high_simultaneous"]))
        rows.append(
            [
                *[group_label(row.get("group"))] * grouped,
                named[column_of(row)],
                " - ".join(pair if first == pair[0] else pair[::-1]),
                number(sign * row["difference"]),
                f"[{number(low)}, {number(high)}]",
                p_text(row["p_simultaneous"]),
            ]
        )
    if not rows:
        return []
    header = ["group"] * grouped + ["metric", "models", "difference", "interval", "p"]
    title = "Differences of the best model from the others, on the same subjects"
    found = _wrapped(title, width, "bold")
    if len(result.models) > 2:
        note = "(interval and p-value adjusted for all pairs of models; ev.compare() has all pairs)"
        found += _wrapped(note, width, "", "    ")
    return found + _lines(columns(header, rows, 3 if grouped else 2, width))


#: Models in rows; the others are counted.
_MOST_MODELS = 20
#: Digits of values and of limits: as many as leave room for the intervals of all metrics.
_DIGITS = ((3, 3), (3, 2), (2, 2))
#: Most characters of a model's name at the beginning of a row.
_NAME = 36


def value_text(row: dict[str, Any], digits: int = 4, limits: int | None = None) -> str:
    """Return a value, with its interval to `limits` digits if that is wanted and known.

    >>> value_text({"metric": "mae_po", "value": 446.3, "low": 366.9, "high": 542.0}, 3, 3)
    '446 [367, 542]'
    """
    value = row["value"]
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    if REGISTRY[row["metric"]].inference == "test":
        return f"p {relation(value)}"
    shown, ends = number(value, digits), [row["low"], row["high"]]
    if limits is None or not all(isinstance(end, float) and end == end for end in ends):
        return f"{shown} {range_text(row, digits)}".rstrip()
    return f"{shown} [{', '.join(number(end, limits) for end in ends)}]"


def wide_rows(rows: Iterable[dict[str, Any]], digits: int) -> list[dict[str, Any]]:
    """Return a row per model (and group) with the text of each metric, from rows of the table."""
    rows = list(rows)
    named = names(rows)
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        labels: dict[str, Any] = {key: row[key] for key in ("group", "model") if key in row}
        line = found.setdefault(tuple(labels.values()), labels)
        line[named[column_of(row)]] = value_text(row, digits, digits)
    return list(found.values())


def by_cell(data: dict[str, Any], metrics: list[str]) -> dict[Cell, dict[str, dict[str, Any]]]:
    """Rows of the metrics, in their order, by cell and model."""
    found: dict[Cell, dict[str, dict[str, Any]]] = {}
    for metric in metrics:
        for row in data["metrics"]:
            if row["metric"] == metric:
                found.setdefault(cell_of(row), {})[row["model"]] = row
    return found


def marked(
    rows: dict[str, dict[str, Any]],
    models: list[str],
    best_of_all: set[tuple[Cell, str]],
    digits: int,
    limits: int | None,
) -> list[str]:
    """Return the values of a cell, model by model; a star marks the best."""
    best = {model for model, row in rows.items() if (cell_of(row), model) in best_of_all}
    pad = " " if best else ""
    return [
        value_text(rows[model], digits, limits) + ("*" if model in best else pad)
        if model in rows
        else f"n/a{pad}"
        for model in models
    ]


def width_of(table: str) -> int:
    """Return how many columns a table takes."""
    return max(map(len, table.split("\n")))


def metric_rows(
    data: dict[str, Any],
    metrics: list[str],
    *,
    digits: int = 4,
    identifiers: bool = True,
    titles: bool = True,
    width: int | None = None,
) -> str:
    """One row per metric (and group and time), one column per model."""
    cells, models = by_cell(data, metrics), data["models"]
    best = best_models(data["metrics"])
    limits = None if data["confidence"] is None else digits
    grouped = any(group is not None for group, _, _ in cells)
    header = ["group"] * grouped + ["metric", *["name"] * identifiers, "time"]
    header += ["better"] * identifiers
    rows = []
    for (group, name, _), found in cells.items():
        some = next(iter(found.values()))
        title = title_of(some) if titles else name
        line = [group_label(group)] * grouped + [title, *[name] * identifiers, when(some)]
        line += [_better(REGISTRY[name])] * identifiers
        rows.append([*line, *marked(found, models, best, digits, limits)])
    left = len(header)
    table = columns([*header, *models], rows, left=left)
    if width is not None and width_of(table) > width and identifiers:
        # Leave room to the models: without the titles of the metrics, which come before the names.
        at = header.index("metric")
        header, left = [*header[:at], "metric", *header[at + 2 :]], left - 1
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    return columns([*header, *models], rows, left, width)


def model_rows(data: dict[str, Any], metrics: list[str], width: int, shell: bool) -> str:
    """Return a row per model and a column per metric.

    The best by the first metric comes first. Numbers have as many digits as fit; where two are too
    many, the metrics come in parts below each other.
    """
    cells, best = list(by_cell(data, metrics).values()), best_models(data["metrics"])
    badness = REGISTRY[metrics[0]].badness

    def place(model: str) -> float:
        value = cells[0][model]["value"] if model in cells[0] else None
        return badness(value) if isinstance(value, float) else math.inf

    order = sorted(data["models"], key=place)
    shown = order[:_MOST_MODELS]
    some = [next(iter(found.values())) for found in cells]
    header = ["model", *(row["metric"] for row in some)]
    for digits, limits in _DIGITS:
        ends = None if data["confidence"] is None else limits
        values = [marked(found, shown, best, digits, ends) for found in cells]
        rows = [
            [name if len(name) <= _NAME else f"{name[: _NAME - 3]}...", *row]
            for name, row in zip(shown, zip(*values, strict=True), strict=True)
        ]
        table = columns(header, rows, under=["", *map(when, some)])
        if width_of(table) <= width:
            break
    else:
        table = columns(header, rows, width=width, under=["", *map(when, some)])
    if len(order) > len(shown):
        table += f"\n{len(order) - len(shown)} more models: {'--all' if shell else '.table'}"
    return table


def group_label(label: Any) -> str:
    """Name a group; everybody together are all."""
    return "all" if label is None else str(label)


def _better(metric: Metric) -> str:
    """Return which values are better, in a word; nothing for a p-value."""
    if metric.target is not None:
        return f"{metric.target:g}"
    return metric.direction if metric.ranks_models else ""
