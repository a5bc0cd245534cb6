"""What a model said, and what can be read off it: curves, times or risk scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, vector
from .._tools.frames import column_or_table
from ..errors import InputError, UndefinedMetricError, located, numbered
from .adapters import as_curves, is_flat
from .curves import SurvivalCurves
from .incidence import CauseCurves, IncidenceCurves
from .outcome_parts import in_unit


class RiskScores:
    """Scores without a unit, higher meaning an earlier event: they can only be ranked.

    Parameters
    ----------
    values : array-like of shape (n,)
        One score per subject; infinite scores are ranked like others, NaN is refused.

    Examples
    --------
    >>> RiskScores([0.3, 1.2]).values
    array([0.3, 1.2])
    """

    def __init__(self, values: Any) -> None:
        self.values: Floats = vector(values, "risk", finite=False)
        unknown = np.isnan(self.values)
        if unknown.any():
            raise InputError(f"risk must not be NaN; it is for {numbered(np.flatnonzero(unknown))}")

    def __len__(self) -> int:
        return int(self.values.size)

    def __repr__(self) -> str:
        return f"RiskScores({len(self)} subjects)"


#: What is read as it is; a query is run first.
_KNOWN = (list, tuple, RiskScores, SurvivalCurves, IncidenceCurves)


class Prediction:
    """One model's predictions for n subjects; `has` says what can be read off them."""

    def __init__(
        self,
        curves: SurvivalCurves | None,
        times: Floats | None,
        risk: Floats | None,
        incidence: IncidenceCurves | None = None,
        rank_time: float = float("nan"),
    ) -> None:
        self.curves, self._times, self._risk = curves, times, risk
        #: Curves of all causes, where `curves` are 1 - incidence of one of them.
        self.incidence = incidence
        #: By when an event of the cause counts for the order of subjects by risk.
        self.rank_time = rank_time
        self._cache: dict[Any, Any] = {}

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Read off once what several metrics ask for."""
        if key not in self._cache:
            self._cache[key] = build()
        return self._cache[key]

    def joined(self, others: list[Prediction]) -> Prediction:
        """Return times or risks of several sets of subjects one after the other."""
        parts = [self, *others]
        if self._times is not None:
            times = [p._times for p in parts if p._times is not None]
            return Prediction(None, np.concatenate(times), None)
        risks = [p._risk for p in parts if p._risk is not None]
        return Prediction(None, None, np.concatenate(risks))

    @classmethod
    def of(cls, obj: Any, n: int, name: str | None = None, unit: str = "") -> Prediction:
        """Read curves, times (one number per subject) or `RiskScores`.

        Times that are durations are counted in `unit`. `name` is that of one model of several; None
        where a function takes one `prediction`.
        """
        given, test = (f"predictions of {name!r}", "y_test") if name else ("prediction", "y_true")
        if not hasattr(obj, "__array__") and not isinstance(obj, _KNOWN):
            obj = column_or_table(obj, given)
        with located(given):
            if isinstance(obj, Prediction):
                prediction = obj
            elif isinstance(obj, RiskScores):
                prediction = cls(None, None, obj.values)
            elif isinstance(obj, IncidenceCurves):
                raise InputError(
                    "these are IncidenceCurves of several causes: say which one with cause=, one "
                    f"of {', '.join(map(repr, obj.causes))}"
                )
            elif isinstance(obj, SurvivalCurves) or not is_flat(obj):
                prediction = cls(as_curves(obj), None, None)
            else:
                times = in_unit(obj, "predicted times", unit) if unit else obj
                prediction = cls(None, vector(times, "predicted times"), None)
        if len(prediction) != n:
            raise InputError(
                f"{given} must have one entry per subject: {test} has {n}, got {len(prediction)}"
            )
        return prediction

    @classmethod
    def of_cause(
        cls, obj: Any, n: int, name: str, causes: tuple[str, ...], cause: int
    ) -> Prediction:
        """Read incidence curves of all causes, of which metrics see one; or times, or risks.

        >>> curves = IncidenceCurves([1, 2], [[[0.2, 0.5], [0.1, 0.3]]])
        >>> Prediction.of_cause(curves, 1, "model", ("relapse", "death"), 2).curves.at(2)
        array([0.7])
        """
        if isinstance(obj, Prediction | RiskScores) or (
            not isinstance(obj, IncidenceCurves | SurvivalCurves) and is_flat(obj)
        ):
            return cls.of(obj, n, name)
        if not isinstance(obj, IncidenceCurves):  # survival of any event says nothing of one cause
            raise InputError(
                f"predictions of {name!r} must be IncidenceCurves, times or RiskScores where a "
                "cause is asked for; sg.as_incidence reads the curves of other libraries, and the "
                f"shell one file per cause (--pred {name}:{causes[0]}=FILE); got "
                f"{type(obj).__name__}"
            )
        incidence = obj.matching(causes, f"predictions of {name!r}", "y_test")
        return cls.of(cls(incidence.only(cause), None, None, incidence), n, name)

    def ranked_by(self, time: float) -> Prediction:
        """Return the same, whose risk is the predicted incidence of the cause by a time."""
        by = max(time, 0.0)  # no subject is followed up: the horizon lies just below 0
        return Prediction(self.curves, self._times, self._risk, self.incidence, by)

    def __len__(self) -> int:
        for part in (self.curves, self._times, self._risk):
            if part is not None:
                return len(part)
        return 0

    def __getitem__(self, rows: Ints | slice) -> Prediction:
        curves = None if self.curves is None else self.curves[rows]
        incidence = curves.incidence if isinstance(curves, CauseCurves) else None
        if incidence is None and self.incidence is not None:
            incidence = self.incidence[rows]
        return Prediction(
            curves,
            None if self._times is None else self._times[rows],
            None if self._risk is None else self._risk[rows],
            incidence,
            self.rank_time,
        )

    def at_time(self, time: float | None) -> Prediction:
        """Return what metrics at one time of interest read: here the whole prediction."""
        return self

    @property
    def kind(self) -> str:
        """curves, times or risk."""
        return "curves" if self.curves is not None else "times" if self._risk is None else "risk"

    def has(self, what: str) -> bool:
        """Whether `what` (curves, times, risk) can be read off."""
        return self.offers(self.kind, what)

    @staticmethod
    def offers(kind: str, what: str) -> bool:
        """Whether `what` can be read off predictions of a kind: curves offer times, all a risk."""
        return kind in {"curves": ("curves",), "times": ("curves", "times")}.get(what, (kind,))

    @property
    def times(self) -> Any:
        """What the time errors take: curves (they choose the point) or times."""
        return self.curves if self.curves is not None else self._times

    @property
    def median(self) -> Floats:
        """Predicted time of each subject: the time itself, or the median of its curve."""
        if self._risk is not None:
            raise UndefinedMetricError("risk scores can only be ranked, they hold no times")
        return -self.risk

    @property
    def risk(self) -> Floats:
        """Higher means earlier: the score itself, minus the (median) time, or the incidence."""
        if self._risk is not None:
            return self._risk
        if self.curves is None:
            return -self._times  # type: ignore[operator]
        of_cause = isinstance(self.curves, CauseCurves)
        build = self._incidence_by_rank_time if of_cause else self._negative_median
        risk: Floats = self.cached("risk", build)
        return risk

    def _incidence_by_rank_time(self) -> Floats:
        risk: Floats = 1.0 - self.curves.at(self.rank_time)  # type: ignore[union-attr]
        if np.isnan(risk).any():
            raise UndefinedMetricError(
                f"subjects are ranked by the predicted incidence by {self.rank_time:g}, and the "
                "curves end before it; predict up to that time, or pass an earlier tau"
            )
        return risk

    def _negative_median(self) -> Floats:
        times = self.curves.quantile(0.5)  # type: ignore[union-attr]
        if np.isnan(times).any():
            raise UndefinedMetricError(
                "the curves' tail 'nan' gives no median, so subjects cannot be ranked by it; "
                "choose another tail for the curves"
            )
        return np.negative(times, out=times)
