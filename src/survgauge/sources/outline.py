"""What a pass over the outcomes finds about the whole test set."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from .._tools.arrays import Floats
from ..data.causes import Codes
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..evaluation.chunk import joined
from ..reference.counts import OutcomeCounts
from .labels import GroupKey, Groups, check_groups_of

#: Distinct times that are told apart where no number of the result depends on them: in remarks on
#: the follow-up, and for the horizon in the support.
MOST_TIMES, FEW_TIMES = 1 << 21, 1 << 15


class Outline:
    """What depends on the whole test set: its size, its last times, and its outcomes if kept.

    Parameters
    ----------
    at_risk : float
        The largest times are kept until this many subjects are at risk.
    keep : bool
        Whether to keep all outcomes (9 bytes per subject, 17 with entries or intervals).
    follow : bool
        Whether to count the outcomes at each distinct time, for G of the test subjects.
    most : int, optional
        Distinct times that are told apart then; all of them by default.
    """

    def __init__(
        self,
        at_risk: float,
        keep: bool = False,
        follow: bool = False,
        most: int | None = None,
    ) -> None:
        self.at_risk, self.keep, self.follow, self.most = at_risk, keep, follow, most
        #: Groups, each of which has an outline of its own, with all outcomes if they are kept.
        self.groups: dict[GroupKey, Outline] = {}
        #: Events and subjects at each distinct time, where they are counted.
        self.counts = OutcomeCounts(most)
        #: Rows instead of frequencies, where these differ.
        self._row_counts = OutcomeCounts(most)
        self.rows = self.subjects = 0
        self.weighted = False
        #: Whether there are frequencies that are not whole.
        self.fractional = False
        #: Times, codes (1: the event) and frequencies of the last subjects.
        self._top: tuple[Floats, Codes, Floats] = (
            np.empty(0),
            np.empty(0, dtype=np.int32),
            np.empty(0),
        )
        self._causes: tuple[str, ...] | None = None
        self.last_time = float("-inf")
        #: Changes with every outcome and its row; the same for any order and chunking.
        self.digest = 0
        self._kept: list[tuple[int, Outcomes]] = []

    def update(self, y: Outcomes, start: int, groups: Groups | None = None) -> None:
        """Add the outcomes from row `start` on, with their groups if there are any."""
        for key, rows in groups or ():
            if key not in self.groups:
                self.groups[key] = Outline(self.at_risk, self.keep, self.follow, self.most)
            self.groups[key].update(y[rows], start)
        check_groups_of(self.groups)
        self.rows += len(y)
        self.subjects += y.count
        self.weighted |= y.weighted
        self.fractional |= y.fractional
        times = y.time[y.weight > 0] if y.weighted else y.time
        self.last_time = max(self.last_time, float(times.max(initial=-np.inf)))
        self.digest = (self.digest + _digest(y, start)) % _MODULUS
        self._causes = y.causes
        self._raise((y.time, _codes(y), y.weight if y.weighted else None))
        if self.keep:
            self._kept.append((start, y))
        if self.follow:
            if not y.weighted or y.weight.any():
                self.counts.update(y)
            if y.weighted:
                present = y.weight > 0
                if present.any():
                    self._row_counts.update((y.time[present], y.event[present]))

    def merge(self, other: Outline) -> None:
        """Add what another part found."""
        self.rows += other.rows
        self.subjects += other.subjects
        self.weighted |= other.weighted
        self.fractional |= other.fractional
        self.last_time = max(self.last_time, other.last_time)
        self.digest = (self.digest + other.digest) % _MODULUS
        self._causes = self._causes or other._causes
        self._raise(other._top)
        self._kept += other._kept
        self.counts.merge(other.counts)
        self._row_counts.merge(other._row_counts)
        for key, own in other.groups.items():
            if key in self.groups:
                self.groups[key].merge(own)
            else:
                self.groups[key] = deepcopy(own)
        check_groups_of(self.groups)

    def _raise(self, found: tuple[Floats, Codes, Floats | None]) -> None:
        """Keep the last times, as many as there must be subjects at risk at the horizon."""
        time, code, weight = found
        if weight is None and time.size > 4 * self.at_risk + 64:
            cut = time.size - int(np.ceil(self.at_risk))
            rows = np.flatnonzero(time >= np.partition(time, cut)[cut])
            time, code = time[rows], code[rows]
        weight = np.ones(time.size) if weight is None else weight
        old = self._top
        time = np.concatenate((old[0], time))
        code = np.concatenate((old[1], code))
        weight = np.concatenate((old[2], weight))
        present = weight > 0
        time, code, weight = time[present], code[present], weight[present]
        order = np.argsort(-time, kind="stable")
        reached = np.cumsum(weight[order])
        # Everybody at the time at which enough are at risk, so that ties do not depend on order.
        enough = min(int(np.searchsorted(reached, self.at_risk)), max(order.size - 1, 0))
        if order.size:
            order = order[time[order] >= time[order[enough]]]
        self._top = time[order], code[order], weight[order]

    def top(self) -> Outcomes:
        """Return the last outcomes: the horizon of these is that of all."""
        time, code, weight = self._top
        if not time.size:
            raise InputError("the test set has no rows; at least one subject is needed")
        weights = weight if self.weighted else None
        cause = None if self._causes is None else code
        return Outcomes._trusted(time, code > 0, weights, cause, self._causes)

    def past(self, time: float) -> tuple[int, int] | None:
        """Subjects and events later than `time`; None where that reaches below what was kept."""
        times, code, _ = self._top
        if not times.size or times.min() <= time or times.size == self.subjects:
            late = times > time
            return int(late.sum()), int((late & (code > 0)).sum())
        if not self.follow:
            return None
        counts = self._row_counts if self.weighted else self.counts
        late = np.arange(len(counts)) >= counts.times.searchsorted(time, "right")
        return int(counts.total[late].sum()), int(counts.events[late].sum())

    def outcomes(self) -> Outcomes:
        """Return all outcomes, in order of their rows."""
        return joined(y for _, y in sorted(self._kept, key=lambda part: part[0]))


_MODULUS = 1 << 64


def _codes(y: Outcomes) -> Codes:
    """Codes of the causes; one kind of event has the code 1."""
    return y.event.astype(np.int32) if y.cause is None else y.cause


def _digest(y: Outcomes, start: int) -> int:
    """Sum over rows of their bits times an odd number of the row, modulo 2^64."""
    row = np.arange(start, start + len(y), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits = np.ascontiguousarray(y.time).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ _codes(
        y
    ).astype(np.uint64)
    if y.weighted:
        bits = bits ^ np.ascontiguousarray(y.weight).view(np.uint64) * np.uint64(3)
    began = getattr(y, "lower", None) if y.entry is None else y.entry
    if began is not None:
        bits = bits ^ np.ascontiguousarray(began).view(np.uint64) * np.uint64(5)
    return int((bits * row).sum(dtype=np.uint64))
