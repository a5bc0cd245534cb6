"""Accuracy in time: how often the most probable state is the one that a subject is in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ...errors import UndefinedMetricError, one_of
from ..details import CurveResult
from ._status_losses import AsRead
from .multi_cause import state_status
from .status_scores import score_curve

METHODS = ("ipcw", "known")
#: Shares of the observed events by which the usual times lie.
_DECILES = np.arange(1, 10) / 10


def accuracy_in_time(
    y_true: Any,
    incidence: Any,
    times: Any = None,
    *,
    method: str = "ipcw",
    y_train: Any = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
) -> CurveResult:
    r"""Share of subjects at each time whose most probable state is the one that they are in.

    At t a subject is event-free or had an event of one of the causes. The prediction is the state
    of largest probability: event-free with 1 - F_1 - ... - F_K, an event of cause k with F_k. Of
    equally probable states event-free comes first, then the causes in their order.

    .. math:: A(t) = \frac{\sum_i w_i(t)\, 1(\hat s_i(t) = s_i(t))}{\sum_i w_i(t)}

    The state of who was censored at or before t is not known: w_i(t) = 0. The others weigh 1 under
    ``method="known"``, which is the published form [1]_: as events are known more often than
    survival is, it depends on how many were censored. Under ``method="ipcw"`` events by t weigh
    1/G(t_i-), those observed longer 1/G(t), and N stands for the sum of the weights: without bias
    under independent censoring. It says nothing of how far the probabilities were off, and is no
    proper score: `multi_cause_score` is one.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes with several causes; anything that `Outcomes.of` reads.
    incidence : IncidenceCurves
        Incidence of every cause, one curve per subject.
    times : array-like of shape (k,), optional
        Distinct times in any order; the result has them sorted. None: the deciles of the observed
        event times.
    method : {"ipcw", "known"}
        Weights 1/G, or an average over the subjects whose state is known.
    y_train, censoring, on_unsupported, sample_weight
        As for `brier_score`.

    Returns
    -------
    CurveResult
        `times`, `values`, `stderr`; `mean` is the integral divided by the length of the grid.

    References
    ----------
    .. [1] Alberge et al. (2025), Survival models: proper scoring rule and stochastic optimization
       with competing risks, AISTATS.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([4], [[[0.5], [0.2]], [[0.1], [0.4]], [[0.1], [0.1]]])
    >>> accuracy_in_time(y, curves, [1, 4]).values.round(4)  # the second was taken for event-free
    array([1.    , 0.6667])
    """
    one_of("method", method, METHODS)
    if times is None:
        known = Outcomes.of(y_true, "y_true", causes=True, entry=method == "ipcw")
        times = _deciles(known, sample_weight)
    return accuracy_curve(
        y_true,
        incidence,
        times,
        y_train=y_train,
        method="unweighted" if method == "known" else method,
        censoring=censoring,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
    )


def accuracy_curve(y_true: Any, incidence: Any, times: Any, **options: Any) -> CurveResult:
    """`accuracy_in_time`, for a chunk of the subjects too; `options` are those of `make_status`.

    >>> from survgauge import IncidenceCurves, Outcomes
    >>> curves = IncidenceCurves([4], [[[0.5], [0.2]], [[0.1], [0.4]]])
    >>> y = Outcomes([2, 4], ["a", "b"], causes=["a", "b"])
    >>> accuracy_curve(y, curves, [4.0]).mean
    0.5
    """
    status, ends = state_status(y_true, incidence, times, "right", **options)
    return score_curve(status, ends, AsRead(), "most probable state")


def _deciles(y: Outcomes, sample_weight: Any) -> Floats:
    """Observed event times by which a tenth, two tenths, ... of the events have happened."""
    y, mass = sampled(y, sample_weight)
    counted = (y.weight if mass is None else mass) * y.event
    if not counted.any():
        raise UndefinedMetricError("y_true has no event, so that times have to be given")
    order = y.order()
    share = np.cumsum(counted[order])
    # A billionth less: sums of equal masses differ in the last digit.
    place = share.searchsorted(_DECILES * share[-1] * (1.0 - 1e-9))
    return np.unique(y.time[order][place])
