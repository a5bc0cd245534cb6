"""What the data of an evaluation covered: subjects, follow-up, the reference set, and by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.causes import events_by_cause
from ..data.curves import SurvivalCurves
from ..data.predictions import Prediction
from ..estimators.aalen_johansen import AalenJohansen
from ..estimators.reference import Reference
from ..metrics.task import Task
from .cells import NAN, TableCell, passing
from .phrases import names


def support_of(
    task: Task,
    counts: SubjectCounts,
    scores: list[TableCell],
    same: list[str],
    y_train: Any,
    features: bool | None,
) -> dict[str, Any]:
    """What all metrics share, and what each cell left out.

    The median follow-up is that of the time until censoring, since entry. `same` are the models
    that predict what the baseline predicts, `y_train` training outcomes that are intervals;
    `features` says whether censoring can be described by features, None that there can be none.
    """
    trained = _training(task, y_train)
    weights = [score.support.get("largest_weight") for score in scores]
    largest = [weight for weight in weights if weight is not None]
    return {
        "subjects": counts.subjects,
        "events": counts.events,
        # Nobody is followed before entering.
        "median_follow_up": passing(task).observed_g.median("nan"),
        "horizon": task.horizon,
        "tau": task.tau,
        "time": task.time_used,
        "times": [at.time_used for at in task.at_times],
        "times_given": task.timed,
        "subjects_past_horizon": counts.subjects_past_horizon,
        "events_past_horizon": counts.events_past_horizon,
        "largest_weight": max(largest, default=NAN),
        "tail_share": _tail_shares(scores),
        "reference": "training outcomes" if trained else "test outcomes, in sample",
        **trained,
        **({} if task.cause is None else _causes(task)),
        "metrics": _support_by_cell(scores),
        **_sampling(task),
        **_entry(task),
        **(_intervals(task) if task.outcomes == "interval" else {}),
        **_assumed_censoring(task, counts, features),
        **({"same_as_baseline": same} if same else {}),
    }


def _training(task: Task, y_train: Any) -> dict[str, int]:
    """Count the training subjects, where there are any."""
    y = y_train if task.reference is None else task.reference.whole.y
    if y is None:
        return {}
    return {
        "training_subjects": round(float(y.weight.sum())),
        "training_events": round(float(y.weight[y.event].sum())),
    }


def _tail_shares(scores: list[TableCell]) -> dict[str, float]:
    """Share of each model's predicted times that were read off a tail, of everybody."""
    known: dict[str, float] = {}
    for score in sorted(scores, key=lambda s: s.metric.name):  # medians (mae) before means (mse)
        share = score.support.get("tail_share")
        if score.group is None and share is not None:
            known.setdefault(score.model, share)
    return {score.model: known[score.model] for score in scores if score.model in known}


def _support_by_cell(scores: list[TableCell]) -> dict[str, Any]:
    """What each cell left out: model, metric (with its time); "groups" has those of groups."""
    found: dict[str, Any] = {}
    named = names(score.row() for score in scores)
    for score in scores:
        if score.support:
            cells = found.setdefault(score.model, {})
            if score.group is not None:
                cells = cells.setdefault("groups", {}).setdefault(score.group, {})
            cells[named[score.metric.name, score.time]] = dict(score.support)
    return found


def _intervals(task: Task) -> dict[str, Any]:
    """What the support says of interval-censored outcomes besides that of others."""
    y = task.intervals.present()
    known = int(y.exact.sum())
    return {
        "outcomes": "interval",
        "intervals": y.event_count - known,
        "exact": known,
        "distribution": task.inside.of,
        "estimate": "Turnbull's estimate",
    }


def _entry(task: Task) -> dict[str, Any]:
    """Return how many enter late, when, and from when on enough are at risk."""
    y = task.y.present()
    if y.entry is None:
        return {}
    late = y.entry[y.entry > 0]
    return {
        "delayed_entry": int(late.size),
        "median_entry": float(np.median(late)),
        "last_entry": float(late.max()),
        "at_risk_since": task.since,
    }


def _assumed_censoring(task: Task, counts: SubjectCounts, features: bool | None) -> dict[str, str]:
    """Return what is assumed of censoring, and whether there are `features` to check it by.

    Nothing without censored subjects, and of interval-censored outcomes. None are features that
    cannot be given, as in a stream; nor can they under delayed entry and with sampling weights.
    """
    if task.outcomes != "right" or counts.events >= counts.subjects:
        return {}
    if task.conditional is not None:
        return {
            "assumes": "Given the features, censoring is assumed to be independent of the event."
        }
    if features:
        return {}
    possible = features is not None and task.sample_weight is None and not task.by_entry
    how = ": pass X_test= and X_train= to check it" * possible
    return {
        "assumes": f"Censoring is assumed not to depend on covariates. This was not checked{how}."
    }


def _sampling(task: Task) -> dict[str, Any]:
    """Support that only weighted or clustered subjects have."""
    found: dict[str, Any] = {}
    if task.clusters is not None:
        found["clusters"] = task.clusters.number
    if task.sample_weight is not None:
        weight = task.sample_weight
        square = float(np.sum(weight**2 * task.y.weight))
        found["effective_subjects"] = float(np.sum(weight * task.y.weight)) ** 2 / square
    return found


@dataclass(frozen=True)
class SubjectCounts:
    """Counts of the test subjects, all that support and warnings need of them."""

    subjects: int
    events: int
    subjects_past_horizon: int
    events_past_horizon: int
    last_time: float
    #: Events of the cause that is asked about, or all of them where there is one kind.
    events_asked_about: int

    @classmethod
    def of(cls, task: Task) -> SubjectCounts:
        """Count the subjects of a task; those of weight zero are left out."""
        y = task.y.present()
        past = y.time > task.horizon
        mine = y.event if task.cause is None else y.cause == task.cause
        return cls(
            len(y),
            int(y.event.sum()),
            int(past.sum()),
            int((past & y.event).sum()),
            float(y.time.max()),
            int(np.count_nonzero(mine)),
        )


def _causes(task: Task) -> dict[str, Any]:
    """Name the cause that is asked about, count the events of each, and estimate their incidence.

    The incidence is that at the times of interest.
    """
    found: dict[str, Any] = {
        "cause": task.cause_name,
        "events_by_cause": events_by_cause(task.y),
    }
    if task.reference is not None:
        found["training_events_by_cause"] = events_by_cause(task.reference.given)
    found["incidence"] = _incidence(task)
    return found


def _incidence(task: Task) -> list[dict[str, Any]]:
    """Aalen-Johansen of every cause in the test set at the times of interest."""
    aj = AalenJohansen.fit(task.y)
    times = [at.time_used for at in task.at_times]
    return [
        {
            "cause": name,
            "time": time,
            "value": float(aj.at(time, code)),
            "stderr": float(aj.stderr_at(time, code)),
        }
        for time in times
        if np.isfinite(time)
        for code, name in enumerate(aj.causes, 1)
    ]


#: Probabilities closer than this are the same.
NEAR = 0.005
#: At how many times curves are compared, and how many subjects are looked at before all are.
_TIMES, _FEW = 50, 50


def same_as_baseline(task: Task, predictions: Mapping[str, Prediction]) -> list[str]:
    """Return the models that give everybody the curve of the baseline, up to the horizon.

    The baseline is Kaplan-Meier of the reference set, of a cause Aalen-Johansen. Curves are
    compared at the times of the model's own grid, where it does not matter how often it was read
    off and what is assumed in between.
    """
    if task.outcomes != "right" or not task.horizon > 0:
        return []
    known = task.reference
    if known is None:
        known = Reference(task.y, in_sample=True, causes=task.cause is not None)
    baseline = replace(task, reference=known).subset(slice(0, 1)).baseline().curves
    if baseline is None:
        return []
    return [
        name
        for name, prediction in predictions.items()
        if prediction.curves is not None and _same(prediction.curves, baseline, task.until)
    ]


def _same(curves: SurvivalCurves, baseline: SurvivalCurves, end: float) -> bool:
    """Whether all curves go through the values of the baseline up to `end`."""
    grid = np.unique(curves.times if curves.shared_grid else curves.times[0])
    grid = grid[grid <= min(end, float(np.min(curves.last_time)))]
    if not grid.size:
        return False
    times = grid[np.unique(np.linspace(0, grid.size - 1, _TIMES).round().astype(int))]
    values = baseline.at(times)[0]
    if values.min() > 1 - NEAR:  # where every curve begins, nothing tells them apart
        return False
    few = np.unique(np.linspace(0, len(curves) - 1, _FEW).round().astype(int))
    return all(
        bool(np.all(np.abs(curves[rows].at(times) - values) <= NEAR)) for rows in (few, slice(None))
    )
