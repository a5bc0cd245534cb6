"""Targets for the training of networks and regressors that know nothing of censoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, positive, vector
from .._tools.text import ShortRepr
from ..data.causes import cause_code
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..estimators.kaplan_meier import KaplanMeier
from ..estimators.pseudo import PseudoIncidence
from ..estimators.surrogates import pseudo_observations
from .task import Task


@dataclass(frozen=True, eq=False, repr=False)
class TrainingTargets(ShortRepr):
    """What `training_targets` gives: constant arrays with one row per subject.

    Attributes
    ----------
    tau : float
        Horizon of the times.
    pseudo_time : ndarray of shape (n,)
        Pseudo-observations of min(T, tau), for least squares over all subjects.
    time, time_weight : ndarray of shape (n,)
        min(T, tau) where it is known, with its weight 1/G(min(T, tau)-); weight 0 where it is not.
    times : ndarray of shape (m,)
        Times of interest.
    pseudo_survival : ndarray of shape (n, m)
        Pseudo-observations of being event-free at these times, for least squares over all subjects.
    event_free, event_free_weight : ndarray of shape (n, m)
        Whether the subject is event-free then, with its weight: 1/G(T-) after an event, 1/G(t)
        while observed, and 0 where it is not known.
    """

    tau: float
    pseudo_time: Floats
    time: Floats
    time_weight: Floats
    times: Floats
    pseudo_survival: Floats
    event_free: Bools
    event_free_weight: Floats

    def __len__(self) -> int:
        return self.time.size


def training_targets(
    y: Any, *, times: Any = None, tau: float | None = None, cause: int | str | None = None
) -> TrainingTargets:
    r"""Turn censored outcomes into targets and weights for any loss, computed once before training.

    Two ways lead to a model of all subjects. A pseudo-observation has, given the features, the mean
    of what it stands for: least squares over all subjects then learns E[min(T, tau) | x] or
    S(t | x). Weights 1/G let subjects with known time (or status) represent the others too: they
    multiply any loss, such as cross-entropy. Both are right where censoring does not depend on the
    features; a model fitted to the uncensored subjects alone predicts times that are too short.

    Parameters
    ----------
    y : outcomes
        Outcomes of the training subjects alone; anything that `Outcomes.of` reads. Without
        frequencies: multiply the loss by them.
    times : array-like of shape (m,), optional
        Times of interest; by default nine, the deciles of the observed events up to `tau`.
    tau : float, optional
        Horizon of the times; by default the last time that the data support, as in `evaluate`.
    cause : int or str, optional
        With several causes, the one of interest. The time is then the time free of it, `tau` after
        an event of another cause, and `pseudo_survival` is 1 less its incidence.

    Returns
    -------
    TrainingTargets
        NumPy arrays; ``torch.as_tensor`` takes them.

    References
    ----------
    Andersen and Pohar Perme (2010), Statistical Methods in Medical Research 19; Zhao and Feng
    (2020), IEEE Journal of Biomedical and Health Informatics 24 (networks).

    Examples
    --------
    >>> targets = training_targets(([2, 3, 5, 8], [1, 0, 1, 1]), tau=6, times=[4])
    >>> targets.pseudo_time.round(3)
    array([2. , 5.5, 4.5, 6.5])
    >>> targets.time_weight
    array([1. , 0. , 1.5, 1.5])
    >>> targets.event_free[:, 0], targets.event_free_weight[:, 0]
    (array([False, False,  True,  True]), array([1. , 0. , 1.5, 1.5]))
    """
    known = Outcomes.of(y, causes=None if cause is None else True)
    if known.frequency is not None:
        raise InputError(
            "y must have no frequencies in training_targets; repeat the rows, or multiply the loss "
            "by them"
        )
    if cause is not None and known.causes is None:
        raise InputError("cause goes with outcomes of several causes; y has one kind of event")
    free = known.any_cause()
    competes = np.zeros(len(free), dtype=bool)
    if cause is not None and known.causes is not None:
        competes = free.event & (known.cause != cause_code(cause, known.causes))
    tau = Task.of(free).horizon if tau is None else positive(tau, "tau")
    points = _deciles(free, tau) if times is None else np.unique(vector(times, "times", minimum=0))
    g = KaplanMeier.fit_censoring(free)
    _check_support(free, g, max(tau, float(points.max(initial=0.0))))
    stopped = np.minimum(free.time, tau)
    seen = free.event | (free.time >= tau)
    by_time = free.time[:, None] <= points
    had = by_time & free.event[:, None]
    weight = np.where(had, _inverse(g.at(free.time, side="left"), free.event)[:, None], 0.0)
    weight += np.where(by_time, 0.0, _inverse(g.at(points), np.ones(points.size, dtype=bool)))
    event_free = ~had | competes[:, None]
    pseudo = [PseudoIncidence.of(free, competes, float(t)).values for t in points]
    return TrainingTargets(  # arrays that can be written to: torch takes no others
        tau,
        pseudo_observations(known, tau=tau, cause=cause),
        np.where(competes, tau, stopped),
        _inverse(g.at(stopped, side="left"), seen),
        points,
        np.stack(pseudo, axis=1) if pseudo else np.empty((len(free), 0)),
        event_free & (weight > 0),
        weight,
    )


def _deciles(y: Outcomes, tau: float) -> Floats:
    """Return the deciles of the event times up to a horizon."""
    events = y.time[y.event & (y.time <= tau)]
    if not events.size:
        raise InputError(f"y has no event up to {tau:g}, so times must be given; got None")
    found: Floats = np.unique(np.quantile(events, np.arange(1, 10) / 10))
    return found


def _inverse(g: Floats, counts: Bools) -> Floats:
    """Return 1/G of those who count, and 0 of the others."""
    return np.divide(1.0, g, out=np.zeros(g.size), where=counts & (g > 0))


def _check_support(y: Outcomes, g: KaplanMeier, last: float) -> None:
    """Refuse times of which nobody knows anything."""
    if float(g.at(last, side="left")) > 0 and float(y.time.max()) >= last:
        return
    raise InputError(
        f"tau and times must lie within the follow-up of y, which ends at {float(y.time.max()):g}; "
        f"got {last:g}"
    )
