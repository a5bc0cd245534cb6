"""Before and after: a dataset as it came beside the same events under drawn censoring."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.kaplan_meier import KaplanMeier
from ...report.displays import Display, records
from ...report.displays.description import Axis, Bars, Chart, Line, Mark, Panel, Points
from .generate import SemiSynthetic

#: Role and line of the three curves.
_LOOKS: dict[str, tuple[int | str, str]] = {
    "D": ("soft", "dashed"), "D''": (0, "solid"), "D'": (1, "dotted"),
}  # fmt: skip
_MEANING = {"D": "as it came", "D''": "drawn censoring", "D'": "true event times"}


class SemiSyntheticDisplay(Display):
    """The panel of histograms and Kaplan-Meier curves of D and D''.

    Two histograms show when events and censorings happen, in the data that came in (D) and in
    the semi-synthetic data (D''), on common axes; the third panel shows the Kaplan-Meier curves of
    both and the true distribution of the events (D'), which D'' should follow if the drawn
    censoring is independent.

    Parameters
    ----------
    data : SemiSynthetic
        From `semisynthetic`.
    bins : int
        Number of bars of a histogram.
    unit : str
        Unit of time, for the axes.

    Examples
    --------
    >>> from survgauge.bench.censoring import semisynthetic
    >>> ss = semisynthetic(None, ([2, 4, 6, 8, 9], [1, 1, 1, 1, 0]), random_state=1)
    >>> display = SemiSyntheticDisplay(ss, bins=3)
    >>> display.counts["D''"]["censored"]
    array([1, 1, 0])
    """

    def __init__(self, data: SemiSynthetic, bins: int = 30, unit: str = "") -> None:
        if not isinstance(data, SemiSynthetic):
            raise InputError(
                f"data must be the result of semisynthetic(); got {type(data).__name__}"
            )
        if bins < 1:
            raise InputError(f"bins must be at least 1; got {bins}")
        self.data = data
        self.unit = unit
        #: D and D''.
        self.outcomes: dict[str, Outcomes] = {"D": data.original, "D''": data.y}
        end = max(float(y.time.max()) for y in self.outcomes.values())
        #: Edges of the bars.
        self.edges: Floats = np.linspace(0.0, end, bins + 1)
        #: Events and censorings per bar.
        self.counts = {
            name: {
                status: np.histogram(y.time[rows], self.edges)[0]
                for status, rows in (("event", y.event), ("censored", ~y.event))
            }
            for name, y in self.outcomes.items()
        }
        #: Kaplan-Meier curves of D, D'' and D'.
        self.curves = data.comparison.curves

    def rows(self) -> list[dict[str, Any]]:
        """Rows of `frame` (panel, data, series, start, end, value): what holds from `start` on."""
        found = []
        for name, series in self.counts.items():
            for status, counts in series.items():
                found += records(
                    panel="histogram", data=name, series=status, start=self.edges[:-1],
                    end=self.edges[1:], value=counts.astype(np.float64),
                )  # fmt: skip
        for name, curve in self.curves.items():
            starts, values = _steps(curve)
            found += records(
                panel="kaplan_meier", data=name, series="survival", start=starts,
                end=np.append(starts[1:], curve.last_time), value=values,
            )  # fmt: skip
        return found

    def describe(self) -> Chart:
        """Histograms of D and D'' and the Kaplan-Meier curves."""
        return Chart(
            "Before and after censoring",
            "When events and censorings happen in the data as they came (D) and under drawn "
            "censoring (D''), and the Kaplan-Meier curves, which follow the true event times (D') "
            "if the drawn censoring is independent of them.",
            (*(self._histogram(name) for name in self.counts), self._kaplan_meier()),
            columns=3,
            width=10.5,
        )

    def _time(self) -> Axis:
        return Axis.time(self.unit, low=0, high=float(self.edges[-1]))

    def _histogram(self, name: str) -> Panel:
        y, counts = self.outcomes[name], self.counts[name]
        whole = {key: part["event"] + part["censored"] for key, part in self.counts.items()}
        top = 1.05 * max(float(part.max()) for part in whole.values())
        bars = (
            Bars(self.edges, 0.0, counts["event"], "event", "event"),
            Bars(self.edges, counts["event"], whole[name], "censored", "censored", hollow=True),
        )
        kind = f", {self.data.censoring}" if name == "D''" else ""
        size = f"{len(y):,} subjects, {100 * float(np.mean(~y.event)):.1f} % censored"
        title = f"{name}: {_MEANING[name]}{kind}\n{size}"
        return Panel(self._time(), Axis("Subjects", low=0, high=top), bars, title, height=2.9)

    def _kaplan_meier(self) -> Panel:
        marks: list[Mark] = []
        for name, curve in self.curves.items():
            starts, values = _steps(curve)
            role, dash = _LOOKS[name]
            marks.append(
                Line(
                    np.append(starts, curve.last_time), np.append(values, values[-1]), role,
                    f"{name}: {_MEANING[name]}", step=True, dash=dash, width=1.6,
                )
            )  # fmt: skip
        # Where follow-up ends: past it nothing is observed, which administrative censoring hides.
        last = self.curves["D''"]
        marks.append(Points([last.last_time], [last.last_survival], 0, size=5))
        gaps = self.data.comparison
        title = (
            "Kaplan-Meier estimates\nlargest gap of D'': "
            f"{gaps.distance_from_truth:.3f} to D', {gaps.distance:.3f} to D"
        )
        chance = Axis("Survival probability", low=0, high=1.02)
        return Panel(self._time(), chance, tuple(marks), title, height=2.9)


def _steps(curve: KaplanMeier) -> tuple[Floats, Floats]:
    """Where a curve steps, from time 0 on, and its value from there."""
    before = np.concatenate(([1.0], curve.survival[:-1]))
    moved = curve.survival != before
    starts = np.concatenate(([0.0], curve.times[moved]))
    values = np.concatenate(([1.0], curve.survival[moved]))
    # An event at time 0 replaces the starting point.
    keep = np.append(starts[1:] != starts[:-1], True)
    return starts[keep], values[keep]
