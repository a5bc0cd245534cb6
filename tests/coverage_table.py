"""The simulations behind docs/explanation/inference.md, which live beside the benchmarks."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def simulation(name: str) -> ModuleType:
    """Import one of their modules; skip where the tree has none."""
    if not (BENCHMARKS / "simulation").is_dir():
        pytest.skip("benchmarks/ is not part of this tree", allow_module_level=True)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return import_module(f"simulation.{name}")
    finally:
        sys.path.remove(str(BENCHMARKS))
