"""Command line: `python -m mutation --sample 1000 --seed 0 --out mutation.txt`.

The tests are collected once. One run without a mutant says how long each takes and which lines of
the core it runs. Then a process is forked for every mutant: it swaps the code and runs those tests
that run the changed statement, the most telling first, until one fails.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import Counter

from .operators import mutants_of
from .suites import ROOT, modules, words


def main(argv=None):
    """Draw mutants, run their tests, write the result."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--sample", type=int, default=1000, help="how many mutants (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="part of a module's name")
    parser.add_argument("--again", help="an earlier result: try those not noticed then once more")
    parser.add_argument("--out", default="mutation.txt")
    args = parser.parse_args(argv)
    args.out = os.path.abspath(args.out)
    os.environ.update(CI="1", OPENBLAS_NUM_THREADS="1", SURVGAUGE_THREADS="2")
    os.chdir(ROOT)
    import pytest

    from .runner import Runner

    paths = {n: p for n, p in modules().items() if not args.only or args.only in n}
    pool = []
    for name, path in paths.items():
        pool += mutants_of(name, path.read_text(encoding="utf-8"))
    drawn = pool
    if args.again:
        drawn = earlier(pool, args.again)
    elif args.sample and args.sample < len(pool):
        drawn = random.Random(args.seed).sample(pool, args.sample)
    print(f"{len(drawn)} of {len(pool)} mutants in {len(paths)} modules", flush=True)
    runner = Runner(paths, drawn, args.workers)
    chosen = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary"]
    chosen += ["-m", "not slow and not peer", *words()]
    status = pytest.main(chosen, plugins=[runner])
    if not runner.finished:
        raise SystemExit(f"the tests could not be run (status {status})")
    return report(runner.results, len(pool), args)


def earlier(pool, file):
    """Mutants of the pool that an earlier result names, wherever their lines stand by now."""
    named, block = set(), []
    with open(file, encoding="utf-8") as opened:
        for line in [*opened.read().splitlines(), ""]:
            if line.startswith("  "):
                block.append(line)
                continue
            if block:
                named.add(tuple(block))
            block = [line.split(" line ")[0]]
            block = block if " mutant " in line else []
    return [m for m in pool if (m.module, *str(m).splitlines()[1:]) in named]


def report(results, total, args):
    """Write shares and survivors; the status is 0 whatever they are."""
    by_module, killed = Counter(), Counter()
    for mutant, status in results:
        by_module[mutant.module] += 1
        killed[mutant.module] += status != "survived"
    lines = [f"{len(results)} of {total} mutants (seed {args.seed})", ""]
    for name in sorted(by_module):
        share = killed[name] / by_module[name]
        lines.append(f"{share:7.1%}  {killed[name]:4} of {by_module[name]:4}  {name}")
    whole = sum(killed.values()) / max(len(results), 1)
    slow = sum(status == "ran out of time" for _, status in results)
    lines.append(
        f"{whole:7.1%}  {sum(killed.values()):4} of {len(results):4}  all "
        f"({slow} by running out of time)"
    )
    shown = len(lines)
    lines += ["", "Not noticed by any test:", ""]
    lines += sorted(str(mutant) for mutant, status in results if status == "survived")
    with open(args.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines[:shown]))
    print(f"survivors are in {args.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
