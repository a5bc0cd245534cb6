"""`make coverage-table`: simulate, write coverage_table.json and explanation/inference.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import date
from typing import Any

import numpy
import scipy

import survgauge as sg

from .page import DATA, PAGE, render
from .plan import cells
from .run import STORE, Store, code_version, run


def main(argv: list[str] | None = None) -> int:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--reps", type=int, default=250, help="replications of a usual cell")
    parser.add_argument(
        "--feature-reps", type=int, default=30, help="replications of a cell with features"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--only", default="", help="words: simulate cells whose name has one of them, keep others"
    )
    parser.add_argument("--list", action="store_true", help="only list the cells")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    args = parser.parse_args(argv)
    every = cells(args.reps, args.feature_reps)
    chosen = cells(args.reps, args.feature_reps, args.only)
    if args.list or not chosen:
        print("\n".join(f"{cell.name} ({cell.reps})" for cell in chosen or every))
        return 0 if chosen else 2
    missing = 0
    if not args.page:
        version = code_version()
        found = run(chosen, args.seed, Store(STORE / version), args.jobs, _say)
        missing = len(chosen) - len(found)
        made = {"date": date.today().isoformat(), "code": version, "seed": args.seed}
        earlier = json.loads(DATA.read_text(encoding="utf-8"))["cells"] if DATA.exists() else {}
        known = {**earlier, **{name: {**made, **cell} for name, cell in found.items()}}
        kept = {cell.name: known[cell.name] for cell in every if cell.name in known}
        DATA.write_text(_json({"about": _about(), "cells": kept}), encoding="utf-8")
    PAGE.write_text(render(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"wrote {DATA} and {PAGE}")
    return 1 if missing else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _json(data: dict[str, Any]) -> str:
    """One row per line: small, and readable in a difference of versions."""

    def short(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    lines = []
    for name, cell in data["cells"].items():
        rows = ",\n".join(short(row) for row in cell["rows"])
        head = short({key: value for key, value in cell.items() if key != "rows"})
        lines.append(f'"{name}": {head[:-1]},"rows":[\n{rows}\n]}}')
    cells_text = ",\n".join(lines)
    return f'{{"about": {json.dumps(data["about"])},\n"cells": {{\n{cells_text}\n}}}}\n'


def _about() -> dict[str, object]:
    return {
        "survgauge": sg.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


if __name__ == "__main__":
    sys.exit(main())
