"""From arguments to cases and controls: whose AUC is asked for, at which times it exists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ...errors import InputError, UndefinedMetricError, one_of
from ...reference.estimated_g import EstimatedG
from ...reference.kaplan_meier import KaplanMeier
from ..checks import check_curves, check_times, read_curves
from ..conventions import Convention, convention_of
from ..ipcw import CensoringWeights, check_policy
from ..one_cause import incidence_of, one_cause
from ._auc_design import AucDesign, auc_design

METHODS = ("ipcw", "unweighted")
CONTROLS = ("without_event", "event_free")
STDERR = ("fixed", "estimated", "auto")


@dataclass(frozen=True)
class AucSetting:
    """Outcomes, weights and the times asked for, validated."""

    y: Outcomes
    mass: Floats | None
    method: str
    convention: Convention
    weights: CensoringWeights
    asked: Floats
    on_unsupported: str
    #: None, or what the standard errors take G for.
    stderr: str | None
    #: Past this the predictions say nothing.
    predicted_until: float
    #: Cause that is predicted, and who had an event of another; None: one kind of event.
    cause: str | None = None
    competes: Bools | None = None
    #: Whether those with an event of another cause are controls.
    controls: str = "event_free"

    @property
    def ipcw(self) -> bool:
        """Whether cases weigh 1/G."""
        return self.method == "ipcw"

    @property
    def subject_g(self) -> bool:
        """Whether G depends on the subject, so that the controls' weights do not cancel."""
        return self.ipcw and self.weights.by_subject

    @property
    def estimated_g(self) -> EstimatedG | None:
        """G, where its estimation adds to contributions what the kernel does not: see `design`."""
        by_kernel = self.stderr != "estimated" or not self.others_are_controls
        return None if self.y.entry is None and by_kernel else self.weights.estimated

    @property
    def others_are_controls(self) -> bool:
        """Whether controls are all without an event of the cause."""
        return self.competes is not None and self.controls == "without_event"

    @property
    def order(self) -> Any:
        """Subject at each position of contributions: by time, where the design sorts them."""
        return slice(None) if self.others_are_controls else self.design.order

    @property
    def _event_weight(self) -> Floats:
        return self.weights.event_weight if self.ipcw else np.broadcast_to(1.0, len(self.y))

    @cached_property
    def case_weight(self) -> Floats:
        """1/G of the events of the cause; those of others are no cases."""
        weight = self._event_weight
        return weight if self.competes is None else np.where(self.competes, 0.0, weight)

    @cached_property
    def other_weight(self) -> Floats:
        """1/G of the events of other causes."""
        return self._event_weight - self.case_weight

    @cached_property
    def design(self) -> AucDesign:
        """Cases and controls at all times asked for."""
        at_t = self.convention.censored_at_t == "event_free"
        kind: Any = self.convention.g_influence if self.stderr == "estimated" else "fixed"
        return auc_design(
            self.y.time,
            self.y.event,
            self.case_weight,
            self.asked,
            self.mass,
            controls="later_or_censored" if at_t else "later",
            censoring=kind,
            order=self.y.order(),
        )

    @cached_property
    def identified_until(self) -> float:
        """Last time inside the follow-up, with G > 0 and predictions that speak."""
        end = float(self.y.present().time.max())
        if self.ipcw:
            end = min(end, self.weights.identified_until)
        return min(end, self.predicted_until)

    def control_weight(self, t: float) -> Floats:
        """1/G(t | x) of each subject, 0 where G = 0."""
        g = self.weights.survivors(t)
        return np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)

    @cached_property
    def unsupported(self) -> dict[str, Bools]:
        """Why times have no AUC, each time under its first reason."""
        design = self.design
        past = self.asked > self.identified_until
        cases, controls = design.cases_total, design.controls_total.copy()
        if self.subject_g:
            for k in np.flatnonzero(controls > 0):
                members = design.order[design.cut[k] :]
                mass = self.control_weight(float(self.asked[k]))[members]
                controls[k] = (mass * design.weight[design.cut[k] :]).sum()
        if self.others_are_controls:
            controls += [self.other_weight[self.y.time <= t].sum() for t in self.asked]
        return {
            "past the identified range": past,
            "no cases": (cases <= 0) & ~past,
            "no controls": (controls <= 0) & (cases > 0) & ~past,
        }

    @cached_property
    def supported(self) -> Bools:
        """Which of the times asked for have an AUC."""
        wrong = np.logical_or.reduce(list(self.unsupported.values()))
        if wrong.any() and self.on_unsupported == "raise":
            raise InputError(
                f"{self._complaint(wrong)}; drop them or pass on_unsupported='truncate'"
            )
        if wrong.all() and self.on_unsupported == "truncate":
            raise UndefinedMetricError(self._complaint(wrong))
        return ~wrong

    def _complaint(self, wrong: Bools) -> str:
        found = [
            f"{reason}: {', '.join(f'{t:g}' for t in self.asked[times][:3])}"
            + (f", ... ({int(times.sum())} in all)" if times.sum() > 3 else "")
            for reason, times in self.unsupported.items()
            if times.any()
        ]
        return (
            f"times: {int(wrong.sum())} of {wrong.size} have no AUC ({'; '.join(found)}); it needs "
            f"an event before, somebody event-free after, and is identified up to "
            f"{self.identified_until:g}"
        )

    @cached_property
    def scored(self) -> AucDesign:
        """Cases and controls at the supported times."""
        design, keep = self.design, self.supported
        times, weight_at = self.asked[keep], None
        if self.subject_g:
            weight_at = lambda k: self.control_weight(float(times[k]))  # noqa: E731
        return replace(
            design,
            cut=design.cut[keep],
            cases_total=design.cases_total[keep],
            controls_total=design.controls_total[keep],
            control_weight=weight_at,
        )

    @cached_property
    def drop(self) -> Floats:
        """How far the test set's Kaplan-Meier falls between the supported times."""
        times = self.asked[self.supported]
        # At a supported time there are cases, so it has fallen; what is one time's share is all.
        return self._falls(times) if times.size > 1 else np.ones(times.size)

    @cached_property
    def mean_defined(self) -> bool:
        """Whether the mean over the times asked for (by policy: over the supported) is known."""
        if self.on_unsupported == "truncate":
            return True
        return bool(self.supported.any()) and not self._falls(self.asked)[~self.supported].any()

    def _falls(self, times: Floats) -> Floats:
        known = self.y if self.mass is None else self.y.reweighted(self.mass)
        if self.competes is not None:
            return np.diff(incidence_of(known, self.competes).at(times, "own"), prepend=0.0)
        survival: Floats = KaplanMeier.fit(known).at(times)
        return -np.diff(survival, prepend=1.0)

    def describe(self, predicted: Any) -> dict[str, Any]:
        """Say which definitions the numbers follow."""
        convention: dict[str, Any] = {"method": self.method}
        if self.ipcw:
            convention |= self.weights.describe()
            given = {None: None, "fixed": "G fixed", "estimated": "G estimated in sample"}
            convention["stderr"] = given[self.stderr]
        else:
            convention["convention"] = self.convention.name
            convention["censored_at_t"] = self.convention.censored_at_t
        convention["mean"] = "weighted by the fall of the test set's Kaplan-Meier"
        if self.cause is not None:
            convention |= {"cause": self.cause, "controls": self.controls}
            convention["mean"] = "weighted by the rise of the test set's Aalen-Johansen"
        if isinstance(predicted, SurvivalCurves):
            convention["interpolation"] = predicted.interpolation
            convention["curve_tail"] = predicted.tail
        return convention

    def support(self) -> dict[str, Any]:
        """Count what the data do and do not cover."""
        y, wrong = self.y, self.unsupported
        support: dict[str, Any] = {
            "subjects": y.count,
            "events": y.event_count,
            "identified_until": self.identified_until,
            "times": int(self.supported.sum()),
            "times_left_out": int((~self.supported).sum()),
        }
        last = np.max(self.asked, where=self.supported, initial=0.0)
        used = y.event & (y.time <= last) & (y.weight > 0)
        if self.competes is not None:
            used &= ~self.competes
        support["cases"] = float(y.weight[used].sum())
        support["controls"] = float(y.weight[y.time > last].sum())
        notes = {f"times left out: {why}": int(k.sum()) for why, k in wrong.items() if k.any()}
        if self.ipcw:
            weight = self.weights.event_weight
            lost = int((used & (weight == 0)).sum())
            if lost:
                notes["no cases: events with G = 0"] = lost
            support["largest_weight"] = float(np.max(weight, where=used, initial=0.0))
            support["mean_weight"] = self.weights.mean_weight(float(last), self.mass)
        return support | {"notes": notes}


def make_auc_setting(
    y_true: Any,
    predicted: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    stderr: str | None = None,
    sample_weight: Any = None,
    weights: CensoringWeights | None = None,
    cause: int | str | None = None,
    controls: str = "without_event",
) -> tuple[AucSetting, Any]:
    """Check everything but the values of the prediction; also return that, of one cause.

    `weights`: 1/G of the subjects, where it is known.
    """
    one_of("method", method, METHODS)
    check_policy(on_unsupported)
    preset = convention_of(convention)
    one_of("controls", controls, CONTROLS)
    asked_for = one_cause(y_true, predicted, y_train, cause, entry=method == "ipcw")
    predicted, y_train = read_curves(asked_for.curves), asked_for.y_train
    y, sampling = sampled(asked_for.y, sample_weight)
    mass = y.weight if sampling is None and y.weighted else sampling
    if weights is None:
        weights = CensoringWeights(y, y_train, censoring, preset, mass=sampling)
    if stderr is not None:
        one_of("stderr", stderr, STDERR)
    own = weights.own and preset.g_ties == "events_first" and y.entry is None
    own &= preset.event_limit == "left" and preset.censored_at_t != "event_free"
    own &= preset.g_floor == 0 and method == "ipcw"
    if stderr == "auto":
        stderr = "estimated" if own else "fixed"
    if stderr == "estimated" and not own:
        raise InputError(
            "stderr='estimated' needs method='ipcw', G from the test subjects themselves, and left "
            "limits of G; use stderr='fixed'"
        )
    until = np.inf
    if isinstance(predicted, SurvivalCurves) and predicted.tail == "nan":
        open_end = check_curves(predicted, y).last_survival > 0
        until = float(np.min(predicted.last_time, where=open_end, initial=np.inf))
    setting = AucSetting(
        y, mass, method, preset, weights, check_times(times), on_unsupported, stderr, until,
        asked_for.name, asked_for.competes, controls,
    )  # fmt: skip
    return setting, predicted
