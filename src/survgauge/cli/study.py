r"""`survgauge study`: write the tables and figures of a validation paper.

Write the tables, figures and methods paragraph of a validation study.

Examples
--------
a model at five years, with the patients of the training set beside those of the test set:
  survgauge study --test test.csv --train train.csv --pred cox=cox.csv \
      --tau 1825 --unit days --describe age,grade --out study
two models compared with the first one, decisions at a threshold of 20 %, by hospital:
  ... --pred cox=cox.csv --pred rsf=rsf.csv --reference cox --threshold 0.2 --by hospital

The folder then has Table 1 and Table 2 (Markdown, LaTeX, HTML, Word), figures (PDF, SVG, PNG), the
methods paragraph with references, a list of TRIPOD+AI items, the report as a page, and all numbers
as JSON. 'pdflatex paper' in it makes a document of them.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.text import width
from ..data.files import read_columns
from ..data.tables import Table
from ..errors import InputError, one_of
from ..evaluation.text import Line, first_warnings, verdict_lines, warning_lines
from ..report.study.result import check_folder
from ..report.study.table_two import slim
from .evaluate import evaluate_files, metric_names, traced
from .inputs import by_model, columns_named, feature_files, files_of, named, target
from .output import write_lines

if TYPE_CHECKING:
    from ..report.study.result import Study, Written


def run(args: argparse.Namespace) -> int:
    """Evaluate, write the folder, print the first screen."""
    names = [args.test, args.train, *feature_files(args.features), *map(target, args.pred)]
    files = files_of(*names)
    check_folder(args.out, args.overwrite)
    if args.reference is not None:
        one_of(
            "--reference", args.reference, list(by_model(named(args.pred, "--pred", "FILE"), args))
        )
    if not Path(args.test).is_file() and files[args.test]:
        raise InputError(
            f"--test {args.test}: a study reads its subjects from one file; 'survgauge evaluate' "
            "streams a folder"
        )
    features = _described(args)
    args.metrics = "study" if args.metrics is None else args.metrics
    ev = traced(evaluate_files(args, named_groups=True), args, files)
    study = ev.study(reference=args.reference, metrics=metric_names(args.metrics), **features)
    written = study.write(args.out, overwrite=args.overwrite, title=args.title)
    write_lines(_screen(study, written, width()))
    return 0


def _described(args: argparse.Namespace) -> dict[str, Any]:
    """Read the columns that Table 1 describes; one that --train does not have is left out there."""
    word, option = args.describe, "--describe"
    if word is None and args.features is not None and not feature_files(args.features):
        word, option = args.features[0], "--features"
    if word is None:
        return {}
    names = columns_named(args, word, option)
    found = {"X_test": read_columns(args.test, names)}
    if args.train is not None:
        known = Table(args.train).names
        found["X_train"] = read_columns(args.train, [name for name in names if name in known])
    return found


def _screen(study: Study, written: Written, columns: int) -> Iterator[Line]:
    """Yield the verdict, the values of Table 2, what to watch out for, and the files."""
    data = study.evaluation.to_dict()
    overall = [row for row in data["metrics"] if row.get("group") is None]
    yield from verdict_lines({**data, "metrics": overall}, columns, shell=True)
    yield "", ""
    for line in slim(study.evaluation).text(columns).split("\n"):
        yield line, ""
    yield "", ""
    first = first_warnings(study.evaluation, list({row["metric"]: None for row in overall}))
    told = warning_lines(study.evaluation, first, columns, shell=True)
    yield from [*told, ("", "")] if told else []
    yield f"Files in {written.folder}", "bold"
    for line in textwrap.wrap(", ".join(_joined(written.files)), columns - 2):
        yield f"  {line}", ""
    for what, why in written.missing.items():
        for line in textwrap.wrap(f"{what}: not made, because {why}", columns - 2):
            yield f"  {line}", "dim"


def _joined(files: tuple[str, ...]) -> list[str]:
    """Join the endings of files of one name.

    >>> _joined(("table1.md", "table1.tex", "tripod.md"))
    ['table1 (md, tex)', 'tripod.md']
    """
    found: dict[str, list[str]] = {}
    for name in files:
        stem, _, ending = name.rpartition(".")
        found.setdefault(stem, []).append(ending)
    return [
        f"{stem} ({', '.join(endings)})" if len(endings) > 1 else f"{stem}.{endings[0]}"
        for stem, endings in found.items()
    ]
