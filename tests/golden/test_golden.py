"""All numbers are those of the golden file, but for changes that are intended."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

import pytest

import survgauge as sg
from golden import INTENDED
from golden.cells import ask, differences, metrics_of, read, with_new


@pytest.fixture(scope="module")
def found():
    if os.environ.get("SURVGAUGE_TESTS") == "base":
        pytest.skip("models of features need extras, and other versions round otherwise")
    was = read()
    return differences(was, ask(was))


def intended(cell):
    return any(fnmatchcase(cell, pattern) for pattern, _ in INTENDED)


def test_numbers_are_those_of_the_golden_file(found):
    wrong = {cell: change for cell, change in found.items() if not intended(cell)}
    listed = "\n".join(f"{cell}: {change}" for cell, change in list(wrong.items())[:40])
    assert not wrong, f"{len(wrong)} cells differ:\n{listed}"


def test_intended_changes_have_a_reason_and_are_seen(found):
    for pattern, reason in INTENDED:
        assert reason
        assert any(fnmatchcase(cell, pattern) for cell in found), f"nothing differs in {pattern}"


@pytest.mark.parametrize("change", [1e-8, -1e-8])
def test_a_change_of_a_number_is_seen(change):
    was = {"plain/mae_po/good": {"value": 3.5, "stderr": None, "codes": ["a"]}}
    now = {
        "plain/mae_po/good": {"value": 3.5 * (1 + change), "stderr": float("nan"), "codes": ["a"]}
    }
    assert list(differences(was, now)) == ["plain/mae_po/good/value"]
    assert list(differences(was, {})) == [
        f"plain/mae_po/good/{key}" for key in ("codes", "stderr", "value")
    ]


def test_every_metric_is_asked_for():
    missing = {metric["name"] for metric in sg.available_metrics()} - metrics_of(read())
    assert not missing, "PYTHONPATH=src:tests python -m golden --write adds them"


def test_a_new_metric_is_added_and_nothing_else():
    was = {"plain/old/good": {"value": 1.0}, "plain/refused": {"metrics": ["none"]}}
    now = {
        "plain/old/good": {"value": 2.0},
        "plain/new/good": {"value": 3.0},
        "plain/refused": {"metrics": ["other"]},
    }
    assert with_new(was, now) == {
        "plain/old/good": {"value": 1.0},
        "plain/new/good": {"value": 3.0},
        "plain/refused": {"metrics": ["none", "other"]},
    }
