"""Tipping point: how strongly event and censoring times must depend to turn a comparison.

No data can tell whether subjects who were censored would have had the event sooner than others who
were alike in all that was recorded. So a dependence is assumed: event and censoring time are tied
by a copula with some Kendall's tau. It moves the distribution of the event times of the censored
subjects, from which the errors of two models differ by another amount. The tipping point is the
least Kendall's tau at which the difference has another sign.

With S and G the survival functions that independent censoring gives (Kaplan-Meier, or given the
features), pi = S G is the probability of being under observation, which the data tell whatever the
dependence. Under an Archimedean copula with generator phi, phi(S) rises at every event time by what
phi(pi) rises there (Rivest and Wells 2001), and with a(t) = phi(pi(c)) + (rises between c and t)

    P(T > t | T > c, C = c) = phi'(pi(c)) / phi'(phi^-1(a(t))).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, one_number, shown
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError, as_names, one_of
from ..estimators.copulas import FAMILIES, Archimedean
from ..estimators.reference import Reference
from ..metrics.registry import REGISTRY
from ..metrics.task import Task
from ..metrics.time.terms import predicted_times
from .phrases import rounded

#: The error that is compared.
METRIC = "mae_within"
#: Steps of Kendall's tau that are looked at before the search within one of them.
_STEP = 0.1
#: So close the search comes.
_CLOSE = 1e-3
#: Below this size of Kendall's tau nobody would notice a dependence.
_WEAK = 0.01
#: Most event times, and most censored subjects, that the distributions are read at and drawn for.
_MOST_TIMES, _MOST_SUBJECTS = 100, 1_000
#: Probabilities of being under observation are kept this far from 0 and 1.
_TINY = 1e-9


@dataclass(frozen=True)
class TippingPoint:
    """The weakest dependence that reverses the order of two models.

    Attributes
    ----------
    first, second : str
        The two models.
    difference : float
        Error of the first model less that of the second under independent censoring: the doubly
        robust mean absolute error within the horizon.
    horizon : float
        Horizon of the errors.
    by_copula : dict of str to float or None
        Smallest Kendall's tau that reverses the difference, for each copula; None if none
        does up to `largest`.
    largest : float
        Largest Kendall's tau that was tried.
    given_features : bool
        Whether the dependence is one beyond what recorded features explain.
    curves : dict of str to list of pairs
        Differences by Kendall's tau, for each copula, as far as was looked.
    """

    first: str
    second: str
    difference: float
    horizon: float
    by_copula: dict[str, float | None]
    largest: float
    given_features: bool = False
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

    def sentence(self, unit: str = "") -> str:
        """Say in one sentence which dependence would turn the comparison.

        Parameters
        ----------
        unit : str
            What times are counted in.
        """
        start = (
            f"The order of {self.first} and {self.second} by mean absolute error within "
            f"{rounded(self.horizon, unit)}"
        )
        beyond = " beyond what the features explain" if self.given_features else ""
        what = "event and censoring times depended on each other"
        tau, names = self.kendall_tau, [name.capitalize() for name in self.by_copula]
        if tau is None:
            return (
                f"{start} would stay the same if {what}{beyond}, up to a Kendall's tau of "
                f"{self.largest:g} ({', '.join(names)} copula)."
            )
        kind = str(self.copula).capitalize()
        if abs(tau) < _WEAK:
            return (
                f"{start} would change under a dependence of event and censoring times{beyond} too "
                f"weak to notice (Kendall's tau below {_WEAK:g} in size, {kind} copula)."
            )
        size = f"at least {tau:.2f}" if tau > 0 else f"{tau:.2f} or below"
        return (
            f"{start} would change only if {what}{beyond} with a Kendall's tau of {size} "
            f"({kind} copula)."
        )

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return plain data with the sentence; times in it are counted in `unit`."""
        return {
            "first": self.first,
            "second": self.second,
            "metric": METRIC,
            "difference": self.difference,
            "horizon": self.horizon,
            "kendall_tau": self.kendall_tau,
            "copula": self.copula,
            "by_copula": dict(self.by_copula),
            "largest": self.largest,
            "given_features": self.given_features,
            "sentence": self.sentence(unit),
        }


def tipping_point(
    first: Any,
    second: Any,
    y_test: Any,
    y_train: Any = None,
    *,
    tau: float | None = None,
    conditional: Any = None,
    copulas: Iterable[str] = tuple(FAMILIES),
    largest: float = 0.9,
    sample_weight: Any = None,
) -> TippingPoint:
    """Least Kendall's tau of event and censoring time at which two models change places.

    Compares doubly robust mean absolute errors within a horizon (`mae_within`). Under dependence,
    the difference changes by as much as the expected errors of the censored subjects do.

    Parameters
    ----------
    first, second : predictions
        Predicted times, or curves, of two models for the same subjects.
    y_test : outcomes
        Test outcomes.
    y_train : outcomes, optional
        Reference set; without it the test outcomes are their own.
    tau : float, optional
        Horizon of the errors; by default, and at most, the time that the data support.
    conditional : Conditional, optional
        Distributions of event and censoring times given the features: the dependence is then one
        beyond what the features explain.
    copulas : names
        Kinds of dependence to look at: clayton, frank, gumbel. Negative ones with frank only.
    largest : float
        Size of Kendall's tau up to which is looked, in steps of 0.1; below 1.
    sample_weight : array-like of shape (n,), optional
        Sampling weights of the test subjects.

    Returns
    -------
    TippingPoint
        `kendall_tau` (None: no dependence up to `largest` turns the comparison), `copula`,
        `by_copula`, `difference`, `sentence()`.

    References
    ----------
    Rivest and Wells (2001), Journal of Multivariate Analysis 79.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> T, C = rng.exponential(1.0, 500), rng.exponential(1.5, 500)
    >>> y = np.minimum(T, C), T <= C
    >>> found = tipping_point(np.full(500, 0.5), np.full(500, 0.8), y)
    >>> round(found.difference, 3), found.copula, round(found.kendall_tau, 2)
    (0.059, 'frank', 0.46)
    """
    names = as_names(copulas, "copulas") if not isinstance(copulas, str) else (copulas,)
    if not names:
        raise InputError(f"copulas must name at least one of {', '.join(FAMILIES)}; got none")
    for name in names:
        one_of("copulas", name, FAMILIES)
    if not 0 < one_number(largest) < 1:
        raise InputError(f"largest must lie strictly between 0 and 1; got {shown(largest)}")
    y, _ = Outcomes.of(y_test, "y_test").sampled(sample_weight, "y_test")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    reference = None if y_train is None else Reference.of(y_train)
    task = Task.of(y, reference, weight, tau=tau, conditional=conditional)
    named = {"first": first, "second": second}
    predictions = {name: Prediction.of(given, len(y), name) for name, given in named.items()}
    for name, prediction in predictions.items():
        if prediction.times is None:
            raise InputError(f"{name} must be predicted times or curves; got risk scores")
    if not task.horizon > 0:
        raise UndefinedMetricError(
            f"y_test has {y.count} subjects, who support no horizon, so that there are no errors "
            "to compare; give more subjects with longer follow-up"
        )
    errors = [float(REGISTRY[METRIC].measure(task, p).value) for p in predictions.values()]
    return _searched(task, predictions, errors[0] - errors[1], tuple(names), float(largest))


def best_pair(
    task: Any, predictions: Mapping[str, Prediction], errors: Mapping[str, float]
) -> TippingPoint | None:
    """Return the tipping point of the two best models; None where there is none to look for.

    `errors` are those within the horizon, by model. Only right-censored outcomes of one kind of
    event, observed from the beginning, are known.
    """
    known = {name: e for name, e in errors.items() if np.isfinite(e) and name in predictions}
    usable = isinstance(task, Task) and task.cause is None and not task.by_entry
    if not usable or len(known) < 2 or not task.horizon > 0:
        return None
    first, second = sorted(known, key=lambda name: known[name])[:2]
    pair = {name: predictions[name] for name in (first, second)}
    return _searched(task, pair, known[first] - known[second], tuple(FAMILIES), 0.9)


def _searched(
    task: Task,
    pair: Mapping[str, Prediction],
    difference: float,
    copulas: tuple[str, ...],
    largest: float,
) -> TippingPoint:
    """Look for the dependence of least size that turns a difference, copula by copula."""
    asked = task.within_horizon
    moved = CensoredTimes.of(asked, list(pair.values()))
    found: dict[str, float | None] = {}
    curves = {}
    for name in copulas:

        def at(tau: float, name: str = name) -> float:
            return difference + moved.change(Archimedean.of(name, tau))

        found[name], curves[name] = _search(name, at, difference, largest)
    first, second = pair
    stop = float(asked.tau if asked.tau is not None else asked.horizon)
    given = asked.conditional is not None
    return TippingPoint(first, second, difference, stop, found, largest, given, curves)


def _search(
    copula: str, at: Callable[[float], float], usual: float, largest: float
) -> tuple[float | None, list[tuple[float, float]]]:
    """Return the tau of least size that turns the difference, and all differences found."""
    seen: dict[float, float] = {0.0: usual}
    if usual == 0:
        return 0.0, list(seen.items())
    signs = (1, -1) if FAMILIES[copula].negative else (1,)
    sizes = [*np.arange(_STEP, largest, _STEP).round(10).tolist(), largest]
    tipped: list[float] = []
    for before, size in zip([0.0, *sizes], sizes, strict=False):
        for sign in signs:
            seen[sign * size] = at(sign * size)
            if seen[sign * size] * usual <= 0:
                tipped.append(_bisected(at, usual, sign * before, sign * size))
        if tipped:
            break
    return (min(tipped, key=abs) if tipped else None), sorted(seen.items())


def _bisected(at: Callable[[float], float], usual: float, low: float, high: float) -> float:
    """Return a tau that turns the difference close to one that does not."""
    while abs(high - low) > _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle) * usual <= 0 else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class CensoredTimes:
    """Distributions of the event times of subjects who were censored before the horizon.

    Rows are subjects, columns the event times up to the horizon; `survival` and `uncensored` have
    one row where they are the same for everybody.
    """

    #: Survival after each event time under independence, with a first column of 1.
    survival: Floats
    #: Probability of no censoring before each event time.
    uncensored: Floats
    #: Number of event times that each subject has passed, and pi at its censoring time.
    passed: Ints
    observed: Floats
    #: By how much the loss of the first model grows from an event time to the next one, less by
    #: how much that of the second does, times the weight of the subject.
    growth: Floats

    @classmethod
    def of(cls, task: Task, pair: list[Prediction]) -> CensoredTimes:
        """Read the distributions and the losses of two models; `task` has a horizon, tau."""
        y, weight, stop = task.y, task.weight, float(task.tau or task.horizon)
        weighed = y if task.sample_weight is None else y.reweighted(weight)
        reference = task.reference or Reference(weighed)
        rows, share = _censored(y, weight, stop)
        c, grid = y.time[rows], _event_times(reference, stop)
        given, g = task.conditional, Reference(weighed).censoring
        if given is None or given.distribution is None:
            survival = reference.km.at(grid)[None]
        else:
            survival = given.distribution[rows].at(grid)
        if given is None or given.censoring is None:
            uncensored, at_c = g.at(grid, "left")[None], g.at(c)
        else:
            curves = given.censoring[rows]
            uncensored, at_c = curves.at(np.nextafter(grid, 0.0)), curves.at_own(c)
        survival = np.insert(survival, 0, 1.0, axis=1)
        passed = np.searchsorted(grid, c, side="right")
        observed = np.clip(_of_each(survival, passed)[1] * at_c, _TINY, 1 - _TINY)
        ends = np.append(grid, stop)
        losses = [
            np.abs(predicted_times(p.times, len(y), "median", stop)[0][rows, None] - ends)
            for p in pair
        ]
        growth = np.diff(losses[0] - losses[1], axis=1) * share[:, None]
        growth[np.arange(grid.size) < passed[:, None]] = 0.0
        return cls(survival, uncensored, passed, observed, growth)

    @cached_property
    def independent(self) -> Floats:
        """P(T > t | T > c) after each event time under independence: (subjects, times)."""
        own, start = _of_each(self.survival, self.passed)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.minimum(own[:, 1:] / start[:, None], 1.0))

    def dependent(self, copula: Archimedean) -> Floats:
        """P(T > t | T > c, C = c) after each event time under a copula: (subjects, times)."""
        high = np.maximum(self.survival[:, :-1] * self.uncensored, _TINY)
        low = np.maximum(self.survival[:, 1:] * self.uncensored, _TINY)
        risen = np.insert(np.cumsum(np.exp(copula.log_rise(high, low)), axis=1), 0, 0.0, axis=1)
        own, start = _of_each(risen, self.passed)
        since = np.maximum(own[:, 1:] - start[:, None], 0.0)
        with np.errstate(divide="ignore"):
            log_phi = np.log(np.exp(copula.log_phi(self.observed))[:, None] + since)
        reached = np.clip(copula.inverse(log_phi), _TINY, 1 - _TINY)
        log_left = copula.log_slope(self.observed)[:, None] - copula.log_slope(reached)
        return np.exp(np.minimum(log_left, 0.0))

    def change(self, copula: Archimedean) -> float:
        """By how much a copula moves the difference of the models' mean errors."""
        return float(np.sum((self.dependent(copula) - self.independent) * self.growth))


def _of_each(table: Floats, passed: Ints) -> tuple[Floats, Floats]:
    """Return the row of each subject, and its entry after the event times that it has passed."""
    own = np.broadcast_to(table, (passed.size, table.shape[1]))
    return own, own[np.arange(passed.size), passed]


def _censored(y: Outcomes, weight: Floats, stop: float) -> tuple[Ints, Floats]:
    """Return who was censored before the horizon, and the share of all subjects of each.

    Where they are many, every k-th by time stands for its neighbours.
    """
    rows = np.flatnonzero(~y.event & (y.time < stop) & (weight > 0))
    share = weight[rows].sum() / weight.sum()
    if rows.size > _MOST_SUBJECTS:
        rows = rows[np.argsort(y.time[rows], kind="stable")]
        rows = rows[np.linspace(0, rows.size - 1, _MOST_SUBJECTS).round().astype(np.intp)]
    return rows, share * weight[rows] / max(weight[rows].sum(), _TINY)


def _event_times(reference: Reference, stop: float) -> Floats:
    """Event times of the reference set before the horizon, evenly thinned where there are many."""
    km = reference.km
    times = km.times[np.diff(km.survival, prepend=1.0) < 0]
    times = times[times < stop]
    if times.size > _MOST_TIMES:
        times = times[np.linspace(0, times.size - 1, _MOST_TIMES).round().astype(int)]
    return np.asarray(times)
