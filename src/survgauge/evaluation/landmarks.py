"""Evaluations at several landmarks and horizons: how good predictions are as time goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import numbers, shown, to_numpy
from .._tools.text import as_frame, plain
from .._tools.writing import write_atomically
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..metrics.conventions import Convention, takes_settings
from ..metrics.registry import default_metrics
from .call import evaluate
from .reading import checked_landmark
from .result import Evaluation
from .warning_kinds import EvaluationWarning, warned

_NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Result of `landmarks`: the surface of every metric over landmarks and horizons.

    Attributes
    ----------
    evaluations : dict of (landmark, horizon) to Evaluation
        With time counted from the landmark; missing if no subject is at risk.
    landmarks, horizons : tuple of float
        What was asked for; horizons count from the landmark.
    """

    evaluations: dict[tuple[float, float], Evaluation]
    landmarks: tuple[float, ...]
    horizons: tuple[float, ...]
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = 0.95
    warnings: tuple[EvaluationWarning, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        found = []
        for (landmark, horizon), ev in self.evaluations.items():
            supported = horizon <= ev.task.horizon * (1 + 1e-9)
            for score in ev.rows():
                shown = {name: score[name] for name in ("model", "metric")}
                for name in ("value", "low", "high", "stderr"):
                    shown[name] = score[name] if supported else _NAN
                y = ev.task.y
                count = {"subjects": y.count, "events": y.event_count}
                where = {"landmark": landmark, "horizon": horizon}
                found.append({**where, **shown, **count, "supported_until": ev.task.horizon})
        return found

    @property
    def table(self) -> Any:
        """Frame with a row per landmark, horizon, model and metric.

        Columns: landmark, horizon (since the landmark), model, metric, value, low, high, stderr
        (NaN where the data do not support the horizon), subjects and events at risk at the
        landmark, supported_until (the last time since the landmark that they support).
        """
        return as_frame(self.rows())

    def surface(self, metric: str, model: str) -> Any:
        """Return one metric of one model as an array of shape (landmarks, horizons)."""
        if metric not in self.metrics or model not in self.models:
            raise InputError(
                f"metric and model must be among {', '.join(self.metrics)} and "
                f"{', '.join(self.models)}; got {metric!r} and {model!r}"
            )
        found = {
            (row["landmark"], row["horizon"]): row["value"]
            for row in self.rows()
            if (row["metric"], row["model"]) == (metric, model)
        }
        return np.array([[found.get((s, w), _NAN) for w in self.horizons] for s in self.landmarks])

    def plot(self, metric: str | None = None, ax: Any = None, *, width: float | None = None) -> Any:
        """Draw one metric over the landmarks, a panel per horizon; returns the figure."""
        # By name: displays know evaluations, not the other way round.
        displays = import_module("survgauge.report.displays.over_time")
        return displays.landmarks(self.to_dict(), metric).plot(ax, width=width)

    def to_html(self, path: Any, *, title: str = "Predictions over landmarks") -> Any:
        """Write a page that works offline, with a chart and a table of every metric."""
        page = import_module("survgauge.report").landmarks_html(self.to_dict(), title)
        return write_atomically(Path(path), page)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return plain(
            {
                "landmarks": list(self.landmarks),
                "horizons": list(self.horizons),
                "metrics": list(self.metrics),
                "models": list(self.models),
                "unit": self.unit,
                "confidence": self.confidence,
                "table": self.rows(),
                "warnings": [warning.to_dict() for warning in self.warnings],
            }
        )

    def __repr__(self) -> str:
        return (
            f"Landmarks({len(self.landmarks)} landmarks x {len(self.horizons)} horizons x "
            f"{len(self.metrics)} metrics x {len(self.models)} models)"
        )


@takes_settings
def landmarks(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    landmarks: Sequence[float],
    horizons: Sequence[float],
    *,
    metrics: Iterable[str] | str | None = None,
    y_train: Any = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    unit: str = "",
    convention: str | Convention | None = None,
) -> Landmarks:
    """Evaluate predictions at several landmarks: for subjects at risk then, over several horizons.

    At a landmark s we evaluate subjects who have entered by s and are observed for longer, with
    time counted from s. Their predictions are conditioned on being event-free at s, S_i(s +
    u)/S_i(s); or they are predictions that were updated at s, such as those of a landmark model.

    Parameters
    ----------
    predictions : mapping of name to predictions
        As for `evaluate`, in the time of `y_test`. Instead of one prediction a model may have a
        mapping of landmark to prediction: updated predictions, for all subjects or for those at
        risk at the landmark only.
    y_test, y_train : outcomes
        Test and training outcomes; the reference set of a landmark are the training subjects at
        risk then.
    landmarks, horizons : sequence of float
        Times in that of `y_test`, and times since the landmark.
    metrics : names, optional
        By default mae_within, uno, auc, brier and ibs. Metrics read at a time are read at the
        horizon, and all that stop at tau stop there.
    confidence, random_state, unit, convention
        As for `evaluate`.

    Returns
    -------
    Landmarks
        `table`, `surface(metric, model)`, `plot(metric)`, `to_html(path)`, and the evaluation of
        every cell in `evaluations`.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 5, 10, 20], [[1, 0.8, 0.4, 0.1], [1, 0.9, 0.7, 0.4]] * 10)
    >>> y = ([6, 12, 3, 9, 15, 8, 2, 11, 7, 18] * 2, [1, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 2)
    >>> few = Convention(min_at_risk=4)
    >>> found = landmarks({"m": curves}, y, [0, 4], [6], metrics=["brier"], convention=few)
    >>> [(row["landmark"], row["subjects"], round(row["value"], 3)) for row in found.rows()]
    [(0.0, 20, 0.181), (4.0, 16, 0.199)]
    """
    times = tuple(dict.fromkeys(checked_landmark(s) for s in _listed(landmarks, "landmarks")))
    spans = tuple(dict.fromkeys(_listed(horizons, "horizons")))
    if not all(spans):
        raise InputError("horizons must be times after the landmark, above 0; got 0")
    named = dict(predictions) if isinstance(predictions, Mapping) else {"model": predictions}
    chosen = (metrics,) if isinstance(metrics, str) else metrics
    if chosen is None:  # what a study reports at the horizon, or up to it
        usual = [metric for metric in default_metrics() if metric.reported]
        chosen = [m.name for m in usual if m.family != "calibration" and (m.reads or m.stops)]
    y = Outcomes.of(y_test, "y_test", entry=True)
    found: dict[tuple[float, float], Evaluation] = {}
    said: list[EvaluationWarning] = []
    for s in times:
        if not y.observed_at(s).any():
            said.append(warned("empty-landmark", landmark=s))
            continue
        models = {name: _at(obj, s, name) for name, obj in named.items()}
        for span in spans:
            ev = evaluate(
                models, y, y_train=y_train, metrics=chosen, confidence=confidence,
                random_state=random_state, unit=unit, tau=span, landmark=s, convention=convention,
            )  # fmt: skip
            found[s, span] = ev
            end = ev.task.horizon
            if span > end * (1 + 1e-9):
                said.append(warned("landmark-past-horizon", landmark=s, end=end, horizon=span))
    if not found:
        raise InputError(
            f"landmarks: no subject is at risk at any of them; the last time is {y.time.max():g}"
        )
    first = next(iter(found.values()))
    known = tuple(dict.fromkeys(row["metric"] for row in first.rows()))
    given = times, spans, known, first.models, unit, confidence
    return Landmarks(found, *given, tuple(said))


def _listed(values: Any, argument: str) -> list[float]:
    found = numbers(np.atleast_1d(to_numpy(values, argument)), argument).astype(np.float64)
    if not found.size or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"{argument} must be times, finite and not negative; got {shown(values)}")
    return [float(value) for value in found]


def _at(obj: Any, s: float, name: str) -> Any:
    """Return what a model predicts at a landmark: updated then, or once for all."""
    if not isinstance(obj, Mapping) or not all(isinstance(key, int | float) for key in obj):
        return obj
    if s not in obj:
        raise InputError(
            f"predictions of {name!r} have no entry for landmark {s:g}; they have "
            f"{', '.join(f'{float(key):g}' for key in obj)}"
        )
    return obj[s]
