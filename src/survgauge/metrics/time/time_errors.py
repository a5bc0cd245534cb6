"""Errors in time units under censoring: surrogates meet losses, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..._tools.arrays import vector
from ..._tools.chunks import CHUNK, chunks
from ..._tools.threads import in_order
from ...data.adapters import as_curves_named, is_flat
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, as_names, one_of
from ...reference.cause_law import check_same_causes
from ...reference.dependence import dependence_of
from ...reference.kaplan_meier import KaplanMeier
from ...reference.losses import LOSSES, Loss
from ...reference.reference import Reference
from ...reference.surrogates import METHODS, Method, Setting, make_setting
from ..checks import absent_replaced, given_entry_of
from ..one_cause import one_cause, with_causes
from ..support import Support
from .joined import joined
from .supported_tau import supported_tau
from .terms import (
    Point,
    TimeErrorDetails,
    TimeTerms,
    convention,
    predicted_times,
    time_terms,
)

NORMALIZERS = ("n", "weights", "events")


def censored_methods() -> tuple[str, ...]:
    """Return the names of the methods that need nothing but outcomes."""
    return tuple(method.name for method in METHODS.values() if not method.needs_truth)


def check_knows_dependence(method: Method, dependence: Any) -> None:
    """Refuse an assumed dependence where a method would not heed it."""
    if dependence_of(dependence) is None or method.takes_dependence:
        return
    known = ", ".join(repr(m.name) for m in METHODS.values() if m.takes_dependence)
    raise InputError(
        f"dependence: method {method.name!r} knows independent censoring only; leave dependence "
        f"out, or take one of {known}"
    )


def check_knows_causes(method: Method) -> None:
    """Refuse a method that knows one kind of event where there are several."""
    if method.takes_cause:
        return
    known = ", ".join(repr(m.name) for m in METHODS.values() if m.takes_cause)
    raise InputError(
        f"method {method.name!r} knows one kind of event only: it says nothing about censored "
        f"subjects who may have a competing event; with cause= take one of {known}"
    )


@dataclass(frozen=True)
class _Question:
    """Time errors that are asked for, with everything checked."""

    setting: Setting
    predicted: Any
    methods: tuple[str, ...]
    rule: Loss
    normalize: str
    #: What the convention says of a horizon that follows from the data.
    horizon: dict[str, Any] = field(default_factory=dict)


def _check_takes_law(methods: tuple[str, ...], conditional: Any) -> None:
    """Refuse laws given features where no method would heed them."""
    if conditional is None or any(METHODS[name].takes_law for name in methods):
        return
    known = ", ".join(repr(m.name) for m in METHODS.values() if m.takes_law)
    raise InputError(
        f"conditional: method {methods[0]!r} takes no law given the features; leave conditional "
        f"out, or take one of {known}"
    )


def time_error_details(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    loss: str = "absolute",
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
) -> TimeErrorDetails:
    """`time_error` with what lies behind it: losses, weights, convention, support.

    Parameters
    ----------
    y_true, predicted, y_train, method, loss, weighted, tau, area, tail, normalize
        As for `time_error`.
    censoring, sample_weight, true_time, conditional, floor, dependence, cause
        As for `time_error`.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 0, 1, 1])
    >>> d = time_error_details(y, [3, 3, 3, 3], method="ipcw_t")
    >>> round(d.value, 3), d.support["censored"], d.convention["reference"]
    (3.077, 1, 'test outcomes, in sample')
    >>> d = time_error_details(y, [3, 3, 3, 3])  # up to the last time that the data support
    >>> d
    TimeErrorDetails(dr up to 8: value=3.25, stderr=0.968)
    >>> d.convention["tau"], d.convention["horizon"]
    (8.0, 'last time that the data support')
    """
    question = _question(
        y_true, predicted, None if method is None else (method,), loss, normalize, y_train=y_train,
        weighted=weighted, tau=tau, area=area, tail=tail, censoring=censoring,
        sample_weight=sample_weight, true_time=true_time, conditional=conditional, floor=floor,
        dependence=dependence, cause=cause,
    )  # fmt: skip
    (found,) = _details(question).values()
    return found


def time_errors(
    y_true: Any,
    predicted: Any,
    *,
    methods: Iterable[str] | None = None,
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
    conditional: Any = None,
    floor: float = 0.1,
    dependence: Any = None,
    cause: int | str | None = None,
) -> dict[str, TimeErrorDetails]:
    """Several methods at once, sharing one look-up per subject.

    Parameters
    ----------
    y_true, predicted
        As for `time_error`.
    methods : sequence of str, optional
        Names of methods of `time_error`; by default all that need nothing but outcomes.
    y_train, loss, weighted, tau, area, tail, normalize, censoring, sample_weight, true_time
        As for `time_error`.
    conditional, floor, dependence, cause
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
        if dependence_of(dependence) is not None:
            methods = [name for name in methods if METHODS[name].takes_dependence]
    names = (methods,) if isinstance(methods, str) else as_names(methods, "methods")
    if not names:
        raise InputError("methods must name at least one method; got an empty list")
    for name in names:
        one_of("methods", name, METHODS)
    question = _question(
        y_true, predicted, names, loss, normalize, y_train=y_train, weighted=weighted, tau=tau,
        area=area, tail=tail, censoring=censoring, sample_weight=sample_weight,
        true_time=true_time, conditional=conditional, floor=floor, dependence=dependence,
        cause=cause,
    )  # fmt: skip
    return _details(question)


def _question(
    y_true: Any,
    predicted: Any,
    named: tuple[str, ...] | None,
    loss: str,
    normalize: str,
    **options: Any,
) -> _Question:
    """Check everything: outcomes, and the predicted times or curves.

    Where no method is `named`, the doubly robust one up to the last time that the data support.
    """
    methods = ("dr",) if named is None else named
    for name in methods:
        one_of("method", name, METHODS)
        check_knows_dependence(METHODS[name], options["dependence"])
        if options["cause"] is not None:
            check_knows_causes(METHODS[name])
    _check_takes_law(methods, options["conditional"])
    one_of("loss", loss, LOSSES)
    one_of("normalize", normalize, NORMALIZERS)
    if options["cause"] is not None or isinstance(predicted, IncidenceCurves):
        # Of this cause 1 - incidence is the probability of being free of it.
        predicted = one_cause(y_true, predicted, None, options["cause"], entry=True).curves
    if options["cause"] is not None:
        y_true = Outcomes.of(y_true, "y_true", causes=True, entry=True)
        causes, train = y_true.causes or (), options["y_train"]
        if isinstance(train, Reference):
            check_same_causes(y_true, train)
        elif train is not None:
            options["y_train"] = with_causes(train, "y_train", causes, entry=True)
    horizon = {}
    if named is None:
        options["tau"], horizon["horizon"] = supported_tau(y_true, options)
        if is_flat(predicted):  # one that is infinite is no time, although it would end at tau
            predicted = vector(predicted, "predicted")
    setting = make_setting(y_true, **options, entry=True)
    if not isinstance(predicted, SurvivalCurves) and not is_flat(predicted):
        predicted = as_curves_named(predicted, "predicted")
    if isinstance(predicted, SurvivalCurves) and len(predicted) == len(setting.y):
        predicted = given_entry_of(absent_replaced(predicted, setting.y), setting.y)
    return _Question(setting, predicted, methods, LOSSES[loss], normalize, horizon)


def _details(question: _Question) -> dict[str, TimeErrorDetails]:
    """Return the errors by all methods that are asked for."""
    return joined(question.setting, question.methods, _parts(question))


def _parts(question: _Question, counted: bool = True) -> Iterator[list[TimeTerms]]:
    """Yield the terms of each method, of chunks that stay in the cache, on several threads.

    Without `counted` nothing is said about what the data cover.
    """
    setting, predicted, methods = question.setting, question.predicted, question.methods
    rule, normalize, n = question.rule, question.normalize, len(setting.y)
    times, tail = predicted_times(predicted, n, rule.point, setting.tau)
    rules = {
        m: convention(setting, m, rule, predicted, normalize) | question.horizon for m in methods
    }
    by_g = any(METHODS[m].weights_by_g or METHODS[m].reads_g for m in methods)

    def terms(part: Setting, rows: slice) -> list[TimeTerms]:
        point = Point(times[rows], Support())
        if counted:
            point = Point.counted(part, times[rows], None if tail is None else tail[rows])
        return [time_terms(part, point, m, rule, normalize, rules[m]) for m in methods]

    # A function G(t, side) is one of all subjects together.
    if n <= CHUNK or (by_g and not isinstance(setting.censoring, KaplanMeier | None)):
        yield terms(setting, slice(0, n))
        return
    whole = setting.with_g() if by_g else setting
    terms(whole.part(slice(0, 1)), slice(0, 1))  # the reference's tables, before threads read them
    yield from in_order(lambda rows: terms(whole.part(rows), rows), chunks(n, size=CHUNK))


def time_error(
    y_true: Any,
    predicted: Any,
    *,
    y_train: Any = None,
    method: str | None = None,
    loss: str = "absolute",
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
    """Mean error of predicted event times where some test outcomes are censored.

    Unless a method is named, the doubly robust error up to the last time that the data support,
    which `evaluate` calls ``mae_within``. With a method, the weighted mean of loss(e_i, p_i), where
    e_i is the event time of an event and what `method` puts in its place for a censored subject.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    predicted : array-like of shape (n,) or SurvivalCurves
        Predicted times, or curves: absolute losses take their median, squared losses their mean.
    y_train : outcomes, optional
        Reference set of the surrogates; without it the test outcomes are their own reference.
    method : str, optional
        uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po, expected, dr or true: that
        definition, without a horizon unless `tau` is given. None: dr up to `tau`, or up to the last
        time with G(t-) of at least 0.05 and ten test subjects at risk where that is earlier;
        `time_error_details` says which in ``convention["tau"]`` and ``convention["horizon"]``.
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
    conditional : Conditional, optional
        Laws of event and censoring time given the features of each subject, for ``dr``,
        ``expected`` and ``margin``; by default Kaplan-Meier of the reference set.
    floor : float
        Least G of ``dr``: no event counts for more than 1/floor subjects, and what lies beyond
        rests on the law of the event time alone.
    dependence : float or Dependence, optional
        Dependence of event and censoring time to assume, for ``ipcw_d``, ``expected`` and
        ``margin``: Kendall's tau, or `Dependence` with a copula. By default none.
    cause : int or str, optional
        With competing risks, the cause that matters. The error is then that of the time free of
        it up to `tau`, which has to be given with a `method`: T if the event is of this cause and
        before tau, and tau for everybody else. Predictions are such times or `IncidenceCurves`, of
        which absolute losses take the median of the cause (tau where it is not reached) and squared
        losses tau less the restricted mean time lost.

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
    1.3333
    >>> round(time_error(y_test, [3, 5, 6], y_train=y_train, method="po"), 4)
    1.25
    >>> time_error(y_test, [3, 5, 6], y_train=y_train, method="uncensored")
    1.0
    """
    question = _question(
        y_true, predicted, None if method is None else (method,), loss, normalize, y_train=y_train,
        weighted=weighted, tau=tau, area=area, tail=tail, censoring=censoring,
        sample_weight=sample_weight, true_time=true_time, conditional=conditional, floor=floor,
        dependence=dependence, cause=cause,
    )  # fmt: skip
    above, below, anybody = 0.0, 0.0, False
    for (part,) in _parts(question, counted=False):
        above, below = above + float(part.a.sum()), below + float(part.s.sum())
        anybody = anybody or bool(part.weight.any())
    if not (below > 0 and anybody):
        _details(question)  # refuses, with the reasons
    return above / below
