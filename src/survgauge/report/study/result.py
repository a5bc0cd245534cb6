"""A validation study: the tables, figures and words that an evaluation gives for a paper."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..._tools.running import steps
from ..._tools.text import escaped
from ...data.outcomes import Outcomes
from ...errors import InputError, MissingExtraError, SurvgaugeError, one_of
from ...evaluation import Evaluation
from ...evaluation.phrases import rounded
from .. import evaluation_html
from ..displays import display
from ..page import Markup, Section, asset, join, tag
from .methods import methods
from .printed import PrintedTable, Prose
from .table_one import table_one
from .table_two import narrowed, table_two

FORMATS = ("pdf", "svg", "png")
#: Dots per inch of pictures.
_DPI = 300
#: Width of the text in inches: a page of A4 with margins of 2 cm.
_TEXT = 17 / 2.54
_FIGURE = r"""\begin{figure}[htbp]
\centering
\includegraphics[width=%.2f\textwidth,height=0.8\textheight,keepaspectratio]{%s.pdf}
\caption{%s.}
\end{figure}
"""
_TRAIN, _TEST = "Training set", "Test set"
#: What the list of TRIPOD+AI leaves out.
_TRIPOD = (
    "Items of TRIPOD+AI (Collins et al. 2024, BMJ 385:e078378) that touch the evaluation of "
    "performance, in our words; the checklist itself is at www.tripod-statement.org. Items on "
    "title, abstract, background, predictors, model building, ethics, funding and patient "
    "involvement are the authors' alone."
)


@dataclass(frozen=True)
class Written:
    """What `Study.write` left behind: the folder, its files, and what is missing and why."""

    folder: Path
    files: tuple[str, ...]
    missing: dict[str, str]


@dataclass(frozen=True)
class Study:
    """Tables, figures and words of a validation study; from `Evaluation.study`.

    Attributes
    ----------
    evaluation : Evaluation
        Where all numbers come from, narrowed to the metrics that are reported.
    reference : str or None
        The model from which differences are shown.
    """

    evaluation: Evaluation
    reference: str | None = None
    #: Features by the name of the set that they describe.
    features: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        ev: Evaluation,
        *,
        reference: str | None = None,
        metrics: Sequence[str] | str = "study",
        X_test: Any = None,
        X_train: Any = None,
    ) -> Study:
        """Check what is asked for."""
        if not ev.predictions:
            raise InputError(
                "a study needs outcomes and predictions, and this evaluation holds none (they were "
                "streamed); call evaluate() on data in memory"
            )
        if ev.task.outcomes == "interval":
            raise InputError(
                "the tables of a study are about right-censored outcomes, and this evaluation has "
                "interval-censored ones; ev.table and ev.compare() have their numbers"
            )
        if reference is not None:
            one_of("reference", reference, ev.models)
            if len(ev.models) < 2:
                raise InputError(
                    f"reference={reference!r}: there is no other model to compare with it"
                )
        given = {_TRAIN: X_train, _TEST: X_test}
        if X_train is not None and ev.task.reference is None:
            raise InputError("X_train describes the training set: evaluate with y_train")
        features = {name: found for name, found in given.items() if found is not None}
        return cls(narrowed(ev, metrics), reference, features)

    @property
    def _sets(self) -> dict[str, Outcomes]:
        task = self.evaluation.task
        if task.reference is None:
            return {_TEST: task.y}
        # The reference set of a cause has one kind of event: the first of any cause.
        known = task.reference.whole.y if task.cause is None else task.reference.given
        train = {_TRAIN: known}
        return {**train, _TEST: task.y}

    @cached_property
    def table_one(self) -> PrintedTable:
        """Who the subjects are: training beside test."""
        ev = self.evaluation
        ends = [*ev.support["times"], ev.task.until]
        times = sorted({time for time in ends if 0 < time < float("inf")})
        table = table_one(
            self._sets,
            times,
            unit=ev.unit,
            confidence=ev.confidence or 0.95,
            features=self.features,
            groups=ev.support.get("groups"),
            words=ev.task.words,
        )
        if ev.task.sample_weight is None:
            return table
        told = "Subjects are counted as they were sampled, without their sampling weights."
        return replace(table, notes=(*table.notes, told))

    @cached_property
    def table_two(self) -> PrintedTable:
        """How good the models are, and how they differ from the reference."""
        return table_two(self.evaluation, self.reference)

    @cached_property
    def methods(self) -> Prose:
        """How the numbers were made, with references."""
        return methods(self.evaluation, self.reference)

    def tripod(self, drawn: Sequence[str] = ()) -> PrintedTable:
        """Return which items of TRIPOD+AI are covered; `drawn` are the names of figures."""
        return tripod(self.evaluation, features=bool(self.features), figures=tuple(drawn))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation and the study as plain data, ready for JSON."""
        return {
            **self.evaluation.to_dict(),
            "study": {
                "reference": self.reference,
                "table1": self.table_one.to_dict(),
                "table2": self.table_two.to_dict(),
                "methods": self.methods.plain(),
                "references": self.methods.references(),
            },
        }

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        title: str = "Validation of survival models",
    ) -> Written:
        """Write everything into a folder, which is there whole or not at all.

        Parameters
        ----------
        folder : path-like
            Where to; a new or an empty folder.
        overwrite : bool
            Whether a folder with files is accepted: files of the same names are replaced.
        title : str
            Heading of the report and of the paper.

        Returns
        -------
        Written
            `folder`, `files`, and in `missing` why some could not be made.
        """
        missing: dict[str, str] = {}
        files = fill_folder(
            folder, lambda place: missing.update(self._fill(place, title)), overwrite=overwrite
        )
        return Written(Path(folder), files, missing)

    def _fill(self, folder: Path, title: str) -> dict[str, str]:
        """Write all files into an empty folder; return what is missing and why."""
        ev, tables = self.evaluation, {"table1": self.table_one, "table2": self.table_two}
        drawn, missing = draw(ev, folder, list(planned(ev, self.reference)))
        checklist = self.tripod([figure.name for figure in drawn])
        for name, table in tables.items():
            for suffix in ("md", "tex", "html"):
                table.write(folder / f"{name}.{suffix}")
        texts = {
            "methods.md": self.methods.markdown(),
            "methods.tex": self.methods.latex(),
            "references.bib": self.methods.bibtex(),
            "tripod.md": checklist.markdown(),
            "paper.tex": paper(title, drawn),
            "report.html": evaluation_html(ev, title, sections=self._sections(checklist)),
            "results.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        try:
            (folder / "methods.docx").write_bytes(self.methods.word())
            for name, table in tables.items():
                table.write(folder / f"{name}.docx")
        except MissingExtraError as error:
            missing["Word documents"] = str(error)
        return missing

    def _sections(self, checklist: PrintedTable) -> list[Section]:
        """What the report has beside the page of the evaluation."""
        words = [tag("p", text) for text in self.methods.plain()]
        entries = [tag("li", entry.partition(". ")[2]) for entry in self.methods.references()]
        return [
            Section("table-1", "Table 1: subjects", _shown(self.table_one),
                    "Who were the subjects, and how long were they followed?"),
            Section("table-2", "Table 2: performance", _shown(self.table_two),
                    "The numbers of the paper, with intervals and differences."),
            Section("methods", "Methods paragraph", join(*words, tag("ol", *entries)),
                    "How were the numbers made, in sentences for a paper?"),
            Section("tripod", "TRIPOD+AI", _shown(checklist),
                    "Which items of the reporting guideline are covered, and which are not?"),
        ]  # fmt: skip


def tripod(ev: Evaluation, *, features: bool, figures: tuple[str, ...] = ()) -> PrintedTable:
    """Return the list of items with what the files of a study cover.

    `features` says whether Table 1 describes features; `figures` are the names of their files.
    """
    train, groups = "training_subjects" in ev.support, "groups" in ev.support
    decisions = [name for name in figures if name.startswith("decision_curve")]
    if ev.task.threshold is not None:
        decisions.insert(0, "net benefit in Table 2")
    said = {
        "both": "of training and test set" if train else "of the test set",
        "causes": ", the cause and what competes with it" * (ev.task.cause is not None),
        "drawn": f"; figures: {', '.join(figures)}" if figures else "",
        "missing": "numbers of missing values: Table 1" if features else "-",
        "clusters": "intervals allow for clusters: methods"
        if "clusters" in ev.support
        else "not examined",
        "utility": ", ".join(decisions) or "not examined (--threshold)",
        "fairness": "performance by subgroup: report.html" if groups else "not examined (--by)",
        "training": "Table 1, training beside test"
        if train
        else "no training outcomes were given (--train)",
        "characteristics": "Table 1" if features else "not described (--describe)",
        "development": "Table 1" if features and train else "needs --train and --describe",
        "subgroups": "; subgroups: report.html" * groups,
        "more_subgroups": "-" if groups else "subgroups (--by)",
        "between": "tests between groups: report.html" if groups else "not examined (--by)",
        "more_between": "-" if groups else "performance by hospital or country",
    }
    rows = tuple(
        tuple(cell.strip().format_map(said) for cell in line.split("|"))
        for line in asset("tripod.txt").splitlines()
    )
    header = ("Item", "What is asked", "Covered here", "For the authors to add")
    return PrintedTable("TRIPOD+AI items on the evaluation", header, rows, (_TRIPOD,), left=4)


def _shown(table: PrintedTable) -> Markup:
    return tag("div", Markup(table.html()), class_="table")


# -- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A figure to be drawn: name of its files, kind of display, its options and its caption."""

    name: str
    kind: str
    caption: str
    options: dict[str, Any] = field(default_factory=dict)
    #: In inches, once it is drawn.
    width: float = 0.0


def planned(ev: Evaluation, reference: str | None = None) -> Iterator[Figure]:
    """Yield the figures of an evaluation; whether each can be drawn is not known yet."""
    times = [time for time in ev.support["times"] if time == time]
    plain = ", without sampling weights" * ("effective_subjects" in ev.support)
    if ev.task.cause is not None:
        told = "Cumulative incidence of every cause, observed and predicted on average"
        yield Figure("incidence", "curves", told + plain)
    for time in times:
        mark = f"_{time:.12g}" if len(times) > 1 else ""
        at = rounded(time, ev.unit)
        yield Figure(f"calibration{mark}", "calibration_panel", f"Calibration at {at}{plain}",
                     {"time": time})  # fmt: skip
        known = ev.predictions.get(reference) if reference else None
        less = reference if known is not None and known.has("curves") else None
        options = {"time": time, "reference": less}
        yield Figure(
            f"decision_curve{mark}", "decision_curve", f"Decision curves at {at}{plain}", options
        )
    if times:
        estimate, at = ev.task.words.estimate, rounded(times[-1], ev.unit)
        told = f"{estimate} estimates by group of predicted risk at {at}"
        yield Figure("risk_groups", "risk_groups", told + plain, {"time": times[-1]})
    if "groups" in ev.support:
        yield Figure("subgroups", "metrics", "Performance in subgroups")
    if len(ev.models) > 1 and ev.confidence is not None:
        yield Figure("differences", "differences", "Differences between models")


def draw(ev: Evaluation, folder: Path, plan: list[Figure]) -> tuple[list[Figure], dict[str, str]]:
    """Write the figures into a folder; return those drawn, and why the others are missing."""
    drawn, missing = [], {}
    unknown: set[str] = set()
    for figure in steps(plan, len(plan), "drawing figures"):
        try:
            made = display(ev, figure.kind, **figure.options).plot()
        except SurvgaugeError as error:
            missing[figure.name] = str(error)
            continue
        with warnings.catch_warnings(record=True) as told:
            warnings.filterwarnings("always", "Glyph ")
            for kind in FORMATS:
                made.savefig(folder / f"{figure.name}.{kind}", dpi=_DPI)
        unknown |= _characters(told)
        drawn.append(replace(figure, width=float(made.get_size_inches()[0])))
    if unknown:
        missing["characters of the figures"] = (
            f"their font does not have {', '.join(sorted(unknown))}; give other names"
        )
    return drawn, missing


def _characters(told: list[warnings.WarningMessage]) -> set[str]:
    """Characters that the font of a figure does not have; other warnings are told as they were."""
    found = set()
    for warning in told:
        glyph = re.match(r"Glyph (\d+) ", str(warning.message))
        if glyph:
            found.add(chr(int(glyph[1])))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return found


def paper(title: str, figures: Iterable[Figure]) -> str:
    """Return the document; `figures` are those that were drawn."""
    drawn = "".join(
        _FIGURE % (min(1.0, figure.width / _TEXT), figure.name, escaped(figure.caption))
        for figure in figures
    )
    whole = asset("paper.tex").replace("FIGURES\n", drawn)
    return whole.replace("TITLE", escaped(title), 1)


def check_folder(folder: str | os.PathLike[str], overwrite: bool) -> Path:
    """Refuse, before work is done for it, a folder that cannot be written."""
    target = Path(folder)
    try:
        if target.exists() and not target.is_dir():
            raise InputError(f"cannot write into {target}: it is a file, not a folder")
        if target.is_dir() and any(target.iterdir()) and not overwrite:
            raise InputError(
                f"folder {target} has files already; name another folder, or replace those of the "
                "same names (overwrite=True, --overwrite)"
            )
        if not target.parent.is_dir():
            raise InputError(f"cannot make {target}: folder {target.parent} does not exist")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot write into {folder!r}: {error}") from error
    return target


def fill_folder(
    folder: str | os.PathLike[str], fill: Callable[[Path], object], *, overwrite: bool = False
) -> tuple[str, ...]:
    """Let `fill` write into a folder of a temporary name, then move it into its place.

    Returns the names of the files. Into a folder that exists, files are moved one by one when all
    of them are written; others in it stay.
    """
    target = check_folder(folder, overwrite)
    place = ""
    try:
        place = tempfile.mkdtemp(dir=target.parent, prefix=".survgauge-")
        made = Path(place)
        fill(made)
        names = tuple(sorted(path.name for path in made.iterdir()))
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)  # mkdtemp is stricter than a new folder
        if target.is_dir():
            for name in names:
                os.replace(made / name, target / name)
        else:
            os.rename(made, target)
    except OSError as error:
        raise InputError(f"cannot write into {target}: {error}") from error
    finally:
        if place:
            shutil.rmtree(place, ignore_errors=True)
    return names
