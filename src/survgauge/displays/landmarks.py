"""A metric over landmarks: how good predictions are for those still at risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, UndefinedMetricError, one_of
from ..evaluation.landmarks import Landmarks
from ..evaluation.when import metric_unit
from ..metrics.registry import REGISTRY
from ._base import Display
from .description import Axis, Chart, Line, Mark, Model, Panel, amount, positions
from .measures import plain_float


@dataclass(frozen=True, eq=False)
class LandmarksDisplay(Display):
    """One metric of all models over the landmarks, a panel for each horizon.

    Attributes
    ----------
    values : list of dict
        landmark, horizon, model, value, low, high, subjects.
    metric, title, direction : str
        Which metric, its name for people, and which values are better.

    Examples
    --------
    >>> from survgauge import SurvivalCurves, landmarks
    >>> curves = SurvivalCurves([0, 5, 10, 20], [[1, 0.8, 0.4, 0.1], [1, 0.9, 0.7, 0.4]] * 10)
    >>> y = ([6, 12, 3, 9, 15, 8, 2, 11, 7, 18] * 2, [1, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 2)
    >>> found = landmarks({"m": curves}, y, [0, 4], [6], metrics=["brier"], min_at_risk=4)
    >>> shown = LandmarksDisplay.from_landmarks(found)
    >>> shown.metric, len(shown.describe().panels)
    ('brier', 1)
    """

    values: list[dict[str, Any]]
    metric: str
    title: str
    direction: str
    models: tuple[str, ...]
    unit: str = ""

    @classmethod
    def from_landmarks(cls, found: Landmarks, *, metric: str | None = None) -> LandmarksDisplay:
        """Build from the result of `landmarks`; by default its first metric."""
        return cls.from_record(found.to_dict(), metric)

    @classmethod
    def from_record(cls, record: dict[str, Any], metric: str | None = None) -> LandmarksDisplay:
        """Build from the plain data of `Landmarks.to_dict`."""
        if not record["metrics"]:
            raise InputError("landmarks: no metric has a value to draw")
        name = record["metrics"][0] if metric is None else metric
        one_of("metric", name, record["metrics"])
        numbers = ("value", "low", "high")
        rows = [
            {k: row[k] for k in ("landmark", "horizon", "model", "subjects")}
            | {k: plain_float(row[k]) for k in numbers}
            for row in record["table"]
            if row["metric"] == name
        ]
        known = REGISTRY[name]
        models = tuple(record["models"])
        return cls(rows, name, known.title, known.direction, models, record["unit"] or "")

    def rows(self) -> list[dict[str, Any]]:
        """Return the table behind the figure as plain dictionaries, without pandas."""
        return [{"metric": self.metric, **row} for row in self.values]

    def describe(self) -> Chart:
        """Describe the figure: its panels, axes, marks and words."""
        asked = dict.fromkeys(row["horizon"] for row in self.values)
        known = {row["horizon"] for row in self.values if np.isfinite(row["value"])}
        horizons = [horizon for horizon in asked if horizon in known]
        if not horizons:
            raise UndefinedMetricError(f"{self.metric} has no value at any landmark and horizon")
        why = "the data do not support it from any landmark on"
        gone = {f"horizon {amount(h, self.unit)}": why for h in asked if h not in known}
        better = {"lower": "Lower is better.", "higher": "Higher is better."}
        caption = (
            f"{self.title} for those at risk at each landmark, by the horizon since then, with "
            f"intervals. {better.get(self.direction, '')} A gap says that the data do not support "
            "the horizon."
        )
        return Chart(
            f"{self.title} over landmarks",
            caption.strip(),
            tuple(self._panel(horizon) for horizon in horizons),
            columns=min(len(horizons), 2),
            shared="y",
            width=3.5 if len(horizons) == 1 else 7.0,
            left_out=gone,
        )

    def _panel(self, horizon: float) -> Panel:
        places, marks = positions(self.models), list[Mark]()
        for model in self.models:
            rows = [
                row
                for row in self.values
                if (row["horizon"], row["model"]) == (horizon, model) and np.isfinite(row["value"])
            ]
            if not rows:
                continue
            names = ("landmark", "value", "low", "high")
            x, y, low, high = np.array([[row[name] for name in names] for row in rows]).T
            if not np.isfinite([low, high]).all():
                low = high = None
            marks.append(Line(x, y, places[model], (Model(model),), low, high, marked=True))
        return Panel(
            Axis.time(self.unit, "Landmark time"),
            Axis(self.title, metric_unit(REGISTRY[self.metric], self.unit)),
            tuple(marks),
            title=f"Horizon {amount(horizon, self.unit)}",
        )
