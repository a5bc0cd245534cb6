"""Metrics and methods of users: what goes wrong is said in plain words, with their names."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.estimated_g import Derivative
from survgauge.estimators.surrogates import METHODS
from survgauge.metrics.registry import REGISTRY

RNG = np.random.default_rng(0)
Y = sg.Outcomes(RNG.exponential(5, 40), RNG.random(40) < 0.6)
CURVES = sg.SurvivalCurves([0, 5, 15], np.exp(-np.outer(RNG.random(40) * 0.3, [0, 5, 15])))


pytestmark = pytest.mark.usefixtures("registry")


def in_memory(name):
    return sg.evaluate({"a": CURVES}, Y, metrics=[name])


def streamed(name):
    parts = slice(0, 15), slice(15, 40)
    batches = [{"time": Y.time[p], "event": Y.event[p], "c": CURVES.survival[p]} for p in parts]
    predictions = {"a": sg.CurveColumns("c", times=[0, 5, 15])}
    return sg.evaluate_stream(batches, y_train=Y, predictions=predictions, metrics=[name])


def ones(task, prediction):
    return np.ones(len(task.y))


BAD_TERMS = {
    "scalar": (lambda p, q: 1.0, "one number per subject"),
    "short": (lambda p, q: np.ones(len(p.y) - 1), "one number per subject"),
    "two dimensions": (lambda p, q: np.ones((len(p.y), 1)), "one number per subject"),
    "text": (lambda p, q: ["a"] * len(p.y), "must be numbers"),
    "ragged": (lambda p, q: [[1], [1, 2]], "one number per subject"),
    "mapping": (lambda p, q: {"a": 1}, "must be numbers"),
    "complex": (lambda p, q: np.ones(len(p.y)) * 1j, "must be numbers"),
    "an error": (lambda p, q: 1 / 0, "failed with ZeroDivisionError"),
    "one argument": (lambda p: 1, "failed with TypeError"),
    "lists": (lambda p, q: sg.Terms([1.0], [1.0]), "a of Terms"),
    "short terms": (lambda p, q: sg.Terms(np.ones(3), np.ones(3)), "a of Terms"),
    "one s": (lambda p, q: sg.Terms(np.ones(len(p.y)), 1.0), "s of Terms"),
    "negative s": (lambda p, q: sg.Terms(p.weight, -p.weight), "s of Terms must be at least 0"),
    "no support": (lambda p, q: sg.Terms(p.weight, p.weight, {}, {}), "a Support as support"),
    "short contributions": (
        lambda p, q: sg.Score(1.0, influence=np.zeros(3)),
        "contributions of Score",
    ),
}


@pytest.mark.parametrize("run", [in_memory, streamed])
@pytest.mark.parametrize(("terms", "said"), BAD_TERMS.values(), ids=BAD_TERMS)
def test_terms_of_another_kind_are_refused(terms, said, run):
    sg.register_metric(sg.Metric(name="mine", title="Mine", terms=terms))
    with pytest.raises(sg.InputError, match=f"metric 'mine': terms.*{said}"):
        run("mine")


def test_a_metric_that_reads_g_streams():
    def weighted(task, prediction):
        return task.weights.event_weight * np.abs(task.y.time - prediction.curves.median())

    shared = {"title": "Mine", "terms": weighted, "needs": "curves"}
    for name, said in (("silent", False), ("said", True)):
        sg.register_metric(sg.Metric(name=name, weights_by_g=said, **shared))
        found, whole = streamed(name).rows()[0], in_memory(name).rows()[0]
        assert found["value"] == pytest.approx(whole["value"])


def test_a_denominator_that_depends_on_the_model_streams():
    sg.register_metric(
        sg.Metric(
            name="mine", title="Mine", terms=lambda p, q: sg.Terms(p.weight, q.curves.at(5.0))
        )
    )
    whole, found = in_memory("mine").scores, streamed("mine").scores
    assert [s.value for s in found] == pytest.approx([s.value for s in whole])


@pytest.mark.parametrize("run", [in_memory, streamed])
@pytest.mark.parametrize(
    ("terms", "root", "said"),
    [
        (lambda p, q: np.where(p.y.event, np.nan, 1.0), False, "returned NaN for"),
        (lambda p, q: sg.Terms(p.weight, 0 * p.weight), False, "no subject counts"),
        (lambda p, q: -np.ones(len(p.y)), True, "no square root"),
    ],
)
def test_terms_without_a_mean_are_undefined(terms, root, said, run):
    sg.register_metric(sg.Metric(name="mine", title="Mine", terms=terms, root=root))
    ev = run("mine")
    assert np.isnan(ev.scores[0].value)
    assert any(w.code == "undefined-metric" and said in w.message for w in ev.warnings)


@pytest.mark.parametrize("value", [1.0, None, "a", np.ones(40), {"value": 1}])
@pytest.mark.parametrize("keeps", [(), ("risk",)])
def test_compute_returns_a_value_with_its_support(value, keeps):
    metric = sg.Metric(name="mine", title="Mine", compute=lambda p, q: value, keeps=keeps)
    sg.register_metric(metric)
    with pytest.raises(sg.InputError, match="metric 'mine': compute must return a Score"):
        in_memory("mine")


def test_compute_returns_a_number_and_contributions_of_all_subjects():
    for name, found in {
        "text": sg.Score("a"),
        "contributions": sg.Score(1.0, influence=np.zeros(3)),
    }.items():
        sg.register_metric(sg.Metric(name=name, title="t", compute=lambda p, q, d=found: d))
        with pytest.raises(sg.InputError, match=f"metric '{name}': compute must return"):
            in_memory(name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval": "foo"}, {"range": 5}, {"range": (1.0, 0.0)}, {"range": (0.0,)}, {"title": 5},
        {"unit": 5}, {"reference": None}, {"keeps": "risk"}, {"keeps": None}, {"keeps": ("risk",)},
        {"table": dict}, {"table": "x"}, {"method": "po"}, {"square": "mse_po"},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_is_checked_when_it_is_made(wrong):
    with pytest.raises(sg.InputError, match=next(iter(wrong))):
        sg.Metric(**{"name": "mine", "title": "Mine", "terms": ones, **wrong})


def test_a_method_is_checked_when_it_is_registered():
    with pytest.raises(sg.InputError, match="method must be a Method"):
        sg.register_method("po")
    with pytest.raises(sg.InputError, match="function must be a function"):
        sg.Method("mine", "po", "a", "b")
    with pytest.raises(sg.InputError, match="name must be the name of a method"):
        sg.Method("", lambda s: s.fill(s.c), "a", "b")


def test_a_method_that_cannot_be_registered_leaves_nothing_behind():
    sg.register_metric(sg.Metric(name="mse_mine", title="Mine", terms=ones))
    before = set(REGISTRY), set(METHODS)
    with pytest.raises(sg.InputError, match="'mse_mine'"):
        sg.register_method(sg.Method("mine", lambda s: s.fill(s.c), "a", "b"))
    assert (set(REGISTRY), set(METHODS)) == before


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda s: None, "must return Surrogates"),
        (lambda s: np.ones(3), "must return Surrogates"),
        (lambda s: sg.Surrogates(np.ones(3), np.ones(3), np.ones(3, dtype=bool)), "one time"),
        (lambda s: s.fill(np.ones(1)), "one time for each of"),
        (lambda s: 1 / 0, "failed with ZeroDivisionError"),
        (lambda: 1, "failed with TypeError"),
    ],
)
def test_a_method_returns_surrogates_of_all_subjects(function, said):
    sg.register_method(sg.Method("mine", function, "a", "b"))
    for run in (in_memory, streamed):
        with pytest.raises(sg.InputError, match=said):
            run("mae_mine")
    with pytest.raises(sg.InputError, match=said):
        sg.mae(Y, CURVES, method="mine")


def test_an_error_in_a_function_of_g_names_it():
    with pytest.raises(sg.InputError, match=r"censoring\(t, side\) failed with KeyError"):
        sg.evaluate({"a": CURVES}, Y, metrics=["ibs"], censoring=lambda t, side: {}[side])


@pytest.mark.parametrize("in_divisor", [False, True])
def test_the_estimation_of_g_moves_what_has_weights_by_g(in_divisor):
    """The standard error is near that of the jackknife, which knows nothing of derivatives."""

    def error(task, prediction, s_moves=in_divisor):
        weight = task.weight * task.weights.event_weight
        a = weight * np.abs(np.log1p(task.y.time) - np.log1p(prediction.times.median()))
        moved = Derivative.of_events(a)
        return sg.Terms(a, weight if in_divisor else task.weight, derivative=moved, s_moves=s_moves)

    def silent(task, prediction):
        return error(task, prediction, s_moves=None)

    rng = np.random.default_rng(7)
    time, free = rng.exponential(5, 200), rng.exponential(8, 200)
    y = sg.Outcomes(np.minimum(time, free), time <= free)
    curves = sg.SurvivalCurves([0, 60], np.exp(-np.outer(rng.uniform(0.1, 0.4, 200), [0, 60])))
    sg.register_metric(sg.Metric(name="mine", title="Mine", terms=error, weights_by_g=True))
    found = sg.evaluate(curves, y, metrics=["mine"]).scores[0]
    values = np.array(
        [
            sg.evaluate(curves[kept], y[kept], metrics=["mine"], confidence=None).scores[0].value
            for kept in (np.delete(np.arange(200), row) for row in range(200))
        ]
    )
    jackknife = np.sqrt(199 / 200 * np.square(values - values.mean()).sum())
    assert found.stderr == pytest.approx(jackknife, rel=0.05)

    sg.register_metric(sg.Metric(name="silent", title="Silent", terms=silent, weights_by_g=True))
    if in_divisor:
        with pytest.raises(sg.InputError, match="say s_moves=True"):
            sg.evaluate(curves, y, metrics=["silent"])
    else:  # the divisor is the number of subjects, which has no weights by G
        assert sg.evaluate(curves, y, metrics=["silent"]).scores[0].stderr == found.stderr
