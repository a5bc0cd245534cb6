"""Who had the event by a time, doubly robust: what takes its place where covariates are given.

With distributions of event and censoring times given covariates, the indicator 1(T <= t) of every
subject is replaced by its doubly robust value, which has the right mean given the covariates if
either distribution is right (see `survgauge.estimators.doubly_robust`). Scores that are linear in
the status, and those of pairs of subjects, take these values instead of weights 1/G or
Kaplan-Meier of everybody, so that censoring may depend on the covariates. The distributions were
learnt without the subject, so that their errors enter as a product and the spread of the values
gives the standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..estimators.surrogates import METHODS, Setting
from .score import Support
from .task import Task


def happened_by(task: Task, times: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of subjects with the doubly robust indicators of an event by `times`: (n, k).

    With several causes, of an event of the one that is asked about.
    """
    competes = task.competes
    own = None if competes is None else ~competes
    yield from status_setting(task, float(times.max())).robust.happened(times, own)


def happened_at(task: Task, time: float) -> Floats:
    """Return the doubly robust indicators of an event by one time: (n,)."""

    def build() -> Floats:
        return np.concatenate([part[:, 0] for _, part in happened_by(task, np.array([time]))])

    found: Floats = task.cached(("happened", time), build)
    return found


def status_setting(task: Task, last: float) -> Setting:
    """Return what the indicators look at: as the time errors, with no horizon up to `last`."""
    # Times free of a cause need a horizon; just past the last time it changes nothing.
    tau = None if task.cause is None else float(np.nextafter(last, np.inf))
    setting: Setting = task.cached(("status", tau), lambda: replace(task, tau=tau).setting)
    return setting


def status_convention(task: Task, last: float) -> dict[str, Any]:
    """Say where the distributions come from, for the convention of a number."""
    return {
        "observed": "doubly robust indicators given the features",
        **status_setting(task, last).distribution_convention(METHODS["dr"]),
    }


def status_support(task: Task, last: float) -> Support:
    """Count what carries the numbers."""
    weight = status_setting(task, last).robust.weight[task.y.event & (task.weight > 0)]
    return Support(
        counts={"subjects": task.y.count, "events": task.y.event_count},
        largest={"largest_weight": float(weight.max(initial=0.0))},
        effective={"effective_events": (float(weight.sum()), float(np.square(weight).sum()))},
    )
