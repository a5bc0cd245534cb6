"""What intervals should cover: values of the metrics under the true distribution.

Event times are known here, and where a metric is a mean over subjects, its mean given the features
is computed from the true distribution. No estimator of the package is used but for `limits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, metrics_of

from .scenario import CAUSES, Array, Sample, Scenario, draw, predict, setting, stream

PIECE, PIECES = 40_000, 2
#: Comparators of each subject in pairs, and horizons at which C is known.
PARTNERS, HORIZONS = 10, 9
#: Points of time up to the horizon, and from there to the end of follow-up.
STEPS = (40, 21)
#: Risk from which on subjects are treated, for metrics of decisions.
THRESHOLD = 0.3
MODELS = ("right", "late", "wrong")
#: Metrics at the time of interest, and up to a horizon: these are known by the time.
AT_TIME = ("brier", "auc", "observed_expected", "net_benefit")
UP_TO = ("mae_within", "uno", "ibs", "crps", "km_calibration")
_TIME_ERRORS = ("mae_", "mse_", "rmse_")


def is_time_error(name: str) -> bool:
    """Whether it is a mean error of times."""
    return name.startswith(_TIME_ERRORS)


def estimates_truth(name: str) -> bool:
    """Whether a metric promises its value without censoring."""
    if is_time_error(name):
        return name.endswith(("_ipcw_d", "_dr", "_within"))
    base = name.removesuffix("_dr")
    known = base in (*AT_TIME, *UP_TO) and name != "crps"
    return known or base.startswith("ici")


@dataclass(frozen=True)
class Truth:
    """Values of the metrics of each model, as plain data that can be stored."""

    data: dict[str, Any]

    def value(self, model: str, metric: str, until: float | None) -> float:
        """Value without censoring; NaN where a metric has no such meaning."""
        own, base = self.data["models"].get(model, {}), metric.removesuffix("_dr")
        if REGISTRY[metric].target is not None and model == "right":
            return float(REGISTRY[metric].target or 0.0)
        if base.startswith("ici"):
            return float(own.get("ici", np.nan))
        if is_time_error(metric):
            base = "mae" if metric.startswith("mae_") else metric.split("_")[0]
        if base in ("mae", *UP_TO):
            return self._up_to(own, base, until)
        return float(own.get(base, np.nan)) if base in (*AT_TIME, "mse", "rmse") else float("nan")

    def pairs(self, model: str, metric: str, until: float | None) -> float:
        """Value of a metric of pairs that depends on who is censored: Harrell's C, Antolini's C."""
        own = self.data["models"].get(model, {})
        end = self.data["steps"][-1] if until is None else until
        return self._up_to(own, metric, end)

    def _up_to(self, own: dict[str, Any], name: str, until: float | None) -> float:
        if name not in own:
            return float("nan")
        at = self.data["horizons" if len(own[name]) == HORIZONS else "steps"]
        end = self.data["tau"] if until is None else until
        return float(np.interp(end, at, own[name])) if end <= at[-1] * 1.0001 else float("nan")


def truth(seed: int, scenario: Scenario) -> dict[str, Any]:
    """Simulate the values of a scenario for very many subjects whose event times are known."""
    at = setting(scenario)
    early, late = (np.linspace(0, at.tau, STEPS[0] + 1)[1:], np.linspace(at.tau, at.end, STEPS[1]))
    steps = np.unique(np.concatenate((early, late, [at.time])))
    horizons = np.append(np.linspace(0.3, 1, HORIZONS - 1) * at.tau, at.end)
    found: dict[str, list[dict[str, Any]]] = {model: [] for model in MODELS}
    rng = stream(seed, f"truth {scenario.name}")
    for _ in range(PIECES):
        sample = draw(rng, scenario, PIECE)
        right = _Risks(sample, "right")
        for model in MODELS:
            risks = right if model == "right" else _Risks(sample, model)
            values = _of_risks(risks, right, steps, at.time)
            values |= {"mae": risks.errors(steps)} | _squares(risks, at.tau)
            found[model].append(values | _of_pairs(risks, horizons))
    models = {
        model: _finished({k: np.mean([p[k] for p in pieces], axis=0) for k in pieces[0]}, steps)
        for model, pieces in found.items()
    }
    if scenario.entry:  # other definitions there, known for the right model alone
        for name in ("observed_expected", "km_calibration"):
            models["late"].pop(name), models["wrong"].pop(name)
    return {
        "models": models, "steps": steps.tolist(), "horizons": horizons.tolist(), "tau": at.tau,
    }  # fmt: skip


class _Risks:
    """Predicted risks of a model, given that nothing has happened at entry."""

    def __init__(self, sample: Sample, model: str) -> None:
        self.sample, self.curves = sample, predict(sample, model)
        self.several = sample.scenario.causes > 1
        self.late = sample.scenario.entry

    def from_start(self, t: Array, rows: slice | Array = slice(None)) -> Array:
        """Risk by the times of a grid, or by one's own time with as many times as subjects."""
        curves = self.curves[rows] if rows is not slice(None) else self.curves
        own = t.ndim == 1 and t.size == len(curves)
        if isinstance(curves, sg.IncidenceCurves):
            return curves.at_own(t, CAUSES[0]) if own else curves.at(t, CAUSES[0])
        return 1 - (curves.at_own(t) if own else curves.at(t))

    def by(self, t: Array) -> Array:
        """Risk by these times, given entry."""
        found = self.from_start(t)
        if not self.late:
            return found
        free = 1 - self.from_start(self.sample.entry)[:, None]
        return np.maximum(1 - (1 - found) / free, 0)

    def medians(self) -> Array:
        """Predicted medians of the cause given entry; infinite where there is none."""
        if isinstance(self.curves, sg.IncidenceCurves):
            return np.nan_to_num(self.curves.median(CAUSES[0]), nan=np.inf)
        if not self.late:
            return self.curves.median()
        free = 1 - self.from_start(self.sample.entry)
        return self.curves.times_at(None, free / 2)

    def errors(self, steps: Array) -> Array:
        """Mean absolute error of times up to each horizon, of those who entered before."""
        median, time = self.medians(), self._times()
        off = np.zeros(steps.size)
        for k, end in enumerate(steps):
            gap = np.abs(np.minimum(time, end) - np.minimum(median, end))
            off[k] = gap[self.sample.entry < end].mean()
        return off

    def _times(self) -> Array:
        """Times of the event in question; never, where another cause came first."""
        return np.where(self.sample.cause == 1, self.sample.event_time, np.inf)

    def happened(self, end: float) -> Array:
        return self._times() <= end


def _of_risks(risks: _Risks, right: _Risks, steps: Array, time: float) -> dict[str, Any]:
    """Means over subjects at all steps, and what is about the time of interest."""
    r, q = risks.by(steps), right.by(steps)
    entered = risks.sample.entry[:, None] < steps
    size = entered.sum(axis=0)
    brier = (entered * (q * (1 - r) ** 2 + (1 - q) * r**2)).sum(axis=0) / size
    k, there = int(np.searchsorted(steps, time)), entered[:, np.searchsorted(steps, time)]
    r, q, had = r[there, k], q[there, k], risks.happened(time)[there]
    treated, odds = r >= THRESHOLD, THRESHOLD / (1 - THRESHOLD)
    distance = np.zeros(steps.size) if risks is right else _marginal(risks, right, steps)
    return {
        "brier_t": brier, "entered": size / len(entered), "distance": distance,
        "brier": brier[k], "auc": _area(r, had), "ici": 0.0 if risks is right else _ici(r, q),
        "observed_expected": q.mean() / r.mean(),
        "net_benefit": np.mean(treated * (q - (1 - q) * odds)),
    }  # fmt: skip


def _marginal(risks: _Risks, right: _Risks, steps: Array) -> Array:
    """Squared distance of mean predicted from mean true curves."""
    return np.asarray((risks.by(steps).mean(axis=0) - right.by(steps).mean(axis=0)) ** 2)


def _area(risk: Array, had: Array) -> float:
    """Area under the curve, by ranks."""
    order = np.argsort(risk, kind="stable")
    rank = np.empty(risk.size)
    rank[order] = np.arange(1, risk.size + 1)
    cases = int(had.sum())
    return float((rank[had].sum() - cases * (cases + 1) / 2) / (cases * (risk.size - cases)))


def _ici(r: Array, q: Array, bins: int = 200) -> float:
    """Mean distance of predicted risks from true risks given the predicted one, by bins."""
    parts = np.array_split(np.argsort(r, kind="stable"), bins)
    return float(np.mean([abs(r[part].mean() - q[part].mean()) for part in parts]))


def _squares(risks: _Risks, tau: float) -> dict[str, float]:
    """Squared errors up to the horizon, of whole curves of one event."""
    if risks.several or risks.late or not isinstance(risks.curves, sg.SurvivalCurves):
        return {}
    time = np.minimum(risks.sample.event_time, tau)
    mse = float(np.mean((time - risks.curves.rmst(tau)) ** 2))
    return {"mse": mse, "rmse": mse**0.5}


def _of_pairs(risks: _Risks, horizons: Array) -> dict[str, Any]:
    """Shares of concordant pairs up to each horizon: Uno's, Harrell's and Antolini's C."""
    sample, last = risks.sample, setting(risks.sample.scenario).tau
    n, never = len(sample.x), np.full(len(sample.x), np.inf)
    if isinstance(risks.curves, sg.SurvivalCurves):
        ranked = [(-risks.curves.median(), horizons)]
    else:  # the risk of a cause is that by the horizon
        ends = np.minimum(horizons, last)
        ranked = [(risks.from_start(np.full(n, a)), horizons[[k]]) for k, a in enumerate(ends)]
    counts = {name: np.zeros((2, horizons.size)) for name in ("uno", "harrell", "antolini")}
    for shift in range(1, PARTNERS + 1):
        j = np.roll(np.arange(n), shift)
        for name, censoring in (("uno", never), ("harrell", sample.censoring_time)):
            first, pair = _comparable(sample, j, censoring)
            found = [_counted(first[pair], _won(r[pair], r[j][pair]), ends) for r, ends in ranked]
            counts[name] += np.concatenate(found, axis=1)
        won = _won(risks.from_start(first), risks.from_start(first, j))
        counts["antolini"] += _counted(first[pair], won[pair], horizons)
    return {name: sums[0] / sums[1] for name, sums in counts.items()}


def _won(own: Array, other: Array) -> Array:
    return np.asarray((own > other) + 0.5 * (own == other))


def _counted(first: Array, won: Array, horizons: Array) -> Array:
    """Count pairs that the first one wins, and all, whose first event is before each horizon."""
    place = np.searchsorted(horizons, first, "right")
    size = horizons.size + 1
    sums = (np.bincount(place, won, size), np.bincount(place, minlength=size))
    return np.cumsum(sums, axis=1)[:, :-1].astype(float)


def _comparable(sample: Sample, j: Array, censoring: Array) -> tuple[Array, Array]:
    """Return finite times of the first subjects, and whether their event is seen before j's."""
    seen = np.minimum(sample.event_time, censoring)
    event = sample.event_time <= censoring
    other = event & (sample.cause == 2)  # who died of something else never has the event
    later = (seen[j] > seen) | other[j]
    pair = event & (sample.cause == 1) & later & (sample.entry[j] < seen)
    return np.where(pair, seen, 0.0), pair & np.isfinite(seen)


def _finished(own: dict[str, Any], steps: Array) -> dict[str, Any]:
    """Integrate what is an integral, and make plain data."""
    width = np.diff(steps, prepend=0.0)
    weight = own.pop("entered")
    for name, values in (("ibs", own.pop("brier_t")), ("km_calibration", own.pop("distance"))):
        heights = values * (weight if name == "ibs" else 1)
        below = np.insert(heights, 0, 0.0)
        sizes = np.insert(weight if name == "ibs" else np.ones(steps.size), 0, weight[0])
        area = np.cumsum((below[1:] + below[:-1]) / 2 * width)
        own[name] = area / np.cumsum((sizes[1:] + sizes[:-1]) / 2 * width)
    own["crps"] = own["ibs"] * steps
    own["mae_within"] = own["mae"]
    return {k: v.tolist() if isinstance(v, np.ndarray) else float(v) for k, v in own.items()}


def limits(seed: int, scenario: Scenario, train: Any) -> dict[str, dict[str, float]]:
    """Values of the other metrics for very many censored subjects, the reference set as it is.

    These metrics promise no value without censoring: their interval is about this limit.
    """
    names = limited()
    rng, at = stream(seed, f"limit {scenario.name}"), setting(scenario)
    pieces: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
    for _ in range(PIECES):
        sample = draw(rng, scenario, PIECE)
        predicted = {model: predict(sample, model) for model in MODELS}
        ev = sg.evaluate(
            predicted, sample.y, y_train=train, metrics=names, time=at.time, tau=at.tau,
            threshold=THRESHOLD, confidence=None,
        )  # fmt: skip
        for model in MODELS:
            rows = [row for row in ev.rows() if row["model"] == model]
            pieces[model].append({row["metric"]: row["value"] for row in rows})
    return {m: {k: float(np.mean([p[k] for p in v])) for k in v[0]} for m, v in pieces.items()}


def limited() -> list[str]:
    """Metrics of one kind of event that have no value without censoring, and no best one."""
    return [
        name
        for name, metric in metrics_of().items()
        if metric.inference != "test" and not estimates_truth(name) and metric.target is None
        and name not in ("harrell", "antolini")
    ]  # fmt: skip
