"""Time errors: loss and weight of each subject, from predicted times and what it counts as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._tools.arrays import LARGEST, Bools, Floats, all_finite, dot, repeated, stored_once, vector
from ...data.curves import SurvivalCurves
from ...data.incidence import CauseCurves
from ...errors import InputError, UndefinedMetricError, numbered
from ...estimators.doubly_robust import DoublyRobust, RobustBlocks
from ...estimators.estimated_g import Derivative
from ...estimators.reference import thinned_out
from ...estimators.residual import Loss
from ...estimators.setting import G_SOURCES
from ...estimators.surrogates import METHODS, Setting, Surrogates
from ..checks import given_entry_of
from ..score import Score, Support, Terms

#: Key of the support, where there are such subjects.
PAST_KEY = "share of the result from subjects censored past the reference"
#: Share of an error, or of predicted times, read off a tail above which it is worth a word.
TAIL_SHARE = 0.10
#: Share of the reference set that may be event-free at the end of its follow-up, and share that may
#: be lost before anybody but a handful is left. With 2 % and 5 % at the end intervals covered 4 to
#: 78 % and 0 to 26 % (800 subjects), with 6 % and more lost 0 to 80 %; see
#: docs/explanation/conventions.md.
UNSEEN, LOST = 0.01, 0.05


@dataclass(frozen=True, repr=False, eq=False)
class TimeScore(Score):
    """A time error, which is a `Score`, with loss and weight of each subject.

    Attributes
    ----------
    convention : dict
        Method, loss, point, weighting, area, tail, horizon, normaliser, reference, G.
    support : dict
        Sizes, subjects past the reference, what was excluded and why, share of predicted times read
        off a tail, largest weight.
    loss, weight : ndarray of shape (n,)
        Per subject; `value` is sum(weight * loss) / normalizer, or the root of that. Zero weight:
        did not take part.
    normalizer : float
        What the weighted sum was divided by.
    """

    loss: Floats = field(kw_only=True)
    weight: Floats = field(kw_only=True)
    normalizer: float = field(kw_only=True)
    scale: str = field(default="log", kw_only=True)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits; NaN where the time after the follow-up decides, as in `evaluate`.

        That is an error without a horizon, or with one past the reference set, of which more than
        1 % are event-free at the end or more than 5 % were lost before a handful is left, or more
        than 10 % of which is read off the tail.
        """
        method, tau, support = self.convention["method"], self.convention["tau"], self.support
        open_ended = tau is None or tau > support["last_reference_time"]
        if (open_ended and not METHODS[method].needs_truth) and (
            support["reference_survival_at_end"] > UNSEEN
            or support["reference_lost"] > LOST
            or abs(support.get("share_from_tail", 0.0)) > TAIL_SHARE
        ):
            return np.nan, np.nan
        return super().interval(confidence)


def predicted_times(
    predicted: Any, n: int, point: str, tau: float | None, start: int = 0
) -> tuple[Floats, Any]:
    """Return one time per subject from times or curves, and where curves' times came from a tail.

    `start` is the number of the first subject in the whole test set, for messages.
    """
    if isinstance(predicted, SurvivalCurves):
        if len(predicted) != n:
            raise InputError(
                f"predicted must have one curve per subject: y_true has {n}, predicted has "
                f"{len(predicted)}"
            )
        if isinstance(predicted, CauseCurves) and tau is not None:
            times, tail = _free_of_cause(predicted, point, tau, start), np.zeros(n, dtype=bool)
        elif point == "median":
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
        _refuse_unusable(times, tail is not None, point, start)
    return vector(times, "predicted", largest=LARGEST), tail


def _free_of_cause(curves: CauseCurves, point: str, tau: float, start: int) -> Floats:
    """Return the predicted times free of a cause up to tau: their median or mean.

    The median is tau where the incidence does not get to one half before.
    """
    # Aalen-Johansen keeps its value past its end; a model that ends before tau says nothing.
    known = (curves.last_time >= tau) | (curves.tail == "hold")
    if point == "median":
        times = np.where(curves.reaches(0.5), curves.kept_median(), np.where(known, tau, np.nan))
    else:
        rest = np.maximum(tau - curves.last_time, 0.0) * curves.last_survival
        times = np.where(known, curves.held().rmst(tau) + rest, np.nan)
    bad = np.flatnonzero(np.isnan(times)) + start
    if bad.size:
        raise UndefinedMetricError(
            f"predicted: the incidence of {bad.size} subject(s) ends before tau ({tau:g}), in "
            f"{numbered(bad)}; predict up to tau, or pass an earlier tau"
        )
    return times


def _refuse_unusable(times: Floats, from_curves: bool, point: str, start: int) -> None:
    bad = np.flatnonzero(~np.isfinite(times)) + start
    if from_curves:
        raise UndefinedMetricError(
            f"predicted: the {point} of {bad.size} curve(s) is not a finite time, in "
            f"{numbered(bad)}: they end above it and their tail does not come down; choose "
            "another tail for the curves (e.g. tail='hold') or give a horizon tau"
        )
    raise InputError(
        f"predicted must be finite times; got {times[bad[0] - start]} for {numbered(bad)}"
    )


@dataclass(frozen=True)
class Point:
    """Predicted times of the subjects of a setting, and what there is to say about them."""

    times: Floats
    #: What the data do and do not cover, whatever the method.
    support: Support

    @classmethod
    def of(cls, setting: Setting, predicted: Any, point: str) -> Point:
        """Read one time per subject from times or curves, and count."""
        size = len(setting.y)
        if isinstance(predicted, SurvivalCurves):
            predicted = given_entry_of(predicted, setting.y)
        times, from_tail = predicted_times(predicted, size, point, setting.tau, setting.start)
        return cls(times, _support(setting, times, from_tail))


def _support(setting: Setting, times: Floats, from_tail: Bools | None) -> Support:
    """Count what the data do and do not cover."""
    y, reference = setting.y, setting.reference
    late, negative = y.time > reference.last_time, times < 0
    if y.frequency is not None:
        late &= y.weight > 0
        negative = negative & (y.weight > 0)
    found = Support(
        counts={
            "subjects": y.count,
            "events": y.event_count,
            "censored": y.count - y.event_count,
            "censored_past_reference": int(np.count_nonzero(late & ~y.event)),
            "events_past_reference": int(np.count_nonzero(late & y.event)),
            "negative_predictions": int(np.count_nonzero(negative)),
        },
        facts={
            "reference_subjects": reference.subjects,
            "last_reference_time": reference.last_time,
            "reference_survival_at_end": reference.last_survival,
            **thinned_out(reference.whole),
        },
    )
    if setting.cause is not None:
        competes = y.event & (y.time < setting.value) & (y.weight > 0)
        found.counts["competing_events"] = int(np.count_nonzero(competes))
    if from_tail is None:
        found.facts["tail_share"] = None
        if y.entry is not None:  # whom the model did not expect to be there
            early = (times <= y.entry) & (y.entry > 0) & (y.weight > 0)
            found.counts["predictions_before_entry"] = int(np.count_nonzero(early))
    else:
        weight = average_weight(setting)
        part = from_tail.sum() if weight is None else np.sum(weight, where=from_tail)
        found.shares["tail_share"] = float(part), _total(weight, len(y))
    return found


def _total(weight: Floats | None, n: int) -> float:
    return float(n) if weight is None else float(weight.sum())


def average_weight(setting: Setting) -> Floats | None:
    """Weights of the average: frequencies times sampling weights; None where all are one."""
    if setting.weight is not None:
        return setting.weight
    return setting.y.frequency


@dataclass(frozen=True)
class TimeTerms(Terms):
    """Terms of a time error, with its two factors: a is `weight` times `loss`."""

    loss: Floats = field(kw_only=True)
    weight: Floats = field(kw_only=True)


def nobody(convention: dict[str, Any], support: dict[str, Any]) -> UndefinedMetricError:
    """Return the error that says why there is nobody to average over."""
    return UndefinedMetricError(
        f"method '{convention['method']}' has no subject to average over: "
        f"{support['events']} events, {support['censored']} censored"
        + "".join(f"; {reason}: {count}" for reason, count in support["notes"].items())
    )


def time_terms(
    setting: Setting, point: Point, method: str, rule: Loss, normalize: str, rules: dict[str, Any]
) -> TimeTerms:
    """Return loss and weight of each subject; `rules` is the `convention` of the number."""
    record, y = METHODS[method], setting.y
    imputed = setting.surrogates(record)
    average = average_weight(setting)
    loss, usable = losses_of(setting, imputed, rule, point.times)
    weight = imputed.weight
    if average is not None:
        weight = weight * average
        # Who counts for nothing may have no finite loss.
        loss = np.where((average > 0) | np.isfinite(loss), loss, 0.0)
    support = point.support.copy()
    support.notes = dict(imputed.notes)
    lost: Bools | None = None
    if usable is not None:
        # Somebody without weight needs no loss, and stays among those who are divided by.
        lost = (weight > 0) & ~usable
        weight, loss = np.where(usable, weight, 0.0), np.where(usable, loss, 0.0)
        if lost.any():
            support.notes[f"excluded: the {rule.name} loss needs positive times"] = int(lost.sum())
    if imputed.defined is not setting.everybody:
        loss[np.flatnonzero(~imputed.defined)] = 0.0
    share = None
    if record.weights_by_g:
        share = _share(weight, average, lost, normalize)
        support.shares["mean_weight"] = float(weight.sum()), _total(average, weight.size)
    own = imputed.weight[y.weight > 0] if y.frequency is not None else imputed.weight
    support.largest["largest_weight"] = float(own.max(initial=0.0))
    if imputed.robust is not None and support.counts:
        subject_weight = np.ones(loss.size) if average is None else average
        known = np.where(imputed.defined, subject_weight, 0.0)
        end = None if setting.conditional is None else setting.conditional.follow_up
        _describe_robust(support, imputed.robust, rule, point.times, loss, known, end)
    if setting.c.size and record.imputes:
        counted = setting.censored[(imputed.defined & (y.weight > 0))[setting.censored]]
        largest = float(imputed.time[counted].max()) if counted.size else None
        support.largest["largest_surrogate"] = largest
    if rule.normalised:
        loss = loss / rules["scale"]
    alike = stored_once(weight) and weight[0] == 1
    a = loss if alike else weight * loss
    if record.counts_censored:
        late = float(a[setting.censored[setting.past]].sum())
        support.rare_shares[PAST_KEY] = late, float(a.sum()), int(setting.past.size)
    moves = record.weights_by_g and setting.g_from == "test"
    return TimeTerms(
        a,
        weight if share is None else share,
        rules,
        support,
        Derivative.of_events(a) if moves else None,
        moves and share is None,
        loss=loss,
        weight=weight,
    )


def _describe_robust(
    support: Support,
    robust: DoublyRobust | RobustBlocks,
    rule: Loss,
    times: Floats,
    loss: Floats,
    subject_weight: Floats,
    end: float | None,
) -> None:
    """Say what doubly robust losses lean on: large weights, floor, tail."""
    present = subject_weight > 0
    seen = robust.y.event & present
    weight, count = robust.weight[seen], subject_weight[seen]
    support.largest["largest_weight"] = float(weight.max(initial=0.0)) or float(present.any())
    support.effective["effective_events"] = dot(count, weight), dot(count, np.square(weight))
    past = robust.g.without_floor(robust.y.time, "left") < robust.g.floor
    support.shares["share_past_floor"] = (
        float(subject_weight[past].sum()),
        float(subject_weight.sum()),
    )
    if rule.domain is None and robust.y.entry is None:
        tail = np.where(present, subject_weight * robust.from_tail(rule, times, end), 0.0)
        support.shares["share_from_tail"] = (
            float(tail.sum()),
            float(np.where(present, subject_weight * loss, 0.0).sum()),
        )


def _share(
    weight: Floats, average: Floats | None, lost: Bools | None, normalize: str
) -> Floats | None:
    """How much each subject counts in the divisor of IPCW-D; None: its weight."""
    if normalize == "weights":
        return None
    share = repeated(1.0, weight.size) if average is None else average
    if lost is not None and lost.any():
        share = np.where(lost, 0.0, share)
    return np.where(weight > 0, share, 0.0) if normalize == "events" else share


def losses_of(
    setting: Setting, imputed: Surrogates, rule: Loss, times: Floats
) -> tuple[Floats, Bools | None]:
    """Loss of each subject, and which subjects have one (None: all)."""
    target = imputed.time
    if imputed.lower_bound is not None:
        bounded, times = np.flatnonzero(imputed.lower_bound), times.copy()
        times[bounded] = np.minimum(times[bounded], target[bounded])
    usable = None if rule.domain is None else rule.defined(target, times)
    distribution, robust = imputed.distribution, imputed.robust
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = rule.of(target, times) if robust is None else robust.phi(rule, times)
        if distribution is not None:
            rows = setting.censored
            places = distribution.places(setting.c) if setting.own_distributions else setting.j
            loss[rows] = distribution.expected(
                rule, setting.c, times[rows], places, imputed.looked_up
            )
    if usable is not None and (distribution is not None or robust is not None):
        # The distribution lives past c, so only the prediction can be out of bounds.
        usable = np.where(setting.y.event, usable, rule.defined(np.ones_like(times), times))
    return loss, usable


def time_convention(
    setting: Setting, method: str, rule: Loss, predicted: Any, normalize: str
) -> dict[str, Any]:
    """Say which definitions the number follows."""
    censoring = f"{G_SOURCES[setting.g_from]}, G(t-)"
    curves = isinstance(predicted, SurvivalCurves)
    convention: dict[str, Any] = {
        "method": method,
        "loss": rule.name,
        "point": rule.point if curves else "given times",
        "weighted": setting.weighted and METHODS[method].imputes,
        "area": setting.area,
        "tail": setting.tail,
        "tau": setting.tau,
        "reference": "test outcomes, in sample" if setting.in_sample else "training outcomes",
    }
    if rule.normalised:
        convention["scale"] = setting.tau or setting.reference.last_time
        if not convention["scale"] > 0:
            raise UndefinedMetricError("the normalised loss needs a reference time above zero")
    if METHODS[method].weights_by_g:
        convention |= {"normalize": normalize, "censoring": censoring}
        estimated = setting.g_from == "test"
        convention["stderr"] = "G estimated in sample" if estimated else "G fixed"
    if setting.y.entry is not None:
        convention["entry"] = (
            "curves, distributions and G given being event-free and uncensored at entry"
        )
    if setting.cause is not None:
        convention["cause"] = setting.cause
    if METHODS[method].takes_distribution:
        convention |= setting.distribution_convention(METHODS[method])
    if curves:
        convention |= {"interpolation": predicted.interpolation, "curve_tail": predicted.tail}
    return convention
