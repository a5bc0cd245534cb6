"""Speed and memory of this package and of its peers, side by side in one run.

    python benchmarks/run.py [--only core|metrics] [--sizes 1000,10000,100000] [--quick]
                             [--json FILE] [--readme]

Every cell (a work, whose code, how many subjects) runs in a process of its own, on the same data,
with one thread. Times are the least CPU seconds of several repeats; memory is the rise of the peak.
Peers that are missing, fail or would take too long are named; nothing is left out silently.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import imports
from targets import OURS, Cell, Cells
from works import WORKS, Work

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")
ENVIRONMENT = {
    **os.environ,
    **{f"{name}_NUM_THREADS": "1" for name in THREADS},
    "VECLIB_MAXIMUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")]),
    "MPLBACKEND": "Agg",
}
MODULES = {
    "SurvivalEVAL": "SurvivalEVAL",
    "scikit-survival": "sksurv",
    "lifelines": "lifelines",
    "pycox": "pycox",
    "hazardous": "hazardous",
    "torchsurv": "torchsurv",
}


def package_of(peer: str) -> str:
    """Return the package of a peer whose name may go on with a remark after a comma."""
    return peer.split(",")[0]


def measure(work: Work, who: str, n: int, budget: float, limit: float) -> Cell:
    """Run one cell in a fresh process; a failure or a timeout is a result too."""
    command = [sys.executable, str(HERE / "cell.py"), work.name, who, str(n), str(budget)]
    try:
        done = subprocess.run(
            command, env=ENVIRONMENT, capture_output=True, text=True, timeout=3 * limit + 60
        )
    except subprocess.TimeoutExpired:
        return Cell(why_not=f"stopped after {3 * limit + 60:.0f} s")
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return Cell(why_not=f"failed: {lines[-1][:110] if lines else f'status {done.returncode}'}")
    return Cell(**json.loads(done.stdout.strip().splitlines()[-1]))


def slope(points: list[tuple[int, float]]) -> float | None:
    """Growth exponent: log-log slope between the last two sizes."""
    if len(points) < 2:
        return None
    (n0, t0), (n1, t1) = points[-2:]
    return math.log(t1 / t0) / math.log(n1 / n0)


def measured(cells: Cells, who: str) -> list[tuple[int, float]]:
    """Sizes and seconds of one, smallest first, without extrapolations."""
    found = [
        (n, cell.seconds)
        for (name, n), cell in cells.items()
        if name == who and cell.seconds and not cell.extrapolated
    ]
    return sorted(found)


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
                cells[peer, n] = Cell(seconds=expected(n), extrapolated=True)
        if cells[peer, n].why_not:
            break
    return cells


def measure_work(work: Work, sizes: list[int], budget: float, limit: float) -> Cells:
    """Measure ours and every peer that is installed."""
    cells: Cells = {}
    missing = [name for name in work.needs if not _has(name)]
    own_sizes = sorted({*sizes, *(n for n in work.more_sizes if max(sizes) >= 100_000)})
    for n in own_sizes:
        if missing:
            cells[OURS, n] = Cell(why_not=f"not available yet: {', '.join(missing)}")
        else:
            cells[OURS, n] = measure(work, OURS, n, budget, limit)
    for peer in work.peers:
        if importlib.util.find_spec(MODULES[package_of(peer)]) is None:
            cells[peer, max(sizes)] = Cell(why_not="not installed")
            continue
        peer_sizes = list(work.peer_sizes) or sizes
        cells |= measure_peer(work, peer, peer_sizes, budget, limit)
    return cells


def _has(name: str) -> bool:
    """Whether the package has this function; it may name one whose module is still to come."""
    sys.path.insert(0, str(SOURCE))
    import survgauge

    try:
        return hasattr(survgauge, name)
    except ImportError:
        return False
    finally:
        sys.path.remove(str(SOURCE))


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


def show_imports() -> tuple[list[str], dict[str, object]]:
    """Lines and record about the cost of importing the package."""
    lines, record = ["\nimport, on top of numpy"], {}
    for label, statement in imports.STATEMENTS.items():
        try:
            run = imports.measure(statement, ENVIRONMENT)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().splitlines()[-1]
            return [*lines, f"  {label}: not measured, failed: {reason}"], {"failed": reason}
        record[label] = run
        extra = ", ".join(run["foreign"]) or "nothing outside numpy, scipy, standard library"
        stats = "with scipy.stats" if run["stats"] else "no scipy.stats"
        lines.append(f"  {label}: {1000 * run['seconds']:.1f} ms CPU; {extra}; {stats}")
    run = record["import survgauge"]
    kept = run["seconds"] <= imports.LIMIT and not run["foreign"] and not run["stats"]
    word = "kept" if kept else "MISSED"
    lines.append(f"  [{word}] at most {1000 * imports.LIMIT:.0f} ms, base install, no scipy.stats")
    return lines, {**record, "kept": kept}


def machine() -> dict[str, str]:
    """Say what the numbers were measured on and with."""
    facts = {"python": platform.python_version(), "machine": platform.machine()}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [row for row in cpuinfo.read_text().splitlines() if row.startswith("model name")]
        facts["processor"] = names[0].split(":")[1].strip() if names else "unknown"
    facts["cores"] = str(os.cpu_count())
    facts["load"] = " ".join(f"{load:.1f}" for load in os.getloadavg())
    for package in ("numpy", "scipy", "torch", *MODULES):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def not_measured(results: dict[str, Cells]) -> Iterator[str]:
    """Name every cell without a measured time."""
    for name, cells in results.items():
        for (who, n), cell in cells.items():
            if cell.extrapolated:
                yield f"{name}, {who}, {n:,}: too slow, extrapolated from smaller sizes"
            elif cell.seconds is None:
                yield f"{name}, {who}, {n:,}: {cell.why_not}"


def as_markdown(facts: dict[str, str], results: dict[str, Cells], imported: list[str]) -> str:
    """Return the table of the README: seconds and memory at the largest common size, promises."""
    lines = [", ".join(f"{key} {value}" for key, value in facts.items()) + ".", ""]
    lines += [
        "| work | who | 1,000 | 10,000 | 100,000 | 1,000,000 | extra MB at 100,000 | growth |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|"]
    promises = ["", "| work | promise | measured | kept |", "|---|---|---|---|"]
    for work in WORKS:
        cells = results.get(work.name, {})
        for who in (OURS, *work.peers) if cells else ():
            columns = [_seconds(cells.get((who, n))) for n in (1000, 10_000, 100_000, 1_000_000)]
            peak, exponent = cells.get((who, 100_000)), slope(measured(cells, who))
            columns.append("" if not peak or peak.megabytes is None else f"{peak.megabytes:.0f}")
            columns.append("" if exponent is None else f"{exponent:.2f}")
            lines.append(f"| {work.name} | {who} | {' | '.join(columns)} |")
        for target in work.targets if cells else ():
            found, kept = target.check(cells)
            word = {True: "yes", False: "**no**", None: "not measured"}[kept]
            promises.append(f"| {work.name} | {target.text} | {found} | {word} |")
    gaps = [f"- {line}" for line in not_measured(results)] or ["- nothing"]
    extra = ["", "```", *(line for line in imported if line.strip()), "```"] if imported else []
    return "\n".join([*lines, *promises, *extra, "", "Not measured:", "", *gaps])


def _seconds(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.seconds is None:
        return "failed" if (cell.why_not or "").startswith("failed") else "not measured"
    return f"{'~' if cell.extrapolated else ''}{cell.seconds:.3g}"


def write_readme(table: str) -> None:
    """Replace what lies between the markers of the README."""
    readme = HERE / "README.md"
    head, rest = readme.read_text().split("<!-- measured -->")
    tail = rest.split("<!-- end -->")[1]
    readme.write_text(f"{head}<!-- measured -->\n{table}\n<!-- end -->{tail}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("core", "metrics"))
    parser.add_argument("--work", help="only works whose name contains this")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument(
        "--quick", action="store_true", help="1,000 and 10,000 subjects, few repeats"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time for the repeats of a cell")
    parser.add_argument("--peer-seconds", type=float, default=90.0, help="longest call of a peer")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    sizes = [1000, 10_000] if options.quick else sorted(map(int, options.sizes.split(",")))
    budget, limit = (0.5, 10.0) if options.quick else (options.seconds, options.peer_seconds)
    facts, results, report, imported = machine(), {}, {}, []
    print("  ".join(f"{key} {value}" for key, value in facts.items()))
    print("Least CPU seconds, one thread; rise of peak memory; ~ extrapolated; ratio: peer / ours")
    if options.only != "metrics" and not options.work:
        imported, report["import"] = show_imports()
        print("\n".join(imported))
    for work in WORKS:
        chosen = options.only in (None, work.group)
        if chosen and (options.work or "").lower() in work.name.lower():
            results[work.name] = measure_work(work, sizes, budget, limit)
            print("\n".join(show_work(work, results[work.name])), flush=True)
    print("\nNot measured")
    print("\n".join(f"  {line}" for line in not_measured(results)) or "  nothing was left out")
    if options.readme:
        write_readme(as_markdown(facts, results, imported))
    if options.json:
        report |= {"machine": facts, "works": [_record(name, results[name]) for name in results]}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _record(name: str, cells: Cells) -> dict[str, object]:
    rows = [{"who": who, "n": n, **asdict(cell)} for (who, n), cell in cells.items()]
    work = next(work for work in WORKS if work.name == name)
    kept = {target.text: target.check(cells) for target in work.targets}
    return {"work": name, "cells": rows, "targets": kept}


if __name__ == "__main__":
    sys.exit(main())
