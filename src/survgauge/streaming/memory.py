"""A limit of memory: how large batches may be, and when C-indices have to go to disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .columns import RANKED
from .layout import Layout
from .plan import Plan

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
#: What sorting and counting pairs needs besides the columns, in bytes a subject.
PAIR_BYTES = 100
_SMALLEST_BATCH = 4_096


def parse_size(text: int | str) -> int:
    """Read a size in bytes: 2000000, "500MB", "2GB", "1.5 GiB".

    >>> parse_size("2GB"), parse_size("1KiB")
    (2000000000, 1024)
    """
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", str(text), re.IGNORECASE)
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or not number > 0:
        raise InputError(f"memory must be a size such as '2GB' or a number of bytes; got {text!r}")
    power = "kmgt".find(found[2].lower()) + 1 if found[2] else 0
    size = number * (1024**power if found[3] else _UNITS[found[2].lower()])
    return int(size)


@dataclass(frozen=True)
class Budget:
    """Bytes that may be used; None: no limit."""

    limit: int | None

    @classmethod
    def of(cls, memory: int | str | None) -> Budget:
        """Read the limit."""
        return cls(None if memory is None else parse_size(memory))

    def apply(self, source: Any, layout: Layout, workers: int) -> None:
        """Make the batches of a source small enough."""
        if self.limit is None or not hasattr(source, "size"):
            return
        row = (
            8
            * sum(
                len(spec.times) if getattr(spec, "times", None) else 1
                for spec in layout.predictions.values()
            )
            + 24
        )
        # A batch is held about four times over while it is scored, in every thread.
        rows = self.limit // (16 * row * (workers + 1))
        source.size = int(min(source.size, max(rows, _SMALLEST_BATCH)))

    def external(self, plan: Plan, rows: int | None) -> Any:
        """Return where C-indices are computed on disk, if their columns do not fit."""
        ranked = [name for name in plan.kept if name in RANKED]
        if self.limit is None or not plan.kept:
            return None
        models = len(plan.layout.predictions)
        if rows is not None and rows * (9 + 16 * models + PAIR_BYTES) <= self.limit:
            return None
        rest = [name for name in plan.kept if name not in RANKED]
        if rest and rows is not None:
            raise InputError(
                f"{', '.join(rest)} of {rows} subjects need more than the limit of memory: about "
                f"{rows * (9 + 16 * models + PAIR_BYTES) / 1e9:.1f} GB; raise it or leave "
                f"{'them' if len(rest) > 1 else 'it'} out (C-indices can be computed on disk)"
            )
        from .external import External

        return External(ranked, self.limit)
