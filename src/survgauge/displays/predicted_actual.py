"""Predicted against actual times, with censored subjects as arrows to what they count as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats
from ..errors import one_of
from ..metrics.problem import Problem
from ..metrics.time.terms import predicted_times
from ..metrics.time.time_errors import CENSORED_METHODS
from ..reference.surrogates import METHODS, Setting, Surrogates, make_setting
from . import _style as style
from ._base import FromPredictions, Source, first_of, members

#: Most arrows that can be told apart.
_ARROWS = 150


def surrogates_of(problem: Problem, method: str) -> tuple[Setting, Surrogates]:
    """What the subjects of a problem count as, as its time errors see it."""
    one_of("method", method, CENSORED_METHODS)
    options = {k: v for k, v in problem.options.items() if k != "normalize"}
    setting = make_setting(
        problem.y, problem.reference, tau=problem.tau, censoring=problem.censoring, **options
    )
    return setting, METHODS[method](setting)


@dataclass(frozen=True, eq=False)
class PredictedActualDisplay(FromPredictions):
    """One model's predicted times against what happened.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
        Predicted times; of curves the median.
    time, event : ndarray of shape (n,)
        What was observed (up to `tau`, where given: who gets there has a known time).
    surrogate : ndarray of shape (n,)
        What a subject counts as under `method`: the event time, or for censored subjects their
        surrogate (NaN where the method has none).
    weight : ndarray of shape (n,)
        How much it counts.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = PredictedActualDisplay.from_predictions([3, 5, 6, 6], y)
    >>> d.surrogate.round(2)
    array([2., 7., 8., 6.])
    """

    model: str
    predicted: Floats
    time: Floats
    event: Bools
    surrogate: Floats
    weight: Floats
    method: str
    unit: str = ""
    tau: float | None = None

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, model: str | None = None, method: str = "po"
    ) -> PredictedActualDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        model : str, optional
            By default the first that predicts times or curves.
        method : str
            What a censored subject counts as; see `surrogate_times`.
        """
        what = "predicted against actual time"
        usable, _ = members(ev, "times", what, model)
        problem = ev.problem
        setting, found = surrogates_of(problem, method)
        name, (times, _) = first_of(
            usable, what, lambda p: predicted_times(p.times, len(problem.y), "median", problem.tau)
        )
        counted = np.where(found.defined, found.time, np.nan)
        y = setting.y
        return cls(
            name, times, y.time, y.event, counted, found.weight, method, ev.unit, problem.tau
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a subject."""
        columns = (self.predicted, self.time, self.event, self.surrogate, self.weight)
        names = ("predicted", "time", "event", "surrogate", "weight")
        return [
            {"model": self.model, "subject": k, **dict(zip(names, values, strict=True))}
            for k, values in enumerate(zip(*(c.tolist() for c in columns), strict=True))
        ]

    _size = (3.6, 3.7)

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax = axes[0]
        known = self.event | np.isfinite(self.surrogate)
        end, beyond = self._end(known)
        shown = np.minimum(self.predicted, end)
        style.diagonal(ax, end)
        events = np.flatnonzero(self.event)
        ax.plot(
            self.time[events], shown[events], linestyle="", marker="o", markersize=3.2,
            color=style.EVENT, alpha=_opacity(events.size), markeredgewidth=0, rasterized=True,
        )  # fmt: skip
        self._draw_censored(ax, shown, end)
        ax.set_xlim(0, end * 1.02)
        ax.set_ylim(1.08 * min(0.0, float(shown.min())), end * 1.02)
        capped = "" if self.tau is None else f", up to {style.amount(self.tau)}"
        ax.set_xlabel(style.time_label(self.unit, f"actual time{capped}"))
        ax.set_ylabel(style.time_label(self.unit, "predicted time"))
        title = style.plain(self.model, 40)
        if beyond:
            title += f"\n{beyond:,} of {self.time.size:,} reach past the axes (at the edge)"
        ax.set_title(title, loc="left")
        self._legend(axes, own)

    def _end(self, known: Bools) -> tuple[float, int]:
        """Where the axes end: not so far that a few tails squeeze the rest into a corner."""
        counted = np.where(known & np.isfinite(self.surrogate), self.surrogate, self.time)
        usual = (float(np.quantile(v, 0.97)) for v in (self.predicted, counted))
        end = max(1.05 * max(*usual, float(self.time.max())), 0.0) or 1.0
        return end, int(((self.predicted > end) | (counted > end)).sum())

    def _chosen(self) -> Any:
        """Censored subjects whose arrows are drawn: all, or some evenly over time."""
        rows = np.flatnonzero(~self.event & np.isfinite(self.surrogate))
        rows = rows[np.argsort(self.time[rows], kind="stable")]
        if rows.size <= _ARROWS:
            return rows
        return rows[np.linspace(0, rows.size - 1, _ARROWS).astype(np.intp)]

    def _draw_censored(self, ax: Any, shown: Floats, end: float) -> None:
        censored = np.flatnonzero(~self.event)
        ax.plot(
            self.time[censored], shown[censored], linestyle="", marker="o", markersize=3.2,
            markerfacecolor="white", markeredgecolor=style.CENSORED, markeredgewidth=0.6,
            alpha=_opacity(censored.size), rasterized=True,
        )  # fmt: skip
        rows = self._chosen()
        if not rows.size:
            return
        # Surer surrogates are drawn darker.
        strength = 0.15 + 0.6 * np.clip(self.weight[rows], 0, 1)
        start, stop = self.time[rows], np.minimum(self.surrogate[rows], end)
        ax.quiver(
            start, shown[rows], stop - start, np.zeros(rows.size), angles="xy",
            scale_units="xy", scale=1, color=style.CENSORED, alpha=strength, width=0.0022,
            headwidth=5, headlength=6, headaxislength=6, zorder=1,
        )  # fmt: skip

    def _legend(self, axes: list[Any], own: bool) -> None:
        count = int((~self.event).sum())
        events, rows = int(self.event.sum()), self._chosen()
        dot = {"linestyle": "", "marker": "o", "markersize": 4}
        known = "event" if self.tau is None else "known time"
        entries = [style.handle(f"{known} ({events:,})", color=style.EVENT, **dot)]
        if count:
            label = f"censored ({count:,})"
            if rows.size:
                label += f", arrow to {self.method} surrogate"
                if rows.size < count:
                    label += f", {rows.size} drawn"
            hollow = {"markerfacecolor": "white", "markeredgecolor": style.CENSORED}
            entries.append(style.handle(label, **dot, **hollow))
        entries.append(
            style.handle(
                "predicted = actual", color=style.GREY, linestyle=(0, (3, 2)), linewidth=0.8
            )
        )
        style.legend(axes, own, entries)


def _opacity(n: int) -> float:
    """Let crowded points show how crowded they are."""
    return float(np.clip(900 / max(n, 1), 0.1, 0.85))
