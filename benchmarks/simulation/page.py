"""Write docs/explanation/inference.md: tables of coverage_table.json and words around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import tables
from .findings import covariates, exceptions, findings
from .results import Results, error_of
from .scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "results" / "coverage_table.json"
PAGE = ROOT / "docs" / "explanation" / "inference.md"
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
    parts |= {"exceptions": exceptions(results), "covariates": covariates(results)}
    parts |= {name: str(value) for name, value in data["about"].items()}
    parts |= _numbers(data["cells"])
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def _numbers(cells: dict[str, Any]) -> dict[str, str]:
    """Return how many samples there are, and when and with what code they were drawn."""
    usual = [c["reps"] for c in cells.values() if _is_usual(c)] or [0]
    given = [c["reps"] for c in cells.values() if c["scenario"]["features"]] or [0]
    seconds = sum(cell["seconds"] for cell in cells.values())
    runs: dict[tuple[str, str, int], int] = {}
    for cell in cells.values():
        key = (cell["date"], cell["code"], cell["seed"])
        runs[key] = runs.get(key, 0) + 1
    made = "\n".join(
        f"- {count} cells on {day}, code {code}, seed {seed}"
        for (day, code, seed), count in runs.items()
    )
    return {
        "reps": _span(usual),
        "error": f"{error_of(min(usual)):.1f}",
        "pooled_error": f"{error_of(5 * min(usual)):.1f}",
        "feature_reps": _span(given),
        "feature_error": f"{error_of(sum(given) / 2):.1f}",
        "cells": str(len(cells)),
        "minutes": f"{seconds / 60:.0f}",
        "made": made,
    }


def _is_usual(cell: dict[str, Any]) -> bool:
    scenario = Scenario(**cell["scenario"])
    plain = Scenario(scenario.hazard, share=scenario.share, n=scenario.n)
    return bool(cell["study"] == "intervals" and scenario == plain)


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
