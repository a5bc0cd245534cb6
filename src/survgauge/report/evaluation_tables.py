"""Tables and words of an evaluation: models at a glance, all numbers, causes, groups, the card."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from .._tools.text import number, p_text
from ..data.causes import EventWords, cause_label, counted_events
from ..evaluation.inference import log_log_band
from ..evaluation.phrases import (
    Column,
    column_of,
    in_brackets,
    listed,
    names,
    range_text,
    rounded,
    title_of,
    titled,
    when,
    withheld_notes,
)
from ..evaluation.reading import is_small
from ..evaluation.sentences import verdict_sentences
from ..evaluation.verdict import (
    best_models,
    best_rows,
    cell_of,
    constant_note,
    headline,
    stops_at,
)
from ..evaluation.verdict import glance as shown_first
from ..evaluation.warnings import counted, warnings_of
from ..metrics.registry import REGISTRY
from .page import Markup, facts, head, join, number_cell, paragraphs, table, table_row, tag

#: Metrics of the first table, and digits of its numbers.
MOST_COLUMNS, _DIGITS = 6, 3
#: Rows of the whole table that a page holds.
MOST_ROWS = 1500
#: Models in a card, and models or groups that a sentence names.
_MOST_MODELS, _MOST_NAMES = 12, 6
#: Values that a sentence repeats from the table.
_MOST_VALUES = 3
#: Share of censored subjects above which pseudo-observations are known to be biased.
_HALF = 0.5
_BIASED = (
    " With more than half of the subjects censored, this error is larger than the true error and "
    "favours predictions that are too early; compare mae_ipcw_d with a horizon."
)
#: Why the error within the horizon is the headline: docs/results/truth.md.
_WHY = (
    "This error comes first because it was closest to the true error on data with known event "
    "times. Errors without a horizon are in the tables; they depend on times that nobody observed."
)

Row = dict[str, Any]


def is_grouped(data: dict[str, Any]) -> bool:
    """Whether subjects were evaluated by group."""
    return any(row.get("group") is not None for row in data["metrics"])


# -- models by metrics -----------------------------------------------------------------------------


def names_of(data: dict[str, Any]) -> dict[Column, str]:
    """Name metrics for people, with the time where there are several; the headline first."""
    unit, first = data.get("unit") or "", headline(data)
    named, rows = names(data["metrics"]), {column_of(row): row for row in data["metrics"]}
    return {
        column: titled(rows[column], unit) if named[column] != column[0] else title_of(rows[column])
        for column in sorted(named, key=lambda column: column[0] != first)
    }


def first_columns(data: dict[str, Any]) -> list[Column]:
    """Metrics to show first, at the last time that was asked for.

    Where there are too many, ranking and then probabilities at the time give way: the same family
    has a metric over all times.
    """
    found = sorted(names(data["metrics"]), key=lambda column: column[1] or 0.0)
    columns = {metric: (metric, time) for metric, time in found}
    metrics = list(dict.fromkeys(metric for metric, _ in names(data["metrics"])))
    shown = shown_first(metrics, data["support"].get("times_given", False)) or metrics
    for family in ("ranking", "probability"):
        at_time = [m for m in shown if REGISTRY[m].family == family and REGISTRY[m].reads == "time"]
        if len(shown) > MOST_COLUMNS and at_time:
            shown.remove(at_time[0])
    return [columns[metric] for metric in shown[:MOST_COLUMNS]]


def glance(data: dict[str, Any]) -> Markup:
    """Models by a few metrics among all subjects: one row per model, sortable by every metric."""
    rows = [row for row in data["metrics"] if row.get("group") is None] or data["metrics"]
    cells = {(row["model"], column_of(row)): row for row in reversed(rows)}
    called, columns = names(data["metrics"]), first_columns(data)
    any_row = {column: row for (_, column), row in cells.items()}
    columns = [column for column in columns if column in any_row]
    heads: list[object] = [head("model", None)]
    for column in columns:
        row = any_row[column]
        metric = REGISTRY[row["metric"]]
        title = tag("span", title_of(row), title=f"{metric.name}: {metric.about}")
        told = "; ".join(filter(None, (head_note(data, row), metric.better)))
        heads.append(head(title, note=told, data_column_name=called[column]))
    standing = _standing(data)
    body = [
        table_row(
            join(tag("span", class_="look", data_look=k), model),
            *(_cell(cells.get((model, column)), standing, _DIGITS) for column in columns),
            data_series=k,
        )
        for k, model in enumerate(data["models"])
    ]
    among = [row for row in rows if column_of(row) in columns]
    told = " ".join([_legend(data), *withheld_notes(among), *constant_note(among)])
    return table(heads, body, label=told, name="glance")


def _legend(data: dict[str, Any]) -> str:
    """Say what stands in a table, and what its marks mean."""
    told = "Values" if data["confidence"] is None else "Values with intervals"
    if len(data["models"]) > 1:
        told += "; bold: best of the column"
    if len(data["models"]) > 1 and data["confidence"] is not None:
        told += f"; grey: clearly worse than it (adjusted p below {1 - data['confidence']:.2g})"
    return f"{told}."


def head_note(data: dict[str, Any], row: Row) -> str:
    """Say below the name of a metric what it is counted in, and its time."""
    metric, unit = REGISTRY[row["metric"]], data.get("unit") or ""
    counted_in = {"time": unit, "time^2": f"{unit}\u00b2" * bool(unit)}.get(metric.unit, "")
    parts = [f"in {counted_in}" if counted_in else "", when(row, unit, short=True)]
    return ", ".join(part for part in parts if part)


def _cell(row: Row | None, standing: dict[Any, str], digits: int) -> Markup:
    """A value with its interval."""
    if row is None:
        return number_cell("n/a", None, class_="number behind")
    kind = standing.get((cell_of(row), row["model"]), "")
    kind = "behind" if row["value"] is None else kind
    look = f"number {kind}".strip()
    return number_cell(shown(row, digits), row["value"], limits(row, digits), class_=look)


def _standing(data: dict[str, Any]) -> dict[Any, str]:
    """Classes of cells: the best of a metric, as on a terminal, and who clearly loses to it."""
    best = best_models(data["metrics"])
    found = dict.fromkeys(best, "first")
    value = {(cell_of(row), row["model"]): row["value"] for row in data["metrics"]}
    for row in data["comparisons"]:
        cell, p = cell_of(row), row["p_simultaneous"]
        a, b = (cell, row["model_a"]), (cell, row["model_b"])
        if p is not None and p < 1 - (data["confidence"] or 0.95) and (a in best) != (b in best):
            first, other = (a, b) if a in best else (b, a)
            badness = REGISTRY[cell[1]].badness
            if badness(value[other]) > badness(value[first]):
                found[other] = "behind"
    return found


def shown(row: Row, digits: int = 4) -> str:
    """Write the value of a row: a p-value of a test; n/a where it has none."""
    value = row["value"]
    if value is None or isinstance(value, str):
        return value or "n/a"
    metric = REGISTRY[row["metric"]]
    if metric.inference == "test":
        return f"p {p_text(value)}"
    # Nobody reads 0.0000465 beside 0.035.
    tiny = metric.unit != "time" and digits <= _DIGITS and 0 < value < 0.0005
    return "<0.001" if tiny else number(value, digits)


def limits(row: Row, digits: int = 4) -> str:
    """Write the interval of a row, or its range over the assumed tails; nothing without either."""
    if isinstance(row["low"], float) and isinstance(row["high"], float):
        return f"{number(row['low'], digits)} to {number(row['high'], digits)}"
    return range_text(row, digits)


# -- all numbers -----------------------------------------------------------------------------------


def all_numbers(data: dict[str, Any]) -> Markup:
    """The whole table, one row per model and metric."""
    found, twice = _once(data["metrics"])
    rows, grouped = found[:MOST_ROWS], is_grouped(data)
    standing, places = _standing(data), {model: k for k, model in enumerate(data["models"])}
    short = "KM" if EventWords.of(data["support"]).cause is None else "AJ"
    words = ["model", *["group"] * grouped, "metric"]
    lines = []
    for row in rows:
        metric, group = REGISTRY[row["metric"]], row.get("group")
        which = tag("div", tag("code", metric.name), f", {metric.better}", class_="small soft")
        stderr, skill = row["stderr"], row["skill"]
        cells = [tag("td", "all subjects" if group is None else str(group))] * grouped
        cells += [
            tag("td", title_of(row), which, data_sort=metric.name),
            number_cell(when(row) or "-", row.get("time") or row.get("until")),
            _cell(row, standing, 4),
            number_cell(stderr if isinstance(stderr, str) else number(stderr), stderr),
            number_cell("-" if skill is None else f"{100 * skill:.1f} %", skill),
        ]
        lines.append(table_row(row["model"], *cells, data_series=places[row["model"]]))
    label = "All models and metrics."
    if twice:
        label = "All models and metrics; mae_dr is mae_within here, and is not repeated."
    if len(rows) < len(found):
        label = (
            f"The first {len(rows):,} of {len(found):,} numbers; the downloads Table "
            "(CSV) and Everything (JSON) have all of them."
        )
    header = [*words, "time", "value, interval", "standard error", f"skill over {short}"]
    return table(header, lines, label=label, words=words, name="all-numbers", search=True)


def _once(rows: list[Row]) -> tuple[list[Row], bool]:
    """Leave out the doubly robust error where it is the one within the horizon."""

    def what(row: Row, metric: str) -> tuple[Any, ...]:
        cell = metric, row["model"], row.get("group"), row["value"], row["low"], row.get("until")
        return tuple(map(str, cell))

    within = {what(row, "mae_dr") for row in rows if row["metric"] == "mae_within"}
    mine = {what(row, "mae_dr") for row in rows if row["metric"] == "mae_dr"}
    twice = bool(mine) and mine <= within
    return [row for row in rows if not twice or row["metric"] != "mae_dr"], twice


def conventions(data: dict[str, Any]) -> Markup:
    """How each number was computed; the same for all models but for their curves.

    What most metrics share is said once, before what is special about each.
    """
    found = {row["metric"]: row["convention"] for row in reversed(data["metrics"])}
    rules_of = {
        name: {key: "none" if value is None else _plain(value) for key, value in rules.items()}
        for name, rules in found.items()
    }
    counts = Counter(rule for rules in rules_of.values() for rule in rules.items())
    having = Counter(key for rules in rules_of.values() for key in rules)
    usual = {
        key: value
        for (key, value), count in counts.items()
        if count > 2 and 2 * count > having[key] and value != "none"
    }
    told = {"Metrics that have these settings, unless said below": _rules(usual)} if usual else {}
    for name, rules in rules_of.items():
        own = {key: value for key, value in rules.items() if usual.get(key, "none") != value}
        told[f"{REGISTRY[name].title} ({name})"] = _rules(own) or "as usual"
    how = "How each number was computed (conventions)"
    return tag("details", tag("summary", how), facts({**told}))


def _rules(rules: dict[str, str]) -> str:
    return "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in rules.items())


def _plain(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - 8} more" if len(value) > 8 else ""
        return ", ".join(map(_plain, value[:8])) + more
    return number(value) if isinstance(value, float) else str(value)


# -- events by cause -------------------------------------------------------------------------------


def what_happened(data: dict[str, Any]) -> Markup | None:
    """Return the events of each cause, and their incidence by the times of interest."""
    words, support = EventWords.of(data["support"]), data["support"]
    if words.cause is None:
        return None
    told = f"This evaluation is about {words.event}."
    if words.others:
        *most, last = words.others
        others = f"{', '.join(most)} or {last}" if most else last
        told += (
            f" After an event of {others}, {words.the_event} can no longer happen. Such events "
            "compete with it; counting them as censored would overstate its probability."
        )
    events, rows = support["events_by_cause"], support.get("incidence") or []
    times = list(dict.fromkeys(row["time"] for row in rows))
    known = {(row["cause"], row["time"]): row for row in rows}

    def line(name: str, count: int, shares: list[Markup]) -> Markup:
        part = f"{100 * count / support['subjects']:.0f} %" if support["subjects"] else "-"
        return table_row(name, number_cell(f"{count:,} ({part})", count), *shares)

    body, left = [], dict.fromkeys(times, 1.0)
    for name in sorted(events, key=lambda name: name != words.cause):
        label = f"{cause_label(name)}{' (competes)' * (name != words.cause)}"
        shares = [_incidence(known[name, time], data["confidence"]) for time in times]
        body.append(line(label, events[name], shares))
        left = {time: share - known[name, time]["value"] for time, share in left.items()}
    free = [number_cell(f"{100 * max(share, 0.0):.1f} %", share) for share in left.values()]
    body.append(line("no event seen", support["subjects"] - sum(events.values()), free))
    sure = data["confidence"]
    note = "Events by cause."
    if times:
        note += (
            " Shares are Aalen-Johansen estimates of the test set"
            f"{'' if sure is None else f' with {100 * sure:g} % intervals'}; with the probability "
            "of no event they add up to 100 %."
        )
    by_times = (f"by {rounded(time, data.get('unit') or '')}" for time in times)
    made = table(["cause", "subjects", *by_times], body, label=note, words=["cause"], name="causes")
    return join(tag("p", told), made)


def _incidence(row: Row, confidence: float | None) -> Markup:
    """Write an incidence with its interval, symmetric in log(-log(1 - F))."""
    value, stderr, ends = float(row["value"]), row["stderr"], ""
    if stderr is not None and confidence is not None and 0 < value < 1:
        free = np.array([1.0 - value])
        low, high = log_log_band(free, stderr / free, confidence)
        ends = f"{100 * (1 - high[0]):.1f} to {100 * (1 - low[0]):.1f}"
    return number_cell(f"{100 * value:.1f} %", value, ends)


# -- words -----------------------------------------------------------------------------------------


def unbroken(text: str) -> str:
    """Keep numbers and their signs on one line."""
    text = re.sub(r"(\d) %( CI)?", lambda m: m[0].replace(" ", "\u00a0"), text)
    return re.sub(r"\bp ([<=]) (\d)", "p\u00a0\\1\u00a0\\2", text)


def off_target(data: dict[str, Any]) -> list[str]:
    """Say which models a measure of calibration finds clearly off its best value, and which way."""
    found: dict[tuple[Column, bool], list[Row]] = {}
    columns = first_columns(data)
    for row in data["metrics"]:
        target, low, high = REGISTRY[row["metric"]].target, row["low"], row["high"]
        if row.get("group") is not None or column_of(row) not in columns or target is None:
            continue
        if isinstance(low, float) and isinstance(high, float) and not low <= target <= high:
            found.setdefault((column_of(row), low > target), []).append(row)
    told = []
    for (_, above), rows in found.items():
        metric = REGISTRY[rows[0]["metric"]]
        values = [
            row["model"] + in_brackets(f"{number(row['value'], _DIGITS)}, {limits(row, _DIGITS)}")
            if len(rows) <= _MOST_VALUES
            else row["model"]
            for row in rows
        ]
        means = metric.above if above else metric.below
        side = f"{'above' if above else 'below'} {metric.target:g}{means and f': {means}'}"
        what = titled(rows[0], data.get("unit") or "")
        told.append(f"{what} of {listed(values)} is clearly {side}.")
    return told


def meaning(data: dict[str, Any]) -> list[str]:
    """Explain the error of the headline."""
    record = REGISTRY.get(headline(data))
    method = record.method if record is not None else None
    if record is None or method is None or record.loss != "absolute":
        return []
    rules = next(r["convention"] for r in data["metrics"] if r["metric"] == record.name)
    much = "; those censored early get less weight"
    much = much if rules.get("weighted") and method.imputes else ""
    support, words = data["support"], EventWords.of(data["support"])
    censored = 1 - support["events"] / support["subjects"] if support["subjects"] else 0.0
    doubt = _BIASED if method.extrapolates and censored > _HALF else ""
    time = "event time" if words.cause is None else f"time of {words.the_event}"
    stop, stopped = stops_at(data, record.name), ""
    if stop is not None:
        until = rounded(stop, data.get("unit") or "")
        why = " (the last time that the data support)" * (stop == support["horizon"])
        stopped = f" Predicted and observed times after {until}{why} count as {until}."
        if words.cause is not None:
            never = (
                f" After an event of another cause, {words.the_event} never happens and counts as"
            )
            stopped += f"{never} {until}."
    found = [
        "The error is the distance from the predicted time (for curves: the median) to the "
        f"{time}. Each censored subject {method.counts_as}{much}.{stopped}{doubt}"
    ]
    supported = record.within_horizon and words.cause is None  # shown for one kind of event
    return [*found, _WHY] if supported else found


def group_words(data: dict[str, Any]) -> list[str]:
    """Say how the models compare in the groups, by the metric that people judge by.

    `data` comes from `Evaluation.to_dict`.
    """
    metric, found = headline(data), []
    small = {name for name, size in data["support"].get("groups", {}).items() if is_small(size)}
    best = {
        cell[0]: row["model"]
        for cell, row in best_rows(data["metrics"]).items()
        if cell[1] == metric and cell[0] is not None and str(cell[0]) not in small
    }
    if not best:
        return []
    large = {str(group) for group in best}
    many = f"{len(best)} group{'s' * (len(best) > 1)}"
    if len(data["models"]) > 1:
        wins = Counter(best.values()).most_common()
        named = [f"{model} in {count}" for model, count in wins[:_MOST_NAMES]]
        if len(wins) > _MOST_NAMES:
            named.append(f"other models in {sum(count for _, count in wins[_MOST_NAMES:])}")
        title = f"{REGISTRY[metric].title}{EventWords.of(data['support']).of_cause}"
        size = " of at least 30 subjects and 10 events" if small else ""
        found.append(f"Best by {title} in {many}{size}: {listed(named)}.")
        if data["confidence"] is not None:
            differ = _clear(data, data["comparisons"], large)
            told = f" ({listed(differ)})" if 0 < len(differ) <= _MOST_NAMES else ""
            where = f"in {len(differ)} of {many}{told}" if differ else "in no group"
            which = "The two models" if len(data["models"]) == 2 else "Two models"
            found.append(f"{which} differ clearly {where}.")
    losses = [row for row in data["baseline_comparisons"] if row["metric"] == metric]
    if data["confidence"] is not None and losses:
        ahead = _clear(data, [r for r in losses if (r["difference"] or 0.0) < 0], large)
        some = f"In {len(ahead)} of {many}, a model is" if ahead else "In no group is a model"
        baseline = EventWords.of(data["support"]).baseline
        found.append(
            f"{some} clearly better than {baseline}. The p-values are adjusted within each group, "
            "not for the number of groups."
        )
    return found


def _clear(data: dict[str, Any], rows: list[Row], groups: Collection[str]) -> list[str]:
    """Return the groups, of those given, with a clear difference by the metric to judge by."""
    metric, level = headline(data), 1 - data["confidence"]
    found = (
        str(row["group"])
        for row in rows
        if row["metric"] == metric and str(row.get("group")) in groups
        if row["p_simultaneous"] is not None and row["p_simultaneous"] < level
    )
    return list(dict.fromkeys(found))


# -- the card of a notebook ------------------------------------------------------------------------


def evaluation_card(data: dict[str, Any]) -> Markup:
    """Make what notebooks show: verdict and a small table, without script or style sheet."""
    first, *rest = verdict_sentences(data)
    support, columns = data["support"], first_columns(data) if data["metrics"] else []
    rows = {(r["model"], column_of(r)): r for r in data["metrics"] if r.get("group") is None}
    known = {column: row for (_, column), row in rows.items()}
    columns = [column for column in columns if column in known]
    standing, side = _standing(data), "text-align:right;padding:.2em .8em"
    heads = [tag("th")]
    for column in columns:
        metric = REGISTRY[column[0]]
        told = "; ".join(filter(None, (head_note(data, known[column]), metric.better)))
        note = tag("div", tag("small", told), style="font-weight:normal")
        heads.append(tag("th", title_of(known[column]), note, style=side, title=metric.name))
    body = []
    for model in data["models"][:_MOST_MODELS]:
        line = [tag("th", model, scope="row", style="text-align:left")]
        for column in columns:
            row = rows.get((model, column))
            value = "n/a" if row is None else shown(row, _DIGITS)
            best = row is not None and standing.get((cell_of(row), model)) == "first"
            ends = tag("div", tag("small", limits(row, _DIGITS))) if row is not None else None
            line.append(tag("td", tag("b", value) if best else value, ends, style=side))
        body.append(tag("tr", *line))
    said = [f"{support['subjects']:,} test subjects, {counted_events(support, ',')}"]
    if len(data["models"]) > 1:
        said.append("bold: best of the column")
    if data["warnings"]:
        said.append(f"{counted(warnings_of(data))} in .warnings")
    if len(data["models"]) > _MOST_MODELS:
        said.append(f"{len(data['models']) - _MOST_MODELS} more models in .table")
    said.append("all metrics in .table; .to_html(path) writes a report")
    return tag(
        "div",
        tag("p", tag("b", first)),
        paragraphs(rest),
        tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body)) if columns else None,
        tag("p", tag("small", f"{'; '.join(said)}.")),
    )
