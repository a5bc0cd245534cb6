"""A-calibration: observed against expected events in bins of the predicted distribution.

And both tests of what is predicted at the own times, this one and D-calibration, from chunks.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc

from ..._tools.arrays import Floats, whole_number
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..score import Score, Support
from ..task import Task
from .d_calibration import CalibrationResult, own_times_of, uniform_test

#: Where u stops: past it the test would rest on logarithms of small probabilities,
#: which curves on a grid do not tell.
_STOP = 0.95
#: Expected events that a bin needs for the chi-squared distribution; thinner ones join their
#: neighbours.
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
    _, rows, s, *about = own_times_of(y_true, curves, cause)
    return events_test(rows, s, number, *about)


def events_test(
    y: Outcomes, s: Floats, bins: int, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Test whether as many events were seen in each bin of present subjects as expected."""
    hazard, weight = -np.log(np.maximum(s, 1 - _STOP)), y.weight
    ends = _STOP * np.arange(bins + 1) / bins
    edges = -np.log1p(-ends)
    lived = np.array([np.sum(weight * np.minimum(hazard, edge)) for edge in edges])
    seen = y.event & (s > 1 - _STOP)
    place = np.minimum(edges.searchsorted(hazard[seen], "right") - 1, bins - 1)
    counts = np.bincount(place, weight[seen], bins).astype(np.float64)
    observed, expected, last = _joined(counts, np.diff(lived))
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
        "distribution": "chi-squared, one degree of freedom per bin",
        "stops_at": _STOP,
    }
    support |= {"bins": freedom, "expected_events": float(expected.sum())}
    support["thin_bins"] = int((expected < _LEAST).sum())
    bounds = np.concatenate(([0.0], ends[np.array(last) + 1]))
    return CalibrationResult(
        float(chdtrc(freedom, statistic)), statistic, observed, expected, bounds, observed,
        "a_calibration", freedom, convention, support,
    )  # fmt: skip


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


def tested(task: Task, prediction: Prediction, test: Any) -> Score:
    """Return the p-value of a test of what is predicted at the own times of all subjects."""
    of_cause = task.cause is not None
    curves = prediction.incidence if of_cause else prediction.curves
    found = test(task.y, curves, cause=task.cause)
    return Score(found.p_value, found.convention, found.support)


class OwnTimes:
    """S at the own times of all subjects, of every model, nine bytes each; chunks add up."""

    #: Tests events and S at the own times, with so many bins.
    test: ClassVar[Any] = staticmethod(uniform_test)
    bins: ClassVar[int] = 10

    def __init__(self) -> None:
        #: Of each model: outcomes with S in place of times, words, counts.
        self._parts: dict[str, list[tuple[Outcomes, dict[str, Any], Support]]] = {}
        self._undefined: dict[str, str] = {}

    def update(self, task: Task, predictions: dict[str, Prediction]) -> None:
        """Add a chunk of subjects with the predictions of all models that have curves."""
        for model, prediction in predictions.items():
            curves = prediction.curves if task.cause is None else prediction.incidence
            try:
                y, rows, s, convention, support = own_times_of(task.y, curves, task.cause)
            except UndefinedMetricError as error:
                self._undefined.setdefault(model, str(error))
                continue
            weight = float(y.weight.sum())
            past = {"past_curve": (support.pop("past_curve") * weight, weight)}
            # Copies: a view would keep all that was read with it in memory.
            frequency = rows.weight.copy() if rows.weighted else None
            known = Outcomes._trusted(np.array(s), rows.event.copy(), frequency)
            counts = Support(counts=support, shares=past)
            self._parts.setdefault(model, []).append((known, convention, counts))

    def merge(self, other: OwnTimes) -> None:
        """Add the subjects of another part."""
        self._undefined = other._undefined | self._undefined
        for model, parts in other._parts.items():
            self._parts.setdefault(model, []).extend(parts)

    def measured(self, model: str, task: Task) -> Score:
        """Return the p-value of one model; raise where it is undefined."""
        if model in self._undefined:
            raise UndefinedMetricError(self._undefined[model])
        parts, counts = self._parts[model], Support()
        for *_, one in parts:
            counts.merge(one)
        y, convention = Outcomes.joined([part[0] for part in parts]), dict(parts[0][1])
        found: CalibrationResult = self.test(y, y.time, self.bins, convention, counts.result())
        return Score(found.p_value, found.convention, found.support)


class OwnEvents(OwnTimes):
    """The same for A-calibration."""

    test = staticmethod(events_test)
    bins = _BINS
