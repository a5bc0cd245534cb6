"""Results as text: sentences and tables for the terminal; Markdown, CSV, LaTeX and figures."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from ..._tools.text import Best, columns, number, tabular
from ..._tools.writing import is_same_file, write_atomically
from ...errors import InputError, MissingExtraError
from ...report import experiment_words as words
from ...report.experiment_words import advice_p, interval_words, percent, rule
from .figures import MOST_COLUMNS
from .panels import TruthPanel, matrix, metrics_of
from .results import Results

#: The paper's six; population pseudo-observations are its ablation.
_METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po")
PAPER_METRICS = tuple(f"mae_{method}" for method in _METHODS)
_LONGEST_ERROR = 100
_MOST_MODELS = 4
#: Columns of the table of wins, before those by kind of censoring.
_MEANS = ("wins", "mean tau", "95 % interval", "mean top 3", "mean distance")
#: Columns of text where nobody says how many there are.
_WIDEST = 100


@dataclass(frozen=True)
class TableSection:
    """A table with its heading, a sentence on how to read it, and a name for files."""

    name: str
    heading: str
    header: list[str]
    rows: list[list[str]]
    left: int = 1
    note: str = ""


def sections(results: Results) -> list[TableSection]:
    """Tables for the terminal and the summary."""
    found: list[TableSection] = []
    for truth, panels in families(results).items():
        found += [_wins(results, truth, panels), _models(results, truth)]
        if truth == "mae":
            found += _advice(results)
    return found + _problems(results)


def by_dataset(results: Results) -> Iterator[TableSection]:
    """Tables with a row for each dataset and a column for each metric; the best are marked."""
    for truth, panels in families(results).items():
        metrics = metrics_of(panels)
        for name, measure, what in (
            ("ranking", "tau", "Kendall's tau with the true order of the models"),
            ("proximity", "relative", "Mean distance from the true value, relative to it"),
        ):
            found = matrix(panels, metrics, measure)
            best = found.max(axis=1) if measure == "tau" else found.min(axis=1)
            rows = [
                [panel.dataset, panel.censoring, *_marked(values, most, measure)]
                for panel, values, most in zip(panels, found, best, strict=True)
            ]
            heading = f"{what}; truth: {truth}"
            header = ["data", "censoring", *metrics]
            yield TableSection(f"{name}-{truth}", heading, header, rows, 2)


def _marked(values: Any, best: float, measure: str) -> list[str]:
    write = _tau if measure == "tau" else percent
    return [Best(write(v)) if v == best else write(v) for v in values.tolist()]


def families(results: Results) -> dict[str, list[TruthPanel]]:
    """Panels by their truth, in the order of the plan."""
    by_truth: dict[str, list[TruthPanel]] = {truth: [] for truth in results.truths}
    for panel in results.panels:
        by_truth[panel.truth].append(panel)
    return {truth: panels for truth, panels in by_truth.items() if panels}


def _wins(results: Results, truth: str, panels: list[TruthPanel]) -> TableSection:
    table = results.summary(truth).sort_values(["total", "tau"], ascending=False, kind="stable")
    kinds = list(table.columns[: table.columns.get_loc("total")])
    rows = [
        [str(name), str(int(row["total"])), _tau(row["tau"]),
         _interval(row["tau_low"], row["tau_high"], _tau), _tau(row["overlap"]),
         percent(row["relative"]), *(str(int(row[kind])) for kind in kinds)]
        for name, row in table.iterrows()
    ]  # fmt: skip
    bases = [panel.dataset for panel in panels]
    count = len(bases)
    note = f"{words.WINS} The last columns are wins by kind of censoring. {interval_words(bases)}"
    heading = f"Wins over {count} dataset{'s' * (count != 1)}; truth: {truth}"
    return TableSection(f"wins-{truth}", heading, ["metric", *_MEANS, *kinds], rows, 1, note)


def _models(results: Results, truth: str) -> TableSection:
    table = results.models
    rows = []
    for _, part in table[table["truth"] == truth].groupby(["dataset", "censoring"], sort=False):
        best, tied = part.iloc[0], part[~part["clearly_worse"]]["model"].tolist()[1:]
        shown = ", ".join(tied[:_MOST_MODELS]) + ", ..." * (len(tied) > _MOST_MODELS)
        rows.append(
            [best["dataset"], best["censoring"], best["model"], number(best["true_value"]),
             _interval(best["low"], best["high"], number), shown or "none"]
        )  # fmt: skip
    header = ["data", "censoring", "best model", "true value", "95 % interval", "not clearly worse"]
    note = (
        "Not clearly worse are models whose 95 % interval of the difference from the best includes "
        "0, nearest first. Intervals are not adjusted for the number of models."
    )
    heading = f"Models by the true {truth}"
    return TableSection(f"models-{truth}", heading, header, rows, 3, note)


def _advice(results: Results) -> list[TableSection]:
    names = set(results.metrics["metric"])
    # Wins are those among the paper's six, among which the advice chooses.
    six = results.select(metrics=PAPER_METRICS) if set(PAPER_METRICS) <= names else results
    found = six.advice("mae").to_dict("records")
    rows = [
        [r["situation"], f"{r['recommended']} over {r['other']}", r["verdict"],
         str(r["data_sets"]), str(r["bases"]), f"{r['recommended_wins']} : {r['other_wins']}",
         f"{r['recommended_tau']:.2f} : {r['other_tau']:.2f}",
         f"{percent(r['recommended_relative'])} : {percent(r['other_relative'])}",
         f"{r['closer']} of {r['data_sets']}", advice_p(r, "p_value"), advice_p(r, "p_tau")]
        for r in found
    ]  # fmt: skip
    header = ["situation", "advice", "verdict", "datasets", "sources", "wins", "mean tau",
              "mean distance", "closer", "p (distance)", "p (tau)"]  # fmt: skip
    heading = "The paper's advice"
    return [TableSection("advice", heading, header, rows, 3, rule())] if rows else []


def _problems(results: Results) -> list[TableSection]:
    """What failed or was left out."""
    found = []
    if len(results.left_out):
        few = results.left_out.drop_duplicates(["dataset", "censoring", "model"])
        rows = [[r.dataset, r.censoring, r.model] for r in few.itertuples()]
        heading = "Models that were left out, because some of their cells are missing"
        found.append(TableSection("left-out", heading, ["data", "censoring", "model"], rows, 3))
    bad = results.failed_metrics
    if len(bad):
        rows = [[r.metric, str(r.cells), r.error[:_LONGEST_ERROR], r.first]
                for r in bad.itertuples()]  # fmt: skip
        header = ["metric", "cells", "first error", "first cell"]
        note = "The other metrics of these cells are not affected."
        found.append(TableSection("failed-metrics", "Metrics that failed", header, rows, 1, note))
    if results.failures:
        heading = f"Failed cells: {len(results.failures)}"
        header = ["data", "censoring", "model", "cells", "first error"]
        found.append(TableSection("failures", heading, header, _failed(results.failures), 3))
    return found


def _failed(failures: list[dict[str, Any]]) -> list[list[str]]:
    """Rows of the table of failures: how many cells of a model failed, and the first error."""
    found: dict[tuple[str, ...], list[str]] = {}
    for failure in failures:
        cell = tuple(str(failure["cell"][axis]) for axis in ("dataset", "censoring", "model"))
        error = f"{failure['error']}: {failure['message']}"
        found.setdefault(cell, []).append(error[:_LONGEST_ERROR])
    return [[*cell, str(len(errors)), errors[0]] for cell, errors in found.items()]


def _tau(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _interval(low: float, high: float, write: Any) -> str:
    return "-" if np.isnan(low) else f"[{write(low)}, {write(high)}]"


#: With these a spreadsheet takes a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: Formats of figures.
FORMATS = ("png", "svg", "pdf")


def text(results: Results, width: int = _WIDEST) -> str:
    """Sentences and tables for the terminal."""
    parts = [fill(sentence, width) for sentence in _sentences(results)]
    parts += [_printed(section, width) for section in _each_note_once(sections(results))]
    return "\n\n".join(parts)


def first_screen(results: Results, width: int = _WIDEST) -> str:
    """The answer for each truth in a sentence, the wins by the first of them, and what failed."""
    parts = []
    if results.panels:
        data = words.experiment_content(results)
        first, *others = data["truths"]
        alone = results.select(truth=first, metrics=data["plain"][first])
        section = _wins(alone, first, families(alone)[first])
        shown = [row[: len(_MEANS) + 1] for row in section.rows]
        short = replace(section, header=["metric", *_MEANS], rows=shown, note=words.WINS)
        parts = [fill(words.lead(data, first), width), _printed(short, width)]
        parts += [
            fill(f"Truth {truth}: {words.lead(data, truth, few=False)}", width) for truth in others
        ]
    parts += [_printed(section, width) for section in _problems(results)]
    return "\n\n".join(parts)


def _printed(section: TableSection, width: int) -> str:
    lines = [section.heading, columns(section.header, section.rows, section.left, width)]
    return "\n".join(lines + [fill(section.note, width)] * bool(section.note))


def markdown(results: Results) -> str:
    """Sentences and tables as a Markdown page."""
    lines = [f"# Results of the plan {results.name}", "", f"{results!r}"]
    for sentence in _sentences(results):
        lines += ["", sentence]
    for section in _each_note_once(sections(results)):
        rule = [":--" if k < section.left else "--:" for k in range(len(section.header))]
        lines += ["", f"## {section.heading}", ""]
        lines += [section.note, ""] if section.note else []
        lines += [_row(section.header), _row(rule), *map(_row, section.rows)]
    return "\n".join(lines) + "\n"


def _each_note_once(found: Iterable[TableSection]) -> Iterator[TableSection]:
    """Tables of the same kind are explained where the first of them stands."""
    told: set[str] = set()
    for section in found:
        yield replace(section, note="") if section.note in told else section
        told.add(section.note)


def _sentences(results: Results) -> list[str]:
    """What the results say, the result first."""
    if not results.panels:
        return []
    data = words.experiment_content(results)
    found = []
    for truth in data["truths"]:
        found += [words.lead(data, truth), words.best_models(data, truth)]
        found += [words.advice(row) for row in data["advice"] if truth == "mae"]
    return [sentence for sentence in found if sentence]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def write_all(
    results: Results, folder: str | Path, *, figures: Iterable[str] = FORMATS[:1]
) -> list[Path]:
    """Write the summary, the tables (CSV and LaTeX) and the figures; return what was written.

    `figures` are the formats of the figures, see `FORMATS`; none for no figures.
    """
    place = Path(folder)
    files = {place / "summary.md": markdown(results).encode()}
    for section in (*sections(results), *by_dataset(results)):
        made = tabular(section.header, section.rows, section.left, section.heading)
        files[place / "tables" / f"{_safe(section.name)}.tex"] = made.encode()
    for name in ("scores", "proximity", "ranking", "winners", "models", "by_model"):
        files[place / "tables" / f"{name}.csv"] = _csv(getattr(results, name), index=False)
    for truth in families(results):
        name = f"summary-{_safe(truth)}.csv"
        files[place / "tables" / name] = _csv(results.summary(truth), index=True)
    with suppress(MissingExtraError):  # tables are worth having without matplotlib
        drawn = _drawn(results, tuple(figures))
        files |= {place / "figures" / name: content for name, content in drawn}
    return [write_atomically(file, content, make_folder=True) for file, content in files.items()]


def check_folder(folder: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse, before a run, a folder that `write_all` cannot fill without losing an input."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"--out must be a folder; {place} is a file")
    written = [place / "summary.md", *(place / "tables").glob("*")]
    for source in inputs:
        for target in written:
            if is_same_file(source, target):
                raise InputError(f"--out {place} would overwrite {source}; give another folder")


def _csv(frame: Any, index: bool) -> bytes:
    """CSV in which no text starts like a formula, which a spreadsheet would run."""
    safe = frame.rename(columns=_no_formula, index=_no_formula)
    for column in safe.columns:
        if safe[column].dtype.kind not in "fiub":
            safe[column] = safe[column].map(_no_formula)
    return safe.to_csv(index=index).encode()


def _no_formula(value: Any) -> Any:
    """Put an apostrophe before a text that starts like a formula, as spreadsheets do.

    >>> _no_formula("=1+1"), _no_formula("mae_po"), _no_formula(-1.5)
    ("'=1+1", 'mae_po', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _drawn(results: Results, formats: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of all figures."""
    for truth, panels in families(results).items() if formats else ():
        if len(panels[0].metrics) > 1:
            for name, kind, options in _figures(panels):
                figure = results.plot(kind, truth=truth, **options)
                for kind_of_file in formats:
                    content = io.BytesIO()
                    figure.savefig(content, format=kind_of_file, dpi=130)
                    yield f"{name}.{kind_of_file}", content.getvalue()


def _figures(panels: list[TruthPanel]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, kind and options of the figures of one truth."""
    end = _safe(panels[0].truth)
    yield f"grid-{end}", "grid", {}
    yield f"summary-{end}", "summary", {}
    if len(panels[0].metrics) > MOST_COLUMNS:
        # By default figures show metrics without settings; here all of them are wanted.
        yield f"summary-{end}-all", "summary", {"metrics": panels[0].metrics}
    for panel in panels:
        where = {"dataset": panel.dataset, "censoring": panel.censoring}
        yield f"panel-{end}-{_safe(panel.dataset)}-{_safe(panel.censoring)}", "panel", where


def _safe(label: str) -> str:
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in label).strip("_")
