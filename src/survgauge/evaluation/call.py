"""One call: models x metrics, with intervals, comparisons, support and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._tools.arrays import Floats, probability, vector, whole_number
from .._tools.provenance import call_text, provenance
from .._tools.random import check_seed
from ..data.intervals import IntervalOutcomes
from ..data.outcomes import Outcomes
from ..data.sampling import sampled
from ..errors import InputError, one_of
from ..metrics.conventions import Convention
from ..metrics.details import Clusters
from ..metrics.problem import Problem
from .applicable import leave_out
from .arrays import fold_arrays
from .baseline_twin import same_as_baseline
from .censoring_remarks import assumed_censoring, check_follow_up
from .census import Census
from .chosen import chosen_metrics, under_dependence, under_entry
from .coarse_grid import check_grids
from .condensed import CONTRIBUTIONS_LIMIT, passing
from .data_support import sampling_support, support_of
from .entry_remarks import check_entry, denied_entries, entry_support
from .finish import Asked
from .given_features import check_features, check_members, laws_given, withhold_dependent
from .groups import columns_of, groups_of, labels_of, sizes_of
from .interval_call import (
    check_intervals,
    interval_problem,
    interval_support,
    outcomes_of,
    refuse_settings,
)
from .landmark import from_landmark_on
from .reading import named_models, read_outcomes, read_predictions
from .result import Evaluation
from .time_units import SomeTimes, check_units
from .warnings import check_groups, check_problem, check_sampling


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
    unit: str = "",
    sample_weight: Any = None,
    cluster: Any = None,
    X_test: Any = None,
    X_train: Any = None,
    conditional: Any = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    threshold: float | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    min_g: float = 0.05,
    min_at_risk: float = 10,
    weighted: bool = True,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    floor: float = 0.1,
    dependence: Any = None,
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
        Test outcomes. Delayed entry (``Outcomes(..., entry=...)``, or a column ``entry`` of a
        frame) is heeded: predictions and G are conditioned on it, and metrics that know no entry
        are left out of the default ones. With `IntervalOutcomes` (the event lies between two
        visits) the metrics are those of interval-censored outcomes, the baseline is Turnbull's
        estimate of `y_train`, and settings that only right-censored outcomes have are refused.
    y_train : outcomes, optional
        Reference set of the surrogates and the baseline; without it the test outcomes are their
        own reference. G comes from the test subjects (``censoring="train"``: from `y_train`).
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
    n_boot : int
        Replicates where a metric has no analytic standard error.
    reference : {"fixed", "redrawn"}
        Whether intervals take the reference set as given, or redraw it with the test set (then
        every interval comes from the bootstrap).
    unit : str
        What times are counted in ("days"), for sentences and axes.
    sample_weight : array-like of shape (n,), optional
        Sampling weights: how many subjects of the population each one stands for, up to a factor.
        Metrics estimate their value in that population, and standard errors take the weights as
        given (only their ratios matter). G of the test subjects is estimated with them. A subject
        of weight 0 is absent. The weights of `y_test` are frequencies instead. Metrics without
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
        Features of the training subjects. With `X_test` and `y_train`, `sg.conditional` fits laws
        given the features for the metrics that take them; frames may have text and gaps.
    conditional : Conditional, optional
        Laws of event and censoring time given the features of each test subject, for the doubly
        robust metrics and for the time errors that take a law; by default Kaplan-Meier, or what
        `X_train` gives.
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
    threshold : float, optional
        Predicted risk from which on a subject is treated, between 0 and 1, for net_benefit, which
        needs it and belongs to the default metrics where it is given.
    convention : str or Convention, optional
        Definitions of another package or of the paper; see `Convention`.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G comes from: the test subjects (default), `y_train`, or the caller's own G.
    dependence : float or Dependence, optional
        Dependence of event and censoring time to assume: Kendall's tau, or `Dependence` with a
        copula. Metrics that know independent censoring only are left out of the default ones then,
        and refused where they are named. The horizon stays that of independent censoring, so that
        numbers under several dependences are about the same times; standard errors take the
        copula-graphic estimates as given.
    cause : int or str, optional
        With several causes of the event, code or name of the one that the evaluation is about.
        `y_test` and `y_train` then have the causes, and predictions are `IncidenceCurves`
        (`as_incidence` reads those of other libraries), times or `RiskScores`. Metrics that know
        one kind of event only are left out of the default ones, and refused where they are named.
        The baseline is Aalen-Johansen of the reference set, and C ranks subjects by the incidence
        predicted by the horizon.
    on_unsupported : {"truncate", "raise", "nan"}
        What metrics do at times past the horizon of the 1/G metrics.
    min_g, min_at_risk : float
        The horizon of the 1/G metrics is the last time with G above `min_g` and at least
        `min_at_risk` test subjects at risk.
    weighted, area, tail, normalize, floor
        Settings of the time errors, as for `time_error`.

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
    models, the same as of fewer subjects to 1e-9), but no contributions of single subjects, and
    antolini leaves the default metrics.

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
    intervals = isinstance(y_test, IntervalOutcomes)
    if intervals:
        refuse_settings(evaluate, given)
    if landmark is not None:
        return from_landmark_on(evaluate, given, made)
    one_of("reference", reference, ("fixed", "redrawn"))
    if X_test is not None and sample_weight is not None:
        raise InputError(
            "X_test cannot be given together with sample_weight: the test of whether censoring "
            "depends on the features takes no sampling weights; leave X_test out"
        )
    y, y_train = (
        outcomes_of(y_test, y_train) if intervals else read_outcomes(y_test, y_train, cause)
    )
    if not isinstance(unit, str):
        raise InputError(f"unit must be a word, such as 'days'; got {unit!r}")
    parsed = read_predictions(named_models(predictions), y, cause)
    if confidence is not None:
        probability(confidence, "confidence")
    n_boot = whole_number(n_boot, "n_boot", 0)
    weight = _sample_weight(sample_weight, y)
    y, _ = sampled(y, weight, "y_test")
    seed = check_seed(random_state)
    # Remarks and support look at the spread of few subjects also where no interval is asked for.
    contributions = confidence is not None or len(y) <= CONTRIBUTIONS_LIMIT
    problem: Problem
    if isinstance(y, IntervalOutcomes):
        problem = interval_problem(
            y, y_train, weight, time=time, tau=tau, conditional=conditional, tail=tail,
            min_at_risk=min_at_risk,
        )  # fmt: skip
    else:
        problem = Problem.of(
            y, y_train, weight, time=time, tau=tau, threshold=threshold, convention=convention,
            censoring=censoring,
            conditional=laws_given(X_train, y_train, X_test, y, conditional, seed),
            dependence=dependence, cause=cause, contributions=contributions,
            on_unsupported=on_unsupported, min_g=min_g, min_at_risk=min_at_risk,
            weighted=weighted, area=area, tail=tail, normalize=normalize, floor=floor,
        )  # fmt: skip
    if cause is not None:
        parsed = {name: p.ranked_by(problem.until) for name, p in parsed.items()}
    chosen, warnings = chosen_metrics(metrics, y.count, threshold, cause, problem.outcomes)
    usual = metrics is None or (isinstance(metrics, str) and metrics == "study")
    if problem.dependence is not None:
        chosen, left_out = under_dependence(chosen, named=not usual)
        warnings = [*warnings, *left_out]
    if problem.by_entry:
        chosen, left_out = under_entry(chosen, not usual, problem.cause)
        denied = {name: (p.kind, denied_entries(y, p)) for name, p in parsed.items()}
        warnings = [*warnings, *left_out, *check_entry(problem, denied, min_at_risk)]
    names = tuple(m.name for m in chosen if any(p.has(m.needs) for p in parsed.values()))
    clusters = _clusters(cluster, y)
    problem = problem.again(asked=names, clusters=clusters, contributions=contributions)
    problem = passing(problem)
    census = Census.of(problem)
    warnings += (check_intervals if intervals else check_problem)(problem, census)
    warnings += check_sampling(y.fractional, problem.clusters)
    looked = SomeTimes()
    looked.update(problem, parsed)
    warnings += check_grids(problem, parsed) + check_units(problem, looked)
    # The test behind it is one of subjects who count alike, observed from the beginning.
    if sample_weight is None and not intervals and not problem.by_entry:
        warnings += check_follow_up(problem.first, passing(problem), chosen, whole=True)
    dependent = check_features(X_train, X_test, problem.first)
    warnings += dependent
    warnings += check_members(problem.conditional, parsed)
    groups = groups_of(by, len(y))
    sizes = sizes_of(y, groups, problem.cause)
    warnings += check_groups(sizes)
    asked = Asked(confidence, seed, n_boot, reference == "redrawn")
    scores, remarks = fold_arrays(problem, parsed, chosen, asked, groups)
    warnings += remarks
    if dependent:
        scores = withhold_dependent(scores, problem)
    if usual:
        scores, warnings = leave_out(scores, warnings)
    support = support_of(problem, census, scores) | sampling_support(problem)
    support |= entry_support(problem) | interval_support(problem, y_train)
    support |= assumed_censoring(
        problem,
        census.events,
        census.subjects,
        X_test is not None or problem.conditional is not None,
        checkable=sample_weight is None,
    )
    same = same_as_baseline(problem, parsed)
    support |= {"same_as_baseline": same} if same else {}
    if sizes:
        support |= {"groups": sizes, "by": columns_of(by)}
    models = tuple(parsed)
    problem = problem.own()
    return Evaluation(
        scores, problem, confidence, support, warnings, seed, models, parsed, unit, provenance=made
    )


def _sample_weight(given: Any, y: Outcomes) -> Floats | None:
    """Read sampling weights; only their ratios matter, so their mean is made 1."""
    if given is None:
        return None
    weight = vector(given, "sample_weight", length=len(y), like="y_test", minimum=0.0)
    present = (weight > 0) & (y.weight > 0)
    if not present.any():
        raise InputError("sample_weight must have a positive sum; got all zeros")
    weight = np.where(present, weight, 0.0)
    weight /= weight.max()
    weight /= weight[present].mean()
    return weight


def _clusters(given: Any, y: Outcomes) -> Clusters | None:
    """Read who was sampled together."""
    if given is None:
        return None
    labels, _ = labels_of(given, len(y), "cluster")
    clusters = Clusters.of(labels, y.weight if y.weighted else None)
    if clusters.number < 2:
        raise InputError(
            "cluster must have at least two different labels, as standard errors come from the "
            f"spread between clusters; got {clusters.number}"
        )
    return clusters
