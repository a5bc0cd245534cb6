"""Command line of the fuzz: `python -m fuzz --help`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
from collections import Counter

from .engine import Caller, run_case
from .kinds import KINDS

#: How often each kind comes, per round.
SHARES = {"evaluations": 1, "invalid": 4, "damaged_files": 1}


def rounds(kinds):
    """Kinds in the order in which cases are run, again and again."""
    order = [name for name in kinds for _ in range(SHARES.get(name, 10))]
    random.Random(0).shuffle(order)
    return order


def work(seed, start, step, kinds, stop, calls, failures, limit):
    """One process: cases start, start + step, ... of each kind in turn."""
    call, cases, found = Caller(), Counter(), []
    order = rounds(kinds)
    begun = time.monotonic()
    while time.monotonic() < stop and sum(call.counts.values()) < calls:
        for name in order:
            failure = run_case(name, seed, start + step * cases[name], call)
            cases[name] += 1
            if failure is not None:
                found.append(failure)
                print(failure, flush=True)
                if len(found) >= limit:
                    break
            if time.monotonic() >= stop:
                break
        if len(found) >= limit:
            break
    failures.put((found, dict(call.counts), call.undefined, dict(cases), time.monotonic() - begun))


def main(argv=None):
    """Run cases; exit status 1 if one failed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=2.0, help="at most this long")
    parser.add_argument(
        "--calls", type=float, default=1e12, help="stop after about this many calls"
    )
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    parser.add_argument("--case", type=int, help="run this one case of --kind again")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--failures", type=int, default=10, help="stop a process after so many")
    parser.add_argument("--json", help="write the counts to this file")
    args = parser.parse_args(argv)
    kinds = args.kind or list(KINDS)
    if args.case is not None:
        failure = run_case(kinds[0], args.seed, args.case)
        print(failure or f"{kinds[0]}, case {args.case}: nothing found")
        return int(failure is not None)
    queue = multiprocessing.Queue()
    stop = time.monotonic() + 60 * args.minutes
    share = args.calls / args.processes
    workers = [
        multiprocessing.Process(
            target=work,
            args=(args.seed, k, args.processes, kinds, stop, share, queue, args.failures),
        )
        for k in range(args.processes)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    return report(results, args.json)


def report(results, path):
    """Print totals; 1 if there were failures."""
    counts, cases, undefined, failures, seconds = Counter(), Counter(), 0, [], 0.0
    for found, called, lost, done, took in results:
        failures += found
        counts.update(called)
        cases.update(done)
        undefined += lost
        seconds = max(seconds, took)
    valid = sum(n for name, n in counts.items() if not name.startswith("refused"))
    refused = sum(counts.values()) - valid
    for name, n in sorted(cases.items()):
        print(f"{n:>9} cases of {name}")
    for name, n in sorted(counts.items()):
        print(f"{n:>9} calls of {name}")
    speed = (valid + refused) / seconds if seconds else 0.0
    print(
        f"{valid} valid calls ({undefined} of them undefined) and {refused} invalid ones in "
        f"{seconds:.0f} s, {speed:.0f} a second: a million in {1e6 / max(speed, 1) / 60:.0f} "
        f"minutes; {len(failures)} failures"
    )
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"calls": counts, "cases": cases, "seconds": seconds}, file, indent=1)
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
