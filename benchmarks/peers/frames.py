"""Calls of packages that stand on torch, pandas or Polars."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Data

from peers import Call


def _tensors(data: Data) -> tuple[Any, Any, Any, Any]:
    """Risk, event, time and evaluation times; single precision, which its weights need."""
    import torch

    risk, time, times = (torch.tensor(a).float() for a in (data.risk, data.test[0], data.times))
    return risk, torch.tensor(data.test[1]), time, times


def _weights(event: Any, time: Any, times: Any) -> dict[str, Any]:
    from torchsurv.stats.ipcw import get_ipcw

    return {
        "weight": get_ipcw(event, time),
        "weight_new_time": get_ipcw(event, time, times),
        "new_time": times,
    }


def torchsurv_harrell(data: Data) -> Call:
    from torchsurv.metrics.cindex import ConcordanceIndex

    risk, event, time, _ = _tensors(data)
    return lambda: ConcordanceIndex()(risk, event, time)


def torchsurv_ibs(data: Data) -> Call:
    """Weights are made beforehand, as it asks for them."""
    import torch
    from torchsurv.metrics.brier_score import BrierScore

    _, event, time, times = _tensors(data)
    curves, options = torch.tensor(data.survival_at_times).float(), _weights(event, time, times)

    def call() -> Any:
        score = BrierScore()
        score(curves, event, time, **options)
        return score.integral()

    return call


def torchsurv_auc(data: Data) -> Call:
    """Weights are made beforehand, as it asks for them."""
    from torchsurv.metrics.auc import Auc

    risk, event, time, times = _tensors(data)
    options = _weights(event, time, times)

    def call() -> Any:
        auc = Auc()
        auc(risk, event, time, **options)
        return auc.integral()

    return call


def torchsurv_auc_interval(data: Data) -> Call:
    """Blanche's interval at one single time."""
    import torch
    from torchsurv.metrics.auc import Auc

    risk, event, time, _ = _tensors(data)
    auc, moment = Auc(), torch.tensor([data.middle]).float()
    auc(risk, event, time, new_time=moment)
    return lambda: auc.confidence_interval()


def _pycox(data: Data, times: Any, survival: Any, **options: Any) -> Any:
    import pandas as pd
    import scipy.integrate
    from pycox.evaluation import EvalSurv

    # It asks for a name that SciPy 1.14 took away; without it the integrals always fail.
    if not hasattr(scipy.integrate, "simps"):
        scipy.integrate.simps = scipy.integrate.simpson
    time, event = data.test
    frame = pd.DataFrame(survival.T, index=times)
    return EvalSurv(frame, time, event.astype(int), **options)


def pycox_antolini(data: Data) -> Call:
    """It reads curves as steps, so its value is another one than for lines."""
    evaluator = _pycox(data, data.grid, data.survival)
    return lambda: evaluator.concordance_td("antolini")


def pycox_ibs(data: Data) -> Call:
    evaluator = _pycox(data, data.times, data.survival_at_times, censor_surv="km")
    return lambda: evaluator.integrated_brier_score(data.times)


def pycox_ibll(data: Data) -> Call:
    evaluator = _pycox(data, data.times, data.survival_at_times, censor_surv="km")
    return lambda: evaluator.integrated_nbll(data.times)


def _frames(data: Data) -> list[Any]:
    import pandas as pd

    both = (data.train, data.test)
    return [pd.DataFrame({"event": y[1].astype(int), "duration": y[0]}) for y in both]


def hazardous_ibs(data: Data) -> Call:
    from hazardous.metrics import integrated_brier_score_survival

    frames, curves = _frames(data), data.survival_at_times
    return lambda: integrated_brier_score_survival(*frames, curves, data.times)


def hazardous_uno(data: Data) -> Call:
    """It ranks by the predicted incidence at the horizon."""
    from hazardous.metrics import concordance_index_incidence

    (train, test), incidence = _frames(data), 1 - data.survival
    options = {"y_train": train, "time_grid": data.grid, "taus": [data.last]}
    return lambda: concordance_index_incidence(test, incidence, **options)


def _frames_of_causes(data: Data) -> list[Any]:
    import pandas as pd

    both = zip((data.train, data.test), data.codes, strict=True)
    return [pd.DataFrame({"event": codes, "duration": y[0]}) for y, codes in both]


def hazardous_ibs_of_cause(data: Data) -> Call:
    from hazardous.metrics import integrated_brier_score_incidence

    frames, incidence = _frames_of_causes(data), data.incidence[:, 0]
    return lambda: integrated_brier_score_incidence(*frames, incidence, data.times, 1)


def hazardous_c_of_cause(data: Data) -> Call:
    from hazardous.metrics import concordance_index_incidence

    (train, test), incidence = _frames_of_causes(data), data.incidence[:, 0]
    options = {"y_train": train, "time_grid": data.times, "taus": [data.last]}
    return lambda: concordance_index_incidence(test, incidence, **options)


def hazardous_km_calibration(data: Data) -> Call:
    from hazardous.metrics import km_calibration

    test = _frames(data)[1]
    return lambda: km_calibration(test, data.grid, data.survival)


def dcurves_net_benefit(data: Data) -> Call:
    """99 thresholds, no standard errors; it gives net benefits of treating everybody too."""
    import dcurves
    import pandas as pd

    columns = {"time": data.test[0], "event": data.test[1].astype(int), "m": data.event_risk}
    given = {"data": pd.DataFrame(columns), "outcome": "event", "modelnames": ["m"]}
    given |= {"thresholds": np.arange(1, 100) / 100, "time": data.middle}

    def call() -> Any:
        found = dcurves.dca(**given, time_to_outcome_col="time")
        return found[found["model"] == "m"].sort_values("threshold")["net_benefit"].iloc[29]

    return call


def rtichoke_net_benefit(data: Data) -> Call:
    """Cut-offs 0.01 apart, no standard errors; it gives other counts of decisions too."""
    import rtichoke

    event, time = data.test[1].astype(int), data.test[0]
    given = {"m": data.event_risk}, event, time, [data.middle]

    def call() -> Any:
        found = rtichoke.prepare_performance_data_times(*given, by=0.01).to_pandas()
        return found.sort_values("chosen_cutoff")["net_benefit"].iloc[30]

    return call
