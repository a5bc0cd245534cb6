"""Before and after: a data set as it came beside the same events under drawn censoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..censoring.generate import SemiSynthetic
from ..data.outcomes import Outcomes
from ..errors import InputError, MissingExtraError
from ..reference.kaplan_meier import KaplanMeier

# Okabe and Ito's colours, told apart by colour-blind readers; lines differ in style as well.
_EVENT, _CENSORED = "#0072B2", "#E69F00"
_LINES = {"D": ("#555555", "--"), "D''": (_EVENT, "-"), "D'": ("#D55E00", ":")}
_MEANING = {"D": "as it came", "D''": "drawn censoring", "D'": "true event times"}


class SemiSyntheticDisplay:
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
    >>> from survgauge.censoring import semisynthetic
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
        self.counts = {name: self._counted(y) for name, y in self.outcomes.items()}
        fitted = data.comparison.curves
        #: Kaplan-Meier curves of D, D'' and D'.
        self.curves: dict[str, KaplanMeier] = {
            "D": fitted["original"],
            "D''": fitted["synthetic"],
            "D'": fitted["truth"],
        }

    def _counted(self, y: Outcomes) -> dict[str, Any]:
        return {
            "event": np.histogram(y.time[y.event], self.edges)[0],
            "censored": np.histogram(y.time[~y.event], self.edges)[0],
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of `frame`: what holds from `start` to `end`."""
        for name, series in self.counts.items():
            for status, counts in series.items():
                for k, count in enumerate(counts.tolist()):
                    bar = {"start": float(self.edges[k]), "end": float(self.edges[k + 1])}
                    yield (
                        {"panel": "histogram", "data": name, "series": status}
                        | bar
                        | {"value": float(count)}
                    )
        for name, curve in self.curves.items():
            starts, values = _steps(curve)
            ends = np.append(starts[1:], curve.last_time)
            for start, end, value in zip(starts, ends, values, strict=True):
                step = {"start": float(start), "end": float(end), "value": float(value)}
                yield {"panel": "kaplan_meier", "data": name, "series": "survival"} | step

    def frame(self) -> Any:
        """Table behind the figure: panel, data, series, start, end, value (pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("frame()", "pandas") from error
        return pd.DataFrame(list(self.rows()))

    def plot(self, ax: Sequence[Any] | None = None) -> Any:
        """Draw the three panels; returns the figure.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, optional
            Where to draw: D, D'', Kaplan-Meier. By default on a new figure.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtraError("plot()", "plot") from error
        if ax is None:
            # Not through pyplot: nothing is left open, and no window system is needed.
            axes = Figure(figsize=(11, 3.3), layout="constrained").subplots(1, 3)
            axes[1].sharex(axes[0])
            axes[1].sharey(axes[0])
        else:
            axes = np.ravel(np.asarray(ax, dtype=object))
            if axes.size != 3:
                raise InputError(f"ax must be three Axes (D, D'', Kaplan-Meier); got {axes.size}")
        time = f"time ({self.unit})" if self.unit else "time"
        for panel, name in zip(axes[:2], self.counts, strict=True):
            self._draw_histogram(panel, name)
            panel.set_xlabel(time)
        self._draw_curves(axes[2])
        axes[2].set_xlabel(time)
        return axes[0].figure

    def _draw_histogram(self, panel: Any, name: str) -> None:
        y, counts = self.outcomes[name], self.counts[name]
        left, width = self.edges[:-1], np.diff(self.edges)
        style = {"width": width, "align": "edge", "edgecolor": "white", "linewidth": 0.4}
        below = counts["event"]
        panel.bar(left, below, color=_EVENT, label="event", **style)
        style |= {"bottom": below, "hatch": "////", "label": "censored"}
        panel.bar(left, counts["censored"], color=_CENSORED, **style)
        rate = 100 * float(np.mean(~y.event))
        kind = f", {self.data.censoring}" if name == "D''" else ""
        size = f"{len(y):,} subjects, {rate:.1f} % censored"
        panel.set_title(f"{name}: {_MEANING[name]}{kind}\n{size}", fontsize=10)
        panel.set_ylabel("subjects")
        panel.set_xlim(0, self.edges[-1])
        panel.legend(loc="best", frameon=False)  # unsaid, a slow machine would warn

    def _draw_curves(self, panel: Any) -> None:
        for name, curve in self.curves.items():
            starts, values = _steps(curve)
            colour, line = _LINES[name]
            panel.step(
                np.append(starts, curve.last_time),
                np.append(values, values[-1]),
                where="post",
                color=colour,
                linestyle=line,
                linewidth=2.0 if name == "D'" else 1.6,
                label=f"{name}: {_MEANING[name]}",
            )
        # Where follow-up ends: past it nothing is observed, which administrative censoring hides.
        last = self.curves["D''"]
        panel.plot(last.last_time, last.last_survival, marker="o", markersize=5, color=_EVENT)
        gaps = self.data.comparison
        panel.set_title(
            "Kaplan-Meier estimates\nlargest gap of D'': "
            f"{gaps.distance_from_truth:.3f} to D', {gaps.distance:.3f} to D",
            fontsize=10,
        )
        panel.set_ylabel("survival probability")
        panel.set_xlim(0, self.edges[-1])
        panel.set_ylim(0, 1.02)
        panel.legend(loc="best", frameon=False)  # unsaid, a slow machine would warn


def _steps(curve: KaplanMeier) -> tuple[Floats, Floats]:
    """Where a curve steps, from time 0 on, and its value from there."""
    before = np.concatenate(([1.0], curve.survival[:-1]))
    moved = curve.survival != before
    starts = np.concatenate(([0.0], curve.times[moved]))
    values = np.concatenate(([1.0], curve.survival[moved]))
    # An event at time 0 replaces the starting point.
    keep = np.append(starts[1:] != starts[:-1], True)
    return starts[keep], values[keep]
