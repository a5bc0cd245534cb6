"""Mean predicted incidence of all causes, stacked, against the stack that was observed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.chunks import BLOCK_VALUES, chunks
from ..data.event_words import cause_label
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.checks import check_times
from ..reference.aalen_johansen import AalenJohansen
from ._base import FromPredictions, Source, measure_each, members, records
from ._times import time_grid
from .calibration import panel_per_model
from .description import Axis, Chart, Line, Mark, Model, Panel, horizon_marks
from .mean_curves import incidence_of_those_at_risk, mean_survival, survival_of_those_at_risk

#: How dark the parts of the stack are.
_SHADE = 0.32


@dataclass(frozen=True, eq=False)
class StackedIncidenceDisplay(FromPredictions):
    """Average predicted incidence of every cause on top of each other, one panel per model.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time.
    causes : tuple of str
        From the bottom of the stack, the cause that is asked about first; None stands for one kind
        of event.
    observed : ndarray of shape (causes, k)
        Aalen-Johansen of each cause in the test set, not stacked.
    predicted : dict of model to ndarray of shape (causes, k)
        Average of the models' incidence of each cause; NaN where some say nothing.

    Examples
    --------
    >>> curves = IncidenceCurves([1, 2, 4], [[[0.2, 0.3, 0.5], [0.1, 0.2, 0.3]]] * 4)
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1])
    >>> d = StackedIncidenceDisplay.from_predictions(
    ...     curves, y, times=[2], settings={"cause": 2, "min_at_risk": 1})
    >>> d.causes, d.observed.ravel(), d.predicted["model"].ravel()
    (('2', '1'), array([0.25, 0.25]), array([0.2, 0.3]))
    """

    times: Floats
    causes: tuple[str | None, ...]
    observed: Floats
    predicted: dict[str, Floats]
    horizon: float
    models: tuple[str, ...]
    #: Places of the causes among all, which are their roles in every figure.
    places: tuple[int, ...] = (0,)
    unit: str = ""
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, times: Any = None, models: Iterable[str] | str | None = None
    ) -> StackedIncidenceDisplay:
        """Build from an evaluation; `times` are where the curves are read."""
        what = "stacked predicted incidence"
        usable, left_out = members(ev, "curves", what, models)
        problem, y = ev.problem, ev.problem.y
        grid = time_grid(y) if times is None else check_times(times)
        codes = _bottom_first(y, problem.cause)
        found = measure_each(usable, left_out, what, lambda p: _predicted(p, y, codes, grid))
        aj = AalenJohansen.fit(y)
        names = (None,) if y.causes is None else tuple(y.causes[code - 1] for code in codes)
        return cls(
            grid, names, np.stack([aj.at(grid, code) for code in codes]), found, problem.horizon,
            tuple(ev.predictions), tuple(code - 1 for code in codes), ev.unit, left_out,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model, cause and time; what was observed is a model without a name.

        `top` is the upper end in the stack.
        """
        table = []
        for model, values in (("", self.observed), *self.predicted.items()):
            for cause, incidence, top in zip(
                self.causes, values, np.cumsum(values, axis=0), strict=True
            ):
                table += records(
                    model=model, observed=model == "", cause=cause or "", time=self.times,
                    incidence=incidence, top=top,
                )  # fmt: skip
        return table

    def describe(self) -> Chart:
        """One panel per model: predicted parts as areas, observed ones as lines."""
        estimate = "1 - Kaplan-Meier" if None in self.causes else "Aalen-Johansen"
        panels = [self._panel(model, estimate) for model in self.predicted]
        return Chart(
            "Stacked predicted incidence",
            "Areas are the mean predicted probabilities of an event of each cause, on top of each "
            "other; what is left above them is the probability of no event. Lines are the same as "
            f"observed ({estimate} of the test subjects): the edges of the areas follow them if a "
            "model is right on average.",
            tuple(panels), **panel_per_model(len(panels)), left_out=self.left_out,
        )  # fmt: skip

    def _panel(self, model: str, estimate: str) -> Panel:
        end = float(self.times[-1])
        tops, seen = (np.cumsum(v, axis=0) for v in (self.predicted[model], self.observed))
        areas: list[Mark] = []
        lines: list[Mark] = []
        for k, cause in enumerate(self.causes):
            base = tops[k - 1] if k else np.where(np.isnan(tops[0]), np.nan, 0.0)
            called = "event" if cause is None else cause_label(cause)
            areas.append(
                Line(self.times, tops[k], self.places[k], f"{called}, predicted", base, tops[k],
                     dash="solid", width=1.0, shade=_SHADE)
            )  # fmt: skip
            label = "" if k else f"observed ({estimate})"
            lines.append(
                Line(self.times, seen[k], "ink", label, step=True, dash="dashed", width=1.1,
                     name=f"{called}, observed")
            )  # fmt: skip
        return Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis("Probability of an event", low=0, high=1.03),
            (*areas, *lines, *horizon_marks(self.horizon, end)),
            (Model(model),),
            height=2.4,
        )


def _bottom_first(y: Outcomes, cause: int | None) -> list[int]:
    """Codes of all causes, the one in question first."""
    codes = range(1, len(y.causes or ("1",)) + 1)
    return sorted(codes, key=lambda code: code != cause)


def _predicted(prediction: Prediction, y: Outcomes, codes: list[int], times: Floats) -> Floats:
    """Average predicted incidence of each cause; of one kind of event 1 - mean survival.

    Under delayed entry it is that of the mean hazards of those at risk.
    """
    if prediction.incidence is None:
        read = mean_survival if y.entry is None else survival_of_those_at_risk
        return 1.0 - read(prediction, y, times)[None]
    if y.entry is not None:
        return np.stack([incidence_of_those_at_risk(prediction, y, k, times) for k in codes])
    return mean_incidence(prediction.incidence, y.weight, codes, times)


def mean_incidence(
    curves: IncidenceCurves, weight: Floats, codes: list[int], times: Floats
) -> Floats:
    """Average of the curves of some causes at `times`, in blocks of rows: (causes, times).

    >>> curves = IncidenceCurves([1, 2], [[[0.2, 0.5]], [[0.0, 0.1]]])
    >>> mean_incidence(curves, np.array([1.0, 1.0]), [1], np.array([2.0]))
    array([[0.3]])
    """
    share = weight / weight.sum()
    total = np.zeros((len(codes), times.size))
    width = times.size + curves.times.size
    for rows in chunks(share.size, size=max(BLOCK_VALUES // width, 1)):
        known = np.flatnonzero(share[rows] > 0)
        block = curves[rows][known]
        for k, code in enumerate(codes):
            total[k] += share[rows][known] @ block.at(times, code)
    return total
