"""A score is a float that can be asked for more."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.score import Score

Y = ([2, 4, 6, 8, 9, 3], [1, 0, 1, 1, 0, 1])
PREDICTED = [3, 3, 5, 6, 7, 3]


def test_a_score_is_a_float_and_prints_as_one():
    found = sg.mae(Y, PREDICTED, method="po")
    assert isinstance(found, float)
    assert repr(found) == str(found) == repr(float(found))
    assert f"{found:.2f}" == f"{float(found):.2f}"
    assert found == found.value
    assert {found: 1}[float(found)] == 1


@pytest.mark.parametrize("remade", [copy.copy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_keep_what_lies_behind(remade):
    found = sg.mse(Y, PREDICTED)
    again = remade(found)
    assert (again, again.stderr, again.support) == (found, found.stderr, found.support)
    np.testing.assert_array_equal(again.contributions, found.contributions)


def test_its_interval_is_that_of_evaluate():
    [row] = sg.evaluate({"m": PREDICTED}, Y, metrics=["rmse_po"], tau=5.0).rows()[:1]
    found = sg.rmse(Y, PREDICTED, method="po", tau=5.0)
    assert (found, found.stderr, *found.interval()) == pytest.approx(
        (row["value"], row["stderr"], row["low"], row["high"]), rel=1e-12
    )


def test_contributions_are_made_when_asked_for():
    made = []

    def make():
        made.append(1)
        return np.array([0.1, -0.1])

    score = Score(1.0, influence=make)
    assert not made
    assert score.contributions is score.contributions
    assert len(made) == 1
    assert Score(1.0).contributions is None
    assert np.isnan(Score(1.0).interval()).all()


def test_the_old_names_still_work_and_say_what_to_write():
    with pytest.warns(DeprecationWarning, match=r"write sg.time_error\(...\)"):
        old = sg.time_error_details
    assert old(Y, PREDICTED).value == sg.time_error(Y, PREDICTED)


def test_settings_are_fields_of_the_convention_and_arguments_still_work():
    own = sg.Convention(tail="hold", weighted=False)
    found = sg.mae(Y, PREDICTED, method="margin", convention=own)
    assert found.convention["tail"] == "hold"
    with pytest.warns(DeprecationWarning, match=r"sg.Convention\(weighted=False, tail='hold'\)"):
        assert sg.mae(Y, PREDICTED, method="margin", tail="hold", weighted=False) == found


def test_outcomes_decide_which_error_is_meant():
    y = sg.IntervalOutcomes([0, 4, 9], [4, 8, 9])
    assert sg.mae(y, [5, 7, 11], method="hinge") == 1.0
    assert sg.rmse(y, [5, 7, 11], method="hinge") == pytest.approx(np.sqrt(5 / 3))
