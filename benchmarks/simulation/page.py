"""Write docs/inference.md from docs/results/coverage_table.json: tables and words around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import tables
from .findings import findings
from .results import Results, error_of

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "results" / "coverage_table.json"
PAGE = ROOT / "docs" / "inference.md"
TEMPLATE = Path(__file__).with_name("template.md")
#: Functions that make a table of the same name in the template.
TABLES = (
    "independent", "hazards", "dependent", "features", "bias", "special", "ignored", "tests",
    "differences", "verdict", "every", "true_errors", "functions", "shift", "selection", "sharp",
)  # fmt: skip


def render(data: dict[str, Any]) -> str:
    """Return the page."""
    results = Results(data["cells"])
    parts = {name: getattr(tables, name)(results) for name in TABLES}
    parts["findings"] = "\n".join(f"- {sentence}" for sentence in findings(results) if sentence)
    parts |= {name: str(value) for name, value in data["about"].items()}
    parts |= _numbers(data["cells"])
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def _numbers(cells: dict[str, Any]) -> dict[str, str]:
    """Return how many samples there are, and when and with what code they were drawn."""
    usual = [c["reps"] for name, c in cells.items() if name == "intervals-lognormal-50i-800"]
    with_features = [c["reps"] for c in cells.values() if c["scenario"]["features"]]
    reps, few = max(usual, default=0), max(with_features, default=0)
    hours = sum(cell["seconds"] for cell in cells.values()) / 60
    runs: dict[tuple[str, str, int], int] = {}
    for cell in cells.values():
        key = (cell["date"], cell["code"], cell["seed"])
        runs[key] = runs.get(key, 0) + 1
    made = "\n".join(
        f"- {count} cells on {day}, code {code}, seed {seed}"
        for (day, code, seed), count in runs.items()
    )
    return {
        "reps": str(reps),
        "error": f"{error_of(reps):.1f}",
        "pooled_error": f"{error_of(5 * reps):.1f}",
        "feature_reps": str(few),
        "feature_error": f"{error_of(5 * few):.1f}",
        "cells": str(len(cells)),
        "minutes": f"{hours:.0f}",
        "made": made,
    }
