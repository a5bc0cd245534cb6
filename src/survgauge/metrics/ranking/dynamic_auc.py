"""Cumulative/dynamic AUC: those who had the event by t against those still free of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, numbers, to_numpy
from ..._tools.chunks import chunks
from ...data.curve_reader import Scratch
from ...data.curves import SurvivalCurves
from ...errors import InputError, numbered
from ...reference.estimated_g import Pulls
from ..checks import check_curves
from ..conventions import Convention
from ..details import CurveResult, Details, standard_error
from ..past_curve import share_of_times
from ._auc import AucPoint, auc_points
from ._auc_competing import auc_against_all_others
from ._auc_setting import AucSetting, make_auc_setting
from ._concordance import as_close_as, below_half
from ._inversions import back

_COLUMNS = 8  # times read at once: one cache line of a row of curves


class _Columns:
    """Risks at one time after the other, read a few columns at a time."""

    def __init__(
        self, source: Any, times: Floats, column: Ints | None, convention: Convention
    ) -> None:
        self._source, self._times, self._column = source, times, column
        self._convention = convention
        self._block, self._start = np.empty((0, 0)), 0

    def __call__(self, k: int) -> Floats:
        """Risks at times[k]; for curves minus S: the order of 1 - S without its rounding."""
        if not 0 <= k - self._start < len(self._block):
            self._read(slice(k, min(k + _COLUMNS, self._times.size)))
        column: Floats = self._block[k - self._start]
        return column

    def _read(self, part: slice) -> None:
        """Put some columns one after the other, as rows of the block."""
        source, shape = self._source, (part.stop - part.start, len(self._source))
        block = self._block if self._block.shape == shape else np.empty(shape)
        if self._column is not None:
            block[...] = source[:, self._column[part]].T
        else:
            read = source.reader(self._times[part])

            def fill(blocks: Iterator[slice]) -> None:
                scratch = Scratch()
                for rows in blocks:
                    np.negative(read(rows, scratch).T, out=block[:, rows])

            for _ in source.by_span(fill, shape[0] + source.survival.shape[1]):
                pass
        self._block, self._start = as_close_as(self._convention.auc_tolerance, block), part.start


def _risks(predicted: Any, setting: AucSetting, times: Any) -> Floats | _Columns:
    """One risk per subject, or a reader of one column per time."""
    n, k, keep = len(setting.y), setting.asked.size, setting.supported
    if isinstance(predicted, SurvivalCurves):
        curves = check_curves(predicted, setting.y)
        return _Columns(curves, setting.asked[keep], None, setting.convention)
    predicted = to_numpy(predicted, "risk_or_curves")
    ndim = 2 if predicted.ndim == 2 else 1
    risk = numbers(predicted, "risk_or_curves", ndim=ndim)
    if risk.shape not in ((n,), (n, k)):
        raise InputError(
            f"risk_or_curves must be curves, or risks of shape ({n},) or ({n}, {k}) for {n} "
            f"subjects and {k} times; got {risk.shape}"
        )
    if np.isnan(risk.min()):
        unknown = np.flatnonzero(np.isnan(risk).reshape(n, -1).any(axis=1))
        raise InputError(f"risk_or_curves must not be NaN; it is for {numbered(unknown)}")
    if risk.ndim == 1:
        return as_close_as(setting.convention.auc_tolerance, risk.astype(np.float64))
    # Columns follow the times as given; the times have been sorted.
    order = np.argsort(np.atleast_1d(np.asarray(times, dtype=np.float64)), kind="stable")
    return _Columns(risk, setting.asked[keep], order[keep], setting.convention)


def _points(setting: AucSetting, risk: Any, contributions: bool) -> Iterator[AucPoint]:
    """AUC at one supported time after the other, with contributions that take G as given."""
    if not setting.others_are_controls:
        return auc_points(setting.scored, risk, contributions=contributions)
    y, times = setting.y, setting.asked[setting.supported]
    mass: Any = 1.0 if setting.mass is None else setting.mass

    def survivors(t: float) -> Floats:
        free: Any = setting.control_weight(t) if setting.ipcw else 1.0
        return np.asarray(mass * free)

    case, other = mass * setting.case_weight * y.event, mass * setting.other_weight
    return auc_against_all_others(y.time, case, other, times, survivors, risk)


def _through_g(setting: AucSetting, psi: Floats, time: float) -> Floats:
    """Contributions at a time with those through a G of the same subjects, where it moves.

    A case weighs 1/G(T-) and a control 1/G(t), under delayed entry times G(a), and each subject is
    one of them or neither.
    """
    g = setting.estimated_g
    if g is None:
        return psi
    own, case = back(psi, setting.order), setting.y.time <= time
    free = np.where(case, 0.0, own)
    entered = None if setting.y.entry is None else free
    pulls = Pulls(np.where(case, own, 0.0), np.array([free.sum()]), np.array([time]), entered)
    found: Floats = (own + g.influence(pulls))[setting.order]
    return found


def cumulative_dynamic_auc(
    y_true: Any,
    risk_or_curves: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    stderr: str | None = None,
    sample_weight: Any = None,
    cause: int | str | None = None,
    controls: str = "without_event",
) -> CurveResult:
    r"""How well a risk tells those with the event by t from those without it, at each t.

    .. math::
        AUC(t) = \frac{\sum_{i: e_i, t_i \le t} \sum_{j: t_j > t} G(t_i-)^{-1}
        [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}
        {\sum_{i: e_i, t_i \le t} G(t_i-)^{-1} \sum_{j: t_j > t} 1}

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    risk_or_curves : array-like of shape (n,) or (n, k), or SurvivalCurves
        One risk per subject (higher means earlier), one at each of `times`, or curves, whose risk
        at t is 1 - S(t). Only equal values are tied; under the presets of packages that tie values
        closer than 1e-8 (scikit-survival, torchsurv) they are rounded to that.
    times : array-like of shape (k,)
        Distinct times, in any order; they are returned sorted.
    y_train : outcomes, optional
        Training outcomes: where G comes from under ``censoring="train"``.
    method : {"ipcw", "unweighted"}
        With or without the weights 1/G.
    convention : str or Convention, optional
        Another package's limits of G and controls: sksurv, torchsurv, survivaleval (somebody
        censored at t is a control), riskregression.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G comes from: by default the test subjects; "train": `y_train`; a function G(t, side)
        of one time per subject, in which case controls weigh 1/G(t | x).
    on_unsupported : {"truncate", "raise", "nan"}
        What to do with times past the identified range, without cases or without controls: leave
        them out, refuse them, or return NaN there and for a mean that would need them.
    stderr : {None, "fixed", "estimated", "auto"}
        Standard errors that take G as given, or as estimated from these subjects; "auto": the
        latter wherever it is.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of its two weights; frequencies of the outcomes multiply. G of
        the test subjects is estimated with them. 0 means absent.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or
        risks. Cases are those with an event of this cause by t.
    controls : {"without_event", "event_free"}
        With `cause`: all without an event of it by t, so that those with an event of another cause
        are controls and weigh 1/G(t_j-) (as in riskRegression); or only those without any event.

    Returns
    -------
    CurveResult
        `times`, `values`, `mean` (weighted by how far the test set's Kaplan-Meier falls, or the
        incidence of the cause rises, from one time to the next), `stderr`, `convention`, `support`.

    References
    ----------
    Hung and Chiang (2010), Canadian Journal of Statistics 38. Blanche, Dartigues and
    Jacqmin-Gadda (2013), Statistics in Medicine 32.

    Examples
    --------
    >>> y = ([1, 2, 4, 5, 7], [1, 1, 1, 0, 1])
    >>> result = cumulative_dynamic_auc(y, [9, 4, 5, 1, 2], [0, 1.5, 3, 7])
    >>> result.times, result.values
    (array([1.5, 3. ]), array([1.        , 0.83333333]))
    >>> round(result.mean, 4), result.support["notes"]
    (0.9167, {'times left out: no cases': 1, 'times left out: no controls': 1})
    """
    return auc_curve(
        y_true,
        risk_or_curves,
        times,
        stderr,
        y_train=y_train,
        method=method,
        convention=convention,
        censoring=censoring,
        on_unsupported=on_unsupported,
        sample_weight=sample_weight,
        cause=cause,
        controls=controls,
    )


def auc_curve(
    y_true: Any, risk_or_curves: Any, times: Any, stderr: str | None, **options: Any
) -> CurveResult:
    """`cumulative_dynamic_auc`, where the weights of the subjects may be known."""
    setting, risk_or_curves = make_auc_setting(
        y_true, risk_or_curves, times, stderr=stderr, **options
    )
    risk = _risks(risk_or_curves, setting, times)
    scored, drop = setting.asked[setting.supported], setting.drop
    frequency = setting.y.weight if setting.y.weighted else None
    weight = None if frequency is None else frequency[setting.order]
    values, spread, psi = np.empty(scored.size), np.empty(scored.size), np.zeros(len(setting.y))
    for k, value, part in _points(setting, risk, stderr is not None):
        values[k] = value
        if part is not None and stderr is not None:
            part = _through_g(setting, part, float(scored[k]))
            spread[k] = standard_error(part, weight)
            for rows in chunks(psi.size):
                psi[rows] += drop[k] * part[rows]
    described = setting.describe(risk_or_curves)
    if stderr is not None and setting.y.entry is not None and setting.estimated_g is not None:
        described["stderr"] = "G estimated in sample"
    support = setting.support()
    if isinstance(risk_or_curves, SurvivalCurves):
        support["past_curve"] = share_of_times(risk_or_curves, scored, setting.mass)
    mean, total = float("nan"), float(drop.sum())
    if setting.mean_defined and total > 0:
        mean = float((values * drop).sum() / total)
    own: Floats | None = None
    if stderr is not None and not np.isnan(mean):
        psi /= total
        own = back(psi, setting.order)
        support["sign_may_be_wrong"] = below_half(mean, own, frequency, support["events"])
    details = Details(mean, described, support, own, frequency)
    errors = None if stderr is None else spread
    if setting.on_unsupported == "nan":
        values, errors = (_with_gaps(part, setting.supported) for part in (values, errors))
        return CurveResult(setting.asked, values, mean, errors, details)
    return CurveResult(scored, values, mean, errors, details)


def _with_gaps(values: Any, supported: Bools) -> Any:
    """Put NaN where the times are not supported."""
    if values is None:
        return None
    full = np.full(supported.size, np.nan)
    full[supported] = values
    return full


def cumulative_dynamic_auc_details(
    y_true: Any,
    risk_or_curves: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    stderr: str = "auto",
    sample_weight: Any = None,
    cause: int | str | None = None,
    controls: str = "without_event",
) -> Details:
    """Mean of `cumulative_dynamic_auc` (at one time: that AUC) with its standard error.

    Parameters
    ----------
    y_true, risk_or_curves, times
        As for `cumulative_dynamic_auc`.
    stderr : {"fixed", "estimated"}
        Standard error that takes G as given, or (in sample) as estimated.
    y_train, method, convention, censoring, on_unsupported, sample_weight, cause, controls
        As for `cumulative_dynamic_auc`.

    Examples
    --------
    >>> y = ([1, 2, 4, 5, 7], [1, 1, 1, 0, 1])
    >>> d = cumulative_dynamic_auc_details(y, [9, 4, 5, 1, 2], 3)
    >>> round(d.value, 4), round(d.stderr, 4), d.convention["stderr"]
    (0.8333, 0.2013, 'G estimated in sample')
    """
    return cumulative_dynamic_auc(
        y_true, risk_or_curves, times, y_train=y_train, method=method, convention=convention,
        censoring=censoring, on_unsupported=on_unsupported, stderr=stderr,
        sample_weight=sample_weight, cause=cause, controls=controls,
    ).details  # fmt: skip
