"""One cell of the table of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._tools.arrays import Floats
from ..inference import Comparison, Withheld, bootstrap_stderr
from ..metrics.details import Clusters, paired_error
from ..metrics.registry import Measured, Metric

NAN = float("nan")


@runtime_checkable
class Paired(Protocol):
    """What a metric gives that keeps sums over subjects instead of their contributions."""

    def stderr_against(self, other: Measured) -> float:
        """Return the standard error of the difference from another model."""


def difference_error(a: Measured, b: Measured, clusters: Clusters | None) -> float:
    """Return the standard error of the difference between two models on the same subjects."""
    return a.stderr_against(b) if isinstance(a, Paired) else paired_error(a, b, clusters)


def withheld_columns(found: Withheld | None) -> dict[str, Any]:
    """Return the columns that say why there is no interval, and the range over assumptions."""
    if found is None:
        return {"withheld": "", "tail_low": NAN, "tail_high": NAN}
    return {"withheld": found.reason, "tail_low": found.low, "tail_high": found.high}


@dataclass(frozen=True)
class Score:
    """One cell of the table, with what its comparisons need."""

    model: str
    metric: Metric
    group: Any
    measured: Measured | None
    stderr: float = NAN
    low: float = NAN
    high: float = NAN
    replicates: Floats | None = None
    #: The same loss of Kaplan-Meier of the reference set, predicted for everybody.
    baseline: float = NAN
    #: The difference from that baseline, where there are contributions to tell its error by.
    against_baseline: Comparison | None = None
    #: Where the limits come from: normal, log, logit, edge, or none where there are no limits.
    interval: str = "none"
    #: Who was sampled together; None: everybody by itself.
    clusters: Clusters | None = None
    #: Time that the metric is read at; None: it is about no single time.
    time: float | None = None
    #: Where the clock of the metric stops; None: it does not stop.
    until: float | None = None
    #: The metric under each assumed tail, where it is an error in time without a horizon, and that
    #: of the baseline; see `survgauge.evaluation.tails`.
    tails: tuple[float, ...] = ()
    baseline_tails: tuple[float, ...] = ()
    #: Why there is no interval, where the assumed tail decides.
    withheld: Withheld | None = None

    @property
    def value(self) -> float:
        """The metric, NaN where it is undefined."""
        return NAN if self.measured is None else float(self.measured.value)

    @property
    def skill(self) -> float:
        """1 - loss / loss of the baseline; NaN where one of them is undefined or infinite.

        A baseline whose loss is zero but for rounding has no skill either.
        """
        known = np.isfinite(self.value) and 1e-12 * abs(self.value) < self.baseline < np.inf
        return 1.0 - self.value / self.baseline if known else NAN

    @property
    def spread(self) -> float:
        """Standard error for tests and intervals: NaN where the assumed tail decides."""
        return self.stderr if self.withheld is None else NAN

    @property
    def freedom(self) -> float:
        """Degrees of freedom of standard errors: infinite where everybody was sampled alone."""
        return float("inf") if self.clusters is None else self.clusters.freedom

    def stderr_against(self, other: Score) -> float:
        """Standard error of the difference from another model on the same subjects."""
        a, b = self.measured, other.measured
        if a is None or b is None:
            return NAN
        if self.replicates is not None and other.replicates is not None:
            with np.errstate(invalid="ignore"):  # two infinite ones do not differ by a number
                return bootstrap_stderr(self.replicates - other.replicates)
        return difference_error(a, b, self.clusters)

    def row(self) -> dict[str, Any]:
        """Return the cell as a row of the table."""
        convention = {} if self.measured is None else self.measured.convention
        row = {
            "model": self.model,
            "metric": self.metric.name,
            "time": self.time,
            "until": self.until,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "stderr": self.stderr,
            "interval": self.interval,
            "skill": self.skill,
            **withheld_columns(self.withheld),
            "direction": self.metric.direction,
            "unit": self.metric.unit,
        }
        if self.group is not None:
            row = {"group": self.group, **row}
        return {**row, "convention": dict(convention)}
