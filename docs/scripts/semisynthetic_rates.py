"""Table and picture of docs/howto/datasets.md, from the data sets in SURVGAUGE_DATA.

    SURVGAUGE_DATA=folder python docs/scripts/semisynthetic_rates.py [--figure FILE]

Prints a Markdown table: the censoring rate of every kind on the paper's three open data sets, mean
and standard deviation over 20 seeds, beside the published rate of the paper's one draw, and that
draw repeated.
"""

from __future__ import annotations

import argparse

import numpy as np

from survgauge import Outcomes
from survgauge.bench.censoring import KINDS, semisynthetic
from survgauge.bench.censoring.figure import SemiSyntheticDisplay
from survgauge.bench.censoring.kinds import DISTRIBUTIONS, BaseData
from survgauge.bench.datasets import load

# Percentages of the published spreadsheet, in the order of KINDS: uniform, uniform_admin,
# exponential, original_independent, original_dependent, external.
PUBLISHED = {
    "support": (10.23, 50.12, 30.58, 5.24, 4.31, 10.47),
    "metabric": (31.13, 55.99, 63.75, 20.15, 17.79, 30.66),
    "gbm": (14.69, 53.88, 48.57, 16.53, 8.37, None),
}
SEEDS = 20


def papers_draw(base, kind, external):
    """Censoring rate with the numbers behind the published rates.

    They are those of NumPy's legacy generator with seed 42, one per event in the order of the file,
    and times rounded to the nearest unit; this was found by matching, not read in the paper.
    """
    whole = Outcomes(np.round(base.y.time), base.y.event)
    data = BaseData(base.X, whole, np.flatnonzero(whole.event), external, base.fill)
    distribution = DISTRIBUTIONS[kind](data)

    def legacy(X, event_time, generator):
        numbers = np.random.RandomState(42)
        if kind == "exponential":
            return np.round(numbers.exponential(distribution.parameters["scale"], event_time.size))
        return np.round(distribution.quantile(numbers.uniform(size=event_time.size)))

    draw = semisynthetic(None, whole, legacy)
    # Months rounded to 0 went too.
    return 100 * np.mean(~draw.y.event[draw.y.time > 0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Censoring rates beside the published ones.")
    parser.add_argument("--figure", metavar="FILE", help="draw support before and after")
    args = parser.parse_args()
    bases = {name: load(name) for name in PUBLISHED}
    print("| data | censoring | published | mean | sd of one draw | dropped | the paper's draw |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, base in bases.items():
        for kind, published in zip(KINDS, PUBLISHED[name], strict=True):
            if published is None:
                continue
            external = bases["gbm"].y if kind == "external" else None
            draws = [
                semisynthetic(base.X, base.y, kind, seed, external, fill=base.fill)
                for seed in range(SEEDS)
            ]
            rates = np.array([100 * draw.censoring_rate for draw in draws])
            dropped = np.mean([draw.dropped for draw in draws])
            repeated = papers_draw(base, kind, external)
            found = f"{rates.mean():.2f} | {rates.std(ddof=1):.2f} | {dropped:.1f}"
            print(f"| {name} | {kind} | {published:.2f} | {found} | {repeated:.2f} |")
    if args.figure:
        support = bases["support"]
        draw = semisynthetic(support.X, support.y, "exponential")
        SemiSyntheticDisplay(draw, unit="days").plot().savefig(args.figure, dpi=110)


if __name__ == "__main__":
    main()
