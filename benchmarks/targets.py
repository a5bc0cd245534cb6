"""What we promise, and whether a run kept it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

OURS = "survgauge"
#: Promises hold for this many subjects unless they say otherwise.
N = 100_000


@dataclass(frozen=True)
class Cell:
    """One measurement: a work, whose code, how many subjects."""

    seconds: float | None = None
    #: Rise of the peak memory in megabytes.
    megabytes: float | None = None
    yardstick: float | None = None
    #: Wall time in seconds of the quickest repeat: less than CPU seconds where threads help.
    wall: float | None = None
    input_megabytes: float | None = None
    value: float | None = None
    #: Seconds follow from smaller sizes.
    extrapolated: bool = False
    #: Why there are no seconds.
    why_not: str | None = None


Cells = dict[tuple[str, int], Cell]
#: What was found, and whether it keeps the promise (None: cannot be said).
Verdict = tuple[str, bool | None]
_UNKNOWN: Verdict = ("not measured", None)


@dataclass(frozen=True)
class Target:
    text: str
    check: Callable[[Cells], Verdict]


def _seconds(cells: Cells, who: str, n: int) -> float | None:
    cell = cells.get((who, n))
    return None if cell is None else cell.seconds


def faster_than(peer: str, factor: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        ours, theirs = _seconds(cells, OURS, n), _seconds(cells, peer, n)
        if not ours or not theirs:
            return _UNKNOWN
        guess = ", peer extrapolated" if cells[peer, n].extrapolated else ""
        return f"{theirs / ours:,.1f} times{guess}", theirs / ours >= factor

    return Target(f"{factor:,g} times faster than {peer} at {n:,}", check)


def within_yardsticks(limit: float, name: str, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        cell = cells.get((OURS, n))
        if cell is None or not cell.seconds or not cell.yardstick:
            return _UNKNOWN
        return f"{cell.seconds / cell.yardstick:.1f}", cell.seconds / cell.yardstick <= limit

    return Target(f"within {limit:g} times one {name} at {n:,}", check)


def growth(start: int, stop: int, limit: float) -> Target:
    def check(cells: Cells) -> Verdict:
        before, after = _seconds(cells, OURS, start), _seconds(cells, OURS, stop)
        if not before or not after:
            return _UNKNOWN
        return f"{after / before:.1f}-fold", after / before <= limit

    return Target(f"growth from {start:,} to {stop:,} at most {limit:g}-fold", check)


def exponent(start: int, stop: int, limit: float) -> Target:
    def check(cells: Cells) -> Verdict:
        before, after = _seconds(cells, OURS, start), _seconds(cells, OURS, stop)
        if not before or not after:
            return _UNKNOWN
        found = math.log(after / before) / math.log(stop / start)
        return f"{found:.2f}", round(found, 2) <= limit

    return Target(f"growth exponent from {start:,} to {stop:,} at most {limit:g}", check)


def subjects_per_second(least: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        ours = _seconds(cells, OURS, n)
        if not ours:
            return _UNKNOWN
        return f"{n / ours / 1e6:.1f} million", n / ours >= least

    return Target(f"{least / 1e6:g} million subjects per second at {n:,}", check)


def seconds(limit: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        ours = _seconds(cells, OURS, n)
        return _UNKNOWN if not ours else (f"{ours:.2f} s", ours <= limit)

    return Target(f"at most {limit:g} s at {n:,}", check)


def wall(limit: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        cell = cells.get((OURS, n))
        if cell is None or not cell.wall or not cell.seconds:
            return _UNKNOWN
        return f"{cell.wall:.2f} s, {cell.seconds:.2f} s of CPU", cell.wall <= limit

    return Target(f"at most {limit:g} s of wall time at {n:,}", check)


def input_multiple(limit: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        cell = cells.get((OURS, n))
        if cell is None or cell.megabytes is None or not cell.input_megabytes:
            return _UNKNOWN
        found = 1 + cell.megabytes / cell.input_megabytes
        return f"{found:.2f} times", found <= limit

    return Target(f"memory at most {limit:g} times the input's at {n:,}, input included", check)


def memory(limit: float, n: int = N) -> Target:
    def check(cells: Cells) -> Verdict:
        cell = cells.get((OURS, n))
        if cell is None or cell.megabytes is None:
            return _UNKNOWN
        return f"{cell.megabytes:.0f} MB", cell.megabytes <= limit

    return Target(f"at most {limit:g} MB extra at {n:,}", check)
