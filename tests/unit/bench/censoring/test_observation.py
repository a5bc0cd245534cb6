"""Visit schedules: every interval has its true time, and the schedule is as asked for."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def test_every_interval_has_its_true_time():
    rng = np.random.default_rng(0)
    time = rng.exponential(5, 2000)
    for options in (
        {},
        {"missed": 0.4},
        {"end": rng.uniform(0, 12, 2000)},
        {"jitter": 0, "end": 8},
    ):
        seen = sg.visits(time, 1.5, random_state=3, **options)
        assert (seen.y.lower < time).all()
        assert (time <= seen.y.upper).all()
        if "end" in options:
            last = np.broadcast_to(options["end"], 2000)
            assert (seen.y.lower <= last).all()
            assert (seen.y.upper[seen.y.event] <= last[seen.y.event]).all()
            assert not seen.y.event.all()
        else:
            assert seen.y.event.all()


def test_schedule():
    time = np.random.default_rng(1).exponential(5, 5000)
    fixed = sg.visits(time, 2, jitter=0)
    np.testing.assert_array_equal(fixed.y.upper, 2 * np.ceil(time / 2))
    # Half of the visits missed: gaps between kept ones are geometric, 2 steps on average.
    half = sg.visits(time, 0.1, jitter=0, missed=0.5)
    width = (half.y.upper - half.y.lower)[time > 2]
    assert width.mean() == pytest.approx(0.1 * 3, rel=0.05)  # longer gaps hold more events
    again = sg.visits(time, 2, random_state=5)
    np.testing.assert_array_equal(again.y.lower, sg.visits(time, 2, random_state=5).y.lower)
    assert repr(fixed).startswith("Visits(n=5000, right-censored 0.0%, median interval 2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be finite and positive"),
        ({"every": 1, "jitter": 2}, "jitter must be a number from 0 to 1"),
        ({"every": 1, "missed": 1}, "missed must be a number from 0 to 0.999"),
        ({"every": 1, "end": [1, 2]}, "end must have one entry per subject"),
        ({"every": 1e-9}, "more than 100,000 visits"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(sg.InputError, match=message):
        sg.visits([1, 2, 3], **options)
    with pytest.raises(sg.InputError, match="positive event times"):
        sg.visits([0.0, 1], 1)
