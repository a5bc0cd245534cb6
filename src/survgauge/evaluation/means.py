"""Metrics that are means, over all chunks so far: terms that are kept, or sums of them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from .._tools.arrays import Floats, repeated, stored_once
from .._tools.long_column import LongColumn
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..metrics.details import Details, unless_rounding
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from ..metrics.support import Support
from ..metrics.terms import Terms, root_of
from ..reference.estimated_g import Pulls
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


class GTerms:
    """Terms of all models under one metric whose weights 1/G come from the test subjects.

    What a subject contributes through G is known in the end only, and differs between any two times
    of follow-up: so terms are kept subject by subject, as columns.
    """

    def __init__(self, models: Iterable[ModelName]) -> None:
        #: Number of the first subject of each part.
        self._starts: list[int] = []
        self._s = LongColumn()
        self._s_moves = False
        #: By model: `a` of its terms, and of their pulls `event` and `own`.
        self._columns = {model: (LongColumn(), LongColumn(), LongColumn()) for model in models}
        #: By model: times, and what moves with the weights of those event-free past them.
        self._survivors: dict[ModelName, tuple[Floats, Floats]] = {}

    def add(self, found: dict[ModelName, Terms], start: int) -> None:
        """Add a chunk of subjects from row `start` on."""
        if not found:
            return  # nobody has a value
        self._starts.append(start)
        for model, terms in found.items():
            pulls = terms.pulls if isinstance(terms.pulls, Pulls) else None
            if pulls is not None:
                self._pull(model, pulls.times, pulls.survivors)
            none = repeated(0.0, terms.a.size)
            event = none if pulls is None else pulls.event
            own = none if pulls is None or pulls.own is None else pulls.own
            for column, part in zip(self._columns[model], (terms.a, event, own), strict=True):
                column.add(part)
        self._s.add(terms.s)
        self._s_moves = terms.s_moves

    def _pull(self, model: ModelName, times: Floats, sums: Floats) -> None:
        known = self._survivors[model][1] if model in self._survivors else 0.0
        self._survivors[model] = times, known + sums

    def merge(self, other: GTerms, lost: Container[ModelName]) -> None:
        """Add the subjects of another part; models that are `lost` have no value any more."""
        self._starts += other._starts
        self._s.extend(other._s)
        self._s_moves |= other._s_moves
        for model, columns in other._columns.items():
            if model in lost:
                continue
            for column, part in zip(self._columns[model], columns, strict=True):
                column.extend(part)
            if model in other._survivors:
                self._pull(model, *other._survivors[model])

    def joined(self, model: ModelName, convention: dict[str, Any], support: Support) -> Terms:
        """Return the terms of all subjects, in the order of their rows."""
        order = np.argsort(self._starts, kind="stable").tolist()
        a, event, own = (column.whole(order) for column in self._columns[model])
        pulls = None
        if model in self._survivors:
            times, sums = self._survivors[model]
            pulls = Pulls(event, sums, times, None if stored_once(own) else own)
        return Terms(a, self._s.whole(order), convention, support, pulls, self._s_moves)


class SummedMeans:
    """Sums over subjects of all models' numerators and of the denominator that they share.

    With `by_g` weights 1/G come from the test subjects, and standard errors from `GTerms`. Without
    `spread` no standard errors will be asked for.
    """

    def __init__(
        self,
        models: Iterable[ModelName],
        n_boot: int = 0,
        by_g: bool = False,
        spread: bool = True,
    ) -> None:
        self.models = tuple(models)
        self._spread = spread
        self.kept = GTerms(self.models) if by_g and spread else None
        self.moments = Moments(len(self.models) + 1)
        self.convention: dict[ModelName, dict[str, Any]] = {}
        self.support = {model: Support() for model in self.models}
        self.undefined: dict[ModelName, str] = {}
        #: Sums of resampled subjects, (n_boot, models + 1).
        self.replicates: Floats = np.zeros((n_boot, len(self.models) + 1))

    def add(
        self, found: TermsByModel, y: Outcomes, counts: Floats | None = None, start: int = 0
    ) -> None:
        """Add a chunk of subjects from row `start` on.

        `counts` (n_boot, n) say how often they are drawn.
        """
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
        if self.kept is not None:
            defined = zip(self.models, listed, strict=True)
            self.kept.add({model: terms for model, terms in defined if terms is not None}, start)
            if counts is None:
                return
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

    def stderr(self, pull: Floats) -> float:
        """Return the standard error of a statistic to which a subject contributes pull @ z."""
        return self.moments.stderr(pull) if self._spread else float("nan")

    def merge(self, other: SummedMeans) -> None:
        """Add the subjects of another part."""
        self.moments.merge(other.moments)
        lost = [
            model
            for model in self.models
            if self._ends_elsewhere(model, other.convention.get(model, {}))
        ]
        if self.kept is not None and other.kept is not None:
            self.kept.merge(other.kept, lost)
        for model in self.models:
            self.support[model].merge(other.support[model])
            if model in other.convention:
                self.convention.setdefault(model, other.convention[model])
            if model in other.undefined:
                self.undefined.setdefault(model, other.undefined[model])
        self.replicates = self.replicates + other.replicates

    def measured(self, model: ModelName, metric: Metric, problem: Problem) -> SumMeasured | Details:
        """Return the metric of one model on all subjects; raise where it is undefined."""
        if model in self.undefined:
            raise UndefinedMetricError(self.undefined[model])
        if self.kept is not None:
            about = self.convention.get(model, {}), self.support[model]
            return metric.mean_of(self.kept.joined(model, *about), problem)
        k, support = self.models.index(model), self.support[model].result()
        convention = dict(self.convention.get(model, {}))
        metric.refuse_nobody(float(self.moments.total[-1]), convention, support)
        value = self.moments.ratio(k)
        if metric.root:
            value, convention["root"] = root_of(value), True
        return SumMeasured(value, convention, support, self, k, metric.root)

    def replicates_of(self, model: ModelName, root: bool) -> Floats | None:
        """Return the bootstrap replicates of a metric; None where none were drawn."""
        if not self.replicates.shape[0]:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.replicates[:, self.models.index(model)] / self.replicates[:, -1]
            return np.sqrt(values) if root else values


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
