"""What an internal validation draws (who is fitted to, who tests), and what it found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, numbers, whole_number
from ..._tools.random import stream
from ..._tools.text import as_frame, columns, number, plain
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...evaluation.inference import FEWEST_REPLICATES, bootstrap_stderr, interval
from ...evaluation.meta_analysis import scale_of
from ...evaluation.phrases import when
from ...metrics.registry import Metric

NAN = float("nan")
#: Share of failed fits from which on the text warns that the rest may be a selection.
_MANY = 0.05
#: Bootstrap samples, and repeats of the cross-validation, unless the caller says.
_USUAL = {"bootstrap": 200, "cv": 10}


@dataclass(frozen=True)
class Split:
    """One fit: number of the sample (or repeat), rows to fit to, rows to test, an inner sample."""

    number: int
    fitted: Ints
    test: Ints
    inner: Ints | None = None


def all_splits(
    method: str, resamples: Any, folds: int, y: Outcomes, seed: int, inner: bool
) -> list[Split]:
    """Rows to fit to and rows to test, of every fit."""
    n, everybody = len(y), np.arange(len(y))
    folds = whole_number(folds, "folds", 2)
    if resamples is None:
        resamples = _USUAL[method]
    if isinstance(resamples, list | tuple) or np.ndim(resamples) == 2:
        drawn = [_labels(given, n, method, k) for k, given in enumerate(resamples)]
        if not drawn:
            raise InputError("resamples must hold at least one array; got none")
    else:
        number = whole_number(resamples, "resamples", 1, "a whole number, or a list of arrays")
        if method == "bootstrap":
            rng = stream(seed, "validate")
            drawn = [rng.integers(0, n, n) for _ in range(number)]
        else:
            drawn = [_folds(y, folds, stream(seed, "validate", k)) for k in range(number)]
    if method == "bootstrap":
        again = stream(seed, "validate", "inner")
        return [
            Split(k, rows, everybody, rows[again.integers(0, n, n)] if inner else None)
            for k, rows in enumerate(drawn)
        ]
    return [
        Split(k, np.flatnonzero(fold != label), np.flatnonzero(fold == label))
        for k, fold in enumerate(drawn)
        for label in np.unique(fold)
    ]


def _folds(y: Outcomes, folds: int, rng: np.random.Generator) -> Ints:
    """Fold of each subject: equal numbers of events and of censored subjects, at random.

    Not `SurvivalKFold`: folds that are alike in times too have no pairs of subjects with close
    times, which are the hardest to order, so that C-indices come out too high (0.007 in folds of
    20 subjects).
    """
    if len(y) < folds:
        raise InputError(f"y must have at least folds = {folds} subjects; got {len(y)}")
    order = rng.permutation(len(y))
    order = order[np.argsort(~y.event[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = np.arange(len(y)) % folds
    return fold


def _labels(given: Any, n: int, method: str, number: int) -> Ints:
    """Rows of a bootstrap sample, or the fold of every subject, as a caller gives them."""
    name = f"resamples[{number}]"
    labels = numbers(given, name)
    if labels.shape != (n,) or (labels != np.round(labels)).any():
        raise InputError(
            f"{name} must hold {n} whole numbers, one per subject; got shape {labels.shape}"
        )
    if method == "bootstrap" and not (labels.min() >= 0 and labels.max() < n):
        raise InputError(f"{name} must hold rows from 0 to {n - 1}; got {labels.max():g}")
    if method == "cv" and np.unique(labels).size < 2:
        raise InputError(f"{name} must have at least two folds; got one")
    return labels.astype(np.intp)


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
        Size of the dataset.
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
        scale = scale_of(metric.interval)
        found = interval(apparent - optimism, stderr, self.confidence or 0.95, scale)
        found = found.within(metric.range)
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
