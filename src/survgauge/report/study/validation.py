"""Internal validation: how well a way of fitting will do on new subjects, from one dataset."""

from __future__ import annotations

import copy
import sys
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, flag, numbers, positive, probability, whole_number
from ..._tools.frames import in_memory, rows_of
from ..._tools.random import check_seed, stream
from ..._tools.text import as_frame, columns, number, plain
from ...data.estimators import KINDS, outcomes_for, predict
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, MissingExtraError, SurvgaugeError, UndefinedMetricError, one_of
from ...evaluation.call import chosen_metrics, under_entry
from ...evaluation.inference import FEWEST_REPLICATES, bootstrap_stderr, interval
from ...evaluation.meta_analysis import scale_of
from ...evaluation.phrases import when
from ...metrics.past_curve import past_warning
from ...metrics.registry import Metric
from ...metrics.task import Task

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


METHODS = ("bootstrap", "cv")
#: Seconds between two lines of progress.
_EVERY = 5.0


def validate(
    model: Any,
    X: Any,
    y: Any,
    *,
    metrics: Iterable[str] | str | None = None,
    method: str = "bootstrap",
    resamples: int | Iterable[Any] | None = None,
    folds: int = 10,
    time: float | None = None,
    tau: float | None = None,
    threshold: float | None = None,
    predicts: str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: bool = False,
) -> Validation:
    r"""Validate a way of fitting on the very subjects that it is fitted to.

    A model looks better on its own training subjects than on new ones. With
    ``method="bootstrap"`` that optimism is estimated and taken off (Harrell): the model is fitted
    again to B samples of the subjects, drawn with replacement, and

    .. math:: corrected = apparent - \frac1B \sum_b (training_b - test_b),

    where apparent is the metric of the model on all subjects, training_b that of the model of
    sample b on its own sample, and test_b that of the same model on all subjects. With
    ``method="cv"`` the corrected value is the mean over the folds of a repeated cross-validation.

    Parameters
    ----------
    model : callable or estimator
        ``model(X, y)`` fits and returns a function of features that gives curves, times or
        `RiskScores`. Or an estimator with `fit` that `scorer` takes: pipelines, searches,
        `sg.models`. Everything that looks at the outcomes (choice of features, tuning) must
        happen inside.
    X : array-like of shape (n, p) or frame
        Features.
    y : outcomes
        Outcomes without weights; they are handed to the model in the form that they are given in.
    metrics : names, optional
        See `available_metrics`. By default those of `evaluate` that have a value, without the tests
        and without the time errors that have no horizon.
    method : {"bootstrap", "cv"}
        Optimism correction by the bootstrap, or repeated cross-validation.
    resamples : int or list of arrays of shape (n,), optional
        Number of bootstrap samples (200) or of repeats of the cross-validation (10). Or the samples
        themselves: for the bootstrap the rows of each one (from 0), for the cross-validation the
        number of the fold of every subject, one array per repeat.
    folds : int
        Folds of the cross-validation, drawn at random with equal numbers of events.
    time, tau : float, optional
        What the metrics are asked, as in `evaluate`; the time of interest and the horizon of all
        subjects hold in every sample. One time per call.
    threshold : float, optional
        Predicted risk from which on a subject is treated: `net_benefit`.
    predicts : {None, "curves", "time", "risk"}
        Which prediction of an estimator to use, as in `scorer`.
    confidence : float or None
        Level of the intervals; None for none, which takes half of the time.
    random_state : int
        Seed of the samples.
    n_jobs : int
        Processes that fit at the same time (by joblib); -1: one per core.
    progress : bool
        Whether to say on standard error how many fits are done.

    Returns
    -------
    Validation
        `table`, `rows()`, `failures`, `text`.

    Notes
    -----
    Every model is scored against the outcomes that it was fitted to as the reference set.

    The interval is about the value that the model of all subjects has for new subjects. Where a
    bootstrap sample represents the data and all subjects represent the population, training_b is
    the apparent value and test_b the value for the population, so that the spread of
    :math:`e_b = training_b - test_b` is the error of the apparent value: subjects and fitted models
    vary in it together. The estimated optimism has an error of its own, which goes along with the
    first: data that look good by luck also look as if there were little optimism. One model of a
    sample of each sample gives an optimism :math:`o_b`, and with the slope
    :math:`\beta = cov(e, o) / var(e)` the standard error is :math:`sd(e) (1 - \beta)`: the
    two-stage bootstrap of Noma et al. with one inner sample instead of hundreds. The interval lies
    around the corrected value on the scale of the metric. For the cross-validation the variance is
    that of Nadeau and Bengio, s^2 (1/number of fits + test subjects/training subjects). Simulated
    coverage is in the documentation.

    A fit that raises an error is left out and counted; the fit to all subjects must succeed.

    References
    ----------
    Harrell, Lee and Mark (1996), Multivariable prognostic models, Statistics in Medicine 15. Noma
    et al. (2021), Confidence intervals of prediction accuracy measures for multivariable prediction
    models based on the bootstrap-based optimism correction methods, Statistics in Medicine 40.
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> import survgauge as sg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = sg.Outcomes(rng.exponential(np.exp(-X[:, 0])), rng.random(100) < 0.7)
    >>> def risk_of_first(X, y):
    ...     sign = np.sign(np.corrcoef(X[:, 0], y.time)[0, 1])
    ...     return lambda X: sg.RiskScores(-sign * X[:, 0])
    >>> found = sg.validate(risk_of_first, X, y, metrics="harrell", resamples=20)
    >>> row = found.rows()[0]
    >>> round(row["apparent"], 3), round(row["optimism"], 3), round(row["corrected"], 3)
    (0.706, -0.003, 0.709)
    """
    one_of("method", method, METHODS)
    if predicts is not None:
        one_of("predicts", predicts, KINDS)
    if confidence is not None:
        probability(confidence, "confidence")
    features, given, outcomes = _read(X, y, model)
    seed = check_seed(random_state)
    splits = all_splits(method, resamples, folds, outcomes, seed, confidence is not None)
    jobs = whole_number(n_jobs, "n_jobs", -1)
    if jobs == 0:
        raise InputError("n_jobs must be the number of processes, or -1 for one per core; got 0")
    fit = partial(_fitted, model, features, given, predicts)
    rows = np.arange(len(outcomes))
    try:
        prediction = fit(rows)(rows)
    except SurvgaugeError:
        raise
    except Exception as error:
        raise InputError(
            f"model could not be fitted to all subjects: {type(error).__name__}: {error}"
        ) from error
    time = None if time is None else positive(time, "time")
    whole = Task.of(outcomes, outcomes, time=time, tau=tau, threshold=threshold)
    work = _Work(fit, tuple(_chosen(metrics, prediction, whole)), whole, method)
    apparent, reasons = work.scores(rows, rows, prediction)
    if metrics is None:
        kept = np.flatnonzero(np.isfinite(apparent))
        work = replace(work, metrics=tuple(work.metrics[k] for k in kept))
        apparent, reasons = apparent[kept], {}
    done = list(_run(work, splits, jobs, flag(progress, "progress")))
    return Validation(
        method,
        work.metrics,
        apparent,
        [fit for fit in done if isinstance(fit, Fit)],
        [fit for fit in done if isinstance(fit, Failure)],
        reasons,
        {metric.name: metric.time_of(whole) for metric in work.metrics},
        confidence,
        len(outcomes),
        int(outcomes.event.sum()),
        seed,
    )


def _read(X: Any, y: Any, model: Any) -> tuple[Any, Any, Outcomes]:
    """Features and outcomes of which rows can be taken, and the outcomes as they were read."""
    outcomes = outcomes_for(model, y)
    if outcomes.frequency is not None:
        raise InputError(
            "y must have no weights in validate, which draws subjects; repeat the rows instead"
        )
    if not isinstance(y, Outcomes) and not hasattr(y, "shape"):
        y = outcomes  # a pair of columns or a dictionary: one row of it is no subject
    X = in_memory(X, "X")
    if not hasattr(X, "shape"):
        X = numbers(X, "X", ndim=2)
    shape = tuple(X.shape)
    if len(shape) < 2 or shape[0] != len(outcomes):
        raise InputError(
            f"X must have one row per subject and one column per feature: y has "
            f"{len(outcomes)} subjects, X has shape {shape}"
        )
    return X, y, outcomes


def _fitted(
    model: Any, X: Any, y: Any, predicts: str | None, rows: Ints
) -> Callable[[Ints], Prediction]:
    """Fit to some rows; return a function of rows that predicts."""
    own = rows_of(X, rows), rows_of(y, rows)
    if not hasattr(model, "fit"):
        said = model(*own)
        if not callable(said):
            raise InputError(
                "model(X, y) must return a function of features that predicts; got "
                f"{type(said).__name__}"
            )
        return lambda rows: Prediction.of(said(rows_of(X, rows)), len(rows), "model")
    if hasattr(model, "get_params"):
        from sklearn.base import clone  # who has such an estimator has scikit-learn

        copied = clone(model)
    else:
        copied = copy.deepcopy(model)
    fitted = copied.fit(*own) or copied
    return lambda rows: predict(fitted, rows_of(X, rows), predicts)


@dataclass(frozen=True)
class _Work:
    """Fits, and scores at the time of interest and up to the horizon of all subjects."""

    fit: Callable[[Ints], Callable[[Ints], Prediction]]
    metrics: tuple[Metric, ...]
    whole: Task
    method: str

    def scores(
        self, fitted: Ints, test: Ints, prediction: Prediction
    ) -> tuple[Floats, dict[str, str]]:
        """Score predictions for some rows; NaN, with the reason, where a metric is undefined."""
        whole = self.whole
        time = whole.time if np.isfinite(whole.time) else None  # unknown where nobody has an event
        task = Task.of(
            whole.y[test], whole.y[fitted], time=time, tau=whole.tau, threshold=whole.threshold,
            min_at_risk=1,
        )  # fmt: skip
        horizon = min(task.horizon, whole.horizon)
        names = tuple(metric.name for metric in self.metrics)
        task = replace(task, horizon=horizon, asked=names, contributions=False)
        values, reasons = np.full(len(names), np.nan), {}
        for k, metric in enumerate(self.metrics):
            try:
                past_warning(metric.reads, metric.stops, task, prediction)
                values[k] = metric.measure(task, prediction).value
            except UndefinedMetricError as error:
                reasons[metric.name] = str(error)
        return values, reasons

    def __call__(self, split: Split) -> Fit | Failure:
        """Score one fit on the rows that it was fitted to, and on those that test it."""
        nothing = np.full(len(self.metrics), np.nan)
        try:
            if self.method == "bootstrap":
                training, test = self._both(split.fitted, split.test)
            else:
                predicted = self.fit(split.fitted)(split.test)
                training, test = nothing, self.scores(split.fitted, split.test, predicted)[0]
        except Exception as error:  # somebody else's code: one fit must not end the others
            return Failure(split.number, f"{type(error).__name__}: {error}")
        optimism = nothing
        if split.inner is not None:
            # The standard error rests on the other samples; two losses may be infinite.
            with suppress(Exception), np.errstate(invalid="ignore"):
                optimism = np.subtract(*self._both(split.inner, split.fitted))
        return Fit(split.number, training, test, optimism)

    def _both(self, fitted: Ints, test: Ints) -> tuple[Floats, Floats]:
        """Score a fit on its own rows and on others."""
        predicting = self.fit(fitted)
        own, other = (self.scores(fitted, rows, predicting(rows))[0] for rows in (fitted, test))
        return own, other


def _chosen(metrics: Any, prediction: Prediction, task: Task) -> list[Metric]:
    """Metrics by name; by default those of `evaluate` that predictions of this kind have."""
    chosen, _ = chosen_metrics(metrics, len(task.y), task.threshold)
    if task.by_entry:
        named = metrics is not None and not (isinstance(metrics, str) and metrics == "study")
        chosen, _ = under_entry(chosen, named)
    tests = [metric.name for metric in chosen if metric.inference == "test"]
    if metrics is None:
        chosen = [m for m in chosen if m.method is None or m.within_horizon]
        chosen = [m for m in chosen if m.name not in tests and prediction.has(m.needs)]
    elif tests:
        raise InputError(
            f"metrics: {tests[0]} is a p-value, which has no optimism to correct; leave it out"
        )
    lacking = [metric for metric in chosen if not prediction.has(metric.needs)]
    if lacking:
        raise InputError(
            f"metrics: {lacking[0].name} needs {lacking[0].needs}, but the model gives "
            f"{prediction.kind} only"
        )
    return chosen


def _run(work: _Work, splits: list[Split], jobs: int, progress: bool) -> Iterator[Fit | Failure]:
    """Results of all fits, in their order."""
    if jobs == 1:
        results: Iterable[Fit | Failure] = map(work, splits)
    else:
        try:
            from joblib import Parallel, delayed
        except ImportError as error:
            raise MissingExtraError("validate with n_jobs", "sklearn") from error
        results = Parallel(jobs, return_as="generator")(delayed(work)(split) for split in splits)
    start = last = clock.monotonic()
    failed = 0
    for k, result in enumerate(results, 1):
        failed += isinstance(result, Failure)
        now = clock.monotonic()
        if progress and (now - last > _EVERY or k == len(splits)):
            left = (now - start) * (len(splits) - k) / k
            told = f"{k}/{len(splits)} fits, {failed} failed, about {left:.0f} s left"
            print(told, file=sys.stderr, flush=True)
            last = now
        yield result
