"""Errors in time units under censoring: imputed times meet losses, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, vector
from ..._tools.frames import refuse_other_order
from ...data.adapters import as_curves_named, is_flat
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...errors import InputError, as_names, one_of
from ...estimators.estimated_g import EstimatedG
from ...estimators.reference import Reference
from ...estimators.residual import LOSSES
from ...estimators.setting import check_same_causes
from ...estimators.surrogates import METHODS, Setting
from ..checks import absent_replaced, one_cause, with_causes
from ..conventions import Convention, takes_settings
from ..score import Score
from ..task import Task, supported_end
from .interval_errors import interval_error
from .terms import Point, TimeScore, TimeTerms, nobody, time_convention, time_terms


def censored_methods() -> tuple[str, ...]:
    """Return the names of the methods that need nothing but outcomes."""
    return tuple(method.name for method in METHODS.values() if not method.needs_truth)


def _taking(flag: str) -> str:
    """Names of the methods whose records have a flag."""
    return ", ".join(repr(m.name) for m in METHODS.values() if getattr(m, flag))


@takes_settings
def time_errors(
    y_true: Any,
    predicted: Any,
    *,
    methods: Iterable[str] | None = None,
    y_train: Any = None,
    loss: str = "absolute",
    tau: float | None = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    cause: int | str | None = None,
    convention: str | Convention | None = None,
) -> dict[str, TimeScore]:
    """Several methods at once, sharing one look-up per subject.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    methods : sequence of str, optional
        Names of methods of `time_error`; by default all that need nothing but outcomes.
    y_train, loss, tau, sample_weight, true_time, conditional, cause, convention
        As for `time_error`.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 0, 1, 1])
    >>> errors = time_errors(y, [3, 3, 3, 3], methods=("uncensored", "po"))
    >>> {name: round(details.value, 3) for name, details in errors.items()}
    {'uncensored': 3.0, 'po': 3.077}
    """
    if methods is None:
        methods = censored_methods()
        if cause is not None:
            methods = [name for name in methods if METHODS[name].takes_cause]
    names = (methods,) if isinstance(methods, str) else as_names(methods, "methods")
    if not names:
        raise InputError("methods must name at least one method; got an empty list")
    for name in names:
        one_of("methods", name, METHODS)
    return _errors(
        y_true, predicted, names, loss, convention, y_train=y_train, tau=tau,
        sample_weight=sample_weight, true_time=true_time, conditional=conditional, cause=cause,
    )  # fmt: skip


def _errors(
    y_true: Any,
    predicted: Any,
    named: tuple[str, ...] | None,
    loss: str,
    convention: str | Convention | None,
    *,
    y_train: Any,
    sample_weight: Any,
    true_time: Any,
    cause: int | str | None,
    **settings: Any,
) -> dict[str, TimeScore]:
    """Check everything, and return the errors by method.

    Where no method is `named`, the doubly robust one up to the last time that the data support.
    """
    methods = ("dr",) if named is None else named
    for name in methods:
        one_of("method", name, METHODS)
        if cause is not None and not METHODS[name].takes_cause:
            raise InputError(
                f"method {name!r} supports only one kind of event: it says nothing about censored "
                "subjects who may have a competing event; with cause= take one of "
                f"{_taking('takes_cause')}"
            )
    heeds = any(METHODS[name].takes_distribution for name in methods)
    if settings["conditional"] is not None and not heeds:
        raise InputError(
            f"conditional: method {methods[0]!r} takes no distribution given the features; leave "
            f"conditional out, or take one of {_taking('takes_distribution')}"
        )
    one_of("loss", loss, LOSSES)
    numbers = {"sample_weight": sample_weight, "true_time": true_time}
    refuse_other_order(y_true, "y_true", {"predicted": predicted} | numbers, curves=True)
    preset, rule = Convention.of(convention), LOSSES[loss]
    if cause is not None or isinstance(predicted, IncidenceCurves):
        # Of this cause 1 - incidence is the probability of being free of it.
        predicted = one_cause(y_true, predicted, None, cause, entry=True).curves
    y = Outcomes.of(y_true, "y_true", causes=None if cause is None else True, entry=True)
    if cause is not None and isinstance(y_train, Reference):
        check_same_causes(y, y_train)
    elif cause is not None and y_train is not None:
        y_train = with_causes(y_train, "y_train", y.causes or (), entry=True)
    y, _ = y.sampled(sample_weight)
    weight = None if sample_weight is None else vector(sample_weight, "sample_weight")
    # No error in time reads a time of interest; one that is given need not be found.
    settings |= {"time": 1.0, "convention": preset}
    task = Task.open(y, y_train, weight, cause=cause, contributions=False, **settings)
    told = {}
    if named is None:
        task = task.supported()
        # As ``mae_within`` does, and why there.
        end, horizon = supported_end(task), "last time that the data support"
        if task.tau is not None:
            horizon = "tau" if end == task.tau else f"{horizon}, before tau {task.tau:g}"
        told["horizon"] = horizon
        task = task.within_horizon
    setting = task.setting
    if true_time is not None:
        setting = setting.with_truth(true_time)
    if not isinstance(predicted, SurvivalCurves):
        if not is_flat(predicted):
            predicted = as_curves_named(predicted, "predicted")
        elif named is None:  # one that is infinite is no time, although it would end at tau
            predicted = vector(predicted, "predicted")
    if isinstance(predicted, SurvivalCurves) and len(predicted) == len(y):
        predicted = absent_replaced(predicted, setting.y)
    point = Point.of(setting, predicted, rule.point)
    found = {}
    for name in methods:
        rules = time_convention(setting, name, rule, predicted, preset.normalize) | told
        terms = time_terms(setting, point, name, rule, preset.normalize, rules)
        found[name] = _score(terms, setting)
    return found


def _score(terms: TimeTerms, setting: Setting) -> TimeScore:
    """Return the mean of the terms of all subjects, with what lies behind it."""
    total, support, y = float(terms.s.sum()), terms.support.result(), setting.y
    if not (total > 0 and terms.weight.any()):
        raise nobody(terms.convention, support)
    return TimeScore(
        float(terms.a.sum()) / total,
        terms.convention,
        support,
        partial(_contributions, terms, y.reweighted(setting.weight)),
        y.frequency,
        loss=terms.loss,
        weight=terms.weight,
        normalizer=total,
    )


def _contributions(terms: TimeTerms, weighed: Outcomes) -> Floats:
    """First-order contribution of each subject, also through G where that is these subjects'."""
    g = None if terms.derivative is None else EstimatedG(weighed)
    found = terms.mean(g=g).contributions
    return np.full(terms.a.size, np.nan) if found is None else found


@takes_settings
def time_error(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    loss: str = "absolute",
    tau: float | None = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    cause: int | str | None = None,
    convention: str | Convention | None = None,
) -> Score:
    """Mean error of predicted event times where some test outcomes are censored.

    Unless a method is named, the doubly robust error up to the last time that the data support,
    which `evaluate` calls ``mae_within``. With a method, the weighted mean of loss(e_i, p_i), where
    e_i is the event time of an event and what `method` puts in its place for a censored subject.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads, or `IntervalOutcomes`: then `method` is
        "expected" (the default) or "hinge", and `loss` "absolute" or "squared".
    predicted : array-like of shape (n,) or SurvivalCurves
        Predicted times, or curves: absolute losses take their median, squared losses their mean.
    y_train : outcomes, optional
        Reference set of the imputed times; without it the test outcomes are their own reference.
    method : str, optional
        uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po, expected, dr or true: that
        definition, without a horizon unless `tau` is given. None: dr up to `tau`, or up to the last
        time with G(t-) of at least 0.05 and ten test subjects at risk where that is earlier;
        ``.convention["tau"]`` and ``.convention["horizon"]`` of the result say which.
    loss : str
        absolute, squared, relative, log or normalised.
    tau : float, optional
        Horizon: outcomes and predictions after it are set to `tau`.
    sample_weight : array-like of shape (n,), optional
        Weights of the average, and of the test subjects' G; multiplied with the outcomes'
        frequencies. Subjects with 0 do not count.
    true_time : array-like of shape (n,), optional
        Known event times, for ``method="true"``.
    conditional : Conditional, optional
        Distributions of event and censoring time given the features of each subject, for ``dr``,
        ``expected`` and ``margin``; by default Kaplan-Meier of the reference set. Of
        interval-censored outcomes the distribution inside intervals; by default Turnbull's.
    cause : int or str, optional
        With competing risks, the cause that matters. The error is then that of the time free of
        it up to `tau`, which has to be given with a `method`: T if the event is of this cause and
        before tau, and tau for all others. Predictions are such times or `IncidenceCurves`, of
        which absolute losses take the median of the cause (tau where it is not reached) and squared
        losses tau less the restricted mean time lost.
    convention : Convention, optional
        Settings that only specialists change: weighted, area, tail, normalize, floor, and where G
        comes from (censoring): by default the test subjects, with its estimation in the standard
        error; "train": `y_train`; or a function G(t, side) of one time per subject.

    Returns
    -------
    Score
        A float that can be asked for its standard error, interval, contributions, convention and
        support.

    References
    ----------
    Qi et al. (2023), An Effective Meaningful Way to Evaluate Survival Models, ICML.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9], [1, 1, 0, 1, 1])
    >>> y_test = ([2, 5, 7], [1, 0, 1])
    >>> round(time_error(y_test, [3, 5, 6], y_train=y_train), 4)
    1.3333
    >>> round(time_error(y_test, [3, 5, 6], y_train=y_train, method="po"), 4)
    1.25
    >>> time_error(y_test, [3, 5, 6], y_train=y_train, method="uncensored")
    1.0
    >>> found = time_error(y_test, [3, 5, 6])  # up to the last time that the data support
    >>> found.convention["tau"], found.convention["horizon"]
    (7.0, 'last time that the data support')
    >>> found.support["censored"], found.convention["reference"]
    (1, 'test outcomes, in sample')
    """
    if isinstance(y_true, IntervalOutcomes):
        if true_time is not None or cause is not None:
            raise InputError("errors of interval-censored outcomes take no true_time and no cause")
        return interval_error(
            y_true, predicted, method=method or "expected", loss=loss,
            distribution=conditional, tau=tau,
            y_train=y_train, tail=Convention.of(convention).tail, sample_weight=sample_weight,
        )  # fmt: skip
    (found,) = _errors(
        y_true, predicted, None if method is None else (method,), loss, convention,
        y_train=y_train, tau=tau, sample_weight=sample_weight, true_time=true_time,
        conditional=conditional, cause=cause,
    ).values()  # fmt: skip
    return found


@takes_settings
def mae(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    tau: float | None = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    cause: int | str | None = None,
    convention: str | Convention | None = None,
) -> Score:
    """Mean absolute error under censoring: `time_error` with the absolute loss.

    Unless a `method` is named, the doubly robust error up to the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, tau, sample_weight, true_time, conditional, cause, convention
        As for `time_error`.

    Examples
    --------
    >>> mae(([2, 5, 7], [1, 1, 1]), [3, 5, 6])
    0.6666666666666666
    """
    return time_error(loss="absolute", **locals())


@takes_settings
def mse(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    tau: float | None = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    cause: int | str | None = None,
    convention: str | Convention | None = None,
) -> Score:
    """Mean squared error under censoring: `time_error` with the squared loss.

    Of curves the mean is the prediction. Unless a `method` is named, the doubly robust error up to
    the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, tau, sample_weight, true_time, conditional, cause, convention
        As for `time_error`.

    Examples
    --------
    >>> mse(([2, 5, 7], [1, 1, 1]), [3, 5, 5])
    1.6666666666666667
    """
    return time_error(loss="squared", **locals())


@takes_settings
def rmse(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    tau: float | None = None,
    sample_weight: Any = None,
    true_time: Any = None,
    conditional: Any = None,
    cause: int | str | None = None,
    convention: str | Convention | None = None,
) -> Score:
    """Root of the mean squared error under censoring, in the unit of time.

    Of curves the mean is the prediction. Unless a `method` is named, the doubly robust error up to
    the last time that the data support.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    y_train, method, tau, sample_weight, true_time, conditional, cause, convention
        As for `time_error`.

    Examples
    --------
    >>> rmse(([2, 5, 7, 9], [1, 1, 1, 1]), [4, 5, 7, 7])
    1.4142135623730951
    """
    return mse(**locals()).root()
