"""What `import survgauge` costs on top of `import numpy`, and what it brings along."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LIMIT = 0.150
_SCRIPT = """
import json, sys, time
import numpy
before, start = set(sys.modules), time.process_time()
{statement}
seconds = time.process_time() - start
new = set(sys.modules) - before
roots = {{name.split('.')[0] for name in new}}
allowed = set(sys.stdlib_module_names) | {{'numpy', 'scipy', 'survgauge', 'cython_runtime'}}
foreign = sorted(root for root in roots - allowed if not root.startswith('_'))
print(json.dumps({{'seconds': seconds, 'foreign': foreign, 'stats': 'scipy.stats' in new}}))
"""
STATEMENTS = {
    "import survgauge": "import survgauge",
    "import survgauge, first use of mae": (
        "import survgauge; survgauge.mae(([1.0, 2.0, 3.0], [1, 0, 1]), [1.0, 2.0, 3.0])"
    ),
}


def measure(statement: str, environment: dict[str, str], repeats: int = 7) -> dict[str, Any]:
    """Least CPU seconds over fresh interpreters."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT.format(statement=statement)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(done.stdout))
    return min(runs, key=lambda run: float(run["seconds"]))


def show(environment: dict[str, str]) -> list[str]:
    """Lines about the cost of importing the package, and whether the promise is kept."""
    lines, runs = ["import, on top of numpy"], {}
    for label, statement in STATEMENTS.items():
        try:
            run = measure(statement, environment)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().splitlines()[-1]
            return [*lines, f"  {label}: not measured, failed: {reason}"]
        runs[label] = run
        extra = ", ".join(run["foreign"]) or "nothing outside numpy, scipy, standard library"
        stats = "with scipy.stats" if run["stats"] else "no scipy.stats"
        lines.append(f"  {label}: {1000 * run['seconds']:.1f} ms CPU; {extra}; {stats}")
    run = runs["import survgauge"]
    kept = run["seconds"] <= LIMIT and not run["foreign"] and not run["stats"]
    word = "kept" if kept else "MISSED"
    return [*lines, f"  [{word}] at most {1000 * LIMIT:.0f} ms, base install, no scipy.stats"]
