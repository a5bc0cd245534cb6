"""Figures of a study: which there are, and their files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..displays import display
from ..errors import SurvgaugeError
from ..evaluation import Evaluation
from ..evaluation.when import rounded

FORMATS = ("pdf", "svg", "png")
#: Dots per inch of pictures.
_DPI = 300


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
    if ev.problem.cause is not None:
        yield Figure("incidence", "incidence", "Cumulative incidence of every cause")
        told = "Mean predicted incidence of all causes, stacked, and what was observed"
        yield Figure("stacked_incidence", "stacked_incidence", told)
    for time in times:
        mark = f"_{time:.12g}" if len(times) > 1 else ""
        at = rounded(time, ev.unit)
        yield Figure(f"calibration{mark}", "calibration_panel", f"Calibration at {at}",
                     {"time": time})  # fmt: skip
        known = ev.predictions.get(reference) if reference else None
        less = reference if known is not None and known.has("curves") else None
        options = {"time": time, "reference": less}
        yield Figure(f"decision_curve{mark}", "decision_curve", f"Decision curves at {at}", options)
    if times:
        estimate, at = ev.problem.words.estimate, rounded(times[-1], ev.unit)
        told = f"{estimate} estimates by group of predicted risk at {at}"
        yield Figure("risk_groups", "risk_groups", told, {"time": times[-1]})
    if "groups" in ev.support:
        yield Figure("subgroups", "groups", "Performance in subgroups")
    if len(ev.models) > 1 and ev.confidence is not None:
        yield Figure("differences", "differences", "Differences between models")


def draw(ev: Evaluation, folder: Path, plan: list[Figure]) -> tuple[list[Figure], dict[str, str]]:
    """Write the figures into a folder; return those drawn, and why the others are missing."""
    drawn, missing = [], {}
    unknown: set[str] = set()
    for figure in plan:
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
