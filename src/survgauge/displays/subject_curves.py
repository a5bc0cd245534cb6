"""Predicted curves of chosen subjects, with what happened to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, numbers
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, name_some
from ..metrics.checks import check_times
from . import _style as style
from ._base import FromPredictions, Source, members

_POINTS = 201


def telling_subjects(y: Outcomes, k: int = 4) -> Ints:
    """Rows of k subjects of both statuses, early and late, in the order of their times.

    >>> telling_subjects(Outcomes([1, 2, 3, 4, 5, 6], [1, 1, 1, 0, 0, 0]))
    array([0, 2, 3, 5])
    """
    present = y.weight > 0
    parts = [np.flatnonzero(present & status) for status in (y.event, ~y.event)]
    # Each status gets its half, or all where the other does not have that many.
    share = [min(parts[0].size, k - min(parts[1].size, k // 2)), 0]
    share[1] = min(parts[1].size, k - share[0])
    chosen = []
    for rows, count in zip(parts, share, strict=True):
        if count:
            order = rows[np.argsort(y.time[rows], kind="stable")]
            places = (np.arange(count) + 0.5) / count * order.size
            chosen.append(order[places.astype(np.intp)])
    rows = np.concatenate(chosen)
    return rows[np.argsort(y.time[rows], kind="stable")]


def checked_subjects(subjects: Any, y: Outcomes, default: int = 4) -> Ints:
    """Row numbers of subjects; by default telling ones."""
    if subjects is None:
        return telling_subjects(y, default)
    rows = numbers(np.atleast_1d(subjects), "subjects")
    if rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(f"subjects must be row numbers of y_test; got {subjects!r}")
    bad = rows[(rows < -len(y)) | (rows >= len(y))]
    if bad.size:
        raise InputError(
            f"subjects must be row numbers below {len(y)}, the number of subjects; got "
            f"{name_some(bad)}"
        )
    return (rows % len(y)).astype(np.intp)


@dataclass(frozen=True, eq=False)
class SubjectCurvesDisplay(FromPredictions):
    """Predicted survival curves of a few subjects with their event or censoring time.

    Attributes
    ----------
    times : ndarray of shape (m,)
        Where the curves are read.
    survival : dict of model to ndarray of shape (k, m)
        Models that predict curves.
    predicted : dict of model to ndarray of shape (k,)
        Predicted time (of curves the median; NaN where there is none), models without times left
        out.
    subjects, time, event : ndarray of shape (k,)
        Row numbers in the test set, and what was observed.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = SubjectCurvesDisplay.from_predictions(curves, y, subjects=[1], times=[4, 6])
    >>> d.survival["model"].round(2), d.event
    (array([[0.5 , 0.35]]), array([False]))
    """

    times: Floats
    survival: dict[str, Floats]
    subjects: Ints
    time: Floats
    event: Bools
    predicted: dict[str, Floats]
    models: tuple[str, ...]
    unit: str = ""
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        subjects: Any = None,
        times: Any = None,
        models: Iterable[str] | str | None = None,
    ) -> SubjectCurvesDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        subjects : array-like of row numbers, optional
            By default four: early and late, with the event and censored.
        times : array-like, optional
            By default 201 from 0 to the last observed time.
        models : names, optional
            By default all.
        """
        usable, left_out = members(ev, "times", "a display of subjects' curves", models)
        y = ev.problem.y
        rows = checked_subjects(subjects, y)
        end = float(y.present().time.max()) or 1.0
        grid = np.linspace(0.0, end, _POINTS) if times is None else check_times(times)
        return cls(
            grid,
            {m: p.curves[rows].at(grid) for m, p in usable.items() if p.curves is not None},
            rows,
            y.time[rows],
            y.event[rows],
            {m: _times(p[rows]) for m, p in usable.items()},
            tuple(ev.predictions),
            ev.unit,
            left_out,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a point of a curve, and one for each time predicted without a curve."""
        table = []
        for model, predicted in self.predicted.items():
            curves = self.survival.get(model)
            for k, subject in enumerate(self.subjects.tolist()):
                shared = {
                    "model": model,
                    "subject": subject,
                    "observed": float(self.time[k]),
                    "event": bool(self.event[k]),
                    "predicted": float(predicted[k]),
                }
                if curves is None:
                    table.append({**shared, "time": float("nan"), "survival": float("nan")})
                    continue
                table += [
                    {**shared, "time": t, "survival": s}
                    for t, s in zip(self.times.tolist(), curves[k].tolist(), strict=True)
                ]
        return table

    def _panels(self) -> int:
        return self.subjects.size

    def _figure(self) -> list[Any]:
        k = self._panels()
        columns = min(k, 2 if k <= 4 else 3)
        rows = -(-k // columns)
        width = 3.6 if columns == 1 else 6.6
        size = (width, 1.0 + 1.75 * rows)
        return style.grid(k, columns, size, share=True)

    def _draw(self, axes: list[Any], own: bool) -> None:
        look = style.Models(self.models)
        end = float(self.times[-1])
        for k, ax in enumerate(axes):
            self._draw_outcome(ax, k)
            for model, curves in self.survival.items():
                ax.plot(self.times, curves[k], **look.line(model))
            for model in self.predicted:
                if model not in self.survival:
                    self._draw_time(ax, float(self.predicted[model][k]), look.marker(model))
            ax.set_xlim(0, end)
            ax.set_ylim(0, 1.03)
            if ax.get_subplotspec() is None or ax.get_subplotspec().is_last_row():
                ax.set_xlabel(style.time_label(self.unit))
            if ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():
                ax.set_ylabel("survival probability")
        entries = [
            style.handle(look.names[m], **look.line(m))
            if m in self.survival
            else style.handle(f"{look.names[m]}: time", linestyle="", **look.marker(m))
            for m in self.predicted
        ]
        style.legend(axes, own, entries, self.left_out, look.names)

    def _draw_outcome(self, ax: Any, k: int) -> None:
        """Mark when the event happened, or from when on nothing is known."""
        t, happened = float(self.time[k]), bool(self.event[k])
        end = float(self.times[-1])
        ax.axhline(0.5, color=style.GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)
        ax.axvline(t, color="black", linewidth=0.9, linestyle="-" if happened else ":", zorder=1)
        if happened:
            ax.plot([t], [0], marker="*", markersize=9, color="black", clip_on=False, zorder=4)
        else:
            ax.axvspan(t, max(end, t), color=style.GREY, alpha=0.12, linewidth=0, zorder=0)
        what = "event at" if happened else "censored at"
        after = f" {style.plain(self.unit)}" if self.unit else ""
        ax.set_title(f"subject {self.subjects[k]}: {what} {style.amount(t)}{after}", loc="left")

    def _draw_time(self, ax: Any, t: float, marker: dict[str, Any]) -> None:
        """Mark a predicted time; one past the axis at its end, with its value."""
        end = float(self.times[-1])
        ax.plot([min(max(t, 0.0), end)], [0.5], clip_on=False, zorder=5, **marker)
        if t > end or t < 0:
            side, shift = ("right", -5) if t > end else ("left", 5)
            ax.annotate(
                f"{style.amount(t)} →" if t > end else f"← {style.amount(t)}",
                (min(max(t, 0.0), end), 0.5),
                (shift, 4),
                textcoords="offset points",
                ha=side,
                fontsize="x-small",
                color=marker["color"],
            )


def _times(prediction: Prediction) -> Floats:
    """One time a subject."""
    if prediction.curves is not None:
        return prediction.curves.median()
    return np.asarray(prediction.times, dtype=np.float64)
