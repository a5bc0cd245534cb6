"""Speed and memory of this package and of its peers, side by side in one run.

    python benchmarks/run.py [--only core|metrics|registry|evaluate] [--work NAME] [--quick]
                             [--sizes 1000,10000,100000,1000000] [--json FILE] [--merge] [--write]

Every cell (a work, whose code, how many subjects) runs in a process of its own, on the same data,
with one thread; the metrics of the registry share one a size. Times are the least CPU seconds of
several repeats; memory is the rise of the peak. Peers that are missing, fail or would take too
long are named; nothing is left out silently.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import imports
from growth import measured, slope
from machine import facts_of_machine, load, most_bytes
from pages import write_pages
from peers import MODULES, in_r, package_of
from results import Results, WorkResult
from targets import OURS, Cell, Cells
from works import WORKS, Work

HERE = Path(__file__).resolve().parent
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "RAYON")
ENVIRONMENT = {
    **os.environ,
    **{f"{name}_NUM_THREADS": "1" for name in THREADS},
    "VECLIB_MAXIMUM_THREADS": "1",
    "R_DATATABLE_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
}
SIZES = "1000,10000,100000,1000000"


def environment_of(tree: Path) -> dict[str, str]:
    """Variables of a process that takes the package from a folder."""
    path = os.pathsep.join([str(tree / "src"), os.environ.get("PYTHONPATH", "")])
    return ENVIRONMENT | {"PYTHONPATH": path}


def measure_together(
    works: Iterable[Work],
    who: str,
    n: int,
    budget: float,
    limit: float,
    tree: Path = HERE.parent,
) -> dict[str, Cell]:
    """Run cells of the code in `tree` in a fresh process; a failure is a result too."""
    names, seconds = [work.name for work in works], str(budget_at(n, budget))
    command = [sys.executable, str(tree / "benchmarks" / "cell.py"), who, str(n), seconds, *names]
    patience = (3 * limit + 60) * (1 + len(names) // 10)
    why_not = None
    try:
        done = subprocess.run(
            command, env=environment_of(tree), capture_output=True, text=True, timeout=patience
        )
        output = done.stdout
        if done.returncode:
            said = done.stderr.strip().splitlines()
            why_not = f"failed: {said[-1][:110] if said else f'status {done.returncode}'}"
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
        why_not = f"stopped after {patience:.0f} s"
    cells = {}
    for line in output.splitlines():
        if line.startswith('{"work"'):
            record = json.loads(line)
            name = record.pop("work")
            cells[name] = Cell(**record)
    return {name: cells.get(name, Cell(why_not=why_not)) for name in names}


def budget_at(n: int, budget: float) -> float:
    """Few subjects need little time for many repeats."""
    return budget if n >= 100_000 else budget / 5


def measure(
    work: Work, who: str, n: int, budget: float, limit: float, tree: Path = HERE.parent
) -> Cell:
    """Run one cell in a process of its own."""
    return measure_together([work], who, n, budget, limit, tree)[work.name]


def guess(cells: Cells, peer: str, n: int, seconds: float) -> Cell:
    """Extrapolate, unless the memory would not do: it grows at least like the input."""
    known = max(size for size, _ in measured(cells, peer))
    needed, most = (cells[peer, known].megabytes or 0) * n / known, most_bytes()
    if most is not None and needed > most / 2**20:
        return Cell(why_not=f"would need about {needed / 1024:,.0f} GB of memory")
    return Cell(seconds=seconds, extrapolated=True)


def measure_peer(work: Work, peer: str, sizes: list[int], budget: float, limit: float) -> Cells:
    """Go up the sizes while the next one is expected within `limit` seconds; then extrapolate."""
    cells: Cells = {}

    def expected(n: int) -> float:
        points = measured(cells, peer)
        if not points:
            return 0.0
        return points[-1][1] * (n / points[-1][0]) ** max(slope(points) or 1.0, 1.0)

    for n in sizes:
        if expected(n) <= limit:
            cells[peer, n] = measure(work, peer, n, budget, limit)
        else:
            between = n // 3
            known = measured(cells, peer)[-1][0]
            if between > known and expected(between) <= limit:
                cells[peer, between] = measure(work, peer, between, budget, limit)
            if expected(n) > limit:
                cells[peer, n] = guess(cells, peer, n, expected(n))
            elif not cells[peer, between].why_not:
                cells[peer, n] = measure(work, peer, n, budget, limit)
            else:
                break
        if cells[peer, n].why_not:
            break
    return cells


def installed(peer: str) -> bool:
    """Whether a peer can be asked at all."""
    package = package_of(peer)
    if package in MODULES:
        return importlib.util.find_spec(MODULES[package]) is not None
    return in_r.version(package.removeprefix("R ")) is not None


def measure_work(
    work: Work, sizes: list[int], budget: float, limit: float, with_peers: bool = True
) -> Cells:
    """Measure ours and every peer that is installed."""
    cells: Cells = {(OURS, n): measure(work, OURS, n, budget, limit) for n in sizes}
    for peer in work.peers if with_peers else ():
        if not installed(peer):
            cells[peer, max(sizes)] = Cell(why_not="not installed")
            continue
        own = list(work.peer_sizes.get(peer, sizes))
        cells |= measure_peer(work, peer, own, budget, limit)
    return cells


def measure_registry(
    works: list[Work], sizes: list[int], budget: float, limit: float
) -> dict[str, Cells]:
    """Measure works of ours that share a process a size."""
    found: dict[str, Cells] = {work.name: {} for work in works}
    for n in sizes:
        for name, cell in measure_together(works, OURS, n, budget, limit).items():
            found[name][OURS, n] = cell
    return found


def show_work(work: Work, cells: Cells) -> list[str]:
    """Lines of one work: seconds, memory, growth, ratios, promises."""
    lines = [f"\n{work.name}"]
    for who in (OURS, *work.peers):
        mine = {n: cell for (name, n), cell in sorted(cells.items()) if name == who}
        parts = [f"{n:,}: {_show(cell)}{_ratio(cells, who, n)}" for n, cell in mine.items()]
        exponent = slope(measured(cells, who))
        grown = "" if exponent is None else f"; exponent {exponent:.2f}"
        lines.append(f"  {who:28s} {'; '.join(parts)}{grown}")
    for target in work.targets:
        found, kept = target.check(cells)
        word = {True: "kept", False: "MISSED", None: "unknown"}[kept]
        lines.append(f"  [{word}] {target.text}: {found}")
    return lines


def _show(cell: Cell) -> str:
    if cell.seconds is None:
        return cell.why_not or "not measured"
    text = f"{'~' if cell.extrapolated else ''}{cell.seconds:.4g} s"
    if cell.megabytes is not None:
        text += f" {cell.megabytes:.0f} MB"
    return text


def _ratio(cells: Cells, who: str, n: int) -> str:
    ours, theirs = cells.get((OURS, n)), cells.get((who, n))
    if who == OURS or not ours or not ours.seconds or not theirs or not theirs.seconds:
        return ""
    return f" ({theirs.seconds / ours.seconds:,.3g} x ours)"


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    groups = sorted({work.group for work in WORKS})
    parser.add_argument("--only", choices=groups)
    parser.add_argument("--work", help="only works whose name contains this")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--no-peers", action="store_true", help="measure this package alone")
    parser.add_argument(
        "--quick", action="store_true", help="1,000 and 10,000 subjects, few repeats"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time for the repeats of a cell")
    parser.add_argument("--peer-seconds", type=float, default=90.0, help="longest call of a peer")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--merge", action="store_true", help="keep the file's other works")
    parser.add_argument("--resume", action="store_true", help="skip works that the file holds")
    parser.add_argument("--write", action="store_true", help="write tables and figure from --json")
    options = parser.parse_args(arguments)
    if (options.merge or options.resume or options.write) and options.json is None:
        parser.error("--merge, --resume and --write need --json FILE")
    return options


def chosen_works(options: argparse.Namespace, done: Results) -> list[Work]:
    words = (options.work or "").lower()
    return [
        work
        for work in WORKS
        if options.only in (None, work.group)
        and words in work.name.lower()
        and not (options.resume and work.name in done.works)
    ]


def main() -> int:
    options = options_of()
    sizes = [1000, 10_000] if options.quick else sorted(map(int, options.sizes.split(",")))
    budget, limit = (0.5, 10.0) if options.quick else (options.seconds, options.peer_seconds)
    keep = (options.merge or options.resume) and options.json.exists()
    results = Results.read(options.json) if keep else Results()
    results.machine = facts_of_machine()
    print("  ".join(f"{key} {value}" for key, value in results.machine.items()))
    print("Least CPU seconds, one thread; rise of peak memory; ~ extrapolated; ratio: peer / ours")

    def keep_and_show(work: Work, cells: Cells) -> None:
        """What is measured is written at once: a run may be cut short."""
        known = results.works[work.name].cells if work.name in results.works else {}
        cells = {**known, **cells} if options.no_peers else cells
        results.works[work.name] = WorkResult(cells, load(), results.machine["commit"])
        print("\n".join(show_work(work, cells)), flush=True)
        if options.json:
            results.write(options.json)

    if options.only in (None, "core") and not options.work and not results.imported:
        results.imported = imports.show(environment_of(HERE.parent))
        print("\n".join(results.imported))
    works = chosen_works(options, results)
    together = [work for work in works if work.group == "registry"]
    for work in works:
        if work.group != "registry":
            keep_and_show(work, measure_work(work, sizes, budget, limit, not options.no_peers))
        elif work is together[0]:
            for name, cells in measure_registry(together, sizes, budget / 3, limit).items():
                keep_and_show(next(w for w in together if w.name == name), cells)
    print("\nNot measured")
    print("\n".join(f"  {line}" for line in results.gaps()) or "  nothing was left out")
    if options.write:
        write_pages(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
