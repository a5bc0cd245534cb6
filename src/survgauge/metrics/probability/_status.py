"""From arguments to weights: whose status is known when, with which weight, up to which time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats, Ints, look_up, vector
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.interpolation import Scratch
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...estimators.estimated_g import Derivative
from ..checks import check_curves, check_times, known_until, one_cause
from ..conventions import UNSUPPORTED, Convention
from ..grids import STEPS, equal_steps, grid_weights, snapped
from ..ipcw import CensoringWeights
from ..past_curve import share_of_times
from ..score import Support

METHODS = ("ipcw", "unweighted", "administrative")

#: Numbers of a block of rows, (rows, times), not to be written to.
Reader = Callable[[slice, Scratch], Floats]


@dataclass(frozen=True)
class Status:
    """One question about the status at given times, validated; curves may come and go."""

    y: Outcomes
    weight: Floats
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
    #: Instead of the probability of being event-free, what losses are taken of: a reader of times.
    reader: Callable[[Floats], Reader] | None = None

    @property
    def ipcw(self) -> bool:
        """Whether subjects are weighted by 1/G."""
        return self.method == "ipcw"

    @property
    def common_g(self) -> bool:
        """Whether one G serves all subjects."""
        return not self.ipcw or self.weights.km is not None

    @property
    def undefined(self) -> bool:
        """Whether the integral over all times asked for is undefined, by the caller's policy."""
        return self.on_unsupported == "nan" and self.left_out.size > 0

    @cached_property
    def share(self) -> Floats:
        """Weights of the mean over the scored times."""
        return grid_weights(self.times, self.convention.integration)

    @cached_property
    def change(self) -> NDArray[np.int32]:
        """First column at which a subject is not known to be event-free, (n,)."""
        y, times = self.y, self.times
        change = look_up(times, y.time, "left").astype(np.int32)
        if self.method == "administrative" or self.convention.censored_at_t == "event_free":
            change[~y.event] = look_up(times, y.time[~y.event], "right")
        return change

    @cached_property
    def leave(self) -> Ints | None:
        """First column at which a subject is out of the average, (n,); None: never."""
        leave: Ints | None = None
        if self.limit is not None:
            leave = look_up(self.times, self.limit, "right")
        if not self.weight.all():  # subjects of zero weight, whose losses may be infinite
            leave = np.full(len(self.y), self.times.size) if leave is None else leave
            leave = np.where(self.weight > 0, leave, 0)
        return leave

    @cached_property
    def enter(self) -> Ints | None:
        """First column at which a subject has entered, (n,); None: all from the first."""
        entry = self.y.entry
        if entry is None:
            return None
        return np.where(entry == 0, 0, look_up(self.times, entry, "right"))

    @cached_property
    def event_weight(self) -> Floats:
        """a, the weight after the event; zero for censored subjects; (n,)."""
        return self.weights.event_weight if self.ipcw else self.y.event.astype(np.float64)

    @property
    def by_weight(self) -> bool:
        """Whether the divisor is the sum of weights instead of the number of subjects."""
        if self.ipcw:
            return self.convention.divisor == "weights"
        return self.method != "unweighted" or self.convention.unweighted_divisor == "known"

    @cached_property
    def survivor_weight(self) -> Floats:
        """b, the weight while event-free, where it is the same for all subjects: (K,)."""
        if not self.ipcw:
            return np.ones(self.times.size)
        return 1.0 / self.weights.survivors_at(self.times)

    def weight_at(self, k: int) -> Floats:
        """p at times[k]: 0 for who has not entered yet."""
        return self.weight if self.enter is None else np.where(self.enter <= k, self.weight, 0.0)

    def block(self, rows: slice, scratch: Scratch) -> tuple[Bools, Floats]:
        """Who is event-free, and W, of a block of rows at all times, where G is that of all."""
        columns = np.arange(self.times.size, dtype=np.int32)
        change = self.change[rows, None]
        shape = len(change), columns.size
        alive = np.greater(change, columns, out=scratch("alive", shape, np.bool_))
        weight: Floats = scratch("weight", shape)
        weight[...] = self.event_weight[rows, None]
        np.copyto(weight, self.survivor_weight, where=alive)
        if self.leave is not None:
            weight[self.leave[rows, None] <= columns] = 0.0
        return alive, weight

    def column(self, k: int) -> tuple[Bools, Floats]:
        """Who is event-free, and W, of all subjects at times[k]."""
        alive = self.change > k
        if self.common_g:
            free = self.survivor_weight[k]
        else:
            g = self.weights.survivors(self.times[k])
            free = np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)
        weight = np.where(alive, free, self.event_weight)
        if self.leave is not None:
            weight[self.leave <= k] = 0.0
        return alive, weight

    def without_event(self, alive: Bools, rows: slice = slice(None)) -> Bools:
        """Who of `alive` and the others had no event of the cause that is predicted."""
        if self.competes is None:
            return alive
        competes = self.competes[rows]
        return alive | (competes[:, None] if alive.ndim == 2 else competes)

    @property
    def g_moves(self) -> bool:
        """Whether the estimation of G is part of the contributions."""
        return self.ipcw and self.weights.source == "test" and self.weights.contributions

    def derivative(
        self, event: Floats, survivors: Floats, columns: slice, own: Floats | None = None
    ) -> Derivative:
        """Derivative by the log weights at some times, without what stays at the floor of G."""
        if self.convention.g_floor > 0:
            above = self.weights.at_own_time > self.convention.g_floor
            event = np.where(above, event, 0.0)
            moves = self.survivor_weight[columns] < 1.0 / self.convention.g_floor
            survivors = np.where(moves, survivors, 0.0)
        return Derivative(event, survivors, self.times[columns], own)

    def describe(self, curves: SurvivalCurves) -> dict[str, Any]:
        """Say which definitions a number of these curves follows."""
        convention: dict[str, Any] = {"method": self.method}
        if self.ipcw:
            convention |= self.weights.describe()
            convention["stderr"] = (
                "G estimated in sample" if self.weights.source == "test" else "G fixed"
            )
        else:
            fields = self.convention.as_dict()
            for name in ("convention", "censored_at_t", "integration", "clip"):
                convention[name] = fields[name]
            convention["divisor"] = "known" if self.by_weight else "n"
        if self.cause is not None:
            convention["cause"] = self.cause
        convention["grid"] = self.grid
        if self.y.entry is not None:
            convention["mean"] = "each time weighs as much as the subjects who have entered"
        convention["horizon"] = float(self.times[-1])
        return convention | {"interpolation": curves.interpolation, "curve_tail": curves.tail}

    def support(self, curves: SurvivalCurves) -> Support:
        """Count what the data do and do not cover."""
        y, last, weight = self.y, float(self.times[-1]), float(self.weight.sum())
        past = (y.time > self.horizon) & (y.weight > 0)
        assumed = share_of_times(curves, self.times, self.weight)
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
            shares={"past_curve": (assumed * weight, weight)},
        )
        if self.ipcw:
            used = (y.time <= last) & (y.weight > 0)  # who was censored has no weight
            largest = float((self.event_weight * used).max(initial=0.0))
            if self.common_g:
                largest = max(largest, float(self.survivor_weight.max()))
            reference = self.weights.reference
            lost = y.event & (self.event_weight == 0) & (y.weight > 0)
            support.counts["lost_events"] = int(lost.sum())
            support.largest["largest_weight"] = largest
            weight = float(self.weight_at(self.times.size - 1).sum())
            support.shares["mean_weight"] = (
                self.weights.mean_weight(last, self.weight) * weight,
                weight,
            )
            support.facts["reference_subjects"] = reference.subjects
            support.facts["last_reference_time"] = reference.last_time
        return support


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
    snap: bool = False,
    cause: int | str | None = None,
) -> tuple[Status, SurvivalCurves]:
    """Check all arguments and resolve the times that can be scored.

    `snap` says that `times` are equal steps, which follow observed times as those of None do;
    `censoring` may be 1/G of the subjects; `cause` is what is predicted, of several.
    """
    one_of("method", method, METHODS)
    one_of("on_unsupported", on_unsupported, UNSUPPORTED)
    preset = Convention.of(convention)
    asked_for = one_cause(y_true, curves, y_train, cause, entry=method == "ipcw")
    y_train = asked_for.y_train
    y, sampling = asked_for.y.sampled(sample_weight)
    checked = check_curves(asked_for.curves, y)
    weight = y.weight if sampling is None else sampling
    weights = censoring
    if not isinstance(censoring, CensoringWeights):
        weights = CensoringWeights(y, y_train, censoring, preset, weight=sampling)
    limit = _administrative(y, censoring_times) if method == "administrative" else None
    horizon = _identified_until(y, weight, method, weights, limit)
    horizon = min(horizon, known_until(checked))
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
        scored = _on_known_times(scored, y, weight, weights, checked)
    asked_g = method == "ipcw" and weights.by_subject
    if asked_g and not (weights.event_weight.any() or weights.survivors(scored[0]).any()):
        raise UndefinedMetricError(
            "censoring(t, side) is 0 for every subject, so no subject can be weighted by 1/G"
        )
    status = Status(
        y=y,
        weight=weight,
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
    times: Floats, y: Outcomes, weight: Floats, weights: CensoringWeights, curves: SurvivalCurves
) -> Floats:
    """Equal steps, moved onto times of the subjects, of G and of the curves that they meet.

    A part of the subjects finds the same as all of them: a time that no subject of the part, no
    step of G and no step of the curves has changes nothing in it.
    """
    steps = [y.time if weight.all() else y.time[weight > 0]]
    if y.entry is not None:
        steps.append(y.entry[weight > 0])
    if weights.km is not None and weights.whole is None:
        steps.append(weights.km.times)
    given = curves.base if isinstance(curves, ConditionalCurves) else curves
    if given.shared_grid:
        steps.append(given.times)
    return snapped(times, steps)


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
    weight: Floats,
    method: str,
    weights: CensoringWeights,
    limit: Floats | None,
) -> float:
    """Last time with somebody of known status and, where it is used, G > 0."""
    present: Bools = weight > 0
    if limit is not None:
        return float(limit[present].max())
    end = weights.given_follow_up
    if end is None:
        end = float(y.time[present].max())
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
