"""Recalibration: a map of curves, fitted on other subjects, that keeps the order of subjects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.adapters import as_curves, curves_from_quantiles
from ...data.checks import ROUNDING
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.kaplan_meier import KaplanMeier
from .d_calibration import own_times_of

METHODS = ("km", "conformal")
#: Quantiles at which the conformal map is fitted: 2.5 %, 5 %, ..., 97.5 %.
_LEVELS = np.arange(1, 40) / 40
#: Quantiles before and after those, which move like the nearest: curves start and end slowly.
_EDGE = np.array([0.0005, 0.001, 0.002, 0.004, 0.007, 0.01, 0.015, 0.02])
#: Most points of Kaplan-Meier that a map keeps; more would slow it down and change nothing.
_KNOTS = 2000
#: Times to which the grids of lines and cubics are refined before a map of values.
_FINE = 200
_MOVED = np.concatenate((_EDGE, _LEVELS, 1.0 - _EDGE[::-1]))


@dataclass(frozen=True, repr=False, eq=False)
class Recalibration:
    """Result of `recalibrate`: call it, or `apply`, on the curves of any subjects.

    Attributes
    ----------
    method : str
        "km" or "conformal".
    levels, values : ndarray
        The map. "km": a predicted survival of ``levels`` becomes ``values``, joined by lines.
        "conformal": the predicted quantile at each of ``levels`` is multiplied by ``values``.
    support : dict
        Subjects and events of the fit, and how far the data reach: "lowest_survival" is the lowest
        predicted survival (km), "highest_level" the highest quantile (conformal) with data behind.
    """

    method: str
    levels: Floats
    values: Floats
    support: dict[str, Any] = field(default_factory=dict)

    def apply(self, curves: Any) -> SurvivalCurves:
        """Return recalibrated curves of these or other subjects.

        Parameters
        ----------
        curves : curves
            Predictions of the same model; anything that `as_curves` reads.
        """
        given = as_curves(curves)
        if self.method == "conformal":
            return self._moved(given)
        if given.interpolation != "step":
            given = _refined(given)
        survival = np.interp(given.survival, self.levels, self.values)
        return SurvivalCurves(given.times, survival, given.interpolation, given.tail)

    __call__ = apply

    def extrapolated(self, curves: Any) -> float:
        """Return the share of what `apply` reads that no data of the fit stand behind.

        With "km" these are predicted probabilities below ``support["lowest_survival"]``, which
        shrink in proportion; with "conformal" quantiles above ``support["highest_level"]``, which
        move like the last one that is known, and quantiles past the last time of a curve.

        Parameters
        ----------
        curves : curves
            Predictions of the same model.
        """
        given = as_curves(curves)
        if self.method == "km":
            return float(np.mean(given.survival < self.support["lowest_survival"]))
        unknown = [(p > self.levels[-1]) | ~given.reaches(float(p)) for p in _LEVELS]
        return float(np.mean(unknown))

    def _moved(self, curves: SurvivalCurves) -> SurvivalCurves:
        times = _quantiles(curves, _MOVED) * np.interp(_MOVED, self.levels, self.values)
        # Where a tail never falls there is nothing to move, and the tail goes on.
        known = np.isfinite(times).all(axis=0)
        if not known[0]:
            raise InputError("curves must fall; the time at which some of them do is not finite")
        rising = np.maximum.accumulate(times[:, known], axis=1)
        return curves_from_quantiles(_MOVED[known], rising, tail=curves.tail)

    def __repr__(self) -> str:
        size = f"{self.support['subjects']:g} subjects, {self.support['events']:g} events"
        return f"Recalibration({self.method}, {size})"


def recalibrate(curves: Any, y: Any, *, method: str = "km") -> Recalibration:
    r"""Fit a map that makes curves agree with outcomes and keeps the order of subjects.

    Fit it on subjects that the model was not fitted to, apply it to others.

    "km": under the true model the predicted survival :math:`S_i(T_i)` at the own event time is
    uniform. The map is what makes it so: with Kaplan-Meier :math:`K` of :math:`u_i = 1 - S_i(t_i)`
    (an event at u, or censored there),

    .. math:: S_{new}(t \mid x) = h(S(t \mid x)), \qquad h(s) = K(1 - s).

    The middles of its steps are joined by lines, so that h rises strictly and subjects keep their
    order at every time.

    "conformal": at each level p, the predicted quantile :math:`q_p(x)` is multiplied by the ratio
    r that a share :math:`\lceil (n + 1) p \rceil / n` of the subjects stays below:
    :math:`T \le r\, q_p(x)`, by Kaplan-Meier of the ratios :math:`t_i / q_p(x_i)`. Subjects keep
    their order at every quantile, that of their medians included. Levels that the data do not reach
    move like the last one that they do, and quantiles that would fall from one level to the next
    keep the earlier one's time. Qi et al. add differences instead, and draw times of censored
    subjects from Kaplan-Meier of all subjects; ratios keep times positive, and their Kaplan-Meier
    does not pull the subjects that are censored towards the average of all.

    Parameters
    ----------
    curves : curves
        Predicted survival curves; anything that `as_curves` reads.
    y : outcomes
        What happened to these subjects.
    method : {"km", "conformal"}
        The map.

    Returns
    -------
    Recalibration
        A function of curves.

    Notes
    -----
    One map serves all subjects: predictions that are too high for some subjects and too low for
    others stay so (a calibration slope other than 1 mends in part at most).

    Below the lowest predicted survival that the data show, "km" goes to 0 in proportion. Events at
    a predicted survival of 1 cannot be mended, since curves start at 1; ``support`` counts them.

    References
    ----------
    Qi, Yu and Greiner (2024), Conformalized Survival Distributions: a generic post-process to
    increase calibration, ICML. Haider et al. (2020), Effective ways to build and evaluate
    individual survival distributions, JMLR 21.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 20], [[1.0, 0.0]] * 10)      # twice too late
    >>> fitted = recalibrate(curves, (np.arange(1, 11), np.ones(10)))
    >>> fitted(curves).at([5.0, 8.0])[0].round(3)
    array([0.55, 0.25])
    """
    one_of("method", method, METHODS)
    outcomes = Outcomes.of(y)
    given = as_curves(curves)
    if len(given) != len(outcomes):
        raise InputError(
            f"curves must have one row per subject: y has {len(outcomes)}, curves have {len(given)}"
        )
    _, rows, s, _, support = own_times_of(outcomes, given)
    if not rows.event.any():
        raise InputError("y must have at least one event to recalibrate to")
    support |= {
        "subjects": float(rows.weight.sum()),
        "events": float(rows.weight[rows.event].sum()),
    }
    if method == "km":
        return _by_kaplan_meier(rows, s, support)
    present = given if len(rows) == len(given) else given[outcomes.weight > 0]
    return _by_ratios(rows, present, support)


def _by_kaplan_meier(y: Outcomes, s: Floats, support: dict[str, Any]) -> Recalibration:
    km = KaplanMeier.fit(Outcomes(1.0 - s, y.event, y.frequency))
    before = np.concatenate(([1.0], km.survival[:-1]))
    falls = (km.survival < before) & (km.times > 0)
    level, middle = 1.0 - km.times[falls], 0.5 * (before + km.survival)[falls]
    support["lowest_survival"] = float(level.min(initial=1.0))
    # A curve that ends at 0 stays there; an event at predicted survival 0 says the same.
    inside = np.flatnonzero(level > 0)
    if inside.size > _KNOTS:
        inside = inside[np.linspace(0, inside.size - 1, _KNOTS).astype(np.intp)]
    levels = np.concatenate(([0.0], level[inside][::-1], [1.0]))
    values = np.concatenate(([0.0], middle[inside][::-1], [1.0]))
    return Recalibration("km", levels, values, support)


def _by_ratios(y: Outcomes, curves: SurvivalCurves, support: dict[str, Any]) -> Recalibration:
    total, weight = float(y.weight.sum()), y.frequency
    ratios: list[float] = []
    for level, predicted in zip(_LEVELS, _quantiles(curves, _LEVELS).T, strict=True):
        left = 1.0 - np.ceil((total + 1) * level) / total
        if not (np.isfinite(predicted).all() and predicted.min() > 0):
            break
        km = KaplanMeier.fit(Outcomes(y.time / predicted, y.event, weight))
        reached = np.flatnonzero(km.survival <= left + ROUNDING)
        if left < -ROUNDING or not reached.size or km.times[reached[0]] == 0:
            break
        ratios.append(float(km.times[reached[0]]))
    if not ratios:
        raise InputError(
            "y must have events enough for the first quantile (2.5 %), which curves must predict "
            "after time 0; take method='km'"
        )
    levels = _LEVELS[: len(ratios)]
    support["highest_level"] = float(levels[-1])
    return Recalibration("conformal", levels, np.array(ratios), support)


def _refined(curves: SurvivalCurves) -> SurvivalCurves:
    """Join curves by lines on so many times that a map of their values has the shape of the map."""
    times = curves.times
    pieces = -(-_FINE // times.shape[-1])
    if pieces == 1 and curves.interpolation == "linear":
        return curves
    if (times[..., 0] > 0).all():
        times = np.concatenate((np.zeros((*times.shape[:-1], 1)), times), axis=-1)
    steps = np.diff(times, axis=-1)[..., None] * np.arange(pieces) / pieces
    dense = (times[..., :-1, None] + steps).reshape(*times.shape[:-1], -1)
    dense = np.concatenate((dense, times[..., -1:]), axis=-1)
    if curves.shared_grid:
        values = curves.at(dense)
    else:
        values = np.stack([curves.at_own(column) for column in dense.T], axis=1)
    return SurvivalCurves(dense, values, "linear", curves.tail)


def _quantiles(curves: SurvivalCurves, levels: Floats) -> Floats:
    """Predicted quantiles, one column per level."""
    return np.stack([curves.quantile(float(level)) for level in levels], axis=1)
