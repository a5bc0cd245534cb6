"""The record of distributions per test subject."""

import pytest

import survgauge as sg
from survgauge import Conditional, InputError, SurvivalCurves

CURVES = SurvivalCurves([1, 2], [[0.9, 0.5], [0.8, 0.3], [0.7, 0.1]])


def test_rows_are_subjects_of_both_curves():
    both = Conditional(CURVES, CURVES[::-1], {"distribution": "blend of two"})
    assert len(both) == 3
    assert both.sources == ("blend of two", "given")
    part = both[1:]
    assert part.distribution.survival.tolist() == CURVES.survival[1:].tolist()
    assert part.censoring.survival.tolist() == CURVES.survival[::-1][1:].tolist()
    assert len(Conditional(censoring=CURVES)) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs distribution or censoring"),
        ({"distribution": [[1.0]]}, "distribution must be SurvivalCurves.*got list"),
        ({"distribution": CURVES, "censoring": CURVES[:2]}, "2 curves and the other 3"),
    ],
)
def test_what_is_no_distribution_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        Conditional(**given)


@pytest.mark.parametrize("method", ["po", "ipcw_d", "uncensored"])
def test_distributions_that_a_method_would_not_heed_are_refused(method):
    y, distribution = sg.Outcomes([1.0, 2.0, 3.0], [1, 0, 1]), Conditional(distribution=CURVES)
    with pytest.raises(InputError, match=f"conditional: method '{method}' takes no distribution"):
        sg.mae(y, [1.0, 2.0, 2.0], method=method, conditional=distribution)
    # Among several methods those take the distribution that can.
    several = sg.time_errors(y, [1.0, 2.0, 2.0], conditional=distribution)
    assert "distribution" in several["dr"].convention
