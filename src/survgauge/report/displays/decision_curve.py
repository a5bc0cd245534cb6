"""Decision curves: what deciding by the models gains at each threshold of the risk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...errors import InputError, UndefinedMetricError, one_of
from ...metrics.decision.net_benefit import net_benefit
from ._base import Display, Part, Source, band, measure_each, members, time_of_interest
from .description import (
    MOST_BANDS,
    Axis,
    Chart,
    Line,
    Model,
    Panel,
    Rule,
    amount,
    largest,
    positions,
)

#: Thresholds that a figure has at most, where none are given.
_MOST_THRESHOLDS = 50


def decision_curve(
    ev: Source,
    *,
    time: float | None = None,
    thresholds: Any = None,
    reference: str | None = None,
    models: Iterable[str] | str | None = None,
) -> Display:
    """Net benefit of the models over thresholds, with treating everybody and nobody.

    The table has a part per model: threshold, value, low, high, treat_all, treat_none, and where
    there is a reference difference, difference_low and difference_high: the model less the
    reference on the same subjects. Other scales are those of `NetBenefit`.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    time : float, optional
        By when events count; by default the evaluation's time of interest.
    thresholds : array-like, optional
        Risks from which on a subject is treated; by default about fifty, up to one
        that a model says of 2 % of the subjects, at most 0.9.
    reference : str, optional
        A model; differences of the others from it are shown in a panel of their own.
    models : names, optional
        By default all.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import given
    >>> made = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> source = given(made, ([2, 5, 8, 6], [1, 0, 1, 1]))
    >>> d = decision_curve(source, time=5, thresholds=[0.2, 0.6])
    >>> d.column("value"), d.column("treat_all").round(3)
    (array([0.125, 0.25 ]), array([ 0.062, -0.875]))
    """
    usable, left_out = members(ev, "curves", "a decision curve", models)
    if reference is not None:
        one_of("reference", reference, usable)
    y, when = ev.task.y, time_of_interest(ev.task, time)
    cause, words, place = ev.task.cause, ev.task.words, positions(ev.predictions)
    if thresholds is None:
        present = y.weight > 0
        thresholds = _thresholds([1 - p.curves.at(when)[present] for p in usable.values()])  # type: ignore[union-attr]
    found = measure_each(
        usable, left_out, "net benefit",
        lambda p: net_benefit(y, p.curves, when, thresholds=thresholds, cause=cause),
    )  # fmt: skip
    first, by = next(iter(found.values())), words.by(amount(when, ev.unit))
    if not first.incidence > 0:
        raise UndefinedMetricError(f"a decision curve is undefined: there is no {by}")
    if reference is not None and reference not in found:
        raise InputError(f"reference {reference!r} has no net benefit: {left_out[reference]}")
    x, treat_all = first.thresholds, first.treat_all
    treat_none = np.zeros(x.size)
    table, lines, gaps = list[Part](), [], []
    for model, result in found.items():
        value = result.values
        low, high = band(value, result.stderr, ev.confidence)
        known = {"value": value, "low": low, "high": high, "treat_all": treat_all,
                 "treat_none": treat_none}  # fmt: skip
        look: dict[str, Any] = {
            "role": place[model],
            "label": (Model(model),),
            "marked": x.size == 1,
        }
        lines.append(Line(x, value, low=low, high=high, **look))
        if reference is not None and model != reference:
            gap, stderr = result.difference(found[reference])
            gap_low, gap_high = band(gap, stderr, ev.confidence)
            known |= {"difference": gap, "difference_low": gap_low, "difference_high": gap_high}
            look["name"] = f"{model} less {reference}"
            gaps.append(Line(x, gap, low=gap_low, high=gap_high, **look))
        table.append({"model": model, "time": when, "threshold": x, **known})
    lines += [
        Line(x, treat_all, "soft", "treat all", dash="dashed", width=1.1),
        Line(x, treat_none, "ink", "treat none", dash="dotted", width=1.1),
    ]
    # Treating everybody falls without end: the axis stops soon below what the models do.
    tops = [part[name] for part in table for name in ("value", "high")]
    top = max(largest(*tops, treat_all, treat_none), 1e-6)
    lowest = -largest(*(-part[name] for part in table for name in ("value", "low")))
    bottom = float(np.clip(lowest, -0.25 * top, -0.06 * top))
    axis = Axis(f"Threshold of the predicted risk\n({by})", low=0, high=float(x[-1]))
    upwards = Axis("Net benefit", low=bottom, high=1.06 * top)
    panels = [Panel(axis, upwards, tuple(lines), height=2.5)]
    caption = (
        "Net benefit of treating the subjects whose predicted risk is at least the threshold: true "
        "positives per subject, less false positives at the odds of the threshold. A model is "
        "worth using at thresholds where it is above both treating all and treating none."
    )
    if ev.confidence is not None and (len(found) <= MOST_BANDS or 0 < len(gaps) <= MOST_BANDS):
        caption += f" Bands are pointwise {ev.confidence * 100:g} % intervals."
    if gaps:
        title = ("Difference from ", Model(str(reference)))
        panels.append(Panel(axis, Axis("Difference"), (Rule("y"), *gaps), title, height=1.7))
        caption += f" The lower panel shows the difference of the other models from {reference}."
    chart = Chart("Decision curve", caption, tuple(panels), shared="x", left_out=left_out)
    return Display(chart, table)


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
