"""Scorers of one cause: what an estimator's incidence curves are worth on a fold."""

import numpy as np
import pytest
from cause_data import draw

import survgauge as sg


class Flat:
    """Predicts the Aalen-Johansen baseline, times a factor that depends on the feature."""

    def fit(self, X, y):
        self.y_train_ = sg.Outcomes.of(y, causes=True)
        return self

    def predict_incidence(self, X):
        known = sg.AalenJohansen.fit(self.y_train_)
        factor = 1 / (1 + np.exp(-np.asarray(X)[:, :1]))
        values = known.incidence[None] * factor[:, :, None]
        return sg.IncidenceCurves(known.times, values, known.causes, "step")


class Risk(Flat):
    """Predicts a risk of the cause only."""

    predict_incidence = property()

    def predict_risk(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(scope="module")
def data():
    y, curves = draw(160, 5)
    X = curves.at(5.0, 1)[:, None] * 4 - 1
    return X, y


def test_a_scorer_gives_what_evaluate_gives(data):
    X, y = data
    model = Flat().fit(X[:80], y[:80])
    scorer = sg.scorer(["ibs", "harrell"], cause="relapse", tau=8.0)
    found = scorer(model, X[80:], y[80:])
    ev = sg.evaluate(
        model.predict_incidence(X[80:]), y[80:], y_train=y[:80], cause="relapse", tau=8.0,
        metrics=["ibs", "harrell"],
    )  # fmt: skip
    expected = {s.metric.name: s.value for s in ev.scores}
    assert found["ibs"] == pytest.approx(-expected["ibs"], rel=1e-12)
    assert found["harrell"] == pytest.approx(expected["harrell"], rel=1e-12)


def test_scikit_learn_searches_with_it(data):
    selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    X, y = data

    class Model(base.BaseEstimator, Flat):
        pass

    found = selection.cross_validate(
        Model(), X, y, scoring=sg.scorer("ibs", cause=1, tau=8.0), cv=sg.SurvivalKFold(3)
    )
    assert np.isfinite(found["test_score"]).all()


def test_an_estimator_of_risks_can_be_ranked(data):
    X, y = data
    model = Risk().fit(X, y)
    assert sg.scorer("harrell", cause=1)(model, X, y) > 0.55


def test_bad_input_is_told(data):
    X, y = data
    with pytest.raises(sg.InputError, match="is about several causes"):
        sg.scorer("multi_log_loss")
    with pytest.raises(sg.InputError, match="supports only one kind of event"):
        sg.scorer("royston_d", cause=1)

    class Nothing:
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(sg.InputError, match="must have predict_incidence"):
        sg.scorer("harrell", cause=1)(Nothing(), X, y)
