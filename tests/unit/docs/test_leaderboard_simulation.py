"""The pages on the leaderboard claim what is in the numbers of simulation, R and the run."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
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


def script(folder, name):
    sys.path.insert(0, str(ROOT / folder))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(ROOT / folder))


def test_the_table_on_the_page_has_these_numbers(found, page):
    assert script("benchmarks", "leaderboard_simulation").table(found) in page


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
    wrong = max(row["one called clearly best"] * found["about"]["reps"] for row in tests)
    assert (found["about"]["reps"], round(wrong)) == (2000, 1)


def test_what_the_page_says_of_cox_by_r(page):
    read = json.loads((ROOT / "docs/results/leaderboard_cox_in_r.json").read_text("utf-8"))
    words, rows = " ".join(page.split()), read["rows"]
    efron, breslow = (
        np.array([abs(row[name] / row["coxph"] - 1) for row in rows])
        for name in ("r-efron", "r-breslow")
    )
    others = [row["dataset"] for row, apart in zip(rows, breslow, strict=True) if apart > 1e-8]
    assert f"On the {len(rows)} datasets its time errors differ" in words
    assert f"by {100 * np.median(efron):.3f} % in the median" in words
    assert f"within 1e-8 on {len(rows) - len(others)} datasets" in words
    assert f"({', '.join(f'`{name}`' for name in others)}) the likelihood" in words
    assert f"errors differ by up to {100 * max(breslow):.1f} %" in words
    assert f"(R {read['about']['R']}, survival {read['about']['survival']})" in words


def test_what_the_page_says_of_leaderboards_drawn_from_the_real_one(page):
    read = json.loads((ROOT / "docs/results/leaderboard_resampled.json").read_text("utf-8"))
    words, about = " ".join(page.split()), read["about"]
    means, pairs = (100 * np.array(read[f"coverage of {k}"]) for k in ("means", "differences"))
    spread, lopsided = (read[f"{k} of differences"] for k in ("spread", "skewness"))
    share = {k: 100 * v for k, v in read.items() if isinstance(v, float)}
    for told in (
        f"leaderboard of {about['models']} models and {about['datasets']} datasets (default",
        f"deviation between {spread[0]:.2f} and {spread[2]:.2f} and a skewness between "
        f"{lopsided[0]:.1f} and {lopsided[2]:.1f},",
        f"We drew {about['reps']:,} leaderboards",
        f"covered {means.mean():.1f} % of the means ({min(means):.1f} to {max(means):.1f} %,",
        f"and {pairs.mean():.1f} % of the differences ({min(pairs):.1f} % for the worst",
        f"may be the best in {share['as they are: best one left out']:.1f} %, and no other",
        f"called clearly the best in {share['equal: one called clearly best']:.1f} %. But",
        f"may be the best in {share['equal: a best one left out']:.0f} %, and some pair",
        f"called different in {share['equal: any pair called different']:.0f} %.",
        f"cover {means.mean():.0f} % of means and {pairs.mean():.0f} % of differences, and one of "
        f"{about['models']} equal models was called clearly best in "
        f"{share['equal: one called clearly best']:.1f} %",
    ):
        assert told in words
    assert share["as they are: another called clearly best"] == 0


def test_leaderboards_are_drawn_from_the_results_as_the_page_says():
    module = script("benchmarks", "leaderboard_resampled")
    values = module.population(json.loads(module.BOARD.read_text("utf-8")))
    assert values.shape[0] == 31
    found = module.resampled(values[:, :4], reps=20)
    assert found["about"] == {"models": 4, "datasets": 31, "reps": 20, "flips": module.FLIPS}
    assert min(found["coverage of means"]) > 0.6


def test_the_page_of_results_is_made_of_its_numbers():
    made = script("docs/scripts", "leaderboard_page")
    if not made.JSON.is_file():
        pytest.skip("docs are not part of this tree")
    assert made.page(json.loads(made.JSON.read_text("utf-8"))) == made.PAGE.read_text("utf-8")
