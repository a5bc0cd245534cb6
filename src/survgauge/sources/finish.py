"""From the parts of a stream to an `Evaluation`, by the rules of `evaluate`."""

from __future__ import annotations

from dataclasses import replace

from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..evaluation import Evaluation
from ..evaluation.applicable import leave_out
from ..evaluation.censoring_remarks import (
    assumed_censoring,
    check_agreement,
    check_follow_up,
    check_weights,
)
from ..evaluation.census import Census
from ..evaluation.coarse_grid import coarse_grids
from ..evaluation.data_support import support_of
from ..evaluation.entry_remarks import check_entry
from ..evaluation.finish import Group
from ..evaluation.fold import Fold
from ..evaluation.interval_call import check_intervals
from ..evaluation.intervals import few_replicates
from ..evaluation.tails import tail_remarks, withhold
from ..evaluation.time_units import check_units
from ..evaluation.warnings import EvaluationWarning, check_groups, check_problem, check_sampling
from ..metrics.problem import Problem
from ..metrics.registry import default_metrics
from .accumulator import Accumulator
from .labels import GroupKey, check_number_of
from .layout import CURVES
from .outline import Outline
from .question import check_anybody


def finish(total: Accumulator, rows: int | None, first: Outline | None = None) -> Evaluation:
    """Return the evaluation of all subjects.

    `total` has all parts together, of `rows` rows where that is known, and `first` is what a first
    pass over the outcomes found.
    """
    total.settle()
    _check_rows(total, rows)
    scoring, outline = total.scoring, total.outline
    request, known = scoring.request, first or outline
    kinds = total.folds[None].kinds.values()
    had = [m.name for m in request.metrics if any(Prediction.offers(k, m.needs) for k in kinds)]
    problem = replace(_problem(total, known), asked=tuple(had))
    census = Census.of(problem) if request.kept else _census(total, problem)
    warnings = _skipped(total, census.subjects) if request.default else []
    warnings += [*request.remarks, *_entries(total, problem)]
    check = check_intervals if request.outcomes == "interval" else check_problem
    warnings += check(problem, census) + check_sampling(outline.fractional)
    grids = {
        name: (spec.times, spec.interpolation)
        for name, spec in scoring.layout.predictions.items()
        if isinstance(spec, CURVES)
    }
    warnings += coarse_grids(problem, grids) + check_units(problem, total.looked)
    warnings += scoring.remarks
    if scoring.counted:
        warnings += check_follow_up(problem.first, problem, request.metrics)
    folds = _groups(total)
    sizes = {
        str(key.name): _size(fold, problem.cause_name) for key, fold in folds if key is not None
    }
    warnings += check_groups(sizes)
    scores, remarks = [], []
    for key, fold in folds:
        found, said = _group(total, problem, key, fold).scores()
        scores += found
        remarks += said
    if request.bootstrap and not any(remark.code == "few-replicates" for remark in remarks):
        remarks += few_replicates(request.asked.n_boot)  # none at all leave no replicates behind
    warnings += remarks + check_weights(scores) + check_agreement(scores)
    warnings += tail_remarks(scores, request.asked.confidence, problem.words.baseline)
    scores = withhold(scores)
    if request.default:
        scores, warnings = leave_out(scores, warnings)
    all_outcomes = known.follow or request.kept
    support = support_of(problem, census, scores, all_outcomes) | scoring.support
    if problem.cause is not None:  # of all subjects, also where not all outcomes were kept
        support["events_by_cause"] = dict(total.folds[None].by_cause)
    if sizes:
        by = scoring.layout.by
        support |= {"groups": sizes, "by": [] if by is None else list(by.columns)}
    given = problem.conditional is not None or bool(scoring.layout.laws)
    support |= assumed_censoring(problem, census.events, census.subjects, given)
    models = tuple(scoring.layout.predictions)
    confidence, seed = request.asked.confidence, request.asked.seed
    return Evaluation(
        scores,
        problem,
        confidence,
        support,
        warnings,
        seed,
        models,
        {},
        request.unit,
        all_outcomes=all_outcomes,
    )


def _check_rows(total: Accumulator, rows: int | None) -> None:
    """Refuse an evaluation with holes."""
    seen = total.seen
    if not seen:
        raise InputError("the stream has no rows; at least one subject is needed")
    whole = seen[0][0] == 0 and len(seen) == 1
    if not whole or (rows is not None and total.rows != rows):
        expected = "" if rows is None else f" of {rows}"
        raise InputError(
            f"rows are missing: {total.rows}{expected} came, in the ranges "
            f"{', '.join(f'{a} to {b - 1}' for a, b in seen[:5])}; did the data change?"
        )
    known = total.scoring.digest
    if rows is not None and known is not None and known != total.outline.digest:
        raise InputError("the outcomes changed between the two passes over them; run it again")


def _problem(total: Accumulator, outline: Outline) -> Problem:
    """Return the question about all subjects, whose horizon is known now."""
    request, problem = total.scoring.request, total.scoring.problem
    if total.scoring.digest is None:  # no first pass has settled it
        problem = request.problem(outline, problem.reference)
    if request.kept:
        return _of_all(problem, outline.outcomes())
    # All outcomes where they were counted, or the last of them, which tell the horizon.
    return _of_all(problem, outline.counts.outcomes() if outline.follow else outline.top())


def _of_all(problem: Problem, y: Outcomes) -> Problem:
    """Return the question about subjects at hand, whose G is then their own."""
    given = problem.censoring
    own = not isinstance(given, str) and problem.weights.source == "test"
    censoring = "test" if own else given
    return replace(problem, y=y, follow_up=None, censoring=censoring, rows=None, start=0)


def _entries(total: Accumulator, problem: Problem) -> list[EvaluationWarning]:
    """Remark on delayed entry, where there is any."""
    request = total.scoring.request
    if not request.by_entry:
        return []
    kinds = total.folds[None].kinds
    denied = {name: (kinds[name], number) for name, number in total.denied.items()}
    return check_entry(problem, denied, request.min_at_risk)


def _census(total: Accumulator, problem: Problem) -> Census:
    past: tuple[int, int] | None = total.past
    if problem.horizon != total.scoring.threshold:
        past = total.outline.past(problem.horizon)
    if past is None:
        raise InputError("the horizon changed while the stream was read; did the data change?")
    everybody = total.folds[None]
    subjects, events = everybody.subjects, everybody.events
    mine = None
    if problem.cause_name is not None:
        mine = everybody.by_cause.get(problem.cause_name, 0)
    return Census(subjects, events, past[0], past[1], total.outline.last_time, mine)


def _size(fold: Fold, cause: str | None) -> dict[str, int]:
    """Count subjects and events of a group, and those of the cause that is asked about."""
    found = {"subjects": fold.subjects, "events": fold.events}
    return found if cause is None else found | {"events_of_cause": fold.by_cause.get(cause, 0)}


def _skipped(total: Accumulator, subjects: int) -> list[EvaluationWarning]:
    """Say which default metrics a stream cannot have."""
    request = total.scoring.request
    chosen = {metric.name for metric in request.metrics}
    curves = "curves" in total.folds[None].kinds.values()
    found = []
    for metric in default_metrics(cause=request.settings.get("cause"), outcomes=request.outcomes):
        if request.by_entry and not metric.takes_entry:
            continue
        if metric.name not in chosen and (curves or subjects > metric.default_until):
            message = (
                f"{metric.name} is left out, because it needs all subjects at once, which a stream "
                "does not have"
            )
            found.append(EvaluationWarning("metric-skipped", message))
    return found


def _groups(total: Accumulator) -> list[tuple[GroupKey | None, Fold]]:
    """Return the folds by key, everybody first; each has somebody in it."""
    folds = total.folds
    groups = [key for key in folds if key is not None]
    for key in groups:
        check_anybody(key, folds[key].subjects)
    check_number_of(groups, folds[None].subjects)
    by = total.scoring.layout.by
    if by is not None:  # in the order in which the columns were named, as `evaluate`
        groups.sort(key=lambda key: (by.columns.index(key.column), key.label))
    return [(key, folds[key]) for key in (None, *groups)]


def _group(total: Accumulator, problem: Problem, key: GroupKey | None, fold: Fold) -> Group:
    """Return a group with the columns that were kept of its subjects."""
    question, _ = total.scoring.of_group(key)
    predictions = {}
    if fold.columns is not None:
        predictions = fold.columns.predictions()
        problem = _of_all(problem, fold.columns.outcomes())
    problem = replace(problem, tested=question.tested)
    name = None if key is None else key.name
    return Group(fold, problem, predictions, total.scoring.request.asked, name)
