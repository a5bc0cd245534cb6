"""The simulation of the leaderboard: what the page claims is in its numbers."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NUMBERS = ROOT / "docs/results/leaderboard_simulation.json"
if not NUMBERS.is_file() or not (ROOT / "benchmarks").is_dir():
    pytest.skip("docs and benchmarks are not part of this tree", allow_module_level=True)


@pytest.fixture(scope="module")
def found():
    return json.loads(NUMBERS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/howto/leaderboard.md").read_text(encoding="utf-8")


def test_the_table_on_the_page_has_these_numbers(found, page):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        module = import_module("leaderboard_simulation")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    assert module.table(found) in page


def test_what_the_page_says_first_is_so(found, page):
    rows = found["rows"]
    first = re.search(
        r"cover ([\d.]+) to ([\d.]+) % of true means and ([\d.]+) to ([\d.]+) %", page
    )
    for name, ends in (("mean", first.groups()[:2]), ("one difference", first.groups()[2:])):
        values = [100 * row[name] for row in rows]
        assert [f"{min(values):.1f}", f"{max(values):.1f}"] == list(ends)
        assert min(values) >= 93
        assert max(values) <= 97
    tests = [row for row in rows if "one called clearly best" in row]
    assert max(row["one called clearly best"] for row in tests) <= 0.05
    plain = [row for row in tests if row["kind"] != "opposite skews"]
    assert max(row["a best one left out"] for row in plain) <= 0.06
    assert max(row["any pair called different"] for row in plain) <= 0.065
    # What the page calls the weakest point.
    assert max(row["any pair called different"] for row in tests) <= 0.1
    assert max(row["a best one left out"] for row in tests) <= 0.07
