"""What the data of an evaluation covered: subjects, follow-up, the reference set, and by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics.problem import Problem
from .cause_support import cause_support
from .census import Census
from .condensed import passing
from .score import NAN, Score
from .when import names


def support_of(
    problem: Problem, census: Census, scores: list[Score], all_outcomes: bool = True
) -> dict[str, Any]:
    """What all metrics share, and what each cell left out.

    The median follow-up needs all outcomes: it is that of the time until censoring, since entry.
    """
    largest = [
        s.measured.support["largest_weight"]
        for s in scores
        if s.measured is not None and s.measured.support.get("largest_weight") is not None
    ]
    return {
        "subjects": census.subjects,
        "events": census.events,
        # Nobody is followed before entering.
        "median_follow_up": passing(problem).observed_g.median("nan") if all_outcomes else NAN,
        "horizon": problem.horizon,
        "tau": problem.tau,
        "time": problem.time_used,
        "times": [at.time_used for at in problem.at_times],
        "times_given": problem.timed,
        "subjects_past_horizon": census.subjects_past_horizon,
        "events_past_horizon": census.events_past_horizon,
        "largest_weight": max(largest, default=NAN),
        "tail_share": _tail_shares(scores),
        "reference": "test outcomes, in sample"
        if problem.reference is None
        else "training outcomes",
        **_training(problem),
        **cause_support(problem, all_outcomes),
        "metrics": _support_by_cell(scores),
    }


def _training(problem: Problem) -> dict[str, int]:
    """Count the training subjects, where there are any."""
    if problem.reference is None:
        return {}
    y = problem.reference.whole.y
    died = y.weight[y.event].sum()
    return {
        "training_subjects": round(float(y.weight.sum())),
        "training_events": round(float(died)),
    }


def _tail_shares(scores: list[Score]) -> dict[str, float]:
    """Share of each model's predicted times that were read off a tail, of everybody."""
    known: dict[str, float] = {}
    for score in sorted(scores, key=lambda s: s.metric.name):  # medians (mae) before means (mse)
        support = {} if score.measured is None else score.measured.support
        if score.group is None and support.get("tail_share") is not None:
            known.setdefault(score.model, support["tail_share"])
    return {score.model: known[score.model] for score in scores if score.model in known}


def _support_by_cell(scores: list[Score]) -> dict[str, Any]:
    """What each cell left out: model, metric (with its time); "groups" has those of groups."""
    found: dict[str, Any] = {}
    named = names(score.row() for score in scores)
    for score in scores:
        if score.measured is not None:
            cells = found.setdefault(score.model, {})
            if score.group is not None:
                cells = cells.setdefault("groups", {}).setdefault(score.group, {})
            cells[named[score.metric.name, score.time]] = dict(score.measured.support)
    return found


def sampling_support(problem: Problem) -> dict[str, Any]:
    """Support that only weighted or clustered subjects have."""
    found: dict[str, Any] = {}
    if problem.clusters is not None:
        found["clusters"] = problem.clusters.number
    if problem.sample_weight is not None:
        mass = problem.sample_weight
        square = float(np.sum(mass**2 * problem.y.weight))
        found["effective_subjects"] = float(np.sum(mass * problem.y.weight)) ** 2 / square
    return found
