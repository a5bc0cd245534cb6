"""Delayed entry and intervals everywhere: what works gives the numbers of `evaluate`."""

from __future__ import annotations

from pathlib import Path

import naive_entry as naive
import numpy as np
import pytest
from streaming_data import bounded

import survgauge as sg

Y, CURVES = naive.draw(1, n=90)
TRAIN, _ = naive.draw(2, n=90)
BOUNDS = sg.IntervalOutcomes(*bounded(Y.time, Y.event))
TRAIN_BOUNDS = sg.IntervalOutcomes(*bounded(TRAIN.time, TRAIN.event))
X = np.arange(90.0)[:, None]


class Known:
    """An estimator that knows the curves of the subjects by their feature."""

    def fit(self, X, y):
        return self

    def predict_curves(self, X):
        return CURVES[X[:, 0].astype(int)]


@pytest.mark.parametrize(("y", "y_train"), [(Y, TRAIN), (BOUNDS, TRAIN_BOUNDS), (BOUNDS, None)])
def test_evaluator(y, y_train) -> None:
    evaluator = sg.Evaluator(y_train, confidence=None)
    for rows in (np.arange(40), np.arange(40, 90)):
        evaluator.update({"m": CURVES[rows]}, y[rows])
    whole = sg.evaluate({"m": CURVES}, y, y_train=y_train, confidence=None)
    for one, other in zip(evaluator.compute().rows(), whole.rows(), strict=True):
        assert one["metric"] == other["metric"]
        assert one["value"] == pytest.approx(other["value"], rel=1e-14, nan_ok=True)


def test_evaluator_takes_one_kind_of_outcomes() -> None:
    evaluator = sg.Evaluator(TRAIN_BOUNDS, metrics=["interval_ibs"])
    evaluator.update({"m": CURVES}, BOUNDS)
    with pytest.raises(sg.InputError, match="one kind in all batches"):
        evaluator.update({"m": CURVES}, Y)
    with pytest.raises(sg.InputError, match="ibs supports right-censored outcomes only"):
        sg.Evaluator(TRAIN_BOUNDS, metrics=["ibs"])


@pytest.mark.parametrize(
    ("y", "y_train", "name"),
    [(Y, TRAIN, "ibs"), (Y, TRAIN, "uno"), (BOUNDS, TRAIN_BOUNDS, "interval_ibs")],
)
def test_scorer(y, y_train, name: str) -> None:
    (row,) = sg.evaluate({"m": CURVES}, y, y_train=y_train, metrics=[name], confidence=None).rows()
    found = sg.scorer(name, y_train=y_train)(Known(), X, y)
    assert abs(found) == pytest.approx(row["value"], rel=1e-12)
    folds = [test for _, test in sg.SurvivalKFold(3).split(X, y)]
    assert sorted(np.concatenate(folds)) == list(range(90))


def test_scorers_refuse_in_plain_words() -> None:
    with pytest.raises(sg.InputError, match="brier_dr supports no delayed entry; leave it out"):
        sg.scorer("brier_dr", y_train=TRAIN)(Known(), X, Y)
    with pytest.raises(sg.InputError, match="ibs supports right-censored outcomes only"):
        sg.scorer("ibs")(Known(), X, BOUNDS)
    with pytest.raises(sg.InputError, match="convention: metrics of interval-censored"):
        sg.scorer("interval_ibs", convention="sksurv")
    with pytest.raises(sg.InputError, match="interval_ibs is for interval-censored outcomes"):
        sg.scorer(["ibs", "interval_ibs"])


def test_validate_with_entries() -> None:
    def model(X, y):
        assert y.entry is not None
        return lambda X: CURVES[X[:, 0].astype(int)]

    found = sg.validate(model, X, Y, resamples=3)
    names = {row["metric"] for row in found.rows()}
    assert {"uno", "ibs", "brier"} <= names
    with pytest.raises(sg.InputError, match="brier_dr supports no delayed entry"):
        sg.validate(model, X, Y, resamples=3, metrics="brier_dr")


def test_study_has_the_metrics_that_entries_allow(tmp_path: Path) -> None:
    ev = sg.evaluate({"m": CURVES}, Y, y_train=TRAIN, metrics="study")
    names = [row["metric"] for row in ev.rows()]
    assert "uno" in names
    assert all(np.isfinite(row["value"]) for row in ev.rows())
    written = ev.study().write(tmp_path)
    assert (tmp_path / "table2.md").exists()
    assert all("delayed entry" in why for what, why in written.missing.items() if "pdf" not in what)


def test_studies_are_about_right_censored_outcomes() -> None:
    with pytest.raises(sg.InputError, match="a study reports metrics of right-censored outcomes"):
        sg.evaluate({"m": CURVES}, BOUNDS, y_train=TRAIN_BOUNDS, metrics="study")


def test_a_pair_of_times_and_events_is_no_pair_of_bounds() -> None:
    with pytest.raises(sg.InputError, match=r"looks like a \(time, event\) pair"):
        sg.evaluate({"m": CURVES}, BOUNDS, y_train=(TRAIN.time, TRAIN.event))
    short = (np.zeros(4), np.ones(4))  # within the first year: bounds
    ev = sg.evaluate({"m": CURVES}, BOUNDS, y_train=short, metrics=["interval_mae_hinge"])
    assert ev.support["training_subjects"] == 4


def test_a_cause_that_was_never_trained() -> None:
    rng = np.random.default_rng(0)
    time, codes = rng.exponential(5, 60), rng.integers(0, 3, 60)
    y = sg.Outcomes(time, codes, causes=["relapse", "death"])
    train = sg.Outcomes(time, np.where(codes == 1, 0, codes), causes=["relapse", "death"])
    values = np.cumsum(np.full((60, 2, 3), 0.1), axis=2)
    curves = sg.IncidenceCurves([2.0, 4.0, 6.0], values, causes=["relapse", "death"])

    def codes_of(y_train, cause):
        ev = sg.evaluate({"m": curves}, y, y_train=y_train, cause=cause, metrics=["brier"])
        return [w.code for w in ev.warnings]

    assert "cause-never-trained" in codes_of(train, "relapse")
    assert "cause-never-trained" not in codes_of(train, "death")
    assert "cause-never-trained" not in codes_of(y, "relapse")


def test_a_frame_of_incidence_that_is_turned() -> None:
    pd = pytest.importorskip("pandas")
    values = np.cumsum(np.random.default_rng(0).uniform(0, 0.1, (5, 3)), axis=1)
    turned = pd.DataFrame(values, columns=[1.0, 2.0, 3.0])
    with pytest.raises(sg.InputError, match=r"times in the header, .* pass frame\.T"):
        sg.as_incidence({"relapse": turned})
    assert sg.as_incidence({"relapse": turned.T}).at(3, cause=1) == pytest.approx(values[:, -1])
