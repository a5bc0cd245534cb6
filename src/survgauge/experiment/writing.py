"""Results as text: sentences and tables for the terminal; Markdown, CSV, LaTeX and figures."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

from .._tools.latex import tabular
from .._tools.text_tables import columns
from .._tools.writing import is_same_file, write_atomically
from ..errors import InputError, MissingExtraError
from ..report import experiment_words as words
from ..report.experiment_content import experiment_content
from .figures import MOST_COLUMNS
from .panels import TruthPanel
from .results import Results
from .sections import TableSection, by_data_set, families, sections

#: With these a spreadsheet takes a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: Formats of figures.
FORMATS = ("png", "svg", "pdf")


def text(results: Results) -> str:
    """Sentences and tables for the terminal."""
    parts = _sentences(results)
    for section in _each_note_once(sections(results)):
        lines = [section.heading, columns(section.header, section.rows, left=section.left)]
        parts.append("\n".join(lines + [fill(section.note, 100)] * bool(section.note)))
    return "\n\n".join(parts)


def markdown(results: Results) -> str:
    """Sentences and tables as a Markdown page."""
    lines = [f"# Results of the plan {results.name}", "", f"{results!r}"]
    for sentence in _sentences(results):
        lines += ["", " ".join(sentence.split())]
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
    data = experiment_content(results)
    found = []
    for truth in data["truths"]:
        found += [words.lead(data, truth), words.best_models(data, truth)]
        found += [words.advice(row) for row in data["advice"] if truth == "mae"]
    return [fill(sentence, 100) for sentence in found if sentence]


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
    for section in (*sections(results), *by_data_set(results)):
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
    bases = {panel.dataset for panel in panels}
    kinds = ["summary"] + ["critical"] * (len(bases) > 1)
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
