"""How far a run is: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, TextIO

from .._tools.terminal import visible
from .grid import Place

#: Different messages about metrics that are shown during a run; its end names all metrics.
_MOST_TOLD = 5


class TimeLeft:
    """Time left, from how long finished cells of the same data set and model took."""

    def __init__(self, cells: Iterable[Place], jobs: int) -> None:
        self.left = Counter((cell.dataset.label, cell.model.label) for cell in cells)
        self.jobs = max(jobs, 1)
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._count: Counter[tuple[str, str]] = Counter()

    def done(self, cell: Place, seconds: float) -> None:
        """Count a cell."""
        key = (cell.dataset.label, cell.model.label)
        self.left[key] -= 1
        self._spent[key] += seconds
        self._count[key] += 1

    def seconds(self) -> float | None:
        """Seconds left, None before anything is known."""
        total = sum(self._count.values())
        if not total:
            return None
        overall = sum(self._spent.values()) / total
        by_model: defaultdict[str, list[float]] = defaultdict(list)
        for key, count in self._count.items():
            by_model[key[1]].append(self._spent[key] / count)
        left = 0.0
        for key, count in self.left.items():
            if self._count[key]:
                left += count * self._spent[key] / self._count[key]
            else:
                known = by_model.get(key[1])
                left += count * (sum(known) / len(known) if known else overall)
        return left / self.jobs


def clock(seconds: float | None) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725.4), clock(None)
    ('1:02:05', '-:--:--')
    """
    if seconds is None:
        return "-:--:--"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class RunProgress:
    """Counts of finished cells; subclasses show them, this one is silent."""

    def __init__(self, cells: list[Place], jobs: int) -> None:
        self.total, self.finished, self.failed, self.missing = len(cells), 0, 0, 0
        self.estimate = TimeLeft(cells, jobs)
        self.start = time.monotonic()
        self._told: set[str] = set()

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    def say(self, text: str) -> None:
        """Tell something besides the counts."""

    def done(self, cell: Place, status: str, seconds: float, message: str = "") -> None:
        """Count a cell and show it."""
        self.finished += status == "ok"
        self.failed += status == "failed"
        self.missing += status == "missing"
        self.estimate.done(cell, seconds)
        self.show(cell, status, message)

    def show(self, cell: Place, status: str, message: str) -> None:
        """Show that a cell is done."""

    def news(self, cell: Place, status: str, message: str) -> str:
        """What went wrong in a cell; of metrics that fail in every cell, only the first few."""
        if status == "failed":
            return f"failed: {cell}: {message}"
        if not message or message in self._told or len(self._told) >= _MOST_TOLD:
            return ""
        self._told.add(message)
        return f"a metric failed: {cell}: {message}"

    @property
    def counted(self) -> int:
        """Cells done, whatever became of them."""
        return self.finished + self.failed + self.missing

    def line(self) -> str:
        """Everything on one line."""
        passed = time.monotonic() - self.start
        extra = f", {self.missing} without predictions" if self.missing else ""
        return (
            f"{self.counted}/{self.total} cells, {self.failed} failed{extra}, {clock(passed)} "
            f"passed, about {clock(self.estimate.seconds())} left"
        )


class ProgressLines(RunProgress):
    """A line every few seconds, and one for each failure."""

    every = 10.0

    def __init__(self, cells: list[Place], jobs: int, stream: TextIO | None = None) -> None:
        super().__init__(cells, jobs)
        self.stream = stream or sys.stderr
        self._last = self.start

    def say(self, text: str) -> None:
        """Print a line."""
        print(visible(text), file=self.stream, flush=True)

    def show(self, cell: Place, status: str, message: str) -> None:
        """Print at the end, after failures, and now and then."""
        if news := self.news(cell, status, message):
            self.say(news)
        now = time.monotonic()
        if self.counted == self.total or now - self._last >= self.every:
            self._last = now
            self.say(self.line())


class ProgressBar(RunProgress):
    """A bar that moves (rich)."""

    def __init__(self, cells: list[Place], jobs: int, console: Any = None) -> None:
        super().__init__(cells, jobs)
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self.console = console or Console(stderr=True)
        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[line]}"),
            console=self.console,
        )
        self.task = self.bars.add_task("cells", total=self.total, line=self.line())

    def __enter__(self) -> ProgressBar:
        self.bars.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.bars.update(self.task, line=self.line())
        self.bars.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(visible(text), markup=False, highlight=False)

    def show(self, cell: Place, status: str, message: str) -> None:
        """Move the bar."""
        if news := self.news(cell, status, message):
            self.say(news)
        self.bars.update(self.task, completed=self.counted, line=self.line())


def progress_for(cells: list[Place], jobs: int, shown: bool | None) -> RunProgress:
    """Choose by where standard error goes; `shown` False is silent."""
    if shown is False:
        return RunProgress(cells, jobs)
    if sys.stderr.isatty():
        try:
            return ProgressBar(cells, jobs)
        except ImportError:
            pass
    return ProgressLines(cells, jobs)
