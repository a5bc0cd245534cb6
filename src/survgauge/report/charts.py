"""Charts as plain data: what the displays computed, described for the page's script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import displays
from ..errors import InputError, UndefinedMetricError
from ..metrics.registry import REGISTRY
from ..tables import number, p_text
from .words import headline

if TYPE_CHECKING:
    from ..evaluation import Evaluation

Spec = dict[str, Any]
#: Subjects of a scatter plot; more are summarised by a seeded sample of this size.
MOST_POINTS = 400
#: Points of a curve.
MOST_TIMES = 120
_DIGITS = 5


def from_table(data: dict[str, Any]) -> dict[str, list[Spec]]:
    """Charts that need nothing but the table: values and differences."""
    return {"metrics": _metrics(data), "differences": _differences(data)}


def from_evaluation(ev: Evaluation) -> dict[str, list[Spec]]:
    """Charts that need the predictions too; what a model does not offer is left out."""
    if not ev.predictions:
        return {}
    colour = {name: k for k, name in enumerate(ev.models)}
    makers: dict[str, list[Callable[[Any, dict[str, int]], Spec | None]]] = {
        "errors": [_predicted_actual, _by_status, _over_time],
        "probabilities": [_brier, _auc, _mean_curves],
        "calibration": [_d_calibration, _one_calibration, _smooth_calibration],
        "subjects": [_subjects],
        "support": [_support, _surrogates],
    }
    return {
        section: [spec for make in found if (spec := _attempt(make, ev, colour)) is not None]
        for section, found in makers.items()
    }


def _attempt(make: Callable[..., Spec | None], ev: Evaluation, colour: dict[str, int]) -> Any:
    """Make a chart, or none where the data or the predictions do not allow it."""
    try:
        return make(ev, colour)
    except (InputError, UndefinedMetricError):
        return None


# -- from the table ------------------------------------------------------------------------------


def _metrics(data: dict[str, Any]) -> list[Spec]:
    """Forest plot of the models, a choice for each metric (and group)."""
    keys = list(dict.fromkeys((r["metric"], r.get("group")) for r in data["metrics"]))
    keys.sort(key=lambda key: key[0] != headline(data))
    specs, labels = [], []
    for metric, group in keys:
        rows = [r for r in data["metrics"] if (r["metric"], r.get("group")) == (metric, group)]
        known = REGISTRY[metric]
        labels.append(metric if group is None else f"{metric}, {group}")
        baseline = _baseline(rows)
        specs.append(
            {
                "kind": "forest",
                "x": {"label": _axis(data, metric)},
                "zero": baseline,
                "zeroLabel": "Kaplan-Meier" if baseline is not None else None,
                "rows": [
                    {
                        "label": r["model"],
                        "series": [r["model"]],
                        "color": data["models"].index(r["model"]),
                        "value": r["value"],
                        "low": r["low"],
                        "high": r["high"],
                        "notes": _skill(r),
                    }
                    for r in rows
                ],
                "note": f"{known.title}; {known.direction} is better.",
            }
        )
    return [
        _figure("metrics-chart", "Metric with interval", specs, labels, "Metric", wide=True,
                caption="A dot is the value, the line its interval.")
    ]  # fmt: skip


def _baseline(rows: list[dict[str, Any]]) -> float | None:
    """Value of Kaplan-Meier for everybody, from the skill of any model."""
    for row in rows:
        value, skill = row["value"], row["skill"]
        if isinstance(value, float) and isinstance(skill, float) and skill < 1:
            return value / (1 - skill)
    return None


def _skill(row: dict[str, Any]) -> list[list[str]]:
    skill = row["skill"]
    return [] if skill is None else [["skill over Kaplan-Meier", f"{skill:.1%}"]]


def _differences(data: dict[str, Any]) -> list[Spec]:
    keys = list(dict.fromkeys((r["metric"], r.get("group")) for r in data["comparisons"]))
    if len(data["models"]) < 2 or not keys:
        return []
    keys.sort(key=lambda key: key[0] != headline(data))
    specs, labels = [], []
    for metric, group in keys:
        rows = [r for r in data["comparisons"] if (r["metric"], r.get("group")) == (metric, group)]
        labels.append(metric if group is None else f"{metric}, {group}")
        lower = REGISTRY[metric].direction == "lower"
        specs.append(
            {
                "kind": "forest",
                "x": {"label": f"Difference of {_axis(data, metric)}"},
                "zero": 0,
                "zeroLabel": "no difference",
                "rows": [
                    {
                        "label": f"{r['model_a']} \u2212 {r['model_b']}",
                        "series": [r["model_a"], r["model_b"]],
                        "color": data["models"].index(r["model_a"]),
                        "value": r["difference"],
                        "low": r["low"],
                        "high": r["high"],
                        "notes": [["p", p_text(r["p_value"])], ["p (Holm)", p_text(r["p_holm"])]],
                    }
                    for r in rows
                ],
                "note": f"Left of zero the {'first' if lower else 'second'} model is better.",
            }
        )
    caption = "Difference of two models on the same subjects, with its interval."
    return [
        _figure("differences-chart", "Paired differences", specs, labels, "Metric", wide=True,
                caption=caption)
    ]  # fmt: skip


def _axis(data: dict[str, Any], metric: str) -> str:
    kind, unit = REGISTRY[metric].unit, data.get("unit") or ""
    if kind == "time":
        return f"{metric} ({unit})" if unit else f"{metric} (unit of time)"
    return metric


# -- from the displays ---------------------------------------------------------------------------


def _predicted_actual(ev: Any, colour: dict[str, int]) -> Spec | None:
    usable = [name for name, p in ev.predictions.items() if p.has("times")]
    specs = []
    for name in usable:
        shown = displays.PredictedActualDisplay.from_evaluation(ev, model=name)
        rows = _sample(shown.time.size)
        event = shown.event[rows]
        layers = [{"type": "rule", "axis": "diagonal"}]
        for label, chosen, c in (("event", event, colour[name]), ("censored", ~event, "ref")):
            some = rows[chosen]
            layer: Spec = {
                "type": "points",
                "series": label,
                "color": c,
                "x": _list(shown.time[some]),
                "y": _list(shown.predicted[some]),
                "labels": [f"subject {row}, {label}" for row in some.tolist()],
            }
            if label == "censored":
                layer |= {
                    "x1": _list(shown.surrogate[some]),
                    "x1Label": f"counts as ({shown.method})",
                    "open": True,
                }
            layers.append(layer)
        few = "" if rows.size == shown.time.size else f"{rows.size} of {shown.time.size} subjects."
        specs.append(
            {
                "kind": "xy",
                "x": {
                    "label": _label("Observed time, arrow to surrogate", ev.unit),
                    "domain": _inner(shown.time, shown.surrogate),
                },
                "y": {
                    "label": _label("Predicted time", ev.unit),
                    "domain": _inner(shown.predicted),
                },
                "layers": layers,
                "note": few,
            }
        )
    if not specs:
        return None
    caption = (
        "On the dashed line a prediction is right. Censored subjects are arrows from the time they "
        "left to the time they count as. Single far points may lie outside the picture."
    )
    return _figure("predicted-actual", "Predicted against actual", specs, usable, "Model",
                   caption=caption)  # fmt: skip


def _by_status(ev: Any, colour: dict[str, int]) -> Spec | None:
    shown = displays.ErrorByStatusDisplay.from_evaluation(ev)
    layers = []
    for name in shown.event:
        parts = [shown.event[name], shown.censored[name]]
        layers.append(
            {
                "type": "bars",
                "series": name,
                "color": colour[name],
                "y": _list([p.mean for p in parts]),
                "low": _list([p.low for p in parts]),
                "high": _list([p.high for p in parts]),
                "notes": [f"{p.n} subjects" for p in parts],
            }
        )
    spec = {
        "kind": "bars",
        "x": {"label": "Status", "categories": ["event seen", "censored"]},
        "y": {"label": _label("Mean absolute error", ev.unit)},
        "layers": layers,
    }
    caption = f"Errors of the subjects whose event was seen, and of the others ({shown.method})."
    return _figure("error-status", "Error by censoring status", [spec], caption=caption)


def _over_time(ev: Any, colour: dict[str, int]) -> Spec | None:
    shown = displays.ErrorOverTimeDisplay.from_evaluation(ev)
    edges = shown.edges
    names = [
        f"{number(a, 3)}\u2013{number(b, 3)}" for a, b in zip(edges[:-1], edges[1:], strict=True)
    ]
    layers = [
        {
            "type": "bars",
            "series": name,
            "color": colour[name],
            "y": _list(shown.mean[name]),
            "low": _list(shown.low[name]),
            "high": _list(shown.high[name]),
        }
        for name in shown.mean
    ]
    spec = {
        "kind": "bars",
        "x": {"label": _label("Observed time", ev.unit), "categories": names},
        "y": {"label": _label("Mean absolute error", ev.unit)},
        "layers": layers,
    }
    caption = (
        f"Where along the follow-up the errors arise ({shown.method}); equal numbers of subjects."
    )
    return _figure("error-time", "Error over the observed time", [spec], caption=caption, wide=True)


def _time_curve(ev: Any, colour: dict[str, int], kind: str, spec: Spec, **words: Any) -> Spec:
    shown = displays.TimeCurveDisplay.from_evaluation(ev, kind=kind)
    layers: list[Spec] = [_horizon(shown.horizon)]
    if shown.baseline is not None:
        layers.append(_line("Kaplan-Meier", "ref", shown.times, shown.baseline))
    for name in shown.values:
        band = (shown.low[name], shown.high[name])
        layers.append(_line(name, colour[name], shown.times, shown.values[name], *band))
    spec |= {"kind": "xy", "x": {"label": _label("Time", ev.unit)}, "layers": layers}
    return _figure(f"{kind}-chart", specs=[spec], **words)


def _brier(ev: Any, colour: dict[str, int]) -> Spec:
    words = {
        "title": "Brier score over time",
        "caption": "Squared error of the probability of being event-free; lower is better. "
        "Kaplan-Meier predicts the same for everybody.",
    }
    return _time_curve(
        ev, colour, "brier", {"y": {"label": "Brier score", "domain": [0, None]}}, **words
    )


def _auc(ev: Any, colour: dict[str, int]) -> Spec:
    words = {
        "title": "AUC over time",
        "caption": "How well events up to a time are told from those without; 0.5 is chance.",
    }
    spec = {"y": {"label": "Cumulative/dynamic AUC"}}
    made = _time_curve(ev, colour, "auc", spec, **words)
    chance = {"type": "rule", "axis": "y", "value": 0.5, "label": "chance"}
    made["specs"][0]["layers"].append(chance)
    return made


def _mean_curves(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.MeanCurveDisplay.from_evaluation(ev)
    km = _line("Kaplan-Meier of the test set", "ref", shown.times, shown.km, shown.km_low,
               shown.km_high)  # fmt: skip
    layers = [km | {"solid": True}, _horizon(shown.horizon)]
    layers += [_line(n, colour[n], shown.times, shown.mean[n]) for n in shown.mean]
    spec = {
        "kind": "xy",
        "x": {"label": _label("Time", ev.unit)},
        "y": {"label": "Share event-free", "domain": [0, 1]},
        "layers": layers,
    }
    caption = "A model that is right on average follows Kaplan-Meier of the test set."
    return _figure(
        "mean-curves",
        "Mean predicted curve against Kaplan-Meier",
        [spec],
        caption=caption,
        wide=True,
    )


def _d_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.DCalibrationDisplay.from_evaluation(ev)
    names = [
        f"{a:.0%}\u2013{b:.0%}" for a, b in zip(shown.edges[:-1], shown.edges[1:], strict=True)
    ]
    total = float(np.sum(shown.expected))
    layers: list[Spec] = [
        {"type": "bars", "series": n, "color": colour[n], "y": _list(shown.observed[n] / total)}
        for n in shown.observed
    ]
    even = float(np.mean(shown.expected)) / total
    layers.append({"type": "rule", "axis": "y", "value": even, "label": "calibrated"})
    told = ", ".join(f"{n} p {p_text(shown.p_value[n])}" for n in shown.observed)
    spec = {
        "kind": "bars",
        "x": {"label": "Predicted probability at the own time", "categories": names},
        "y": {"label": "Share of subjects"},
        "layers": layers,
        "note": f"Test of equal shares: {told}.",
    }
    caption = "Calibrated curves put the same share of subjects into every bin."
    return _figure("d-calibration", "D-calibration", [spec], caption=caption, wide=True)


def _one_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.OneCalibrationDisplay.from_evaluation(ev)
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for n in shown.observed:
        counts = zip(shown.n[n], shown.events[n], strict=True)
        layers.append(
            {
                "type": "points",
                "series": n,
                "color": colour[n],
                "size": 4,
                "x": _list(shown.predicted[n]),
                "y": _list(shown.observed[n]),
                "low": _list(shown.low[n]),
                "high": _list(shown.high[n]),
                "labels": [f"{n}: {number(a)} subjects, {number(b)} events" for a, b in counts],
            }
        )
    told = ", ".join(f"{n} p {p_text(shown.p_value[n])}" for n in shown.observed)
    spec = {
        "kind": "xy",
        "x": {"label": f"Predicted risk at {_time(shown.time, ev.unit)}"},
        "y": {"label": "Observed risk (Kaplan-Meier)"},
        "layers": layers,
        "note": f"Test: {told}.",
    }
    caption = "Groups of subjects by predicted risk; on the dashed line prediction meets outcome."
    return _figure("one-calibration", "1-calibration", [spec], caption=caption)


def _smooth_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.SmoothCalibrationDisplay.from_evaluation(ev)
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for n in shown.observed:
        band = (shown.low.get(n), shown.high.get(n))
        layers.append(_line(n, colour[n], shown.predicted[n], shown.observed[n], *band))
    told = ", ".join(f"{n} {number(shown.ici[n], 3)}" for n in shown.observed)
    spec = {
        "kind": "xy",
        "x": {"label": f"Predicted risk at {_time(shown.time, ev.unit)}"},
        "y": {"label": "Observed risk (smooth)"},
        "layers": layers,
        "note": f"Mean distance (ICI): {told}.",
    }
    caption = "The same without groups: a smooth curve of observed on predicted risk."
    return _figure("smooth-calibration", "Smooth calibration", [spec], caption=caption)


def _subjects(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.SubjectCurvesDisplay.from_evaluation(ev)
    specs, labels = [], []
    for k, row in enumerate(shown.subjects.tolist()):
        status = "event" if shown.event[k] else "censored"
        labels.append(f"{row}: {status} at {_time(float(shown.time[k]), ev.unit)}")
        mark = {"type": "rule", "axis": "x", "value": float(shown.time[k]), "label": status}
        layers = [_line(n, colour[n], shown.times, shown.survival[n][k]) for n in shown.survival]
        specs.append(
            {
                "kind": "xy",
                "x": {"label": _label("Time", ev.unit)},
                "y": {"label": "Probability of being event-free", "domain": [0, 1]},
                "layers": [mark, *layers],
            }
        )
    caption = "What the models said about one subject, and what happened to it (dashed)."
    return _figure("subject-curves", "Predicted curves", specs, labels, "Subject", wide=True,
                   caption=caption)  # fmt: skip


def _support(ev: Any, colour: dict[str, int]) -> Spec:
    shown = displays.SupportDisplay.from_evaluation(ev)
    n = max(1.0, float(shown.at_risk[0]))
    m = max(1.0, float(shown.reference_at_risk[0]))
    layers = [
        _horizon(shown.horizon),
        _line("test subjects at risk", 0, shown.times, shown.at_risk / n, step=True),
        _line("G(t): not yet censored", 1, shown.times, shown.censoring, step=True),
    ]
    if not shown.in_sample:
        reference = shown.reference_at_risk / m
        layers.append(_line("training subjects at risk", 2, shown.times, reference, step=True))
    spec = {
        "kind": "xy",
        "x": {"label": _label("Time", ev.unit)},
        "y": {"label": "Share", "domain": [0, 1]},
        "layers": layers,
    }
    caption = "How many are still followed, and the probability G of not being censored yet."
    return _figure("support-chart", "Follow-up", [spec], caption=caption)


def _surrogates(ev: Any, colour: dict[str, int]) -> Spec | None:
    shown = displays.SurrogatesDisplay.from_evaluation(ev)
    if shown.time.size == 0:
        return None
    order = np.argsort(shown.time, kind="stable")
    kept = order[np.linspace(0, order.size - 1, min(order.size, MOST_TIMES)).astype(int)]
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for k, (method, values) in enumerate(shown.surrogate.items()):
        layers.append(_line(method, k, shown.time[kept], values[kept]))
    spec = {
        "kind": "xy",
        "x": {"label": _label("Censoring time", ev.unit)},
        "y": {"label": _label("Counts as", ev.unit)},
        "layers": layers,
    }
    caption = "The time that a censored subject counts as, by method; the dashed line is its own."
    return _figure("surrogates-chart", "Surrogate times", [spec], caption=caption)


# -- small things --------------------------------------------------------------------------------


def _figure(
    name: str,
    title: str,
    specs: list[Spec],
    options: Iterable[str] = (),
    label: str = "",
    *,
    caption: str,
    wide: bool = False,
) -> Spec:
    found = list(options)
    choices = {"label": label, "options": found} if len(found) > 1 else None
    return {
        "id": name,
        "title": title,
        "caption": caption,
        "wide": wide,
        "choices": choices,
        "specs": specs,
    }


def _line(
    series: str, c: Any, x: Any, y: Any, low: Any = None, high: Any = None, *, step: bool = False
) -> Spec:
    size = len(x)
    kept = np.arange(size)
    if size > 4 * MOST_TIMES:
        kept = np.unique(np.linspace(0, size - 1, 4 * MOST_TIMES).astype(int))
    layer = {"type": "line", "series": series, "color": c, "x": _list(np.asarray(x)[kept])}
    layer["y"] = _list(np.asarray(y)[kept])
    if low is not None and high is not None and np.isfinite(low).any():
        layer |= {"low": _list(np.asarray(low)[kept]), "high": _list(np.asarray(high)[kept])}
    return layer | ({"step": True} if step else {})


def _horizon(value: float) -> Spec:
    return {"type": "rule", "axis": "x", "value": _round(value), "label": "horizon"}


def _sample(n: int) -> Any:
    """Rows to show: all, or a seeded sample in order."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))


def _inner(*values: Any) -> list[float | None]:
    """From zero to a little past what nearly all values reach."""
    tops = [float(np.nanquantile(v, 0.99)) for v in values if np.isfinite(v).any()]
    lows = [float(np.nanmin(v)) for v in values if np.isfinite(v).any()]
    return [_round(min(0.0, *lows)), _round(1.1 * max(tops))] if tops else [0.0, None]


def _label(text: str, unit: str) -> str:
    return f"{text} ({unit})" if unit else text


def _time(value: float, unit: str) -> str:
    return f"{number(value)} {unit}".strip()


def _round(value: Any) -> float | None:
    value = float(value)
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None


def _list(values: Any) -> list[float | None]:
    return [_round(v) for v in np.asarray(values, dtype=np.float64).tolist()]
