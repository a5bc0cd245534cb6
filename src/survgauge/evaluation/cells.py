"""One cell of the table: a metric of a model, its interval, and how it compares with others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..metrics.registry import Measured, Metric
from ..metrics.score import (
    Clusters,
    Interval,
    events_behind,
    interval,
    paired_error,
    standard_error,
)
from ..metrics.task import Task
from .inference import Comparison, Withheld, bootstrap_stderr, withheld_columns
from .warnings import EvaluationWarning, warned

NAN = float("nan")
#: Above this many subjects nothing of their size is kept between metrics.
CONTRIBUTIONS_LIMIT = 100_000
#: An interval over more than this share of the range of a metric tells nothing,
MOST_OF_RANGE = 0.8
#: nor does one whose upper limit is this many times the lower, where the range has no end.
MOST_TIMES_LOW = 50.0


def passing(task: Task) -> Task:
    """Return the question itself about few subjects, and one with look-ups of its own about many.

    Tables of many subjects are as large as their outcomes: they end with what looks at them.
    """
    return task if len(task.y) <= CONTRIBUTIONS_LIMIT else task.anew()


@dataclass(frozen=True)
class TableCell:
    """One cell of the table, with what its comparisons need."""

    model: str
    metric: Metric
    group: Any
    #: The metric, NaN where it is undefined; how it was computed, and what the data covered.
    value: float = NAN
    convention: dict[str, Any] = field(default_factory=dict)
    support: dict[str, Any] = field(default_factory=dict)
    stderr: float = NAN
    low: float = NAN
    high: float = NAN
    #: Where the limits come from: normal, log, logit, edge, or none where there are no limits.
    interval: str = "none"
    #: Standard errors of the differences from other models on the same subjects.
    errors: dict[str, float] = field(default_factory=dict)
    #: The same loss of Kaplan-Meier of the reference set, predicted for everybody.
    baseline: float = NAN
    #: The difference from that baseline, where there are contributions to tell its error by.
    against_baseline: Comparison | None = None
    #: Degrees of freedom of standard errors: infinite where everybody was sampled alone.
    freedom: float = float("inf")
    #: Time that the metric is read at; None: it is about no single time.
    time: float | None = None
    #: Up to which time the metric looks; None: it does not stop.
    until: float | None = None
    #: The metric under each assumed tail, where it is an error in time without a horizon, and that
    #: of the baseline; see `survgauge.evaluation.tails`.
    tails: tuple[float, ...] = ()
    baseline_tails: tuple[float, ...] = ()
    #: Why there is no interval, where the assumed tail decides.
    withheld: Withheld | None = None

    @property
    def skill(self) -> float:
        """1 - loss / loss of the baseline; NaN where one of them is undefined or infinite.

        A baseline whose loss is zero but for rounding has no skill either.
        """
        defined = np.isfinite(self.value) and 1e-12 * abs(self.value) < self.baseline < np.inf
        return 1.0 - self.value / self.baseline if defined else NAN

    @property
    def spread(self) -> float:
        """Standard error for tests and intervals: NaN where the assumed tail decides."""
        return self.stderr if self.withheld is None else NAN

    def without_interval(self, withheld: Withheld | None = None) -> TableCell:
        """Return the cell without limits, and the reason where an assumption decides."""
        return replace(self, low=NAN, high=NAN, interval="none", withheld=withheld)

    def row(self) -> dict[str, Any]:
        """Return the cell as a row of the table."""
        group = {} if self.group is None else {"group": self.group}
        names = ("time", "until", "value", "low", "high", "stderr", "interval", "skill")
        return {
            **group,
            "model": self.model,
            "metric": self.metric.name,
            **{name: getattr(self, name) for name in names},
            **withheld_columns(self.withheld),
            "direction": self.metric.direction,
            "unit": self.metric.unit,
            "convention": dict(self.convention),
        }


def difference_error(a: Measured, b: Measured, clusters: Clusters | None) -> float:
    """Return the standard error of the difference between two models on the same subjects."""
    own = getattr(a, "stderr_against", None)  # of what keeps sums in place of contributions
    found: float = paired_error(a, b, clusters) if own is None else own(b)
    return found


def told(cell: TableCell) -> tuple[TableCell, list[EvaluationWarning]]:
    """Leave out an interval that covers most of what the metric can be, and say so."""
    least, most = cell.metric.range
    if np.isfinite(most - least):
        wide = cell.high - cell.low > MOST_OF_RANGE * (most - least)
    else:
        wide = least == 0 and cell.high > MOST_TIMES_LOW * cell.low
    if not wide:
        return cell, []
    ends = {"low": cell.low, "high": cell.high}
    return cell.without_interval(), [
        warned("too-few-to-tell", cell.model, cell.metric.name, **ends)
    ]


def interval_of(
    metric: Metric,
    measured: Measured,
    replicates: Floats | None,
    confidence: float,
    clusters: Clusters | None,
) -> Interval:
    """Return a value with its interval, whatever its standard error comes from."""
    if metric.interval == "own":  # whose distribution supports clusters
        distribution = getattr(measured, "distribution", None)
        low, high = (NAN, NAN) if distribution is None else distribution.limits(confidence)
        return Interval(measured.value, measured.stderr, low, high, "own")
    stderr, size = measured.stderr, events_behind(measured.support)
    freedom = measured.support.get("freedom", float("inf"))
    if clusters is not None:
        own, size, freedom = measured.contributions, min(size, clusters.number), clusters.freedom
        stderr = NAN if own is None else standard_error(own, measured.frequency, clusters)
    if replicates is not None:
        stderr = bootstrap_stderr(replicates)
        freedom = float("inf") if clusters is None else clusters.freedom
    value, scale = float(measured.value), metric.interval
    return interval(value, stderr, confidence, scale, size=size, freedom=freedom)
