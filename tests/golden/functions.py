"""Every public metric function called by itself, and what it answers as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import survgauge as sg

from .questions import CAUSES, TEST, TRAIN, special

#: What is read of a result, where it has it, and at most this many numbers of an array.
COLUMNS = (
    *("value", "stderr", "values", "mean", "p_value", "statistic", "observed", "expected", "ratio"),
    *("low", "high", "ici", "e50", "e90", "emax", "treat_all", "treat_all_stderr", "gain"),
    *("gain_stderr", "r_squared", "model_stderr", "survival", "incidence"),
    *("number", "total", "rmst", "rmst_stderr", "survival_stderr", "log_rank"),
)
FEW = 12
TIMES = np.array([3.0, 6.0, 9.0])
METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected", "dr")


def numbers(result: Any) -> dict[str, list[float]]:
    """Columns of a result: a number, an array, or an object with some of `COLUMNS`."""
    if isinstance(result, dict):
        return {
            f"{key}.{name}": column
            for key, part in result.items()
            for name, column in numbers(part).items()
        }
    if not hasattr(result, "stderr") and isinstance(result, (float, int, np.ndarray, np.floating)):
        return {"value": _few(result)}
    found = {}
    if isinstance(result, float):
        found["value"] = _few(float(result))
    for name in COLUMNS:
        if name in found:
            continue
        part = getattr(result, name, None)
        if part is not None and not callable(part):
            found[name] = _few(part)
    return found


def _few(part: Any) -> list[float]:
    flat = np.asarray(part, dtype=float).ravel()
    step = max(1, -(-flat.size // FEW))
    return [float(value) for value in flat[::step]]


def detailed(name: str, *arguments: Any, **options: Any) -> Any:
    """Value and standard error: of the twin ``name_details``, or of the one function."""
    twin = getattr(sg, f"{name}_details", None)
    return (twin or getattr(sg, name))(*arguments, **options)


def _imputed(method: str) -> Callable[[], Any]:
    def call() -> dict[str, Any]:
        found = sg.surrogate_times(TEST.outcomes(), y_train=TRAIN.outcomes(), method=method)
        return {"time": found.time, "weight": found.weight}

    return call


def _weak() -> dict[str, Any]:
    found = sg.weak_calibration(TEST.outcomes(), TEST.curves()["good"], 6.0)
    return {"intercept": found.intercept, "slope": found.slope}


def _audited() -> dict[str, Any]:
    outcomes, train = TEST.outcomes(), TRAIN.outcomes()
    names = ["mae_within", "mae_po", "mae_hinge", "ibs", "uno"]
    options = {"y_train": train, "draws": 6, "tau": 8.0, "metrics": names}
    rows = sg.audit(TEST.curves(), outcomes, **options).rows()
    columns = ("bias", "rmse", "loss")
    return {
        f"{row['scenario']} {row['metric']}": np.array([row[key] for key in columns], dtype=float)
        for row in rows
    }


def _at_landmarks() -> dict[str, Any]:
    options = {"y_train": TRAIN.outcomes(), "metrics": ["brier", "auc", "mae_within"]}
    found = sg.landmarks(TEST.curves(), TEST.outcomes(), [2.0, 3.0], [3.0, 4.0], **options)
    columns = ("value", "stderr", "low", "high")
    return {
        f"{row['landmark']:g} {row['horizon']:g} {row['metric']} {row['model']}": np.array(
            [row[key] for key in columns], dtype=float
        )
        for row in found.rows()
    }


def _between_groups() -> dict[str, Any]:
    options = {"y_train": TRAIN.outcomes(), "metrics": ["brier", "mae_po", "uno"], "tau": 7.0}
    found = sg.evaluate(TEST.curves(), TEST.outcomes(), by=TEST.group, **options)
    return {
        f"{row['metric']} {row['model']}": np.array([row["statistic"], row["p_value"]])
        for row in found.group_differences().to_dict("records")
    }


def calls() -> dict[str, Callable[[], Any]]:
    """Every call by its name."""
    y, train = TEST.outcomes(), TRAIN.outcomes()
    curves, times = TEST.curves()["good"], TEST.times()["good"]
    poor = TEST.curves()["poor"]
    risk = TEST.x
    y_entry, train_entry = TEST.outcomes(entry=TEST.entry), TRAIN.outcomes(entry=TRAIN.entry)
    y_cause = TEST.outcomes(causes=CAUSES)
    train_cause = TRAIN.outcomes(causes=CAUSES)
    incidence = TEST.incidence()["good"]
    seen, seen_train = TEST.intervals(), TRAIN.intervals()
    of_cause = {"y_train": train_cause, "cause": "relapse"}
    km = sg.KaplanMeier.fit_censoring(train)
    weight = TEST.sampling
    own_curves = sg.Conditional(distribution=poor)
    made: dict[str, Callable[[], Any]] = {}

    def value(label: str, name: str, *arguments: Any, **options: Any) -> None:
        made[label] = lambda: float(getattr(sg, name)(*arguments, **options))

    def add(label: str, name: str, *arguments: Any, **options: Any) -> None:
        made[label] = lambda: getattr(sg, name)(*arguments, **options)

    def twin(label: str, name: str, *arguments: Any, **options: Any) -> None:
        made[label] = lambda: detailed(name, *arguments, **options)

    for method in METHODS:
        value(f"mae {method}", "mae", y, times, y_train=train, method=method)
        value(f"mse {method}", "mse", y, curves, y_train=train, method=method)
        value(f"rmse {method} tau", "rmse", y, curves, y_train=train, method=method, tau=9.0)
        twin(f"time_error {method}", "time_error", y, curves, y_train=train, method=method)
        twin(f"time_error {method} own", "time_error", y, times, method=method, tau=8.0)
        twin(
            f"time_error {method} weights",
            *("time_error", y, times),
            **{"y_train": train, "method": method, "sample_weight": weight},
        )
        if method != "dr":
            made[f"surrogate_times {method}"] = _imputed(method)
    for name in ("mae", "mse", "rmse"):
        value(f"{name} default", name, y, curves, y_train=train)
    value("mae true", "mae", y, times, method="true", true_time=TEST.true_time)
    for loss in ("squared", "relative", "log", "normalised"):
        twin(f"time_error {loss}", "time_error", y, times, y_train=train, method="po", loss=loss)
    for key, options in {
        "tail exponential": special(tail="exponential"),
        "tail hold": special(tail="hold"),
        "area trapezoid": special(area="trapezoid"),
        "unweighted": special(weighted=False),
    }.items():
        for method in ("margin", "po", "expected"):
            twin(
                f"time_error {method} {key}",
                *("time_error", y, times),
                **{"y_train": train, "method": method, **options},
            )
    for normalize in ("weights", "events"):
        twin(
            f"time_error ipcw_d {normalize}",
            *("time_error", y, times),
            **{"y_train": train, "method": "ipcw_d", **special(normalize=normalize)},
        )
    for key, censoring in {"train": "train", "km": km}.items():
        twin(
            f"time_error ipcw_d censoring {key}",
            *("time_error", y, times),
            **{"y_train": train, "method": "ipcw_d", "censoring": censoring},
        )
    for method in ("dr", "expected", "margin"):
        options = {"y_train": train, "method": method, "conditional": own_curves, "tau": 9.0}
        twin(f"time_error {method} conditional", "time_error", y, times, **options)
    floor = special(floor=0.3)
    twin("time_error dr floor", "time_error", y, times, y_train=train, method="dr", **floor)
    twin("time_error cause", "time_error", y_cause, incidence, **of_cause, tau=9.0)
    twin("time_error entry", "time_error", y_entry, curves, y_train=train_entry, tau=9.0)
    add("time_errors", "time_errors", y, times, y_train=train)

    for method in ("harrell", "uno", "margin"):
        options = {"method": method, "y_train": train, "tau": 9.0}
        twin(f"concordance_index {method}", "concordance_index", y, risk, **options)
    for ties in ("none", "time", "all", "strict"):
        twin(f"concordance_index ties {ties}", "concordance_index", y, np.round(risk), ties=ties)
    for preset in ("sksurv", "survivaleval", "torchsurv", "pycox"):
        options = {"method": "uno", "y_train": train, "convention": preset, "tau": 9.0}
        twin(f"concordance_index {preset}", "concordance_index", y, risk, **options)
    twin("concordance_index cause", "concordance_index", y_cause, risk, cause="relapse")
    twin("concordance_index entry", "concordance_index", y_entry, risk)
    twin("concordance_index weights", "concordance_index", y, risk, sample_weight=weight)
    for method in ("antolini", "ipcw"):
        options = {"method": method, "y_train": train}
        twin(f"concordance_td {method}", "concordance_td", y, curves, **options)
    for preset in ("pycox", "survivaleval"):
        twin(f"concordance_td {preset}", "concordance_td", y, curves, convention=preset)
    twin("concordance_td cause", "concordance_td", y_cause, incidence, cause="relapse")
    twin("concordance_td entry", "concordance_td", y_entry, curves)
    value("concordance_td adjusted", "concordance_td", y, curves, ties="adjusted")
    for key, options in {
        "ipcw": {},
        "unweighted": {"method": "unweighted"},
        "sksurv": {"convention": "sksurv"},
        "survivaleval": {"convention": "survivaleval"},
        "train": {"censoring": "train"},
        "weights": {"sample_weight": weight},
    }.items():
        options = {"y_train": train, **options}
        auc = {**options, "stderr": "auto"}
        twin(f"auc {key}", "cumulative_dynamic_auc", y, curves, TIMES, **auc)
        add(f"auc at {key}", "cumulative_dynamic_auc", y, curves, TIMES, **auc)
        add(f"brier_score {key}", "brier_score", y, curves, TIMES, **options)
        add(f"bll {key}", "binomial_log_likelihood", y, curves, TIMES, **options)
        twin(f"ibs {key}", "integrated_brier_score", y, curves, **options)
        twin(f"ibs times {key}", "integrated_brier_score", y, curves, TIMES, **options)
        twin(f"ibll {key}", "integrated_binomial_log_likelihood", y, curves, **options)
        add(f"brier_skill {key}", "brier_skill", y, curves, TIMES, **options)
    add("auc cause", "cumulative_dynamic_auc", y_cause, incidence, TIMES, **of_cause)
    add(
        "auc cause event_free",
        *("cumulative_dynamic_auc", y_cause, incidence, TIMES),
        **{**of_cause, "controls": "event_free"},
    )
    add("brier_score cause", "brier_score", y_cause, incidence, TIMES, **of_cause)
    add("brier_score entry", "brier_score", y_entry, curves, TIMES, y_train=train_entry)
    twin("ibs cause", "integrated_brier_score", y_cause, incidence, **of_cause)
    twin("crps", "crps", y, curves)
    twin("crps tau", "crps", y, curves, tau=9.0, sample_weight=weight)
    twin("log_likelihood", "log_likelihood", y, curves)
    twin("log_likelihood entry", "log_likelihood", y_entry, curves)
    for loss in ("log", "squared"):
        options = {"loss": loss, "y_train": train_cause}
        add(f"multi {loss}", "multi_cause_score", y_cause, incidence, TIMES, **options)
        twin(f"multi {loss} whole", "integrated_multi_cause_score", y_cause, incidence, **options)

    for kind, outcomes, predicted, options in (
        ("plain", y, curves, {}),
        ("entry", y_entry, curves, {}),
        ("cause", y_cause, incidence, {"cause": "relapse"}),
    ):
        add(f"d_calibration {kind}", "d_calibration", outcomes, predicted, **options)
        add(f"a_calibration {kind}", "a_calibration", outcomes, predicted, **options)
        add(f"one_calibration {kind}", "one_calibration", outcomes, predicted, 6.0, **options)
        twin(f"km_calibration {kind}", "km_calibration", outcomes, predicted, **options)
        add(f"ici {kind}", "integrated_calibration_index", outcomes, predicted, 6.0, **options)
        twin(f"slope {kind}", "calibration_slope", outcomes, predicted, 6.0, **options)
        add(f"observed_expected {kind}", "observed_expected", outcomes, predicted, 6.0, **options)
        add(
            f"net_benefit {kind}",
            *("net_benefit", outcomes, predicted, 6.0),
            **{"thresholds": [0.1, 0.3, 0.5], **options},
        )
    add("d_calibration chi2", "d_calibration", y, curves, method="chi2", bins=5)
    add("one_calibration dn", "one_calibration", y, curves, 6.0, method="dn", groups=4)
    preset = {"convention": "survivaleval"}
    add("one_calibration survivaleval", "one_calibration", y, curves, 6.0, groups=3, **preset)
    twin("km_calibration survivaleval", "km_calibration", y, curves, **preset)
    twin("slope_cox", "calibration_slope_cox", y, curves, 6.0)
    add("ici_cox", "integrated_calibration_index_cox", y, curves, 6.0)
    add("royston_d", "royston_d", y, risk)
    add("net_benefit ipcw", "net_benefit", y, curves, 6.0, thresholds=[0.2, 0.4], method="ipcw")
    made["weak_calibration"] = _weak
    twin("coverage", "coverage", y, curves)
    for kind in ("cox_snell", "martingale", "deviance"):
        add(f"{kind}_residuals", f"{kind}_residuals", y, curves)
    twin("skill", "skill", "crps", y, curves, y_train=train)

    for method in ("expected", "hinge"):
        for loss in ("absolute", "squared"):
            options = {"method": method, "loss": loss, "y_train": seen_train, "tau": 9.0}
            twin(f"interval_error {method} {loss}", "time_error", seen, curves, **options)
    of_seen = {"y_train": seen_train}
    add("interval_brier", "brier_score", seen, curves, TIMES, **of_seen)
    twin("interval_ibs", "integrated_brier_score", seen, curves, np.linspace(0, 9, 101), **of_seen)
    twin("interval_log_likelihood", "log_likelihood", seen, curves)
    twin("interval_concordance", "concordance_index", seen, risk)
    add("interval_observed_expected", "interval_observed_expected", seen, curves, 6.0)
    add("interval_calibration", "interval_calibration", seen, curves, 6.0, groups=4)
    twin("turnbull_calibration", "turnbull_calibration", seen, curves, tau=9.0)

    add("pseudo_observations", "pseudo_observations", y, tau=9.0)
    add("pseudo_observations cause", "pseudo_observations", y_cause, tau=9.0, cause="relapse")
    add("subdistribution_weights", "subdistribution_weights", y_cause, TIMES)
    add("comparable_pairs", "comparable_pairs", y)
    add("risk_groups", "risk_groups", y, curves, time=6.0, tau=8.0)
    add("holm", "holm", [0.01, 0.04, 0.03])
    made["kaplan_meier"] = lambda: sg.KaplanMeier.fit(y)
    made["kaplan_meier entry"] = lambda: sg.KaplanMeier.fit(y_entry)
    made["censoring"] = lambda: sg.KaplanMeier.fit_censoring(y)
    made["aalen_johansen"] = lambda: sg.AalenJohansen.fit(y_cause)
    made["turnbull"] = lambda: sg.Turnbull.fit(seen).at(TIMES)
    made["recalibrated"] = lambda: sg.recalibrate(poor, y).apply(poor).at(TIMES)
    made["censoring_test"] = lambda: sg.censoring_test(TEST.X, y)
    made["meta_analysis"] = lambda: sg.meta_analysis([1.0, 1.4, 0.8], [0.2, 0.3, 0.25])
    made["audit"] = _audited
    made["landmarks"] = _at_landmarks
    made["group_differences"] = _between_groups
    return made
