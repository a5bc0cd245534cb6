"""How far a run is: a line on standard error now and then, and one for everything that fails."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict

from ..._tools.text import visible
from .grid import Cell

#: Different messages about metrics that are shown during a run; its end names all metrics.
_MOST_TOLD = 5


class RunProgress:
    """Counts of finished cells, told in lines; or silence.

    Parameters
    ----------
    cells : list of Cell
        What is to be run.
    jobs : int
        How many at once.
    shown : bool
        Whether anything is told.
    """

    #: Seconds between two lines.
    every = 10.0

    def __init__(self, cells: list[Cell], jobs: int, shown: bool = True) -> None:
        self.total, self.counts, self.jobs = len(cells), Counter[str](), jobs
        self.start = self._last = time.monotonic()
        self._shown, self._told = shown, set[str]()
        #: By the label of a model: cells that are left, and how long finished ones took.
        self._left = Counter(cell.model.label for cell in cells)
        self._took: defaultdict[str, list[float]] = defaultdict(list)

    def say(self, text: str) -> None:
        """Tell something besides the counts."""
        if self._shown:
            print(visible(text), file=sys.stderr, flush=True)

    def done(self, cell: Cell, status: str, seconds: float, message: str = "") -> None:
        """Count a cell and say so; of metrics that fail in every cell, only the first few."""
        self.counts[status] += 1
        self._left[cell.model.label] -= 1
        self._took[cell.model.label].append(seconds)
        if status == "failed":
            self.say(f"failed: {cell}: {message}")
        elif message and message not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(message)
            self.say(f"a metric failed: {cell}: {message}")
        now = time.monotonic()
        if self.counts.total() == self.total or now - self._last >= self.every:
            self._last = now
            self.say(self.line())

    def seconds_left(self) -> float | None:
        """Time left, from finished cells of the same model; None before anything is known."""
        each = {model: sum(took) / len(took) for model, took in self._took.items()}
        if not each:
            return None
        mean = sum(each.values()) / len(each)
        return sum(n * each.get(model, mean) for model, n in self._left.items()) / self.jobs

    def line(self) -> str:
        """Everything on one line."""
        passed, left = time.monotonic() - self.start, self.seconds_left()
        return (
            f"{self.counts.total()}/{self.total} cells, {self.counts['failed']} failed, "
            f"{hours(passed)} passed, about {hours(left)} left"
        )


def hours(seconds: float | None) -> str:
    """Hours, minutes and seconds.

    >>> hours(3725.4), hours(None)
    ('1:02:05', '-:--:--')
    """
    if seconds is None:
        return "-:--:--"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
