"""The first screen of an evaluation: the verdict, a few metrics, what to watch out for."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .._tools.text_tables import columns
from ..evaluation import Evaluation
from ..evaluation.sentences import verdict_sentences
from ..evaluation.text import evaluation_text, sample_text
from ..evaluation.verdict import first_metrics, headline
from ..evaluation.when import column_of, rounded, titled, why_then
from ..evaluation.withheld import withheld_notes
from .output import Line
from .problems import problems
from .score_tables import Scores, best_models, interval, name_of, score_table, value

#: Rows of groups; the others come with --all.
_GROUPS = 12
#: Spaces at which "95 % CI", "p = 0.5" and "* best" are not broken.
_KEPT = re.compile(r"(?<=\d) (?=%)|(?<=%) (?=CI)|(?<=\bp) (?=[=<])|(?<=[=<*]) ")


def first_screen(result: Evaluation, width: int) -> Iterator[Line]:
    """Yield the lines of the first screen."""
    data = result.to_dict()
    overall = [row for row in data["metrics"] if row.get("group") is None]
    grouped = [row for row in data["metrics"] if row.get("group") is not None]
    chosen = first_metrics(data)
    if overall:
        yield from verdict_lines(data, width)
    if overall and chosen:
        table, limits = score_table(data["models"], _scores(overall, chosen), width)
        yield []
        yield from _wrapped(_caption(data, limits), width)
        yield from table
        for note in withheld_notes(row for row in overall if row["metric"] in chosen):
            yield from _wrapped(note, width)
    if grouped and chosen:
        yield from [[]] if overall else []
        yield from _groups(data, grouped, headline(data), width)
    yield []
    yield from problems(data, width)
    yield []
    total = len({row["metric"] for row in data["metrics"]})
    metrics = f"{total} metric{'s' * (total > 1)}"
    yield from _wrapped(
        f"--all prints all of it: {metrics}, differences between models, support, every warning. "
        "--html FILE writes a report.",
        width,
    )


def everything(result: Evaluation, width: int) -> Iterator[Line]:
    """Yield the lines of the whole text, with the verdict at the end, where a reader ends up."""
    for line in evaluation_text(result, width, verdict=False).split("\n"):
        yield [(line, "")]
    yield []
    yield [("Verdict", "bold")]
    yield from verdict_lines(result.to_dict(), width)


def verdict_lines(data: dict[str, Any], width: int) -> Iterator[Line]:
    """Yield the verdict; the first sentence stands out."""
    for k, sentence in enumerate(verdict_sentences(data)):
        yield from _wrapped(sentence, width, "" if k else "bold")


def _wrapped(text: str, width: int, style: str = "dim") -> Iterator[Line]:
    for line in textwrap.wrap(_KEPT.sub("\xa0", text), width):
        yield [(line.replace("\xa0", " "), style)]


def _caption(data: dict[str, Any], intervals: bool) -> str:
    """Say whom a table is about, and what stands in it."""
    support, why = data["support"], why_then(data["support"])
    parts = [sample_text(support), *_marks(data, intervals)]
    unit = data.get("unit")
    parts.append(f"times in {unit}" if unit else "--unit days names the unit of times")
    if why and any(row["time"] is not None for row in data["metrics"]):
        parts.append(f"time of interest {rounded(support['time'])}: {why} (--time sets another)")
    return "; ".join(parts)


def _marks(data: dict[str, Any], intervals: bool) -> list[str]:
    """Say what brackets and stars in a table mean."""
    level = data["confidence"]
    parts = [f"{100 * level:g} % intervals"] if intervals and level is not None else []
    return parts + ["* best value"] * (len(data["models"]) > 1)


def _scores(rows: list[dict[str, Any]], chosen: list[str]) -> list[Scores]:
    """Rows of each metric chosen (and time) by model, in the order of the metrics."""
    found: dict[Any, Scores] = {}
    for metric in chosen:
        for row in rows:
            if row["metric"] == metric:
                found.setdefault(column_of(row), {})[row["model"]] = row
    return list(found.values())


# -- groups ------------------------------------------------------------------------------------


def _groups(
    data: dict[str, Any], rows: list[dict[str, Any]], metric: str, width: int
) -> Iterator[Line]:
    """Yield one metric of the largest groups: a row per group, a column per model."""
    rows = [row for row in rows if row["metric"] == metric]
    first = column_of(rows[0])
    groups: dict[Any, Scores] = {}
    for row in rows:
        if column_of(row) == first:
            groups.setdefault(row["group"], {})[row["model"]] = row
    name = titled(rows[0], data.get("unit") or "")
    for line in textwrap.wrap(_in_groups(groups, name), width):
        yield [(line, "bold")]
    yield []
    shown = sorted(groups, key=lambda group: _size(data, group, "subjects"), reverse=True)
    kept = set(shown[:_GROUPS])
    header = ["group", "subjects", "events", *map(name_of, data["models"])]
    for intervals in (True, False):
        table = [
            [str(group), *(str(_size(data, group, what)) for what in ("subjects", "events")),
             *_cells(scores, data["models"], intervals)]
            for group, scores in groups.items() if group in kept
        ]  # fmt: skip
        if max(map(len, columns(header, table).split("\n"))) <= width:
            break
    yield from _wrapped("; ".join([metric, *_marks(data, intervals)]), width)
    for line in columns(header, table, width=width).split("\n"):
        yield [(line, "")]
    if len(groups) > len(kept):
        yield [(f"{len(groups) - len(kept)} smaller groups: --all", "dim")]


def _in_groups(groups: dict[Any, Scores], name: str) -> str:
    """Say in how many groups each model has the best value."""
    wins = Counter(model for scores in groups.values() for model in best_models(scores))
    if not wins:
        return f"{name} in {len(groups)} group{'s' * (len(groups) > 1)}."
    told = [f"{model} in {count}" for model, count in wins.most_common(3)]
    more = ", ..." if len(wins) > len(told) else ""
    return f"Best {name} in {len(groups)} groups: {', '.join(told)}{more}."


def _size(data: dict[str, Any], group: Any, what: str) -> int:
    return int(data["support"].get("groups", {}).get(str(group), {}).get(what, 0))


def _cells(scores: Scores, models: list[str], intervals: bool) -> Iterator[str]:
    """Yield the values of a group, the best one marked."""
    best = best_models(scores)
    for model in models:
        row = scores.get(model)
        limits = interval(row) if intervals else ""
        yield f"{value(row)} {limits}".rstrip() + "*" * (model in best)
