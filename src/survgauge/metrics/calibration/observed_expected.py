"""Observed over expected events by a time: whether predicted risks are right on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._tools.arrays import probability as checked_probability
from ...data.curves import SurvivalCurves
from ...errors import InputError, UndefinedMetricError
from ..checks import check_curves, read_curves
from ..details import Details
from ..one_cause import OneCause, free_at, one_cause
from .cause_survival import hazard_since_entry
from .inputs import checked_time, description, read_past, refuse_past_follow_up, survival_at


@dataclass(frozen=True, repr=False)
class ObservedExpected(Details):
    """Result of `observed_expected`.

    Attributes
    ----------
    value : float
        The ratio, also as `ratio`; 1 is best.
    low, high : float
        Its interval, symmetric in the logarithm; NaN where no event was seen, which
        ``support["note"]`` says.
    observed, expected : float
        Risk of the event by `time` by Kaplan-Meier (of one cause by Aalen-Johansen), and the mean
        predicted risk.
    """

    low: float = float("nan")
    high: float = float("nan")
    observed: float = float("nan")
    expected: float = float("nan")
    time: float = float("nan")

    @property
    def ratio(self) -> float:
        """Observed over expected risk."""
        return self.value


def observed_expected(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    confidence: float = 0.95,
    cause: int | str | None = None,
) -> ObservedExpected:
    r"""Observed over expected events by a time (calibration in the large).

    .. math:: \frac{O}{E} = \frac{1 - S_{KM}(t)}{\frac1n \sum_i (1 - S_i(t))}

    1 is best. 1.2 says that 20 % more events happened than the model predicted: its risks are too
    low on average.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : curves or array-like of shape (n,)
        Predicted curves (anything that `as_curves` reads), or the probabilities at `time`
        themselves.
    time : float
        By when events count; not later than the last observed time.
    probability : {"survival", "event"}
        What an array in `curves` holds: of surviving `time`, or of the event by then.
    confidence : float
        Level of the interval.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`; the observed risk is that of Aalen-Johansen.

    Returns
    -------
    ObservedExpected
        `ratio`, `low`, `high`, `observed`, `expected`, and contributions of the subjects. The
        standard error counts that both risks come from the same subjects.

    References
    ----------
    Debray et al. (2017), BMJ 356, i6460. McLernon et al. (2023), Annals of Internal Medicine 176.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 0, 1, 0, 0, 0])
    >>> found = observed_expected(y, [0.3, 0.5, 0.4, 0.8, 0.7, 0.9], 4.5)
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3)
    (0.938, 0.408, 2.156)
    """
    level = checked_probability(confidence, "confidence")
    asked_for = one_cause(y_true, curves, None, cause, entry=True)
    y = asked_for.y
    time, predicted = checked_time(time), read_curves(asked_for.curves)
    if y.entry is not None:
        return _entered(asked_for, predicted, time, level)
    risk = 1.0 - survival_at(y, predicted, time, probability)
    risk[y.weight == 0] = 0.0  # whatever is predicted for who is absent
    past = read_past(y, predicted, time)
    refuse_past_follow_up(y.present(), time)
    total = float(y.weight.sum())
    expected = float(y.weight @ risk) / total
    if expected == 0:
        raise UndefinedMetricError(
            f"no event is expected by time {time:g}: every predicted risk is 0, so observed over "
            "expected has no value"
        )
    estimate = "Kaplan-Meier" if asked_for.competes is None else "Aalen-Johansen"
    found = free_at(y, asked_for.competes, time)
    observed, observed_psi = 1.0 - found.value, -found.psi
    ratio = observed / expected
    psi = (observed_psi - ratio * y.weight * (risk - expected) / total) / expected
    described, support = description(y, predicted, asked_for)
    described |= {"time": time, "observed": f"{estimate} of the test outcomes"}
    support |= past
    support |= {"observed_risk": observed, "expected_risk": expected}
    support["open_ended"] = found.open_ended
    frequency = y.weight if y.weighted else None
    plain = Details(ratio, described, support, psi, frequency)
    return with_interval(plain, observed, expected, time, level)


def with_interval(
    plain: Details, observed: float, expected: float, time: float, level: float
) -> ObservedExpected:
    """Return the ratio with its interval, symmetric in the logarithm.

    The support says why there is none.
    """
    ratio, stderr = plain.value, plain.stderr
    low = high = float("nan")
    if ratio > 0 and stderr > 0:
        factor = float(np.exp(ndtri(0.5 + level / 2) * stderr / ratio))
        low, high = ratio / factor, ratio * factor
    else:
        why = "no event was observed" if ratio == 0 else "too few subjects were observed"
        plain.support["note"] = f"{why} by time {time:g}, so the ratio has no interval"
    return ObservedExpected(
        ratio, plain.convention, plain.support, plain.psi, plain.frequency, low=low, high=high,
        observed=observed, expected=expected, time=time,
    )  # fmt: skip


def _entered(asked: OneCause, predicted: Any, time: float, level: float) -> ObservedExpected:
    """Observed over expected events by a time under delayed entry, per subject who entered before.

    Expected of a subject is what its curve's cumulative hazard (of a cause, that of the cause)
    rises by while it is at risk, from its entry to its own time or `time`: events less that are a
    martingale, whatever the entries and the censoring are.
    """
    y = asked.y
    if not isinstance(predicted, SurvivalCurves):
        raise InputError(
            "curves must be curves under delayed entry: a probability at one time does not say "
            "what was expected between a subject's entry and its own time"
        )
    refuse_past_follow_up(y.present(), time)
    entry = np.asarray(y.entry)
    mass = np.where((entry < time) | (entry == 0), y.weight, 0.0)
    end = np.where(mass > 0, np.minimum(y.time, time), 0.0)
    hazard = hazard_since_entry(check_curves(predicted, y), end, asked.code)
    hazard = np.where(mass > 0, hazard, 0.0)
    own = y.event if asked.competes is None else y.event & ~asked.competes
    seen = mass * (own & (y.time <= time))
    total, expected = float(mass.sum()), float(mass @ hazard)
    if not 0 < expected < np.inf:
        what = "no event is expected" if not expected > 0 else "a curve has fallen to 0"
        raise UndefinedMetricError(
            f"{what} while subjects are at risk by time {time:g}, so observed over expected has no "
            "value"
        )
    ratio = float(seen.sum()) / expected
    described, support = description(y, predicted, asked)
    described |= {"time": time, "observed": "events of subjects at risk"}
    described["expected"] = "rise of the cumulative hazard while at risk"
    support |= {"observed_risk": float(seen.sum()) / total, "expected_risk": expected / total}
    support |= read_past(y, predicted, time) | {"open_ended": False}
    psi = (seen - ratio * mass * hazard) / expected
    plain = Details(ratio, described, support, psi, y.weight if y.weighted else None)
    return with_interval(plain, float(seen.sum()) / total, expected / total, time, level)
