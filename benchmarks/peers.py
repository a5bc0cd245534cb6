"""Other packages as black boxes: each function sets up, untimed, and returns the call to time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from data import Data

Call = Callable[[], Any]


def structured(y: tuple[Any, Any]) -> Any:
    """Outcomes as scikit-survival takes them."""
    array = np.empty(y[0].size, dtype=[("event", bool), ("time", float)])
    array["time"], array["event"] = y
    return array


def _survival_eval(data: Data) -> Any:
    from SurvivalEVAL import SurvivalEvaluator

    return SurvivalEvaluator(data.survival, data.grid, *data.test, *data.train)


def _with_medians(data: Data) -> Any:
    """Its evaluator keeps the medians once they are known; they are timed on their own."""
    evaluator = _survival_eval(data)
    _ = evaluator.predicted_event_times
    return evaluator


def survival_eval_po(data: Data) -> Call:
    from SurvivalEVAL import PointEvaluator

    evaluator = PointEvaluator(data.predicted, *data.test, *data.train)
    return lambda: evaluator.mae(method="Pseudo_obs", weighted=True)


def survival_eval_errors(data: Data) -> Call:
    """Those of the methods that are quick there: no pseudo-observations."""
    from SurvivalEVAL import PointEvaluator

    evaluator = PointEvaluator(data.predicted, *data.test, *data.train)
    methods = ("Uncensored", "Hinge", "Margin", "IPCW-T")
    return lambda: [evaluator.mae(method=method) for method in methods]


def survival_eval_medians(data: Data) -> Call:
    evaluator = _survival_eval(data)
    return lambda: evaluator.predicted_event_times


def survival_eval_harrell(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance()[0]


def survival_eval_uno(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance(method="Uno")[0]


def survival_eval_antolini(data: Data) -> Call:
    evaluator = _with_medians(data)
    return lambda: evaluator.concordance_time_dependent()[0]


def survival_eval_ibs(data: Data) -> Call:
    from SurvivalEVAL import SurvivalEvaluator

    evaluator = SurvivalEvaluator(data.survival_at_times, data.times, *data.test, *data.train)
    return lambda: evaluator.integrated_brier_score(target_times=data.times)


def survival_eval_ibs_between(data: Data) -> Call:
    evaluator = _survival_eval(data)
    return lambda: evaluator.integrated_brier_score(target_times=data.times)


def survival_eval_d_calibration(data: Data) -> Call:
    evaluator = _survival_eval(data)
    return lambda: evaluator.d_calibration()[0]


def survival_eval_one_calibration(data: Data) -> Call:
    evaluator = _survival_eval(data)
    return lambda: evaluator.one_calibration(target_time=data.middle)[0]


def survival_eval_ici(data: Data) -> Call:
    evaluator = _survival_eval(data)
    options = {"target_time": data.middle, "draw_figure": False}
    return lambda: evaluator.integrated_calibration_index(**options)["ICI"]


def survival_eval_report(data: Data) -> Call:
    """Its usual metrics one after the other, without intervals."""
    evaluator = _survival_eval(data)

    def report() -> None:
        evaluator.concordance()
        evaluator.concordance(method="Uno")
        evaluator.integrated_brier_score(target_times=data.times)
        evaluator.d_calibration()
        evaluator.one_calibration(target_time=data.middle)
        evaluator.km_calibration()
        evaluator.log_rank()
        evaluator.auprc()
        evaluator.mae(method="Margin")

    return report


def sksurv_harrell(data: Data) -> Call:
    from sksurv.metrics import concordance_index_censored

    time, event = data.test
    return lambda: concordance_index_censored(event, time, data.risk)[0]


def sksurv_uno(data: Data) -> Call:
    from sksurv.metrics import concordance_index_ipcw

    train, test, tau = structured(data.train), structured(data.test), float(data.times[-1])
    return lambda: concordance_index_ipcw(train, test, data.risk, tau=tau)[0]


def sksurv_ibs(data: Data) -> Call:
    from sksurv.metrics import integrated_brier_score

    train, test, curves = structured(data.train), structured(data.test), data.survival_at_times
    return lambda: integrated_brier_score(train, test, curves, data.times)


def sksurv_auc(data: Data) -> Call:
    from sksurv.metrics import cumulative_dynamic_auc

    train, test = structured(data.train), structured(data.test)
    return lambda: cumulative_dynamic_auc(train, test, data.risk, data.times)[1]


def sksurv_auc_curves(data: Data) -> Call:
    from sksurv.metrics import cumulative_dynamic_auc

    train, test, risks = structured(data.train), structured(data.test), 1 - data.survival_at_times
    return lambda: cumulative_dynamic_auc(train, test, risks, data.times)[1]


def lifelines_harrell(data: Data) -> Call:
    from lifelines.utils import concordance_index

    time, event = data.test
    return lambda: concordance_index(time, -data.risk, event)


def pycox_antolini(data: Data) -> Call:
    """It reads curves as steps, so its value is another one than for lines."""
    import pandas as pd
    from pycox.evaluation import EvalSurv

    time, event = data.test
    evaluator = EvalSurv(pd.DataFrame(data.survival.T, index=data.grid), time, event)
    return lambda: evaluator.concordance_td("antolini")


def hazardous_ibs(data: Data) -> Call:
    import pandas as pd
    from hazardous.metrics import integrated_brier_score_survival

    frames = [pd.DataFrame({"event": y[1].astype(int), "duration": y[0]}) for y in _both(data)]
    curves = data.survival_at_times
    return lambda: integrated_brier_score_survival(*frames, curves, data.times)


def _both(data: Data) -> tuple[Any, Any]:
    return data.train, data.test


def torchsurv_auc_interval(data: Data) -> Call:
    """Blanche's interval at one single time."""
    import torch
    from torchsurv.metrics.auc import Auc

    time, event = torch.tensor(data.test[0]).float(), torch.tensor(data.test[1])
    auc, moment = Auc(), torch.tensor([data.middle]).float()
    risk = torch.tensor(data.risk).float()
    auc(risk, event, time, new_time=moment)
    return lambda: auc.confidence_interval()
