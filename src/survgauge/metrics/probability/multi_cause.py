"""Scores of all causes at once: the state that a subject is in, against the predicted ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats, stored_once
from ...data.causes import Codes
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.interpolation import GridColumns, Scratch
from ...data.outcomes import Outcomes
from ...errors import one_of
from ..checks import every_cause
from ..conventions import Convention
from ..score import CurveResult, Score
from ._status import Reader, Status, make_status
from .status_scores import Logarithmic, Rule, clip_of, integral, integrals, score_curve

LOSSES = ("log", "squared")


@dataclass(frozen=True)
class States:
    """What is read of predictions of all causes."""

    #: Of n subjects.
    curves: IncidenceCurves
    #: Cause of each event, counted from 1; 0: censored; of shape (n,).
    codes: Codes
    #: probability, squared: probability of the state that a subject is in; or squared distance
    #: between the predicted probabilities and that state, added up over the states.
    reads: str
    #: Incidence of each cause at the entries, (causes, n), and S there; None: nobody enters late.
    at_entry: Floats | None = None
    scale: Floats | None = None

    def given_entry(self, y: Outcomes) -> States:
        """Return the same given no event by the entries of the subjects."""
        if y.entry is None:
            return self
        entry = np.where(y.weight > 0, np.minimum(y.entry, self.curves.times[-1]), 0.0)
        scale = self.curves.free_at_own(entry)
        then = np.stack([self.curves.at_own(entry, cause) for cause in self.curves.causes])
        # Where nothing is left the event comes at once, of a cause with its probability.
        then[:, (scale <= 0) | (entry == 0)] = 0.0
        return replace(self, at_entry=then, scale=np.where((scale > 0) & (entry > 0), scale, 1.0))

    def reader(self, some: Floats, columns: Any, change: NDArray[np.int32]) -> Reader:
        """Reader at some times, of which those before `change` find a subject event-free."""
        grid = self.curves.times
        # Past the grid nothing is asked for, unless the last values hold.
        within = np.minimum(some, grid[-1])
        places = GridColumns(grid, within, self.curves.interpolation, "hold", origin=0.0)
        read = self._probability if self.reads == "probability" else self._squared
        return lambda rows, scratch: read(rows, scratch, places, change[rows, None] > columns)

    def _causes(self, rows: slice, scratch: Scratch, places: GridColumns) -> Iterator[Floats]:
        """Incidence of one cause after the other, each in the same memory, only to be read."""
        values, own = self.curves.values, rows
        if stored_once(values):  # one row stands for all
            rows = slice(0, 1)
        for cause in range(len(self.curves.causes)):
            incidence = places.read(values[rows, cause], scratch)
            if self.at_entry is None or self.scale is None:
                yield incidence
            else:
                since = (incidence - self.at_entry[cause, own, None]) / self.scale[own, None]
                yield np.maximum(since, 0.0)

    def _probability(
        self, rows: slice, scratch: Scratch, places: GridColumns, alive: Bools
    ) -> Floats:
        own: Floats = scratch("state", alive.shape)
        free: Floats = scratch("free", alive.shape)
        own.fill(1.0)
        free.fill(1.0)
        for cause, incidence in enumerate(self._causes(rows, scratch, places), 1):
            free -= incidence
            members = np.flatnonzero(self.codes[rows] == cause)
            own[members] = incidence if len(incidence) == 1 else incidence[members]
        np.copyto(own, np.maximum(free, 0.0, out=free), where=alive)
        return own

    def _squared(self, rows: slice, scratch: Scratch, places: GridColumns, alive: Bools) -> Floats:
        loss: Floats = scratch("state", alive.shape)
        free: Floats = scratch("free", alive.shape)
        loss.fill(0.0)
        free.fill(1.0)
        for cause, incidence in enumerate(self._causes(rows, scratch, places), 1):
            free -= incidence
            happened = ~alive & (self.codes[rows, None] == cause)
            gap = np.subtract(incidence, happened, out=scratch("gap", alive.shape))
            gap *= gap
            loss += gap
        np.maximum(free, 0.0, out=free)
        free -= alive
        free *= free
        loss += free
        return loss


def multi_cause_score(
    y_true: Any,
    incidence: Any,
    times: Any,
    *,
    loss: str = "log",
    y_train: Any = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    clip: float | None = None,
) -> CurveResult:
    r"""Score of the predicted probabilities of all causes at given times: a loss.

    At t a subject is in one state: 0 (event-free) or k (it had an event of cause k). With the
    predicted probabilities p_0 = 1 - F_1 - ... - F_K and p_k = F_k of the states,

    .. math:: L(t) = \frac1N \sum_i w_i(t)\, \ell(s_i(t), p_i(t)),

    where the loss of state s is -log p_s, or under ``loss="squared"`` the sum over all states r of
    (1(r = s) - p_r)^2. w_i(t) = 1/G(t_i-) for an event of any cause with t_i <= t, 1/G(t) where
    t_i > t, and 0 for subjects censored at or before t. Under independent censoring both are
    strictly proper: on average only the true probabilities of all states have the lowest
    loss [1]_. The Brier score of a cause looks at one F_k alone.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes with several causes; anything that `Outcomes.of` reads.
    incidence : IncidenceCurves
        Incidence of every cause, one curve per subject.
    times : array-like of shape (k,)
        Distinct times in any order; the result has them sorted.
    loss : {"log", "squared"}
        A probability of exactly 0 for what happened is an infinite logarithmic loss: nothing is
        clipped unless `clip` is given. The squared loss is the sum of the Brier scores of all
        causes and of any event.
    y_train, convention, censoring, on_unsupported, sample_weight
        As for `brier_score`.
    clip : float, optional
        Keep probabilities within [clip, 1 - clip] under ``loss="log"``; what was changed is counted
        in the support.

    Returns
    -------
    CurveResult
        `times`, `values`, `stderr`; `mean` is the integral divided by the length of the grid.

    References
    ----------
    .. [1] Alberge et al. (2025), Survival models: proper
       scoring rule and stochastic optimization with competing risks, AISTATS.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([4], [[[0.5], [0.2]], [[0.1], [0.4]], [[0.1], [0.1]]])
    >>> multi_cause_score(y, curves, [4]).values.round(4)  # -(log 0.5 + log 0.4 + log 0.8) / 3
    array([0.6109])
    """
    asked = dict(locals())  # of `make_status`, and the loss
    del asked["clip"]
    status, ends = _status(**asked)
    return score_curve(status, ends, _rule(status, loss, clip), _named(loss))


def integrated_multi_cause_score(
    y_true: Any,
    incidence: Any,
    times: Any = None,
    *,
    loss: str = "log",
    y_train: Any = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
    clip: float | None = None,
) -> Score:
    """Integral of `multi_cause_score` over `times`, divided by its length: a loss.

    Parameters
    ----------
    y_true, incidence
        As for `multi_cause_score`.
    times : array-like of shape (k,), optional
        At least two times. None: 100 equal steps from 0 to the last time at which the score is
        identified.
    loss, y_train, convention, censoring, on_unsupported, sample_weight, clip
        As for `multi_cause_score`.

    Returns
    -------
    Score

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([9], [[[0.6], [0.3]], [[0.3], [0.6]], [[0.2], [0.1]]])
    >>> round(integrated_multi_cause_score(y, curves, [1, 4, 7]), 4)
    0.634
    >>> found = integrated_multi_cause_score(y, curves, [1, 4, 7], loss="squared")
    >>> round(found, 4), round(found.stderr, 4), found.convention["loss"]
    (0.3911, 0.1778, 'squared, all states')
    """
    asked = dict(locals())  # of `make_status`, and the loss
    del asked["clip"]
    status, ends = _status(**asked)
    return integral(status, ends, _rule(status, loss, clip), _named(loss))


def integrated_states(
    y_true: Any, incidence: Any, times: Any, loss: str, clip: float | None = None, **options: Any
) -> Score:
    """`integrated_multi_cause_score`, for a chunk of the subjects too.

    `options` are those of `make_status`.

    >>> from survgauge import IncidenceCurves, Outcomes
    >>> y = Outcomes([2, 3, 9], [1, 2, 0])
    >>> curves = IncidenceCurves([9], [[[0.6], [0.3]], [[0.3], [0.6]], [[0.2], [0.1]]])
    >>> round(integrated_states(y, curves, [1, 4, 7], "log").value, 4)
    0.634
    """
    status, ends = _status(y_true, incidence, times, loss, **options)
    return integrals(status, ends, {_named(loss): _rule(status, loss, clip)})[_named(loss)]


def _status(
    y_true: Any,
    incidence: Any,
    times: Any,
    loss: str,
    *,
    y_train: Any = None,
    tail: str = "nan",
    **options: Any,
) -> tuple[Status, SurvivalCurves]:
    """Question about the state at given times, and how far the predictions go.

    Past the grid nothing is predicted, unless `tail` says that the last values hold.
    """
    one_of("loss", loss, LOSSES)
    asked = every_cause(y_true, incidence, y_train, entry=True)
    ends = asked.curves.ends(tail)
    status, checked = make_status(asked.y, ends, times, y_train=asked.y_train, **options)
    reads = "probability" if loss == "log" else "squared"
    states = States(asked.curves, asked.codes, reads).given_entry(status.y)

    def reader(some: Floats) -> Reader:
        return states.reader(some, status.times.searchsorted(some), status.change)

    return replace(status, reader=reader), checked


def _rule(status: Status, loss: str, clip: float | None) -> Rule:
    """Logarithm of the probability of the state, or the squared distance as it was read."""
    if loss == "log":
        return Logarithmic(clip_of(status, clip), of_state=True)
    return lambda read, alive, weight, out=None: np.multiply(read, weight, out=out)


def _named(loss: str) -> str:
    return f"{loss}, all states"
