"""Which items of TRIPOD+AI a study's files cover, and what only its authors can say."""

from __future__ import annotations

from collections.abc import Iterator

from ..evaluation import Evaluation
from .printed import PrintedTable

#: What the list leaves out.
_NOTE = (
    "Items of TRIPOD+AI (Collins et al. 2024, BMJ 385:e078378) that touch the evaluation of "
    "performance, in our words; the checklist itself is at www.tripod-statement.org. Items on "
    "title, abstract, background, predictors, model building, ethics, funding and patient "
    "involvement are the authors' alone."
)
_AUTHORS = "-"


def tripod(ev: Evaluation, *, features: bool, figures: tuple[str, ...] = ()) -> PrintedTable:
    """Return the list of items with what the files of a study cover.

    `features` says whether Table 1 describes features; `figures` are the names of their files.
    """
    rows = tuple(_items(ev, features, figures))
    header = ("Item", "What is asked", "Covered here", "For the authors to add")
    return PrintedTable("TRIPOD+AI items on the evaluation", header, rows, (_NOTE,), left=4)


def _items(
    ev: Evaluation, features: bool, figures: tuple[str, ...]
) -> Iterator[tuple[str, str, str, str]]:
    train = "training_subjects" in ev.support
    groups, clusters = "groups" in ev.support, "clusters" in ev.support
    causes = ", the cause and what competes with it" if ev.problem.cause is not None else ""
    both = "of training and test set" if train else "of the test set"
    drawn = f"; figures: {', '.join(figures)}" if figures else ""
    decisions = [name for name in figures if name.startswith("decision_curve")]
    if ev.problem.threshold is not None:
        decisions.insert(0, "net benefit in Table 2")
    yield (
        "5a, 5b",
        "Sources and dates of the data",
        _AUTHORS,
        "where and when subjects were recruited, when follow-up ended, whom they stand for",
    )
    yield (
        "8a",
        "Outcome and time horizon",
        f"times and horizon{causes}: methods, Table 1 ({both})",
        "what the event is, how it was ascertained, why these times were chosen",
    )
    yield (
        "10",
        "Size of the study",
        "subjects and events: Table 1; intervals: Table 2",
        "why this size is enough",
    )
    yield (
        "11",
        "Missing values",
        "numbers of missing values: Table 1" if features else _AUTHORS,
        "why values are missing, and how predictions were made for these subjects",
    )
    yield (
        "12d",
        "Differences between clusters in the analysis",
        "intervals allow for clusters: methods" if clusters else "not examined",
        "whether clusters such as hospitals matter (--cluster, --by)",
    )
    yield (
        "12e",
        "Measures and plots of performance, and comparison of models",
        f"methods, Table 2{drawn}",
        "why these measures were chosen, and whether beforehand",
    )
    yield (
        "12e",
        "Clinical utility",
        ", ".join(decisions) or "not examined (--threshold)",
        "which decision the model is for, and why at these thresholds",
    )
    yield (
        "12f, 24",
        "Updating of the model",
        "none: predictions were taken as given",
        "any recalibration before the predictions were made",
    )
    yield (
        "12g",
        "How predictions were made",
        "files of predictions with checksums: results.json",
        "the model itself, its code or formula",
    )
    yield (
        "14",
        "Fairness",
        "performance by subgroup: report.html" if groups else "not examined (--by)",
        "which groups matter, and why",
    )
    yield (
        "16",
        "Differences between training and evaluation data",
        "Table 1, training beside test" if train else "no training outcomes were given (--train)",
        "differences in setting, eligibility and definitions",
    )
    yield (
        "18e, 18f",
        "Data and code",
        "version, command and checksums: results.json, report.html",
        "where data and code can be had",
    )
    yield (
        "20a",
        "Subjects with and without the event, follow-up",
        f"Table 1 ({both})",
        "the flow of subjects into the study, with reasons for exclusion",
    )
    yield (
        "20b",
        "Characteristics of the subjects",
        "Table 1" if features else "not described (--describe)",
        "treatments and what else readers need to know",
    )
    compared = "Table 1" if features and train else "needs --train and --describe"
    yield "20c", "Comparison with the development data", compared, "which differences matter"
    yield (
        "21",
        "Subjects and events in each analysis",
        f"Table 1 ({both}), notes of Table 2",
        "those used for tuning",
    )
    yield (
        "23a",
        "Performance with intervals, also in subgroups",
        f"Table 2{'; subgroups: report.html' if groups else ''}{drawn}",
        _AUTHORS if groups else "subgroups (--by)",
    )
    yield (
        "23b",
        "Differences in performance between clusters",
        "tests between groups: report.html" if groups else "not examined (--by)",
        _AUTHORS if groups else "performance by hospital or country",
    )
    yield (
        "26", "Limitations", "remarks on the data and metrics: What to trust in report.html",
        "what they mean for the conclusions; bias of the sample",
    )  # fmt: skip
