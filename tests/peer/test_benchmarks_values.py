"""The benchmarks time the same thing: peers' numbers are near ours on their data."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if not (BENCHMARKS / "works.py").exists():
    pytest.skip("benchmarks/ is not part of this tree", allow_module_level=True)
sys.path.insert(0, str(BENCHMARKS))
try:
    cell, data, run, targets, works = (
        import_module(name) for name in ("cell", "data", "run", "targets", "works")
    )
finally:
    sys.path.remove(str(BENCHMARKS))

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

#: Another definition there, so another number; what is timed is the same kind of work.
OTHER_NUMBERS = {
    ("po", "SurvivalEVAL"): "another tail of Kaplan-Meier",
    ("eight time errors", "SurvivalEVAL, four quick ones"): "a list of four",
    ("Antolini C", "pycox, steps"): "curves as steps",
    ("1-calibration", "SurvivalEVAL"): "a p-value with other groups",
    ("KM calibration", "SurvivalEVAL"): "another range of integration",
    ("KM calibration", "hazardous"): "another range of integration",
    ("AUC of risks with interval", "torchsurv, one time"): "an interval",
    ("evaluate, one model", "SurvivalEVAL, no intervals"): "a report",
}
PAIRS = [(w.name, p) for w in works.WORKS for p in w.peers if (w.name, p) not in OTHER_NUMBERS]


@pytest.fixture(scope="module")
def subjects():
    return data.make(1000)


@pytest.mark.parametrize(("work", "peer"), PAIRS)
def test_the_same_thing_is_computed(work, peer, subjects):
    if not run.installed(peer):
        pytest.skip(f"{peer} is not installed")
    entry = works.BY_NAME[work]
    ours = cell.number(entry.ours(subjects)())
    setup = entry.peers[peer]
    if isinstance(setup, cell.RWork):
        theirs = setup.measure(subjects, 0.0)["value"]
    else:
        theirs = cell.number(setup(subjects)())
    # Some take the test set as its own reference or another rule of integration: a few percent.
    assert theirs == pytest.approx(ours, rel=0.06)


def test_exceptions_are_of_works_that_exist():
    known = {(w.name, p) for w in works.WORKS for p in w.peers}
    assert set(OTHER_NUMBERS) <= known
