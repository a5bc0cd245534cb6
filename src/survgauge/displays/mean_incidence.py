"""The mean predicted incidence of a cause against Aalen-Johansen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..errors import InputError
from ..metrics.checks import check_times
from ..reference.aalen_johansen import AalenJohansen
from ._bands import incidence_band
from ._base import FromPredictions, Source, measure_each, members, records
from .description import Axis, Chart, Line, Model, Panel, horizon_marks, positions
from .mean_curves import mean_survival, time_grid


@dataclass(frozen=True, eq=False)
class MeanIncidenceDisplay(FromPredictions):
    """Aalen-Johansen of a cause in the test set against the average predicted incidence.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time.
    observed, low, high : ndarray of shape (k,)
        Aalen-Johansen with its pointwise band.
    mean : dict of model to ndarray of shape (k,)
        Average of the models' incidence of the cause; NaN where some say nothing.
    cause : str
        Name of the cause.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> curves = IncidenceCurves([1, 2, 4], [[[0.2, 0.3, 0.5], [0.1, 0.2, 0.3]]] * 4)
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1])
    >>> d = MeanIncidenceDisplay.from_predictions(curves, y, times=[2], settings={"cause": 1})
    >>> d.observed, d.mean["model"]
    (array([0.25]), array([0.3]))
    """

    times: Floats
    observed: Floats
    low: Floats
    high: Floats
    mean: dict[str, Floats]
    cause: str
    horizon: float
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, times: Any = None, models: Iterable[str] | str | None = None
    ) -> MeanIncidenceDisplay:
        """Build from an evaluation of a cause; `times` are where the curves are read."""
        what = "the mean predicted incidence"
        problem = ev.problem
        if problem.cause is None or problem.cause_name is None:
            raise InputError(f"{what} needs an evaluation of a cause: evaluate(..., cause=...)")
        usable, left_out = members(ev, "curves", what, models)
        y = problem.y
        grid = time_grid(y) if times is None else check_times(times)
        found = measure_each(usable, left_out, what, lambda p: 1.0 - mean_survival(p, y, grid))
        bands = incidence_band(AalenJohansen.fit(y), problem.cause, grid, ev.confidence)
        return cls(
            grid, *bands, found, problem.cause_name, problem.horizon, tuple(ev.predictions),
            ev.unit, ev.confidence, left_out,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per curve and time; Aalen-Johansen is a curve without a model."""
        table = records(
            model="", aalen_johansen=True, time=self.times, incidence=self.observed, low=self.low,
            high=self.high,
        )  # fmt: skip
        nan = float("nan")
        for model, mean in self.mean.items():
            table += records(
                model=model, aalen_johansen=False, time=self.times, incidence=mean, low=nan,
                high=nan,
            )  # fmt: skip
        return table

    def describe(self) -> Chart:
        """Aalen-Johansen with its band, and the mean predicted incidence of each model."""
        end, words = float(self.times[-1]), EventWords(self.cause)
        level = "" if self.confidence is None else f" with {self.confidence * 100:g} % band"
        observed = Line(
            self.times, self.observed, "ink", f"Aalen-Johansen{level}", self.low, self.high,
            step=True, width=1.1,
        )  # fmt: skip
        place = positions(self.models)
        lines = [
            Line(self.times, mean, place[model], ("mean of ", Model(model)))
            for model, mean in self.mean.items()
        ]
        panel = Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis(f"Probability of {words.the_event}", low=0),
            (observed, *lines, *horizon_marks(self.horizon, end)),
        )
        return Chart(
            "Mean predicted and observed incidence",
            f"The mean of a model's predicted incidence of {words.event} follows Aalen-Johansen of "
            "the test subjects if the model is right on average.",
            (panel,),
            left_out=self.left_out,
        )
