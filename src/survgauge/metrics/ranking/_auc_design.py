"""Who is a case and who a control of the cumulative/dynamic AUC: see `_auc` for the definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.sorting import sorting_order
from ._auc_censoring import Censoring, CensoringTable, censoring_table

Column = Callable[[int], NDArray[Any]]
Controls = Literal["later", "later_or_censored"]


@dataclass(frozen=True)
class AucDesign:
    """Who is a case and who a control at each time: everything that no model changes.

    Build it with `auc_design`. Positions count subjects in time order (events first among equal
    times); `order` maps a position to the subject. Whoever stands before the cut and has a weight
    as a case is one.
    """

    order: Ints  #: (n,) subject at each position
    weight: Floats  #: (n,) frequencies, by position
    case_mass: Floats  #: (n,) w a, by position; 0 for whoever cannot be a case
    cut: Ints  #: (T,) the first control's position at each time
    cases_total: Floats  #: (T,) A, the sum of w a over the cases
    controls_total: Floats  #: (T,) sum of w over the controls
    control_weight: Column | None  #: b at times[k], by subject; None: equal
    censoring: CensoringTable | None  #: None: G is taken as known

    def __len__(self) -> int:
        """Return the number of times."""
        return int(self.cut.size)


def auc_design(
    time: Floats,
    event: Bools,
    case_weight: Floats,
    times: Floats,
    weight: Floats | None = None,
    *,
    controls: Controls = "later",
    censoring: Censoring = "fixed",
    control_weight: Column | None = None,
    order: Ints | None = None,
) -> AucDesign:
    """Sort the subjects by time once and find the cases and controls of every time.

    Parameters
    ----------
    time, event : (n,) arrays
        The outcomes.
    case_weight : (n,) array
        1/G at the events' own times, by the caller's limit of G; not read where `event` is false,
        0 leaves an event out.
    times : (T,) array
        Any order.
    weight : (n,) array, optional
        Frequencies: an integer w equals w copies of the row.
    controls : {"later", "later_or_censored"}
        t_i > t, or also those censored exactly at t (SurvivalEVAL).
    censoring : {"fixed", "estimated", "hazard"}
        Whether contributions have the part of a G estimated from these same subjects.
        "estimated" differentiates the events-first reverse Kaplan-Meier (left limits) exactly, ties
        included. "hazard" writes 1/Y(u) for 1/(Y(u) - c(u)) and counts events at u as at risk of
        censoring at u, as riskRegression::Score does. Values never change.
    control_weight : callable, optional
        ``control_weight(k)`` gives 1/G(times[k] | x_j) per subject, for censoring that depends on
        the subject.
    order : (n,) array, optional
        Subjects by time, where they have been sorted already.

    Returns
    -------
    AucDesign
        To be shared by all models on these subjects.
    """
    order = sorting_order(time) if order is None else order
    sorted_time = time[order]
    if (sorted_time[1:] == sorted_time[:-1]).any():  # ten times the cost, so only where it matters
        order = np.lexsort((~event, time))
    sorted_event = event[order]
    w: Floats = np.broadcast_to(1.0, time.size)
    if weight is not None:
        w = weight[order].astype(np.float64)
    cut = np.searchsorted(sorted_time, times, side="right")
    if controls == "later_or_censored":
        # Events come first among equal times, so the censored at t are the end of their group.
        start = np.searchsorted(sorted_time, times, side="left")
        cut = start + sums_around(sorted_event, cut)[0] - sums_around(sorted_event, start)[0]
    table = None
    if censoring != "fixed":
        table = censoring_table(sorted_time, sorted_event, w, censoring)
    del sorted_time
    mass = case_weight[order]
    mass[~sorted_event] = 0.0
    if weight is not None:
        mass *= w
    return AucDesign(
        order=order,
        weight=w,
        case_mass=mass,
        cut=cut,
        cases_total=sums_around(mass, cut)[0],
        controls_total=sums_around(w, cut)[1],
        control_weight=control_weight,
        censoring=table,
    )


def sums_around(values: NDArray[Any], cut: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sums of the values before each cut and from it on; of none exactly 0.

    >>> sums_around(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 3]))
    (array([0., 3., 7.]), array([7., 4., 0.]))
    """
    n = values.size
    bounds = np.unique(np.concatenate(([0, n], cut)))
    kind = np.result_type(values.dtype, np.int64)
    parts = np.add.reduceat(values, bounds[:-1], dtype=kind)
    place = bounds.searchsorted(cut)
    before = np.concatenate(([0], np.cumsum(parts)))
    after = np.concatenate((np.cumsum(parts[::-1])[::-1], [0]))
    return before[place], after[place]
