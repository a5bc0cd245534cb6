"""The stored baseline: how fast works are beside something elementary, and when that has fallen.

A ratio is the yardstick's seconds over ours, both measured in turns in one process, so that it
says about the same on another machine. Higher is better.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: A ratio may fall by this share before the check fails.
TOLERANCE = 0.30


@dataclass(frozen=True)
class Comparison:
    """One work against its baseline; `new` is None where it could not be measured."""

    key: str
    old: float
    new: float | None
    why_not: str = ""

    @property
    def fallen(self) -> float:
        """Share by which the ratio fell; negative where it rose."""
        return 1.0 if self.new is None else 1 - self.new / self.old

    @property
    def failed(self) -> bool:
        # The rounding error of a ratio must not decide at exactly 30 %.
        return self.fallen > TOLERANCE + 1e-9

    def show(self) -> str:
        if self.new is None:
            return f"{self.key}: not measured ({self.why_not})"
        change = f"{'-' if self.fallen > 0 else '+'}{abs(self.fallen):.0%}"
        return f"{self.key}: ratio was {self.old:.3g}, is {self.new:.3g} ({change})"


def key_of(work: str, n: int) -> str:
    return f"{work} @ {n}"


def work_of(key: str) -> tuple[str, int]:
    work, n = key.rsplit(" @ ", 1)
    return work, int(n)


def ratio(yardstick: float, seconds: float) -> float:
    """How many of the yardstick's units one call does not even take; higher is better."""
    return yardstick / seconds


#: Measures a key: its ratio, or None and the reason.
Measure = Callable[[str], tuple[float | None, str]]


def compare(
    baseline: Mapping[str, float], measure: Measure, say: Callable[[str], None] = print
) -> list[Comparison]:
    """Measure every work of the baseline; one that seems slower gets a second chance."""
    found = []
    for key, old in baseline.items():
        comparison = _measured(key, old, measure)
        if comparison.failed:
            say(f"  again: {comparison.show()}")
            second = _measured(key, old, measure)
            comparison = min(comparison, second, key=lambda c: c.fallen)
        say(f"  {'FAILED ' if comparison.failed else ''}{comparison.show()}")
        found.append(comparison)
    return found


def _measured(key: str, old: float, measure: Measure) -> Comparison:
    new, why_not = measure(key)
    return Comparison(key, old, new, why_not)


def verdict(comparisons: list[Comparison]) -> tuple[int, list[str]]:
    """Exit status, and the lines that say what fell."""
    failed = [comparison for comparison in comparisons if comparison.failed]
    if not failed:
        return 0, [
            f"bench-check: {len(comparisons)} ratios, none fell by more than {TOLERANCE:.0%}"
        ]
    head = (
        f"bench-check: {len(failed)} of {len(comparisons)} ratios fell by more than {TOLERANCE:.0%}"
    )
    return 1, [head, *(f"  {comparison.show()}" for comparison in failed)]


def write(path: Path, ratios: Mapping[str, float], machine: Mapping[str, str]) -> None:
    rounded = {key: float(f"{value:.4g}") for key, value in ratios.items()}
    about = "yardstick seconds / our seconds, CPU, same process; higher is better"
    record = {"about": about, "machine": dict(machine), "ratios": rounded}
    path.write_text(json.dumps(record, indent=1) + "\n")


def read(path: Path) -> tuple[dict[str, float], dict[str, str]]:
    record = json.loads(path.read_text())
    return record["ratios"], record["machine"]
