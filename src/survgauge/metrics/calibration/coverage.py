"""Coverage of the central prediction interval of each subject's curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import probability
from ...data.outcomes import Outcomes
from ..checks import check_curves
from ..details import Details
from .inputs import description, own_survival


def coverage(y_true: Any, curves: Any, level: float = 0.9) -> float:
    """Share of subjects whose time lies in the central prediction interval of their curve.

    The interval holds the times with (1 - level)/2 <= S(t) <= (1 + level)/2; a calibrated model
    covers `level` of the subjects. An event counts 1 inside and 0 outside. A subject censored at c
    counts with the mass that its own curve puts into the interval past c,
    (min(S(c), (1 + level)/2) - (1 - level)/2)/S(c), as in D-calibration (0 where S(c) = 0). So a
    wrong model is pulled towards `level` by the censored. Of step curves S(t) is read after the
    drop.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves
        Predicted survival curves.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    float
        `coverage_details` also gives the contributions and a standard error.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> round(coverage(([2, 4, 6, 9.9], [1, 0, 1, 1]), curves, level=0.8), 4)
    0.7083
    """
    return coverage_details(y_true, curves, level).value


def coverage_details(y_true: Any, curves: Any, level: float = 0.9) -> Details:
    """`coverage` with contributions, convention and support.

    Parameters
    ----------
    y_true, curves, level
        As for `coverage`.
    """
    level = probability(level, "level")
    y = Outcomes.of(y_true, "y_true", entry=True)
    curves = check_curves(curves, y)
    s = own_survival(y, curves)
    s[y.weight == 0] = 1.0  # whatever is predicted for who is absent
    low, high = (1 - level) / 2, (1 + level) / 2
    inside = ((s >= low) & (s <= high)).astype(np.float64)
    rows = np.flatnonzero(~y.event)
    known = s[rows]
    mass = np.clip(np.minimum(known, high) - low, 0.0, None)
    inside[rows] = np.divide(mass, known, out=np.zeros_like(known), where=known > 0)
    weight = y.weight / y.weight.sum()
    value = float(weight @ inside)
    convention, support = description(y, curves)
    convention |= {
        "level": level,
        "interval": "central, in probability",
        "censored": "own curve's mass in the interval past c",
    }
    support["share_from_censored"] = float(weight[rows].sum())
    return Details(
        value,
        convention,
        support,
        psi=weight * (inside - value),
        frequency=y.weight if y.weighted else None,
    )
