"""Curves: what was observed, with numbers at risk, and what was predicted; of all or by group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..._tools.arrays import Floats, Ints, positive
from ..._tools.text import number
from ...data.causes import EventWords, cause_code, cause_label
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError
from ...estimators.kaplan_meier import KaplanMeier
from ...metrics.checks import check_times
from ...metrics.decision.risk_groups import RiskGroups, group_names, risk_groups, rows_by_risk
from ...metrics.group_tests import gray_test, log_rank_test
from ._base import Display, Part, Source, measure_each, members, time_of_interest
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Model,
    NumbersBelow,
    Panel,
    Text,
    amount,
    horizon_marks,
    p_relation,
    positions,
    probability_axis,
    round_ticks,
    short_name,
    with_level,
)
from .estimates import (
    at_risk,
    mean_predicted,
    observed_band,
    so_far,
    time_grid,
)
from .palette import shade

_FIGURE = "a figure of curves"
#: The most ticks of the axis of time, and letters of a name beside numbers.
_MOST_TICKS, _SHORT = 6, 16
#: Models whose difference between risk groups is said below the figure.
_MOST_TOLD = 4
#: What differs between panels: marks, title, and numbers below.
_Shown = tuple[list[Mark], Text, NumbersBelow | None]


def curves(
    ev: Source,
    *,
    by: Any = None,
    groups: int = 3,
    cuts: Any = None,
    time: float | None = None,
    tau: float | None = None,
    causes: Any = None,
    times: Any = None,
    end: float | None = None,
    models: Iterable[str] | str | None = None,
) -> Display:
    """Kaplan-Meier (of causes: Aalen-Johansen) against the mean predicted curves.

    The table has a part for each model, group and cause: time, observed, low, high, predicted,
    at_risk, events, and of groups the p-value of the test between them.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    by : "risk" or array-like of shape (n,), optional
        Groups by each model's predicted risk, or the group of each test subject; by default all
        subjects are together, with a panel for each cause.
    groups, cuts
        Of groups by risk: how many of about equal size, or risks at which they begin; as for
        `risk_groups`.
    time : float, optional
        The risk of curves is that of an event by this time; by default the time of interest.
    tau : float, optional
        Where restricted mean times of groups by risk stop; by default at the evaluation's tau, or
        before it where follow-up of a group ends.
    causes : code or name of a cause, or several, optional
        Which to show; by default all, and of groups the one that was asked about.
    times : array-like, optional
        Where curves are read; by default some 150 up to `end`.
    end : float, optional
        Where the axis of time ends; by default at the last observed time.
    models : names, optional
        By default all.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import given
    >>> made = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> d = curves(given(made, ([2, 5, 8, 6], [1, 0, 1, 1])), times=[4, 6])
    >>> d.column("observed").round(3), d.column("predicted").round(3), d.column("at_risk")
    (array([0.75 , 0.375]), array([0.55, 0.4 ]), array([3., 2.]))
    """
    y = ev.task.y
    last = float(y.present().time.max()) or 1.0
    stop = last if end is None else min(positive(end, "end"), last)
    grid = time_grid(y) if times is None else check_times(times)
    if times is None:
        grid = np.union1d(grid[grid <= stop], (stop,))
    if by is None:
        return _of_everybody(ev, _codes(causes, y), grid, models)
    if y.entry is not None:
        raise InputError(
            "a figure of curves by group does not support delayed entry, which y_test has for "
            f"{int(np.count_nonzero(y.entry))} of {len(y)} subjects; ignoring it would bias the "
            "figure. Show those at risk from a time s on, with evaluate(..., landmark=s), or look "
            "at curves without groups, which support delayed entry"
        )
    if isinstance(by, str) and by == "risk":
        options = {"groups": groups, "cuts": cuts}
        found, left_out, means = _by_risk(ev, models, time, tau, options)
        return _of_groups(ev, found, grid, "predicted risk", left_out, means)
    codes = _codes(ev.task.cause if causes is None else causes, y)
    found, left_out = _by_label(ev, by, codes, models)
    return _of_groups(ev, found, grid, "group", left_out)


def _codes(causes: Any, y: Outcomes) -> list[int | None]:
    """Codes of the causes to show; None stands for one kind of event."""
    known = getattr(y, "causes", None)
    if known is None:
        return [None]
    several = [causes] if isinstance(causes, str | int) else causes
    if several is not None and not len(several):
        raise InputError("causes must name at least one cause; got none")
    return [cause_code(cause, known) for cause in several or known]


def _words(ev: Source, code: int | None) -> EventWords:
    if ev.task.outcomes == "interval":
        return EventWords(named_estimate="Turnbull's estimate")
    return ev.task.words if code is None else EventWords(_cause(ev, code))


def _cause(ev: Source, code: int | None) -> str:
    """Return the name of a cause; nothing where there is one kind of event."""
    names = ev.task.y.causes
    return "" if code is None or names is None else names[code - 1]


def _part(
    ev: Source,
    y: Outcomes,
    prediction: Prediction | None,
    code: int | None,
    grid: Floats,
    labels: dict[str, str],
) -> Part:
    """Return what was observed of some subjects and what was predicted: a part of the table."""
    observed: Any = ev.task.observed if ev.task.outcomes == "interval" else y
    band: Any = observed_band(observed, code, grid, ev.confidence)
    counts = {}
    if ev.task.outcomes != "interval":
        # Past the last time nothing is known, unless all had the event.
        free = KaplanMeier.fit(y.any_cause())
        seen = (grid <= free.last_time) | (free.last_survival <= 1e-12)
        band = tuple(np.where(seen, bound, np.nan) for bound in band)
        had = y.event if code is None else y.cause == code
        counts = {"at_risk": at_risk(y, grid), "events": so_far(y, had, grid)}
    predicted = np.full(grid.size, np.nan)
    if prediction is not None:
        predicted = mean_predicted(prediction, y, code, grid)
    names = ("observed", "low", "high")
    found = dict(zip(names, band, strict=True)) | {"predicted": predicted} | counts
    return labels | {"cause": _cause(ev, code), "time": grid, **found}


def _of_everybody(
    ev: Source, codes: list[int | None], grid: Floats, models: Iterable[str] | str | None
) -> Display:
    """A panel per cause: what was observed of all subjects, and the mean prediction of models."""
    y, place, ticks = ev.task.y, positions(ev.predictions), _ticks(grid)
    usable, left_out = _with_curves(ev, models)
    panels, table, means = list[_Shown](), list[Part](), dict[str, list[Floats]]()
    if usable:
        means = measure_each(
            usable, left_out, "the mean predicted curve",
            lambda p: [mean_predicted(p, y, code, grid) for code in codes],
        )  # fmt: skip
    for k, code in enumerate(codes):
        words, level = _words(ev, code), with_level(ev.confidence, "band")
        seen = _part(ev, y, None, code, grid, {"model": ""})
        table += [seen | {"model": m, "predicted": mean[k]} for m, mean in means.items()] or [seen]
        marks: list[Mark] = [
            Line(grid, seen["observed"], "ink", f"{words.estimate}{level}", seen["low"],
                 seen["high"], step="at_risk" in seen, width=1.1)
        ]  # fmt: skip
        marks += [
            Line(grid, mean[k], place[m], ("mean of ", Model(m))) for m, mean in means.items()
        ]
        counts = None
        if "at_risk" in seen:
            had = y.event if code is None else y.cause == code
            counts = NumbersBelow(
                "Subjects",
                (("ink", "at risk", tuple(at_risk(y, ticks).tolist())),
                 ("event", "events", tuple(so_far(y, had, ticks).tolist()))),
            )  # fmt: skip
        marks += horizon_marks(ev.task.horizon, float(grid[-1]))
        title = cause_label(seen["cause"]) if len(codes) > 1 else ""
        panels.append((marks, title, counts))
    how = "mean of a model's predicted curves"
    if getattr(y, "entry", None) is not None:
        how = "curve of the mean predicted hazards of those at risk"
    told = f"{words.estimate} of the test subjects."
    if usable:
        told += f" The {how} follows it if the model is right on average."
    if len(codes) > 1:
        told += " An event of one cause rules the others out."
    what = "survival" if codes[0] is None else "incidence"
    title = f"Observed and mean predicted {what}" if usable else f"Observed {what}"
    return _chart(ev, title, told, panels, table, left_out=left_out)


def _of_groups(
    ev: Source,
    found: list[Groups],
    grid: Floats,
    by: str,
    left_out: dict[str, str],
    notes: tuple[str, ...] = (),
) -> Display:
    """A panel per model (and cause), with a curve per group and the numbers at risk below it."""
    panels, table = list[_Shown](), list[Part]()
    several = len({groups.code for groups in found}) > 1
    for groups in found:
        y, ticks, code = ev.task.y, _ticks(grid), groups.code
        marks: list[Mark] = []
        parts, counts = [], []
        for k, (own, name) in enumerate(zip(groups.rows, groups.names, strict=True)):
            prediction = ev.predictions[groups.model][own] if groups.model else None
            labels = {"model": groups.model, "group": name}
            part = _part(ev, y[own], prediction, code, grid, labels)
            parts.append(part | {"p_value": groups.p_value})
            marked = tuple(t for t in ticks.tolist() if t <= y.time[own].max())
            marks.append(
                Line(grid, part["observed"], shade(k), name, part["low"], part["high"], step=True,
                     marked=marked, dash="solid")
            )  # fmt: skip
            if np.isfinite(part["predicted"]).any():
                said = f"{name}, predicted"
                marks.append(
                    Line(grid, part["predicted"], shade(k), name=said, dash="dashed", width=1.1)
                )
            told = short_name(name.removesuffix(" risk"), _SHORT)
            counts.append((shade(k), told, tuple(at_risk(y[own], ticks).tolist())))
        words = _words(ev, code)
        label = f"{words.estimate}{with_level(ev.confidence, 'band')}"
        marks.append(Line([], [], "ink", label, dash="solid"))
        if any(np.isfinite(part["predicted"]).any() for part in parts):
            marks.append(Line([], [], "ink", "mean prediction", dash="dashed", width=1.1))
        who: tuple[str | Model, ...] = (Model(groups.model),) if groups.model else ()
        of = f" {cause_label(parts[0]['cause'])}" if several else ""
        p, test = groups.p_value, "log-rank" if code is None else "Gray's"
        title = (*who, f"{of}: {test} p {p_relation(p)}" if np.isfinite(p) else of)
        below = NumbersBelow("Subjects at risk", tuple(counts))
        panels.append((marks, title, below))
        table += parts
    words = _words(ev, found[0].code)
    what = words.estimate if found[0].code is None else "Incidence"
    told = (
        f"Steps are the {words.estimate} estimates of the groups, and dashed lines their mean "
        "predicted curves. If a dashed line is close to its steps, the predicted risk of the group "
        "is right. The p-value is that of a test between all groups of a panel."
    )
    return _chart(ev, f"{what} by {by}", told, panels, table, left_out=left_out, notes=notes)


def _chart(
    ev: Source,
    title: str,
    caption: str,
    shown: list[_Shown],
    table: list[Part],
    **said: Any,
) -> Display:
    """Put panels on the same axes: up to where the curves of causes end."""
    causes = list(dict.fromkeys(part["cause"] for part in table))
    upwards = Axis("Survival probability", low=0, high=1.03)
    if causes[0]:
        called = EventWords(causes[0]).event
        label = f"Incidence of {called}" if len(causes) == 1 else "Cumulative incidence"
        names = ("observed", "high", "predicted")
        upwards = probability_axis(label, *(part[name] for part in table for name in names))
    end = float(table[0]["time"][-1])
    across = Axis("Time", ev.unit, 0, end, round_ticks(end, _MOST_TICKS))
    panels = tuple(
        Panel(across, upwards, tuple(marks), told, height=2.4, counts=counts)
        for marks, told, counts in shown
    )
    columns = min(len(panels), 2)
    width = 3.8 if columns == 1 else 7.0
    return Display(Chart(title, caption, panels, columns, "y", width, **said), table)


def _ticks(grid: Floats) -> Floats:
    """Times at which subjects are counted."""
    return np.array([value for value, _ in round_ticks(float(grid[-1]), _MOST_TICKS)])


# -- groups of subjects ----------------------------------------------------------------------------


def _with_curves(
    ev: Source, models: Iterable[str] | str | None
) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Return the models with curves, if there are any, and why the others are left out."""
    if any(p.has("curves") for p in ev.predictions.values()):
        return members(ev, "curves", "the mean predicted curve", models)
    return {}, {}


class Groups(NamedTuple):
    """Groups of subjects that a panel shows: whose predictions, their rows, names and test."""

    model: str
    rows: list[Ints]
    names: list[str]
    code: int | None
    p_value: float


def _by_risk(
    ev: Source,
    models: Iterable[str] | str | None,
    time: float | None,
    tau: float | None,
    options: dict[str, Any],
) -> tuple[list[Groups], dict[str, str], tuple[str, ...]]:
    """Groups by the risk of each model, who is left out, and what is said of mean times."""
    task, y, code = ev.task, ev.task.y, ev.task.cause
    what = "a figure of risk groups"
    usable, left_out = members(ev, "risk", what, models)

    def compute(prediction: Prediction) -> tuple[list[Ints], float, RiskGroups | None]:
        at = time_of_interest(task, time) if prediction.curves is not None else None
        if code is None:
            found = risk_groups(y, prediction, tau=tau, time=at, **options)
            if tau is None and task.tau is not None and task.tau < found.tau:
                found = risk_groups(y, prediction, tau=task.tau, time=at, **options)
            rows = [np.flatnonzero(found.label == k) for k in range(len(found.names))]
            return rows, found.p_value, found
        curves = prediction.curves
        risk = prediction.risk if curves is None else 1.0 - curves.at(at)
        rows = rows_by_risk(y, risk, np.flatnonzero(y.weight > 0), **options)
        if len(rows) < 2:
            raise UndefinedMetricError(f"{what} needs predictions that make two groups")
        return rows, _p_value(y, rows, code), None

    found = measure_each(usable, left_out, what, compute)
    made = [
        Groups(m, rows, [_called(name) for name in group_names(len(rows))], code, p)
        for m, (rows, p, _) in found.items()
    ]
    return made, left_out, _mean_times(ev, {m: part[2] for m, part in found.items() if part[2]})


def _by_label(
    ev: Source, by: Any, codes: list[int | None], models: Iterable[str] | str | None
) -> tuple[list[Groups], dict[str, str]]:
    """Return the groups given, for each cause and each model with curves."""
    y, labels = ev.task.y, np.asarray(by)
    if labels.shape != (len(y),):
        raise InputError(
            f"by must be 'risk' or the group of each of the {len(y)} subjects of y_test; got "
            f"{type(by).__name__} of shape {labels.shape}"
        )
    present = y.weight > 0
    known = np.unique(labels[present])
    rows = [np.flatnonzero(present & (labels == label)) for label in known]
    usable, left_out = _with_curves(ev, models)
    names = [str(label) for label in known]
    found = [
        Groups(model, rows, names, code, _p_value(y, rows, code))
        for code in codes
        for model in usable or ("",)
    ]
    return found, left_out


def _p_value(y: Outcomes, rows: list[Ints], code: int | None) -> float:
    """Return the p-value of the test between groups; NaN where it has none."""
    try:
        if code is None:
            return log_rank_test(*(y[own] for own in rows)).p_value
        label = np.repeat(np.arange(len(rows)), [own.size for own in rows])
        return gray_test(y[np.concatenate(rows)], label, code).p_value
    except UndefinedMetricError:
        return float("nan")


def _called(name: str) -> str:
    """Name of a group by risk as labels have it."""
    return f"risk group {name}" if name.isdigit() else f"{name} risk"


def _mean_times(ev: Source, found: dict[str, RiskGroups]) -> tuple[str, ...]:
    """Say how far the mean times of the outer groups lie apart, models of one tau together.

    Nothing of many models, whose list nobody would read.
    """
    if len(found) > _MOST_TOLD:
        return ()
    shared: dict[str, list[str]] = {}
    for model, groups in found.items():
        row = groups.rmst_differences(ev.confidence or 0.95)[-1]
        told = f"{model} {number(row['difference'], 3)} {ev.unit}".rstrip()
        if ev.confidence is not None and np.isfinite(row["low"]):
            told += f" ({number(row['low'], 3)} to {number(row['high'], 3)})"
        first, last = _called(groups.names[0]), _called(row["group"])
        what = f"Restricted mean time up to {amount(groups.tau, ev.unit)}, {last} minus {first}"
        shared.setdefault(what, []).append(told)
    return tuple(f"{what}: {', '.join(told)}" for what, told in shared.items())
