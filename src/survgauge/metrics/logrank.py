"""Log-rank test: do predicted times come and go at the rate of the observed ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from .._tools.arrays import Bools, Floats, vector
from .._tools.short_repr import ShortRepr
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError, numbered
from .checks import check_curves, read_curves


@dataclass(frozen=True, repr=False)
class LogRankResult(ShortRepr):
    """A two-sample log-rank test.

    Attributes
    ----------
    p_value, statistic : float
        Chi-squared with one degree of freedom.
    observed, expected : ndarray of shape (2,)
        Events of each sample, and what they would be if both had the same hazard.
    variance : float
        Hypergeometric variance of observed - expected of a sample.
    convention, support : dict
        Which definitions the numbers follow; what the data covered.
    """

    p_value: float
    statistic: float
    observed: Floats
    expected: Floats
    variance: float
    convention: dict[str, Any]
    support: dict[str, Any]

    def __float__(self) -> float:
        return self.p_value


def log_rank(y_true: Any, predicted: Any) -> LogRankResult:
    r"""Log-rank test between observed outcomes and predicted times.

    Sample 1 are the observed outcomes, sample 2 the predicted times, all of them events. With d_k
    events among n_k at risk at time t_k, of which d_{1k} and n_{1k} in sample 1,

    .. math:: X^2 = \frac{\big(\sum_k d_{1k} - d_k n_{1k}/n_k\big)^2}
              {\sum_k d_k \frac{n_{1k}}{n_k} \frac{n_k - n_{1k}}{n_k} \frac{n_k - d_k}{n_k - 1}}

    has one degree of freedom under equal hazards. The samples are the same subjects and predicted
    times vary less than observed ones, so the p-value is a rough guide: a good model can fail.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads. Frequencies count in both samples.
    predicted : array-like of shape (n,) or SurvivalCurves
        Predicted times, or curves, whose medians are taken. An infinite time is somebody who never
        has the event: at risk throughout.

    Returns
    -------
    LogRankResult

    References
    ----------
    Mantel (1966), Evaluation of survival data and two new rank order statistics arising in its
    consideration.

    Examples
    --------
    >>> result = log_rank(([1, 3, 5, 8], [1, 0, 1, 1]), [2, 4, 6, 7])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (0.3007, 0.5835)
    """
    y, predicted = Outcomes.of(y_true, "y_true"), read_curves(predicted)
    if isinstance(predicted, SurvivalCurves):
        times, point = check_curves(predicted, y).median(), "median"
    else:
        times, point = vector(predicted, "predicted", length=len(y), finite=False), "given times"
    unknown = np.flatnonzero(np.isnan(times) | (times == -np.inf))
    if unknown.size:
        raise InputError(
            f"predicted must be times, not NaN or minus infinity; got {times[unknown[0]]} for "
            f"{numbered(unknown)}"
        )
    never = np.isinf(times)
    weight = y.weight if y.weighted else None
    result = _two_samples((y.time, y.event, weight), (times, ~never, weight))
    result.convention.update(samples="observed outcomes; predicted times", point=point)
    result.support.update(predicted_infinite=int(never.sum()))
    return result


def log_rank_test(y_a: Any, y_b: Any) -> LogRankResult:
    """Log-rank test between two sets of outcomes, for example two groups of risk.

    Parameters
    ----------
    y_a, y_b : outcomes
        The samples; anything that `Outcomes.of` reads.

    Returns
    -------
    LogRankResult

    Examples
    --------
    >>> result = log_rank_test(([1, 2, 3], [1, 1, 0]), ([4, 5, 6], [1, 1, 1]))
    >>> round(result.statistic, 4)
    2.4694
    """
    samples = []
    for y in (Outcomes.of(y_a, "y_a"), Outcomes.of(y_b, "y_b")):
        samples.append((y.time, y.event, y.weight if y.weighted else None))
    return _two_samples(*samples)


def log_rank_groups(samples: list[Outcomes]) -> tuple[float, int, float]:
    """Log-rank test between several sets of outcomes: statistic, degrees of freedom, p-value.

    >>> early, late = Outcomes([1, 2, 3], [1, 1, 0]), Outcomes([4, 5, 6], [1, 1, 1])
    >>> statistic, freedom, p_value = log_rank_groups([early, late])
    >>> round(statistic, 4), freedom
    (2.4694, 1)
    """
    grid = np.unique(np.concatenate([y.time[y.event & (y.weight > 0)] for y in samples]))
    if not grid.size:
        raise UndefinedMetricError("the log-rank test needs at least one event; got none")
    counts = [_counts((y.time, y.event, y.weight), grid) for y in samples]
    died, at_risk = (np.stack(part) for part in zip(*counts, strict=True))
    d, n = died.sum(axis=0), at_risk.sum(axis=0)
    share = at_risk / n
    spread = d * np.divide(n - d, n - 1, out=np.zeros_like(n), where=n > 1)
    gap = (died - d * share).sum(axis=1)
    covariance = np.diag((spread * share).sum(axis=1)) - (spread * share) @ share.T
    freedom = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if not freedom:
        raise UndefinedMetricError(
            "the log-rank test needs an event time with two groups at risk and somebody left over"
        )
    statistic = float(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap)
    return statistic, freedom, float(chdtrc(freedom, statistic))


_Sample = tuple[Floats, Bools, Floats | None]


def _two_samples(first: _Sample, second: _Sample) -> LogRankResult:
    """Count both samples on the distinct event times of either."""
    times = np.concatenate((first[0], second[0]))
    events = np.concatenate((first[1], second[1]))
    grid = np.unique(times[events])
    if not grid.size:
        raise UndefinedMetricError("the log-rank test needs at least one event; got none")
    d1, n1 = _counts(first, grid)
    d2, n2 = _counts(second, grid)
    d, n = d1 + d2, n1 + n2
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(n > 0, n1 / n, 0.0)
        spread = np.where(n > 1, (n - d) / (n - 1), 0.0)
    expected = float((d * share).sum())
    variance = float((d * share * (1 - share) * spread).sum())
    total = float(d1.sum())
    if not variance > 0:
        raise UndefinedMetricError(
            "the log-rank test needs an event time with both samples at risk and somebody left over"
        )
    statistic = (total - expected) ** 2 / variance
    convention = {"test": "log-rank, unweighted", "variance": "hypergeometric"}
    support = {"event_times": int(grid.size), "at_risk": (float(n1[0]), float(n2[0]))}
    return LogRankResult(
        float(chdtrc(1, statistic)),
        statistic,
        np.array([total, float(d2.sum())]),
        np.array([expected, float(d.sum()) - expected]),
        variance,
        convention,
        support,
    )


def _counts(sample: _Sample, grid: Floats) -> tuple[Floats, Floats]:
    """Events at, and subjects at risk just before, each time of `grid`."""
    time, event, weight = sample
    died = np.bincount(
        grid.searchsorted(time[event]), None if weight is None else weight[event], grid.size
    ).astype(np.float64)
    # A subject is at risk at every grid time up to its own.
    reached = grid.searchsorted(time, "right")
    left = np.bincount(reached, weight, grid.size + 1).astype(np.float64)
    return died, np.cumsum(left[::-1])[::-1][1:]
