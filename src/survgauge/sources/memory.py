"""A limit of memory: how large batches may be, and when C-indices have to go to disk.

The limit is that of the whole process. What it holds when the work begins (Python, libraries, the
reference set) is counted; the rest is room for batches, columns and sorting. Bytes a row were
measured (tracemalloc), and rounded up.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from .._tools.arrays import shown as shown_value
from ..errors import InputError, SurvgaugeError
from ..evaluation.cells import BOOTSTRAP_LIMIT
from ..metrics.calibration.groups import NODES
from .accumulator import CHUNK_ROWS, Accumulator
from .batches import Batch
from .columns import AT_TIME, RANKED
from .counts import FEW_TIMES, MOST_TIMES, Outline
from .g_sums import MOST_BINS, moves_with_g
from .groups import GroupedAccumulator, GroupedOutline
from .plan import Plan
from .resident import give_back, resident
from .sums import is_sum, key_of

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
#: No machine has more bytes.
_LARGEST = 2**63
#: Fewer rows at a time are not worth the work.
_FEWEST_ROWS = 1_024
#: Room below which nothing is tried: what libraries load on first use, and small things.
_LEAST_ROOM = 24_000_000
#: What a thread takes besides its rows.
_PER_THREAD = 4_000_000
#: What a group's sums take, in every thread.
_PER_GROUP = 40_000
#: Free memory between used pieces is memory too.
_SLACK = 1.4


def parse_size(text: int | str) -> int:
    """Read a size in bytes: 2000000, "500MB", "2GB", "1.5 GiB".

    >>> parse_size("2GB"), parse_size("1KiB")
    (2000000000, 1024)
    """
    if isinstance(text, int) and not isinstance(text, bool) and 0 < text <= _LARGEST:
        return text
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", str(text), re.IGNORECASE)
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or not 0 < number <= _LARGEST:
        raise InputError(
            f"memory must be a size such as '2GB' or a number of bytes; got {shown_value(text)}"
        )
    power = "kmgt".find(found[2].lower()) + 1 if found[2] else 0
    size = number * (1024**power if found[3] else _UNITS[found[2].lower()])
    return int(size)


def shown(size: float) -> str:
    """A size for messages, rounded up.

    >>> shown(150_200_000), shown(2.5e9), shown(2)
    ('151MB', '2500MB', '2 bytes')
    """
    if size < 1_000_000:
        return f"{int(size)} bytes"
    return f"{-(-int(size) // 1_000_000)}MB"


@dataclass(frozen=True)
class Budget:
    """Bytes that the process may use; None: no limit."""

    limit: int | None

    @classmethod
    def of(cls, memory: int | str | None) -> Budget:
        """Read the limit."""
        return cls(None if memory is None else parse_size(memory))

    def fit(self, plan: Plan, source: Any, head: Batch, workers: int) -> Fit | None:
        """Cut the work so that it fits; None without a limit."""
        if self.limit is None:
            return None
        columns = plan.layout.columns()
        with suppress(SurvgaugeError):
            _warm_up(plan, source.head(columns) if hasattr(source, "head") else head)
        give_back()
        held = resident()
        pages = source.page_bytes(columns) if hasattr(source, "page_bytes") else 0
        fixed, row = _PER_THREAD + pages, _SLACK * scoring_bytes(plan)
        weights = g_bytes(plan, getattr(source, "rows", None), workers)
        least = max(_LEAST_ROOM, int(fixed + 3 * row * _FEWEST_ROWS)) + weights
        room = self.limit - held
        if room < least:
            raise InputError(
                f"memory: {shown(self.limit)} is too little: the process holds {shown(held)} "
                "already (Python, its libraries, the reference set and what else is loaded), and "
                f"the work takes {shown(least)} at least; give {shown(held + least)} or more"
            )
        while workers > 1 and room - weights < workers * (fixed + 3 * row * _FEWEST_ROWS):
            workers -= 1
        # A third of what is left is for scoring, the others for what is kept meanwhile.
        rest = room - workers * fixed - weights
        rows = max(_FEWEST_ROWS, min(int(rest / 3 / workers / row), CHUNK_ROWS))
        if hasattr(source, "size"):
            source.size = min(source.size, rows)
        return Fit(self.limit, room, workers, rows, rest)


@dataclass(frozen=True)
class Fit:
    """How the work is cut so that the process stays within the limit."""

    limit: int
    #: What may be used besides what the process held at the start.
    room: int
    workers: int
    #: Rows that are scored together.
    rows: int
    #: Room besides what reading takes.
    rest: int

    def watch(self) -> None:
        """Give back what is free, and refuse to go on above the limit."""
        give_back()
        held = resident()
        if held > self.limit:
            raise InputError(
                f"memory: the process holds {shown(held)}, more than its limit of "
                f"{shown(self.limit)}; raise it, or make the batches smaller"
            )

    @property
    def spill_rows(self) -> int:
        """Rows of columns that a thread may hold before they go to disk."""
        return max(_FEWEST_ROWS, self.rest // (8 * (self.workers + 1)) // 150)

    def waiting_rows(self, plan: Plan) -> int:
        """Rows of groups that a thread may hold until they are scored."""
        return max(_FEWEST_ROWS, self.rest // (8 * self.workers) // (80 + 16 * _values(plan)))

    def check_outline(self, plan: Plan, outline: Outline) -> None:
        """Refuse what grows with the test set and cannot go to disk, once its size is known."""
        models, weighted = len(plan.layout.predictions), outline.weighted
        parts = outline.groups.values() if isinstance(outline, GroupedOutline) else [outline]
        groups = len(parts) if isinstance(outline, GroupedOutline) else 0
        sums: float = groups * (self.workers + 2) * _PER_GROUP
        demands = {f"{groups} groups": sums}
        if "km_calibration" in plan.metrics:
            kept = sum(part.rows for part in parts if part.rows <= BOOTSTRAP_LIMIT)
            curves = _SLACK * outline.rows * (150 + 10 * models + 40 * weighted)
            demands["km_calibration"] = sums + curves + 2 * kept * 8 * _values(plan)
        demands |= dict.fromkeys(
            (name for name in plan.kept if name in AT_TIME), self._columns(plan, outline.rows)
        )
        demands = {name: size for name, size in demands.items() if size > self.room}
        if demands:
            what = f"{', '.join(demands)} of {outline.rows} subjects take"
            instead = ", or leave that out (C-indices can be computed on disk)"
            self.refuse(what, max(demands.values()), instead)

    def refuse(self, what: str, size: float, instead: str = "") -> NoReturn:
        """Say how much would do."""
        # What the process holds changes a little from call to call.
        needed = 1.02 * (self.limit - self.room + size)
        raise InputError(
            f"memory: {what} more than the limit of {shown(self.limit)} leaves; give "
            f"{shown(needed)} or more{instead}"
        )

    def _columns(self, plan: Plan, rows: int) -> float:
        """What metrics of whole columns need in the end: large arrays, which leave few gaps."""
        return 1.1 / 0.8 * rows * end_bytes(plan)

    def external(self, plan: Plan, rows: int | None) -> Any:
        """Return where C-indices are computed on disk, if their columns do not fit."""
        if not plan.kept:
            return None
        if rows is not None and self._columns(plan, rows) <= self.room:
            return None
        from .external import External

        return External([name for name in plan.kept if name in RANKED], self)

    def block_rows(self, plan: Plan) -> int:
        """Rows whose pairs can be counted at once, with what is free now."""
        give_back()
        room = min(self.room, self.limit - resident())
        return max(_FEWEST_ROWS, int(0.9 * room / block_bytes(plan)))


def _warm_up(plan: Plan, head: Batch) -> None:
    """Score some subjects for nothing, so that what is loaded on first use is there."""
    kind = Accumulator if plan.layout.by is None else GroupedAccumulator
    part = kind(plan)
    part.update(head.rows(0, min(64, len(head))), 0)
    part.result(None)


def _values(plan: Plan) -> int:
    """Numbers that all models say about a subject."""
    specs = plan.layout.predictions.values()
    return sum(len(getattr(spec, "times", None) or (0,)) for spec in specs)


def _grids(plan: Plan) -> list[tuple[float, ...]]:
    """Times of the models that give curves."""
    specs = plan.layout.predictions.values()
    return [times for spec in specs if (times := getattr(spec, "times", None))]


def scoring_bytes(plan: Plan) -> int:
    """Bytes a row that scoring takes, with the batch itself."""
    specs = plan.layout.predictions.values()
    models = len(specs)
    curves = sum(1 for spec in specs if getattr(spec, "times", None))
    keys = len({key_of(name) for name in plan.metrics if is_sum(name)})
    sums = 9 * keys * (1 + models + plan.baseline) + 10 * plan.n_boot
    kept = 30 + 20 * models if plan.kept else 0
    return 120 + 16 * _values(plan) + 450 * curves + sums + kept


def g_bytes(plan: Plan, rows: int | None, workers: int) -> int:
    """Bytes that G of the test subjects takes: counts at its times, and sums by time."""
    if not plan.counted or rows is None:  # of an unknown number, watched while it is read
        return 0
    metrics = {key_of(name) for name in plan.metrics if plan.follow and moves_with_g(name)}
    uno = plan.follow and "uno" in plan.metrics
    most = MOST_TIMES if metrics or uno else FEW_TIMES
    times = min(rows, most)
    models = len(plan.layout.predictions) + 1 + plan.baseline
    sums = (workers + 2) * len(metrics) * models * 3 * 8 * min(times, MOST_BINS)
    return 150 * times + sums


def end_bytes(plan: Plan) -> int:
    """Bytes a row that metrics of whole columns take in the end, with the columns."""
    models, weighted = len(plan.layout.predictions), plan.layout.weight is not None
    ranks = any(name in RANKED for name in plan.kept)
    at_time = any(name in AT_TIME for name in plan.kept)
    columns = 9 + 8 * weighted + 8 * models * (ranks + at_time)
    if "one_calibration" in plan.kept:
        columns += 8 * sum(min(len(times), NODES) for times in _grids(plan))
    more = [80 + 8 * models + 75 * weighted]
    if plan.kept != ("harrell",):
        more.append(100 + 8 * models + 60 * weighted)
    if "ici" in plan.kept:
        more.append(90 + 24 * models + 110 * weighted)
    return columns + max(more)


def block_bytes(plan: Plan) -> float:
    """Bytes a row that counting the pairs of a block takes."""
    models, weighted = len(plan.layout.predictions), plan.layout.weight is not None
    return 1.1 * (190 + 20 * models + 70 * ("uno" in plan.kept) + 110 * weighted)
