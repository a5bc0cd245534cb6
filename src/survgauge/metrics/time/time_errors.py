"""Errors in time units under censoring: surrogates meet losses, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import dot
from ..._tools.threads import in_order
from ...data.adapters import as_curves_named, is_flat
from ...data.curves import SurvivalCurves
from ...errors import as_names, one_of
from ...reference.losses import LOSSES, Loss
from ...reference.surrogates import METHODS, Setting, make_setting
from ..checks import absent_replaced
from ..support import SupportSum
from .terms import (
    Point,
    average_weight,
    combine,
    convention,
    own_g,
    predicted_times,
    refuse_empty,
    share_of,
    support,
)
from .terms import TimeErrorDetails as TimeErrorDetails

#: Methods that look every censored subject up among the reference event times.
LOOKING_UP = ("margin", "ipcw_t", "po", "pop_po", "expected")
#: Subjects looked at together.
PART = 32_768

NORMALIZERS = ("n", "weights", "events")
#: Methods that need nothing but outcomes.
CENSORED_METHODS = tuple(name for name in METHODS if name != "true")


def time_error_details(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str = "po",
    loss: str = "absolute",
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
) -> TimeErrorDetails:
    """`time_error` with what lies behind it: losses, weights, convention, support.

    Parameters
    ----------
    y_true, predicted, y_train, method, loss, weighted, tau, area, tail, normalize
        As for `time_error`.
    censoring, sample_weight, true_time
        As for `time_error`.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 0, 1, 1])
    >>> d = time_error_details(y, [3, 3, 3, 3], method="ipcw_t")
    >>> round(d.value, 3), d.support["censored"], d.convention["reference"]
    (3.077, 1, 'test outcomes, in sample')
    """
    found = time_errors(
        y_true, predicted, methods=(method,), y_train=y_train, loss=loss, weighted=weighted,
        tau=tau, area=area, tail=tail, normalize=normalize, censoring=censoring,
        sample_weight=sample_weight, true_time=true_time,
    )  # fmt: skip
    return found[method]


def time_errors(
    y_true: Any,
    predicted: Any,
    *,
    methods: Iterable[str] = CENSORED_METHODS,
    y_train: Any = None,
    loss: str = "absolute",
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
) -> dict[str, TimeErrorDetails]:
    """Several methods at once, sharing one look-up per subject.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    methods : sequence of str
        Names of methods of `time_error`.
    y_train, loss, weighted, tau, area, tail, normalize, censoring, sample_weight, true_time
        As for `time_error`.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 0, 1, 1])
    >>> errors = time_errors(y, [3, 3, 3, 3], methods=("uncensored", "po"))
    >>> {name: round(details.value, 3) for name, details in errors.items()}
    {'uncensored': 3.0, 'po': 3.077}
    """
    names = (methods,) if isinstance(methods, str) else as_names(methods, "methods")
    for name in names:
        one_of("methods", name, METHODS)
    question = _question(
        y_true,
        predicted,
        names,
        loss,
        normalize,
        y_train=y_train,
        area=area,
        tail=tail,
        tau=tau,
        weighted=weighted,
        censoring=censoring,
        true_time=true_time,
        sample_weight=sample_weight,
    )
    return errors_of(*question, names, LOSSES[loss], normalize)


def _question(
    y_true: Any,
    predicted: Any,
    methods: tuple[str, ...],
    loss: str,
    normalize: str,
    **options: Any,
) -> tuple[Setting, Point, Any]:
    """Check everything: outcomes, predicted times, and curves where they came from such."""
    for name in methods:
        one_of("method", name, METHODS)
    one_of("loss", loss, LOSSES)
    one_of("normalize", normalize, NORMALIZERS)
    setting = make_setting(y_true, **options)
    if not isinstance(predicted, SurvivalCurves) and not is_flat(predicted):
        predicted = as_curves_named(predicted, "predicted")
    if isinstance(predicted, SurvivalCurves) and len(predicted) == len(setting.y):
        predicted = absent_replaced(predicted, setting.y)
    times = predicted_times(predicted, len(setting.y), LOSSES[loss].point, setting.tau)
    return setting, Point(*times), predicted


def mean_error(
    setting: Setting,
    point: Point,
    predicted: Any,
    method: str,
    rule: Loss,
    normalize: str = "n",
) -> float:
    """Value of `errors_of` alone, in less memory."""
    question = setting, point, predicted, (method,), rule, normalize
    if not _divisible(setting, rule):
        return errors_of(*question)[method].value
    total = _Total()
    for _, (part,) in _parts(*question):
        total.add(part)
    if not total.defined:  # refused there, with the reasons
        return errors_of(*question)[method].value
    return total.above / total.below


@dataclass
class _Total:
    """Weighted losses and their normaliser, over parts of the subjects."""

    above: float = 0.0
    below: float = 0.0
    anybody: bool = False

    def add(self, part: TimeErrorDetails) -> None:
        """Add a part while it is in the cache."""
        self.above += dot(part.weight, part.loss)
        self.below += float((part.weight if part.share is None else part.share).sum())
        self.anybody = self.anybody or bool(part.weight.any())

    @property
    def defined(self) -> bool:
        """Whether there is somebody to average over."""
        return self.below > 0 and self.anybody


def errors_of(
    setting: Setting,
    point: Point,
    predicted: Any,
    methods: tuple[str, ...],
    rule: Loss,
    normalize: str = "n",
) -> dict[str, TimeErrorDetails]:
    """Several methods on a setting and predicted times."""
    one_of("normalize", normalize, NORMALIZERS)
    average = average_weight(setting)
    rules = {m: convention(setting, m, rule, predicted, normalize) for m in methods}
    counts = support(setting, point)
    if not _divisible(setting, rule):
        made = ((m, METHODS[m](setting)) for m in methods)
        arguments = rule, point.times, average, normalize
        return {m: combine(setting, s, *arguments, rules[m], dict(counts)) for m, s in made}
    n = len(setting.y)
    losses, supports = [np.empty(n) for _ in methods], [SupportSum() for _ in methods]
    weights, totals = [setting.ones for _ in methods], [_Total() for _ in methods]
    question = setting, point, predicted, methods, rule, normalize
    for rows, parts in _parts(*question):
        for k, part in enumerate(parts):
            totals[k].add(part)
            losses[k][rows] = part.loss
            mass = rows.stop - rows.start if average is None else average[rows].sum()
            supports[k].add(part.support, mass=float(mass))
            if part.weight.strides != (0,):  # they are not all one
                if weights[k].strides == (0,):
                    weights[k] = np.ones(n)
                weights[k][rows] = part.weight
    frequency, found = setting.y.weight if setting.y.weighted else None, {}
    for k, method in enumerate(methods):
        loss, weight, total = losses[k], weights[k], totals[k]
        known = counts | supports[k].result(total.above)
        if not total.defined:
            refuse_empty(method, known)
        share, value = share_of(weight, average, None, method, normalize), total.above / total.below
        found[method] = TimeErrorDetails(
            value,
            rules[method],
            known,
            loss,
            weight,
            total.below,
            share,
            frequency,
            own_g(setting, method),
        )
    return found


def _divisible(setting: Setting, rule: Loss) -> bool:
    """Whether there are so many subjects, each by itself, that parts are better."""
    return len(setting.y) > PART and rule.domain is None and setting.divisible


def _parts(
    setting: Setting,
    point: Point,
    predicted: Any,
    methods: tuple[str, ...],
    rule: Loss,
    normalize: str,
) -> Iterator[tuple[slice, list[TimeErrorDetails]]]:
    """Subjects in parts that stay in the cache, on several threads."""
    average = average_weight(setting)
    rules = {m: convention(setting, m, rule, predicted, normalize) for m in methods}
    # Many look-ups together find each other's memory in the cache.
    if any(method in LOOKING_UP for method in methods):
        _ = setting.j
    if "ipcw_d" in methods:
        _ = setting.observable

    def score(rows: slice) -> tuple[slice, list[TimeErrorDetails]]:
        some, weight = setting.part(rows), None if average is None else average[rows]
        made = ((m, METHODS[m](some)) for m in methods)
        arguments = rule, point.times[rows], weight, normalize
        return rows, [combine(some, s, *arguments, rules[m], {}, part=True) for m, s in made]

    score(slice(0, 1))  # builds the reference's tables before several threads look at them
    n = len(setting.y)
    return in_order(score, [slice(start, min(start + PART, n)) for start in range(0, n, PART)])


def time_error(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str = "po",
    loss: str = "absolute",
    weighted: bool = True,
    tau: float | None = None,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    censoring: Any = None,
    sample_weight: Any = None,
    true_time: Any = None,
) -> float:
    """Mean error of predicted event times where some test outcomes are censored.

    The weighted mean of loss(e_i, p_i), where e_i is the event time of an event and what `method`
    puts in its place for a censored subject.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    predicted : array-like of shape (n,) or SurvivalCurves
        Predicted times, or curves: absolute losses take their median, squared losses their mean.
    y_train : outcomes, optional
        Reference set of the surrogates; without it the test outcomes are their own reference.
    method : str
        uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po, expected or true.
    loss : str
        absolute, squared, relative, log or normalised.
    weighted : bool
        Whether surrogates weigh 1 - S(c) (the paper's confidence) or 1.
    tau : float, optional
        Horizon: outcomes and predictions past it count as `tau`.
    area, tail : str
        Area under Kaplan-Meier and how it goes on; see `surrogate_times`.
    normalize : {"n", "weights", "events"}
        Divisor of ``ipcw_d``: all subjects, the sum of weights, or the number of events.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G of ``ipcw_d`` comes from: by default the test subjects, with its estimation in the
        standard error; "train": `y_train`; a function G(t, side) of one time per subject.
    sample_weight : array-like of shape (n,), optional
        Weights of the average, and of the test subjects' G; multiplied with the outcomes'
        frequencies. 0 means absent.
    true_time : array-like of shape (n,), optional
        Known event times, for ``method="true"``.

    Returns
    -------
    float
        `time_error_details` gives the same with its convention and support.

    References
    ----------
    Qi et al. (2023), An Effective Meaningful Way to Evaluate Survival Models, ICML.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9], [1, 1, 0, 1, 1])
    >>> y_test = ([2, 5, 7], [1, 0, 1])
    >>> round(time_error(y_test, [3, 5, 6], y_train=y_train), 4)
    1.25
    >>> time_error(y_test, [3, 5, 6], y_train=y_train, method="uncensored")
    1.0
    """
    question = _question(
        y_true,
        predicted,
        (method,),
        loss,
        normalize,
        y_train=y_train,
        weighted=weighted,
        tau=tau,
        area=area,
        tail=tail,
        censoring=censoring,
        true_time=true_time,
        sample_weight=sample_weight,
    )
    return mean_error(*question, method, LOSSES[loss], normalize)
