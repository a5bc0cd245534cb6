"""One call: models x metrics, with intervals, comparisons, support and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats, probability, vector
from .._tools.frames import in_memory
from .._tools.random import check_seed
from .._tools.writing import call_text, provenance
from ..data.durations import check_unit
from ..data.intervals import IntervalOutcomes
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..metrics.conventions import Convention, takes_settings
from ..metrics.score import Clusters
from ..metrics.task import Task
from .cells import CONTRIBUTIONS_LIMIT
from .checks import Seen, check_features, check_grids, check_members, refuse_outcomes
from .evaluated import Request, chosen_metrics, evaluated, score_arrays
from .groups import columns_of, groups_of, labels_of
from .reading import (
    at_landmark,
    distributions_given,
    named_models,
    read_outcomes,
    read_predictions,
    refuse_settings,
)
from .result import Evaluation


@takes_settings
def evaluate(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    *,
    y_train: Any = None,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    by: Any = None,
    unit: str = "",
    sample_weight: Any = None,
    cluster: Any = None,
    X_test: Any = None,
    X_train: Any = None,
    conditional: Any = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    cause: int | str | None = None,
    landmark: float | None = None,
) -> Evaluation:
    """Evaluate models on the same test subjects: which is better, by how much, how surely.

    Parameters
    ----------
    predictions : mapping of name to predictions
        Curves (anything that `as_curves` reads), one time per subject, or `RiskScores`. A single
        prediction is called "model".
    y_test : outcomes
        Test outcomes: anything that `Outcomes.of` reads. Delayed entry (``Outcomes(...,
        entry=...)``, or a column ``entry`` of a frame) is heeded: predictions and G are conditioned
        on it, and metrics that support no entry are left out of the default ones. With
        `IntervalOutcomes` (the event lies between two visits) the metrics are those of
        interval-censored outcomes, the baseline is Turnbull's estimate of `y_train`, and settings
        that only right-censored outcomes have are refused.
    y_train : outcomes, optional
        Reference set of imputed times and the baseline; without it the test outcomes are their
        own reference. G comes from the test subjects, unless the convention says otherwise.
    metrics : names, optional
        See `available_metrics`. By default all but the squared errors; "study": what a validation
        study reports.
    confidence : float or None
        Level of the intervals; None for none.
    random_state : int
        Seed of the bootstrap.
    by : array-like of shape (n,), or mapping of such, optional
        Groups of subjects, each evaluated by itself after everybody together, with its own G,
        against the same reference and horizon. A mapping of names to labels (or a frame) has
        groups by each of its columns. `group_differences` tests whether groups differ.
    unit : str
        What times are counted in ("days"), for sentences and axes; durations and dates in `y_test`,
        `y_train` and predicted times are counted in it ("seconds" to "years").
    sample_weight : array-like of shape (n,), optional
        Sampling weights: how many subjects of the population each one stands for, up to a factor.
        Metrics estimate their value in that population, and standard errors take the weights as
        given (only their ratios matter). G of the test subjects is estimated with them. A subject
        of weight 0 is left out. The weights of `y_test` are frequencies instead. Metrics without
        sampling weights (calibration) are undefined then.
    cluster : array-like of shape (n,), optional
        A label per subject, such as the hospital, or the patient of several rows. Standard errors
        come from sums of contributions by cluster, with t quantiles (clusters - 1 degrees of
        freedom), and the bootstrap draws whole clusters.
    X_test : array-like of shape (n, p) or frame, optional
        Features of the test subjects: `censoring_test` says whether censoring depends on them,
        which weights 1/G assume it does not. Numbers without gaps, unless there is `X_train`. Not
        together with `sample_weight`.
    X_train : array-like of shape (m, p) or frame, optional
        Features of the training subjects. With `X_test` and `y_train`, `sg.conditional` fits
        distributions given the features for the metrics that take them; frames may have text and
        gaps.
    conditional : Conditional, optional
        Distributions of event and censoring time given the features of each test subject, for the
        doubly robust metrics and for the time errors that take a distribution; by default
        Kaplan-Meier, or what `X_train` gives.
    time : float or several, optional
        Times of interest of brier, auc, ici, observed_expected and all others that are read at a
        time, which get a score at each of them; by default `tau`, or else the median observed time
        of the reference set (half of its subjects are observed for longer), or the last time that
        the data support where that comes before it.
    tau : float, optional
        Horizon of all metrics that stop at one. Time errors take predicted and observed times as at
        most `tau`, and crps and km_calibration integrate up to it; uno, ibs, ibll and mae_within
        stop there, or at the last time that the data support before it. The columns `time` and
        `until` of the table say which times were used.
    convention : str or Convention, optional
        Definitions of another package or of the paper, and settings that only specialists change:
        the threshold of net_benefit, whose G weights subjects, where the horizon ends, tails and
        areas of time errors, the bootstrap; see `Convention`.
    cause : int or str, optional
        With several causes of the event, code or name of the one that the evaluation is about.
        `y_test` and `y_train` then have the causes, and predictions are `IncidenceCurves`
        (`as_incidence` reads those of other libraries), times or `RiskScores`. Metrics that support
        one kind of event only are left out of the default ones, and refused where they are named.
        The baseline is Aalen-Johansen of the reference set, and C ranks subjects by the incidence
        predicted by the horizon.
    landmark : float, optional
        Evaluate from this time on: those at risk then, with predictions given being event-free
        then (or for those at risk only: updated then). `time`, `tau` and all results count time
        from the landmark. `landmarks` does it for several of them.

    Returns
    -------
    Evaluation
        `table`, `compare()`, `support`, `warnings`, `to_dict()`.

    Notes
    -----
    Curves are read where they are, block by block: float32 and memory-mapped matrices are neither
    copied nor widened. Blocks are shared between threads, as many as there are cores (one inside
    the workers of joblib and Dask); the environment variable ``SURVGAUGE_THREADS`` sets another
    number, and the result is the same to the last bit.

    Above 100,000 subjects a score keeps its standard errors (also those of differences between
    models, the same as of fewer subjects to 1e-9), but no contributions of single subjects. Above
    20,000 subjects antolini leaves the default metrics.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
    >>> y_test = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y_test, y_train=y_train,
    ...               metrics=["mae_po", "mae_hinge"])
    >>> {(r["model"], r["metric"]): round(r["value"], 2) for r in ev.rows()[:2]}
    {('a', 'mae_po'): 1.34, ('a', 'mae_hinge'): 0.75}
    """
    given = dict(locals())
    made = provenance(call_text(evaluate, given))
    check_unit(unit)
    if isinstance(y_test, IntervalOutcomes):
        refuse_settings(evaluate, given)
    if landmark is not None:
        asked, found = at_landmark(given)
        ev = evaluate(**asked)
        numbers = found.numbers
        support = {"landmark": numbers["landmark"], "subjects_in_all": numbers["subjects"]}
        cases = [found, *ev.cases]
        return replace(ev, support=ev.support | support, cases=cases, provenance=made)
    preset = Convention.of(convention)
    if X_test is not None and sample_weight is not None:
        raise InputError(
            "X_test cannot be given together with sample_weight: the test of whether censoring "
            "depends on the features takes no sampling weights; leave X_test out"
        )
    if X_test is not None:
        X_train, X_test = in_memory(X_train), in_memory(X_test)
    y, y_train = read_outcomes(y_test, y_train, cause, unit)
    parsed = read_predictions(named_models(predictions), y, cause, unit)
    if confidence is not None:
        probability(confidence, "confidence")
    weight = None if sample_weight is None else _sample_weight(sample_weight, y)
    y, _ = y.sampled(weight, "y_test")
    if X_test is not None and isinstance(y, Outcomes):
        refuse_outcomes(X_test, y)
    seed = check_seed(random_state)
    # Warnings and support look at the spread of few subjects also where no interval is asked for.
    contributions = confidence is not None or len(y) <= CONTRIBUTIONS_LIMIT
    task = Task.of(
        y, y_train, weight, time=time, tau=tau, convention=preset,
        conditional=distributions_given(X_train, y_train, X_test, y, conditional, seed),
        cause=cause, contributions=contributions,
    )  # fmt: skip
    if cause is not None:
        parsed = {name: p.ranked_by(task.until) for name, p in parsed.items()}
    chosen, left_out = chosen_metrics(metrics, y.count, preset.threshold, cause, task.outcomes)
    question = Request(
        task.again(clusters=None if cluster is None else _clusters(cluster, y)),
        chosen,
        usual=metrics is None or (isinstance(metrics, str) and metrics == "study"),
        confidence=confidence,
        seed=seed,
        kinds={name: p.kind for name, p in parsed.items()},
        groups=groups_of(by, len(y)),
        by=columns_of(by),
        unit=unit,
        warnings=left_out,
    ).supported()
    task = question.task
    dependent = [] if X_test is None else check_features(X_train, X_test, task.first)
    scores, said = score_arrays(question, parsed)
    return evaluated(
        question,
        Seen.of(task, parsed, len(y)),
        scores,
        found=said,
        grids=check_grids(task, parsed),
        made=made,
        y_train=y_train,
        predictions=parsed,
        features=X_test is not None,
        members=check_members(task.conditional, parsed),
        dependent=dependent,
    )


def _sample_weight(given: Any, y: Outcomes) -> Floats:
    """Read sampling weights; only their ratios matter, so their mean is made 1."""
    weight = vector(given, "sample_weight", length=len(y), like="y_test", minimum=0.0)
    present = (weight > 0) & (y.weight > 0)
    if not present.any():
        raise InputError("sample_weight must have a positive sum; got all zeros")
    weight = np.where(present, weight, 0.0)
    weight /= weight.max()
    weight /= weight[present].mean()
    return weight


def _clusters(given: Any, y: Outcomes) -> Clusters:
    """Read who was sampled together."""
    labels, _ = labels_of(given, len(y), "cluster")
    clusters = Clusters.of(labels, y.weight if y.weighted else None)
    if clusters.number < 2:
        raise InputError(
            "cluster must have at least two different labels, as standard errors come from the "
            f"spread between clusters; got {clusters.number}"
        )
    return clusters
