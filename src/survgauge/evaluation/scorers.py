"""What scikit-learn takes: scorers for searches, and folds with events in each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import numpy as np

from .._tools.arrays import Floats, Ints, positive, whole_number
from .._tools.extras import need
from .._tools.random import check_seed, stream
from ..data.causes import cause_code
from ..data.estimators import KINDS, outcomes_for, predict, predict_cause, refuse_kind, unwrapped
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError, as_names, one_of
from ..estimators.reference import Reference
from ..metrics.checks import with_causes
from ..metrics.conventions import Convention, takes_settings
from ..metrics.past_curve import past_warning
from ..metrics.registry import REGISTRY, Metric, current_name
from ..metrics.score import Clusters, Score
from ..metrics.task import Task
from .call import sampling_weights, under_entry
from .cells import check_measured, turned_round, undefined
from .checks import uses_reference
from .reading import labels_of, read_outcomes, refuse_settings
from .warning_kinds import EvaluationWarning, warned
from .warnings import marked_advice

#: Where estimators keep the outcomes that they were trained on.
_MEMORY = ("y_train_", "reference_")
#: Arguments with an entry per subject that metadata routing may pass on.
_METADATA = ("sample_weight", "entry", "cluster")
#: Names of the usual choice: `sg.mae` without a method.
_ALIASES = {"mae": "mae_within"}
#: Warnings about what is assumed past the follow-up, which `evaluate` gives as well.
_TAILS = ("tail-times", "past-reference", "far-surrogates", "unseen-times", "distribution-tail")
#: Standard errors below 0.5 at which a ranking is said to be turned round. A search looks at many
#: folds, so it takes more than the two of `evaluate`.
_TURNED_ROUND = 3.0
#: What scorers have warned of in this process. Worker processes get a new copy of a scorer for
#: each fit, so that the scorer itself cannot know.
_WARNED: set[tuple[str, ...]] = set()


class _Said:
    """Warnings of a scorer on all its folds; the first of each kind is also a Python warning."""

    def __init__(self) -> None:
        self.scorer = uuid4().hex
        self.found: list[EvaluationWarning] = []

    def __deepcopy__(self, memo: Any) -> _Said:
        return self  # clones of a search, as nested cross-validation makes them, share the scorer

    def add(self, warning: EvaluationWarning) -> None:
        """Keep a warning, and raise it where it is the first of its kind."""
        self.found.append(warning)
        kind = (self.scorer, warning.code, str(warning.model))
        if kind not in _WARNED:
            _WARNED.add(kind)
            text = f"[{warning.code}] {warning.message} (said once; the scorer's .warnings has all)"
            numerical = warning.code in ("undefined-metric", "past-curve")
            warnings.warn(text, RuntimeWarning if numerical else UserWarning, stacklevel=4)


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """Scikit-learn scorer: larger is better, losses are negated.

    Call it as ``scorer(estimator, X, y)``. A scorer of one metric gives a number; one of several,
    for which an estimator predicts once, gives a score per name, as ``cross_validate`` and searches
    with ``refit="name"`` take it. Where a metric is undefined on a fold its score is NaN with a
    warning, so that a search goes on. `warnings` lists what was warned about, fold by fold.
    """

    metrics: tuple[Metric, ...]
    #: What the user calls each metric, and whether there is one that gives a number.
    names: tuple[str, ...]
    single: bool = True
    y_train: Any = None
    predicts: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    said: _Said = field(default_factory=_Said)
    #: What metadata routing of scikit-learn is to pass on, by the names of `_METADATA`.
    requested: dict[str, Any] = field(default_factory=dict)

    def set_score_request(self, **requested: Any) -> Scorer:
        """Say which metadata scikit-learn passes on: ``sample_weight``, ``entry``, ``cluster``.

        As for its own scorers: True passes on what is given by that name, a text what is given by
        that one; what was requested before and is not named stays. Routing must be enabled,
        ``sklearn.set_config(enable_metadata_routing=True)``.
        """
        for name, alias in requested.items():
            one_of("a requested argument of the scorer", name, _METADATA)
            is_name = isinstance(alias, str) and alias.isidentifier()
            if not (alias is None or isinstance(alias, bool) or is_name):
                raise InputError(f"{name} must be True, False, None or a name; got {alias!r}")
        config = need("sklearn", "metadata routing", "sklearn").get_config()
        if not config["enable_metadata_routing"]:
            raise InputError(
                "set_score_request needs metadata routing, without which scikit-learn passes on "
                "nothing to scorers: sklearn.set_config(enable_metadata_routing=True)"
            )
        self.requested.update(requested)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what is requested, for scikit-learn."""
        routing = need("sklearn.utils.metadata_routing", "metadata routing", "sklearn")
        found = routing.MetadataRequest(owner=self)
        for name in _METADATA:
            found.score.add_request(param=name, alias=self.requested.get(name))
        return found

    @property
    def warnings(self) -> list[EvaluationWarning]:
        """Every warning so far, of all folds scored in this process: ``.code``, ``.message``.

        Worker processes (``n_jobs`` above 1) keep theirs to themselves.
        """
        return list(self.said.found)

    def convention(self, estimator: Any) -> str:
        """Say which reference set this estimator would be scored against."""
        found = self._reference(estimator)
        return "test fold, in sample" if found is None else "training outcomes"

    def _reference(self, estimator: Any) -> Any:
        if self.y_train is not None:
            return self.y_train
        for part in (estimator, *unwrapped(estimator)):
            for name in _MEMORY:
                if getattr(part, name, None) is not None:
                    return getattr(part, name)
        return None

    @property
    def metric(self) -> Metric:
        """The metric, or the first of several."""
        return self.metrics[0]

    @property
    def name(self) -> str:
        """Name of the metric, as it was given."""
        return self.names[0]

    def __repr__(self) -> str:
        return f"scorer({(self.name if self.single else list(self.names))!r})"

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        entry: Any = None,
        cluster: Any = None,
    ) -> float | dict[str, float]:
        """Score a fitted estimator on a test fold, with one prediction for all metrics.

        `entry` is that of subjects who are observed late, where `y` has none. `cluster` says who
        belongs together: no score depends on it, but the standard errors by which the scorer warns
        of a ranking that is turned round.
        """
        reference, cause = self._reference(estimator), self.settings.get("cause")
        outcomes = self._outcomes(estimator, y, reference)
        if entry is not None:
            outcomes = _entering(outcomes, entry)
        weight = None
        if sample_weight is not None:
            weight = sampling_weights(sample_weight, outcomes, "y")
            outcomes, _ = outcomes.sampled(weight, "y")
        model = type(unwrapped(estimator)[-1]).__name__
        if cause is None or outcomes.causes is None:
            prediction = predict(estimator, X, self.predicts)
        else:
            about = outcomes.causes, cause_code(cause, outcomes.causes)
            prediction = predict_cause(estimator, X, *about, self.predicts)
        for metric in self.metrics:
            if not prediction.has(metric.needs):
                final = unwrapped(estimator)[-1]
                refuse_kind(metric.name, metric.needs, prediction.kind, final)
        looking = [m for m in self.metrics if m.weights_by_g or m.reads_g or uses_reference([m])]
        if reference is None and looking:
            names = ", ".join(m.name for m in looking)
            found = warned(
                "in-sample-reference", model, form="scorer", estimator=model, metrics=names
            )
            self.said.add(found)
        task = self._task(outcomes, reference, weight)
        task = replace(task, asked=tuple(metric.name for metric in self.metrics))
        if cluster is not None:
            labels, _ = labels_of(cluster, len(outcomes), "cluster")
            task = task.again(clusters=Clusters.of(labels))
        if cause is not None:
            prediction = prediction.ranked_by(task.until)
        scores = {}
        for name, metric in zip(self.names, self.metrics, strict=True):
            scores[name], told = _score(metric, task, prediction, model)
            for warning in told:
                self.said.add(warning)
        return scores[self.name] if self.single else scores

    @property
    def _intervals(self) -> bool:
        """Whether the metrics are of interval-censored outcomes."""
        return self.metrics[0].outcomes == "interval"

    def _outcomes(self, estimator: Any, y: Any, reference: Any) -> Any:
        if self._intervals:
            return IntervalOutcomes.of(y, "y")
        if isinstance(y, IntervalOutcomes):
            self.metrics[0].check_outcomes("interval")
        if self.settings.get("cause") is None:
            return outcomes_for(estimator, y)
        # Some causes may not happen in a fold.
        known = None if reference is None else Reference.of(reference, causes=True).given.causes
        return Outcomes.of(y, causes=True) if known is None else with_causes(y, "y", known)

    def _task(self, y: Any, reference: Any, weight: Floats | None) -> Task:
        """Return what is asked of a test fold."""
        if self._intervals:
            y, reference = read_outcomes(y, reference, None)
        task = Task.of(y, reference, weight, **self.settings)
        if task.by_entry:
            under_entry(list(self.metrics), True, task.cause)
        return task


def _entering(y: Any, entry: Any) -> Outcomes:
    """Return right-censored outcomes with an entry."""
    if isinstance(y, IntervalOutcomes) or y.entry is not None:
        raise InputError(
            "entry goes with right-censored outcomes that have none of their own; leave it out"
        )
    codes = y.event if y.cause is None else y.cause
    return Outcomes(y.time, codes, y.frequency, y.causes, entry)


def _score(
    metric: Metric, task: Task, prediction: Prediction, model: str
) -> tuple[float, list[EvaluationWarning]]:
    """One metric, larger being better; NaN where it is undefined, so that a search goes on."""
    try:
        # No score where the curves do not reach.
        past_warning(metric.reads, metric.stops, task, prediction)
        measured = metric.measure(task, prediction)
    except UndefinedMetricError as error:
        message = f"{metric.name} is undefined on this fold ({error}); its score is NaN"
        return float("nan"), [replace(undefined(error, model, metric.name), message=message)]
    value = float(measured.value)
    warnings_ = _of_tails(metric, task, measured, model)
    if metric.is_share_of_pairs and turned_round(measured, measured.stderr, _TURNED_ROUND):
        about: dict[str, Any] = {"form": "scorer", "name": metric.name, "estimator": model}
        warnings_.append(warned("c-below-half", model, metric.name, value=value, **about))
    return -metric.badness(value), warnings_


def _of_tails(metric: Metric, task: Task, measured: Score, model: str) -> list[EvaluationWarning]:
    """Warnings about assumed tails, as `evaluate` has them, with what to do."""
    support, warnings_ = {"tau": task.tau, "horizon": task.horizon}, []
    for found in check_measured(metric, measured, model):
        if found.code in _TAILS:
            todo = marked_advice(found.code, metric.name, support).replace("`", "")
            text = f"{metric.name} of {model}: {found.message}; {todo}"
            warnings_.append(replace(found, message=text))
    return warnings_


@takes_settings
def scorer(
    name: str | Iterable[str],
    *,
    y_train: Any = None,
    predicts: str | None = None,
    time: float | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    cause: int | str | None = None,
) -> Scorer:
    """Make a scikit-learn scorer of a metric, or of several that share one prediction.

    Parameters
    ----------
    name : str or list of str
        A metric of `available_metrics`, or "mae" for "mae_within", as `mae` is unless a method
        is named: the scorer gives a number. A list such as ["mae", "ibs", "harrell"]: it gives one
        number per name, and a search takes ``refit="mae"``.
    y_train : outcomes, optional
        Reference set for all folds. Without it the scorer takes the outcomes that the estimator was
        trained on (`sg.models` remember it, as does `from_sklearn`); if the estimator has none,
        the test fold is its own reference.
    predicts : {None, "curves", "time", "risk"}
        Which prediction to use: that of the method of this name (`predict_curves` or
        `predict_survival_function`, `predict_time`, `predict_risk`), or else of ``predict``, which
        is then taken to give it. A risk is higher for an earlier event. None: the most that the
        estimator offers, curves before times before risks. What ``predict`` gives is known for
        scikit-survival, for XGBoost by its objective, and for scikit-learn's regressors; others
        are refused without `predicts`.
    time, tau, convention
        What the metric is asked, as in `evaluate`.
    cause : int or str, optional
        With several causes in `y`, the one that the score is about, as in `evaluate`. The estimator
        has ``predict_incidence``, which gives `IncidenceCurves`, or ``predict_risk``.

    Returns
    -------
    Scorer
        Larger is better: losses are negated. Warnings (a metric that is undefined on a fold, a
        missing reference set, a ranking that is turned round, an assumed tail that matters) are
        Python warnings once for each kind and class of estimators; ``.warnings`` lists
        all of them.

    Notes
    -----
    `y` may have delayed entry, which metrics heed as in `evaluate`. With metadata routing of
    scikit-learn enabled, ``set_score_request(sample_weight=True, entry=True, cluster=True)`` asks
    for what has an entry per subject: ``cross_validate(..., params={"sample_weight": w})``. Metrics
    of interval-censored outcomes take `IntervalOutcomes` as `y` and as `y_train`, or whatever these
    read.

    Examples
    --------
    >>> import numpy as np
    >>> class Constant:
    ...     def fit(self, X, y):
    ...         return self
    ...     def predict_time(self, X):
    ...         return np.full(len(X), 4.0)
    >>> X, y = np.zeros((3, 1)), ([2, 4, 7], [1, 1, 1])
    >>> scorer("mae_hinge")(Constant(), X, y)
    -1.6666666666666667
    >>> scorer(["mae_hinge", "harrell"])(Constant(), X, y)
    {'mae_hinge': -1.6666666666666667, 'harrell': 0.5}
    """
    given = dict(locals())
    given_names = [name] if isinstance(name, str) else as_names(name, "name")
    names = dict.fromkeys(map(current_name, given_names))
    if not names:
        raise InputError("name must hold at least one metric; got an empty list")
    metrics = []
    for one in names:
        known = _ALIASES.get(one, one)
        one_of("name", known, REGISTRY, "sg.available_metrics()")
        metrics.append(REGISTRY[known])
        metrics[-1].check_threshold(Convention.of(convention).threshold)
        metrics[-1].check_cause(cause)
        metrics[-1].check_outcomes(metrics[0].outcomes)
    if metrics[0].outcomes == "interval":
        refuse_settings(scorer, given, ("name", "predicts"))
    if predicts is not None:
        one_of("predicts", predicts, KINDS)
    for setting in ("time", "tau"):
        if given[setting] is not None:  # one score per metric, so one time
            given[setting] = positive(given[setting], setting)
    settings = {key: given[key] for key in given if key not in ("name", "y_train", "predicts")}
    single = isinstance(name, str)
    return Scorer(tuple(metrics), tuple(names), single, y_train, predicts, settings)


class SurvivalKFold:
    """Folds that are alike in events, censorings and their times.

    Events and censored subjects are each sorted by time and dealt out in rounds, one to every
    fold, in an order drawn at random for each round.

    Small folds therefore have few pairs of close times, and C-indices computed within them come
    out slightly too high: by 0.007 in simulated folds of 20 subjects. All models of a search are
    concerned alike; `validate` draws its folds without regard to the times.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int
        Seed.

    Examples
    --------
    >>> y = Outcomes(range(1, 9), [1, 1, 1, 1, 0, 0, 0, 0])
    >>> [int(y.event[test].sum()) for _, test in SurvivalKFold(2).split(y, y)]
    [2, 2]
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = 0) -> None:
        self.n_splits = whole_number(n_splits, "n_splits", 2)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def folds(self, y: Any) -> Ints:
        """Return the fold of each subject."""
        known = isinstance(y, IntervalOutcomes)
        outcomes: Any = y if known else Outcomes.of(y, causes=True, entry=True)
        n, k = len(outcomes), self.n_splits
        if n < k:
            raise InputError(f"y must have at least n_splits = {k} subjects; got {n}")
        rng = stream(check_seed(self.random_state), "folds")
        shuffled = rng.permutation(n)  # ties in time fall in random order
        kinds = outcomes.event if outcomes.cause is None else outcomes.cause
        keys = (outcomes.time[shuffled], kinds[shuffled])
        order = shuffled[np.lexsort(keys)]
        rounds = -(-n // k)
        deal = np.concatenate([rng.permutation(k) for _ in range(rounds)])[:n]
        fold = np.empty(n, dtype=np.intp)
        fold[order] = deal
        return fold

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the training and test rows of each fold."""
        if y is None:
            raise InputError("y must be given: folds are stratified on event and time")
        fold = self.folds(y)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
