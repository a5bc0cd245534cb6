"""Metadata routing of scikit-learn reaches the scorers; transformers give frames."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import survgauge as sg

sklearn = pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
from sklearn.base import BaseEstimator  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_validate  # noqa: E402

rng = np.random.default_rng(0)
N = 120
X = pd.DataFrame({"x": rng.normal(size=N), "sex": rng.choice(["f", "m"], N)})
T, C = rng.exponential(10 * np.exp(0.5 * X["x"])), rng.exponential(25, N)
Y = sg.Outcomes(np.minimum(T, C), T <= C)
WEIGHT = rng.integers(1, 4, N)
ENTRY = np.where(rng.random(N) < 0.3, Y.time / 2, 0.0)
SITE = rng.integers(0, 10, N)


class Ordered(BaseEstimator):
    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y):
        self.y_train_ = sg.Outcomes.of(y)
        return self

    def predict_time(self, X):
        return 8 * np.exp(self.sign * 0.3 * X["x"].to_numpy())


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def _folds():
    return list(sg.SurvivalKFold(3).split(X, Y))


def test_cross_validate_passes_on_what_is_requested():
    names = ["mae_hinge", "harrell"]
    scoring = sg.scorer(names).set_score_request(sample_weight=True, entry="late", cluster=True)
    params = {"sample_weight": WEIGHT, "late": ENTRY, "cluster": SITE}
    found = cross_validate(Ordered(), X, Y, scoring=scoring, cv=_folds(), params=params)
    for k, (train, test) in enumerate(_folds()):
        y = sg.Outcomes(Y.time[test], Y.event[test], entry=ENTRY[test])
        said = Ordered().fit(X, Y[train]).predict_time(X.iloc[test])
        settings = {"y_train": Y[train], "metrics": names, "confidence": None}
        ev = sg.evaluate(said, y, sample_weight=WEIGHT[test], **settings)
        for row in ev.rows():
            value = row["value"] if row["metric"] == "harrell" else -row["value"]
            assert found[f"test_{row['metric']}"][k] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_sampling_weights_are_those_of_evaluate(unit):
    """They stand beside frequencies, and only their ratios matter, for the horizon too."""
    n = len(Y)
    train, test = slice(0, n // 2), slice(n // 2, n)
    y = sg.Outcomes(Y.time[test], Y.event[test], np.resize([1.0, 3.0], n - n // 2))
    model = Ordered().fit(X, Y[train])
    said = model.predict_time(X.iloc[test])
    names, weight = ["mae_within", "mae_hinge", "harrell"], unit * WEIGHT[test]
    ev = sg.evaluate(
        said, y, y_train=Y[train], metrics=names, sample_weight=weight, confidence=None
    )
    found = sg.scorer(names)(model, X.iloc[test], y, sample_weight=weight)
    for row in ev.rows():
        sign = 1 if row["metric"] == "harrell" else -1
        assert found[row["metric"]] == pytest.approx(sign * row["value"], rel=1e-12)
    with pytest.raises(sg.InputError, match="sample_weight must have one entry per subject: y has"):
        sg.scorer(names)(model, X.iloc[test], y, sample_weight=weight[1:])


def test_a_search_passes_them_on_and_others_ask_for_a_decision():
    scoring = sg.scorer("mae_hinge").set_score_request(sample_weight=True)
    search = GridSearchCV(Ordered(), {"sign": [1.0, -1.0]}, scoring=scoring, cv=_folds())
    assert search.fit(X, Y, sample_weight=WEIGHT).best_params_ == {"sign": 1.0}
    by_hand = []
    for train, test in _folds():
        model = Ordered().fit(X, Y[train])
        by_hand.append(scoring(model, X.iloc[test], Y[test], sample_weight=WEIGHT[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand), rel=1e-12)
    with pytest.raises(ValueError, match="sample_weight"):  # neither requested nor refused
        cross_validate(Ordered(), X, Y, scoring=sg.scorer("mae_hinge"), cv=_folds(),
                       params={"sample_weight": WEIGHT}, error_score="raise")  # fmt: skip


def test_clusters_change_standard_errors_only():
    copies = np.repeat(np.arange(N), 6)  # six visits of each patient
    wrong, y = Ordered(-1.0).fit(X, Y), Y[copies]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone, together = sg.scorer("harrell"), sg.scorer("harrell")
        one = alone(wrong, X.iloc[copies], y)
        other = together(wrong, X.iloc[copies], y, cluster=copies)
    assert one == other
    assert [w.code for w in alone.warnings] == ["c-below-half"]
    assert len(together.warnings) <= len(alone.warnings)


def test_what_is_refused():
    with pytest.raises(sg.InputError, match="a requested argument of the scorer must be one of"):
        sg.scorer("harrell").set_score_request(groups=True)
    with pytest.raises(sg.InputError, match="sample_weight must be True, False, None or a name"):
        sg.scorer("harrell").set_score_request(sample_weight=3)
    late = sg.Outcomes(Y.time, Y.event, entry=ENTRY)
    with pytest.raises(sg.InputError, match="entry goes with right-censored outcomes"):
        sg.scorer("harrell")(Ordered().fit(X, Y), X, late, entry=ENTRY)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    pytest.importorskip(library)
    frame = sg.preprocessing.Preprocessor().set_output(transform=library).fit_transform(X)
    assert type(frame).__module__.partition(".")[0] == library
    assert list(frame.columns) == ["x", "sex_m"]
    model = sg.models.build("coxph").fit(frame, Y)
    plain = sg.preprocessing.Preprocessor().fit_transform(X)
    assert model.predict_time(frame) == pytest.approx(
        sg.models.build("coxph").fit(plain, Y).predict_time(plain)
    )


def test_a_later_request_keeps_the_earlier_ones():
    """As those of scikit-learn's own scorers; weights were dropped without a word."""
    scoring = sg.scorer("mae_hinge").set_score_request(sample_weight=True)
    assert scoring.set_score_request(cluster="site") is scoring
    asked = sklearn.utils.metadata_routing.get_routing_for_object(scoring).score.requests
    assert asked == {"sample_weight": True, "entry": None, "cluster": "site"}


def test_without_routing_a_request_is_refused():
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(sg.InputError, match="needs metadata routing"),
    ):
        sg.scorer("harrell").set_score_request(sample_weight=True)


@pytest.mark.parametrize("alias", ["a b", "", "1st", np.array(["w"])])
def test_an_alias_is_a_name(alias):
    with pytest.raises(sg.InputError, match="entry must be True, False, None or a name; got"):
        sg.scorer("harrell").set_score_request(entry=alias)
