"""The mean predicted incidence of a cause against Aalen-Johansen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.calibration.cause_hazard_gap import CauseHazardGap
from ..metrics.checks import check_curves, check_times
from ..metrics.one_cause import coded
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
    #: Whether entry is delayed: `mean` then comes from the hazards of those at risk.
    by_entry: bool = False

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
        code, late = problem.cause, y.entry is not None

        def read(prediction: Prediction) -> Floats:
            if late:
                return incidence_of_those_at_risk(prediction, y, code, grid)
            return 1.0 - mean_survival(prediction, y, grid)

        found = measure_each(usable, left_out, what, read)
        bands = incidence_band(AalenJohansen.fit(y), problem.cause, grid, ev.confidence)
        return cls(
            grid, *bands, found, problem.cause_name, problem.horizon, tuple(ev.predictions),
            ev.unit, ev.confidence, left_out, late,
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
        what = f"mean of a model's predicted incidence of {words.event}"
        if self.by_entry:
            what = f"incidence of {words.event} by the mean predicted hazards of those at risk"
        return Chart(
            "Mean predicted and observed incidence",
            f"The {what} follows Aalen-Johansen of the test subjects if the model is right on "
            "average.",
            (panel,),
            left_out=self.left_out,
        )


def incidence_of_those_at_risk(
    prediction: Prediction, y: Outcomes, code: int, times: Floats
) -> Floats:
    """What the predicted hazards of those at risk say of Aalen-Johansen, under delayed entry.

    It begins where Aalen-Johansen is when enough are at risk; before that it is NaN.
    """
    if prediction.incidence is None:
        return np.full(times.size, np.nan)
    present = y.weight > 0
    known, incidence = y[present], prediction.incidence[present]
    competes = known.event & (np.asarray(known.cause) != code)
    curves: Any = check_curves(incidence.only(code), known)
    stop = min(float(known.time.max()), float(incidence.times[-1]))
    gap = CauseHazardGap.of_cause(coded(known.any_cause(), competes), curves, stop, code)
    begin, aj = gap.nodes[0], AalenJohansen.fit(known)
    free = 1.0 - sum(float(aj.at(begin, cause)) for cause in aj.causes)
    since = 1.0 - np.interp(times, gap.lines.nodes, gap.lines.right)
    inside = (times >= begin) & (times <= stop)
    return np.where(inside, float(aj.at(begin, code)) + free * since, np.nan)
