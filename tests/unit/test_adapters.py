from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


class Step:
    def __init__(self, x, y):
        self.x, self.y = np.array(x, float), np.array(y, float)


def test_pairs_and_curves_pass_through():
    pair = ([1.0, 2.0], [[0.9, 0.4]])
    curves = sg.as_curves(pair)
    assert curves.interpolation == "linear"
    assert sg.as_curves(curves) is curves


def test_frames_have_times_in_the_index():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1.0, 1.0], [0.8, 0.5], [0.3, 0.2]], index=[0.0, 2.0, 5.0])
    curves = sg.as_curves(frame)
    assert (len(curves), curves.interpolation) == (2, "step")
    assert list(curves.at(2.0)) == [0.8, 0.5]
    with pytest.raises(sg.InputError, match="transpose"):
        sg.as_curves(frame[[1, 0]].set_axis([0, 1], axis=1).T)
    with pytest.raises(sg.InputError, match="index must hold the times"):
        sg.as_curves(frame.set_axis(["a", "b", "c"]))


def test_step_functions_share_or_merge_their_grids():
    same = sg.as_curves([Step([1, 2], [0.9, 0.5]), Step([1, 2], [0.8, 0.1])])
    assert list(same.times) == [1, 2]
    merged = sg.as_curves([Step([1, 3], [0.9, 0.5]), Step([2, 3], [0.8, 0.1])])
    assert list(merged.times) == [1, 2, 3]
    assert list(merged.at(1.5)) == [0.9, 1.0]
    as_array = np.empty(1, dtype=object)
    as_array[0] = Step([1, 2], [0.9, 0.5])
    assert len(sg.as_curves(as_array)) == 1
    with pytest.raises(sg.InputError, match="end at the same time"):
        sg.as_curves([Step([1, 3], [0.9, 0.5]), Step([2, 4], [0.8, 0.1])])


def test_what_cannot_be_curves_is_refused():
    with pytest.raises(sg.InputError, match=r"got ndarray of shape \(2, 2\)"):
        sg.as_curves(np.ones((2, 2)))
    with pytest.raises(sg.InputError, match="got int"):
        sg.as_curves(3)


def test_real_lifelines_frames():
    lifelines = pytest.importorskip("lifelines")
    from lifelines.datasets import load_rossi

    rossi = load_rossi()
    cox = lifelines.CoxPHFitter().fit(rossi, "week", "arrest")
    frame = cox.predict_survival_function(rossi.iloc[:7])
    curves = sg.as_curves(frame)
    assert len(curves) == 7
    np.testing.assert_allclose(curves.at(20.0), frame.loc[20.0].to_numpy(), rtol=1e-12)
