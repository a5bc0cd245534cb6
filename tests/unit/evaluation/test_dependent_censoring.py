"""Censoring that depends on features: what was not checked is said, what is found is modelled."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

N = 300
NAMES = [
    "mae_within", "mae_po", "brier", "ibs", "uno", "auc", "observed_expected", "harrell", "ici",
    "one_calibration", "km_calibration", "calibration_slope", "d_calibration",
]  # fmt: skip
#: What is computed from distributions given the features, and what assumes nothing of the kind.
GIVEN = {
    "mae_within", "brier", "ibs", "auc", "observed_expected", "calibration_slope", "ici",
}  # fmt: skip
EITHER = {"harrell", "d_calibration"}


def drawn(seed, dependent=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    time = rng.weibull(1.5, N) * np.exp(-0.7 * X[:, 0])
    end = rng.exponential(1.5, N) * np.exp(0.9 * dependent * X[:, 0])
    return X, sg.Outcomes(np.minimum(time, end), time <= end)


def evaluated(dependent=True, **features):
    X_train, y_train = drawn(1, dependent)
    X, y = drawn(2, dependent)
    grid = np.linspace(0.05, 3, 30)
    curves = np.exp(-((grid * np.exp(0.7 * X[:, :1])) ** 1.5))
    models = {"true": sg.SurvivalCurves(grid, curves), "flat": sg.SurvivalCurves(grid, curves**0.5)}
    given = {"test": {"X_test": X}, "both": {"X_test": X, "X_train": X_train}, "none": {}}
    return sg.evaluate(
        models, y, y_train=y_train, metrics=NAMES, time=0.5, tau=1.5, **given[features["given"]]
    )


def withheld(ev):
    return {row["metric"] for row in ev.rows() if row["withheld"]}


def test_without_features_the_assumption_is_said():
    ev = evaluated(given="none")
    assert not withheld(ev)
    assert "assumed not to depend on covariates" in ev.verdict
    assert "was not checked" in ev.to_dict()["support"]["assumes"]


@pytest.mark.parametrize(
    ("given", "said", "unsaid"),
    [
        ("none", "of the covariates of the models, which was not checked.", "found to depend"),
        ("test", "was found to depend on the covariates; ", "not checked"),
        ("both", "in doubly robust metrics given the features.", "not checked"),
    ],
)
def test_the_methods_paragraph_says_the_same(given, said, unsaid):
    words = " ".join(evaluated(given=given).study().methods.plain())
    assert said in words
    assert unsaid not in words


def test_features_of_the_test_subjects_mark_what_is_not_valid():
    ev = evaluated(given="test")
    assert withheld(ev) == set(NAMES) - EITHER
    for row in ev.rows():
        if row["withheld"]:
            assert np.isfinite(row["value"])
            assert np.isnan(row["low"])
    assert "X_train" in ev.verdict
    assert "no model is called best" in ev.verdict
    assert "on average within the first " in ev.verdict
    differences = [r for r in ev.comparisons() if r["metric"] in GIVEN and r["difference"]]
    assert differences
    assert all(row["withheld"] for row in differences)


def test_features_of_both_sets_give_valid_numbers():
    ev = evaluated(given="both")
    assert withheld(ev) == set(NAMES) - EITHER - GIVEN
    assert {w.code for w in ev.warnings} >= {"dependence-modelled"}
    assert "Given the features" in ev.verdict
    row = next(r for r in ev.rows() if r["metric"] == "observed_expected" and r["model"] == "true")
    assert row["low"] < 1 < row["high"]


@pytest.mark.parametrize("given", ["test", "both"])
def test_nothing_is_marked_where_no_dependence_is_found(given):
    assert not withheld(evaluated(dependent=False, given=given))


def test_features_are_asked_for_only_where_they_can_be_given():
    _, y = drawn(2)
    _, y_train = drawn(1)
    times = {"a": np.full(N, 0.7)}
    late = sg.Outcomes(y.time, y.event, entry=y.time / 2)
    batch = {"time": y.time, "event": y.event, **times}
    for ev, asked in (
        (sg.evaluate(times, y, y_train=y_train), True),
        (sg.evaluate(times, y, y_train=y_train, sample_weight=np.ones(N)), False),
        (sg.evaluate(times, late, y_train=late), False),
        (sg.evaluate_stream([batch], y_train=y_train, predictions={"a": "a"}), False),
    ):
        assert "not checked" in ev.support["assumes"]
        assert ("X_test" in ev.support["assumes"]) == asked
        assert ("X_test" in ev.verdict) == asked
