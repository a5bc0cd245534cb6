"""Probabilities at one time: calibration, also at each subject's own time, and decision curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, whole_number
from ..._tools.text import number
from ...data.causes import EventWords
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, one_of
from ...evaluation.cells import interval_of
from ...metrics.calibration.d_calibration import CalibrationResult, d_calibration
from ...metrics.calibration.ici import ICIResult, smooth_status
from ...metrics.calibration.inputs import StatusAtTime
from ...metrics.calibration.observed_expected import ratio_of
from ...metrics.calibration.risk_rates import risk_groups
from ...metrics.calibration.weak_calibration import slope_of
from ...metrics.decision.net_benefit import net_benefit
from ...metrics.registry import REGISTRY
from ...metrics.score import Score
from ._base import Display, Part, Scores, Source, band, measure_each, members, time_of_interest
from .description import (
    MOST_BANDS,
    Axis,
    Bars,
    Chart,
    Line,
    Model,
    Panel,
    Points,
    Rule,
    amount,
    largest,
    p_relation,
    positions,
    round_ticks,
)
from .estimates import rates_with_band, smooth_band

_BARS = 40
#: Groups by risk, and subjects that one has at least.
_GROUPS, _LEAST = 10, 10
#: The strip of bars below the curve, as a share of the axis.
_STRIP = 0.22
#: What the chart calls its measures, and the metrics that they are.
_MEASURES = {"O/E": "observed_expected", "slope": "calibration_slope", "ICI": "ici"}


def calibration_panel(
    ev: Source,
    *,
    time: float | None = None,
    knots: int = 3,
    groups: int | None = None,
    models: Iterable[str] | str | None = None,
    scores: Scores | None = None,
) -> Display:
    """Observed against predicted probability of the event by a time, one panel per model.

    The table has four parts per model. Of ``part="curve"``: predicted, observed, low and high of
    the smooth curve from the lowest to the highest prediction, with its pointwise band. Of
    "groups" (about equally many subjects by predicted risk): their mean prediction, 1 -
    Kaplan-Meier (of a cause, Aalen-Johansen) with its interval (NaN where nothing or everything
    happened), and the numbers of subjects `n` and `events`. Of "bars": subjects whose prediction
    lies between start and end, with the event by the time (event), event-free at it (free), and
    censored before (censored). Of "measures": measure (O/E, slope, ICI), value, low, high, and
    expected, the ICI that chance alone would give a perfectly calibrated model.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    time : float, optional
        By default the evaluation's time of interest.
    knots : {3, 4, 5}
        Of the spline.
    groups : int, optional
        Number of groups by risk; by default ten, or fewer so that each has ten subjects.
    models : names, optional
        By default all.
    scores : dict, optional
        Values of metrics to show instead of computing them.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import given
    >>> made = SurvivalCurves([0, 4, 8], [[1, s / 10, 0] for s in (2, 5, 9, 6, 3, 7, 4, 8)])
    >>> y = ([2, 5, 8, 6, 7, 3, 4, 9], [1, 0, 1, 1, 1, 1, 1, 0])
    >>> d = calibration_panel(given(made, y), time=5)
    >>> d.column("predicted")[[0, -1]].round(3), d.column("event", part="bars").sum()
    (array([0.325, 0.85 ]), np.float64(3.0))
    """
    usable, left_out = members(ev, "curves", "a calibration panel", models)
    y, when = ev.task.y, time_of_interest(ev.task, time)
    if groups is None:
        groups = int(np.clip(float(y.weight.sum()) // _LEAST, 1, _GROUPS))
    whole_number(groups, "groups", 1)
    clusters, cause = ev.task.clusters, ev.task.cause

    def compute(prediction: Prediction) -> ICIResult:
        status = StatusAtTime.asked(ev.task, prediction, when)
        return smooth_status(status, knots, clusters=clusters)

    smooth = measure_each(usable, left_out, "the smooth calibration curve", compute)
    varied = {
        model: r for model, r in smooth.items() if r.curve_predicted[0] < r.curve_predicted[-1]
    }
    if varied:  # a single point is worth no panel beside curves
        same = "the predicted risks are the same for all subjects"
        left_out |= {model: same for model in smooth if model not in varied}
        smooth = varied
    # Bars end where the predictions do; who entered after the time has none.
    last = max(float(np.nanmax(r.predicted)) for r in smooth.values())
    edges = np.linspace(0.0, last, _BARS + 1)
    found = {}
    for model, r in smooth.items():
        low, high = _where_subjects_are(r, *smooth_band(r, ev.confidence))
        found[model] = {
            "curve": {"predicted": r.curve_predicted, "observed": r.curve_observed, "low": low,
                      "high": high},
            "groups": _by_risk(y, r.predicted, when, groups, ev.confidence, cause),
            "bars": {"start": edges[:-1], "end": edges[1:],
                     **_histogram(y, r.predicted, when, edges, cause)},
            "measures": _measures(ev, model, r, when, scores),
        }  # fmt: skip
    end = _end(found)
    words, columns, level = ev.task.words, min(len(found), 2), ""
    if ev.confidence is not None:
        level = (
            f"; band (of the middle 98 % of predictions) and lines are {ev.confidence * 100:g} % "
            "intervals"
        )
    chart = Chart(
        "Calibration",
        f"Observed against predicted probability of {words.the_event}; on the dashed line they "
        "are equal. The curve is smooth; points are groups of equally many subjects by predicted "
        f"risk ({words.risk}){level}. The bars below count predictions: upwards for subjects with "
        f"{words.the_event} by then, downwards for the others. O/E (observed over expected events) "
        "and the calibration slope are best at 1. ICI is the mean distance from the dashed line; "
        "the number in brackets is what a perfectly calibrated model has by chance.",
        tuple(_panel(ev, model, parts, when, end, len(ev.predictions) > 1)
              for model, parts in found.items()),
        columns=columns, shared="y", width=3.5 * columns, left_out=left_out,
    )  # fmt: skip
    table = [
        {"model": model, "part": name, "at": when, **part}
        for model, parts in found.items()
        for name, part in parts.items()
    ]
    return Display(chart, table)


def _where_subjects_are(result: ICIResult, *limits: Floats) -> list[Floats]:
    """Leave the band out below and above the first and last percentile of the predictions."""
    first, last = np.nanquantile(result.predicted, (0.01, 0.99))
    grid = result.curve_predicted
    return [np.where((grid < first) | (grid > last), np.nan, limit) for limit in limits]


Parts = dict[str, dict[str, Any]]


def _end(found: dict[str, Parts]) -> float:
    """Where both axes end: past all points, and intervals that are not too long."""
    drawn = [parts[name] for parts in found.values() for name in ("curve", "groups")]
    shown = largest(*(part[name] for part in drawn for name in ("predicted", "observed")))
    bounds = largest(shown, *(parts["groups"]["high"] for parts in found.values()))
    return min(1.0, 1.04 * min(bounds, 1.5 * shown)) or 1.0


def _panel(ev: Source, model: str, parts: Parts, time: float, end: float, several: bool) -> Panel:
    words, curve, found = ev.task.words, parts["curve"], parts["groups"]
    when = words.by(amount(time, ev.unit))
    of = "of the" if words.cause is None else "of"
    grid = curve["predicted"]
    line = Line(
        grid, curve["observed"], positions(ev.predictions)[model],
        (Model(model),) if several else "smooth curve", curve["low"], curve["high"],
        marked=bool(grid[0] == grid[-1]),
    )  # fmt: skip
    sizes = zip(found["n"].tolist(), found["events"].tolist(), strict=True)
    names = tuple(f"{n:,.0f} subjects, {e:,.0f} {words.plural}" for n, e in sizes)
    points = Points(
        found["predicted"], found["observed"], "ink", "groups by risk", found["low"],
        found["high"], names=names, marker="square", size=3.5,
    )  # fmt: skip
    ticks, told = round_ticks(end, 5), _told(parts["measures"])
    return Panel(
        Axis(f"Predicted probability {of}\n{when}", "", 0, end, ticks),
        Axis(f"Observed probability {of}\n{when}", "", -_STRIP * end, end, ticks),
        (Rule("diagonal"), line, points, *_bars(words, parts["bars"], end)),
        (Model(model), f"\n{told}") if told else (Model(model),),
        height=3.75,
        equal=True,
    )


def _bars(words: EventWords, found: dict[str, Floats], end: float) -> list[Bars]:
    """Predictions by outcome below the curve: events upwards, the others downwards."""
    event, free, censored = (found[name] for name in ("event", "free", "censored"))
    edges = np.append(found["start"], found["end"][-1])
    middle = -0.5 * _STRIP * end
    scale = 0.44 * _STRIP * end / max(float(event.max()), float((free + censored).max()), 1.0)
    called = "event by then", "event-free", "censored before"
    if words.cause is not None:
        called = words.by("then"), f"{words.without} by then", "censored before"
    label = [f"{told} ({n.sum():,.0f})"
             for told, n in zip(called, (event, free, censored), strict=True)]  # fmt: skip
    below = middle - scale * free
    return [
        Bars(edges, middle, middle + scale * event, "event", label[0], counts=event),
        Bars(edges, middle, below, "pale", label[1], counts=free),
        Bars(edges, below, below - scale * censored, "censored", label[2], hollow=True,
             counts=censored),
    ]  # fmt: skip


def _told(measures: dict[str, Any]) -> str:
    """The measures that are known; the table has their intervals."""
    values = zip(measures["measure"].tolist(), measures["value"].tolist(), strict=True)
    parts = [
        f"{name} {value:.{3 if name == 'ICI' else 2}f}"
        for name, value in values
        if np.isfinite(value)
    ]
    if parts and np.isfinite(measures["expected"]):
        parts[-1] += f" (by chance {number(measures['expected'], 2)})"
    return ", ".join(parts).replace(", ICI", "\nICI")


def _measures(
    ev: Source, model: str, smooth: ICIResult, time: float, scores: Scores | None
) -> dict[str, Any]:
    """Observed over expected events, calibration slope and ICI with their intervals."""
    unknown, expected = (np.nan,) * 3, smooth.expected_if_calibrated
    if scores is not None:
        found = [scores.get((name, model, time), unknown) for name in _MEASURES.values()]
        expected = np.nan
    else:
        ends = (np.nan, np.nan) if ev.confidence is None else smooth.interval(ev.confidence)
        pairs = zip(_MEASURES.values(), (ratio_of, slope_of), strict=False)
        found = [*(_measure(ev, model, time, *pair) for pair in pairs), (smooth.ici, *ends)]
    value, low, high = np.array(found, dtype=np.float64).T
    measure = np.array(list(_MEASURES))
    return {"measure": measure, "value": value, "low": low, "high": high, "expected": expected}


def _measure(
    ev: Source, model: str, time: float, name: str, compute: Callable[[StatusAtTime], Score]
) -> tuple[float, float, float]:
    """Return a measure with its limits, as tables have them."""
    try:
        found = compute(StatusAtTime.asked(ev.task, ev.predictions[model], time))
    except UndefinedMetricError:
        return np.nan, np.nan, np.nan
    if ev.confidence is None:
        return found.value, np.nan, np.nan
    ends = interval_of(REGISTRY[name], found, None, ev.confidence, ev.task.clusters)
    return found.value, ends.low, ends.high


def _by_risk(
    y: Outcomes, risk: Floats, time: float, groups: int, confidence: float | None, cause: int | None
) -> dict[str, Floats]:
    """Groups by predicted risk: prediction, what was observed with its interval, and counts."""
    present = np.flatnonzero((y.weight > 0) & ~np.isnan(risk))  # who entered in time
    weight = y.weight[present] if y.frequency is not None else None
    rows = [present[part] for part in risk_groups(1 - risk[present], weight, groups)]
    return rates_with_band(y, 1 - risk, rows, time, confidence, cause)


def _histogram(
    y: Outcomes, risk: Floats, time: float, edges: Floats, cause: int | None
) -> dict[str, Floats]:
    """Subjects in each bar of predicted risk, by what happened to them.

    Who had an event of another cause did not have the event.
    """
    had = y.event if cause is None else y.cause == cause
    happened, lost = had & (y.time <= time), ~y.event & (y.time < time)
    parts = {"event": happened, "free": ~happened & ~lost, "censored": lost}
    return {
        name: np.histogram(risk, edges, weights=y.weight * part)[0].astype(np.float64)
        for name, part in parts.items()
    }


# -- at each subject's own time --------------------------------------------------------------------


def d_calibration_bins(
    ev: Source,
    *,
    bins: int = 10,
    models: Iterable[str] | str | None = None,
    scores: Scores | None = None,
) -> Display:
    """Histogram of S_i(t_i), which is flat for a calibrated model.

    The table has a part per model with a row per bin of predicted survival: start, end, observed
    (subjects), events (those of them who had the event there; the rest are censored subjects,
    spread over the bins below their S(c)), expected (of a calibrated model) and p_value (Kolmogorov
    and Smirnov's test, which needs no bins).

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    bins : int
        Number of bins.
    models : names, optional
        By default all.
    scores : dict, optional
        Values of metrics to show instead of computing them.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import given
    >>> made = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> d = d_calibration_bins(given(made, ([2, 5, 8, 6], [1, 0, 1, 1])), bins=2)
    >>> d.column("observed").round(2), d.column("events")
    (array([2., 2.]), array([1., 2.]))
    """
    usable, left_out = members(ev, "curves", "D-calibration", models)
    y, cause, words = ev.task.y, ev.task.cause, ev.task.words
    had = y.event if cause is None else y.cause == cause
    seen = np.flatnonzero(had & (y.weight > 0))

    def compute(prediction: Prediction) -> tuple[CalibrationResult, Floats, float]:
        # Bars have censored subjects in the bins below their S(c); the test needs no bins.
        options: dict[str, Any] = {"bins": bins, "method": "chi2", "cause": cause}
        result = d_calibration(y, _of_all(prediction), **options)
        events = np.zeros(result.observed.size)
        if seen.size:
            events = d_calibration(y[seen], _of_all(prediction[seen]), **options).observed
        return result, events, d_calibration(y, _of_all(prediction), cause=cause).p_value

    axis, rest = "Predicted survival at\neach subject's own time", "censored, spread over bins"
    told = ""
    if cause is not None:
        axis = f"Predicted probability of\n{words.without} yet, at own time"
        rest = "censored or other cause, spread"
        told = (
            f" Probabilities are those that the predicted hazard of {words.event} alone would "
            "give; subjects with an event of another cause are censored."
        )
    found = measure_each(usable, left_out, "D-calibration", compute)
    results = [result for result, *_ in found.values()]
    top = 1.08 * max(float(max(r.observed.max(), r.expected.max())) for r in results)
    panels, table = [], []
    for model, (result, events, p_value) in found.items():
        if scores is not None:
            p_value = scores.get(("d_calibration", model, None), (np.nan,))[0]
        edges, observed, expected = result.edges, result.observed, result.expected
        table.append(
            {"model": model, "start": edges[:-1], "end": edges[1:], "observed": observed,
             "events": events, "expected": expected, "p_value": p_value}
        )  # fmt: skip
        even = np.append(expected, expected[-1])
        marks = (
            Bars(edges, 0.0, events, "event", words.plural),
            Bars(edges, events, observed, "censored", rest, hollow=True),
            Line(edges, even, "ink", "if calibrated", step=True, dash="dashed", width=1.1),
        )
        title = (Model(model), f": p {p_relation(p_value)}")
        upwards = Axis("Subjects", low=0, high=top)
        panels.append(Panel(Axis(axis, low=0, high=1), upwards, marks, title, height=2.2))
    columns = min(len(panels), 3)
    chart = Chart(
        "D-calibration",
        "If the curves are calibrated, all bins of predicted survival hold about the same number "
        "of subjects. The p-value is that of a Kolmogorov-Smirnov test, which needs no bins."
        f"{told}",
        tuple(panels), columns, "y", {1: 3.5, 2: 5.4, 3: 7.0}[columns], left_out,
    )  # fmt: skip
    return Display(chart, table)


def _of_all(prediction: Prediction) -> Any:
    """Curves of all causes, or of the one kind of event."""
    return prediction.curves if prediction.incidence is None else prediction.incidence


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
            look["name"] = f"{model} minus {reference}"
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
    # Bands of several models lie on each other; those of the differences below say more.
    panels = [Panel(axis, upwards, tuple(lines), height=2.5, bandless=bool(gaps))]
    caption = (
        "Net benefit of treating the subjects whose predicted risk is at least the threshold: true "
        "positives per subject, less false positives at the odds of the threshold. A model is "
        "worth using at thresholds where it is above both treating all and treating none."
    )
    if ev.confidence is not None and len(gaps or found) <= MOST_BANDS:
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
