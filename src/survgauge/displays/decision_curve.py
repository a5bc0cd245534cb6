"""Decision curves: what deciding by the models gains at each threshold of the risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..errors import InputError, UndefinedMetricError, one_of
from ..metrics.decision.net_benefit import NetBenefit, net_benefit
from ._base import FromPredictions, Source, band, by_model, measure_each, members, records
from .calibration import time_of_interest
from .description import Axis, Chart, Line, Model, Panel, Rule, amount, largest, positions

#: Values with their lower and upper bounds.
Bounded = tuple[Floats, Floats, Floats]
#: Thresholds that a figure has at most, where none are given.
_MOST_THRESHOLDS = 50
#: What a curve shows, and how its axis says so.
SCALES = {
    "net_benefit": "Net benefit",
    "standardised": "Standardised net benefit",
    "interventions_avoided": "Net interventions avoided\nper 100 subjects",
}
_CAPTION = {
    "net_benefit": (
        "Net benefit of treating the subjects whose predicted risk is at least the threshold: true "
        "positives per subject, less false positives at the odds of the threshold."
    ),
    "standardised": (
        "Net benefit of treating the subjects whose predicted risk is at least the threshold, as "
        "a share of the largest possible one (the observed risk)."
    ),
    "interventions_avoided": (
        "Treatments avoided per 100 subjects compared with treating everybody, at no lost benefit."
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class DecisionCurveDisplay(FromPredictions):
    """Net benefit of the models over thresholds, with treating everybody and nobody.

    Attributes
    ----------
    time : float
        By when events count.
    thresholds : ndarray of shape (k,)
        Risks from which on a subject is treated.
    scale : {"net_benefit", "standardised", "interventions_avoided"}
        What all values are; interventions avoided are per 100 subjects.
    value, low, high : dict of model to ndarray of shape (k,)
        The curve of each model with its pointwise band.
    treat_all, treat_none : ndarray of shape (k,)
        The same of treating everybody and nobody.
    difference, difference_low, difference_high : dict of model to ndarray of shape (k,)
        Models less `reference` on the same subjects, with the paired band; empty without one.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = DecisionCurveDisplay.from_predictions(curves, y, time=5, thresholds=[0.2, 0.6])
    >>> d.value["model"], d.treat_all.round(3)
    (array([0.125, 0.25 ]), array([ 0.062, -0.875]))
    """

    time: float
    thresholds: Floats
    scale: str
    value: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    treat_all: Floats
    treat_none: Floats
    models: tuple[str, ...]
    reference: str | None = None
    difference: dict[str, Floats] = field(default_factory=dict)
    difference_low: dict[str, Floats] = field(default_factory=dict)
    difference_high: dict[str, Floats] = field(default_factory=dict)
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    #: Name of the cause that is treated; None: there is one kind of event.
    cause: str | None = None

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        time: float | None = None,
        thresholds: Any = None,
        scale: str = "net_benefit",
        reference: str | None = None,
        models: Iterable[str] | str | None = None,
    ) -> DecisionCurveDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        time : float, optional
            By when events count; by default the evaluation's time of interest.
        thresholds : array-like, optional
            Risks from which on a subject is treated; by default about fifty, up to one
            that a model says of 2 % of the subjects, at most 0.9.
        scale : {"net_benefit", "standardised", "interventions_avoided"}
            What to show; see `NetBenefit`.
        reference : str, optional
            A model; differences of the others from it are shown in a panel of their own.
        models : names, optional
            By default all.
        """
        one_of("scale", scale, tuple(SCALES))
        usable, left_out = members(ev, "curves", "a decision curve", models)
        if reference is not None:
            one_of("reference", reference, usable)
        y, when = ev.problem.y, time_of_interest(ev.problem, time)
        cause, words = ev.problem.cause, ev.problem.words
        if thresholds is None:
            present = y.weight > 0
            thresholds = _thresholds([1 - p.curves.at(when)[present] for p in usable.values()])  # type: ignore[union-attr]
        found = measure_each(
            usable, left_out, "net benefit",
            lambda p: net_benefit(y, p.curves, when, thresholds=thresholds, cause=cause),
        )  # fmt: skip
        first = next(iter(found.values()))
        if not first.incidence > 0:
            raise UndefinedMetricError(
                f"a decision curve is undefined: there is no {words.by(amount(when, ev.unit))}"
            )
        curves = {m: _curve(result, scale, ev.confidence) for m, result in found.items()}
        gaps: dict[str, Bounded] = {}
        if reference is not None:
            if reference not in found:
                raise InputError(
                    f"reference {reference!r} has no net benefit: {left_out[reference]}"
                )
            gaps = {
                m: _gap(result, found[reference], scale, ev.confidence)
                for m, result in found.items() if m != reference
            }  # fmt: skip
        value, low, high = by_model(curves)
        treat_all, treat_none = _strategies(first, scale)
        gap, gap_low, gap_high = by_model(gaps) if gaps else ({}, {}, {})
        return cls(
            when, first.thresholds, scale, value, low, high, treat_all, treat_none,
            tuple(ev.predictions), reference, gap, gap_low, gap_high, ev.unit, ev.confidence,
            left_out, words.cause,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and threshold."""
        table = []
        for model in self.value:
            columns = {name: getattr(self, name)[model] for name in ("value", "low", "high")}
            columns |= {"treat_all": self.treat_all, "treat_none": self.treat_none}
            if model in self.difference:
                gaps = ("difference", "difference_low", "difference_high")
                columns |= {name: getattr(self, name)[model] for name in gaps}
            table += records(
                model=model, time=self.time, scale=self.scale, threshold=self.thresholds, **columns
            )
        return table

    def describe(self) -> Chart:
        """Curves of the models and of treating everybody and nobody; below them differences."""
        level = (
            "" if self.confidence is None else f" Bands are {self.confidence * 100:g} % pointwise."
        )
        caption = (
            f"{_CAPTION[self.scale]} A model is worth using at thresholds where it is above both "
            f"treating everybody and treating nobody.{level}"
        )
        panels = [self._curves()]
        if self.difference:
            panels.append(self._differences())
            caption += f" The lower panel shows the other models less {self.reference}."
        return Chart("Decision curve", caption, tuple(panels), shared="x", left_out=self.left_out)

    def _axis(self) -> Axis:
        event = EventWords(self.cause).by(amount(self.time, self.unit))
        label = f"Threshold of the predicted risk\n({event})"
        return Axis(label, low=0, high=float(self.thresholds[-1]))

    def _curves(self) -> Panel:
        place, x = positions(self.models), self.thresholds
        lines = [
            Line(x, value, place[m], (Model(m),), self.low[m], self.high[m],
                 marked=x.size == 1)
            for m, value in self.value.items()
        ]  # fmt: skip
        everybody = Line(x, self.treat_all, "soft", "treat everybody", dash="dashed", width=1.1)
        nobody = Line(x, self.treat_none, "ink", "treat nobody", dash="dotted", width=1.1)
        # Treating everybody falls without end: the axis stops soon below what the models do.
        values, strategies = self.value.values(), (self.treat_all, self.treat_none)
        top = max(largest(*values, *self.high.values(), *strategies), 1e-6)
        lowest = -largest(*(-v for v in (*values, *self.low.values())))
        bottom = float(np.clip(lowest, -0.25 * top, -0.06 * top))
        return Panel(
            self._axis(), Axis(SCALES[self.scale], low=bottom, high=1.06 * top),
            (*lines, everybody, nobody), height=2.5,
        )  # fmt: skip

    def _differences(self) -> Panel:
        place, x = positions(self.models), self.thresholds
        lines = [
            Line(x, gap, place[m], (Model(m),), self.difference_low[m], self.difference_high[m],
                 name=f"{m} less {self.reference}", marked=x.size == 1)
            for m, gap in self.difference.items()
        ]  # fmt: skip
        return Panel(
            self._axis(),
            Axis("Difference"),
            (Rule("y"), *lines),
            ("Difference from ", Model(str(self.reference))),
            height=1.7,
        )


def _thresholds(risks: list[Floats]) -> Floats:
    """Round risks, some fifty, up to one that a model says of 2 % of the subjects.

    Above it few are treated, and close to 1 every one of them would count many times.
    """
    said = [risk for risk in risks if np.isfinite(risk).all()]
    top = min(max((float(np.quantile(risk, 0.98)) for risk in said), default=0.9), 0.9)
    steps = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
    step = next((s for s in steps if s * _MOST_THRESHOLDS >= top), steps[-1])
    count = max(round(float(np.ceil(top / step - 1e-9))), 1)
    return step * np.arange(1, count + 1, dtype=np.float64)


def _curve(found: NetBenefit, scale: str, confidence: float | None) -> Bounded:
    """Values of a model with their band."""
    if scale == "standardised":
        value = found.standardised
        return value, *band(value, found.standardised_stderr, confidence)
    if scale == "interventions_avoided":
        factor = _per_treatment(found)
        value = found.gain * factor
        return value, *band(value, found.gain_stderr * factor, confidence)
    return found.values, *band(found.values, found.stderr, confidence)


def _gap(found: NetBenefit, other: NetBenefit, scale: str, confidence: float | None) -> Bounded:
    """Differences between two models with their paired band."""
    if scale == "standardised":
        value, stderr = found.standardised_difference(other)
    else:
        value, stderr = found.difference(other)
    if scale == "interventions_avoided":
        value, stderr = value * _per_treatment(found), stderr * _per_treatment(found)
    return value, *band(value, stderr, confidence)


def _strategies(found: NetBenefit, scale: str) -> tuple[Floats, Floats]:
    """Treating everybody, and treating nobody."""
    nothing = np.zeros(found.thresholds.size)
    if scale == "interventions_avoided":
        return nothing, -found.treat_all * _per_treatment(found)
    if scale == "standardised":
        return found.treat_all / (found.incidence or np.nan), nothing
    return found.treat_all, nothing


def _per_treatment(found: NetBenefit) -> Floats:
    """What a net benefit is worth in treatments avoided per 100 subjects."""
    with np.errstate(divide="ignore"):
        return 100 * (1 - found.thresholds) / found.thresholds
