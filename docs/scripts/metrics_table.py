"""Write docs/metrics.md from the registry: `python docs/scripts/metrics_table.py`."""

from __future__ import annotations

from pathlib import Path

import survgauge as sg

PAGE = Path(__file__).parents[1] / "metrics.md"
INTERVALS = {
    "analytic": "analytic",
    "bootstrap-log": "bootstrap, log scale",
    "test": "none: the value is a p-value",
}
HEAD = """# Metrics

Names as in `sg.evaluate(metrics=...)`, `sg.scorer(...)` and `survgauge evaluate --metrics`. Made
from the registry by `docs/scripts/metrics_table.py`. "Needs" is the least that a prediction must
offer: curves can be turned into times (median or mean), and both into a risk (minus the median).

| name | what it is | better | range | needs | proper | interval | reference |
|---|---|---|---|---|---|---|---|
"""


def bound(value: float) -> str:
    return "∞" if value == float("inf") else "-∞" if value == float("-inf") else f"{value:g}"


def page() -> str:
    rows = []
    for m in sg.available_metrics():
        low, high = map(bound, m["range"])
        unit = f" ({m['unit']})" if m["unit"] else ""
        rows.append(
            f"| `{m['name']}` | {m['title']}{unit} | {m['direction']} | {low} to {high} | "
            f"{m['needs']} | {m['proper']} | {INTERVALS[m['inference']]} | {m['reference']} |"
        )
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
