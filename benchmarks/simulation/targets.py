"""What intervals should cover: values for very many subjects, with censoring and without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

import survgauge as sg
from survgauge.metrics.registry import metrics_of

from .world import FRAILTY, Censoring, curves, draw, scale_of, stream

PIECE, PIECES = 50_000, 3
#: Risk from which on subjects are treated, for metrics of decisions.
THRESHOLD = 0.3
MODELS = ("twin a", "true")
#: Metrics that stop at tau or, before it, at the horizon that the data support, and their names
#: without censoring: known as functions of where they stop.
TO_HORIZON = {
    "ibs": "ibs", "ibll": "ibll", "uno": "uno",
    "ibs_dr": "ibs", "crps_dr": "crps", "mae_within": "mae",
}  # fmt: skip
_TIME_ERRORS = ("mae_", "mse_", "rmse_")


def is_time_error(name: str) -> bool:
    """Whether it is a mean error of times."""
    return name.startswith(_TIME_ERRORS)


def estimates_truth(name: str) -> bool:
    """Whether a metric promises its value without censoring: those that weight by 1/G."""
    weighted = name in (*TO_HORIZON, "brier", "brier_dr", "auc", "net_benefit")
    return weighted or (is_time_error(name) and name.endswith(("_ipcw_d", "_dr")))


@dataclass(frozen=True)
class Targets:
    """Values of the metrics of each model, as plain data that can be stored."""

    data: dict[str, Any]

    def limit(self, model: str, metric: str, last: float | None = None) -> float:
        """Value of the same metric for very many test subjects, the reference set as it is."""
        if model == "true" and metric in ("ici", "km_calibration"):
            return 0.0  # the truth is calibrated
        if metric == "km_calibration":
            return self._read(model, metric, float("nan") if last is None else last)
        return float(self.data["limit"].get(model, {}).get(metric, np.nan))

    def truth(self, model: str, metric: str, problem: Any) -> float:
        """Value without censoring for a question; NaN where a metric has no such meaning."""
        if metric in TO_HORIZON:
            return self._read(model, TO_HORIZON[metric], problem.until)
        name = metric.removesuffix("_dr")
        if is_time_error(metric):
            name = "free" if problem.tau is None else metric.split("_")[0]
        return float(self.data["truth"][model].get(name, np.nan))

    def _read(self, model: str, metric: str, where: float) -> float:
        at, values = self.data["by_time"][model][metric]
        return float(np.interp(where, at, values))


def _mean(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.mean([p[name] for p in pieces], axis=0).tolist() for name in pieces[0]}


def without_censoring(
    seed: int, censoring: Censoring, strength: float, frail: bool
) -> dict[str, Any]:
    """Values where everybody's event is seen, and distances of mean curves from Kaplan-Meier."""
    name = f"known {censoring.name} {strength} {frail}"
    found: dict[str, dict[str, Any]] = {"truth": {}, "by_time": {}}
    for model in MODELS:
        rng = stream(seed, name)  # the same subjects for all models
        plain, by_time = [], []
        for _ in range(PIECES):
            u = FRAILTY * rng.normal(size=PIECE) if frail else 0.0
            sample = draw(rng, PIECE, censoring, strength=strength, frailty=u)
            predicted = curves(scale_of(sample, model))
            plain.append(_plain(sample, predicted, censoring))
            by_time.append(_by_time(sample, predicted, censoring))
        found["truth"][model] = _mean(plain)
        at = {k: v for k, v in by_time[0].items() if k.endswith("@")}
        means = _mean([{k: v for k, v in p.items() if not k.endswith("@")} for p in by_time])
        found["by_time"][model] = {k: (at[f"{k}@"].tolist(), v) for k, v in means.items()}
    return found


def _plain(sample: Any, predicted: Any, censoring: Censoring) -> dict[str, float]:
    """True errors up to the horizon, without one ("free"), Brier score, AUC, net benefit."""
    t, tau = sample.event_time, censoring.tau
    known = {"method": "true", "true_time": t}
    mae = sg.mae(sample.known, predicted, tau=tau, **known)
    mse = sg.mse(sample.known, predicted, tau=tau, **known)
    s, late = predicted.at([censoring.time])[:, 0], t > censoring.time
    controls, cases = int(late.sum()), int((~late).sum())
    area = (rankdata(s)[late].sum() - controls * (controls + 1) / 2) / (controls * cases)
    odds = THRESHOLD / (1 - THRESHOLD)
    return {
        "mae": mae,
        "mse": mse,
        "rmse": float(np.sqrt(mse)),
        "free": sg.mae(sample.known, predicted, **known),
        "brier": float(np.mean((late - s) ** 2)),
        "auc": float(area),
        "net_benefit": float(np.mean((1 - s >= THRESHOLD) * np.where(late, -odds, 1.0))),
    }


def _by_time(sample: Any, predicted: Any, censoring: Censoring) -> dict[str, np.ndarray]:
    """Integrated scores, errors and Uno's C by horizon; distance from Kaplan-Meier by last time."""
    t, steps = sample.event_time, np.linspace(0, censoring.high, 201)
    brier, logs, mean = np.zeros(steps.size), np.zeros(steps.size), np.ones(steps.size)
    for k, time in enumerate(steps[1:], 1):
        s, late = predicted.at([time])[:, 0], t > time
        brier[k] = np.mean((late - s) ** 2)
        with np.errstate(divide="ignore"):
            logs[k] = -np.mean(np.log(np.where(late, s, 1 - s)))
        mean[k] = s.mean()
    median = predicted.median()
    errors = [np.abs(np.minimum(t, end) - np.minimum(median, end)).mean() for end in steps[1:]]
    taus = np.linspace(0.2 * censoring.tau, censoring.high, 10)
    uno = [sg.concordance_index(sample.known, -median, method="uno", tau=tau) for tau in taus]
    km = sg.KaplanMeier.fit(sample.y).at(steps)
    shares = {"ibs": brier, "ibll": logs, "km_calibration": (mean - km) ** 2}
    found: dict[str, np.ndarray] = {"uno": np.array(uno), "uno@": taus}
    for name, values in shares.items():
        area = np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(steps))
        found[name], found[f"{name}@"] = area / steps[1:], steps[1:]
    for name, values in (("crps", found["ibs"] * steps[1:]), ("mae", np.array(errors))):
        found[name], found[f"{name}@"] = values, steps[1:]
    return found


def with_censoring(
    seed: int, censoring: Censoring, train: sg.Reference, names: list[str], frail: bool
) -> dict[str, dict[str, float]]:
    """Limits of metrics, the reference set fixed."""
    if not names:  # a run about metrics that do not look at this reference set
        return {}
    rng = stream(seed, f"limit {censoring.name} {frail}")
    values: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
    for _ in range(PIECES):
        u = FRAILTY * rng.normal(size=PIECE) if frail else 0.0
        sample = draw(rng, PIECE, censoring, frailty=u)
        predicted = {model: curves(scale_of(sample, model)) for model in MODELS}
        settings = {"y_train": train, "time": censoring.time, "confidence": None}
        settings["threshold"] = THRESHOLD
        ev = sg.evaluate(predicted, sample.y, metrics=names, tau=censoring.tau, **settings)
        absolute = [name for name in names if name.startswith("mae_")]
        rows = [(row, row["metric"]) for row in ev.rows()]
        if absolute:
            free = sg.evaluate(predicted, sample.y, metrics=absolute, **settings)
            rows += [(row, f"free {row['metric']}") for row in free.rows()]
        for model in MODELS:
            own = {name: row["value"] for row, name in rows if row["model"] == model}
            values[model].append(own)
    return {model: _mean(pieces) for model, pieces in values.items()}


def metrics_with_intervals() -> list[str]:
    """All metrics of one kind of event and right-censored outcomes, but the tests."""
    return [n for n, m in metrics_of().items() if m.inference != "test"]


def limited(everything: bool) -> list[str]:
    """Metrics whose limits are simulated: all, or those that look at the reference set."""
    names = [n for n in metrics_with_intervals() if n not in (*TO_HORIZON, "km_calibration")]
    looking = [n for n in names if is_time_error(n) or n.endswith("_dr") or n == "ipa"]
    return names if everything else looking
