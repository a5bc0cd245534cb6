"""How censoring times are drawn: each kind turns uniform numbers into times.

A distribution is its quantile function, so that whatever makes the uniform numbers dependent on the
event time (a copula) or stretches the times (a target rate) works for every kind alike. Features
are taken as they come: rows picked, leaks refused, and a numeric matrix for the Cox model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, look_up, numbers, to_numpy
from ..._tools.frames import in_memory, rows_of, table_columns
from ...data.outcomes import Outcomes
from ...errors import InputError, numbered
from ...estimators.cox import CoxModel
from ...estimators.kaplan_meier import KaplanMeier


@dataclass(frozen=True)
class BaseData:
    """All of D, which rows have the event, another dataset, fills for X."""

    X: Any
    y: Outcomes
    rows: Ints
    external: Outcomes | None = None
    fill: Mapping[str, Any] | None = None

    @property
    def event_time(self) -> Floats:
        """Event times of D'."""
        return self.y.time[self.rows]


@dataclass(frozen=True)
class Distribution:
    """Quantile function of the censoring time (infinite: never censored) and its parameters.

    `quantile` maps numbers in [0, 1) to times, elementwise; where it depends on features
    it takes one number per subject of D', in order.
    """

    quantile: Callable[[Floats], Floats]
    parameters: dict[str, Any]


def uniform(base: BaseData) -> Distribution:
    """U[0, t_max], t_max the largest event time."""
    t_max = _largest(base)
    return Distribution(lambda u: t_max * u, {"t_max": t_max})


def uniform_admin(base: BaseData) -> Distribution:
    """min(U[0, t_max], median event time)."""
    t_max, median = _largest(base), float(np.median(base.event_time))
    return Distribution(
        lambda u: np.minimum(t_max * u, median), {"t_max": t_max, "t_median": median}
    )


def exponential(base: BaseData) -> Distribution:
    """Exponential whose scale is the standard deviation of the event times."""
    scale = float(base.event_time.std())
    if not scale > 0:
        raise InputError(
            "exponential censoring takes its scale from the spread of event times; all "
            f"{base.rows.size} events in y are at {base.event_time[0]:g}: use 'uniform'"
        )
    return Distribution(lambda u: -scale * np.log1p(-u), {"scale": scale})


def original_independent(base: BaseData) -> Distribution:
    """G, the reverse Kaplan-Meier estimate of D."""
    _need_censored(base.y, "y", "original_independent")
    g = KaplanMeier.fit_censoring(base.y)
    return Distribution(_step_quantile(g, 1.0, 1.0), {"mass_past_end": g.last_survival})


def original_dependent(base: BaseData) -> Distribution:
    """G(t given x): a Cox model of the censoring time on D, with Breslow's baseline."""
    _need_censored(base.y, "y", "original_dependent")
    features, names = _design(base, "original_dependent")
    model = CoxModel.fit_censoring(features, base.y)
    mine = features[base.rows]
    parameters = {
        "coefficients": dict(zip(names, model.coefficients.tolist(), strict=True)),
        "penalty": model.penalty,
        "notes": model.notes,
    }
    return Distribution(lambda u: model.time_at(mine, -np.log1p(-u)), parameters)


def feature_dependent(base: BaseData) -> Distribution:
    """Exponential, and those at higher risk of the event are censored earlier.

    The rate is multiplied by e for each standard deviation of the log hazard ratio of a Cox model
    of the event time on D, so that censoring depends strongly on what predicts the event.
    """
    scale = exponential(base).parameters["scale"]
    features, _ = _design(base, "feature_dependent")
    risk = CoxModel.fit(features, base.y).log_risk(features)[base.rows]
    spread = float(risk.std())
    if not spread > 0:
        raise InputError(
            "censoring 'feature_dependent' needs features that separate the events; their Cox "
            "model gives every subject the same risk: use 'exponential'"
        )
    scales = scale * np.exp((risk.mean() - risk) / spread)

    def quantile(u: Floats) -> Floats:
        return -scales.reshape((-1,) + (1,) * (u.ndim - 1)) * np.log1p(-u)

    return Distribution(quantile, {"scale": scale})


def external(base: BaseData) -> Distribution:
    """G of another dataset, its time axis stretched so that its last time becomes t_max."""
    if base.external is None:
        raise InputError(
            "censoring 'external' needs another dataset to draw from: pass its outcomes as "
            "external=(time, event)"
        )
    _need_censored(base.external, "external", "external")
    t_max, g = _largest(base), KaplanMeier.fit_censoring(base.external)
    if not g.last_time > 0:
        raise InputError("external must have times past 0; all of its times are 0")
    parameters = {"stretch": t_max / g.last_time, "mass_past_end": g.last_survival}
    return Distribution(_step_quantile(g, t_max, g.last_time), parameters)


DISTRIBUTIONS: dict[str, Callable[[BaseData], Distribution]] = {
    kind.__name__: kind
    for kind in (
        uniform,
        uniform_admin,
        exponential,
        original_independent,
        original_dependent,
        feature_dependent,
        external,
    )
}
#: Codes of the kinds of censoring.
KINDS = tuple(DISTRIBUTIONS)
#: The kinds whose scale can be chosen to reach a target rate.
PARAMETRIC = ("uniform", "uniform_admin", "exponential", "feature_dependent")


def _step_quantile(g: KaplanMeier, multiply: float, divide: float) -> Callable[[Floats], Floats]:
    """First time with 1 - G > u, in new units; what is left at the end never censors."""
    reached = 1.0 - g.survival
    # Multiplied first: whole times that land on whole times do so exactly.
    ends = np.concatenate((g.times * multiply / divide, [np.inf]))

    def quantile(u: Floats) -> Floats:
        return ends[look_up(reached, u.ravel(), "right")].reshape(u.shape)

    return quantile


def _design(base: BaseData, kind: str) -> tuple[Floats, tuple[str, ...]]:
    if base.X is None:
        raise InputError(f"censoring {kind!r} needs features; X is None")
    return design_matrix(base.X, base.fill)


def _largest(base: BaseData) -> float:
    t_max = float(base.event_time.max())
    if not t_max > 0:
        raise InputError("y must have an event after time 0; all events are at 0")
    return t_max


def _need_censored(y: Outcomes, argument: str, kind: str) -> None:
    if y.event.all():
        raise InputError(
            f"censoring {kind!r} draws from the censoring distribution of {argument}, which has "
            "no censored subject; use 'uniform' or 'exponential'"
        )


#: A text column with more levels than this, and with fewer rows a level than `ROWS_A_LEVEL`, is
#: taken for an identifier and refused.
MAX_LEVELS = 50
ROWS_A_LEVEL = 20


def as_features(X: Any, n: int) -> Any:
    """Check the shape of X, keeping frames as they are; None means no features."""
    if X is None:
        return None
    X = in_memory(X, "X")
    if not hasattr(X, "columns"):
        X = to_numpy(X, "X")
    shape = tuple(X.shape)
    if len(shape) != 2:
        raise InputError(f"X must be a matrix or a frame, rows are subjects; got shape {shape}")
    if shape[0] != n:
        raise InputError(f"X must have one row per subject; y has {n}, X has {shape[0]}")
    return X


def take_rows(X: Any, rows: Ints) -> Any:
    """Copy the given rows, in the type that came in."""
    if X is None:
        return None
    picked = rows_of(X, rows)
    if hasattr(picked, "attrs"):
        picked = picked.copy()
        picked.attrs = {}  # whatever the caller hung on the frame may lead to the truth
    return picked


def refuse_leaks(X: Any, rows: Ints, event_time: Floats) -> None:
    """Refuse a column that holds the event times: the truth would reach the model through X."""
    if X is None or event_time.min() == event_time.max():
        return
    labels = np.asarray(getattr(X, "index", ()))
    named = [(f"column {name!r}", np.asarray(column)) for name, column in _columns(X)]
    for name, values in [*named, ("the index", labels)]:
        comparable = values.dtype.kind in "fiu" and values.shape == (X.shape[0],)
        if comparable and np.array_equal(values[rows], event_time):
            raise InputError(f"X must not hold the outcome: {name} equals the event times; drop it")


def design_matrix(X: Any, fill: Mapping[str, Any] | None = None) -> tuple[Floats, tuple[str, ...]]:
    """Fill and encode all rows: (n, p) numbers and their names.

    Frames go through `survgauge.data.preprocessing`: gaps take the value of `fill`, else the median
    or the most frequent level; text becomes indicators without the first level. Gaps in arrays of
    numbers take the median.

    >>> design_matrix(np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]]))
    (array([[1., 5.], [2., 6.], [3., 7.]]), ('x0', 'x1'))
    """
    if hasattr(X, "columns"):
        return _encoded(X, fill)
    values = numbers(X, "X", ndim=2).astype(np.float64)
    missing = np.isnan(values)
    if np.isinf(values).any() or missing.all(axis=0).any():
        bad = np.flatnonzero(np.isinf(values).any(axis=0) | missing.all(axis=0))
        raise InputError(
            f"X must have numbers in every column; empty or infinite: {numbered(bad, 'column')}"
        )
    if missing.any():
        values = np.where(missing, np.nanmedian(values, axis=0), values)
    return values, tuple(f"x{j}" for j in range(values.shape[1]))


def _encoded(X: Any, fill: Mapping[str, Any] | None) -> tuple[Floats, tuple[str, ...]]:
    from ...data.preprocessing import Encoding

    frame = X if hasattr(X, "iloc") else X.to_pandas()
    for name, column in _columns(frame):
        levels = column.dtype.kind == "O" and not getattr(column.dtype, "ordered", False)
        most = max(MAX_LEVELS, len(frame) // ROWS_A_LEVEL)
        if levels and column.nunique() > most:
            raise InputError(
                f"column {name!r} of X has {column.nunique()} different texts in {len(frame)} rows "
                f"(at most {most}); drop it if it is an identifier, encode it otherwise"
            )
    plan = Encoding.fit(frame, fill=fill)
    return plan.transform(frame), plan.names


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Name and content of each column, as it came."""
    if not hasattr(X, "columns"):
        yield from ((str(j), X[:, j]) for j in range(X.shape[1]))
    elif hasattr(X, "iloc"):  # by position: names may be repeated
        yield from ((str(name), X.iloc[:, j]) for j, name in enumerate(X.columns))
    else:
        columns = table_columns(X, "X") or {}
        yield from ((str(name), column) for name, column in columns.items())
