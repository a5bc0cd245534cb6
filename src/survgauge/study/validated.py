"""What an internal validation found: apparent and corrected values with intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.plain import as_frame, plain
from .._tools.text_tables import columns, number
from ..evaluation.scales import scale_of
from ..evaluation.when import when
from ..inference import FEWEST_REPLICATES, Interval, bootstrap_stderr, interval
from ..metrics.registry import Metric

NAN = float("nan")
#: Share of failed fits from which on the text warns that the rest may be a selection.
_MANY = 0.05


@dataclass(frozen=True)
class Failure:
    """A fit that raised an error: the number of its sample (or repeat) from 0, and what it said."""

    number: int
    message: str


@dataclass(frozen=True, eq=False)
class Fit:
    """Metrics of a model that was fitted again, NaN where one is undefined."""

    #: Sample or repeat that it belongs to, from 0.
    number: int
    #: On the sample that it was fitted to (NaN for the cross-validation), and on all subjects or
    #: the fold that was left out; of shape (k,).
    training: Floats
    test: Floats
    #: Of one model of a sample of the sample, for the standard error; of shape (k,).
    optimism: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """Result of `validate`.

    Attributes
    ----------
    method : str
        "bootstrap" or "cv".
    metrics : tuple of Metric
        What was measured.
    apparent : ndarray of shape (k,)
        Metrics of the model of all subjects on these subjects.
    fits : list of Fit
        The models that were fitted again: ``number``, ``training``, ``test``.
    failures : list of Failure
        Fits that raised an error: ``number``, ``message``.
    undefined : dict
        Why a metric has no apparent value, by its name.
    times : dict
        Time at which a metric is read, by its name; None where it is about no single time.
    confidence : float or None
        Level of the intervals.
    subjects, events : int
        Size of the data set.
    seed : int
        Of the samples.
    """

    method: str
    metrics: tuple[Metric, ...]
    apparent: Floats
    fits: list[Fit]
    failures: list[Failure]
    undefined: dict[str, str]
    times: dict[str, float | None]
    confidence: float | None
    subjects: int
    events: int
    seed: int

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        return [self._row(k, metric) for k, metric in enumerate(self.metrics)]

    def _row(self, k: int, metric: Metric) -> dict[str, Any]:
        values = np.array([(fit.training[k], fit.test[k], fit.optimism[k]) for fit in self.fits])
        training, test, inner = values.reshape(-1, 3).T
        known = np.isfinite(test) & (np.isfinite(training) | (self.method == "cv"))
        apparent, means = float(self.apparent[k]), (NAN, NAN)
        if known.any():
            means = float(training[known].mean()), float(test[known].mean())
        optimism = (means[0] if self.method == "bootstrap" else apparent) - means[1]
        if self.confidence is None:
            stderr = NAN
        elif self.method == "bootstrap":
            stderr = _two_stage_stderr(training[known] - test[known], inner[known])
        else:
            stderr = self._folds_stderr(test[known])
        found = self._interval(metric, apparent - optimism, stderr)
        return {
            "metric": metric.name,
            "time": self.times[metric.name],
            "apparent": apparent,
            "training": means[0],
            "test": means[1],
            "optimism": optimism,
            "corrected": found.value,
            "low": found.low,
            "high": found.high,
            "stderr": stderr,
            "direction": metric.direction,
            "unit": metric.unit,
            "fits": int(known.sum()),
        }

    def _interval(self, metric: Metric, corrected: float, stderr: float) -> Interval:
        found = interval(corrected, stderr, self.confidence or 0.95, scale_of(metric.interval))
        return found.within(metric.range)

    def _folds_stderr(self, values: Floats) -> float:
        """Standard error of a mean over folds that share their training subjects."""
        if values.size < 2:
            return NAN
        folds = max(sum(fit.number == r for fit in self.fits) for r in self._numbers)
        share = 1.0 / (folds - 1) if folds > 1 else NAN
        return float(np.sqrt(np.var(values, ddof=1) * (1.0 / values.size + share)))

    @property
    def _numbers(self) -> list[int]:
        """Samples or repeats that were begun."""
        return sorted({*(fit.number for fit in self.fits), *(f.number for f in self.failures)})

    @property
    def table(self) -> Any:
        """Frame with a row per metric.

        Columns: metric, time, apparent, training, test (means over the fits; training is missing
        for the cross-validation), optimism, corrected, low, high, stderr, direction, unit, fits
        (how many had a value).
        """
        return as_frame(self.rows())

    @property
    def text(self) -> str:
        """The table in words and numbers; `str()` gives the same."""
        n = len(self.failures) + len(self.fits)
        level = "CI" if self.confidence is None else f"{self.confidence * 100:g} % CI"
        times = f"{self.subjects:,} subjects, {self.events:,} events"
        how = f"{n} bootstrap samples"
        if self.method == "cv":
            how = f"{len(self._numbers)} repeats of a cross-validation, {n} fits"
        rows = []
        for row in self.rows():
            limits = f"{number(row['low'])} to {number(row['high'])}"
            shown = [number(row[name]) for name in ("apparent", "optimism", "corrected")]
            name = f"{row['metric']} {when(row)}".rstrip()
            rows.append([name, *shown, "-" if np.isnan(row["low"]) else limits])
        body = columns(["metric", "apparent", "optimism", "corrected", level], rows)
        return "\n".join([f"Internal validation: {times}; {how}.", "", body, *self._remarks(n)])

    def _remarks(self, fits: int) -> list[str]:
        """Sentences on what failed or is undefined."""
        found = [f"{name} has no value: {reason}." for name, reason in self.undefined.items()]
        if self.failures:
            first = self.failures[0].message
            easier = "; the others may be an easier selection"
            many = easier if len(self.failures) > _MANY * fits else ""
            found.append(f"{len(self.failures)} of {fits} fits failed (first: {first}){many}.")
        return ["", *found] if found else []

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return {
            "method": self.method,
            "confidence": self.confidence,
            "subjects": self.subjects,
            "events": self.events,
            "random_state": self.seed,
            "metrics": [plain(row) for row in self.rows()],
            "failures": [asdict(failure) for failure in self.failures],
            "undefined": dict(self.undefined),
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"Validation({self.method}: {len(self.metrics)} metrics, {len(self.fits)} fits, "
            f"{len(self.failures)} failed)"
        )


def _two_stage_stderr(error: Floats, inner: Floats) -> float:
    """Standard error of an apparent value from which an estimated optimism is taken.

    `error` is that of the apparent value of each sample, `inner` one optimism found within it.
    """
    spread = bootstrap_stderr(error)
    known = np.isfinite(inner)
    if known.sum() < FEWEST_REPLICATES or not spread > 0:
        return spread
    slope = np.cov(error[known], inner[known])[0, 1] / np.var(error[known], ddof=1)
    return spread * (1.0 - min(float(slope), 0.0))
