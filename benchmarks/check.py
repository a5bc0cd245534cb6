"""Has a change made something slower? Measures older code and this one in turns, on this machine.

    python benchmarks/check.py               # against the code of BASE
    python benchmarks/check.py --base main   # against any other commit

Exit status 1 when something is slower by more than the tolerance. Both run in processes of their
own, one after the other, so that the processor and whatever else it does slow both alike.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from run import HERE, measure
from targets import OURS
from works import BY_NAME

#: The code that is compared with: that of before the house was rebuilt, which was the fastest.
BASE = "24b06e4"
#: Speed may fall by this share before the check fails.
TOLERANCE = 0.30
BUDGET, LIMIT, ROUNDS = 1.0, 60.0, 2
#: Three minutes; sizes large enough that calls take milliseconds.
CHECKED = (
    ("po", 100_000),
    ("eight time errors", 100_000),
    ("pseudo-observations", 100_000),
    ("Kaplan-Meier", 100_000),
    ("medians of curves", 100_000),
    ("Harrell C, standard error", 100_000),
    ("Uno C", 100_000),
    ("Antolini C", 10_000),
    ("AUC of risks, 100 times", 100_000),
    ("AUC of curves, 100 times", 100_000),
    ("IBS, 100 times", 100_000),
    ("integrated log loss, 100 times", 100_000),
    ("D-calibration", 100_000),
    ("1-calibration", 100_000),
    ("KM calibration", 100_000),
    ("ICI", 100_000),
    ("metric crps", 100_000),
    ("metric log_likelihood", 100_000),
    ("evaluate float32, no intervals", 100_000),
)

#: CPU seconds of a work by the code in a folder, or infinity and the reason.
Measure = Callable[[Path, str, int], tuple[float, str]]


@dataclass(frozen=True)
class Comparison:
    """One work by the older code and by this one, in CPU seconds."""

    work: str
    old: float
    new: float
    why_not: str = ""

    @property
    def fallen(self) -> float:
        """Share by which the speed fell; negative where it rose."""
        return 1 - self.old / self.new

    @property
    def failed(self) -> bool:
        """Whether this code is too slow, or one of both could not be measured."""
        # The rounding error of a ratio must not decide at exactly 30 %.
        return bool(self.why_not) or self.fallen > TOLERANCE + 1e-9

    def show(self) -> str:
        if self.why_not:
            return f"{self.work}: not measured ({self.why_not})"
        times = f"{self.old * 1e3:.3g} ms before, {self.new * 1e3:.3g} ms now"
        return f"{self.work}: {times}, speed {-self.fallen:+.0%}"


def compared(work: str, n: int, trees: tuple[Path, Path], seconds: Measure) -> Comparison:
    """Measure both trees in turns; what seems slower gets as many turns again."""
    best, why_not = [float("inf"), float("inf")], ""
    for turn in range(2 * ROUNDS):
        for which, tree in enumerate(trees):
            found, reason = seconds(tree, work, n)
            best[which], why_not = min(best[which], found), why_not or reason
        comparison = Comparison(work, *best, why_not)
        if why_not or (turn + 1 >= ROUNDS and not comparison.failed):
            break
    return comparison


def measured_seconds(tree: Path, work: str, n: int) -> tuple[float, str]:
    """Least CPU seconds of several calls in a fresh process."""
    cell = measure(BY_NAME[work], OURS, n, BUDGET, LIMIT, tree)
    return (cell.seconds, "") if cell.seconds else (float("inf"), cell.why_not or "no time")


def exported(revision: str, folder: Path) -> Path:
    """Write the package and the benchmarks of a commit into a folder."""
    command = ["git", "archive", "--format=tar", revision, "src", "benchmarks"]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True)
    if done.returncode:
        said = done.stderr.decode().strip()
        raise SystemExit(f"bench-check needs the commit {revision} of this repository; git: {said}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def verdict(comparisons: list[Comparison]) -> tuple[int, list[str]]:
    """Exit status, and the lines that say what is slower."""
    failed, total = [c for c in comparisons if c.failed], len(comparisons)
    if not failed:
        return 0, [f"bench-check: {total} works, none slower by more than {TOLERANCE:.0%}"]
    head = f"bench-check: {len(failed)} of {total} works slower by more than {TOLERANCE:.0%}"
    return 1, [head, *(f"  {comparison.show()}" for comparison in failed)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default=BASE, help=f"commit to compare with (default {BASE})")
    base = parser.parse_args().base
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        trees = exported(base, Path(folder)), HERE.parent
        for work, n in CHECKED:
            comparisons.append(compared(work, n, trees, measured_seconds))
            failed = "FAILED " if comparisons[-1].failed else ""
            print(f"  {failed}{comparisons[-1].show()}", flush=True)
    status, lines = verdict(comparisons)
    print("\n".join(lines), file=sys.stderr if status else sys.stdout)
    return status


if __name__ == "__main__":
    sys.exit(main())
