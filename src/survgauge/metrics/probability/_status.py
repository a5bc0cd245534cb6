"""From arguments to a scheme: whose status is known when, with which weight, up to which time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import LARGEST, Bools, Floats, Ints, one_number, shown, vector
from ..._tools.places import look_up
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...reference.dependence import dependence_of
from ..checks import check_curves, check_times
from ..conventions import Convention, convention_of
from ..grids import STEPS, equal_steps, grid_weights, snapped
from ..ipcw import CensoringWeights, check_policy
from ..one_cause import one_cause
from ..past_curve import share_of_times
from ..support import Support
from ._brier import Scheme
from ._g_influence import ThroughG
from ._states import States

METHODS = ("ipcw", "unweighted", "administrative")


@dataclass(frozen=True)
class Status:
    """One question about the status at given times, validated; curves may come and go."""

    y: Outcomes
    mass: Floats
    method: str
    convention: Convention
    weights: CensoringWeights
    #: Administrative censoring times, for that method.
    limit: Floats | None
    #: Last time at which the score is identified.
    horizon: float
    #: Times that are scored, and those that are not.
    times: Floats
    left_out: Floats
    on_unsupported: str
    grid: str
    #: Cause that is predicted, and who had an event of another; None: one kind of event.
    cause: str | None = None
    competes: Bools | None = None
    #: Predictions of every state, which are scored instead of the probability of being event-free.
    states: States | None = None

    @property
    def ipcw(self) -> bool:
        """Whether subjects are weighted by 1/G."""
        return self.method == "ipcw"

    @property
    def common_g(self) -> bool:
        """Whether one G serves all subjects."""
        one = self.weights.km is not None and not self.weights.by_difference
        return not self.ipcw or one

    @property
    def undefined(self) -> bool:
        """Whether the integral over all times asked for is undefined, by the caller's policy."""
        return self.on_unsupported == "nan" and self.left_out.size > 0

    @cached_property
    def share(self) -> Floats:
        """Weights of the mean over the scored times."""
        return grid_weights(self.times, self.convention.integration)

    @cached_property
    def scheme(self) -> Scheme:
        """Who counts at each time, and how much."""
        y, times = self.y, self.times
        change = look_up(times, y.time, "left").astype(np.int32)
        known_at_own = self.method == "administrative"
        if known_at_own or self.convention.censored_at_t == "event_free":
            change[~y.event] = look_up(times, y.time[~y.event], "right")
        leave: Ints | None = None if self.limit is None else look_up(times, self.limit, "right")
        if not self.mass.all():  # absent subjects, whose losses may be infinite
            leave = np.full(len(y), times.size) if leave is None else leave
            leave = np.where(self.mass > 0, leave, 0)
        event_weight = self.weights.event_weight if self.ipcw else y.event.astype(np.float64)
        by_weight = self.convention.divisor == "weights"
        if not self.ipcw:
            by_weight = self.method != "unweighted" or self.convention.unweighted_divisor == "known"
        common = self._inverse if self.common_g else np.empty(0)
        own = None if self.common_g else self._own_inverse
        difference = self.ipcw and self.weights.by_difference
        enter = None if y.entry is None else look_up(times, y.entry, "right")
        if enter is not None:
            enter[y.entry == 0] = 0
        given = times, change, leave, event_weight, common, self.mass, by_weight, own
        reader = None if self.states is None else self.states.reader_of(times, change)
        return Scheme(*given, difference, self.competes, reader, enter)

    @cached_property
    def _common(self) -> Floats:
        """G for survivors at the scored times, (K,)."""
        return self.weights.survivors_at(self.times)

    @cached_property
    def _inverse(self) -> Floats:
        return 1.0 / self._common if self.ipcw else np.ones(self.times.size)

    def _own_inverse(self, k: int) -> Floats:
        g = self.weights.survivors(self.times[k])
        return np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)

    @property
    def _own_g(self) -> bool:
        """Whether G is that of the test subjects."""
        return self.ipcw and self.weights.source == "test"

    @cached_property
    def through_g(self) -> ThroughG | None:
        """What G of the test subjects adds to the contributions; None where G is another's."""
        if not self._own_g or not self.weights.contributions:
            return None
        if self.y.entry is not None:
            everything = np.ones(self.times.size, dtype=np.bool_)
            return ThroughG(self.times, None, everything, None)
        floor = self.convention.g_floor
        moves = None if floor <= 0 else self.weights.at_own_time > floor
        return ThroughG(self.times, moves, self._common > floor, self.weights.estimated)

    def describe(self, curves: SurvivalCurves) -> dict[str, Any]:
        """Say which definitions a number of these curves follows."""
        convention: dict[str, Any] = {"method": self.method}
        if self.ipcw:
            convention |= self.weights.describe()
            convention["stderr"] = "G estimated in sample" if self._own_g else "G fixed"
        else:
            fields = self.convention.as_dict()
            for name in ("convention", "censored_at_t", "integration", "clip"):
                convention[name] = fields[name]
            convention["divisor"] = "known" if self.scheme.by_weight else "n"
        if self.cause is not None:
            convention["cause"] = self.cause
        convention["grid"] = self.grid
        if self.y.entry is not None:
            convention["mean"] = "each time weighs as much as the subjects who have entered"
        convention["horizon"] = float(self.times[-1])
        return convention | {"interpolation": curves.interpolation, "curve_tail": curves.tail}

    def support(self, curves: SurvivalCurves) -> Support:
        """Count what the data do and do not cover."""
        y, last, mass = self.y, float(self.times[-1]), float(self.mass.sum())
        past = (y.time > self.horizon) & (y.weight > 0)
        assumed = share_of_times(curves, self.times, self.mass)
        support = Support(
            counts={
                "subjects": y.count,
                "events": y.event_count,
                "censored": y.count - y.event_count,
                "subjects_past_horizon": int(past.sum()),
                "events_past_horizon": int((past & y.event).sum()),
            },
            facts={
                "identified_until": self.horizon,
                "times": int(self.times.size),
                "times_left_out": int(self.left_out.size),
            },
            # Of curves with grids of their own, the first to end tells.
            largest={"times_past_curves": int((self.times > curves.last_time.min()).sum())},
            shares={"past_curve": (assumed * mass, mass)},
        )
        if self.ipcw:
            used = self.scheme.event_weight[y.event & (y.time <= last) & (y.weight > 0)]
            largest = float(used.max()) if used.size else 0.0
            if self.common_g:
                largest = max(largest, float(self._inverse.max()))
            reference = self.weights.reference
            support.counts["lost_events"] = self.weights.lost_events
            support.largest["largest_weight"] = largest
            mass = float(self.scheme.mass_at(self.times.size - 1).sum())
            support.shares["mean_weight"] = self.weights.mean_weight(last, self.mass) * mass, mass
            support.facts["reference_subjects"] = reference.subjects
            support.facts["last_reference_time"] = reference.last_time
        return support


def _anybody_weighs(weights: CensoringWeights, times: Floats) -> bool:
    """Whether G of some subject is above 0, at its event or at the first of the times."""
    return bool(weights.event_weight.any() or weights.survivors(float(times[0])).any())


def make_status(
    y_true: Any,
    curves: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    dependence: Any = None,
    follow_up: float | None = None,
    snap: bool = False,
    weights: CensoringWeights | None = None,
    cause: int | str | None = None,
) -> tuple[Status, SurvivalCurves]:
    """Check all arguments and resolve the times that can be scored.

    `snap` says that `times` are equal steps, which follow observed times as those of None do;
    `weights` are 1/G of the subjects, where it is known; `cause` is what is predicted, of several.
    """
    one_of("method", method, METHODS)
    check_policy(on_unsupported)
    preset = convention_of(convention)
    asked_for = one_cause(y_true, curves, y_train, cause, entry=method == "ipcw")
    y_train = asked_for.y_train
    y, sampling = sampled(asked_for.y, sample_weight)
    checked = check_curves(asked_for.curves, y)
    mass = y.weight if sampling is None else sampling
    if follow_up is not None and not 0 <= one_number(follow_up) <= LARGEST:
        raise InputError(f"follow_up must be one time, not negative; got {shown(follow_up)}")
    if method != "ipcw" and dependence_of(dependence) is not None:
        raise InputError(
            f"dependence goes with method='ipcw', which weights by 1/G; got {method!r}"
        )
    if cause is not None and dependence_of(dependence) is not None:
        raise InputError("dependence goes with one kind of event; leave it or cause out")
    if weights is None:
        given = y, y_train, censoring, preset, follow_up
        weights = CensoringWeights(*given, mass=sampling, dependence=dependence)
    limit = _administrative(y, censoring_times) if method == "administrative" else None
    horizon = _identified_until(y, mass, method, weights, limit, follow_up)
    horizon = min(horizon, _curves_until(checked))
    if times is None:
        if not horizon > 0:
            raise UndefinedMetricError(
                "no time after 0 can be scored: neither y_true nor its reference reaches one"
            )
        scored, left_out = equal_steps(horizon), np.empty(0)
        grid = f"{STEPS} equal steps"
    else:
        grid, asked = "given", check_times(times)
        scored, left_out = asked[asked <= horizon], asked[asked > horizon]
    if left_out.size and (on_unsupported == "raise" or scored.size == 0):
        error = InputError if on_unsupported == "raise" else UndefinedMetricError
        raise error(
            f"times must not pass {horizon:g}, the last time at which the score is identified "
            f"(follow-up, G > 0, curves); got {left_out.size} later, up to "
            f"{left_out[-1]:g}; drop them or pass on_unsupported='truncate'"
        )
    if snap or times is None:
        scored = _on_known_times(scored, y, mass, weights, checked)
    if weights.by_subject and method == "ipcw" and not _anybody_weighs(weights, scored):
        raise UndefinedMetricError(
            "censoring(t, side) is 0 for every subject, so that nobody can be weighted by 1/G"
        )
    status = Status(
        y=y,
        mass=mass,
        method=method,
        convention=preset,
        weights=weights,
        limit=limit,
        horizon=horizon,
        times=scored,
        left_out=left_out,
        on_unsupported=on_unsupported,
        grid=grid,
        cause=asked_for.name,
        competes=asked_for.competes,
    )
    return status, checked


def _on_known_times(
    times: Floats, y: Outcomes, mass: Floats, weights: CensoringWeights, curves: SurvivalCurves
) -> Floats:
    """Equal steps, moved onto times of the subjects, of G and of the curves that they meet.

    A part of the subjects finds the same as all of them: a time that no subject of the part, no
    step of G and no step of the curves has changes nothing in it.
    """
    known = [y.time if mass.all() else y.time[mass > 0]]
    if y.entry is not None:
        known.append(y.entry[mass > 0])
    if weights.km is not None and not weights.of_more:
        known.append(weights.km.times)
    given = curves.base if isinstance(curves, ConditionalCurves) else curves
    if given.shared_grid:
        known.append(given.times)
    return snapped(times, known)


def _administrative(y: Outcomes, censoring_times: Any) -> Floats:
    """Check that all censoring is administrative."""
    if censoring_times is None:
        raise InputError(
            "method='administrative' needs censoring_times: when each subject's follow-up was "
            "bound to end, events included"
        )
    name = "censoring_times"
    limit = vector(censoring_times, name, length=len(y), like="y_true", minimum=0.0)
    wrong = np.where(y.event, y.time > limit, y.time != limit)
    if wrong.any():
        raise InputError(
            "censoring_times must be at or after the time of events and equal to the time of "
            f"censored subjects; not so for {numbered(np.flatnonzero(wrong))}; "
            "censoring for other reasons needs method='ipcw'"
        )
    return limit


def _identified_until(
    y: Outcomes,
    mass: Floats,
    method: str,
    weights: CensoringWeights,
    limit: Floats | None,
    follow_up: float | None,
) -> float:
    """Last time with somebody of known status and, where it is used, G > 0."""
    present: Bools = mass > 0
    if limit is not None:
        return float(limit[present].max())
    end = float(y.time[present].max()) if follow_up is None else follow_up
    if method == "ipcw":
        end = min(end, weights.identified_until)
        if weights.km is not None and not weights.survivors(end) > 0:
            end = float(np.nextafter(end, -np.inf))  # everybody in the reference is censored at 0
    ratio = method == "unweighted" or weights.convention.divisor == "weights"
    nobody = weights.convention.censored_at_t != "event_free"
    if ratio and nobody and not (y.event & present).any():
        # At the last time nobody's status is known, and there is nothing to divide by.
        end = min(end, float(np.nextafter(y.time[present].max(), -np.inf)))
    return end


def _curves_until(curves: SurvivalCurves) -> float:
    """Where the first curve stops to say anything (`tail="nan"`)."""
    if curves.tail != "nan":
        return float("inf")
    open_end = curves.last_survival > 0
    return float(curves.last_time[open_end].min()) if open_end.any() else float("inf")
