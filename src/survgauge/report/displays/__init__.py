"""Figures as objects: `frame()` gives the table behind a figure, `plot()` draws it.

A kind of figure is a function from an evaluation to a `Display`: a description, which matplotlib
and the page draw, and its table. ``Evaluation.plot(kind)`` builds and draws one of `DISPLAYS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import InputError, one_of
from ._base import Display, Given, Source, about, given
from ._base import records as records
from .calibration import calibration_panel, d_calibration_bins, decision_curve
from .curves import curves
from .errors import errors, imputed_times, predicted_actual, subjects
from .forest import differences, metrics
from .over_time import over_time, support

__all__ = ["DISPLAYS", "Display", "display", "given"]

#: Kinds of figures of an evaluation, and what builds them.
DISPLAYS: dict[str, Callable[..., Display]] = {
    "metrics": metrics,
    "differences": differences,
    "subjects": subjects,
    "predicted_actual": predicted_actual,
    "errors": errors,
    "brier": partial(over_time, kind="brier"),
    "auc": partial(over_time, kind="auc"),
    "curves": curves,
    "risk_groups": partial(curves, by="risk"),
    "d_calibration": d_calibration_bins,
    "calibration_panel": calibration_panel,
    "decision_curve": decision_curve,
    "support": support,
    "imputed_times": imputed_times,
}
#: Kinds of version 0.1, and which to ask for instead.
OLD_KINDS = {
    "groups": "metrics",
    "mean_curve": "curves",
    "incidence": "curves",
    "stacked_incidence": "curves",
    "error_by_status": "errors",
    "error_over_time": "errors",
    "one_calibration": "calibration_panel",
    "surrogates": "imputed_times",
    "six_metrics": "subjects",
    "mae_variants": "predicted_actual",
}
#: Kinds that support interval-censored outcomes too.
OF_INTERVALS = ("metrics", "differences", "curves")


def display(ev: Any, kind: str = "metrics", **options: Any) -> Display:
    """Build the display of that kind from an evaluation; `options` are those of its function.

    >>> from survgauge import evaluate
    >>> ev = evaluate({"a": [3, 5, 6, 9]}, ([2, 5, 7, 8], [1, 0, 1, 1]), metrics=["mae_po"])
    >>> display(ev, "errors").column("n", model="a")
    array([3., 1.])
    """
    if kind in OLD_KINDS:
        message = f"the figure {kind!r} goes in 0.3; ask for {OLD_KINDS[kind]!r}"
        warnings.warn(message, DeprecationWarning, stacklevel=3)  # who called ev.plot
        if kind == "groups" and "metric" in options:
            options["metrics"] = options.pop("metric")
        kind = OLD_KINDS[kind]
    one_of("kind", kind, DISPLAYS)
    if ev.task.outcomes == "interval" and kind not in OF_INTERVALS:
        raise InputError(
            f"kind {kind!r} draws right-censored outcomes; of interval-censored ones there are "
            f"{', '.join(map(repr, OF_INTERVALS))}"
        )
    return replace(DISPLAYS[kind](ev, **options), about=about(ev))


def sample(ev: Source, most: int) -> Source:
    """Return a seeded sample of the subjects of an evaluation; all of them where they are few."""
    n = len(ev.task.y)
    if n <= most or not ev.predictions:
        return ev
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    parts = {name: prediction[rows] for name, prediction in ev.predictions.items()}
    return Given(ev.task.subset(rows), parts, ev.unit, ev.confidence)
