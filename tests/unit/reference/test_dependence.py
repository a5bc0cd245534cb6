from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.reference.dependence import dependence_of


def test_a_number_is_kendalls_tau():
    assert dependence_of(0.3) == sg.Dependence(0.3, "clayton")
    assert dependence_of(np.float32(-0.5)) == sg.Dependence(-0.5, "frank")
    assert dependence_of(sg.Dependence(0.3, "gumbel")).copula == "gumbel"


@pytest.mark.parametrize("given", [None, 0, 0.0, -0.0, sg.Dependence(0, "gumbel")])
def test_no_dependence_is_none(given):
    assert dependence_of(given) is None


@pytest.mark.parametrize("given", ["0.3", "clayton", True, [0.3], {"tau": 0.3}, np.nan])
def test_other_things_are_refused(given):
    with pytest.raises(sg.InputError, match="dependence must be Kendall's tau"):
        dependence_of(given)


@pytest.mark.parametrize("given", [1, -1, 2.5, np.inf])
def test_values_out_of_range_are_refused(given):
    with pytest.raises(sg.InputError, match=r"dependence must be .* strictly between -1 and 1"):
        dependence_of(given)
    with pytest.raises(sg.InputError, match="kendall_tau must lie strictly between -1 and 1"):
        sg.Dependence(given, "frank")


def test_unknown_copulas_and_values_that_a_copula_does_not_have_are_refused():
    with pytest.raises(sg.InputError, match="copula must be one of"):
        sg.Dependence(0.3, "joe")
    with pytest.raises(sg.InputError, match="positive dependence only"):
        sg.Dependence(-0.3)


def test_it_says_what_is_assumed():
    text = "assumed, Gumbel copula with Kendall's tau 0.25"
    assert str(sg.Dependence(0.25, "gumbel")) == text
