"""Metrics that are means, over all chunks so far: terms that are kept, or sums of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from .._tools.arrays import Floats, repeated, stored_once
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..metrics.details import Details, unless_rounding
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from ..metrics.support import Support
from ..metrics.terms import Terms, root_of
from .g_sums import GBins, GSums
from .moments import Moments


class Baseline(Enum):
    """Kaplan-Meier of the reference set among the models: no model can be called the same."""

    KAPLAN_MEIER = "Kaplan-Meier"


BASELINE = Baseline.KAPLAN_MEIER
ModelName = str | Baseline
#: Terms of all models on the subjects of a chunk; an error where a metric is undefined there.
TermsByModel = dict[ModelName, Terms | UndefinedMetricError]


class KeptMeans:
    """Terms of all models under one metric, subject by subject; all subjects come in one chunk."""

    def __init__(self, terms: TermsByModel) -> None:
        self._terms = terms

    @property
    def models(self) -> tuple[ModelName, ...]:
        """Models that were scored."""
        return tuple(self._terms)

    def measured(self, model: ModelName, metric: Metric, problem: Problem) -> Details:
        """Return the metric of one model on all subjects; raise where it is undefined."""
        terms = self._terms[model]
        if isinstance(terms, UndefinedMetricError):
            raise terms
        return metric.mean_of(terms, problem)


class SummedMeans:
    """Sums over subjects of all models' numerators and of the denominator that they share.

    `bins` are the times at which sums are kept apart, where G is estimated from the test subjects;
    `rules` are ties and limits of G. Without `spread` no standard errors will be asked for.
    """

    def __init__(
        self,
        models: Iterable[ModelName],
        n_boot: int = 0,
        bins: GBins | None = None,
        rules: dict[str, str] | None = None,
        spread: bool = True,
    ) -> None:
        self.models = tuple(models)
        self._spread = spread
        self.bins, self._rules = bins if spread else None, rules or {}
        self.by_time = None if self.bins is None else GSums(len(self.models) + 1, self.bins)
        self.moments = Moments(len(self.models) + 1)
        self.convention: dict[ModelName, dict[str, Any]] = {}
        self.support = {model: Support() for model in self.models}
        self.undefined: dict[ModelName, str] = {}
        #: Sums of resampled subjects, (n_boot, models + 1).
        self.replicates: Floats = np.zeros((n_boot, len(self.models) + 1))

    def add(self, found: TermsByModel, y: Outcomes, counts: Floats | None = None) -> None:
        """Add a chunk of subjects; `counts` (n_boot, n) say how often they are drawn."""
        listed: list[Terms | None] = []
        shared: Floats | None = None
        for model in self.models:
            terms = found[model]
            if isinstance(terms, UndefinedMetricError):
                self.undefined.setdefault(model, str(terms))
                listed.append(None)
                continue
            if self._ends_elsewhere(model, terms.convention):
                listed.append(None)
                continue
            # A step of the grid that meets one of a model's curves moves by the last bit.
            if shared is not None and not np.allclose(shared, terms.s, rtol=1e-9, atol=1e-9):
                raise InputError(
                    "terms must give the same s (what is divided by) for all models and for "
                    "Kaplan-Meier of the reference set, where sums are added up (in streams, and "
                    "above 100,000 subjects); s must not depend on the prediction"
                )
            shared = terms.s
            self.convention.setdefault(model, terms.convention)
            self.support[model].merge(terms.support)
            listed.append(terms)
        self._add_by_time(listed, shared, y)
        unknown = repeated(np.nan, len(y))
        columns = [unknown if terms is None else terms.a for terms in listed]
        if counts is None and not y.weighted:
            alike = shared is not None and stored_once(shared)
            same = float(shared[0]) if alike and shared is not None else None
            if not alike:
                columns.append(unknown if shared is None else shared)
            self.moments.update_columns(columns, same, self._spread)
            return
        values = np.array([*columns, unknown if shared is None else shared])
        if counts is not None:
            with np.errstate(invalid="ignore"):  # no weight, infinite loss
                self.replicates += np.einsum("bn,dn->bd", counts, values)
        if not y.weighted:
            self.moments.update(values)
            return
        present = y.weight > 0
        frequency = y.weight[present]
        self.moments.update(values[:, present] / frequency, frequency)

    def _ends_elsewhere(self, model: ModelName, convention: dict[str, Any]) -> bool:
        """Whether a score ends at another time than that of earlier chunks; it has no value then.

        Curves that refuse to go on past their grid cut the score off where the first of them ends.
        """
        ends: list[Any] = [
            known.get("horizon") for known in (self.convention.get(model, {}), convention)
        ]
        if None in ends or ends[0] == ends[1]:
            return False
        message = (
            f"curves: tail='nan' ends the score at {min(ends):g} for some subjects and at "
            f"{max(ends):g} for others, which chunks cannot add up; choose another tail for the "
            "curves, or predict until they reach zero"
        )
        self.undefined.setdefault(model, message)
        return True

    def _add_by_time(self, listed: list[Terms | None], shared: Floats | None, y: Outcomes) -> None:
        """Add to the sums by time and status, if G is estimated from the test subjects."""
        if self.bins is None or self.by_time is None or shared is None:
            return
        # Under a horizon later outcomes are events at tau.
        tau = next((terms.convention.get("tau") for terms in listed if terms is not None), None)
        seen = y.any_cause().restricted(tau)
        time, event = seen.time, seen.event
        rows: Any = slice(None)
        by_entry = self.bins.by_entry
        alike = stored_once(shared) and not by_entry
        known = [terms for terms in listed if terms is not None]
        if alike and all(terms.all_moves for terms in known):
            rows = np.flatnonzero(event)  # nobody else weighs anything
            time, event = time[rows], event[rows]
        place = self.bins.place(time)
        entered = self.bins.entered(seen) if by_entry else None
        for k, terms in enumerate(listed):
            if terms is not None:
                pulls = True if terms.all_moves else terms.pulls
                self.by_time.update(k, place, event, terms.a[rows], pulls, entered)
        if alike:
            self.by_time.alike = float(shared[0])
        else:
            moving = True if known and known[0].s_moves else None
            self.by_time.update(len(listed), place, event, shared, moving, entered)

    def stderr(self, pull: Floats) -> float:
        """Return the standard error of a statistic to which a subject contributes pull @ z."""
        if not self._spread:
            return float("nan")
        if self.bins is None or self.by_time is None:
            return self.moments.stderr(pull)
        return self.moments.stderr(pull, self.by_time.more_variance(pull, self.bins, self._rules))

    def merge(self, other: SummedMeans) -> None:
        """Add the subjects of another part."""
        self.moments.merge(other.moments)
        lost = [
            k
            for k, model in enumerate(self.models)
            if self._ends_elsewhere(model, other.convention.get(model, {}))
        ]
        if self.by_time is not None and other.by_time is not None:
            self.by_time.merge(other.by_time, lost)
        for model in self.models:
            self.support[model].merge(other.support[model])
            if model in other.convention:
                self.convention.setdefault(model, other.convention[model])
            if model in other.undefined:
                self.undefined.setdefault(model, other.undefined[model])
        self.replicates = self.replicates + other.replicates

    def measured(self, model: ModelName, metric: Metric, problem: Problem) -> SumMeasured:
        """Return the metric of one model on all subjects; raise where it is undefined."""
        if model in self.undefined:
            raise UndefinedMetricError(self.undefined[model])
        k, support = self.models.index(model), self.support[model].result()
        convention = dict(self.convention.get(model, {}))
        metric.refuse_nobody(float(self.moments.total[-1]), convention, support)
        value = self.moments.ratio(k)
        if metric.root:
            value, convention["root"] = root_of(value), True
        return SumMeasured(value, convention, support, self, k, metric.root)

    def replicates_of(self, measured: SumMeasured) -> Floats | None:
        """Return the bootstrap replicates of a metric; None where none were drawn."""
        if not self.replicates.shape[0] or not np.isfinite(measured.value):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.replicates[:, measured.index] / self.replicates[:, -1]
            return np.sqrt(values) if measured.root else values


Means = KeptMeans | SummedMeans


@dataclass(frozen=True)
class SumMeasured:
    """A metric from sums: what an evaluation needs of it, without the subjects."""

    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    sums: SummedMeans
    index: int
    root: bool = False
    psi: None = None
    frequency: None = None

    @property
    def pull(self) -> Floats:
        """What one subject's numbers change in the value."""
        pull = self.sums.moments.ratio_pull(self.index)
        # A root of exactly 0 has contributions of 0, as its square has: nobody has a loss.
        return pull / (2 * self.value) if self.root and self.value > 0 else pull

    @property
    def stderr(self) -> float:
        """Analytic standard error, reference set fixed."""
        if not np.isfinite(self.value):
            return float("nan")
        return self.sums.stderr(self.pull)

    def stderr_against(self, other: Any) -> float:
        """Return the standard error of the difference from another model on the same subjects."""
        if not (np.isfinite(self.value) and np.isfinite(other.value)):
            return float("nan")
        found = self.sums.stderr(self.pull - other.pull)
        return unless_rounding(found, (self.stderr, other.stderr), (self.value, other.value))
