"""What every registered model promises, tested over the registry."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the models need scikit-learn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from survgauge import (
    IncidenceCurves,
    InputError,
    MissingExtraError,
    Outcomes,
    SurvivalCurves,
    models,
)
from survgauge.bench.models.registry import FACTS, model_class
from survgauge.evaluation.scorers import scorer

#: Settings that keep the slow ones short; what is tested does not depend on them.
QUICK = {
    "gbm_c": {"n_estimators": 20},
    "gbm_tree": {"n_estimators": 10},
    "rsf": {"n_estimators": 5},
    "extra_trees": {"n_estimators": 5},
    "xgboost_cox": {"n_estimators": 10},
    "xgboost_aft": {"n_estimators": 10},
    "catboost_cox": {"n_estimators": 10},
    "catboost_aft": {"n_estimators": 10},
    "deepsurv": {"epochs": 15},
    "mtlr": {"epochs": 15},
    "deephit": {"epochs": 15},
    "sca": {"epochs": 80, "samples": 50},
    "smdn": {"epochs": 15},
    "survival_boost": {"n_iter": 10},
}
#: Models that take several causes.
OF_CAUSES = [name for name, facts in FACTS.items() if facts.incidence]
HERE = {row["name"]: row["installed"] for row in models.available()}


def _there(name):
    """Whether a model can be built here: installed, and its module written."""
    if not HERE[name]:
        return False
    try:
        model_class(name)
    except ModuleNotFoundError:
        return False
    return True


def _parameter(name):
    absent = pytest.mark.skip(reason=f"{name} needs the extra {FACTS[name].extra}")
    return pytest.param(name, marks=() if _there(name) else (absent,))


each_model = pytest.mark.parametrize("name", [_parameter(name) for name in FACTS])


def build(name):
    return models.build(name, **QUICK.get(name, {}))


def example(n=120, seed=3):
    """Whole-unit times with ties, about a third censored, two useful columns of four."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = X[:, 3] > 0
    event_time = np.ceil(rng.exponential(20 * np.exp(0.8 * X[:, 0] - 0.5 * X[:, 1])))
    censoring = np.ceil(rng.uniform(0, 80, n))
    return X, Outcomes(np.minimum(event_time, censoring), event_time <= censoring)


def fit(name, X, y):
    """Fit; that data are awkward may be said, and is not what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", models.FitWarning)
        return build(name).fit(X, y)


def check_predictions(model, X):
    n = len(X)
    time = model.predict_time(X)
    assert time.shape == (n,)
    assert not np.isnan(time).any()
    assert (time >= 0).all()
    if not model.facts.curves:
        return
    curves = model.predict_curves(X)
    assert isinstance(curves, SurvivalCurves)
    assert len(curves) == n
    assert np.isfinite(curves.survival).all()
    assert (curves.survival >= 0).all()
    assert (curves.survival <= 1).all()
    assert (np.diff(curves.survival, axis=1) <= 0).all()
    assert not np.isnan(curves.median()).any()


@pytest.fixture(scope="module")
def fitted():
    """Fitted models, shared by the tests that only look at them."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = fit(name, *example())
        return made[name]

    return get


@each_model
def test_class_states_the_facts_of_the_registry(name):
    cls = model_class(name)
    assert cls.facts is FACTS[name]
    assert ("random_state" in cls().get_params()) == FACTS[name].random


@each_model
def test_predictions_are_defined(name, fitted):
    X, _ = example(n=40, seed=9)
    check_predictions(fitted(name), X)


@each_model
def test_curves_or_a_clear_refusal(name, fitted):
    model, (X, _) = fitted(name), example(n=3)
    if FACTS[name].curves:
        assert model.predict_curves(X).at(0.0) == pytest.approx(1.0, abs=1e-6)
    else:
        with pytest.raises(InputError, match=f"{name} predicts times .* use predict_time"):
            model.predict_curves(X)


@each_model
def test_individual_as_stated(name, fitted):
    X, _ = example(n=40, seed=9)
    assert (np.unique(fitted(name).predict_time(X)).size > 1) == FACTS[name].individual


@each_model
def test_time_is_the_median_unless_the_model_has_its_own(name, fitted):
    X, _ = example(n=20, seed=9)
    model = fitted(name)
    if FACTS[name].curves:
        exact = {} if FACTS[name].time else {"rtol": 1e-12}
        np.testing.assert_allclose(
            model.predict_curves(X).median(), model.predict_time(X), **(exact or {"rtol": 0.05})
        )


@each_model
def test_rows_do_not_see_each_other(name, fitted):
    X, _ = example(n=12, seed=9)
    model = fitted(name)
    together = model.predict_time(X)
    alone = np.array([model.predict_time(row[None, :])[0] for row in X])
    np.testing.assert_allclose(alone, together, rtol=1e-5)


@each_model
def test_same_seed_same_predictions(name, fitted):
    X, _ = example(n=25, seed=9)
    again = fit(name, *example())
    np.testing.assert_allclose(
        again.predict_time(X), fitted(name).predict_time(X), rtol=1e-6, atol=0
    )


@each_model
def test_global_random_state_is_left_alone(name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fit(name, *example(n=60))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@each_model
def test_clone_parameters_and_pickle(name, fitted):
    X, _ = example(n=15, seed=9)
    model = fitted(name)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "y_train_")
    with pytest.raises(NotFittedError, match=f"{name} is not fitted"):
        twin.predict_time(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_time(X), model.predict_time(X))


@each_model
def test_remembers_what_it_was_trained_on(name, fitted):
    X, y = example()
    model = fitted(name)
    np.testing.assert_array_equal(model.y_train_.time, y.time)
    assert model.reference_.y is model.y_train_
    assert model.n_features_in_ == X.shape[1]
    assert scorer("mae_po").convention(model) == "training outcomes"


@each_model
def test_reads_frames_and_structured_arrays(name, fitted):
    pandas = pytest.importorskip("pandas", reason="frames are pandas'")
    X, y = example()
    structured = np.array(
        list(zip(y.event, y.time, strict=True)), dtype=[("cens", bool), ("time", float)]
    )
    frame = pandas.DataFrame(X, columns=list("abcd")).astype({"d": bool})
    model = fit(name, frame, structured)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(
        model.predict_time(frame[:9]), fitted(name).predict_time(X[:9]), rtol=1e-6
    )
    with pytest.raises(InputError, match="same order; column 0 was 'a' and is 'd'"):
        model.predict_time(frame[list("dcba")])


@each_model
@pytest.mark.filterwarnings("ignore::survgauge.bench.models.FitWarning")
def test_works_in_pipelines_and_searches(name):
    X, y = example(n=90)
    structured = np.array(
        list(zip(y.event, y.time, strict=True)), dtype=[("event", bool), ("time", float)]
    )
    pipe = Pipeline([("scale", StandardScaler()), ("model", build(name))])
    scores = cross_validate(
        pipe,
        X,
        structured,
        cv=2,
        scoring={"po": scorer("mae_po", tau=15.0), "c": scorer("harrell")},
    )
    assert np.isfinite(scores["test_po"]).all()
    assert np.isfinite(scores["test_c"]).all()
    search = GridSearchCV(pipe, {"scale__with_mean": [True]}, scoring=scorer("mae"), cv=2)
    assert np.isfinite(search.fit(X, structured).best_score_)


AWKWARD = {
    "constant column": lambda X, y: (np.column_stack([X, np.full(len(X), 0.1)]), y),
    "all columns constant": lambda X, y: (np.ones((len(X), 2)), y),
    "duplicate columns": lambda X, y: (np.column_stack([X, X]), y),
    "separating column": lambda X, y: (np.column_stack([X, y.time > 15]), y),
    "column that is the outcome": lambda X, y: (np.column_stack([X, y.event]), y),
    "single event": lambda X, y: (X, Outcomes(y.time, np.arange(len(y)) == 7)),
    "single event, at the end": lambda X, y: (X, Outcomes(y.time, y.time.argsort() == len(y) - 1)),
    "everybody observed": lambda X, y: (X, Outcomes(y.time, np.ones(len(y)))),
    "times of zero": lambda X, y: (X, Outcomes(np.where(y.time < 3, 0, y.time), y.event)),
    "tiny times": lambda X, y: (X, Outcomes(y.time * 1e-6, y.event)),
    "huge times": lambda X, y: (X, Outcomes(y.time * 1e6, y.event)),
    "columns of very different size": lambda X, y: (X * [1e-8, 1e8, 1, 1], y),
    "two times": lambda X, y: (X, Outcomes(1.0 + (y.time > 10), y.event)),
}


@each_model
@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_data_give_predictions(name, case):
    X, y = AWKWARD[case](*example(n=60))
    model = fit(name, X, y)
    check_predictions(model, X)
    check_predictions(model, X[:1])
    check_predictions(model, 100 * X[:5])


@each_model
@pytest.mark.parametrize("n", [2, 3])
def test_tiny_data_give_predictions_or_a_named_failure(name, n):
    X, y = np.arange(2.0 * n).reshape(n, 2), Outcomes(np.arange(1.0, n + 1), np.ones(n))
    failure = None
    try:
        check_predictions(fit(name, X, y), X)
    except models.FitError as error:
        failure = error
    assert failure is None or (failure.model == name and len(failure.cause) > 10)


@each_model
def test_no_event_is_a_named_failure(name):
    X, y = example(n=20)
    with pytest.raises(models.FitError, match=f"{name} cannot be fitted: y has no event"):
        build(name).fit(X, Outcomes(y.time, np.zeros(20)))


@each_model
def test_bad_features_are_refused(name, fitted):
    X, y = example(n=20)
    gap = X.copy()
    gap[3, 2] = np.nan
    with pytest.raises(InputError, match=r"X must be finite; .* column 3 .* fill them first"):
        build(name).fit(gap, y)
    with pytest.raises(InputError, match=r"X must be finite; .* column 3 "):
        fitted(name).predict_time(gap)
    with pytest.raises(InputError, match="one row per subject; y has 20, X has 19"):
        build(name).fit(X[1:], y)
    with pytest.raises(InputError, match="must have 4 columns, as in fit; got 3"):
        fitted(name).predict_time(X[:, 1:])
    with pytest.raises(InputError, match="reshape"):
        fitted(name).predict_time(X[0])
    with pytest.raises(InputError, match="at least one row"):
        fitted(name).predict_time(X[:0])


@each_model
def test_weights_are_frequencies(name):
    """Row for row repetition where the model does not weigh; the same answer where it does."""
    X, y = example(n=50)
    weight = np.arange(50) % 3
    rows = np.repeat(np.arange(50), weight)
    # Equal rows side by side: what draws bootstrap samples sees the same data.
    repeated = fit(name, X[rows], y[rows])
    weighted = fit(name, X, Outcomes(y.time, y.event, weight))
    np.testing.assert_allclose(
        weighted.predict_time(X), repeated.predict_time(X), rtol=1e-4, atol=1e-8
    )


@each_model
def test_refitting_forgets(name):
    X, y = example(n=40)
    model = build(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", models.FitWarning)
        model.fit(X, y)
        with pytest.raises(models.FitError):
            model.fit(X, Outcomes(y.time, np.zeros(40)))
        model.fit(X[:, :2], y)
    fresh = fit(name, X[:, :2], y)
    np.testing.assert_allclose(
        model.predict_time(X[:, :2]), fresh.predict_time(X[:, :2]), rtol=1e-6
    )


def test_unknown_names_and_parameters():
    with pytest.raises(InputError, match=r"name must be one of \d+ names; got 'cox' .*'coxph'"):
        models.build("cox")
    with pytest.raises(InputError, match="'km' has no parameter 'depth'; it has none"):
        models.build("km", depth=3)
    with pytest.raises(
        InputError, match="no parameter 'depth'; it has learning_rate, n_estimators"
    ):
        models.build("gbm_c", depth=3)


def test_paper_table():
    """Table in appendix E.2 of the paper, and after it the models of several causes."""
    marks = {row["name"]: tuple(row[k] for k in ("curves", "individual", "time", "continuous"))
             for row in models.available()}  # fmt: skip
    assert {name: marks.pop(name) for name in OF_CAUSES if name != "deephit"} == {
        "aalen_johansen": (True, False, False, False),
        "cause_specific_cox": (True, True, False, True),
        "survival_boost": (True, True, False, True),
    }
    assert marks == {
        "lr": (False, True, True, None),
        "km": (True, False, False, False),
        "coxph": (True, True, False, True),
        "aft": (True, True, True, True),
        "gbm_c": (True, True, False, False),
        "gbm_tree": (True, True, False, False),
        "rsf": (True, True, False, False),
        "coxnet": (True, True, False, True),
        "extra_trees": (True, True, False, False),
        "svm": (True, True, False, True),
        "xgboost_cox": (True, True, False, False),
        "xgboost_aft": (True, True, True, True),
        "catboost_cox": (True, True, False, False),
        "catboost_aft": (True, True, True, True),
        "tabpfn": (True, True, False, False),
        "deepsurv": (True, True, False, False),
        "mtlr": (True, True, False, False),
        "deephit": (True, True, False, False),
        "sca": (True, True, False, True),
        "smdn": (True, True, True, True),
    }


# -- several causes ------------------------------------------------------------------------

each_of_causes = pytest.mark.parametrize("name", [_parameter(name) for name in OF_CAUSES])
CAUSES = ("relapse", "death")


def example_of_causes(n=120, seed=3):
    """Two causes driven by different columns, a fifth censored."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    times = np.ceil(rng.exponential(20 * np.exp(-0.9 * X[:, :2])))
    end = np.ceil(rng.uniform(0, 100, n))
    cause = np.where(times.min(axis=1) <= end, 1 + times.argmin(axis=1), 0)
    return X, Outcomes(np.minimum(times.min(axis=1), end), cause, causes=CAUSES)


@each_of_causes
def test_incidence_is_defined_and_adds_up_with_survival(name):
    X, y = example_of_causes()
    model = fit(name, X, y)
    new, _ = example_of_causes(n=30, seed=8)
    curves = model.predict_incidence(new)
    assert isinstance(curves, IncidenceCurves)
    assert curves.causes == CAUSES
    assert len(curves) == 30
    at = np.array([5.0, 15.0, 30.0])
    together = curves.at(at, "relapse") + curves.at(at, "death")
    np.testing.assert_allclose(1 - model.predict_curves(new).at(at), together, atol=1e-9)
    check_predictions(model, new)
    assert model.y_train_ is y
    assert not model.reference_.y.causes


@each_of_causes
def test_incidence_twice_and_row_by_row_is_the_same(name):
    X, y = example_of_causes()
    new, _ = example_of_causes(n=6, seed=8)
    model, again = fit(name, X, y), fit(name, X, y)
    values = model.predict_incidence(new).values
    np.testing.assert_allclose(again.predict_incidence(new).values, values, rtol=1e-6, atol=1e-9)
    alone = np.concatenate([model.predict_incidence(row[None, :]).values for row in new])
    np.testing.assert_allclose(alone, values, rtol=1e-4, atol=1e-6)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_incidence(new).values, values)


@each_of_causes
def test_names_of_causes_do_not_matter_and_their_order_swaps_rows(name):
    X, y = example_of_causes(n=80)
    swapped = Outcomes(y.time, np.array([0, 2, 1])[y.cause], causes=CAUSES[::-1])
    a, b = fit(name, X, y).predict_incidence(X), fit(name, X, swapped).predict_incidence(X)
    at = np.quantile(y.time, [0.25, 0.5, 0.75])
    random = FACTS[name].random  # weights are drawn for another place then
    for cause in CAUSES:
        gap = np.abs(a.at(at, cause) - b.at(at, cause)).mean()
        assert gap < (0.1 if random else 1e-9)


@each_of_causes
def test_a_cause_without_an_event_has_hardly_any_incidence(name):
    X, y = example_of_causes()
    three = Outcomes(y.time, y.cause, causes=(*CAUSES, "never"))
    curves = fit(name, X, three).predict_incidence(X)
    assert curves.causes == (*CAUSES, "never")
    at = float(np.median(y.time))
    assert curves.at(at, "never").mean() < 0.1
    assert curves.at(at, "relapse").mean() > 0.1


@each_of_causes
def test_weights_of_several_causes_are_frequencies(name):
    X, y = example_of_causes(n=60)
    weight = 1 + np.arange(60) % 2
    rows = np.repeat(np.arange(60), weight)
    repeated = fit(name, X[rows], y[rows]).predict_incidence(X)
    weighted = fit(name, X, y.reweighted(weight)).predict_incidence(X)
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-4, atol=1e-6)


@each_model
def test_incidence_or_a_clear_refusal(name, fitted):
    X, y = example_of_causes(n=30)
    if name in OF_CAUSES:
        curves = fitted(name).predict_incidence(example(n=5)[0])
        assert curves.causes == ("1",)
        return
    with pytest.raises(InputError, match="one kind of event here; it has events of 2 causes"):
        build(name).fit(X, y)
    with pytest.raises(InputError, match=f"{name} takes one kind of event.*cause_specific_cox"):
        fitted(name).predict_incidence(example(n=5)[0])


def test_listing_imports_nothing_heavy():
    code = (
        "import sys, json; from survgauge import models; models.available();"
        "from survgauge.cli.main import main; main(['models']);"
        "print(json.dumps([m for m in ('torch', 'sksurv', 'lifelines', 'sklearn', 'pandas')"
        " if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout.splitlines()[-1]) == []


def test_missing_extra_names_the_install_line(monkeypatch):
    monkeypatch.setattr("survgauge._tools.extras.find_spec", lambda name: None)
    assert not any(row["installed"] for row in models.available())
    with pytest.raises(MissingExtraError, match=r"model 'rsf' .* 'survgauge\[sksurv\]'"):
        models.build("rsf")


def test_command_lists_models(capsys, monkeypatch):
    from survgauge.cli.main import main

    assert main(["models", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(FACTS)
    monkeypatch.setattr("survgauge._tools.extras.find_spec", lambda name: None)
    assert main(["models"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Random survival forest" in text
    assert "pip install 'survgauge[torch]'" in text
