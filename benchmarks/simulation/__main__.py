"""`make coverage-table`: simulate, write docs/results/coverage.json and docs/inference.md."""

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
from survgauge.metrics.registry import REGISTRY, metrics_of

from .page import DATA, PAGE, render
from .plan import BY_METRIC, STUDIES, parts
from .results import merged
from .run import STORE, Store, code_version, run
from .tally import summary


def main(argv: list[str] | None = None) -> int:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--reps", type=int, default=1500, help="replications of the main study")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--only", nargs="*", choices=list(STUDIES), help="studies; writes no page")
    parser.add_argument(
        "--metrics", nargs="+", default=[], choices=list(metrics_of()),
        help="simulate these alone, and put them into the results of an earlier run",
    )  # fmt: skip
    parser.add_argument("--page", action="store_true", help="only write the page again")
    args = parser.parse_args(argv)
    if not args.page:
        version = code_version()
        chosen = tuple(args.only or (BY_METRIC if args.metrics else STUDIES))
        rows = run(
            parts(args.reps, args.seed, chosen, " ".join(args.metrics)),
            Store(STORE / version),
            args.jobs,
            lambda line: print(line, flush=True),
        )
        data = {"about": _about(args, version), "rows": [summary(row) for row in rows]}
        if args.only:
            json.dump(data, sys.stdout, indent=0)
            return 0
        if args.metrics:
            data = _with_earlier(data, args.metrics)
        DATA.write_text(_json(data), encoding="utf-8")
    PAGE.write_text(render(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"wrote {DATA} and {PAGE}")
    return 0


def _with_earlier(data: dict[str, Any], metrics: list[str]) -> dict[str, Any]:
    """Put the rows of some metrics into the results of an earlier run, and say so."""
    earlier = json.loads(DATA.read_text(encoding="utf-8"))
    new = {name: data["about"][name] for name in ("date", "code", "reps", "seed")}
    later = {**earlier["about"].get("later", {}), **dict.fromkeys(metrics, new)}
    rows = merged(earlier["rows"], data["rows"], list(REGISTRY))
    return {"about": {**earlier["about"], "later": later}, "rows": rows}


def _json(data: dict[str, Any]) -> str:
    """One row per line: small, and readable in a difference of versions."""
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in data["rows"])
    return f'{{"about": {json.dumps(data["about"])},\n"rows": [\n{rows}\n]}}\n'


def _about(args: argparse.Namespace, version: str) -> dict[str, object]:
    return {
        "date": date.today().isoformat(),
        "survgauge": sg.__version__,
        "code": version,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "reps": args.reps,
        "seed": args.seed,
    }


if __name__ == "__main__":
    sys.exit(main())
