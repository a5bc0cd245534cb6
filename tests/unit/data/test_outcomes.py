from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg


def test_frozen_and_independent_of_the_input():
    time = np.array([1.0, 2.0])
    y = sg.Outcomes(time, [True, False])
    time[0] = 99
    assert y.time[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        y.time[0] = 5
    with pytest.raises(AttributeError, match="frozen"):
        y.time = time
    assert pickle.loads(pickle.dumps(y)).time[1] == 2.0


def test_reads_what_people_have():
    structured = np.array([(True, 3.0), (False, 5.0)], dtype=[("status", "?"), ("days", "f8")])
    for obj in (
        structured,
        ([3, 5], [1, 0]),
        {"time": [3, 5], "event": [True, False]},
        sg.Outcomes([3, 5], [1, 0]),
    ):
        y = sg.Outcomes.of(obj)
        assert list(y.time) == [3.0, 5.0]
        assert list(y.event) == [True, False]


def test_reads_frames_and_series():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"time": [3, 5], "event": [1, 0], "age": [50, 60]})
    assert len(sg.Outcomes.of(frame)) == 2
    assert sg.Outcomes(frame["time"], frame["event"]).event[0]
    assert sg.Outcomes.of((frame["time"], frame["event"])).time[1] == 5


def test_selection_keeps_weights():
    y = sg.Outcomes([1, 2, 3], [1, 0, 1], [2, 0, 5])
    assert list(y[[True, False, True]].weight) == [2, 5]
    assert len(y[1:]) == 2
    assert list(y.present().time) == [1, 3]


BAD = {
    "nan": (([np.nan, 1], [1, 0]), "time must be finite; got nan for row 1 "),
    "inf": (([np.inf, 1], [1, 0]), "time must be finite; got inf"),
    "negative": (([-1, 1], [1, 0]), "time must be at least 0; got -1 for row 1 "),
    "lengths": (([1, 2, 3], [1, 0]), "same length; got 3 and 2"),
    "codes": (([1, 2], [1, 2]), "event must be 0/1 or booleans .* got 2 for row 2 "),
    "nan event": (([1, 2], [1, np.nan]), "event must be 0/1"),
    "empty": (([], []), "at least one subject"),
    "text times": ((["a", "b"], [1, 0]), "time must be numbers"),
    "text events": (([1, 2], ["yes", "no"]), "got text, 'no', 'yes': pass True"),
    "matrix": (([[1, 2]], [1, 0]), "time must have 1 dimension"),
    "objects": (([1, None], [1, 0]), "time must be finite|time must be numbers"),
    "complex": (([1j, 2], [1, 0]), "time must be numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    (time, event), message = BAD[case]
    with pytest.raises(sg.InputError, match=message):
        sg.Outcomes(time, event)


def test_bad_containers_are_named():
    with pytest.raises(sg.InputError, match=r"y must be a \(time, event\) pair; got 3 items"):
        sg.Outcomes.of(([1], [1], [1]))
    with pytest.raises(sg.InputError, match="'event' missing, columns are"):
        sg.Outcomes.of({"time": [1]})
    with pytest.raises(sg.InputError, match="got int"):
        sg.Outcomes.of(5)
    two_floats = np.array([(1.0, 3.0)], dtype=[("a", "f8"), ("b", "f8")])
    with pytest.raises(sg.InputError, match="one boolean and one numeric field"):
        sg.Outcomes.of(two_floats)
    with pytest.raises(sg.InputError, match="weight must be at least 0"):
        sg.Outcomes([1, 2], [1, 0], [1, -1])
    with pytest.raises(sg.InputError, match="positive sum"):
        sg.Outcomes([1, 2], [1, 0], [0, 0])
    with pytest.raises(sg.InputError, match="selection of outcomes is empty"):
        sg.Outcomes([1, 2], [1, 0])[[False, False]]
