"""Mean errors in time units by name: `time_error` with its loss fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UndefinedMetricError
from .time_errors import time_error


def mae(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    floor: float = 0.1,
    dependence: Any = None,
    cause: int | str | None = None,
) -> float:
    """Mean absolute error under censoring: `time_error` with the absolute loss.

    Unless a `method` is named, the doubly robust error up to the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, weighted, tau, area, tail, normalize, censoring, sample_weight, true_time
        As for `time_error`; there is no `loss`.
    conditional, floor, dependence, cause
        As for `time_error`.

    Examples
    --------
    >>> mae(([2, 5, 7], [1, 1, 1]), [3, 5, 6])
    0.6666666666666666
    """
    return time_error(
        y_true, predicted, y_train=y_train, method=method, loss="absolute", weighted=weighted,
        tau=tau, area=area, tail=tail, normalize=normalize, censoring=censoring,
        sample_weight=sample_weight, true_time=true_time, conditional=conditional, floor=floor,
        dependence=dependence, cause=cause,
    )  # fmt: skip


def mse(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    floor: float = 0.1,
    dependence: Any = None,
    cause: int | str | None = None,
) -> float:
    """Mean squared error under censoring: `time_error` with the squared loss.

    Of curves the mean is the prediction. Unless a `method` is named, the doubly robust error up to
    the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, weighted, tau, area, tail, normalize, censoring, sample_weight, true_time
        As for `time_error`; there is no `loss`.
    conditional, floor, dependence, cause
        As for `time_error`.

    Examples
    --------
    >>> mse(([2, 5, 7], [1, 1, 1]), [3, 5, 5])
    1.6666666666666667
    """
    return time_error(
        y_true, predicted, y_train=y_train, method=method, loss="squared", weighted=weighted,
        tau=tau, area=area, tail=tail, normalize=normalize, censoring=censoring,
        sample_weight=sample_weight, true_time=true_time, conditional=conditional, floor=floor,
        dependence=dependence, cause=cause,
    )  # fmt: skip


def rmse(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    floor: float = 0.1,
    dependence: Any = None,
    cause: int | str | None = None,
) -> float:
    """Root of the mean squared error under censoring, in the unit of time.

    Of curves the mean is the prediction. Unless a `method` is named, the doubly robust error up to
    the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, weighted, tau, area, tail, normalize, censoring, sample_weight, true_time
        As for `time_error`; there is no `loss`.
    conditional, floor, dependence, cause
        As for `time_error`.

    Examples
    --------
    >>> rmse(([2, 5, 7, 9], [1, 1, 1, 1]), [4, 5, 7, 7])
    1.4142135623730951
    """
    mean = mse(
        y_true, predicted, y_train=y_train, method=method, weighted=weighted, tau=tau, area=area,
        tail=tail, normalize=normalize, censoring=censoring, sample_weight=sample_weight,
        true_time=true_time, conditional=conditional, floor=floor,
        dependence=dependence, cause=cause,
    )  # fmt: skip
    if mean < 0:
        raise UndefinedMetricError(f"the mean squared error is {mean:g}, which has no square root")
    return float(np.sqrt(mean))
