"""Predicted cumulative incidence: one curve per subject and cause, validated once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tools.arrays import (
    Floats,
    numbers,
    positive,
    probability,
    stored_once,
    subject_index,
    to_numpy,
    vector,
)
from ..errors import InputError, one_of
from .causes import Codes, cause_code, cause_names
from .checks import Incidence, check_shapes, checked_incidence, grid_of, sorted_together
from .curves import SurvivalCurves
from .interpolation import area_weights

INTERPOLATIONS = ("linear", "step")
REPAIRS = ("running_maximum",)
#: Less than this is left where the causes add up to 1.
_NOTHING = 1e-12


class CauseCurves(SurvivalCurves):
    """1 - incidence of the cause that an evaluation is about, made of `IncidenceCurves`.

    A type of their own, so that survival of any event cannot take their place. They keep the
    curves of all causes, which say who is event-free at an entry.
    """

    #: Incidence of all causes; None where nobody asks for more than this cause.
    incidence: IncidenceCurves | None = None

    def __getitem__(self, rows: Any) -> CauseCurves:
        every = None if self.incidence is None else self.incidence[rows]
        return self._of_all(super().__getitem__(rows), every)

    def with_tail(self, tail: str) -> SurvivalCurves:
        """Return the same curves, going on otherwise past their last time."""
        return self._of_all(super().with_tail(tail), self.incidence)

    def held(self) -> SurvivalCurves:
        """Return the same curves with tail "hold": nothing is read past the last grid time."""
        return self._of_all(super().held(), self.incidence)

    @staticmethod
    def _of_all(curves: Any, incidence: IncidenceCurves | None) -> CauseCurves:
        curves.incidence = incidence
        found: CauseCurves = curves
        return found


class IncidenceCurves:
    """Predicted probabilities of an event of each cause by each time, for n subjects.

    Beyond the last time of the grid nothing is known, and values there are NaN, unless the causes
    add up to 1 at the end, after which nothing changes any more.

    Parameters
    ----------
    times : array-like of shape (m,)
        Times shared by all subjects. A grid that does not start at 0 is preceded by the point
        (0, 0). Unsorted times are sorted together with the values.
    values : array-like of shape (n, causes, m)
        Probability of having had an event of each cause by `times`: rising along the times, and
        adding up to at most 1 over the causes. A float32 or float64 array is neither copied nor
        widened, unless it has to be sorted or mended: do not change it afterwards.
    causes : sequence of str, optional
        Names of the causes; "1", "2", ... unless given.
    interpolation : {"linear", "step"}
        Between grid points: lines, or right-continuous steps.
    repair : {None, "running_maximum"}
        What to do with curves that fall, leave [0, 1] or add up to more than 1: by default, refuse
        them. Otherwise they take their running maximum, and are scaled where they end above 1.

    Attributes
    ----------
    times, values, causes, interpolation
        As given, checked.

    Examples
    --------
    >>> curves = IncidenceCurves([1, 2], [[[0.2, 0.5], [0.1, 0.3]]], causes=["relapse", "death"])
    >>> curves.at(1.5, "relapse")
    array([0.35])
    >>> curves.survival().at(2)
    array([0.2])
    >>> curves.rmtl(2, "relapse")
    array([0.45])
    """

    def __init__(
        self,
        times: Any,
        values: Any,
        causes: Any = None,
        interpolation: str = "linear",
        repair: str | None = None,
    ) -> None:
        one_of("interpolation", interpolation, INTERPOLATIONS)
        if repair is not None:
            one_of("repair", repair, REPAIRS)
        array = numbers(values, "values", ndim=3)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        given = to_numpy(times, "times")
        check_shapes(given.shape if given.ndim == 1 else (given.size,), array.shape)
        grid = grid_of(given, (array.shape[0], array.shape[2]))
        names = None if causes is None else cause_names(causes, array.shape[1])
        self.times: Floats
        self.times, array = sorted_together(grid, array)
        self.causes = names or tuple(map(str, range(1, array.shape[1] + 1)))
        self.values: Incidence = checked_incidence(array, self.causes, repair).view()
        self.values.setflags(write=False)  # it may be the caller's memory
        self.interpolation = interpolation

    @classmethod
    def _trusted(
        cls, times: Floats, values: Incidence, causes: tuple[str, ...], interpolation: str
    ) -> IncidenceCurves:
        curves = cls.__new__(cls)
        curves.times, curves.values = times, values
        curves.causes, curves.interpolation = causes, interpolation
        return curves

    @classmethod
    def joined(cls, parts: Sequence[IncidenceCurves]) -> IncidenceCurves:
        """Return curves, one part of the subjects after the other; all on one grid."""
        like, values = parts[0], np.concatenate([part.values for part in parts])
        return cls._trusted(like.times, values, like.causes, like.interpolation)

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("IncidenceCurves are not numbers; read them, as with curves.at(t, cause)")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, rows: Any) -> IncidenceCurves:
        kept = self.values[subject_index(rows)]
        return self._trusted(self.times, kept, self.causes, self.interpolation)

    def __repr__(self) -> str:
        n, _, m = self.values.shape
        names = ", ".join(self.causes)
        return f"IncidenceCurves({n} subjects x {m} times, causes {names}, {self.interpolation})"

    def at(self, t: Any, cause: int | str) -> Floats:
        """Incidence of a cause at `t`: (n,) for a scalar, (n, k) for k times."""
        points = to_numpy(t, "t")
        if points.ndim == 0:
            return self.at(points.reshape(1), cause).ravel()
        points = vector(numbers(points, "t"), "t", minimum=0.0)
        out, past = self._read(slice(None), points, cause), points > self.times[-1]
        out[:, past] = np.where(self._closed[:, None], self._of(cause)[:, -1:], np.nan)
        return out

    def at_own(self, t: Any, cause: int | str) -> Floats:
        """Incidence of a cause for subject i at its own time t[i]: (n,)."""
        points = vector(t, "t", length=len(self), like="the curves", minimum=0.0)
        out, past = self._read(np.arange(len(self)), points, cause), points > self.times[-1]
        out[past] = np.where(self._closed[past], self._of(cause)[past, -1], np.nan)
        return out

    def free_at_own(self, t: Floats) -> Floats:
        """Probability of no event of any cause for subject i by its own time t[i]: (n,)."""
        free = np.ones(len(self))
        for cause in self.causes:
            free -= self.at_own(t, cause)
        # Sums of several causes round: what is left where all have had an event would be noise.
        return np.where(free > _NOTHING, free, np.where(np.isnan(free), np.nan, 0.0))

    def slope_at_own(self, t: Floats, codes: Codes) -> Floats:
        """Slope at subject i's own time t[i] of the incidence of cause codes[i]: (n,).

        At a time of the grid it is that of the interval that ends there; 0 past the grid.
        """
        rows, causes, last = np.arange(len(self)), codes - 1, self.times.size - 1
        left = self.times.searchsorted(t, "left") - 1
        left = np.maximum(left, -1 if self.times[0] > 0 else 0)
        right = np.minimum(left + 1, last)
        start = np.where(left < 0, 0.0, self.values[rows, causes, left].astype(np.float64))
        rise = self.values[rows, causes, right] - start
        gap = self.times[right] - np.where(left < 0, 0.0, self.times[left])
        return np.divide(rise, gap, out=np.zeros(len(self)), where=gap > 0)

    def rmtl(self, tau: float, cause: int | str) -> Floats:
        """Restricted mean time lost to a cause up to `tau`, the area under its curve: (n,)."""
        stop = positive(tau, "tau")
        values = self._of(cause)
        # The rule of survival curves: their constant belongs to the point (0, 1), here (0, 0).
        _, weights = area_weights(self.times, stop, self.interpolation)
        area: Floats = values @ weights
        late = stop - self.times[-1]
        if late > 0:
            area = area + np.where(self._closed, values[:, -1] * late, np.nan)
        return np.asarray(area, dtype=np.float64)

    def quantile(self, q: float, cause: int | str) -> Floats:
        """First time at which the incidence of a cause is `q` or more: (n,).

        Infinite where it can no longer get there, because the other causes leave less than `q`;
        NaN where the grid ends before that is known.
        """
        level = probability(q, "q")
        values = self._of(cause)
        found: Floats = self.cause(cause).quantile(level)
        left = 1.0 - self.values[:, :, -1].sum(axis=1, dtype=np.float64)
        never = values[:, -1] + np.maximum(left, 0.0) < level * (1.0 - 1e-9)
        return np.where(never, np.inf, found)

    def median(self, cause: int | str) -> Floats:
        """Time by which half of subjects like this have had an event of the cause; see `quantile`.

        It exists only where the incidence of the cause gets to one half.
        """
        return self.quantile(0.5, cause)

    def survival(self, tail: str = "linear") -> SurvivalCurves:
        """Probability of no event of any cause; `tail` past the grid as for `SurvivalCurves`."""
        free = np.maximum(1.0 - self._once.sum(axis=1), 0.0)
        checked = SurvivalCurves(self.times, free, self.interpolation, tail)
        return self._for_all(checked.survival, tail)

    def ends(self, tail: str) -> SurvivalCurves:
        """Curves on the same grid of which only the last value means something: of no event.

        What asks how far curves go needs no more, and no more memory.
        """
        last = 1.0 - self._once[:, :, -1].sum(axis=1, dtype=np.float64)
        last = np.where(last > 1e-9, last, 0.0)[:, None]
        rows = np.broadcast_to(last, (len(self), self.times.size))
        return SurvivalCurves._trusted(self.times, rows, self.interpolation, tail)

    def matching(
        self, causes: tuple[str, ...], argument: str = "curves", outcomes: str = "y_true"
    ) -> IncidenceCurves:
        """Refuse predictions of other causes; those without names have the same number."""
        unnamed = tuple(map(str, range(1, len(causes) + 1)))
        same = len(self.causes) == len(causes) and unnamed in (self.causes, causes)
        if self.causes == causes or same:
            return self
        raise InputError(
            f"{argument} must have the causes of {outcomes}, {', '.join(map(repr, causes))}, in "
            f"that order; got {', '.join(map(repr, self.causes))}"
        )

    def cause(self, cause: int | str) -> SurvivalCurves:
        """Probability of no event of this cause yet, 1 - incidence: falling, but not to 0.

        Who has an event of another cause stays free of this one for ever.
        """
        return self._for_all(self._free_of(cause), "nan")

    def only(self, cause: int | str, tail: str = "nan") -> CauseCurves:
        """Return `cause` as metrics of one cause take it."""
        rows = np.broadcast_to(self._free_of(cause), (len(self), self.times.size))
        found = CauseCurves._trusted(self.times, rows, self.interpolation, tail)
        return CauseCurves._of_all(found, self)

    def thinned(self, number: int) -> IncidenceCurves:
        """Return the same curves at no more than so many times of the grid."""
        if self.times.size <= number:
            return self
        places = np.linspace(0, self.times.size - 1, number).round().astype(np.intp)
        values = self._once[:, :, places]
        values = np.broadcast_to(values, (len(self), *values.shape[1:]))
        return self._trusted(self.times[places], values, self.causes, self.interpolation)

    def _free_of(self, cause: int | str) -> Any:
        return 1.0 - self._once[:, cause_code(cause, self.causes) - 1]

    @property
    def _once(self) -> Incidence:
        """All rows, or the one that stands for all of them."""
        return self.values[:1] if stored_once(self.values) else self.values

    def _for_all(self, free: Any, tail: str) -> SurvivalCurves:
        rows = np.broadcast_to(free, (len(self), free.shape[1]))
        return SurvivalCurves._trusted(self.times, rows, self.interpolation, tail)

    def _of(self, cause: int | str) -> Any:
        return self.values[:, cause_code(cause, self.causes) - 1]

    @property
    def _closed(self) -> Any:
        """Whether everybody like this subject has had an event by the last time."""
        return self.values[:, :, -1].sum(axis=1, dtype=np.float64) >= 1.0 - 1e-9

    def _read(self, rows: Any, points: Floats, cause: int | str) -> Floats:
        """Incidence of a cause at `points` of the grid, of all `rows` or of one row each."""
        values = self._of(cause)
        left = self.times.searchsorted(points, "right") - 1  # -1: the origin
        out = np.where(left < 0, 0.0, values[rows, left].astype(np.float64))
        if self.interpolation == "linear":
            right = np.minimum(left + 1, self.times.size - 1)
            start = np.where(left < 0, 0.0, self.times[left])
            gap = self.times[right] - start
            share = np.divide(points - start, gap, out=np.zeros(points.size), where=gap > 0)
            out += np.minimum(share, 1.0) * (values[rows, right].astype(np.float64) - out)
        return out
