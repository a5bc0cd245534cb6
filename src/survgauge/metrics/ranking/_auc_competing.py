"""AUC of one cause, whose controls are all without an event of it: also those with another event.

At a time t a case had an event of the cause at or before t and weighs 1/G(t_i-). A control is
event-free past t, weighing 1/G(t), or had an event of another cause by t, weighing 1/G(t_j-): their
weights do not cancel, and they are no suffix of the subjects in time order, so that every time
ranks the subjects anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._tools.array_types import Bools, Floats
from ._auc import AucPoint


def auc_against_all_others(
    time: Floats,
    case_weight: Floats,
    other_weight: Floats,
    times: Floats,
    survivor_weight: Callable[[float], Floats],
    risk: Floats | Callable[[int], Floats],
) -> Iterator[AucPoint]:
    """Yield AUC and contributions at one time after the other.

    Parameters
    ----------
    time : (n,) array
        Observed times.
    case_weight, other_weight : (n,) arrays
        Mass times 1/G of those with an event of the cause, and of those with another; 0 elsewhere.
    times : (T,) array
        Times with a case and a control.
    survivor_weight : callable
        Mass times 1/G(t) of each subject, of which those past t are controls.
    risk : (n,) array or callable
        Risks, or ``risk(k)`` at times[k].
    """
    for k, t in enumerate(times):
        seen: Bools = time <= t
        case = np.where(seen, case_weight, 0.0)
        control = np.where(seen, other_weight, survivor_weight(float(t)))
        yield AucPoint(k, *_compared(risk(k) if callable(risk) else risk, case, control))


def _compared(risk: Floats, case: Floats, control: Floats) -> tuple[float, Floats]:
    """Share of the pairs of case and control in which the case has the higher risk (ties: half).

    Also what each subject contributes: its own share less the mean, as a case and as a control.
    """
    _, place = np.unique(risk, return_inverse=True)
    case, control = case / case.sum(), control / control.sum()
    cases, controls = np.bincount(place, case), np.bincount(place, control)
    below = np.cumsum(controls) - controls / 2  # controls that the risks beat
    above = np.cumsum(cases[::-1])[::-1] - cases / 2  # cases that beat them
    value = float(cases @ below)
    return value, case * (below[place] - value) + control * (above[place] - value)
