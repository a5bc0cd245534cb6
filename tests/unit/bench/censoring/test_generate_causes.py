"""Semi-synthetic data of several causes: the draw is that of any event, the causes stay known."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.bench.censoring import KINDS

CAUSES = ("relapse", "death", "other")


def example(n=400, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time = np.ceil(rng.exponential(30 * np.exp(0.7 * X[:, 0])))
    codes = rng.choice(4, n, p=[0.3, 0.4, 0.25, 0.05])
    return X, sg.Outcomes(time, codes, causes=CAUSES)


@pytest.mark.parametrize("kind", KINDS)
def test_causes_change_nothing_but_the_codes(kind):
    X, y = example()
    other = ([1, 2, 3, 4], [1, 0, 1, 0]) if kind == "external" else None
    found = sg.semisynthetic(X, y, kind, 7, other)
    plain = sg.semisynthetic(X, y.any_cause(), kind, 7, other)
    np.testing.assert_array_equal(found.y.time, plain.y.time)
    np.testing.assert_array_equal(found.y.event, plain.y.event)
    np.testing.assert_array_equal(found.true_time, plain.true_time)
    np.testing.assert_array_equal(found.X, plain.X)
    assert plain.true_cause is None
    assert found.comparison.p_value == plain.comparison.p_value
    # Row by row: the cause is that of the subject, hidden where it was censored.
    for i, row in enumerate(found.rows):
        assert found.true_cause[i] == y.cause[row] > 0
        assert found.true_time[i] == y.time[row]
        seen = found.censoring_time[i] >= y.time[row]
        assert found.y.cause[i] == (y.cause[row] if seen else 0)
    assert found.y.causes == CAUSES
    assert found.original is y
    assert not found.true_cause.flags.writeable


def test_a_cause_that_is_always_censored_keeps_its_name():
    y = sg.Outcomes([1, 2, 9, 9], [1, 2, 3, 3], causes=CAUSES)
    found = sg.semisynthetic(None, y, lambda X, t, rng: np.where(t > 5, 4.0, np.inf))
    assert found.y.causes == CAUSES
    np.testing.assert_array_equal(found.y.cause, [1, 2, 0, 0])
    np.testing.assert_array_equal(found.true_cause, [1, 2, 3, 3])


def test_figure_of_several_causes_counts_any_event():
    pytest.importorskip("matplotlib")
    from survgauge.bench.censoring.figure import SemiSyntheticDisplay

    X, y = example()
    found = sg.semisynthetic(X, y, "uniform", 1)
    counts = SemiSyntheticDisplay(found).counts["D"]
    assert counts["event"].sum() == y.event.sum()
    assert SemiSyntheticDisplay(found).plot() is not None
