"""A-calibration: observed against expected events in bins of the predicted distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..._tools.arrays import Floats, whole_number
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError
from .calibration import own_times_of
from .own_times import OwnTimes, OwnTimesByModel
from .result import CalibrationResult

#: Where the clock of u stops: past it the test would rest on logarithms of small probabilities,
#: which curves on a grid do not know.
_STOP = 0.95
#: Expected events that a bin needs for the chi-squared law; thinner ones join their neighbours.
_LEAST = 5.0
_BINS = 3


def a_calibration(
    y_true: Any, curves: Any, *, bins: int = _BINS, cause: int | str | None = None
) -> CalibrationResult:
    r"""A-calibration: whether events come as often as each subject's own curve says.

    Under the true model :math:`u_i = 1 - S_i(T_i)` is uniform, with the hazard 1/(1 - u). In a bin
    [a, b) of u, with :math:`\Lambda_i = -\log S_i(t_i)`, a subject is expected to have

    .. math:: e_i = \min(\Lambda_i, -\log(1 - b)) - \min(\Lambda_i, -\log(1 - a))

    events while it is observed, be it censored or not. The sums O_k of the events seen and E_k of
    those expected differ by independent martingale increments, so

    .. math:: X^2 = \sum_k (O_k - E_k)^2 / E_k

    has as many degrees of freedom as there are bins. Bins end at u = 0.95: who outlives its own
    predicted 95 % quantile counts as censored there, because -log S of a curve on a grid is not
    known where S is small. Censored subjects need no imputation, and the
    test keeps its level under censoring, where Pearson's test on D-calibration's bins does not.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; the subjects must not be those that the model was fitted to.
    curves : curves
        Predicted survival curves; anything that `as_curves` reads.
    bins : int
        Number of bins of equal width in u, from 0 to 0.95. Few bins have more power against
        predictions that are early or late for everybody; 3 have at least the power of
        D-calibration by Kolmogorov-Smirnov in the simulations of the documentation. Bins with
        fewer than 5 expected events join the next one.
    cause : int or str, optional
        With several causes, code or name of the one whose events are counted: curves are then
        `IncidenceCurves` of all causes, and :math:`\Lambda_i = \int dF_{ik}/S_i` is the hazard of
        the cause among those who had no event yet, see `d_calibration`.

    Returns
    -------
    CalibrationResult
        `observed` and `expected` events of each bin, from short to long lives (low to high u).

    References
    ----------
    Simonsen and Waagepetersen (2025), A-calibration. Akritas (1988), Pearson-type goodness-of-fit
    tests: the univariate case, JASA 83.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 40)
    >>> y = (np.arange(40) % 8 + 1.0, np.arange(40) % 3 > 0)
    >>> found = a_calibration(y, curves)
    >>> found.observed, found.expected.round(1), round(found.p_value, 3)
    (array([10., 16.]), array([12.9, 15.1]), 0.698)
    """
    number = whole_number(bins, "bins", 1)
    _, (rows, s, convention, support) = own_times_of(y_true, curves, cause)
    return _tested(*_counted(rows, s, number), convention, support)


def _counted(y: Outcomes, s: Floats, bins: int) -> tuple[Floats, Floats]:
    """Return the events seen and those expected in each bin, which add up over subjects."""
    hazard, weight = -np.log(np.maximum(s, 1 - _STOP)), y.weight
    edges = -np.log1p(-_ends(bins))
    lived = np.array([np.sum(weight * np.minimum(hazard, edge)) for edge in edges])
    seen = y.event & (s > 1 - _STOP)
    place = np.minimum(edges.searchsorted(hazard[seen], "right") - 1, bins - 1)
    return np.bincount(place, weight[seen], bins).astype(np.float64), np.diff(lived)


def _ends(bins: int) -> Floats:
    """Bounds of the bins of u."""
    return _STOP * np.arange(bins + 1) / bins


def _tested(
    observed: Floats, expected: Floats, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Test whether as many events were seen in each bin as expected."""
    bins = expected.size
    observed, expected, last = _joined(observed, expected)
    if not expected.size:
        raise UndefinedMetricError(
            "a_calibration needs curves that fall before the subjects' own times: no event is "
            "expected"
        )
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    freedom = int(expected.size)
    convention |= {
        "method": "a_calibration",
        "bins": bins,
        "law": "chi-squared, one degree of freedom per bin",
        "stops_at": _STOP,
    }
    support |= {"bins": freedom, "expected_events": float(expected.sum())}
    support["thin_bins"] = int((expected < _LEAST).sum())
    bounds = np.concatenate(([0.0], _ends(bins)[np.array(last) + 1]))
    return CalibrationResult(
        float(chdtrc(freedom, statistic)), statistic, observed, expected, bounds, observed,
        "a_calibration", freedom, convention, support,
    )  # fmt: skip


class _Sums(OwnTimes):
    """Events of one model by bin, seen and expected."""

    def __init__(self) -> None:
        super().__init__()
        self.events = np.zeros((2, _BINS))

    def _add(self, rows: Outcomes, s: Floats) -> None:
        self.events = self.events + _counted(rows, s, _BINS)

    def _join(self, other: _Sums) -> None:
        self.events = self.events + other.events

    def _tested(self, convention: dict[str, Any], support: dict[str, Any]) -> CalibrationResult:
        seen, expected = self.events
        return _tested(seen, expected, convention, support)


class ExpectedEvents(OwnTimesByModel):
    """Observed and expected events by bin, of every model."""

    one_model = _Sums


def _joined(observed: Floats, expected: Floats) -> tuple[Floats, Floats, list[int]]:
    """Join bins with few expected events to the next one, the last to the one before.

    >>> _joined(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 1.0]))
    (array([6.]), array([7.]), [2])
    """
    groups: list[list[int]] = [[]]
    for k in range(expected.size):
        groups[-1].append(k)
        if expected[groups[-1]].sum() >= _LEAST:
            groups.append([])
    last = groups.pop()
    if groups:
        groups[-1] += last
    elif expected.sum() > 0:
        groups = [last]
    found = [(observed[group].sum(), expected[group].sum()) for group in groups]
    counts = np.array(found, dtype=np.float64).reshape(-1, 2)
    return counts[:, 0], counts[:, 1], [group[-1] for group in groups]
