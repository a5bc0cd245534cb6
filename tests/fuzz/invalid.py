"""Random invalid data: an InputError that names the argument, nothing else.

Values only; arguments of a wrong kind are in `tests/contract`.
"""

from __future__ import annotations

import math

import survgauge as sg

from .data import draw
from .engine import UNDEFINED
from .kinds import kind
from .probability_checks import covering

BAD_NUMBERS = (math.nan, math.inf, -math.inf, -1.0)


def _functions(case, rng):
    """(function, arguments by name) of valid calls, from which one is broken."""
    t = (max(case.time) or case.scale) * 0.5
    curves = case.curves()
    y = {"y_true": (list(case.time), list(case.event))}
    return rng.choice(
        (
            (sg.mae, {**y, "predicted": list(case.predicted), "method": "hinge", "tau": t}),
            (
                sg.time_error,
                {
                    **y,
                    "predicted": list(case.predicted),
                    "loss": "absolute",
                    "method": "uncensored",
                },
            ),
            (sg.concordance_index, {**y, "risk": list(case.risk), "method": "harrell", "tau": t}),
            (sg.concordance_td, {**y, "curves": curves, "method": "antolini"}),
            (sg.brier_score, {**y, "curves": curves, "times": [t], "method": "ipcw"}),
            (sg.integrated_brier_score, {**y, "curves": curves, "times": [t / 2, t]}),
            (sg.binomial_log_likelihood, {**y, "curves": curves, "times": [t]}),
            (sg.cumulative_dynamic_auc, {**y, "risk_or_curves": list(case.risk), "times": [t]}),
            (sg.crps, {**y, "curves": curves}),
            (sg.log_likelihood, {**y, "curves": curves}),
            (sg.d_calibration, {**y, "curves": curves, "bins": 4}),
            (sg.one_calibration, {**y, "curves": curves, "time": t, "groups": 3}),
            (sg.km_calibration, {**y, "curves": curves}),
            (sg.coverage, {**y, "curves": curves, "level": 0.5}),
            (sg.integrated_calibration_index, {**y, "curves": curves, "time": t}),
            (sg.cox_snell_residuals, {**y, "curves": curves}),
            (sg.surrogate_times, {**y, "method": "margin", "tail": "linear", "area": "step"}),
            (sg.pseudo_observations, {**y, "tail": "hold"}),
        )
    )


def _broken_outcomes(rng, time, event):
    """Outcomes that are none, and words of which the error must have one."""
    i = rng.randrange(len(time))
    which = rng.randrange(5)
    if which == 0:
        time = [*time[:i], rng.choice(BAD_NUMBERS), *time[i + 1 :]]
    elif which == 1:
        event = [*event[:i], rng.choice((2, -1, 0.5, math.nan)), *event[i + 1 :]]
    elif which == 2:
        time = [*time, 1.0]
    elif which == 3:
        time, event = [], []
    else:
        weight = [1.0] * len(time)
        weight[i] = rng.choice((math.nan, -1.0, math.inf))
        return (time, event, weight), ("weight", "y_true", "y ")
    return (time, event), ("y_true", "time", "event")


def _broken(rng, name, value, n):
    """A wrong value for an argument, and words of which the error must have one."""
    if name == "y_true":
        return _broken_outcomes(rng, *value)
    if name in ("predicted", "risk", "risk_or_curves"):
        wrong = [[*value, 1.0], [math.nan, *value[1:]], value[:-1]]
        return rng.choice(wrong), (name, "risk")
    if name == "curves":
        more = sg.SurvivalCurves([1.0, 2.0], [[1.0, 0.5]] * (n + 1))
        return rng.choice((more, None, "text", 3.0)), ("curves", "survival", "subject")
    if name in ("times", "time", "tau"):
        bad = rng.choice(BAD_NUMBERS)
        return ([bad] if name == "times" else bad), (name,)
    if name in ("bins", "groups"):
        wrong = (0, -1, 2.5, "x") if name == "groups" else (0, -1, 2.5, "x", None)
        return rng.choice(wrong), (name,)
    if name == "level":
        return rng.choice((0.0, 1.0, -1.0, math.nan)), (name,)
    return "nonsense", (name,)


@kind(covering)
def invalid(case, rng, call):
    function, options = _functions(case, rng)
    name = rng.choice(list(options))
    if name == "times" and function is sg.integrated_brier_score and rng.random() < 0.3:
        wrong, words = options["times"][:1], ("times",)
    else:
        wrong, words = _broken(rng, name, options[name], len(case))
    y = options.pop("y_true")
    if call(function, y, **options) is UNDEFINED:
        return
    if name == "y_true":
        y = wrong
    else:
        options[name] = wrong
    if len(y) == 3:
        call.refused(words, sg.Outcomes, *y)
        return
    call.refused(words, function, y, **options)


@kind(draw)
def invalid_curves(case, rng, call):
    """Curves that are none are refused when they are made."""
    grid, survival = [1.0, 2.0, 3.0], [[0.9, 0.5, 0.2] for _ in range(len(case))]
    i = rng.randrange(len(case))
    which = rng.randrange(7)
    options = {}
    if which == 0:
        survival[i][rng.randrange(3)] = rng.choice((math.nan, 1.5, -0.2, math.inf))
    elif which == 1:
        survival[i] = [0.2, 0.5, 0.9]
    elif which == 2:
        grid = [1.0, 1.0, 3.0]
    elif which == 3:
        grid = [rng.choice(BAD_NUMBERS), 2.0, 3.0]
    elif which == 4:
        grid = [1.0, 2.0]
    elif which == 5:
        options = {rng.choice(("interpolation", "tail", "repair")): "nonsense"}
    else:
        survival = []
    words = (*options, "survival", "times", "curve", "subject") if not options else tuple(options)
    call.refused(words, sg.SurvivalCurves, grid, survival, **options)


@kind(draw)
def invalid_weights(case, rng, call):
    """Weights of the average must be numbers, not negative, one a subject, not all zero."""
    n = len(case)
    good = [1.0] * n
    wrong = rng.choice(
        (
            [*good, 1.0],
            [-1.0, *good[1:]],
            [math.nan, *good[1:]],
            [0.0] * n,
            "text",
            [math.inf, *good[1:]],
        )
    )
    y, curves = (case.time, case.event), case.curves()
    function, arguments = rng.choice(
        (
            (sg.mae, (y, case.predicted)),
            (sg.concordance_index, (y, case.risk)),
            (sg.crps, (y, curves)),
            (sg.log_likelihood, (y, curves)),
            (sg.brier_score, (y, curves, [max(case.time) or case.scale])),
            (sg.cumulative_dynamic_auc, (y, case.risk, [max(case.time) or case.scale])),
        )
    )
    call.refused("sample_weight", function, *arguments, sample_weight=wrong)
