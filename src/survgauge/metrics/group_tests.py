"""Do groups differ: the log-rank test of one kind of event, Gray's test of a cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from .._tools.arrays import Floats, Ints, to_numpy, vector
from .._tools.text import ShortRepr
from ..data.causes import cause_code
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..estimators.aalen_johansen import CauseCounts

#: What is left of a probability that is used up but for rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class GroupTest(ShortRepr):
    """A test of whether groups differ.

    Attributes
    ----------
    p_value, statistic : float
        Chi-squared with `freedom` degrees of freedom.
    freedom : int
        Number of groups less one, unless groups say nothing.
    observed, score : ndarray of shape (groups,)
        Events of each group, and what they are more than if groups did not differ.
    covariance : ndarray of shape (groups, groups)
        Of the scores.
    """

    p_value: float
    statistic: float
    freedom: int
    observed: Floats
    score: Floats
    covariance: Floats

    @classmethod
    def of(cls, name: str, observed: Floats, score: Floats, covariance: Floats) -> GroupTest:
        """Compare scores with their covariance, of which one row is that of the others."""
        freedom = int(np.linalg.matrix_rank(covariance, hermitian=True))
        if not freedom:
            raise UndefinedMetricError(
                f"{name} needs an event with two groups at risk and a subject left afterwards"
            )
        statistic = float(score @ np.linalg.pinv(covariance, hermitian=True) @ score)
        p_value = float(chdtrc(freedom, statistic))
        return cls(p_value, statistic, freedom, observed, score, covariance)

    @property
    def expected(self) -> Floats:
        """Events of each group, if groups did not differ."""
        return self.observed - self.score

    def __float__(self) -> float:
        return self.p_value


def log_rank_test(*samples: Any) -> GroupTest:
    r"""Log-rank test between sets of outcomes, for example groups of risk.

    With d events among n at risk at a time, of which d_g and n_g in group g, scores are the sums of
    :math:`d_g - d n_g/n` and their covariance is hypergeometric, the sum of
    :math:`d \frac{n - d}{n - 1} \frac{n_g}{n} (1_{g=h} - \frac{n_h}{n})`.

    Parameters
    ----------
    *samples : outcomes
        Anything that `Outcomes.of` reads, each.

    References
    ----------
    Mantel (1966), Evaluation of survival data and two new rank order statistics arising in its
    consideration.

    Examples
    --------
    >>> result = log_rank_test(([1, 2, 3], [1, 1, 0]), ([4, 5, 6], [1, 1, 1]))
    >>> round(result.statistic, 4), result.freedom
    (2.4694, 1)
    """
    outcomes = [Outcomes.of(y, f"sample {k + 1}") for k, y in enumerate(samples)]
    grid = np.unique(np.concatenate([y.time[y.event & (y.weight > 0)] for y in outcomes]))
    if not grid.size:
        raise UndefinedMetricError("the log-rank test needs at least one event; got none")
    died, at_risk = np.zeros((2, len(outcomes), grid.size))
    for k, y in enumerate(outcomes):
        rows = y.event & (y.weight > 0)
        died[k] = np.bincount(grid.searchsorted(y.time[rows]), y.weight[rows], grid.size)
        # A subject is at risk at every grid time up to its own.
        left = np.bincount(grid.searchsorted(y.time, "right"), y.weight, grid.size + 1)
        at_risk[k] = np.cumsum(left[::-1])[::-1][1:]
    d, n = died.sum(axis=0), at_risk.sum(axis=0)
    share = at_risk / n
    spread = d * np.divide(n - d, n - 1, out=np.zeros_like(n), where=n > 1) * share
    # Where everybody at risk is of one group, 1 - share is exactly 0.
    own = np.eye(len(outcomes))[:, :, None]
    covariance = np.stack(
        [((own[k] - share) * spread[k]).sum(axis=1) for k in range(len(outcomes))]
    )
    score = (died - d * share).sum(axis=1)
    return GroupTest.of("the log-rank test", died.sum(axis=1), score, covariance)


def gray_test(y: Any, group: Any, cause: int | str = 1, *, rho: float = 0.0) -> GroupTest:
    r"""Gray's test of equal incidence of a cause in all groups.

    It compares hazards of the subdistribution, in which who had a competing event stays at risk.
    With n_g(t) at risk in group g, S_g Kaplan-Meier of any event and F_g the incidence of the
    cause, R_g(t) = n_g(t) (1 - F_g(t-))/S_g(t-) would be at risk without censoring. The score of
    group g is

    .. math:: \sum_t (1 - F(t-))^{\rho} \Big(d_g(t) - d(t) \frac{R_g(t)}{\sum_h R_h(t)}\Big),

    and its covariance is that of Gray (1988), with the pooled incidence F and hypergeometric
    variances of tied events, as in ``cmprsk::cuminc`` of R. With one kind of event the scores are
    those of the log-rank test; their covariance is not, as it is not given who was at risk.

    Parameters
    ----------
    y : outcomes
        With several causes; anything that ``Outcomes.of(y, causes=True)`` reads.
    group : array-like of shape (n,)
        Group of each subject: numbers or text.
    cause : int or str
        Code or name of the cause.
    rho : float
        0 weighs all times alike; above 0 early differences count more.

    References
    ----------
    Gray (1988), A class of K-sample tests for comparing the cumulative incidence of a competing
    risk, Annals of Statistics 16.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4, 5, 6], [1, 2, 1, 1, 0, 2])
    >>> round(gray_test(y, [0, 0, 0, 1, 1, 1], cause=1).statistic, 4)
    2.1654
    """
    outcomes, labels, place = _groups(y, group)
    code = cause_code(cause, outcomes.causes or ("1",))
    power = float(vector([rho], "rho")[0])
    return _gray([outcomes[place == k] for k in range(len(labels))], code, power)


def _groups(y: Any, group: Any) -> tuple[Outcomes, tuple[Any, ...], Ints]:
    """Read outcomes and groups; subjects of weight zero are left out."""
    outcomes = Outcomes.of(y, causes=True)
    labels = to_numpy(group, "group")
    if labels.shape != (len(outcomes),):
        raise InputError(
            f"group must have one entry per subject: y has {len(outcomes)}; got shape "
            f"{labels.shape}"
        )
    if any(label is None or label != label for label in labels.tolist()):
        raise InputError("group must not have gaps; got None or NaN")
    kept = outcomes.weight > 0
    try:
        known, place = np.unique(labels[kept], return_inverse=True)
    except TypeError:
        raise InputError("group must be numbers or text, not both") from None
    return outcomes[kept], tuple(known.tolist()), place


class _OnGrid:
    """Counts and estimates of one group at the event times of all groups."""

    def __init__(self, y: Outcomes, code: int, grid: Floats) -> None:
        counts = CauseCounts(y)
        at = counts.times.searchsorted(grid)
        self.at_risk = np.append(counts.at_risk, 0.0)[at]
        here = np.append(counts.times, np.inf)[at] == grid
        mine, every = counts.events[code - 1], counts.events.sum(axis=0)
        self.mine = np.where(here, np.append(mine, 0.0)[at], 0.0)
        self.others = np.where(here, np.append(every, 0.0)[at], 0.0) - self.mine
        #: Kaplan-Meier just before each time and at it; the incidence just before.
        self.before = counts.survival[at]
        self.after = counts.survival[counts.times.searchsorted(grid, "right")]
        rises = counts.survival[:-1] * mine / counts.at_risk
        self.incidence = np.concatenate(([0.0], np.cumsum(rises)))[at]


def _gray(parts: list[Outcomes], code: int, rho: float) -> GroupTest:
    """Score of each group, and its covariance; see `gray_test`."""
    name = f"Gray's test of cause {(parts[0].causes or ('1',))[code - 1]!r}"
    grid = np.unique(np.concatenate([y.time[y.event] for y in parts]))
    groups = [_OnGrid(y, code, grid) for y in parts]
    mine = np.stack([g.mine for g in groups])
    died = mine.sum(axis=0)
    if len(parts) < 2 or not died.any():
        raise UndefinedMetricError(f"{name} needs an event of it and two groups")
    # At risk of any event without censoring, as a share of the group's size at the start.
    h = np.stack([np.divide(g.at_risk, g.before, out=np.zeros(grid.size), where=g.at_risk > 0)
                  for g in groups])  # fmt: skip
    total = h.sum(axis=0)
    rise = np.divide(died, total, out=np.zeros(grid.size), where=total > 0)
    pooled = np.concatenate(([0.0], np.cumsum(rise)))
    left, counted = 1.0 - pooled[:-1], died > 0
    if left[counted].min() < _ROUNDING:
        raise UndefinedMetricError(
            f"{name} needs larger groups: the incidence of all groups together reaches 1 while "
            "events of the cause are still to come"
        )
    weight = np.zeros(grid.size)
    weight[counted] = left[counted] ** rho
    risk = h * np.stack([1.0 - g.incidence for g in groups])
    share = np.divide(risk, risk.sum(axis=0), out=np.zeros_like(risk), where=risk > 0)
    score = (weight * (mine - died * share)).sum(axis=1)
    covariance = np.zeros((len(parts), len(parts)))
    for r, group in enumerate(groups):
        covariance += _spread(group, r, h, total, rise, pooled, weight)
    return GroupTest.of(name, mine.sum(axis=1), score, covariance)


def _spread(
    group: _OnGrid, r: int, h: Floats, total: Floats, rise: Floats, pooled: Floats, weight: Floats
) -> Floats:
    """Part of the covariance of the scores that comes from the events of group `r`."""
    there = group.at_risk > 0
    free = 1.0 - pooled[1:]  # of the cause, at each time
    mine = np.zeros(h.shape[0])
    mine[r] = 1.0
    # What the score of each group gains from a rise of the incidence of group r, directly, ...
    direct = (
        weight * h[r] * (mine[:, None] - np.divide(h, total, where=total > 0, out=np.zeros_like(h)))
    )
    # ... and later on, through those who are then no longer at risk.
    hazard = np.divide(rise, 1.0 - pooled[:-1], out=np.zeros(rise.size), where=rise > 0)
    later = np.cumsum((direct * hazard)[:, ::-1], axis=1)[:, ::-1]
    later = np.concatenate((later[:, 1:], np.zeros((h.shape[0], 1))), axis=1)
    ratio = np.divide(free, group.after, out=np.zeros(free.size), where=group.after > 1e-12)
    n = np.where(there, group.at_risk, 1.0)
    # Events of the cause: expected of the pooled incidence; of the others: the group's own.
    size = total * group.before
    tied = np.divide(rise * total - 1.0, size - 1.0, out=np.zeros(n.size), where=size > 1)
    own = there * group.before * rise / n * np.where(rise > 0, 1.0 - np.maximum(tied, 0.0), 0.0)
    tied = np.divide(group.others - 1.0, n - 1.0, out=np.zeros(n.size), where=n > 1)
    other = group.before**2 * group.others / n**2 * (1.0 - np.maximum(tied, 0.0))
    first = direct + (1.0 - ratio) * later
    second = ratio * later
    return np.asarray((first * own) @ first.T + (second * other) @ second.T)
