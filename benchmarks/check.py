"""Has a change made something slower? Compares a quick run with the stored baseline.

python benchmarks/check.py             # exit status 1 when a ratio fell by more than 30 %
python benchmarks/check.py --update    # measure three times and store the medians
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import baseline
import numpy
from machine import processor
from run import measure
from targets import OURS
from works import BY_NAME

FILE = Path(__file__).with_name("baseline.json")
BUDGET, LIMIT = 1.5, 60.0
#: A minute or two; sizes large enough that calls take milliseconds.
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
    ("evaluate, ten models of 1,000", 100_000),
    ("evaluate float32, no intervals", 100_000),
)


def measured_ratio(key: str) -> tuple[float | None, str]:
    """Ratio of one work in a fresh process."""
    work, n = baseline.work_of(key)
    if work not in BY_NAME:
        return None, "no such work; update the baseline"
    cell = measure(BY_NAME[work], OURS, n, BUDGET, LIMIT)
    if not cell.seconds or not cell.yardstick:
        return None, cell.why_not or "no time"
    return baseline.ratio(cell.yardstick, cell.seconds), ""


def machine() -> dict[str, str]:
    return {
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "processor": processor(),
    }


def update(repeats: int) -> int:
    """Store medians, so that neither a lucky nor an unlucky run becomes the bar."""
    ratios = {}
    for work, n in CHECKED:
        key = baseline.key_of(work, n)
        found = [measured_ratio(key) for _ in range(repeats)]
        values = [value for value, _ in found if value is not None]
        if len(values) < repeats:
            reason = next(why for value, why in found if value is None)
            print(f"  {key}: not measured ({reason})", file=sys.stderr)
            return 1
        ratios[key] = statistics.median(values)
        print(f"  {key}: {', '.join(f'{value:.3g}' for value in values)}", flush=True)
    baseline.write(FILE, ratios, machine())
    return 0


def check() -> int:
    ratios, measured_on = baseline.read(FILE)
    if measured_on != machine():
        print(
            f"The baseline is from {measured_on}, this is {machine()}. Ratios may differ: a "
            "processor with AVX-512 sorts and takes logarithms faster than one without. To compare "
            "code on this machine, run `check.py --update` on the older commit first."
        )
    status, lines = baseline.verdict(baseline.compare(ratios, measured_ratio))
    print("\n".join(lines), file=sys.stderr if status else sys.stdout)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="store what is measured now")
    parser.add_argument("--repeats", type=int, default=3, help="runs a work for --update")
    options = parser.parse_args()
    return update(options.repeats) if options.update else check()


if __name__ == "__main__":
    sys.exit(main())
