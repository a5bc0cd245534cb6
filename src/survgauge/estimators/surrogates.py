"""What a censored subject counts as: one function per method, and nothing about losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats, look_up, sorting_order
from ..data.interpolation import tail_area
from ..errors import InputError, one_of
from .pseudo import mean_given_entry, pseudo_given_entry, pseudo_of_all
from .setting import Method, Setting, Surrogates, make_setting

__all__ = [
    "METHODS",
    "Method",
    "Setting",
    "Surrogates",
    "make_setting",
    "pseudo_observations",
    "surrogate_times",
]


def uncensored(s: Setting) -> Surrogates:
    """Events only."""
    weight = s.y.event.astype(np.float64)
    return Surrogates(s.value, weight, s.y.event)


def hinge(s: Setting) -> Surrogates:
    """A prediction for a censored subject is wrong only if it is earlier than c."""
    return Surrogates(s.value, s.ones, s.everybody, lower_bound=~s.y.event)


def margin(s: Setting) -> Surrogates:
    """c + (integral of S from c on) / S(c): the mean of T given T > c."""
    if s.own_distributions:
        distribution, j = s.residual, s.residual.places(s.c)
        # Steps of a distribution may add up to a little more than 1.
        above = np.minimum(distribution.alive(s.c, j) / s.survival_at_entry, 1.0)
        confidence = 1.0 - above if s.weighted else np.ones(s.c.size)
        guess = distribution.mean(s.c, j)
        notes = s.lost(guess, "excluded: the tail 'nan' gives no mean")
        return s.fill(guess, confidence=confidence, notes=notes)
    if s.area == "step":
        s.reference.tail(s.tail)  # refuses a set that tells nothing about event times
        guess = s.residual.mean(s.c, s.j)
    else:
        guess = _margin_trapezoid(s)
    return s.fill(guess, notes=s.lost(guess, "excluded: the tail 'nan' gives no mean"))


def _margin_trapezoid(s: Setting) -> Floats:
    """Trapezoids over all observed times later than c, from the step value at c."""
    times, survival = s.reference.table.times, s.reference.km.survival
    rest = s.reference.later_trapezoids(s.tail)
    following = np.minimum(look_up(times, s.c, "right"), times.size - 1)
    first = np.maximum(times[following] - s.c, 0.0) * (s.survival + survival[following]) / 2
    ahead = first + rest[following]
    ahead[s.past] = tail_area(s.c[s.past], s.survival[s.past], s.tail, s.reference.stop)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(s.survival == 0, s.c, s.c + ahead / s.survival)


def ipcw_d(s: Setting) -> Surrogates:
    """Events only, each standing for 1/G(t-) subjects."""
    weight, defined = np.zeros(len(s.y)), s.y.event.copy()
    seen = s.observable > 0
    rows = np.flatnonzero(s.y.event)
    weight[rows[seen]] = 1.0 / s.observable[seen]
    defined[rows[~seen]] = False
    lost = int((~seen & (s.y.weight[rows] > 0)).sum())
    notes = {"excluded: events with G(t-) = 0": lost} if lost else {}
    return Surrogates(s.value, weight, defined, notes=notes)


def ipcw_t(s: Setting) -> Surrogates:
    """Mean of the reference event times later than c, of those who had entered by then."""
    y, later = s.reference.y, s.reference.later_events()
    number, total = later[0][s.j], later[1][s.j]
    if y.entry is not None:
        late = np.flatnonzero(y.event & (y.entry > 0))
        entry, weight = y.entry[late], y.weight[late]
        number -= _sum_from(entry, weight, s.c)
        total -= _sum_from(entry, weight * y.time[late], s.c)
        # A difference of sums of fractions: where nobody is left, exactly nobody.
        number[number <= 1e-9 * max(later[0, 0], 1.0)] = 0.0
    guess = np.divide(total, number, out=np.full(s.c.size, np.nan), where=number > 0)
    notes = s.lost(guess, "excluded: no later event in the reference")
    return s.fill(guess, notes=notes)


def _sum_from(x: Floats, values: Floats, c: Floats) -> Floats:
    """Sum of the values with x >= c, for each c."""
    order = sorting_order(x)
    later = np.append(np.cumsum(values[order][::-1])[::-1], 0.0)
    found: Floats = later[look_up(x[order], c, "left")]
    return found


def po(s: Setting) -> Surrogates:
    """Pseudo-observation: (N+1) theta(D+i) - N theta(D); in sample, leave-one-out.

    Under delayed entry, given that; those of subjects from the beginning stay as they were where
    everybody of the reference set is from the beginning.
    """
    if s.by_entry:
        guess = pseudo_given_entry(s.reference, s.entry, s.c, s.tail, s.area, s.code)
    if s.reference.whole.y.entry is None:
        plain = s.pseudo_means.at(s.c, s.j)
        guess = np.where(s.entry > 0, guess, plain) if s.by_entry else plain
    guess, notes = s.capped(guess)
    return s.fill(guess, notes=notes)


def pop_po(s: Setting) -> Surrogates:
    """theta(D), the same for everybody: the paper's ablation; under delayed entry, given that."""
    guess = mean_given_entry(s.reference, s.entry, s.tail, s.area, s.code)
    guess, notes = s.capped(guess)
    return s.fill(guess, notes=notes)


def expected(s: Setting) -> Surrogates:
    """The whole distribution of T given T > c, not one time; `time` holds its mean."""
    distribution = s.residual
    mean = distribution.mean(s.c, distribution.places(s.c) if s.own_distributions else s.j)
    notes = s.lost(mean, "excluded: the tail 'nan' gives no mean")
    return s.fill(mean, alike=True, distribution=distribution, notes=notes)


def dr(s: Setting) -> Surrogates:
    """Losses that are right if the distribution or G is; see `doubly_robust`."""
    unknown = np.broadcast_to(s.robust.unknown, len(s.y))
    if not unknown.any():
        return Surrogates(s.value, s.ones, s.everybody, robust=s.robust)
    notes = {
        "excluded: the distribution has no mean, its tail does not come down": int(unknown.sum())
    }
    return Surrogates(s.value, (~unknown).astype(float), ~unknown, notes=notes, robust=s.robust)


def true(s: Setting) -> Surrogates:
    """Known event times."""
    if s.true_time is None:
        raise InputError("true_time must be given for method='true': the known event times")
    return Surrogates(s.true_time, s.ones, s.everybody)


#: Of methods that can be asked about a cause, and under delayed entry.
_ANY_QUESTION: dict[str, Any] = {"takes_cause": True, "takes_entry": True}
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "uncensored",
            uncensored,
            "events only",
            "is left out",
            counts_censored=False,
            **_ANY_QUESTION,
        ),
        Method(
            "hinge",
            hinge,
            "one-sided (hinge)",
            "counts as wrong only where the predicted time is earlier than the censoring time",
            reference="Shivaswamy et al. (2007), ICDM",
            **_ANY_QUESTION,
        ),
        Method(
            "margin",
            margin,
            "margin times",
            "gets an estimated time: the mean time of those who were event-free as long",
            reference="Haider et al. (2020), JMLR 21",
            imputes=True,
            looks_up=True,
            takes_distribution=True,
            **_ANY_QUESTION,
        ),
        Method(
            "ipcw_d",
            ipcw_d,
            "events weighted by 1/G",
            "is left out, and events get more weight in its place",
            weights_by_g=True,
            counts_censored=False,
            misses_late=True,
            **_ANY_QUESTION,
        ),
        Method(
            "ipcw_t",
            ipcw_t,
            "mean of later events",
            "gets an estimated time: the mean of the later event times",
            imputes=True,
            looks_up=True,
            misses_late=True,
            takes_entry=True,
        ),
        Method(
            "po",
            po,
            "pseudo-observations",
            "gets an estimated time (its pseudo-observation)",
            imputes=True,
            looks_up=True,
            extrapolates=True,
            usual=True,
            **_ANY_QUESTION,
        ),
        Method(
            "pop_po",
            pop_po,
            "population mean",
            "gets the same estimated time: the mean of the training set",
            imputes=True,
            looks_up=True,
            **_ANY_QUESTION,
        ),
        Method(
            "expected",
            expected,
            "expected loss",
            "counts with its expected error over all times that are still possible",
            reference="this package",
            looks_up=True,
            takes_distribution=True,
            **_ANY_QUESTION,
        ),
        Method(
            "dr",
            dr,
            "doubly robust",
            "counts with its expected error over all times that are still possible, corrected by "
            "weighted events",
            reference="this package, after Robins and Rotnitzky (1992)",
            looks_up=True,
            reads_g=True,
            takes_distribution=True,
            **_ANY_QUESTION,
        ),
        Method(
            "true",
            true,
            "known event times",
            "counts with its true event time",
            counts_censored=False,
            needs_truth=True,
            **_ANY_QUESTION,
        ),
    )
}


def surrogate_times(
    y_true: Any,
    *,
    y_train: Any = None,
    method: str = "po",
    area: str = "step",
    tail: str = "linear",
    tau: float | None = None,
) -> Surrogates:
    """Imputed times of subjects under a method, and their weights.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    y_train : outcomes, optional
        Reference set. Without it the test outcomes are their own reference (for ``po``:
        leave-one-out).
    method : str
        uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po or expected. The doubly robust method
        gives no times.
    area : {"step", "trapezoid"}
        How areas under Kaplan-Meier are taken.
    tail : {"linear", "exponential", "hold", "nan"}
        How Kaplan-Meier is extended if it does not reach zero.
    tau : float, optional
        Horizon: later times are set to it.

    Returns
    -------
    Surrogates
        `time`, `weight` and `defined`, each of shape (n,).

    Examples
    --------
    >>> s = surrogate_times(([1, 2, 3, 4], [1, 0, 1, 1]), method="margin")
    >>> s.time
    array([1. , 3.5, 3. , 4. ])
    >>> s.weight
    array([1.  , 0.25, 1.  , 1.  ])
    """
    one_of("method", method, [m.name for m in METHODS.values() if not (m.needs_truth or m.reads_g)])
    setting = make_setting(y_true, y_train, area=area, tail=tail, tau=tau, entry=True)
    return METHODS[method](setting)


def pseudo_observations(
    y_true: Any,
    *,
    y_train: Any = None,
    tail: str = "linear",
    tau: float | None = None,
    cause: int | str | None = None,
) -> Floats:
    r"""Pseudo-observations of the (restricted) mean, for censored subjects and events alike.

    In sample N theta(D) - (N-1) theta(D without i); against a reference set D of N subjects
    (N+1) theta(D + i) - N theta(D). `surrogate_times` uses those of the censored subjects only;
    regression on pseudo-observations needs them all. They may be negative or lie past `tau`.

    With delayed entry leaving one out does not estimate E[T | x]: subjects at low risk are seen
    more often than others. They are then pseudo-observations of the mean given entry. With m(u) the
    mean of T given T > u and h the hazard, both by Kaplan-Meier of the reference set, and its G,
    that of somebody seen from a to y is

    .. math:: m(a) + \sum_{a < u \le y} (m(u) - u) h(u) \frac{G(a)}{G(u-)}
              - 1(\text{event at } y) (m(y) - y) \frac{G(a)}{G(y-)},

    which given a and x has the mean E[T | T > a, x]. If all enter at one time it is the
    infinitesimal jackknife (`survival::pseudo` in R).

    Parameters
    ----------
    y_true : outcomes
        Subjects to describe. Those without delayed entry have their usual pseudo-observations if
        the reference set has none either.
    y_train : outcomes, optional
        Reference set; without it leave-one-out among `y_true`.
    tail : {"linear", "exponential", "hold", "nan"}
        How Kaplan-Meier is extended if it does not reach zero.
    tau : float, optional
        Horizon of the restricted mean.
    cause : int or str, optional
        With competing risks, the cause: the mean is then that of the time free of it up to `tau`,
        which is tau less the restricted mean time lost, by Aalen-Johansen.

    Returns
    -------
    ndarray of shape (n,)
        Their mean in sample is close to theta; equal to it without censoring.

    Examples
    --------
    >>> pseudo_observations(([1, 2, 4], [1, 1, 1]))
    array([1., 2., 4.])
    >>> pseudo_observations(([1, 2, 4], [1, 2, 0]), tau=3, cause=1)
    array([1., 3., 3.])
    """
    setting = make_setting(y_true, y_train, tail=tail, tau=tau, cause=cause, entry=cause is None)
    y, ref = setting.y, setting.reference
    own = y.event if setting.cause is None else setting.value < ref.stop
    if not setting.by_entry:
        return pseudo_of_all(ref, y.time, y.event, own, tail, setting.code, setting.in_sample)
    entry = np.zeros(len(y)) if y.entry is None else y.entry
    found = pseudo_given_entry(ref, entry, y.time, tail, event=y.event)
    usual = np.flatnonzero(entry == 0) if ref.whole.y.entry is None else np.empty(0, dtype=np.intp)
    if usual.size:
        subjects = y.time[usual], y.event[usual], own[usual]
        found[usual] = pseudo_of_all(ref, *subjects, tail, setting.code, setting.in_sample)
    return found
