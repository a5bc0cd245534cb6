"""Calls of scikit-survival, lifelines and the Rust package `survival`."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import Data

from peers import Call


def structured(y: tuple[Any, Any]) -> Any:
    """Outcomes as scikit-survival takes them."""
    array = np.empty(y[0].size, dtype=[("event", bool), ("time", float)])
    array["time"], array["event"] = y
    return array


def sksurv_harrell(data: Data) -> Call:
    from sksurv.metrics import concordance_index_censored

    time, event = data.test
    return lambda: concordance_index_censored(event, time, data.risk)[0]


def sksurv_uno(data: Data) -> Call:
    from sksurv.metrics import concordance_index_ipcw

    train, test, tau = structured(data.train), structured(data.test), data.last
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


def sksurv_kaplan_meier(data: Data) -> Call:
    from sksurv.nonparametric import kaplan_meier_estimator

    time, event = data.test
    return lambda: kaplan_meier_estimator(event, time)[1]


def lifelines_harrell(data: Data) -> Call:
    from lifelines.utils import concordance_index

    time, event = data.test
    return lambda: concordance_index(time, -data.risk, event)


def lifelines_kaplan_meier(data: Data) -> Call:
    from lifelines import KaplanMeierFitter

    return lambda: KaplanMeierFitter().fit(*data.test).survival_function_.to_numpy()


def _rust(data: Data) -> tuple[Any, Any, Any]:
    """Return its module, and the outcomes as it takes them; what it copies is timed."""
    from survival import _survival as module

    return module, data.test[0], data.test[1].astype(np.int32)


def _rust_fit(data: Data, **options: Any) -> Any:
    module, time, status = _rust(data)
    survival = module.SurvivalData(time, status)
    risk = module.CovariateMatrix(data.risk, time.size, 1)
    return module.concordancefit(survival, risk, reverse=True, **options)


def rust_harrell(data: Data) -> Call:
    def with_variance() -> float:
        fit = _rust_fit(data)
        return fit.concordance[0] if fit.var[0][0] > 0 else float("nan")

    return with_variance


def rust_uno(data: Data) -> Call:
    """It weights by the test set's own censoring."""
    module, time, status = _rust(data)
    return lambda: module.uno_c_index(time, status, data.risk, data.last).c_index


def rust_ibs(data: Data) -> Call:
    """It gives the Brier score at each time, with the test set's own censoring; risks, by time."""
    module, time, status = _rust(data)
    risks, width = np.ascontiguousarray(1 - data.survival_at_times.T), np.ptp(data.times)
    return lambda: (
        np.trapezoid(module.brier(time, status, data.times, risks).brier, data.times) / width
    )


def rust_auc(data: Data) -> Call:
    module, time, status = _rust(data)
    return lambda: module.cumulative_dynamic_auc(time, status, data.risk, data.times).mean_auc


def rust_kaplan_meier(data: Data) -> Call:
    module, time, status = _rust(data)
    return lambda: np.asarray(module.survfitkm(time, status, se_fit=False).surv)


def rust_pseudo(data: Data) -> Call:
    """By the infinitesimal jackknife, as R does."""
    module, time, status = _rust(data)
    return lambda: np.asarray(module.pseudo(time, status, [data.middle], type_="rmst").values)
