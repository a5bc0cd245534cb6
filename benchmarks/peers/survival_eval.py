"""Calls of SurvivalEVAL."""

from __future__ import annotations

from typing import Any

from data import Data

from peers import Call


def _evaluator(data: Data) -> Any:
    from SurvivalEVAL import SurvivalEvaluator

    return SurvivalEvaluator(data.survival, data.grid, *data.test, *data.train)


def _with_medians(data: Data) -> Any:
    """Its evaluator keeps the medians once they are known; they are timed on their own."""
    evaluator = _evaluator(data)
    _ = evaluator.predicted_event_times
    return evaluator


def po(data: Data) -> Call:
    from SurvivalEVAL import PointEvaluator

    evaluator = PointEvaluator(data.predicted, *data.test, *data.train)
    return lambda: evaluator.mae(method="Pseudo_obs", weighted=True)


def errors(data: Data) -> Call:
    """Those of the methods that are quick there: no pseudo-observations."""
    from SurvivalEVAL import PointEvaluator

    evaluator = PointEvaluator(data.predicted, *data.test, *data.train)
    methods = ("Uncensored", "Hinge", "Margin", "IPCW-T")
    return lambda: [evaluator.mae(method=method) for method in methods]


def medians(data: Data) -> Call:
    evaluator = _evaluator(data)
    return lambda: evaluator.predicted_event_times


def harrell(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance()[0]


def uno(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance(method="Uno")[0]


def antolini(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance_time_dependent()[0]


def ibs(data: Data) -> Call:
    from SurvivalEVAL import SurvivalEvaluator

    evaluator = SurvivalEvaluator(data.survival_at_times, data.times, *data.test, *data.train)
    return lambda: evaluator.integrated_brier_score(target_times=data.times)


def ibs_between(data: Data) -> Call:
    evaluator = _evaluator(data)
    return lambda: evaluator.integrated_brier_score(target_times=data.times)


def d_calibration(data: Data) -> Call:
    evaluator = _evaluator(data)
    return lambda: evaluator.d_calibration()[0]


def one_calibration(data: Data) -> Call:
    evaluator = _evaluator(data)
    return lambda: evaluator.one_calibration(target_time=data.middle)[0]


def km_calibration(data: Data) -> Call:
    evaluator = _evaluator(data)
    return lambda: evaluator.km_calibration()


def ici(data: Data) -> Call:
    evaluator = _evaluator(data)
    options = {"target_time": data.middle, "draw_figure": False}
    return lambda: evaluator.integrated_calibration_index(**options)["ICI"]


def report(data: Data) -> Call:
    """Its usual metrics one after the other, without intervals."""
    evaluator = _evaluator(data)

    def call() -> None:
        evaluator.concordance()
        evaluator.concordance(method="Uno")
        evaluator.integrated_brier_score(target_times=data.times)
        evaluator.d_calibration()
        evaluator.one_calibration(target_time=data.middle)
        evaluator.km_calibration()
        evaluator.log_rank()
        evaluator.auprc()
        evaluator.mae(method="Margin")

    return call


def ibs_of_cause(data: Data) -> Call:
    from SurvivalEVAL import CompetingRisksEvaluator

    inside = data.test[0] <= data.last  # it refuses subjects observed past the grid
    time = data.test[0].clip(max=data.last)
    codes = data.codes[1] * inside
    evaluator = CompetingRisksEvaluator(
        data.incidence, data.times, time, codes, train_event_times=data.train[0],
        train_event_indicators=data.codes[0],
    )  # fmt: skip
    options = {"target_times": data.times[:-1], "event_of_interest": 1}
    return lambda: evaluator.integrated_brier_score_per_event(**options)


def c_of_cause(data: Data) -> Call:
    from SurvivalEVAL import concordance_cr_per_event

    given = data.test[0], data.codes[1], data.train[0], data.codes[0]
    options = {"method": "IPCW", "tau": data.last, "event_of_interest": 1}
    return lambda: concordance_cr_per_event(data.incidence[:, 0, -1], *given, **options)[0]


def auc_of_cause(data: Data) -> Call:
    from SurvivalEVAL import auc_cr_per_event

    given = data.test[0], data.codes[1], data.times[49], data.train[0], data.codes[0]
    return lambda: auc_cr_per_event(data.incidence[:, 0, 49], *given, method="IPCW")
