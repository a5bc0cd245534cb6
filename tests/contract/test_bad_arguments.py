"""Whatever stands at an argument of a public function: a value, or an error that names it."""

from __future__ import annotations

import inspect
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest

import survgauge as sg
from survgauge.errors import SurvgaugeError

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")  # some public names need it to be looked at

BAD = [
    None,
    "x",
    "",
    b"x",
    [],
    [[]],
    {},
    float("nan"),
    float("inf"),
    -1,
    0,
    0.5,
    True,
    1 + 2j,
    object(),
    10**400,
    [10**400],
    Decimal("1.5"),
    [Decimal("1.5")] * 12,
    datetime(2024, 1, 1),
    np.datetime64("2024-01-01"),
    np.array(["2024-01-01"] * 12, dtype="datetime64[s]"),
    [[1.0, 2.0], [3.0]],
    [[[1.0, 2.0]]],
    [None] * 12,
    ["x"] * 12,
    np.ones((12, 2)),
    np.ones(11),
    np.full(12, np.nan),
    (1.0, 2.0, 3.0),
    pd.NA,
    pd.NaT,
    pd.Series(["a"] * 12, dtype="category"),
    range(3),
    int,
    lambda *given: None,
]

#: Records that functions give, and errors: nobody makes them from arguments of their own.
RECORDS = {
    "AalenJohansen",
    "Audit",
    "CalibrationResult",
    "CensoringTest",
    "ComparablePairs",
    "ConcordanceByPackage",
    "CurveResult",
    "Score",
    "Evaluation",
    "ICIResult",
    "KaplanMeier",
    "Visits",
    "Turnbull",
    "IntervalCalibration",
    "Entries",
    "Landmarks",
    "MetaAnalysis",
    "Method",
    "Metric",
    "NetBenefit",
    "ObservedExpected",
    "Pooled",
    "WeakCalibration",
    "Recalibration",
    "RiskGroups",
    "RoystonD",
    "SemiSynthetic",
    "Study",
    "Surrogates",
    "Terms",
    "TippingPoint",
    "TrainingTargets",
    "Validation",
    "InputError",
    "MissingExtraError",
    "SurvgaugeError",
    "UndefinedMetricError",
}
#: Functions without arguments.
BARE = {"OutcomeCounts", "available_metrics"}

RNG = np.random.default_rng(5)
N = 12
TIME = RNG.weibull(1.4, N) * 10 + 0.5
Y = (TIME, np.arange(N) % 3 > 0)
TRAIN = (RNG.weibull(1.4, 30) * 10 + 0.5, np.arange(30) % 3 > 0)
GRID = np.linspace(1, 40, 12)
CURVES = sg.SurvivalCurves(GRID, np.exp(-GRID / (8 + np.arange(N)[:, None])))
INCIDENCE = np.stack([0.7 * (1 - CURVES.survival), 0.3 * (1 - CURVES.survival)], axis=1)
TIMES = 8.0 + np.arange(N)
ONES = np.ones(N)
BATCHES = [{"time": TIME, "event": Y[1], "t": TIMES, "weight": ONES, "g": np.arange(N) % 2}]
FRAME = pd.DataFrame({"age": TIMES})

# fmt: off
IPCW = {"y_train": TRAIN, "method": "ipcw", "convention": None, "censoring": None,
        "sample_weight": ONES}
SCORES = {**IPCW, "censoring_times": None, "on_unsupported": "truncate"}
BRIER = {"y_true": Y, "curves": CURVES, "times": [4.0, 6.0], **SCORES,
         "cause": None}
CONCORDANCE = {"y_train": TRAIN, "tau": 9.0, "ties": None, "convention": None, "censoring": None,
               "sample_weight": ONES}
ERRORS = {"y_true": Y, "predicted": TIMES, "y_train": TRAIN, "tau": None, "conditional": None,
          "cause": None, "sample_weight": ONES, "true_time": TIME, "convention": None}
ON_CURVES = {"y_true": Y, "curves": CURVES}
ALL_CAUSES = {"y_true": (TIME, np.arange(N) % 3), "incidence": sg.IncidenceCurves(GRID, INCIDENCE),
              "times": [4.0, 6.0], "y_train": (TIME, np.arange(N) % 3), "censoring": "train",
              "on_unsupported": "truncate", "sample_weight": ONES}
MULTI_CAUSE = {**ALL_CAUSES, "loss": "log", "convention": None, "clip": 0.01}
SETTINGS = {"time": 5.0, "tau": 9.0, "convention": sg.Convention(threshold=0.3, min_at_risk=2)}
STREAM = {"y_train": TRAIN, "predictions": {"m": sg.TimeColumn("t")}, "metrics": ["mae_po"],
          "confidence": 0.95, "random_state": 0,
          "baseline": True, "time_column": "time", "event_column": "event",
          "weight_column": "weight", "by": "g", "apart": None, "unit": "", "conditional": None,
          "cause": None, **SETTINGS}
INTERVALS = (np.floor(TIME), np.floor(TIME) + 2.0)
ON_INTERVALS = {"y_true": INTERVALS, "curves": CURVES}
DISTRIBUTION = {"distribution": None, "y_train": INTERVALS, "sample_weight": ONES}
SKILL = {"metric": "mae", "y_true": Y, "predicted": TIMES, "y_train": TRAIN, "baseline": None}

#: A good call of every function; each argument is then spoilt in turn.
CALLS = {
    "Convention": {"name": "own", "weighted": True, "area": "step",
                   "tail": "linear", "normalize": "n", "floor": 0.1, "min_g": 0.05,
                   "on_unsupported": "truncate", "min_at_risk": 10, "threshold": None,
                   "censoring": None, "n_boot": 100, "reference": "fixed",
                   "g_ties": "events_first", "g_floor": 0.0, "event_limit": "left",
                   "survivor_limit": "right", "censored_at_t": "unknown", "divisor": "n",
                   "integration": "trapezoid", "anchors_at_tau": False,
                   "unweighted_divisor": "known", "clip": 0.0,
                   "g_influence": "estimated", "g_source": "test", "risk_tolerance": 0.0,
                   "auc_tolerance": 0.0, "td_ties": "risk", "td_curves": "interpolated",
                   "margin_area": "step", "margin_pairs": "weighted"},
    "CurveColumns": {"columns": ["a", "b"], "times": (1.0, 2.0), "interpolation": "linear",
                     "tail": "linear"},
    "IncidenceColumns": {"columns": {"a": "a_*", "b": "b_*"}, "times": (1.0, 2.0),
                         "interpolation": "linear"},
    "Outcomes": {"time": TIME, "event": Y[1], "weight": ONES, "causes": None,
                 "entry": None, "unit": "days"},
    "Reference": {"y": Y, "in_sample": False, "causes": False},
    "IncidenceCurves": {"times": GRID, "values": INCIDENCE, "causes": ["a", "b"],
                        "interpolation": "step", "repair": None},
    "RiskColumn": {"column": "a"},
    "RiskScores": {"values": TIMES},
    "Conditional": {"distribution": CURVES, "censoring": CURVES, "how": {}, "members": {},
                    "incidence": None},
    "SurvivalCurves": {"times": GRID, "survival": CURVES.survival, "interpolation": "linear",
                       "tail": "linear", "repair": None},
    "SurvivalKFold": {"n_splits": 3, "random_state": 0},
    "TimeColumn": {"column": "a"},
    "a_calibration": {**ON_CURVES, "bins": 3, "cause": None},
    "as_curves": {"obj": CURVES, "tail": None, "repair": None},
    "as_incidence": {"obj": INCIDENCE, "times": GRID, "layout": "incidence", "causes": ["a", "b"],
                     "interpolation": "step", "repair": None},
    "audit": {"predictions": {"m": TIMES}, "y_test": Y, "y_train": TRAIN, "conditional": None,
              "draws": 2, "random_state": 0, "metrics": ["mae_po"], "tau": 9.0, "time": 4.0,
              "dependence": (0.2,), "copula": "clayton", "max_bias": 0.15, "sample_weight": ONES,
              "unit": "", "convention": None},
    "binomial_log_likelihood": {**BRIER, "clip": None},
    "booster_metric": {"name": "mae_po", "y_valid": Y, "y_train": TRAIN, "output": "log_time",
                       "scale": 0.5, "distribution": "normal", "time": 5.0, "tau": 9.0,
                       "convention": None},
    "brier_score": {**BRIER, "distribution": None},
    "brier_skill": {**ON_CURVES, "times": [4.0, 6.0], **SCORES, "cause": None},
    "calibration_slope": {**ON_CURVES, "time": 9.0, "probability": "survival", "cause": None},
    "calibration_slope_cox": {**ON_CURVES, "time": 9.0, "ties": "efron", "probability": "survival"},
    "censoring_test": {"X": FRAME, "y": Y, "features": ["age"]},
    "comparable_pairs": {"y": Y},
    "compare_folds": {"scores_a": [1.0, 2.0, 4.0], "scores_b": [2.0, 2.0, 3.0], "n_train": 8,
                      "n_test": 4, "confidence": 0.9},
    "concordance_by_package": {"y_true": Y, "prediction": CURVES, "y_train": TRAIN, "tau": 9.0},
    "concordance_index": {"y_true": Y, "risk": TIMES, "method": "uno", **CONCORDANCE,
                          "cause": None},
    "concordance_td": {**ON_CURVES, "method": "ipcw", **CONCORDANCE, "cause": None},
    "coverage": {**ON_CURVES, "level": 0.9},
    "conditional": {"X_train": FRAME, "y_train": Y, "X_test": FRAME, "y_test": Y, "fit_on": None,
                    "members": ["km"], "censoring": "km", "tail": "linear", "random_state": 0},
    "cox_snell_residuals": ON_CURVES,
    "crps": {**ON_CURVES, "tau": 5.0, "sample_weight": ONES},
    "cumulative_dynamic_auc": {"y_true": Y, "risk_or_curves": CURVES, "times": [4.0, 6.0],
                               **IPCW, "on_unsupported": "truncate",
                               "stderr": "fixed", "cause": None, "controls": "event_free"},
    "curves_from_aft": {"time": TIMES, "scale": 0.5, "times": GRID, "distribution": "normal",
                        "tail": "linear"},
    "curves_from_quantiles": {"levels": [0.2, 0.7], "quantiles": np.ones((3, 2)),
                              "tail": "linear"},
    "d_calibration": {**ON_CURVES, "bins": 4, "method": "ks", "cause": None},
    "evaluate": {"predictions": {"m": TIMES}, "y_test": Y, "y_train": TRAIN, "metrics": ["mae_po"],
                 "confidence": 0.95, "random_state": 0, "by": None, "unit": "",
                 "sample_weight": ONES, "cluster": np.arange(N) % 4, "X_test": None,
                 "X_train": None, "conditional": None, "cause": None, "landmark": None,
                 **SETTINGS},
    "Evaluator": {"y_train": TRAIN, "metrics": ["mae_po"]},
    "evaluate_stream": {"batches": BATCHES, **STREAM, "workers": 1, "batch_rows": 100,
                        "progress": None, "entry_column": None, "outcomes": None},
    "delayed_entry": {"y": Y, "latest": 5.0, "late": 0.5, "entry": None, "random_state": 0},
    "landmarks": {"predictions": {"m": TIMES}, "y_test": Y, "landmarks": [0.0, 2.0],
                  "horizons": [4.0], "metrics": ["mae_hinge"], "y_train": TRAIN,
                  "confidence": 0.95, "random_state": 0, "unit": "",
                  "convention": sg.Convention(min_at_risk=2)},
    "IntervalOutcomes": {"lower": TIME, "upper": TIME + 1.0, "weight": ONES},
    "interval_calibration": {**ON_INTERVALS, "time": 6.0, "groups": 2, "confidence": 0.9},
    "visits": {"time": TIME, "every": 2.0, "jitter": 0.5, "missed": 0.1, "end": None,
               "random_state": 0},
    "holm": {"p_values": [0.2, 0.01]},
    "integrated_binomial_log_likelihood": {**BRIER, "clip": None},
    "integrated_brier_score": {**BRIER, "distribution": None, "tau": None},
    "integrated_calibration_index": {**ON_CURVES, "time": 9.0, "knots": 3,
                                     "probability": "survival", "cause": None},
    "integrated_calibration_index_cox": {**ON_CURVES, "time": 9.0, "knots": 3, "ties": "efron",
                                         "probability": "survival"},
    "integrated_multi_cause_score": MULTI_CAUSE,
    "km_calibration": {**ON_CURVES, "tau": 5.0, "convention": "survgauge", "cause": None},
    "log_likelihood": {**ON_CURVES, "sample_weight": ONES},
    "mae": {**ERRORS, "method": "po"},
    "meta_analysis": {"estimates": [0.7, 0.6, 0.8], "stderr": [0.1, 0.05, 0.1], "scale": "logit",
                      "confidence": 0.9},
    "multi_cause_score": MULTI_CAUSE,
    "net_benefit": {"y_true": Y, "risk_or_curves": CURVES, "time": 9.0, "thresholds": [0.2, 0.4],
                    "y_train": TRAIN, "method": "ipcw", "censoring": "train", "cause": None},
    "weak_calibration": {**ON_CURVES, "time": 9.0, "probability": "survival", "cause": None},
    "observed_expected": {**ON_CURVES, "time": 9.0, "probability": "survival", "confidence": 0.9,
                          "cause": None},
    "one_calibration": {**ON_CURVES, "time": 9.0, "groups": 2, "method": None,
                        "probability": "survival", "convention": "survgauge",
                        "cause": None},
    "pooled": {"evaluations": [sg.evaluate(TIMES + k, Y, metrics="mae_hinge") for k in (0, 1)]},
    "pseudo_observations": {"y_true": Y, "y_train": TRAIN, "tail": "linear", "tau": 9.0,
                            "cause": None},
    "recalibrate": {"curves": CURVES, "y": Y, "method": "conformal"},
    "reference_curves": {"y_train": TRAIN, "n": 3, "tail": "linear"},
    "residual_details": {**ON_CURVES, "kind": "deviance"},
    "risk_groups": {"y_true": Y, "prediction": CURVES, "groups": 2, "cuts": None, "time": 5.0,
                    "tau": 4.0},
    "royston_d": {"y_true": Y, "risk": TIMES, "ties": "efron"},
    "scorer": {"name": "mae_po", "y_train": TRAIN, "predicts": None, "cause": None, **SETTINGS},
    "semisynthetic": {"X": FRAME, "y": Y, "censoring": "uniform", "random_state": 0,
                      "external": None, "rate": 0.3, "kendall_tau": 0.0, "copula": "clayton",
                      "whole_units": None, "fill": None},
    "skill": SKILL,
    "subdistribution_weights": {"y": (TIME, np.arange(N) % 3), "times": [4.0, 6.0], "cause": 2},
    "surrogate_times": {"y_true": Y, "y_train": TRAIN, "method": "po", "area": "step",
                        "tail": "linear", "tau": 9.0},
    "tipping_point": {"first": TIMES, "second": TIMES + 1, "y_test": Y, "y_train": TRAIN,
                      "tau": 9.0, "conditional": None, "copulas": ["frank"], "largest": 0.1,
                      "sample_weight": ONES},
    "time_error": {**ERRORS, "method": "po", "loss": "absolute"},
    "time_errors": {**ERRORS, "methods": ["po", "hinge"], "loss": "absolute"},
    "training_targets": {"y": Y, "times": [4.0, 6.0], "tau": 9.0, "cause": None},
    "validate": {"model": lambda X, y: lambda X: X[:, 0], "X": np.ones((N, 2)), "y": Y,
                 "metrics": ["mae_po"], "method": "bootstrap", "resamples": 2, "folds": 2,
                 "time": 5.0, "tau": 9.0, "threshold": 0.3, "predicts": None, "confidence": 0.9,
                 "random_state": 0, "n_jobs": 1, "progress": False},
}
# fmt: on
_SAME = {
    "cox_snell_residuals": ["deviance_residuals", "martingale_residuals"],
    "mae": ["mse", "rmse"],
}
CALLS |= {name: CALLS[like] for like, names in _SAME.items() for name in names}
#: The same doors as another function, with a cluster behind them.
ELSEWHERE = {"evaluate_dask"}
#: What changes the registry for all who come after; tests/contract/test_house.py tries it.
REGISTERS = {"register_method", "register_metric"}
#: Arguments that take a function of the caller's, whose own errors are not ours to change.
FUNCTIONS = {"batches", "censoring", "metric", "progress", "client", "y_train"}
#: What messages call an argument whose own name says little.
CALLED = {
    "obj": "curves|incidence|times",
    "values": "risk",
    "batches": "batch|stream|folder",
    "X_test": "X",
}


def test_every_public_function_is_called_or_listed():
    functions = {name for name in sg.__all__ if callable(getattr(sg, name))}
    assert functions - RECORDS - BARE - ELSEWHERE - REGISTERS == set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_good_calls_are_good_and_have_every_argument(name):
    function = getattr(sg, name)
    function(**CALLS[name])
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind != p.VAR_KEYWORD}
    assert named - set(CALLS[name]) <= {"copy", "prefix"}


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name in sorted(CALLS) for argument in CALLS[name]]
)
def test_a_bad_argument_gives_a_value_or_an_error_that_names_it(name, argument):
    function, good = getattr(sg, name), CALLS[name]
    words = [argument, *CALLED.get(argument, argument).split("|")]
    unnamed = []
    for bad in BAD:
        if callable(bad) and argument in FUNCTIONS:
            continue
        try:
            function(**{**good, argument: bad})
        except sg.UndefinedMetricError:
            pass  # a valid argument at which the metric has no value
        except SurvgaugeError as error:
            # Text may be taken for the name of a column or a file, which the message then says.
            named = [*words, bad] if isinstance(bad, str) else words
            named = [*words, "x"] if isinstance(bad, list) and bad[:1] == ["x"] else named
            if not any(word in str(error) for word in named):
                unnamed.append((bad, str(error)))
    assert not unnamed


#: Arguments that are outcomes.
OUTCOMES = {"y_true", "y_test", "y_train", "y", "y_a", "y_b", "external"}
SEVERAL = np.arange(N) % 3
#: What knows several causes, or reads them later.
KNOWING = {
    "delayed_entry", "semisynthetic",
    "subdistribution_weights", "scorer",
    "multi_cause_score", "integrated_multi_cause_score", "conditional",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (n, a)
        for n in sorted(CALLS)
        for a in CALLS[n]
        if a in OUTCOMES and n not in KNOWING | {"scorer"}
    ],
)
@pytest.mark.parametrize("given", [sg.Outcomes(TIME, SEVERAL), (TIME, SEVERAL)])
def test_several_causes_are_refused_where_one_kind_of_event_is_expected(name, argument, given):
    if isinstance(given, tuple) and CALLS[name].get("y_true") is INTERVALS:
        pytest.skip("a pair is lower and upper here")
    call = {**CALLS[name], argument: given}
    if argument == "external":
        call["censoring"] = "external"
    with pytest.raises(sg.InputError, match=r"one kind of event .* y\.only\(cause\)"):
        getattr(sg, name)(**call)


ENTRY = sg.Outcomes(TIME, Y[1], entry=TIME / 2 * (np.arange(N) % 2))
#: What knows delayed entry of the test outcomes, as it is called here: the rules of
#: other packages do not go with it.
KNOWS_ENTRY = {
    "binomial_log_likelihood", "brier_score", "concordance_index",
    "integrated_binomial_log_likelihood",
    "integrated_brier_score",
    "a_calibration", "brier_skill", "calibration_slope",
    "calibration_slope_cox",
    "concordance_td", "coverage",
    "cox_snell_residuals", "crps", "integrated_calibration_index", "net_benefit",
    "pseudo_observations", "royston_d",
    "validate", "weak_calibration", "cumulative_dynamic_auc",
    "d_calibration",
    "deviance_residuals", "evaluate", "km_calibration", "landmarks",
    "log_likelihood", "mae", "martingale_residuals", "mse",
    "observed_expected", "one_calibration", "residual_details", "rmse", "surrogate_times",
    "time_error", "time_errors",
}  # fmt: skip
#: What scores all causes.
OF_ALL_CAUSES = {
    "multi_cause_score", "integrated_multi_cause_score",
}  # fmt: skip
#: What takes G or Kaplan-Meier from training outcomes with delayed entry, or reads them later.
TRAINS_ON_ENTRY = {
    "binomial_log_likelihood", "brier_score", "concordance_index",
    "integrated_binomial_log_likelihood", "integrated_brier_score", "Evaluator", "Reference",
    "brier_skill", "concordance_td",
    "cumulative_dynamic_auc", "evaluate", "landmarks", "mae",
    "mse", "net_benefit", "pseudo_observations", "reference_curves", "rmse", "scorer",
    "surrogate_times", "time_error",
    "time_errors",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (n, a)
        for n in sorted(CALLS)
        for a in CALLS[n]
        if a in OUTCOMES and n not in OF_ALL_CAUSES
        and not (n in KNOWING - {"scorer"} and a == "y_train")
    ],
)  # fmt: skip
def test_delayed_entry_is_known_or_refused(name, argument):
    call = {**CALLS[name], argument: ENTRY}
    if argument == "external":
        call["censoring"] = "external"
    training = argument == "y_train" or name == "Reference"
    known = name in (TRAINS_ON_ENTRY if training else KNOWS_ENTRY)
    if known:
        assert getattr(sg, name)(**call) is not None
        return
    with pytest.raises((sg.InputError, sg.UndefinedMetricError), match="delayed entry"):
        getattr(sg, name)(**call)


LATE = sg.Outcomes(TIME, SEVERAL, entry=ENTRY.entry)
#: What knows delayed entry of a cause, as it is called here.
KNOWS_ENTRY_OF_A_CAUSE = {
    "a_calibration", "binomial_log_likelihood", "brier_score", "brier_skill", "concordance_index",
    "cumulative_dynamic_auc",
    "d_calibration", "evaluate", "integrated_binomial_log_likelihood", "weak_calibration",
    "calibration_slope", "integrated_calibration_index",
    "integrated_brier_score", "km_calibration", "mae", "mse",
    "net_benefit", "observed_expected", "one_calibration", "rmse", "time_error",
    "time_errors", *OF_ALL_CAUSES,
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, call in CALLS.items()
        if ("cause" in call or name in OF_ALL_CAUSES) and OUTCOMES & {*call} - {"y_train"}
    ),
)
def test_delayed_entry_of_a_cause_is_known_or_refused(name):
    incidence = sg.IncidenceCurves(GRID, INCIDENCE)
    call = {**CALLS[name], "cause": 1, "incidence": incidence, "tau": 6.0}
    call = {key: value for key, value in call.items() if key in CALLS[name]}
    call |= {key: LATE for key in call if key in OUTCOMES}
    call |= {key: incidence for key in call if call[key] is CURVES}
    if name in KNOWS_ENTRY_OF_A_CAUSE:
        assert getattr(sg, name)(**call) is not None
        return
    with pytest.raises((sg.InputError, sg.UndefinedMetricError), match="delayed entry"):
        getattr(sg, name)(**call)


def test_several_causes_are_refused_in_streams():
    batches = [{**BATCHES[0], "event": SEVERAL}]
    with pytest.raises(sg.InputError, match="batch 0: y must have one kind of event"):
        sg.evaluate_stream(**{**CALLS["evaluate_stream"], "batches": batches})
