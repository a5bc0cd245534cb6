"""Targets for training: their means are right, and the known parts are known."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def _data(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    event = rng.exponential(np.where(x == 1, 8.0, 3.0))
    lost = rng.exponential(6.0, n)
    return x, event, sg.Outcomes(np.minimum(event, lost), event <= lost)


def test_without_censoring_targets_are_the_data():
    time = np.array([2.0, 3.0, 5.0, 8.0])
    found = sg.training_targets((time, np.ones(4)), tau=6, times=[1, 3, 5.5])
    for known in (found.pseudo_time, found.time):
        assert known == pytest.approx(np.minimum(time, 6))
    assert found.time_weight.tolist() == [1, 1, 1, 1]
    free = time[:, None] > [1, 3, 5.5]
    assert np.array_equal(found.event_free, free)
    assert found.pseudo_survival == pytest.approx(free.astype(float))
    assert (found.event_free_weight == 1).all()
    assert len(found) == 4


def test_means_given_the_features_are_right():
    x, event, y = _data(40_000)
    found = sg.training_targets(y, tau=10, times=[2, 6])
    for group in (0, 1):
        mine = x == group
        restricted, alive = np.minimum(event, 10)[mine], (event[:, None] > [2, 6])[mine]
        assert found.pseudo_time[mine].mean() == pytest.approx(restricted.mean(), rel=0.02)
        by_weight = np.average(found.time[mine], weights=found.time_weight[mine])
        assert by_weight == pytest.approx(restricted.mean(), rel=0.02)
        assert found.pseudo_survival[mine].mean(axis=0) == pytest.approx(
            alive.mean(axis=0), abs=0.01
        )
        weight = found.event_free_weight[mine]
        share = (weight * found.event_free[mine]).sum(axis=0) / weight.sum(axis=0)
        assert share == pytest.approx(alive.mean(axis=0), abs=0.01)


def test_weights_are_those_of_the_brier_score():
    _, _, y = _data(300)
    found = sg.training_targets(y, times=[3.0])
    predicted = np.random.default_rng(1).random(300)
    loss = (found.event_free[:, 0] - predicted) ** 2 * found.event_free_weight[:, 0]
    curves = sg.SurvivalCurves([0.0, 3.0], np.column_stack([np.ones(300), predicted]))
    assert loss.mean() == pytest.approx(sg.brier_score(y, curves, [3.0]).values[0], rel=1e-12)
    assert not found.event_free[found.event_free_weight == 0].any()


def test_a_cause():
    y = sg.Outcomes([1, 2, 3, 4], [1, 2, 1, 2], causes=["a", "b"])
    found = sg.training_targets(y, tau=3.5, times=[2.5], cause=1)
    assert found.time.tolist() == [1, 3.5, 3, 3.5]
    assert found.pseudo_time == pytest.approx([1, 3.5, 3, 3.5])
    assert found.event_free[:, 0].tolist() == [False, True, True, True]
    assert found.pseudo_survival[:, 0] == pytest.approx([0, 1, 1, 1])


def test_defaults_and_refusals():
    _, _, y = _data(200)
    found = sg.training_targets(y)
    assert found.times.size == 9
    assert found.times.max() <= found.tau < y.time.max()
    assert found.pseudo_time.flags.writeable  # or torch warns
    for arguments, message in (
        ({"tau": 1e9}, "must lie within the follow-up of y"),
        ({"times": [1e9]}, "must lie within the follow-up of y"),
        ({"tau": -1}, "tau must be finite and positive"),
        ({"cause": 1}, "one kind of event"),
    ):
        with pytest.raises(sg.InputError, match=message):
            sg.training_targets(y, **arguments)
    with pytest.raises(sg.InputError, match="no frequencies"):
        sg.training_targets(sg.Outcomes([1, 2], [1, 1], [1, 2]))
    with pytest.raises(sg.InputError, match="delayed entry"):
        sg.training_targets(sg.Outcomes([1, 2], [1, 1], entry=[0, 1]))
    with pytest.raises(sg.InputError, match="times must be given"):
        sg.training_targets(([1, 2], [0, 0]), tau=1)
    assert sg.training_targets(([1, 2], [0, 0]), tau=1, times=[]).pseudo_survival.shape == (2, 0)
