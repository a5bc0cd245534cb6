"""Command line: `python -m mutation --sample 1000 --seed 0 --out mutation.txt`."""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter

from .operators import mutants_of, mutated
from .suites import ROOT, modules, words_of

#: Imported before the first child is forked; the package itself is imported by each child.
WARM = (
    "numpy",
    "scipy.special",
    "scipy.stats",
    "scipy.interpolate",
    "scipy.optimize",
    "pytest",
    "hypothesis",
    "pandas",
    "pyarrow.parquet",
    "_pytest.doctest",
    "unittest.mock",
)


#: Number of the mutant that every test must notice.
BROKEN = -1


class MutantLoader(importlib.abc.InspectLoader):
    """Give a module its changed source."""

    def __init__(self, name, path, number):
        self.name, self.path, self.number = name, path, number

    def find_spec(self, name, path=None, target=None):
        """Answer for the one module only."""
        if name != self.name:
            return None
        spec = importlib.util.spec_from_loader(name, self, origin=str(self.path))
        spec.has_location = True
        return spec

    def get_source(self, fullname):
        """Return the source as it is on disk."""
        return self.path.read_text(encoding="utf-8")

    def get_code(self, fullname):
        """Compile the changed syntax tree."""
        if self.number == BROKEN:
            raise ImportError("a module that cannot be imported")
        source = self.get_source(fullname)
        tree = (
            compile(source, str(self.path), "exec", 0x400)
            if self.number is None
            else mutated(source, self.number)
        )
        return compile(tree, str(self.path), "exec")


class First:
    """Put the loader before pytest's own, which would read the file from disk."""

    def __init__(self, loader):
        self.loader = loader

    def pytest_sessionstart(self, session):
        """Come last among those who want to be first."""
        sys.meta_path.insert(0, self.loader)


def child(name, path, tests, number, log):
    """Run the tests of one mutant and leave with pytest's status."""
    import pytest

    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    words = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "-m",
        "not slow and not peer",
        "--no-header",
        "--durations=15",
        *words_of(tests, path),
    ]
    os._exit(int(pytest.main(words, plugins=[First(MutantLoader(name, path, number))])))


def start(item, number, log):
    """Fork a child for a mutant; number None: the code as it is."""
    name, path, tests = item
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            child(name, path, tests, number, log)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)
    return pid


def run(jobs, workers, timeout, log):
    """Run (key, item, number); yield (key, status, seconds): status 0 means that nothing failed."""
    waiting, running = list(reversed(jobs)), {}
    while waiting or running:
        while waiting and len(running) < workers:
            key, item, number = waiting.pop()
            pid = start(item, number, f"{log}.{len(running)}" if number is None else os.devnull)
            running[pid] = (key, time.monotonic(), timeout(item))
        for pid in list(running):
            key, begun, limit = running[pid]
            took = time.monotonic() - begun
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del running[pid]
                yield key, os.waitstatus_to_exitcode(status), took
            elif took > limit:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[pid]
                yield key, "timeout", took
        time.sleep(0.01)


def main(argv=None):
    """Draw mutants, run their tests, write the result."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--sample", type=int, default=1000, help="how many mutants (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="part of a module's name")
    parser.add_argument("--out", default="mutation.txt")
    args = parser.parse_args(argv)
    os.environ.update(CI="1", OPENBLAS_NUM_THREADS="1", SURVGAUGE_THREADS="2")
    os.chdir(ROOT)
    items = {n: (n, *rest) for n, rest in modules().items() if not args.only or args.only in n}
    for name in WARM:
        importlib.import_module(name)
    if any(name.split(".")[0] == "survgauge" for name in sys.modules):
        raise SystemExit("the package must not be imported before the children import it")
    pool = []
    for name, path, _ in items.values():
        pool += mutants_of(name, path.read_text(encoding="utf-8"))
    drawn = pool
    if args.sample and args.sample < len(pool):
        drawn = random.Random(args.seed).sample(pool, args.sample)
    print(f"{len(drawn)} of {len(pool)} mutants in {len(items)} modules", flush=True)
    normal = _normal(items, args)
    jobs = [(m, items[m.module], m.number) for m in drawn]
    results, begun = [], time.monotonic()
    for mutant, status, _ in run(
        jobs, args.workers, lambda item: 30 + 6 * normal[item[0]], args.out
    ):
        results.append((mutant, status))
        if status == 0:
            print(f"survived: {mutant}", flush=True)
        if len(results) % 50 == 0:
            lost = sum(status == 0 for _, status in results)
            rate = len(results) / (time.monotonic() - begun)
            print(f"{len(results)} done, {lost} survived, {rate:.2f} a second", flush=True)
    return report(results, len(pool), args)


def _normal(items, args):
    """Seconds that the tests take without a mutant; they must pass."""
    found = {}
    log = os.path.abspath(args.out) + ".log"
    jobs = [(name, item, None) for name, item in items.items()]
    broken = [(f"{name} broken", item, BROKEN) for name, item in items.items()]
    for name, status, _ in run(broken, args.workers, lambda item: 600, log):
        if status == 0:
            raise SystemExit(f"the tests of {name} pass: the mutants do not reach them")
    for name, status, took in run(jobs, args.workers, lambda item: 600, log):
        if status != 0:
            raise SystemExit(
                f"the tests of {name} fail without a mutant (status {status}): see "
                f"{log}.0 and {log}.1"
            )
        found[name] = took
        print(f"{took:6.1f} s  tests of {name}", flush=True)
    return found


def report(results, total, args):
    """Write shares and survivors; the status is 0 whatever they are."""
    by_module, killed = Counter(), Counter()
    for mutant, status in results:
        by_module[mutant.module] += 1
        killed[mutant.module] += status != 0
    lines = [f"{len(results)} of {total} mutants (seed {args.seed})", ""]
    for name in sorted(by_module):
        share = killed[name] / by_module[name]
        lines.append(f"{share:7.1%}  {killed[name]:4} of {by_module[name]:4}  {name}")
    whole = sum(killed.values()) / max(len(results), 1)
    slow = sum(status == "timeout" for _, status in results)
    lines.append(
        f"{whole:7.1%}  {sum(killed.values()):4} of {len(results):4}  all "
        f"({slow} by running out of time)"
    )
    lines += ["", "Not noticed by any test:", ""]
    lines += [str(mutant) for mutant, status in results if status == 0]
    with open(args.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines[: len(by_module) + 3]))
    print(f"survivors are in {args.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
