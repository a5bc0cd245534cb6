"""One call: scenarios, draws, scores, and what every metric risks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._tools.arrays import one_number, shown, whole_number
from ..._tools.random import check_seed
from ...data.outcome_parts import check_unit
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, located
from ...estimators.conditional import Conditional
from ...estimators.copulas import check_copula
from ...estimators.reference import Reference
from ...metrics.conventions import Convention, takes_settings
from ...metrics.record import Metric
from ...metrics.registry import REGISTRY
from ...metrics.task import Task
from ..call import chosen_metrics
from ..reading import named_models, read_predictions
from ..tipping import METRIC, TippingPoint, best_pair
from .result import Audit
from .risks import ScenarioQuality, ScenarioResults, risks
from .scenarios import AuditQuestion, AuditScorer, DrawnSubjects, Scenario, scenarios

#: Scenarios of a kind share its draws, and each gets at least so many.
_FEWEST = 10


@takes_settings
def audit(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    *,
    y_train: Any = None,
    conditional: Conditional | None = None,
    draws: int = 200,
    random_state: int | None = 0,
    metrics: Iterable[str] | str | None = None,
    tau: float | None = None,
    time: float | Sequence[float] | None = None,
    dependence: Sequence[float] = (0.2, 0.5),
    copula: str = "clayton",
    max_bias: float = 0.15,
    sample_weight: Any = None,
    unit: str = "",
    convention: str | Convention | None = None,
) -> Audit:
    """Find out what every metric risks on these predictions and these data.

    Event and censoring times are drawn for the test subjects in several *scenarios* in which the
    truth is known: with each curve model's own curves as the distribution of the event times, with
    Kaplan-Meier of the reference set, and with the distribution given the features where there is
    one; censoring follows the test subjects. Every metric is computed on the censored draws and
    compared with the true value of every model. Nothing is refitted.

    Recommended is always the doubly robust error within the horizon, `mae_within`, which led to
    better models than other errors on held-out datasets; the audit says how far it, and any other
    metric, can be trusted here.

    Parameters
    ----------
    predictions : mapping of name to predictions
        As for `evaluate`; risk scores alone have no time errors and are refused, unless `metrics`
        asks for ranks only.
    y_test : outcomes
        Test outcomes.
    y_train : outcomes, optional
        Reference set; each draw has a reference set of its size. Without it the test outcomes are
        their own reference.
    conditional : Conditional, optional
        Distributions of event and censoring times given the features, see `Conditional`: one more
        scenario, and what metrics use that support such distributions.
    draws : int
        Draws for each kind of scenario (models, Kaplan-Meier, given the features, dependent
        censoring: half as many); scenarios of a kind share them, and each gets at least ten.
    random_state : int
        Seed of the draws.
    metrics : names, optional
        See `available_metrics`; by default all time errors. Of a metric that is no time error the
        truth is its own value on the draw without censoring.
    tau : float, optional
        Horizon of all metrics that stop at one, as for `evaluate`. Time errors are audited within
        the horizon that the data support, or `tau` where that is earlier; and, where they differ,
        up to `tau`, or without a horizon where there is none.
    time : float or several, optional
        Times of interest of brier and auc, where `metrics` names them; by default `tau`, or else
        the median observed time of the reference set.
    dependence : sequence of float
        Kendall's tau of event and censoring times in the scenarios with dependent censoring, which
        are reported beside the means over the others.
    copula : {"clayton", "frank", "gumbel", "gaussian"}
        How event and censoring times depend on each other there.
    max_bias : float
        A metric whose bias, as a share of the truth, is larger than this in a scenario with
        independent censoring counts as off.
    sample_weight : array-like of shape (n,), optional
        Sampling weights, as for `evaluate`.
    unit : str
        What times are counted in ("days"), for sentences and axes.
    convention : str or Convention, optional
        Settings of the metrics: tail, censoring, floor.

    Returns
    -------
    Audit
        `recommended`, `horizon`, `reason`, `table`, `tipping`, `plot()`, `to_dict()`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.normal(size=(2, 60))
    >>> T, C = rng.exponential(np.exp(risk)), rng.exponential(3.0, (2, 60))
    >>> y_train, y_test = zip(np.minimum(T, C), T <= C)
    >>> predictions = {"good": np.exp(risk[1]) * np.log(2), "same": np.ones(60)}
    >>> a = audit(predictions, y_test, y_train=y_train, draws=20, tau=1.5)
    >>> a.recommended, a.horizon
    ('mae_within', 1.5)
    """
    y = Outcomes.of(y_test, "y_test")
    parsed = read_predictions(named_models(predictions), y, None)
    number = whole_number(draws, "draws", 2)
    seed = check_seed(random_state)
    limit = one_number(max_bias)
    if not limit > 0:
        raise InputError(f"max_bias must be a share above 0, such as 0.15; got {shown(max_bias)}")
    check_unit(unit)
    y, subject_weight = y.sampled(sample_weight, "y_test")
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    task = Task.of(
        y,
        None if y_train is None else Reference.of(y_train),
        weight,
        tau=tau,
        time=time,
        convention=convention,
        conditional=conditional,
    )
    chosen = _metrics(metrics, len(y))
    _check_offers(chosen, parsed)
    asked = _questions(chosen, task)
    if not asked:
        raise InputError(
            f"metrics: {chosen[0].name} is an error within a horizon, and the test subjects "
            "support none; give tau, or name other metrics"
        )
    scorer = AuditScorer(task, parsed, asked)
    weighed = y if subject_weight is None else y.reweighted(subject_weight)
    reference = task.reference or Reference(weighed)
    made = scenarios(
        parsed, weighed, reference, task.conditional, _taus(dependence, copula),
        copula,
    )  # fmt: skip
    if not made:
        raise InputError(
            "predictions: no model has curves and the reference set has no event, so there is no "
            "distribution of the event times to draw from; give a model with curves, or y_train "
            "with events"
        )
    size = None if task.reference is None else max(1, round(reference.size))
    subjects = DrawnSubjects(y, size, weighed.weight)
    numbers = _shares(made, number)
    lower = np.array([question.lower for question in scorer.questions])
    qualities = [
        ScenarioQuality.of(*scorer.scores(scenario, subjects, numbers[k], seed), lower)
        for k, scenario in enumerate(made)
    ]
    results = ScenarioResults(made, qualities)
    return Audit(
        models=tuple(parsed),
        questions=scorer.questions,
        results=results,
        risks=risks(results, scorer.questions),
        pair=_pair(task, parsed, scorer.questions),
        draws=numbers,
        seed=seed,
        max_bias=limit,
        subjects=y.count,
        events=y.event_count,
        unit=unit,
        left_out=scorer.left_out,
    )


def _metrics(metrics: Iterable[str] | str | None, n: int) -> list[Metric]:
    """Return the metrics by name; by default all time errors."""
    if metrics is None:
        return [m for m in REGISTRY.values() if m.method is not None and not m.method.needs_truth]
    chosen, _ = chosen_metrics(metrics, n)
    for metric in chosen:
        if metric.inference == "test":
            raise InputError(
                f"metrics: {metric.name} is a p-value, which has no true value to compare with; "
                "name metrics that measure something"
            )
        if not metric.ranks_models:
            raise InputError(
                f"metrics: {metric.name} puts models in no order ({metric.better}); name metrics "
                "of which lower or higher values are better"
            )
    return chosen


def _check_offers(metrics: list[Metric], predictions: Mapping[str, Prediction]) -> None:
    for name, prediction in predictions.items():
        for metric in metrics:
            if not prediction.has(metric.needs):
                raise InputError(
                    f"predictions of {name!r} are {_KINDS[prediction.kind]}, and {metric.name} "
                    f"needs {metric.needs}; leave this model out, or name other `metrics`"
                )


_KINDS = {"risk": "risk scores", "times": "times", "curves": "curves"}


def _taus(dependence: Any, copula: str) -> list[float]:
    """Read the values of Kendall's tau; 0 is the independent scenario, which is there anyway."""
    if isinstance(dependence, str) or not isinstance(dependence, Iterable):
        raise InputError(
            f"dependence must be a list of values of Kendall's tau; got {shown(dependence)}"
        )
    check_copula(copula, 0.0)
    taus = list(dependence)
    for tau in taus:
        with located("dependence"):
            check_copula(copula, tau)
    return [tau for tau in dict.fromkeys(map(float, taus)) if tau != 0]


def _questions(metrics: list[Metric], task: Task) -> list[AuditQuestion]:
    """Ask every time error with its horizons, and every other metric once at each of its times.

    The error within the horizon comes first; the doubly robust one is the same there.
    """
    stop = float(task.horizon) if 0 < task.horizon < np.inf else None
    found: list[AuditQuestion] = []
    if stop is not None:
        stop = stop if task.tau is None else min(stop, task.tau)
        found += [AuditQuestion(metric, stop) for metric in metrics if metric.within_horizon]
    same = {(one.method.name, one.asks, one.horizon) for one in found}
    horizons = [task.tau] if stop is None else [stop, task.tau]
    for place, horizon in enumerate(dict.fromkeys(horizons)):
        for metric in metrics:
            if metric.method is not None:
                one = AuditQuestion(metric, horizon)
                known = (metric.method.name, one.asks, horizon) in same
                if not (metric.within_horizon or known):
                    found.append(one)
            elif place == 0:
                tau = task.tau if metric.stops else None
                times = [metric.time_of(at) for at in metric.at_times(task)]
                several = len(times) > 1
                found += [AuditQuestion(metric, tau, time, several) for time in times]
    return found


def _shares(made: list[Scenario], draws: int) -> list[int]:
    """Number of draws of each scenario: those of a kind are shared among its scenarios."""
    kinds = [scenario.kind for scenario in made]
    found = []
    for scenario in made:
        # Half as many where censoring depends on the event time: those stand beside the means.
        whole = draws if scenario.independent else (draws + 1) // 2
        found.append(max(-(-whole // kinds.count(scenario.kind)), min(_FEWEST, draws)))
    return found


def _pair(
    task: Task, predictions: Mapping[str, Prediction], questions: list[AuditQuestion]
) -> TippingPoint | None:
    """Return the tipping point of the two best models, where errors in time are audited."""
    if len(predictions) < 2 or not any(question.by_times for question in questions):
        return None
    metric = REGISTRY[METRIC]
    try:
        errors = {name: float(metric.measure(task, p).value) for name, p in predictions.items()}
    except UndefinedMetricError:
        return None
    return best_pair(task, predictions, errors)
