"""Results as text: tables for the terminal, Markdown and CSV files, figures."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._tools.text_tables import columns, number, p_text
from .._tools.writing import is_same_file, write_atomically
from ..errors import InputError, MissingExtraError
from .figures import MOST_COLUMNS
from .panels import TruthPanel
from .published import PAPER_METRICS
from .results import Results

#: With these a spreadsheet takes a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: A table: heading, header, rows.
Section = tuple[str, list[str], list[list[str]]]


def sections(results: Results) -> list[Section]:
    """What to say about an experiment, as tables of text."""
    found: list[Section] = []
    for truth in results.truths:
        panels = [panel for panel in results.panels if panel.truth == truth]
        if not panels:
            continue
        found.append(_summary(results, truth))
        if len(panels[0].metrics) > 1:
            found.append(_winners(results, truth))
        if truth == "mae":
            found += _paper_section(results, panels[0].metrics) + _advice(results)
    if len(results.left_out):
        rows = results.left_out.drop_duplicates(["dataset", "censoring", "model"])
        body = [[r.dataset, r.censoring, r.model] for r in rows.itertuples()]
        found.append(
            ("Models left out: some cells are missing", ["data", "censoring", "model"], body)
        )
    if results.failures:
        body = [
            [*(str(f["cell"][k]) for k in ("dataset", "censoring", "model", "repeat", "fold")),
             f"{f['error']}: {f['message']}"[:100]]
            for f in results.failures
        ]  # fmt: skip
        head = ["data", "censoring", "model", "repeat", "fold", "error"]
        found.append((f"Failed cells: {len(body)}", head, body))
    return found


def _summary(results: Results, truth: str) -> Section:
    table = results.summary(truth)
    kinds = list(table.columns[: table.columns.get_loc("total") + 1])
    header = ["metric", *kinds, "mean tau", "interval", "mean overlap", "mean distance"]
    rows = []
    for name, row in table.iterrows():
        interval = "-"
        if not math.isnan(row["tau_low"]):
            interval = f"[{row['tau_low']:.2f}, {row['tau_high']:.2f}]"
        means = [f"{row['tau']:.2f}", interval, f"{row['overlap']:.2f}", f"{row['relative']:.1%}"]
        rows.append([str(name), *(str(int(row[kind])) for kind in kinds), *means])
    count = sum(panel.truth == truth for panel in results.panels)
    return (f"Wins over {count} data sets; truth: {truth}", header, rows)


def _paper_section(results: Results, metrics: tuple[str, ...]) -> list[Section]:
    """Count wins among the paper's six too, where variants take part in the other table."""
    if not set(PAPER_METRICS) < set(metrics):
        return []
    _, header, rows = _summary(results.select(truth="mae", metrics=PAPER_METRICS), "mae")
    return [("Wins among the paper's six metrics alone", header, rows)]


def _winners(results: Results, truth: str) -> Section:
    table = results.winners
    rows = [
        [r.dataset, r.censoring, r.metric, f"{r.overlap:g}", number(r.proximity),
         f"{r.tau:.2f}", "-" if math.isnan(r.share) else f"{r.share:.0%}"]
        for r in table[table["truth"] == truth].itertuples()
    ]  # fmt: skip
    header = ["data", "censoring", "winner", "top 3", "distance", "tau", "wins in replicates"]
    return (f"Winners; truth: {truth}", header, rows)


def _advice(results: Results) -> list[Section]:
    names = set(results.metrics["metric"])
    # Wins are those among the paper's six, among which the advice chooses.
    six = results.select(metrics=PAPER_METRICS) if set(PAPER_METRICS) <= names else results
    table = six.advice("mae")
    if not len(table):
        return []
    rows = [
        [r.situation, f"{r.recommended} over {r.other}", str(r.data_sets),
         f"{r.recommended_wins} : {r.other_wins}", f"{r.recommended_tau:.2f} : {r.other_tau:.2f}",
         f"{r.recommended_relative:.1%} : {r.other_relative:.1%}", f"{r.closer} of {r.data_sets}",
         p_text(r.p_value), r.verdict]
        for r in table.itertuples()
    ]  # fmt: skip
    header = ["situation", "advice", "data sets", "wins", "mean tau", "mean distance", "closer",
              "p", "verdict"]  # fmt: skip
    return [("The paper's advice", header, rows)]


def text(results: Results) -> str:
    """Tables for the terminal."""
    return "\n\n".join(
        f"{heading}\n{columns(header, rows, left=_left(header))}"
        for heading, header, rows in sections(results)
    )


def markdown(results: Results) -> str:
    """Tables as a Markdown page."""
    lines = [f"# Results of the plan {results.name}", "", f"{results!r}"]
    for heading, header, rows in sections(results):
        left = _left(header)
        rule = [":--" if k < left else "--:" for k in range(len(header))]
        lines += ["", f"## {heading}", "", _row(header), _row(rule), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _left(header: list[str]) -> int:
    return {"metric": 1, "situation": 2}.get(header[0], 3)


def write_all(results: Results, folder: str | Path, *, figures: bool = True) -> list[Path]:
    """Write the page, the tables behind it and the figures; return what was written."""
    place = Path(folder)
    files = {place / "summary.md": markdown(results).encode()}
    for name in ("scores", "proximity", "ranking", "winners", "by_model"):
        files[place / "tables" / f"{name}.csv"] = _csv(getattr(results, name), index=False)
    for truth in results.truths:
        if any(panel.truth == truth for panel in results.panels):
            name = f"summary-{_safe(truth)}.csv"
            files[place / "tables" / name] = _csv(results.summary(truth), index=True)
    if figures:
        with suppress(MissingExtraError):  # tables are worth having without matplotlib
            files |= {place / "figures" / name: png for name, png in _drawn(results)}
    return [write_atomically(file, content, make_folder=True) for file, content in files.items()]


def check_folder(folder: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse, before a run, a folder that `write_all` cannot fill without losing an input."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"--out must be a folder; {place} is a file")
    written = [place / "summary.md", *(place / "tables").glob("*.csv")]
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


def _drawn(results: Results) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the PNG files of all figures."""
    for truth in results.truths:
        panels = [panel for panel in results.panels if panel.truth == truth]
        if panels and len(panels[0].metrics) > 1:
            for name, kind, options in _figures(panels):
                figure = results.plot(kind, truth=truth, **options)
                content = io.BytesIO()
                figure.savefig(content, format="png", dpi=130)
                yield f"{name}.png", content.getvalue()


def _figures(panels: list[TruthPanel]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, kind and options of the figures of one truth."""
    end = _safe(panels[0].truth)
    yield f"grid-{end}", "grid", {}
    kinds = ["summary"] + ["critical"] * (len(panels) > 1)
    for kind in kinds:
        yield f"{kind}-{end}", kind, {}
        if len(panels[0].metrics) > MOST_COLUMNS:
            # By default figures show metrics without settings; here all of them are wanted.
            yield f"{kind}-{end}-all", kind, {"metrics": panels[0].metrics}
    for panel in panels:
        where = {"dataset": panel.dataset, "censoring": panel.censoring}
        yield f"panel-{end}-{_safe(panel.dataset)}-{_safe(panel.censoring)}", "panel", where


def _safe(label: str) -> str:
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in label).strip("_")
