"""The record of laws per test subject."""

import pytest

from survgauge import Conditional, InputError, SurvivalCurves

CURVES = SurvivalCurves([1, 2], [[0.9, 0.5], [0.8, 0.3], [0.7, 0.1]])


def test_rows_are_subjects_of_both_curves():
    both = Conditional(CURVES, CURVES[::-1], {"law": "blend of two"})
    assert len(both) == 3
    assert both.sources == ("blend of two", "given")
    part = both[1:]
    assert part.law.survival.tolist() == CURVES.survival[1:].tolist()
    assert part.censoring.survival.tolist() == CURVES.survival[::-1][1:].tolist()
    assert len(Conditional(censoring=CURVES)) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs law or censoring"),
        ({"law": [[1.0]]}, "law must be SurvivalCurves.*got list"),
        ({"law": CURVES, "censoring": CURVES[:2]}, "2 curves and the other 3"),
    ],
)
def test_what_is_no_law_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        Conditional(**given)
