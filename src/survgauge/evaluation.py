"""One call: models x metrics, with intervals, comparisons, support and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ._arrays import Floats, probability, to_numpy
from ._random import check_seed
from .errors import InputError, MissingExtraError, UndefinedMetricError, name_some, one_of
from .evaluation_warnings import EvaluationWarning, check_measured, check_problem, check_tails
from .inference import (
    FEWEST_REPLICATES,
    bootstrap_counts,
    bootstrap_stderr,
    compare_values,
    holm,
    normal_interval,
)
from .metrics.details import standard_error
from .metrics.problem import Problem
from .metrics.registry import DEFAULT_METRICS, REGISTRY, Measured, Metric
from .metrics.skill import reference_curves
from .outcomes import Outcomes
from .predictions import Prediction
from .reference import Reference
from .tables import evaluation_text

#: Above this many subjects antolini leaves the default set.
ANTOLINI_LIMIT = 100_000
#: Above this many subjects the bootstrap gives way to contributions where a metric has them.
BOOTSTRAP_LIMIT = 5_000
NAN = float("nan")


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

    @property
    def value(self) -> float:
        """The metric, NaN where it is undefined."""
        return NAN if self.measured is None else float(self.measured.value)

    def row(self) -> dict[str, Any]:
        """Return the cell as a row of the table."""
        convention = {} if self.measured is None else self.measured.convention
        row = {
            "model": self.model,
            "metric": self.metric.name,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "stderr": self.stderr,
            "skill": 1.0 - self.value / self.baseline if self.baseline > 0 else NAN,
            "direction": self.metric.direction,
            "unit": self.metric.unit,
        }
        if self.group is not None:
            row = {"group": self.group, **row}
        return {**row, "convention": dict(convention)}


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`.

    Attributes
    ----------
    support : dict
        Horizon, subjects and events past it, largest weight, share of tail times, and what each
        metric left out.
    warnings : list
        Coded, readable remarks: ``warning.code``, ``warning.message``.
    """

    scores: list[Score]
    problem: Problem
    confidence: float | None
    support: dict[str, Any]
    warnings: list[EvaluationWarning]
    seed: int
    models: tuple[str, ...] = field(default_factory=tuple)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        return [score.row() for score in self.scores]

    @property
    def table(self) -> Any:
        """Frame with a row per model and metric.

        Columns: model, metric, value, low, high, stderr, skill (1 - loss / loss of the reference
        set's Kaplan-Meier), direction, unit, and what the convention holds.
        """
        rows = []
        for row in self.rows():
            convention = row.pop("convention")
            rows.append({**row, **{f"convention_{k}": v for k, v in convention.items()}})
        return _frame(rows)

    def comparisons(self) -> list[dict[str, Any]]:
        """Return all pairs of models on all metrics as plain dictionaries; see `compare`."""
        rows = []
        by_cell = {(s.group, s.metric.name, s.model): s for s in self.scores}
        cells = dict.fromkeys((s.group, s.metric.name) for s in self.scores)
        for group, name in cells:
            family = []
            for a, b in combinations(self.models, 2):
                first, second = by_cell.get((group, name, a)), by_cell.get((group, name, b))
                if first is None or second is None or first.metric.inference == "test":
                    continue
                family.append(self._compare(first, second))
            for row, adjusted in zip(family, holm([r["p_value"] for r in family]), strict=True):
                rows.append({**row, "p_holm": float(adjusted)})
        return rows

    def compare(self) -> Any:
        """Compare all pairs of models on the same subjects.

        Returns
        -------
        DataFrame
            model_a, model_b, metric, difference (a - b), low, high, p_value, and p_holm, adjusted
            over the pairs of models within a metric.
        """
        return _frame(self.comparisons())

    def _compare(self, a: Score, b: Score) -> dict[str, Any]:
        level = self.confidence or 0.95
        stderr = NAN
        if a.measured is not None and b.measured is not None:
            if a.replicates is not None and b.replicates is not None:
                stderr = bootstrap_stderr(a.replicates - b.replicates)
            elif a.measured.psi is not None and b.measured.psi is not None:
                stderr = standard_error(a.measured.psi - b.measured.psi, a.measured.frequency)
        result = compare_values(a.value - b.value, stderr, level)
        row = {
            "model_a": a.model,
            "model_b": b.model,
            "metric": a.metric.name,
            "difference": result.difference,
            "low": result.low,
            "high": result.high,
            "p_value": result.p_value,
        }
        return row if a.group is None else {"group": a.group, **row}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return {
            "models": list(self.models),
            "confidence": self.confidence,
            "random_state": self.seed,
            "metrics": [_clean(row) for row in self.rows()],
            "comparisons": [_clean(row) for row in self.comparisons()],
            "support": _clean(self.support),
            "warnings": [warning.to_dict() for warning in self.warnings],
        }

    def __str__(self) -> str:
        return evaluation_text(self)

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.models)} models x "
            f"{len({s.metric.name for s in self.scores})} metrics, {len(self.warnings)} warnings)"
        )


def evaluate(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    *,
    y_train: Any = None,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    by: Any = None,
    n_boot: int = 100,
    reference: str = "fixed",
    **settings: Any,
) -> Evaluation:
    """Evaluate models on the same test subjects: which is better, by how much, how surely.

    Parameters
    ----------
    predictions : mapping of name to predictions
        Curves (anything that `as_curves` reads), one time a subject, or `RiskScores`. A single
        prediction is called "model".
    y_test : outcomes
        Test outcomes.
    y_train : outcomes, optional
        Reference set; without it the test outcomes are their own reference.
    metrics : names, optional
        See `available_metrics`. By default all but the squared errors.
    confidence : float or None
        Level of the intervals; None for none.
    random_state : int
        Seed of the bootstrap.
    by : array-like of shape (n,), optional
        Groups of subjects, each evaluated by itself against the same reference and horizon.
    n_boot : int
        Replicates where a metric has no analytic standard error.
    reference : {"fixed", "redrawn"}
        Whether intervals take the reference set as given, or redraw it with the test set (then
        every interval comes from the bootstrap).
    **settings
        time (of brier, auc, one_calibration and ici; default: median reference event time),
        tau (horizon of the time errors), convention, censoring, on_unsupported, min_g and
        min_at_risk (they define the horizon), weighted, area, tail, normalize (time errors).

    Returns
    -------
    Evaluation
        `table`, `compare()`, `support`, `warnings`, `to_dict()`.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
    >>> y_test = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y_test, y_train=y_train,
    ...               metrics=["mae_po", "mae_hinge"])
    >>> {(r["model"], r["metric"]): round(r["value"], 2) for r in ev.rows()[:2]}
    {('a', 'mae_po'): 1.34, ('a', 'mae_hinge'): 0.75}
    """
    one_of("reference", reference, ("fixed", "redrawn"))
    y = Outcomes.of(y_test, "y_test")
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    if not named:
        raise InputError("predictions must hold at least one model; got an empty mapping")
    parsed = {str(name): Prediction.of(obj, len(y), str(name)) for name, obj in named.items()}
    if len(parsed) < len(named):
        raise InputError(f"predictions must have distinct names; got {[str(k) for k in named]}")
    if confidence is not None:
        probability(confidence, "confidence")
    if not isinstance(n_boot, int | np.integer) or isinstance(n_boot, bool) or n_boot < 0:
        raise InputError(f"n_boot must be a whole number, 0 or more; got {n_boot!r}")
    problem = Problem.of(y, y_train, **settings)
    seed = check_seed(random_state)
    chosen, warnings = _chosen(metrics, len(y))
    warnings += check_problem(problem)
    run = partial(
        _evaluate_group,
        metrics=chosen,
        confidence=confidence,
        seed=seed,
        n_boot=n_boot,
        redrawn=reference == "redrawn",
        warnings=warnings,
    )
    scores: list[Score] = []
    for group, rows in _groups(by, len(y)):
        part = problem if rows is None else problem.subset(rows)
        members = parsed if rows is None else {k: p[rows] for k, p in parsed.items()}
        scores += run(part, members, group)
    if any(metric.name == "mae_po" for metric in chosen):
        warnings += check_tails(problem, parsed, confidence)
    support = _support(problem, scores)
    return Evaluation(scores, problem, confidence, support, warnings, seed, tuple(parsed))


def _chosen(metrics: Iterable[str] | str | None, n: int) -> tuple[list[Metric], list[Any]]:
    """Metrics by name; by default all that suit the size."""
    if metrics is None:
        names = list(DEFAULT_METRICS)
        if n > ANTOLINI_LIMIT and "antolini" in names:
            names.remove("antolini")
            message = (
                f"antolini is left out of the default metrics above {ANTOLINI_LIMIT} subjects "
                f"(here {n}); name it in `metrics` to have it"
            )
            return [REGISTRY[m] for m in names], [EvaluationWarning("antolini-skipped", message)]
    else:
        if not isinstance(metrics, Iterable):
            raise InputError(f"metrics must be a list of names; got {metrics!r}")
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        for name in names:
            one_of("metrics", name, REGISTRY)
        if not names:
            raise InputError("metrics must name at least one metric; got an empty list")
        names = list(dict.fromkeys(names))
    return [REGISTRY[name] for name in names], []


def _groups(by: Any, n: int) -> list[tuple[Any, Any]]:
    if by is None:
        return [(None, None)]
    labels = to_numpy(by, "by")
    if labels.shape != (n,):
        raise InputError(f"by must have one label per subject: {n}; got shape {labels.shape}")
    missing = np.flatnonzero([label is None or label != label for label in labels.tolist()])
    if missing.size:
        raise InputError(
            f"by must have a label for every subject; it is missing for {name_some(missing)}"
        )
    try:
        found = np.unique(labels)
    except TypeError as error:
        raise InputError(f"by must have labels of one kind; {error}") from error
    plain = found.tolist()
    return [
        (name, np.flatnonzero(labels == label)) for name, label in zip(plain, found, strict=True)
    ]


def _evaluate_group(
    problem: Problem,
    predictions: dict[str, Prediction],
    group: Any,
    *,
    metrics: list[Metric],
    confidence: float | None,
    seed: int,
    n_boot: int,
    redrawn: bool,
    warnings: list[EvaluationWarning],
) -> list[Score]:
    cells: list[tuple[str, Metric, Measured | None]] = []
    for model, prediction in predictions.items():
        for metric in metrics:
            if prediction.has(metric.needs):
                measured, remarks = _measure(metric, problem, prediction, model)
                warnings += [replace(remark, group=group) for remark in remarks]
                cells.append((model, metric, measured))
    baseline = _baselines(problem, metrics)
    if confidence is None:
        return [
            Score(model, metric, group, measured, baseline=baseline.get(metric.name, NAN))
            for model, metric, measured in cells
        ]
    drawn = [cell for cell in cells if redrawn or _needs_bootstrap(*cell[1:], len(problem.y))]
    if problem.y.weight.sum() < 2:  # one subject says nothing about the spread
        drawn = []
    if drawn and n_boot < FEWEST_REPLICATES:
        message = f"n_boot={n_boot}: bootstrap intervals need at least {FEWEST_REPLICATES} draws"
        warnings.append(EvaluationWarning("few-replicates", message, group=group))
    replicates = _replicates(problem, predictions, drawn, seed, n_boot, redrawn)
    scores = []
    for model, metric, measured in cells:
        known = replicates.get((model, metric.name))
        stderr = NAN
        if measured is not None and metric.inference != "test":
            stderr = measured.stderr if known is None else bootstrap_stderr(known)
        log_scale = metric.inference == "bootstrap-log"
        value = NAN if measured is None else float(measured.value)
        interval = normal_interval(value, stderr, confidence, log_scale=log_scale)
        scores.append(
            Score(
                model,
                metric,
                group,
                measured,
                stderr,
                interval.low,
                interval.high,
                known,
                baseline.get(metric.name, NAN),
            )
        )
    return scores


def _measure(
    metric: Metric,
    problem: Problem,
    prediction: Prediction,
    model: str,
) -> tuple[Measured | None, list[EvaluationWarning]]:
    """Compute one cell; an undefined metric becomes NaN and a warning."""
    try:
        measured = metric.compute(problem, prediction)
    except UndefinedMetricError as error:
        return None, [EvaluationWarning("undefined-metric", str(error), model, metric.name)]
    return measured, check_measured(metric, measured, model)


def _baselines(problem: Problem, metrics: list[Metric]) -> dict[str, float]:
    """Losses of the reference set's Kaplan-Meier, for skill scores; undefined ones are left out."""
    reference = Reference(problem.y) if problem.reference is None else problem.reference
    curves = Prediction(reference_curves(reference, len(problem.y)), None, None)
    losses = {}
    for metric in metrics:
        if metric.direction == "lower" and metric.inference == "analytic":
            try:
                losses[metric.name] = float(metric.compute(problem, curves).value)
            except (UndefinedMetricError, InputError):
                continue
    return losses


def _needs_bootstrap(metric: Metric, measured: Measured | None, n: int) -> bool:
    """Whether a cell's interval comes from resampling although the reference is fixed."""
    if measured is None or metric.inference == "test" or not np.isfinite(measured.value):
        return False
    if np.isnan(measured.stderr):
        return True
    cheap = n <= BOOTSTRAP_LIMIT or getattr(measured, "resample", None) is not None
    return metric.inference == "bootstrap-log" and cheap


def _replicates(
    problem: Problem,
    predictions: dict[str, Prediction],
    drawn: list[tuple[str, Metric, Measured | None]],
    seed: int,
    n_boot: int,
    redrawn: bool,
) -> dict[tuple[str, str], Floats]:
    """Bootstrap replicates of the cells named, all on the same draws."""
    values = np.full((n_boot, len(drawn)), NAN)
    frequency = problem.y.weight if problem.y.weighted else None
    for b in range(n_boot if drawn else 0):
        counts = bootstrap_counts(len(problem.y), b, seed, frequency=frequency)
        rows = np.flatnonzero(counts > 0)
        reference = problem.reference
        if redrawn and reference is not None:
            reference = _redraw(reference, b, seed)
        part: Problem | None = None
        members: dict[str, Prediction] = {}
        for k, (model, metric, measured) in enumerate(drawn):
            resample = None if redrawn else getattr(measured, "resample", None)
            try:
                if resample is not None:
                    values[b, k] = resample(counts)
                    continue
                if part is None:
                    part = problem.resampled(rows, counts[rows], reference)
                if model not in members:
                    members[model] = predictions[model][rows]
                values[b, k] = metric.compute(part, members[model]).value
            except UndefinedMetricError:
                continue
    return {(model, metric.name): values[:, k] for k, (model, metric, _) in enumerate(drawn)}


def _redraw(reference: Reference, replicate: int, seed: int) -> Reference:
    y = reference.y
    frequency = y.weight if y.weighted else None
    counts = bootstrap_counts(len(y), replicate, seed, "reference", frequency)
    return Reference(Outcomes(y.time, y.event, counts))


def _support(problem: Problem, scores: list[Score]) -> dict[str, Any]:
    """What all metrics share, and what each cell left out."""
    y = problem.y
    past = y.time > problem.horizon
    tails = {
        s.model: s.measured.support.get("tail_share")
        for s in scores
        if s.measured is not None and s.measured.support.get("tail_share") is not None
    }
    largest = [
        s.measured.support["largest_weight"]
        for s in scores
        if s.measured is not None and s.measured.support.get("largest_weight") is not None
    ]
    return {
        "subjects": len(y),
        "events": int(y.event.sum()),
        "horizon": problem.horizon,
        "time": problem.time,
        "subjects_past_horizon": int(past.sum()),
        "events_past_horizon": int((past & y.event).sum()),
        "largest_weight": max(largest, default=NAN),
        "tail_share": tails,
        "reference": "test outcomes, in sample"
        if problem.reference is None
        else "training outcomes",
        "metrics": _support_by_cell(scores),
    }


def _support_by_cell(scores: list[Score]) -> dict[str, Any]:
    """What each cell left out: model, group (where there are groups), metric."""
    found: dict[str, Any] = {}
    for score in scores:
        if score.measured is not None:
            cells = found.setdefault(score.model, {})
            if score.group is not None:
                cells = cells.setdefault(score.group, {})
            cells[score.metric.name] = dict(score.measured.support)
    return found


def _clean(value: Any) -> Any:
    """Plain data for JSON: NumPy scalars unwrapped, NaN and infinities as None or text."""
    if isinstance(value, Mapping):
        return {str(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    if isinstance(value, np.ndarray):
        return [_clean(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _frame(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("a table as a pandas frame", "pandas") from error
    return pd.DataFrame(rows)
