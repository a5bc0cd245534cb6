"""A validation study: the tables, figures and words that an evaluation gives for a paper."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..data.outcomes import Outcomes
from ..errors import InputError, MissingExtraError, one_of
from ..evaluation import Evaluation
from ..report import evaluation_html
from ..report.markup import Markup, join, tag
from ..report.shell import Section
from . import figures
from .folder import fill_folder
from .methods import methods
from .paper import paper
from .printed import PrintedTable
from .prose import Prose
from .table_one import table_one
from .table_two import narrowed, table_two
from .tripod import tripod

_TRAIN, _TEST = "Training set", "Test set"


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
        The model from which differences are told.
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
        if not ev.all_outcomes or not ev.predictions:
            raise InputError(
                "a study needs outcomes and predictions, and this evaluation holds none (they were "
                "streamed); call evaluate() on data in memory"
            )
        if ev.problem.outcomes == "interval":
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
        if X_train is not None and ev.problem.reference is None:
            raise InputError("X_train describes the training set: evaluate with y_train")
        features = {name: found for name, found in given.items() if found is not None}
        return cls(narrowed(ev, metrics), reference, features)

    @property
    def _sets(self) -> dict[str, Outcomes]:
        problem = self.evaluation.problem
        if problem.reference is None:
            return {_TEST: problem.y}
        # The reference set of a cause has one kind of event: the first of any cause.
        known = problem.reference.whole.y if problem.cause is None else problem.reference.given
        train = {_TRAIN: known}
        return {**train, _TEST: problem.y}

    @cached_property
    def table_one(self) -> PrintedTable:
        """Who the subjects are: training beside test."""
        ev = self.evaluation
        ends = [*ev.support["times"], ev.problem.until]
        times = sorted({time for time in ends if 0 < time < float("inf")})
        table = table_one(
            self._sets,
            times,
            unit=ev.unit,
            confidence=ev.confidence or 0.95,
            features=self.features,
            groups=ev.support.get("groups"),
            words=ev.problem.words,
        )
        if ev.problem.sample_weight is None:
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
        drawn, missing = figures.draw(ev, folder, list(figures.planned(ev, self.reference)))
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


def _shown(table: PrintedTable) -> Markup:
    return tag("div", Markup(table.html()), class_="table")
