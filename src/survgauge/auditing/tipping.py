"""Tipping point: the least dependence of event and censoring time that turns a comparison.

An audit asks for that of its two best models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats, one_number, positive, shown
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError, as_names, one_of
from ..metrics.problem import Problem
from ..metrics.time.quick import mean_errors
from ..metrics.time.terms import predicted_times
from ..reference.copulas import FAMILIES
from ..reference.dependence import Dependence
from ..reference.losses import LOSSES
from ..reference.reference import Reference
from ..reference.surrogates import METHODS, Method, make_setting
from .scoring import AuditQuestion

#: Steps of Kendall's tau that are looked at before the search within one of them.
_STEP = 0.05
#: So close the search comes, and so close to independence it begins.
_CLOSE, _HARDLY = 1e-3, 1e-6
_LOSSES = ("absolute", "squared")


@dataclass(frozen=True)
class TippingPoint:
    """The least dependence at which the better of two models becomes the worse.

    Attributes
    ----------
    difference : float
        Error of the first model less that of the second under independent censoring.
    by_copula : dict of str to float or None
        Kendall's tau of least size that turns the difference, for each copula; None where none
        does up to `largest`. 0: another way to count the same subjects turns it already.
    largest : float
        Size of Kendall's tau up to which was looked.
    curves : dict of str to list of pairs
        Differences by Kendall's tau, for each copula, as far as was looked.
    """

    difference: float
    by_copula: dict[str, float | None]
    largest: float
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict, repr=False)

    @property
    def copula(self) -> str | None:
        """Copula under which the least dependence turns the comparison; None: none does."""
        found = {name: abs(tau) for name, tau in self.by_copula.items() if tau is not None}
        return min(found, key=lambda name: found[name]) if found else None

    @property
    def kendall_tau(self) -> float | None:
        """The least dependence over all copulas; None where none turns the comparison."""
        return None if self.copula is None else self.by_copula[self.copula]


def tipping_point(
    first: Any,
    second: Any,
    y_test: Any,
    y_train: Any = None,
    *,
    method: str = "ipcw_d",
    loss: str = "absolute",
    tau: float | None = None,
    copulas: Iterable[str] = tuple(FAMILIES),
    largest: float = 0.9,
    sample_weight: Any = None,
    tail: str = "linear",
    censoring: str | None = None,
) -> TippingPoint:
    """Least Kendall's tau of event and censoring time at which two models change places.

    Parameters
    ----------
    first, second : predictions
        Predicted times, or curves, of two models for the same subjects.
    y_test : outcomes
        Test outcomes.
    y_train : outcomes, optional
        Reference set; without it the test outcomes are their own.
    method : {"ipcw_d", "expected", "margin"}
        How errors count censored subjects.
    loss : {"absolute", "squared"}
        Loss of the errors.
    tau : float, optional
        Horizon of the errors.
    copulas : names
        Kinds of dependence to look at: clayton, frank, gumbel.
    largest : float
        Size of Kendall's tau up to which is looked, in steps of 0.05; below 1.
    sample_weight : array-like of shape (n,), optional
        Sampling weights of the test subjects.
    tail : str
        How the law of the event time goes on; see `surrogate_times`.
    censoring : {"test", "train"}, optional
        Whose outcomes the weights of ``ipcw_d`` are estimated from; by default the test outcomes.

    Returns
    -------
    TippingPoint
        `kendall_tau` (None: no dependence up to `largest` turns the comparison), `copula`,
        `by_copula`, `difference`.

    Examples
    --------
    >>> y = ([2, 3, 5, 6, 8, 9, 11, 12], [1, 0, 1, 0, 1, 0, 1, 1])
    >>> found = tipping_point([3, 4, 5, 6, 7, 8, 9, 10], [4, 4, 4, 5, 6, 9, 12, 12], y)
    >>> round(found.difference, 2), found.copula, round(found.kendall_tau, 2)
    (0.37, 'clayton', 0.52)
    """
    one_of("method", method, [m.name for m in METHODS.values() if m.takes_dependence])
    one_of("loss", loss, _LOSSES)
    names = as_names(copulas, "copulas") if not isinstance(copulas, str) else (copulas,)
    if not names:
        raise InputError(f"copulas must name at least one of {', '.join(FAMILIES)}; got none")
    for name in names:
        one_of("copulas", name, FAMILIES)
    if not 0 < one_number(largest) < 1:
        raise InputError(f"largest must lie strictly between 0 and 1; got {shown(largest)}")
    tau = None if tau is None else positive(tau, "tau")
    y = Outcomes.of(y_test, "y_test")
    reference = None if y_train is None else Reference.of(y_train)
    rule, record = LOSSES[loss], METHODS[method]
    named = (("first", first), ("second", second))
    times = np.stack([_times(p, y, name, rule.point, tau) for name, p in named])

    def difference(dependence: Dependence | None) -> float:
        setting = make_setting(
            y, reference, tau=tau, tail=tail, dependence=dependence, sample_weight=sample_weight,
            censoring=censoring,
        )  # fmt: skip
        found = mean_errors(setting, record, rule, times)
        return float(found[0] - found[1])

    usual = difference(None)
    if not np.isfinite(usual):
        raise UndefinedMetricError(
            f"y_test has {y.event_count} events and the errors of the two models have no value by "
            f"method {method!r}, so that nothing can turn; give outcomes with events"
        )
    found: dict[str, float | None] = {}
    curves = {}
    for name in names:
        found[name], curves[name] = _search(name, difference, usual, float(largest))
    return TippingPoint(usual, found, float(largest), curves)


def _times(predicted: Any, y: Outcomes, name: str, point: str, tau: float | None) -> Floats:
    """One time per subject."""
    parsed = Prediction.of(predicted, len(y), name)
    if parsed.times is None:
        raise InputError(f"{name} must be predicted times or curves; got risk scores")
    return predicted_times(parsed.times, len(y), point, tau)[0]


def _search(
    copula: str, difference: Callable[[Dependence], float], usual: float, largest: float
) -> tuple[float | None, list[tuple[float, float]]]:
    """Return the tau of least size that turns the difference, and all differences found."""

    def at(tau: float) -> float:
        return difference(Dependence(tau, copula))

    sizes = [_HARDLY, *np.arange(_STEP, largest, _STEP).round(10).tolist(), largest]
    signs = (1, -1) if FAMILIES[copula].negative else (1,)
    seen: dict[float, float] = {0.0: usual}
    tipped: list[float] = []
    for before, size in zip([0.0, *sizes], sizes, strict=False):
        for sign in signs:
            seen[sign * size] = at(sign * size)
            if _turned(seen[sign * size], usual):
                low = sign * before
                tipped.append(0.0 if size == _HARDLY else _bisected(at, usual, low, sign * size))
        if tipped:
            break
    curve = sorted(seen.items())
    return (min(tipped, key=abs) if tipped else None), curve


def _turned(difference: float, usual: float) -> bool:
    """Whether the sign is another one; no difference at all turns at once."""
    return not difference * usual > 0 if usual else True


def _bisected(at: Callable[[float], float], usual: float, low: float, high: float) -> float:
    """Return a turned tau close to one that is not, between two such values."""
    while abs(high - low) > _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if _turned(at(middle), usual) else (middle, high)
    return high


# -- the two best models of an audit ------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """The two best models on the real data, by one method within one horizon.

    Attributes
    ----------
    first, second : str
        The best model and the next one.
    method : str
        What censored subjects count as; one that can be computed under dependent censoring.
    horizon : float or None
        Horizon of the errors.
    point : TippingPoint
        Which dependence turns the comparison.
    """

    first: str
    second: str
    method: str
    horizon: float | None
    point: TippingPoint

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "method": self.method,
            "horizon": self.horizon,
            "difference": self.point.difference,
            "kendall_tau": self.point.kendall_tau,
            "copula": self.point.copula,
            "by_copula": dict(self.point.by_copula),
            "largest": self.point.largest,
        }


def best_pair(
    problem: Problem,
    predictions: Mapping[str, Prediction],
    question: AuditQuestion | None,
    horizon: float | None,
) -> Pair | None:
    """Compare the two best models under dependent censoring; None where there is nothing to turn.

    `question` is what was recommended. Where its method knows no dependent censoring, events
    weighted by 1/G take its place.
    """
    if question is None or not question.by_times or len(predictions) < 2:
        return None
    method = _method(question)
    asked = replace(problem, tau=horizon, conditional=None)
    rule, names = LOSSES[question.metric.loss], list(predictions)
    try:
        times = np.stack(
            [
                predicted_times(p.times, len(problem.y), rule.point, horizon)[0]
                for p in predictions.values()
            ]
        )
        errors = mean_errors(asked.setting, method, rule, times, asked.options["normalize"])
        if not np.isfinite(errors).all():
            return None
        first, second = (int(k) for k in np.argsort(errors, kind="stable")[:2])
        censoring = problem.censoring if isinstance(problem.censoring, str) else None
        point = tipping_point(
            times[first],
            times[second],
            problem.y,
            problem.reference,
            method=method.name,
            loss=rule.name,
            tau=horizon,
            sample_weight=problem.sample_weight,
            tail=problem.options["tail"],
            censoring=censoring,
        )
    except UndefinedMetricError:
        return None
    return Pair(names[first], names[second], method.name, horizon, point)


def _method(question: AuditQuestion) -> Method:
    """Return the method of a question, or the usual one that takes dependent censoring."""
    if question.method.takes_dependence:
        return question.method
    return next(m for m in METHODS.values() if m.takes_dependence and m.weights_by_g)
