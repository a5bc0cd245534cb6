"""How a time error comes about: losses of the subjects, their weights, the weighted mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..._tools.arrays import LARGEST, Bools, Floats, all_finite, dot, vector
from ...data.curves import SurvivalCurves
from ...errors import InputError, UndefinedMetricError, name_some
from ...reference.estimated_g import EstimatedG, Pulls
from ...reference.losses import Loss
from ...reference.surrogates import Setting, Surrogates
from ..details import standard_error
from ..support import PAST_KEY

_G_SOURCES = {
    "test": "reverse Kaplan-Meier of the test outcomes, events first",
    "train": "reverse Kaplan-Meier of the training outcomes, events first",
    "given": "given by the caller",
}
#: Subjects whose contributions are squared together.
_PIECE = 32_768


@dataclass(frozen=True)
class TimeErrorDetails:
    """A time error with everything behind it.

    Attributes
    ----------
    value : float
        The error.
    convention : dict
        Method, loss, point, weighting, area, tail, horizon, normaliser, reference, G.
    support : dict
        Sizes, subjects past the reference, what was excluded and why, share of predicted times read
        off a tail, largest weight.
    loss, weight : ndarray of shape (n,)
        Per subject; `value` is sum(weight * loss) / normalizer. Zero weight: did not take part.
    normalizer : float
        What the weighted sum was divided by.
    """

    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    loss: Floats
    weight: Floats
    normalizer: float
    #: How much each subject counts in the normaliser; None: as much as it weighs.
    share: Floats | None = None
    frequency: Floats | None = None
    #: G of the weights, where it was estimated from these very subjects.
    estimated_g: EstimatedG | None = None

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        how = {k: v for k, v in self.convention.items() if v is not None}
        return f"TimeErrorDetails(value={self.value:.6g}, stderr={self.stderr:.3g}, {how})"

    @property
    def psi(self) -> Floats:
        """First-order contribution of a subject: (weight loss - value share) / normalizer.

        Where G of its weights comes from the same subjects, with what a subject adds through G.
        """
        psi = self._psi(slice(None))
        if self.estimated_g is not None:
            # As weights change, so does a normaliser that is their sum.
            pull = psi if self.share is None else self.loss * self.weight / self.normalizer
            psi = psi + self.estimated_g.influence(Pulls.of_events(pull))
        return psi

    def _psi(self, rows: slice) -> Floats:
        if self.share is None:  # a subject counts in the normaliser as much as it weighs
            psi = self.loss[rows] - self.value
            psi *= self.weight[rows]
        else:
            psi = self.loss[rows] * self.weight[rows]
            psi -= self.share[rows] * self.value
        psi /= self.normalizer
        return psi

    @property
    def stderr(self) -> float:
        """Analytic standard error, reference set fixed."""
        if self.frequency is not None or self.estimated_g is not None:
            return standard_error(self.psi, self.frequency)
        n, square = self.loss.size, 0.0
        for start in range(0, n, _PIECE):  # without an array of contributions
            psi = self._psi(slice(start, start + _PIECE))
            square += float((psi * psi).sum())
        return math.sqrt(square * n / (n - 1)) if n > 1 else float("nan")


def predicted_times(predicted: Any, n: int, point: str, tau: float | None) -> tuple[Floats, Any]:
    """One time a subject from times or curves, and where curves' times came from a tail."""
    if isinstance(predicted, SurvivalCurves):
        if len(predicted) != n:
            raise InputError(
                f"predicted must have one curve per subject: y_true has {n}, predicted has "
                f"{len(predicted)}"
            )
        if point == "median":
            times, tail = predicted.kept_median(), ~predicted.reaches(0.5)
        else:
            # The mean under a horizon is the restricted mean, so that E[min(T, tau)] is predicted.
            times = predicted.mean() if tau is None else predicted.rmst(tau)
            tail = ~predicted.reaches(1.0)
        if tau is not None:  # past tau nothing is read off a tail
            tail &= predicted.last_time < tau
    else:
        times, tail = vector(predicted, "predicted", length=n, like="y_true", finite=False), None
    if tau is not None:
        times = np.minimum(times, tau)
    if not all_finite(times):
        _refuse_unusable(times, tail is not None, point)
    return vector(times, "predicted", largest=LARGEST), tail


def _refuse_unusable(times: Floats, from_curves: bool, point: str) -> None:
    bad = np.flatnonzero(~np.isfinite(times))
    if from_curves:
        raise UndefinedMetricError(
            f"predicted: the {point} of {bad.size} curve(s) is not a finite time (subjects "
            f"{name_some(bad)}): they end above it and their tail does not come down; choose "
            "another tail for the curves (e.g. tail='hold') or give a horizon tau"
        )
    raise InputError(
        f"predicted must be finite times; got {times[bad[0]]} for subject(s) {name_some(bad)}"
    )


def average_weight(setting: Setting) -> Floats | None:
    """Weights of the average: frequencies times sampling weights; None where all are one."""
    if setting.mass is not None:
        return setting.mass
    return setting.y.weight if setting.y.weighted else None


def combine(
    setting: Setting,
    surrogates: Surrogates,
    rule: Loss,
    times: Floats,
    average: Floats | None,
    normalize: str,
    convention: dict[str, Any],
    support: dict[str, Any],
    part: bool = False,
) -> TimeErrorDetails:
    """Losses of the subjects, their weights, and the weighted mean.

    Of a `part` of the subjects only what adds up is computed: the mean is that of the whole, so
    value and normalizer are NaN, and the share from past the reference is a sum of losses.
    """
    loss, usable = _losses(setting, surrogates, rule, times)
    weight = surrogates.weight
    if rule.normalised:
        loss = loss / convention["scale"]
    if average is not None:
        weight = weight * average
    excluded = dict(surrogates.notes)
    lost: Bools | None = None
    if usable is not None:
        # Somebody without weight needs no loss, and stays among those who are divided by.
        lost = (weight > 0) & ~usable
        weight, loss = np.where(usable, weight, 0.0), np.where(usable, loss, 0.0)
        if lost.any():
            excluded[f"excluded: the {rule.name} loss needs positive times"] = int(lost.sum())
    if surrogates.defined is not setting.everybody:
        loss = np.where(surrogates.defined, loss, 0.0)
    share = share_of(weight, average, lost, convention["method"], normalize)
    support["notes"] = excluded
    value = normalizer = float("nan")
    if not part:
        normalizer = float(weight.sum() if share is None else share.sum())
        if not (normalizer > 0 and weight.any()):
            refuse_empty(convention["method"], support)
        value = dot(weight, loss) / normalizer
    if convention["method"] == "ipcw_d":
        mass = float(weight.size) if average is None else float(average.sum())
        support["mean_weight"] = float(weight.sum()) / mass if mass > 0 else 0.0
    support["largest_weight"] = _once(
        surrogates, "weight", lambda: _present(setting, surrogates.weight).max(initial=0.0)
    )
    if setting.c.size and convention["method"] in ("margin", "ipcw_t", "po", "pop_po"):
        support["largest_surrogate"] = _once(
            surrogates, "time", lambda: _largest(setting, surrogates)
        )
    if setting.past.size and convention["method"] not in ("uncensored", "ipcw_d", "true"):
        rows = setting.censored[setting.past]
        total = 1.0 if part else value * normalizer
        late = dot(weight[rows], loss[rows])
        support[PAST_KEY] = late / total if total > 0 else 0.0
    frequency = setting.y.weight if setting.y.weighted else None
    g = None if part else own_g(setting, convention["method"])
    return TimeErrorDetails(
        value, convention, support, loss, weight, normalizer, share, frequency, g
    )


def own_g(setting: Setting, method: str) -> EstimatedG | None:
    """G of a method's weights, if it weights by 1/G and that comes from the same subjects."""
    return setting.estimated_g if method == "ipcw_d" else None


def _once(surrogates: Surrogates, name: str, find: Callable[[], Any]) -> float | None:
    """Look for a largest value once for all models."""
    kept: dict[str, Any] = surrogates.__dict__
    key = f"_largest_{name}"
    if key not in kept:
        found = find()
        kept[key] = None if found is None else float(found)
    largest: float | None = kept[key]
    return largest


def _largest(setting: Setting, surrogates: Surrogates) -> float | None:
    """Largest surrogate of a censored subject."""
    reached, rows = surrogates.time[setting.censored], setting.censored
    if surrogates.defined is not setting.everybody or setting.y.weighted:
        reached = reached[(surrogates.defined & (setting.y.weight > 0))[rows]]
    return float(reached.max()) if reached.size else None


def _present(setting: Setting, values: Any) -> Any:
    """Values of the subjects who are not absent."""
    return values[setting.y.weight > 0] if setting.y.weighted else values


def refuse_empty(method: str, support: dict[str, Any]) -> NoReturn:
    """Say why there is nobody to average over."""
    raise UndefinedMetricError(
        f"method '{method}' has no subject to average over: "
        f"{support['events']} events, {support['censored']} censored"
        + "".join(f"; {reason}: {count}" for reason, count in support["notes"].items())
    )


def share_of(
    weight: Floats, average: Floats | None, lost: Bools | None, method: str, normalize: str
) -> Floats | None:
    """How much each subject counts in the divisor; None: its weight."""
    if method != "ipcw_d" or normalize == "weights":
        return None
    share = np.broadcast_to(np.float64(1.0), weight.size) if average is None else average
    if lost is not None and lost.any():
        share = np.where(lost, 0.0, share)
    return np.where(weight > 0, share, 0.0) if normalize == "events" else share


def _losses(
    setting: Setting, surrogates: Surrogates, rule: Loss, times: Floats
) -> tuple[Floats, Bools | None]:
    """Loss of each subject, and which subjects have one (None: all)."""
    target = surrogates.time
    if surrogates.lower_bound is not None:
        times = np.where(surrogates.lower_bound, np.minimum(times, target), times)
    usable = None if rule.domain is None else rule.defined(target, times)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = rule.of(target, times)
        if surrogates.law is not None:
            rows = setting.censored
            known = surrogates.__dict__.setdefault("_past_c", {})
            loss[rows] = surrogates.law.expected(rule, setting.c, times[rows], setting.j, known)
    if usable is not None and surrogates.law is not None:
        # The law lives past c, so only the prediction can be out of bounds.
        usable = np.where(setting.y.event, usable, rule.defined(np.ones_like(times), times))
    return loss, usable


def convention(
    setting: Setting, method: str, rule: Loss, predicted: Any, normalize: str
) -> dict[str, Any]:
    """Say which definitions the number follows."""
    censoring = f"{_G_SOURCES[setting.g_from]}, G(t-)"
    curves = isinstance(predicted, SurvivalCurves)
    convention: dict[str, Any] = {
        "method": method,
        "loss": rule.name,
        "point": rule.point if curves else "given times",
        "weighted": setting.weighted and method in ("margin", "ipcw_t", "po", "pop_po"),
        "area": setting.area,
        "tail": setting.tail,
        "tau": setting.tau,
        "reference": "test outcomes, in sample" if setting.in_sample else "training outcomes",
    }
    if rule.normalised:
        convention["scale"] = setting.tau or setting.reference.last_time
        if not convention["scale"] > 0:
            raise UndefinedMetricError("the normalised loss needs a reference time above zero")
    if method == "ipcw_d":
        convention |= {"normalize": normalize, "censoring": censoring}
        convention["stderr"] = "G estimated in sample" if setting.g_from == "test" else "G fixed"
    if curves:
        convention |= {"interpolation": predicted.interpolation, "curve_tail": predicted.tail}
    return convention


@dataclass(frozen=True)
class Point:
    """Predicted times, and where they came from."""

    times: Floats
    #: Which of them were read off a tail; None where they were given as times.
    from_tail: Bools | None

    def tail_share(self, weight: Floats | None) -> float | None:
        """Share of the subjects, by weight, whose time was read off a tail."""
        if self.from_tail is None:
            return None
        if weight is None:
            return float(np.mean(self.from_tail))
        return float(np.sum(weight, where=self.from_tail) / weight.sum())

    def negative(self, present: Bools | None) -> int:
        """Number of times below zero."""
        below = self.times < 0
        return int(np.count_nonzero(below if present is None else below & present))


def support(setting: Setting, point: Point) -> dict[str, Any]:
    """Count what the data do and do not cover."""
    y, last = setting.y, setting.reference.last_time
    late = y.time > last
    if y.weighted:
        late &= y.weight > 0
    return {
        "subjects": y.count,
        "events": y.event_count,
        "censored": y.count - y.event_count,
        "reference_subjects": setting.reference.subjects,
        "last_reference_time": last,
        "reference_survival_at_end": setting.reference.last_survival,
        "censored_past_reference": int(np.count_nonzero(late & ~y.event)),
        "events_past_reference": int(np.count_nonzero(late & y.event)),
        "tail_share": point.tail_share(average_weight(setting)),
        "negative_predictions": point.negative(y.weight > 0 if y.weighted else None),
    }
