"""D- and A-calibration: whether curves are right at the subjects' own times.

D-calibration looks at whether the predicted probabilities there spread evenly, A-calibration at
whether as many events were observed as expected in bins of the predicted distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, kolmogorov, ndtr

from ..._tools.arrays import Bools, Floats, Ints, whole_number
from ..._tools.random import stream
from ..._tools.running import chunks
from ..._tools.text import ShortRepr
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.kaplan_meier import KaplanMeier, RiskTable
from ..checks import check_curves, one_cause
from ..score import Score, Support
from ..task import Task
from .inputs import description, own_survival, put_back, read_past

#: Without censoring the distribution is exact up to this many subjects.
EXACT_DISTRIBUTION = 100
#: With fewer events than this among censored subjects the distribution is drawn, up to so many
#: subjects; the
#: limit distribution rejects true models in up to 20 % instead of 5 % there.
FEW_EVENTS, DRAWN_DISTRIBUTION = 10, 200
#: Samples that are drawn.
DRAWS = 1999
#: A distance this close to another one is the same.
_SAME = 1e-12


@dataclass(frozen=True)
class UniformDistance:
    """How far Kaplan-Meier of u = 1 - S(t) lies from the uniform distribution."""

    statistic: float
    distance: float
    p_value: float
    #: Time scale of the Brownian bridge at the last u; 1 without censoring.
    coverage: float
    #: Largest u that was observed, and Kaplan-Meier's weight there.
    last: float
    km: KaplanMeier
    #: Where the p-value comes from.
    distribution: str


EXACT = "Kolmogorov's distribution for so many subjects, exact"
DRAWN = f"the larger of {DRAWS} drawn samples with the censoring found and the exact distribution"
LIMIT = "Brownian bridge up to bridge_time, Stephens' factor"


def uniform_distance(y: Outcomes, s: Floats) -> UniformDistance:
    """Largest |F(u) - u|, weighted so that its limit is a Brownian bridge (Hall and Wellner)."""
    u = Outcomes._trusted(1.0 - s, y.event, y.frequency)
    table = RiskTable.of(u)
    km = KaplanMeier.from_table(table)
    reverse = KaplanMeier.from_table(table, censoring=True)
    before_g = shifted(reverse.survival, 1.0)
    # C(u) = integral of dv / ((1-v)^2 G(v-)); only the last u can be 1, where C is infinite.
    inside = int(table.times.searchsorted(1.0))
    growth = 1.0 / (1.0 - np.concatenate(([0.0], table.times[:inside])))
    bridge = np.cumsum(np.diff(growth) / before_g[:inside])
    coverage = float(bridge[-1] / (1.0 + bridge[-1])) if inside == table.times.size else 1.0
    bridge += 1.0
    before_g[:inside] = growth[1:] / bridge
    del growth, bridge  # of many subjects each is as large as the outcomes
    after = 1.0 - km.survival
    gap = np.maximum(np.abs(after - table.times), np.abs(shifted(after, 0.0) - table.times))
    statistic = float((gap * before_g).max())
    p, distribution = _tail(table, reverse, statistic, coverage)
    last = float(table.times[-1])
    return UniformDistance(statistic, float(gap.max()), p, coverage, last, km, distribution)


def _tail(
    table: RiskTable, reverse: KaplanMeier, statistic: float, coverage: float
) -> tuple[float, str]:
    """Probability of such a distance if the model is right, and which distribution says so."""
    total, events = float(table.at_risk[0]), float(table.events.sum())
    whole = total.is_integer()  # no other number of subjects can be drawn
    if whole and events == total and total <= EXACT_DISTRIBUTION:
        return exact_tail(int(total), statistic), EXACT
    if whole and events < min(FEW_EVENTS, total) and total <= DRAWN_DISTRIBUTION:
        return drawn_tail(int(total), reverse, statistic), DRAWN
    # Stephens' factor makes the limit distribution good from a few subjects on.
    root = np.sqrt(total)
    return bridge_tail((root + 0.12 + 0.11 / root) * statistic, coverage), LIMIT


def shifted(values: Floats, first: float) -> Floats:
    """Left limits of a step function at its jumps, from its values there."""
    return np.concatenate(([first], values[:-1]))


def bridge_tail(d: float, a: float) -> float:
    """Probability that a Brownian bridge leaves (-d, d) before time `a`.

    With W(s) = (1+s) B(s/(1+s)) the band becomes the lines +-d(1+s), and the images of the start at
    2kd, of weight (-1)^k exp(-2 k^2 d^2), cancel W on both lines.

    >>> round(bridge_tail(1.358, 1.0), 3), round(bridge_tail(1.273, 0.5), 3)
    (0.05, 0.05)
    """
    if not a > 0:
        return 1.0
    if a >= 1:
        return float(kolmogorov(d))
    k = np.arange(1, 201)
    edge, image = d / np.sqrt(a * (1 - a)), 2 * k * d * np.sqrt((1 - a) / a)
    sign = np.where(k % 2 == 1, 1.0, -1.0)
    terms = sign * np.exp(-2.0 * (k * d) ** 2) * (ndtr(edge - image) - ndtr(-edge - image))
    return float(np.clip(2 * ndtr(-edge) + 2 * terms.sum(), 0.0, 1.0))


def exact_tail(n: int, d: float) -> float:
    """Probability that Kolmogorov's distance of n uniform numbers reaches d.

    >>> round(exact_tail(1, 0.975), 3), round(exact_tail(10, 0.409), 3)
    (0.05, 0.05)
    """
    from scipy.stats import kstwo  # takes long to load, and only small samples ask for it

    return float(kstwo.sf(d, n))


def drawn_tail(n: int, censoring: KaplanMeier, d: float) -> float:
    """Probability that the weighted distance of n censored uniform numbers reaches d.

    Censoring times are drawn from `censoring`, the reverse Kaplan-Meier of u. The same numbers are
    drawn whatever the subjects and their order. So few subjects say little about their censoring:
    where no censoring at all would make such a distance more likely, that counts.
    """
    numbers = stream(0, "D-calibration", n).random((2, DRAWS, n))
    fallen = np.append(1.0 - censoring.survival, np.inf)
    ends = np.append(censoring.times, np.inf)[fallen.searchsorted(numbers[0], "right")]
    u, event = np.minimum(numbers[1], ends), numbers[1] <= ends
    drawn = float((1 + np.sum(_distances(u, event) >= d - _SAME)) / (DRAWS + 1))
    return max(drawn, exact_tail(n, d))


def _distances(u: Floats, event: Bools) -> Floats:
    """Weighted distance of each row of censored numbers from the uniform distribution."""
    order = u.argsort(axis=1, kind="stable")
    u, event = np.take_along_axis(u, order, 1), np.take_along_axis(event, order, 1)
    at_risk = np.arange(u.shape[1], 0, -1, dtype=np.float64)
    left = np.where(event, 1.0 - 1.0 / at_risk, 1.0)
    after, g = 1.0 - left.cumprod(axis=1), np.where(event, 1.0, 1.0 - 1.0 / at_risk).cumprod(axis=1)
    growth = 1.0 / (1.0 - _before(u, 0.0))
    bridge = np.cumsum((1.0 / (1.0 - u) - growth) / _before(g, 1.0), axis=1)
    gap = np.maximum(np.abs(after - u), np.abs(_before(after, 0.0) - u))
    distances: Floats = (gap / ((1.0 - u) * (1.0 + bridge))).max(axis=1)
    return distances


def _before(values: Floats, first: float) -> Floats:
    """Values one place earlier in each row."""
    return np.concatenate((np.full((values.shape[0], 1), first), values[:, :-1]), axis=1)


#: Probabilities this close to the edge of a bin are the edge: a product of many factors, such as
#: Kaplan-Meier's, misses it by rounding.
EDGE = 1e-12
ASYMPTOTIC = "Pearson, asymptotic"
CONSERVATIVE = "conservative under censoring: spread weights vary less than counts"
BOUNDS = "[a, b), top bin closed; within 1e-12 of an edge counts as the edge"


@dataclass(frozen=True, repr=False)
class CalibrationResult(ShortRepr):
    """A calibration test with the table behind it.

    Attributes
    ----------
    p_value, statistic : float
        The test; small p-values speak against calibration.
    observed, expected : ndarray of shape (K,)
        D-calibration: number of subjects per bin of S, from low to high S. 1-calibration:
        probability of the event by the time, per group from low to high risk.
    edges : ndarray
        D-calibration: bounds of the bins, (K + 1,). 1-calibration: lowest and highest predicted
        probability of the event in each group, (K, 2).
    size : ndarray of shape (K,)
        Number of subjects per bin or group, frequencies counted.
    method : str
        Which test.
    degrees_of_freedom : int or None
        Of the chi-squared distribution; None for the Kolmogorov-Smirnov form.
    convention, support : dict
        Which definitions the numbers follow; what the data covered.
    """

    p_value: float
    statistic: float
    observed: Floats
    expected: Floats
    edges: Floats
    size: Floats
    method: str
    degrees_of_freedom: int | None
    convention: dict[str, Any]
    support: dict[str, Any]
    _survival: Floats | None = None
    _event: Bools | None = None

    def __float__(self) -> float:
        return self.p_value

    def weights(self) -> Floats:
        """D-calibration: share of each subject in each bin, (n, K); rows sum to one."""
        if self._survival is None or self._event is None:
            raise InputError(f"method '{self.method}' has no weights per subject")
        return subject_weights(self._survival, self._event, self.observed.size)


def d_calibration(
    y_true: Any,
    curves: Any,
    *,
    bins: int = 10,
    method: str = "ks",
    cause: int | str | None = None,
) -> CalibrationResult:
    r"""D-calibration: whether S_i(t_i) is uniform, as it is under the true model.

    With :math:`s = S_i(t_i)`, Kaplan-Meier of the transforms u = 1 - s (an event of the uniform
    distribution at u, or censored there) is compared with the uniform distribution:

    .. math:: D = \max_i |F(u_i) - u_i| \frac{1 - k(u_i)}{1 - u_i}, \quad k = \frac{C}{1 + C}, \quad
              C(u) = \int_0^u \frac{dv}{(1-v)^2 G(v-)},

    over all observed u (both limits), G the reverse Kaplan-Meier of u. Without censoring D is the
    textbook distance; with it, the weights of Hall and Wellner make :math:`\sqrt n D` the largest
    deviation of a Brownian bridge up to time k(largest u), whatever the censoring; the p-value is
    that distribution's, with Stephens' factor for small n. It keeps its level under censoring. Up
    to 100 subjects without censoring have the exact distribution instead, and up to 200 subjects
    with fewer than 10 events the larger of that and of the distribution in 1,999 drawn samples (the
    same ones in every call), whose censoring is the one found.

    ``method="chi2"`` is the test as published. With K bins of width 1/K, an event adds 1 to the bin
    of its s. A subject censored with s in bin b has its future spread as its own curve says:
    (s - lower_b)/s to b and (1/K)/s to each lower bin. Then

    .. math:: X^2 = \sum_k (O_k - n/K)^2 / (n/K), \qquad K - 1 \text{ degrees of freedom},

    which under censoring almost never rejects, a wrong model neither: spread weights vary less than
    counts.

    With several causes it tests the hazard of one of them among those who had no event yet, as the
    incidence curves of all causes imply it:

    .. math:: s = \exp\Big(-\int_0^{t_i} \frac{dF_{ik}(t)}{S_i(t)}\Big), \qquad
              S_i = 1 - \sum_j F_{ij}.

    Under the true model 1 - s is uniform, censored by whatever else ends the follow-up, an event of
    another cause included. Subjects observed past the end of the grid are censored there. With
    one cause it is the test above.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : curves
        Predicted survival curves; anything that `as_curves` reads. With `cause`,
        `IncidenceCurves` of all causes.
    bins : int
        Number of bins of the table, [a, b) with the top one closed. A probability within 1e-12 of
        an edge counts as the edge: Kaplan-Meier's own products miss it by rounding.
    method : {"ks", "chi2"}
        The Kolmogorov-Smirnov form, or Pearson's test on the bins. With the former `observed` are
        the bins' weights under Kaplan-Meier; `support` has what it leaves open past the last u.
    cause : int or str, optional
        With several causes, code or name of the one whose hazard is tested.

    Returns
    -------
    CalibrationResult
        `weights()` gives the share of each subject in each bin.

    References
    ----------
    Haider et al. (2020), Effective ways to build and evaluate individual survival distributions,
    JMLR 21. Hall and Wellner (1980), Confidence bands for a survival curve from censored data,
    Biometrika 67. Stephens (1970), JRSS B 32.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> y = ([2, 4, 6, 9], [1, 0, 1, 1])
    >>> round(d_calibration(y, curves).p_value, 3)
    0.771
    >>> result = d_calibration(y, curves, bins=2, method="chi2")
    >>> result.observed, round(result.p_value, 3)
    (array([2.83333333, 1.16666667]), 0.405)
    """
    one_of("method", method, ("chi2", "ks"))
    bins = whole_number(bins, "bins", 2)
    y, rows, s, convention, support = own_times_of(y_true, curves, cause)
    test = uniform_test if method == "ks" else _pearson
    found = test(rows, s, bins, convention, support)
    # Of who has zero weight nothing is known.
    s = s if rows is y else put_back(s, np.flatnonzero(y.weight), len(y), np.nan)
    return replace(found, _survival=s, _event=y.event)


def own_times_of(
    y_true: Any, curves: Any, cause: int | str | None = None
) -> tuple[Outcomes, Outcomes, Floats, dict[str, Any], dict[str, Any]]:
    """Outcomes, with events of the cause alone; of those present also S at the own times.

    And what every result says of both.
    """
    asked = one_cause(y_true, curves, None, cause, entry=True)
    if cause is not None and not isinstance(curves, IncidenceCurves):
        raise InputError(
            "with cause=, curves must be IncidenceCurves of all causes; got "
            f"{type(curves).__name__}"
        )
    y, known = asked.y, check_curves(asked.curves, asked.y)
    past, read = (y.time > known.last_time) & (y.weight > 0), y.time
    convention, support = description(y.present(), known, asked)
    support |= read_past(y, known, y.time)
    if asked.competes is not None:
        convention |= {
            "hazard": "of the cause, dF_k/S, from the incidence of all causes",
            "past_curves": "censored at the end of the grid",
        }
        support["past_curve"], end = 0.0, float(curves.times[-1])  # nothing is read there
        past, read = (y.time > end) & (y.weight > 0), np.minimum(y.time, end)
        y = y._with_event(y.event & ~asked.competes & (y.time <= end))
    incidence = None if asked.competes is None else curves
    s, rows = own_survival(known, read, asked.code, incidence), y.present()
    s = s if rows is y else s[y.weight > 0]
    support |= {
        "survival_zero": int((s <= 0).sum()),
        "survival_one": int((s >= 1).sum()),
        "past_curves": int(past.sum()),
    }
    return y, rows, s, convention, support


def _pearson(
    y: Outcomes, s: Floats, bins: int, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Pearson's test on the bins of S at the own time."""
    n = float(y.weight.sum())
    observed = np.zeros(bins)
    for rows in chunks(len(y)):
        observed += y.weight[rows] @ subject_weights(s[rows], y.event[rows], bins)
    statistic = float(np.sum((observed - n / bins) ** 2) / (n / bins))
    convention |= {
        "method": "chi2",
        "bins": bins,
        "bin_bounds": BOUNDS,
        "censored": "spread below S(c) in proportion to the bins' widths",
        "p_value": ASYMPTOTIC if y.event.all() else CONSERVATIVE,
    }
    return CalibrationResult(
        float(chdtrc(bins - 1, statistic)), statistic, observed, np.full(bins, n / bins),
        np.arange(bins + 1) / bins, observed, "chi2", bins - 1, convention, support,
    )  # fmt: skip


def uniform_test(
    y: Outcomes, s: Floats, bins: int, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Kolmogorov-Smirnov's test of present subjects' S at the own time."""
    n = float(y.weight.sum())
    found = uniform_distance(y, s)
    observed = n * jump_weights(found.km, bins)
    convention |= {
        "method": "ks",
        "bins": bins,
        "bin_bounds": BOUNDS,
        "censored": "Kaplan-Meier of u = 1 - S, Hall-Wellner weights",
        "p_value": found.distribution,
    }
    support |= {
        "distance": found.distance,
        "bridge_time": found.coverage,
        "last_u": found.last,
        "open_weight": n * found.km.last_survival,
    }
    return CalibrationResult(
        found.p_value, found.statistic, observed, np.full(bins, n / bins),
        np.arange(bins + 1) / bins, observed, "ks", None, convention, support,
    )  # fmt: skip


def on_edges(s: Floats, bins: int) -> Floats:
    """Probabilities with those next to an edge moved onto it.

    >>> on_edges(np.array([0.30000000000000004, 0.7 - 1e-13, 0.55]), 10)
    array([0.3 , 0.7 , 0.55])
    """
    nearest = np.rint(s * bins) / bins
    return np.where(np.abs(s - nearest) <= EDGE, nearest, s)


def bin_of(s: Floats, bins: int) -> Ints:
    """Bin [k/K, (k+1)/K) of each probability; the top bin is closed, edges are as `on_edges`."""
    s = on_edges(s, bins)
    edges = np.arange(bins + 1) / bins
    found = (s * bins).astype(np.intp)
    np.minimum(found, bins - 1, out=found)
    # The product may round across an edge: compare with the edges themselves.
    found -= s < edges[found]
    found += (s >= edges[found + 1]) & (found < bins - 1)
    return found


def subject_weights(s: Floats, event: Bools, bins: int) -> Floats:
    """Share of each subject in each bin, rows summing to one: (n, K)."""
    weights, s = np.zeros((s.size, bins)), on_edges(s, bins)
    certain = (event | (s == 0)) & ~np.isnan(s)
    weights[np.isnan(s)] = np.nan
    weights[certain, bin_of(s[certain], bins)] = 1.0
    rest = s[~certain][:, None]
    low = np.arange(bins) / bins
    high = np.append(low[1:], 1.0)
    weights[~certain] = (np.clip(rest, low, high) - low) / rest
    return weights


def jump_weights(km: KaplanMeier, bins: int) -> Floats:
    """Weight that Kaplan-Meier of u puts into each bin of S = 1 - u."""
    weight = shifted(km.survival, 1.0) - km.survival
    found = bin_of(1.0 - km.times, bins)
    return np.bincount(found, weight, bins).astype(np.float64, copy=False)


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
    r"""A-calibration: whether events occur as often as each subject's own curve implies.

    Under the true model :math:`u_i = 1 - S_i(T_i)` is uniform, with the hazard 1/(1 - u). In a bin
    [a, b) of u, with :math:`\Lambda_i = -\log S_i(t_i)`, a subject is expected to have

    .. math:: e_i = \min(\Lambda_i, -\log(1 - b)) - \min(\Lambda_i, -\log(1 - a))

    events while it is observed, be it censored or not. The sums O_k of the events seen and E_k of
    those expected differ by independent martingale increments, so

    .. math:: X^2 = \sum_k (O_k - E_k)^2 / E_k

    has as many degrees of freedom as there are bins. Bins end at u = 0.95: subjects who survive
    beyond their predicted 95 % quantile are censored there, because -log S of a curve on a grid is
    not known where S is small. Censored subjects need no imputation, and the
    test keeps its level under censoring, where Pearson's test on D-calibration's bins does not.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; the subjects must not be those that the model was fitted to.
    curves : curves
        Predicted survival curves; anything that `as_curves` reads.
    bins : int
        Number of bins of equal width in u, from 0 to 0.95. Few bins have more power against
        predictions that are early or late for all; 3 have at least the power of
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
            frequency = rows.weight.copy() if rows.frequency is not None else None
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
